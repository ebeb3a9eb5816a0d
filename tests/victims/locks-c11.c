/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * The waits of victim `locks` by the locks of C11.
 */
#include <stdatomic.h>
#include <stdbool.h>
#include <stdlib.h>
#include <threads.h>
#include <time.h>
#include <unistd.h>

#include "locks.h"

enum { NEAR_NS = 60000000, FAR_S = 20 };

static mtx_t held, aside;
static cnd_t cnd;
static thrd_t thread;
static bool given;
static atomic_bool may_end;

int
c11_init(void)
{
	return mtx_init(&held, mtx_timed) == thrd_success &&
		mtx_init(&aside, mtx_plain) == thrd_success &&
		cnd_init(&cnd) == thrd_success;
}

static struct timespec
moment(long s, long ns)
{
	struct timespec t;

	timespec_get(&t, TIME_UTC);
	t.tv_sec += s + (t.tv_nsec + ns) / 1000000000;
	t.tv_nsec = (t.tv_nsec + ns) % 1000000000;
	return t;
}

#define DOES(name, call) \
NOINLINE void \
name(void) \
{ \
	if ((call) != thrd_success) \
		_Exit(97); \
	__asm__ volatile(""); \
}

DOES(hold_mtx, mtx_lock(&held))
DOES(let_mtx, mtx_unlock(&held))
static DOES(take_c11, mtx_lock(&aside))
static DOES(put_c11, mtx_unlock(&aside))

NOINLINE void
wait_mtx(void)
{
	wait_begins();
	wait_ends(mtx_lock(&held) == thrd_success);
	let_mtx();
}

NOINLINE void
wait_mtx_timed(void)
{
	const struct timespec end = moment(FAR_S, 0);

	wait_begins();
	wait_ends(mtx_timedlock(&held, &end) == thrd_success);
	let_mtx();
}

void
ready_cnd(void)
{
	given = false;
}

void
let_cnd(void)
{
	take_c11();
	given = true;
	cnd_signal(&cnd);
	put_c11();
}

NOINLINE void
wait_cnd(void)
{
	take_c11();
	while (!given) {
		wait_begins();
		wait_ends(cnd_wait(&cnd, &aside) == thrd_success);
	}
	put_c11();
}

NOINLINE void
wait_cnd_late(void)
{
	const struct timespec end = moment(0, NEAR_NS);

	take_c11();
	wait_begins();
	wait_ends(cnd_timedwait(&cnd, &aside, &end) == thrd_timedout);
	put_c11();
}

static int
until_told(void *none)
{
	(void)none;
	while (!atomic_load(&may_end))
		usleep(200);
	return 0;
}

void
hold_thrd_join(void)
{
	atomic_store(&may_end, false);
	if (thrd_create(&thread, until_told, NULL) != thrd_success)
		_Exit(97);
}

void
let_thrd_join(void)
{
	atomic_store(&may_end, true);
}

NOINLINE void
wait_thrd_join(void)
{
	wait_begins();
	wait_ends(thrd_join(thread, NULL) == thrd_success);
	__asm__ volatile("");
}
