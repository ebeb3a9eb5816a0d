/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * mission: D1. Each form of the clock delivers its rate: samples x interval is
 * the CPU time of the process, at 10 ms, 1 ms and 200 us; in the form that
 * counts per thread, CPU time given to samples and the rest is it too. Records
 * come in order of time, with registers and the stack under sp.
 */
#include "clock-victim.h"

static void
two_spinners(void)
{
	pthread_t other;

	if (pthread_create(&other, NULL, spin_for_ever, NULL) != 0)
		_exit(BROKEN);
	victim_ready();
	(void)spin_for_ever(NULL);
}

/*
 * Ticks of a CPU that others use too hit us by chance: three standard
 * deviations of that come on top.
 */
static bool
as_expected(const struct clock_options *opt, const struct tally *t,
	    double ratio, double share)
{
	const double off = ratio - 1;
	const double chance = 9 * (1 - share) / (double)t->kind[CLOCK_SAMPLE];

	return opt->form == CLOCK_FORM_CPU && share < 1 &&
		off * off <= 0.02 * 0.02 + chance;
}

static void
check_rate(const struct clock_options *opt, const struct tally *t,
	   uint64_t cpu, uint64_t wall)
{
	const double share = (double)cpu / (double)wall /
			     (double)sysconf(_SC_NPROCESSORS_ONLN);
	const double ratio = (double)t->kind[CLOCK_SAMPLE] *
			     (double)opt->interval_ns / (double)cpu;

	printf("%s %llu us: %zu samples (%zu kernel, %zu cut), ratio %.4f, "
	       "lost %llu, early %zu of %zu\n", form_name(opt->form),
	       (unsigned long long)opt->interval_ns / 1000,
	       t->kind[CLOCK_SAMPLE], t->kernel, t->full, ratio,
	       (unsigned long long)t->lost, t->early, t->records);
	CHECK(as_clock(ratio * (double)cpu, cpu, t->kind[CLOCK_SWITCH]) ||
	      as_expected(opt, t, ratio, share),
	      "samples x interval / clock %.4f", ratio);
	CHECK(t->lost == 0, "%llu lost", (unsigned long long)t->lost);
	CHECK(t->early == 0, "%zu records out of order", t->early);
	CHECK(t->no_user == 0, "%zu samples without registers", t->no_user);
	CHECK(t->odd_stack == 0, "%zu samples with a bad stack", t->odd_stack);
	CHECK(t->foreign == 0, "%zu records of others", t->foreign);
}

static void
check_cpu(struct clock *c, const struct tally *t, uint64_t cpu)
{
	struct rest rest = {0};

	clock_rest(c, rest_add, &rest);

	const double ratio = (double)(t->cpu_ns + rest.cpu_ns) / (double)cpu;

	printf("    cpu given %.1f ms + rest %.1f ms of %zu threads, "
	       "ratio %.4f\n", (double)t->cpu_ns / 1e6,
	       (double)rest.cpu_ns / 1e6, rest.threads, ratio);
	CHECK(as_clock(ratio * (double)cpu, cpu, t->kind[CLOCK_SWITCH]),
	      "cpu_ns / clock %.4f", ratio);
	CHECK(rest.threads == 2, "%zu threads at the end", rest.threads);
	CHECK(rest.sampled == 2, "%zu threads sampled", rest.sampled);
}

struct measure {
	enum clock_form form;
	uint64_t interval_us, cpu_wanted;
};

static bool
run(const void *what)
{
	const struct measure *m = what;
	struct victim v = victim_start(two_spinners);
	const struct clock_options opt = {
		.pid = v.pid,
		.interval_ns = m->interval_us * 1000,
		.stack_bytes = 8192,
		.form = m->form,
	};

	victim_hear(&v);

	struct clock *c = open_or_skip(&opt);

	if (!c) {
		victim_kill(&v);
		return false;
	}

	const uint64_t from = measure_from(v.pid), start = now_ns();
	struct tally t = { .pid = v.pid };

	CHECK(clock_traits(c)->form == m->form, "another form");
	while (cpu_of(v.pid) - from < m->cpu_wanted) {
		(void)wait_rings(c, 50);
		(void)clock_drain(c, false, tally_add, &t);
	}
	clock_disable(c);

	const uint64_t cpu = cpu_of(v.pid) - from, wall = now_ns() - start;

	(void)clock_drain(c, true, tally_add, &t);
	check_rate(&opt, &t, cpu, wall);
	if (m->form == CLOCK_FORM_THREAD)
		check_cpu(c, &t, cpu);
	clock_close(c);
	victim_kill(&v);
	return true;
}

int
main(void)
{
	static const struct measure measures[] = {
		{ CLOCK_FORM_CPU, 10007, 4000000000u },
		{ CLOCK_FORM_CPU, 1000, 2000000000u },
		{ CLOCK_FORM_CPU, 200, 2000000000u },
		{ CLOCK_FORM_THREAD, 10007, 4000000000u },
		{ CLOCK_FORM_THREAD, 1000, 2000000000u },
		{ CLOCK_FORM_THREAD, 200, 2000000000u },
	};
	size_t all_ran = 0;

	alarm(600);
	for (size_t i = 0; i < ARRAY_LEN(measures); i++) {
		bool ran;

		if (!measured_well(run, &measures[i], &ran))
			return FAILED;
		all_ran += ran;
	}
	return all_ran == 0 ? CANNOT : PASS;
}
