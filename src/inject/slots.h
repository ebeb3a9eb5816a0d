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
	uint64_t originals[TRACE_FUNCTIONS];	/* 0: nobody defines it */
	struct trace_patch *items;
	size_t len, cap;
	size_t others;		/* that lead to another definition */
};

/* By reading alone. */
void slots_find(const struct plan *p, unsigned families, struct slots *s);
void slots_add(struct slots *s, const struct trace_patch *patch);
void slots_fini(struct slots *s);

/* ---- traced.c ------------------------------------------------------------ */

const char *traced_name(enum trace_function f);
/* TRACE_FUNCTIONS: none of them. */
int traced_function(const char *name);

#endif
