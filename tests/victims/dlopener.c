/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * dlopener DIR: loads plugin-a.so, burns 30 ms of CPU in it, unloads it; then
 * plugin-b.so for 10 ms; again and again. Both are the same size, so they
 * come to lie at the same addresses: reused says how often.
 */
#include <dlfcn.h>
#include <pthread.h>

#include "burn.h"
#include "crew.h"

enum { STEPS = 100000 };

static _Atomic uint64_t a_ns, b_ns, visits, reused, wrong;
static const char *dir;

/* Burns for that long by this thread's clock; the CPU time really used. */
static uint64_t
visit(const char *file, const char *name, uint64_t ns, void **place)
{
	const uint64_t start = victim_clock(CLOCK_THREAD_CPUTIME_ID);
	uint64_t (*work)(uint64_t, uint64_t);
	char path[4096];
	void *plugin;
	uint64_t now;

	snprintf(path, sizeof path, "%s/%s", dir, file);
	plugin = dlopen(path, RTLD_NOW | RTLD_LOCAL);
	if (!plugin) {
		fprintf(stderr, "%s\n", dlerror());
		exit(99);
	}
	*(void **)&work = dlsym(plugin, name);
	if (!work)
		exit(99);
	do {
		if (work(1, STEPS) != leap(1, STEPS))
			atomic_fetch_add(&wrong, 1);
		now = victim_clock(CLOCK_THREAD_CPUTIME_ID);
	} while (now - start < ns);
	if ((void *)work == *place)
		atomic_fetch_add(&reused, 1);
	*place = (void *)work;
	atomic_fetch_add(&visits, 1);
	dlclose(plugin);
	return now - start;
}

static void *
work(void *arg)
{
	void *place = NULL;

	(void)arg;
	while (!atomic_load(&victim_over)) {
		atomic_fetch_add(&a_ns, visit("plugin-a.so", "plugin_a",
					      30000000, &place));
		atomic_fetch_add(&b_ns, visit("plugin-b.so", "plugin_b",
					      10000000, &place));
	}
	return NULL;
}

static void
mark(void)
{
	victim_say("a_ns", atomic_load(&a_ns));
	victim_say("b_ns", atomic_load(&b_ns));
	victim_say("visits", atomic_load(&visits));
	victim_say("reused", atomic_load(&reused));
}

int
main(int argc, char **argv)
{
	if (argc != 2)
		return 99;
	dir = argv[1];
	victim_init();
	crew_serve(1, work, mark);
	return victim_end(atomic_load(&wrong) == 0);
}
