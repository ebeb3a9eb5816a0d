/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Which thread created which, and with what stack, the same beside every
 * engine. NULL, of one that is not wanted, may be given everywhere.
 */
#ifndef SONDE_SESSION_CREATORS_H
#define SONDE_SESSION_CREATORS_H

#include "private.h"

struct creators;

/* Births are followed from now on; never fails: what cannot be followed is
 * said in the experiment. */
struct creators *creators_new(struct recorder *rec,
			      const struct recorder_options *o);
void creators_free(struct creators *c);
/* The same after a pause. */
void creators_begin(struct creators *c);
/* No more of them; the experiment is told how many there were. */
void creators_end(struct creators *c);
size_t creators_pollfds(const struct creators *c, struct pollfd *fds,
			size_t max);
void creators_drain(struct creators *c);
/* There is enough to be drained. */
bool creators_ripe(const struct creators *c);
/* Threads that were born so far are ours. */
void creators_forget(struct creators *c);
void creators_give_register(struct creators *c);

#endif
