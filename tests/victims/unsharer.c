/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * A thread that takes descriptors of its own (unshare) at the worst of moments:
 * as soon as a file of sonde's is open in the program. So it has a copy, which
 * nobody closes who closes the first one.
 */
#include <pthread.h>
#include <sched.h>
#include <sys/syscall.h>

#include "victim.h"

enum { FDS = 72 };

static _Atomic int copied, tid;

static bool
ours_is_open(void)
{
	char path[40], link[64];

	for (int fd = 3; fd < FDS; fd++) {
		snprintf(path, sizeof path, "/proc/thread-self/fd/%d", fd);

		const ssize_t n = readlink(path, link, sizeof link - 1);

		link[n > 0 ? n : 0] = 0;
		if (strstr(link, "memfd:sonde"))
			return true;
	}
	return false;
}

static void *
unsharer(void *arg)
{
	const struct timespec nap = { .tv_nsec = 1000000 };

	(void)arg;
	tid = (int)syscall(SYS_gettid);
	while (!victim_over) {
		if (copied)
			(void)nanosleep(&nap, NULL);
		else if (ours_is_open())
			copied = unshare(CLONE_FILES) == 0 && ours_is_open();
	}
	return NULL;
}

static void
mark(void)
{
	victim_say("thread", (uint64_t)tid);
	victim_say("copied", (uint64_t)copied);
	victim_say("open", ours_is_open());
}

int
main(void)
{
	pthread_t th;

	victim_init();
	if (pthread_create(&th, NULL, unsharer, NULL))
		return 99;
	while (!tid)
		;
	victim_ready();
	victim_serve(mark);
	victim_over = true;
	(void)pthread_join(th, NULL);
	return victim_end(true);
}
