/* SPDX-License-Identifier: GPL-3.0-or-later */
/* To be looked at by tests/debug-truth.test: numbers of rare formats. */
#include <fcntl.h>
#include <stdio.h>
#include <sys/mman.h>

struct __attribute__((scalar_storage_order("big-endian"))) turned { int i; };
struct { int n; char data[]; } flexible = { 3, "ab" };
struct turned turned = { 1 };
__int128 huge = ((__int128)1 << 100) + 5, low = -((__int128)1 << 64);
long double tenth = 0.1L;
#ifdef __x86_64__
struct wide { unsigned __int128 bits : 100; } wide = { 1 };
_Float128 quad = 1.5, quads[2] = { 0.25, -8 };
_Float16 half = 1.5f16;
_Decimal64 decimal = 1.5DD;
_Complex int whole = 1 + 2i;
typedef float v8f __attribute__((vector_size(32)));

/* the upper half is in a register that cores of this kind do not have */
__attribute__((noinline, target("avx"))) int
vectors(v8f v)
{
	puts("vectors");
	return (int)v[7];
}
#endif

int
main(void)
{
	/* a file that lies before the program itself */
	mmap((void *)0x10000000, 4096, PROT_READ, MAP_PRIVATE | MAP_FIXED,
	     open("/bin/sh", O_RDONLY), 0);
	puts("main");
	return 0;
}
