/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * The names people read. Different functions of one name are different rows,
 * so they must be told apart: by their load object, by their source file, and
 * where that is the same too, by their address.
 */
#include "private.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

const char *
path_base(const char *path)
{
	const char *slash = strrchr(path, '/');

	return slash && slash[1] ? slash + 1 : path;
}

void
viewer_forget_names(struct viewer *v)
{
	compare_forget_names(v);
	for (size_t i = 0; i < v->names_len; i++)
		free(v->names[i]);
	free(v->names);
	v->names = NULL;
	v->names_len = 0;
}

static char *
bracketed(const struct profile_object *obj)
{
	return obj->name[0] == '<' ? xstrdup(obj->name) :
				     xasprintf("<%s>", obj->name);
}

static char *
plain_name(const struct viewer *v, const struct profile_function *fn)
{
	if (v->form == NAME_LONG || fn->is_static)
		return xstrdup(fn->name);
	return fn->start && fn->object->symbols ?
		symfile_display(fn->object->symbols, fn->linkage, fn->start,
				v->form) :
		name_display(fn->linkage, v->form);
}

static char *
with_object(const struct viewer *v, const struct profile_function *fn,
	    const char *format)
{
	char *name = plain_name(v, fn);

	if (!format)
		return name;

	struct str out = {0};
	char *object = bracketed(fn->object);

	str_addf(&out, "%s %c%s%c", name, format[0], object, format[1]);
	free(object);
	free(name);
	return str_take(&out);
}

static const char *
source_file(const struct profile_function *fn)
{
	if (fn->is_folded)
		return xasprintf("%s (%s)", fn->name, fn->object->path);

	const char *file = NULL;
	int line;

	if (fn->is_inlined)
		return fn->file;
	return fn->object->symbols &&
	       symfile_declared(fn->object->symbols, fn->start, &file,
				&line) ? file : NULL;
}

static char *
with_file(const struct viewer *v, const struct profile_function *fn)
{
	const char *file = source_file(fn);
	char *name = with_object(v, fn, NULL), *object = bracketed(fn->object);
	char *out;

	if (file)
		out = xasprintf("%s (%s, %s)", name, object, path_base(file));
	else
		out = xasprintf("%s (%s)", name, object);
	free(object);
	free(name);
	return out;
}

static char *
with_address(const struct viewer *v, const struct profile_function *fn)
{
	char *name = with_file(v, fn);
	char *out = fn->is_inlined ? xasprintf("%s, line %d", name, fn->line) :
				     xasprintf("%s@0x%" PRIx64, name,
					       fn->start);

	free(name);
	return out;
}

/* Which of the names are not alone. */
static bool *
find_equal(char *const *names, size_t n)
{
	bool *equal = xcalloc(n + 1, sizeof *equal);
	struct map first = {0};

	for (size_t i = 0; i < n; i++) {
		uint64_t *slot = map_slot_of(&first, hash_bytes(
			names[i], strlen(names[i]), 0));

		if (!*slot)
			*slot = i + 1;
		else if (!strcmp(names[*slot - 1], names[i]))
			equal[*slot - 1] = equal[i] = true;
	}
	map_fini(&first);
	return equal;
}

enum tell { BY_OBJECT, BY_FILE, BY_ADDRESS, TELLS };

static char *
told_apart(const struct viewer *v, const struct profile_function *fn,
	   enum tell tell)
{
	switch (tell) {
	case BY_OBJECT:
		return with_object(v, fn, fn->is_static ? NULL : "()");
	case BY_FILE:
		return with_file(v, fn);
	default:
		return with_address(v, fn);
	}
}

static void
make_names(struct viewer *v)
{
	const size_t n = profile_function_count(v->prof);

	v->names = xcalloc(n + 1, sizeof *v->names);
	v->names_len = n;
	for (uint32_t i = 0; i < n; i++)
		v->names[i] = with_object(v, profile_function(v->prof, i),
					  v->soname ? "[]" : NULL);
	for (enum tell tell = v->soname ? BY_FILE : BY_OBJECT; tell < TELLS;
	     tell++) {
		bool *equal = find_equal(v->names, n);

		for (uint32_t i = 0; i < n; i++) {
			if (!equal[i])
				continue;
			free(v->names[i]);
			v->names[i] = told_apart(
				v, profile_function(v->prof, i), tell);
		}
		free(equal);
	}
}

const char *
viewer_name(struct viewer *v, uint32_t function)
{
	if (!v->names)
		make_names(v);
	return v->names[function];
}

static const struct {
	const char *name;
	enum name_form form;
} forms[] = {
	{ "long", NAME_LONG }, { "short", NAME_SHORT },
	{ "mangled", NAME_MANGLED },
};

static int
bad_form(const char *word)
{
	fail(FAIL_USAGE, "%s is not a form of names", word);
	return fail_remedy("name long|short|mangled[:soname|:nosoname]");
}

static int
set_form(struct viewer *v, const char *word)
{
	const char *colon = strchr(word, ':');
	const size_t len = colon ? (size_t)(colon - word) : strlen(word);

	if (colon && strcmp(colon, ":soname") && strcmp(colon, ":nosoname"))
		return bad_form(word);
	for (size_t i = 0; i < ARRAY_LEN(forms); i++) {
		if (strlen(forms[i].name) != len ||
		    strncmp(forms[i].name, word, len))
			continue;
		v->form = forms[i].form;
		v->soname = colon && !strcmp(colon, ":soname");
		viewer_forget_names(v);
		/* FNAME matches the names that are shown */
		return v->filter ? viewer_reload(v) : 0;
	}
	return bad_form(word);
}

int
view_name_form(struct viewer *v, size_t n, const char *const *words, FILE *out)
{
	if (n > 1)
		return words_check(n, words, 2) < 0 ? -1 :
						      set_form(v, words[1]);
	for (size_t i = 0; i < ARRAY_LEN(forms); i++)
		if (forms[i].form == v->form)
			fprintf(out, "name %s:%s\n", forms[i].name,
				v->soname ? "soname" : "nosoname");
	return 0;
}
