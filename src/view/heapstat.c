/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * The heap in numbers: when most of it was in use and by which stacks, and how
 * large blocks and leaks were.
 */
#include "calls.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

static void
add_column(struct table *t, const char *heading, const char *key)
{
	table_column(t, (struct column){ .heading = xstrdup(heading),
			 .key = key, .kind = CELL_COUNT, .show = SHOW_VALUE });
}

static void
name_column(struct table *t, const char *heading)
{
	table_column(t, (struct column){ .heading = xstrdup(heading),
			 .kind = CELL_NAME, .show = SHOW_VALUE });
}

/* ---- the highest peak ---------------------------------------------------- */

struct peak {
	const struct viewer *v;
	const struct traced_heap *heap;
};

static void
add_moment(struct peak *of, uint64_t ns, struct panel *p)
{
	char text[64];

	if (facts_wanted(of->v)) {
		fact_time(p, "Time of peak", ns, 0);
		return;
	}
	snprintf(text, sizeof text, "%.6f (sec.)", (double)ns / 1e9);
	panel_text(p, "Time of peak", text);
}

static void
make_peak(void *arg, size_t i, struct panel *p)
{
	struct peak *of = arg;
	const struct traced_process *process =
		&of->heap->processes[of->heap->highest];
	const struct experiment_reader *rd = profile_experiment(
		of->v->prof, of->heap->highest);

	(void)i;
	p->name = experiment_reader_path(rd);
	panel_count(p, "Heap size bytes", process->peak.bytes);
	panel_count(p, "Blocks", process->peak.count);
	panel_count(p, "Experiment Id", of->heap->highest + 1);
	panel_text(p, "Process Id", experiment_property(rd, "pid"));
	add_moment(of, process->peak_ns, p);
	panel_count(p, "Live bytes in the end", process->kept.bytes);
	panel_count(p, "Live blocks in the end", process->kept.count);
	panel_text(p, "These are", heap_end_words(process->end));
}

static void
write_peak(struct viewer *v, const struct traced_heap *heap, FILE *out)
{
	struct peak of = { .v = v, .heap = heap };

	if (!heap->allocated.count)
		return;
	panels_write(v, "Process with the highest peak of memory in use", 1,
		     make_peak, &of, out);
}

static void
write_live_set(struct viewer *v, const struct traced_heap *heap,
	       const char *notes, FILE *out)
{
	struct stack_list list = { .columns_len = 2, .always = 2,
				   .notes = notes };

	list.columns[0] = (struct column){ .heading = (char *)"Instances",
					   .key = "instances",
					   .kind = CELL_COUNT };
	list.columns[1] = (struct column){ .heading = (char *)"Bytes",
					   .key = "bytes",
					   .kind = CELL_COUNT };
	for (size_t i = 0; i < heap->len; i++) {
		const struct traced_blocks *b = &heap->blocks[i];

		if (b->at_peak.count)
			stack_list_add(&list, (struct stack_entry){
				"Live at Peak", b->stack,
				{ b->at_peak.count, b->at_peak.bytes } });
	}
	stack_list_sort(&list, 1, 0);

	char *title = xasprintf("Live at the peak: Distinct Stacks = %zu, "
				"Total Instances = %" PRIu64 ", Total Bytes = "
				"%" PRIu64, list.len,
				heap->processes[heap->highest].peak.count,
				heap->processes[heap->highest].peak.bytes);

	list.title = title;
	stack_list_write(v, &list, out);
	stack_list_fini(&list);
	free(title);
}

/* ---- sizes --------------------------------------------------------------- */

static void
write_totals(struct viewer *v, const struct traced_heap *heap, FILE *out)
{
	const struct traced_sizes *const sizes[] = { &heap->allocated,
						     &heap->kept };
	static const char *const names[] = { "Allocations", "Never freed" };
	struct table t = { .color = v->color, .v = v };

	add_column(&t, "Instances", "instances");
	add_column(&t, "Bytes", "bytes");
	add_column(&t, "Smallest", "smallest");
	add_column(&t, "Largest", "largest");
	name_column(&t, "Name");
	for (size_t i = 0; i < ARRAY_LEN(sizes); i++) {
		const struct row *row = table_row(&t, names[i]);

		table_cell(&t, row, 0)->value = sizes[i]->count;
		table_cell(&t, row, 1)->value = sizes[i]->bytes;
		table_cell(&t, row, 2)->value = sizes[i]->count ?
			sizes[i]->smallest : 0;
		table_cell(&t, row, 3)->value = sizes[i]->largest;
	}
	title_write(v, out, "All blocks");
	putc('\n', out);
	table_write(&t, 0, out);
	putc('\n', out);
	table_fini(&t);
}

static void
write_ranges(struct viewer *v, const struct traced_heap *heap, FILE *out)
{
	struct table t = { .color = v->color, .v = v };

	add_column(&t, "Allocations", "allocations");
	add_column(&t, "Never Freed", "never_freed");
	name_column(&t, "Size Range");
	for (size_t i = 0; i < TRACED_RANGES; i++) {
		if (!heap->allocated.ranges[i] && !heap->kept.ranges[i])
			continue;

		const struct row *row = table_row(&t, traced_range_names[i]);

		table_cell(&t, row, 0)->value = heap->allocated.ranges[i];
		table_cell(&t, row, 1)->value = heap->kept.ranges[i];
	}
	title_write(v, out, "Blocks by size");
	putc('\n', out);
	table_write(&t, 0, out);
	putc('\n', out);
	table_fini(&t);
}

int
view_heapstat(struct viewer *v, size_t n, const char *const *words, FILE *out)
{
	int rc;
	struct traced_heap *heap = heap_begin(v, n, words, out, &rc);
	struct str notes = {0};

	if (!heap)
		return rc;
	heap_notes(v, heap, &notes);
	write_peak(v, heap, out);
	write_totals(v, heap, out);
	write_ranges(v, heap, out);
	write_live_set(v, heap, str_text(&notes), out);
	str_fini(&notes);
	traced_heap_free(heap);
	return 0;
}
