/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * The tracer process: one loop over the shell's requests, the target's life,
 * the clocks and our own signals. It makes all ptrace calls and owns the
 * experiment, so that the shell may die at any moment:
 *
 *	shell gone        the experiment is closed, the target let go, the end;
 *	                  after `detach -keep` recording goes on until somebody
 *	                  asks through EXP.er/control
 *	target gone       the experiment is closed with a sentence about how
 *	SIGTERM, SIGHUP   as when the shell is gone
 *
 * It runs in a session of its own: inside the target's autogroup a spinning
 * target would starve it (measured: 15,000 samples lost with 500 spinners).
 */
#include "look_back.h"
#include "private.h"

#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/signalfd.h>
#include <sys/stat.h>
#include <unistd.h>

enum { POLL_MAX = 4096, OWN_PRIORITY = -15 };

/* Signals for us ask for an orderly end; SIGCHLD says a tracee has news. */
static void
on_signals(struct tracer *tr)
{
	struct signalfd_siginfo si;

	while (read(tr->signals, &si, sizeof si) == (ssize_t)sizeof si)
		if (si.ssi_signo != SIGCHLD)
			tr->stopping = true;
}

static bool
work_left(const struct tracer *tr)
{
	if (tr->stopping)
		return false;
	return tr->shell >= 0 || (tr->keep && tr->col);
}

static int
poll_timeout(const struct tracer *tr)
{
	const int tell = deeds_due_ms(tr);
	int look = tr->target ? target_look_ms(tr->target) : -1;

	if (tell >= 0 && (look < 0 || tell < look))
		look = tell;
	if (!tr->col)
		return look;

	const uint64_t now = now_ns(), due = collection_deadline(tr->col);
	const int work = due <= now ? 0 : (int)((due - now) / 1000000 + 1);

	return look >= 0 && look < work ? look : work;
}

enum { SLOT_SIGNALS, SLOT_SHELL, SLOT_TARGET, SLOT_LISTENER, SLOT_CONTROLS,
       SLOT_CLOCKS = SLOT_CONTROLS + CONTROLS_MAX };

static size_t
fill_poll(struct tracer *tr, struct pollfd *fds)
{
	const bool alive = tr->target && !target_gone(tr->target);

	fds[SLOT_SIGNALS] = (struct pollfd){ tr->signals, POLLIN, 0 };
	fds[SLOT_SHELL] = (struct pollfd){ tr->shell, POLLIN, 0 };
	fds[SLOT_TARGET] = (struct pollfd){
		alive ? target_pidfd(tr->target) : -1, POLLIN, 0 };
	fds[SLOT_LISTENER] = (struct pollfd){ tr->listener, POLLIN, 0 };
	for (int i = 0; i < CONTROLS_MAX; i++)
		fds[SLOT_CONTROLS + i] = (struct pollfd){
			tr->controls[i], POLLIN, 0 };
	return SLOT_CLOCKS + (tr->col ? collection_pollfds(tr->col,
				fds + SLOT_CLOCKS, POLL_MAX - SLOT_CLOCKS) : 0);
}

static void
drop_shell(struct tracer *tr)
{
	close(tr->shell);
	tr->shell = -1;
}

static void
serve_all(struct tracer *tr, const struct pollfd *fds)
{
	if (fds[SLOT_SHELL].revents && !request_serve(tr, tr->shell, false))
		drop_shell(tr);
	if (fds[SLOT_LISTENER].revents && tr->listener >= 0)
		tracer_accept_control(tr);
	for (int i = 0; i < CONTROLS_MAX; i++) {
		if (fds[SLOT_CONTROLS + i].revents &&
		    !request_serve(tr, tr->controls[i], true)) {
			close(tr->controls[i]);
			tr->controls[i] = -1;
		}
	}
}

/*
 * A thread that has hit a trap is lost if we are killed before we have seen
 * it, so whatever wakes us then, a hit or our end, goes first; where it may.
 * What we do otherwise shares: it may be long. Of 80 kills with 1000 hits a
 * second 17 cost the target without this, 1 with it (2 CPUs, busy).
 */
static bool
wake_first(const struct tracer *tr)
{
	const struct sched_param first = { .sched_priority = 1 };

	return tr->target && target_has_traps(tr->target) &&
		!target_held(tr->target) &&
		sched_getscheduler(0) == SCHED_OTHER &&
		sched_setscheduler(0, SCHED_FIFO, &first) == 0;
}

static void
share_again(void)
{
	const struct sched_param none = { 0 };

	/* it was permitted before; the niceness stays */
	(void)sched_setscheduler(0, SCHED_OTHER, &none);
}

static void
run(struct tracer *tr)
{
	static struct pollfd fds[POLL_MAX];

	while (work_left(tr)) {
		const size_t n = fill_poll(tr, fds);
		const bool first = wake_first(tr);

		if (poll(fds, n, poll_timeout(tr)) < 0 && errno != EINTR)
			return;
		/* nobody can ask once its status is taken */
		if (tr->col && (fds[SLOT_TARGET].revents ||
				fds[SLOT_SIGNALS].revents))
			collection_note_children(tr->col);
		if (fds[SLOT_SIGNALS].revents)
			on_signals(tr);
		tracer_pump_events(tr);
		if (first)
			share_again();
		if (deeds_due_ms(tr) == 0)
			deeds_tell(tr);
		if (tr->col && !collection_work(tr->col))
			tracer_on_collection_end(tr);
		if (tr->target && !tr->end_told &&
		    (fds[SLOT_TARGET].revents || target_gone(tr->target)))
			tracer_on_target_end(tr);
		serve_all(tr, fds);
	}
}

static int
open_signals(void)
{
	sigset_t set;

	sigfillset(&set);
	sigprocmask(SIG_BLOCK, &set, NULL);
	sigemptyset(&set);
	sigaddset(&set, SIGTERM);
	sigaddset(&set, SIGHUP);
	sigaddset(&set, SIGINT);
	sigaddset(&set, SIGQUIT);
	sigaddset(&set, SIGCHLD);
	return signalfd(-1, &set, SFD_CLOEXEC | SFD_NONBLOCK);
}

/*
 * A pipe that nobody outside can have: a library's that was preloaded into us.
 * libunwind, below tcmalloc, closes the numbers of its pipe when that does not
 * work and opens another one: by then they would be numbers of ours.
 */
static bool
is_of_library(int fd)
{
	struct stat st;
	const int flags = fcntl(fd, F_GETFD);

	return flags >= 0 && (flags & FD_CLOEXEC) && fstat(fd, &st) == 0 &&
		S_ISFIFO(st.st_mode);
}

/* Those between the two. */
static void
close_between(int first, int last)
{
	for (int fd = first; fd <= last; fd++)
		if (!is_of_library(fd))
			(void)close(fd);
}

/* Keep our socket, give up everything else that the shell had open. */
static void
close_inherited(int socket)
{
	enum { LIBRARIES = 64 };	/* theirs were opened first */
	const int null = open("/dev/null", O_RDWR | O_CLOEXEC);

	for (int fd = 0; fd <= STDERR_FILENO; fd++)
		(void)dup2(null, fd);
	close_between(STDERR_FILENO + 1, socket - 1);
	close_between(socket + 1, socket + LIBRARIES);
	(void)close_range((unsigned)socket + LIBRARIES + 1, ~0u, 0);
}

void
tracer_main(int socket)
{
	struct tracer tr = { .shell = socket, .listener = -1 };

	(void)setsid();
	(void)setpriority(PRIO_PROCESS, 0, OWN_PRIORITY); /* where permitted */
	(void)prctl(PR_SET_NAME, "sonde-tracer");
	close_inherited(socket);
	for (int i = 0; i < CONTROLS_MAX; i++)
		tr.controls[i] = -1;
	tr.signals = open_signals();
	if (guard_start() < 0)
		fail_clear();	/* breakpoints go unguarded */
	if (tr.signals >= 0)
		run(&tr);
	/* our disk may keep us, and nobody is there any more to say `cont` */
	if (!tr.at_start)
		(void)tracer_release(&tr);
	tracer_end_collection(&tr, NULL);
	(void)tracer_release(&tr);
	look_back_free(tr.look);
	free(tr.way);
	target_close(tr.target);
	guard_end();
	_exit(0);
}
