/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * For the tests of the experiment room: a scratch directory, checks that go
 * on after a failure, and an experiment with known contents.
 */
#ifndef TEST_EXPERIMENT_HELP_H
#define TEST_EXPERIMENT_HELP_H

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base.h"
#include "experiment.h"

static int failures;

/* Say what is wrong; the test goes on and fails at its end. */
static inline bool __attribute__((format(printf, 2, 3)))
check(bool good, const char *fmt, ...)
{
	if (!good) {
		va_list ap;

		va_start(ap, fmt);
		char *text = xvasprintf(fmt, ap);
		va_end(ap);
		fprintf(stderr, "FAILED: %s\n", text);
		free(text);
		failures++;
	}
	return good;
}

static inline bool
check_number(const char *what, uint64_t is, uint64_t want)
{
	return check(is == want, "%s is %llu, not %llu", what,
		     (unsigned long long)is, (unsigned long long)want);
}

static inline bool
check_text(const char *what, const char *is, const char *want)
{
	return check(is && strcmp(is, want) == 0, "%s is \"%s\", not \"%s\"",
		     what, is ? is : "(null)", want);
}

/* A new directory that is the current one; exit status 99 without it. */
static inline char *
scratch_enter(void)
{
	const char *tmp = getenv("TMPDIR");
	char *dir = xasprintf("%s/sonde-experiment.XXXXXX",
			      tmp ? tmp : "/tmp");

	if (!mkdtemp(dir) || chdir(dir) < 0) {
		perror(dir);
		exit(99);
	}
	return dir;
}

static inline void
scratch_leave(char *dir)
{
	char *command = xasprintf("rm -rf '%s'", dir);

	if (chdir("/") < 0 || system(command) != 0)
		fprintf(stderr, "%s is left behind\n", dir);
	free(command);
	free(dir);
}

/* Room for lines of test code: a whole file, or one cut to n bytes. */
static inline char *
slurp(const char *path, size_t *size)
{
	char *data = file_read(path, size);

	if (!data) {
		perror(path);
		exit(99);
	}
	return data;
}

static inline void
spill(const char *path, const char *data, size_t n)
{
	FILE *f = fopen(path, "w");

	if (!f || fwrite(data, 1, n, f) != n || fclose(f) != 0) {
		perror(path);
		exit(99);
	}
}

#define TEST_START UINT64_C(5000000000123)

static inline struct experiment_info
test_info(const char *path)
{
	return (struct experiment_info){
		.path = path, .pid = 4242, .ppid = 1, .pgrp = 4242, .sid = 1,
		.cwd = "/tmp/a \"b\" <c>", .command = "./prog -x 50% 'q' &",
		.attached = true, .interval_ns = 10007000, .engine = "ring",
		.engine_why = "per CPU, 100% exact", .start_ns = TEST_START,
		.owner = (uid_t)-1, .group = (gid_t)-1,
	};
}

static inline struct experiment *
test_create(const struct experiment_info *info)
{
	struct experiment *exp = experiment_create(info);

	if (!exp) {
		fprintf(stderr, "%s\n", fail_last()->reason);
		exit(1);
	}
	return exp;
}

static inline struct experiment_reader *
test_open(const char *path)
{
	struct experiment_reader *rd = experiment_open(path);

	if (!rd) {
		fprintf(stderr, "%s\n", fail_last()->reason);
		exit(1);
	}
	return rd;
}

/* What the clock packets add up to. */
struct test_sums {
	const struct experiment_reader *rd;
	uint64_t packets, weight_ns, unnamed;
	uint64_t by_state[MSTATE_COUNT];
	uint64_t words;			/* of all stacks */
};

static inline bool
test_add(void *arg, const struct experiment_packet *p)
{
	struct test_sums *sums = arg;
	static uint64_t *pcs;
	static size_t cap;
	enum stack_end end;
	const ssize_t n = experiment_stack_of(sums->rd, p->frinfo, &pcs, &cap,
					      &end);

	sums->packets++;
	sums->weight_ns += p->weight_ns;
	sums->by_state[p->mstate] += p->weight_ns;
	if (n < 0)
		sums->unnamed++;
	else
		sums->words += (uint64_t)n;
	return true;
}

static inline struct test_sums
test_sum(const struct experiment_reader *rd)
{
	struct test_sums sums = { .rd = rd };

	experiment_packets(rd, test_add, &sums);
	return sums;
}

#endif
