/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Print views of experiments: a tool of the script tests, not a test.
 *
 *     view-print EXPERIMENT... -- [folded] COMMAND [WORD...] [, COMMAND ...]
 */
#include <stdio.h>
#include <string.h>

#include "base.h"
#include "view.h"

static int
run(struct viewer *v, size_t n, const char *const *words)
{
	for (const struct view *view = view_table; view->name; view++)
		if (!strcmp(view->name, words[0]))
			return viewer_run(v, view, n, words, stdout);
	return fail(FAIL_USAGE, "no view %s", words[0]);
}

static int
run_all(struct viewer *v, size_t n, const char *const *words)
{
	for (size_t i = 0; i < n;) {
		size_t end = i;

		while (end < n && strcmp(words[end], ","))
			end++;
		if (end > i && run(v, end - i, words + i) < 0)
			return -1;
		i = end + 1;
	}
	viewer_notes(v, stderr);
	return 0;
}

int
main(int argc, char **argv)
{
	struct viewer *v = viewer_new();
	const char *const *args = (const char *const *)argv;
	int split = 1, status = 0;

	while (split < argc && strcmp(argv[split], "--"))
		split++;

	int first = split + 1;

	if (first < argc && !strcmp(argv[first], "folded")) {
		viewer_set_format(v, VIEW_FOLDED);
		first++;
	}
	if (first >= argc) {
		fputs("usage: view-print EXPERIMENT... -- COMMAND\n", stderr);
		status = 99;
	} else if (viewer_load(v, args + 1, (size_t)split - 1) < 0 ||
		   run_all(v, (size_t)(argc - first), args + first) < 0) {
		fprintf(stderr, "%s\n%s\n", fail_last()->reason,
			fail_last()->remedy);
		status = 1;
	}
	viewer_free(v);
	return status;
}
