/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * What the tests of the clock room share: victims (forked, so that their
 * code has our addresses), their CPU clock, and a sink that counts.
 */
#ifndef CLOCK_VICTIM_H
#define CLOCK_VICTIM_H

#include <errno.h>
#include <poll.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "base.h"
#include "clock.h"

enum { PASS, FAILED, CANNOT = 77, BROKEN = 99 };

static int failures __attribute__((unused));

#define CHECK(ok, ...) do {						\
	if (!(ok)) {							\
		printf("%s:%d: FAILED: ", __FILE__, __LINE__);		\
		printf(__VA_ARGS__);					\
		printf("\n");						\
		failures++;						\
	}								\
} while (0)

struct victim {
	pid_t pid;
	int say, hear;		/* to its standard words, from them */
};

/* In the victim: one byte each way. */
static int victim_in __attribute__((unused)), victim_out;

__attribute__((unused)) static void
victim_ready(void)
{
	if (write(victim_out, "r", 1) != 1)
		_exit(BROKEN);
}

__attribute__((unused)) static void
victim_wait(void)
{
	char c;

	if (read(victim_in, &c, 1) != 1)
		_exit(BROKEN);
}

__attribute__((unused)) static struct victim
victim_start(void (*run)(void))
{
	int in[2], out[2];

	fflush(NULL);
	if (pipe(in) < 0 || pipe(out) < 0) {
		perror("pipe");
		exit(BROKEN);
	}

	const pid_t pid = fork();

	if (pid < 0) {
		perror("fork");
		exit(BROKEN);
	}
	if (pid == 0) {
		prctl(PR_SET_PDEATHSIG, SIGKILL);
		victim_in = in[0];
		victim_out = out[1];
		close(in[1]);
		close(out[0]);
		run();
		fflush(NULL);
		_exit(0);
	}
	close(in[0]);
	close(out[1]);
	return (struct victim){ .pid = pid, .say = in[1], .hear = out[0] };
}

__attribute__((unused)) static void
victim_hear(const struct victim *v)
{
	char c;

	if (read(v->hear, &c, 1) != 1) {
		printf("the victim is silent\n");
		exit(BROKEN);
	}
}

__attribute__((unused)) static void
victim_go(const struct victim *v)
{
	if (write(v->say, "g", 1) != 1) {
		printf("the victim is deaf\n");
		exit(BROKEN);
	}
}

__attribute__((unused)) static int
victim_wait_end(struct victim *v)
{
	int status = -1;

	while (waitpid(v->pid, &status, 0) < 0 && errno == EINTR)
		;
	close(v->say);
	close(v->hear);
	return status;
}

__attribute__((unused)) static void
victim_kill(struct victim *v)
{
	kill(v->pid, SIGKILL);
	(void)victim_wait_end(v);
}

/* CPU time that a process used, ns; of a thread that runs just now, up to the
 * last tick (4 ms): measure over seconds. */
__attribute__((unused)) static uint64_t
cpu_of(pid_t pid)
{
	clockid_t id;
	struct timespec t;

	if (clock_getcpuclockid(pid, &id) != 0 || clock_gettime(id, &t) < 0)
		return 0;
	return (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec;
}

/*
 * What the host took from all processors since the machine was started, in the
 * kernel's ticks: a thread's CPU clock leaves it out, the counters of perf
 * have it. 0 where no host takes any, or none says so.
 */
static long
stolen_ticks(void)
{
	FILE *file = fopen("/proc/stat", "re");
	long ticks = 0;

	if (file && fscanf(file, "cpu %*d %*d %*d %*d %*d %*d %*d %ld",
			   &ticks) != 1)
		ticks = 0;
	if (file)
		(void)fclose(file);
	return ticks;
}

static long stolen_before __attribute__((unused));

/* What is measured begins here, at this CPU time of the process. */
__attribute__((unused)) static uint64_t
measure_from(pid_t pid)
{
	stolen_before = stolen_ticks();
	return cpu_of(pid);
}

/* At most, since then: what is told is cut to whole ticks. */
__attribute__((unused)) static double
stolen_ns(void)
{
	const long now = stolen_ticks();
	const double ns = now ? (double)(now - stolen_before + 1) * 1e9 /
				(double)sysconf(_SC_CLK_TCK) : 0;

	if (now > stolen_before)
		printf("  at most %.0f ms were stolen meanwhile\n", ns / 1e6);
	return ns;
}

__attribute__((unused)) static uint64_t
own_thread_cpu(void)
{
	struct timespec t;

	clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
	return (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec;
}

/* Rarely asks for its time: that is a system call, not user mode. */
__attribute__((noinline, unused)) static void
spin_for(uint64_t cpu_ns)
{
	const uint64_t end = own_thread_cpu() + cpu_ns;
	volatile unsigned x = 0;

	while (own_thread_cpu() < end)
		for (int i = 0; i < 400000; i++)
			x++;
}

__attribute__((unused)) static void *
spin_for_ever(void *arg)
{
	volatile unsigned x = 0;

	(void)arg;
	for (;;)
		x++;
	return NULL;
}

/* What came out of a clock. */
struct tally {
	size_t kind[CLOCK_LOST + 1];
	size_t records, early;		/* early: older than one before it */
	uint64_t last, cpu_ns, lost;
	size_t kernel, full, no_user, odd_stack, foreign;
	pid_t pid;
};

__attribute__((unused)) static void
tally_sample(struct tally *t, const struct clock_record *r)
{
	t->kernel += r->u.sample.kernel;
	t->full += r->u.sample.stack_full;
	t->no_user += !r->u.sample.has_user;
	t->cpu_ns += r->u.sample.cpu_ns;
	if (r->u.sample.has_user &&
	    (r->u.sample.stack_base != r->u.sample.regs.reg[arch.reg_sp] ||
	     r->u.sample.stack_size == 0 || !r->u.sample.stack))
		t->odd_stack++;
}

__attribute__((unused)) static void
tally_add(void *arg, const struct clock_record *r)
{
	struct tally *t = arg;

	t->records++;
	t->kind[r->kind]++;
	if (r->time_ns < t->last)
		t->early++;
	else
		t->last = r->time_ns;
	if (r->kind == CLOCK_SAMPLE)
		tally_sample(t, r);
	if (r->kind == CLOCK_EXIT)
		t->cpu_ns += r->u.exit.cpu_ns;
	if (r->kind == CLOCK_LOST)
		t->lost += r->u.lost.samples;
	if (r->pid != t->pid && r->kind != CLOCK_FORK)
		t->foreign++;
}

struct rest {
	uint64_t cpu_ns;
	size_t threads, sampled;
};

__attribute__((unused)) static void
rest_add(void *arg, pid_t tid, uint64_t cpu_ns, bool sampled)
{
	struct rest *rest = arg;

	(void)tid;
	rest->cpu_ns += cpu_ns;
	rest->threads++;
	rest->sampled += sampled;
}

/* Sleep until a ring has something for us, or long enough. */
__attribute__((unused)) static int
wait_rings(const struct clock *c, int timeout_ms)
{
	struct pollfd fds[256];
	const size_t n = clock_pollfds(c, fds, ARRAY_LEN(fds));

	return poll(fds, n, timeout_ms);
}

/* Open, or say why not: 77 where perf is not permitted. */
__attribute__((unused)) static struct clock *
open_or_skip(const struct clock_options *opt)
{
	struct clock *c = clock_open(opt);

	if (c)
		return c;
	printf("clock_open: %s\n\t%s\n", fail_last()->reason,
	       fail_last()->remedy);
	return NULL;
}

__attribute__((unused)) static const char *
form_name(enum clock_form form)
{
	return form == CLOCK_FORM_CPU ? "cpu" :
		form == CLOCK_FORM_THREAD ? "thread" : "auto";
}

/* What a switch takes on this machine: two processes on one CPU. */
static uint64_t
switch_ns(void)
{
	enum { ROUNDS = 1000 };
	static uint64_t ns;
	int to[2], from[2];
	char byte = 0;

	if (ns || pipe(to) < 0 || pipe(from) < 0)
		return ns;

	const pid_t pid = fork();
	cpu_set_t all, one;

	if (pid == 0) {
		close(to[1]);
		while (read(to[0], &byte, 1) == 1 &&
		       write(from[1], &byte, 1) == 1)
			;
		_exit(0);
	}
	CPU_ZERO(&one);
	sched_getaffinity(0, sizeof all, &all);
	for (int i = 0; i < CPU_SETSIZE && !CPU_COUNT(&one); i++)
		if (CPU_ISSET(i, &all))
			CPU_SET(i, &one);
	sched_setaffinity(0, sizeof one, &one);
	sched_setaffinity(pid, sizeof one, &one);

	const uint64_t start = now_ns();

	for (int i = 0; i < ROUNDS; i++)
		if (write(to[1], &byte, 1) != 1 || read(from[0], &byte, 1) != 1)
			_exit(BROKEN);
	ns = (now_ns() - start) / (2 * ROUNDS);
	sched_setaffinity(0, sizeof all, &all);
	close(to[0]), close(to[1]), close(from[0]), close(from[1]);
	waitpid(pid, NULL, 0);
	printf("a switch takes %llu ns\n", (unsigned long long)ns);
	return ns;
}

/*
 * Within 2 % of the process clock, and some us for each switch: what a switch
 * takes the scheduler charges to the thread that comes, and the switch record,
 * written later, to the one that goes. Among many threads, whose events are
 * in no cache, that is several times what two processes take (5 times seen).
 * More by what was stolen since measure_from, too.
 */
__attribute__((unused)) static bool
as_clock(double ns, uint64_t cpu, size_t switches)
{
	const double off = ns > (double)cpu ?
		ns - (double)cpu - stolen_ns() : (double)cpu - ns;

	return off <= (double)cpu * 0.02 + (double)switches * 5 * (double)switch_ns();
}

/*
 * Other work on this machine may spoil one measurement; a fault of ours spoils
 * them all.
 */
__attribute__((unused)) static bool
measured_well(bool (*measure)(const void *what), const void *what, bool *ran)
{
	const int before = failures;

	for (int attempt = 0; attempt < 3; attempt++) {
		failures = before;
		*ran = measure(what);
		if (!*ran || failures == before)
			return true;
		printf("measured again\n");
	}
	return false;
}

__attribute__((unused)) static bool
near(double ratio, double least, double most)
{
	return ratio >= least && ratio <= most;
}

#endif
