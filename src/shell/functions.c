/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Functions of the language: texts with a name, which are run with parameters
 * of their own; each knows where it stands, for messages.
 */
#include "script.h"

#include <stdlib.h>
#include <string.h>

enum { CALLS_MAX = 100 };

const struct function *
function_find(const struct shell *sh, const char *name)
{
	for (size_t i = 0; i < sh->functions.len; i++) {
		const struct function *f = sh->functions.items[i];

		if (strcmp(f->name, name) == 0)
			return f;
	}
	return NULL;
}

static void
function_fini(struct function *f)
{
	free(f->name);
	free(f->body);
	free(f->file);
}

void
functions_free(struct shell *sh)
{
	for (size_t i = 0; i < sh->functions.len; i++) {
		function_fini(sh->functions.items[i]);
		free(sh->functions.items[i]);
	}
	vec_fini(&sh->functions);
}

void
functions_each(const struct shell *sh,
	       void (*visit)(const char *name, const char *typed),
	       const char *typed)
{
	for (size_t i = 0; i < sh->functions.len; i++)
		visit(((struct function *)sh->functions.items[i])->name, typed);
}

bool
function_forget(struct shell *sh, const char *name)
{
	size_t i = 0;
	struct function *f = (struct function *)function_find(sh, name);

	if (!f)
		return false;
	while (sh->functions.items[i] != f)
		i++;
	sh->functions.items[i] = sh->functions.items[--sh->functions.len];
	function_fini(f);
	free(f);
	return true;
}

void
function_define(struct shell *sh, const struct function *as)
{
	struct function *f = (struct function *)function_find(sh, as->name);

	if (f) {
		function_fini(f);
	} else {
		f = xcalloc(1, sizeof *f);
		vec_push(&sh->functions, f);
	}
	*f = *as;
	sh->status = 0;
}

bool
shell_run_body(struct shell *sh, const char *text, const char *file, int line)
{
	char *copy = xstrdup(text), *name = file ? xstrdup(file) : NULL;
	struct source here = { .name = name, .line = line, .is_body = true,
			       .up = sh->source };
	bool going;

	sh->source = &here;
	going = shell_run_text(sh, copy);
	sh->source = here.up;
	free(name);
	free(copy);
	return going;
}

enum result
function_call(struct shell *sh, const struct function *f, size_t n,
	      char **words)
{
	struct params mine = { .items = words + 1, .n = n - 1,
				     .name = words[0] };
	struct params *params = sh->params;
	const int loops = sh->loops;
	bool going;

	if (sh->calls >= CALLS_MAX) {
		fail(FAIL_USAGE, "%s: functions are nested too deep", f->name);
		fail_remedy("does a function call itself?");
		return FAILED;
	}
	sh->calls++;
	sh->loops = 0;
	sh->params = &mine;
	sh->status = 0;
	going = shell_run_body(sh, f->body, f->file, f->line);
	sh->params = params;
	sh->loops = loops;
	sh->calls--;
	sh->leaving.returns = false;
	return going ? ANSWERED : sh->quitting ? QUIT : TOLD;
}
