/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * What the listings of source and of instructions share: a table whose rows
 * are lines of a text, most of them without a cost, the hot ones marked.
 */
#include "foreign.h"
#include "listing.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

enum { MARK_COLUMN };

/* ---- text ----------------------------------------------------------- */

void
text_read(struct source_text *text, const char *path)
{
	size_t size, cap = 0;

	*text = (struct source_text){0};
	text->data = path ?
		foreign_read(path, FOREIGN_SOURCE_MAX, &size) : NULL;
	if (!text->data)
		return;
	for (char *at = text->data; at < text->data + size;) {
		char *end = memchr(at, '\n', size - (size_t)(at - text->data));

		text->lines = xgrow(text->lines, &cap, text->len + 1,
				    sizeof *text->lines);
		text->lines[text->len++] = at;
		if (!end)
			break;
		*end = '\0';
		if (end > at && end[-1] == '\r')
			end[-1] = '\0';
		at = end + 1;
	}
	for (size_t i = 0; i < text->len; i++)
		str_tame_lines(text->lines[i]);
}

void
text_fini(struct source_text *text)
{
	free(text->lines);
	free(text->data);
}

const char *
text_line(const struct source_text *text, int line)
{
	return line > 0 && (size_t)line <= text->len ? text->lines[line - 1] :
						       "";
}

/* ---- rows ----------------------------------------------------------- */

static void
add_text_column(struct table *t, const char *heading, const char *key,
		enum cell_kind kind)
{
	table_column(t, (struct column){ .heading = xstrdup(heading),
		.key = key, .kind = kind, .show = SHOW_VALUE });
}

void
listing_init(struct listing *l, struct viewer *v, unsigned threshold,
	     unsigned columns)
{
	struct specs plain = specs_plain(v);
	const struct cost total = profile_total(v->prof);

	*l = (struct listing){ .v = v, .threshold = threshold,
			       .table.color = v->color };
	for (size_t i = 0; i < plain.len; i++)
		if (plain.items[i].metric >= 0)
			specs_add(&l->specs, plain.items[i]);
	specs_fini(&plain);
	add_text_column(&l->table, "", "hot", CELL_MARK);
	table_columns(&l->table, v, &l->specs, total.incl);
	l->line = l->table.columns_len;
	add_text_column(&l->table, "", "line", CELL_LINE);
	l->address = l->table.columns_len;
	if (columns & LISTING_ADDRESS)
		add_text_column(&l->table, "", "address", CELL_TEXT);
	l->bytes = l->table.columns_len;
	if (columns & LISTING_BYTES)
		add_text_column(&l->table, "", "bytes", CELL_TEXT);
	add_text_column(&l->table, "", "text", CELL_NAME);
}

/* As table_cost does, one column to the right. */
static void
set_cost(struct listing *l, const struct row *row, const struct cost *cost)
{
	for (size_t i = 0; i < l->specs.len; i++) {
		const struct spec *spec = &l->specs.items[i];
		const int slot = viewer_slot(l->v, spec->metric);
		const uint64_t *values = spec->flavor == EXCLUSIVE ?
			cost->excl : cost->incl;

		table_cell(&l->table, row, i + 1)->value =
			values ? values[slot] : 0;
	}
}

/* Takes name. cost NULL: there is nothing to measure. */
static struct row *
add_row(struct listing *l, char *name, const struct cost *cost)
{
	vec_push(&l->names, name);

	struct row *row = table_row(&l->table, name);

	row->blank = !cost;
	if (cost)
		set_cost(l, row, cost);
	return row;
}

void
listing_astray(struct listing *l, uint64_t vaddr, const struct cost *cost)
{
	add_row(l, xasprintf("<within the instruction before: %" PRIx64 ">",
			     vaddr), cost)->is = "index";
}

void
listing_index(struct listing *l, char *name, const struct cost *cost)
{
	struct row *row = add_row(l, name, cost);

	row->is = "index";
	row->is_sum = true;
}

void
listing_source(struct listing *l, int line, const char *text,
	       const struct cost *cost)
{
	struct row *row = add_row(l, xstrdup(text), cost);
	struct cell *cell = table_cell(&l->table, row, l->line);

	row->is = "source";
	cell->value = (uint64_t)line;
	cell->text = xasprintf("%d.", line);
}

void
listing_code(struct listing *l, int line, const struct symfile_insn *insn,
	     const struct cost *cost)
{
	struct row *row = add_row(l, xstrdup(insn->text), cost);
	struct cell *cell = table_cell(&l->table, row, l->line);
	struct str bytes = {0};

	row->is = "instruction";
	cell->value = (uint64_t)line;
	cell->text = line ? xasprintf("[%2d]", line) : xstrdup("[ ?]");
	table_cell(&l->table, row, l->address)->text =
		xasprintf("%" PRIx64 ":", insn->vaddr);
	if (l->table.columns_len < l->bytes + 2)
		return;
	for (unsigned i = 0; i < insn->length; i++)
		str_addf(&bytes, "%s%02x", i ? " " : "", insn->bytes[i]);
	table_cell(&l->table, row, l->bytes)->text =
		xasprintf("%-*s", LISTING_BYTES_WIDTH, str_text(&bytes));
	str_fini(&bytes);
}

/* ---- the whole ------------------------------------------------------ */

/* Of lines and instructions: an index line is a sum of several. */
static uint64_t
highest(struct table *t, size_t column)
{
	uint64_t max = 0;

	for (size_t i = 0; i < t->rows_len; i++) {
		const struct row *row = &t->rows[i];
		const uint64_t value = table_cell(t, row, column)->value;

		if (value > max && !row->is_sum)
			max = value;
	}
	return max;
}

static void
mark_hot(struct listing *l)
{
	struct table *t = &l->table;

	for (size_t c = 1; c <= l->specs.len; c++) {
		const double least = (double)highest(t, c) * l->threshold / 100;

		for (size_t i = 0; i < t->rows_len; i++) {
			const uint64_t value =
				table_cell(t, &t->rows[i], c)->value;
			struct cell *mark = table_cell(t, &t->rows[i],
						       MARK_COLUMN);

			if (!value || (double)value < least)
				continue;
			mark->value = 1;
			t->rows[i].hot = true;
		}
	}
}

void
listing_write(struct listing *l, FILE *out)
{
	mark_hot(l);
	if (compare_takes_listing(l->v, l))
		return;
	table_write(&l->table, 0, out);
	putc('\n', out);
}

void
listing_fini(struct listing *l)
{
	table_fini(&l->table);
	specs_fini(&l->specs);
	vec_free_items(&l->names);
}

/* ---- what stands above ---------------------------------------------- */

static void
write_fact(const char *key, const char *value, const char *found, FILE *out)
{
	const bool elsewhere = found && *found && strcmp(found, value);
	char *text = str_tame(xasprintf("%s: %s%s%s%s", key, value,
					elsewhere ? " (found as " : "",
					elsewhere ? found : "",
					elsewhere ? ")" : ""));

	fprintf(out, "%s\n", text);
	free(text);
}

void
listing_header(const char *source, const char *found,
	       const struct profile_object *object, FILE *out)
{
	const char *read = object->symbols ? symfile_path(object->symbols) :
					     NULL;

	write_fact("Source file", source ? source : "(unknown)", found, out);
	/* debug information does not name it; gprofng says the same twice */
	write_fact("Object file", object->path, read, out);
	write_fact("Load Object", object->path, read, out);
	putc('\n', out);
}

void
listing_flags(struct listing *l, const struct profile_object *object,
	      size_t unit)
{
	const char *producer = object->symbols ?
		symfile_unit_producer(object->symbols, unit) : NULL;

	if (producer)
		listing_index(l, xasprintf("<Compiled by: %s>", producer),
			      NULL);
}

/* Say what is missing, and how to get it. */
void
source_trouble(struct viewer *v, const char *recorded,
	       const struct found_source *f)
{
	if (!f->path)
		viewer_note(v, xasprintf(
			"%s is not there (looked at %s): its text is not "
			"shown; say where it is: pathmap OLD NEW, or addpath "
			"DIR, or put it back", recorded,
			str_text(&f->looked)));
	else if (f->newer)
		viewer_note(v, xasprintf(
			"%s was changed after the recording began: text and "
			"cost may not belong to one line; build and record "
			"again, or addpath the directory of the old one",
			f->path));
}
