/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * mission: D1, V12. What finds no room in a ring is counted: samples delivered
 * and lost are those that the event's time allows, each loss is told once, and
 * the CPU time of threads stays true, even where switch records were lost.
 */
#include <linux/perf_event.h>
#include <sys/syscall.h>

#include "clock-victim.h"

static void
spinner(void)
{
	victim_ready();
	(void)spin_for_ever(NULL);
}

/* Two thirds at work, and 10,000 switches a second. */
static void
fidget(void)
{
	victim_ready();
	for (;;) {
		spin_for(100000);
		usleep(20);
	}
}

struct measure {
	enum clock_form form;
	const char *name;
	void (*victim)(void);
	double least, most;
};

struct outcome {
	/* by the victim's clock; by an event of ours that only counts */
	uint64_t cpu_ns, event_ns;
	uint64_t delivered, lost, counted;
};

/*
 * An event does not count what a switch itself takes, which is a few percent
 * on one machine and more than ten on another: a second event, which has
 * neither period nor ring, tells what can be counted.
 */
static int
counter_open(pid_t pid)
{
	struct perf_event_attr attr = {
		.type = PERF_TYPE_SOFTWARE,
		.size = sizeof(attr),
		.config = PERF_COUNT_SW_TASK_CLOCK,
	};

	return (int)syscall(SYS_perf_event_open, &attr, pid, -1, -1, 0);
}

static uint64_t
counted_by(int fd)
{
	uint64_t ns = 0;

	if (read(fd, &ns, sizeof(ns)) != sizeof(ns)) {
		perror("read of a counting event");
		exit(BROKEN);
	}
	return ns;
}

/* Nothing is drained before the victim ran for long. */
static bool
run(enum clock_form form, void (*victim)(void), struct outcome *out)
{
	struct victim v = victim_start(victim);
	const struct clock_options opt = {
		.pid = v.pid,
		.interval_ns = 1000000,
		.stack_bytes = 16384,
		.ring_bytes = 65536,
		.form = form,
	};

	victim_hear(&v);

	struct clock *c = open_or_skip(&opt);

	if (!c) {
		victim_kill(&v);
		return false;
	}

	const int counter = counter_open(v.pid);

	if (counter < 0) {
		perror("perf_event_open");
		exit(BROKEN);
	}

	const uint64_t from = measure_from(v.pid), first = counted_by(counter);
	struct tally t = { .pid = v.pid };
	struct rest rest = {0};

	while (cpu_of(v.pid) - from < 1000000000u)
		poll(NULL, 0, 50);
	(void)clock_drain(c, false, tally_add, &t);
	(void)clock_drain(c, false, tally_add, &t);
	while (cpu_of(v.pid) - from < 1500000000u)
		poll(NULL, 0, 50);
	clock_disable(c);
	out->cpu_ns = cpu_of(v.pid) - from;
	out->event_ns = counted_by(counter) - first;
	close(counter);
	(void)clock_drain(c, true, tally_add, &t);
	(void)clock_drain(c, true, tally_add, &t);
	out->delivered = t.kind[CLOCK_SAMPLE];
	out->lost = t.lost;
	out->counted = clock_lost(c);
	clock_rest(c, rest_add, &rest);
	if (form == CLOCK_FORM_THREAD) {
		const double ratio = (double)(t.cpu_ns + rest.cpu_ns) /
				     (double)out->cpu_ns;

		printf("  cpu given %.1f + rest %.1f ms, ratio %.4f\n",
		       (double)t.cpu_ns / 1e6, (double)rest.cpu_ns / 1e6,
		       ratio);
		CHECK(near(ratio, 0.98, 1.02 + stolen_ns() /
			   (double)out->cpu_ns), "cpu_ns / clock %.4f", ratio);
	}
	clock_close(c);
	victim_kill(&v);
	return true;
}

static bool
check(const void *what)
{
	const struct measure *m = what;
	struct outcome o;

	if (!run(m->form, m->victim, &o))
		return false;

	const double possible = (double)o.event_ns / 1e6;
	const double ratio = (double)(o.delivered + o.lost) / possible;

	printf("%s %s: %.1f ms counted of %.1f: %llu delivered, %llu lost, "
	       "ratio %.4f\n", form_name(m->form), m->name, possible,
	       (double)o.cpu_ns / 1e6,
	       (unsigned long long)o.delivered, (unsigned long long)o.lost,
	       ratio);
	CHECK(o.lost > 500, "only %llu lost", (unsigned long long)o.lost);
	CHECK(o.lost == o.counted, "told %llu, counted %llu",
	      (unsigned long long)o.lost, (unsigned long long)o.counted);
	CHECK(near(ratio, m->least, m->most),
	      "(delivered + lost) / counted %.4f", ratio);
	return true;
}

int
main(void)
{
	static const struct measure measures[] = {
		/* by chance, where the CPUs have other work too */
		{ CLOCK_FORM_CPU, "spinner", spinner, 0.85, 1.15 },
		{ CLOCK_FORM_THREAD, "spinner", spinner, 0.98, 1.02 },
		/* the kernel's count of lost records would be 10 and more */
		{ CLOCK_FORM_THREAD, "fidget", fidget, 0.98, 1.02 },
	};
	size_t all_ran = 0;

	alarm(600);
	for (size_t i = 0; i < ARRAY_LEN(measures); i++) {
		bool ran;

		if (!measured_well(check, &measures[i], &ran))
			return FAILED;
		all_ran += ran;
	}
	return all_ran == 0 ? CANNOT : PASS;
}
