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
#include "private.h"

#include <ctype.h>
#include <errno.h>
#include <getopt.h>
#include <poll.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { PROGRESS_MS = 250, SUBJECTS_MAX = 64 };

struct subject {
	pid_t pid;
	char *path;		/* NULL: test.N.er */
	struct session *session;
	bool ended;
};

struct recording {
	struct shell *sh;
	struct subject subjects[SUBJECTS_MAX];
	size_t count;
	char **program;		/* launch */
	const char *pids;	/* as given */
	bool children;
	uint64_t duration_ns;
	bool partial;		/* a tracer process died: data is incomplete */
	char *group;		/* X.erg; NULL: one experiment */
	bool launched;		/* the program is there: what fails is ours */
};

/* ---- options ------------------------------------------------------------------------ */

static int
usage(void)
{
	fail(FAIL_USAGE, "record: give -p PID, or a program");
	return fail_remedy("sonde help record");
}

static int
take_option(struct recording *r, int letter, const char *value)
{
	struct settings *s = &r->sh->settings;

	switch (letter) {
	case 'p':
		r->pids = value;
		return 0;
	case 'o':
	case 'O':
		if (!str_ends(value, ".er")) {
			fail(FAIL_USAGE, "experiment name '%s' does not end "
			     "in .er", value);
			return fail_remedy("-%c %s.er", letter, value);
		}
		free(s->experiment);
		s->experiment = xstrdup(value);
		s->overwrite = letter == 'O';
		return 0;
	case 'd':
		return settings_duration(value, &r->duration_ns);
	case 'i':
		return shell_interval(r->sh, value);
	case 'F':
		return settings_frequency(s, value);
	case 'e':
		return settings_engine(s, value);
	case 'C':
		r->children = true;
		return 0;
	case 'q':
		r->sh->quiet = true;
		return 0;
	case 'S':
		s->seed = (unsigned)strtoul(value, NULL, 0);
		return 0;
	default:
		return usage();
	}
}

static int
parse(struct recording *r, int argc, char **argv)
{
	static const struct option longs[] = {
		{ "pid", required_argument, NULL, 'p' },
		{ "duration", required_argument, NULL, 'd' },
		{ "interval", required_argument, NULL, 'i' },
		{ "freq", required_argument, NULL, 'F' },
		{ "engine", required_argument, NULL, 'e' },
		{ "children", no_argument, NULL, 'C' },
		{ "quiet", no_argument, NULL, 'q' },
		{ "donor-seed", required_argument, NULL, 'S' },
		{ 0 }
	};
	int letter;

	opterr = 0;
	optind = 0;		/* begin anew */
	while ((letter = getopt_long(argc, argv, "+p:o:O:d:i:F:q", longs,
				     NULL)) >= 0) {
		if (letter == '?') {
			fail(FAIL_USAGE, "record: option '%s' is unknown or "
			     "lacks its value", option_wrong(argv));
			return fail_remedy("sonde help record");
		}
		if (take_option(r, letter, optarg) < 0)
			return -1;
	}
	if (optind < argc)
		r->program = argv + optind;
	if (!r->program == !r->pids)
		return r->program ? fail(FAIL_USAGE, "record: -p %s and a "
			"program '%s' do not go together", r->pids,
			r->program[0]) : usage();
	if (r->children && !r->pids)
		return fail(FAIL_USAGE, "record: --children goes with -p");
	return 0;
}

/* ---- who ----------------------------------------------------------------------------- */

static struct subject *
add_subject(struct recording *r, pid_t pid, char *path)
{
	if (r->count == SUBJECTS_MAX) {
		free(path);
		fail(FAIL_USAGE, "more than %d processes", SUBJECTS_MAX);
		return NULL;
	}

	struct subject *s = &r->subjects[r->count++];

	*s = (struct subject){ .pid = pid, .path = path };
	return s;
}

static bool
is_subject(const struct recording *r, pid_t pid)
{
	for (size_t i = 0; i < r->count; i++)
		if (r->subjects[i].pid == pid)
			return true;
	return false;
}

static int
add_listed(struct recording *r)
{
	char *list = xstrdup(r->pids), *save = NULL;
	int result = 0;

	for (char *word = strtok_r(list, ",", &save); word && result == 0;
	     word = strtok_r(NULL, ",", &save)) {
		const pid_t pid = target_find(word);

		if (pid < 0)
			result = -1;
		else if (!is_subject(r, pid) && !add_subject(r, pid, NULL))
			result = -1;
	}
	free(list);
	return result == 0 && !r->count ? usage() : result;
}

/* ---- a group: X.PID.er each, named in X.erg beside them -------------------------------------- */

/* A name of the settings' directory, as the experiment's own name would be. */
static char *
in_directory(const struct recording *r, const char *stem, const char *end)
{
	const char *dir = r->sh->settings.directory;

	return *stem == '/' || strcmp(dir, ".") == 0 ?
		xasprintf("%s%s", stem, end) :
		xasprintf("%s/%s%s", dir, stem, end);
}

/* X.er -> X; without a name the first test.N that no group has. */
static char *
choose_stem(const struct recording *r)
{
	const char *name = r->sh->settings.experiment;

	if (name)
		return xstrndup(name, strlen(name) - 3);
	for (int n = 1;; n++) {
		char *stem = xasprintf("test.%d", n);
		char *group = in_directory(r, stem, ".erg");
		char *single = in_directory(r, stem, ".er");
		const bool taken = access(group, F_OK) == 0 ||
			access(single, F_OK) == 0;

		free(group);
		free(single);
		if (!taken)
			return stem;
		free(stem);
	}
}

/* Its lines are read relative to where it is. */
static int
write_group(const struct recording *r, const char *stem)
{
	char *name = in_directory(r, stem, ".erg");
	FILE *file = fopen(name, r->sh->settings.overwrite ? "we" : "wxe");
	int result = 0;

	if (!file && errno == EEXIST) {
		fail(FAIL_USAGE, "group %s exists already", name);
		result = fail_remedy("give another name, or replace it: -O "
				     "%s.er", stem);
	} else if (!file) {
		result = fail_errno("write group %s", name);
	} else {
		fputs("#analyzer experiment group\n", file);
		for (size_t i = 0; i < r->count; i++) {
			const char *path = r->subjects[i].path;
			const char *slash = strrchr(path, '/');

			fprintf(file, "%s\n", slash ? slash + 1 : path);
		}
		if (fclose(file) != 0)
			result = fail_errno("write group %s", name);
	}
	free(name);
	return result;
}

static int
make_group(struct recording *r)
{
	char *stem = choose_stem(r);

	for (size_t i = 0; i < r->count; i++)
		r->subjects[i].path = xasprintf("%s.%d.er", stem,
						r->subjects[i].pid);

	const int result = write_group(r, stem);

	if (result == 0)
		r->group = in_directory(r, stem, ".erg");
	free(stem);
	return result;
}

/* ---- children ------------------------------------------------------------------------------- */

/* Every descendant that runs now. */
static int
add_children(struct recording *r, const struct session_process *all, ssize_t n)
{
	const char *founder = session_experiment(r->subjects[0].session);
	int number = 0;

	for (size_t at = 0; at < r->count; at++) {
		for (ssize_t i = 0; i < n; i++) {
			if (all[i].ppid != r->subjects[at].pid ||
			    all[i].pid == getpid())
				continue;
			if (!add_subject(r, all[i].pid, xasprintf("%s/_f%d.er",
							founder, ++number)))
				return -1;
		}
	}
	if (r->count == 1)
		shell_note(r->sh, "process %d has no children",
			   r->subjects[0].pid);
	return 0;
}

/* "idle; its children 812, 813 use 99 % CPU: --children" */
static void
tell_idle_master(const struct recording *r, const struct session_process *all,
		 ssize_t n)
{
	const pid_t pid = r->subjects[0].pid;
	struct str list = {0};
	double own = 0, sum = 0;

	for (ssize_t i = 0; i < n; i++) {
		if (all[i].pid == pid)
			own = all[i].cpu_percent;
		if (all[i].ppid != pid || all[i].cpu_percent < 1)
			continue;
		sum += all[i].cpu_percent;
		str_addf(&list, "%s%d", list.len ? ", " : "", all[i].pid);
	}
	if (own < 1 && sum >= 5)
		shell_note(r->sh, "process %d is idle; its children %s use "
			   "%.0f %% CPU: add --children", pid,
			   str_text(&list), sum);
	str_fini(&list);
}

/* ---- start and stop --------------------------------------------------------------------- */

static int
attach_one(struct subject *s)
{
	s->session = session_attach(s->pid, false);
	return s->session ? 0 : -1;
}

static int
enable_one(struct recording *r, struct subject *s)
{
	struct settings *set = &r->sh->settings;
	char *asked = set->experiment;

	if (s->path)
		set->experiment = s->path;

	const int result = session_enable(s->session, set);

	set->experiment = asked;
	return result;
}

static int
start_launched(struct recording *r)
{
	const struct session_launch launch = {
		.argv = r->program,
		.preload = session_wants_preload(&r->sh->settings),
	};
	struct subject *s = add_subject(r, 0, NULL);

	s->session = session_launch(&launch);
	if (!s->session)
		return -1;
	r->launched = true;
	s->pid = session_pid(s->session);
	if (session_enable(s->session, &r->sh->settings) < 0) {
		(void)session_kill(s->session, SIGKILL);
		return -1;
	}
	return session_cont(s->session);
}

/* All of them are there, and ours to look at, before one is recorded. */
static int
start_listed(struct recording *r)
{
	if (add_listed(r) < 0)
		return -1;
	for (size_t i = 0; i < r->count; i++)
		if (attach_one(&r->subjects[i]) < 0)
			return -1;
	if (r->count > 1 && make_group(r) < 0)
		return -1;
	for (size_t i = 0; i < r->count; i++)
		if (enable_one(r, &r->subjects[i]) < 0)
			return -1;
	return 0;
}

static int
start_children(struct recording *r, const struct session_process *all,
	       ssize_t n)
{
	if (add_children(r, all, n) < 0)
		return -1;
	for (size_t i = 1; i < r->count; i++) {
		struct subject *s = &r->subjects[i];

		if (s->session)		/* listed, it is recorded already */
			continue;
		if (attach_one(s) < 0 || enable_one(r, s) < 0)
			shell_print_failure(r->sh);	/* others go on */
	}
	return 0;
}

static int
start_attached(struct recording *r)
{
	struct session_process *all = NULL;
	int result = 0;

	if (start_listed(r) < 0)
		return -1;
	if (r->count > 1 && !r->children)
		return 0;

	const ssize_t n = session_processes(NULL, &all);

	if (r->children)
		result = start_children(r, all, n);
	else
		tell_idle_master(r, all, n);
	free(all);
	return result;
}

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
	}
}

static void
finish(struct recording *r)
{
	for (size_t i = 0; i < r->count; i++) {
		struct subject *s = &r->subjects[i];
		char *receipt = NULL;

		if (s->session && !s->ended) {
			if (session_detach(s->session, LEAVE_RUNNING,
					   &receipt) < 0)
				shell_print_failure(r->sh);
			else if (*receipt)
				shell_note(r->sh, "%s", receipt);
		}
		free(receipt);
	}
	if (r->group)
		shell_note(r->sh, "all of them: sonde report %s -functions",
			   r->group);
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

/* ---- the wait ----------------------------------------------------------------------------- */

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
		if (*ev.text)
			shell_note(r->sh, "%s", ev.text);
		if (ev.kind == SESSION_EVENT_TRACER_GONE) {
			r->partial = true;
			return;
		}
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

	if (parse(&r, argc, argv) < 0) {
		shell_print_failure(sh);
		return EXIT_USAGE;
	}
	wait_catch_signals();
	if ((r.program ? start_launched(&r) : start_attached(&r)) < 0) {
		status = status_of_start(&r);
		shell_print_failure(sh);
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
	if (r.program && sh->program_status >= 0)
		status = status_of_program(sh->program_status);
	else if (r.partial)
		status = status_of_failure(FAIL_PARTIAL);
	else if (!r.program && r.duration_ns && all_ended(&r))
		status = status_of_failure(FAIL_ENDED);
	finish(&r);
	free_subjects(&r);
	return status;
}
