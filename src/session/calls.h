/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Calls of the program's that are traced (calls.c).
 */
#ifndef SONDE_SESSION_CALLS_H
#define SONDE_SESSION_CALLS_H

#include "private.h"

struct calls;
struct guest;

/* shared: the engine's guest, which outlives this; NULL: one of our own. NULL:
 * it cannot be done. */
struct calls *calls_new(struct recorder *rec, const struct recorder_options *o,
			struct guest *shared);
void calls_drain(struct calls *c);
/* All of it out of the target; text says what could not be. NULL is nothing;
 * frees. */
void calls_end(struct calls *c, struct str *text);

#endif
