/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Requests to hear of something: signals, threads, calls, breakpoints. What
 * runs is stopped for a moment to take them.
 */
#include "private.h"

#include <stdlib.h>
#include <string.h>

/* Who would get none of these is not seized for them. */
static int
do_catch(struct tracer *tr, struct wire_message *in, struct wire_message *out)
{
	const uint64_t signals = wire_take(in);
	bool ran;

	(void)out;
	if (tracer_need_target(tr) < 0)
		return -1;
	ran = !target_held(tr->target);
	if (ran && (target_check_ptrace(tr->target) < 0 ||
		    target_hold_all(tr->target) < 0))
		return -1;
	tr->caught = signals;
	target_catch(tr->target, signals);
	return ran ? tracer_go_on(tr) : 0;
}

_Static_assert(sizeof(struct session_wants) == sizeof(struct target_wants),
	       "they are the same, on two floors");

static int
do_want(struct tracer *tr, struct wire_message *in, struct wire_message *out)
{
	static const struct target_wants nothing;
	size_t n;
	const void *bytes = wire_take_bytes(in, &n);
	struct target_wants wants;
	bool ran;

	(void)out;
	if (!bytes || n != sizeof wants)
		return fail(FAIL_GENERAL, "a request was damaged");
	if (tracer_need_target(tr) < 0)
		return -1;
	memcpy(&wants, bytes, sizeof wants);
	ran = !target_held(tr->target);
	if (ran && (target_check_ptrace(tr->target) < 0 ||
		    target_hold_all(tr->target) < 0))
		return -1;
	tr->wants = memcmp(&wants, &nothing, sizeof wants) != 0;
	tr->follow = wants.follow;
	tr->execs = wants.execs;
	tr->programs = wants.follow || wants.programs || wants.execs;
	target_want(tr->target, &wants);
	return ran ? tracer_go_on(tr) : 0;
}

/* What the processors have that we know; ours goes to the user's last one. */
enum { DEBUG_REGISTERS = 4 };

/* BREAKPOINTS_MAX: there is none. */
static size_t
free_number(const struct tracer *tr)
{
	size_t i = 0;

	while (i < tr->trap_count && tr->traps[i].at)
		i++;
	return i;
}

/*
 * The shell asks once for each address, but where it has forgotten: it placed
 * this one while its news that we follow a child was under way. -1: no.
 */
static int
placed_before(const struct tracer *tr, uint64_t addr)
{
	const struct breakpoint *bp = breakpoint_at(tr->target, addr);

	for (size_t i = 0; bp && i < tr->trap_count; i++)
		if (tr->traps[i].at == bp)
			return (int)i;
	return -1;
}

static int
do_break(struct tracer *tr, struct wire_message *in, struct wire_message *out)
{
	const uint64_t addr = wire_take(in);
	const bool may_trap = wire_take(in);
	const unsigned data = (unsigned)wire_take(in);
	const bool reads = wire_take(in);
	const size_t number = free_number(tr);
	struct trap *trap = &tr->traps[number];
	int before;

	if (tracer_need_target(tr) < 0)
		return -1;
	before = data ? -1 : placed_before(tr, addr);
	if (before >= 0) {
		filter_drop(tr, (size_t)before);	/* forgotten, too */
		wire_put(out, (uint64_t)before);
		return 0;
	}
	if (number == BREAKPOINTS_MAX)
		return fail(FAIL_GENERAL, "more than %d breakpoints",
			    BREAKPOINTS_MAX);

	if (tr->col && number + 1 >= DEBUG_REGISTERS)
		collection_give_register(tr->col);

	/* Leave is of no use to a sharer of its memory: see breakpoint.c. */
	if (may_trap && target_check_alone(tr->target) == 0)
		target_allow_traps(tr->target);
	fail_clear();

	const bool ran = !target_held(tr->target);
	const unsigned execs = target_execs(tr->target);

	if (ran && target_hold_all(tr->target) < 0)
		return -1;
	*trap = (struct trap){0};
	if (target_execs(tr->target) != execs)
		(void)fail(FAIL_MISSING, "process %d executes another program",
			   (int)target_pid(tr->target));
	else
		trap->at = data ?
			breakpoint_watch(tr->target, addr, data, reads) :
			breakpoint_insert(tr->target, addr);
	if (!trap->at) {
		if (ran)
			(void)tracer_go_on(tr);
		return -1;
	}
	filter_drop(tr, number);
	if (number == tr->trap_count)
		tr->trap_count++;
	wire_put(out, number);
	return ran ? tracer_go_on(tr) : 0;
}

static int
do_unbreak(struct tracer *tr, struct wire_message *in,
	   struct wire_message *out)
{
	const uint64_t number = wire_take(in);

	(void)out;
	if (tracer_need_target(tr) < 0)
		return -1;
	if (number >= tr->trap_count || !tr->traps[number].at)
		return 0;	/* it went with a release */

	const bool ran = !target_held(tr->target);

	if (ran && target_hold_all(tr->target) < 0)
		return -1;
	if (breakpoint_remove(tr->target, tr->traps[number].at) < 0)
		return -1;
	tr->traps[number] = (struct trap){0};
	filter_drop(tr, number);
	return ran ? tracer_go_on(tr) : 0;
}

static int
do_why_trap(struct tracer *tr, struct wire_message *in,
	    struct wire_message *out)
{
	const uint64_t number = wire_take(in);
	const struct breakpoint *bp;
	const char *why;
	char *text;

	if (tracer_need_target(tr) < 0)
		return -1;
	bp = number < tr->trap_count ? tr->traps[number].at : NULL;
	why = bp ? breakpoint_why_trap(tr->target, bp) : NULL;
	text = !why ? NULL : xasprintf("%s: %s",
		breakpoint_is_off(tr->target, bp) ? "off" : "by a trap", why);
	wire_put_text(out, text);
	free(text);
	return 0;
}

/* When it goes on, with us or without. */
static int
do_deliver(struct tracer *tr, struct wire_message *in,
	   struct wire_message *out)
{
	const pid_t tid = (pid_t)wire_take(in);
	const int signal = (int)wire_take(in);

	(void)out;
	return tracer_need_held(tr) < 0 ? -1 :
		target_deliver(tr->target, tid, signal);
}

static int
do_follow(struct tracer *tr, struct wire_message *in, struct wire_message *out)
{
	const enum session_follow_mode whom =
		(enum session_follow_mode)wire_take(in);
	const pid_t forked = tr->forked;

	(void)out;
	if (tracer_need_held(tr) < 0)
		return -1;
	if (!forked)
		return fail(FAIL_USAGE, "process %d does not stand at a fork",
			    (int)target_pid(tr->target));
	if (whom == FOLLOW_CHILD)
		return tracer_follow(tr, forked);
	if (whom == FOLLOW_BOTH)
		return tracer_both(tr, forked);
	tr->forked = 0;
	target_let_children_go(tr->target);
	return 0;
}

const struct request_handler event_requests[] = {
	{ WIRE_CATCH, do_catch, false },
	{ WIRE_WANT, do_want, false },
	{ WIRE_FOLLOW, do_follow, false },
	{ WIRE_DELIVER, do_deliver, false },
	{ WIRE_BREAK, do_break, false },
	{ WIRE_UNBREAK, do_unbreak, false },
	{ WIRE_WHY_TRAP, do_why_trap, false },
	{ 0 }
};
