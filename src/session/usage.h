/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * What a process uses, as the kernel counts it: for resource samples.
 */
#ifndef SONDE_SESSION_USAGE_H
#define SONDE_SESSION_USAGE_H

#include "private.h"

/* What the process has used so far; of one that is gone, or not ours to see,
 * what was read before stands. Nothing goes back. */
/* Returns the moment that this, and all time by state, is of. rec may be
 * NULL. */
uint64_t usage_read(struct target *t, const struct recorder *rec,
		    struct experiment_usage *use);

/* ---- usage_switches.c ---------------------------------------------------- */

enum { USAGE_SWITCHES = 2 };	/* voluntary, involuntary */
struct usage_switches {
	struct map seen[USAGE_SWITCHES];	/* tid -> so many it had */
	size_t next;		/* whose turn it is */
	bool begun, whole;	/* whole: who is new is new */
};
enum usage_reach { USAGE_SOME, USAGE_ALL };
/* Of its threads, one by one, which takes its time; of those that have ended
 * what was seen of them. */
void usage_read_switches(struct usage_switches *s, struct target *t,
			 struct experiment_usage *use, enum usage_reach reach);
void usage_switches_fini(struct usage_switches *s);

#endif
