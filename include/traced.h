/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * traced: what single calls tell that were traced (the heap, input and output,
 * waits), beside the sums of profile.h: it is the other leaf of that room's
 * door. Only records count that the filter keeps. What is asked for is found
 * in a few passes over the packets, whatever their number, and takes room by
 * stacks, files and locks. Each answer is freed by its _free.
 */
#ifndef SONDE_TRACED_H
#define SONDE_TRACED_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "profile.h"

/* ---- stacks.c: those that the answers name ------------------------------ */

struct traced_frame {
	struct profile_location where;
	const char *file;	/* NULL and 0: no line */
	int line;
};
/* Leaf first; out is grown with xgrow. Returns how many; 0: no stack. */
size_t traced_stack(struct profile *prof, uint32_t stack,
		    struct traced_frame **out, size_t *cap);

/* ---- how large ---------------------------------------------------------- */

enum { TRACED_RANGES = 15 };
extern const char *const traced_range_names[TRACED_RANGES];

struct traced_sizes {		/* smallest: UINT64_MAX while there is none */
	uint64_t count, bytes, smallest, largest, ranges[TRACED_RANGES];
};

/* ---- how a recording ended ---------------------------------------------- */

/* EXITED: so did the program, or it executed another one; what nobody had
 * freed by then has leaked. Else it is but what lived at that moment. */
enum traced_end { TRACED_EXITED, TRACED_DETACHED, TRACED_RECORDING,
		  TRACED_CUT, TRACED_ENDS };
enum traced_end traced_end_of(const struct experiment_reader *rd);

/* ---- heap.c ------------------------------------------------------------- */

struct traced_amount {
	uint64_t count, bytes;
};

struct traced_blocks {		/* those of one stack, and one kind of end */
	uint32_t stack;
	enum traced_end end;
	struct traced_amount allocated;
	struct traced_amount kept;	/* of these never freed */
	struct traced_amount at_peak;	/* live when the process with the
					 * highest peak had it */
};

struct traced_process {
	bool recorded;		/* its heap was */
	enum traced_end end;
	struct traced_amount peak, kept;
	uint64_t peak_ns;
	uint64_t older;		/* frees of blocks that no record tells of */
	uint64_t reused;	/* blocks given out again that no record frees */
};

struct traced_heap {
	struct traced_blocks *blocks;	/* in no order */
	size_t len, cap;
	struct traced_process *processes;	/* by experiment */
	size_t processes_len;
	size_t highest;		/* the process with the highest peak */
	struct traced_sizes allocated, kept;
};
struct traced_heap *traced_heap(struct profile *prof);
void traced_heap_free(struct traced_heap *heap);

/* ---- io.c, descriptors.c ------------------------------------------------- */

enum traced_io { TRACED_READ, TRACED_WRITE, TRACED_OTHER, TRACED_ERROR,
		 TRACED_IO };

struct traced_calls {
	uint64_t count, ns, longest_ns, bytes;
};

struct traced_row {		/* a file, an open one, or a stack */
	const char *name;	/* NULL: of a stack */
	uint32_t number;	/* of an open one; 0: it is none */
	int descriptor;		/* its first; -1: none */
	uint32_t stack;
	struct traced_calls calls[TRACED_IO];
};

struct traced_rows {
	struct traced_row *items;
	size_t len, cap;
};

struct traced_files {
	struct traced_rows files, opens, stacks;	/* in no order */
	struct traced_calls all[TRACED_IO];
	struct traced_sizes sizes[TRACED_OTHER];	/* of reads, writes */
};
struct traced_files *traced_files(struct profile *prof);
void traced_files_free(struct traced_files *files);

/* ---- locks.c ------------------------------------------------------------ */

struct traced_wait {		/* of one thread, or for one */
	uint32_t thread;	/* index in profile_threads; UINT32_MAX: one
				 * that left no record of its own */
	uint32_t tid;		/* of such a one; 0: no number of a thread */
	uint32_t begun_in;	/* function + 1 that one began with which was
				 * joined; 0: not known */
	uint64_t count, ns;
};

struct traced_lock {
	uint32_t experiment;
	uint64_t address;
	bool is_thread;		/* it was joined: the owner is what it is */
	char *name;		/* of the variable; NULL: not known */
	uint64_t offset;	/* in the variable, or in the block */
	uint32_t stack;		/* + 1 that allocated the block; 0: not known */
	uint64_t size;		/* of the block */
	uint64_t count, ns, longest_ns;
	struct traced_wait *waiters, *owners;	/* the longest first */
	size_t waiters_len, waiters_cap, owners_len, owners_cap;
};

struct traced_locks {
	struct traced_lock *items;	/* in no order */
	size_t len, cap;
};
struct traced_locks *traced_locks(struct profile *prof);
void traced_locks_free(struct traced_locks *locks);

#endif
