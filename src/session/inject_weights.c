/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * What the inject engine's ticks weigh: their intervals. What a thread's CPU
 * clock counted beyond its ticks was system time (perf ticks fall in user
 * mode only; see inject_system.c) or the tail of an interval, which goes to
 * the thread's last user stack; one interval is held back for the tick that
 * may be on its way. POSIX ticks fall in both modes: one in a system call says
 * so; what the kernel does otherwise is estimated by utime:stime, and said to
 * be.
 *
 * All of it together is what the process's clock says. perf's counters go by
 * the time of the wall while a thread is on a CPU, and count what the host
 * took from us; the clocks of many threads are read one after another, while
 * these run on; a thread may be met late, when the process's clock has had its
 * time already. So counters are scaled (inject_clocks.c), and rests wait, or
 * shrink at the end, where they would be more than the process used.
 */
#include <stdlib.h>
#include <string.h>

#include "engine_inject.h"

enum {
	UNSEEN_NS = 50000000,	/* clocks are not read in one instant */
	NEGLIGIBLE_NS = 10000,
};

static const char *const loss_names[INJECT_LOSSES] = {
	[RECORD_LOST_FULL] = "buffer", [RECORD_LOST_WINDOW] = "window",
	[RECORD_LOST_LEASE] = "lease", [RECORD_LOST_OFF] = "off",
	[INJECT_LOST_RING] = "ring",
};

/* ---- threads ------------------------------------------------------------- */

struct thread *
inject_thread(struct inject *e, pid_t tid)
{
	uint64_t *slot = map_slot_of(&e->threads, (uint64_t)tid);

	if (!*slot) {
		struct thread *th = xcalloc(1, sizeof *th);
		struct thread_facts f;

		th->tid = tid;
		if (target_thread_facts(e->opt->target, tid, &f) == 0) {
			memcpy(th->name, f.name, sizeof th->name);
			/* its first tick may be read when it has ended */
			recorder_thread_met(e->rec, tid, th->name);
		}
		*slot = (uintptr_t)th;
	}
	return (struct thread *)(uintptr_t)*slot;
}

/* ---- weights ------------------------------------------------------------- */

void
inject_note_booked(struct inject *e, struct thread *th, uint64_t weight)
{
	th->booked_ns += weight;
	e->booked_ns += weight;
}

static void
book(struct inject *e, struct thread *th, uint64_t weight, bool user)
{
	uint64_t system = 0;

	if (!e->clock)
		system = recorder_system_of(e->rec, th->tid, weight, (uint64_t)
				((double)weight * e->system_share));
	else if (!user && !e->kernel)
		system = recorder_system_of(e->rec, th->tid, weight, weight);
	inject_note_booked(e, th, weight);
	recorder_book(e->rec, now_ns(), th->tid, MSTATE_USER, weight - system,
		      th->frinfo);
	recorder_book(e->rec, now_ns(), th->tid, MSTATE_SYSTEM, system,
		      th->frinfo);
}

/*
 * Of a tick of a timer. Those of perf come in user mode; but some hypervisors
 * hold one back that is due in the kernel until the call returns, and a thread
 * that has done nothing since its call was in the call.
 */
static uint64_t
system_part(struct inject *e, const struct thread *th, const struct record *r,
	    uint64_t weight)
{
	if (e->clock)
		return r->in_call && !r->late ? weight : 0;
	e->ticks_ns += weight;
	if (!r->in_call)
		return recorder_system_of(e->rec, th->tid, weight, (uint64_t)
				((double)weight * e->outside_share));
	e->in_calls_ns += weight;
	return weight;
}

static void
book_tick(struct inject *e, struct thread *th, const struct record *r,
	  uint64_t weight)
{
	const uint64_t system = system_part(e, th, r, weight);
	/* what was blocked comes when the mask is changed */
	const bool in_call = r->in_call && !(e->clock && r->late);
	/* timers tick when the kernel does: their time is exact */
	struct tick_time tick = { .time_ns = r->time_ns };

	if (e->clock) {
		tick = signal_clock_time(e->clock, th->tid, r->time_ns);
		inject_book_between(e, th, &tick);
	}
	inject_note_booked(e, th, weight);
	recorder_tick(e->rec, tick.time_ns, th->tid, (int)r->cpu,
		      in_call ? MSTATE_SYSTEM : MSTATE_USER,
		      in_call ? weight : weight - system, th->frinfo);
	if (!in_call)
		recorder_book(e->rec, tick.time_ns, th->tid, MSTATE_SYSTEM,
			      system, th->frinfo);
}

void
inject_note_lost(struct inject *e, int cause, uint64_t samples)
{
	e->lost_pending_ns[cause] += samples * e->opt->interval_ns;
	recorder_lost(e->rec, now_ns(), loss_names[cause], "",
		      RECORDER_NO_THREAD, samples, 0);
}

static uint64_t
take_of_cause(struct inject *e, struct thread *th, int cause, uint64_t rest)
{
	uint64_t *pending = &e->lost_pending_ns[cause];
	const uint64_t lost = rest < *pending ? rest : *pending;

	if (!lost)
		return 0;
	*pending -= lost;
	inject_note_booked(e, th, lost);
	recorder_lost(e->rec, now_ns(), loss_names[cause], "", th->tid, 0,
		      lost);
	return lost;
}

/* Weight that is known to be lost is not system time. */
uint64_t
inject_take_lost(struct inject *e, struct thread *th, uint64_t rest)
{
	uint64_t lost = 0;

	for (int cause = 0; cause < INJECT_LOSSES; cause++)
		lost += take_of_cause(e, th, cause, rest - lost);
	return lost;
}

void
inject_book_gap(struct inject *e, struct thread *th, uint64_t rest,
		const char *cause, const char *detail)
{
	const uint64_t interval = e->opt->interval_ns;

	inject_note_booked(e, th, rest);
	recorder_lost(e->rec, now_ns(), cause, detail, th->tid,
		      rest / interval, rest);
}

/* What the process has used and nobody was charged with. */
static uint64_t
unbooked(const struct inject *e)
{
	const uint64_t booked = e->clock_start_ns + e->booked_ns;

	return e->clock_ns > booked ? e->clock_ns - booked : 0;
}

static uint64_t
pending_of(const struct inject *e, const struct thread *th)
{
	const uint64_t cpu_ns = inject_used(e, th);

	return cpu_ns > th->booked_ns ? cpu_ns - th->booked_ns : 0;
}

/* What the thread's clock counted beyond what is booked, and is due. */
static uint64_t
rest_of(const struct inject *e, const struct thread *th)
{
	const uint64_t interval = e->opt->interval_ns;
	const uint64_t rest = pending_of(e, th);

	if (e->final)
		return rest;
	return rest < 2 * interval ? 0 : rest / interval * interval - interval;
}

static void
charge_rest(struct inject *e, struct thread *th, uint64_t rest)
{
	const uint64_t interval = e->opt->interval_ns;

	if (e->mute_cause) {
		inject_book_gap(e, th, rest, e->mute_cause, "");
		return;
	}
	rest -= inject_book_held_back(e, th, rest);
	if (!th->ticked && rest >= interval && inject_is_deaf(e, th)) {
		inject_book_gap(e, th, rest, th->confined ? "confined" :
				"blocked", th->name);
		return;
	}
	if (e->slept && !e->clock) {
		inject_book_gap(e, th, rest, "lease", "");
		return;
	}
	rest -= inject_take_lost(e, th, rest);
	if (e->clock)
		rest -= inject_book_system(e, th, rest);
	if (!rest)
		return;
	if (th->frinfo) {
		book(e, th, rest, e->final && rest < interval);
		return;
	}
	if (e->final) {
		inject_note_booked(e, th, rest);
		recorder_unsampled(e->rec, now_ns(), th->tid, rest);
	}
}

/* The next tick tells how long ago the one before it was: not all of that is
 * left to book. */
static void
book_rest(struct inject *e, struct thread *th, uint64_t rest)
{
	const uint64_t before = th->booked_ns;

	if (!rest)
		return;
	charge_rest(e, th, rest);
	th->past_tick_ns += th->booked_ns - before;
}

/* ---- records of the guest ------------------------------------------------ */

static enum unwind_end
end_of(const struct record *r)
{
	switch (r->end) {
	case RECORD_COMPLETE:
		return UNWIND_COMPLETE;
	case RECORD_CUT:
	case RECORD_TOO_DEEP:
		return UNWIND_TRUNCATED;
	default:
		return UNWIND_FAILED;
	}
}

/*
 * A POSIX timer's overruns may count a stretch twice on a crowded machine
 * (measured: 1.12 of the CPU time): no thread gets more than its clock says,
 * and none whose clock cannot be read any more gets more than is left.
 */
static uint64_t
weight_of(const struct inject *e, const struct thread *th,
	  const struct record *r)
{
	const uint64_t weight = r->weight * e->opt->interval_ns;
	uint64_t left = pending_of(e, th);

	if (e->clock)
		return (uint64_t)((double)weight * inject_scale(e, th));
	if (e->clock_gone)
		left += now_ns() - e->clock_read_at;
	else if (th->drain != e->drains)
		left = unbooked(e);
	return weight < left ? weight : left;
}

void
inject_guest_record(void *engine, const struct record *r)
{
	struct inject *e = engine;

	if (r->kind != RECORD_SAMPLE || r->depth > RECORD_DEPTH_MAX ||
	    !inject_may_be_true(e, r))
		return;
	memset(e->exact, 0, r->depth / 8u + 1);
	for (size_t i = 0; i < r->depth; i++) {
		if (r->pcs[i] & RECORD_PC_EXACT)
			e->exact[i / 8] |= (unsigned char)(1 << i % 8);
		e->pcs[i] = r->pcs[i] & ~RECORD_PC_EXACT;
	}

	struct thread *th = inject_thread(e, (pid_t)r->tid);

	th->frinfo = recorder_raw_stack(e->rec, e->pcs, r->depth, e->exact,
					end_of(r));
	th->ticked = true;
	if (r->late)
		inject_came_late(e, th);
	e->latest = th;
	book_tick(e, th, r, inject_bounded(e, weight_of(e, th, r)));
}

void
inject_book_losses(struct inject *e)
{
	const struct record_area *area = guest_area(e->guest);

	for (int i = 0; i < RECORD_LOSSES; i++) {
		const uint64_t n = __atomic_load_n(&area->lost[i],
						   __ATOMIC_RELAXED);
		const uint64_t fresh = n - e->lost_seen[i];

		if (!fresh)
			continue;
		e->lost_seen[i] = n;
		if (i == RECORD_LOST_OFF)
			continue;	/* after the end: nobody's time */
		inject_note_lost(e, i, inject_bounded_lost(e, fresh));
	}
}

/* ---- what is left -------------------------------------------------------- */

/*
 * Threads that came and went between two looks, and were never sampled: the
 * process's clock has their time, no thread's has.
 */
static void
book_unseen(struct inject *e, uint64_t pending)
{
	const uint64_t left = unbooked(e);

	if (left < pending + (e->final ? NEGLIGIBLE_NS : UNSEEN_NS))
		return;

	uint64_t rest = left - pending;

	/* who lives has its turn at the end */
	if (!e->final)
		rest = recorder_nobodys(e->rec, left, pending, UNSEEN_NS);
	if (!rest)
		return;
	if (e->mute_cause) {
		recorder_lost(e->rec, now_ns(), e->mute_cause, "",
			      RECORDER_NO_THREAD,
			      rest / e->opt->interval_ns, rest);
		e->booked_ns += rest;
		return;
	}
	if (e->latest && (e->threads.len == 1 ||
			  (e->final && rest < e->opt->interval_ns))) {
		book(e, e->latest, rest, rest < e->opt->interval_ns);
		return;
	}
	if (e->final)
		recorder_unsampled_rest(e->rec, rest);
	else
		recorder_unsampled(e->rec, now_ns(), RECORDER_NO_THREAD, rest);
	e->booked_ns += rest;
}

/*
 * Rests are not more than what is left of the process's clock; at the end
 * they are that, but for more than an interval of each thread.
 */
static double
scale_of_rests(const struct inject *e)
{
	const uint64_t left = unbooked(e);
	uint64_t rests = 0, slack = 0;
	size_t at = 0;
	uint64_t tid, slot;

	while (map_next(&e->threads, &at, &tid, &slot)) {
		const uint64_t rest =
			rest_of(e, (struct thread *)(uintptr_t)slot);

		rests += rest;
		if (e->final && rest)
			slack += e->opt->interval_ns;
	}
	if (!rests || (rests <= left && left > rests + slack))
		return 1;
	return (double)left / (double)rests;
}

/* A tick has a whole interval, of which a part may have been before a pause, and
 * is booked: what is too much is had in advance of what comes. */
static void
settle(const struct inject *e, struct thread *th)
{
	const uint64_t used = inject_used(e, th);

	if (th->booked_ns < used)
		th->booked_ns = used;
	if (th->booked_ns > used + e->opt->interval_ns)
		th->booked_ns = used + e->opt->interval_ns;
}

void
inject_book_threads(struct inject *e)
{
	inject_note_held_back(e);

	const double scale = scale_of_rests(e);
	uint64_t pending = 0;

	size_t at = 0;
	uint64_t tid, slot;

	while (map_next(&e->threads, &at, &tid, &slot)) {
		struct thread *th = (struct thread *)(uintptr_t)slot;

		book_rest(e, th, (uint64_t)((double)rest_of(e, th) * scale));
		th->ticked = false;
		if (e->final) {
			inject_forget_samples(e, th);
			settle(e, th);
		}
		pending += pending_of(e, th);
	}
	book_unseen(e, pending);
}
