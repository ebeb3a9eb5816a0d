/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Cells and headings as words, the same in every format.
 */
#include "report.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

/* Seconds with three decimals; an exact zero is "0.", so that what is small
 * differs from what is not there. */
int
cell_value(char *buf, size_t size, const struct column *col,
	   const struct cell *cell)
{
	switch (col->kind) {
	case CELL_TIME:
		if (!cell->value)
			return snprintf(buf, size, "0.");
		return snprintf(buf, size, "%.3f", (double)cell->value / 1e9);
	case CELL_COUNT:
		return snprintf(buf, size, "%" PRIu64, cell->value);
	case CELL_LINE:
	case CELL_TEXT:
	case CELL_NAME:
		break;
	}
	return snprintf(buf, size, "%s", cell->text ? cell->text : "");
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
