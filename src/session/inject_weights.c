/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * What the inject engine's ticks weigh: their intervals. What a thread's CPU
 * clock counted beyond its ticks was system time (perf ticks fall in user
 * mode only) or the tail of an interval: whole intervals are charged to the
 * thread's last user stack, one is held back for the tick that may be on its
 * way. POSIX ticks fall in both modes: they are split by utime:stime of the
 * drain, and said to be estimated.
 */
#include <signal.h>
#include <stdlib.h>
#include <string.h>

#include "engine_inject.h"

enum { UNSEEN_NS = 50000000 };	/* clocks are not read in one instant */

static const char *const loss_names[RECORD_LOSSES] = {
	[RECORD_LOST_FULL] = "buffer", [RECORD_LOST_WINDOW] = "window",
	[RECORD_LOST_LEASE] = "lease", [RECORD_LOST_OFF] = "off",
	[RECORD_LOST_TIMER] = "timer",
};

/* ---- threads -------------------------------------------------------------------- */

struct thread *
inject_thread(struct inject *e, pid_t tid)
{
	uint64_t *slot = map_slot_of(&e->threads, (uint64_t)tid);

	if (!*slot) {
		struct thread *th = xcalloc(1, sizeof *th);
		struct thread_facts f;

		th->tid = tid;
		if (target_thread_facts(e->opt->target, tid, &f) == 0)
			memcpy(th->name, f.name, sizeof th->name);
		*slot = (uintptr_t)th;
	}
	return (struct thread *)(uintptr_t)*slot;
}

static uint64_t
signal_set(const char *status, const char *name)
{
	const char *at = status ? strstr(status, name) : NULL;

	return at ? strtoull(at + strlen(name), NULL, 16) : 0;
}

/* Blocked, and a tick waits: inside our handler it is blocked, too. */
static bool
blocks_sigprof(const struct inject *e, const struct thread *th)
{
	const uint64_t bit = UINT64_C(1) << (SIGPROF - 1);
	char *path = xasprintf("task/%d/status", th->tid);
	char *text = file_read_at(target_proc(e->opt->target), path, NULL);
	const uint64_t both = signal_set(text, "\nSigBlk:") &
		signal_set(text, "\nSigPnd:");

	free(text);
	free(path);
	return both & bit;
}

/* ---- weights ---------------------------------------------------------------------- */

/* Every nanosecond that gets a place, so that the rest can be told. */
static void
note_booked(struct inject *e, struct thread *th, uint64_t weight)
{
	th->booked_ns += weight;
	e->booked_ns += weight;
}

static void
book(struct inject *e, struct thread *th, uint64_t time_ns, int cpu,
     uint64_t weight, bool user_tick)
{
	uint64_t system = 0;

	if (!e->clock)
		system = (uint64_t)((double)weight * e->system_share);
	else if (!user_tick)
		system = weight;
	note_booked(e, th, weight);
	recorder_sample(e->rec, time_ns, th->tid, cpu, MSTATE_USER,
			weight - system, th->frinfo);
	recorder_sample(e->rec, time_ns, th->tid, cpu, MSTATE_SYSTEM, system,
			th->frinfo);
}

/* Weight that is known to be lost is not system time. */
static uint64_t
take_lost(struct inject *e, struct thread *th, uint64_t rest)
{
	const uint64_t lost =
		rest < e->lost_pending_ns ? rest : e->lost_pending_ns;

	if (!lost)
		return 0;
	e->lost_pending_ns -= lost;
	note_booked(e, th, lost);
	recorder_lost(e->rec, now_ns(), e->lost_cause, "", th->tid, 0, lost);
	return lost;
}

/* A stretch of a thread's time in which no tick could be taken. */
static void
book_gap(struct inject *e, struct thread *th, uint64_t rest, const char *cause,
	 const char *detail)
{
	const uint64_t interval = e->opt->interval_ns;

	note_booked(e, th, rest);
	recorder_lost(e->rec, now_ns(), cause, detail, th->tid,
		      rest / interval, rest);
}

/* What the thread's clock counted beyond what is booked. */
static void
book_rest(struct inject *e, struct thread *th, bool last)
{
	const uint64_t interval = e->opt->interval_ns;
	uint64_t rest = th->cpu_ns > th->booked_ns ?
		th->cpu_ns - th->booked_ns : 0;

	if (!last) {
		if (rest < 2 * interval)
			return;
		rest = rest / interval * interval - interval;
	}
	if (!rest)
		return;
	if (!th->ticked && rest >= interval && blocks_sigprof(e, th)) {
		book_gap(e, th, rest, "blocked", th->name);
		return;
	}
	if (e->slept && !e->clock) {
		book_gap(e, th, rest, "lease", "");
		return;
	}
	rest -= take_lost(e, th, rest);
	if (th->frinfo) {
		book(e, th, now_ns(), 0, rest, last && rest < interval);
		return;
	}
	if (last) {
		note_booked(e, th, rest);
		recorder_unsampled(e->rec, now_ns(), th->tid, rest);
	}
}

/* ---- records of the guest ------------------------------------------------------------- */

static enum stack_end
end_of(const struct record *r)
{
	switch (r->end) {
	case RECORD_COMPLETE:
		return STACK_COMPLETE;
	case RECORD_CUT:
	case RECORD_TOO_DEEP:
		return STACK_TRUNCATED;
	default:
		return STACK_FAILED;
	}
}

/*
 * A POSIX timer's overruns may count a stretch twice on a crowded machine
 * (measured: 1.12 of the CPU time): no thread gets more than its clock says.
 */
static uint64_t
weight_of(const struct inject *e, const struct thread *th,
	  const struct record *r)
{
	const uint64_t weight = r->weight * e->opt->interval_ns;
	const uint64_t left = th->cpu_ns > th->booked_ns ?
		th->cpu_ns - th->booked_ns : 0;

	return e->clock || weight < left ? weight : left;
}

void
inject_guest_record(void *engine, const struct record *r)
{
	struct inject *e = engine;

	if (r->kind != RECORD_SAMPLE || r->depth > RECORD_DEPTH_MAX)
		return;
	memset(e->exact, 0, RECORD_DEPTH_MAX / 8 + 1);
	for (size_t i = 0; i < r->depth; i++) {
		if (r->pcs[i] & RECORD_PC_EXACT)
			e->exact[i / 8] |= (unsigned char)(1 << i % 8);
		e->pcs[i] = r->pcs[i] & ~RECORD_PC_EXACT;
	}

	struct thread *th = inject_thread(e, (pid_t)r->tid);

	th->frinfo = recorder_raw_stack(e->rec, e->pcs, r->depth, e->exact,
					end_of(r));
	th->ticked = true;
	recorder_count_sample(e->rec);
	book(e, th, r->time_ns, (int)r->cpu, weight_of(e, th, r), true);
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
		e->lost_pending_ns += fresh * e->opt->interval_ns;
		e->lost_cause = loss_names[i];
		recorder_lost(e->rec, now_ns(), loss_names[i], "",
			      target_pid(e->opt->target), fresh, 0);
	}
}

/* ---- what the clocks say ------------------------------------------------ */

/*
 * Threads that came and went between two looks, and were never sampled: the
 * process's clock has their time, no thread's has.
 */
static void
book_unseen(struct inject *e, uint64_t pending)
{
	const uint64_t clock_ns = e->clock_ns - e->clock_start_ns;
	const uint64_t known = e->booked_ns + pending;
	const uint64_t least = e->final ? e->opt->interval_ns : UNSEEN_NS;

	if (clock_ns < known + least)
		return;
	recorder_unsampled(e->rec, now_ns(), target_pid(e->opt->target),
			   clock_ns - known);
	e->booked_ns += clock_ns - known;
}

void
inject_book_threads(struct inject *e)
{
	uint64_t pending = 0;

	size_t at = 0;
	uint64_t tid, slot;

	while (map_next(&e->threads, &at, &tid, &slot)) {
		struct thread *th = (struct thread *)(uintptr_t)slot;

		book_rest(e, th, e->final);
		th->ticked = false;
		if (th->cpu_ns > th->booked_ns)
			pending += th->cpu_ns - th->booked_ns;
	}
	book_unseen(e, pending);
}
