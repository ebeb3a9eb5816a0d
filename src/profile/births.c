/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Who created the threads: births as the log tells of them, and the weight of
 * each stack by the way in which its thread came to be.
 */
#include "private.h"

#include <stdlib.h>
#include <string.h>

static uint64_t
number(const struct experiment_log_event *ev, const char *name)
{
	const char *text = ev->attr(ev, name);

	return text ? strtoull(text, NULL, 10) : 0;
}

static int
by_thread(const void *a, const void *b)
{
	const struct birth *x = a, *y = b;

	if (x->tid != y->tid)
		return x->tid < y->tid ? -1 : 1;
	return x->time_ns < y->time_ns ? -1 : x->time_ns > y->time_ns;
}

void
births_read(struct profile *prof, struct source *src)
{
	struct profile_creators *sum = &src->creators;

	for (size_t i = 0; i < experiment_log_count(src->reader); i++) {
		const struct experiment_log_event *ev =
			experiment_log_at(src->reader, i);

		if (!strcmp(ev->kind, "sonde_births")) {
			sum->recorded = true;
			sum->why = ev->attr(ev, "why");
		}
		if (strcmp(ev->kind, "sonde_birth"))
			continue;
		src->births = xgrow(src->births, &src->births_cap,
				    src->births_len + 1, sizeof *src->births);
		src->births[src->births_len++] = (struct birth){
			.tid = number(ev, "tid"), .by = number(ev, "by"),
			.time_ns = ev->time_ns,
			.frinfo = number(ev, "stack"),
		};
	}
	for (size_t i = 0; i < src->births_len; i++)
		if (src->births[i].frinfo)
			sum->known++;
		else
			sum->unknown++;
	if (!src->births_len)
		return;
	sum->recorded = prof->has_births = true;
	qsort(src->births, src->births_len, sizeof *src->births, by_thread);
}

void
births_free(struct source *src)
{
	free(src->births);
}

struct birth *
births_find(const struct source *src, uint64_t tid, uint64_t time_ns)
{
	size_t low = 0, high = src->births_len;
	const struct birth key = { .tid = tid, .time_ns = time_ns };

	while (low < high) {
		const size_t middle = low + (high - low) / 2;

		if (by_thread(&src->births[middle], &key) <= 0)
			low = middle + 1;
		else
			high = middle;
	}
	return low && src->births[low - 1].tid == tid ?
		&src->births[low - 1] : NULL;
}

uint32_t
births_row(struct profile *prof, uint32_t stack, uint32_t chain)
{
	uint64_t *slot = map_slot_of(&prof->grown_of,
				     (uint64_t)stack << 32 | chain);

	if (!*slot) {
		prof->grown = xgrow(prof->grown, &prof->grown_cap,
				    prof->grown_len + 1, sizeof *prof->grown);
		prof->grown[prof->grown_len] = (struct grown){
			.stack = stack, .chain = chain,
		};
		*slot = ++prof->grown_len;
	}
	return (uint32_t)*slot - 1;
}

/* ---- answers --------------------------------------------------------- */

struct profile_creators
profile_creators(struct profile *prof, size_t experiment)
{
	const struct source *src = &prof->sources[experiment];
	const char *pid = experiment_property(src->reader, "pid");
	const uint64_t first = pid ? strtoull(pid, NULL, 10) : 0;
	struct profile_creators sum = src->creators;

	for (size_t i = 0; i < prof->threads_len; i++) {
		const struct thread *th = &prof->threads[i];

		/* one on its way out has no number any more */
		if (th->experiment == experiment && th->tid != first &&
		    th->tid <= INT32_MAX &&
		    !births_find(src, th->tid, UINT64_MAX))
			sum.untold++;
	}
	return sum;
}

static size_t
add_functions(const struct profile *prof, const struct stack *st,
	      uint32_t *functions)
{
	const size_t n = st->len - st->skip;

	for (size_t f = 0; f < n; f++)
		functions[f] = prof->locations[
			prof->frames[st->first + st->skip + f]].function;
	return n;
}

void
stacks_each_created(struct profile *prof, stack_visit *visit, void *arg)
{
	uint32_t *functions = NULL;
	size_t cap = 0;
	uint64_t packed[VALUE_MAX];

	if (!prof->has_births) {
		stacks_each(prof, visit, arg);
		return;
	}
	(void)profile_function_count(prof);	/* all have their names */
	for (size_t i = 0; i < prof->grown_len; i++) {
		const struct grown *g = &prof->grown[i];
		const struct stack *st = &prof->stacks[g->stack];
		const struct stack *chain = &prof->stacks[g->chain];
		size_t n;

		functions = xgrow(functions, &cap, st->len + chain->len + 1,
				  sizeof *functions);
		n = add_functions(prof, st, functions);
		n += add_functions(prof, chain, functions + n);
		profile_pack(prof, &prof->grown_values, i, packed);
		visit(arg, functions, n, packed);
	}
	free(functions);
}
