/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * What the files of tracing share.
 */
#ifndef SONDE_INJECT_TRACING_H
#define SONDE_INJECT_TRACING_H

#include "private.h"
#include "slots.h"

struct instant {
	uint64_t ns, ticks;
};

struct pace {			/* of time, from a moment on */
	struct instant from;
	double ns_per_tick;
};

struct chunk_state {		/* ours, of a chunk */
	uint64_t serial;	/* that we read; 0: none */
	uint64_t met_ns;
	uint32_t at;		/* bytes read */
	uint32_t inner;		/* whose it was then, by their numbers */
	pid_t tid;		/* by ours, once known; 0: it had ended */
	bool known;
};

struct tracing {
	struct guest *g;
	struct trace_area *area;	/* NULL: not yet mapped */
	struct trace_area layout;	/* our own copy: nobody changes it */
	unsigned families;		/* 1 << enum trace_family */
	int fd;				/* the area's, while it is opened */
	struct slots slots;		/* found first */
	uint32_t patches;		/* used */
	size_t no_room[TRACE_FAMILIES];	/* slots beyond patches_max */
	struct instant start;
	double ns_per_tick;		/* since then */
	struct pace pace, pace_before;	/* from the last round on; until then */
	struct chunk_state *chunks;
	uint64_t rounds, round_ns;	/* since when this one lasts */
	size_t next;		/* chunk that a round begins with */
	uint64_t pass_began_ns, read_until_ns;	/* with the first chunk */
	uint64_t spoiled;		/* chunks that made no sense */
};

/* ---- tracing_time.c */
uint64_t tracing_ticks(void);
/* Of a while. */
uint64_t tracing_ticks_of(const struct tracing *tr, uint64_t ns);
/* CLOCK_MONOTONIC; in the order of ticks. */
uint64_t tracing_time(const struct tracing *tr, uint64_t ticks);
void tracing_calibrate_first(struct tracing *tr);
void tracing_calibrate(struct tracing *tr);

/* ---- sealed.c */
enum sealed_way { SEALED_IN, SEALED_OUT };
/* The guest could not write these slots; we can, where they are closed to the
 * program. */
void sealed_slots(struct target *t, const struct trace_area *a,
		  const uint64_t *originals, struct trace_patch *p, size_t n,
		  enum sealed_way way);

struct trace_patch *tracing_patches(const struct tracing *tr);
/* Whatever is there, and no more will come. */
void trace_drain_last(struct tracing *tr, trace_sink sink, void *arg);

#endif
