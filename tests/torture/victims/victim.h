/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * What every torture victim shares: a page in common with the harness, in
 * which it counts what it saw. It ends when the page says so, prints one line
 *
 *	eintr N wrong N missed N rounds N
 *
 * and its status is 0 only when all but the rounds are 0. Everything here is
 * static: one program per file, some of them linked statically or with musl.
 */
#ifndef TORTURE_VICTIM_H
#define TORTURE_VICTIM_H

#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <time.h>
#include <unistd.h>

#include "../page.h"

#define UNUSED __attribute__((unused))

static struct torture_page *page;

/* A wrong result says where, the first few times. */
static void UNUSED
wrong_at(int line, long got)
{
	if (__atomic_fetch_add(&page->wrong, 1, __ATOMIC_RELAXED) < 5)
		dprintf(2, "wrong at line %d: %ld\n", line, got);
}
#define WRONG(got) wrong_at(__LINE__, (long)(got))

static void UNUSED
interrupted_at(int line)
{
	if (__atomic_fetch_add(&page->eintr, 1, __ATOMIC_RELAXED) < 5)
		dprintf(2, "EINTR at line %d\n", line);
}
#define EINTR_SEEN() interrupted_at(__LINE__)

static void UNUSED
missed(uint64_t n)
{
	__atomic_fetch_add(&page->missed, n, __ATOMIC_RELAXED);
}

static void UNUSED
round_done(void)
{
	__atomic_fetch_add(&page->rounds, 1, __ATOMIC_RELAXED);
}

static bool UNUSED
over(void)
{
	return __atomic_load_n(&page->stop, __ATOMIC_RELAXED);
}

static uint64_t UNUSED
now_ms(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_MONOTONIC, &ts);
	return (uint64_t)ts.tv_sec * 1000 + (uint64_t)ts.tv_nsec / 1000000;
}

/* The page's descriptor stays open: programs that exec find it again. */
static void UNUSED
victim_begin(void)
{
	const char *fd = getenv("TORTURE_PAGE");

	page = mmap(NULL, TORTURE_PAGE_SIZE, PROT_READ | PROT_WRITE,
		    MAP_SHARED, fd ? atoi(fd) : -1, 0);
	if (page == MAP_FAILED) {
		fprintf(stderr, "no page in common: TORTURE_PAGE\n");
		exit(99);
	}
	/* whatever becomes of the harness, nothing of it stays */
	(void)prctl(PR_SET_PDEATHSIG, SIGKILL);
}

static void UNUSED
victim_ready(void)
{
	__atomic_store_n(&page->ready, 1, __ATOMIC_RELEASE);
}

static int UNUSED
victim_end(void)
{
	printf("eintr %llu wrong %llu missed %llu rounds %llu\n",
	       (unsigned long long)page->eintr,
	       (unsigned long long)page->wrong,
	       (unsigned long long)page->missed,
	       (unsigned long long)page->rounds);
	fflush(stdout);
	return page->eintr || page->wrong || page->missed;
}

/* n threads of small stacks; a single one is the main thread itself. */
static void UNUSED
victim_threads(void *(*run)(void *), unsigned n, size_t stack)
{
	pthread_t *th = calloc(n, sizeof *th);
	pthread_attr_t attr;
	unsigned i;

	pthread_attr_init(&attr);
	if (stack && pthread_attr_setstacksize(&attr, stack) != 0)
		exit(99);
	if (n == 1 && !stack) {
		victim_ready();
		run(NULL);
		free(th);
		return;
	}
	for (i = 0; i < n; i++)
		if (pthread_create(&th[i], &attr, run,
				   (void *)(uintptr_t)i) != 0) {
			perror("pthread_create");
			exit(99);
		}
	victim_ready();
	for (i = 0; i < n; i++)
		pthread_join(th[i], NULL);
	free(th);
}

/* A trait by its name; each file has a table of them. */
struct trait {
	const char *name;
	void *(*run)(void *);
	size_t stack;
};

/* argv: TRAIT [THREADS]. */
static int UNUSED
victim_run(const struct trait *t, size_t n, int argc, char **argv)
{
	const unsigned threads = argc > 2 ? (unsigned)atoi(argv[2]) : 1;
	size_t i;

	victim_begin();
	for (i = 0; argc > 1 && i < n; i++)
		if (strcmp(t[i].name, argv[1]) == 0) {
			victim_threads(t[i].run, threads, t[i].stack);
			return victim_end();
		}
	fprintf(stderr, "no such trait\n");
	return 99;
}

#define COUNT_OF(a) (sizeof(a) / sizeof *(a))

#endif
