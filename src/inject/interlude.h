/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * The instructions of a program by which a function that was called from
 * outside comes back.
 */
#ifndef SONDE_INJECT_INTERLUDE_H
#define SONDE_INJECT_INTERLUDE_H

#include "fresh.h"

enum { POPS = 5, WIDE_MOST = 64, WAY_SEEN = 96, WAY_PIECE = 16 };

struct way_back {
	uint64_t restore_rt;	/* mov $15, %rax; syscall */
	uint64_t store;		/* mov %rax, disp(%base); ... ; ret */
	uint64_t ret;		/* ret alone */
	uint64_t pops;		/* pop %rbp ... pop %r15; ret; 0: none */
	uint64_t wide;		/* add $8 * wide_words, %rsp; pops; ret; 0 */
	unsigned wide_words, wide_pops;
	int wide_rbx;		/* which of those pops takes rbx; -1 */
	int base;		/* rbx, rbp or 12 to 15, as machines number */
	int64_t disp;
	unsigned skips;		/* words that it takes before it returns */
	uint64_t jumps[JUMPS];	/* longjmp, and its fortified form; 0: none */
	unsigned char seen[WAY_SEEN];	/* what is at all these */
};

/* In what is mapped of the program; 0, or -1: there is none. way: {0}, or as it
 * was found before: that is taken if it is there still. */
int way_back_find(struct target *t, const struct modules *mods,
		  struct way_back *way);
/* One of the last k registers that pops takes, with that many words. */
uint64_t way_back_pops(const struct way_back *way, unsigned k);

/* ---- interlude.c, and interlude_enter.c: the way in ---- */

struct interlude {
	struct plan p;
	struct borrow b;
	struct way_back *way;	/* the caller's */
	struct thread_errand errand;
	const struct fresh_thread *own;	/* it has the thread; NULL: a program's */
	uint64_t slot, bytes, room, sp;
	size_t room_size;
	uint64_t blocked;	/* signals, meanwhile */
	struct thread_watch *jumps[JUMPS];
	bool throws;		/* exceptions may come */
	bool cut;		/* a call of the function was interrupted */
	bool held;		/* by us, not for the user */
};

enum { KERNEL_SIGSET = 8 };

/* May this thread, which is held, be used? -1: no, and why. */
int interlude_check(struct target *t, struct interlude *il);
int interlude_read_maps(struct interlude *il);
/* To the function's entry, with all that it comes back by. */
int interlude_enter(struct interlude *il, const struct interlude_call *c);
/* true_pc: as it is, or so that exceptions end there. */
int interlude_write_frame(struct interlude *il, bool true_pc);

#endif
