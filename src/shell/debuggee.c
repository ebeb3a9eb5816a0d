/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * The process as the debug room wants it: memory, registers of the thread that
 * commands are about, what is loaded.
 */
#include "private.h"

#include <elf.h>
#include <stdlib.h>
#include <string.h>

enum { REGSET_MOST = 1 << 12 };

struct debuggee {
	struct shell *sh;
	struct debug *debug;
	pid_t pid, thread;
	uint64_t moves;
	struct live_object *loaded;
	size_t loaded_cap;
	struct debug_object *objects;
	size_t objects_cap;
	char *prefix;
};

/* ---- what the room asks --------------------------------------------------- */

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

static int
call_function(void *arg, struct debug_call *call)
{
	const struct debuggee *e = arg;

	if (call->float_count || call->stack_count) {
		fail(FAIL_UNSUITABLE, "this function is not called: it has "
		     "arguments that are no whole numbers, or more than six");
		return -1;
	}
	return session_call(e->sh->session, call->function, call->ints,
			    call->int_count, &call->result[0]);
}

static const struct debug_target live_target = {
	.read = read_memory, .registers = read_registers,
	.objects = list_objects, .write = write_memory,
	.set_register = set_register, .call = call_function,
};

/* ---- the door ------------------------------------------------------------- */

static struct debuggee *
new_debuggee(struct shell *sh)
{
	struct debuggee *e = xcalloc(1, sizeof *e);

	e->sh = sh;
	if (sh->core) {
		e->debug = debug_new(&core_target, sh->core);
		return e;
	}
	e->pid = session_pid(sh->session);
	e->prefix = xasprintf("/proc/%d/root", e->pid);
	e->debug = debug_new(&live_target, e);
	return e;
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
	struct debuggee *e = sh->debuggee ? sh->debuggee :
		(sh->debuggee = new_debuggee(sh));

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
	if (sh->debuggee && sh->debuggee->pid != session_pid(sh->session))
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
