/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Commands that set what views show of all.
 */
#include "private.h"

#include <string.h>

/* How the command is written. */
static int
remedy_of(const char *command)
{
	const struct view *row = view_table;

	while (row->name && strcmp(row->name, command))
		row++;
	if (!row->name)
		return -1;
	return fail_remedy(*row->args ? "write %s %s, as in: %s" :
			   "write %s%s alone", row->name, row->args,
			   row->example);
}

int
words_check(size_t n, const char *const *words, size_t want)
{
	if (n == want)
		return 0;
	if (n < want)
		fail(FAIL_USAGE, "%s: a word is missing", words[0]);
	else
		fail(FAIL_USAGE, "%s: %s is one word too many", words[0],
		     words[want]);
	return remedy_of(words[0]);
}

int
view_limit(struct viewer *v, size_t n, const char *const *words, FILE *out)
{
	long long limit;

	if (n == 1) {
		if (v->limit)
			fprintf(out, "limit %zu\n", v->limit);
		else
			fputs("no limit\n", out);
		return 0;
	}
	if (words_check(n, words, 2) < 0)
		return -1;
	if (!str_number(words[1], 0, INT32_MAX, &limit)) {
		fail(FAIL_USAGE, "limit: %s is not a number of rows",
		     words[1]);
		return fail_remedy("limit 20; limit 0 shows every row");
	}
	v->limit = (size_t)limit;
	return 0;
}

int
view_creators(struct viewer *v, size_t n, const char *const *words, FILE *out)
{
	if (n == 1) {
		fprintf(out, "creators %s\n", v->creators ? "on" : "off");
		return 0;
	}
	if (words_check(n, words, 2) < 0)
		return -1;
	if (strcmp(words[1], "on") && strcmp(words[1], "off")) {
		fail(FAIL_USAGE, "creators: %s is neither on nor off",
		     words[1]);
		return fail_remedy("creators on");
	}
	v->creators = strcmp(words[1], "on") == 0;
	return 0;
}

int
view_mode(struct viewer *v, size_t n, const char *const *words, FILE *out)
{
	static const char *const names[] = {
		[MODE_USER] = "user", [MODE_EXPERT] = "expert",
		[MODE_MACHINE] = "machine",
	};
	const enum view_mode before = v->mode;
	size_t mode = 0;

	if (n == 1) {
		fprintf(out, "viewmode %s\n", names[v->mode]);
		return 0;
	}
	if (words_check(n, words, 2) < 0)
		return -1;
	while (mode < ARRAY_LEN(names) && strcmp(words[1], names[mode]))
		mode++;
	if (mode == ARRAY_LEN(names)) {
		fail(FAIL_USAGE, "viewmode: %s is none of user, expert and "
		     "machine", words[1]);
		return fail_remedy("viewmode user");
	}
	v->mode = (enum view_mode)mode;
	if (viewer_reload(v) == 0)
		return 0;
	v->mode = before;
	return -1;
}
