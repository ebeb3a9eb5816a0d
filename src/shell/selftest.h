/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * selftest: what the verb and its bundled victim have in common, one page.
 */
#ifndef SELFTEST_H
#define SELFTEST_H

#include <stdint.h>

enum { SELFTEST_PAGE = 4096 };

struct selftest_page {
	volatile int ready;	/* the victim is at work */
	volatile int stop;	/* it shall end */
	uint64_t rounds;	/* of work */
	uint64_t eintr;		/* calls that were cut short */
	uint64_t wrong;		/* results, blocks of memory, times */
	uint64_t missed;	/* expiries of its timer */
};

/* Be the victim: `how` is "threads" or "alone", number is the page's
 * descriptor. Returns its exit status. */
int selftest_victim(const char *how, const char *number);

#endif
