/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * What class an object really is, by the Itanium ABI for C++: it begins with a
 * pointer into its table of virtual functions, before which the table has the
 * way to the whole object and the type_info of its class. That names the class
 * and its bases, with how to come to each. All of it is the program's memory,
 * and is believed within bounds only.
 */
#include "private.h"

#include <inttypes.h>
#include <string.h>

enum { BASES_MAX = 1024, DEPTH_MAX = 64, STEPS_MAX = 20000, SPOTS_MAX = 8 };

enum {				/* of a base in __vmi_class_type_info */
	BASE_VIRTUAL = 1, BASE_PUBLIC = 2, BASE_SHIFT = 8,
};

struct spots {			/* where different objects of a class are */
	uint64_t at[SPOTS_MAX];
	size_t n;
};

struct hunt {
	struct debug *d;
	struct class_name from, to;
	uint64_t from_at;
	bool any_access;
	struct spots derived;	/* those of `to` of which from is a base */
	struct spots all;	/* all of `to` */
	bool all_public;	/* the last one of them */
	bool met, from_public;	/* from was come to */
	bool alike;		/* a template of that name, written otherwise */
	const char *whole;	/* what the whole object is */
	size_t steps;
};

struct base {
	uint64_t info, at;
	bool is_public;
};

/* ---- bases ---- */

static int
unknown(const struct hunt *h)
{
	return fail(FAIL_UNSUITABLE, "what class the object at %#" PRIx64
		    " is, is not known: its type_info is not understood", h->from_at);
}

/* The place of a base: behind its object's begin, or as its table says. */
static int
base_at(struct hunt *h, uint64_t at, int64_t flags, uint64_t *out)
{
	const int64_t offset = flags >> BASE_SHIFT;
	uint64_t table, distance = (uint64_t)offset;

	if (flags & BASE_VIRTUAL &&
	    (!debug_read_word(h->d, at, &table) ||
	     !debug_read_word(h->d, table + (uint64_t)offset, &distance)))
		return unknown(h);
	*out = at + distance;
	return 0;
}

/* How many it has; -1: not known. */
static int64_t
count_bases(struct hunt *h, uint64_t info, bool *is_single)
{
	struct str kind = {0};
	uint64_t table;
	int64_t n = -1;
	uint32_t count;

	*is_single = false;
	if (debug_read_word(h->d, info, &table) &&
	    print_symbol(h->d, table, &kind)) {
		const char *text = str_text(&kind);

		*is_single = strstr(text, "__si_class_type_info") != NULL;
		if (*is_single)
			n = 1;
		else if (strstr(text, "__vmi_class_type_info") &&
			 debug_read(h->d, info + 20, &count, 4) == 0)
			n = count <= BASES_MAX ? (int64_t)count : -1;
		else if (strstr(text, "__class_type_info"))
			n = 0;
	}
	str_fini(&kind);
	return n < 0 ? unknown(h) : n;
}

static int
base_of(struct hunt *h, uint64_t info, uint64_t at, bool is_single, size_t i,
	struct base *out)
{
	const uint64_t entry = info + 24 + 16 * i;
	uint64_t flags = 0;

	out->at = at;
	out->is_public = true;
	if (is_single)
		return debug_read_word(h->d, info + 16, &out->info) ? 0 :
			unknown(h);
	if (!debug_read_word(h->d, entry, &out->info) ||
	    !debug_read_word(h->d, entry + 8, &flags))
		return unknown(h);
	out->is_public = flags & BASE_PUBLIC;
	return base_at(h, at, (int64_t)flags, &out->at);
}

/* ---- the walk ---- */

static void
add_spot(struct spots *s, uint64_t at)
{
	for (size_t i = 0; i < s->n; i++)
		if (s->at[i] == at)
			return;
	if (s->n < SPOTS_MAX)
		s->at[s->n++] = at;
}

struct way {			/* to where the walk is */
	uint64_t at;
	bool is_public;
	bool in_to, to_public;	/* it leads through an object of `to` */
	uint64_t to_at;
	int depth;
};

static void
look_at(struct hunt *h, struct way *w, const char *name, const char *linkage)
{
	if (class_is(&h->to, name, linkage)) {
		if (h->all.n == 0 || h->all.at[0] != w->at)
			h->all_public = false;
		add_spot(&h->all, w->at);
		h->all_public |= w->is_public;
		w->in_to = w->to_public = true;
		w->to_at = w->at;
	} else {
		h->alike |= class_is_alike(&h->to, name);
	}
	if (w->at != h->from_at || !class_is(&h->from, name, linkage))
		return;
	h->met = true;
	h->from_public |= w->is_public;
	if (w->in_to && (w->to_public || h->any_access))
		add_spot(&h->derived, w->to_at);
}

static int
walk(struct hunt *h, uint64_t info, struct way w)
{
	const char *linkage = rtti_linkage(h->d, info);
	const char *name = linkage ? rtti_name(h->d, linkage) : NULL;
	bool is_single;
	int64_t n;

	if (!name || w.depth > DEPTH_MAX || h->steps++ > STEPS_MAX)
		return unknown(h);
	if (!h->whole)
		h->whole = name;
	look_at(h, &w, name, linkage);
	n = count_bases(h, info, &is_single);
	for (int64_t i = 0; i < n; i++) {
		struct way next = w;
		struct base b;

		if (base_of(h, info, w.at, is_single, (size_t)i, &b) < 0)
			return -1;
		next.at = b.at;
		next.is_public &= b.is_public;
		next.to_public &= b.is_public;
		next.depth++;
		if (walk(h, b.info, next) < 0)
			return -1;
	}
	return n < 0 ? -1 : 0;
}

/* A table without a type_info; or what was taken for a table. */
static int
mute(struct hunt *h, uint64_t table)
{
	static const char begin[] = " <vtable for ";
	struct str name = {0};
	const char *text;

	(void)print_symbol(h->d, table, &name);
	text = str_text(&name);
	if (str_starts(text, begin))
		(void)fail(FAIL_MISSING, "class %.*s was compiled without RTTI "
			   "(-fno-rtti): what the object at %#" PRIx64 " is, "
			   "is not known", (int)strcspn(text + sizeof begin - 1,
							"+"),
			   text + sizeof begin - 1, h->from_at);
	else
		(void)fail(FAIL_UNSUITABLE, "at %#" PRIx64 " is no object "
			   "with virtual functions, or one without RTTI "
			   "(-fno-rtti)", h->from_at);
	str_fini(&name);
	return -1;
}

/* All of the object of which a part of class from is at h->from_at. */
static int
hunt(struct hunt *h, uint64_t *whole)
{
	uint64_t table, top, info;

	if (debug_read(h->d, h->from_at, &table, 8) < 0)
		return -1;
	if (!debug_read_word(h->d, table - 16, &top) ||
	    !debug_read_word(h->d, table - 8, &info))
		return fail(FAIL_UNSUITABLE, "at %#" PRIx64 " is no object "
			    "with virtual functions", h->from_at);
	if (!info)
		return mute(h, table);
	*whole = h->from_at + top;
	if (walk(h, info, (struct way){ .at = *whole, .is_public = true }) < 0)
		return -1;
	if (h->met)
		return 0;
	return fail(FAIL_UNSUITABLE, "the object at %#" PRIx64 " is of class "
		    "%s, which has no %s there", h->from_at, h->whole,
		    h->from.name);
}

static int
hunt_class(struct debug *d, struct hunt *h, struct type *from, uint64_t addr,
	   struct type *to, uint64_t *whole)
{
	if (!from->name || (to && !to->name))
		return fail(FAIL_UNSUITABLE, "a class without a name is not "
			    "found in an object");
	h->d = d;
	h->from_at = addr;
	h->from = class_name_of(d, from);
	if (to)
		h->to = class_name_of(d, to);
	if (hunt(h, whole) < 0)
		return -1;
	if (to && !h->all.n && h->alike)
		return fail(FAIL_UNSUITABLE, "the object is of class %s, and "
			    "whether a template in it is %s is not known",
			    h->whole, to->name);
	return 0;
}

int
rtti_derived(struct debug *d, struct type *from, uint64_t addr,
	     struct type *to, uint64_t *out)
{
	struct hunt h = { .to.name = "", .any_access = true };
	uint64_t whole;

	if (hunt_class(d, &h, from, addr, to, &whole) < 0)
		return -1;
	if (h.derived.n == 0)
		return fail(FAIL_UNSUITABLE, "the object is of class %s: no "
			    "%s has that base", h.whole, to->name);
	if (h.derived.n > 1)
		return fail(FAIL_UNSUITABLE, "the object is of class %s: more "
			    "than one %s has that base", h.whole,
			    to->name);
	*out = h.derived.at[0];
	return 0;
}

int
rtti_cast(struct debug *d, struct type *from, uint64_t addr, struct type *to,
	  uint64_t *out)
{
	struct hunt h = { .to.name = "" };
	uint64_t whole;

	if (hunt_class(d, &h, from, addr, to, &whole) < 0)
		return -1;
	*out = 0;
	if (!to)
		*out = whole;
	else if (h.derived.n == 1)
		*out = h.derived.at[0];
	else if (h.derived.n == 0 && h.from_public && h.all.n == 1 &&
		 h.all_public)
		*out = h.all.at[0];
	return 0;
}
