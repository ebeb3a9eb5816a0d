/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * The inject engine: the guest's signal handler unwinds inside the target and
 * writes raw stacks into the sealed memfd, which we drain. Ticks come from
 * our perf events (a signal to that very thread, in user mode only), or from
 * POSIX CPU timers where the kernel refuses perf to this user.
 */
#include <stdlib.h>
#include <string.h>

#include "engine_inject.h"

enum { REFRESH_EVERY_NS = 300 * 1000 * 1000 };

void
inject_kernel_record(void *arg, const struct clock_record *rec)
{
	struct inject *e = arg;

	struct target *t = e->opt->target;

	if (rec->pid != target_pid(t)) {
		if (rec->kind == CLOCK_FORK)	/* of a descendant */
			(void)sideband_take(e->rec, rec);
		return;
	}
	/* at once: what waits may be seen by the new program */
	if (rec->kind == CLOCK_EXEC && e->guest)
		(void)inject_drop_tick(t, guest_signal(e->guest));
	if (rec->kind == CLOCK_FORK)
		e->births = true;
	if (sideband_take(e->rec, rec))
		e->maps_changed = true;
}

/* ---- thread clocks ------------------------------------------------------- */

static void
note_counter(void *arg, pid_t tid, uint64_t cpu_ns)
{
	struct inject *e = arg;

	inject_thread(e, tid)->cpu_ns = cpu_ns;
	e->counted_ns += cpu_ns;
}

/* ---- the engine ---------------------------------------------------------- */

static size_t
inject_pollfds(void *engine, struct pollfd *fds, size_t max)
{
	const struct inject *e = engine;

	const size_t n = e->clock ?
		signal_clock_pollfds(e->clock, fds, max) : 0;

	return e->kernel ? n + clock_pollfds(e->kernel, fds + n, max - n) : n;
}

/* Without perf the guest makes the clocks. */
static size_t
inject_not_sampled(void *engine)
{
	const struct inject *e = engine;

	return e->clock ? signal_clock_unserved(e->clock) : 0;
}

static int
publish(struct inject *e)
{
	e->maps_changed = e->births = false;
	e->published_ns = now_ns();
	return guest_publish(e->guest, unwind_space_tables(e->opt->space));
}

static void
read_clock(struct inject *e)
{
	uint64_t cpu_ns;

	e->clock_gone = recorder_cpu_ns(e->rec, &cpu_ns) < 0;
	if (e->clock_gone)
		return;
	e->clock_ns = cpu_ns;
	e->clock_read_at = now_ns();
}

/* Visits to the guest: at once when we slept past the lease, for the timers
 * went to sleep, too; else not often. */
static void
refresh(struct inject *e)
{
	struct inject_report report;

	inject_tell_guest(e);
	if (!e->slept && (!e->refresh_due ||
			  now_ns() - e->refreshed_ns < REFRESH_EVERY_NS))
		return;
	e->refresh_due = false;
	e->refreshed_ns = now_ns();
	(void)guest_refresh(e->guest, &report);	/* not served: unsampled */
	inject_note_report(e, &report);
}

/* New threads have new stacks. */
static bool
publish_is_due(const struct inject *e)
{
	return e->maps_changed ||
		(e->births && now_ns() - e->published_ns > REFRESH_EVERY_NS);
}

static void
inject_drain(void *engine, bool final)
{
	struct inject *e = engine;
	const bool execed = inject_has_execed(e);

	e->final = final;
	if (final)
		recorder_read_counts(e->rec);
	else if (!e->clock)
		recorder_follow_counts(e->rec);
	e->slept = now_ns() - e->last_beat_ns > RECORD_LEASE_NS;
	if (e->slept)
		e->slept_ns += now_ns() - e->last_beat_ns;
	guest_heartbeat(e->guest);
	e->last_beat_ns = now_ns();
	e->drains++;
	if (e->clock)
		signal_clock_drain(e->clock, inject_kernel_record, e);
	inject_drain_kernel_clock(e);
	/* before the threads' own: what they have by then is not unseen */
	if (!final || recorder_counts(e->rec)->execed)
		read_clock(e);
	if (!e->clock && !execed) {
		inject_read_share(e);
		inject_read_threads(e, READ_CLOCKS);
	}
	/* a tick that comes has what is missing before it */
	inject_book_losses(e);
	guest_drain(e->guest, inject_guest_record, e);
	inject_tell_forged(e);
	inject_book_losses(e);
	if (!final && !execed)
		inject_watch_handler(e);
	e->counted_ns = 0;
	if (e->clock)
		signal_clock_each(e->clock, note_counter, e);
	inject_compare_clocks(e);
	inject_book_threads(e);
	if (!e->clock && !e->mute_cause && !final && !execed)
		refresh(e);
	/* a table that does not fit leaves the old one: failed walks count */
	if (publish_is_due(e) && guest_is_there(e->guest))
		(void)publish(e);
}

/* What ticks had of the stretch before in advance of this one: see settle in
 * inject_weights.c. */
static uint64_t
in_advance(const struct inject *e)
{
	const uint64_t booked = e->clock_start_ns + e->booked_ns;
	const uint64_t most = e->threads.len * e->opt->interval_ns;
	const uint64_t over = booked > e->clock_ns ? booked - e->clock_ns : 0;

	return over < most ? over : most;
}

void
inject_begin_stretch(struct inject *e)
{
	const uint64_t advance = in_advance(e);
	uint64_t tid, slot;
	size_t at = 0;

	/* the threads' clocks begin anew */
	while (map_next(&e->threads, &at, &tid, &slot))
		((struct thread *)(uintptr_t)slot)->clocked = false;
	read_clock(e);
	e->clock_start_ns = e->clock_ns;
	e->counted_start_ns = e->counted_ns;
	e->booked_ns = advance;
	e->scale = 1;
	inject_begin_bounds(e);
	recorder_begin_counts(e->rec);
	recorder_clock(e->rec, true, e->clock_ns);
}

static unsigned
inject_crowding(void *engine)
{
	const struct inject *e = engine;

	return guest_crowding(e->guest);
}

/* What was drained is in the files: whoever finds the area needs it no more. */
static void
inject_settle(void *engine)
{
	struct inject *e = engine;

	guest_settle(e->guest, experiment_profile_bytes(e->opt->exp),
		     e->lost_seen);
}

/* Nobody beats in a pause: timers may sleep by then. */
static void
wake(struct inject *e)
{
	struct inject_report report;
	const bool asleep = now_ns() - e->last_beat_ns > RECORD_LEASE_NS;

	guest_heartbeat(e->guest);
	e->last_beat_ns = now_ns();
	if (!asleep || e->clock)
		return;
	(void)guest_refresh(e->guest, &report);	/* as in refresh() */
	inject_note_report(e, &report);
}

int
inject_run(void *engine, bool on)
{
	struct inject *e = engine;

	if (on == e->running)
		return 0;
	e->running = on;
	if (on) {
		wake(e);
		inject_begin_stretch(e);
	} else if (e->kernel)
		clock_disable(e->kernel);
	if (on && e->kernel)
		clock_enable(e->kernel);
	if (e->clock && !(on && e->mute_cause) &&
	    signal_clock_enable(e->clock, on) < 0)
		return -1;
	__atomic_store_n(&guest_area(e->guest)->on, on, __ATOMIC_RELEASE);
	if (on) {
		/* /proc counts through a pause, too */
		if (!e->clock) {
			inject_read_share(e);
			inject_read_threads(e, READ_BASES);
		}
		return 0;
	}
	read_clock(e);
	inject_drain(e, true);
	recorder_clock(e->rec, false, e->clock_ns);
	return 0;
}

void
inject_free(struct inject *e)
{
	size_t at = 0;
	uint64_t tid, slot;

	signal_clock_close(e->clock);
	clock_close(e->kernel);
	guest_close(e->guest);
	while (map_next(&e->threads, &at, &tid, &slot)) {
		struct thread *th = (struct thread *)(uintptr_t)slot;

		free(th->waiting);
		free(th);
	}
	map_fini(&e->threads);
	free(e->pcs);
	free(e->exact);
	free(e->why);
	free(e->no_kernel);
	free(e->mute_text);
	free(e);
}

void
inject_note_report(struct inject *e, const struct inject_report *report)
{
	look_back_visit(e->opt->look, report);
	if (report->donor_stop_ns)
		recorder_stopped(e->rec, report->donor_stop_ns);
}

static void
inject_stop(void *engine, struct str *text)
{
	struct inject *e = engine;
	struct inject_report report = {0};
	int stopped;

	(void)inject_run(e, false);
	(void)recorder_flush(e->rec);	/* before its memory goes; counted */
	signal_clock_close(e->clock);
	e->clock = NULL;
	stopped = guest_stop(e->guest, &report);
	if (guest_is_parting(e->guest))
		look_back_parting(e->opt->look);
	else if (stopped < 0)
		str_addf(text, "the guest could not be stopped (%s); it "
			 "stops by itself within 2 s", fail_last()->reason);
	if (e->mute_cause)
		str_addf(text, "%sno samples in the last %.1f s: %s",
			 text->len ? ", " : "",
			 (double)(now_ns() - e->mute_ns) / 1e9, e->mute_text);
	inject_tell_held_back(e, text);
	if (e->slept_ns)
		str_addf(text, "%ssonde itself stood still for %.1f s: what "
			 "it missed is lost by lease", text->len ? ", " : "",
			 (double)e->slept_ns / 1e9);
	inject_note_report(e, &report);
	inject_free(e);
}

/* Without perf the clocks are the guest's, who is visited for them. */
static bool
inject_quick(const void *engine)
{
	const struct inject *e = engine;

	return e->clock && !e->mute_cause;
}

static struct guest *
inject_guest(void *engine)
{
	const struct inject *e = engine;

	return e->guest;
}

const struct engine_ops engine_inject = {
	.name = "inject", .start = inject_start, .pollfds = inject_pollfds,
	.drain = inject_drain, .run = inject_run,
	.settle = inject_settle, .crowding = inject_crowding,
	.not_sampled = inject_not_sampled, .guest = inject_guest,
	.stop = inject_stop, .quick = inject_quick, .rounds = true,
};
