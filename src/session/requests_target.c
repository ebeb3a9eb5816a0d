/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Requests that touch the target: come to it, stop it and let it run, call a
 * function, and go.
 */
#include "called.h"
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
	const bool to_exec = wire_take(in);

	tr->starting = false;
	tracer_note_preloaded(tr, preloaded, fd);
	if (tracer_need_target(tr) < 0 || launch_to_exec(tr->target) < 0 ||
	    (!to_exec && (tracer_run_to_start(tr) < 0 ||
			  tracer_give_back(tr) < 0)))
		return -1;
	tr->at_start = true;
	tr->at_exec = to_exec;
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
	/* what is ours in its environment is none of the program's */
	if (tr->at_exec && tr->preloaded && tr->target &&
	    !target_gone(tr->target) && tracer_start(tr) < 0)
		fail_clear();
	tr->at_exec = false;
	tracer_leave_calls(tr);
	/* breakpoints go with the release */
	tr->trap_count = 0;
	tr->caught = 0;
	tr->wants = false;
	tr->forked = 0;
	if (tr->target) {
		target_catch(tr->target, 0);
		target_want(tr->target, &(struct target_wants){0});
	}
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

bool
tracer_waits(const struct tracer *tr)
{
	return has_traps(tr) || tr->caught || tr->wants || tr->call_count ||
		target_has_suspended(tr->target);
}

/* The receipt tells that it stood. */
int
tracer_go_on(struct tracer *tr)
{
	target_stand_at_exec(tr->target, has_traps(tr) || tr->programs);
	if (tr->col)
		collection_runs(tr->col);
	if ((tracer_waits(tr) ? target_continue_all(tr->target) :
	     tracer_release(tr)) < 0)
		return -1;
	if (tr->col)
		collection_note_stop(tr->col, target_pause_ns(tr->target));
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
	if (tr->at_exec)
		return tracer_start(tr);
	if (tid && target_deliver(tr->target, tid, signal) < 0)
		return -1;
	tr->at_start = false;
	if (tr->forked)
		target_let_children_go(tr->target);
	tr->forked = 0;
	return tracer_step_off(tr, 0) < 0 ? -1 : tracer_go_on(tr);
}

enum { CALL_ARGS = 6 };
#define CALL_OWN_NS	UINT64_C(10000000000)
#define CALL_WALL_TIMES	3	/* waiting for a processor */

/* While a function of the target runs for the shell: recording goes on, and
 * whatever else the shell says, or its end, is that it no longer waits. */
static bool
call_cancelled(void *arg)
{
	struct tracer *tr = arg;

	if (tr->col && now_ns() >= collection_deadline(tr->col))
		(void)collection_work(tr->col);	/* an end shows later, too */
	return tracer_shell_speaks(tr);
}

/* That it failed is an answer, where the function itself was it. */
static void
put_answer(struct wire_message *out, int r, uint64_t result,
	   const struct inject_met *met)
{
	wire_put_text(out, r < 0 ? fail_last()->reason : "");
	wire_put(out, r < 0 ? fail_last()->kind : FAIL_NONE);
	wire_put(out, result);
	wire_put(out, met->why);
	called_put_where(out, met->signal, met);
}

static int
do_call(struct tracer *tr, struct wire_message *in, struct wire_message *out)
{
	uint64_t args[CALL_ARGS], result = 0;
	const uint64_t function = wire_take(in), n = wire_take(in);
	const struct inject_limits limits = {
		.own_ns = CALL_OWN_NS, .wall_ns = CALL_WALL_TIMES * CALL_OWN_NS,
		.cancelled = call_cancelled, .arg = tr,
	};
	struct inject_report report = {0};
	int r;

	if (tracer_need_target(tr) < 0 || tracer_need_started(tr) < 0)
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
	r = inject_call(tr->target, function, args, n, &limits, &result,
			&report);
	if (r < 0 && report.met.why == INJECT_RETURNED)
		return -1;
	if (tr->col)
		collection_note_stop(tr->col, report.donor_stop_ns);
	put_answer(out, r, result, &report.met);
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
	{ WIRE_CALL, do_call, false },
	{ 0 }
};
