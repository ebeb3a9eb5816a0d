/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * FNAME("re"): the functions whose whole name matches, in the form in which
 * names are shown; FILEIOVFD("re"): the open files whose name does. Patterns
 * may be anybody's, and the library's matcher takes as much memory as
 * repetitions multiply to: those are bounded.
 */
#include "calls.h"

#include <regex.h>
#include <stdlib.h>
#include <string.h>

struct expr_set *
expr_set_new(void)
{
	return xcalloc(1, sizeof(struct expr_set));
}

void
expr_set_add(struct expr_set *set, uint64_t value)
{
	set->values = xgrow(set->values, &set->cap, set->len + 1,
			    sizeof *set->values);
	set->values[set->len++] = value;
	map_put(&set->has, value, 1);
}

void
expr_set_free(struct expr_set *set)
{
	if (!set)
		return;
	free(set->values);
	map_fini(&set->has);
	free(set);
}

/* ---- patterns -------------------------------------------------------- */

static int
compile(regex_t *re, const char *pattern)
{
	char why[128];

	if (!pattern_is_bounded(pattern))
		return fail(FAIL_USAGE, "the pattern is too large");

	const int error = regcomp(re, pattern, REG_EXTENDED | REG_NEWLINE);

	if (!error)
		return 0;
	(void)regerror(error, re, why, sizeof why);
	return fail(FAIL_USAGE, "'%s' is not a regular expression: %s",
		    pattern, why);
}

int
expr_names_check(const char *pattern)
{
	regex_t re;

	if (compile(&re, pattern) < 0)
		return -1;
	regfree(&re);
	return 0;
}

/* As the setting `name` says, without what tells equal names apart. */
static char *
shown_name(const struct profile *prof, const struct profile_function *fn)
{
	const struct profile_options *o = &prof->options;
	char *name = o->form == NAME_LONG || fn->is_static ?
		xstrdup(fn->name) : name_display(fn->linkage, o->form);

	if (!o->soname)
		return name;

	const bool bare = fn->object->name[0] != '<';
	char *whole = xasprintf("%s [%s%s%s]", name, bare ? "<" : "",
				fn->object->name, bare ? ">" : "");

	free(name);
	return whole;
}

/* The leftmost longest match is the whole name, if any is. */
static bool
matches(const regex_t *re, const char *name)
{
	regmatch_t found;

	return regexec(re, name, 1, &found, 0) == 0 && found.rm_so == 0 &&
	       (size_t)found.rm_eo == strlen(name);
}

struct expr_set *
expr_names(struct profile *prof, const char *pattern)
{
	struct expr_set *set = expr_set_new();
	regex_t re;

	if (!pattern || compile(&re, pattern) < 0)
		return set;

	const size_t n = profile_function_count(prof);

	for (uint32_t i = 0; i < n; i++) {
		char *name = shown_name(prof, profile_function(prof, i));

		if (matches(&re, name))
			expr_set_add(set, expr_function(i));
		free(name);
	}
	regfree(&re);
	return set;
}

struct expr_set *
expr_files(struct profile *prof, const char *pattern)
{
	struct expr_set *set = expr_set_new();
	const struct files *f = files_of(prof);
	regex_t re;

	if (compile(&re, pattern) < 0)
		return set;
	for (size_t e = 0; e < f->descriptors_len; e++)
		for (size_t i = 0; i < f->descriptors[e].len; i++) {
			const struct opening *op = &f->descriptors[e].items[i];

			if (op->name && matches(&re, op->name))
				expr_set_add(set, op->number);
		}
	regfree(&re);
	return set;
}
