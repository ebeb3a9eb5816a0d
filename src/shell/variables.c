/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * What $ stands for: variables that were set, parameters of a function or a
 * file, what the session knows, the environment; expressions of the target,
 * arithmetic, the output of commands.
 */
#include "script.h"

#include <ctype.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { VALUE_MAX = 1 << 20, DEPTH_MAX = 100 };

bool
var_is_name(const char *word, size_t n)
{
	if (!n || isdigit((unsigned char)*word))
		return false;
	for (size_t i = 0; i < n; i++)
		if (!isalnum((unsigned char)word[i]) && word[i] != '_')
			return false;
	return true;
}

/* ---- those that are set -------------------------------------------------- */

static ssize_t
index_of(const struct shell *sh, const char *name)
{
	for (size_t i = 0; i + 1 < sh->variables.len; i += 2)
		if (strcmp(sh->variables.items[i], name) == 0)
			return (ssize_t)i;
	return -1;
}

int
var_set(struct shell *sh, const char *name, const char *value)
{
	static const char *const own[] = { "pid", "thread", "lwp", "exitcode",
					   "experiment", "dllist", "dlobj",
					   "level", "sig", "sigstr",
					   "sigcode", "sigaddr", "sysname",
					   "syscode", "sysresult",
					   "firedhandlers", "newhandlerid",
					   "handlers", "booting" };
	const ssize_t i = index_of(sh, name);

	for (size_t k = 0; k < ARRAY_LEN(own); k++) {
		if (strcmp(own[k], name) != 0)
			continue;
		fail(FAIL_USAGE, "%s is sonde's own variable", name);
		return fail_remedy("choose another name: my_%s", name);
	}
	if (strlen(value) > VALUE_MAX)
		return fail(FAIL_USAGE, "the value of %s is longer than 1 MB",
			    name);
	if (i >= 0) {
		char *copy = xstrdup(value);	/* value may be the old one */

		free(sh->variables.items[i + 1]);
		sh->variables.items[i + 1] = copy;
		return 0;
	}
	vec_push(&sh->variables, xstrdup(name));
	vec_push(&sh->variables, xstrdup(value));
	return 0;
}

bool
var_unset(struct shell *sh, const char *name)
{
	const ssize_t i = index_of(sh, name);

	if (i < 0)
		return false;
	free(sh->variables.items[i]);
	free(sh->variables.items[i + 1]);
	sh->variables.len -= 2;
	memmove(&sh->variables.items[i], &sh->variables.items[i + 2],
		(sh->variables.len - (size_t)i) * sizeof *sh->variables.items);
	return true;
}

/* ---- values -------------------------------------------------------------- */

static const char *
say_number(struct shell *sh, long long number)
{
	str_clear(&sh->value);
	str_addf(&sh->value, "%lld", number);
	return str_text(&sh->value);
}

/* $1 ... $# $* $@ $0 $?; NULL: it is none of these. */
static const char *
parameter(struct shell *sh, const char *name)
{
	const struct params *p = sh->params;
	const size_t n = p ? p->n : 0;

	if (*name == '?')
		return say_number(sh, sh->status);
	if (*name == '#')
		return say_number(sh, (long long)n);
	if (strcmp(name, "0") == 0)
		return p && p->name ? p->name : "sonde";
	if (isdigit((unsigned char)*name)) {
		const unsigned long i = strtoul(name, NULL, 10);

		return i <= n ? p->items[i - 1] : "";
	}
	if (*name != '*' && *name != '@')
		return NULL;
	str_clear(&sh->value);
	for (size_t i = 0; i < n; i++)
		str_addf(&sh->value, "%s%s", i ? " " : "", p->items[i]);
	return str_text(&sh->value);
}

const char *
var_known(void *arg, const char *name)
{
	struct shell *sh = arg;
	const char *value;

	if (strcmp(name, "pid") == 0 && sh->session)
		return say_number(sh, session_pid(sh->session));
	if ((strcmp(name, "thread") == 0 || strcmp(name, "lwp") == 0) &&
	    sh->session)
		return say_number(sh, thread_now(sh));
	if (strcmp(name, "exitcode") == 0)
		return say_number(sh, sh->program_status < 0 ? -1 :
				  status_of_program(sh->program_status));
	if (strcmp(name, "experiment") == 0 && sh->experiment)
		return sh->experiment;
	if (strcmp(name, "level") == 0 && *sh->level)
		return sh->level;
	value = wants_variable(sh, name);
	if (!value)
		value = signals_variable(sh, name);
	if (!value)
		value = event_variable(sh, name);
	return value ? value : loads_variable(sh, name);
}

const char *
var_value(struct shell *sh, const char *name)
{
	const ssize_t i = index_of(sh, name);
	const char *value;

	if (i >= 0)
		return sh->variables.items[i + 1];
	value = parameter(sh, name);
	if (!value)
		value = var_known(sh, name);
	return value ? value : getenv(name);
}

/* Those that the shell replaces also in expressions of the target's, where $
 * is a register: that were set here, and parameters there are. */
static const char *
own_value(struct shell *sh, const char *name)
{
	const ssize_t i = index_of(sh, name);

	if (i >= 0)
		return sh->variables.items[i + 1];
	if (isdigit((unsigned char)*name) && sh->params &&
	    strtoul(name, NULL, 10) - 1 < sh->params->n)
		return parameter(sh, name);
	return NULL;
}

/* ---- ${name} ${name:-word} ----------------------------------------------- */

static const char *
in_braces(struct shell *sh, const char *text)
{
	const char *otherwise = strstr(text, ":-");
	const size_t n = otherwise ? (size_t)(otherwise - text) : strlen(text);
	const bool possible = var_is_name(text, n) ||
		(n && strspn(text, "0123456789") >= n) ||
		(n == 1 && strchr("?#*@", *text));
	char *name = xstrndup(text, n), *word;
	const char *value = possible ? var_value(sh, name) : NULL;

	if (!possible) {
		fail(FAIL_USAGE, "${%s} is not understood", text);
		fail_remedy("${NAME}, or ${NAME:-WORD} for when it is not set");
	} else if (otherwise && (!value || !*value)) {
		word = words_expanded(otherwise + 2, false, shell_variable, sh);
		str_clear(&sh->value);
		if (word)
			str_add(&sh->value, word);
		value = word ? str_text(&sh->value) : NULL;
		free(word);
	} else if (!value) {
		fail(FAIL_USAGE, "variable %s is not set", name);
		fail_remedy("%s=VALUE, or ${%s:-VALUE}", name, name);
	}
	free(name);
	return value;
}

/* ---- $[expression] $((arithmetic)) --------------------------------------- */

/* As print shows it; of a character only its number. */
static const char *
target_value(struct shell *sh, const char *text)
{
	struct debug *d = debuggee_now(sh);
	struct str out = {0};
	char *value, *end;
	size_t n;

	if (!d || debug_print(d, text, 0, &out) < 0) {
		str_fini(&out);
		fail_in("$[%.60s]", text);
		return NULL;
	}
	value = str_take(&out);
	n = strlen(value);
	while (n && value[n - 1] == '\n')
		value[--n] = '\0';
	(void)strtoll(value, &end, 10);
	if (end > value && end[0] == ' ' && end[1] == '\'')
		*end = '\0';
	str_clear(&sh->value);
	str_add(&sh->value, value);
	free(value);
	return str_text(&sh->value);
}

static const char *
arithmetic(struct shell *sh, const char *text)
{
	char *expanded = words_expanded(text, false, shell_variable, sh);
	long long number = 0;
	const int r = expanded ? arith_evaluate(sh, expanded, &number) : -1;

	free(expanded);
	return r < 0 ? NULL : say_number(sh, number);
}

static const char *
expression(struct shell *sh, const char *text)
{
	const char *value;
	char *expanded;

	if (!sh->core && !target_alive(sh)) {
		value = arithmetic(sh, text);
		if (!value) {
			fail_in("$[%.60s]: there is no process", text);
			fail_remedy("attach PID, or debug PROGRAM and run; "
				    "without one only numbers are known");
		}
		return value;
	}
	expanded = words_expanded(text, true, shell_variable, sh);
	value = expanded ? target_value(sh, expanded) : NULL;
	free(expanded);
	return value;
}

/* ---- $(commands) --------------------------------------------------------- */

/* What they wrote, without the ends of the last lines. */
static const char *
read_back(struct shell *sh, FILE *file)
{
	char buf[4096];
	size_t n;

	str_clear(&sh->value);
	rewind(file);
	while ((n = fread(buf, 1, sizeof buf, file)) > 0) {
		str_addn(&sh->value, buf, n);
		if (sh->value.len > VALUE_MAX) {
			fail(FAIL_USAGE, "$(...) is longer than 1 MB");
			fail_remedy("write it to a file: COMMAND > FILE");
			return NULL;
		}
	}
	while (sh->value.len && sh->value.data[sh->value.len - 1] == '\n')
		sh->value.data[--sh->value.len] = '\0';
	return str_text(&sh->value);
}

static const char *
output_of(struct shell *sh, const char *commands)
{
	FILE *file = tmpfile(), *out = sh->out;
	const char *value = NULL;

	if (!file) {
		fail_errno("$(...): make a temporary file");
		return NULL;
	}
	sh->out = file;

	const bool going = shell_run_text(sh, commands);

	sh->out = out == file ? sh->main_out : out;
	if (going && fflush(file) == 0)
		value = read_back(sh, file);
	else if (going)
		fail_errno("$(%.60s): write a temporary file", commands);
	else
		sh->told = true;
	fclose(file);
	return value;
}

static const char *
asked(struct shell *sh, const char *name)
{
	const size_t n = strlen(name);
	char *inner;
	const char *value;

	switch (*name) {
	case '=':
		return own_value(sh, name + 1);
	case '{':
		return in_braces(sh, name + 1);
	case '[':
		return expression(sh, name + 1);
	case '(':
		break;
	default:
		return var_value(sh, name);
	}
	if (name[1] != '(' || name[n - 1] != ')')
		return output_of(sh, name + 1);
	inner = xstrndup(name + 2, n - 3);
	value = arithmetic(sh, inner);
	free(inner);
	return value;
}

const char *
shell_variable(void *arg, const char *name)
{
	struct shell *sh = arg;
	const char *value;

	if (sh->values >= DEPTH_MAX) {
		fail(FAIL_USAGE, "what $ stands for is nested too deep");
		return NULL;
	}
	sh->values++;
	value = asked(sh, name);
	sh->values--;
	return value;
}
