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

/* ---- concern.c ----------------------------------------------------------- */

/* The function that the filter is for is to return to this breakpoint. */
bool filter_has_site(const struct filter *f, size_t number);
/* A target_concern of a tracer. */
bool concern_of_hit(void *arg, const struct breakpoint *bp, pid_t tid);
/* After filters have come or gone. */
void concern_ask_all(struct tracer *tr);
/* The thread has entered a function that returns to this address, or has
 * returned to it. */
void concern_ask_site(struct tracer *tr, const struct filter *f,
		      uint64_t address, pid_t tid);

/* ---- deeds.c ------------------------------------------------------------- */

/* Can all be done at once, with nobody but a thread that has hit standing? */
bool deeds_are_possible(const struct tracer *tr,
			const struct session_filter *say);
void deeds_do(struct tracer *tr, struct filter *f);

#endif
