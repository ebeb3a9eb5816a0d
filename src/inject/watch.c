/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * While our two threads run in the target: wait for the helper's thread to be
 * born and for both to be done, bring one that faults to its own end, pass on
 * signals that were meant for the program, and let go of what takes too long.
 */
#include <errno.h>
#include <sched.h>
#include <stdlib.h>
#include <sys/ptrace.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "hazard.h"
#include "private.h"

#define STOP_TIMEOUT_NS	UINT64_C(10000000000)
#define SLICE_NS	UINT64_C(1000000)
#define LAST_WORD_NS	UINT64_C(500000000)
#define NS_PER_S	UINT64_C(1000000000)

int
block_read(struct errand *e)
{
	return target_read(e->p->t, e->s.at + STUB_BLOCK, &e->block,
			   sizeof e->block);
}

int
block_set_state(struct errand *e, uint32_t state)
{
	e->block.state = state;
	return target_write(e->p->t, e->s.at + STUB_BLOCK, &state,
			    sizeof state);
}

/* A signal for the program that came to our thread first. */
static int
pass_on(struct errand *e, pid_t tid, enum thread_run how, siginfo_t *si)
{
	const pid_t pid = target_pid(e->p->t);

	if (syscall(SYS_rt_sigqueueinfo, pid, si->si_signo, si) < 0)
		(void)syscall(SYS_kill, pid, si->si_signo);
	if (e->report)
		e->report->resent_signals++;
	return thread_resume(tid, how, 0);
}

int
errand_signal(struct errand *e, pid_t tid, enum thread_run how)
{
	siginfo_t si;
	int r;

	if (ptrace(PTRACE_GETSIGINFO, tid, 0, &si) < 0)
		return fail_errno("read a signal of thread %d", tid);
	r = tid == e->thread ? mishap_jump(e, &si) : 0;
	if (r)
		return r < 0 ? -1 : 0;
	if (signal_is_own(&si) && handled(HAZARD_GUEST_FAULTS))
		return mishap_fault(e, tid, &si);
	if (si.si_code > 0)
		return thread_resume(tid, how, si.si_signo);
	/* to this thread and no other: its function sent it, or libc */
	if (si.si_code == SI_TKILL)
		return thread_resume(tid, how, si.si_signo);
	return pass_on(e, tid, how, &si);
}

int
errand_let_children_go(const struct errand *e, pid_t thread)
{
	if (filter_set_options(e->p, thread, PTRACE_O_TRACESYSGOOD |
			       PTRACE_O_TRACEEXEC) < 0)
		return fail_errno("set trace options of thread %d", thread);
	return 0;
}

static enum thread_run
how_it_runs(const struct errand *e)
{
	return e->parks ? RUN_TO_SYSCALL : RUN_FREE;
}

/* Where the kernel was told to clear a word at the end of the thread that the
 * helper has just made. It stands in its call. 0: not known. */
static uint64_t
cleared_at_end(const struct errand *e)
{
	struct user_regs_struct r;
	uint64_t args[3];	/* of clone_args: flags, pidfd, child_tid */

	if (thread_get_regs(e->helper, &r) < 0)
		return 0;
	if (r.orig_rax == SYS_clone)
		return r.rdi & CLONE_CHILD_CLEARTID ? r.r10 : 0;
	if (r.orig_rax != SYS_clone3 ||
	    target_read(e->p->t, r.rdi, args, sizeof args) < 0)
		return 0;
	return args[0] & CLONE_CHILD_CLEARTID ? args[2] : 0;
}

/* On our stack libc has put its descriptor, too: a word elsewhere is another
 * thread's. */
static uint64_t
word_to_clear(const struct errand *e)
{
	const uint64_t at = cleared_at_end(e);

	return at - e->s.at < e->s.size ? at : 0;
}

static int
tell_helper_what_to_await(struct errand *e)
{
	e->block.gone_at = word_to_clear(e);
	return target_write(e->p->t, e->s.at + STUB_BLOCK +
			    offsetof(struct block, gone_at),
			    &e->block.gone_at, sizeof e->block.gone_at);
}

/* The thread is born and stands; libc is now in its many-threads state. */
static int
on_birth(struct errand *e, pid_t thread)
{
	struct user_regs_struct r;
	struct event ev;

	e->thread = thread;
	if (thread_wait(thread, STOP_TIMEOUT_NS, &ev) < 0 ||
	    thread_get_regs(thread, &r) < 0 ||
	    tell_helper_what_to_await(e) < 0)
		return -1;
	/* Where this fails, libc keeps an arena of 64 MB of address space
	 * too long. No reason to fail. */
	(void)tls_hand_over(e->p, &e->s, r.fs_base);
	e->thread_tp = r.fs_base;
	if (!e->entry)
		urgent_no_more(e, thread);
	if (e->function)
		mishap_watch_jumps(e);
	if (errand_let_children_go(e, thread) < 0)
		return -1;
	return thread_resume(thread, how_it_runs(e), 0);
}

/* By a system call that does nothing. */
static bool
says(pid_t tid, uint64_t word)
{
	struct user_regs_struct r;

	return thread_get_regs(tid, &r) == 0 && r.orig_rax == SYS_getppid &&
	       r.rdi == word;
}

enum helper_news { NEWS_NONE, NEWS_BIRTH, NEWS_BELL, NEWS_GONE, NEWS_ERROR };

static enum helper_news
watch_helper(struct errand *e, uint64_t timeout_ns)
{
	struct event ev;

	if (thread_wait(e->helper, timeout_ns, &ev) < 0) {
		if (ev.kind == EVENT_NONE)
			return NEWS_NONE;
		e->helper = 0;
		return NEWS_GONE;
	}
	if (ev.kind == EVENT_SYSCALL && says(e->helper, STUB_NOTIFY)) {
		e->at_bell = true;
		return NEWS_BELL;
	}
	if (ev.kind == EVENT_CLONE) {
		if (on_birth(e, (pid_t)ev.message) < 0)
			return NEWS_ERROR;
		return NEWS_BIRTH;	/* the helper stands */
	}
	if (ev.kind == EVENT_SIGNAL
	    ? errand_signal(e, e->helper, RUN_TO_SYSCALL) < 0
	    : thread_resume(e->helper, RUN_TO_SYSCALL, 0) < 0)
		return NEWS_ERROR;
	return NEWS_NONE;
}

/* 1 it has ended, 0 nothing, -1 failed. */
static int
watch_thread(struct errand *e, uint64_t timeout_ns)
{
	struct event ev;

	if (thread_wait(e->thread, timeout_ns, &ev) < 0) {
		if (ev.kind == EVENT_NONE)
			return 0;
		mishap_watch_no_more(e);
		mishap_gone(e);
		e->thread = 0;
		return 1;
	}
	if (ev.kind == EVENT_SIGNAL)
		return errand_signal(e, e->thread, how_it_runs(e));
	if (e->parks && ev.kind == EVENT_SYSCALL &&
	    says(e->thread, STUB_PARK)) {
		e->parked = true;
		return 0;
	}
	return thread_resume(e->thread, how_it_runs(e), 0);
}

/* ---- for how long -------------------------------------------------------- */

enum { OTHERS = 64, OTHERS_TIMES = 3 };
#define OTHERS_AFTER_NS	UINT64_C(1000000000)
#define OTHERS_EVERY_NS	UINT64_C(100000000)

/* How long the program's threads, or some of very many, have waited for a
 * processor. */
static uint64_t
others_waited(const struct errand *e)
{
	pid_t *tids = NULL;
	size_t cap = 0;
	const ssize_t n = target_threads(e->p->t, &tids, &cap);
	struct thread_facts f;
	uint64_t sum = 0;

	for (ssize_t i = 0; i < n && i < OTHERS; i++)
		if (tids[i] != e->thread && tids[i] != e->helper &&
		    target_thread_facts(e->p->t, tids[i], &f) == 0)
			sum += f.wait_ns;
	free(tids);
	fail_clear();
	return sum;
}

static void
note_others(struct errand *e, uint64_t wall, uint64_t now)
{
	if (e->others_since || wall < OTHERS_AFTER_NS)
		return;
	e->others_ns = others_waited(e);
	e->others_since = now;
}

/*
 * Our thread has had its time, own. But in the loader, and in our library that
 * asks the loader for names, it waits for locks, and who has them, one after the
 * other, may wait for a processor: that does not count either. It may also be
 * anybody who waits for one, beside a lock that nobody gives back, so there is
 * an end to that.
 */
static bool
others_hold_it_up(struct errand *e, uint64_t own, uint64_t now)
{
	uint64_t waited;

	if (!e->entry || own >= OTHERS_TIMES * e->limits.own_ns)
		return false;
	if (now - e->others_asked < OTHERS_EVERY_NS)
		return true;
	waited = others_waited(e);
	waited = waited > e->others_ns ? waited - e->others_ns : 0;
	if (waited > now - e->others_since)
		waited = now - e->others_since;
	e->others_asked = now;
	return own < e->limits.own_ns + waited;
}

/*
 * Time that our thread had, or could have had but for a lock: what it waited
 * for a processor does not count, whatever the load; but for somebody who
 * waits for an answer there is an end to everything. NULL: go on.
 */
static char *
why_give_up(struct errand *e, uint64_t since)
{
	const uint64_t now = now_ns();
	const struct inject_limits *limits = &e->limits;
	const pid_t tid = e->thread ? e->thread : e->helper;
	const uint64_t wall = now - (e->ended_ns ? e->ended_ns : since);
	struct thread_facts f;

	if (limits->cancelled && limits->cancelled(limits->arg))
		return xstrdup("had not returned when it was cancelled");
	if (limits->wall_ns && wall > limits->wall_ns)
		return xasprintf("did not return within %llu s, on a busy "
				 "machine", (unsigned long long)
				 (limits->wall_ns / NS_PER_S));
	note_others(e, wall, now);
	if (wall < limits->own_ns ||
	    target_thread_facts(e->p->t, tid, &f) < 0 ||
	    wall < f.wait_ns + limits->own_ns ||
	    others_hold_it_up(e, wall - f.wait_ns, now))
		return NULL;
	return xasprintf("did not return within %llu s",
			 (unsigned long long)(limits->own_ns / NS_PER_S));
}

static void
abandon(pid_t tid)
{
	struct event ev;

	if (!tid)
		return;
	/* one that has ended waits for us to hear of it, and with it whoever
	 * waits for the end of the process */
	if (ptrace(PTRACE_INTERRUPT, tid, 0, 0) < 0)
		(void)thread_wait(tid, LAST_WORD_NS, &ev);
	else if (thread_wait(tid, STOP_TIMEOUT_NS, &ev) == 0)
		(void)ptrace(PTRACE_DETACH, tid, 0, 0);
}

void
thread_let_stay(struct errand *e, pid_t tid, enum enlist how)
{
	if (!tid)
		return;
	if (e->keeps)
		(void)thread_enlist(e->p->t, tid, how);
	else if (how == ENLIST_STANDS)
		(void)ptrace(PTRACE_DETACH, tid, 0, 0);
	else
		abandon(tid);
}

/*
 * It waits for a lock of the loader, say, that somebody holds for long. To
 * kill it could orphan that lock; so it may finish, and finds itself
 * cancelled before it calls anything of ours. The scratch is its stack.
 */
static void
cancel(struct errand *e, const char *why)
{
	const pid_t first = e->thread ? e->thread : e->helper;
	struct event ev;
	const char *where = "the loader";

	if (ptrace(PTRACE_INTERRUPT, first, 0, 0) == 0)
		(void)thread_wait(first, STOP_TIMEOUT_NS, &ev);
	if (block_read(e) == 0 && e->block.state < BLOCK_CALLING)
		(void)block_set_state(e, BLOCK_CANCELLED);
	else
		where = "the called function";
	mishap_watch_no_more(e);
	urgent_no_more(e, first);
	if (e->helper != first)
		urgent_no_more(e, e->helper);
	thread_let_stay(e, first, ENLIST_STANDS);
	thread_let_stay(e, first == e->thread ? e->helper : 0, ENLIST_RUNS);
	e->left_behind = e->cancelled = true;
	e->helper = e->thread = 0;
	(void)fail(FAIL_UNSUITABLE, "%s %s", where, why);
	(void)fail_remedy("thread %d of the target stays in it, with %zu KB, "
			  "until it returns or the target ends", (int)first,
			  e->s.size / 1024);
}

/* Let it go on for some time more? */
static bool
gave_up(struct errand *e, uint64_t since)
{
	char *why = why_give_up(e, since);
	const bool over = why && !mishap_late(e, why);

	if (over)
		cancel(e, why);
	free(why);
	return over;
}

/* Until the thread exists (or cannot be made). The helper stands then. */
int
helper_run_to_birth(struct errand *e)
{
	const uint64_t since = now_ns();

	for (;;) {
		switch (watch_helper(e, SLICE_NS)) {
		case NEWS_BIRTH:
		case NEWS_BELL:
			return 0;
		case NEWS_NONE:
			if (gave_up(e, since))
				return -1;
			break;
		default:
			return -1;
		}
	}
}

/* Once the thread is on its way. */
static void
use_the_time(struct errand *e)
{
	void (*work)(struct errand *) = e->thread || e->p->by_hand ?
		e->meanwhile : NULL;

	if (!work)
		return;
	e->meanwhile = NULL;
	work(e);
}

int
helper_run_to_bell(struct errand *e)
{
	const uint64_t since = now_ns();

	if (e->at_bell)
		return 0;
	if (thread_resume(e->helper, RUN_TO_SYSCALL, 0) < 0)
		return -1;
	for (;;) {
		use_the_time(e);
		if (e->thread && watch_thread(e, SLICE_NS) < 0)
			return -1;
		if (e->parked)
			return 0;
		switch (watch_helper(e, e->thread ? 0 : SLICE_NS)) {
		case NEWS_BELL:
			return 0;
		case NEWS_BIRTH:
			if (thread_resume(e->helper, RUN_TO_SYSCALL, 0) < 0)
				return -1;
			break;
		case NEWS_GONE:
		case NEWS_ERROR:
			return -1;
		default:
			break;
		}
		if (gave_up(e, since))
			return -1;
	}
}
