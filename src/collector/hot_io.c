/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Records of the functions that move bytes or files. An error is what errno
 * says when the original has returned; nobody else changes it here.
 */
#include "hooks_io.h"

#include <errno.h>

typedef int *errno_location(void);

int64_t
hot_io_result(int64_t r)
{
	errno_location *where = (errno_location *)hot_originals[TRACE_IO_ERRNO];
	int code;

	if (r >= 0)
		return r;
	code = where ? *where() : 0;
	return code > 0 ? -code : -EIO;
}

/* By an instruction: the compiler would make a call of libc's out of C. */
static void
copy(void *to, const void *from, uint64_t n)
{
	__asm__ volatile("rep movsb" : "+D"(to), "+S"(from), "+c"(n)
			 : : "memory");
}

static void
write_call(struct trace_turn *turn, const struct io_call *call,
	   const uint64_t *words, uint32_t n)
{
	const uint32_t tail = call->tail ? (call->tail_bytes + 8) / 8 : 0;
	uint64_t *to = hot_chunk_reserve(turn, 1 + n + tail);
	uint32_t i;

	if (!to)
		return;
	for (i = 0; i < n; i++)
		to[i + 1] = words[i];
	if (tail)		/* what lies behind it is 0 */
		copy(to + 1 + n, call->tail, call->tail_bytes);
	__atomic_store_n(to, trace_head(TRACE_CALL, 1 + n + tail,
					call->function), __ATOMIC_RELEASE);
}

__attribute__((noinline)) void
hot_io_done(const struct io_call *call, const struct trace_caller *caller)
{
	const uint64_t now = hot_trace_now();
	struct trace_turn turn;

	if (!hot_trace_begin(&turn, TRACE_IO, now))
		return;
	/* 0: it began when nothing was traced */
	if (call->since && !hot_vfork_is_child(&turn)) {
		const uint64_t words[] = {
			now, hot_trace_stack(&turn, caller), call->since,
			(uint32_t)call->fd | (uint64_t)call->other << 32,
			(uint64_t)hot_io_result(call->result),
		};

		write_call(&turn, call, words, 5);
	}
	hot_trace_end(&turn);
}

uint32_t
hot_io_length(const char *s, uint32_t most)
{
	uint32_t n = 0;

	while (n < most && ((const volatile char *)s)[n])
		n++;
	return n;
}

void *
hot_io_hook(enum trace_function function)
{
	void *hook = hot_io_call_hook(function);

	return hook ? hook : hot_stream_hook(function);
}
