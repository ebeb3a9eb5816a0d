/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * The row of a command by its name, or by a prefix that only one has; else
 * those that have it are listed.
 */
#include "private.h"

#include <string.h>

static void
add_candidate(struct str *all, const char *name)
{
	str_addf(all, "%s%s", all->len ? " " : "", name);
}

/* Exact, else a unique prefix. found counts; candidates lists. */
static const struct command *
match(const struct command *table, const char *name, int *found,
      struct str *candidates)
{
	const struct command *hit = NULL;

	for (const struct command *c = table; c->name; c++) {
		if (strcmp(c->name, name) == 0) {
			*found = 1;
			return c;
		}
		if (str_starts(c->name, name)) {
			++*found;
			add_candidate(candidates, c->name);
			hit = c;
		}
	}
	return hit;
}

static const struct command *
unknown_or_ambiguous(const char *name, int found, const struct str *candidates)
{
	if (found > 1) {
		fail(FAIL_USAGE, "'%s' is ambiguous: %s", name,
		     str_text(candidates));
	} else {
		fail(FAIL_USAGE, "'%s' is no command", name);
		fail_remedy("help lists them");
	}
	return NULL;
}

const struct command *
shell_find(const struct command *table, const char *name)
{
	struct str candidates = {0};
	int found = 0;
	const struct command *c = match(table, name, &found, &candidates);

	if (found != 1)
		c = unknown_or_ambiguous(name, found, &candidates);
	str_fini(&candidates);
	return c;
}

/* true: found exactly, nothing else matters. */
static bool
match_more(const struct command *table, const char *name,
	   const struct command **c, int *found, struct str *candidates)
{
	int here = 0;
	const struct command *hit = match(table, name, &here, candidates);

	*c = hit ? hit : *c;
	*found += here;
	if (!hit || strcmp(hit->name, name) != 0)
		return false;
	*found = 1;
	return true;
}

const struct command *
shell_find_any(const char *name)
{
	struct str candidates = {0};
	const struct command *c = NULL;
	const struct family *f = families;
	int found = 0;

	while (f->title &&
	       !match_more(f->commands, name, &c, &found, &candidates))
		f++;
	if (!f->title)
		(void)match_more(shell_view_commands(), name, &c, &found,
				 &candidates);
	if (found != 1)
		c = unknown_or_ambiguous(name, found, &candidates);
	str_fini(&candidates);
	return c;
}
