/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * heapchurn: threads are born, ask for a few blocks and end, one after the
 * other. It counts them and the blocks.
 */
#include "crew.h"

enum { BLOCKS = 20, SMALL_STACK = 65536, SIZES = 512, PAGE = 4096 };

static _Atomic uint64_t threads, allocs, wrong;

static void *
be_short(void *arg)
{
	for (int i = 0; i < BLOCKS; i++) {
		char *volatile p = malloc((size_t)i + 1);

		if (!p)
			atomic_fetch_add(&wrong, 1);
		free(p);
	}
	atomic_fetch_add(&allocs, BLOCKS);
	return arg;
}

/* Of many sizes, so that a stack is another one's again not too soon. */
static void *
work(void *number)
{
	pthread_attr_t attr;

	(void)number;
	pthread_attr_init(&attr);
	for (size_t n = 0; !atomic_load(&victim_over); n++) {
		pthread_t th;

		pthread_attr_setstacksize(&attr, SMALL_STACK +
					  n % SIZES * PAGE);
		if (pthread_create(&th, &attr, be_short, NULL) != 0)
			exit(99);
		pthread_join(th, NULL);
		atomic_fetch_add(&threads, 1);
	}
	pthread_attr_destroy(&attr);
	return NULL;
}

static void
mark(void)
{
	victim_say("threads", atomic_load(&threads));
	victim_say("allocs", atomic_load(&allocs));
}

int
main(void)
{
	victim_init();
	crew_serve(2, work, mark);
	return victim_end(atomic_load(&wrong) == 0);
}
