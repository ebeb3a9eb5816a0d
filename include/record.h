/* SPDX-License-Identifier: Apache-2.0 */
/*
 * record: layout of the memfd that the guest writes and we drain. The file is
 * sealed against shrinking and growing and was allocated by us, so a plain
 * store into it can neither fault nor wait for a disk, and its pages are not
 * charged to the target.
 *
 *   [ record_area | record_window x windows | tickers | memo
 *     | ring x windows | table half 0 | table half 1 ]
 *
 * One window belongs to one thread at a time and has one writer (whoever has
 * set `busy`; all signals are masked in the handler) and one reader (the
 * tracer): a ring of whole records, `head` written by the guest with a release
 * store after the record is complete, `tail` by the tracer. A record never
 * wraps; a filler takes the rest of a ring. `tail` moves on when what was read
 * is in the experiment's files: what has not got there when we are killed is
 * still in the ring, and whose it is stands in struct record_keep.
 *
 * tickers[fd] is the thread that a perf signal with that si_fd is sent to, by
 * the tracer's count of descriptors, 0: none. So a handler need not ask who
 * it is, by a call that a seccomp filter may punish.
 */
#ifndef SONDE_RECORD_H
#define SONDE_RECORD_H

#include <stdint.h>

#define RECORD_MAGIC	UINT64_C(0x3141524165646e73)	/* "sndeArA1" */
#define RECORD_LEASE_NS	UINT64_C(2000000000)
/* The lower half of a timer's si_value; the upper one is its thread. */
#define RECORD_TIMER_MARK	UINT32_C(0x736e6465)
/* In pcs[]: this is the next instruction, not a return address. */
#define RECORD_PC_EXACT	(UINT64_C(1) << 63)

enum {
	RECORD_VERSION = 7,
	RECORD_DEPTH_LEAST = 1000,	/* frames that a record has room for */
	RECORD_DEPTH_MAX = 20000,	/* ... if there is that much room */
	RECORD_DEAF = 1024,		/* threads that get no timer */
	RECORD_TICKERS = 65536,
	RECORD_PROBES = 32,		/* windows a thread may look at */
	RECORD_HEADER_BYTES = 8192,
	RECORD_WINDOW_MIN = 65536,	/* bytes of a ring */
	RECORD_PATH = 1024,		/* bytes of an experiment's name */
	RECORD_HANDLER_STACK = 1024,	/* bytes that the handler of a tick uses,
					 * beyond what the kernel writes */
};

enum record_kind {
	RECORD_FILLER = 1,
	RECORD_SAMPLE = 2,
};

/* How the walk of a stack ended. */
enum record_end {
	RECORD_COMPLETE,	/* the outermost frame was reached */
	RECORD_CUT,		/* the known part of the stack ended first */
	RECORD_TOO_DEEP,
	RECORD_NO_ROW,		/* no unwind data and no sound frame pointer */
	RECORD_NEEDS_FULL,	/* a row only a full interpreter understands */
	RECORD_WILD,		/* the stack does not make sense */
	RECORD_NO_STACK,	/* sp is in no stack we know: the leaf alone */
	RECORD_NO_TABLES,	/* none published yet: the leaf alone */
	RECORD_ENDS
};

/* Why a tick left no record. */
enum record_loss {
	RECORD_LOST_FULL,	/* the thread's ring was full */
	RECORD_LOST_WINDOW,	/* no window was free for the thread */
	RECORD_LOST_LEASE,	/* our heartbeat was silent */
	RECORD_LOST_OFF,	/* came after the flag went off */
	RECORD_LOSSES
};

struct record {
	uint32_t size;		/* of the whole record, multiple of 8 */
	uint16_t kind;		/* enum record_kind */
	uint16_t depth;		/* entries of pcs */
	uint32_t tid;		/* as the target's pid namespace counts */
	uint32_t weight;	/* clock intervals: 1 + overruns */
	uint64_t time_ns;	/* CLOCK_MONOTONIC */
	uint32_t cpu;
	uint8_t end;		/* enum record_end */
	/* 1: the thread blocks the signal, but not in the call (ppoll, ...)
	 * that it came into. */
	uint8_t late;
	uint8_t in_call;	/* 1: it ticked in a system call, whose end it
				 * waited for */
	uint8_t pad;
	uint64_t pcs[];		/* leaf first, exact or return addresses */
};
_Static_assert(sizeof(struct record) == 32, "fixed layout");

struct record_window {
	uint32_t tid;		/* owner; 0: free */
	uint32_t busy;		/* 1: a handler writes */
	uint64_t head;		/* bytes ever written; the guest's */
	uint64_t lost;		/* intervals, ring full; the guest's */
	uint64_t guest_pad[5];
	uint64_t tail;		/* bytes read and kept; the tracer's */
	uint64_t tracer_pad[7];
};
_Static_assert(sizeof(struct record_window) == 128, "fixed layout");

/* At the start of a table half; all offsets are from there, and the half's
 * address is the `origin` of its step tables. */
struct record_tables {
	uint64_t ranges_at;	/* struct step_range, sorted */
	uint64_t stacks_at;	/* struct record_stack, sorted */
	uint32_t ranges, stacks;
	uint64_t used;		/* bytes */
};
_Static_assert(sizeof(struct record_tables) == 32, "fixed layout");

/* A writable mapping without a file that has a guard below: where the stacks
 * of threads are. */
struct record_stack {
	uint64_t start, end;
};

enum record_tables_current { RECORD_HALF_0, RECORD_HALF_1, RECORD_HALF_NONE };

/* The tracer's: where the records go, for the visit after the one that was
 * killed. */
struct record_keep {
	uint64_t token;		/* the experiment's log has it, too; 0: none */
	uint64_t device, inode;	/* of the experiment's directory */
	uint64_t interval_ns, start_ns;
	uint64_t kept;		/* bytes of its profile when the tails moved */
	uint64_t told[RECORD_LOSSES];	/* of lost[], booked by then */
	uint64_t pad[6];
	char path[RECORD_PATH];
};
_Static_assert(sizeof(struct record_keep) == 1152, "fixed layout");

struct record_area {
	/* Constant once the guest has it. */
	uint64_t magic;
	uint32_t version, header_bytes;
	uint64_t size;		/* of the file */
	uint32_t windows, window_bytes;
	uint64_t windows_at, rings_at;
	uint64_t tables_at[2];
	uint64_t table_bytes;	/* of one half */
	uint64_t tickers_at;	/* uint32_t x RECORD_TICKERS */
	uint64_t memo_at;	/* step_memo x STEP_MEMO; the guest's */
	uint32_t fs_readable;	/* 1: an instruction reads the base of %fs */
	uint32_t keyed;		/* 1: memory may have protection keys */
	uint32_t alternate;	/* 1: handlers run on alternate stacks */
	uint32_t pad_32;
	uint64_t constant_pad[3];

	/* Written by the tracer. */
	uint32_t on;		/* 0: handlers pass through */
	uint32_t tables;	/* enum record_tables_current */
	uint64_t beat;		/* grows; silent for RECORD_LEASE_NS: gone */
	uint64_t main_stack_end;
	uint32_t confined;	/* 1: a filter may punish a handler's call */
	uint32_t ndeaf;		/* in deaf, most of the time */
	uint64_t main_stack_floor; /* nothing else was mapped from there on */
	uint32_t leader;	/* the first thread, by the tracer's numbers */
	uint32_t published;	/* how often tables were; after it */
	uint32_t tracer_pad[4];

	/* Written by the guest. */
	uint64_t seen_beat, seen_at;
	uint32_t readers[2];	/* handlers that walk by a table half */
	uint32_t foreign;	/* signals that came and were not ours */
	uint32_t timers;	/* live POSIX timers */
	uint64_t samples;	/* records written */
	uint64_t lost[RECORD_LOSSES];	/* intervals, by cause */
	uint64_t ends[RECORD_ENDS];	/* walks, by how they ended */
	uint32_t left;		/* 1: the guest works for another now */
	uint32_t left_pad;
	uint64_t main_stack_low;	/* from here to its end it is there, for
				 * good; at first the tracer's; 0: not known */
	uint64_t guest_pad[5];

	/* The tracer's: threads that block or wait for the signal of the
	 * ticks, as the target's pid namespace counts. */
	uint32_t deaf[RECORD_DEAF];
	struct record_keep keep;
};
_Static_assert(sizeof(struct record_area) <= RECORD_HEADER_BYTES,
	       "the header page holds it");

#endif
