/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * The heap by stacks: what was allocated, what nobody freed, and what lived
 * when most did. Blocks are gone over twice: once each to learn which stack
 * has it, and then in order of time as they come and go.
 *
 * What each stack had at the peak is kept without copying: a stack knows at
 * which peak it was looked at last, and what it has changes only after that
 * was noted.
 */
#include "calls.h"

#include <stdlib.h>

struct holding {		/* of one stack in one process */
	struct traced_amount now, at_peak;
	uint64_t peak;		/* at_peak is of this one; others: now is */
};

struct heaping {
	struct profile *prof;
	struct traced_heap *out;
	struct traced_process *process;
	uint32_t *same;		/* by stack */
	struct map rows;	/* stack << 8 | end -> row + 1 */
	struct standing {	/* by number of the packet */
		uint32_t row;	/* + 1; 0: filtered */
		uint32_t calls;	/* for how many it stands */
	} *row_of;
	size_t row_of_cap, row_of_len;
	struct holding *holdings;	/* by row */
	struct traced_amount now;
	uint64_t peak;		/* how many there were */
	uint64_t highest;	/* of the processes so far, in bytes */
};

static void
amount_add(struct traced_amount *a, uint64_t calls, uint64_t bytes)
{
	a->count += calls;
	a->bytes += bytes;
}

static struct traced_blocks *
row_for(struct heaping *h, uint32_t stack)
{
	struct traced_heap *out = h->out;
	const enum traced_end end = h->process->end;
	uint64_t *row = map_slot_of(&h->rows, (uint64_t)stack << 8 | end);

	if (!*row) {
		out->blocks = xgrow(out->blocks, &out->cap, out->len + 1,
				    sizeof *out->blocks);
		out->blocks[out->len] = (struct traced_blocks){
			.stack = stack, .end = end };
		*row = ++out->len;
	}
	return &out->blocks[*row - 1];
}

/* ---- each block --------------------------------------------------------- */

static void
note_row(struct heaping *h, uint64_t number, const struct traced_blocks *row,
	 uint64_t calls)
{
	h->row_of = xgrow(h->row_of, &h->row_of_cap, number + 1,
			  sizeof *h->row_of);
	while (h->row_of_len <= number)
		h->row_of[h->row_of_len++] = (struct standing){0};
	h->row_of[number] = (struct standing){
		(uint32_t)(row - h->out->blocks) + 1, (uint32_t)calls };
}

static void
add_block(void *arg, const struct expr_record *r)
{
	struct heaping *h = arg;
	const struct experiment_packet *p = r->packet;

	if (p->kind != PACKET_HEAP)
		return;

	struct traced_blocks *row = row_for(h, h->same[r->stack]);
	const uint64_t kept = p->value[HEAP_LEAKED];
	const uint64_t calls = p->ticks ? p->ticks : 1;

	note_row(h, r->src->leaks.next - 1, row, calls);
	amount_add(&row->allocated, calls, p->value[HEAP_SIZE]);
	traced_sizes_add(&h->out->allocated, calls, p->value[HEAP_SIZE]);
	if (!kept)
		return;
	amount_add(&row->kept, calls, kept);
	amount_add(&h->process->kept, calls, kept);
	traced_sizes_add(&h->out->kept, calls, kept);
}

/* ---- as they come and go ------------------------------------------------ */

/* What is neither old nor new stays as it is, by the rules of unsigned. */
static void
change(struct traced_amount *a, uint64_t calls, uint64_t before,
       uint64_t after)
{
	a->bytes += after - before;
	a->count += calls * ((uint64_t)!before - (uint64_t)!after);
}

static void
follow(void *arg, uint64_t number, uint64_t time_ns, uint64_t before,
       uint64_t after)
{
	struct heaping *h = arg;
	const struct standing at = number < h->row_of_len ?
		h->row_of[number] : (struct standing){0};

	if (!at.row)
		return;

	struct holding *held = &h->holdings[at.row - 1];

	if (held->peak != h->peak) {
		held->peak = h->peak;
		held->at_peak = held->now;
	}
	change(&held->now, at.calls, before, after);
	change(&h->now, at.calls, before, after);
	if (h->now.bytes <= h->process->peak.bytes)
		return;
	h->process->peak = h->now;
	h->process->peak_ns = time_ns;
	h->peak++;
}

static void
keep_peak(struct heaping *h)
{
	for (size_t i = 0; i < h->out->len; i++) {
		const struct holding *held = &h->holdings[i];

		h->out->blocks[i].at_peak = held->peak == h->peak ?
			held->at_peak : held->now;
	}
}

/* ---- each process ------------------------------------------------------- */

static void
add_process(struct heaping *h, size_t e)
{
	struct source *src = &h->prof->sources[e];

	h->process = &h->out->processes[e];
	h->process->end = traced_end_of(src->reader);
	h->process->recorded = experiment_declares(src->reader, PACKET_HEAP);
	if (!h->process->recorded)
		return;
	h->row_of_len = 0;
	records_each(h->prof, src, add_block, h);
	h->holdings = xcalloc(h->out->len + 1, sizeof *h->holdings);
	h->now = (struct traced_amount){0};
	h->peak = 0;
	leaks_follow(src, follow, h);
	h->process->older = src->leaks.older;
	h->process->reused = src->leaks.reused;
	leaks_free(&src->leaks);
	if (h->process->peak.bytes > h->highest) {
		h->highest = h->process->peak.bytes;
		h->out->highest = e;
		keep_peak(h);
	}
	free(h->holdings);
}

struct traced_heap *
traced_heap(struct profile *prof)
{
	struct traced_heap *out = xcalloc(1, sizeof *out);
	struct heaping h = { .prof = prof, .out = out,
			     .same = traced_same(prof) };

	traced_sizes_init(&out->allocated);
	traced_sizes_init(&out->kept);
	out->processes_len = prof->sources_len;
	out->processes = xcalloc(prof->sources_len + 1,
				 sizeof *out->processes);
	for (size_t e = 0; e < prof->sources_len; e++)
		add_process(&h, e);
	free(h.same);
	free(h.row_of);
	map_fini(&h.rows);
	return out;
}

void
traced_heap_free(struct traced_heap *heap)
{
	free(heap->blocks);
	free(heap->processes);
	free(heap);
}
