/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * The page that a victim and the harness have in common.
 */
#ifndef TORTURE_PAGE_H
#define TORTURE_PAGE_H

#include <stdint.h>

struct torture_page {
	volatile int ready;		/* the victim is at work */
	volatile int stop;		/* it shall end */
	volatile uint64_t eintr, wrong, missed;
	volatile uint64_t rounds;	/* of work: it is alive */
};

enum { TORTURE_PAGE_SIZE = 4096 };

#endif
