/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Whoever puts the guest in may be killed at any instant (mission: C3): the
 * program must go on, every thread of it, with no call failed and no thread
 * of ours staying. An injector is killed by SIGKILL at random moments of its
 * work, again and again, on one program.
 *
 *	SONDE_KILLS=n	how often, 25 if unset
 *	SONDE_SEED=n	of the moments; printed
 */
#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "base.h"
#include "inject.h"
#include "inject-workers.h"

enum { WORKERS = 3, WINDOW_US = 20000 };

/* ---- the program --------------------------------------------------------- */

static void
nap(void)
{
	const struct timespec ts = { 0, 2000000 };

	if (nanosleep(&ts, NULL) != 0)
		shared->wrong++;
}

static void
allocate(void)
{
	static __thread unsigned word = 1;
	const size_t n = (word = word * 1103515245 + 12345) >> 16 & 0x3fff;
	unsigned char *p = malloc(n + 1);

	memset(p, 0x5a, n + 1);
	if (p[0] != 0x5a || p[n] != 0x5a)
		shared->wrong++;
	free(p);
}

/* Values live in registers over the whole loop, vector ones too. */
static void
compute(void)
{
	double a = 1, b = 2, c = 3, d = 4;
	int i;

	for (i = 0; i < 1000; i++) {
		a += 0.5, b += 0.25, c += 2, d += 4;
		__asm__ volatile("" : "+x"(a), "+x"(b), "+x"(c), "+x"(d));
	}
	if (a != 501 || b != 252 || c != 2003 || d != 4004)
		shared->wrong++;
}

static int
run_program(const char *page)
{
	static worker_job *const jobs[WORKERS] = { nap, allocate, compute };
	pthread_t th[WORKERS];

	shared = victim_page_of(page);
	workers_start(th, jobs, WORKERS);
	return workers_join(th, WORKERS);
}

/* ---- the injector and its end -------------------------------------------- */

static void
inject_for_ever(pid_t pid, unsigned seed, int ready_fd)
{
	const struct guest_options opt = {
		.windows = 4, .window_bytes = RECORD_WINDOW_MIN,
		.table_bytes = 4096, .interval_ns = 10000000,
		.donor_seed = seed,
	};
	struct target *t = target_open(pid);

	if (!t || write(ready_fd, "", 1) != 1)
		_exit(1);
	for (;;) {
		struct inject_report report;
		struct guest *g = guest_open(t, &opt, &report);

		if (g)
			(void)guest_stop(g, &report);
		guest_close(g);
	}
}

static void
kill_one(pid_t pid, unsigned seed)
{
	struct timespec ts = { 0, 0 };
	int fds[2];
	pid_t injector;
	char byte;

	if (pipe(fds) < 0)
		abort();
	injector = fork();
	if (injector == 0)
		inject_for_ever(pid, seed, fds[1]);
	close(fds[1]);
	if (read(fds[0], &byte, 1) != 1)
		abort();
	close(fds[0]);
	ts.tv_nsec = (long)(hash_word(seed) % WINDOW_US) * 1000;
	(void)nanosleep(&ts, NULL);
	kill(injector, SIGKILL);
	waitpid(injector, NULL, 0);
}

int
main(int argc, char **argv)
{
	const unsigned kills = setting("SONDE_KILLS", 25);
	const unsigned seed = setting("SONDE_SEED", (unsigned)getpid());
	int status = -1;
	unsigned i;
	pid_t pid;

	if (argc == 3)
		return run_program(argv[2]);
	pid = victim_start("victim", (void **)&shared);
	if (pid < 0)
		return 99;
	printf("seed %u\n", seed);
	for (i = 0; i < kills; i++) {
		kill_one(pid, seed + i);
		if (!workers_live_on(pid, WORKERS))
			break;
	}
	shared->at.stop = 1;
	if (i < kills)
		kill(pid, SIGABRT);
	waitpid(pid, &status, 0);
	printf("%u of %u killed, status %x, wrong %lu\n", i, kills, status,
	       shared->wrong);
	return i == kills && status == 0 ? 0 : 1;
}
