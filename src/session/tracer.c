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
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

enum { POLL_MAX = 4096, OWN_PRIORITY = -15 };

/* ---- what we tell the shell ------------------------------------------------------ */

void
tracer_send_event(struct tracer *tr, const struct session_event *ev)
{
	struct wire_message m;

	if (tr->shell < 0)
		return;
	wire_init(&m, WIRE_EVENT);
	wire_put(&m, ev->kind);
	wire_put(&m, (uint64_t)ev->tid);
	wire_put(&m, (uint64_t)(int64_t)ev->breakpoint);
	wire_put(&m, (uint64_t)ev->signal);
	wire_put(&m, (uint64_t)(int64_t)ev->status);
	wire_put_text(&m, ev->text);
	wire_put(&m, tr->partial);
	(void)wire_send(tr->shell, &m);	/* a shell that is gone needs none */
	wire_fini(&m);
}

/* ---- the control socket of an experiment ----------------------------------------- */

static void
control_path(struct sockaddr_un *at, int dir_fd)
{
	/* sun_path is short: go through our own descriptor */
	*at = (struct sockaddr_un){ .sun_family = AF_UNIX };
	snprintf(at->sun_path, sizeof at->sun_path,
		 "/proc/self/fd/%d/control", dir_fd);
}

void
tracer_open_listener(struct tracer *tr)
{
	const int dir = open(collection_path(tr->col),
			     O_PATH | O_DIRECTORY | O_CLOEXEC | O_NOFOLLOW);
	struct sockaddr_un at;

	if (dir < 0)
		return;
	tr->listener = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC |
			      SOCK_NONBLOCK, 0);
	control_path(&at, dir);

	const mode_t old = umask(0177);

	/* without it only `sonde stop` is missing */
	if (tr->listener >= 0 &&
	    (bind(tr->listener, (void *)&at, sizeof at) < 0 ||
	     listen(tr->listener, CONTROLS_MAX) < 0)) {
		close(tr->listener);
		tr->listener = -1;
	}
	umask(old);
	close(dir);
}

void
tracer_close_listener(struct tracer *tr, const char *path)
{
	if (tr->listener < 0)
		return;
	close(tr->listener);
	tr->listener = -1;

	char *name = xasprintf("%s/control", path);

	(void)unlink(name);
	free(name);
}

static bool
may_control(int fd)
{
	struct ucred who;
	socklen_t len = sizeof who;

	return getsockopt(fd, SOL_SOCKET, SO_PEERCRED, &who, &len) == 0 &&
	       (who.uid == 0 || who.uid == geteuid());
}

static void
accept_control(struct tracer *tr)
{
	const int fd = accept4(tr->listener, NULL, NULL, SOCK_CLOEXEC);

	if (fd < 0)
		return;
	for (int i = 0; i < CONTROLS_MAX && may_control(fd); i++) {
		if (tr->controls[i] < 0) {
			tr->controls[i] = fd;
			return;
		}
	}
	close(fd);
}

/* ---- what happens by itself ------------------------------------------------------------------ */

static void
on_target_end(struct tracer *tr)
{
	struct session_event ev = {
		.kind = SESSION_EVENT_ENDED, .status = -1,
	};

	tr->end_told = true;
	target_note_exit(tr->target, target_outcome(tr->target));

	const bool collecting = tr->col;

	tracer_end_collection(tr, target_how_ended(tr->target));
	snprintf(ev.text, sizeof ev.text, "%s%s", collecting ? "" :
		 "the target ", collecting ? tracer_receipt(tr) :
		 target_how_ended(tr->target));
	tracer_send_event(tr, &ev);
}

static void
on_collection_end(struct tracer *tr)
{
	struct session_event ev = { .kind = SESSION_EVENT_EXEC };

	tracer_end_collection(tr, "executed another program");
	snprintf(ev.text, sizeof ev.text, "%s", tracer_receipt(tr));
	tracer_send_event(tr, &ev);
}

/* Signals for us ask for an orderly end; SIGCHLD says a tracee has news. */
static void
on_signals(struct tracer *tr)
{
	struct signalfd_siginfo si;

	while (read(tr->signals, &si, sizeof si) == (ssize_t)sizeof si)
		if (si.ssi_signo != SIGCHLD)
			tr->stopping = true;
}

/* A thread stands at a trap of ours: everybody stands, the shell decides. */
static void
on_breakpoint(struct tracer *tr, const struct event *ev)
{
	struct session_event out = {
		.kind = SESSION_EVENT_BREAKPOINT, .tid = ev->tid,
	};

	for (size_t i = 0; i < tr->trap_count; i++) {
		if (tr->traps[i].at != ev->breakpoint)
			continue;
		tr->traps[i].hit_by = ev->tid;
		out.breakpoint = (int)i;
		/* a stop that fails takes all breakpoints: see below */
		if (target_hold_all(tr->target) < 0)
			return;
		if (tr->col)
			collection_stop_sample(tr->col);
		tracer_send_event(tr, &out);
		return;
	}
}

/* A breakpoint of which nobody would hear any more. */
static void
tell_what_is_off(struct tracer *tr)
{
	for (size_t i = 0; tr->target && i < tr->trap_count; i++) {
		struct session_event out = { .kind = SESSION_EVENT_NOTE };
		struct trap *trap = &tr->traps[i];
		const bool off = trap->at &&
			breakpoint_is_off(tr->target, trap->at);

		if (off && !trap->told_off) {
			snprintf(out.text, sizeof out.text, "a function is "
				 "watched no more, and no trap was allowed: "
				 "%s (status lists it)",
				 breakpoint_why_trap(tr->target, trap->at));
			tracer_send_event(tr, &out);
		}
		trap->told_off = off;
	}
}

/*
 * A stop that failed let everybody go, and took the breakpoints with it.
 * Whoever waits for a hit would wait for ever.
 */
static void
tell_what_is_lost(struct tracer *tr)
{
	struct session_event out = { .kind = SESSION_EVENT_LOST };
	bool lost = false;

	for (size_t i = 0; i < tr->trap_count; i++) {
		if (!tr->traps[i].at ||
		    breakpoint_is_there(tr->target, tr->traps[i].at))
			continue;
		tr->traps[i] = (struct trap){0};
		lost = true;
	}
	if (!lost)
		return;
	snprintf(out.text, sizeof out.text, "the breakpoints are gone, and "
		 "the process runs on: %s", fail_last()->reason);
	tracer_send_event(tr, &out);
}

/* After an exec they were of another program. */
static void
forget_traps(struct tracer *tr)
{
	for (size_t i = 0; i < tr->trap_count; i++)
		tr->traps[i] = (struct trap){0};
}

static void
pump_events(struct tracer *tr)
{
	struct event ev;

	while (tr->target && !tr->starting && !target_gone(tr->target) &&
	       target_next_event(tr->target, &ev)) {
		if (ev.kind == EVENT_ENDED)
			target_note_exit(tr->target, ev.status);
		if (ev.kind == EVENT_BREAKPOINT)
			on_breakpoint(tr, &ev);
		if (ev.kind == EVENT_EXEC)
			forget_traps(tr);
	}
	if (tr->target && !tr->starting && !target_gone(tr->target))
		tell_what_is_lost(tr);
	tell_what_is_off(tr);
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
	const int look = tr->target ? target_look_ms(tr->target) : -1;

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
		accept_control(tr);
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
		if (fds[SLOT_SIGNALS].revents)
			on_signals(tr);
		pump_events(tr);
		if (first)
			share_again();
		if (tr->col && !collection_work(tr->col))
			on_collection_end(tr);
		if (tr->target && !tr->end_told &&
		    (fds[SLOT_TARGET].revents || target_gone(tr->target)))
			on_target_end(tr);
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

/* Keep our socket, give up everything else that the shell had open. */
static void
close_inherited(int socket)
{
	const int null = open("/dev/null", O_RDWR | O_CLOEXEC);

	for (int fd = 0; fd <= STDERR_FILENO; fd++)
		(void)dup2(null, fd);
	if (socket > STDERR_FILENO + 1)
		(void)close_range(STDERR_FILENO + 1, (unsigned)socket - 1, 0);
	(void)close_range((unsigned)socket + 1, ~0u, 0);
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
	target_close(tr.target);
	guard_end();
	_exit(0);
}
