/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Traced calls, to packets of the experiment. The guest is engine inject's, or
 * one of our own that ticks for nobody. Each record is written once; what was
 * lost is counted by cause and said when the collection ends.
 */
#include <stdlib.h>
#include <string.h>

#include "calls.h"
#include "inject.h"
#include "look_back.h"
#include "record.h"

enum {
	ROOM_BYTES = 64 << 20,
	ROOM_LEAST = 16 << 20,
	PATIENCE_NS = 1000 * 1000 * 1000,
	LOOK_SHARE = 20,	/* of the time, at most, we look for slots */
	TABLE_MARGIN = 4 << 20,
};

struct kept {			/* a stack, without the function called */
	size_t len;
	enum stack_end end;
	uint64_t pcs[];
};

struct calls {
	struct recorder *rec;
	const struct recorder_options *opt;
	struct guest *guest, *own;	/* own: NULL, or the same */
	struct tracing *tracing;
	struct calls_heap heap;
	struct calls_io *io;
	uint64_t originals[TRACE_FUNCTIONS];
	struct map stacks;	/* id -> struct kept */
	struct map frames;	/* id and function -> FRINFO */
	/* Whose stack another thread has written: it is in a chunk that comes
	 * later in the round. */
	struct trace_event *pending;
	size_t npending, cap;
	uint64_t events;
	uint64_t sync_ns;	/* waits below are only counted */
	uint64_t looked_ns, look_ns;	/* when last, and how long it took */
	uint64_t changes;	/* of what is mapped, seen by then */
	uint64_t paused_at, paused_ns;	/* 0: it is not; in all */
};

/* ---- packets ------------------------------------------------------------- */

static void
keep_stack(struct calls *c, const struct trace_event *ev)
{
	uint64_t *slot = map_slot_of(&c->stacks, ev->stack);

	if (*slot)
		return;

	struct kept *k = xmalloc(sizeof *k + ev->depth * sizeof k->pcs[0]);

	k->len = ev->depth;
	k->end = ev->end == RECORD_COMPLETE ? STACK_COMPLETE :
		ev->end == RECORD_TOO_DEEP ? STACK_TRUNCATED : STACK_FAILED;
	for (size_t i = 0; i < ev->depth; i++)
		k->pcs[i] = ev->pcs[i] & RECORD_PC_EXACT ?
			ev->pcs[i] & ~RECORD_PC_EXACT :
			unwind_call_address(c->opt->space, ev->pcs[i]);
	*slot = (uintptr_t)k;
}

/* With the function itself as its leaf. */
static uint64_t
frame_of(struct calls *c, const struct trace_event *ev)
{
	const uint64_t key = ev->stack + (uint64_t)ev->function;
	uint64_t *slot = map_slot_of(&c->frames, key), at;

	/* what is kept in memory may have forgotten it */
	if ((*slot && experiment_has_stack(c->opt->exp, *slot)) ||
	    !map_get(&c->stacks, ev->stack, &at))
		return *slot;

	const struct kept *k = (const void *)(uintptr_t)at;
	uint64_t *pcs = xcalloc(k->len + 1, sizeof *pcs);

	pcs[0] = c->originals[ev->function];
	memcpy(pcs + 1, k->pcs, k->len * sizeof *pcs);
	*slot = experiment_stack(c->opt->exp, pcs, k->len + 1, k->end);
	free(pcs);
	return *slot;
}

static void
put(struct calls *c, const struct trace_event *ev)
{
	const uint64_t frinfo = ev->stack ? frame_of(c, ev) : 0;

	c->events++;
	switch (trace_family(ev->function)) {
	case TRACE_HEAP:
		calls_heap_put(&c->heap, ev, frinfo);
		break;
	case TRACE_SYNC:
		calls_put_wait(c->opt->exp, ev, frinfo);
		break;
	case TRACE_IO:
		calls_io_put(c->io, ev, frinfo);
		break;
	case TRACE_FAMILIES:
		break;
	}
}

static void
take(void *arg, const struct trace_event *ev)
{
	struct calls *c = arg;

	if (ev->kind == TRACE_STACK) {
		keep_stack(c, ev);
		return;
	}
	if (!ev->stack || frame_of(c, ev)) {
		put(c, ev);
		return;
	}
	c->pending = xgrow(c->pending, &c->cap, c->npending + 1,
			   sizeof *c->pending);
	c->pending[c->npending] = *ev;
	if (ev->path) {
		c->pending[c->npending].path = xmalloc(ev->path_bytes);
		memcpy((char *)(uintptr_t)c->pending[c->npending].path,
		       ev->path, ev->path_bytes);
	}
	c->npending++;
}

/* Its stack was there before it was written; so it is once all has been read
 * that was written by then, but where the thread that writes it has no
 * processor, or jumped out of it. */
static void
put_pending(struct calls *c, uint64_t read_until_ns)
{
	const uint64_t since = read_until_ns > PATIENCE_NS ?
		read_until_ns - PATIENCE_NS : 0;
	size_t n = 0;

	for (size_t i = 0; i < c->npending; i++)
		if (c->pending[i].time_ns < since ||
		    frame_of(c, &c->pending[i])) {
			put(c, &c->pending[i]);
			free((void *)(uintptr_t)c->pending[i].path);
		} else {
			c->pending[n++] = c->pending[i];
		}
	c->npending = n;
}

/* ---- the guest ----------------------------------------------------------- */

static void
note_report(struct calls *c, const struct inject_report *report)
{
	look_back_visit(c->opt->look, report);
	if (report->donor_stop_ns)
		recorder_stopped(c->rec, report->donor_stop_ns);
}

static struct guest *
open_guest(struct calls *c)
{
	const struct step_tables *tables = unwind_space_tables(c->opt->space);
	const struct guest_options options = {
		.windows = 1, .window_bytes = RECORD_WINDOW_MIN,
		.table_bytes = (uint32_t)(TABLE_MARGIN +
					  guest_publish_need(tables)),
		.interval_ns = c->opt->interval_ns,
		.donor_seed = c->opt->settings->seed,
		.tables = tables,
	};
	struct inject_report report = {0};
	struct guest *g = c->opt->at_start ?
		guest_open_preloaded(c->opt->target, &options, &report) :
		guest_open(c->opt->target, &options, &report);

	note_report(c, &report);
	return g;
}

/* New code: by its tables stacks are found, and its slots lead to hooks. */
static void
look_again(struct calls *c)
{
	const uint64_t changes = unwind_space_changes(c->opt->space);
	const uint64_t now = now_ns();
	struct inject_report report = {0};

	if (changes == c->changes || !guest_is_there(c->guest) ||
	    now - c->looked_ns < LOOK_SHARE * c->look_ns)
		return;
	c->changes = changes;
	if (c->own)
		(void)guest_publish(c->guest,
				    unwind_space_tables(c->opt->space));
	/* what is missing is told */
	(void)tracing_look_again(c->tracing, &report);
	note_report(c, &report);
	c->looked_ns = now_ns();
	c->look_ns = c->looked_ns - now;
}

/* ---- the door ------------------------------------------------------------ */

bool
calls_wanted(const struct settings *s)
{
	return s->heap || s->sync || s->io;
}

/* A drain, and so what may come beyond a limit of size, is no larger. */
static uint64_t
room_of(const struct settings *s)
{
	const uint64_t half = s->limit_mb << 20 >> 1;

	if (!half || half > ROOM_BYTES)
		return ROOM_BYTES;
	return half > ROOM_LEAST ? half : ROOM_LEAST;
}

static struct tracing_options
options_of(const struct settings *s)
{
	return (struct tracing_options){
		.families = (s->heap ? 1u << TRACE_HEAP : 0) |
			(s->sync ? 1u << TRACE_SYNC : 0) |
			(s->io ? 1u << TRACE_IO : 0),
		.bytes = room_of(s),
		.wait_ns = s->trace_wait_ms * UINT64_C(1000000),
		.sync_ns = calls_threshold(s),
		.sync_all = s->sync_us == 0,
		.heap_interval = s->heap_interval,
	};
}

/* Another engine loads nothing, but traces nothing either. */
static void
remedy(void)
{
	const char *said = fail_last()->remedy;

	if (said && strstr(said, "--engine"))
		(void)fail_remedy("record it without --heap, --sync and --io, "
				  "which need the collector there (in the "
				  "shell: collector heaptrace off, synctrace "
				  "off, iotrace off)");
}

/* At once: nobody should wait for the end to learn it. */
static void
tell_untraced(const struct calls *c)
{
	struct tracing_counts counts;

	tracing_count(c->tracing, &counts);
	recorder_calls_untraced(c->rec,
				calls_untraced(c->opt->settings, &counts));
}

struct calls *
calls_new(struct recorder *rec, const struct recorder_options *o,
	  struct guest *shared)
{
	struct tracing_options options = options_of(o->settings);
	struct calls *c = xcalloc(1, sizeof *c);
	struct inject_report report = {0};

	/* a program that is launched runs, whatever it calls */
	options.may_be_none = o->at_start;
	c->rec = rec;
	c->opt = o;
	c->sync_ns = options.sync_ns;
	calls_heap_init(&c->heap, o->exp, o->settings->heap_interval);
	if (o->settings->io)
		c->io = calls_io_new(o->exp, o->target);
	experiment_sync_threshold(o->exp, o->settings->sync_us);
	c->changes = unwind_space_changes(o->space);
	c->guest = shared ? shared : (c->own = open_guest(c));
	if (c->guest)
		c->tracing = tracing_open(c->guest, &options, &report);
	if (c->tracing) {
		for (int f = 0; f < TRACE_FUNCTIONS; f++)
			c->originals[f] = tracing_original(c->tracing, f);
		note_report(c, &report);
		calls_io_begin(c->io);
		tell_untraced(c);
		return c;
	}

	remedy();

	struct failure *why = fail_keep();

	calls_end(c);
	fail_again(why);
	return NULL;
}

void
calls_drain(struct calls *c)
{
	if (!c)
		return;
	if (c->own)
		guest_heartbeat(c->own);
	calls_io_round(c->io);
	put_pending(c, tracing_drain(c->tracing, false, take, c));
	calls_io_tell(c->io);
	look_again(c);
}

void
calls_run(struct calls *c, bool on)
{
	if (!c || on == !c->paused_at)
		return;
	tracing_run(c->tracing, on);
	if (!on) {
		calls_drain(c);
		c->paused_at = now_ns();
		return;
	}
	c->paused_ns += now_ns() - c->paused_at;
	c->paused_at = 0;
}

/* The receipt has one word on it (look_back.c). */
static void
unclean(const struct calls *c)
{
	look_back_unclean(c->opt->look, fail_last()->reason);
}

void
calls_end(struct calls *c)
{
	struct inject_report report = {0};

	if (!c)
		return;
	if (c->tracing) {
		struct tracing_counts counts;

		/* or who is faster than we are would never end */
		if (!c->paused_at)
			tracing_run(c->tracing, false);
		else
			c->paused_ns += now_ns() - c->paused_at;
		calls_io_round(c->io);
		(void)tracing_drain(c->tracing, true, take, c);
		if (tracing_close(c->tracing, take, c, &counts, &report) < 0)
			unclean(c);
		note_report(c, &report);
		put_pending(c, UINT64_MAX);
		(void)experiment_flush(c->opt->exp);	/* it counts */
		calls_tell(c->rec, c->opt, &(struct calls_told){
			.events = c->events, .paused_ns = c->paused_ns,
			.sync_ns = c->sync_ns, .n = &counts,
			.bytes = calls_io_end(c->io) });
	}
	if (c->own) {
		const int r = guest_is_there(c->own) ?
			guest_stop(c->own, &report) : 0;

		if (guest_is_parting(c->own))
			look_back_parting(c->opt->look);
		else if (r < 0)
			unclean(c);
		note_report(c, &report);
		guest_close(c->own);
	}
	calls_io_free(c->io);
	free(c->pending);
	map_free_values(&c->stacks);
	map_fini(&c->frames);
	free(c);
}
