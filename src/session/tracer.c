/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * The tracer process: one loop over the shell's requests, the target's life,
 * the clocks and our own signals. It makes all ptrace calls and owns the
 * experiment, so that the shell may die at any moment. A child of the target
 * that stays ours is one more target (siblings.c); each has its own:
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
#include "foreign.h"
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

enum { POLL_MAX = 4096, OWN_PRIORITY = -15, SLEPT_NS = 100 * 1000 };

/* Signals for us ask for an orderly end; SIGCHLD says a tracee has news. */
static void
on_signals(struct tracer *all)
{
	struct signalfd_siginfo si;
	bool stopping = false;

	while (read(all->signals, &si, sizeof si) == (ssize_t)sizeof si)
		stopping |= si.ssi_signo != SIGCHLD;
	for (struct tracer *tr = all; stopping && tr; tr = tr->next)
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

static int
poll_timeout_all(const struct tracer *all)
{
	int least = -1;

	for (const struct tracer *tr = all; tr; tr = tr->next) {
		const int ms = poll_timeout(tr);

		if (ms >= 0 && (least < 0 || ms < least))
			least = ms;
	}
	return least;
}

enum { SLOT_SHELL, SLOT_TARGET, SLOT_LISTENER, SLOT_CONTROLS,
       SLOT_CLOCKS = SLOT_CONTROLS + CONTROLS_MAX };

static size_t
fill_poll(struct tracer *tr, struct pollfd *fds, size_t max)
{
	const bool alive = tr->target && !target_gone(tr->target);

	tr->fds = fds;
	fds[SLOT_SHELL] = (struct pollfd){ tr->shell, POLLIN, 0 };
	fds[SLOT_TARGET] = (struct pollfd){
		alive ? target_pidfd(tr->target) : -1, POLLIN, 0 };
	fds[SLOT_LISTENER] = (struct pollfd){ tr->listener, POLLIN, 0 };
	for (int i = 0; i < CONTROLS_MAX; i++)
		fds[SLOT_CONTROLS + i] = (struct pollfd){
			tr->controls[i], POLLIN, 0 };
	return SLOT_CLOCKS + (tr->col ? collection_pollfds(tr->col,
				fds + SLOT_CLOCKS, max - SLOT_CLOCKS) : 0);
}

/* The signals, then everybody's. Clocks get what is left. */
static size_t
fill_all(struct tracer *all, struct pollfd *fds)
{
	size_t n = 1, reserved = 0;

	fds[0] = (struct pollfd){ all->signals, POLLIN, 0 };
	for (const struct tracer *tr = all; tr; tr = tr->next)
		reserved += SLOT_CLOCKS;
	for (struct tracer *tr = all; tr; tr = tr->next) {
		reserved -= SLOT_CLOCKS;
		n += fill_poll(tr, fds + n, POLL_MAX - n - reserved);
	}
	return n;
}

/* Who waits for our end sees it by this socket's, unless it has gone. */
static void
drop_shell(struct tracer *tr)
{
	if (tr->keep)
		close(tr->shell);
	else
		tr->parted = tr->shell;
	tr->shell = -1;
}

static void
serve_all(struct tracer *tr)
{
	const struct pollfd *fds = tr->fds;

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
wake_first(const struct tracer *all)
{
	const struct sched_param first = { .sched_priority = 1 };
	const struct tracer *tr = all;

	while (tr && !(tr->target && target_has_traps(tr->target) &&
		       !target_held(tr->target)))
		tr = tr->next;
	return tr && sched_getscheduler(0) == SCHED_OTHER &&
		sched_setscheduler(0, SCHED_FIFO, &first) == 0;
}

static void
share_again(void)
{
	const struct sched_param none = { 0 };

	/* it was permitted before; the niceness stays */
	(void)sched_setscheduler(0, SCHED_OTHER, &none);
}

/* nobody can ask once its status is taken */
static void
note_children(struct tracer *all, bool signals)
{
	for (struct tracer *tr = all; tr; tr = tr->next)
		if (tr->col && (tr->fds[SLOT_TARGET].revents || signals))
			collection_note_children(tr->col);
}

/* One that has come since then has no slots yet. */
static void
work(struct tracer *tr)
{
	if (deeds_due_ms(tr) == 0)
		deeds_tell(tr);
	if (tr->col && !collection_work(tr->col))
		tracer_on_collection_end(tr);
	if (tr->target && !tr->end_told &&
	    ((tr->fds && tr->fds[SLOT_TARGET].revents) ||
	     target_gone(tr->target)))
		tracer_on_target_end(tr);
	if (tr->fds)
		serve_all(tr);
}

/* ---- the end of one, or all ---------------------------------------------- */

/* Our disk may keep us, and nobody is there any more to say `cont`. */
static void
let_go(struct tracer *all, bool everybody)
{
	for (struct tracer *tr = all; tr; tr = tr->next)
		if ((everybody || !work_left(tr)) && !tr->at_start)
			(void)tracer_release(tr);
}

static void
close_descriptors(struct tracer *tr)
{
	if (tr->shell >= 0)
		close(tr->shell);
	for (int i = 0; i < CONTROLS_MAX; i++)
		if (tr->controls[i] >= 0)
			close(tr->controls[i]);
	if (tr->parted >= 0)
		close(tr->parted);
}

static void
end_tracer(struct tracer *tr)
{
	tracer_end_collection(tr, NULL);
	(void)tracer_release(tr);
	look_back_free(tr->look);
	free(tr->way);
	target_close(tr->target);
	for (size_t i = 0; i < BREAKPOINTS_MAX; i++)
		filter_drop(tr, i);
	free(tr->last_receipt);
	free(tr->hits);
	close_descriptors(tr);
	free(tr);
}

/* Those that have nothing to do any more; or everybody. */
static void
end_some(struct tracer **all, bool everybody)
{
	struct tracer **at = all;

	let_go(*all, everybody);
	while (*at) {
		struct tracer *tr = *at;

		if (!everybody && work_left(tr)) {
			at = &tr->next;
			continue;
		}
		*at = tr->next;
		end_tracer(tr);
	}
}

/* A stop would have woken us. */
static void
note_slept(struct tracer *all)
{
	for (struct tracer *tr = all; tr; tr = tr->next)
		if (tr->target)
			target_late_run_still(tr->target);
}

static void
run(struct tracer **all)
{
	static struct pollfd fds[POLL_MAX];

	for (;;) {
		end_some(all, false);
		if (!*all)
			return;

		const size_t n = fill_all(*all, fds);
		const bool first = wake_first(*all);
		const uint64_t since = now_ns();

		if (poll(fds, n, poll_timeout_all(*all)) < 0 && errno != EINTR)
			return;
		if (now_ns() - since > SLEPT_NS)
			note_slept(*all);
		note_children(*all, fds[0].revents);
		if (fds[0].revents)
			on_signals(*all);
		for (struct tracer *tr = *all; tr; tr = tr->next)
			tracer_pump_events(tr);
		/* a hit of another would wait until this one is served */
		if (first && !(*all)->next)
			share_again();
		for (struct tracer *tr = *all; tr; tr = tr->next)
			work(tr);
		if (first && (*all)->next)
			share_again();
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

struct tracer *
tracer_new(int shell, int signals)
{
	struct tracer *tr = xcalloc(1, sizeof *tr);

	tr->shell = shell;
	tr->signals = signals;
	tr->listener = tr->parted = -1;
	for (int i = 0; i < CONTROLS_MAX; i++)
		tr->controls[i] = -1;
	return tr;
}

void
tracer_main(int socket)
{
	struct tracer *all;

	(void)setsid();
	(void)setpriority(PRIO_PROCESS, 0, OWN_PRIORITY); /* where permitted */
	(void)prctl(PR_SET_NAME, "sonde-tracer");
	close_inherited(socket);
	all = tracer_new(socket, open_signals());
	all->siblings = &all;
	pages_prepare();
	foreign_prepare();
	if (guard_start() < 0)
		fail_clear();	/* breakpoints go unguarded */
	if (all->signals >= 0)
		run(&all);
	end_some(&all, true);
	guard_end();
	_exit(0);
}
