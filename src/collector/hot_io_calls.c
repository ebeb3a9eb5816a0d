/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Hooks of the functions that stand before one system call each.
 */
#include "hooks_io.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/socket.h>

/* ---- bytes --------------------------------------------------------------- */

/* told: what the record says of the result r. */
#define MOVES(name, its_fd, its_other, told) \
static int64_t \
hook_##name(IO_REGISTERS) \
{ \
	const struct trace_caller caller = TRACE_CALLER(); \
	const uint64_t since = hot_trace_now(); \
	const int64_t r = IO_ORIGINAL(name)(IO_HAND_ON); \
	const struct io_call call = { \
		.function = TRACE_##name, .since = since, \
		.fd = (int32_t)(its_fd), .other = (int32_t)(its_other), \
		.result = (told), \
	}; \
\
	IO_NOT_ALL_USED; \
	hot_io_done(&call, &caller); \
	return r; \
}

MOVES(READ, a, IO_NO_FD, r)
MOVES(PREAD, a, IO_NO_FD, r)
MOVES(READV, a, IO_NO_FD, r)
MOVES(PREADV, a, IO_NO_FD, r)
MOVES(PREADV2, a, IO_NO_FD, r)
MOVES(READ_CHK, a, IO_NO_FD, r)
MOVES(PREAD_CHK, a, IO_NO_FD, r)
MOVES(PREAD64_CHK, a, IO_NO_FD, r)
MOVES(WRITE, a, IO_NO_FD, r)
MOVES(PWRITE, a, IO_NO_FD, r)
MOVES(WRITEV, a, IO_NO_FD, r)
MOVES(PWRITEV, a, IO_NO_FD, r)
MOVES(PWRITEV2, a, IO_NO_FD, r)
MOVES(RECV, a, IO_NO_FD, r)
MOVES(RECVFROM, a, IO_NO_FD, r)
MOVES(RECVMSG, a, IO_NO_FD, r)
MOVES(RECV_CHK, a, IO_NO_FD, r)
MOVES(SEND, a, IO_NO_FD, r)
MOVES(SENDTO, a, IO_NO_FD, r)
MOVES(SENDMSG, a, IO_NO_FD, r)
MOVES(SENDFILE, a, b, r)
MOVES(COPY_FILE_RANGE, c, a, r)
MOVES(SPLICE, c, a, r)
MOVES(FSYNC, a, IO_NO_FD, (int32_t)r)
MOVES(FDATASYNC, a, IO_NO_FD, (int32_t)r)

/* Several messages: the kernel says of each how long it is. */
static int64_t
bytes_of(uint64_t messages, int32_t n)
{
	const struct mmsghdr *m = (const struct mmsghdr *)messages;
	int64_t bytes = 0;
	int32_t i;

	for (i = 0; i < n; i++)
		bytes += m[i].msg_len;
	return n < 0 ? n : bytes;
}

MOVES(SENDMMSG, a, IO_NO_FD, bytes_of(b, (int32_t)r))
MOVES(RECVMMSG, a, IO_NO_FD, bytes_of(b, (int32_t)r))

/* The only one of seven arguments. */
static int64_t
hook_RECVFROM_CHK(IO_REGISTERS, uint64_t seventh)
{
	const struct trace_caller caller = TRACE_CALLER();
	const uint64_t since = hot_trace_now();
	const int64_t r = ((int64_t (*)(IO_REGISTERS, uint64_t))
			   hot_originals[TRACE_RECVFROM_CHK])(IO_HAND_ON,
							      seventh);
	const struct io_call call = {
		.function = TRACE_RECVFROM_CHK, .since = since,
		.fd = (int32_t)a, .other = IO_NO_FD, .result = r,
	};

	hot_io_done(&call, &caller);
	return r;
}

/* ---- descriptors --------------------------------------------------------- */

/* Only what the kernel has taken may be looked at. path: of what was opened;
 * NULL: none. */
static __attribute__((noinline)) void
changed(struct io_call *call, const struct trace_caller *caller,
	const char *path)
{
	if (path && call->result >= 0) {
		call->tail = path;
		call->tail_bytes = hot_io_length(path, IO_PATH_MAX - 1);
	}
	hot_io_done(call, caller);
}

#define CHANGES(name, its_fd, its_other, path) \
static int64_t \
hook_##name(IO_REGISTERS) \
{ \
	const struct trace_caller caller = TRACE_CALLER(); \
	const uint64_t since = hot_trace_now(); \
	const int64_t r = IO_ORIGINAL(name)(IO_HAND_ON); \
	struct io_call call = { \
		.function = TRACE_##name, .since = since, \
		.fd = (int32_t)(its_fd), .other = (int32_t)(its_other), \
		.result = (int32_t)r, \
	}; \
\
	IO_NOT_ALL_USED; \
	changed(&call, &caller, (const char *)(path)); \
	return r; \
}

CHANGES(OPEN_PATH, r, IO_NO_FD, a)
CHANGES(OPEN_2, r, IO_NO_FD, a)
CHANGES(OPEN64_2, r, IO_NO_FD, a)
CHANGES(CREAT, r, IO_NO_FD, a)
CHANGES(MKSTEMP, r, IO_NO_FD, a)
CHANGES(MKOSTEMP, r, IO_NO_FD, a)
CHANGES(OPENAT, r, a, b)
CHANGES(OPENAT_2, r, a, b)
CHANGES(OPENAT64_2, r, a, b)
CHANGES(DUP, r, a, NULL)
CHANGES(DUP2, r, a, NULL)
CHANGES(DUP3, r, a, NULL)
CHANGES(SOCKET, r, (a & 0xffff) | (b & 0xf) << 16, NULL)
CHANGES(CLOSE, a, IO_NO_FD, NULL)

/* What else it does moves nothing. */
static int64_t
hook_FCNTL(IO_REGISTERS)
{
	const struct trace_caller caller = TRACE_CALLER();
	const uint64_t since = hot_trace_now();
	const int64_t r = IO_ORIGINAL(FCNTL)(IO_HAND_ON);
	struct io_call call = {
		.function = TRACE_FCNTL, .since = since,
		.fd = (int32_t)r, .other = (int32_t)a, .result = (int32_t)r,
	};

	if ((int32_t)b == F_DUPFD || (int32_t)b == F_DUPFD_CLOEXEC)
		changed(&call, &caller, NULL);
	return r;
}

/* Two new ones. */
static __attribute__((noinline)) void
paired(struct io_call *call, const struct trace_caller *caller,
       uint64_t fds)
{
	call->fd = call->other = IO_NO_FD;
	if (call->result >= 0) {
		call->fd = ((const int32_t *)fds)[0];
		call->other = ((const int32_t *)fds)[1];
	}
	changed(call, caller, NULL);
}

#define PAIR(name, fds) \
static int64_t \
hook_##name(IO_REGISTERS) \
{ \
	const struct trace_caller caller = TRACE_CALLER(); \
	const uint64_t since = hot_trace_now(); \
	const int64_t r = IO_ORIGINAL(name)(IO_HAND_ON); \
	struct io_call call = { \
		.function = TRACE_##name, .since = since, \
		.result = (int32_t)r, \
	}; \
\
	IO_NOT_ALL_USED; \
	paired(&call, &caller, fds); \
	return r; \
}

PAIR(PIPE, a)
PAIR(PIPE2, a)
PAIR(SOCKETPAIR, d)

/* ---- addresses ----------------------------------------------------------- */

/* Has the kernel taken the address? */
static bool
is_taken(int64_t r)
{
	return r >= 0 || hot_io_result(r) == -EINPROGRESS;
}

/*
 * How long what an address is put into may be, by the word for it: that has to
 * be read before the call, and nobody has said yet that it is there. It is
 * where it stands on the thread's own stack; 0: it does not.
 */
static __attribute__((noinline)) uint32_t
room_at(uint64_t word, const struct trace_caller *caller)
{
	const uint64_t last = word + sizeof(uint32_t) - 1;
	struct record_area *area;
	struct trace_turn turn;
	uint32_t room = 0;

	if (word < caller->sp || last < word ||
	    !hot_trace_begin(&turn, TRACE_IO, hot_trace_now()))
		return 0;
	area = __atomic_load_n(&guest.area, __ATOMIC_ACQUIRE);
	if (area && hot_stack_has(area, turn.th->tid, caller->sp, last))
		room = *(const uint32_t *)word;
	hot_trace_end(&turn);
	return room;
}

/* From a copy: what is told is as long for each. */
static __attribute__((noinline)) void
met(struct io_call *call, const struct trace_caller *caller,
    uint64_t address, uint64_t length)
{
	const volatile char *from = (const char *)address;
	char copy[IO_ADDRESS_BYTES];
	uint32_t i;

	if (address && length && is_taken(call->result)) {
		for (i = 0; i < sizeof copy; i++)
			((volatile char *)copy)[i] = i < length ? from[i] : 0;
		call->tail = copy;
		call->tail_bytes = sizeof copy;
	}
	hot_io_done(call, caller);
}

/* room: of what the address is put into; it may be longer than that. */
#define MEETS(name, its_fd, its_other, room, length) \
static int64_t \
hook_##name(IO_REGISTERS) \
{ \
	const struct trace_caller caller = TRACE_CALLER(); \
	const uint64_t since = hot_trace_now(); \
	const uint32_t most = (room); \
	const int64_t r = IO_ORIGINAL(name)(IO_HAND_ON); \
	const uint32_t told = (length); \
	struct io_call call = { \
		.function = TRACE_##name, .since = since, \
		.fd = (int32_t)(its_fd), .other = (int32_t)(its_other), \
		.result = (int32_t)r, \
	}; \
\
	IO_NOT_ALL_USED; \
	met(&call, &caller, b, told < most ? told : most); \
	return r; \
}

#define ROOM_AT(c) (b ? room_at(c, &caller) : 0)
#define LENGTH_AT(c) (most && (int32_t)r >= 0 ? *(const uint32_t *)(c) : 0)

MEETS(ACCEPT, r, a, ROOM_AT(c), LENGTH_AT(c))
MEETS(ACCEPT4, r, a, ROOM_AT(c), LENGTH_AT(c))
MEETS(CONNECT, a, IO_NO_FD, IO_ADDRESS_BYTES, (uint32_t)c)

/* ---- by number ----------------------------------------------------------- */

#define CASE(name, class, first, second) \
	case TRACE_##name: return hook_##name;

void *
hot_io_call_hook(enum trace_function function)
{
	switch (function) {
	TRACE_IO_CALLS(CASE)
	default: break;
	}
	return NULL;
}
