/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * dbxenv: those of dbx's variables that mean something here. Others are
 * refused with the list of these, rather than kept without effect.
 */
#include "private.h"

#include <stdlib.h>
#include <string.h>

enum set_result { IS_SET, NO_VALUE, SET_FAILED };

struct variable {
	const char *name, *values, *help;
	/* The caller frees it. */
	char *(*get)(const struct shell *sh);
	enum set_result (*set)(struct shell *sh, const char *value);
};

/* ---- one by one ----------------------------------------------------- */

static const char *const follow_modes[] = {
	[FOLLOW_PARENT] = "parent", [FOLLOW_CHILD] = "child",
	[FOLLOW_ASK] = "ask", [FOLLOW_BOTH] = "both",
};

static char *
get_follow(const struct shell *sh)
{
	return xstrdup(follow_modes[sh->follow]);
}

static void
review(struct shell *sh, void *arg)
{
	(void)arg;
	if (wants_review(sh) < 0)
		shell_print_failure(sh);
}

static enum set_result
set_follow(struct shell *sh, const char *value)
{
	const enum session_follow_mode before = sh->follow;

	for (size_t i = 0; i < ARRAY_LEN(follow_modes); i++) {
		if (strcmp(value, follow_modes[i]) != 0)
			continue;
		sh->follow = (enum session_follow_mode)i;
		if (wants_review(sh) == 0) {
			processes_each(sh, review, NULL);
			return IS_SET;
		}
		sh->follow = before;
		return SET_FAILED;
	}
	return NO_VALUE;
}

static enum set_result
set_either(const char *value, const char *yes, const char *no, bool *to)
{
	const bool is = strcmp(value, yes) == 0;

	if (!is && strcmp(value, no) != 0)
		return NO_VALUE;
	*to = is;
	return IS_SET;
}

static char *
get_autostart(const struct shell *sh)
{
	return xstrdup(sh->autostart ? "on" : "off");
}

static enum set_result
set_autostart(struct shell *sh, const char *value)
{
	return set_either(value, "on", "off", &sh->autostart);
}

static char *
get_stack(const struct shell *sh)
{
	return xasprintf("%zu", sh->frames_max);
}

static enum set_result
set_stack(struct shell *sh, const char *value)
{
	long long n;

	if (!str_number(value, 0, 1 << 30, &n))
		return NO_VALUE;
	sh->frames_max = (size_t)n;
	return IS_SET;
}

static char *
get_call(const struct shell *sh)
{
	return xasprintf("%u", sh->call_seconds);
}

static enum set_result
set_call(struct shell *sh, const char *value)
{
	long long n;

	if (!str_number(value, 1, 24 * 3600, &n))
		return NO_VALUE;
	sh->call_seconds = (unsigned)n;
	return IS_SET;
}

static char *
get_io(const struct shell *sh)
{
	return xstrdup(sh->run_pty ? "pty" : "stdio");
}

static enum set_result
set_io(struct shell *sh, const char *value)
{
	return set_either(value, "pty", "stdio", &sh->run_pty);
}

static char *
get_safe_path(const struct shell *sh)
{
	return xstrdup(sh->safe_path);
}

static enum set_result
set_safe_path(struct shell *sh, const char *value)
{
	if (*value && value[0] != '/')
		return NO_VALUE;
	free(sh->safe_path);
	sh->safe_path = xstrdup(value);
	return IS_SET;
}

static const struct variable variables[] = {
	{ "call_timeout", "SECONDS", "those that call waits for its function",
	  get_call, set_call },
	{ "follow_fork_mode", "parent|child|ask|both", "who is kept at a fork",
	  get_follow, set_follow },
	{ "run_autostart", "on|off", "cont runs the program if none runs",
	  get_autostart, set_autostart },
	{ "run_io", "stdio|pty", "run: on our terminal, or on its own",
	  get_io, set_io },
	{ "safe_path", "/DIR[:/DIR ...]", "below these ./.sonderc is obeyed",
	  get_safe_path, set_safe_path },
	{ "stack_max_size", "FRAMES", "what where prints of a stack; 0: all",
	  get_stack, set_stack },
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

/* "on|off": each of them. */
static void
offer_values(const char *values, offer_fn *offer, const char *typed)
{
	while (*values) {
		const size_t n = strcspn(values, "|");
		char *value = xstrndup(values, n);

		offer(value, typed);
		free(value);
		values += n + (values[n] == '|');
	}
}

void
dbxenv_each(const char *of, offer_fn *offer, const char *typed)
{
	for (const struct variable *v = variables; v->name; v++)
		if (!of)
			offer(v->name, typed);
		else if (strcmp(of, v->name) == 0 && strchr(v->values, '|'))
			offer_values(v->values, offer, typed);
}

bool
dbxenv_has(const char *name)
{
	return find(name);
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
	const enum set_result set = v->set(sh, words[2]);

	if (set != NO_VALUE)
		return set == IS_SET ? DONE : FAILED;
	fail(FAIL_USAGE, "dbxenv: %s cannot be '%s'", v->name, words[2]);
	fail_remedy("it is one of: %s", v->values);
	return FAILED;
}
