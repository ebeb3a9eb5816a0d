/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * What an address meant at a moment, and whose names it gets: reuse of an
 * address by another object in time, generated code, another build at the
 * recorded path, a file that is gone, an archived copy, a deleted file that
 * the process still maps.
 *
 * mission: S3 M3 M10 E4 E6
 */
#include <sys/mman.h>

#include "profile.h"
#include "profile-help.h"

__attribute__((noinline, used)) long known_name(long n);

long
known_name(long n)
{
	return n * 3 + (n ? n >> 2 : 1);
}

static struct text text;
static struct profile *prof;
static uint64_t t0;

/* Where known_name stands when the text of a copy is mapped at base. */
static uint64_t
moved(uint64_t base)
{
	return base + ((uint64_t)(uintptr_t)known_name - text.start) + 1;
}

static void
map_copy(struct experiment *exp, uint64_t ms, uint64_t base, const char *path,
	 const char *build_id)
{
	experiment_map(exp, t0 + ms * MS, base, text.size, text.offset, 5,
		       path, build_id);
}

static void
sample(struct experiment *exp, uint64_t ms, uint64_t pc, uint64_t weight_ms)
{
	experiment_clock(exp, t0 + ms * MS, 1, 0, MSTATE_USER, weight_ms * MS,
			 experiment_stack(exp, &pc, 1, STACK_COMPLETE));
}

static void
open_profile(struct experiment *exp, const char *path)
{
	if (experiment_close(exp, t0 + 1000 * MS, "the test ended it") < 0 ||
	    !(prof = profile_open(&path, 1, NULL))) {
		printf("%s: %s\n", path, fail_last()->reason);
		exit(1);
	}
}

static int
cpu_slot(void)
{
	int metrics[METRIC_MAX];
	const size_t n = profile_metrics(prof, metrics);

	for (size_t i = 0; i < n; i++)
		if (!strcmp(metric_table[metrics[i]].name, "totalcpu"))
			return (int)i;
	return 0;
}

/* Exclusive ms of a function of an object of that path (NULL: any). */
static uint64_t
cost(const char *function, const char *path)
{
	const struct function_cost *costs;
	const size_t n = profile_functions(prof, &costs);
	uint64_t sum = 0;

	for (size_t i = 0; i < n; i++) {
		const struct profile_function *fn =
			profile_function(prof, costs[i].function);

		if (!strcmp(fn->name, function) &&
		    (!path || !strcmp(fn->object->path, path)))
			sum += costs[i].cost.excl[cpu_slot()];
	}
	return sum / MS;
}

static size_t
functions_named(const char *name)
{
	const struct function_cost *costs;
	const size_t n = profile_functions(prof, &costs);
	size_t found = 0;

	for (size_t i = 0; i < n; i++)
		found += !strcmp(profile_function(prof, costs[i].function)
				 ->name, name);
	return found;
}

static const char *
trouble(const char *path)
{
	const struct object_cost *costs;
	const size_t n = profile_objects(prof, &costs);

	for (size_t i = 0; i < n; i++)
		if (!strcmp(costs[i].object->path, path))
			return costs[i].object->trouble ?
				costs[i].object->trouble : "";
	return "no such object";
}

enum { BASE = 0x10000000 };

static void
test_reuse(void)
{
	char *path = scratch_path("reuse.er"), *copy = scratch_path("copy.so");
	struct experiment *exp = new_experiment(path, t0);
	const uint64_t pc = moved(BASE);

	copy_file(text.path, copy);
	map_copy(exp, 10, BASE, text.path, NULL);
	experiment_unmap(exp, t0 + 20 * MS, BASE);
	map_copy(exp, 30, BASE, copy, NULL);
	experiment_unmap(exp, t0 + 40 * MS, BASE);
	/* each weight is a power of ten: the sums tell which went where */
	sample(exp, 15, pc, 1);
	sample(exp, 35, pc, 10);
	sample(exp, 45, pc, 100);	/* after the last unmapping */
	sample(exp, 5, pc, 1000);	/* the load was noticed late */
	sample(exp, 25, pc, 10000);	/* so was the second */
	sample(exp, 16, pc, 100000);
	open_profile(exp, path);
	CHECK_EQ(cost("known_name", text.path), 101001);
	CHECK_EQ(cost("known_name", copy), 10010);
	CHECK_EQ(cost("<Unknown>", NULL), 100);
	CHECK_EQ(functions_named("known_name"), 2);
	profile_free(prof);
	free(path);
	free(copy);
}

static void
test_generated(void)
{
	char *path = scratch_path("generated.er");
	struct experiment *exp = new_experiment(path, t0);

	experiment_function(exp, t0 + 1 * MS, 0x50000, 64, "jit_one");
	sample(exp, 2, 0x50010, 1);
	experiment_function(exp, t0 + 3 * MS, 0x50000, 64, "jit_two");
	sample(exp, 4, 0x50010, 10);
	experiment_function(exp, t0 + 5 * MS, 0x60000, 64, "jit_one");
	sample(exp, 6, 0x60010, 100);
	sample(exp, 6, 0x60050, 1000);	/* behind it */
	open_profile(exp, path);
	CHECK_EQ(cost("jit_one", NULL), 101);
	CHECK_EQ(cost("jit_two", NULL), 10);
	CHECK_EQ(cost("<Unknown>", NULL), 1000);
	CHECK_EQ(functions_named("jit_one"), 1);
	profile_free(prof);
	free(path);
}

static char *
own_build_id(void)
{
	struct symfile *sf = symfile_open(text.path, text.path, "");
	char *id = xstrdup(symfile_build_id(sf));

	symfile_free(sf);
	return id;
}

static void
test_builds(void)
{
	char *path = scratch_path("builds.er");
	char *same = scratch_path("same.so"), *other = scratch_path("other.so");
	char *id = own_build_id();
	struct experiment *exp = new_experiment(path, t0);

	copy_file(text.path, same);
	copy_file(text.path, other);
	map_copy(exp, 1, BASE, same, id);
	map_copy(exp, 1, 2 * BASE, other, "00112233445566778899");
	sample(exp, 2, moved(BASE), 1);
	sample(exp, 2, moved(2 * BASE), 10);
	open_profile(exp, path);
	CHECK_EQ(cost("known_name", same), 1);
	CHECK_EQ(cost("known_name", other), 0);
	CHECK_EQ(cost("<Unknown>", NULL), 0);
	CHECK_EQ(cost("<other.so> -- no functions found", other), 10);
	CHECK(strstr(trouble(other), "another build"));
	CHECK(strstr(trouble(other), "collector archive copy"));
	profile_free(prof);
	free(id);
	free(path);
	free(same);
	free(other);
}

static void
test_gone(void)
{
	char *path = scratch_path("gone.er"), *lib = scratch_path("gone.so");
	char *kept = scratch_path("kept.so");
	char *name = experiment_archived_name(kept);
	struct experiment *exp = new_experiment(path, t0);
	char *dir = xasprintf("%s/archives", path);
	char *copy = xasprintf("%s/%s", dir, name);

	(void)mkdir(dir, 0755);	/* the recorder may have made it */
	copy_file(text.path, copy);
	map_copy(exp, 1, BASE, lib, NULL);
	map_copy(exp, 1, 2 * BASE, kept, NULL);
	sample(exp, 2, moved(BASE), 1);
	sample(exp, 2, moved(2 * BASE), 10);
	open_profile(exp, path);
	CHECK_EQ(cost("<gone.so> -- no functions found", lib), 1);
	CHECK(strstr(trouble(lib), "is gone"));
	CHECK_EQ(cost("known_name", kept), 10);
	CHECK(!strstr(trouble(kept), "is gone"));
	profile_free(prof);
	free(path);
	free(lib);
	free(kept);
	free(name);
	free(dir);
	free(copy);
}

/* The recorded process is this one; it maps a file that was deleted. */
static void
test_deleted(void)
{
	char *path = scratch_path("deleted.er"), *lib = scratch_path("del.so");
	char *id = own_build_id();
	const size_t page = (size_t)sysconf(_SC_PAGESIZE);
	const size_t size = (text.size + page - 1) & ~(page - 1);

	copy_file(text.path, lib);

	const int fd = open(lib, O_RDONLY | O_CLOEXEC);
	void *at = mmap(NULL, size, PROT_READ | PROT_EXEC, MAP_PRIVATE, fd,
			(off_t)text.offset);
	char *link = xasprintf("/proc/self/map_files/%lx-%lx",
			       (unsigned long)at, (unsigned long)at + size);

	unlink(lib);
	if (fd < 0 || at == MAP_FAILED || !id[0] || access(link, R_OK) < 0) {
		puts("deleted file: map_files cannot be read here, not tested");
	} else {
		struct experiment *exp = new_experiment(path, t0);

		experiment_map(exp, t0, (uint64_t)(uintptr_t)at, size,
			       text.offset, 5, lib, id);
		sample(exp, 2, moved((uint64_t)(uintptr_t)at), 10);
		open_profile(exp, path);
		CHECK_EQ(cost("known_name", lib), 10);
		profile_free(prof);
	}
	free(link);
	free(id);
	free(path);
	free(lib);
}

int
main(void)
{
	text = own_text();
	t0 = now_ns();
	make_scratch();
	test_reuse();
	test_generated();
	test_builds();
	test_gone();
	test_deleted();
	return failures != 0;
}
