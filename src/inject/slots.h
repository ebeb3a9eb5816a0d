/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Which words of the target's memory lead to traced functions.
 */
#ifndef SONDE_INJECT_SLOTS_H
#define SONDE_INJECT_SLOTS_H

#include "plan.h"
#include "trace.h"

struct slots {
	unsigned families;	/* 1 << enum trace_family */
	bool only_hooked;	/* items are what leads to a hook already */
	uint64_t originals[TRACE_FUNCTIONS];	/* 0: nobody defines it */
	uint64_t definers[TRACE_FUNCTIONS];	/* headers of load objects */
	struct trace_patch *items;
	size_t len, cap;
	struct trace_name names[TRACE_NAMES_MAX];
	size_t nnames;
	bool named[TRACE_FUNCTIONS];	/* some of names are its */
	size_t silent;		/* of items: they trace nothing */
	size_t others[TRACE_FAMILIES];	/* that lead to another definition */
	size_t in_code[TRACE_FAMILIES];	/* on pages of code: not written */
	size_t heap_of_program;	/* of the heap, in the program itself */
	bool own_threads;	/* pthread_join is libc's own */
	/* Where there are older definitions elsewhere: the version of the one
	 * that was taken, in the target; 0: any will do. */
	uint64_t versions[TRACE_FUNCTIONS];
	bool rivals[TRACE_FUNCTIONS];	/* there are other definitions */
	bool foreign[TRACE_FUNCTIONS];	/* and one of them comes first */
};

/* By reading alone. */
void slots_find(const struct plan *p, unsigned families, struct slots *s);
/* Of all families, those that lead to a hook of p's library. */
void slots_find_hooked(const struct plan *p, struct slots *s);
void slots_add(struct slots *s, const struct trace_patch *patch);
void slots_fini(struct slots *s);

/* ---- originals.c --------------------------------------------------------- */

/* For s->families. */
void originals_find(const struct plan *p, struct slots *s);
bool originals_are_musls(const struct plan *p);
/* Not the loader, nor our library. */
bool originals_is_traced(const struct plan *p, const struct image *img);
/* In its text. */
bool originals_is_in(const struct image *img, uint64_t address);

/* ---- traced.c ------------------------------------------------------------ */

/* What hooks call of the load object that has `beside`. */
struct traced_helper {
	const char *name;
	enum trace_function beside;
	unsigned minor;		/* of the first glibc whose is right */
};
/* NULL: it is none. */
const struct traced_helper *traced_helper(enum trace_function f);
/* "": a helper. */
const char *traced_name(enum trace_function f);
enum { TRACED_NAMES = 2 };
/* One of the names that its slots have; NULL: it has none, or not so many. */
const char *traced_name_at(enum trace_function f, int i);
/* Hooked whatever is traced, and nothing is recorded of it. */
bool traced_always(int f);
/* TRACE_FUNCTIONS: none of them. */
int traced_function(const char *name);

#endif
