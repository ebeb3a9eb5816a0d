/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * remapper [HOW...]: whatever is done to the memory of its text, all of its
 * CPU time is in inner_spin, which outer_call calls. At each word `mark` it
 * does the next thing: `split` makes a page of its text writable and leaves it
 * so, `whole` takes that back, `copy` moves the text to anonymous memory at
 * its own address, `file` to a file without a name. With `memfd` it executes itself from a memfd first; that
 * name may end in anything.
 */
#include <pthread.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <fcntl.h>
#include <stdlib.h>

#include "burn.h"
#include "victim.h"

enum { PAGE = 4096, STEPS = 200000 };

extern char __etext;
/* a page of its own */
#ifdef __clang__	/* knows no noclone, and does not clone */
#define PAGED __attribute__((noinline, aligned(PAGE)))
#else
#define PAGED __attribute__((noinline, noclone, aligned(PAGE)))
#endif

static uint64_t product = 1, steps;
static volatile uint64_t patches;
static char **next_way;

/* A page of its own, which nobody but us runs. */
PAGED static void
patched(void)
{
	patches++;
}

PAGED static void
inner_spin(void)
{
	product = burn(product, STEPS);
	steps += STEPS;
}

NOINLINE static void
outer_call(void)
{
	while (!atomic_load(&victim_over))
		inner_spin();
	__asm__ volatile("");
}

static void *
work(void *arg)
{
	outer_call();
	return arg;
}

/* Memory of so many bytes; of a file that has no name any more, or of none. */
static char *
room_for_copy(size_t n, bool of_file)
{
	char name[] = "/tmp/remapper.XXXXXX";
	const int fd = of_file ? mkstemp(name) : -1;
	char *copy;

	if (of_file && (fd < 0 || unlink(name) < 0 || ftruncate(fd, n) < 0))
		exit(77);
	copy = mmap(NULL, n, PROT_READ | PROT_WRITE, of_file ? MAP_SHARED :
		    MAP_PRIVATE | MAP_ANONYMOUS, fd, 0);
	if (of_file)
		close(fd);
	if (copy == MAP_FAILED)
		exit(77);
	return copy;
}

static void
copy_text(bool to_file)
{
	char *from = (char *)((uintptr_t)patched & -(uintptr_t)PAGE);
	char *to = (char *)(((uintptr_t)&__etext + PAGE - 1) &
			    -(uintptr_t)PAGE);
	const size_t n = (size_t)(to - from);
	char *copy = room_for_copy(n, to_file);

	memcpy(copy, from, n);
	if (mprotect(copy, n, PROT_READ | PROT_EXEC) < 0 ||
	    mremap(copy, n, n, MREMAP_MAYMOVE | MREMAP_FIXED, from) ==
	    MAP_FAILED)
		exit(77);
}

static void
go_on(void)
{
	const char *way = *next_way ? *next_way++ : "";
	char *page = (char *)patched;
	int r = 0;

	if (strcmp(way, "split") == 0)
		r = mprotect(page, PAGE, PROT_READ | PROT_WRITE | PROT_EXEC);
	else if (strcmp(way, "whole") == 0)
		r = mprotect(page, PAGE, PROT_READ | PROT_EXEC);
	else if (strcmp(way, "copy") == 0)
		copy_text(false);
	else if (strcmp(way, "file") == 0)
		copy_text(true);
	if (r < 0)
		exit(77);
	patched();
}

/* Back only where it failed. */
static void
execute_from_memory(char **argv)
{
	const int fd = memfd_create("program", 0);
	const int own = open("/proc/self/exe", O_RDONLY);
	char buf[PAGE];
	ssize_t n;

	while ((n = read(own, buf, sizeof buf)) > 0)
		if (write(fd, buf, (size_t)n) != n)
			exit(99);
	close(own);
	argv[1] = argv[0];
	fexecve(fd, argv + 1, environ);
	exit(77);
}

int
main(int argc, char **argv)
{
	pthread_t th;

	if (argc > 1 && strcmp(argv[1], "memfd") == 0)
		execute_from_memory(argv);
	next_way = argv + 1;
	victim_init();
	if (pthread_create(&th, NULL, work, NULL))
		return 99;
	victim_ready();
	victim_serve(go_on);
	pthread_join(th, NULL);
	return victim_end(product == leap(1, steps));
}
