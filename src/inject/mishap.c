/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * What befalls a function that a thread of ours has called, and how that thread
 * alone comes to its end, while the program lives on:
 *
 *	calling --- a fault, abort(3), raise(3) of such a signal ----+
 *	   |    \-- longjmp, to a stack that is not the thread's ----+
 *	   |    \-- too late, in our own entry ----------------------+
 *	   |                                                         v
 *	returned                                  where it was is noted
 *	   |                                                         |
 *	   +-----> the thread ends as libc has it <--- stub_fault ---+
 *
 * No handler of the program's sees any of it. What the function has locked or
 * half changed stays so: nobody can know. If even libc's end of a thread does
 * not come to an end (it waits for such a lock), the kernel's does; the memory
 * stays then, since libc has the thread on its list.
 */
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ptrace.h>
#include <sys/syscall.h>
#include <time.h>

#include "hazard.h"
#include "private.h"
#include "walk.h"

#define STOP_TIMEOUT_NS	UINT64_C(10000000000)
#define END_NS		UINT64_C(1000000000)

enum { ENDS_MOST = 16 };

/* ---- where --------------------------------------------------------------- */

void
stack_of(const struct plan *p, pid_t tid, uint64_t own, size_t own_size,
	 struct inject_met *met)
{
	struct walked frames[INJECT_FRAMES];
	struct user_regs_struct r;
	struct walker *w;
	bool whole;

	met->frame_count = 0;
	if (thread_get_regs(tid, &r) < 0)
		return;
	met->frames[met->frame_count++] = r.rip;
	w = walker_open(p);
	if (!w)
		return;
	walker_add_stack(w, own, own_size);

	const size_t n = walker_walk(w, &r, frames, INJECT_FRAMES, &whole);

	for (size_t i = 1; i < n; i++) {
		if (own_size && frames[i].pc - own < own_size)
			break;
		met->frames[met->frame_count++] = frames[i].pc;
	}
	walker_close(w);
}

/* The program's part of it: what is in our memory is we. The first that befell
 * it is told. */
static void
note_where(struct errand *e, pid_t tid, enum inject_mishap why, int signal)
{
	struct inject_met *met = &e->report->met;

	if (e->entry || met->frame_count)
		return;
	met->why = why;
	met->signal = signal;
	stack_of(e->p, tid, e->s.at, e->s.size, met);
}

/* ---- the end ------------------------------------------------------------- */

pid_t
errand_worker(const struct errand *e)
{
	return e->p->by_hand ? e->helper : e->thread;
}

/* Of which libc knows: its descriptor must not be unmapped, ever. */
void
mishap_keep_descriptor(struct errand *e)
{
	e->block.helper_tid_at = 0;
	(void)target_write(e->p->t, e->s.at + STUB_BLOCK +
			   offsetof(struct block, helper_tid_at),
			   &e->block.helper_tid_at,
			   sizeof e->block.helper_tid_at);
}

/* End a thread of ours from wherever it stands; what it held stays held. */
static int
make_exit(struct errand *e, pid_t tid)
{
	struct user_regs_struct r;

	e->left_behind = true;
	if (tid == e->thread)
		mishap_keep_descriptor(e);
	if (thread_get_regs(tid, &r) < 0)
		return -1;
	r.rip = e->p->gadget;
	r.rax = SYS_exit;
	r.orig_rax = UINT64_MAX;
	r.rdi = 0;
	return thread_set_regs(tid, &r) < 0 ? -1 :
		thread_resume(tid, RUN_FREE, 0);
}

/* From the called function, outside the loader: it can end as a thread
 * should. And once more from what faults or hangs in that: the rest of it. */
static int
end_call(struct errand *e, pid_t tid)
{
	const enum thread_run how = tid == e->helper ? RUN_TO_SYSCALL :
		RUN_FREE;
	struct user_regs_struct r;

	if (thread_get_regs(tid, &r) < 0)
		return -1;
	r.rip = e->s.at + (uint64_t)(stub_fault - stub_begin);
	r.orig_rax = UINT64_MAX;
	if (tid == e->thread && e->thread_tp)
		r.fs_base = e->thread_tp;
	mishap_watch_no_more(e);
	e->ended_ns = now_ns();
	e->ends++;
	if (block_read(e) < 0 || (e->block.state == BLOCK_CALLING &&
				  block_set_state(e, BLOCK_FAULTED) < 0))
		return -1;
	return thread_set_regs(tid, &r) < 0 ? -1 : thread_resume(tid, how, 0);
}

/* ---- faults -------------------------------------------------------------- */

bool
signal_is_own(const siginfo_t *si)
{
	switch (si->si_signo) {
	case SIGSEGV: case SIGBUS: case SIGILL: case SIGFPE: case SIGSYS:
	case SIGTRAP:
		return si->si_code > 0 || si->si_code == SI_TKILL;
	default:
		return signal_is_fault(si);
	}
}

/* In the function, or behind it in libc's end of the thread. */
static bool
may_end_well(const struct errand *e, pid_t tid)
{
	const uint32_t state = e->block.state;

	return tid == errand_worker(e) && (state == BLOCK_CALLING ||
		(tid == e->thread && e->ends < ENDS_MOST &&
		 (state == BLOCK_DONE || state == BLOCK_FAULTED)));
}

int
mishap_fault(struct errand *e, pid_t tid, const siginfo_t *si)
{
	struct user_regs_struct r;

	if (thread_get_regs(tid, &r) < 0 || block_read(e) < 0)
		return -1;

	const bool well = may_end_well(e, tid);
	const bool calling = e->block.state == BLOCK_CALLING;

	if (!well || calling)
		snprintf(e->fault, sizeof e->fault,
			 "crashed (signal %d at 0x%llx)", si->si_signo,
			 (unsigned long long)r.rip);
	if (!well)
		return make_exit(e, tid);
	note_where(e, tid, calling ? INJECT_FAULTED : e->report->met.why,
		   si->si_signo);
	return end_call(e, tid);
}

/* ---- jumps --------------------------------------------------------------- */

/* libc keeps sp as it is, or in disguise. */
bool
jump_leads_to(struct target *t, const struct user_regs_struct *r,
	      uint64_t sp[2])
{
	enum { JMPBUF_SP = 6 * 8, GUARD = 0x30, TURN = 17 };
	uint64_t guard;

	if (target_read(t, r->rdi + JMPBUF_SP, &sp[0], 8) < 0 ||
	    target_read(t, r->fs_base + GUARD, &guard, 8) < 0) {
		fail_clear();
		return false;
	}
	sp[1] = (sp[0] >> TURN | sp[0] << (64 - TURN)) ^ guard;
	return true;
}

void
mishap_watch_jumps(struct errand *e)
{
	static const char *const names[JUMPS] = { "longjmp", "__longjmp_chk" };

	for (int i = 0; i < JUMPS; i++)
		e->jumps[i] = thread_watch_open(e->p->t, e->thread,
			locate_address(e->p->look, &e->p->libc, names[i]));
	fail_clear();		/* where none is watched, none is told */
}

void
mishap_watch_no_more(struct errand *e)
{
	for (int i = 0; i < JUMPS; i++) {
		thread_watch_close(e->jumps[i]);
		e->jumps[i] = NULL;
	}
}

/* To the frames of another thread, which may run there, or to a coroutine's.
 * pthread_exit jumps on the thread's own stack. */
static bool
leaves_stack(const struct errand *e, const struct user_regs_struct *r)
{
	const uint64_t stack = e->s.at + e->s.thread_stack;
	uint64_t sp[2];

	return jump_leads_to(e->p->t, r, sp) &&
		sp[0] - stack >= e->s.thread_stack_size &&
		sp[1] - stack >= e->s.thread_stack_size;
}

int
mishap_jump(struct errand *e, const siginfo_t *si)
{
	struct user_regs_struct r;
	bool there = false, ours = false;

	for (int i = 0; i < JUMPS && !ours; i++)
		ours = thread_watch_takes(e->jumps[i], si, &there);
	if (!ours)
		return 0;
	if (!there || thread_get_regs(e->thread, &r) < 0 ||
	    !leaves_stack(e, &r))
		return thread_resume(e->thread, RUN_FREE, 0) < 0 ? -1 : 1;
	snprintf(e->fault, sizeof e->fault, "would have left by longjmp");
	note_where(e, e->thread, INJECT_JUMPED, 0);
	return end_call(e, e->thread) < 0 ? -1 : 1;
}

/* ---- too late ------------------------------------------------------------ */

/* SIGKILL waits for it, or it has taken that and ends, or has ended. */
static bool
thread_ends(const struct target *t, pid_t tid)
{
	enum { EXITING = 0x4, SIGNALED = 0x400 };	/* PF_... */
	struct task_stat st;
	char path[64];

	(void)snprintf(path, sizeof path, "task/%d/status", (int)tid);

	char *text = file_read_at(target_proc(t), path, NULL);
	const char *at = text ? strstr(text, "\nSigPnd:") : NULL;
	const bool killed = !at || strtoull(at + strlen("\nSigPnd:"), NULL,
					    16) >> (SIGKILL - 1) & 1;

	free(text);
	return killed || target_thread_stat(t, tid, &st) < 0 ||
		strchr("ZX", st.state) ||
		st.field[STAT_FLAGS] & (EXITING | SIGNALED);
}

/*
 * exit_group(2) gives all other threads a SIGKILL before its own thread ends:
 * one that has none lives on. Between taking it and the flag that says so a
 * thread may lose the processor: a few looks.
 */
static bool
process_ends(const struct errand *e)
{
	const pid_t tid = e->helper ? e->helper : target_pid(e->p->t);
	const struct timespec moment = { .tv_nsec = 2000000 };
	bool ends = thread_ends(e->p->t, tid);

	for (int i = 0; i < 5 && !ends; i++) {
		(void)nanosleep(&moment, NULL);
		ends = thread_ends(e->p->t, tid);
	}
	fail_clear();
	return ends;
}

void
mishap_gone(struct errand *e)
{
	if (e->entry || process_ends(e) || block_read(e) < 0 || e->block.state != BLOCK_CALLING)
		return;
	e->report->met = (struct inject_met){ .why = INJECT_THREAD_ENDED };
	snprintf(e->fault, sizeof e->fault, "has ended its thread");
}

/* Stopped where? EVENT_NONE: it cannot be. */
static enum event_kind
interrupt(pid_t tid)
{
	struct event ev = { .kind = EVENT_NONE };

	if (ptrace(PTRACE_INTERRUPT, tid, 0, 0) < 0 ||
	    thread_wait(tid, STOP_TIMEOUT_NS, &ev) < 0)
		return EVENT_NONE;
	return ev.kind;
}

/* It was ended already, and libc's own end of it hangs. */
static bool
force(struct errand *e, pid_t tid)
{
	enum event_kind at;

	if (now_ns() - e->ended_ns < END_NS)
		return true;
	if (!tid || e->left_behind || block_read(e) < 0)
		return false;
	at = interrupt(tid);
	if (at == EVENT_SIGNAL)
		return errand_signal(e, tid, RUN_FREE) == 0;
	if (at == EVENT_NONE)
		return false;
	e->ended_ns = now_ns();
	return (may_end_well(e, tid) ? end_call(e, tid) :
		make_exit(e, tid)) == 0;
}

/*
 * Our own entry holds nothing of the program's, and what does not return there
 * would stay, and might use a processor, for as long as the program lives. Of a
 * function nobody can know.
 */
bool
mishap_late(struct errand *e, const char *why)
{
	const pid_t tid = errand_worker(e);
	const enum thread_run how = tid == e->helper ? RUN_TO_SYSCALL :
		RUN_FREE;
	enum event_kind at;

	if (e->ended_ns)
		return !e->entry && force(e, tid);
	if (!e->entry || !handled(HAZARD_GUEST_HANGS) || !tid ||
	    block_read(e) < 0 || !may_end_well(e, tid) ||
	    (at = interrupt(tid)) == EVENT_NONE)
		return false;
	if (at == EVENT_SIGNAL)		/* and then it is asked again */
		return errand_signal(e, tid, how) == 0;
	if (e->block.state == BLOCK_CALLING)
		snprintf(e->fault, sizeof e->fault, "%s", why);
	return end_call(e, tid) == 0;
}
