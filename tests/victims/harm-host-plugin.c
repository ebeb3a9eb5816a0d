/* SPDX-License-Identifier: GPL-3.0-or-later */
/* What harm-host loads, and gives its functions to. */
extern int connect(int signal, int slot, int flags);
extern int send(int a, int b, int c, int d, int e, int f, int g, int h);
extern double dup(double x);

int work(int more);

/* 1: all of them did what they do. */
int
work(int more)
{
	if (!more)
		return connect(0x7ffff, 4, 5) == 0x7ffff + 9;
	return send(1, 1, 1, 1, 1, 1, 1, 1) == 116 && dup(21) == 42.0 &&
		connect(0, 8, 0) == 8;
}
