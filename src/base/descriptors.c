/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * How many descriptors this process may have: perf takes one per thread.
 */
#include "base.h"

#include <limits.h>
#include <sys/resource.h>

enum {
	DESCRIPTORS_KEPT = 64,		/* for the rest of this process */
	DESCRIPTORS_WANTED = 1 << 20,	/* the default of fs.nr_open */
};

void
descriptors_raise(void)
{
	struct rlimit now;

	if (getrlimit(RLIMIT_NOFILE, &now) < 0)
		return;

	struct rlimit more = {
		.rlim_cur = DESCRIPTORS_WANTED,
		.rlim_max = now.rlim_max > DESCRIPTORS_WANTED ?
			now.rlim_max : DESCRIPTORS_WANTED,
	};

	if (now.rlim_cur >= DESCRIPTORS_WANTED ||
	    setrlimit(RLIMIT_NOFILE, &more) == 0)
		return;
	now.rlim_cur = now.rlim_max;
	/* where even that is refused we open fewer and say so */
	(void)setrlimit(RLIMIT_NOFILE, &now);
}

uint64_t
descriptors_most(void)
{
	struct rlimit now;

	return getrlimit(RLIMIT_NOFILE, &now) == 0 ? now.rlim_cur : UINT64_MAX;
}

bool
descriptors_suffice(size_t n)
{
	return n <= INT_MAX && !descriptor_is_reserve((int)n);
}

bool
descriptor_is_reserve(int fd)
{
	return (uint64_t)fd + DESCRIPTORS_KEPT >= descriptors_most();
}
