/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * mission: D1. Kernels that refuse parts of a request with EINVAL: without
 * PERF_FORMAT_LOST (before 6.0) and without inherit_thread (before 5.13) the
 * clock works on, losses are told from LOST records, and child processes,
 * which inherit then, stay out. Signals are refused there: only
 * remove_on_exec (5.13) keeps them from killing a new program. Who may watch
 * CPUs asks for no event on a thread, not even of our own: the machine's first
 * waits in the kernel for longer than all the rest takes.
 *
 * Linked with --wrap=syscall, so that this kernel can play an old one.
 */
#include "control.h"
#include "clock-victim.h"

#include <linux/perf_event.h>
#include <stdarg.h>
#include <sys/syscall.h>

static bool no_lost, no_5_13;
static size_t refused, on_threads;

long __real_syscall(long number, ...);
long __wrap_syscall(long number, ...);

static bool
too_new(const struct perf_event_attr *a)
{
	return (no_lost && (a->read_format & PERF_FORMAT_LOST)) ||
		(no_5_13 && (a->inherit_thread || a->remove_on_exec));
}

long
__wrap_syscall(long number, ...)
{
	long a[6];
	va_list ap;

	va_start(ap, number);
	for (size_t i = 0; i < ARRAY_LEN(a); i++)
		a[i] = va_arg(ap, long);
	va_end(ap);
	on_threads += number == SYS_perf_event_open && (pid_t)a[1] != -1;
	if (number == SYS_perf_event_open &&
	    too_new((const struct perf_event_attr *)a[0])) {
		refused++;
		errno = EINVAL;
		return -1;
	}
	return __real_syscall(number, a[0], a[1], a[2], a[3], a[4], a[5]);
}

/* Half of the CPU time is a child's, which is none of ours. */
static void
parent(void)
{
	victim_ready();
	victim_wait();

	const pid_t pid = fork();

	if (pid < 0)
		_exit(BROKEN);
	prctl(PR_SET_PDEATHSIG, SIGKILL);
	(void)spin_for_ever(NULL);
}

static void
run(enum clock_form form, size_t ring_bytes)
{
	struct victim v = victim_start(parent);
	const struct clock_options opt = {
		.pid = v.pid, .interval_ns = 1000000, .stack_bytes = 16384,
		.ring_bytes = ring_bytes, .form = form,
	};
	struct tally t = { .pid = v.pid };

	victim_hear(&v);
	refused = on_threads = 0;

	struct clock *c = open_or_skip(&opt);

	if (!c) {
		victim_kill(&v);
		exit(CANNOT);
	}

	const uint64_t from = cpu_of(v.pid);

	victim_go(&v);
	while (cpu_of(v.pid) - from < 1000000000u) {
		(void)poll(NULL, 0, ring_bytes ? 300 : 10);
		(void)clock_drain(c, false, tally_add, &t);
	}
	clock_disable(c);

	const double possible = (double)(cpu_of(v.pid) - from) / 1e6;

	(void)clock_drain(c, true, tally_add, &t);
	printf("%s: %zu refused, %zu samples + %llu lost of %.0f\n",
	       form_name(form), refused, t.kind[CLOCK_SAMPLE],
	       (unsigned long long)t.lost, possible);
	CHECK(refused > 0, "nothing was refused");
	CHECK(form != CLOCK_FORM_CPU || !on_threads, "%zu events on threads",
	      on_threads);
	CHECK(near((double)(t.kind[CLOCK_SAMPLE] + t.lost) / possible, 0.85,
		   1.15), "not the samples of one process");
	CHECK(ring_bytes == 0 || t.lost > 200, "%llu lost",
	      (unsigned long long)t.lost);
	CHECK(t.foreign == 0, "%zu records of the child", t.foreign);
	clock_close(c);
	victim_kill(&v);
}

static void
no_signals(void)
{
	struct victim v = victim_start(parent);

	victim_hear(&v);
	CHECK(!signal_clock_open(v.pid, 1000000, SIGPROF, 0,
				  &(struct gate_handler){ .stack = 0 }),
	      "signals without remove_on_exec");
	CHECK(fail_last()->kind == FAIL_UNSUITABLE, "%s", fail_last()->reason);
	victim_kill(&v);
}

int
main(void)
{
	alarm(300);
	no_lost = true;
	run(CLOCK_FORM_CPU, 0);
	run(CLOCK_FORM_THREAD, 0);
	run(CLOCK_FORM_THREAD, 65536);
	no_5_13 = true;
	run(CLOCK_FORM_THREAD, 0);
	no_signals();
	return failures ? FAILED : PASS;
}
