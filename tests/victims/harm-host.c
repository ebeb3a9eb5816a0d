/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * harm-host PLUG-IN: a program whose plug-ins call functions of its own that
 * are named like libc's, and have other arguments. Some are bound when it is
 * ready, the others at the first mark.
 */
#include <dlfcn.h>

#include "victim.h"

int own_connect(int signal, int slot, int flags) __asm__("connect");
int own_send(int a, int b, int c, int d, int e, int f, int g, int h)
	__asm__("send");
double own_dup(double x) __asm__("dup");

int
own_connect(int signal, int slot, int flags)
{
	return signal + slot + flags;
}

int
own_send(int a, int b, int c, int d, int e, int f, int g, int h)
{
	return a + b + c + d + e + f + 10 * g + 100 * h;
}

double
own_dup(double x)
{
	return 2 * x;
}

static int (*work)(int);
static bool is_right = true;

static void
mark(void)
{
	for (int i = 0; i < 8; i++)
		is_right &= work(i & 1) == 1;
	victim_say("right", is_right);
}

int
main(int argc, char **argv)
{
	void *plugin = argc > 1 ? dlopen(argv[1], RTLD_LAZY) : NULL;

	work = plugin ? (int (*)(int))dlsym(plugin, "work") : NULL;
	if (!work)
		return 99;
	victim_init();
	is_right &= work(0) == 1;
	victim_ready();
	victim_serve(mark);
	return victim_end(is_right);
}
