/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * What the shell, or `sonde stop`, may ask of the tracer process: one handler
 * per kind of request, each answers or fails.
 */
#include "inject.h"
#include "look_back.h"
#include "private.h"

#include <errno.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>

/* ---- collecting ---------------------------------------------------------------------- */

/* Is anybody of it still ours to trace? */
static enum look_back_when
look_now(const struct tracer *tr)
{
	return target_held(tr->target) || tr->trap_count ? LOOK_HELD :
		LOOK_RELEASED;
}

static void
close_collection(struct tracer *tr, const char *how, const char *look)
{
	char *path = xstrdup(collection_path(tr->col));

	tracer_close_listener(tr, path);
	free(tr->last_receipt);

	bool partial;

	tr->last_receipt = collection_close(tr->col, how, look, &partial);
	tr->partial |= partial;
	tr->col = NULL;
	free(path);
}

void
tracer_end_collection(struct tracer *tr, const char *how)
{
	char *look;

	if (!tr->col)
		return;
	collection_stop(tr->col);
	look = look_back_text(tr->look, look_now(tr));
	close_collection(tr, how, look);
	free(look);
}

const char *
tracer_receipt(const struct tracer *tr)
{
	return tr->last_receipt ? tr->last_receipt : "";
}

static int
need_target(struct tracer *tr)
{
	if (!tr->target)
		return fail(FAIL_USAGE, "no target");
	if (target_gone(tr->target))
		return fail(FAIL_ENDED, "process %d %s",
			    target_pid(tr->target),
			    target_how_ended(tr->target));
	return 0;
}

static int
need_collection(struct tracer *tr)
{
	if (!tr->col)
		return fail(FAIL_USAGE, "no experiment is being recorded");
	return 0;
}

static int
do_enable(struct tracer *tr, struct wire_message *in, struct wire_message *out)
{
	struct settings s = {0};

	wire_take_settings(in, &s);
	if (need_target(tr) < 0)
		goto failed;
	if (tr->col) {
		fail(FAIL_USAGE, "experiment %s is active",
		     collection_path(tr->col));
		goto failed;
	}
	tr->col = collection_start(tr->target, &s, !tr->launched ? ATTACHED :
				   tr->at_start ? AT_START : LAUNCHED,
				   tr->look);
	if (!tr->col)
		goto failed;
	tracer_open_listener(tr);
	wire_put_text(out, collection_path(tr->col));
	settings_fini(&s);
	return 0;
failed:
	settings_fini(&s);
	return -1;
}

static int
do_disable(struct tracer *tr, struct wire_message *in, struct wire_message *out)
{
	(void)in;
	if (need_collection(tr) < 0)
		return -1;
	tracer_end_collection(tr, NULL);
	wire_put_text(out, tracer_receipt(tr));
	wire_put(out, tr->partial);
	return 0;
}

static int
do_pause(struct tracer *tr, struct wire_message *in, struct wire_message *out)
{
	(void)in, (void)out;
	return need_collection(tr) < 0 ? -1 : collection_pause(tr->col, "API");
}

static int
do_resume(struct tracer *tr, struct wire_message *in, struct wire_message *out)
{
	(void)in, (void)out;
	return need_collection(tr) < 0 ? -1 : collection_resume(tr->col);
}

static int
do_sample(struct tracer *tr, struct wire_message *in, struct wire_message *out)
{
	(void)out;
	return need_collection(tr) < 0 ? -1 :
		collection_sample(tr->col, wire_take_text(in));
}

static int
do_progress(struct tracer *tr, struct wire_message *in,
	    struct wire_message *out)
{
	struct session_progress p;

	(void)in;
	if (need_collection(tr) < 0)
		return -1;
	collection_progress(tr->col, &p);
	str_addn(&out->body, (const char *)&p, sizeof p);
	return 0;
}

/* ---- the target ------------------------------------------------------------------------ */

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
	if (need_target(tr) < 0 || launch_to_start(tr->target) < 0)
		return -1;
	if (preloaded && preload_give_back(tr->target, preloaded, fd) < 0) {
		/* it would run with what is ours: it must not run at all */
		(void)kill(target_pid(tr->target), SIGKILL);
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
	if (need_target(tr) < 0)
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
	/* breakpoints go with the release */
	tr->trap_count = 0;
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
	if ((has_traps(tr) ? target_continue_all(tr->target) :
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
	(void)in, (void)out;
	if (need_target(tr) < 0)
		return -1;
	if (!target_held(tr->target))
		return 0;
	tr->at_start = false;
	return has_traps(tr) && step_off_traps(tr) < 0 ? -1 : go_on(tr);
}

static int
do_break(struct tracer *tr, struct wire_message *in, struct wire_message *out)
{
	const uint64_t addr = wire_take(in);
	const bool may_trap = wire_take(in);
	struct trap *trap = &tr->traps[tr->trap_count];

	if (need_target(tr) < 0)
		return -1;
	if (tr->trap_count == BREAKPOINTS_MAX)
		return fail(FAIL_GENERAL, "more than %d breakpoints",
			    BREAKPOINTS_MAX);

	/* Leave is of no use to a sharer of its memory: see breakpoint.c. */
	if (may_trap && target_check_alone(tr->target) == 0)
		target_allow_traps(tr->target);
	fail_clear();

	const bool ran = !target_held(tr->target);

	if (ran && target_hold_all(tr->target) < 0)
		return -1;
	*trap = (struct trap){ .at = breakpoint_insert(tr->target, addr) };
	if (!trap->at) {
		if (ran)
			(void)go_on(tr);
		return -1;
	}
	wire_put(out, tr->trap_count++);
	return ran ? go_on(tr) : 0;
}

static int
do_unbreak(struct tracer *tr, struct wire_message *in,
	   struct wire_message *out)
{
	const uint64_t number = wire_take(in);

	(void)out;
	if (need_target(tr) < 0)
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

	if (need_target(tr) < 0)
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

	if (need_target(tr) < 0)
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
	if (how == LEAVE_STOPPED && need_target(tr) == 0 &&
	    kill(target_pid(tr->target), SIGSTOP) < 0)
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
		close_collection(tr, NULL, look);
	wire_put_text(out, tracer_receipt(tr));
	wire_put(out, tr->partial);
	wire_put_text(out, look);
	free(look);
}

static int
do_detach(struct tracer *tr, struct wire_message *in, struct wire_message *out)
{
	const enum session_leave how = (enum session_leave)wire_take(in);

	if (how == LEAVE_RECORDING && need_collection(tr) < 0)
		return -1;
	tr->keep = how == LEAVE_RECORDING;
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
	if (need_target(tr) < 0)
		return -1;
	if (kill(target_pid(tr->target), sig) < 0)
		return fail_errno("kill process %d", target_pid(tr->target));
	return tracer_release(tr);
}

static int
do_where(struct tracer *tr, struct wire_message *in, struct wire_message *out)
{
	uint64_t pause_ns = 0;

	if (need_target(tr) < 0 ||
	    stacks_answer(tr->target, (pid_t)wire_take(in), out,
			  &pause_ns) < 0)
		return -1;
	if (tr->col && pause_ns)
		collection_note_stop(tr->col, pause_ns);
	return 0;
}

static int
do_threads(struct tracer *tr, struct wire_message *in, struct wire_message *out)
{
	pid_t *tids = NULL;
	size_t cap = 0;

	(void)in;
	if (need_target(tr) < 0)
		return -1;

	const ssize_t n = target_threads(tr->target, &tids, &cap);

	for (ssize_t i = 0; i < n; i++) {
		struct thread_facts f;

		if (target_thread_facts(tr->target, tids[i], &f) < 0)
			continue;	/* it ended meanwhile */
		wire_put(out, (uint64_t)tids[i]);
		wire_put(out, (uint64_t)f.state);
		wire_put_text(out, f.name);
		wire_put(out, f.cpu_ns);
	}
	free(tids);
	return n < 0 ? -1 : 0;
}

static int
do_maps(struct tracer *tr, struct wire_message *in, struct wire_message *out)
{
	(void)in;
	if (need_target(tr) < 0)
		return -1;

	char *text = target_maps(tr->target);

	if (!text)
		return -1;
	wire_put_text(out, text);
	free(text);
	return 0;
}

static int
do_stop_recording(struct tracer *tr, struct wire_message *in,
		  struct wire_message *out)
{
	struct session_event ev = { .kind = SESSION_EVENT_MESSAGE };

	if (do_disable(tr, in, out) < 0)
		return -1;
	snprintf(ev.text, sizeof ev.text, "stopped from outside: %s",
		 tracer_receipt(tr));
	tracer_send_event(tr, &ev);
	if (tr->keep)
		tr->stopping = true;
	return 0;
}

/* ---- requests ------------------------------------------------------------------------------ */

struct handler {
	enum wire_kind kind;
	int (*run)(struct tracer *tr, struct wire_message *in,
		   struct wire_message *out);
	bool from_outside;	/* also through the control socket */
};

static const struct handler handlers[] = {
	{ WIRE_ATTACH, do_attach, false },
	{ WIRE_SEIZE, do_seize, false },
	{ WIRE_TO_START, do_to_start, false },
	{ WIRE_ENABLE, do_enable, false },
	{ WIRE_DISABLE, do_disable, false },
	{ WIRE_PAUSE, do_pause, false },
	{ WIRE_RESUME, do_resume, false },
	{ WIRE_SAMPLE, do_sample, false },
	{ WIRE_PROGRESS, do_progress, true },
	{ WIRE_STOP, do_stop, false },
	{ WIRE_CONT, do_cont, false },
	{ WIRE_DETACH, do_detach, false },
	{ WIRE_KILL, do_kill, false },
	{ WIRE_BREAK, do_break, false },
	{ WIRE_UNBREAK, do_unbreak, false },
	{ WIRE_WHY_TRAP, do_why_trap, false },
	{ WIRE_CALL, do_call, false },
	{ WIRE_WHERE, do_where, false },
	{ WIRE_THREADS, do_threads, false },
	{ WIRE_MAPS, do_maps, false },
	{ WIRE_STOP_RECORDING, do_stop_recording, true },
};

static const struct handler *
find_handler(uint32_t kind, bool outside)
{
	for (size_t i = 0; i < ARRAY_LEN(handlers); i++)
		if (handlers[i].kind == kind &&
		    (!outside || handlers[i].from_outside))
			return &handlers[i];
	return NULL;
}

bool
request_serve(struct tracer *tr, int fd, bool outside)
{
	struct wire_message in, out;

	if (wire_recv(fd, &in) != 1) {
		wire_fini(&in);
		return false;
	}

	if (in.kind == WIRE_CANCEL) {	/* it came too late */
		wire_fini(&in);
		return true;
	}

	const struct handler *h = find_handler(in.kind, outside);
	int result;

	wire_init(&out, WIRE_OK);
	if (h)
		result = h->run(tr, &in, &out);
	else
		result = fail(FAIL_USAGE, "request %u is not understood",
			      in.kind);
	if (result == 0 && in.broken)
		result = fail(FAIL_GENERAL, "a request was damaged");
	if (result < 0) {
		wire_fini(&out);
		wire_init(&out, WIRE_FAILED);
		wire_put_failure(&out);
	}
	result = wire_send(fd, &out);
	wire_fini(&in);
	wire_fini(&out);
	return result == 0;
}

