/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * From samples to packets, whatever the engine: stacks are unwound and
 * interned, weights are booked, and what was lost gets a place. Every
 * nanosecond that an engine hands in goes to exactly one packet, so that
 * <Total> can be checked against the CPU clock of the process.
 */
#include "private.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum {
	FRAMES_MAX = 65536,
	MODES_EVERY_NS = 100 * 1000 * 1000,
};

struct recorder {
	struct recorder_options opt;
	const struct engine_ops *ops;
	void *engine;
	char *why;		/* our copy: it is told after the engine ended */
	struct recorder_counts counts;
	struct unwind_trace trace;
	struct loss {
		char cause[16], detail[32];
		uint64_t samples, weight_ns;
	} *losses;
	size_t loss_count, loss_cap;
	uint64_t lost_frinfo, unsampled_frinfo, kernel_frinfo;
	struct modes {		/* of the target, in the kernel's units */
		uint64_t user, system, read_at;
	} first_modes, modes;
};

const struct recorder_options *
recorder_get_options(const struct recorder *rec)
{
	return &rec->opt;
}

const struct recorder_counts *
recorder_counts(const struct recorder *rec)
{
	return &rec->counts;
}

const char *
recorder_engine(const struct recorder *rec)
{
	return rec->ops->name;
}

const char *
recorder_why(const struct recorder *rec)
{
	return rec->why ? rec->why : "";
}

static enum stack_end
count_end(struct recorder *rec, enum unwind_end end)
{
	switch (end) {
	case UNWIND_COMPLETE:
		rec->counts.complete++;
		return STACK_COMPLETE;
	case UNWIND_TRUNCATED:
	case UNWIND_TOO_DEEP:
		rec->counts.truncated++;
		return STACK_TRUNCATED;
	case UNWIND_FAILED:
		break;
	}
	rec->counts.failed++;
	return STACK_FAILED;
}

uint64_t
recorder_walk(struct recorder *rec, const struct arch_regs *regs,
	      const struct step_stack *stack, bool window_full)
{
	struct unwind_trace *trace = &rec->trace;

	/* memory of now is not the stack of then: the window alone counts */
	unwind_walk(rec->opt.space, regs, stack, NULL, NULL, FRAMES_MAX,
		    trace);
	rec->counts.full_steps += trace->full_steps;

	/*
	 * A window that the kernel did not fill ends where the stack's memory
	 * ends: a walk past it followed a wrong value, not a deep stack.
	 */
	enum unwind_end end = trace->end;

	if (end == UNWIND_TRUNCATED && !window_full)
		end = UNWIND_FAILED;
	return experiment_stack(rec->opt.exp, trace->pcs, trace->len,
				count_end(rec, end));
}

uint64_t
recorder_raw_stack(struct recorder *rec, uint64_t *pcs, size_t n,
		   const unsigned char *exact, enum stack_end end)
{
	for (size_t i = 1; i < n; i++)
		if (!(exact[i / 8] & 1 << i % 8))
			pcs[i] = unwind_call_address(rec->opt.space, pcs[i]);
	switch (end) {
	case STACK_COMPLETE:
		rec->counts.complete++;
		break;
	case STACK_TRUNCATED:
		rec->counts.truncated++;
		break;
	case STACK_FAILED:
		rec->counts.failed++;
		break;
	}
	return experiment_stack(rec->opt.exp, pcs, n, end);
}

/* Interned once, on first use. */
static uint64_t
artificial(struct recorder *rec, uint64_t *frinfo, const char *name)
{
	if (!*frinfo)
		*frinfo = experiment_artificial(rec->opt.exp, name);
	return *frinfo;
}

uint64_t
recorder_kernel_stack(struct recorder *rec)
{
	rec->counts.complete++;
	return artificial(rec, &rec->kernel_frinfo, "<Kernel>");
}

/* ---- packets ------------------------------------------------------------ */

enum { LEAST_NS = 1000 };	/* what a packet can say */

void
recorder_tick(struct recorder *rec, uint64_t time_ns, pid_t tid, int cpu,
	      enum mstate state, uint64_t weight_ns, uint64_t frinfo)
{
	/* a sample is a sample, also where its time is booked already */
	if (weight_ns < LEAST_NS)
		weight_ns = LEAST_NS;
	experiment_clock(rec->opt.exp, time_ns, tid, cpu, state, weight_ns,
			 frinfo);
	rec->counts.recorded_ns += weight_ns;
	rec->counts.samples++;
}

void
recorder_book(struct recorder *rec, uint64_t time_ns, pid_t tid,
	      enum mstate state, uint64_t weight_ns, uint64_t frinfo)
{
	if (!weight_ns)
		return;
	experiment_clock(rec->opt.exp, time_ns, tid, EXPERIMENT_BOOKED, state,
			 weight_ns, frinfo);
	rec->counts.recorded_ns += weight_ns;
}

/* A target that is gone leaves the last reading. */
static void
read_modes(struct recorder *rec)
{
	const uint64_t now = now_ns();
	struct task_stat st;

	if (rec->modes.read_at && now - rec->modes.read_at < MODES_EVERY_NS)
		return;
	if (target_stat(rec->opt.target, &st) == 0)
		rec->modes = (struct modes){ st.field[STAT_UTIME],
					     st.field[STAT_STIME], now };
}

/* No tick tells in which mode this time went: the process's own clocks do,
 * so that user and system time are the whole of it. */
static void
book_unknown(struct recorder *rec, uint64_t time_ns, pid_t tid,
	     uint64_t weight_ns, uint64_t frinfo)
{
	read_modes(rec);

	const uint64_t user = rec->modes.user - rec->first_modes.user;
	const uint64_t system = rec->modes.system - rec->first_modes.system;
	const uint64_t part = user + system ?
		(uint64_t)((double)weight_ns * (double)system /
			   (double)(user + system)) : 0;

	recorder_book(rec, time_ns, tid, MSTATE_USER, weight_ns - part,
		      frinfo);
	recorder_book(rec, time_ns, tid, MSTATE_SYSTEM, part, frinfo);
}

/* ---- what no sample has -------------------------------------------------- */

static struct loss *
loss_of(struct recorder *rec, const char *cause, const char *detail)
{
	for (size_t i = 0; i < rec->loss_count; i++)
		if (strcmp(rec->losses[i].cause, cause) == 0 &&
		    strcmp(rec->losses[i].detail, detail) == 0)
			return &rec->losses[i];

	rec->losses = xgrow(rec->losses, &rec->loss_cap, rec->loss_count + 1,
			    sizeof *rec->losses);

	struct loss *l = &rec->losses[rec->loss_count++];

	*l = (struct loss){0};
	snprintf(l->cause, sizeof l->cause, "%s", cause);
	snprintf(l->detail, sizeof l->detail, "%s", detail);
	return l;
}

void
recorder_lost(struct recorder *rec, uint64_t time_ns, const char *cause,
	      const char *detail, pid_t tid, uint64_t samples,
	      uint64_t weight_ns)
{
	if (!samples && !weight_ns)
		return;

	struct loss *l = loss_of(rec, cause, detail);

	l->samples += samples;
	l->weight_ns += weight_ns;
	rec->counts.lost += samples;
	rec->counts.lost_ns += weight_ns;
	book_unknown(rec, time_ns, tid, weight_ns,
		     artificial(rec, &rec->lost_frinfo, "<Lost samples>"));
	experiment_loss(rec->opt.exp, time_ns, l->cause, l->detail, l->samples,
			l->weight_ns);
}

void
recorder_unsampled(struct recorder *rec, uint64_t time_ns, pid_t tid,
		   uint64_t cpu_ns)
{
	if (cpu_ns)
		book_unknown(rec, time_ns, tid, cpu_ns,
			     artificial(rec, &rec->unsampled_frinfo,
					"<Unsampled threads>"));
}

void
recorder_thread_name(struct recorder *rec, uint64_t time_ns, pid_t tid,
		     const char *name)
{
	char number[16];

	snprintf(number, sizeof number, "%d", tid);
	experiment_event(rec->opt.exp, time_ns, "sonde_thread",
			 (const char *const[]){ "tid", number, "name", name,
						NULL });
}

void
recorder_exec(struct recorder *rec, uint64_t time_ns, const char *comm)
{
	rec->counts.execed = true;
	rec->counts.exec_ns = time_ns;
	snprintf(rec->counts.exec_comm, sizeof rec->counts.exec_comm, "%s",
		 comm);
}

void
recorder_clock(struct recorder *rec, bool on, uint64_t cpu_ns)
{
	if (on)
		rec->counts.clock_start_ns = cpu_ns;
	else if (cpu_ns > rec->counts.clock_start_ns)
		rec->counts.clock_ns += cpu_ns - rec->counts.clock_start_ns;
	rec->counts.clock_on = on;
}

void
recorder_stops(struct recorder *rec, unsigned n, uint64_t total_ns,
	       uint64_t longest_ns)
{
	rec->counts.stops += n;
	rec->counts.stop_total_ns += total_ns;
	if (longest_ns > rec->counts.stop_ns)
		rec->counts.stop_ns = longest_ns;
}

void
recorder_stopped(struct recorder *rec, uint64_t pause_ns)
{
	recorder_stops(rec, 1, pause_ns, pause_ns);
}

size_t
recorder_pollfds(struct recorder *rec, struct pollfd *fds, size_t max)
{
	return rec->ops->pollfds(rec->engine, fds, max);
}

void
recorder_drain(struct recorder *rec, bool final)
{
	rec->ops->drain(rec->engine, final);
}

int
recorder_flush(struct recorder *rec)
{
	const int r = experiment_flush(rec->opt.exp);

	if (rec->engine && rec->ops->settle)
		rec->ops->settle(rec->engine);
	return r;
}

int
recorder_run(struct recorder *rec, bool on)
{
	return rec->ops->run(rec->engine, on);
}

void
recorder_stop(struct recorder *rec, struct str *clean)
{
	if (rec->engine)
		rec->ops->stop(rec->engine, clean);
	rec->engine = NULL;
}

static int
start(struct recorder *rec, const struct engine_ops *ops)
{
	const char *why = NULL;

	rec->ops = ops;
	rec->engine = ops->start(rec, &rec->opt, &why);
	if (!rec->engine)
		return -1;
	rec->why = xstrdup(why ? why : "");
	return 0;
}

/* "kernel.perf_event_paranoid is 3", or what the kernel answered. */
static char *
why_no_perf(void)
{
	const char *reason = fail_last()->reason;
	const char *detail = strstr(reason, ": ");
	char *text = file_read("/proc/sys/kernel/perf_event_paranoid", NULL);
	const long level = text ? strtol(text, NULL, 10) : -1;

	free(text);
	if (geteuid() != 0 && level > 2)
		return xasprintf("perf refused by perf_event_paranoid %ld",
				 level);
	return xasprintf("perf refused: %s", detail ? detail + 2 : reason);
}

/* The innermost reason: "process 42: load the collector: " is ours. */
static char *
why_no_guest(void)
{
	const char *reason = fail_last()->reason;
	const char *detail = strstr(reason, "load the collector: ");

	return xstrdup(detail ? strchr(detail, ':') + 2 : reason);
}

/*
 * auto takes the least harmful engine that works here: ring puts nothing into
 * the target and never stops it; inject stops one thread for a moment; remote
 * stops what runs again and again, and is for those where nothing can be
 * loaded.
 */
static int
start_best(struct recorder *rec)
{
	if (start(rec, &engine_ring) == 0)
		return 0;
	if (fail_last()->kind != FAIL_DENIED)
		return -1;

	char *no_perf = why_no_perf();
	int r = start(rec, &engine_inject);

	if (r < 0 && fail_last()->kind == FAIL_UNSUITABLE) {
		char *no_guest = why_no_guest();

		r = start(rec, &engine_remote);
		if (r == 0) {
			char *why = rec->why;

			rec->why = xasprintf("nothing can be loaded (%s), %s: "
					     "%s", no_guest, no_perf, why);
			free(why);
		}
		free(no_guest);
	}
	free(no_perf);
	return r;
}

static int
start_chosen(struct recorder *rec, enum session_engine engine)
{
	switch (engine) {
	case ENGINE_RING:
		return start(rec, &engine_ring);
	case ENGINE_INJECT:
		if (start(rec, &engine_inject) == 0)
			return 0;
		engine_remedy();
		return -1;
	case ENGINE_REMOTE:
		return start(rec, &engine_remote);
	case ENGINE_AUTO:
		break;
	}
	return start_best(rec);
}

struct recorder *
recorder_new(const struct recorder_options *o, enum session_engine engine)
{
	struct recorder *rec = xcalloc(1, sizeof *rec);

	rec->opt = *o;
	read_modes(rec);
	rec->first_modes = rec->modes;
	if (start_chosen(rec, engine) < 0) {
		recorder_free(rec);
		return NULL;
	}
	return rec;
}

void
recorder_free(struct recorder *rec)
{
	if (!rec)
		return;

	struct str ignored = {0};

	recorder_stop(rec, &ignored);
	str_fini(&ignored);
	unwind_trace_fini(&rec->trace);
	free(rec->losses);
	free(rec->why);
	free(rec);
}
