/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Where the inject engine's system time goes. The ticks of perf come in user
 * mode only (one in the kernel could cut a system call short); what a thread's
 * counter shows beyond them is system time, exact, but not where.
 *
 * Where the kernel lets us, a second clock samples kernel mode alone, from
 * outside, and its samples share that time, which waits for them. Else each
 * tick tells how much CPU time its thread had used by then: what is more than
 * an interval since the tick before was spent between the two
 * (recorder_system.c). Where a tick tells nothing, it takes what the drain
 * before it has left.
 */
#include <stdlib.h>
#include <string.h>

#include "engine_inject.h"

enum {
	WAITING_MAX = 4096,	/* samples of a thread whose time is to come */
	/* Our own ticks take time of the kernel's, and have it already: samples
	 * of that are left over. */
	WAITING_NS = 1000 * 1000 * 1000,
	STACK_BYTES = 65528,	/* the most that the kernel copies */
};

void
inject_open_kernel_clock(struct inject *e)
{
	const struct clock_options options = {
		.pid = target_pid(e->opt->target),
		.interval_ns = e->opt->interval_ns,
		.stack_bytes = STACK_BYTES,
		.form = CLOCK_FORM_AUTO,
		.only_kernel = true,
	};

	e->kernel = clock_open(&options);
	if (e->kernel) {
		clock_disable(e->kernel);
		return;
	}
	e->no_kernel = xstrdup(fail_last()->reason);
	fail_clear();
}

static void
forget_old(struct inject *e, struct thread *th, uint64_t until_ns)
{
	size_t old = 0;

	while (old < th->waiting_len && th->waiting[old].time_ns < until_ns)
		recorder_uncount(e->rec, th->waiting[old++].end);
	if (!old)
		return;
	th->waiting_len -= old;
	memmove(th->waiting, th->waiting + old,
		th->waiting_len * sizeof *th->waiting);
}

void
inject_forget_samples(struct inject *e, struct thread *th)
{
	forget_old(e, th, UINT64_MAX);
}

/* The kernel copies one stack. Where that is an alternate one, the rest of it
 * cannot be known: then it is nobody's. */
static struct kernel_sample
sample_of(struct inject *e, const struct clock_record *rec)
{
	struct kernel_sample s = {
		.time_ns = rec->time_ns, .cpu = rec->cpu,
		.frinfo = recorder_copied_stack(e->rec, rec),
		.end = recorder_latest_end(e->rec),
	};

	if (s.end == UNWIND_FAILED) {
		recorder_uncount(e->rec, s.end);
		s.frinfo = recorder_system_stack(e->rec);
		s.end = recorder_latest_end(e->rec);
	}
	return s;
}

static void
take_sample(void *arg, const struct clock_record *rec)
{
	struct inject *e = arg;
	const struct recorder_counts *counts = recorder_counts(e->rec);

	if (rec->kind == CLOCK_LOST) {
		inject_note_lost(e, INJECT_LOST_RING, rec->u.lost.samples);
		return;
	}
	if (rec->kind != CLOCK_SAMPLE ||
	    rec->pid != target_pid(e->opt->target) ||
	    (counts->execed && rec->time_ns >= counts->exec_ns))
		return;

	struct thread *th = inject_thread(e, rec->tid);

	if (th->waiting_len >= WAITING_MAX)
		forget_old(e, th, rec->time_ns - WAITING_NS);
	if (th->waiting_len >= WAITING_MAX)
		return;
	th->waiting = xgrow(th->waiting, &th->waiting_cap,
			    th->waiting_len + 1, sizeof *th->waiting);
	th->waiting[th->waiting_len++] = sample_of(e, rec);
}

void
inject_drain_kernel_clock(struct inject *e)
{
	if (e->kernel)
		(void)clock_drain(e->kernel, e->final, take_sample, e);
}

/* As many of them as it has intervals. */
static void
share_among_samples(struct inject *e, struct thread *th, uint64_t rest)
{
	const uint64_t fit = rest / e->opt->interval_ns + 1;
	const uint64_t len = th->waiting_len, n = fit < len ? fit : len;
	uint64_t next = 0, part = 0;

	inject_note_booked(e, th, rest);
	th->system_ns += rest;
	for (uint64_t i = 0; i < len; i++) {
		const struct kernel_sample *s = &th->waiting[i];

		if (i < next) {
			recorder_uncount(e->rec, s->end);
			continue;
		}
		recorder_tick(e->rec, s->time_ns, th->tid, s->cpu,
			      MSTATE_SYSTEM,
			      rest / n + (part < rest % n), s->frinfo);
		next = ++part < n ? part * len / n : len;
	}
	th->waiting_len = 0;
}

static void
book_unplaced(struct inject *e, struct thread *th, uint64_t rest)
{
	inject_note_booked(e, th, rest);
	recorder_system_behind(e->rec, now_ns(), th->tid, rest);
}

/* At the end, and no sample of kernel mode has come: what is less than an
 * interval is of both modes, as the thread's time was before. */
static uint64_t
system_part(const struct inject *e, const struct thread *th, uint64_t rest)
{
	if (rest >= e->opt->interval_ns)
		return rest;
	return th->booked_ns ? (uint64_t)((double)rest *
		(double)th->system_ns / (double)th->booked_ns) : 0;
}

/* Not all that no tick has was system time: on a crowded machine ticks are
 * late. The rest of it is the last user stack's. */
static uint64_t
book_late(struct inject *e, struct thread *th, uint64_t rest)
{
	const uint64_t user = th->frinfo ?
		rest - recorder_system_of(e->rec, th->tid, rest, rest) : 0;

	inject_note_booked(e, th, user);
	recorder_book(e->rec, now_ns(), th->tid, MSTATE_USER, user,
		      th->frinfo);
	return rest - user;
}

uint64_t
inject_book_system(struct inject *e, struct thread *th, uint64_t rest)
{
	const uint64_t before = rest;

	if (e->kernel)
		forget_old(e, th, now_ns() - WAITING_NS);
	if (e->kernel && th->waiting_len) {
		rest = book_late(e, th, rest);
		if (rest)
			share_among_samples(e, th, rest);
		return before;
	}
	if (!e->final) {
		if (!e->kernel)
			th->owed_ns = rest;	/* the next tick's */
		return before;		/* it waits */
	}
	rest = recorder_system_of(e->rec, th->tid, rest,
				  system_part(e, th, rest));
	if (rest)
		book_unplaced(e, th, rest);
	return rest;
}

/* Since the tick before; 0: this one does not tell, or that one did not. */
static uint64_t
skipped_ns(const struct inject *e, struct thread *th, uint64_t cpu_ns)
{
	const uint64_t interval = e->opt->interval_ns;
	const uint64_t before = th->tick_cpu_ns, owed = th->owed_ns;
	const uint64_t booked = th->past_tick_ns;
	const bool known = cpu_ns && before != UINT64_MAX;
	uint64_t ns;

	th->owed_ns = 0;
	th->past_tick_ns = 0;
	th->tick_cpu_ns = cpu_ns ? cpu_ns : UINT64_MAX;
	if (!known)
		return owed;
	if (cpu_ns < before + interval + interval / 2)
		return 0;
	ns = (uint64_t)((double)((cpu_ns - before + interval / 2) / interval *
				 interval - interval) * inject_scale(e, th));
	return ns > booked ? ns - booked : 0;
}

void
inject_book_between(struct inject *e, struct thread *th,
		    const struct tick_time *tick)
{
	uint64_t ns;

	if (e->kernel)
		return;
	ns = skipped_ns(e, th, tick->cpu_ns);
	if (e->mute_cause)
		ns = 0;		/* it has a cause, and is booked with it */
	ns -= inject_take_lost(e, th, ns);
	if (ns)
		ns = book_late(e, th, ns);
	inject_note_booked(e, th, ns);
	th->system_ns += ns;
	recorder_system_between(e->rec, tick->time_ns, th->tid, ns);
}
