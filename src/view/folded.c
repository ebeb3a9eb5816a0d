/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Stacks for flame graphs: `root;...;leaf microseconds`, one line per distinct
 * stack, of the metric that tables are sorted by (bytes and counts as such).
 * Functions of the kernel end in _[k], as the tools that draw such stacks
 * expect.
 */
#include "stacks.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

struct line {
	char *text;
	uint64_t weight;
};

struct folding {
	struct viewer *v;
	int slot;
	struct line *lines;
	size_t len, cap;
	struct map known;	/* hash of text -> line + 1 */
};

static void
add_frame(struct folding *f, struct str *text, uint32_t function)
{
	const struct profile_function *fn = profile_function(f->v->prof,
							     function);
	char *shown = str_tamed(viewer_name(f->v, function));
	const char *name = shown;

	str_add(text, text->len ? ";" : "");
	/* a semicolon separates frames */
	for (size_t n; *name; name += n + (name[n] == ';')) {
		n = strcspn(name, ";");
		str_addn(text, name, n);
		str_add(text, name[n] ? ":" : "");
	}
	str_add(text, fn->object->is_kernel ? "_[k]" : "");
	free(shown);
}

/* Takes text. Different instructions of the same functions are one line. */
static void
add_line(struct folding *f, char *text, uint64_t weight)
{
	uint64_t key = hash_bytes(text, strlen(text), 0), at;

	for (; map_get(&f->known, key, &at); key++)
		if (!strcmp(f->lines[at].text, text)) {
			f->lines[at].weight += weight;
			free(text);
			return;
		}
	map_put(&f->known, key, f->len);
	f->lines = xgrow(f->lines, &f->cap, f->len + 1, sizeof *f->lines);
	f->lines[f->len++] = (struct line){ text, weight };
}

static void
visit(void *arg, const uint32_t *frames, size_t n, const uint64_t *weight)
{
	struct folding *f = arg;
	struct str text = {0};

	if (!weight[f->slot])
		return;
	if (!n)
		str_add(&text, "<Unknown>");
	while (n-- > 0)
		add_frame(f, &text, frames[n]);
	add_line(f, str_take(&text), weight[f->slot]);
}

static int
compare_lines(const void *a, const void *b)
{
	const struct line *x = a, *y = b;

	return strcmp(x->text, y->text);
}

/* An empty file says nothing; so somebody else has to. */
static void
note_nothing(const struct folding *f)
{
	const struct metric *m =
		profile_metric(f->v->prof, f->v->metrics[f->slot]);

	viewer_note(f->v, xasprintf("no stack has any %s; -metrics e.NAME "
				    "folds another metric, -metric_list shows "
				    "them, -filters 1 ends filters",
				    m->title));
}

int
folded_write(struct viewer *v, FILE *out)
{
	struct folding f = { .v = v, .slot = viewer_sorted_slot(v) };

	if (f.slot < 0)
		return fail(FAIL_MISSING,
			    "the experiment has no data to fold");

	const bool is_time = profile_metric(v->prof, v->metrics[f.slot])
		->is_time;

	if (v->creators)
		profile_created_stacks(v->prof, visit, &f);
	else
		profile_stacks(v->prof, visit, &f);
	if (f.len)
		qsort(f.lines, f.len, sizeof *f.lines, compare_lines);
	else
		note_nothing(&f);
	for (size_t i = 0; i < f.len; i++) {
		fprintf(out, "%s %" PRIu64 "\n", f.lines[i].text,
			is_time ? (f.lines[i].weight + 500) / 1000 :
				  f.lines[i].weight);
		free(f.lines[i].text);
	}
	free(f.lines);
	map_fini(&f.known);
	return 0;
}
