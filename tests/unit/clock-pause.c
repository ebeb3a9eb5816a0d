/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * mission: C6. Clocks that are stopped and started again: what the target does
 * between is not counted, and a thread that was born between is sampled after.
 */
#include "clock-victim.h"

enum { INTERVAL_NS = 1000000, PHASE_NS = 1500000000 };

/* One thread; a second one from the first word on. */
static void
grower(void)
{
	pthread_t other;
	struct pollfd p = { .fd = victim_in, .events = POLLIN };

	victim_ready();
	while (poll(&p, 1, 0) == 0)
		spin_for(5000000);
	if (pthread_create(&other, NULL, spin_for_ever, NULL) != 0)
		_exit(BROKEN);
	victim_ready();
	(void)spin_for_ever(NULL);
}

struct seen {
	struct tally t;
	pid_t second;		/* the thread that is not the first */
	size_t of_second;
};

static void
see(void *arg, const struct clock_record *r)
{
	struct seen *s = arg;

	tally_add(&s->t, r);
	if (r->kind != CLOCK_SAMPLE || r->tid == s->t.pid)
		return;
	s->second = r->tid;
	s->of_second++;
}

/* Returns the CPU time of the phase. */
static uint64_t
sample_for(struct clock *c, struct seen *s, uint64_t cpu_wanted)
{
	const uint64_t from = measure_from(s->t.pid);

	while (cpu_of(s->t.pid) - from < cpu_wanted) {
		(void)wait_rings(c, 20);
		(void)clock_drain(c, false, see, s);
	}
	clock_disable(c);

	const uint64_t cpu = cpu_of(s->t.pid) - from;

	(void)clock_drain(c, true, see, s);
	return cpu;
}

static void
check(const struct clock_options *opt, struct clock *c, const struct seen *s,
      uint64_t cpu)
{
	const double ratio = (double)s->t.kind[CLOCK_SAMPLE] * INTERVAL_NS /
			     (double)cpu;
	struct rest rest = {0};

	clock_rest(c, rest_add, &rest);

	const double given = (double)(s->t.cpu_ns + rest.cpu_ns) / (double)cpu;

	printf("%s: %zu samples (%zu of the second thread) in %.1f ms, ratio "
	       "%.4f; cpu given %.4f\n", form_name(opt->form),
	       s->t.kind[CLOCK_SAMPLE], s->of_second, (double)cpu / 1e6,
	       ratio, given);
	/* the pause was as long as what is counted: 0.1 tells them apart */
	CHECK(near(ratio, 0.9, 1.1), "samples x interval / clock %.4f", ratio);
	CHECK(s->of_second > 100, "%zu samples of the second thread",
	      s->of_second);
	CHECK(opt->form == CLOCK_FORM_CPU ||
	      as_clock(given * (double)cpu, cpu, s->t.kind[CLOCK_SWITCH]),
	      "cpu_ns / clock %.4f", given);
	CHECK(s->t.early == 0, "%zu out of order", s->t.early);
}

static bool
run(enum clock_form form)
{
	struct victim v = victim_start(grower);
	const struct clock_options opt = {
		.pid = v.pid, .interval_ns = INTERVAL_NS,
		.stack_bytes = 4096, .form = form,
	};
	struct seen s = { .t.pid = v.pid };

	victim_hear(&v);

	struct clock *c = open_or_skip(&opt);

	if (!c) {
		victim_kill(&v);
		return false;
	}

	uint64_t cpu = sample_for(c, &s, PHASE_NS);
	const size_t before = s.t.kind[CLOCK_SAMPLE];
	const uint64_t paused = cpu_of(v.pid);

	victim_go(&v);
	victim_hear(&v);
	while (cpu_of(v.pid) - paused < 2u * PHASE_NS)
		poll(NULL, 0, 20);
	(void)clock_drain(c, true, see, &s);
	CHECK(s.t.kind[CLOCK_SAMPLE] == before, "%zu samples while stopped",
	      s.t.kind[CLOCK_SAMPLE] - before);
	clock_enable(c);
	cpu += sample_for(c, &s, PHASE_NS);
	check(&opt, c, &s, cpu);
	clock_close(c);
	victim_kill(&v);
	return true;
}

int
main(void)
{
	size_t ran = 0;

	alarm(300);
	ran += run(CLOCK_FORM_CPU);
	ran += run(CLOCK_FORM_THREAD);
	if (failures)
		return FAILED;
	return ran == 0 ? CANNOT : PASS;
}
