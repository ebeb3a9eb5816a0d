/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * The calls that wait at a word of memory: which word, and for how long. What
 * the word is a part of: locks.c and objects.c.
 */
#include "private.h"

#include <linux/futex.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>

#ifndef FUTEX_LOCK_PI2			/* since Linux 5.14 */
#define FUTEX_LOCK_PI2 13
#endif

/* struct futex_waitv, since Linux 5.16. */
struct waiter_layout {
	uint64_t value, address;
	uint32_t flags, reserved;
};

enum { WORDS_MAX = 128 };	/* that the kernel takes */

/* Until a moment of that clock. */
static void
take_moment(struct wait *w, uint64_t at, clockid_t clock)
{
	struct timespec ts;

	w->timed = at != 0;
	w->timeout_ns = w->timed &&
		memory_read(w->tid, at, &ts, sizeof ts) == 0 ?
		time_left(clock, &ts) : -1;
}

static bool
is_of_several(const struct wait *w)
{
#ifdef SYS_futex_waitv
	return w->call == SYS_futex_waitv;
#else
	(void)w;
	return false;
#endif
}

/* Whichever is woken first. They are words only: glibc's locks have one. */
static void
look_at_several(struct wait *w)
{
	const size_t n = w->args[1] < WORDS_MAX ? w->args[1] : WORDS_MAX;
	struct waiter_layout list[WORDS_MAX];

	take_moment(w, w->args[3], (clockid_t)w->args[4]);
	if (!n || memory_read(w->tid, w->args[0], list, n * sizeof *list) < 0)
		return;
	w->words = xcalloc(n, sizeof *w->words);
	w->word_count = n;
	for (size_t i = 0; i < n; i++) {
		w->words[i].address = list[i].address;
		(void)memory_read(w->tid, list[i].address, &w->words[i].value,
				  sizeof w->words[i].value);
	}
	w->word = w->address = w->words[0].address;
	w->value = w->words[0].value;
}

/* FUTEX_WAIT is told how long, the others until when. */
static void
take_limit(struct wait *w, int command, bool realtime)
{
	struct timespec ts;

	if (command != FUTEX_WAIT) {
		take_moment(w, w->args[3], realtime ||
			    command == FUTEX_LOCK_PI ?
			    CLOCK_REALTIME : CLOCK_MONOTONIC);
		return;
	}
	w->timed = w->args[3] != 0;
	w->timeout_ns = -1;
	if (!w->timed || memory_read(w->tid, w->args[3], &ts, sizeof ts) < 0)
		return;
	if (ts.tv_sec >= 0 && ts.tv_sec < INT32_MAX)
		w->timeout_ns = ts.tv_sec * INT64_C(1000000000) + ts.tv_nsec;
}

void
futex_look(struct why *y, struct wait *w, const char *const *functions)
{
	const uint32_t op = (uint32_t)w->args[1];
	const int command = (int)(op & ~(FUTEX_PRIVATE_FLAG |
					 FUTEX_CLOCK_REALTIME)) & 0x7f;
	const enum lock_kind by_name = lock_by_names(functions);
	/* other languages have locks of their own, with values like these */
	const bool guess = by_name == LOCK_UNKNOWN && !lock_has_names(functions);

	if (is_of_several(w)) {
		look_at_several(w);
		return;
	}
	w->word = w->address = w->args[0];
	take_limit(w, command, op & FUTEX_CLOCK_REALTIME);
	if (memory_then(y, w, w->word, &w->value,
			sizeof w->value) < 0)
		return;
	if (command == FUTEX_LOCK_PI || command == FUTEX_LOCK_PI2)
		lock_look_pi(y, w);
	else
		lock_look(y, w, by_name, guess);
}
