/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Its line table names as sources what are none: a device without end, a file
 * that waits for the kernel, a line that no file has.
 */
#include "victim.h"

static atomic_ulong sum;

/* clang-format off */
#line 10 "/dev/zero"
VICTIM_OWN static void zero(void) { for (int i = 0; i < 9999; i++) sum += i; }
#line 10 "/proc/kmsg"
VICTIM_OWN static void kmsg(void) { for (int i = 0; i < 9999; i++) sum += i; }
#line 2147483647 "/etc/passwd"
VICTIM_OWN static void big(void) { for (int i = 0; i < 9999; i++) sum += i; }
#line 20 "oddsource.c"

static bool
work(void)
{
	zero();
	kmsg();
	big();
	return true;
}

int
main(void)
{
	victim_init();
	victim_ready();
	while (!atomic_load(&victim_over) && atomic_load(&sum) < UINT64_MAX / 2)
		(void)work();
	return victim_end(true);
}
