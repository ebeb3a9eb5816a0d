/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Names of classes as the program has them in their type_info, and as debug
 * information has them: are they the same?
 */
#include "private.h"

#include <ctype.h>
#include <stdlib.h>
#include <string.h>

enum { NAME_MOST = 4096, SCOPES_MAX = 64 };

/* Blanks, and the letters behind numbers, are written in more than one way. */
static const char *
plain_name(struct debug *d, const char *name)
{
	char *out = arena_text(&d->scratch, name);
	size_t n = 0;
	bool number = false;

	for (; *name; name++) {
		const bool before = n && (isalnum((unsigned char)out[n - 1]) ||
					  out[n - 1] == '_');

		if (*name == ' ' || (number && strchr("uUlL", *name)))
			continue;
		number = isdigit((unsigned char)*name) && (number || !before);
		out[n++] = *name;
	}
	out[n] = '\0';
	return out;
}

const char *
rtti_linkage(struct debug *d, uint64_t info)
{
	char linkage[NAME_MOST] = "_ZTS";
	size_t n = strlen(linkage);
	uint64_t at;

	if (!debug_read_word(d, info + 8, &at))
		return NULL;
	for (; n < sizeof linkage; at++) {
		if (debug_read(d, at, &linkage[n], 1) < 0)
			return NULL;
		if (!linkage[n])
			return arena_text(&d->scratch, linkage);
		/* a name of one object alone is marked */
		n += linkage[n] != '*' || n != strlen("_ZTS");
	}
	return NULL;
}

const char *
rtti_name(struct debug *d, const char *linkage)
{
	static const char in_front[] = "typeinfo name for ";
	char *shown = name_display(linkage, NAME_LONG);
	const char *name = NULL;

	if (str_starts(shown, in_front))
		name = plain_name(d, shown + strlen(in_front));
	free(shown);
	return name;
}

bool
class_is_alike(const struct class_name *s, const char *name)
{
	const size_t n = strcspn(name, "<");

	return name[n] && s->name[strcspn(s->name, "<")] &&
		n == strcspn(s->name, "<") && strncmp(name, s->name, n) == 0;
}

static bool
ends_in(const char *name, const char *last)
{
	const size_t n = strlen(name), m = strlen(last);

	return n > m + 2 && strcmp(name + n - m, last) == 0 &&
		memcmp(name + n - m - 2, "::", 2) == 0;
}

bool
class_is(const struct class_name *s, const char *name, const char *linkage)
{
	if (s->local)
		return str_starts(linkage, s->local) && ends_in(name, s->name);
	return strcmp(name, s->name) == 0;
}

/* Of the function around it, if one is: the linkage names of its classes have
 * its own between Z and E. */
static const char *
local_linkage(struct debug *d, struct type *t)
{
	const char *linkage = NULL;
	Dwarf_Die scopes[SCOPES_MAX];
	Dwarf_Attribute attr;
	const size_t n = t->has_die ?
		symbol_scopes(&t->die, scopes, SCOPES_MAX) : 0;

	/* the innermost function */
	for (size_t i = n; i-- > 0 && !linkage;) {
		if (dwarf_tag(&scopes[i]) != DW_TAG_subprogram)
			continue;
		linkage = dwarf_attr_integrate(&scopes[i],
					       DW_AT_linkage_name, &attr) ?
			dwarf_formstring(&attr) : NULL;
		linkage = linkage && str_starts(linkage, "_Z") ?
			arena_printf(&d->scratch, "_ZTSZ%sE", linkage + 2) :
			die_name(&scopes[i]) ?
			arena_printf(&d->scratch, "_ZTSZ%zu%sE",
				     strlen(die_name(&scopes[i])),
				     die_name(&scopes[i])) : NULL;
	}
	return linkage;
}

struct class_name
class_name_of(struct debug *d, struct type *t)
{
	struct class_name s = {
		.name = plain_name(d, t->name), .local = local_linkage(d, t),
	};

	for (const char *at; s.local && (at = strstr(s.name, "::"));)
		s.name = at + 2;
	return s;
}
