/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Calls of the program's that are traced (calls.c).
 */
#ifndef SONDE_SESSION_CALLS_H
#define SONDE_SESSION_CALLS_H

#include "private.h"

struct calls;
struct guest;
struct trace_event;

bool calls_wanted(const struct settings *s);

/* shared: the engine's guest, which outlives this; NULL: one of our own. NULL:
 * it cannot be done. */
struct calls *calls_new(struct recorder *rec, const struct recorder_options *o,
			struct guest *shared);
void calls_drain(struct calls *c);
/* Off: calls pass unrecorded, which is told. NULL is nothing. */
void calls_run(struct calls *c, bool on);
/* All of it out of the target; what could not be is in the last look. NULL is
 * nothing; frees. */
void calls_end(struct calls *c);

/* ---- calls_heap.c, calls_sync.c, calls_io.c: packets of an event --------- */

/* Waits below are only counted, in nanoseconds. */
uint64_t calls_threshold(const struct settings *s);

struct calls_heap {
	struct experiment *exp;
	uint64_t interval;	/* bytes; 0: all calls are recorded */
	uint64_t random;
};

void calls_heap_init(struct calls_heap *h, struct experiment *exp,
		     uint64_t interval);
/* frinfo: of the stack with the function as its leaf; 0: not known. */
void calls_heap_put(struct calls_heap *h, const struct trace_event *ev,
		    uint64_t frinfo);
void calls_put_wait(struct experiment *exp, const struct trace_event *ev,
		    uint64_t frinfo);

struct calls_io;

/* While calls were traced. */
struct calls_io_bytes {
	bool known;		/* the kernel's */
	uint64_t kernel_read, kernel_written;	/* rchar, wchar of /proc */
	uint64_t traced_read, traced_written;	/* by calls that it counts */
	uint64_t stream_read, stream_written;	/* through buffers of libc */
};

struct tracing_counts;

struct calls_told {
	uint64_t events, paused_ns;
	uint64_t sync_ns;	/* waits below were only counted */
	const struct tracing_counts *n;
	struct calls_io_bytes bytes;
};

/* ---- calls_told.c: what the log says of all of it ------------------------ */

/* What was asked for and goes unseen: 1 << enum trace_family, and these. */
enum {
	UNTRACED_HEAP_OF_PROGRAM = 1u << 8,	/* its own allocator's */
	UNTRACED_BYTES = 1u << 9,	/* most that it reads and writes */
	UNTRACED_SLOTS = 1u << 10,	/* calls by slots that refused a hook */
};
unsigned calls_untraced(const struct settings *s,
			const struct tracing_counts *n);

/* After the last event; the recorder's receipt hears what was lost. */
void calls_tell(struct recorder *rec, const struct recorder_options *opt,
		const struct calls_told *told);

/* ---- calls_io.c ---------------------------------------------------------- */

struct calls_io *calls_io_new(struct experiment *exp, struct target *t);
/* Hooks are in. All of these do nothing of NULL. */
void calls_io_begin(struct calls_io *io);
/* Before events of a round are put, and behind them. */
void calls_io_round(struct calls_io *io);
void calls_io_put(struct calls_io *io, const struct trace_event *ev,
		  uint64_t frinfo);
void calls_io_tell(struct calls_io *io);
/* The last events were put. */
struct calls_io_bytes calls_io_end(struct calls_io *io);
void calls_io_free(struct calls_io *io);

#endif
