/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Hits that the shell does not want to hear of: its handlers have conditions,
 * or count. They are judged here, while the thread that has hit stands alone;
 * so such a hit costs one stop of one thread. What cannot be told here is for
 * the shell, which then judges the next ones itself.
 */
#include "private.h"

#include <stdlib.h>
#include <string.h>

struct filter {
	bool on;
	uint64_t told;		/* the hit that the shell is to hear of; or 0 */
	uint64_t hits, limit;
	pid_t thread;
	struct condition condition;
};

static int
read_target(void *arg, uint64_t addr, void *buf, size_t n)
{
	return target_read(arg, addr, buf, n);
}

/* true: it concerns nobody. */
static bool
judge(struct tracer *tr, struct filter *f, const struct arch_regs *regs,
      pid_t tid)
{
	bool truth;

	f->told = 0;
	if (!f->on || (f->thread && f->thread != tid))
		return f->on;
	if (condition_run(&f->condition, regs, read_target, tr->target,
			  &truth) < 0) {
		fail_clear();
		f->on = false;
		return false;
	}
	if (!truth)
		return true;
	f->hits++;
	if (f->limit && f->hits % f->limit)
		return true;
	f->told = f->hits;
	return false;
}

static bool
judge_hit(void *arg, const struct breakpoint *bp, const struct arch_regs *regs,
	  pid_t tid)
{
	struct tracer *tr = arg;

	for (size_t i = 0; i < tr->trap_count; i++)
		if (tr->traps[i].at == bp)
			return tr->filters[i] &&
				judge(tr, tr->filters[i], regs, tid);
	return false;
}

uint64_t
filter_told(struct tracer *tr, size_t number)
{
	struct filter *f = tr->filters[number];
	const uint64_t told = f ? f->told : 0;

	if (f)
		f->told = 0;
	return told;
}

void
filter_drop(struct tracer *tr, size_t number)
{
	free(tr->filters[number]);
	tr->filters[number] = NULL;
}

static int
do_filter(struct tracer *tr, struct wire_message *in, struct wire_message *out)
{
	const uint64_t number = wire_take(in);
	struct filter f = { .on = true, .thread = (pid_t)wire_take(in) };
	const void *bytes;
	size_t n;

	(void)out;
	f.limit = wire_take(in);
	f.hits = wire_take(in);
	bytes = wire_take_bytes(in, &n);
	if (tracer_need_target(tr) < 0)
		return -1;
	if (!bytes || n != sizeof f.condition || number >= tr->trap_count ||
	    !tr->traps[number].at)
		return fail(FAIL_GENERAL, "a request was damaged");
	memcpy(&f.condition, bytes, sizeof f.condition);
	filter_drop(tr, number);
	tr->filters[number] = xmalloc(sizeof f);
	*tr->filters[number] = f;
	target_set_judge(tr->target, judge_hit, tr);
	return 0;
}

/* Its hits are asked for also when the target is gone. */
static int
do_hits(struct tracer *tr, struct wire_message *in, struct wire_message *out)
{
	const uint64_t number = wire_take(in);
	const bool end = wire_take(in);

	if (number >= BREAKPOINTS_MAX || !tr->filters[number])
		return fail(FAIL_MISSING, "the breakpoint has no filter");
	wire_put(out, tr->filters[number]->hits);
	if (end)
		filter_drop(tr, number);
	return 0;
}

const struct request_handler filter_requests[] = {
	{ WIRE_FILTER, do_filter, false },
	{ WIRE_HITS, do_hits, false },
	{ 0 }
};
