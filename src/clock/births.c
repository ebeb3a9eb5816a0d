/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Births of threads: an event with the creator's stack, and beside it the
 * kernel's word of each new thread. Whose event it is:
 *
 *	the kernel's		clone ... fork record, then the sample
 *	the processor's		the sample where the function that creates
 *				threads begins ... clone -> fork record
 *
 * The first one needs the right to read the kernel's tracepoints. A birth in
 * any process then costs the sample; those of others are dropped here. It is
 * delivered in the other order, so that a fork record is always the end.
 *
 * For the second one, one event per CPU with a filter on the process costs a
 * birth the sample alone. Where that is refused, each thread has one per CPU,
 * which those that it creates inherit: that costs a birth some more for every
 * CPU. (A thread whose inherited events found no debug register could not be
 * born; but it has no other events than its creator had, and that one had a
 * register for each.) Nobody traces these threads: see
 * arch_breakpoints_are_safe.
 */
#include "private.h"

#include "arch.h"
#include "hazard.h"

#include <errno.h>
#include <stdlib.h>
#include <sys/ioctl.h>

enum {
	RING_BYTES = 1 << 20,
	RING_LEAST = 64 << 10,
	REORDER_NS = 1000 * 1000,
	TOLD_NS = 5 * 1000,	/* by the kernel */
	/* measured in a virtual machine, where it is dear */
	SAMPLE_NS = 20 * 1000,
	INHERIT_NS = 10 * 1000,
};

struct births {
	pid_t pid;
	struct perf_kernel kernel;
	struct rings rings;
	int *fds;		/* one per CPU, or the watch */
	size_t len;
	struct watch watch;
	bool told;		/* by the kernel */
	struct map forks;	/* creator -> its fork record, copied; told */
	uint64_t previous;	/* when the previous round began */
	clock_sink sink;	/* of this round */
	void *arg;
};

static int
start_everywhere(struct births *b)
{
	for (size_t i = 0; i < b->len; i++)
		if (b->fds[i] >= 0 &&
		    ioctl(b->fds[i], PERF_EVENT_IOC_ENABLE, 0) < 0)
			return -1;
	return 0;
}

/* A process is no thread. (The constant is CLONE_THREAD.) */
static int
filter_threads(const struct births *b)
{
	for (size_t i = 0; i < b->len; i++)
		if (b->fds[i] >= 0 &&
		    ioctl(b->fds[i], PERF_EVENT_IOC_SET_FILTER,
			  "clone_flags & 0x10000") < 0)
			return -1;
	return 0;
}

static int
open_per_cpu(struct births *b, struct perf_event_attr a)
{
	a.disabled = 1;		/* until it is filtered */
	if (everywhere_open(&b->fds, &b->len, &b->kernel, &b->rings, &a) < 0)
		return -1;
	if ((b->told ? filter_threads(b) :
	     everywhere_filter(b->fds, b->len, b->pid)) == 0 &&
	    start_everywhere(b) == 0)
		return 0;

	const int error = errno;

	fds_close(b->fds, b->len);
	b->fds = NULL;
	errno = error;
	return -1;
}

static int
open_told(struct births *b, uint32_t stack_bytes)
{
	const int number = tracepoint_number("task/task_newtask");

	b->told = number >= 0;
	if (b->told && open_per_cpu(b, attr_tracepoint(number,
						       stack_bytes)) == 0)
		return 0;
	b->told = false;
	return -1;
}

static int
open_per_thread(struct births *b, struct perf_event_attr a)
{
	attr_add_inherit(&a);
	b->watch = (struct watch){
		.pid = b->pid, .attr = a, .kernel = &b->kernel,
		.rings = &b->rings,
	};
	return watch_open(&b->watch);
}

static int
open_events(struct births *b, uint64_t entry, uint32_t stack_bytes)
{
	const struct perf_event_attr a = attr_entry(entry, stack_bytes);

	if (open_told(b, stack_bytes) == 0)
		return 0;
	if (!entry)
		return fail(FAIL_MISSING, "no libc with pthread_create is "
			    "mapped");
	if (handled(HAZARD_BREAKPOINT_VIRTUAL) && !arch_breakpoints_are_safe()) {
		fail(FAIL_DENIED, "the kernel's tracepoints are refused, and "
		     "below a hypervisor a breakpoint of the processor could "
		     "kill the process");
		return fail_remedy("record as root");
	}
	if (open_per_cpu(b, a) == 0 || open_per_thread(b, a) == 0)
		return 0;
	if (errno == ENOSPC)
		return fail(FAIL_DENIED, "no debug register is free");
	return fail_refused(errno, b->pid, "perf_event_open of a breakpoint");
}

struct births *
births_open(pid_t pid, uint64_t entry, uint32_t stack_bytes)
{
	struct births *b = xcalloc(1, sizeof *b);

	b->pid = pid;
	descriptors_raise();
	if (rings_open(&b->rings, &b->kernel, RING_BYTES, RING_LEAST,
		       pid) == 0 && open_events(b, entry, stack_bytes) == 0)
		return b;
	births_close(b);
	return NULL;
}

void
births_close(struct births *b)
{
	if (!b)
		return;
	watch_close(&b->watch);
	if (b->fds)
		fds_close(b->fds, b->len);
	rings_close(&b->rings);
	map_free_values(&b->forks);
	free(b);
}

bool
births_need_register(const struct births *b)
{
	return !b->told;
}

uint64_t
births_cost_ns(const struct births *b)
{
	if (b->told)
		return TOLD_NS;
	return SAMPLE_NS + (b->fds ? 0 : b->rings.len * INHERIT_NS);
}

size_t
births_pollfds(const struct births *b, struct pollfd *fds, size_t max)
{
	return rings_pollfds(&b->rings, fds, max);
}

/* ---- told by the kernel: the fork comes first ---------------------------- */

static void
deliver_fork(struct births *b, uint64_t *slot)
{
	struct clock_record *fork = (struct clock_record *)(uintptr_t)*slot;

	*slot = 0;
	if (fork)
		b->sink(b->arg, fork);
	free(fork);
}

/* Without its sample, if that was lost. */
static void
deliver_forks(struct births *b)
{
	uint64_t by, fork;
	size_t at = 0;

	while (map_next(&b->forks, &at, &by, &fork))
		deliver_fork(b, map_slot_of(&b->forks, by));
	map_fini(&b->forks);
}

static void
take_told(struct births *b, const struct clock_record *r)
{
	if (r->kind == CLOCK_FORK) {
		uint64_t *slot = map_slot_of(&b->forks,
					     (uint64_t)r->u.fork.ptid);
		struct clock_record *fork = xmalloc(sizeof *fork);

		deliver_fork(b, slot);
		*fork = *r;
		*slot = (uintptr_t)fork;
		return;
	}
	if (r->kind == CLOCK_EXIT)
		deliver_fork(b, map_slot_of(&b->forks, (uint64_t)r->tid));
	b->sink(b->arg, r);
	if (r->kind == CLOCK_SAMPLE)
		deliver_fork(b, map_slot_of(&b->forks, (uint64_t)r->tid));
	if (r->kind == CLOCK_EXIT)
		(void)map_remove(&b->forks, (uint64_t)r->tid);
}

/* ---- both ---------------------------------------------------------------- */

static void
take(void *arg, size_t ring, const unsigned char *record)
{
	struct births *b = arg;
	struct raw_record raw;

	(void)ring;
	if (!record_parse(record, &raw))
		return;
	if (b->fds ? raw.r.pid != b->pid && raw.r.kind != CLOCK_LOST :
		     !watch_accept(&b->watch, &raw))
		return;
	if (b->told)
		take_told(b, &raw.r);
	else
		b->sink(b->arg, &raw.r);
}

bool
births_ripe(const struct births *b)
{
	return rings_ripe(&b->rings);
}

void
births_drain(struct births *b, bool final, clock_sink sink, void *arg)
{
	const uint64_t now = now_ns();
	const uint64_t until = rings_pressed(&b->rings) ? now : b->previous;

	b->sink = sink;
	b->arg = arg;
	(void)rings_drain(&b->rings, final ? UINT64_MAX : until > REORDER_NS ?
			  until - REORDER_NS : 0, take, b);
	if (final)
		deliver_forks(b);
	b->previous = now;
}
