/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * From packets to stacks with weights. A packet is read once: its FRINFO
 * leads to an interned stack (stacks.c), and its weight is added there, by
 * state.
 */
#include "reading.h"

#include <stdlib.h>

enum { PACKET_CLOCK = 8, PACKET_HEAP = 5 };

/* ---- threads ---------------------------------------------------------- */

uint32_t
reading_thread(struct reading *rd, uint64_t tid)
{
	struct profile *prof = rd->prof;

	const size_t at = tid % THREADS_KNOWN;

	if (rd->threads[at].thread && rd->threads[at].tid == tid)
		return rd->threads[at].thread - 1;

	uint64_t *slot = map_slot_of(&rd->src->threads, tid);

	if (!*slot) {
		prof->threads = xgrow(prof->threads, &prof->threads_cap,
				      prof->threads_len + 1,
				      sizeof *prof->threads);
		prof->threads[prof->threads_len] = (struct thread){
			.experiment = (uint32_t)(rd->src - prof->sources),
			.ordinal = ++rd->src->thread_count, .tid = tid,
		};
		*slot = ++prof->threads_len;
	}
	rd->threads[at].tid = tid;
	rd->threads[at].thread = (uint32_t)*slot;
	return (uint32_t)*slot - 1;
}

static void
count_end(struct stack_ends *ends, const struct stack *st)
{
	switch ((enum end_kind)st->end) {
	case END_COMPLETE:
		ends->complete++;
		break;
	case END_TRUNCATED:
		ends->truncated++;
		break;
	case END_FAILED:
		ends->failed++;
		break;
	case END_ARTIFICIAL:
		ends->artificial++;
		break;
	}
}

/* ---- blocks of the heap ------------------------------------------------ */

/*
 * What of a block is never freed is known once all packets were seen. So that
 * they need not be read twice, where each of its numbers goes is kept while it
 * lives; most die young, and others have their numbers then.
 */
struct block {
	uint64_t time_ns, calls;
	uint32_t stack, thread, grown;
	bool counts;
};

struct blocks {
	struct matching *matching;
	struct block *items;	/* by number */
	size_t len, cap;
	uint32_t last;		/* number of the one that was seen last */
};

/* Nobody is number 0. */
static void
begin_blocks(struct reading *rd, struct blocks *b)
{
	b->matching = leaks_begin(rd->src);
	b->items = xgrow(b->items, &b->cap, 1, sizeof *b->items);
	b->len = 1;
	rd->blocks = b;
}

static void
see_block(struct reading *rd, const struct experiment_packet *p)
{
	struct blocks *b = rd->blocks;

	if (!b || p->kind != PACKET_HEAP)
		return;
	b->last = leaks_see(b->matching, p);
	if (b->last >= b->len) {
		b->items = xgrow(b->items, &b->cap, b->last + 1,
				 sizeof *b->items);
		b->len = b->last + 1;
	}
	b->items[b->last].counts = false;
}

static void
note_block(struct reading *rd, const struct experiment_packet *p,
	   const struct place *to)
{
	struct blocks *b = rd->blocks;

	if (b && p->kind == PACKET_HEAP)
		b->items[b->last] = (struct block){
			.time_ns = p->time_ns, .calls = p->ticks,
			.stack = to->stack, .thread = to->thread,
			.grown = to->grown, .counts = true };
}

static void
add_leak(struct reading *rd, const struct block *b, uint64_t bytes)
{
	struct experiment_packet p = { .kind = PACKET_HEAP,
				       .time_ns = b->time_ns,
				       .ticks = b->calls };
	const struct place to = { .stack = b->stack, .thread = b->thread,
				  .grown = b->grown };

	p.value[HEAP_LEAKED] = bytes;
	values_add_leak(rd->prof, rd->src, &p, &to);
}

/* ---- each packet ----------------------------------------------------- */

/* False: the filter does not keep it. Each packet goes here. */
static inline __attribute__((always_inline)) bool
find_place(struct reading *rd, const struct experiment_packet *p,
	   uint32_t thread, struct place *to, bool *missing)
{
	struct profile *prof = rd->prof;
	const uint32_t stack = reading_stack(rd, p, missing);

	if (!filter_keeps(prof, rd->src, p, stack,
			  prof->threads[thread].ordinal))
		return false;
	*to = (struct place){
		.stack = stack, .thread = thread,
		.period = prof->stacks[stack].is_many ? PERIOD_THEN :
							PERIOD_BACKWARDS,
		.grown = !prof->has_births ? GROWN_NONE :
			births_row(prof, stack,
				   reading_creators(rd, p, stack)),
	};
	return true;
}

static void
add_counted(struct reading *rd, const struct experiment_packet *p,
	    uint32_t thread)
{
	struct profile *prof = rd->prof;
	struct place to;
	bool missing;

	/* also what is filtered has its metric */
	if (p->kind == PACKET_CLOCK)
		prof->values_seen |= UINT64_C(1) << p->mstate;
	if (!find_place(rd, p, thread, &to, &missing))
		return;

	struct stack *st = &prof->stacks[to.stack];

	values_add(prof, rd->src, p, &to);
	note_block(rd, p, &to);
	st->packets++;
	rd->src->ends.traced += p->kind == METRIC_HEAP ||
		p->kind == METRIC_SYNC || p->kind == METRIC_IO;
	if (rd->ours && p->kind == PACKET_CLOCK && p->cpu == EXPERIMENT_BOOKED)
		rd->src->ends.booked++;
	else if (missing)
		rd->src->ends.missing++;
	else
		count_end(&rd->src->ends, st);
}

const struct experiment_packet *
reading_complete(struct reading *rd, const struct experiment_packet *p,
		 struct experiment_packet *copy)
{
	if (p->kind != PACKET_HEAP)
		return p;
	*copy = *p;
	leaks_next(rd->src, copy);
	return copy;
}

static bool
add_packet(void *arg, const struct experiment_packet *p)
{
	struct reading *rd = arg;
	const uint32_t thread = reading_thread(rd, p->thread);
	struct experiment_packet copy;

	reading_ask(rd, p->ahead);
	if (!rd->blocks)
		p = reading_complete(rd, p, &copy);
	see_block(rd, p);
	if (p->kind < KINDS)
		rd->src->events[p->kind]++;
	if (values_has(rd->src, p))
		add_counted(rd, p, thread);
	else if (p->kind == PACKET_CLOCK)
		rd->src->ignored++;
	return true;
}

/* Its leak alone: the rest of it was added before. */
static bool
add_kept(void *arg, const struct experiment_packet *p)
{
	struct reading *rd = arg;
	struct experiment_packet copy;
	struct place to;
	bool missing;

	p = reading_complete(rd, p, &copy);
	if (p->value[HEAP_LEAKED] && values_has(rd->src, p) &&
	    find_place(rd, p, reading_thread(rd, p->thread), &to, &missing))
		values_add_leak(rd->prof, rd->src, p, &to);
	return true;
}

static void
end_blocks(struct reading *rd)
{
	struct blocks *b = rd->blocks;
	const struct leaks *leaks = &rd->src->leaks;

	if (!leaks_end(b->matching))
		(void)experiment_packets_of(rd->src->reader, PACKET_HEAP,
					    add_kept, rd);
	else
		for (size_t i = 1; i < b->len; i++)
			if (leaks->bytes[i] && b->items[i].counts)
				add_leak(rd, &b->items[i], leaks->bytes[i]);
	free(b->items);
}

void
read_packets(struct profile *prof, struct source *src)
{
	const char *by = experiment_property(src->reader, "collector");
	struct reading rd = {
		.prof = prof, .src = src, .ours = by && str_starts(by, "sonde"),
	};
	struct blocks blocks = {0};

	periods_init(src);
	values_init(prof, src);
	if (src->wants_leaks)
		leaks_find(src);
	else
		begin_blocks(&rd, &blocks);
	experiment_packets(src->reader, add_packet, &rd);
	if (rd.blocks)
		end_blocks(&rd);
	free(rd.pcs);
	leaks_free(&src->leaks);
}
