/* SPDX-License-Identifier: GPL-3.0-or-later */
/* A plug-in: blocks of whatever allocator it finds; see harm-blocks.c. */
#include <stdlib.h>

void *plugin_get(void);
int plugin_put(void *p);
extern int alien;

void *
plugin_get(void)
{
	return malloc(100);
}

int
plugin_put(void *p)
{
	free(p);
	return alien;
}
