/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Annotated source and instructions of all groups in one listing. Its rows are
 * those of the first group that has one. A line is the same where number and
 * text are, or the text alone if it is there once; an instruction where its
 * address and text are. What only others have stands below, so that no cost
 * is lost.
 */
#include "compare.h"

#include <stdlib.h>
#include <string.h>

enum { MARK_COLUMN, NOWHERE = -1 };

struct merging {
	struct viewer *v;
	const struct comparison *c;
	const struct listing *base;
	struct table table;
	size_t values;		/* columns of values, behind the mark */
	struct vec names;	/* of rows that are no listing's */
};

bool
compare_takes_listing(struct viewer *v, struct listing *l)
{
	struct comparison *c = v->comparison;

	if (!c || !c->listings)
		return false;
	c->listings[c->now] = *l;
	*l = (struct listing){0};
	return true;
}

/* ---- which rows are the same ---------------------------------------- */

static uint64_t
key_of(const struct listing *l, const struct row *row, bool with_place)
{
	const struct cell *line = &l->table.cells[row->cells + l->line];
	const struct cell *address = l->address < l->bytes ?
		&l->table.cells[row->cells + l->address] : NULL;
	uint64_t key = hash_bytes(row->name, strlen(row->name),
				  row->is_sum);

	/* an instruction is nothing without its address */
	if (address && address->text)
		return hash_bytes(address->text, strlen(address->text), key);
	if (with_place)
		key = hash_bytes(&line->value, sizeof line->value, key);
	return key;
}

/* Rows by key; those of a key that has several are not there. */
static void
index_rows(const struct listing *l, bool with_place, struct map *at)
{
	for (size_t i = 0; i < l->table.rows_len; i++) {
		uint64_t *slot = map_slot_of(at, key_of(l, &l->table.rows[i],
							with_place));

		*slot = *slot ? UINT64_MAX : i + 1;
	}
}

static long
lookup(struct map *at, uint64_t key)
{
	uint64_t row;

	return map_get(at, key, &row) && row != UINT64_MAX ? (long)row - 1 :
		NOWHERE;
}

/* Row by row the same: of one build and one source. */
static bool
is_same(const struct listing *a, const struct listing *b)
{
	if (a->table.rows_len != b->table.rows_len)
		return false;
	for (size_t i = 0; i < a->table.rows_len; i++)
		if (key_of(a, &a->table.rows[i], true) !=
		    key_of(b, &b->table.rows[i], true))
			return false;
	return true;
}

/* For each row of l its row in base, or NOWHERE. The caller frees it. */
static long *
match_rows(const struct listing *base, const struct listing *l)
{
	struct map exact = {0}, texts = {0}, own = {0};
	long *to = xcalloc(l->table.rows_len + 1, sizeof *to);

	if (is_same(base, l)) {
		for (size_t i = 0; i < l->table.rows_len; i++)
			to[i] = (long)i;
		return to;
	}
	index_rows(base, true, &exact);
	index_rows(base, false, &texts);
	index_rows(l, false, &own);
	for (size_t i = 0; i < l->table.rows_len; i++) {
		const struct row *row = &l->table.rows[i];

		to[i] = lookup(&exact, key_of(l, row, true));
		if (to[i] == NOWHERE &&
		    lookup(&own, key_of(l, row, false)) != NOWHERE)
			to[i] = lookup(&texts, key_of(l, row, false));
	}
	map_fini(&exact);
	map_fini(&texts);
	map_fini(&own);
	return to;
}

/* ---- the table ------------------------------------------------------ */

/* The column of a listing that shows what column c of the base shows. */
static long
column_in(const struct merging *m, const struct listing *l, size_t c)
{
	const struct column *want = &m->base->table.columns[c];

	for (size_t i = 1; i < l->line; i++) {
		const struct column *col = &l->table.columns[i];

		if (col->flavor == want->flavor &&
		    !strcmp(col->metric->name, want->metric->name))
			return (long)i;
	}
	return NOWHERE;
}

static void
copy_column(struct merging *m, size_t c)
{
	struct column col = m->base->table.columns[c];

	col.heading = xstrdup(col.heading);
	table_column(&m->table, col);
}

static void
add_columns(struct merging *m)
{
	copy_column(m, MARK_COLUMN);
	for (size_t c = 1; c < m->base->line; c++)
		for (size_t g = 0; g < m->c->len; g++) {
			const struct listing *l = &m->c->listings[g];
			const long in = l->table.columns_len ?
				column_in(m, l, c) : NOWHERE;
			struct column *col;

			copy_column(m, c);
			col = &m->table.columns[m->table.columns_len - 1];
			col->group = m->c->groups[g].name;
			col->relation = compare_relation(m->v, g);
			col->whole = in < 0 ? 0 : l->table.columns[in].whole;
		}
	m->values = m->table.columns_len - 1;
	for (size_t c = m->base->line; c < m->base->table.columns_len; c++)
		copy_column(m, c);
}

/* A row as it is in a listing, without values. */
static struct row *
copy_row(struct merging *m, const struct listing *l, const struct row *from)
{
	struct row *row = table_row(&m->table, from->name);
	const size_t cells = row->cells;

	*row = *from;
	row->cells = cells;
	for (size_t c = l->line; c < l->table.columns_len; c++) {
		const struct cell *cell = &l->table.cells[from->cells + c];
		struct cell *to = table_cell(&m->table, row,
					     m->values + 1 + c - l->line);

		to->value = cell->value;
		to->text = cell->text ? xstrdup(cell->text) : NULL;
	}
	return row;
}

static void
set_values(struct merging *m, struct row *row, size_t g,
	   const struct row *from)
{
	const struct listing *l = &m->c->listings[g];
	struct cell *mark = table_cell(&m->table, row, MARK_COLUMN);

	row->blank &= from->blank;
	row->hot |= from->hot;
	if (from->hot && !mark->text)
		mark->text = xstrdup("##");
	for (size_t c = 1; c < m->base->line; c++) {
		const long in = column_in(m, l, c);
		const size_t first = 1 + (c - 1) * m->c->len;

		if (in < 0)
			continue;

		const uint64_t value = l->table.cells[from->cells +
						      (size_t)in].value;

		table_cell(&m->table, row, first + g)->value = value;
		for (size_t k = 0; g == 0 && k < m->c->len; k++)
			table_cell(&m->table, row, first + k)->base = value;
	}
}

static void
add_heading(struct merging *m, size_t g)
{
	char *name = xasprintf("<only in %s>", m->c->groups[g].name);

	vec_push(&m->names, name);
	table_row(&m->table, name)->kind = ROW_NAME;
}

static void
add_others(struct merging *m, size_t g, const long *to)
{
	const struct listing *l = &m->c->listings[g];
	bool told = false;

	for (size_t i = 0; i < l->table.rows_len; i++) {
		const struct row *from = &l->table.rows[i];
		bool costs = false;

		if (to[i] != NOWHERE || from->blank)
			continue;
		for (size_t c = 1; c < l->line; c++)
			costs |= l->table.cells[from->cells + c].value > 0;
		if (!costs)
			continue;
		if (!told)
			add_heading(m, g);
		told = true;
		set_values(m, copy_row(m, l, from), g, from);
	}
}

static void
add_rows(struct merging *m)
{
	const struct table *base = &m->base->table;

	for (size_t i = 0; i < base->rows_len; i++)
		copy_row(m, m->base, &base->rows[i]);
	for (size_t g = 0; g < m->c->len; g++) {
		const struct listing *l = &m->c->listings[g];

		if (!l->table.columns_len)
			continue;

		long *to = match_rows(m->base, l);

		for (size_t i = 0; i < l->table.rows_len; i++)
			if (to[i] != NOWHERE)
				set_values(m, &m->table.rows[to[i]], g,
					   &l->table.rows[i]);
		add_others(m, g, to);
		free(to);
	}
}

void
compared_listing_write(struct viewer *v, FILE *out)
{
	struct merging m = { .v = v, .c = v->comparison };

	for (size_t g = 0; g < m.c->len && !m.base; g++)
		if (m.c->listings[g].table.columns_len)
			m.base = &m.c->listings[g];
	if (!m.base)
		return;		/* the view has said why */
	m.table.color = v->color;
	m.table.v = v;
	add_columns(&m);
	add_rows(&m);
	table_write(&m.table, 0, out);
	putc('\n', out);
	table_fini(&m.table);
	vec_free_items(&m.names);
}
