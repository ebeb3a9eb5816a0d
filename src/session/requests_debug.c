/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Requests of whoever debugs a target that stands: its memory, its registers,
 * steps. What they mean is known in the shell's process alone.
 */
#include "called.h"

#include <poll.h>
#include <stdlib.h>
#include <sys/user.h>

enum {
	READ_MOST = 1 << 24,	/* bytes of one request */
	REGSET_MOST = 1 << 14,	/* no machine has more */
};

int
tracer_need_held(struct tracer *tr)
{
	if (tracer_need_target(tr) < 0)
		return -1;
	if (target_held(tr->target))
		return 0;
	fail(FAIL_USAGE, "process %d runs", target_pid(tr->target));
	return fail_remedy("stop");
}

/* A target that runs may be read, too. */
static int
do_read(struct tracer *tr, struct wire_message *in, struct wire_message *out)
{
	const uint64_t addr = wire_take(in), n = wire_take(in);

	if (tracer_need_target(tr) < 0)
		return -1;
	if (n > READ_MOST)
		return fail(FAIL_USAGE, "more than %d bytes", READ_MOST);

	void *bytes = xcalloc(1, n + 1);
	const int r = target_read(tr->target, addr, bytes, n);

	if (r == 0)
		wire_put_bytes(out, bytes, n);
	free(bytes);
	return r;
}

static int
do_write(struct tracer *tr, struct wire_message *in, struct wire_message *out)
{
	const uint64_t addr = wire_take(in);
	size_t n;
	const void *bytes = wire_take_bytes(in, &n);

	(void)out;
	if (tracer_need_held(tr) < 0)
		return -1;
	return bytes ? target_write(tr->target, addr, bytes, n) : 0;
}

static int
do_regset(struct tracer *tr, struct wire_message *in, struct wire_message *out)
{
	const pid_t tid = (pid_t)wire_take(in);
	const unsigned type = (unsigned)wire_take(in);
	unsigned char regs[REGSET_MOST];
	ssize_t n;

	if (tracer_need_held(tr) < 0 ||
	    (n = thread_get_regset(tid, type, regs, sizeof regs)) < 0)
		return -1;
	wire_put_bytes(out, regs, (size_t)n);
	return 0;
}

static int
do_set_regset(struct tracer *tr, struct wire_message *in,
	      struct wire_message *out)
{
	const pid_t tid = (pid_t)wire_take(in);
	const unsigned type = (unsigned)wire_take(in);
	size_t n;
	const void *regs = wire_take_bytes(in, &n);

	(void)out;
	if (tracer_need_held(tr) < 0)
		return -1;
	return regs ? thread_set_regset(tid, type, regs, n) : 0;
}

/* ---- steps -------------------------------------------------------------- */

struct stepping {
	pid_t tid;
	uint64_t start, end;		/* in there; equal: one instruction */
	struct session_step at;
};

static int
look_where(struct target *t, struct stepping *s)
{
	struct user_regs_struct regs;

	if (thread_get_regs(s->tid, &regs) < 0)
		return -1;

	struct arch_regs a;

	arch.from_ptrace(&regs, &a);
	s->at.pc = a.reg[arch.reg_pc];
	s->at.sp = a.reg[arch.reg_sp];
	s->at.behind_call = target_behind_call(t, s->at.pc);
	return 0;
}

static bool
is_over(const struct stepping *s)
{
	return s->start == s->end || s->at.why != SESSION_STEPPED ||
		s->at.breakpoint >= 0 ||
		s->at.pc < s->start || s->at.pc >= s->end;
}

/* What a step comes to is hit, as by one who runs. */
static int
meet(struct tracer *tr, pid_t tid)
{
	const struct breakpoint *bp = target_meet(tr->target, tid);

	fail_clear();
	return bp ? tracer_note_hit(tr, bp, tid) : -1;
}

static int
step_once(struct tracer *tr, struct stepping *s)
{
	const uint64_t from = s->at.pc;
	static const enum session_stepped whys[] = {
		[STEPPED] = SESSION_STEPPED,
		[STEP_SIGNALLED] = SESSION_STEP_SIGNALLED,
		[STEP_WAITS] = SESSION_STEP_WAITS,
		[STEP_ENDED] = SESSION_STEP_ENDED,
	};
	enum stepped how;

	if (tr->col)
		collection_runs(tr->col);
	if (target_step(tr->target, s->tid, &how) < 0)
		return -1;
	s->at.why = whys[how];
	if (how == STEP_ENDED)
		return 0;
	if (look_where(tr->target, s) < 0)
		return -1;
	/* a string instruction stays where it is */
	if (how == STEPPED && s->at.pc != from)
		s->at.breakpoint = meet(tr, s->tid);
	return 0;
}

/* A line may be a loop without end: the shell is asked whether to go on. */
#define STEP_NS 100000000ull

static int
do_step(struct tracer *tr, struct wire_message *in, struct wire_message *out)
{
	const uint64_t until = now_ns() + STEP_NS;
	struct stepping s = {
		.tid = (pid_t)wire_take(in), .at.breakpoint = -1,
	};

	s.start = wire_take(in);
	s.end = wire_take(in);
	if (tracer_need_held(tr) < 0 || look_where(tr->target, &s) < 0 ||
	    (s.start <= s.end && called_check_thread(tr, s.tid) < 0))
		return -1;
	while (s.start <= s.end) {
		if (s.start != s.end && s.at.behind_call) {
			s.at.why = SESSION_STEP_CALLS;
			break;
		}
		if (step_once(tr, &s) < 0)
			return -1;
		if (s.at.why == SESSION_STEPPED && !is_over(&s) &&
		    (tracer_shell_speaks(tr) || now_ns() >= until))
			s.at.why = SESSION_STEP_INTERRUPTED;
		if (is_over(&s))
			break;
	}
	wire_put(out, s.at.why);
	wire_put(out, s.at.pc);
	wire_put(out, s.at.sp);
	wire_put(out, s.at.behind_call);
	wire_put(out, (uint64_t)(int64_t)s.at.breakpoint);
	return 0;
}

static int
do_behind_call(struct tracer *tr, struct wire_message *in,
	       struct wire_message *out)
{
	const uint64_t pc = wire_take(in);

	if (tracer_need_target(tr) < 0)
		return -1;
	wire_put(out, target_behind_call(tr->target, pc));
	return 0;
}

static void
put_object(void *arg, uint64_t base, const char *name)
{
	struct wire_message *out = arg;

	wire_put(out, base);
	wire_put_text(out, name);
}

static int
do_loader(struct tracer *tr, struct wire_message *in, struct wire_message *out)
{
	struct loader l;

	(void)in;
	if (tracer_need_target(tr) < 0 || target_loader(tr->target, &l) < 0)
		return -1;
	wire_put(out, l.notify);
	loader_each(tr->target, &l, put_object, out);
	return 0;
}

/* Answers whether it was before. */
static int
do_suspend(struct tracer *tr, struct wire_message *in,
	   struct wire_message *out)
{
	const pid_t tid = (pid_t)wire_take(in);
	const bool suspend = wire_take(in);

	if (tracer_need_held(tr) < 0)
		return -1;
	wire_put(out, target_is_suspended(tr->target, tid));
	return target_suspend(tr->target, tid, suspend);
}

const struct request_handler debug_requests[] = {
	{ WIRE_READ, do_read, false },
	{ WIRE_WRITE, do_write, false },
	{ WIRE_REGSET, do_regset, false },
	{ WIRE_SET_REGSET, do_set_regset, false },
	{ WIRE_STEP, do_step, false },
	{ WIRE_BEHIND_CALL, do_behind_call, false },
	{ WIRE_LOADER, do_loader, false },
	{ WIRE_SUSPEND, do_suspend, false },
	{ 0 }
};
