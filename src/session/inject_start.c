/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * How the inject engine begins: the clock is opened, the guest brought in with
 * room for the threads that there are, then all CPU time counts.
 */
#include <inttypes.h>
#include <stdlib.h>
#include <sys/random.h>

#include "engine_inject.h"

enum {
	WINDOWS_MIN = 32, WINDOWS_MAX = 4096,
	/* a second of 1 ms ticks with 60 frames; less with many threads */
	WINDOW_BYTES = 512 * 1024,
	WINDOWS_BYTES_MAX = 64 << 20,
	TABLE_MARGIN = 4 << 20,
};

/* ---- the clock ----------------------------------------------------------- */

/* perf signals where the kernel lets us, else the target's own CPU timers. */
static int
open_clock(struct inject *e, const char **why)
{
	const pid_t pid = target_pid(e->opt->target);

	/* Go's own stacks are small, and a handler must not run there. Whoever
	 * else has an alternate stack needs it for an overflow of its stack:
	 * that may be small, or gone, since no signal comes otherwise. */
	const struct gate_handler handler = {
		RECORD_HANDLER_STACK,
		e->alternate = target_runs_go(e->opt->target),
	};

	e->clock = signal_clock_open(pid, e->opt->interval_ns, 0, 0, &handler);
	if (!e->clock && fail_last()->kind != FAIL_DENIED)
		return -1;
	if (!(e->clock && signal_clock_is_gated(e->clock)) &&
	    inject_check_ungated(e->opt->target) < 0)
		return -1;
	if (!e->clock)
		inject_read_threads(e, READ_LIST);
	else
		inject_open_kernel_clock(e);
	if (e->clock) {
		stacks_begin(e->opt->target, &e->stacks);
		signal_clock_note_stacks(e->clock, &e->stacks);
	}

	char *missing = e->clock ? signal_clock_missing(e->clock) :
		xstrdup("");

	e->why = e->clock && !e->kernel ?
		xasprintf("%sperf task-clock signals, user mode; system time "
			  "is CPU clock minus ticks (kernel mode: %s)", missing,
			  e->no_kernel) :
		xasprintf("%s%s", missing, e->clock ?
		"perf task-clock signals, user mode; beside them a clock of "
		"kernel mode" :
		"POSIX CPU timers (the kernel refuses perf to this user), at "
		"most one tick per scheduler tick; in a system call or not; what "
		"of the rest was the system's is estimated from utime:stime");
	free(missing);
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

/* ---- the guest ----------------------------------------------------------- */

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
		.alternate = e->alternate,
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

/* ---- both ---------------------------------------------------------------- */

/* The guest is ready: from here on all CPU time counts. */
static int
begin(struct inject *e)
{
	look_back_signal(e->opt->look, guest_signal(e->guest));
	if (e->clock && signal_clock_signal(e->clock, guest_signal(e->guest),
					    guest_handler(e->guest), is_wanted,
					    e) < 0)
		return -1;
	/* who was born meanwhile had used nothing that counts */
	if (e->clock)
		signal_clock_drain(e->clock, inject_kernel_record, e);
	else
		inject_read_share(e);
	e->last_beat_ns = now_ns();
	keep(e);
	if (!e->clock)
		note_deaf(e);
	/* timers tick already: they find that it is off */
	__atomic_store_n(&guest_area(e->guest)->on, false, __ATOMIC_RELEASE);
	return e->opt->held ? 0 : inject_run(e, true);
}

void *
inject_start(struct recorder *rec, const struct recorder_options *o,
	     const char **why)
{
	struct inject_report report = {0};
	struct inject *e = xcalloc(1, sizeof *e);
	struct schedule urgent;
	bool ready;

	e->rec = rec;
	e->opt = o;
	e->pcs = xcalloc(RECORD_DEPTH_MAX, sizeof *e->pcs);
	e->exact = xcalloc(RECORD_DEPTH_MAX / 8 + 1, 1);
	look_back_await_helpers(o->look);
	urgent_begin(&urgent);
	ready = open_clock(e, why) == 0 && (e->guest = open_guest(e, o)) &&
		begin(e) == 0;
	urgent_end(&urgent);
	if (ready)
		return e;
	if (e->guest)		/* the first failure is told */
		(void)guest_stop(e->guest, &report);
	inject_free(e);
	return NULL;
}
