/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Input and output in numbers: how many calls, how large, how long.
 */
#include "calls.h"

#include <stdlib.h>

static void
add_column(struct table *t, const char *heading, const char *key,
	   enum cell_kind kind)
{
	table_column(t, (struct column){ .heading = xstrdup(heading),
			 .key = key, .kind = kind, .show = SHOW_VALUE,
			 .precise = true });
}

static void
add_totals(struct table *t, const struct traced_files *files)
{
	static const char *const names[TRACED_IO] = {
		[TRACED_READ] = "Read", [TRACED_WRITE] = "Write",
		[TRACED_OTHER] = "Other", [TRACED_ERROR] = "Error",
	};

	for (size_t c = 0; c < TRACED_IO; c++) {
		const struct traced_calls *calls = &files->all[c];
		const struct row *row = table_row(t, names[c]);
		const bool sized = c < TRACED_OTHER && calls->count;

		table_cell(t, row, 0)->value = calls->count;
		table_cell(t, row, 1)->value = calls->bytes;
		table_cell(t, row, 2)->value = calls->ns;
		table_cell(t, row, 3)->value = calls->longest_ns;
		table_cell(t, row, 4)->value = sized ?
			files->sizes[c].smallest : 0;
		table_cell(t, row, 5)->value = sized ?
			files->sizes[c].largest : 0;
	}
}

static void
write_totals(struct viewer *v, const struct traced_files *files, FILE *out)
{
	struct table t = { .color = v->color, .v = v };

	add_column(&t, "Calls", "calls", CELL_COUNT);
	add_column(&t, "Bytes", "bytes", CELL_COUNT);
	add_column(&t, "Time", "time", CELL_TIME);
	add_column(&t, "Longest", "longest", CELL_TIME);
	add_column(&t, "Smallest", "smallest", CELL_COUNT);
	add_column(&t, "Largest", "largest", CELL_COUNT);
	add_column(&t, "Name", NULL, CELL_NAME);
	add_totals(&t, files);
	title_write(v, out, "Input and output");
	putc('\n', out);
	table_write(&t, 0, out);
	putc('\n', out);
	table_fini(&t);
}

static void
write_ranges(struct viewer *v, const struct traced_files *files, FILE *out)
{
	const uint64_t *reads = files->sizes[TRACED_READ].ranges;
	const uint64_t *writes = files->sizes[TRACED_WRITE].ranges;
	struct table t = { .color = v->color, .v = v };

	add_column(&t, "Read Calls", "read_calls", CELL_COUNT);
	add_column(&t, "Write Calls", "write_calls", CELL_COUNT);
	add_column(&t, "Size Range", NULL, CELL_NAME);
	for (size_t i = 0; i < TRACED_RANGES; i++) {
		if (!reads[i] && !writes[i])
			continue;

		const struct row *row = table_row(&t, traced_range_names[i]);

		table_cell(&t, row, 0)->value = reads[i];
		table_cell(&t, row, 1)->value = writes[i];
	}
	title_write(v, out, "Reads and writes by size");
	putc('\n', out);
	table_write(&t, 0, out);
	putc('\n', out);
	table_fini(&t);
}

int
view_iostat(struct viewer *v, size_t n, const char *const *words, FILE *out)
{
	int rc;
	struct traced_files *files = io_begin(v, n, words, out, &rc);
	struct str notes = {0};

	if (!files)
		return rc;
	write_totals(v, files, out);
	write_ranges(v, files, out);
	nothing_traced_add(v, METRIC_IO, &notes);
	calls_lost_add(v, "more was read and written than is shown", &notes);
	calls_unseen_add(v, METRIC_IO, &notes);
	calls_untraced_add_all(v, &notes);
	notes_write(v, str_text(&notes), out);
	str_fini(&notes);
	traced_files_free(files);
	return 0;
}
