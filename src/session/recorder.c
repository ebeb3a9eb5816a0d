/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * From samples to packets, whatever the engine: weights are booked (stacks:
 * recorder_stacks.c; what no sample has: losses.c). Every nanosecond that an
 * engine hands in goes to exactly one packet, so that <Total> can be checked
 * against the CPU clock of the process.
 */
#include "calls.h"
#include "creators.h"
#include "recorder.h"
#include "waits.h"

#include <stdlib.h>
#include <string.h>

#define LATE_NS		UINT64_C(20000000)	/* most have their turn by then */

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
	return rec->engine.ops->name;
}

const char *
recorder_why(const struct recorder *rec)
{
	return rec->engine.why ? rec->engine.why : "";
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
	names_packet(rec, time_ns, tid);
	experiment_clock(rec->opt.exp, time_ns, tid, cpu, state, weight_ns,
			 frinfo);
	ledger_add(rec, tid, state, weight_ns);
	rec->counts.recorded_ns += weight_ns;
	rec->counts.samples++;
	waits_note_stack(rec->waits, tid, frinfo);
}

void
recorder_wait(struct recorder *rec, uint64_t time_ns, pid_t tid,
	      enum mstate state, uint64_t ns, uint64_t frinfo)
{
	names_packet(rec, time_ns, tid);
	experiment_clock(rec->opt.exp, time_ns, tid, EXPERIMENT_BOOKED, state,
			 ns, frinfo);
}

void
recorder_book(struct recorder *rec, uint64_t time_ns, pid_t tid,
	      enum mstate state, uint64_t weight_ns, uint64_t frinfo)
{
	if (!weight_ns)
		return;
	names_packet(rec, time_ns, tid);
	experiment_clock(rec->opt.exp, time_ns, tid, EXPERIMENT_BOOKED, state,
			 weight_ns, frinfo);
	ledger_add(rec, tid, state, weight_ns);
	rec->counts.recorded_ns += weight_ns;
}

/* ---- threads ------------------------------------------------------------- */

void
recorder_birth(struct recorder *rec, uint64_t time_ns, pid_t tid, pid_t by)
{
	names_birth(&rec->names, tid, by);
	if (waits_note_birth(rec->waits, tid, time_ns))
		ledger_forget(rec, tid);
}

void
recorder_descendant(struct recorder *rec, pid_t pid)
{
	enum { MOST = 4096 };	/* before somebody asks */
	struct newborns *n = &rec->descendants;

	if (n->len == MOST)
		return;
	n->items = xgrow(n->items, &n->cap, n->len + 1, sizeof *n->items);
	n->items[n->len++] = pid;
}

pid_t
recorder_next_descendant(struct recorder *rec)
{
	struct newborns *n = &rec->descendants;

	return n->len > 0 ? n->items[--n->len] : 0;
}

void
recorder_death(struct recorder *rec, uint64_t time_ns, pid_t tid)
{
	waits_note_death(rec->waits, tid, time_ns);
	/* the first thread stays on the roll, and at the end all do */
	if (recorder_knows_thread(rec, tid))
		names_death(&rec->names, tid);
	else
		recorder_forget_thread(rec, tid);
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
recorder_stood(struct recorder *rec, pid_t tid)
{
	waits_note_stood(rec->waits, tid);
}

void
recorder_stopped(struct recorder *rec, uint64_t pause_ns)
{
	recorder_stops(rec, 1, pause_ns, pause_ns);
}

size_t
recorder_pollfds(struct recorder *rec, struct pollfd *fds, size_t max)
{
	const size_t n = rec->engine.ops->pollfds(rec->engine.self, fds, max);

	return n + creators_pollfds(rec->creators, fds + n, max - n);
}

/* Traced calls are switched in the target. */
bool
recorder_is_quick(const struct recorder *rec)
{
	return rec->engine.self && rec->engine.ops->quick &&
		rec->engine.ops->quick(rec->engine.self) && !rec->calls;
}

static void
note_not_sampled(struct recorder *rec)
{
	if (rec->engine.ops->not_sampled)
		rec->counts.not_sampled =
			rec->engine.ops->not_sampled(rec->engine.self);
}

void
recorder_drain(struct recorder *rec, bool final)
{
	waits_count(rec->waits);
	rec->engine.ops->drain(rec->engine.self, final);
	note_not_sampled(rec);
	/* after it: it tells of new code */
	creators_drain(rec->creators);
	calls_drain(rec->calls);
	names_settle(&rec->names);
}

bool
recorder_ripe(const struct recorder *rec)
{
	const struct engine_ops *ops = rec->engine.ops;

	return !ops->ripe || ops->ripe(rec->engine.self) || rec->calls ||
		creators_ripe(rec->creators);
}

unsigned
recorder_crowding(struct recorder *rec)
{
	return rec->engine.ops->crowding ?
		rec->engine.ops->crowding(rec->engine.self) : 0;
}

int
recorder_flush(struct recorder *rec)
{
	target_serve_late(rec->opt.target, LATE_NS);	/* a disk may be slow */

	const int r = experiment_flush(rec->opt.exp);

	if (rec->engine.self && rec->engine.ops->settle)
		rec->engine.ops->settle(rec->engine.self);
	return r;
}

uint64_t
recorder_look_due(const struct recorder *rec)
{
	return waits_deadline(rec->waits);
}

bool
recorder_look_wanted(const struct recorder *rec, uint64_t now)
{
	return waits_wanted(rec->waits, now);
}

bool
recorder_look(struct recorder *rec)
{
	/* what it has to do in time goes first */
	if (!rec->engine.ops->rounds)
		recorder_drain(rec, false);
	return waits_work(rec->waits);
}

void
recorder_settle(struct recorder *rec)
{
	waits_settle(rec->waits);
	if (rec->engine.ops->catch_up)
		rec->engine.ops->catch_up(rec->engine.self);
}

void
recorder_waited(const struct recorder *rec, uint64_t now,
		uint64_t sum[MSTATE_COUNT])
{
	if (rec->waits)
		waits_sum(rec->waits, now, sum);
}

uint64_t
recorder_begin_waits(struct recorder *rec)
{
	return waits_begin(rec->waits);
}

void
recorder_restart_waits(struct recorder *rec)
{
	waits_restart(rec->waits);
}

/* Failed stacks are told, always. */
uint64_t
recorder_end_waits(struct recorder *rec)
{
	const uint64_t end = waits_end(rec->waits);
	char looks[24], cut[24], every[24], guessed[24];

	if (!end && !rec->waits_untold)
		return 0;
	rec->waits_untold = false;
	(void)snprintf(looks, sizeof looks, "%llu",
		       (unsigned long long)rec->counts.looks);
	(void)snprintf(cut, sizeof cut, "%llu",
		       (unsigned long long)rec->counts.looks_cut);
	(void)snprintf(every, sizeof every, "%llu", (unsigned long long)
		       waits_every_ns(rec->waits) / 1000);
	(void)snprintf(guessed, sizeof guessed, "%llu", (unsigned long long)
		       waits_guessed_ns(rec->waits) / 1000);
	experiment_event(rec->opt.exp, now_ns(), "sonde_waits",
			 (const char *const[]){ "looks", looks, "cut", cut,
						"every_us", every,
						"guessed_us", guessed, NULL });
	return end;
}

uint64_t
recorder_rest_waits(struct recorder *rec)
{
	const uint64_t end = waits_end(rec->waits);

	rec->waits_untold |= end != 0;
	return end;
}

int
recorder_run(struct recorder *rec, bool on)
{
	if (!on) {
		if (!rec->waits_untold)
			(void)recorder_end_waits(rec);
		creators_end(rec->creators);
	}
	calls_run(rec->calls, on);
	if (rec->engine.ops->run(rec->engine.self, on) < 0)
		return -1;
	if (on) {
		map_fini(&rec->booked);
		(void)waits_begin(rec->waits);
		creators_begin(rec->creators);
	}
	return 0;
}

void
recorder_calls_lost(struct recorder *rec, uint64_t calls)
{
	rec->counts.calls_lost += calls;
}

void
recorder_calls_untraced(struct recorder *rec, unsigned untraced)
{
	rec->counts.untraced = untraced;
}

void
recorder_end_calls(struct recorder *rec)
{
	calls_end(rec->calls);
	rec->calls = NULL;
}

void
recorder_stop(struct recorder *rec, struct str *clean)
{
	if (!rec->engine.self)
		return;
	(void)recorder_end_waits(rec);
	creators_end(rec->creators);
	recorder_end_calls(rec);	/* before what it may be in */
	rec->engine.ops->stop(rec->engine.self, clean);
	rec->engine.self = NULL;
	losses_tell_unsampled(rec, clean);
}

void
recorder_give_register(struct recorder *rec)
{
	creators_give_register(rec->creators);
}

int
recorder_start(struct recorder *rec)
{
	if (!rec->opt.held)
		return 0;
	rec->opt.held = false;
	/* our own library was mapped meanwhile, and nobody told of it */
	if (mapper_sync(rec->opt.mapper, now_ns()) < 0)
		return -1;
	return rec->engine.ops->run(rec->engine.self, true);
}

static int
start_calls(struct recorder *rec)
{
	struct guest *(*guest)(void *) = rec->engine.ops->guest;

	rec->calls = calls_new(rec, &rec->opt,
			       guest ? guest(rec->engine.self) : NULL);
	return rec->calls ? 0 : -1;
}

/* What went wrong first is why. */
static struct recorder *
give_up(struct recorder *rec)
{
	struct failure *why = fail_keep();

	recorder_free(rec);
	fail_again(why);
	return NULL;
}

struct recorder *
recorder_new(const struct recorder_options *o, enum session_engine engine)
{
	struct recorder *rec = xcalloc(1, sizeof *rec);

	rec->opt = *o;
	names_usual(rec);
	losses_read_modes(rec);
	rec->first_modes = rec->modes;
	rec->opt.held = o->at_start || calls_wanted(o->settings);
	/* first: an engine makes do with what memory is left for rings */
	if (rec->opt.settings->creators)
		rec->creators = creators_new(rec, &rec->opt);
	if (engine_start(rec, &rec->opt, engine, &rec->engine) < 0)
		return give_up(rec);
	note_not_sampled(rec);
	/* the guest has come by threads of its own */
	creators_forget(rec->creators);
	if (calls_wanted(rec->opt.settings) && start_calls(rec) < 0)
		return give_up(rec);
	if (rec->opt.settings->states)
		rec->waits = waits_new(rec, &rec->opt);
	if (!o->at_start && recorder_start(rec) < 0)
		return give_up(rec);
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
	waits_free(rec->waits);
	creators_free(rec->creators);
	unwind_trace_fini(&rec->trace);
	map_fini(&rec->booked);
	map_free_values(&rec->counted);
	map_free_values(&rec->latest);
	names_fini(&rec->names);
	free(rec->losses);
	free(rec->descendants.items);
	free(rec->engine.why);
	free(rec);
}
