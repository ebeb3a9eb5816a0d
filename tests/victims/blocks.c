/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * blocks.so: what unloader loads. Slots of a PLT, and one in a table.
 */
#include <stdlib.h>

void blocks(int n);

static void *(*volatile by_table)(size_t) = malloc;

void
blocks(int n)
{
	for (int i = 0; i < n; i++) {
		void *volatile p = i % 2 ? by_table(1) : malloc(1);

		free(p);
	}
}
