/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * The process as the debug room wants it: memory, registers of the thread that
 * commands are about, what is loaded.
 */
#include "script.h"

#include <elf.h>
#include <stdlib.h>
#include <string.h>

enum { REGSET_MOST = 1 << 12 };

struct debuggee {
	struct shell *sh;
	struct debug *debug;
	const struct core *core;	/* NULL: the process */
	pid_t pid, thread;
	uint64_t moves;
	struct live_object *loaded;
	size_t loaded_cap;
	struct debug_object *objects;
	size_t objects_cap;
	char *prefix;
};

/* ---- what the room asks -------------------------------------------------- */

static int
read_memory(void *arg, uint64_t addr, void *buf, size_t n)
{
	const struct debuggee *e = arg;

	return session_read(e->sh->session, addr, buf, n);
}

static int
write_memory(void *arg, uint64_t addr, const void *buf, size_t n)
{
	struct debuggee *e = arg;
	const int r = session_write(e->sh->session, addr, buf, n);

	e->moves = session_moves(e->sh->session);	/* it knows */
	return r;
}

static int
read_registers(void *arg, struct debug_regs *out)
{
	const struct debuggee *e = arg;
	unsigned char general[REGSET_MOST], floats[REGSET_MOST];
	struct session *s = e->sh->session;
	ssize_t n, m;

	n = session_regset(s, e->thread, NT_PRSTATUS, general,
			   sizeof general);
	if (n < 0)
		return -1;
	m = session_regset(s, e->thread, NT_FPREGSET, floats, sizeof floats);
	debug_regs_of_thread(general, (size_t)n, floats, m < 0 ? 0 :
			     (size_t)m, out);
	return 0;
}

static int
read_highs(void *arg, struct debug_regs *out)
{
	const struct debuggee *e = arg;
	const unsigned type = debug_regs_highs_type();
	unsigned char set[REGSET_MOST];
	ssize_t n;

	if (!type)
		return 0;
	n = session_regset(e->sh->session, e->thread, type, set, sizeof set);
	if (n < 0)
		return -1;
	debug_regs_highs(set, (size_t)n, out);
	return 0;
}

static int
set_register(void *arg, int reg, const void *bytes, size_t n)
{
	struct debuggee *e = arg;
	unsigned char general[REGSET_MOST];
	struct session *s = e->sh->session;
	const ssize_t size = session_regset(s, e->thread, NT_PRSTATUS,
					    general, sizeof general);

	if (size < 0)
		return -1;
	if (!debug_regs_to_thread(reg, bytes, n, general, (size_t)size))
		return fail(FAIL_UNSUITABLE, "this register cannot be set");
	return session_set_regset(s, e->thread, NT_PRSTATUS, general,
				  (size_t)size);
}

static const struct debug_object *
list_objects(void *arg, size_t *count)
{
	struct debuggee *e = arg;

	*count = live_objects(live_of(e->sh), &e->loaded, &e->loaded_cap);
	e->objects = xgrow(e->objects, &e->objects_cap, *count,
			   sizeof *e->objects);
	for (size_t i = 0; i < *count; i++) {
		const struct live_object *o = &e->loaded[i];

		e->objects[i] = (struct debug_object){
			.path = o->path, .shown = o->path,
			.prefix = e->prefix, .start = o->start, .end = o->end,
			.bias = o->bias, .symbols = o->sf,
		};
	}
	return e->objects;
}

/* On a thread of its own, while the others run. */
static int
call_beside(struct debuggee *e, struct debug_call *call)
{
	struct shell *sh = e->sh;

	if (call->float_count || call->stack_count ||
	    call->data_size || call->real) {
		fail(FAIL_UNSUITABLE, "while the process runs no function is "
		     "called with strings, with floating numbers or with more "
		     "than six arguments");
		return fail_remedy("stop");
	}
	return beside_call(sh, call->function, call->ints, call->int_count,
			   &call->result[0]);
}

static int
call_function(void *arg, struct debug_call *call)
{
	struct debuggee *e = arg;
	struct session_call c = {
		.function = call->function, .int_count = call->int_count,
		.float_count = call->float_count,
		.stack_count = call->stack_count, .data = call->data,
		.data_size = call->data_size, .data_ints = call->data_ints,
		.data_stack = call->data_stack,
	};
	struct session_call_news news;

	if (session_state(e->sh->session) == SESSION_RUNNING)
		return call_beside(e, call);
	memcpy(c.ints, call->ints, sizeof c.ints);
	memcpy(c.floats, call->floats, sizeof c.floats);
	memcpy(c.stack, call->stack, sizeof c.stack);
	if (called_run(e->sh, e->debug, &c, &news) < 0)
		return -1;
	/* all but memory is as it was */
	e->moves = session_moves(e->sh->session);
	memcpy(call->result, news.ints, sizeof news.ints);
	memcpy(call->float_result, news.floats, sizeof news.floats);
	memcpy(call->x87_result, news.x87, sizeof news.x87);
	return 0;
}

static const struct debug_target live_target = {
	.read = read_memory, .registers = read_registers,
	.highs = read_highs,
	.objects = list_objects, .write = write_memory,
	.set_register = set_register, .call = call_function,
};

/* ---- leaving a function -------------------------------------------------- */

/* The n innermost frames can be left: their caller is known. */
static int
check_pop(struct debug *d, size_t n)
{
	struct debug_frame left, caller;

	if (debug_frame(d, n - 1, &left) < 0 || debug_frame(d, n, &caller) < 0)
		return fail(FAIL_MISSING, "there is no caller to go back to");
	if (left.inlined) {
		fail(FAIL_UNSUITABLE, "%s is inlined: it has no return",
		     left.function ? left.function : "the function");
		return fail_remedy("pop N, so that a function is left that is "
				   "none (where shows them)");
	}
	for (size_t i = 0; i < n; i++)
		if (debug_frame(d, i, &left) == 0 && left.signal) {
			fail(FAIL_UNSUITABLE, "frame %zu is a signal's: only "
			     "the kernel knows the way back", i);
			return fail_remedy("pop %zu, then cont", i);
		}
	return 0;
}

/* What a call preserves must be known; all else stays as it is. */
static int
caller_registers(struct debug *d, size_t n, unsigned char *general,
		 size_t size)
{
	for (int reg = 0; reg < arch.reg_count; reg++) {
		uint64_t value;

		if (debug_register(d, n, reg, &value) == 0)
			(void)debug_regs_to_thread(reg, &value, sizeof value,
						   general, size);
		else if (debug_is_preserved(reg))
			return fail(FAIL_UNSUITABLE, "what register %d was in "
				    "the caller is not known", reg);
	}
	fail_clear();
	return 0;
}

int
debuggee_pop(struct shell *sh, size_t n)
{
	struct debug *d = debuggee_now(sh);
	unsigned char general[REGSET_MOST];
	const pid_t tid = thread_now(sh);
	const ssize_t size = session_regset(sh->session, tid, NT_PRSTATUS,
					    general, sizeof general);

	if (size < 0 || check_pop(d, n) < 0 ||
	    caller_registers(d, n, general, (size_t)size) < 0)
		return fail_in("pop");
	return session_set_regset(sh->session, tid, NT_PRSTATUS, general,
				  (size_t)size);
}

/* ---- the door ------------------------------------------------------------ */

static struct debuggee *
new_debuggee(struct shell *sh)
{
	struct debuggee *e = xcalloc(1, sizeof *e);

	e->sh = sh;
	if (sh->core) {
		e->core = sh->core;
		e->debug = debug_new(&core_target, sh->core);
		debug_set_variables(e->debug, var_known, sh);
		return e;
	}
	e->pid = session_pid(sh->session);
	e->prefix = xasprintf("/proc/%d/root", e->pid);
	e->debug = debug_new(&live_target, e);
	debug_set_variables(e->debug, var_known, sh);
	return e;
}

bool
debuggee_is_in(struct debug *d, const char *function)
{
	enum { FRAMES_MOST = 10000 };
	const size_t n = debug_frames(d, FRAMES_MOST);
	bool found = false;

	for (size_t i = 0; i < n && !found; i++) {
		struct debug_frame f;

		if (debug_frame(d, i, &f) < 0 || !f.function)
			continue;
		found = strcmp(f.function, function) == 0 ||
			name_ends_so(f.function, function);
	}
	return found;
}

void
debuggee_free(struct shell *sh)
{
	struct debuggee *e = sh->debuggee;

	sh->debuggee = NULL;
	if (!e)
		return;
	debug_free(e->debug);
	free(e->loaded);
	free(e->objects);
	free(e->prefix);
	free(e);
}

static struct debug *
of_core(struct shell *sh)
{
	if (sh->debuggee && sh->debuggee->core != sh->core)
		debuggee_free(sh);
	if (!sh->debuggee)
		sh->debuggee = new_debuggee(sh);

	struct debuggee *e = sh->debuggee;

	if (e->thread == sh->thread)
		return e->debug;
	e->thread = sh->thread;
	for (size_t i = 0; i < core_threads(sh->core); i++)
		if (core_thread(sh->core, i)->tid == sh->thread)
			(void)core_select(sh->core, i);
	debug_changed(e->debug);
	return e->debug;
}

struct debug *
debuggee_now(struct shell *sh)
{
	struct debuggee *e;
	pid_t thread;

	if (sh->core)
		return of_core(sh);
	thread = thread_now(sh);
	/* symbols of another process went with it */
	(void)live_of(sh);
	if (sh->debuggee && (sh->debuggee->core ||
			     sh->debuggee->pid != session_pid(sh->session)))
		debuggee_free(sh);
	if (!sh->debuggee)
		sh->debuggee = new_debuggee(sh);
	e = sh->debuggee;
	if (e->thread != thread || e->moves != session_moves(sh->session) ||
	    session_state(sh->session) == SESSION_RUNNING)
		debug_changed(e->debug);
	e->thread = thread;
	e->moves = session_moves(sh->session);
	return e->debug;
}
