/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What the hooks of input and output share. Whatever a hook does comes when
 * the original has returned; it is not even known to be there before, so a
 * call may block, be cancelled or never return.
 */
#ifndef SONDE_COLLECTOR_HOOKS_IO_H
#define SONDE_COLLECTOR_HOOKS_IO_H

#include "hooks.h"

#pragma GCC visibility push(hidden)

struct io_call {
	enum trace_function function;
	int32_t fd, other;	/* -1: none */
	int64_t result;		/* as it came: -1 says that errno tells */
	uint64_t since;
	const void *tail;	/* what is told besides, or NULL */
	uint32_t tail_bytes;
};

enum { IO_NO_FD = -1, IO_PATH_MAX = 4096, IO_ADDRESS_BYTES = 112 };

/* Its record, where there is to be one. */
void hot_io_done(const struct io_call *call,
		 const struct trace_caller *caller);
/* -1, as it comes: -errno. */
int64_t hot_io_result(int64_t r);
/* Bytes before its '\0', up to most. */
uint32_t hot_io_length(const char *s, uint32_t most);

/* ---- hot_vfork.c */
/* Whoever does this now is a child of vfork. */
bool hot_vfork_is_child(const struct trace_turn *turn);
void *hot_vfork_begin(void);
void hook_VFORK(void);
int hook_FORK(void);

/* ---- hot_confine.c */
void *hot_confine_prctl(uint64_t option, uint64_t argument);
void *hot_confine_syscall(uint64_t nr, uint64_t a, uint64_t b);
void hook_PRCTL(void);
void hook_SYSCALL(void);

/* By number; NULL: none of theirs. */
void *hot_io_call_hook(enum trace_function function);
void *hot_stream_hook(enum trace_function function);

/* Most functions have fewer arguments: what is in the registers of the others
 * is handed on as it came. */
#define IO_REGISTERS \
	uint64_t a, uint64_t b, uint64_t c, uint64_t d, uint64_t e, uint64_t f
#define IO_HAND_ON a, b, c, d, e, f
#define IO_NOT_ALL_USED \
	(void)a, (void)b, (void)c, (void)d, (void)e, (void)f

typedef int64_t io_function(IO_REGISTERS);

#define IO_ORIGINAL(name) ((io_function *)hot_originals[TRACE_##name])

#pragma GCC visibility pop

#endif
