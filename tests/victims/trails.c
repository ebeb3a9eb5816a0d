/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * A program that gets, while it is visited, what a visit of ours might forget
 * in it: at the first mark a descriptor and a mapping of a file named like
 * our record memory. It had one such descriptor from the start, which is its
 * own affair.
 */
#include <sys/mman.h>

#include "victim.h"

enum { BYTES = 8192 };

static int
forget(void)
{
	const int fd = memfd_create("sonde-records", MFD_CLOEXEC);

	if (fd < 0 || ftruncate(fd, BYTES) < 0)
		exit(99);
	return fd;
}

static void
mark(void)
{
	const int fd = forget();

	if (mmap(NULL, BYTES, PROT_READ, MAP_SHARED, fd, 0) == MAP_FAILED)
		exit(99);
	victim_say("forgotten", (uint64_t)fd);
}

int
main(void)
{
	victim_init();
	(void)forget();
	victim_ready();
	victim_serve(mark);
	return victim_end(true);
}
