/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Stop a thread between two of its system calls. A stop within one may cut it
 * short (partial.c, transfer.c), and where we would repair what the program
 * sees (EINTR) we must live long enough to do so. So a thread that is to work
 * for us is seized, not stopped, and a sentry waits for it in user mode:
 *
 *	it computes	a clock of its CPU time that sends its signal in user
 *			mode only
 *	it is in a call	a watch (watch.c) on the address where it comes back
 *
 *   seize --> it runs on --> the sentry's signal is about to be delivered
 *                            --> dropped: a plain stop, in user mode
 *
 * The signal's default is to be ignored, and nobody but us ever sees it: should
 * we be killed, nothing happens. A thread may begin to block it at any moment:
 * a gate (gate.c) holds it back then. Where there is none, no sentry waits for
 * a thread of a program that takes signals by a call, nor where perf is
 * refused.
 *
 * The event is started by PERF_EVENT_IOC_ENABLE, and ends with its descriptor:
 * PERF_EVENT_IOC_REFRESH hangs Linux 6.16 and 6.17.
 */
#include "breakpoint.h"
#include "hazard.h"

#include <fcntl.h>
#include <linux/perf_event.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/ioctl.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

enum {
	TICK_NS = 97 * NS_PER_US,	/* of CPU time; 100 would keep step */
	LOOK_NS = NS_PER_MS,
	EINTR_PATIENCE_MS = 300,	/* then its call is repaired */
};

struct sentry {
	int signal;
	int ticks;		/* the clock's descriptor */
	const struct gate *gate;	/* the target's; NULL: none */
	struct watches back;	/* where it comes back from its call */
	uint64_t back_at;
};

/* ---- its life ----------------------------------------------------------- */

static int
open_clock(pid_t tid, int signal, const struct gate *gate)
{
	const struct perf_event_attr attr = {
		.type = PERF_TYPE_SOFTWARE,
		.size = sizeof attr,
		.config = PERF_COUNT_SW_TASK_CLOCK,
		.sample_period = TICK_NS,
		.disabled = 1,
		.exclude_kernel = 1,
		.exclude_hv = 1,
	};
	const int fd = (int)syscall(SYS_perf_event_open, &attr, tid, -1, -1,
				    PERF_FLAG_FD_CLOEXEC);

	if (fd >= 0 && (!gate || gate_put(gate, fd) == 0) &&
	    watch_send(fd, signal, tid) == 0)
		return fd;
	if (fd >= 0)
		close(fd);
	return -1;
}

static const struct gate_handler nobody = { .stack = 0 };

/* NULL, too, where there is none. *may: the signal may be sent. */
static const struct gate *
gate_for(struct target *t, int signal, bool *may)
{
	const int i = signal == SIGURG;

	if (!t->gates[i].asked) {
		t->gates[i].asked = true;
		t->gates[i].gate = gate_open(t->pid, signal, &nobody);

		char *takes = t->gates[i].gate ? NULL :
			target_takes_signals(t);

		t->gates[i].taken = takes != NULL;
		free(takes);
	}
	*may = !t->gates[i].taken || !handled(HAZARD_GATE);
	return t->gates[i].gate;
}

static struct sentry *
sentry_new(struct target *t, pid_t tid)
{
	const int signal = watch_signal_of(t, tid);
	bool may = false;
	const struct gate *gate = signal ? gate_for(t, signal, &may) : NULL;
	const int ticks = may ? open_clock(tid, signal, gate) : -1;

	if (ticks < 0)
		return NULL;

	struct sentry *s = xcalloc(1, sizeof *s);

	s->signal = signal;
	s->ticks = ticks;
	s->gate = gate;
	return s;
}

void
sentry_free(struct sentry *s)
{
	if (!s)
		return;
	close(s->ticks);
	watches_fini(&s->back);
	free(s);
}

bool
sentry_owns_signal(const struct sentry *s, pid_t tid, const siginfo_t *info)
{
	const struct watch *w = s ? watches_find(&s->back, tid) : NULL;

	return s && info->si_signo == s->signal &&
		(info->si_code == POLL_IN || info->si_code == POLL_HUP) &&
		(info->si_fd == s->ticks || (w && info->si_fd == w->fd));
}

/* Without debug registers the clock alone finds it, in time. */
static void
watch_return(struct sentry *s, pid_t tid, uint64_t pc)
{
	if (s->back_at == pc)
		return;
	watches_disarm(&s->back, tid);
	s->back_at = pc;
	(void)watches_arm(&s->back, &(struct watched){
			.addr = pc, .gate = s->gate }, s->signal, tid);
}

/* ---- waiting for it ----------------------------------------------------- */

/* Until a stop, or the next look. */
static void
rest(bool *took_signal)
{
	const struct timespec look = { .tv_nsec = LOOK_NS };
	sigset_t child;

	sigemptyset(&child);
	sigaddset(&child, SIGCHLD);
	*took_signal = sigtimedwait(&child, NULL, &look) == SIGCHLD ||
		*took_signal;
}

/* News of it: 1 it stands, plainly; 0 it runs on; -1 it is gone. */
static int
take_news(struct target *t, pid_t tid, int status)
{
	const struct event ev = event_of_status(tid, status);
	struct hold *h = pack_find(&t->pack, tid);
	siginfo_t info;

	if (ev.kind == EVENT_THREAD_GONE || ev.kind == EVENT_GROUP_STOP ||
	    ev.kind == EVENT_STOPPED)
		return hold_step(&t->pack, tid, status);

	const bool is_signal = ev.kind == EVENT_SIGNAL &&
		ptrace(PTRACE_GETSIGINFO, tid, 0, &info) == 0;

	/* a breakpoint's, which would be hit again and again */
	if (is_signal && (info.si_signo == SIGTRAP ||
			  breakpoint_owns_signal(tid, &info)))
		return hold_step(&t->pack, tid, status);
	hold_note(h, &ev);
	if (is_signal && sentry_owns_signal(h->sentry, tid, &info)) {
		hold_ask_through(h, 0);
		return hold_settle(&t->pack, tid,
				   deadline_in_ms(STOP_LIMIT_MS));
	}
	if (is_signal && signal_is_caught(t, tid)) {
		h->asked = false;	/* it stands with it, to be told */
		return 1;
	}
	return hold_pass(&t->pack, &ev);
}

/* Where it is blocked; the sentry is told where it returns. */
static enum call_where
look(struct target *t, pid_t tid)
{
	struct sentry *s = pack_find(&t->pack, tid)->sentry;
	uint64_t pc;
	const enum call_where where = call_where(t, tid, &pc);

	if (where == CALL_PARTIAL || where == CALL_SEES_EINTR)
		watch_return(s, tid, pc);
	return where;
}

static int
not_met(struct target *t, pid_t tid)
{
	uint64_t pc;

	if (call_where(t, tid, &pc) == CALL_PARTIAL)
		return partial_refused(tid, FAIL_UNSUITABLE);
	fail(FAIL_UNSUITABLE, "thread %d was not met in user mode: it is in a "
	     "long system call, or gets no processor", (int)tid);
	return fail_remedy("try again");
}

static int
wait_for(struct target *t, pid_t tid, uint64_t deadline, uint64_t partial_at,
	 bool *took_signal)
{
	const uint64_t eintr_at = deadline_in_ms(EINTR_PATIENCE_MS);

	for (;;) {
		int status;
		int r = wait_status(tid, 0, &status);

		if (r == 1)
			r = take_news(t, tid, status);
		else if (r < 0)
			hold_vanished(&t->pack, tid);
		if (r < 0)
			return fail(FAIL_MISSING, "thread %d has ended",
				    (int)tid);
		if (r == 1)
			return 0;

		const enum call_where where = look(t, tid);
		const uint64_t now = now_ns();

		if (where == CALL_BEGINS_AGAIN ||
		    (where == CALL_SEES_EINTR && now >= eintr_at))
			return 0;
		if (now >= (where == CALL_PARTIAL ? partial_at : deadline))
			break;
		rest(took_signal);
	}
	return not_met(t, tid);
}

int
sentry_wait(struct target *t, pid_t tid, uint64_t deadline,
	    unsigned partial_ms)
{
	const uint64_t partial_at = deadline_in_ms(partial_ms);
	bool took_signal = false;
	sigset_t child, before;

	sigemptyset(&child);
	sigaddset(&child, SIGCHLD);
	pthread_sigmask(SIG_BLOCK, &child, &before);

	const int r = wait_for(t, tid, deadline, partial_at,
			       &took_signal);

	/* it may have been about somebody else */
	if (took_signal && t->pack.len)
		(void)kill(getpid(), SIGCHLD);
	pthread_sigmask(SIG_SETMASK, &before, NULL);
	return r;
}

int
sentry_post(struct target *t, pid_t tid, unsigned long options,
	    uint64_t deadline)
{
	struct hold *h = pack_find(&t->pack, tid);

	if (h && h->sentry)
		return 1;
	if (!h && await_stoppable(t, tid, deadline) < 0)
		return -1;

	struct sentry *s = sentry_new(t, tid);

	if (!s)
		return 0;
	if (!h && seize(t, tid, options) < 0) {
		sentry_free(s);
		return -1;
	}
	h = pack_add(&t->pack, tid, WANT_GONE);
	h->sentry = s;
	(void)ioctl(s->ticks, PERF_EVENT_IOC_ENABLE, 0);
	return 1;
}

void
sentry_dismiss(struct target *t, pid_t tid)
{
	struct hold *h = pack_find(&t->pack, tid);

	if (!h || h->want == WANT_GONE)
		return;
	sentry_free(h->sentry);
	h->sentry = NULL;
}

int
thread_catch(struct target *t, pid_t tid, uint64_t timeout_ns, struct held *h)
{
	const uint64_t deadline = now_ns() + timeout_ns;
	const struct hold *known = pack_find(&t->pack, tid);
	int r = 0;

	*h = (struct held){ .tid = tid };
	if (handled(HAZARD_TRANSFER) && !(known && known->stopped)) {
		r = sentry_post(t, tid, 0, deadline);
		if (r == 1)
			r = sentry_wait(t, tid, deadline, STOP_LIMIT_MS);
		else if (r == 0 && !known)
			r = partial_look_long(t, tid);
	}
	if (r >= 0)
		r = thread_hold(t, tid, 0, STOP_LIMIT_MS * (uint64_t)NS_PER_MS,
				h);
	sentry_dismiss(t, tid);
	return r;
}
