/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * The inject engine: the guest's signal handler unwinds inside the target and
 * writes raw stacks into the sealed memfd, which we drain. Ticks come from
 * our perf events (a signal to that very thread, in user mode only), or from
 * POSIX CPU timers where the kernel refuses perf to this user.
 */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>

#include "engine_inject.h"

enum {
	WINDOWS_MIN = 32, WINDOWS_MAX = 4096,
	/* half a second of 1 ms ticks with 60 frames; less with many threads */
	WINDOW_BYTES = 256 * 1024,
	WINDOWS_BYTES_MAX = 64 << 20,
	TABLE_MARGIN = 4 << 20,
	REFRESH_EVERY_NS = 300 * 1000 * 1000,
};

/* ---- records of the kernel ---------------------------------------------------------------- */

static void
on_kernel_record(void *arg, const struct clock_record *rec)
{
	struct inject *e = arg;

	struct target *t = e->opt->target;

	if (rec->pid != target_pid(t))
		return;
	/* at once: what waits may be seen by the new program */
	if (rec->kind == CLOCK_EXEC && e->guest)
		(void)inject_drop_tick(t, guest_signal(e->guest));
	if (rec->kind == CLOCK_FORK)
		e->births = true;
	if (sideband_take(e->rec, rec))
		e->maps_changed = true;
}

/* ---- thread clocks -------------------------------------------------------------------------- */

static void
note_counter(void *arg, pid_t tid, uint64_t cpu_ns)
{
	struct inject *e = arg;

	inject_thread(e, tid)->cpu_ns = cpu_ns;
	e->counted_ns += cpu_ns;
}

enum reading { READ_LIST, READ_BASES, READ_CLOCKS };

/* One that was there at the last look, too, is worth a visit to the guest,
 * who makes timers for all that have none. */
static void
want_timer(struct inject *e, struct thread *th)
{
	if (th->timed || !th->drain || th->drain + 1 != e->drains)
		return;
	th->timed = true;
	(void)inject_wants_ticks(e, th->tid);
	e->refresh_due = e->births = true;
}

/*
 * Without perf: exact CPU times and new threads from /proc. The list is of
 * those that the guest will find by itself; what is not on it needs a timer.
 */
static void
read_threads(struct inject *e, enum reading what)
{
	pid_t *tids = NULL;
	size_t cap = 0;
	const ssize_t n = target_threads(e->opt->target, &tids, &cap);

	for (ssize_t i = 0; i < n; i++) {
		struct task_turns turns;

		/* with 500 threads, too, within a moment: no other facts */
		if (target_thread_turns(e->opt->target, tids[i], &turns) < 0)
			continue;	/* it ended meanwhile */

		struct thread *th = inject_thread(e, tids[i]);

		if (what == READ_LIST)
			th->timed = true;
		if (what != READ_CLOCKS)
			th->base_ns = turns.cpu_ns - th->booked_ns;
		else
			want_timer(e, th);
		th->cpu_ns = turns.cpu_ns - th->base_ns;
		th->drain = e->drains;
	}
	free(tids);
}

static void
read_share(struct inject *e)
{
	struct task_stat st;

	if (target_stat(e->opt->target, &st) < 0)
		return;

	const uint64_t u = st.field[STAT_UTIME] - e->utime;
	const uint64_t s = st.field[STAT_STIME] - e->stime;

	if (u + s) {
		e->system_share = (double)s / (double)(u + s);
		e->utime += u;
		e->stime += s;
	}
}

/* ---- the engine ---------------------------------------------------------------------------------- */

static size_t
inject_pollfds(void *engine, struct pollfd *fds, size_t max)
{
	const struct inject *e = engine;

	return e->clock ? signal_clock_pollfds(e->clock, fds, max) : 0;
}

static int
publish(struct inject *e)
{
	e->maps_changed = e->births = false;
	e->published_ns = now_ns();
	return guest_publish(e->guest, unwind_space_tables(e->opt->space));
}

/* One that is about to end has no memory any more, and still a name. */
static bool
has_memory(struct target *t)
{
	char *maps = target_maps(t);
	const bool some = maps && *maps;

	free(maps);
	return some;
}

/* Without perf nobody tells us of an exec. What the thread clocks count from
 * then on is another program's. */
static bool
has_execed(struct inject *e)
{
	struct target *t = e->opt->target;
	char *comm;

	if (e->clock || target_gone(t) || guest_is_there(e->guest) ||
	    !has_memory(t))
		return false;
	comm = file_read_at(target_proc(t), "comm", NULL);
	if (!comm)
		return false;	/* it has ended: that is told soon */
	comm[strcspn(comm, "\n")] = '\0';
	recorder_exec(e->rec, now_ns(), comm);
	free(comm);
	return true;
}

static void
read_clock(struct inject *e)
{
	uint64_t cpu_ns;

	e->clock_gone = target_cpu_ns(e->opt->target, &cpu_ns) < 0;
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
	const bool execed = has_execed(e);

	e->final = final;
	e->slept = now_ns() - e->last_beat_ns > RECORD_LEASE_NS;
	if (e->slept)
		e->slept_ns += now_ns() - e->last_beat_ns;
	guest_heartbeat(e->guest);
	e->last_beat_ns = now_ns();
	e->drains++;
	if (e->clock)
		signal_clock_drain(e->clock, on_kernel_record, e);
	/* before the threads' own: what they have by then is not unseen */
	if (!final)
		read_clock(e);
	if (!e->clock && !execed) {
		read_share(e);
		read_threads(e, READ_CLOCKS);
	}
	guest_drain(e->guest, inject_guest_record, e);
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

/* The clocks go on, or have gone on: from here all CPU time counts. */
static void
begin_stretch(struct inject *e)
{
	read_clock(e);
	e->clock_start_ns = e->clock_ns;
	e->counted_start_ns = e->counted_ns;
	e->booked_ns = 0;
	e->scale = 1;
	recorder_clock(e->rec, true, e->clock_ns);
}

/* What was drained is in the files: whoever finds the area needs it no more. */
static void
inject_settle(void *engine)
{
	struct inject *e = engine;

	guest_settle(e->guest, experiment_profile_bytes(e->opt->exp),
		     e->lost_seen);
}

/* Should we be killed, the next visit finds the experiment by this. */
static void
keep(struct inject *e)
{
	struct record_keep k = {
		.interval_ns = e->opt->interval_ns, .start_ns = now_ns(),
	};
	struct experiment_left left;
	char token[24];

	if (experiment_where(e->opt->exp, k.path, sizeof k.path, &left) < 0)
		k.path[0] = 0;
	else
		k.device = left.device, k.inode = left.inode;
	(void)getrandom(&k.token, sizeof k.token, GRND_NONBLOCK);
	snprintf(token, sizeof token, "%016" PRIx64, k.token);
	experiment_event(e->opt->exp, now_ns(), "sonde_records",
			 (const char *const[]){ "token", token, NULL });
	k.kept = experiment_profile_bytes(e->opt->exp);
	guest_keep(e->guest, &k);
}

static int
inject_run(void *engine, bool on)
{
	struct inject *e = engine;

	if (on == e->running)
		return 0;
	e->running = on;
	if (on)
		begin_stretch(e);
	if (e->clock && !(on && e->mute_cause) &&
	    signal_clock_enable(e->clock, on) < 0)
		return -1;
	__atomic_store_n(&guest_area(e->guest)->on, on, __ATOMIC_RELEASE);
	if (on) {
		/* /proc counts through a pause, too */
		if (!e->clock)
			read_threads(e, READ_BASES);
		return 0;
	}
	read_clock(e);
	inject_drain(e, true);
	recorder_clock(e->rec, false, e->clock_ns);
	return 0;
}

static void
free_inject(struct inject *e)
{
	size_t at = 0;
	uint64_t tid, slot;

	signal_clock_close(e->clock);
	guest_close(e->guest);
	while (map_next(&e->threads, &at, &tid, &slot))
		free((void *)(uintptr_t)slot);
	map_fini(&e->threads);
	free(e->pcs);
	free(e->exact);
	free(e->why);
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

	(void)inject_run(e, false);
	(void)recorder_flush(e->rec);	/* before its memory goes; counted */
	signal_clock_close(e->clock);
	e->clock = NULL;
	if (guest_stop(e->guest, &report) < 0)
		str_addf(text, "the guest could not be stopped (%s); it "
			 "stops by itself within 2 s", fail_last()->reason);
	if (e->mute_cause)
		str_addf(text, "%sno samples in the last %.1f s: %s",
			 text->len ? ", " : "",
			 (double)(now_ns() - e->mute_ns) / 1e9, e->mute_text);
	if (e->slept_ns)
		str_addf(text, "%ssonde itself stood still for %.1f s: what "
			 "it missed is lost by lease", text->len ? ", " : "",
			 (double)e->slept_ns / 1e9);
	inject_note_report(e, &report);
	free_inject(e);
}

/* perf signals where the kernel lets us, else the target's own CPU timers. */
static int
open_clock(struct inject *e, const char **why)
{
	const pid_t pid = target_pid(e->opt->target);

	e->clock = signal_clock_open(pid, e->opt->interval_ns, 0, 0);
	if (!e->clock && fail_last()->kind != FAIL_DENIED)
		return -1;
	if (!e->clock)
		read_threads(e, READ_LIST);
	e->why = xasprintf("%s", e->clock ?
		"perf task-clock signals, user mode; system time is CPU clock "
		"minus ticks" :
		"POSIX CPU timers (the kernel refuses perf to this user), at "
		"most one tick per scheduler tick; user:system is estimated "
		"from utime:stime");
	*why = e->why;
	return 0;
}

/* signal_clock asks before it sends. */
static bool
is_wanted(void *arg, int fd, pid_t tid)
{
	struct inject *e = arg;
	const bool wanted = inject_wants_ticks(e, tid);

	return guest_ticker(e->guest, fd, tid) == 0 && wanted;
}

/* Without perf the guest has left these out already. */
static void
note_deaf(struct inject *e)
{
	size_t at = 0;
	uint64_t tid, slot;

	while (map_next(&e->threads, &at, &tid, &slot))
		(void)inject_wants_ticks(e, (pid_t)tid);
}

/* The guest is ready: from here on all CPU time counts. */
static int
begin(struct inject *e)
{
	look_back_signal(e->opt->look, guest_signal(e->guest));
	if (e->clock && signal_clock_signal(e->clock, guest_signal(e->guest),
					    is_wanted, e) < 0)
		return -1;
	/* who was born meanwhile had used nothing that counts */
	if (e->clock)
		signal_clock_drain(e->clock, on_kernel_record, e);
	else
		read_share(e);
	e->running = true;
	e->last_beat_ns = now_ns();
	keep(e);
	begin_stretch(e);
	if (e->clock)
		return signal_clock_enable(e->clock, true);
	read_threads(e, READ_BASES);
	note_deaf(e);
	return 0;
}

/* Twice the threads of now, in powers of two; memory is bounded. */
static void
choose_windows(struct guest_options *options, struct target *t)
{
	pid_t *tids = NULL;
	size_t cap = 0;
	const ssize_t n = target_threads(t, &tids, &cap);

	free(tids);
	options->windows = WINDOWS_MIN;
	while (options->windows < WINDOWS_MAX &&
	       (ssize_t)options->windows < 2 * n)
		options->windows *= 2;
	options->window_bytes = WINDOW_BYTES;
	while (options->window_bytes > RECORD_WINDOW_MIN &&
	       (uint64_t)options->windows * options->window_bytes >
	       WINDOWS_BYTES_MAX)
		options->window_bytes /= 2;
}

static struct guest *
open_guest(struct inject *e, const struct recorder_options *o)
{
	const struct step_tables *tables = unwind_space_tables(o->space);
	struct guest_options options = {
		/* room for what is loaded later */
		.table_bytes = (uint32_t)(TABLE_MARGIN +
					  guest_publish_need(tables)),
		.interval_ns = o->interval_ns,
		.donor_seed = o->settings->seed,
		.tables = tables,
		.start = true,
		.clock = e->clock ? GUEST_PERF_SIGNAL : GUEST_POSIX_TIMER,
	};
	struct inject_report report = {0};
	struct guest *g;

	choose_windows(&options, o->target);
	g = o->at_start ? guest_open_preloaded(o->target, &options, &report) :
		guest_open(o->target, &options, &report);
	inject_note_report(e, &report);
	return g;
}

static void *
inject_start(struct recorder *rec, const struct recorder_options *o,
	     const char **why)
{
	struct inject_report report = {0};
	struct inject *e = xcalloc(1, sizeof *e);
	struct urgent urgent;
	bool ready;

	e->rec = rec;
	e->opt = o;
	e->pcs = xcalloc(RECORD_DEPTH_MAX, sizeof *e->pcs);
	e->exact = xcalloc(RECORD_DEPTH_MAX / 8 + 1, 1);
	urgent_begin(&urgent);
	ready = open_clock(e, why) == 0 && (e->guest = open_guest(e, o)) &&
		begin(e) == 0;
	urgent_end(&urgent);
	if (ready)
		return e;
	if (e->guest)		/* the first failure is told */
		(void)guest_stop(e->guest, &report);
	free_inject(e);
	return NULL;
}

const struct engine_ops engine_inject = {
	.name = "inject", .start = inject_start, .pollfds = inject_pollfds,
	.drain = inject_drain, .run = inject_run,
	.settle = inject_settle, .stop = inject_stop,
};
