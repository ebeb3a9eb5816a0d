/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Names in the program: files, funcs, modules list them, which tells of several
 * the one that is meant. A pattern is a part of the name, or one of file names.
 */
#include "private.h"

#include <fnmatch.h>
#include <stdlib.h>
#include <string.h>

struct listing {
	struct shell *sh;
	const char *pattern;
	struct vec names;	/* char * */
};

static bool
is_like(const char *name, const char *pattern)
{
	return strstr(name, pattern) || fnmatch(pattern, name, 0) == 0;
}

static int
by_name(const void *a, const void *b)
{
	return strcmp(*(char *const *)a, *(char *const *)b);
}

static enum result
print_names(struct listing *l, const char *what)
{
	const char *last = "";
	const size_t n = l->names.len;

	if (n)
		qsort(l->names.items, n, sizeof *l->names.items, by_name);
	for (size_t i = 0; i < n; i++) {
		if (strcmp(l->names.items[i], last) != 0)
			fprintf(l->sh->out, "%s\n",
				str_tame(l->names.items[i]));
		last = l->names.items[i];
	}
	vec_free_items(&l->names);
	if (n)
		return DONE;
	fail(FAIL_MISSING, *l->pattern ? "no %s is like '%s'" : "no %s is known",
	     what, l->pattern);
	fail_remedy("loadobject lists what is loaded; -g tells of sources");
	return FAILED;
}

/* Of a program that does not run: its own, not those of libraries. */
static void
each_object(struct shell *sh, bool (*visit)(void *arg, struct symfile *sf),
	    void *arg)
{
	if (!sh->core)
		live_each_object(live_of(sh), visit, arg);
	else
		program_object(core_program(sh->core), visit, arg);
}

static void
each_function(struct shell *sh, bool (*visit)(void *arg, const char *name),
	      void *arg)
{
	if (!sh->core)
		live_each_function(live_of(sh), visit, arg);
	else
		program_each_function(core_program(sh->core), visit, arg);
}

/* ---- sources ------------------------------------------------------------- */

static bool
add_files(void *arg, struct symfile *sf)
{
	struct listing *l = arg;

	for (size_t i = 1; i <= symfile_units(sf); i++) {
		const char *file = symfile_unit_file(sf, i);

		if (file && is_like(file, l->pattern))
			vec_push(&l->names, xstrdup(file));
	}
	return true;
}

static enum result
cmd_files(struct shell *sh, size_t n, char **words)
{
	struct listing l = { .sh = sh, .pattern = n == 2 ? words[1] : "" };

	if (n > 2)
		return USAGE;
	each_object(sh, add_files, &l);
	return print_names(&l, "source file");
}

struct search {
	const char *name;
	char *found;
};

static bool
ends_in_name(const char *path, const char *name)
{
	const size_t n = strlen(path), m = strlen(name);

	return n > m && path[n - m - 1] == '/' && strcmp(path + n - m, name) == 0;
}

static bool
seek_file(void *arg, struct symfile *sf)
{
	struct search *s = arg;

	for (size_t i = 1; !s->found && i <= symfile_units(sf); i++) {
		const char *file = symfile_unit_file(sf, i);

		if (file && ends_in_name(file, s->name))
			s->found = xstrdup(file);
	}
	return !s->found;
}

char *
source_named(struct shell *sh, const char *name)
{
	struct search s = { .name = name };

	if (*name != '/' && sh->list_file && ends_in_name(sh->list_file, name))
		return xstrdup(sh->list_file);
	if (*name != '/' && (sh->core || target_alive(sh)))
		each_object(sh, seek_file, &s);
	return s.found ? s.found : xstrdup(name);
}

/* Which one the selected function is of. */
static enum result
cmd_module(struct shell *sh, size_t n, char **words)
{
	struct debug_frame f;
	struct debug *d;
	struct live_place p;
	const char *file;

	(void)words;
	if (n != 1)
		return USAGE;
	d = debuggee_now(sh);
	if (!d || debug_frame(d, debug_selected(d), &f) < 0)
		return FAILED;
	file = live_find(live_of(sh), f.pc, &p) ?
		symfile_unit_file(p.sf, symfile_unit_at(p.sf, p.vaddr)) : NULL;
	char *name = str_tamed(file ? file : f.object ? f.object :
			       "none is known");

	fprintf(sh->out, "%s\n", name);
	free(name);
	return DONE;
}

/* ---- functions ----------------------------------------------------------- */

static bool
add_function(void *arg, const char *linkage)
{
	struct listing *l = arg;
	char *name = name_display(linkage, NAME_LONG);

	if (is_like(name, l->pattern))
		vec_push(&l->names, name);
	else
		free(name);
	return true;
}

static enum result
cmd_funcs(struct shell *sh, size_t n, char **words)
{
	struct listing l = { .sh = sh, .pattern = n == 2 ? words[1] : "" };

	if (n > 2)
		return USAGE;
	each_function(sh, add_function, &l);
	return print_names(&l, "function");
}

/* ---- which --------------------------------------------------------------- */

/* "NAME = " begins a line of that text. */
static bool
has_variable(const char *text, const char *name)
{
	const size_t n = strlen(name);

	for (const char *at = text; at && *at; at = strchr(at, '\n')) {
		at += *at == '\n';
		if (strncmp(at, name, n) == 0 && strncmp(at + n, " = ", 3) == 0)
			return true;
	}
	return false;
}

static bool
print_local(struct shell *sh, struct debug *d, const char *name)
{
	struct str out = {0};
	struct debug_frame f;
	char *function;
	bool local;

	if (debug_arguments(d, &out) < 0 || debug_locals(d, &out) < 0)
		fail_clear();
	local = has_variable(str_text(&out), name) &&
		debug_frame(d, debug_selected(d), &f) == 0;
	str_fini(&out);
	if (!local)
		return false;
	function = f.function ? name_display(f.function, NAME_SHORT) : NULL;
	char *object = str_tamed(f.object), *file = str_tamed(f.file);

	fprintf(sh->out, "variable:\t`%s`%s`%s`%s\n", object, file,
		function ? function : "", name);
	free(object);
	free(file);
	free(function);
	return true;
}

static enum result
cmd_which(struct shell *sh, size_t n, char **words)
{
	struct debug *d;
	struct str out = {0};

	if (n != 2)
		return USAGE;
	d = need_debug(sh, "which");
	if (!d)
		return FAILED;
	if (print_local(sh, d, words[1]))
		return DONE;
	if (debug_which(d, words[1], &out) < 0) {
		str_fini(&out);
		if (!*fail_last()->remedy)
			fail_remedy("funcs PATTERN, whereis NAME");
		return FAILED;
	}
	if (out.data)
		fputs(str_tame_lines(out.data), sh->out);
	str_fini(&out);
	return DONE;
}

const struct command name_commands[] = {
	{ "files", "[PATTERN]", "list source files", NEEDS_TARGET | OF_PROGRAM, cmd_files,
	  "files parse" },
	{ "funcs", "[PATTERN]", "list functions", NEEDS_TARGET | OF_PROGRAM, cmd_funcs,
	  "funcs parse" },
	{ "module", "", "tell which source was compiled to what is looked at",
	  NEEDS_TARGET | NEEDS_STOPPED, cmd_module, "module" },
	{ "modules", "[PATTERN]", "list sources that were compiled",
	  NEEDS_TARGET | OF_PROGRAM, cmd_files, "modules" },
	{ "which", "NAME", "tell which one of that name is meant",
	  NEEDS_STANDING | OF_PROGRAM, cmd_which, "which list" },
	{ 0 }
};
