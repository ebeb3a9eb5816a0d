/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * The command list: lines of the source.
 */
#include "private.h"

#include <ctype.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

/* ---- list ---------------------------------------------------------------- */

enum { LIST_LINES = 10 };

static void
list_at(struct shell *sh, const char *file, int line)
{
	free(sh->list_file);
	sh->list_file = xstrdup(file);
	sh->list_line = line > 0 ? line : 1;
}

/* Around the line where a function, or the thread, is. */
static int
list_function(struct shell *sh, const char *name)
{
	const uint64_t addr = live_address(live_of(sh), name);
	struct live_place p;
	const char *file;
	int line;

	if (!addr)
		return -1;
	if (!live_find(live_of(sh), addr, &p) ||
	    !symfile_declared(p.sf, p.vaddr, &file, &line)) {
		fail(FAIL_MISSING, "list: function '%s' has no lines", name);
		return fail_remedy("compile it with -g, or install its "
				   "debug symbols");
	}
	list_at(sh, file, line - LIST_LINES / 2);
	return 0;
}

static int
list_here(struct shell *sh)
{
	struct place p;

	if (place_now(sh, thread_now(sh), &p) < 0)
		return -1;
	if (!p.file) {
		fail(FAIL_MISSING, "list: there are no lines at %#llx",
		     (unsigned long long)p.pc);
		return fail_remedy("list FUNCTION; dis shows instructions");
	}
	list_at(sh, p.file, p.line - LIST_LINES / 2);
	return 0;
}

static enum result
list_lines(struct shell *sh, int last)
{
	bool any = false;

	for (int line = sh->list_line; line <= last; line++) {
		char *text = source_line(sh->list_file, line);

		if (!text)
			break;
		fprintf(sh->out, "%5d   %s\n", line, text);
		free(text);
		any = true;
		sh->list_line = line + 1;
	}
	if (any)
		return DONE;
	fail(FAIL_MISSING, "list: %s has no line %d, or cannot be read",
	     sh->list_file, sh->list_line);
	return FAILED;
}

static enum result
cmd_list(struct shell *sh, size_t n, char **words)
{
	char *comma = n == 2 ? strchr(words[1], ',') : NULL;
	long long first, last;

	if (n > 2)
		return USAGE;
	if (n == 1) {
		if (!sh->list_file && list_here(sh) < 0)
			return FAILED;
		return list_lines(sh, sh->list_line + LIST_LINES - 1);
	}
	if (isdigit((unsigned char)words[1][0])) {
		char *start = xstrndup(words[1], comma ? (size_t)
				       (comma - words[1]) : strlen(words[1]));
		const bool good = str_number(start, 1, 1 << 30, &first) &&
			(!comma || str_number(comma + 1, first, 1 << 30,
					      &last));

		free(start);
		if (!good)
			return USAGE;
		if (!sh->list_file && list_here(sh) < 0)
			return FAILED;
		sh->list_line = (int)first;
		return list_lines(sh, (int)(comma ? last : first));
	}
	if (list_function(sh, words[1]) < 0)
		return FAILED;
	return list_lines(sh, sh->list_line + LIST_LINES - 1);
}

const struct command list_commands[] = {
	{ "list", "[N[,M] | FUNCTION]", "print lines of the source",
	  NEEDS_TARGET, cmd_list, "list main" },
	{ 0 }
};
