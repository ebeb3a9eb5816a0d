/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Which kernel this is, for what no call tells: bits that have meant different
 * things. Where a feature can be tried, it is tried instead.
 */
#include <stdio.h>
#include <sys/utsname.h>

#include "base.h"

bool
kernel_is_at_least(unsigned major, unsigned minor)
{
	struct utsname u;
	unsigned its_major = 0, its_minor = 0;

	return uname(&u) == 0 &&
		sscanf(u.release, "%u.%u", &its_major, &its_minor) == 2 &&
		(its_major > major ||
		 (its_major == major && its_minor >= minor));
}
