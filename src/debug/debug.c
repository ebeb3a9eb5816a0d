/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * The debug itself: what it keeps from question to question, and how it reads
 * the program.
 */
#include "private.h"

#include <stdlib.h>
#include <string.h>

struct debug *
debug_new(const struct debug_target *target, void *arg)
{
	struct debug *d = xcalloc(1, sizeof *d);

	d->target = target;
	d->arg = arg;
	return d;
}

void
debug_set_variables(struct debug *d, debug_variable *value, void *arg)
{
	d->outside = value;
	d->outside_arg = arg;
}

static void
forget_frames(struct debug *d)
{
	vec_fini(&d->physicals);
	free(d->frames);
	d->frames = NULL;
	d->frame_len = d->frame_cap = d->selected = 0;
	d->frames_ended = false;
	map_fini(&d->shown);
	arena_free(&d->stack);
}

void
debug_changed(struct debug *d)
{
	forget_frames(d);
	memory_forget(d);
	d->objects_known = d->regs_known = false;
}

void
debug_free(struct debug *d)
{
	if (!d)
		return;
	forget_frames(d);
	memory_forget(d);
	for (size_t i = 0; i < d->objects.len; i++)
		object_close(d->objects.items[i]);
	vec_fini(&d->objects);
	for (size_t i = 0; i < d->slots.len; i++) {
		struct variable_slot *s = d->slots.items[i];

		free(s->name);
		free(s->bytes);
		free(s);
	}
	vec_fini(&d->slots);
	map_fini(&d->types);
	map_fini(&d->derived);
	map_fini(&d->derived_short);
	map_fini(&d->basics);
	map_fini(&d->enums);
	arena_free(&d->scratch);
	arena_free(&d->lasting);
	free(d);
}

void
debug_begin(struct debug *d)
{
	arena_free(&d->scratch);
	d->depth = d->nested = d->running = 0;
	d->work = 0;
	objects_load(d);
}

bool
debug_tired(struct debug *d, const struct str *out)
{
	return d->work++ > WORK_MAX || out->len > OUT_MAX;
}

int
debug_regs_load(struct debug *d)
{
	if (d->regs_known)
		return 0;
	memset(&d->regs, 0, sizeof d->regs);
	d->highs_asked = false;
	if (d->target->registers(d->arg, &d->regs) < 0)
		return -1;
	d->regs_known = true;
	return 0;
}

const struct machine_reg *
machine_named(const char *name)
{
	if (strcmp(name, "pc") == 0)
		return machine_numbered(arch.reg_pc);
	if (strcmp(name, "sp") == 0)
		return machine_numbered(arch.reg_sp);
	if (strcmp(name, "fp") == 0)
		return machine_numbered(arch.reg_fp);
	for (size_t i = 0; i < machine.reg_len; i++)
		if (strcmp(machine.regs[i].name, name) == 0)
			return &machine.regs[i];
	return NULL;
}

const struct machine_reg *
machine_numbered(int dwarf)
{
	for (size_t i = 0; dwarf >= 0 && i < machine.reg_len; i++)
		if (machine.regs[i].dwarf == dwarf)
			return &machine.regs[i];
	return NULL;
}
