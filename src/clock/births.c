/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Births of threads: an event that the processor raises where the function
 * that creates threads begins, with the creator's stack, and beside it the
 * kernel's word of each new thread.
 *
 *	creator:  entry (sample) ... clone -> fork record, which names the child
 *
 * One event per CPU with a filter on the process costs a birth the sample
 * alone. Where that is refused, each thread has one per CPU, which those that
 * it creates inherit: that costs a birth some more for every CPU. (A thread
 * whose inherited events found no debug register could not be born; but it has
 * no other events than its creator had, and that one had a register for each.)
 */
#include "private.h"

#include <errno.h>
#include <stdlib.h>
#include <sys/ioctl.h>

enum {
	RING_BYTES = 1 << 20,
	RING_LEAST = 64 << 10,
	REORDER_NS = 1000 * 1000,
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
	uint64_t previous;	/* when the previous round began */
	clock_sink sink;	/* of this round */
	void *arg;
};

static int
start_everywhere(struct births *b)
{
	if (everywhere_filter(b->fds, b->len, b->pid) < 0)
		return -1;
	for (size_t i = 0; i < b->len; i++)
		if (b->fds[i] >= 0 &&
		    ioctl(b->fds[i], PERF_EVENT_IOC_ENABLE, 0) < 0)
			return -1;
	return 0;
}

static int
open_per_cpu(struct births *b, struct perf_event_attr a)
{
	a.disabled = 1;		/* until it is filtered */
	if (everywhere_open(&b->fds, &b->len, &b->kernel, &b->rings, &a) < 0)
		return -1;
	if (start_everywhere(b) == 0)
		return 0;
	fds_close(b->fds, b->len);
	b->fds = NULL;
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
	free(b);
}

uint64_t
births_cost_ns(const struct births *b)
{
	return SAMPLE_NS + (b->fds ? 0 : b->rings.len * INHERIT_NS);
}

size_t
births_pollfds(const struct births *b, struct pollfd *fds, size_t max)
{
	return rings_pollfds(&b->rings, fds, max);
}

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
	b->sink(b->arg, &raw.r);
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
	b->previous = now;
}
