/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Index objects: cost by what an expression comes to for each record. They
 * are asked for by few and are many, so packets are gone over again for each;
 * stacks and their functions are known by then.
 *
 * A packet of a wait stands at its end, which may be seconds behind its
 * beginning. It counts as pieces, cut at whole seconds and at resource samples,
 * each by what the expression comes to at its own time.
 */
#include "expr.h"

#include <stdlib.h>

enum {
	PACKET_CLOCK = 8,
	PIECES_MAX = 100000,	/* a day and more */
};

#define SECOND_NS	UINT64_C(1000000000)

#define ABOVE(n, rest) "(TSTAMP_HI-TSTAMP_LO)<=" #n "?" #n ":" rest
#define BYTES(n, rest) "IOHEAPBYTES<=(1<<" #n ")?(1<<" #n "):" rest

const struct profile_index_type profile_index_types[INDEX_TYPES] = {
	{ "Threads", "(EXPID_CMP<<32) | THRID" },
	{ "CPUs", "CPUID" },
	{ "Samples", "SAMPLE_MAP" },
	{ "GCEvents", "GCEVENT_MAP" },
	{ "Seconds", "TSTAMP/1000000000" },
	{ "Processes", "EXPID_CMP" },
	{ "Experiment_IDs", "(EXPGRID<<60) | (EXPID<<32)" },
	{ "Datasize", "IOHEAPBYTES==0 ? 0 : IOHEAPBYTES==-1 ? -1 : "
	  BYTES(0, BYTES(2, BYTES(4, BYTES(6, BYTES(8, BYTES(10, BYTES(12,
	  BYTES(14, BYTES(16, BYTES(18, BYTES(20, BYTES(22, BYTES(24,
	  BYTES(26, BYTES(28, BYTES(30, BYTES(32, BYTES(34, BYTES(36,
	  BYTES(38, BYTES(40, BYTES(42, BYTES(44, BYTES(46, BYTES(48,
	  BYTES(50, "(1<<50|1)")))))))))))))))))))))))))) },
	{ "Duration", "TSTAMP_HI==TSTAMP_LO ? 0 : "
	  ABOVE(1000, ABOVE(10000, ABOVE(100000, ABOVE(1000000,
	  ABOVE(10000000, ABOVE(100000000, ABOVE(1000000000,
	  ABOVE(10000000000, ABOVE(100000000000, ABOVE(1000000000000,
	  ABOVE(10000000000000, "10000000000001"))))))))))) },
};

struct indexing {
	struct profile *prof;
	struct expr *e;
	struct map rows;	/* index -> row + 1 */
	struct bank values;
	struct numbered {
		uint64_t index, row;
	} *items;
	size_t len, cap;
};

static void
add_piece(struct indexing *in, const struct expr_record *r)
{
	struct place to = { .only = &in->values };
	uint64_t index = 0, *row;

	if (!expr_value(in->e, r, &index))
		index = 0;
	row = map_slot_of(&in->rows, index);
	if (!*row) {
		in->items = xgrow(in->items, &in->cap, in->len + 1,
				  sizeof *in->items);
		in->items[in->len] = (struct numbered){ index, in->len };
		*row = ++in->len;
	}
	to.row = *row - 1;
	values_add(in->prof, r->src, r->packet, &to);
}

/* What stands for many threads at once has no beginning. */
static bool
is_wait(const struct expr_record *r)
{
	const struct experiment_packet *p = r->packet;

	switch (p->mstate) {
	case MSTATE_TEXT_FAULT:
	case MSTATE_DATA_FAULT:
	case MSTATE_KERNEL_FAULT:
	case MSTATE_LOCK:
	case MSTATE_SLEEP:
	case MSTATE_WAIT_CPU:
	case MSTATE_STOPPED:
		return p->kind == PACKET_CLOCK &&
			!r->prof->stacks[r->stack].is_many;
	default:
		return false;
	}
}

/* The last moment before end at which another piece begins. */
static uint64_t
cut_before(const struct source *src, uint64_t end)
{
	const uint64_t in_second = (end + src->since_founder) % SECOND_NS;
	const uint64_t back = in_second ? in_second : SECOND_NS;
	const uint64_t second = end > back ? end - back : 0;
	const uint64_t sample = periods_begin(src, end);

	return second > sample ? second : sample;
}

static void
add_record(void *arg, const struct expr_record *r)
{
	struct indexing *in = arg;
	struct experiment_packet piece = *r->packet;
	struct expr_record part = *r;
	uint64_t left = piece.weight_ns, end = piece.time_ns;

	part.packet = &piece;
	part.whole = r->packet;
	for (int n = 0; is_wait(r) && left && end > 1 && n < PIECES_MAX;
	     n++) {
		const uint64_t cut = cut_before(r->src, end);

		if (end - cut >= left)
			break;
		piece.weight_ns = end - cut;
		add_piece(in, &part);
		left -= end - cut;
		end = cut;
		piece.time_ns = end ? end - 1 : 0;
	}
	piece.weight_ns = left;
	add_piece(in, &part);
}

static int
by_index(const void *a, const void *b)
{
	const struct numbered *x = a, *y = b;

	return (x->index > y->index) - (x->index < y->index);
}

static void
keep(struct profile *prof, struct indexing *in)
{
	uint64_t *values;

	if (in->len)
		qsort(in->items, in->len, sizeof *in->items, by_index);
	prof->index_costs = xcalloc(in->len + 1, sizeof *prof->index_costs +
				    prof->slots * sizeof *values);
	values = (uint64_t *)&prof->index_costs[in->len];
	for (size_t i = 0; i < in->len; i++) {
		uint64_t *excl = &values[i * prof->slots];

		profile_weigh(prof, &in->values, in->items[i].row, excl);
		prof->index_costs[i] = (struct index_cost){
			in->items[i].index, excl };
	}
}

void
index_free(struct profile *prof)
{
	free(prof->index_costs);
	prof->index_costs = NULL;
}

ssize_t
profile_index(struct profile *prof, const char *expression,
	      const struct profile_index_type *objects, size_t n,
	      const struct index_cost **out)
{
	struct indexing in = { .prof = prof };

	in.e = expr_parse(expression, objects, n);
	if (!in.e)
		return -1;
	index_free(prof);
	if (expr_needs_functions(in.e))
		symbolize_all(prof);
	expr_bind(in.e, prof);
	for (size_t i = 0; i < prof->sources_len; i++)
		records_each(prof, &prof->sources[i], add_record, &in);
	keep(prof, &in);
	*out = prof->index_costs;
	map_fini(&in.rows);
	bank_fini(&in.values);
	free(in.items);
	expr_free(in.e);
	return (ssize_t)in.len;
}

int
profile_expression_check(const char *text,
			 const struct profile_index_type *objects, size_t n)
{
	struct expr *e = expr_parse(text, objects, n);

	if (!e)
		return -1;
	expr_free(e);
	return 0;
}
