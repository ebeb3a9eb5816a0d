/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * victim: what every program to be debugged shares. It says `ready PID`
 * first, answers words on standard input, one a line (`mark`: its truth so
 * far; `calm`, where it knows how: leave the processors to others, until
 * `busy`), and ends on `end`, on end of file and on SIGTERM. What it knows it
 * prints as `key value` lines; the last one is `checksum ok` or it exits 1.
 *
 * One file per victim includes this, so everything is static.
 */
#ifndef VICTIM_H
#define VICTIM_H

#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

/* A function of its own, whoever calls it. */
#ifdef __clang__	/* knows no noclone, and does not clone */
#define VICTIM_OWN __attribute__((noinline))
#else
#define VICTIM_OWN __attribute__((noinline, noclone))
#endif

/* Threads look at it between two rounds of work. */
static atomic_bool victim_over, victim_calm;
static int victim_term[2] = { -1, -1 };

__attribute__((unused)) static uint64_t
victim_clock(clockid_t id)
{
	struct timespec t;

	if (clock_gettime(id, &t) < 0) {
		perror("clock_gettime");
		exit(99);
	}
	return t.tv_sec * UINT64_C(1000000000) + t.tv_nsec;
}

__attribute__((unused)) static void
victim_say(const char *key, uint64_t value)
{
	printf("%s %llu\n", key, (unsigned long long)value);
}

/* A cheap number that the compiler cannot foresee. */
__attribute__((unused)) static uint32_t
victim_random(uint32_t *state)
{
	*state ^= *state << 13;
	*state ^= *state >> 17;
	*state ^= *state << 5;
	return *state;
}

__attribute__((unused)) static void
victim_on_term(int signal)
{
	const int kept = errno;

	(void)signal;
	atomic_store(&victim_over, true);
	if (write(victim_term[1], "", 1) < 0)
		_exit(98);
	errno = kept;
}

/* Between two rounds of work: nothing, unless it was told to be calm. */
__attribute__((unused)) static void
victim_rest(void)
{
	while (atomic_load(&victim_calm) && !atomic_load(&victim_over))
		(void)poll(NULL, 0, 5);
}

/* Is it a word that tells how to work? */
__attribute__((unused)) static bool
victim_set_pace(const char *word)
{
	const bool calm = strcmp(word, "calm") == 0;

	if (!calm && strcmp(word, "busy") != 0)
		return false;
	atomic_store(&victim_calm, calm);
	return true;
}

/* Before any thread is started. */
__attribute__((unused)) static void
victim_init(void)
{
	struct sigaction action = { .sa_handler = victim_on_term,
				    .sa_flags = SA_RESTART };

	setvbuf(stdout, NULL, _IOLBF, 0);
	if (pipe(victim_term) < 0 || sigaction(SIGTERM, &action, NULL) < 0) {
		perror("victim");
		exit(99);
	}
}

__attribute__((unused)) static void
victim_ready(void)
{
	printf("ready %d\n", (int)getpid());
}

/*
 * Serve words until it is over. mark prints the truth; it may be NULL. Each
 * answer ends with `marked`, so that a reader knows it is whole. Read by
 * read(2), one byte at a time: no buffer of ours holds the next word.
 */
__attribute__((unused)) static void
victim_serve(void (*mark)(void))
{
	char word[32];
	size_t len = 0;
	struct pollfd fds[] = { { .fd = 0, .events = POLLIN },
				{ .fd = victim_term[0], .events = POLLIN } };

	while (!atomic_load(&victim_over)) {
		char c;

		if (poll(fds, 2, -1) < 0 && errno != EINTR)
			break;
		if (!(fds[0].revents & (POLLIN | POLLHUP)))
			continue;
		if (read(0, &c, 1) != 1)
			break;
		if (c != '\n') {
			if (len < sizeof word - 1)
				word[len++] = c;
			continue;
		}
		word[len] = '\0';
		len = 0;
		if (victim_set_pace(word))
			continue;
		if (strcmp(word, "mark") != 0)
			break;
		if (mark)
			mark();
		victim_say("cpu_ns", victim_clock(CLOCK_PROCESS_CPUTIME_ID));
		victim_say("wall_ns", victim_clock(CLOCK_MONOTONIC));
		printf("marked\n");
	}
	atomic_store(&victim_over, true);
}

/* The last word; the exit status. */
__attribute__((unused)) static int
victim_end(bool ok)
{
	printf("checksum %s\n", ok ? "ok" : "WRONG");
	return ok ? 0 : 1;
}

#endif
