/* SPDX-License-Identifier: GPL-3.0-or-later */
/* One of what swapper loads: it has slots of functions that are traced. */
#include <stdlib.h>

int use(void);

int
use(void)
{
	char *volatile p = malloc(100);
	const int there = p != NULL;

	free(p);
	return there;
}
