/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Choose the one thread that works for us. Best is one that waits in a
 * system call which the kernel simply begins again; worst is one in a call
 * that answers EINTR to any stop (epoll_wait and its like: repaired, but a
 * death of ours in that moment would show). Nothing is stopped to find out.
 * A thread that runs may be within a call that any stop cuts short, though no
 * signal comes (a read of /dev/zero): it is taken when all others are worse.
 *
 * Of those that want to run, each stops only when its turn comes (8 threads a
 * processor: after 15 ms), so the one that waits longest is best. One that has
 * a processor now stops at once, but has used up its turn: it would stand for
 * long at each of our calls (measured: 37 ms instead of 6).
 */
#include <errno.h>
#include <sched.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ptrace.h>
#include <sys/syscall.h>
#include <time.h>

#include "hazard.h"
#include "private.h"

enum {
	LOOK_AT_MOST = 64,		/* threads whose state we read */
	ROUNDS = 200,			/* to find a safe point */
	ROUNDS_HELD = 3,		/* where all stand for somebody else */
	OWN_TABLES = 3,			/* the round that makes new ones */
	FRAME_NEED = 4096,
	PENDING_MOST = 16,		/* signals looked at */
};
#define HOLD_TIMEOUT_NS	UINT64_C(2000000000)
#define GIVE_UP_NS	UINT64_C(10000000000)

enum rank {
	RANK_BEGINS_AGAIN,
	RANK_WAITS,
	RANK_SLEEPS_ON,			/* in restart_syscall, of what? */
	RANK_RUNS,	/* or is in a call that a stop cuts short */
	RANK_SEES_EINTR,
	RANK_IN_TRANSFER,
	RANK_ODD_STACK,		/* added: no room for a frame */
	RANK_NEVER = 100,
};

struct candidate {
	pid_t tid;
	int rank;
	double order;		/* of one that wants to run: when it last did */
};

static int
rank_of_call(long nr)
{
	switch (nr) {
	case SYS_read: case SYS_wait4: case SYS_waitid:
	case SYS_select: case SYS_pselect6: case SYS_ppoll: case SYS_readv:
	case SYS_rt_sigsuspend: case SYS_pause: case SYS_write:
		return RANK_BEGINS_AGAIN;
	default:
		/* futex, poll, nanosleep: a restart block, or unknown. */
		return call_sees_eintr(nr) ? RANK_SEES_EINTR : RANK_WAITS;
	}
}

static int
rank_of(const struct plan *p, pid_t tid)
{
	struct thread_facts f;
	int rank = RANK_RUNS;

	if (tid == p->helper)
		return RANK_NEVER;
	if (p->files_of && inject_share_descriptors(p->files_of, tid) != 1)
		return RANK_NEVER;
	if (target_thread_facts(p->t, tid, &f) < 0 ||
	    f.state == 'Z' || f.state == 'X' || target_is_worker(p->t, tid) ||
	    sched_getscheduler(tid) == SCHED_DEADLINE) /* see room.c */
		return RANK_NEVER;
	if (f.state == 'D') {
		(void)fail(FAIL_UNSUITABLE, "thread %d waits in the kernel and "
			   "cannot be stopped (state D)", (int)tid);
		return RANK_NEVER;
	}
	/*
	 * Only the kernel knows in what: if we died with such a thread, the
	 * frame's sigreturn would make it forget, and the program would see
	 * EINTR. But where the code tells, it can be begun again.
	 */
	if (f.in_syscall && f.syscall == SYS_restart_syscall)
		rank = thread_sleeping_call(p->t, f.pc) < 0 ? RANK_SLEEPS_ON :
			RANK_WAITS;
	else if (f.partial)
		rank = RANK_IN_TRANSFER;
	else if (f.in_syscall)
		rank = rank_of_call(f.syscall);
	if (f.sp && !borrow_stack_is_plain(p, f.sp, FRAME_NEED))
		rank += RANK_ODD_STACK;
	return rank;
}

/* When it had a processor last. Kernels without CONFIG_SCHED_DEBUG do not
 * tell; then all count the same. */
static double
last_ran(const struct plan *p, pid_t tid)
{
	char path[64], *text, *at;
	double when;

	(void)snprintf(path, sizeof path, "task/%d/sched", tid);
	text = file_read_at(target_proc(p->t), path, NULL);
	at = text ? strstr(text, "exec_start") : NULL;
	at = at ? strchr(at, ':') : NULL;
	when = at ? strtod(at + 1, NULL) : 0;
	free(text);
	return when;
}

static int
by_rank(const void *a, const void *b)
{
	const struct candidate *x = a, *y = b;

	if (x->rank != y->rank)
		return x->rank - y->rank;
	return (x->order > y->order) - (x->order < y->order);
}

static void
shuffle(pid_t *tids, size_t n, unsigned seed)
{
	uint64_t word = seed;
	size_t i;

	for (i = n; i > 1; i--) {
		word = hash_word(word + i);

		const size_t k = word % i;
		const pid_t tid = tids[k];

		tids[k] = tids[i - 1];
		tids[i - 1] = tid;
	}
}

/* The i-th as drawn by the seed, or as its rank says. */
static struct candidate
candidate_of(const struct plan *p, pid_t tid, int rank, unsigned seed,
	     size_t i)
{
	struct candidate c = { .tid = tid, .rank = rank };

	if (seed) {
		c.rank = rank % RANK_ODD_STACK == RANK_SLEEPS_ON ||
			rank % RANK_ODD_STACK == RANK_IN_TRANSFER;
		c.order = (double)i;
	} else if (rank == RANK_RUNS) {
		c.order = last_ran(p, tid);
	}
	return c;
}

/* Threads worth trying, best first. */
static size_t
list_candidates(const struct plan *p, unsigned seed, struct candidate *out)
{
	pid_t *tids = NULL;
	size_t cap = 0, n = 0, i;
	const ssize_t count = target_threads(p->t, &tids, &cap);

	if (seed && count > 0)
		shuffle(tids, (size_t)count, seed);
	for (i = 0; count > 0 && i < (size_t)count && n < LOOK_AT_MOST; i++) {
		const int rank = rank_of(p, tids[i]);

		if (rank != RANK_NEVER)
			out[n++] = candidate_of(p, tids[i], rank, seed, i);
		if (rank == RANK_BEGINS_AGAIN && !seed)
			break;
	}
	free(tids);
	qsort(out, n, sizeof *out, by_rank);
	return n;
}

static int
set_options(const struct plan *p, const struct held *h)
{
	/* Only now that it stands: no child of its own must become ours. */
	if (filter_set_options(p, h->tid, PTRACE_O_TRACECLONE |
			       PTRACE_O_TRACESYSGOOD | PTRACE_O_TRACEEXEC) == 0)
		return 0;
	(void)fail_errno("set trace options of thread %d", h->tid);
	return p->seccomp ? fail_remedy("the kernel must let us suspend its "
					"seccomp filter "
					"(CONFIG_CHECKPOINT_RESTORE)") : -1;
}

/*
 * A fault of the program's own that it has not met yet, since our stop came
 * first. Its handler must find the registers of that fault, not those of a
 * call of ours: such a thread runs on.
 */
static bool
has_own_fault(pid_t tid)
{
	struct __ptrace_peeksiginfo_args which = { .nr = PENDING_MOST };
	siginfo_t pending[PENDING_MOST];
	const long n = ptrace(PTRACE_PEEKSIGINFO, tid, &which, pending);
	const uint64_t faults = ~maskable_signals();

	for (long i = 0; i < n; i++)
		if (faults >> (pending[i].si_signo - 1) & 1 &&
		    pending[i].si_code > 0)
			return handled(HAZARD_OWN_FAULT);
	return false;
}

/* By a filter that the plan does not know: of this thread alone, or as old as
 * our visit. It would end the program for our first call. */
static bool
is_confined(const struct plan *p, pid_t tid)
{
	return !p->seccomp && inject_thread_is_confined(p->t, tid) &&
		handled(HAZARD_LATE_FILTER);
}

bool
plan_holds(const struct plan *p)
{
	unsigned char code[2];

	if (!handled(HAZARD_EXEC))
		return true;
	return target_read(p->t, p->gadget, code, sizeof code) == 0 &&
		code[0] == 0x0f && code[1] == 0x05;
}

/* Not it, now: 0. Why is told if no other is found. */
static int
passed_over(pid_t tid, const char *why)
{
	(void)fail(FAIL_UNSUITABLE, "thread %d %s", (int)tid, why);
	return 0;
}

/* It stands at a safe place: 1, or 0 for a reason of its own. */
static int
may_work(const struct plan *p, pid_t tid)
{
	if (has_own_fault(tid))
		return passed_over(tid, "is about to meet a fault of its own");
	/* where all stand for whoever debugs them */
	if (thread_due_signal(tid, NULL))
		return passed_over(tid, "is about to get a signal");
	if (is_confined(p, tid))
		return passed_over(tid, "is under a seccomp filter that was "
				   "not there when we came");
	if (thread_is_dispatched(tid))
		return passed_over(tid, "has its system calls dispatched to "
				   "the program");
	if (p->standing && owner_turn_is(p, tid))
		return passed_over(tid, "is still at work for a visit that "
				   "was killed");
	return 1;
}

/* Beside a helper it only stands, and where the program stands its stack is
 * looked at later. */
bool
donor_makes_calls(const struct plan *p)
{
	return !p->helper && !p->standing && handled(HAZARD_NO_ROOM);
}

static int
another_program(void)
{
	return fail(FAIL_UNSUITABLE, "it began another program while we came");
}

/* 1 taken, 0 not this one now, -1 give up. */
static int
try_one(struct plan *p, pid_t tid, struct safepoint *sp, struct borrow *b)
{
	int safe = 1;

	/* asked while it runs; beside a helper it only stands */
	if (!p->helper && inject_has_own_credentials(p->t, tid))
		return passed_over(tid, "has credentials of its own");
	urgent_donor(b, tid);
	if (thread_catch(p->t, tid, HOLD_TIMEOUT_NS, &b->held) < 0) {
		urgent_donor_end(b, tid);
		return target_gone(p->t) ? -1 : 0;
	}
	if (!plan_holds(p))
		safe = another_program();
	else if (sp)
		safe = safepoint_reach(sp, &b->held);
	/* It ran to get there. */
	if (sp && safe == 1 && !plan_holds(p))
		safe = another_program();
	if (safe == 1)
		safe = may_work(p, tid);
	if (safe == 1 && (set_options(p, &b->held) < 0 ||
			  (p->seccomp && !p->leaves && filter_check(tid) < 0) ||
			  borrow_save(b) < 0 || borrow_write_frame(b, 0, 0) < 0))
		safe = -1;
	/* who is there already must leave, even so */
	if (safe == 1 && donor_makes_calls(p) && !b->frame && !p->leaves &&
	    handled(HAZARD_FRAME))
		safe = passed_over(tid, "is on a stack with no room that is "
				   "surely free, nor is there any on the main "
				   "stack");
	if (safe == 1)
		return 1;
	spare_return(b);
	urgent_donor_end(b, tid);
	(void)thread_release(p->t, &b->held);
	return safe == 0 ? 0 : -1;
}

static void
rest(unsigned round)
{
	const struct timespec ts = {
		.tv_nsec = 500000 + (long)(hash_word(round) % 3000000),
	};

	(void)nanosleep(&ts, NULL);	/* waking early does no harm */
}

int
donor_take(struct plan *p, unsigned seed, struct borrow *b,
	   struct inject_report *report)
{
	struct candidate list[LOOK_AT_MOST];
	struct safepoint *sp = NULL;
	const uint64_t since = now_ns();
	unsigned round;
	int r = 0;

	if (p->single && handled(HAZARD_SAFE_POINT) &&
	    !(sp = safepoint_open(p)))
		return -1;
	(void)fail(FAIL_UNSUITABLE, "none is where it may be");
	for (round = 0; r == 0 && round < ROUNDS; round++) {
		const size_t n = list_candidates(p, seed, list);
		size_t i;

		/* It may have loaded code since they were made. */
		if (round == OWN_TABLES && sp && p->tables) {
			p->tables = NULL;
			safepoint_close(sp);
			if (!(sp = safepoint_open(p)))
				return -1;
		}
		if (round > 0 && (now_ns() - since > GIVE_UP_NS ||
				  (round == ROUNDS_HELD &&
				   target_held(p->t))))
			break;
		if (handled(HAZARD_FROZEN) && target_check_frozen(p->t) < 0) {
			r = -1;
			break;
		}
		for (i = 0; r == 0 && i < n &&
		     now_ns() - since < GIVE_UP_NS; i++) {
			memset(b, 0, sizeof *b);
			b->p = p;
			report->tries++;
			r = try_one(p, list[i].tid, sp, b);
			if (r == 0)
				report->donor_stop_ns +=
					held_stood_ns(&b->held);
		}
		if (r == 0)
			rest(round);
	}
	safepoint_close(sp);
	report->donor = r == 1 ? b->held.tid : 0;
	if (r == 0) {
		(void)fail_in("no thread of process %d could be borrowed",
			      target_pid(p->t));
		return fail_remedy("try again, or: " PLAN_ENGINE_RING);
	}
	return r == 1 ? 0 : -1;
}
