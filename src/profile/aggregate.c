/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Sums over stacks. Functions, PCs, lines and objects are the same sum with
 * another key per location: the leaf's key gets the exclusive cost, every
 * distinct key on the stack gets the inclusive cost once.
 */
#include "private.h"

#include <stdlib.h>
#include <string.h>

struct cost
profile_total(struct profile *prof)
{
	uint64_t slots[METRIC_MAX];

	if (!prof->total) {
		prof->total = xcalloc(prof->slots + 1, sizeof *prof->total);
		for (size_t i = 0; i < prof->stacks_len; i++) {
			profile_weigh(prof, &prof->stack_values, i, slots);
			for (size_t s = 0; s < prof->slots; s++)
				prof->total[s] += slots[s];
		}
	}
	return (struct cost){ prof->total, prof->total };
}

static void
add_stack(const struct profile *prof, size_t stack, const uint32_t *key_of,
	  uint32_t *seen, struct sums *out)
{
	const struct stack *st = &prof->stacks[stack];
	const uint32_t mark = (uint32_t)stack + 1;
	const uint32_t *frames = &prof->frames[st->first];
	uint64_t packed[VALUE_MAX];

	profile_pack(prof, &prof->stack_values, stack, packed);
	for (uint32_t i = st->skip; i < st->len; i++) {
		const uint32_t key = key_of[frames[i]];

		if (i == st->skip)
			packed_add(prof, out->excl, key, packed);
		if (seen[key] == mark)
			continue;
		seen[key] = mark;
		out->present[key] = true;
		packed_add(prof, out->incl, key, packed);
	}
}

/* What is packed, by slot. */
static uint64_t *
unpack_all(const struct profile *prof, uint64_t *packed, size_t keys)
{
	uint64_t *slots = xcalloc(keys * prof->slots + 1, sizeof *slots);

	for (size_t i = 0; i < keys; i++)
		profile_unpack(prof, &packed[i * prof->packed],
			       &slots[i * prof->slots]);
	free(packed);
	return slots;
}

void
sum_by(const struct profile *prof, const uint32_t *key_of, size_t keys,
       struct sums *out)
{
	uint32_t *seen = xcalloc(keys + 1, sizeof *seen);

	out->excl = xcalloc(keys * prof->packed + 1, sizeof *out->excl);
	out->incl = xcalloc(keys * prof->packed + 1, sizeof *out->incl);
	out->present = xcalloc(keys + 1, sizeof *out->present);
	for (size_t i = 0; i < prof->stacks_len; i++)
		if (prof->stacks[i].packets)
			add_stack(prof, i, key_of, seen, out);
	free(seen);
	out->excl = unpack_all(prof, out->excl, keys);
	out->incl = unpack_all(prof, out->incl, keys);
}

struct cost
cost_of(const struct profile *prof, const struct sums *sums, size_t key)
{
	return (struct cost){ &sums->excl[key * prof->slots],
			      &sums->incl[key * prof->slots] };
}

static uint32_t *
new_keys(const struct profile *prof)
{
	return xcalloc(prof->locations_len + 1, sizeof(uint32_t));
}

size_t
profile_functions(struct profile *prof, const struct function_cost **out)
{
	if (!prof->function_costs) {
		symbolize_all(prof);

		uint32_t *keys = new_keys(prof);

		for (size_t i = 0; i < prof->locations_len; i++)
			keys[i] = prof->locations[i].function;
		sum_by(prof, keys, prof->functions_len, &prof->by_function);
		free(keys);
		prof->function_costs = xcalloc(prof->functions_len + 1,
					       sizeof *prof->function_costs);
		for (uint32_t i = 0; i < prof->functions_len; i++)
			if (prof->by_function.present[i])
				prof->function_costs[
					prof->function_costs_len++] =
					(struct function_cost){
					i, cost_of(prof, &prof->by_function, i)
				};
	}
	*out = prof->function_costs;
	return prof->function_costs_len;
}

static struct location_cost
location_cost(struct profile *prof, uint32_t i)
{
	struct location *loc = &prof->locations[i];

	symbolize_line(prof, loc);
	return (struct location_cost){
		.where = { loc->function, loc->offset, loc->vaddr,
			   &object_at(prof, loc->object)->pub },
		.file = loc->file, .line = loc->line,
		.cost = cost_of(prof, &prof->by_location, i),
	};
}

size_t
profile_pcs(struct profile *prof, const struct location_cost **out)
{
	if (!prof->location_costs) {
		symbolize_all(prof);

		uint32_t *keys = new_keys(prof);

		for (uint32_t i = 0; i < prof->locations_len; i++)
			keys[i] = i;
		sum_by(prof, keys, prof->locations_len, &prof->by_location);
		free(keys);
		prof->location_costs = xcalloc(prof->locations_len + 1,
					       sizeof *prof->location_costs);
		for (uint32_t i = 0; i < prof->locations_len; i++)
			if (prof->by_location.present[i])
				prof->location_costs[
					prof->location_costs_len++] =
					location_cost(prof, i);
	}
	*out = prof->location_costs;
	return prof->location_costs_len;
}

static bool
same_line(const struct line_cost *line, const struct location *loc)
{
	return line->function == loc->function && line->line == loc->line &&
	       (line->file == loc->file ||
		(line->file && loc->file && !strcmp(line->file, loc->file)));
}

static uint32_t
line_key(struct profile *prof, struct map *known, const struct location *loc)
{
	uint64_t key = hash_bytes(loc->file ? loc->file : "",
				  loc->file ? strlen(loc->file) : 0,
				  (uint64_t)loc->function << 32 |
				  (uint32_t)loc->line);
	uint64_t at;

	/* another line with this hash takes the next key */
	for (; map_get(known, key, &at); key++)
		if (same_line(&prof->line_keys[at], loc))
			return (uint32_t)at;
	prof->line_keys = xgrow(prof->line_keys, &prof->line_keys_cap,
				prof->line_keys_len + 1,
				sizeof *prof->line_keys);
	prof->line_keys[prof->line_keys_len] = (struct line_cost){
		.function = loc->function, .file = loc->file,
		.line = loc->line };
	map_put(known, key, prof->line_keys_len);
	return (uint32_t)prof->line_keys_len++;
}

static void
find_lines(struct profile *prof)
{
	struct map known = {0};

	prof->line_of = new_keys(prof);
	for (size_t i = 0; i < prof->locations_len; i++) {
		symbolize_line(prof, &prof->locations[i]);
		prof->line_of[i] = line_key(prof, &known, &prof->locations[i]);
	}
	map_fini(&known);
}

size_t
profile_lines(struct profile *prof, const struct line_cost **out)
{
	if (!prof->line_costs) {
		symbolize_all(prof);
		find_lines(prof);
		sum_by(prof, prof->line_of, prof->line_keys_len,
		       &prof->by_line);
		prof->line_costs = xcalloc(prof->line_keys_len + 1,
					   sizeof *prof->line_costs);
		for (size_t i = 0; i < prof->line_keys_len; i++) {
			if (!prof->by_line.present[i])
				continue;

			struct line_cost *line =
				&prof->line_costs[prof->line_costs_len++];

			*line = prof->line_keys[i];
			line->cost = cost_of(prof, &prof->by_line, i);
		}
	}
	*out = prof->line_costs;
	return prof->line_costs_len;
}

size_t
profile_objects(struct profile *prof, const struct object_cost **out)
{
	if (!prof->object_costs) {
		symbolize_all(prof);

		uint32_t *keys = new_keys(prof);

		for (size_t i = 0; i < prof->locations_len; i++)
			keys[i] = prof->locations[i].object;
		sum_by(prof, keys, prof->objects.len, &prof->by_object);
		free(keys);
		prof->object_costs = xcalloc(prof->objects.len + 1,
					     sizeof *prof->object_costs);
		for (uint32_t i = 0; i < prof->objects.len; i++)
			if (prof->by_object.present[i])
				prof->object_costs[prof->object_costs_len++] =
					(struct object_cost){
					&object_at(prof, i)->pub,
					cost_of(prof, &prof->by_object, i) };
	}
	*out = prof->object_costs;
	return prof->object_costs_len;
}

size_t
profile_threads(struct profile *prof, const struct thread_cost **out)
{
	const size_t n = prof->threads_len;

	if (!prof->thread_costs) {
		prof->thread_costs = xcalloc(n + 1, sizeof *prof->thread_costs);
		prof->thread_slots = xcalloc(n * prof->slots + 1,
					     sizeof *prof->thread_slots);
		for (size_t i = 0; i < n; i++) {
			const struct thread *th = &prof->threads[i];
			uint64_t *values = &prof->thread_slots[i * prof->slots];

			profile_weigh(prof, &prof->thread_values, i, values);
			prof->thread_costs[i] = (struct thread_cost){
				th->experiment, th->ordinal, th->tid,
				th->name, values };
		}
	}
	*out = prof->thread_costs;
	return n;
}

void
stacks_each(struct profile *prof, stack_visit *visit, void *arg)
{
	uint32_t *functions = NULL;
	size_t cap = 0;
	uint64_t packed[VALUE_MAX];

	symbolize_all(prof);
	for (size_t i = 0; i < prof->stacks_len; i++) {
		const struct stack *st = &prof->stacks[i];
		const size_t n = st->len - st->skip;

		if (!st->packets)
			continue;
		functions = xgrow(functions, &cap, n + 1, sizeof *functions);
		for (size_t f = 0; f < n; f++)
			functions[f] = prof->locations[
				prof->frames[st->first + st->skip + f]
			].function;
		profile_pack(prof, &prof->stack_values, i, packed);
		visit(arg, functions, n, packed);
	}
	free(functions);
}

/* ---- the same, unpacked ------------------------------------------------ */

struct unpacking {
	const struct profile *prof;
	stack_visit *visit;
	void *arg;
};

static void
visit_unpacked(void *arg, const uint32_t *functions, size_t n,
	       const uint64_t *packed)
{
	const struct unpacking *u = arg;
	uint64_t slots[METRIC_MAX];

	profile_unpack(u->prof, packed, slots);
	u->visit(u->arg, functions, n, slots);
}

void
profile_stacks(struct profile *prof,
	       void (*visit)(void *arg, const uint32_t *frames, size_t n,
			     const uint64_t *weight),
	       void *arg)
{
	stacks_each(prof, visit_unpacked,
		    &(struct unpacking){ prof, visit, arg });
}

void
profile_created_stacks(struct profile *prof,
		       void (*visit)(void *arg, const uint32_t *frames,
				     size_t n, const uint64_t *weight),
		       void *arg)
{
	stacks_each_created(prof, visit_unpacked,
			    &(struct unpacking){ prof, visit, arg });
}
