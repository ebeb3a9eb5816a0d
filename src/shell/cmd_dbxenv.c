/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * dbxenv: those of dbx's variables that mean something here. Others are
 * refused with the list of these, rather than kept without effect.
 */
#include "private.h"

#include <stdlib.h>
#include <string.h>

struct variable {
	const char *name, *values, *help;
	/* The caller frees it. */
	char *(*get)(const struct shell *sh);
	bool (*set)(struct shell *sh, const char *value);
};

/* ---- one by one ----------------------------------------------------- */

static char *
get_follow(const struct shell *sh)
{
	(void)sh;
	return xstrdup("parent");
}

static bool
set_follow(struct shell *sh, const char *value)
{
	(void)sh;
	return strcmp(value, "parent") == 0;
}

static char *
get_autostart(const struct shell *sh)
{
	return xstrdup(sh->autostart ? "on" : "off");
}

static bool
set_autostart(struct shell *sh, const char *value)
{
	if (strcmp(value, "on") && strcmp(value, "off"))
		return false;
	sh->autostart = strcmp(value, "on") == 0;
	return true;
}

static char *
get_stack(const struct shell *sh)
{
	return xasprintf("%zu", sh->frames_max);
}

static bool
set_stack(struct shell *sh, const char *value)
{
	long long n;

	if (!str_number(value, 0, 1 << 30, &n))
		return false;
	sh->frames_max = (size_t)n;
	return true;
}

static char *
get_io(const struct shell *sh)
{
	return xstrdup(sh->run_pty ? "pty" : "stdio");
}

static bool
set_io(struct shell *sh, const char *value)
{
	if (strcmp(value, "pty") && strcmp(value, "stdio"))
		return false;
	sh->run_pty = strcmp(value, "pty") == 0;
	return true;
}

static const struct variable variables[] = {
	{ "follow_fork_mode", "parent", "children run on, not followed", get_follow, set_follow },
	{ "run_autostart", "on|off", "cont runs the program if none runs", get_autostart, set_autostart },
	{ "run_io", "stdio|pty", "run: on our terminal, or on its own", get_io, set_io },
	{ "stack_max_size", "FRAMES", "what where prints of a stack; 0: all", get_stack, set_stack },
	{ .name = NULL },
};

/* ---- the command ---------------------------------------------------- */

static const struct variable *
find(const char *name)
{
	const struct variable *v = variables;

	while (v->name && strcmp(v->name, name) != 0)
		v++;
	return v->name ? v : NULL;
}

static void
show(struct shell *sh, const struct variable *v)
{
	char *value = v->get(sh);

	fprintf(sh->out, "%-18s %-8s (%s: %s)\n", v->name, value, v->values,
		v->help);
	free(value);
}

static enum result
refuse_name(const char *name)
{
	struct str all = {0};

	for (const struct variable *v = variables; v->name; v++)
		str_addf(&all, " %s", v->name);
	fail(FAIL_USAGE, "dbxenv: '%s' has no meaning here", name);
	fail_remedy("these have:%s", str_text(&all));
	str_fini(&all);
	return FAILED;
}

enum result
cmd_dbxenv(struct shell *sh, size_t n, char **words)
{
	if (n > 3)
		return USAGE;
	for (const struct variable *v = variables; n == 1 && v->name; v++)
		show(sh, v);
	if (n == 1)
		return DONE;

	const struct variable *v = find(words[1]);

	if (!v)
		return refuse_name(words[1]);
	if (n == 2) {
		show(sh, v);
		return DONE;
	}
	if (v->set(sh, words[2]))
		return DONE;
	fail(FAIL_USAGE, "dbxenv: %s cannot be '%s'", v->name, words[2]);
	fail_remedy("it is one of: %s", v->values);
	return FAILED;
}
