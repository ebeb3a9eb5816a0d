/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * The target runs and we wait: for a stop, its end, a timer of `when`, a
 * signal for us. Bodies of handlers run inside the wait; only stop, detach,
 * kill and quit in them end it.
 */
#include "private.h"

#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

enum { PROGRESS_MS = 250, OTHERS_MS = 20, CHILD_MS = 1000 };
#define END_NS 10000000000ull	/* a killed process may be in a long write */

volatile int wait_signal;
static volatile unsigned come;	/* signals */
static unsigned served;

static void
on_signal(int sig)
{
	wait_signal = sig;
	come++;
}

/* Without SA_RESTART: poll returns, and the loops look at wait_signal. */
void
wait_catch_signals(void)
{
	const struct sigaction catch = { .sa_handler = on_signal };
	const struct sigaction ignore = { .sa_handler = SIG_IGN };

	sigaction(SIGINT, &catch, NULL);
	sigaction(SIGTERM, &catch, NULL);
	if (!origin_ignores(SIGHUP))	/* nohup */
		sigaction(SIGHUP, &catch, NULL);
	sigaction(SIGPIPE, &ignore, NULL);
	/* a full disk is an error of write, never the end of us */
	sigaction(SIGXFSZ, &ignore, NULL);
}

void
wait_end_by_signals(void)
{
	(void)signal(SIGINT, SIG_DFL);
	(void)signal(SIGTERM, SIG_DFL);
	if (!origin_ignores(SIGHUP))
		(void)signal(SIGHUP, SIG_DFL);
}

/* ---- Ctrl-C -------------------------------------------------------------- */

bool
wait_was_interrupted(void)
{
	if (wait_signal)
		served = come;
	return wait_signal != 0;
}

bool
wait_interrupts_commands(void)
{
	if (wait_signal == SIGINT && come == served)
		wait_signal = 0;
	return wait_signal != 0 && come != served;
}

void
wait_forget_interrupt(void)
{
	served = come;
	wait_signal = 0;
}

/* ---- news ---------------------------------------------------------------- */

static void
tell_end(struct shell *sh, const struct session_event *ev)
{
	if (ev->status >= 0)
		sh->program_status = ev->status;
	if (session_launched(sh->session) && ev->status >= 0) {
		if (WIFSIGNALED(ev->status))
			shell_note(sh, "process %d was killed by signal %d "
				   "(%s)", session_pid(sh->session),
				   WTERMSIG(ev->status),
				   strsignal(WTERMSIG(ev->status)));
		else
			shell_note(sh, "execution completed, exit code is %d",
				   WEXITSTATUS(ev->status));
		if (!session_experiment(sh->session))
			return;
	}
	shell_note(sh, "%s", ev->text);
}

bool
wait_run_again(struct shell *sh, pid_t pid)
{
	if (!sh->session || session_pid(sh->session) != pid ||
	    session_state(sh->session) == SESSION_ENDED)
		return true;
	if (session_state(sh->session) != SESSION_STOPPED ||
	    session_cont(sh->session) == 0)
		return false;
	shell_print_failure(sh);
	return true;
}

static bool
take_breakpoint(struct shell *sh, const struct session_event *ev)
{
	const pid_t pid = session_pid(sh->session);
	bool over;

	sh->judged = ev->hits;
	over = handlers_meet(sh, ev->breakpoint, ev->tid);
	sh->judged = 0;
	return over || wait_run_again(sh, pid);
}

static bool
take_signal(struct shell *sh, const struct session_event *ev)
{
	const pid_t pid = session_pid(sh->session);

	return signals_meet(sh, ev) ||
		wait_run_again(sh, pid);
}

static bool
take_wanted(struct shell *sh, const struct session_event *ev)
{
	const pid_t pid = session_pid(sh->session);

	return wants_meet(sh, ev) || wait_run_again(sh, pid);
}

/* true: the target no longer runs, or will not stop. */
static bool
take(struct shell *sh, const struct session_event *ev)
{
	target_note_experiment(sh);
	if (ev->kind != SESSION_EVENT_NOTE)
		str_clear(&sh->fired);
	sh->booting = false;
	switch (ev->kind) {
	case SESSION_EVENT_ENDED:
		tell_end(sh, ev);
		(void)longer_ended(sh, 0);
		handlers_drop_breakpoints(sh);
		(void)handlers_hear(sh, EVENT_EXIT);
		(void)handlers_hear(sh, EVENT_GONE);
		return true;
	case SESSION_EVENT_BREAKPOINT:
		return take_breakpoint(sh, ev);
	case SESSION_EVENT_CALLED:
		called_take(sh, ev);
		return true;
	case SESSION_EVENT_SIGNAL:
		return take_signal(sh, ev);
	case SESSION_EVENT_BEGINS:
	case SESSION_EVENT_ENDS:
	case SESSION_EVENT_DIES:
	case SESSION_EVENT_ENTERS:
	case SESSION_EVENT_RETURNS:
		return take_wanted(sh, ev);
	case SESSION_EVENT_STOPPED:
		shell_note(sh, "%s", ev->text);
		return true;
	case SESSION_EVENT_TRACER_GONE:
		shell_note(sh, "%s", ev->text);
		return true;
	case SESSION_EVENT_FORK:
		shell_note(sh, "%s", ev->text);
		sh->thread = ev->tid;
		return true;
	case SESSION_EVENT_FOLLOWED:
		shell_note(sh, "%s", ev->text);
		return program_followed(sh, ev);
	case SESSION_EVENT_BOTH:
		shell_note(sh, "%s", ev->text);
		return program_both(sh, ev);
	case SESSION_EVENT_NEW_PROGRAM:
		shell_note(sh, "%s", ev->text);
		return program_new(sh);
	case SESSION_EVENT_FIRED:
		deeds_told(sh, (int)ev->value, ev->hits);
		return false;
	case SESSION_EVENT_SYNC:
		shell_note(sh, "%s", ev->text);
		return program_exec(sh);
	case SESSION_EVENT_STARTED:
		return program_started(sh);
	case SESSION_EVENT_EXEC:
	case SESSION_EVENT_MESSAGE:
	case SESSION_EVENT_NOTE:
		shell_note(sh, "%s", ev->text);
		return false;
	case SESSION_EVENT_LOST:
		handlers_drop_breakpoints(sh);
		(void)fail(FAIL_GENERAL, "%s", ev->text);
		shell_print_failure(sh);
		sh->exit_status = status_of_failure(FAIL_GENERAL);
		sh->body_failed = true;
		return true;
	case SESSION_EVENT_NONE:
		break;
	}
	return false;
}

void
wait_poll(struct shell *sh)
{
	struct session *whose;
	struct session_event ev;

	while (sh->session && processes_wait(sh, 0, &ev, &whose) == 1)
		if (process_serve(sh, whose, take, &ev))
			sh->wait_over = true;	/* of the body that runs now */
}

/* News may come while we wait for something else, and a thread may stand
 * until its `when` is served. false: a signal for us. */
bool
wait_readable(struct shell *sh, int fd)
{
	while (!wait_signal) {
		struct pollfd fds[1 + PROCESSES_MAX] = { { fd, POLLIN, 0 } };
		const nfds_t n = 1 + processes_pollfds(sh, fds + 1,
						       PROCESSES_MAX);
		short news = 0;

		if (poll(fds, n, PROGRESS_MS) <= 0)
			continue;
		for (nfds_t i = 1; i < n; i++)
			news |= fds[i].revents;
		if (news & POLLIN)
			wait_poll(sh);
		if (fds[0].revents)
			return true;
		if (news & POLLHUP)	/* a tracer that is gone */
			(void)poll(fds, 1, PROGRESS_MS);
	}
	return false;
}

void
wait_for_child(struct shell *sh, pid_t pid, int *status)
{
	const int fd = (int)syscall(SYS_pidfd_open, pid, 0);

	/* Ctrl-C is the child's meanwhile */
	while (fd >= 0 && !wait_readable(sh, fd) && wait_signal == SIGINT)
		wait_signal = 0;
	if (fd >= 0 && wait_signal) {	/* what ends us ends it, or not */
		struct pollfd end = { fd, POLLIN, 0 };

		(void)kill(pid, wait_signal);
		if (poll(&end, 1, CHILD_MS) <= 0)
			pid = -1;
		*status = wait_signal;
	}
	if (fd >= 0)
		close(fd);
	while (pid > 0 && waitpid(pid, status, 0) < 0 && errno == EINTR)
		;
}

/* ---- the wait ------------------------------------------------------------ */

static void
show_progress(struct shell *sh)
{
	struct session_progress p;

	if (session_experiment_state(sh->session) == NOT_COLLECTING ||
	    session_progress(sh->session, &p) < 0)
		return;
	fprintf(stderr, "\r%.0f s · %llu samples · %llu lost · "
		"Ctrl-C to stop \033[K", (double)p.elapsed_ns / 1e9,
		(unsigned long long)p.samples, (unsigned long long)p.lost);
}

static void
clear_progress(void)
{
	fputs("\r\033[K", stderr);
}

static int
timeout_ms(struct shell *sh, uint64_t deadline_ns)
{
	const uint64_t timer = timers_due(sh);
	uint64_t due = longer_due(sh);

	if (deadline_ns && deadline_ns < due)
		due = deadline_ns;
	if (timer < due)
		due = timer;

	const uint64_t now = now_ns();
	int ms = due == UINT64_MAX ? -1 : due <= now ? 0 :
		(int)((due - now) / 1000000 + 1);

	/* also without progress: a signal may come just before we sleep */
	if (ms < 0 || ms > PROGRESS_MS)
		ms = PROGRESS_MS;
	/* beside the terminal only the current process is looked at */
	if (sh->pty && processes_others(sh) && ms > OTHERS_MS)
		ms = OTHERS_MS;
	return ms;
}

/* Ctrl-C gives the prompt back, or the next command; others end us. */
bool
wait_end_by_signal(struct shell *sh)
{
	if (wait_signal != SIGTERM && wait_signal != SIGHUP)
		return false;
	sh->quitting = true;
	sh->exit_status = 128 + wait_signal;
	return true;
}

enum result
wait_for_target(struct shell *sh, uint64_t deadline_ns, bool progress)
{
	struct session *whose;
	struct session_event ev;
	bool over = false;

	sh->thread = 0;
	progress = progress && isatty(STDERR_FILENO) && !sh->quiet && !sh->pty;
	sh->body_failed = false;
	timers_begin(sh);
	while (!over && !wait_signal && sh->session && !sh->quitting &&
	       session_state(sh->session) != SESSION_ENDED) {
		timers_arm(sh);		/* bodies may add some */
		if (deadline_ns && now_ns() >= deadline_ns)
			break;

		const int ms = timeout_ms(sh, deadline_ns);
		const int got = processes_wait(sh, sh->pty ? 0 : ms, &ev,
					       &whose);

		if (!got && sh->pty)
			pty_serve(sh, ms);
		else if (got)
			pty_print(sh);

		if (got && progress)
			clear_progress();
		if (got < 0) {
			timers_end(sh);
			terminal_reclaim();
			pty_rest(sh);
			return FAILED;
		}
		if (got)
			pty_rest(sh);	/* bodies may ask */
		over = got ? process_serve(sh, whose, take, &ev) : false;
		if (!over && sh->session)
			over = terminal_serve(sh);
		if (!over)
			longer_look(sh);
		if (!over)
			over = timers_fire(sh) || levels_look(sh);
		if (!over && progress && sh->session)
			show_progress(sh);
	}
	timers_end(sh);
	terminal_reclaim();
	pty_rest(sh);
	deeds_settle(sh);
	if (progress)
		clear_progress();
	(void)wait_was_interrupted();
	if (wait_end_by_signal(sh) || sh->quitting)
		return QUIT;
	return sh->body_failed ? TOLD : DONE;
}

void
wait_for_end(struct shell *sh)
{
	const uint64_t deadline = now_ns() + END_NS;
	struct session_event ev = {0};

	while (session_state(sh->session) != SESSION_ENDED &&
	       ev.kind != SESSION_EVENT_TRACER_GONE && now_ns() < deadline)
		if (session_wait(sh->session, PROGRESS_MS, &ev) == 1)
			(void)take(sh, &ev);
}
