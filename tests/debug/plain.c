/* SPDX-License-Identifier: GPL-3.0-or-later */
/* To be looked at by tests/debug-*.test: one of each kind of thing. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <stdbool.h>
#include <stdint.h>
#include <complex.h>
enum color { RED, GREEN = 5, BLUE };
enum flags { FA = 1, FB = 2, FC = 4, FD = 8 };
enum mode { MA, MB, MC, MBOTH };
struct bits { unsigned a : 3; int b : 5; unsigned long c : 40; bool d : 1; enum color e : 4; };
union u { int i; float f; unsigned char b[4]; };
struct node { int value; struct node *next; const char *name; };
struct inner { short s; char c; };
struct big { int x; struct inner in; struct { int anon; union { int ua; float ub; }; }; double d; char text[16]; int (*fp)(int); struct inner arr[3]; int *p; struct node *list; union u un; enum color col; enum flags fl; };
typedef struct big big_t;
typedef unsigned long ulong_t;
typedef int (*callback)(int);
struct flex { int n; int data[]; };
static int file_static = 42;
int global_int = 7;
const char *global_text = "hello \"world\"\n";
double global_array[3] = { 1.5, 2.25, -3 };
int matrix[2][3] = { { 1, 2, 3 }, { 4, 5, 6 } };
char zeros[300];
char longtext[300];
big_t table[12];
__thread int tls_int = 99;
struct bits gbits = { 5, -7, 123456789012UL, true, BLUE };
int twice(int x) { return 2 * x; }
__attribute__((noinline)) static int stop_here(struct big *b, int n, char **names, double ratio)
{
	int vla[n];
	struct node second = { 2, NULL, "two" }, first = { 1, &second, "one" };
	struct node *list = &first;
	struct big copy = *b;
	struct flex *flex = malloc(sizeof *flex + 3 * sizeof(int));
	enum color c = GREEN, odd = (enum color)9;
	enum flags fl = FA | FC, fl2 = (enum flags)(FB | 32), fl0 = 0; enum mode no_mode = (enum mode)112;
	union u un = { .f = 1.0f };
	unsigned char uc = 200; signed char sc = -5; char ch = 'x';
	short sh = -300; unsigned short us = 65000; long l = -123456789012L; unsigned long long ull = ~0ULL;
	float f = 0.1f; long double ld = 1.25L; bool yes = true;
	__int128 big = (__int128)1 << 100; unsigned __int128 ubig = 5;
	float complex cf = 1 + 2 * I; double complex cd = 1.5 - 2.5 * I;
	callback cb = twice; void *vp = &global_int; int **pp; int *ip = &global_int; const char *null_text = NULL;
	int repeats[40] = { 0 }; int few[5] = { 1, 1, 1, 2, 3 }; int (*parr)[3] = matrix; char *esc = "tab\there\x01\x7f\xff" "9end";
	void *bad = (void *)0x10; struct node *badnode = (struct node *)0x10; char *badtext = (char *)8;
	volatile int vi = 3; const int ci = 4; int *const cp = &global_int; double inf = 1.0 / 0.0, nan = __builtin_nan("");
	wchar_t *wide = L"wide";
	static int in_static = 11;
	typeof(stop_here) *self = stop_here;
	pp = &ip; flex->n = 3;
	for (int i = 0; i < n; i++) { vla[i] = i * i; }
	for (int i = 0; i < 3; i++) flex->data[i] = i;
	{ int n = 77; int shadow = n; in_static += shadow - 77; 
	puts("stop"); 
	}
	return vla[n - 1] + list->value + copy.x + c + odd + fl + fl2 + fl0 + no_mode + un.i + uc + sc + ch + sh + us + (int)l + (int)ull + (int)f + (int)ld + yes + (int)big + (int)ubig + (int)crealf(cf) + (int)creal(cd) + cb(1) + (vp != 0) + **pp + (null_text != 0) + repeats[0] + few[0] + parr[0][0] + esc[0] + (bad != 0) + (badnode != 0) + (badtext != 0) + vi + ci + *cp + (int)inf + (int)nan + wide[0] + (self != 0) + (int)ratio + names[0][0];
}
int main(int argc, char **argv)
{
	struct big b = { .x = 1, .in = { 2, 'c' }, .d = 2.5, .text = "text", .fp = twice, .p = &global_int, .col = BLUE, .fl = FA | FB };
	b.anon = 3; b.ua = 0x40490fdb; b.arr[1].s = 9;
	memset(longtext, 'a', 250); memset(longtext + 20, 'b', 30);
	for (int i = 0; i < 280; i++) longtext[i] = i % 7 ? 'a' + i % 26 : 'z';
	char *names[] = { "alpha", "beta", NULL };
	return stop_here(&b, argc + 4, names, 3.75) + file_static;
}
