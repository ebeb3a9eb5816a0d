/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * first.so, second.so: what plugger loads, by -DTAKE=first_take and
 * -DBEGIN=first_begin.
 */
#include <stdlib.h>

void BEGIN(void);
void TAKE(int n);
void eat(void **blocks, int n);

static void *volatile last;

__attribute__((constructor)) void
BEGIN(void)
{
	for (int i = 0; i < 7; i++)
		last = malloc(40);
}

void
TAKE(int n)
{
	for (int i = 0; i < n; i++)
		last = malloc(120);
}

void
eat(void **blocks, int n)
{
	for (int i = 0; i < n; i++)
		free(blocks[i]);
}
