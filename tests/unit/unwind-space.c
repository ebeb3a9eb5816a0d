/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * mission: S2, S3
 *
 * The map of a process: ranges stay sorted and disjoint whatever is mapped
 * over what (checked against an array of pages), each keeps its own bias when
 * it is cut, two mappings of one file at different biases both have rows, and
 * the cache forgets what an older map said.
 */
#include <dlfcn.h>

#include "unwind-help.h"

enum { PAGE = 4096, PAGES = 64, ROUNDS = 3000 };

#define BASE 0x500000000000ull

static struct unwind_object *
open_self(void)
{
	return unwind_object_open(open("/proc/self/exe", O_RDONLY | O_CLOEXEC),
				  "this program");
}

/* What each page should be: 0 unmapped, else 1 + its file offset in pages,
 * with the sign of "has an object". */
static int model[PAGES];

static void
change(struct unwind_space *space, struct unwind_object *obj)
{
	const unsigned a = (unsigned)rand() % PAGES;
	const unsigned n = 1 + (unsigned)rand() % (PAGES - a);
	const int offset = rand() % 16, what = rand() % 3;

	if (what == 0)
		unwind_space_unmap(space, BASE + a * PAGE,
				   BASE + (a + n) * PAGE);
	else
		unwind_space_map(space, BASE + a * PAGE, BASE + (a + n) * PAGE,
				 (uint64_t)offset * PAGE,
				 what == 1 ? obj : NULL);
	for (unsigned i = 0; i < n; i++)
		model[a + i] = what == 0 ? 0 : what == 1 ?
			1 + offset + (int)i : -1;
}

static void
check_page(const struct step_tables *tables, unsigned i, uint64_t bases[])
{
	const uint64_t addr = BASE + i * PAGE + 17;
	const struct step_range *range = step_range_find(tables, addr);

	CHECK(!range == !model[i], "page %u: %s", i,
	      range ? "mapped" : "not mapped");
	if (!range || !model[i])
		return;
	CHECK((range->rows != 0) == (model[i] > 0), "page %u: rows", i);
	/* pages that came with one mapping have one base */
	if (i && model[i] > 1 && model[i - 1] == model[i] - 1)
		CHECK(range->base == bases[i - 1] || range->start ==
		      BASE + i * PAGE, "page %u: base moved", i);
	bases[i] = range->base;
}

static void
check_map(struct unwind_space *space)
{
	const struct step_tables *tables = unwind_space_tables(space);
	uint64_t bases[PAGES] = { 0 };

	for (uint32_t i = 1; i < tables->count; i++)
		CHECK(tables->ranges[i - 1].end <= tables->ranges[i].start,
		      "ranges %u and %u", i - 1, i);
	for (unsigned i = 0; i < PAGES; i++)
		check_page(tables, i, bases);
}

static void
random_changes(void)
{
	struct unwind_space *space = unwind_space_new();
	struct unwind_object *obj = open_self();

	if (!obj)
		exit(99);
	for (int i = 0; i < ROUNDS && !failures; i++) {
		change(space, obj);
		check_map(space);
	}
	unwind_object_free(obj);	/* the space holds its own */
	check_map(space);
	unwind_space_free(space);
}

/* The text segment of this program: its place in the file and in memory. */
static bool
find_text(uint64_t *start, uint64_t *end, uint64_t *offset)
{
	char line[512];
	unsigned long from, to, at;
	FILE *maps = fopen("/proc/self/maps", "r");
	bool found = false;

	while (maps && !found && fgets(line, sizeof line, maps))
		found = sscanf(line, "%lx-%lx r-xp %lx", &from, &to, &at) == 3;
	if (maps)
		fclose(maps);
	*start = from;
	*end = to;
	*offset = at;
	return found;
}

static struct step_row
row_of(struct unwind_space *space, uint64_t pc)
{
	const struct step_tables *tables = unwind_space_tables(space);
	const struct step_range *range = step_range_find(tables, pc);

	return range ? step_row_find(tables, range, pc) :
		       (struct step_row){ .kind = 99 };
}

/* One file twice, the second at another bias and cut in its middle. */
static void
two_biases(void)
{
	struct unwind_space *space = unwind_space_new();
	struct unwind_object *obj = open_self();
	uint64_t start, end, offset;
	unsigned same = 0;

	if (!obj || !find_text(&start, &end, &offset))
		exit(99);

	const uint64_t size = end - start;

	unwind_space_map(space, start, end, offset, obj);
	unwind_space_map(space, BASE, BASE + size, offset, obj);
	unwind_space_unmap(space, BASE + PAGE, BASE + 2 * PAGE);
	for (uint64_t at = 0; at < size; at++) {
		const struct step_row a = row_of(space, start + at);
		const struct step_row b = row_of(space, BASE + at);
		const bool hole = at >= PAGE && at < 2 * PAGE;

		CHECK(hole ? b.kind == 99 : memcmp(&a, &b, sizeof a) == 0,
		      "byte %#lx of the text differs", (unsigned long)at);
		same += !hole && a.kind == STEP_SP;
	}
	CHECK(same > 100, "only %u bytes have rows", same);
	unwind_object_free(obj);
	unwind_space_free(space);
}

/* A call in our own text, then something else mapped over it. */
static void
cache_forgets(void)
{
	struct unwind_space *space = unwind_space_new();
	struct unwind_object *obj = open_self();
	const uint64_t ret = (uintptr_t)__builtin_return_address(0);
	uint64_t start, end, offset, longest = 0;

	if (!obj || !find_text(&start, &end, &offset))
		exit(99);
	unwind_space_map(space, start, end, offset, obj);
	/* the entry of a call of ours: longer than one byte */
	for (uint64_t pc = start; pc < end; pc++)
		if (pc - unwind_call_address(space, pc) == 5)
			longest = pc;
	CHECK(longest, "no call in our own text");
	unwind_space_map(space, start, end, 0, NULL);
	CHECK(longest - unwind_call_address(space, longest) == 1,
	      "the cache remembers a call that is gone");
	CHECK(ret - unwind_call_address(space, ret) == 1, "%#lx",
	      (unsigned long)ret);
	unwind_object_free(obj);
	unwind_space_free(space);
}

static void
refusals(void)
{
	const int fd = open("/dev/null", O_RDONLY | O_CLOEXEC);

	CHECK(!unwind_object_open(fd, "null"), "/dev/null is no object");
	CHECK(fail_last()->kind == FAIL_UNSUITABLE, "kind");
	CHECK(strstr(fail_last()->reason, "null"), "%s", fail_last()->reason);
	CHECK(!unwind_object_open(-1, "gone"), "no descriptor");
	CHECK(!unwind_object_memory(xcalloc(1, 10), 10, BASE, "tiny"), "tiny");
	unwind_object_free(NULL);
	unwind_space_free(NULL);
}

int
main(void)
{
	srand(42);
	refusals();
	random_changes();
	two_biases();
	cache_forgets();
	return failures ? 1 : 0;
}
