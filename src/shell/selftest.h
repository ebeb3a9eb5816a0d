/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * selftest: what the verb and its bundled victim have in common, one page; and
 * what the verb finds.
 */
#ifndef SELFTEST_H
#define SELFTEST_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

struct shell;

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

/* ---- what was found: selftest_table.c ------------------------------------ */

enum { SELFTEST_PROGRAMS = 2, SELFTEST_ENGINES = 3 };

extern const char *const selftest_engines[], *const selftest_programs[];

struct row {			/* one program by one engine */
	unsigned cycles, refused;
	uint64_t samples;
	double *stops;		/* the longest of each cycle, ms */
	size_t nstops, cap;
	char *reason, *remedy;	/* of the last refusal */
	char *unclean;		/* a receipt that says so */
};

struct selftest {
	struct shell *sh;
	pid_t pid;
	int status;		/* its wait status; -1 while it lives */
	struct selftest_page *page;
	char *directory;
	unsigned lost;
	uint64_t eintr, wrong, missed;
	size_t known[SELFTEST_ENGINES], nknown;	/* of engines */
	struct row rows[SELFTEST_PROGRAMS][SELFTEST_ENGINES];
};

void selftest_print(struct selftest *t);
bool selftest_was_harm(const struct selftest *t);

#endif
