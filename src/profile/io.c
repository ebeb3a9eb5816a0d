/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Input and output: by file, by open file and by stack, in one pass.
 */
#include "calls.h"

#include <stdlib.h>
#include <string.h>

struct by_key {
	struct traced_rows *rows;
	struct map known;	/* key -> row + 1 */
};

struct doing {
	struct profile *prof;
	struct traced_files *out;
	uint32_t *same;		/* by stack */
	struct by_key files, opens, stacks;
};

static struct traced_row *
row_for(struct by_key *by, uint64_t key, const struct traced_row *first)
{
	uint64_t *at = map_slot_of(&by->known, key);

	if (!*at) {
		struct traced_rows *rows = by->rows;

		rows->items = xgrow(rows->items, &rows->cap, rows->len + 1,
				    sizeof *rows->items);
		rows->items[rows->len] = *first;
		*at = ++rows->len;
	}
	return &by->rows->items[*at - 1];
}

static enum traced_io
class_of(const struct experiment_packet *p)
{
	if (p->value[IO_KIND] >= IO_FAILED)
		return TRACED_ERROR;
	return p->value[IO_KIND] == IO_READ ? TRACED_READ :
	       p->value[IO_KIND] == IO_WRITE ? TRACED_WRITE : TRACED_OTHER;
}

static void
add_call(struct traced_calls calls[TRACED_IO], enum traced_io which,
	 uint64_t ns, uint64_t bytes)
{
	struct traced_calls *c = &calls[which];

	c->count++;
	c->ns += ns;
	c->bytes += bytes;
	c->longest_ns = ns > c->longest_ns ? ns : c->longest_ns;
}

static struct traced_row *
row_of_open(struct doing *io, const struct opening *op, const char *name)
{
	enum { UNOPENED = 63 };

	if (!op)
		return row_for(&io->opens, (uint64_t)(uintptr_t)name |
			       UINT64_C(1) << UNOPENED,
			       &(struct traced_row){ .name = name,
						     .descriptor = -1 });
	return row_for(&io->opens, op->number, &(struct traced_row){
		       .name = name, .number = op->number,
		       .descriptor = op->fd });
}

static void
add_record(void *arg, const struct expr_record *r)
{
	struct doing *io = arg;
	const struct experiment_packet *p = r->packet;

	if (p->kind != PACKET_IO)
		return;

	const struct opening *op = files_opening(io->prof, r->src, p);
	const char *name = files_name(io->prof, op, p);
	const enum traced_io which = class_of(p);
	const uint64_t since = p->value[IO_SINCE];
	const uint64_t ns = since && since < p->time_ns ? p->time_ns - since :
							  0;
	/* a collector may say of a failure that it moved -1 */
	const uint64_t bytes = which < TRACED_OTHER &&
		(int64_t)p->value[IO_BYTES] > 0 ? p->value[IO_BYTES] : 0;
	const uint32_t stack = io->same[r->stack];

	add_call(row_for(&io->files, (uintptr_t)name, &(struct traced_row){
			 .name = name, .descriptor = -1 })->calls, which, ns,
		 bytes);
	add_call(row_of_open(io, op, name)->calls, which, ns, bytes);
	add_call(row_for(&io->stacks, stack, &(struct traced_row){
			 .stack = stack, .descriptor = -1 })->calls, which, ns,
		 bytes);
	add_call(io->out->all, which, ns, bytes);
	if (which < TRACED_OTHER)
		traced_size_add(&io->out->sizes[which], bytes);
}

/* ---- the whole ---------------------------------------------------------- */

struct traced_files *
traced_files(struct profile *prof)
{
	struct traced_files *out = xcalloc(1, sizeof *out);
	struct doing io = {
		.prof = prof, .out = out, .same = traced_same(prof),
		.files.rows = &out->files, .opens.rows = &out->opens,
		.stacks.rows = &out->stacks,
	};

	for (size_t i = 0; i < ARRAY_LEN(out->sizes); i++)
		traced_sizes_init(&out->sizes[i]);
	for (size_t e = 0; e < prof->sources_len; e++)
		if (experiment_declares(prof->sources[e].reader, PACKET_IO))
			records_each(prof, &prof->sources[e], add_record, &io);
	free(io.same);
	map_fini(&io.files.known);
	map_fini(&io.opens.known);
	map_fini(&io.stacks.known);
	return out;
}

void
traced_files_free(struct traced_files *files)
{
	free(files->files.items);
	free(files->opens.items);
	free(files->stacks.items);
	free(files);
}
