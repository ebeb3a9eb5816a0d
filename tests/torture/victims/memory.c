/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * memory: allocators and loaders that a visitor finds at work. Every block
 * holds a pattern which is looked at before it is given back.
 */
#include "victim.h"

#include <dlfcn.h>
#include <link.h>

enum { BLOCKS = 64, BLOCK_MAX = 3000 };

struct heap {
	unsigned char *block[BLOCKS];
	size_t size[BLOCKS];
	unsigned word;
};

static void
heap_step(struct heap *h)
{
	const unsigned i = (h->word = h->word * 1103515245 + 12345) >> 8 &
		(BLOCKS - 1);
	size_t k;

	for (k = 0; k < h->size[i]; k++)
		if (h->block[i][k] != (unsigned char)(i + h->size[i]))
			WRONG(k);
	free(h->block[i]);
	h->size[i] = (h->word >> 16) % BLOCK_MAX;
	h->block[i] = malloc(h->size[i] + 1);
	memset(h->block[i], (int)(i + h->size[i]), h->size[i]);
}

static void
heap_end(struct heap *h)
{
	size_t k;

	for (k = 0; k < BLOCKS; k++)
		free(h->block[k]);
}

static void *
storm(void *arg)
{
	struct heap h = { .word = (unsigned)(uintptr_t)arg * 7919 + 1 };

	while (!over()) {
		heap_step(&h);
		round_done();
	}
	heap_end(&h);
	return NULL;
}

/* realloc, calloc, aligned blocks, and ones big enough for mmap. */
static void *
shapes(void *arg)
{
	unsigned word = (unsigned)(uintptr_t)arg + 7;

	while (!over()) {
		const size_t n = 1 + (word = word * 1103515245 + 12345) %
			300000;
		unsigned char *a = calloc(1, n), *b;
		void *c = NULL;
		size_t k;

		for (k = 0; k < n; k += 4096)
			if (a[k])
				WRONG(a[k]);
		memset(a, 0x5a, n);
		b = realloc(a, n / 2 + 1);
		if (b[n / 4] != 0x5a)
			WRONG(b[n / 4]);
		free(b);
		if (posix_memalign(&c, 4096, n) != 0 ||
		    ((uintptr_t)c & 4095))
			WRONG(1);
		free(c);
		round_done();
	}
	return NULL;
}

static struct heap handled;

static void
on_signal(int signo)
{
	int i;

	(void)signo;
	for (i = 0; i < 200; i++)
		heap_step(&handled);
}

/* The heap is used by the handler alone, so it may. */
static void *
in_handler(void *arg)
{
	struct sigaction sa = { .sa_handler = on_signal };

	sigaction(SIGUSR1, &sa, NULL);
	while (!over()) {
		raise(SIGUSR1);
		round_done();
	}
	heap_end(&handled);
	return arg;
}

static int
count_object(struct dl_phdr_info *info, size_t size, void *arg)
{
	(void)size;
	*(int *)arg += info->dlpi_phnum > 0;
	return 0;
}

static const char *const libraries[] = {
#ifdef __GLIBC__
	"libutil.so.1", "libresolv.so.2", "libBrokenLocale.so.1",
#else
	"libc.so", "libc.so", "libc.so",
#endif
};

static void *
loader(void *arg)
{
	unsigned i = (unsigned)(uintptr_t)arg;

	while (!over()) {
		void *h = dlopen(libraries[i++ % 3], RTLD_NOW);
		int objects = 0;

		dl_iterate_phdr(count_object, &objects);
		if (!h || objects < 2 || dlclose(h) != 0)
			WRONG(objects);
		round_done();
	}
	return NULL;
}

static void *
short_life(void *arg)
{
	free(malloc(100));
	return arg;
}

static void *
births(void *arg)
{
	while (!over()) {
		pthread_t th;
		void *back = NULL;

		if (pthread_create(&th, NULL, short_life, arg) != 0 ||
		    pthread_join(th, &back) != 0 || back != arg)
			WRONG(0);
		round_done();
	}
	return NULL;
}

static void *
loader_or_births(void *arg)
{
	return (uintptr_t)arg % 3 < 2 ? loader(arg) : births(arg);
}

/* A second libc, in a name space of its own, at work beside the first. */
static void *
second_libc(void *arg)
{
#ifdef __GLIBC__
	void *h = dlmopen(LM_ID_NEWLM, "libc.so.6", RTLD_NOW);
	void *(*other_malloc)(size_t);
	void (*other_free)(void *);

	if (!h) {
		fprintf(stderr, "%s\n", dlerror());
		exit(99);
	}
	*(void **)&other_malloc = dlsym(h, "malloc");
	*(void **)&other_free = dlsym(h, "free");
	while (!over()) {
		char *a = other_malloc(100), *b = malloc(100);

		memset(a, 1, 100);
		memset(b, 2, 100);
		if (a[99] != 1 || b[0] != 2)
			WRONG(a[99]);
		other_free(a);
		free(b);
		round_done();
	}
#endif
	return arg;
}

static const struct trait traits[] = {
	{ "malloc", storm, 0 },
	{ "shapes", shapes, 0 },
	{ "handler", in_handler, 0 },
	{ "loader", loader, 0 },
	{ "births", births, 0 },
	{ "loader-births", loader_or_births, 0 },
	{ "second-libc", second_libc, 0 },
	{ "small-stack", storm, 16384 },
};

int
main(int argc, char **argv)
{
	return victim_run(traits, COUNT_OF(traits), argc, argv);
}
