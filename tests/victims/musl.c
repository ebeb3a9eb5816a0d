/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * musl THREADS DIR: what musl takes locks for, all the time and in turn, on
 * each of so many threads (0: on the only one, where musl takes no locks):
 * blocks of the heap that hold a pattern, plugin-a.so of DIR loaded and its
 * function called, the loader's list walked, a thread made and joined. It
 * counts what was wrong and what said EINTR. Built by musl-gcc.
 */
#include <dlfcn.h>
#include <link.h>
#include <pthread.h>

#include "burn.h"
#include "victim.h"

enum { THREADS_MAX = 64, BLOCKS = 32, STEPS = 2000 };

static _Atomic uint64_t rounds, wrong, eintr;
static const char *dir;

static void
heap(uint32_t *seed)
{
	unsigned char *block[BLOCKS];
	size_t size[BLOCKS], i, k;

	for (i = 0; i < BLOCKS; i++) {
		size[i] = 1 + victim_random(seed) % 3000;
		block[i] = malloc(size[i]);
		if (!block[i])
			exit(99);
		memset(block[i], (int)i, size[i]);
	}
	for (i = 0; i < BLOCKS; i++) {
		for (k = 0; k < size[i]; k++)
			if (block[i][k] != i)
				atomic_fetch_add(&wrong, 1);
		free(block[i]);
	}
}

static int
count_object(struct dl_phdr_info *info, size_t size, void *arg)
{
	(void)info, (void)size;
	++*(int *)arg;
	return 0;
}

static void
loader(void)
{
	uint64_t (*work)(uint64_t, uint64_t);
	char path[4096];
	void *plugin;
	int objects = 0;

	snprintf(path, sizeof path, "%s/plugin-a.so", dir);
	plugin = dlopen(path, RTLD_NOW | RTLD_LOCAL);
	if (!plugin) {
		fprintf(stderr, "%s\n", dlerror());
		exit(99);
	}
	*(void **)&work = dlsym(plugin, "plugin_a");
	if (!work || work(1, STEPS) != leap(1, STEPS))
		atomic_fetch_add(&wrong, 1);
	dl_iterate_phdr(count_object, &objects);
	if (objects < 3)
		atomic_fetch_add(&wrong, 1);
	dlclose(plugin);
}

static void *
child(void *arg)
{
	return arg;
}

static void
birth(void)
{
	pthread_t thread;
	void *result = NULL;
	int local;

	if (pthread_create(&thread, NULL, child, &local) != 0)
		exit(99);
	if (pthread_join(thread, &result) != 0 || result != &local)
		atomic_fetch_add(&wrong, 1);
}

static void
nap(void)
{
	const struct timespec ms = { 0, 1000000 };

	if (nanosleep(&ms, NULL) < 0)
		atomic_fetch_add(&eintr, 1);
}

static void
work_round(uint32_t *seed, bool alone)
{
	heap(seed);
	loader();
	if (!alone)
		birth();
	if (victim_random(seed) % 64 == 0)
		nap();
	atomic_fetch_add(&rounds, 1);
}

static void *
work(void *arg)
{
	uint32_t seed = (uint32_t)(uintptr_t)arg;

	while (!atomic_load(&victim_over))
		work_round(&seed, false);
	return NULL;
}

static void
mark(void)
{
	victim_say("rounds", atomic_load(&rounds));
	victim_say("wrong", atomic_load(&wrong));
	victim_say("eintr", atomic_load(&eintr));
}

/* One thread does both. */
static void
work_alone(void)
{
	struct pollfd in = { .fd = 0, .events = POLLIN };
	uint32_t seed = 1;

	while (poll(&in, 1, 0) == 0 && !atomic_load(&victim_over))
		work_round(&seed, true);
}

int
main(int argc, char **argv)
{
	pthread_t threads[THREADS_MAX];
	long n, i;

	if (argc != 3 || (n = atol(argv[1])) > THREADS_MAX)
		return 99;
	dir = argv[2];
	victim_init();
	for (i = 0; i < n; i++)
		if (pthread_create(&threads[i], NULL, work,
				   (void *)(uintptr_t)(i + 1)) != 0)
			return 99;
	victim_ready();
	if (n == 0)
		work_alone();
	victim_serve(mark);
	for (i = 0; i < n; i++)
		pthread_join(threads[i], NULL);
	mark();
	return victim_end(atomic_load(&wrong) == 0 &&
			  atomic_load(&eintr) == 0 && atomic_load(&rounds) > 0);
}
