/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * What packets add up to. Each kind of packet has its values; a value gets a
 * column in all banks when the first packet has it, so that a recording of
 * the clock alone takes no room for what heaps, locks and files would need.
 */
#include "private.h"

#include <stdlib.h>
#include <string.h>

enum { PACKET_SYNC = 2, PACKET_COUNTER = 3, PACKET_HEAP = 5,
       PACKET_MEMORY_COUNTER = 7, PACKET_CLOCK = 8, PACKET_IO = 19 };

/* ---- banks ---------------------------------------------------------- */

static void
widen(struct bank *bank, uint32_t width)
{
	uint64_t *cells = xcalloc(bank->cap * width + 1, sizeof *cells);

	for (size_t i = 0; i < bank->rows; i++)
		for (uint32_t c = 0; c < bank->width; c++)
			cells[i * width + c] =
				bank->cells[i * bank->width + c];
	free(bank->cells);
	bank->cells = cells;
	bank->width = width;
}

void
bank_grow(struct bank *bank, size_t row, uint32_t column)
{
	uint32_t width = bank->width ? bank->width : 1;
	const size_t before = bank->cap;

	while (width <= column)
		width *= 2;
	if (width != bank->width)
		widen(bank, width);
	if (row < bank->rows)
		return;
	bank->cells = xgrow(bank->cells, &bank->cap, row + 1,
			    width * sizeof *bank->cells);
	memset(&bank->cells[before * width], 0,
	       (bank->cap - before) * width * sizeof *bank->cells);
	bank->rows = row + 1;
}

void
bank_fini(struct bank *bank)
{
	free(bank->cells);
	*bank = (struct bank){ 0 };
}

/* ---- values --------------------------------------------------------- */

static const struct {
	int kind;
	uint32_t first, last;	/* of its values */
} kinds[] = {
	{ PACKET_SYNC, VALUE_SYNC_TIME, VALUE_SYNC_COUNT },
	{ PACKET_HEAP, VALUE_ALLOC_COUNT, VALUE_LEAK_BYTES },
	{ PACKET_IO, VALUE_READ_TIME, VALUE_ERROR_COUNT },
};

/* What was asked for has its metrics, even if there is none of it. */
static void
declare(struct profile *prof, const struct experiment_reader *rd)
{
	const char *states = experiment_property(rd, "numstates");

	if (experiment_declares(rd, PACKET_CLOCK))
		prof->values_seen |= UINT64_C(1) <<
			(states && atoi(states) > 1 ? MSTATE_USER :
						      MSTATE_LINUX_CPU);
	for (size_t i = 0; i < ARRAY_LEN(kinds); i++)
		for (uint32_t v = kinds[i].first; v <= kinds[i].last; v++)
			if (experiment_declares(rd, kinds[i].kind))
				prof->values_seen |= UINT64_C(1) << v;
}

void
values_init(struct profile *prof, struct source *src)
{
	declare(prof, src->reader);
	for (size_t i = 0; i < experiment_counter_count(src->reader); i++) {
		const struct experiment_counter *c =
			experiment_counter_at(src->reader, i);

		if (c->tag < COUNTER_TAGS && !src->counter_of[c->tag])
			src->counter_of[c->tag] = metrics_counter(prof, c);
	}
}

struct adding {
	struct profile *prof;
	struct source *src;
	const struct experiment_packet *p;
	const struct place *to;
};

static void
add(const struct adding *a, uint32_t value, uint64_t amount)
{
	struct profile *prof = a->prof;

	if (!prof->column[value])
		prof->column[value] = (uint8_t)++prof->columns;

	const uint32_t column = prof->column[value] - 1u;

	if (a->to->only) {
		bank_add(a->to->only, a->to->row, column, amount);
		return;
	}

	prof->values_seen |= UINT64_C(1) << value;
	bank_add(&prof->stack_values, a->to->stack, column, amount);
	bank_add(&prof->thread_values, a->to->thread, column, amount);
	if (a->to->grown != GROWN_NONE)
		bank_add(&prof->grown_values, a->to->grown, column, amount);
	periods_add(a->src, a->p->time_ns, column, amount, value < MSTATE_COUNT ?
		    a->to->period : PERIOD_THEN);
}

/* Since it was asked for; 0 when that was not recorded. */
static uint64_t
duration(const struct experiment_packet *p, uint64_t since)
{
	const int64_t ns = (int64_t)(p->time_ns - since);

	return since && ns > 0 ? (uint64_t)ns : 0;
}

static void
add_sync(const struct adding *a)
{
	add(a, VALUE_SYNC_TIME, duration(a->p, a->p->value[0]));
	add(a, VALUE_SYNC_COUNT, 1);
}

static uint64_t
calls_of(const struct experiment_packet *p)
{
	return p->ticks ? p->ticks : 1;
}

static void
add_leak(const struct adding *a)
{
	const uint64_t leaked = a->p->value[HEAP_LEAKED];

	if (!leaked)
		return;
	add(a, VALUE_LEAK_COUNT, calls_of(a->p));
	add(a, VALUE_LEAK_BYTES, leaked);
}

static void
add_heap(const struct adding *a)
{
	add(a, VALUE_ALLOC_COUNT, calls_of(a->p));
	add(a, VALUE_ALLOC_BYTES, a->p->value[HEAP_SIZE]);
	add_leak(a);
}

enum { READ, WRITE, OPEN, CLOSE, OTHER, ERRORS, IO_TYPES = 2 * ERRORS };

static void
add_io(const struct adding *a)
{
	const uint64_t type = a->p->value[0], bytes = a->p->value[2];
	const uint64_t ns = duration(a->p, a->p->value[3]);

	if (type >= ERRORS) {
		add(a, VALUE_ERROR_TIME, ns);
		add(a, VALUE_ERROR_COUNT, 1);
	} else if (type >= OPEN) {
		add(a, VALUE_OTHER_TIME, ns);
		add(a, VALUE_OTHER_COUNT, 1);
	} else {
		const uint32_t first = type == READ ? VALUE_READ_TIME :
						      VALUE_WRITE_TIME;

		add(a, first, ns);
		/* a collector may say of a failure that it moved -1 */
		add(a, first + 1, (int64_t)bytes > 0 ? bytes : 0);
		add(a, first + 2, 1);
	}
}

static uint32_t
counter_of(const struct source *src, const struct experiment_packet *p)
{
	return p->value[0] < COUNTER_TAGS ? src->counter_of[p->value[0]] : 0;
}

/* A count that the collector itself did not believe has this bit set. */
#define COUNT_DOUBTED (UINT64_C(1) << 63)

bool
values_has(const struct source *src, const struct experiment_packet *p)
{
	switch (p->kind) {
	case PACKET_CLOCK:
		return p->mstate >= 0 && p->mstate < MSTATE_COUNT;
	case PACKET_SYNC:
		return true;
	case PACKET_HEAP:
		return p->value[HEAP_TYPE] != HEAP_FREE &&
		       p->value[HEAP_TYPE] != HEAP_MUNMAP &&
		       p->value[HEAP_ADDRESS];
	case PACKET_IO:
		return p->value[0] < IO_TYPES;
	case PACKET_COUNTER:
	case PACKET_MEMORY_COUNTER:
		return counter_of(src, p) && !(p->value[1] & COUNT_DOUBTED);
	}
	return false;
}

void
values_add(struct profile *prof, struct source *src,
	   const struct experiment_packet *p, const struct place *to)
{
	const struct adding a = { prof, src, p, to };

	switch (p->kind) {
	case PACKET_CLOCK:
		add(&a, (uint32_t)p->mstate, p->weight_ns);
		break;
	case PACKET_SYNC:
		add_sync(&a);
		break;
	case PACKET_HEAP:
		add_heap(&a);
		break;
	case PACKET_IO:
		add_io(&a);
		break;
	case PACKET_COUNTER:
	case PACKET_MEMORY_COUNTER:
		add(&a, counter_of(src, p), p->value[1]);
		break;
	}
}

void
values_add_leak(struct profile *prof, struct source *src,
		const struct experiment_packet *p, const struct place *to)
{
	add_leak(&(struct adding){ prof, src, p, to });
}
