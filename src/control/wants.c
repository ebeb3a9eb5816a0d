/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * What the holder wants to know of threads: that one begins or ends, that it
 * enters a system call or comes back from one. The thread stands then, before
 * anything of the program has run:
 *
 *	begins	at its first stop
 *	ends	in the kernel, its registers as of its last call
 *	dies	the same, and all others with it (lastrites.c)
 *	enters	in front of the call: it is sent back there, so that it stands
 *		as anywhere else, and enters when it goes on, with us or without;
 *		under a seccomp filter, in the kernel
 *	returns	at a plain stop behind the call
 *
 * Who is being stopped meanwhile is told of when it is to run on. A call that
 * only our stop has interrupted has not returned, and is not entered twice: but
 * if then a signal comes whose handler runs, that was its return.
 */
#include "private.h"

#include <errno.h>
#include <linux/ptrace.h>
#include <string.h>
#include <sys/syscall.h>

/* Answers that the kernel keeps to itself. */
enum { RESTARTS_FIRST = 512, RESTARTS_LAST = 516 };

static bool
any(const uint64_t *set)
{
	for (size_t i = 0; i < CALLS_KNOWN / 64; i++)
		if (set[i])
			return true;
	return false;
}

static bool
has(const uint64_t *set, long nr)
{
	return nr >= 0 && nr < CALLS_KNOWN && set[nr / 64] >> (nr % 64) & 1;
}

/* What was noted and not told yet. */
static bool
is_wanted(const struct target_wants *w, const struct hold *h)
{
	switch (h->tell) {
	case TELL_BEGINS:
		return w->begins;
	case TELL_ENDS:
		return w->ends;
	case TELL_DIES:
		return w->dies;
	case TELL_ENTERS: case TELL_RETURNS:
		return (!w->calls_of || w->calls_of == h->tid) &&
			has(h->tell == TELL_ENTERS ? w->enters : w->returns,
			    h->call.nr);
	case TELL_FORKS:
		return w->follow;
	case TELL_NOTHING:
		break;
	}
	return false;
}

void
target_want(struct target *t, const struct target_wants *w)
{
	const struct target_wants before = t->wants;
	const bool calls = t->wants_calls;

	t->wants = *w;
	t->wants_calls = any(w->enters) || any(w->returns);
	for (size_t i = t->pack.len; i-- > 0;) {
		struct hold *h = i < t->pack.len ? &t->pack.items[i] : NULL;
		pid_t child = 0;

		if (!h)
			continue;
		/* it has gone on unseen since */
		if (!calls || (before.calls_of && before.calls_of != h->tid)) {
			h->call = (struct hold_call){ 0 };
			memset(h->back, 0, sizeof h->back);
		}
		if (is_wanted(w, h))
			continue;
		if (h->tell == TELL_FORKS)
			child = h->child;
		h->tell = TELL_NOTHING;
		if (child)
			child_let_go(t, child);
	}
}

unsigned long
wants_options(const struct target *t)
{
	return (t->wants.ends || t->wants.dies ? PTRACE_O_TRACEEXIT : 0) |
		(t->wants_calls ? PTRACE_O_TRACESYSGOOD : 0);
}

bool
wants_calls_of(const struct target *t, const struct hold *h)
{
	return t->wants_calls && !h->foreign &&
		(!t->wants.calls_of || t->wants.calls_of == h->tid);
}

bool
wants_return_of(const struct target *t, const struct hold *h)
{
	return wants_calls_of(t, h) && h->want == WANT_STOPPED &&
		h->call.inside;
}

void
wants_note_birth(const struct target *t, struct hold *child, pid_t maker)
{
	child->maker = maker;
	if (t->wants.begins && !child->foreign)
		child->tell = TELL_BEGINS;
}

/* ---- ends ---------------------------------------------------------------- */

/* By itself: what ends with the program, or makes room for another one, is
 * told so. */
static void
note_end(struct target *t, struct hold *h, const struct event *ev)
{
	struct user_regs_struct regs;

	if (t->wants.ends && thread_get_regs(h->tid, &regs) == 0 &&
	    machine_syscall(&regs) == SYS_exit)
		h->tell = TELL_ENDS;
	rites_note(t, h, ev);
}

/* ---- calls --------------------------------------------------------------- */

/* Unless a handler runs first: by the kernel, or by us, where it stops behind
 * the call (repair.c). */
static bool
begins_again(long nr, int64_t answer)
{
	return (answer <= -RESTARTS_FIRST && answer >= -RESTARTS_LAST) ||
		(answer == -EINTR && call_sees_eintr(nr));
}

static bool
is_same_call(const struct hold_call *call,
	     const struct __ptrace_syscall_info *info)
{
	return call->pc == info->instruction_pointer &&
		call->sp == info->stack_pointer;
}

/* It, or the rest of it. */
static bool
goes_on_as(const struct hold_call *call,
	   const struct __ptrace_syscall_info *info)
{
	const long nr = (long)info->entry.nr;

	return call->goes_on && is_same_call(call, info) &&
		(nr == call->nr || nr == machine_restart_call);
}

/* It was sent back from there. */
static bool
comes_again(struct hold *h, const struct __ptrace_syscall_info *info)
{
	for (size_t i = 0; i < ARRAY_LEN(h->back); i++) {
		struct hold_call *back = &h->back[i];

		if (!goes_on_as(back, info))
			continue;
		back->goes_on = false;
		h->call = *back;
		h->call.inside = true;
		return true;
	}
	return false;
}

static void
note_entry(struct target *t, struct hold *h,
	   const struct __ptrace_syscall_info *info)
{
	const long nr = (long)info->entry.nr;
	struct hold_call *call = &h->call;

	if (comes_again(h, info))
		return;
	if (goes_on_as(call, info)) {
		call->goes_on = false;
		call->inside = true;
		return;
	}
	*call = (struct hold_call){
		.pc = info->instruction_pointer, .sp = info->stack_pointer,
		.nr = nr, .inside = true,
	};
	if (has(t->wants.enters, nr))
		h->tell = TELL_ENTERS;
}

static void
note_return(struct target *t, struct hold *h,
	    const struct __ptrace_syscall_info *info, bool stops)
{
	struct hold_call *call = &h->call;
	struct user_regs_struct regs;

	/* rt_sigreturn and execve come back elsewhere */
	if (!call->inside && !is_same_call(call, info)) {
		if (thread_get_regs(h->tid, &regs) < 0)
			return;
		*call = (struct hold_call){
			.pc = info->instruction_pointer,
			.sp = info->stack_pointer,
			.nr = machine_syscall(&regs),
		};
	}
	call->inside = false;
	call->answer = info->exit.rval;
	call->goes_on = begins_again(call->nr, call->answer);
	if (!has(t->wants.returns, call->nr))
		call->goes_on = call->goes_on && (stops || call->answer != -EINTR);
	else if (!call->goes_on)
		h->tell = TELL_RETURNS;
	else if (!stops && call->answer == -EINTR)
		h->asked = ptrace(PTRACE_INTERRUPT, h->tid, 0, 0) == 0;
}

/* A filter would be asked about the call that is none, with number -1, and may
 * end the program for it (syscall_trace_enter, 6.18: ptrace comes first). */
static bool
is_filtered(const struct target *t, pid_t tid)
{
	struct proc_status st;

	return proc_status_thread(t, tid, &st) < 0 || st.seccomp;
}

/* A handler in between may be sent back, too. */
static void
note_back(struct hold *h)
{
	size_t i = 0;

	while (i + 1 < ARRAY_LEN(h->back) && h->back[i].goes_on)
		i++;
	h->back[i] = h->call;
	h->back[i].goes_on = true;
}

/* In front of the call: it enters it when it goes on. */
static void
send_back(const struct target *t, struct hold *h)
{
	struct user_regs_struct regs;

	if (is_filtered(t, h->tid) || thread_get_regs(h->tid, &regs) < 0 ||
	    !machine_before_call(&regs) || thread_set_regs(h->tid, &regs) < 0) {
		fail_clear();
		return;
	}
	h->call.inside = false;
	note_back(h);
}

static void
note_call(struct target *t, struct hold *h, bool stops)
{
	struct __ptrace_syscall_info info;

	if (!wants_calls_of(t, h) || h->errand.behind ||
	    ptrace(PTRACE_GET_SYSCALL_INFO, h->tid, sizeof info, &info) <= 0)
		return;
	if (info.op == PTRACE_SYSCALL_INFO_EXIT)
		note_return(t, h, &info, stops);
	if (info.op != PTRACE_SYSCALL_INFO_ENTRY)
		return;
	note_entry(t, h, &info);
	if (stops || h->tell)
		send_back(t, h);
}

/* Or it stands in front of it already, and has only not come there yet. */
static bool
is_behind_call(pid_t tid)
{
	struct user_regs_struct regs;

	return thread_get_regs(tid, &regs) == 0 && (machine_waits(&regs) ||
		machine_interrupted(&regs) != INTERRUPTED_NO);
}

static bool
has_handler(const struct target *t, pid_t tid, int signal)
{
	struct proc_status st;

	return proc_status_thread(t, tid, &st) == 0 &&
		st.sig_caught >> (signal - 1) & 1;
}

void
wants_deliver(const struct target *t, struct hold *h, int signal)
{
	if (!signal || !h->call.goes_on || !has_handler(t, h->tid, signal))
		return;
	h->call.goes_on = false;
	if (!is_behind_call(h->tid)) {
		fail_clear();
		note_back(h);
		return;
	}
	if (!wants_calls_of(t, h) || !has(t->wants.returns, h->call.nr))
		return;
	h->tell = TELL_RETURNS;
	h->asked = ptrace(PTRACE_INTERRUPT, h->tid, 0, 0) == 0;
}

void
wants_run_on(const struct target *t, struct hold *h)
{
	struct user_regs_struct regs;
	uint64_t args[6];

	if (!wants_calls_of(t, h) || h->call.goes_on ||
	    thread_get_regs(h->tid, &regs) < 0 || !machine_waits(&regs))
		return;
	h->call = (struct hold_call){
		.pc = machine_pc(&regs), .sp = machine_sp(&regs),
		.nr = machine_syscall(&regs), .goes_on = true,
		.answer = machine_call(&regs, args),
	};
}

/* ---- told ---------------------------------------------------------------- */

void
wants_note(struct target *t, struct hold *h, const struct event *ev)
{
	if (ev->kind == EVENT_EXITING)
		note_end(t, h, ev);
	if (ev->kind == EVENT_SYSCALL)
		note_call(t, h, true);
	fail_clear();
}

bool
wants_kernel(const struct hold *h)
{
	return h->tell == TELL_ENDS || h->last ||
		(h->tell == TELL_ENTERS && h->call.inside);
}

bool
wants_tell(struct hold *h, struct event *ev)
{
	static const enum event_kind kinds[] = {
		[TELL_BEGINS] = EVENT_BEGINS, [TELL_ENDS] = EVENT_ENDS,
		[TELL_ENTERS] = EVENT_ENTERS, [TELL_RETURNS] = EVENT_RETURNS,
		[TELL_FORKS] = EVENT_FORK, [TELL_DIES] = EVENT_DIES,
	};
	const bool call = h->tell == TELL_ENTERS || h->tell == TELL_RETURNS;

	if (!h->tell)
		return false;
	*ev = (struct event){
		.kind = kinds[h->tell], .tid = h->tid, .stands = true,
		.message = (unsigned long)(call ? h->call.nr :
			h->tell == TELL_FORKS ? h->child : h->maker),
		.answer = h->tell == TELL_DIES ? h->end : h->call.answer,
	};
	h->tell = TELL_NOTHING;
	return true;
}

bool
wants_take(struct target *t, struct hold *h, struct event *ev)
{
	const pid_t tid = h->tid;

	if (ev->kind == EVENT_EXITING)
		note_end(t, h, ev);
	if (ev->kind == EVENT_SYSCALL)
		note_call(t, h, false);
	fail_clear();
	h->in_kernel = h->in_kernel || wants_kernel(h);
	if (h->in_kernel || h->tell == TELL_NOTHING || h->tell == TELL_BEGINS)
		return wants_tell(h, ev);
	hold_ask_through(h, 0);
	(void)hold_settle(&t->pack, tid, deadline_in_ms(STOP_LIMIT_MS));
	h = pack_find(&t->pack, tid);
	return h && h->stopped && wants_tell(h, ev);
}
