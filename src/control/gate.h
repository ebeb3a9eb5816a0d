/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * The program of a gate, in parts: gate.c loads it and has its map,
 * gate_kernel.c finds what it reads of the kernel, gate_thread.c writes what
 * looks at the thread, gate_stack.c what looks at its stack.
 */
#ifndef CONTROL_GATE_H
#define CONTROL_GATE_H

#include "bpf_code.h"
#include "control.h"

struct entry {			/* of the map, for one thread; for GATE_ALL */
	uint32_t filters;	/* so many have been asked */
	uint32_t form;		/* GATE_ALL: enum descriptor_form */
	int64_t words_at;	/* GATE_ALL: struct stacks */
	uint64_t handler;	/* GATE_ALL: of the signal; 0: any */
	struct gate_news news;	/* GATE_ALL: the main stack */
};
enum { GATE_ALL = 0 };		/* the number under which all are added up */
enum {
	GATE_ROOM_MOST = 64 << 10,	/* bytes of a frame and its handler */
	GATE_RED_ZONE = 128,	/* below sp, the ABI's: the kernel skips it */
};

/* Where the kernel keeps that: bytes into its struct task_struct. */
struct places {
	uint32_t blocked, work, mode, filters, filter;
	uint32_t alternate, alternate_size, thread_pointer, pending;
	uint32_t actions;	/* a pointer: of what all threads share */
	uint32_t action;	/* in there: the first signal's handler */
};

enum {				/* registers that calls leave alone */
	TASK = BPF_REG_6, ENTRY = BPF_REG_7, REASON = BPF_REG_8,
	BOUNDS = BPF_REG_9,
};
/* In the program's own frame. */
enum {
	WORD_AT = -8, KEY_AT = -12, SP_AT = -24, SIZE_AT = -32, WORDS_AT = -56,
	IDS_AT = -64,	/* the thread's number and the process's, 4 bytes */
};

/* By which numbers the kernel knows a thread of the target, and we. */
struct pid_numbers {
	bool are_the_kernels;
	uint64_t device, inode;		/* else: of our own PID namespace */
};

/* false: the kernel does not describe itself, or differently. */
bool gate_find_places(struct places *at, bool for_handler);
/* false: process pid lives in a PID namespace within ours. */
bool gate_find_numbers(pid_t pid, struct pid_numbers *numbers);

/* The end of the program: 0, there is no signal; 1, there is one. */
void gate_answer(struct code *c, int passes);
/* Leaves it in register 1, and at WORD_AT. */
void gate_read_task(struct code *c, int size, uint32_t at);
/* The entry with the number in the frame, or 0. */
void gate_look_up(struct code *c, int map, int to);
/* The end of the program: there is no signal, and that is counted. */
void gate_hold_back(struct code *c, int map, enum gate_reason why);

/* Each holds the signal back, or goes on. */
void gate_check_mask(struct code *c, const struct places *at, int signo,
		     int map);
void gate_check_dispatch(struct code *c, const struct places *at, int map);
void gate_check_filters(struct code *c, const struct places *at, int map);
void gate_check_due(struct code *c, const struct places *at, int signo,
		    int map);
void gate_check_handler(struct code *c, const struct places *at, int signo,
			int map);

/* At the beginning, where register 1 still has the event. */
void gate_save_sp(struct code *c);
/* bytes: below sp and its red zone, or, where the handler goes there, on an
 * alternate stack. Goes on where the stack has so many. */
void gate_check_stack(struct code *c, const struct places *at, int map,
		      size_t bytes, bool alternate);

#endif
