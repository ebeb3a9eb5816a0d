/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Functions that take and give whole structs, unions, complex and long
 * numbers. Each says what it was given.
 */
#include <complex.h>
#include <stdio.h>

struct small { char c; short s; };
struct pair { int a, b; };
struct mixed { int i; double d; };
struct reals { float x, y, z; };
struct two { double x, y; };
struct long_one { long a, b, c; };
struct large { int n[24]; };
struct bits { unsigned a : 3, b : 7; int c; };
struct extended { long double x; };
struct nested { struct pair p; union { float f; int i; } u; };
struct packed { char c; long l; } __attribute__((packed));
struct array { short n[3]; char c[2]; };
struct across { unsigned long a : 60; unsigned b : 10; }
	__attribute__((packed));
struct lined { int i; } __attribute__((aligned(16)));
struct widest { __int128 w; long l; };
union either { int i; double d; char text[8]; };

struct small small = { 'x', -5 };
struct pair pair = { 3, 4 };
struct mixed mixed = { 7, 2.5 };
struct reals reals = { 1, 2, 3.5f };
struct two two = { 1.25, -2 };
struct long_one long_one = { 1, 2, 3 };
struct large large = { { 1, 2, 3, [23] = 9 } };
struct bits bits = { 5, 99, -1 };
struct extended extended = { 1.5L };
struct nested nested = { { 1, 2 }, { 2.5f } };
struct packed packed = { 'p', 1234567890123 };
struct array array = { { 1, 2, 3 }, "ab" };
struct across across = { 1, 777 };
struct lined lined = { 5 };
struct widest widest = { 7, 8 };
union either either = { .d = 6.5 };
_Complex float cf = 1 + 2 * I;
_Complex double cd = 3 - 4 * I;
_Complex long double cl = 5 + 6 * I;
long double ld = 1.25L;
__int128 wide = (__int128)1 << 70;
static int called;

#define ECHO(type, name, format, ...) \
	__attribute__((noinline)) type echo_##name(type v) \
	{ printf("echo_" #name " " format "\n", __VA_ARGS__); called++; \
	  return v; }

ECHO(struct small, small, "%c %d", v.c, v.s)
ECHO(struct pair, pair, "%d %d", v.a, v.b)
ECHO(struct mixed, mixed, "%d %g", v.i, v.d)
ECHO(struct reals, reals, "%g %g %g", v.x, v.y, v.z)
ECHO(struct two, two, "%g %g", v.x, v.y)
ECHO(struct long_one, long_one, "%ld %ld %ld", v.a, v.b, v.c)
ECHO(struct large, large, "%d %d %d", v.n[0], v.n[2], v.n[23])
ECHO(struct bits, bits, "%u %u %d", v.a, v.b, v.c)
ECHO(struct extended, extended, "%Lg", v.x)
ECHO(struct nested, nested, "%d %d %g", v.p.a, v.p.b, v.u.f)
ECHO(struct packed, packed, "%c %ld", v.c, v.l)
ECHO(struct array, array, "%d %d %c", v.n[0], v.n[2], v.c[1])
ECHO(union either, either, "%g", v.d)
ECHO(_Complex float, cf, "%g %g", crealf(v), cimagf(v))
ECHO(_Complex double, cd, "%g %g", creal(v), cimag(v))
ECHO(_Complex long double, cl, "%Lg %Lg", creall(v), cimagl(v))
ECHO(long double, ld, "%Lg", v)
ECHO(__int128, wide, "%llx", (unsigned long long)(v >> 64))

ECHO(struct across, across, "%lu %u", (unsigned long)v.a, v.b)

/* On the stack what is aligned to 16 bytes stands so. */
int
lined_up(double a, double b, double c, double d, double e, double f, double g,
	 double h, double i, int j, int k, int l, int m, int n, int o,
	 struct widest p, double q, struct lined r)
{
	return a + b + c + d + e + f + g + h + i + j + k + l + m + n + o == 15 &&
		p.w == 7 && p.l == 8 && q == 9 && r.i == 5;
}

/* More than the registers take: the one that does not fit goes by the stack
 * whole, and a later one still finds a register. */
long
crowd(int a, int b, int c, int d, int e, struct long_one f, struct pair g,
      struct pair h, long double i, double j)
{
	printf("crowd %d %d %d %d %d %ld %d %d %Lg %g\n", a, b, c, d, e, f.c,
	       g.b, h.a, i, j);
	return f.a + g.a + h.b;
}

long double
half(long double x, float y)
{
	return x / 2 + y;
}

__attribute__((noinline)) void
stop_here(void)
{
	__asm__ volatile("" ::: "memory");
}

int
main(void)
{
	setvbuf(stdout, NULL, _IOLBF, 0);
	stop_here();
	printf("called %d\n", called);
	return 0;
}
