/* SPDX-License-Identifier: Apache-2.0 */
/*
 * collector: what the guest understands. The library's ELF entry point
 * (e_entry) is its only door, so that it is found without a symbol table: a
 * struct collector_identity ends right before it, and all commands go through
 *
 *	int64_t entry(struct collector_call *call, size_t size);
 *
 * which runs on a thread of ours, or on one of the program that we hold. It
 * returns 0 or a negative errno, and leaves that in call->result, too; it
 * never exits, prints or allocates.
 *
 * It works for one owner at a time, from MAP to UNMAP; that one's heartbeat
 * (include/record.h) is his lease. Commands of others fail: MAP with EBUSY as
 * long as the lease is live, the rest with ESTALE.
 */
#ifndef SONDE_COLLECTOR_H
#define SONDE_COLLECTOR_H

#include <stdint.h>

enum { COLLECTOR_VERSION = 8 };

#define COLLECTOR_MAGIC UINT64_C(0x7473657567656473)	/* "sdeguest" */

struct collector_identity {
	/* From the entry: struct collector_moved x COLLECTOR_MOVED, and a
	 * uint32_t that is 1 once slots may lead to hooks: they may go on to
	 * do so after a recording that was killed, and in a fork's child. */
	int32_t moved, hooked;
	/* From the entry: the name that its link map shall have, and the
	 * struct collector_owner. */
	int32_t name, owner;
	uint64_t magic;
	uint32_t version;
	/* From the entry: a routine with the address and size of a mapping
	 * in rdi and rsi. Unmaps it and ends the thread, needing no stack. */
	int32_t leave;
};
_Static_assert(sizeof(struct collector_identity) == 32, "fixed layout");

enum { COLLECTOR_MOVED = 512 };

/* A symbol of a load object whose value is another now: that of a hook. Is
 * written before the symbol, and cleared after it. */
struct collector_moved {
	uint64_t at;		/* where its value is; 0: none */
	uint64_t before, now;
	uint64_t page, page_end; /* opened for it, closed again; 0: none */
};
_Static_assert(sizeof(struct collector_moved) == 40, "fixed layout");

/* Who records: a process, as it sees itself. */
struct collector_owner {
	uint64_t token;		/* of this one recording; 0: nobody does */
	uint64_t start;		/* of his process, as in /proc/PID/stat */
	uint64_t pids;		/* inode of his pid namespace */
	int32_t pid;
	uint32_t target;	/* the process recorded, by its own count: a
				 * fork's child has a copy of all this */
	/* The signal that our handler is in place for, 0: none. Outlives an
	 * owner that was killed. */
	uint32_t signo;
	uint32_t commander;	/* thread that obeys a command; 0: nobody */
};
_Static_assert(sizeof(struct collector_owner) == 40, "fixed layout");

enum collector_command {
	COLLECTOR_MAP,		/* map the area behind fd (closes fd) */
	COLLECTOR_UNMAP,
	COLLECTOR_START,	/* handler in, timers on */
	COLLECTOR_STOP,		/* timers deleted, handler out */
	COLLECTOR_TIMERS,	/* make missing timers, also after a lease */
	COLLECTOR_LOOK,		/* whose is the handler? */
	COLLECTOR_TRACE,	/* map the trace area behind fd (closes fd) */
	COLLECTOR_BIND,		/* slots that are wanted lead to hooks */
	COLLECTOR_UNTRACE,	/* slots as they were, area unmapped */
	COLLECTOR_UNNAME,	/* symbols as they were: no new slot leads to
				 * a hook */
	COLLECTOR_UNHOOK,	/* slots as they were that are listed in the
				 * trace area behind fd (closes fd), which
				 * nobody traces by */
};

enum collector_clock { COLLECTOR_PERF_SIGNAL, COLLECTOR_POSIX_TIMER };

struct collector_call {
	uint32_t version, command;
	int32_t fd;		/* MAP, TRACE, UNHOOK */
	uint32_t clock;		/* START: enum collector_clock */
	uint64_t size;		/* MAP, TRACE, UNHOOK: of the area */
	uint64_t interval_ns;	/* START */
	uint64_t vdso_clock;	/* MAP: __vdso_clock_gettime */
	/* START: of the ticks. Its default action is to do nothing: -EBUSY
	 * when the program has another one in place. */
	uint32_t signo, pad;
	uint64_t handler;	/* START, result: its address */
	/* STOP, LOOK, results. */
	uint32_t handler_kept;	/* the program had put its own in place */
	/* The helper thread, which ends right after the call as the caller
	 * does: no timer for them. 0: the caller is one of the program. */
	uint32_t helper;
	/* START, TIMERS: threads that have one now, and that got none. */
	uint32_t timers_made, timers_failed;
	int64_t result;
	struct collector_owner owner;	/* who gives the command */
	/* MAP: token of an owner that has surely ended. */
	uint64_t ended;
};
_Static_assert(sizeof(struct collector_call) == 128, "fixed layout");

#endif
