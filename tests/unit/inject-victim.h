/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * The victims of the tests of injection: the test's own program, started anew
 * (a fork would keep the injector's memory), with one page in common. Its
 * structure is the test's, and begins with struct victim_page.
 */
#ifndef INJECT_VICTIM_H
#define INJECT_VICTIM_H

#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base.h"
#include "inject.h"

struct victim_page {
	volatile int ready;	/* the victim sets it when all its threads run */
	volatile int stop;	/* the test sets it; the victim ends */
};

enum { VICTIM_PAGE_SIZE = 4096 };

/* NULL on failure. The descriptor stays open. */
static inline void *
victim_page_map(int fd)
{
	void *page = mmap(NULL, VICTIM_PAGE_SIZE, PROT_READ | PROT_WRITE,
			  MAP_SHARED, fd, 0);

	return page == MAP_FAILED ? NULL : page;
}

/* In the victim: the page that its second argument numbers. */
static inline void *
victim_page_of(const char *number)
{
	const int fd = atoi(number);
	void *page = victim_page_map(fd);

	close(fd);
	if (!page)
		_exit(99);
	return page;
}

/* Starts /proc/self/exe `how` NUMBER, and waits until it is ready; -1 when it
 * ended before. */
static inline pid_t
victim_start(const char *how, void **page)
{
	const int fd = memfd_create("shared", 0);
	const struct victim_page *head;
	char number[16];
	pid_t pid;

	if (fd < 0 || ftruncate(fd, VICTIM_PAGE_SIZE) < 0 ||
	    !(head = *page = victim_page_map(fd)))
		return -1;
	snprintf(number, sizeof number, "%d", fd);
	fflush(stdout);
	pid = fork();
	if (pid == 0) {
		execl("/proc/self/exe", "victim", how, number, (char *)NULL);
		_exit(99);
	}
	close(fd);
	while (pid > 0 && !head->ready)
		if (waitpid(pid, NULL, WNOHANG) != 0)
			return -1;
	return pid;
}

static inline unsigned
count_threads(pid_t pid)
{
	char path[64];
	const struct dirent *entry;
	unsigned n = 0;
	DIR *dir;

	snprintf(path, sizeof path, "/proc/%d/task", pid);
	dir = opendir(path);
	while (dir && (entry = readdir(dir)))
		n += entry->d_name[0] != '.';
	if (dir)
		closedir(dir);
	return n;
}

/* One whole visit; a seed draws the donor. */
static inline int
victim_visit(struct target *t, unsigned seed)
{
	const struct guest_options opt = {
		.windows = 8, .window_bytes = RECORD_WINDOW_MIN,
		.table_bytes = 65536, .interval_ns = 10000000,
		.donor_seed = seed,
	};
	struct inject_report report;
	struct guest *g = guest_open(t, &opt, &report);
	int r;

	if (!g) {
		printf("FAILED: seed %u: %s\n", seed, fail_last()->reason);
		return -1;
	}
	r = guest_stop(g, &report);
	if (r < 0)
		printf("FAILED: stop: %s\n", fail_last()->reason);
	guest_close(g);
	return r;
}

/* A number from the environment: how often, or a seed to repeat a run. */
static inline unsigned
setting(const char *name, unsigned otherwise)
{
	const char *value = getenv(name);

	return value ? (unsigned)strtoul(value, NULL, 0) : otherwise;
}

#endif
