/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Input and output by file, by open file and by stack.
 */
#include "calls.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

/* What each class of calls adds to; NULL: there is no such metric. */
static const struct {
	const char *time, *bytes, *count;
} metrics[TRACED_IO] = {
	[TRACED_READ] = { "ioreadtime", "ioreadbytes", "ioreadcnt" },
	[TRACED_WRITE] = { "iowritetime", "iowritebytes", "iowritecnt" },
	[TRACED_OTHER] = { "ioothertime", NULL, "ioothercnt" },
	[TRACED_ERROR] = { "ioerrortime", NULL, "ioerrorcnt" },
};

struct traced_files *
io_begin(struct viewer *v, size_t n, const char *const *words, FILE *out,
	 int *rc)
{
	*rc = -1;
	if (words_check(n, words, 1) < 0 || viewer_check(v) < 0)
		return NULL;
	*rc = 0;
	return nothing_traced(v, METRIC_IO, out) ? NULL :
						   traced_files(v->prof);
}

static void
write_lost(struct viewer *v, FILE *out)
{
	struct str notes = {0};

	nothing_traced_add(v, METRIC_IO, &notes);
	calls_lost_add(v, "more was read and written than is shown, and "
		       "descriptors may have been closed and opened unseen",
		       &notes);
	calls_unseen_add(v, METRIC_IO, &notes);
	notes_write(v, str_text(&notes), out);
	str_fini(&notes);
}

/* ---- columns ------------------------------------------------------------- */

static bool
is_io(const struct viewer *v, int metric)
{
	return metric >= 0 && viewer_slot(v, metric) >= 0 &&
	       profile_metric(v->prof, metric)->packet_kind == METRIC_IO;
}

static void
add_metric(struct viewer *v, struct specs *specs, const char *name,
	   uint64_t total)
{
	const int metric = name ? spec_metric(v, name) : -1;

	/* programs want the same columns always */
	if (is_io(v, metric) && (total || v->report))
		specs_add(specs, (struct spec){ EXCLUSIVE, metric,
						SHOW_VALUE });
}

static void
add_all(struct viewer *v, struct specs *specs,
	const struct traced_files *files)
{
	for (size_t i = 0; i < TRACED_IO; i++) {
		const uint64_t count = files->all[i].count;

		add_metric(v, specs, metrics[i].time, count);
		add_metric(v, specs, metrics[i].bytes, count);
		add_metric(v, specs, metrics[i].count, count);
	}
}

/* Those of input and output that the user chose, or all. */
static struct specs
columns_for(struct viewer *v, const struct traced_files *files)
{
	struct specs specs = {0};

	for (size_t i = 0; i < v->columns.len && !v->default_columns; i++) {
		const struct spec *spec = &v->columns.items[i];

		if (is_io(v, spec->metric) && spec->show)
			specs_add(&specs, (struct spec){
				EXCLUSIVE, spec->metric, spec->show });
	}
	if (!specs.len)
		add_all(v, &specs, files);
	specs_add_name(&specs);
	return specs;
}

/* By what the user sorts by, or by what took longest. */
static struct sort
sort_for(struct viewer *v, const struct specs *specs,
	 const struct traced_files *files)
{
	struct sort sort = { EXCLUSIVE, specs->items[0].metric, false };
	uint64_t most = 0;

	for (size_t i = 0; i < specs->len; i++)
		if (specs->items[i].metric == v->sort.metric &&
		    v->sort.metric >= 0 && !v->default_columns)
			return (struct sort){ EXCLUSIVE, v->sort.metric,
					      v->sort.reverse };
	for (size_t c = 0; c < TRACED_IO; c++)
		for (size_t i = 0; i < specs->len; i++)
			if (specs->items[i].metric ==
			    spec_metric(v, metrics[c].time) &&
			    files->all[c].ns > most) {
				most = files->all[c].ns;
				sort.metric = specs->items[i].metric;
			}
	return sort;
}

/* ---- tables of files ----------------------------------------------------- */

static void
set_value(struct viewer *v, uint64_t *slots, const char *name, uint64_t value)
{
	const int slot = name ? viewer_slot(v, spec_metric(v, name)) : -1;

	if (slot >= 0)
		slots[slot] = value;
}

static void
fill(struct viewer *v, uint64_t *slots, const struct traced_row *row)
{
	for (size_t c = 0; c < TRACED_IO; c++) {
		const struct traced_calls *calls = &row->calls[c];

		set_value(v, slots, metrics[c].time, calls->ns);
		set_value(v, slots, metrics[c].bytes, calls->bytes);
		set_value(v, slots, metrics[c].count, calls->count);
	}
}

static char *
name_of(const struct traced_row *row)
{
	return row->descriptor < 0 ? xstrdup(row->name) :
		xasprintf("%s (IOVFD=%" PRIu32 ", FD=%d)", row->name,
			  row->number, row->descriptor);
}

static const struct {
	enum traced_io of;
	const char *heading, *key;
	enum cell_kind kind;
	size_t offset;
} stack_columns[] = {
#define COLUMN(of, heading, key, kind, member) \
	{ of, heading, key, kind, offsetof(struct traced_calls, member) }
	COLUMN(TRACED_READ, "Read Time", "read_time", CELL_TIME, ns),
	COLUMN(TRACED_READ, "Read Bytes", "read_bytes", CELL_COUNT, bytes),
	COLUMN(TRACED_READ, "Read Count", "read_count", CELL_COUNT, count),
	COLUMN(TRACED_WRITE, "Write Time", "write_time", CELL_TIME, ns),
	COLUMN(TRACED_WRITE, "Write Bytes", "write_bytes", CELL_COUNT, bytes),
	COLUMN(TRACED_WRITE, "Write Count", "write_count", CELL_COUNT, count),
	COLUMN(TRACED_OTHER, "Other I/O Time", "other_time", CELL_TIME, ns),
	COLUMN(TRACED_OTHER, "Other I/O Count", "other_count", CELL_COUNT,
	       count),
	COLUMN(TRACED_ERROR, "I/O Error Time", "error_time", CELL_TIME, ns),
	COLUMN(TRACED_ERROR, "I/O Error Count", "error_count", CELL_COUNT,
	       count),
#undef COLUMN
};

/* The headings of a table of files, whose metrics the profile has not. */
static void
write_no_rows(struct viewer *v, FILE *out)
{
	struct table t = { .v = v };

	for (size_t c = 0; c < ARRAY_LEN(stack_columns); c++)
		table_column(&t, (struct column){
			.heading = xstrdup(stack_columns[c].heading),
			.key = stack_columns[c].key,
			.kind = stack_columns[c].kind, .show = SHOW_VALUE });
	table_column(&t, (struct column){ .heading = xstrdup("Name"),
					  .kind = CELL_NAME,
					  .show = SHOW_VALUE });
	table_write(&t, 0, out);
	table_fini(&t);
	write_lost(v, out);
}

static void
write_rows(struct viewer *v, const char *what,
	   const struct traced_files *files, const struct traced_rows *rows,
	   FILE *out)
{
	if (!rows->len && viewer_is_delimited(v)) {
		write_no_rows(v, out);
		return;
	}

	struct specs specs = columns_for(v, files);
	const struct sort sort = sort_for(v, &specs, files);
	struct item *items = xcalloc(rows->len + 1, sizeof *items);
	uint64_t *slots = xcalloc(rows->len * v->slots + 1, sizeof *slots);

	for (size_t i = 0; i < rows->len; i++) {
		fill(v, &slots[i * v->slots], &rows->items[i]);
		items[i] = (struct item){
			.name = name_of(&rows->items[i]),
			.cost = { &slots[i * v->slots], &slots[i * v->slots] },
			.order = rows->items[i].number,
		};
	}
	list_write_specs(v, what, &specs, &sort, items, rows->len, out);
	write_lost(v, out);
	specs_fini(&specs);
	free(items);
	free(slots);
}

int
view_ioactivity(struct viewer *v, size_t n, const char *const *words,
		FILE *out)
{
	int rc;
	struct traced_files *files = io_begin(v, n, words, out, &rc);

	if (!files)
		return rc;
	write_rows(v, "Files", files, &files->files, out);
	traced_files_free(files);
	return 0;
}

int
view_iodetail(struct viewer *v, size_t n, const char *const *words, FILE *out)
{
	int rc;
	struct traced_files *files = io_begin(v, n, words, out, &rc);

	if (!files)
		return rc;
	write_rows(v, "Open files", files, &files->opens, out);
	traced_files_free(files);
	return 0;
}

/* ---- stacks -------------------------------------------------------------- */

_Static_assert(ARRAY_LEN(stack_columns) <= STACK_VALUES,
	       "an entry has room for all columns");

static void
add_stacks(struct stack_list *list, const struct traced_rows *rows)
{
	for (size_t i = 0; i < rows->len; i++) {
		const struct traced_row *row = &rows->items[i];
		struct stack_entry e = { .what = "Stack",
					 .stack = row->stack };

		for (size_t c = 0; c < ARRAY_LEN(stack_columns); c++)
			memcpy(&e.values[c], (const char *)
			       &row->calls[stack_columns[c].of] +
			       stack_columns[c].offset, sizeof e.values[c]);
		stack_list_add(list, e);
	}
}

/* The class that took longest; then by its calls. */
static void
sort_stacks(struct stack_list *list, const struct traced_files *files)
{
	size_t time = 0, best = 0, count = 0;

	for (size_t c = 0; c < ARRAY_LEN(stack_columns); c++)
		if (stack_columns[c].kind == CELL_TIME &&
		    files->all[stack_columns[c].of].ns >=
		    files->all[stack_columns[best].of].ns)
			time = best = c;
	for (size_t c = 0; c < ARRAY_LEN(stack_columns); c++)
		if (stack_columns[c].of == stack_columns[time].of)
			count = c;
	stack_list_sort(list, time, count);
}

int
view_iocallstack(struct viewer *v, size_t n, const char *const *words,
		 FILE *out)
{
	struct stack_list list = { .columns_len = ARRAY_LEN(stack_columns) };
	struct str notes = {0};
	int rc;
	struct traced_files *files = io_begin(v, n, words, out, &rc);

	if (!files)
		return rc;
	for (size_t c = 0; c < ARRAY_LEN(stack_columns); c++)
		list.columns[c] = (struct column){
			.heading = (char *)stack_columns[c].heading,
			.key = stack_columns[c].key,
			.kind = stack_columns[c].kind, .precise = true };
	add_stacks(&list, &files->stacks);
	sort_stacks(&list, files);
	nothing_traced_add(v, METRIC_IO, &notes);
	calls_lost_add(v, "more was read and written than is shown", &notes);
	calls_unseen_add(v, METRIC_IO, &notes);

	char *title = xasprintf("Summary Results: Distinct Stacks = %zu, Read "
				"Bytes = %" PRIu64 ", Write Bytes = %" PRIu64,
				list.len, files->all[TRACED_READ].bytes,
				files->all[TRACED_WRITE].bytes);

	list.title = title;
	list.notes = str_text(&notes);
	stack_list_write(v, &list, out);
	stack_list_fini(&list);
	str_fini(&notes);
	traced_files_free(files);
	free(title);
	return 0;
}
