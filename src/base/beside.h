/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Inside base: a process of ours for what may never come back: a read of a page
 * that nobody serves, an open of a file whose file system does not answer. It
 * has a socket to us and nothing else: no thread, no descriptor, no terminal.
 * What is not answered in time is given up together with the process, which is
 * killed, or left behind until the kernel lets it go.
 *
 * Whoever does not serve one request will serve the next one no sooner, and the
 * thread that we look at may stand meanwhile: each time we wait half as long,
 * and then, for pages, not at all for a while.
 */
#ifndef SONDE_BASE_BESIDE_H
#define SONDE_BASE_BESIDE_H

#include "base.h"

#include <pthread.h>

enum { BESIDE_GIVEN_UP_MAX = 16 };

struct beside {
	pthread_mutex_t lock;		/* the caller's, around all of it */
	const char *name;		/* of the process */
	void (*serve)(int fd, void *arg);	/* until the socket ends */
	int least_ms;			/* waited for, whatever was before */
	bool sulks;			/* ... or for a while not at all */
	pid_t owner, pid;
	int fd;
	unsigned late;			/* requests that were given up */
	unsigned sound;			/* answers since then */
	uint64_t sulks_until;
	pid_t given_up[BESIDE_GIVEN_UP_MAX];	/* to be reaped */
};

/* Is it there, and is it ours? A fork has our words alone. */
bool beside_is_there(struct beside *b);
/* Start it, unless it was given up just now. */
bool beside_begin(struct beside *b, void *arg);
/* Wait for its answer; false: it did not come, and the process is gone. */
bool beside_await(struct beside *b);
/* The answer was sound. */
void beside_praise(struct beside *b);
void beside_part(struct beside *b);

#endif
