/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Hooks of streams: what the program gave and got. What libc reads and writes
 * for them by itself passes no import slot, so nothing is counted twice.
 */
#include "hooks_io.h"

#include <stdarg.h>

/* ---- streams ------------------------------------------------------------- */

static int *
errno_at(void)
{
	int *(*where)(void) = (int *(*)(void))hot_originals[TRACE_IO_ERRNO];

	return where ? where() : NULL;
}

/* -1: there is none behind it. It may not change errno. */
static int32_t
fd_of(const void *stream)
{
	int32_t (*number)(const void *) = (int32_t (*)(const void *))
		hot_originals[TRACE_FILENO];
	int kept, *at = errno_at();
	int32_t fd;

	if (!stream || !at || !number)
		return IO_NO_FD;
	kept = *at;
	fd = number(stream);
	*at = kept;
	return fd;
}

/* Once the call has returned the stream may be closed by another thread: what
 * is to be known of it is asked before. */
struct stream_call {
	uint64_t since;
	int *errno_at;		/* NULL: it says nothing of errors */
	int kept;
	int32_t fd;
};

static struct stream_call
stream_begin(const void *stream)
{
	return (struct stream_call){
		.fd = fd_of(stream), .since = hot_trace_now(),
	};
}

/* Of one that reads: what is in errno afterwards is of its own. */
static struct stream_call
stream_begin_reading(const void *stream)
{
	struct stream_call call = stream_begin(stream);

	call.errno_at = errno_at();
	if (call.errno_at) {
		call.kept = *call.errno_at;
		*call.errno_at = 0;
	}
	return call;
}

/* Of what got nothing: was that the end, or an error? */
static int64_t
nothing(const struct stream_call *call)
{
	return call->errno_at && *call->errno_at ? -1 : 0;
}

static const void *
standard(enum trace_function variable)
{
	const void *const *at = hot_originals[variable];

	return at ? *at : NULL;
}

static __attribute__((noinline)) void
moved(enum trace_function function, const struct stream_call *stream,
      int64_t result, const struct trace_caller *caller)
{
	const struct io_call call = {
		.function = function, .since = stream->since,
		.fd = stream->fd, .other = IO_NO_FD, .result = result,
	};

	hot_io_done(&call, caller);
	if (stream->errno_at && !*stream->errno_at)
		*stream->errno_at = stream->kept;
}

static int64_t
blocks(uint64_t size, uint64_t n, const struct stream_call *call)
{
	return size && n ? (int64_t)(size * n) : nothing(call);
}

static int64_t
line(uint64_t s, uint64_t most, const struct stream_call *call)
{
	return s ? hot_io_length((const char *)s, (uint32_t)most) :
		nothing(call);
}

static int64_t
character(int64_t r, const struct stream_call *call)
{
	return (int32_t)r >= 0 ? 1 : nothing(call);
}

static int64_t
text(int64_t r, uint64_t s, uint32_t more)
{
	return (int32_t)r < 0 ? -1 :
		(int64_t)hot_io_length((const char *)s, UINT32_MAX) + more;
}

/* ---- bytes --------------------------------------------------------------- */

#define CALLS(name, stream, begin, told) \
static int64_t \
hook_##name(IO_REGISTERS) \
{ \
	const struct trace_caller caller = TRACE_CALLER(); \
	const struct stream_call it = begin((const void *)(stream)); \
	const int64_t r = IO_ORIGINAL(name)(IO_HAND_ON); \
\
	IO_NOT_ALL_USED; \
	moved(TRACE_##name, &it, (told), &caller); \
	return r; \
}

#define READS(name, stream, told) \
	CALLS(name, stream, stream_begin_reading, told)
#define WRITES(name, stream, told) \
	CALLS(name, stream, stream_begin, told)

/* libc does not look at a stream of which nothing is wanted: nor do we. */
#define IF(wanted, stream) ((wanted) ? (stream) : 0)

READS(FREAD, IF(b * c > 0, d), blocks(b, (uint64_t)r, &it))
READS(FREAD_UNLOCKED, IF(b * c > 0, d), blocks(b, (uint64_t)r, &it))
READS(FREAD_CHK, IF(c * d > 0, e), blocks(c, (uint64_t)r, &it))
READS(FREAD_UNLOCKED_CHK, IF(c * d > 0, e), blocks(c, (uint64_t)r, &it))
READS(FGETS, IF((int32_t)b > 1, c), line((uint64_t)r, b, &it))
READS(FGETS_UNLOCKED, IF((int32_t)b > 1, c), line((uint64_t)r, b, &it))
READS(FGETS_CHK, IF((int32_t)c > 1, d), line((uint64_t)r, c, &it))
READS(FGETS_UNLOCKED_CHK, IF((int32_t)c > 1, d), line((uint64_t)r, c, &it))
READS(FGETC, a, character(r, &it))
READS(FGETC_UNLOCKED, a, character(r, &it))
READS(GETC, a, character(r, &it))
READS(GETC_UNLOCKED, a, character(r, &it))
READS(GETCHAR, standard(TRACE_STDIN), character(r, &it))
READS(GETCHAR_UNLOCKED, standard(TRACE_STDIN), character(r, &it))
READS(GETLINE, IF(a && b, c), r >= 0 ? r : nothing(&it))
READS(GETDELIM, IF(a && b, d), r >= 0 ? r : nothing(&it))
READS(FWRITE, IF(b * c > 0, d), blocks(b, (uint64_t)r, &it))
READS(FWRITE_UNLOCKED, IF(b * c > 0, d), blocks(b, (uint64_t)r, &it))
WRITES(FPUTS, b, text(r, a, 0))
WRITES(FPUTS_UNLOCKED, b, text(r, a, 0))
WRITES(PUTS, standard(TRACE_STDOUT), text(r, a, 1))
WRITES(FPUTC, b, (int32_t)r < 0 ? -1 : 1)
WRITES(FPUTC_UNLOCKED, b, (int32_t)r < 0 ? -1 : 1)
WRITES(PUTC, b, (int32_t)r < 0 ? -1 : 1)
WRITES(PUTC_UNLOCKED, b, (int32_t)r < 0 ? -1 : 1)
WRITES(PUTCHAR, standard(TRACE_STDOUT), (int32_t)r < 0 ? -1 : 1)
WRITES(PUTCHAR_UNLOCKED, standard(TRACE_STDOUT), (int32_t)r < 0 ? -1 : 1)
WRITES(FFLUSH, a, (int32_t)r)
WRITES(FFLUSH_UNLOCKED, a, (int32_t)r)
WRITES(VPRINTF, standard(TRACE_STDOUT), (int32_t)r)
WRITES(VPRINTF_CHK, standard(TRACE_STDOUT), (int32_t)r)
WRITES(VFPRINTF, a, (int32_t)r)
WRITES(VFPRINTF_CHK, a, (int32_t)r)

/* ---- words and values ---------------------------------------------------- */

/* By the function that takes their list, which has vector registers in it,
 * whether the guest uses any or not. */
#define TAKES_VALUES __attribute__((target("sse2")))

typedef int print_1(const char *format, va_list list);
typedef int print_2(int flag, const char *format, va_list list);
typedef int stream_1(void *stream, const char *format, va_list list);
typedef int stream_2(void *stream, int flag, const char *format,
		     va_list list);
typedef int direct_1(int fd, const char *format, va_list list);
typedef int direct_2(int fd, int flag, const char *format, va_list list);

#define PRINTS(name, parameters, last, list_function, original, arguments, \
	       stream) \
static TAKES_VALUES int \
hook_##name parameters \
{ \
	const struct trace_caller caller = TRACE_CALLER(); \
	const struct stream_call call = stream_begin(stream); \
	va_list list; \
	int r; \
\
	va_start(list, last); \
	r = ((list_function *)hot_originals[TRACE_##original])arguments; \
	va_end(list); \
	moved(TRACE_##name, &call, r, &caller); \
	return r; \
}

PRINTS(PRINTF, (const char *format, ...), format,
       print_1, VPRINTF, (format, list), standard(TRACE_STDOUT))
PRINTS(PRINTF_CHK, (int flag, const char *format, ...), format,
       print_2, VPRINTF_CHK, (flag, format, list),
       standard(TRACE_STDOUT))
PRINTS(FPRINTF, (void *it, const char *format, ...), format,
       stream_1, VFPRINTF, (it, format, list), it)
PRINTS(FPRINTF_CHK, (void *it, int flag, const char *format, ...), format,
       stream_2, VFPRINTF_CHK, (it, flag, format, list), it)

/* Without a stream. */
static __attribute__((noinline)) void
written(enum trace_function function, uint64_t since, int32_t fd, int32_t r,
	const struct trace_caller *caller)
{
	const struct io_call call = {
		.function = function, .since = since, .fd = fd,
		.other = IO_NO_FD, .result = r,
	};

	hot_io_done(&call, caller);
}

static TAKES_VALUES int
hook_DPRINTF(int fd, const char *format, ...)
{
	const struct trace_caller caller = TRACE_CALLER();
	const uint64_t since = hot_trace_now();
	va_list list;
	int r;

	va_start(list, format);
	r = ((direct_1 *)hot_originals[TRACE_VDPRINTF])(fd, format, list);
	va_end(list);
	written(TRACE_DPRINTF, since, fd, r, &caller);
	return r;
}

static TAKES_VALUES int
hook_DPRINTF_CHK(int fd, int flag, const char *format, ...)
{
	const struct trace_caller caller = TRACE_CALLER();
	const uint64_t since = hot_trace_now();
	va_list list;
	int r;

	va_start(list, format);
	r = ((direct_2 *)hot_originals[TRACE_VDPRINTF_CHK])(fd, flag, format,
							     list);
	va_end(list);
	written(TRACE_DPRINTF_CHK, since, fd, r, &caller);
	return r;
}

#define WRITES_DIRECT(name) \
static int64_t \
hook_##name(IO_REGISTERS) \
{ \
	const struct trace_caller caller = TRACE_CALLER(); \
	const uint64_t since = hot_trace_now(); \
	const int64_t r = IO_ORIGINAL(name)(IO_HAND_ON); \
\
	written(TRACE_##name, since, (int32_t)a, (int32_t)r, &caller); \
	return r; \
}

WRITES_DIRECT(VDPRINTF)
WRITES_DIRECT(VDPRINTF_CHK)

/* ---- opened and closed --------------------------------------------------- */

static __attribute__((noinline)) void
changed(enum trace_function function, uint64_t since, int32_t fd,
	int32_t other, int64_t result, const char *path,
	const struct trace_caller *caller)
{
	const struct io_call call = {
		.function = function, .since = since,
		.fd = fd, .other = other, .result = result,
		.tail = result < 0 ? NULL : path,
		.tail_bytes = result < 0 || !path ? 0 :
			hot_io_length(path, IO_PATH_MAX - 1),
	};

	hot_io_done(&call, caller);
}

#define OPENS(name, old) \
static int64_t \
hook_##name(IO_REGISTERS) \
{ \
	const struct trace_caller caller = TRACE_CALLER(); \
	const uint64_t since = hot_trace_now(); \
	const int32_t before = fd_of((const void *)(old)); \
	const int64_t r = IO_ORIGINAL(name)(IO_HAND_ON); \
\
	IO_NOT_ALL_USED; \
	changed(TRACE_##name, since, fd_of((const void *)r), before, \
		r ? 0 : -1, (const char *)a, &caller); \
	return r; \
}

OPENS(FOPEN, 0)
OPENS(FREOPEN, c)
OPENS(FREOPEN64, c)

static int64_t
hook_FDOPEN(IO_REGISTERS)
{
	const struct trace_caller caller = TRACE_CALLER();
	const uint64_t since = hot_trace_now();
	const int64_t r = IO_ORIGINAL(FDOPEN)(IO_HAND_ON);

	changed(TRACE_FDOPEN, since, (int32_t)a, IO_NO_FD, r ? 0 : -1, NULL,
		&caller);
	return r;
}

/* It is asked before: there is no stream afterwards. */
static int64_t
hook_FCLOSE(IO_REGISTERS)
{
	const struct trace_caller caller = TRACE_CALLER();
	const uint64_t since = hot_trace_now();
	const int32_t fd = fd_of((const void *)a);
	const int64_t r = IO_ORIGINAL(FCLOSE)(IO_HAND_ON);

	changed(TRACE_FCLOSE, since, fd, IO_NO_FD, (int32_t)r, NULL,
		&caller);
	return r;
}

/* ---- by number ----------------------------------------------------------- */

#define CASE(name, class, first, second) \
	case TRACE_##name: return hook_##name;

void *
hot_stream_hook(enum trace_function function)
{
	switch (function) {
	TRACE_STREAM_CALLS(CASE)
	default: break;
	}
	return NULL;
}
