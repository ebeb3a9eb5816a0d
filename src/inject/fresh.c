/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * A thread for functions that a debugger calls while the program stands. It is
 * made as for any other call of ours (errand.c), parked in a system call that
 * does nothing, and given to the debugger, for whom it is one of the program's:
 *
 *	made --- parked ---> adopted --- interlude.c: a function ---> parked
 *	                                                                |
 *	gone <--- the helper unmaps <--- its end, as libc has it <------+
 *
 * The helper is adopted with it, and waits for its end all the time.
 */
#include <stdlib.h>

#include "fresh.h"

static int
refuse_place(pid_t tid)
{
	(void)fail(FAIL_UNSUITABLE, "thread %d, the only one of the program, "
		   "stands where libc may be changing what all threads share",
		   (int)tid);
	return fail_remedy("step up until it has left that, or call it without "
			   "-fresh");
}

/* Such a libc takes no locks, and its thread is not to be moved from where the
 * user has it stand. */
static int
check_single(struct fresh_thread *f)
{
	const pid_t tid = target_live_thread(f->p.t);
	struct user_regs_struct r;
	struct safepoint *sp;
	bool clear;

	if (!f->p.single)
		return 0;
	if (thread_get_regs(tid, &r) < 0 || !(sp = safepoint_open(&f->p)))
		return -1;
	clear = safepoint_is_clear(sp, &r);
	safepoint_close(sp);
	return clear ? 0 : refuse_place(tid);
}

/* Both stand with the others from now on, and the helper goes on standing when
 * they run: it is to do the rest under our eyes. */
static int
adopt(struct fresh_thread *f)
{
	f->tid = f->e.thread;
	f->helper = f->e.helper;
	return thread_enlist(f->p.t, f->tid, ENLIST_STANDS) < 0 ||
		thread_enlist(f->p.t, f->helper, ENLIST_STAYS) < 0 ? -1 : 0;
}

static int
explain(const struct fresh_thread *f)
{
	if (!f->report.donor)
		return fail_remedy("stepi, so that its thread stands "
				   "elsewhere, or call it without -fresh");
	if (!f->e.left_behind)
		return -1;
	(void)fail(FAIL_UNSUITABLE, "no thread could be made for the function "
		   "while all others stand: one of them has a lock of libc's "
		   "that this needs");
	return fail_remedy("cont, stop, and call it again; what was begun goes "
			   "by itself then, but for %zu KB, which the next "
			   "visit takes away", f->e.s.size / 1024);
}

static int
make(struct fresh_thread *f)
{
	struct schedule urgent;
	int r;

	if (check_single(f) < 0)
		return -1;
	urgent_begin(&urgent);
	r = errand_park(&f->e);
	urgent_end(&urgent);
	return r == 0 ? adopt(f) : explain(f);
}

struct fresh_thread *
fresh_make(struct target *t, const struct inject_limits *limits)
{
	struct fresh_thread *f = xcalloc(1, sizeof *f);

	if (room_check(t, 0) < 0 || plan_make(t, &f->p) < 0) {
		free(f);
		return NULL;
	}
	f->e.p = &f->p;
	f->e.report = &f->report;
	f->e.limits = *limits;
	f->e.keeps = true;
	if ((f->p.by_hand ? plan_refuse_call(&f->p) : make(f)) == 0)
		return f;
	fresh_free(f);
	return NULL;
}

pid_t
fresh_tid(const struct fresh_thread *f)
{
	return f->tid;
}

pid_t
fresh_helper(const struct fresh_thread *f)
{
	return f->helper;
}

bool
fresh_is_on_stack(const struct fresh_thread *f, uint64_t sp)
{
	return sp - f->e.s.at - f->e.s.thread_stack < f->e.s.thread_stack_size;
}

int
fresh_end(struct fresh_thread *f, const struct inject_limits *limits,
	  struct inject_met *met)
{
	struct schedule urgent;
	int r = 0;

	f->e.limits = *limits;
	/* without a helper the thread ends when all run */
	f->e.helper = thread_discharge(f->p.t, f->helper) ? f->helper : 0;
	f->e.thread = f->e.helper && thread_discharge(f->p.t, f->tid) ?
		f->tid : 0;
	if (f->e.helper) {
		urgent_begin(&urgent);
		r = errand_finish(&f->e);
		urgent_end(&urgent);
	}
	*met = f->report.met;
	if (r < 0 && f->e.left_behind)
		(void)fail(FAIL_UNSUITABLE, "thread %d, which was made for the "
			   "call, waits for a lock of libc's that another one "
			   "has, to end: it does when all run, and leaves %zu "
			   "KB, which the next visit takes away", (int)f->tid,
			   f->e.s.size / 1024);
	fresh_free(f);
	return r;
}

/* ---- out of what others need --------------------------------------------- */

enum { CALM_NS = 1000 * 1000 * 1000, SLICE_NS = 300 * 1000 };

static bool
is_clear(const struct fresh_thread *f, struct safepoint *sp)
{
	struct user_regs_struct r;

	return thread_get_regs(f->tid, &r) < 0 || safepoint_is_clear(sp, &r);
}

void
fresh_calm(struct fresh_thread *f)
{
	struct safepoint *sp = safepoint_open(&f->p);
	const uint64_t until = now_ns() + CALM_NS;
	struct held h;

	if (!sp)
		return;
	safepoint_add_stack(sp, f->e.s.at, f->e.s.size);
	if (!is_clear(f, sp) &&
	    thread_hold(f->p.t, f->tid, 0, CALM_NS, &h) == 0) {
		struct event ev = { .kind = EVENT_STOPPED };
		siginfo_t info;

		while (ev.kind != EVENT_SIGNAL && !is_clear(f, sp) &&
		       now_ns() < until) {
			const struct alone_limit slice = {
				.deadline = now_ns() + SLICE_NS,
			};

			if (thread_run_alone(f->p.t, &h, &slice, &ev,
					     &info) < 0)
				break;
			h.faulted = ev.kind == EVENT_SIGNAL;
		}
		/* to a plain stop: no path delivers that signal from there */
		if (h.faulted)
			(void)thread_settle(f->p.t, &h, CALM_NS);
		(void)thread_release(f->p.t, &h);
	}
	safepoint_close(sp);
	fail_clear();
}

void
fresh_free(struct fresh_thread *f)
{
	if (!f)
		return;
	plan_fini(&f->p);
	free(f);
}
