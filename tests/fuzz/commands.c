/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Command files and rc files: lines into words, and words as views and
 * settings of views. Commands that act on processes and files are not run.
 */
#include "../../src/shell/private.h"
#include "fuzz-experiment.h"

static struct viewer *viewer;
static FILE *null;

static const char *
variable(void *arg, const char *name)
{
	(void)arg;
	return strcmp(name, "pid") == 0 ? "42" : NULL;
}

static void
run(const struct words *w)
{
	const struct view *view;
	struct settings s;
	uint64_t ns;

	if (w->len == 0)
		return;
	for (view = view_table; view->name; view++)
		if (strcmp(view->name, w->items[0]) == 0)
			(void)view->run(viewer, w->len,
					(const char *const *)w->items, null);
	settings_init(&s);
	(void)settings_interval(&s, w->items[0]);
	(void)settings_frequency(&s, w->items[0]);
	(void)settings_engine(&s, w->items[0]);
	(void)settings_duration(w->items[0], &ns);
	settings_fini(&s);
	free(name_display(w->items[0], NAME_LONG));
	free(name_display(w->items[0], NAME_SHORT));
}

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static const char *const paths[] = { FUZZ_EXPERIMENT };
	char *text = fuzz_text(data, size);
	struct words w;
	size_t at = 0;

	if (fuzz_enter()) {
		fuzz_make_experiment();
		null = fopen("/dev/null", "w");
	}
	viewer = viewer_new();
	if (viewer_load(viewer, paths, 1) < 0)
		fuzz_broken("the experiment");
	(void)words_unfinished(text);
	(void)script_unfinished(text);
	while (words_next(text, &at, &w, variable, NULL) > 0) {
		run(&w);
		words_fini(&w);
	}
	viewer_free(viewer);
	free(text);
	fail_clear();
	return 0;
}
