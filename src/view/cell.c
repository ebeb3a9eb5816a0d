/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Cells and headings as words, the same in every format.
 */
#include "report.h"

#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

/* By how much it differs from its base, or how many times that it is. */
static int
cell_relation(char *buf, size_t size, const struct column *col,
	      const struct cell *cell)
{
	const double value = (double)cell->value, base = (double)cell->base;
	const double ratio = base > 0 ? value / base : value > 0 ? HUGE_VAL : 1;

	if (col->relation == RATIO && ratio > 99.999)
		return snprintf(buf, size, "x >99.999");
	if (col->relation == RATIO)
		return ratio > 0 ? snprintf(buf, size, "x %7.3f", ratio) :
			snprintf(buf, size, "x   0.");
	if (col->kind == CELL_COUNT)
		return snprintf(buf, size, "%+" PRId64,
				(int64_t)(cell->value - cell->base));
	if (cell->value == cell->base)
		return snprintf(buf, size, "+0.");
	return snprintf(buf, size, "%+.3f", value / 1e9 - base / 1e9);
}

/* Seconds with three decimals, or six; an exact zero is "0.", so that what is small
 * differs from what is not there. */
int
cell_value(char *buf, size_t size, const struct column *col,
	   const struct cell *cell)
{
	if (col->relation != AS_IT_IS)
		return cell_relation(buf, size, col, cell);
	switch (col->kind) {
	case CELL_TIME:
		if (!cell->value)
			return snprintf(buf, size, "0.");
		return snprintf(buf, size, "%.*f", col->precise ? 6 : 3,
				(double)cell->value / 1e9);
	case CELL_COUNT:
		return snprintf(buf, size, "%" PRIu64, cell->value);
	case CELL_MARK:
		return snprintf(buf, size, "%s", cell->value ? "##" : "");
	case CELL_LINE:
		if (!cell->value)
			return snprintf(buf, size, "%s", "");
		return snprintf(buf, size, "%" PRIu64, cell->value);
	case CELL_TEXT:
	case CELL_NAME:
		break;
	}
	return snprintf(buf, size, "%s", cell->text ? cell->text : "");
}

bool
cell_empty(const struct column *col, const struct row *row,
	   const struct cell *cell)
{
	if (col->kind == CELL_NAME)
		return false;
	if (row->kind != ROW_VALUES)
		return true;
	if (col->kind == CELL_LINE)
		return !cell->value;
	return row->blank && (col->kind == CELL_TIME ||
			      col->kind == CELL_COUNT);
}

double
cell_share(const struct column *col, const struct row *row,
	   const struct cell *cell)
{
	if (!cell->value || !col->whole || row->no_percent)
		return 0;
	return 100.0 * (double)cell->value / (double)col->whole;
}

int
cell_percent(char *buf, size_t size, const struct column *col,
	     const struct row *row, const struct cell *cell)
{
	if (!cell->value || !col->whole || row->no_percent)
		return snprintf(buf, size, "0.");
	return snprintf(buf, size, "%.2f", cell_share(col, row, cell));
}

void
column_words(const struct column *col, char *words[2])
{
	static const char *const flavors[] = {
		[EXCLUSIVE] = "Exclusive", [INCLUSIVE] = "Inclusive",
		[ATTRIBUTED] = "Attributed",
	};

	if (col->metric) {
		words[0] = xstrdup(flavors[col->flavor]);
		words[1] = xstrdup(col->metric->title);
		return;
	}

	const char *blank = strchr(col->heading, ' ');
	const size_t first = blank ? (size_t)(blank - col->heading) :
				     strlen(col->heading);

	words[0] = xstrndup(col->heading, first);
	words[1] = xstrdup(blank ? blank + 1 : "");
}

const char *
column_unit(const struct column *col)
{
	if (col->relation != AS_IT_IS)
		return col->relation == DELTA ? "delta" : "ratio";
	if (col->kind == CELL_TIME)
		return "(sec.)";
	return col->kind == CELL_COUNT && !strcmp(col->heading, "Size") ?
		"(bytes)" : "";
}

char *
row_name(const struct table *t, const struct row *row)
{
	char *text = NULL;
	size_t size;
	FILE *out;

	if (!t->print_prefix)
		return row->mark == ' ' ? xstrdup(row->name) :
			xasprintf("%c%s", row->mark, row->name);
	if (!(out = open_memstream(&text, &size)))
		die("a name");
	t->print_prefix(t->arg, row, out);
	fputs(row->name, out);
	fclose(out);
	return text;
}
