/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * record: one command that profiles processes, running or launched, and
 * leaves experiments. Every subject has its own session; the end is a receipt
 * for each.
 *
 *	-p A		X.er
 *	-p A,B		X.A.er, X.B.er, and the group X.erg
 *	--children	X.er of the process, X.er/_f1.er ... of its children
 *	prog args	X.er; the program keeps the terminal, and its exit
 *			status is ours
 */
#include "experiment.h"
#include "recording.h"

#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { PROGRESS_MS = 250 };

static void
tell_start(const struct recording *r)
{
	for (size_t i = 0; i < r->count; i++) {
		const struct subject *s = &r->subjects[i];
		struct session_progress p;

		if (!s->session || session_progress(s->session, &p) < 0)
			continue;
		shell_note(r->sh, "recording %d (%s) into %s: engine %s, %s",
			   s->pid, session_name(s->session),
			   session_experiment(s->session), p.engine, p.why);
		if (p.untraced[0])
			shell_note(r->sh, "%d: %s", s->pid, p.untraced);
		if (session_salvaged(s->session))
			shell_note(r->sh, "%d: %s", s->pid,
				   session_salvaged(s->session));
	}
}

/* Many processes are mostly of one program. */
static void
share_archives(const struct recording *r)
{
	const char **paths = xcalloc(r->count, sizeof *paths);
	size_t n = 0;

	for (size_t i = 0; i < r->count; i++)
		if (r->subjects[i].session)
			paths[n++] = session_experiment(r->subjects[i].session);
	experiment_share_archives(paths, n);
	free(paths);
}

static void
finish(struct recording *r)
{
	for (size_t i = 0; i < r->count; i++) {
		struct subject *s = &r->subjects[i];
		char *receipt = NULL;

		if (s->session && !s->ended) {
			if (session_detach(s->session, LEAVE_RUNNING,
					   &receipt) < 0) {
				/* the tracer is gone: the end is missing */
				r->partial |= fail_last()->kind != FAIL_ENDED;
				shell_print_failure(r->sh);
			} else if (*receipt) {
				shell_note(r->sh, "%s", receipt);
			}
		}
		free(receipt);
		r->partial |= s->session && session_partial(s->session);
	}
	if (r->group) {
		share_archives(r);

		char *word = str_quoted(r->group);

		shell_note(r->sh, "all of them: sonde report %s -functions",
			   word);
		free(word);
	}
}

/* They have said already why nothing more will come of them. */
static void
leave_out_lost(struct recording *r)
{
	for (size_t i = 0; i < r->count; i++) {
		struct subject *s = &r->subjects[i];

		s->ended |= s->session && session_lost(s->session);
	}
}

static void
free_subjects(struct recording *r)
{
	for (size_t i = 0; i < r->count; i++) {
		session_close(r->subjects[i].session);
		free(r->subjects[i].path);
	}
	free(r->group);
}

/* ---- the wait ------------------------------------------------------------ */

static bool
all_ended(const struct recording *r)
{
	for (size_t i = 0; i < r->count; i++)
		if (r->subjects[i].session && !r->subjects[i].ended)
			return false;
	return true;
}

static void
hear(struct recording *r, struct subject *s)
{
	struct session_event ev;
	int got;

	while ((got = session_wait(s->session, 0, &ev)) == 1) {
		if (ev.kind == SESSION_EVENT_ENDED && s->session)
			r->sh->program_status = ev.status;
		/* a launched program goes on after an exec or a limit */
		if (ev.kind == SESSION_EVENT_ENDED ||
		    ev.kind == SESSION_EVENT_TRACER_GONE || !r->program)
			s->ended = true;
		if (ev.kind == SESSION_EVENT_TRACER_GONE) {
			(void)fail(FAIL_PARTIAL, "%s", ev.text);
			shell_print_failure(r->sh);
			r->partial = true;
			return;
		}
		if (*ev.text)
			shell_note(r->sh, "%s", ev.text);
	}
	if (got < 0) {		/* a question of ours met its end first */
		s->ended = r->partial = true;
		shell_print_failure(r->sh);
	}
}

static void
show_progress(const struct recording *r)
{
	struct session_progress p, sum = {0};

	for (size_t i = 0; i < r->count; i++) {
		const struct subject *s = &r->subjects[i];

		if (!s->session || s->ended ||
		    session_experiment_state(s->session) == NOT_COLLECTING ||
		    session_progress(s->session, &p) < 0)
			continue;
		if (p.elapsed_ns > sum.elapsed_ns)
			sum.elapsed_ns = p.elapsed_ns;
		sum.samples += p.samples;
		sum.lost += p.lost;
	}
	fprintf(stderr, "\r%.0f s · %llu samples · %llu lost · "
		"Ctrl-C to stop\033[K", (double)sum.elapsed_ns / 1e9,
		(unsigned long long)sum.samples, (unsigned long long)sum.lost);
}

/* Never for long: a signal may come just before we sleep. */
static int
poll_ms(uint64_t deadline)
{
	const uint64_t now = now_ns();
	const uint64_t ms = !deadline ? PROGRESS_MS : deadline <= now ? 0 :
		(deadline - now) / 1000000 + 1;

	return ms > PROGRESS_MS ? PROGRESS_MS : (int)ms;
}

static void
hear_all(struct recording *r)
{
	for (size_t i = 0; i < r->count; i++)
		if (r->subjects[i].session && !r->subjects[i].ended)
			hear(r, &r->subjects[i]);
}

static void
wait_once(struct recording *r, uint64_t deadline, bool progress)
{
	struct pollfd fds[SUBJECTS_MAX];

	/* News that came in front of an answer is no longer in the socket. */
	hear_all(r);
	if (all_ended(r))
		return;
	for (size_t i = 0; i < r->count; i++) {
		const struct subject *s = &r->subjects[i];

		fds[i] = (struct pollfd){
			s->session && !s->ended ? session_fd(s->session) : -1,
			POLLIN, 0 };
	}
	(void)poll(fds, r->count, poll_ms(deadline));
	if (progress)
		fputs("\r\033[K", stderr);
	hear_all(r);
}

/*
 * A launched program shares our terminal: Ctrl-C reaches it as without us.
 * What only we are sent is passed on; a second time ends the recording.
 */
static bool
pass_signal(struct recording *r, int *passed)
{
	const int sig = wait_signal;

	if (!r->program)
		return false;
	wait_signal = 0;
	if (sig == SIGINT)
		return true;
	if ((*passed)++)
		return false;
	return kill(r->subjects[0].pid, sig) == 0;
}

static void
wait_all(struct recording *r, uint64_t deadline)
{
	const bool progress = isatty(STDERR_FILENO) && !r->sh->quiet &&
		!r->program;
	int passed = 0;

	while (!all_ended(r)) {
		if (wait_signal && !pass_signal(r, &passed))
			return;
		if (deadline && now_ns() >= deadline)
			return;
		wait_once(r, deadline, progress);
		if (progress && !all_ended(r))
			show_progress(r);
	}
}

/* The time is over but the program is not: it runs on, we wait for it. */
static void
wait_for_program(struct recording *r)
{
	struct subject *s = &r->subjects[0];
	char *receipt;
	int passed = 0;

	if (s->ended)
		return;
	if (session_experiment_state(s->session) != NOT_COLLECTING &&
	    session_disable(s->session, &receipt) == 0) {
		shell_note(r->sh, "%s", receipt);
		free(receipt);
	}
	while (!s->ended) {
		if (wait_signal && !pass_signal(r, &passed))
			return;
		wait_once(r, 0, false);
	}
}

/* A receipt says so; without one the status would be a riddle. */
static int
status_of_early_end(const struct recording *r)
{
	if (r->sh->quiet) {
		(void)fail(FAIL_ENDED, "record -d: the target ended before %.3g "
			   "s were over", (double)r->duration_ns / 1e9);
		shell_print_failure(r->sh);
	}
	return status_of_failure(FAIL_ENDED);
}

/* As env(1) for a program; wrong words are wrong words everywhere. */
static int
status_of_start(const struct recording *r)
{
	const enum fail_kind kind = fail_last()->kind;

	if (!r->program || kind == FAIL_USAGE)
		return status_of_failure(kind);
	if (r->launched)
		return EXIT_OWN_FAILURE;
	return kind == FAIL_MISSING ? EXIT_NOT_FOUND :
		kind == FAIL_DENIED ? EXIT_NOT_EXECUTABLE : EXIT_OWN_FAILURE;
}

int
verb_record(struct shell *sh, int argc, char **argv)
{
	struct recording r = { .sh = sh };
	int status = 0;

	if (record_options(&r, argc, argv) < 0) {
		shell_print_failure(sh);
		return EXIT_USAGE;
	}
	wait_catch_signals();
	if ((r.program ? record_launch(&r) : record_attach(&r)) < 0) {
		status = status_of_start(&r);
		shell_print_failure(sh);
		leave_out_lost(&r);
		finish(&r);
		free_subjects(&r);
		return status;
	}
	tell_start(&r);

	const uint64_t deadline =
		r.duration_ns ? now_ns() + r.duration_ns : 0;

	wait_all(&r, deadline);
	if (r.program)
		wait_for_program(&r);
	finish(&r);
	if (r.program && sh->program_status >= 0)
		status = status_of_program(sh->program_status);
	else if (r.partial)
		status = status_of_failure(FAIL_PARTIAL);
	else if (!r.program && r.duration_ns && all_ended(&r))
		status = status_of_early_end(&r);
	free_subjects(&r);
	return status;
}
