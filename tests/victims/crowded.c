/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * crowded [LEFT]: has as many mappings as vm.max_map_count allows, but LEFT;
 * what it needs itself it can still map, and its pages hold what they held.
 */
#include <sys/mman.h>

#include "victim.h"

enum { PAGE = 4096 };

static uint64_t pages;
static char *area;

static uint64_t
number_of(const char *path)
{
	FILE *file = fopen(path, "r");
	unsigned long long n = 0;

	if (!file || fscanf(file, "%llu", &n) != 1)
		exit(99);
	fclose(file);
	return n;
}

static uint64_t
mappings(void)
{
	FILE *file = fopen("/proc/self/maps", "r");
	uint64_t lines = 0;
	int c;

	if (!file)
		exit(99);
	while ((c = getc(file)) != EOF)
		lines += c == '\n';
	fclose(file);
	return lines;
}

static bool
sound(void)
{
	for (uint64_t i = 0; i < pages; i += 2)
		if (area[i * PAGE] != (char)i)
			return false;
	return true;
}

static void
mark(void)
{
	victim_say("sound", sound());
	victim_say("mappings", mappings());
}

int
main(int argc, char **argv)
{
	const uint64_t left = argc > 1 ? strtoull(argv[1], NULL, 10) : 0;
	const uint64_t most = number_of("/proc/sys/vm/max_map_count");

	victim_init();
	setvbuf(stdin, NULL, _IONBF, 0);
	pages = most - left - mappings() - 4;
	area = mmap(NULL, pages * PAGE, PROT_READ, MAP_PRIVATE |
		    MAP_ANONYMOUS, -1, 0);
	if (area == MAP_FAILED)
		return 99;
	/* every second page is another's neighbour no more */
	for (uint64_t i = 0; i < pages; i += 2) {
		if (mprotect(area + i * PAGE, PAGE, PROT_READ | PROT_WRITE))
			return 99;
		area[i * PAGE] = (char)i;
	}
	victim_ready();
	victim_serve(mark);
	mark();
	return victim_end(sound());
}
