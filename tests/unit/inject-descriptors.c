/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * A program that puts files of its own at any number while we are there, and
 * closes them again: none is cut, written to or closed by us, and a visit is
 * either as good as any or refused. Two victims: one is at it all the time,
 * one looks again and again whether its files are still there.
 * injection.md 2: not in its table; hazard: TAKEN_NUMBER
 */
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "base.h"
#include "control.h"
#include "inject.h"
#include "inject-victim.h"

enum {
	VISITS = 16, LOST_MOST = 3, LOWEST = 3, ABOVE = 12, KEEP = 100,
	BYTES = 65536, LOOKS = 60, LIMIT_S = 200,
};

struct shared {
	struct victim_page at;
	volatile int looks;	/* at each round; 0: none */
	volatile unsigned long rounds, busy, lost, wrong;
};

static struct shared *shared;

/* ---- the program --------------------------------------------------------- */

static void *
wait_for_end(void *arg)
{
	while (!shared->at.stop)
		usleep(5000);
	return arg;
}

static int
make_file(char *bytes)
{
	const int fd = memfd_create("the program's", 0);
	const int kept = fcntl(fd, F_DUPFD, KEEP);

	memset(bytes, 'A', BYTES);
	if (fd < 0 || kept < 0 || write(kept, bytes, BYTES) != BYTES)
		_exit(99);
	close(fd);
	return kept;
}

static bool
is_as_written(int fd, const char *bytes)
{
	static char now[BYTES];
	struct stat st;

	return fstat(fd, &st) == 0 && st.st_size == BYTES &&
		pread(fd, now, BYTES, 0) == BYTES &&
		memcmp(now, bytes, BYTES) == 0;
}

/* A number that another thread is just being given is busy for a moment, as
 * dup2(2) says: any thread that opens a file does that. */
static bool
put(int kept, int fd)
{
	int r = dup2(kept, fd);

	while (r < 0 && errno == EBUSY) {
		shared->busy++;
		r = dup2(kept, fd);
	}
	return r == fd;
}

/* A round in which one of its descriptors was gone. */
static bool
round_of(int kept)
{
	bool lost = false;
	char byte;

	for (int fd = LOWEST; fd < ABOVE; fd++)
		lost |= !put(kept, fd);
	for (int i = shared->looks; i > 0; i--)
		for (int fd = LOWEST; fd < ABOVE; fd++)
			lost |= pread(fd, &byte, 1, 0) != 1;
	for (int fd = LOWEST; fd < ABOVE; fd++)
		lost |= close(fd) != 0;
	return lost;
}

static int
run_program(const char *page)
{
	static char bytes[BYTES];
	const int kept = make_file(bytes);
	pthread_t other;

	shared = victim_page_of(page);
	alarm(LIMIT_S);
	if (pthread_create(&other, NULL, wait_for_end, NULL) != 0)
		return 99;
	shared->at.ready = 1;
	while (!shared->at.stop) {
		shared->lost += round_of(kept);
		if (++shared->rounds % 64 == 0 || shared->looks)
			shared->wrong += !is_as_written(kept, bytes);
		if (shared->looks)
			usleep(100);
	}
	shared->wrong += !is_as_written(kept, bytes);
	return 0;
}

/* ---- visits -------------------------------------------------------------- */

static void
visit(struct target *t, unsigned *good)
{
	const struct guest_options options = {
		.windows = 8, .window_bytes = 65536, .table_bytes = 65536,
		.interval_ns = 10000000,
	};
	struct inject_report report;
	struct guest *g = guest_open(t, &options, &report);

	if (!g) {
		printf("refused: %s\n", fail_last()->reason);
		return;
	}
	++*good;
	if (guest_stop(g, &report) < 0)
		printf("stop: %s\n", fail_last()->reason);
	guest_close(g);
}

static unsigned
ours_left(pid_t pid)
{
	unsigned n = 0;

	for (int fd = 0; fd < 2 * KEEP; fd++) {
		char path[64], link[64] = "";

		snprintf(path, sizeof path, "/proc/%d/fd/%d", (int)pid, fd);
		if (readlink(path, link, sizeof link - 1) > 0)
			n += str_starts(link, "/memfd:sonde");
	}
	return n;
}

/* A descriptor in many visits may still go: between our last look at it and
 * the close there is a moment, which is as long as the machine is busy. A file
 * never. */
static int
try_program(int looks)
{
	void *page = NULL;
	const pid_t pid = victim_start("program", &page);
	struct target *t;
	unsigned good = 0, left;
	int status = -1;

	shared = page;
	if (pid < 0)
		return printf("FAIL: no program\n"), 1;
	shared->looks = looks;
	t = target_open(pid);
	for (int i = 0; t && i < VISITS; i++)
		visit(t, &good);
	left = ours_left(pid);
	target_close(t);
	shared->at.stop = 1;
	waitpid(pid, &status, 0);
	printf("%d looks: %u of %d visits, %lu rounds, %lu times busy, "
	       "%lu lost a descriptor, %lu times a wrong file, "
	       "%u of ours left, status %x\n", looks, good, VISITS,
	       shared->rounds, shared->busy, shared->lost, shared->wrong,
	       left, (unsigned)status);
	return !t || status != 0 || shared->wrong || left ||
		shared->lost > LOST_MOST;
}

int
main(int argc, char **argv)
{
	if (argc == 3)
		return run_program(argv[2]);
	setvbuf(stdout, NULL, _IOLBF, 0);
	return try_program(0) + try_program(LOOKS) ? 1 : 0;
}
