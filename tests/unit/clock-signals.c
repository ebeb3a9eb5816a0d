/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * mission: D1, C3. The clock that signals: each thread gets its own signals,
 * as many as its CPU time has intervals, new threads too, the excepted thread
 * none; counters can be read after a thread's end, whose descriptor is closed;
 * exec is survived.
 */
#include "clock-victim.h"
#include "control.h"

#include <dirent.h>
#include <sys/mman.h>
#include <sys/syscall.h>

static const struct gate_handler handler = { .stack = 1024 };

enum { THREADS = 4, INTERVAL_NS = 2000000, GAP_NS = 20000 };

/* What a victim's thread knows of itself. */
struct truth {
	pid_t tid;
	unsigned long signals;
	uint64_t cpu_ns;
	uint64_t taken_ns;	/* of these: it had no processor */
};

static struct truth *truths;	/* shared with the test */
static __thread struct truth *self;
static pthread_barrier_t together;

static void
count_signal(int signo)
{
	(void)signo;
	if (self)
		self->signals++;
}

/*
 * In user mode nearly all the time: there alone it is signalled. What it was
 * charged with beyond the steps that it saw pass, a few us each, a host took
 * away: intervals that end meanwhile are one signal together.
 */
static void
stay_in_user_mode(struct truth *t, uint64_t cpu_ns)
{
	const uint64_t from = own_thread_cpu();
	uint64_t before = now_ns(), ran = 0;
	volatile unsigned x = 0;

	do {
		for (int i = 0; i < 10000; i++) {
			for (int k = 0; k < 2000; k++)
				x++;

			const uint64_t now = now_ns();

			if (now - before < GAP_NS)
				ran += now - before;
			before = now;
		}
		t->cpu_ns = own_thread_cpu() - from;
	} while (t->cpu_ns < cpu_ns);
	t->taken_ns = t->cpu_ns > ran ? t->cpu_ns - ran : 0;
}

static void *
count_life(void *arg)
{
	self = arg;
	self->tid = (pid_t)syscall(SYS_gettid);
	if (self != &truths[THREADS - 1])
		pthread_barrier_wait(&together);	/* told who we are */
	if (self != &truths[THREADS - 1])
		pthread_barrier_wait(&together);	/* go */
	stay_in_user_mode(self, 1000000000u);
	return NULL;
}

/* Three threads that wait for the clock; a fourth that is born later. */
static void
signalled(void)
{
	pthread_t t[THREADS];

	if (signal(SIGPROF, count_signal) == SIG_ERR)
		_exit(BROKEN);
	pthread_barrier_init(&together, NULL, THREADS);
	for (int i = 0; i < THREADS - 1; i++)
		if (pthread_create(&t[i], NULL, count_life, &truths[i]) != 0)
			_exit(BROKEN);
	pthread_barrier_wait(&together);
	victim_ready();
	victim_wait();
	pthread_barrier_wait(&together);
	if (pthread_create(&t[THREADS - 1], NULL, count_life,
			   &truths[THREADS - 1]) != 0)
		_exit(BROKEN);
	for (int i = 0; i < THREADS; i++)
		pthread_join(t[i], NULL);
	victim_ready();
	victim_wait();
}

/* exec resets the handler: one more signal would kill it. */
static void
execs(void)
{
	char out[16];

	if (signal(SIGPROF, count_signal) == SIG_ERR)
		_exit(BROKEN);
	victim_ready();
	victim_wait();
	spin_for(50000000);
	(void)snprintf(out, sizeof out, "%d", victim_out);
	execl("/proc/self/exe", "second", "second", out, (char *)NULL);
	_exit(BROKEN);
}

/* Of the first thread: exact times, told in order. */
static size_t exact_times;

static void
check_time(struct signal_clock *c)
{
	static struct tick_time last;
	const uint64_t coarse = now_ns();
	const struct tick_time tick = signal_clock_time(c, truths[0].tid,
							coarse);
	uint64_t cpu;

	if (tick.time_ns == coarse)
		return;		/* none since the last time */
	CHECK(tick.time_ns > last.time_ns && tick.time_ns < coarse,
	      "a tick at %llu, behind %llu", (unsigned long long)tick.time_ns,
	      (unsigned long long)last.time_ns);
	CHECK(signal_clock_cpu(c, truths[0].tid, &cpu) == 0 &&
	      tick.cpu_ns > last.cpu_ns && tick.cpu_ns <= cpu,
	      "a tick at %llu ns of CPU time, behind %llu, now %llu",
	      (unsigned long long)tick.cpu_ns,
	      (unsigned long long)last.cpu_ns, (unsigned long long)cpu);
	last = tick;
	exact_times++;
}

static void
drain_until_heard(struct signal_clock *c, struct tally *t,
		  const struct victim *v)
{
	struct pollfd fds[257];

	for (;;) {
		const size_t n = signal_clock_pollfds(c, fds + 1, 256);

		fds[0] = (struct pollfd){ .fd = v->hear, .events = POLLIN };
		(void)poll(fds, n + 1, 100);
		check_time(c);
		(void)signal_clock_drain(c, tally_add, t);
		if (fds[0].revents) {
			victim_hear(v);
			return;
		}
	}
}

static size_t
open_descriptors(void)
{
	DIR *dir = opendir("/proc/self/fd");
	size_t n = 0;

	while (dir && readdir(dir))
		n++;
	if (dir)
		closedir(dir);
	return n;
}

static void
check_thread(struct signal_clock *c, const struct truth *t, double least)
{
	const double ratio = (double)t->signals * INTERVAL_NS /
			     (double)t->cpu_ns;
	const double taken = (double)t->taken_ns / (double)t->cpu_ns;
	/* its clock leaves that out, what is counted and signalled does not */
	const double most = 1.02 + stolen_ns() / (double)t->cpu_ns;
	uint64_t cpu = 0;

	CHECK(signal_clock_cpu(c, t->tid, &cpu) == 0, "no counter of %d: %s",
	      (int)t->tid, fail_last()->reason);
	printf("thread %d: %lu signals in %.1f ms, %.1f of them taken away, "
	       "ratio %.4f, counter %.1f ms\n", (int)t->tid, t->signals,
	       (double)t->cpu_ns / 1e6, (double)t->taken_ns / 1e6, ratio,
	       (double)cpu / 1e6);
	CHECK(near(ratio, least * (1 - taken), most),
	      "signals x interval / cpu %.4f", ratio);
	CHECK(near((double)cpu / (double)t->cpu_ns, least, most),
	      "counter / cpu %.4f", (double)cpu / (double)t->cpu_ns);
}

static void
count_threads(void *arg, pid_t tid, uint64_t cpu_ns)
{
	size_t *n = arg;

	(void)tid;
	(void)cpu_ns;
	(*n)++;
}

static void
check_counts(struct signal_clock *c)
{
	const struct truth *excepted = &truths[THREADS - 2];
	size_t n = 0;
	uint64_t cpu;

	for (int i = 0; i < THREADS - 2; i++)
		check_thread(c, &truths[i], 0.98);
	/* it may have run for a while before it was noticed */
	check_thread(c, &truths[THREADS - 1], 0.90);
	CHECK(excepted->signals == 0, "the excepted thread has %lu signals",
	      excepted->signals);
	CHECK(signal_clock_cpu(c, excepted->tid, &cpu) < 0,
	      "the excepted thread has a counter");
	signal_clock_each(c, count_threads, &n);
	CHECK(n == THREADS, "%zu threads had a clock", n);
	CHECK(signal_clock_unserved(c) == 0, "%zu had none",
	      signal_clock_unserved(c));
}

static void
note_stacks(struct signal_clock *c, pid_t pid)
{
	struct target *t = target_open(pid);
	struct stacks stacks;

	CHECK(t != NULL, "%s", fail_last()->reason);
	stacks_begin(t, &stacks);
	signal_clock_note_stacks(c, &stacks);
	target_close(t);
}

static int
run_counts(void)
{
	struct victim v = victim_start(signalled);
	struct tally t = { .pid = v.pid };

	victim_hear(&v);

	struct signal_clock *c = signal_clock_open(v.pid, INTERVAL_NS, SIGPROF,
						   truths[THREADS - 2].tid, &handler);

	if (!c) {
		printf("%s\n\t%s\n", fail_last()->reason,
		       fail_last()->remedy);
		victim_kill(&v);
		return CANNOT;
	}

	note_stacks(c, v.pid);

	const size_t before = open_descriptors();

	(void)measure_from(v.pid);
	CHECK(signal_clock_enable(c, true) == 0, "%s", fail_last()->reason);
	victim_go(&v);
	drain_until_heard(c, &t, &v);
	CHECK(signal_clock_enable(c, false) == 0, "%s", fail_last()->reason);
	(void)signal_clock_drain(c, tally_add, &t);
	check_counts(c);
	CHECK(exact_times >= 3, "%zu exact times", exact_times);
	CHECK(t.kind[CLOCK_FORK] == 1, "%zu births", t.kind[CLOCK_FORK]);
	CHECK(t.kind[CLOCK_EXIT] == THREADS, "%zu ends", t.kind[CLOCK_EXIT]);
	/* two of the first three had one each */
	CHECK(open_descriptors() + 2 == before, "descriptors: %zu, then %zu",
	      before, open_descriptors());
	victim_go(&v);
	CHECK(victim_wait_end(&v) == 0, "the victim did not end well");
	signal_clock_close(c);
	return PASS;
}

static void
run_exec(void)
{
	struct victim v = victim_start(execs);
	struct tally t = { .pid = v.pid };

	victim_hear(&v);

	struct signal_clock *c = signal_clock_open(v.pid, 100000, SIGPROF, 0,
						   &handler);

	if (!c)
		return;
	note_stacks(c, v.pid);
	CHECK(signal_clock_enable(c, true) == 0, "%s", fail_last()->reason);
	victim_go(&v);
	drain_until_heard(c, &t, &v);
	CHECK(t.kind[CLOCK_EXEC] == 1, "%zu execs", t.kind[CLOCK_EXEC]);

	const int status = victim_wait_end(&v);

	CHECK(status == 0, "after exec: wait status 0x%x", status);
	signal_clock_close(c);
}

int
main(int argc, char **argv)
{
	if (argc == 3 && strcmp(argv[1], "second") == 0) {
		spin_for(300000000);
		victim_out = atoi(argv[2]);
		victim_ready();
		return PASS;
	}
	alarm(300);
	truths = mmap(NULL, THREADS * sizeof *truths, PROT_READ | PROT_WRITE,
		      MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	if (truths == MAP_FAILED)
		return BROKEN;
	if (run_counts() == CANNOT)
		return CANNOT;
	run_exec();
	return failures ? FAILED : PASS;
}
