/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * The heap by stacks: leaks, allocs and heap. What nobody had freed when the
 * program ended has leaked; where the recording ended before, it but lived.
 */
#include "calls.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

static const struct {
	const char *what, *plural, *bytes, *when, *none;
} ends[TRACED_ENDS] = {
	[TRACED_EXITED] = { "Leak", "Leaks", "Bytes Leaked",
		"leaked at exit: nobody had freed them when the program "
		"ended",
		"nothing leaked: every block that was traced had been freed "
		"when the program ended" },
	[TRACED_DETACHED] = { "Live", "Live Stacks", "Bytes Live",
		"live at detach: the program went on, and may have freed them "
		"since",
		"nothing was live at detach" },
	[TRACED_RECORDING] = { "Live", "Live Stacks", "Bytes Live",
		"live so far: it is still being recorded",
		"nothing is live so far" },
	[TRACED_CUT] = { "Live", "Live Stacks", "Bytes Live",
		"live when the recording was cut off: how the program ended "
		"is not known",
		"nothing was live when the recording was cut off" },
};

static const struct column count_column = {
	.heading = (char *)"Instances", .key = "instances",
	.kind = CELL_COUNT,
};

static struct column
count_of(const char *heading, const char *key)
{
	return (struct column){ .heading = (char *)heading, .key = key,
				.kind = CELL_COUNT };
}

/* ---- what is said beside it ---------------------------------------------- */

void
heap_notes(struct viewer *v, const struct traced_heap *heap,
	   struct str *notes)
{
	nothing_traced_add(v, METRIC_HEAP, notes);
	calls_lost_add(v, "what is shown as never freed may have been freed, "
		       "and some is not shown", notes);
	calls_unseen_add(v, METRIC_HEAP, notes);
	calls_hidden_heap_add(v, notes);
	for (size_t e = 0; e < heap->processes_len; e++) {
		const struct traced_process *p = &heap->processes[e];
		const char *path = experiment_reader_shown(
			profile_experiment(v->prof, e));

		if (p->older)
			str_addf(notes, "%" PRIu64 " frees of blocks older "
				 "than the recording of %s, or given by what "
				 "is not traced.\n", p->older, path);
		if (p->reused)
			str_addf(notes, "NOT RELIABLE: %" PRIu64 " blocks of "
				 "%s were given out again though no free of "
				 "them was recorded (taken as freed): others "
				 "that are shown as never freed may have been "
				 "freed as they were.\n", p->reused, path);
	}
}

static struct traced_amount
kept_by(const struct traced_heap *heap, enum traced_end end, size_t *stacks)
{
	struct traced_amount sum = {0};

	*stacks = 0;
	for (size_t i = 0; i < heap->len; i++) {
		const struct traced_blocks *b = &heap->blocks[i];

		if (b->end != end || !b->kept.count)
			continue;
		++*stacks;
		sum.count += b->kept.count;
		sum.bytes += b->kept.bytes;
	}
	return sum;
}

/* The ends that some experiment has. */
static unsigned
ends_of(const struct traced_heap *heap)
{
	unsigned seen = 0;

	for (size_t e = 0; e < heap->processes_len; e++)
		if (heap->processes[e].recorded)
			seen |= 1u << heap->processes[e].end;
	return seen;
}

/* Of several ends neither word is true of all. */
static struct column
kept_count_column(const struct traced_heap *heap)
{
	if (ends_of(heap) == 1u << TRACED_EXITED)
		return count_of("Leaks", "leaks");
	return ends_of(heap) >> TRACED_EXITED & 1 ?
		count_of("Never Freed", "never_freed") :
		count_of("Live", "live");
}

static struct column
kept_bytes_column(const struct traced_heap *heap)
{
	if (ends_of(heap) == 1u << TRACED_EXITED)
		return count_of("Bytes Leaked", "bytes_leaked");
	return ends_of(heap) >> TRACED_EXITED & 1 ?
		count_of("Bytes Never Freed", "bytes_never_freed") :
		count_of("Bytes Live", "bytes_live");
}

static char *
summary_of(const struct traced_heap *heap)
{
	struct str text = {0};

	for (unsigned end = 0; end < TRACED_ENDS; end++) {
		size_t stacks;
		const struct traced_amount sum = kept_by(heap, end, &stacks);

		if (ends_of(heap) >> end & 1)
			str_addf(&text, "%sSummary Results: Distinct %s = %zu, "
				 "Total Instances = %" PRIu64 ", Total %s = %"
				 PRIu64 "\n  (%s)", text.len ? "\n" : "",
				 ends[end].plural, stacks, sum.count,
				 ends[end].bytes, sum.bytes, sum.count ?
				 ends[end].when : ends[end].none);
	}
	return str_take(&text);
}

/* ---- views --------------------------------------------------------------- */

struct traced_heap *
heap_begin(struct viewer *v, size_t n, const char *const *words, FILE *out,
	   int *rc)
{
	*rc = -1;
	if (words_check(n, words, 1) < 0 || viewer_check(v) < 0)
		return NULL;
	*rc = 0;
	return nothing_traced(v, METRIC_HEAP, out) ? NULL :
						     traced_heap(v->prof);
}

/* Takes the notes. */
static void
finish(struct viewer *v, struct traced_heap *heap, struct stack_list *list,
       struct str *notes, FILE *out)
{
	heap_notes(v, heap, notes);
	list->notes = str_text(notes);
	stack_list_write(v, list, out);
	str_fini(notes);
	stack_list_fini(list);
	traced_heap_free(heap);
}

/* Buffers of stdio are libc's, which keeps them for ever: the program can do
 * nothing about them. They are shown, under their name. */
static void
add_kept(struct viewer *v, const struct traced_heap *heap,
	 struct stack_list *list, struct str *notes)
{
	struct traced_amount stdio = {0};

	for (size_t i = 0; i < heap->len; i++) {
		const struct traced_blocks *b = &heap->blocks[i];
		const bool is_stdio = b->kept.count &&
			stack_is_stdio(v, b->stack);

		if (!b->kept.count)
			continue;
		stack_list_add(list, (struct stack_entry){
			is_stdio ? "Stdio Buffer" : ends[b->end].what,
			b->stack, { b->kept.count, b->kept.bytes } });
		if (!is_stdio)
			continue;
		stdio.count += b->kept.count;
		stdio.bytes += b->kept.bytes;
	}
	if (stdio.count)
		str_addf(notes, "%" PRIu64 " instances of these, %" PRIu64
			 " bytes, are buffers of stdio, which libc keeps: no "
			 "leaks of the program.\n", stdio.count, stdio.bytes);
}

int
view_leaks(struct viewer *v, size_t n, const char *const *words, FILE *out)
{
	struct stack_list list = { .columns_len = 2, .always = 2 };
	struct str notes = {0};
	int rc;
	struct traced_heap *heap = heap_begin(v, n, words, out, &rc);

	if (!heap)
		return rc;

	char *title = summary_of(heap);

	list.title = title;
	list.columns[0] = count_column;
	list.columns[1] = kept_bytes_column(heap);
	add_kept(v, heap, &list, &notes);
	stack_list_sort(&list, 1, 0);
	finish(v, heap, &list, &notes, out);
	free(title);
	return 0;
}

/* Whatever became of them. */
static void
add_once(struct stack_list *list, struct map *rows, const char *what,
	 const struct traced_blocks *b)
{
	uint64_t *at = map_slot_of(rows, b->stack);

	if (!*at) {
		stack_list_add(list, (struct stack_entry){ what, b->stack,
							   {0} });
		*at = list->len;
	}

	uint64_t *values = list->items[*at - 1].values;

	values[0] += b->allocated.count;
	values[1] += b->allocated.bytes;
	values[2] += b->kept.count;
	values[3] += b->kept.bytes;
}

static void
add_all(struct stack_list *list, const char *what,
	const struct traced_heap *heap)
{
	struct map rows = {0};

	for (size_t i = 0; i < heap->len; i++)
		add_once(list, &rows, what, &heap->blocks[i]);
	map_fini(&rows);
}

int
view_allocs(struct viewer *v, size_t n, const char *const *words, FILE *out)
{
	struct stack_list list = { .columns_len = 2, .always = 2 };
	struct str notes = {0};
	int rc;
	struct traced_heap *heap = heap_begin(v, n, words, out, &rc);

	if (!heap)
		return rc;
	list.columns[0] = count_column;
	list.columns[1] = count_of("Bytes Allocated", "bytes_allocated");
	add_all(&list, "Allocation", heap);
	stack_list_sort(&list, 1, 0);

	char *title = xasprintf("Summary Results: Distinct Allocations = %zu, "
				"Total Instances = %" PRIu64 ", Total Bytes "
				"Allocated = %" PRIu64, list.len,
				heap->allocated.count, heap->allocated.bytes);

	list.title = title;
	finish(v, heap, &list, &notes, out);
	free(title);
	return 0;
}

int
view_heap(struct viewer *v, size_t n, const char *const *words, FILE *out)
{
	struct stack_list list = { .columns_len = 4, .always = 2 };
	struct str notes = {0};
	int rc;
	struct traced_heap *heap = heap_begin(v, n, words, out, &rc);

	if (!heap)
		return rc;

	char *kept = summary_of(heap);

	list.columns[0] = count_of("Allocations", "allocations");
	list.columns[1] = count_of("Bytes Allocated", "bytes_allocated");
	list.columns[2] = kept_count_column(heap);
	list.columns[3] = kept_bytes_column(heap);
	add_all(&list, "Stack", heap);
	stack_list_sort(&list, 1, 3);

	char *title = xasprintf("Summary Results: Distinct Stacks = %zu, Total "
				"Allocations = %" PRIu64 ", Total Bytes "
				"Allocated = %" PRIu64 "\n%s", list.len,
				heap->allocated.count, heap->allocated.bytes,
				kept);

	list.title = title;
	finish(v, heap, &list, &notes, out);
	free(title);
	free(kept);
	return 0;
}

const char *
heap_end_words(enum traced_end end)
{
	return ends[end].when;
}
