/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * The stops and peeks of a look: the stacks of those that sampler.c has chosen
 * are copied, each thread alone, and unwound when nobody stands any more.
 */
#include "maps.h"
#include "sampler.h"

#include <stdlib.h>

enum {
	STACK_MAX = 8 << 20,	/* as large as a main stack may grow */
	/* who runs stops within some microseconds; others are no loss */
	STOP_LIMIT_NS = 5 * 1000 * 1000,
	SYNC_EVERY_NS = 20 * 1000 * 1000,
	SYNC_NEED_NS = 20 * 1000 * 1000,
};

/* ---- one thread ---------------------------------------------------------- */

/*
 * Nobody tells of new mappings: each look asks whether the list is that of
 * now. Where the kernel cannot say so, it is read again now and then, and where
 * code runs that is on no list.
 */
static void
sync_maps(struct sampler *s, bool need)
{
	const uint64_t age = s->looked_at - s->synced_at;
	const enum maps_age now = need ? MAPS_UNKNOWN :
		mapper_age(s->opt->mapper);

	if (now == MAPS_UNKNOWN && age < (need ? SYNC_NEED_NS : SYNC_EVERY_NS))
		return;
	if (now == MAPS_OF_NOW)
		return;
	(void)mapper_sync(s->opt->mapper, s->looked_at); /* the old one does */
	s->synced_at = s->looked_at;
}

/* Where the calls of this thread have had all their time, a stop in a call
 * weighs where the thread was last seen outside of one. */
static void
place_stop(struct sampler *s, struct seen *th)
{
	if (!th->in_call) {
		th->user_frinfo = th->frinfo;
		return;
	}
	if (!th->user_frinfo || !sampler_doubts_call(s, th))
		return;
	s->late++;
	th->in_call = false;
	th->frinfo = th->user_frinfo;
}

static void
take_sample(struct sampler *s, const struct snapshot_thread *copy, bool stopped)
{
	const struct step_stack stack = {
		.data = copy->stack, .base = copy->stack_base,
		.size = copy->stack_size,
	};
	struct step_stack under = {
		.data = copy->under, .base = copy->under_base,
		.size = copy->under_size,
	};
	struct seen *th = sampler_thread(s, copy->tid);

	if (!th)
		return;
	if (!mapper_knows(s->opt->mapper, copy->facts.pc))
		sync_maps(s, true);
	th->frinfo = recorder_walk(s->rec, &copy->regs, &stack,
				   copy->under_size ? &under : NULL,
				   copy->stack_size == STACK_MAX ||
				   copy->under_size == STACK_MAX);
	th->in_call = !stopped || copy->facts.in_syscall;
	if (stopped)
		place_stop(s, th);
	sampler_book_sample(s, th);
}

/* The stop has brought its clock up to date; otherwise that lags by up to a
 * tick of the scheduler. */
static void
note_stopped(struct sampler *s, const struct snapshot *snap)
{
	for (size_t i = 0; i < snap->len; i++) {
		const struct thread_facts *f = &snap->threads[i].facts;
		struct seen *th = sampler_thread(s, snap->threads[i].tid);

		if (th && f->cpu_ns > th->cpu_ns)
			th->cpu_ns = f->cpu_ns;
		if (th && snap->threads[i].cut_short)
			sampler_spare_cut(s, th);
		if (th)
			sampler_note_blocks(s, th);
		recorder_stood(s->rec, snap->threads[i].tid);
	}
	sampler_read_clock(s);
}

/* Where the scheduler left it is better than nothing. */
static bool
is_fair(const struct sampler *s, const struct snapshot_thread *copy)
{
	const struct seen *th = sampler_thread(s, copy->tid);

	return th && (!copy->waited ||
		      sampler_pending(th) > sampler_patience(s));
}

/* ---- who goes first ------------------------------------------------------ */

/*
 * A look that comes late comes when the scheduler likes it, and finds threads
 * where that took their processor from them; one that is in time takes it
 * from them anywhere.
 */
void
sampler_hurry(struct sampler *s)
{
	if (!s->hurries)
		urgent_begin(&s->urgent);
	s->hurries = true;
}

void
sampler_share(struct sampler *s)
{
	if (s->hurries)
		urgent_end(&s->urgent);
	s->hurries = false;
}

/* ---- all that were planned ----------------------------------------------- */

/* We share when nobody stands any more: maps and stacks may take long. */
static bool
copy_running(struct sampler *s, struct snapshot *snap)
{
	const bool copied = s->running_count &&
		snapshot_running(s->opt->target, s->running, s->running_count,
				 s->came_at, STOP_LIMIT_NS, STACK_MAX,
				 snap) == 0;

	if (!target_has_late(s->opt->target))
		sampler_share(s);
	if (copied || s->waiting_count)
		sync_maps(s, false);
	return copied;
}

void
sampler_note_late(struct sampler *s)
{
	struct late_stops late;

	target_serve_late(s->opt->target, 0);
	late = target_take_late(s->opt->target);
	recorder_stops(s->rec, late.stops, late.total_ns, late.longest_ns);
}

void
sampler_sample_running(struct sampler *s)
{
	struct snapshot snap;

	sampler_note_late(s);
	if (!copy_running(s, &snap))
		return;
	s->stood_ns += snap.pause_total_ns;
	s->stops += snap.stops;
	recorder_stops(s->rec, snap.stops, snap.pause_total_ns, snap.pause_ns);
	note_stopped(s, &snap);
	for (size_t i = 0; i < snap.len; i++)
		if (is_fair(s, &snap.threads[i])) {
			take_sample(s, &snap.threads[i], true);
			target_serve_told(s->opt->target);
		}
	snapshot_fini(&snap);
	for (size_t i = 0; i < s->running_count; i++) {
		struct seen *th = sampler_thread(s, s->running[i]);

		if (th && !th->sampled)
			sampler_book_gap(s, th, "not stopped");
	}
}

void
sampler_peek_waiting(struct sampler *s)
{
	for (size_t i = 0; i < s->waiting_count; i++) {
		struct snapshot_thread copy;

		if (peek_thread(s->opt->target, s->waiting[i], STACK_MAX,
				&copy) < 0)
			continue;	/* it runs: the next look may find it */
		take_sample(s, &copy, false);
		snapshot_thread_fini(&copy);
	}
}
