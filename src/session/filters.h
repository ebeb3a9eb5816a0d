/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Hits that are judged in the tracer process (filters.c), and what is done at
 * them (deeds.c).
 */
#ifndef SONDE_SESSION_FILTERS_H
#define SONDE_SESSION_FILTERS_H

#include "private.h"

struct filter {
	struct filter *next;
	struct session_filter say;	/* what was asked for */
	size_t number;		/* of the breakpoint */
	bool on;		/* false: the shell judges, until it asks anew */
	bool asked;		/* about the hit there is, and says: */
	int verdict;
	uint64_t to;		/* where the function that it enters returns to */
	uint64_t told;		/* the hit that the shell is to hear of; or 0 */
	uint64_t hits;
	uint64_t fired;		/* what it has done, and the shell does not know */
};

/* ---- deeds.c ------------------------------------------------------------- */

/* Can all be done at once, with nobody but a thread that has hit standing? */
bool deeds_are_possible(const struct tracer *tr,
			const struct session_filter *say);
void deeds_do(struct tracer *tr, struct filter *f);

#endif
