/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * A function of the program, called by a thread that stands, for whoever
 * debugs it. The thread goes from where it is into the function, and comes
 * back, by the program's own code (way_back.c), into libc's sigreturn:
 *
 *	sp of the program
 *	  red zone
 *	  slot		the result is stored here
 *	  bytes		that arguments point to
 *	  signal frame	everything the thread had: what sigreturn reads
 *	  way back	return addresses, and arguments beyond the registers
 *	  the function's frame
 *
 * Mostly we stop it as it enters sigreturn, and put it back ourselves. But
 * whatever happens to us, or if it is let go before that, the kernel does.
 *
 * Signals that come meanwhile wait in the kernel, blocked; what the function
 * itself raises is not the program's. A C++ exception that it lets out must not
 * unwind the program's frames: where there may be some, the signal frame names
 * no code until the thread is let go, and the search for a handler ends there.
 */
#include <elf.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ptrace.h>
#include <sys/syscall.h>

#include "interlude.h"

#define HOLD_TIMEOUT_NS	UINT64_C(2000000000)

static int
take_thread(struct interlude *il)
{
	const pid_t tid = il->b.held.tid;
	const unsigned long options = PTRACE_O_TRACESYSGOOD |
		(il->errand.unfiltered ? PTRACE_O_SUSPEND_SECCOMP : 0);

	if (il->held)
		return 0;
	if (thread_hold(il->p.t, tid, options, HOLD_TIMEOUT_NS,
			&il->b.held) < 0)
		return -1;
	il->held = true;
	return 0;
}

static void
give_thread(struct interlude *il)
{
	if (il->held)
		(void)thread_release(il->p.t, &il->b.held);
	il->held = false;
}

void
interlude_free(struct interlude *il)
{
	if (!il)
		return;
	modules_fini(&il->p.mods);
	free(il->b.kept);
	free(il);
}

/* Below the function there is no frame of the program then, only what no
 * search for a handler gets beyond. */
static bool
is_parked(const struct interlude *il)
{
	return il->own && il->b.regs.rip - il->own->e.s.at < STUB_BLOCK;
}

struct interlude *
interlude_begin(struct target *t, pid_t tid, const struct fresh_thread *own,
		const struct interlude_call *c, struct way_back **way)
{
	struct interlude *il = xcalloc(1, sizeof *il);
	bool saved = false;

	if (!*way)
		*way = xcalloc(1, sizeof **way);
	il->way = *way;

	il->own = own;
	il->errand.unfiltered = own && inject_thread_is_confined(t, tid);
	il->p.t = t;
	il->b.p = &il->p;
	il->b.held.tid = tid;
	if (take_thread(il) == 0 && interlude_check(t, il) == 0 &&
	    interlude_read_maps(il) == 0 &&
	    (saved = borrow_save(&il->b) == 0)) {
		il->throws &= !is_parked(il);
		if (interlude_enter(il, c) == 0)
			return il;
	}
	if (saved)	/* some of it may be there already; why not stays */
		(void)borrow_return(&il->b, NULL);
	else
		give_thread(il);
	interlude_free(il);
	return NULL;
}

pid_t
interlude_thread(const struct interlude *il)
{
	return il->b.held.tid;
}

bool
interlude_waits(pid_t tid)
{
	struct user_regs_struct r;

	return thread_get_regs(tid, &r) == 0 && (int64_t)r.orig_rax >= 0;
}

/* ---- while it is there --------------------------------------------------- */

static uint64_t
end_of_stack(const struct interlude *il)
{
	const struct module *m = modules_find(&il->p.mods, il->b.regs.rsp);

	if (il->own)
		return il->own->e.s.at + il->own->e.s.size;
	return m ? m->end : 0;
}

/* By longjmp: its sp is above all that is ours, on the same stack. */
static bool
is_above(const struct interlude *il, uint64_t sp)
{
	return sp >= il->b.frame + 16 && sp < end_of_stack(il);
}

static bool
has_left(const struct interlude *il, const struct user_regs_struct *r)
{
	return is_above(il, r->rsp);
}

/* Of a thread of ours that ends by pthread_exit the jump stays on its stack,
 * and any other leads to frames of others, which may run there. */
static bool
jumps_out(const struct interlude *il, const struct user_regs_struct *r)
{
	uint64_t sp[2];

	if (!jump_leads_to(il->p.t, r, sp))
		return false;
	return il->own ? !fresh_is_on_stack(il->own, sp[0]) &&
		!fresh_is_on_stack(il->own, sp[1]) :
		is_above(il, sp[1]) || is_above(il, sp[0]);
}

static void
watch_jumps(struct interlude *il)
{
	const int signal = target_watch_signal(il->p.t);

	for (int i = 0; signal && i < JUMPS; i++)
		if (!(il->b.mask >> (signal - 1) & 1))
			il->jumps[i] = thread_watch_open(il->p.t,
				il->b.held.tid, il->way->jumps[i]);
	fail_clear();
}

static void
watch_no_more(struct interlude *il)
{
	for (int i = 0; i < JUMPS; i++) {
		thread_watch_close(il->jumps[i]);
		il->jumps[i] = NULL;
	}
}

/* Is that signal ours? *out: and the thread is about to leave. */
static bool
is_jump(struct interlude *il, const siginfo_t *info, bool *out)
{
	struct user_regs_struct r;
	bool there;

	*out = false;
	for (int i = 0; i < JUMPS; i++)
		if (thread_watch_takes(il->jumps[i], info, &there)) {
			*out = there &&
				thread_get_regs(il->b.held.tid, &r) == 0 &&
				jumps_out(il, &r);
			return true;
		}
	return false;
}

static int
collect(struct interlude *il, struct interlude_news *news)
{
	struct user_fpregs_struct fp;
	struct user_regs_struct r;
	const pid_t tid = il->b.held.tid;

	news->why = INTERLUDE_RETURNED;
	if (thread_get_regs(tid, &r) < 0 ||
	    target_read(il->p.t, il->slot, &news->ints[0], 8) < 0 ||
	    thread_get_regset(tid, NT_FPREGSET, &fp, sizeof fp) < 0)
		return -1;
	news->ints[1] = r.rdx;
	memcpy(&news->floats[0], fp.xmm_space, 8);
	memcpy(&news->floats[1], fp.xmm_space + 4, 8);
	memcpy(news->x87, fp.st_space, sizeof news->x87);
	return 0;
}

/* Raised by the function itself it is not the program's either. */
static bool
is_fault(const struct interlude *il, const siginfo_t *info)
{
	return signal_is_fault(info) || thread_raised(il->b.held.tid, info);
}

/* true: that ends the run. */
static bool
take_event(struct interlude *il, const struct event *ev, const siginfo_t *info,
	   struct interlude_news *news)
{
	struct user_regs_struct r;
	bool out;

	switch (ev->kind) {
	case EVENT_SYSCALL:
		if (thread_is_back(il->p.t, il->b.held.tid)) {
			news->why = INTERLUDE_RETURNED;
			return true;
		}
		if (thread_get_regs(il->b.held.tid, &r) < 0 ||
		    !has_left(il, &r))
			return false;
		news->why = INTERLUDE_LEFT;
		return true;
	case EVENT_SIGNAL:
		if (is_jump(il, info, &out)) {
			news->why = INTERLUDE_JUMPS;
			/* nor is it the program's */
			il->b.held.faulted = out;
			return out;
		}
		if (!is_fault(il, info) && il->own) {
			il->b.held.deliver = info->si_signo;
			return false;
		}
		if (!is_fault(il, info)) {
			borrow_keep(&il->b, info);
			return false;
		}
		news->why = INTERLUDE_FAULTED;
		news->signal = info->si_signo;
		il->b.held.faulted = true;
		return true;
	case EVENT_BREAKPOINT:
		news->why = INTERLUDE_BREAKPOINT;
		news->breakpoint = ev->breakpoint;
		return true;
	case EVENT_EXITING:
		return false;	/* its end comes */
	case EVENT_EXEC:
		news->why = INTERLUDE_EXECED;
		return true;
	default:
		news->why = INTERLUDE_STANDS;
		if (thread_get_regs(il->b.held.tid, &r) == 0) {
			il->cut |= (int64_t)r.orig_rax >= 0;
			if (has_left(il, &r))
				news->why = INTERLUDE_LEFT;
		}
		return true;
	}
}

int
interlude_go(struct interlude *il, uint64_t ns, bool (*cancelled)(void *arg),
	     void *arg, struct interlude_news *news)
{
	const struct alone_limit limit = { now_ns() + ns, cancelled, arg };
	bool over = false;

	*news = (struct interlude_news){ .why = INTERLUDE_RETURNED };
	if (take_thread(il) < 0)
		return -1;
	watch_jumps(il);
	while (!over && !thread_is_back(il->p.t, il->b.held.tid)) {
		struct event ev;
		siginfo_t info;

		if (thread_run_alone(il->p.t, &il->b.held, &limit, &ev,
				     &info) < 0) {
			watch_no_more(il);
			il->held = false;
			news->why = INTERLUDE_ENDED;
			return ev.kind == EVENT_NONE ? -1 : 0;
		}
		over = take_event(il, &ev, &info, news);
	}
	watch_no_more(il);
	if (!over || news->why == INTERLUDE_RETURNED)
		return collect(il, news);
	if (news->why != INTERLUDE_FAULTED && news->why != INTERLUDE_JUMPS)
		give_thread(il);
	return 0;
}

/* ---- back ---------------------------------------------------------------- */

/* A sleep that goes on in the kernel is forgotten there by then. */
static void
begin_sleep_again(struct interlude *il)
{
	enum { SLEEPS_ON = -516, AGAIN = -514 };
	struct user_regs_struct *r = &il->b.regs;
	long nr = (long)r->orig_rax;

	if (!il->cut || (int64_t)r->rax != SLEEPS_ON)
		return;
	if (nr == SYS_restart_syscall)
		nr = thread_sleeping_call(il->p.t, r->rip);
	if (nr < 0)
		return;
	r->orig_rax = (uint64_t)nr;
	r->rax = (uint64_t)(int64_t)AGAIN;
}

int
interlude_look(struct interlude *il, struct interlude_news *news)
{
	struct user_regs_struct r;

	*news = (struct interlude_news){ .why = INTERLUDE_STANDS };
	if (thread_is_back(il->p.t, il->b.held.tid))
		return collect(il, news);
	if (thread_get_regs(il->b.held.tid, &r) < 0)
		return -1;
	if (has_left(il, &r) || r.rsp == il->b.regs.rsp)
		news->why = INTERLUDE_LEFT;
	il->cut = true;
	return 0;
}

void
interlude_go_on(struct interlude *il)
{
	thread_calls(il->p.t, il->b.held.tid, &il->errand);
}

void
interlude_where(const struct interlude *il, struct inject_met *where)
{
	const struct way_back *way = il->way;
	size_t n = 1;

	stack_of(&il->p, il->b.held.tid, 0, 0, where);
	/* behind it come the instructions that lead back */
	while (n < where->frame_count && where->frames[n] != way->store &&
	       where->frames[n] != way->wide &&
	       where->frames[n] - way->pops >= WAY_PIECE)
		n++;
	if (n < where->frame_count)
		where->frame_count = n;
}

int
interlude_end(struct interlude *il)
{
	const pid_t tid = il->b.held.tid;
	struct user_regs_struct r;

	if (take_thread(il) < 0)
		return -1;
	/* the system call that it is about to make must not be */
	if (thread_is_back(il->p.t, tid) && thread_get_regs(tid, &r) == 0) {
		r.orig_rax = UINT64_MAX;
		if (thread_set_regs(tid, &r) < 0)
			return -1;
	}
	thread_calls(il->p.t, tid, NULL);
	begin_sleep_again(il);
	il->held = false;
	return borrow_return(&il->b, NULL);
}

/* Who has jumped out comes by no sigreturn that would do it; siglongjmp has a
 * mask of its own. */
static void
unblock_signals(struct interlude *il)
{
	const pid_t tid = il->b.held.tid;
	uint64_t mask;

	if (ptrace(PTRACE_GETSIGMASK, tid, KERNEL_SIGSET, &mask) == 0 &&
	    mask == il->blocked)
		(void)ptrace(PTRACE_SETSIGMASK, tid, KERNEL_SIGSET,
			     &il->b.mask);
}

void
interlude_let_go(struct interlude *il)
{
	struct interlude_news news;

	if (interlude_look(il, &news) == 0) {
		if (news.why == INTERLUDE_LEFT)
			unblock_signals(il);
		else if (il->throws)
			(void)interlude_write_frame(il, true);
	}
	thread_calls(il->p.t, il->b.held.tid, NULL);
	borrow_resend(&il->b, NULL);
	give_thread(il);
	fail_clear();
}
