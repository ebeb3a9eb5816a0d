/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * mission: D1. Many and short threads: the CPU time given to samples, to ends
 * and as the rest is that of the process, whether threads live for 3 ms, are
 * 200, or are created while the clock is being opened; and where they are 1000
 * and an ordinary user's, whose limit of descriptors is the usual 1024.
 */
#include <sys/resource.h>

#include "clock-victim.h"

enum { CHURN = 300, CROWD = 200, MANY = 1000, NOBODY = 65534 };

static int crowd_size = CROWD;
static uint64_t crowd_ns = 10000000, interval_ns = 10007000;
static bool crowd_in_turn;
static pthread_mutex_t turn = PTHREAD_MUTEX_INITIALIZER;

static void *
short_life(void *arg)
{
	(void)arg;
	spin_for(3000000);
	return NULL;
}

static void
pairs(int n)
{
	for (int i = 0; i < n; i += 2) {
		pthread_t t[2];

		if (pthread_create(&t[0], NULL, short_life, NULL) != 0 ||
		    pthread_create(&t[1], NULL, short_life, NULL) != 0)
			_exit(BROKEN);
		pthread_join(t[0], NULL);
		pthread_join(t[1], NULL);
	}
}

static void
churner(void)
{
	victim_ready();
	victim_wait();
	pairs(CHURN);
	victim_ready();
	victim_wait();
}

static void *
storm_branch(void *arg)
{
	(void)arg;
	for (;;)
		pairs(2);
	return NULL;
}

/* Creates threads without end, from three threads. */
static void
stormer(void)
{
	pthread_t t[2];

	if (pthread_create(&t[0], NULL, storm_branch, NULL) != 0 ||
	    pthread_create(&t[1], NULL, storm_branch, NULL) != 0)
		_exit(BROKEN);
	pairs(10);
	victim_ready();
	storm_branch(NULL);
}

static pthread_barrier_t together;

static void *
one_of_crowd(void *arg)
{
	(void)arg;
	pthread_barrier_wait(&together);
	if (crowd_in_turn)
		pthread_mutex_lock(&turn);
	spin_for(crowd_ns);
	if (crowd_in_turn)
		pthread_mutex_unlock(&turn);
	pthread_barrier_wait(&together);
	while (crowd_in_turn)
		pause();
	return NULL;
}

static void
crowd(void)
{
	pthread_t t;

	pthread_barrier_init(&together, NULL, (unsigned)crowd_size + 1);
	for (int i = 0; i < crowd_size; i++)
		if (pthread_create(&t, NULL, one_of_crowd, NULL) != 0)
			_exit(BROKEN);
	victim_ready();
	victim_wait();
	pthread_barrier_wait(&together);
	pthread_barrier_wait(&together);
	victim_ready();
	victim_wait();
}

static bool
heard(const struct victim *v)
{
	struct pollfd p = { .fd = v->hear, .events = POLLIN };

	if (poll(&p, 1, 0) <= 0)
		return false;
	victim_hear(v);
	return true;
}

static void
check_sum(const char *name, struct clock *c, const struct tally *t,
	  uint64_t cpu)
{
	struct rest rest = {0};

	clock_rest(c, rest_add, &rest);

	const double ratio = (double)(t->cpu_ns + rest.cpu_ns) / (double)cpu;

	printf("%s: clock %.1f ms, given %.1f + rest %.1f of %zu threads, "
	       "ratio %.4f; %zu samples, %zu forks, %zu exits, %zu early, "
	       "opened %zu; %zu switches\n", name, (double)cpu / 1e6,
	       (double)t->cpu_ns / 1e6, (double)rest.cpu_ns / 1e6,
	       rest.threads, ratio, t->kind[CLOCK_SAMPLE],
	       t->kind[CLOCK_FORK], t->kind[CLOCK_EXIT], t->early,
	       clock_traits(c)->threads, t->kind[CLOCK_SWITCH]);
	CHECK(as_clock((double)(t->cpu_ns + rest.cpu_ns), cpu,
		       t->kind[CLOCK_SWITCH]),
	      "%s: cpu_ns / clock %.4f", name, ratio);
	CHECK(t->early == 0, "%zu out of order", t->early);
	/* no fault of a clock: its reader was not given a CPU in time */
	if (t->lost > 0)
		printf("  %llu lost\n", (unsigned long long)t->lost);
}

static bool
run(const char *name, void (*victim)(void), uint64_t cpu_wanted,
    struct tally *t, struct clock_traits *traits)
{
	struct victim v = victim_start(victim);
	const struct clock_options opt = {
		.pid = v.pid,
		.interval_ns = interval_ns,
		.stack_bytes = 1024,
		.form = CLOCK_FORM_THREAD,
	};

	victim_hear(&v);

	struct clock *c = open_or_skip(&opt);

	if (!c) {
		victim_kill(&v);
		return false;
	}

	const uint64_t from = measure_from(v.pid);

	*t = (struct tally){ .pid = v.pid };
	if (cpu_wanted == 0)
		victim_go(&v);
	while (cpu_wanted ? cpu_of(v.pid) - from < cpu_wanted : !heard(&v)) {
		(void)wait_rings(c, 20);
		(void)clock_drain(c, false, tally_add, t);
	}
	clock_disable(c);

	const uint64_t cpu = cpu_of(v.pid) - from;

	(void)clock_drain(c, true, tally_add, t);
	check_sum(name, c, t, cpu);
	*traits = *clock_traits(c);
	clock_close(c);
	victim_kill(&v);
	return true;
}

/* Leaves with what became of it. */
static void
many_as_nobody(void)
{
	struct rlimit usual;
	struct tally t;
	struct clock_traits traits;

	if (getrlimit(RLIMIT_NOFILE, &usual) < 0)
		_exit(BROKEN);
	usual.rlim_cur = 1024;
	if (setrlimit(RLIMIT_NOFILE, &usual) < 0)
		_exit(BROKEN);
	if (geteuid() == 0 && (setgid(NOBODY) < 0 || setuid(NOBODY) < 0))
		_exit(CANNOT);
	/* changing ids makes a process undumpable */
	prctl(PR_SET_DUMPABLE, 1);
	crowd_size = MANY;
	crowd_ns = 2000000;
	interval_ns = 1000000;
	/* or who reads got a thousandth of a CPU; and the kernel's work at
	 * the end of threads is ours */
	crowd_in_turn = true;
	if (!run("crowd of an ordinary user", crowd, 0, &t, &traits))
		_exit(strstr(fail_last()->remedy, "perf_event_paranoid=2") ?
		      CANNOT : FAILED);
	CHECK(!traits.kernel, "kernel mode as nobody");
	CHECK(traits.threads == MANY + 1, "%zu opened", traits.threads);
	CHECK(traits.not_sampled == 0, "%zu not opened", traits.not_sampled);
	CHECK(t.kind[CLOCK_SAMPLE] > MANY / 2, "%zu samples",
	      t.kind[CLOCK_SAMPLE]);
	fflush(stdout);
	_exit(failures ? FAILED : PASS);
}

static void
check_many(void)
{
	int status;

	fflush(stdout);

	const pid_t pid = fork();

	if (pid == 0)
		many_as_nobody();
	CHECK(pid > 0 && waitpid(pid, &status, 0) == pid &&
	      WIFEXITED(status) && (WEXITSTATUS(status) == PASS ||
				    WEXITSTATUS(status) == CANNOT),
	      "1000 threads of an ordinary user");
}

int
main(void)
{
	struct tally t;
	struct clock_traits traits;

	alarm(300);
	if (!run("churn", churner, 0, &t, &traits))
		return CANNOT;
	CHECK(t.kind[CLOCK_FORK] == CHURN, "%zu births", t.kind[CLOCK_FORK]);
	CHECK(t.kind[CLOCK_EXIT] == CHURN, "%zu ends", t.kind[CLOCK_EXIT]);

	if (!run("crowd", crowd, 0, &t, &traits))
		return CANNOT;
	CHECK(traits.threads == CROWD + 1, "%zu opened", traits.threads);
	CHECK(traits.not_sampled == 0, "%zu not opened", traits.not_sampled);

	check_many();

	if (!run("storm", stormer, 2000000000u, &t, &traits))
		return CANNOT;
	CHECK(t.kind[CLOCK_FORK] > 100, "%zu births", t.kind[CLOCK_FORK]);
	return failures ? FAILED : PASS;
}
