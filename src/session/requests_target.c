/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Requests that touch the target: come to it, stop it and let it run, break
 * where it enters a function, call one, and go.
 */
#include "inject.h"
#include "look_back.h"
#include "private.h"

#include <signal.h>
#include <stdlib.h>

static int
do_attach(struct tracer *tr, struct wire_message *in, struct wire_message *out)
{
	const pid_t pid = (pid_t)wire_take(in);
	const bool hold = wire_take(in);

	tr->target = target_open(pid);
	if (!tr->target || target_check_rights(tr->target) < 0)
		return -1;
	target_forbid_traps(tr->target);
	tr->look = look_back_new(tr->target);
	if ((hold && (target_check_ptrace(tr->target) < 0 ||
		      target_hold_all(tr->target) < 0)))
		return -1;
	wire_put_text(out, target_name(tr->target));
	wire_put_text(out, tr->look->salvaged);
	return 0;
}

static int
do_seize(struct tracer *tr, struct wire_message *in, struct wire_message *out)
{
	(void)out;
	tr->launched = tr->starting = true;
	tr->target = target_open((pid_t)wire_take(in));
	return tr->target ? launch_seize(tr->target) : -1;
}

static int
do_to_start(struct tracer *tr, struct wire_message *in,
	    struct wire_message *out)
{
	const char *preloaded = wire_take_text(in);
	const int fd = (int)(int64_t)wire_take(in);

	tr->starting = false;
	if (tracer_need_target(tr) < 0 || launch_to_start(tr->target) < 0)
		return -1;
	if (preloaded && preload_give_back(tr->target, preloaded, fd) < 0) {
		/* it would run with what is ours: it must not run at all */
		(void)target_signal(tr->target, SIGKILL);
		return -1;
	}
	tr->at_start = true;
	tr->look = look_back_new(tr->target);
	wire_put_text(out, target_name(tr->target));
	return 0;
}

static int
do_stop(struct tracer *tr, struct wire_message *in, struct wire_message *out)
{
	(void)in, (void)out;
	if (tracer_need_target(tr) < 0)
		return -1;
	if (target_held(tr->target))
		return 0;
	if (target_check_ptrace(tr->target) < 0 ||
	    target_hold_all(tr->target) < 0)
		return -1;
	if (tr->col)
		collection_stop_sample(tr->col);
	return 0;
}

int
tracer_release(struct tracer *tr)
{
	tracer_leave_calls(tr);
	/* breakpoints go with the release */
	tr->trap_count = 0;
	tr->caught = 0;
	if (tr->target)
		target_catch(tr->target, 0);
	tr->at_start = false;
	if (!tr->target || target_gone(tr->target))
		return 0;
	return target_release_all(tr->target);
}

static bool
has_traps(const struct tracer *tr)
{
	for (size_t i = 0; i < tr->trap_count; i++)
		if (tr->traps[i].at)
			return true;
	return false;
}

/* It runs on; the receipt tells that it stood. */
static int
go_on(struct tracer *tr)
{
	target_stand_at_exec(tr->target, has_traps(tr));
	if ((has_traps(tr) || tr->caught || tr->call_count ||
	     target_has_suspended(tr->target) ?
	     target_continue_all(tr->target) :
	     tracer_release(tr)) < 0)
		return -1;
	if (tr->col)
		collection_note_stop(tr->col, target_pause_ns(tr->target));
	return 0;
}

/* Whoever stands at a trap executes what is under it first. */
static int
step_off_traps(struct tracer *tr)
{
	for (size_t i = 0; i < tr->trap_count; i++) {
		struct trap *trap = &tr->traps[i];
		const pid_t tid = trap->hit_by;

		trap->hit_by = 0;
		if (trap->at && tid &&
		    breakpoint_step_over(tr->target, trap->at, tid) < 0)
			return -1;
	}
	return 0;
}

static int
do_cont(struct tracer *tr, struct wire_message *in, struct wire_message *out)
{
	const pid_t tid = (pid_t)wire_take(in);
	const int signal = (int)wire_take(in);

	(void)out;
	if (tracer_need_target(tr) < 0)
		return -1;
	if (!target_held(tr->target))
		return 0;
	if (tid && target_deliver(tr->target, tid, signal) < 0)
		return -1;
	tr->at_start = false;
	return has_traps(tr) && step_off_traps(tr) < 0 ? -1 : go_on(tr);
}

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
	return ran ? go_on(tr) : 0;
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

static int
do_break(struct tracer *tr, struct wire_message *in, struct wire_message *out)
{
	const uint64_t addr = wire_take(in);
	const bool may_trap = wire_take(in);
	const unsigned data = (unsigned)wire_take(in);
	const bool reads = wire_take(in);
	const size_t number = free_number(tr);
	struct trap *trap = &tr->traps[number];

	if (tracer_need_target(tr) < 0)
		return -1;
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

	if (ran && target_hold_all(tr->target) < 0)
		return -1;
	*trap = (struct trap){ .at = data ?
		breakpoint_watch(tr->target, addr, data, reads) :
		breakpoint_insert(tr->target, addr) };
	if (!trap->at) {
		if (ran)
			(void)go_on(tr);
		return -1;
	}
	if (number == tr->trap_count)
		tr->trap_count++;
	wire_put(out, number);
	return ran ? go_on(tr) : 0;
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
	return ran ? go_on(tr) : 0;
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

enum { CALL_ARGS = 6 };
#define CALL_OWN_NS	10000000000ull
#define CALL_WALL_NS	(3 * CALL_OWN_NS)

/* While a function of the target runs for the shell: recording goes on, and
 * whatever else the shell says, or its end, is that it no longer waits. */
static bool
call_cancelled(void *arg)
{
	struct tracer *tr = arg;
	struct pollfd shell = { tr->shell, POLLIN, 0 };

	if (tr->col && now_ns() >= collection_deadline(tr->col))
		(void)collection_work(tr->col);	/* an end shows later, too */
	return poll(&shell, 1, 0) > 0;
}

static int
do_call(struct tracer *tr, struct wire_message *in, struct wire_message *out)
{
	uint64_t args[CALL_ARGS], result;
	const uint64_t function = wire_take(in), n = wire_take(in);
	const struct inject_limits limits = {
		.own_ns = CALL_OWN_NS, .wall_ns = CALL_WALL_NS,
		.cancelled = call_cancelled, .arg = tr,
	};
	struct inject_report report = {0};

	if (tracer_need_target(tr) < 0)
		return -1;
	if (n > CALL_ARGS)
		return fail(FAIL_USAGE, "more than %d arguments", CALL_ARGS);
	if (target_held(tr->target)) {
		fail(FAIL_USAGE, "process %d is stopped: locks that the "
		     "function needs may never be released",
		     target_pid(tr->target));
		return fail_remedy("call it while the process runs: detach, "
				   "then attach %d", target_pid(tr->target));
	}
	for (uint64_t i = 0; i < n; i++)
		args[i] = wire_take(in);
	if (inject_call(tr->target, function, args, n, &limits, &result,
			&report) < 0)
		return -1;
	if (tr->col)
		collection_note_stop(tr->col, report.donor_stop_ns);
	wire_put(out, result);
	return 0;
}

static int
let_go(struct tracer *tr, enum session_leave how)
{
	if (how == LEAVE_STOPPED && tracer_need_target(tr) == 0 &&
	    target_signal(tr->target, SIGSTOP) < 0)
		return fail_errno("stop process %d", target_pid(tr->target));
	return tracer_release(tr);
}

/* What is told of the target once it is let go. */
static void
look_back(struct tracer *tr, enum session_leave how, struct wire_message *out)
{
	char *look;

	look_back_tidy(tr->look);
	look = look_back_text(tr->look, how == LEAVE_STOPPED ? LOOK_STOPPED :
			      LOOK_RELEASED);
	if (tr->col)
		tracer_close_collection(tr, NULL, look);
	wire_put_text(out, tracer_receipt(tr));
	wire_put(out, tr->partial);
	wire_put_text(out, look);
	free(look);
}

static int
do_detach(struct tracer *tr, struct wire_message *in, struct wire_message *out)
{
	const enum session_leave how = (enum session_leave)wire_take(in);

	if (how == LEAVE_RECORDING && tracer_need_collection(tr) < 0)
		return -1;
	if (how == LEAVE_RECORDING && collection_keeps(tr->col)) {
		fail(FAIL_USAGE, "%s is kept in memory, where `sonde stop` "
		     "does not find it", collection_path(tr->col));
		return fail_remedy("before collector enable: collector keep "
				   "off");
	}
	tr->keep = how == LEAVE_RECORDING;
	/* our disk may keep us: it does not stand meanwhile */
	if (how == LEAVE_RUNNING && !tr->at_start)
		(void)tracer_release(tr);	/* once more below, and told */
	if (!tr->keep && tr->col)
		collection_stop(tr->col);
	if (let_go(tr, how) < 0) {
		if (!tr->keep)
			tracer_end_collection(tr, NULL);
		return -1;
	}
	if (!tr->keep && tr->look) {
		look_back(tr, how, out);
		return 0;
	}
	wire_put_text(out, "");
	wire_put(out, tr->partial);
	wire_put_text(out, "");
	return 0;
}

static int
do_kill(struct tracer *tr, struct wire_message *in, struct wire_message *out)
{
	const int sig = (int)wire_take(in);

	(void)out;
	if (tracer_need_target(tr) < 0)
		return -1;
	if (target_signal(tr->target, sig) < 0)
		return fail_errno("kill process %d", target_pid(tr->target));
	return tracer_release(tr);
}

const struct request_handler target_requests[] = {
	{ WIRE_ATTACH, do_attach, false },
	{ WIRE_SEIZE, do_seize, false },
	{ WIRE_TO_START, do_to_start, false },
	{ WIRE_STOP, do_stop, false },
	{ WIRE_CONT, do_cont, false },
	{ WIRE_DETACH, do_detach, false },
	{ WIRE_KILL, do_kill, false },
	{ WIRE_CATCH, do_catch, false },
	{ WIRE_BREAK, do_break, false },
	{ WIRE_UNBREAK, do_unbreak, false },
	{ WIRE_WHY_TRAP, do_why_trap, false },
	{ WIRE_CALL, do_call, false },
	{ 0 }
};
