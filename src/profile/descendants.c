/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Which descendants of an experiment are loaded with it: all, none, or those
 * whose lineage (_f1_x1) or program a regular expression matches.
 */
#include "private.h"

#include <regex.h>
#include <stdlib.h>
#include <string.h>

static bool
matches(const regex_t *pattern, const char *text, size_t len)
{
	char *part = xstrndup(text, len);
	const bool found = regexec(pattern, part, 0, NULL, 0) == 0;

	free(part);
	return found;
}

static bool
is_wanted(const struct experiment_reader *child, const regex_t *pattern)
{
	const char *path = experiment_reader_path(child);
	const char *slash = strrchr(path, '/');
	const char *name = slash ? slash + 1 : path;
	const char *command = experiment_property(child, "command");
	const char *program = command ? command : "";
	const size_t len = strcspn(program, " ");
	size_t base = len;

	while (base > 0 && program[base - 1] != '/')
		base--;
	return matches(pattern, name, strcspn(name, ".")) ||
	       matches(pattern, program + base, len - base);
}

/* It has to match as a whole, as for gprofng. */
static int
compile(regex_t *pattern, const char *text)
{
	if (!pattern_is_bounded(text))
		return -1;

	char *whole = xasprintf("^(%s)$", text);
	const int error = regcomp(pattern, whole, REG_EXTENDED | REG_NOSUB);

	free(whole);
	return error ? -1 : 0;
}

int
descendants_each(const char *which, const struct experiment_reader *founder,
		 void (*visit)(void *arg,
			       const struct experiment_reader *child),
		 void *arg)
{
	regex_t pattern;

	if (which && which[0] != '=')
		return 0;
	if (which && compile(&pattern, which + 1) < 0) {
		fail(FAIL_USAGE, "descendants: '%s' is no regular expression",
		     which + 1);
		return fail_remedy("en_desc =_f1, or en_desc on");
	}
	for (size_t i = 0; i < experiment_child_count(founder); i++) {
		const struct experiment_reader *child =
			experiment_child(founder, i);

		if (!which || is_wanted(child, &pattern))
			visit(arg, child);
	}
	if (which)
		regfree(&pattern);
	return 0;
}
