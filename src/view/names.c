/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * The names people read. Different functions of one name are different rows,
 * so they must be told apart: by their load object, by their source file, and
 * where that is the same too, by their address. Finding a source file may take
 * unpacking all of an object's debug information, so it is put off until a name
 * is shown.
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

struct names {
	char **items;		/* by function id */
	uint32_t *next;		/* of the same name so far, in a ring; itself:
				 * the name is what is shown */
	uint8_t *tell;		/* by what they are told apart next */
	size_t len;
};

void
names_free(struct names *names)
{
	if (!names)
		return;
	for (size_t i = 0; i < names->len; i++)
		free(names->items[i]);
	free(names->items);
	free(names->next);
	free(names->tell);
	free(names);
}

void
viewer_forget_names(struct viewer *v)
{
	compare_forget_names(v);
	names_free(v->names);
	v->names = NULL;
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
link_equal(struct names *names, const uint32_t *ids, size_t n)
{
	struct map last = {0};

	for (size_t k = 0; k < n; k++) {
		const uint32_t i = ids[k];
		const char *name = names->items[i];
		uint64_t *slot = map_slot_of(&last, hash_bytes(
			name, strlen(name), 0));
		const uint32_t before = *slot ? (uint32_t)*slot - 1 : i;

		names->next[i] = i;
		if (before != i && !strcmp(names->items[before], name)) {
			names->next[i] = names->next[before];
			names->next[before] = i;
		}
		*slot = i + 1;
	}
	map_fini(&last);
}

static struct names *
make_names(const struct viewer *v)
{
	struct names *names = xcalloc(1, sizeof *names);
	const size_t n = profile_function_count(v->prof);
	uint32_t *ids = xcalloc(n + 1, sizeof *ids);

	names->len = n;
	names->items = xcalloc(n + 1, sizeof *names->items);
	names->next = xcalloc(n + 1, sizeof *names->next);
	names->tell = xcalloc(n + 1, sizeof *names->tell);
	for (uint32_t i = 0; i < n; i++) {
		ids[i] = i;
		names->tell[i] = v->soname ? BY_FILE : BY_OBJECT;
		names->items[i] = with_object(
			v, profile_function(v->prof, i),
			v->soname ? "[]" : NULL);
	}
	link_equal(names, ids, n);
	free(ids);
	return names;
}

/* All in that ring get a longer name, and rings of their own by that. */
static void
tell_apart(const struct viewer *v, uint32_t function)
{
	struct names *names = v->names;
	const enum tell tell = names->tell[function];
	uint32_t *ids = NULL, i = function;
	size_t cap = 0, n = 0;

	do {
		ids = xgrow(ids, &cap, n + 1, sizeof *ids);
		ids[n++] = i;
		free(names->items[i]);
		names->items[i] = told_apart(v, profile_function(v->prof, i),
					     tell);
		names->tell[i]++;
		i = names->next[i];
	} while (i != function);
	link_equal(names, ids, n);
	for (size_t k = 0; k < n && tell + 1 == TELLS; k++)
		names->next[ids[k]] = ids[k];
	free(ids);
}

static bool
is_settled(const struct names *names, uint32_t function)
{
	return names->next[function] == function;
}

const char *
viewer_name(struct viewer *v, uint32_t function)
{
	if (!v->names)
		v->names = make_names(v);
	while (!is_settled(v->names, function))
		tell_apart(v, function);
	return v->names->items[function];
}

/*
 * A name that grows keeps what it begins with, but for a bracket at its end.
 * So where two differ before that, it need not be known what they grow to.
 * (Not where the object is named in any case: its brackets are others then.)
 */
int
viewer_compare_names(struct viewer *v, uint32_t a, uint32_t b)
{
	if (!v->names)
		v->names = make_names(v);
	for (;;) {
		const struct names *names = v->names;
		const char *x = names->items[a], *y = names->items[b];
		size_t i = 0;

		while (x[i] && x[i] == y[i])
			i++;
		if (is_settled(names, a) && is_settled(names, b))
			return strcmp(x, y);
		if (!v->soname && x[i] && x[i + 1] && y[i] && y[i + 1])
			return (unsigned char)x[i] - (unsigned char)y[i];
		tell_apart(v, is_settled(names, a) ? b : a);
	}
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
