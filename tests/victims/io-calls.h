/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * The functions by which the victim io does what it does, each beside a tally
 * of its own.
 */
#ifndef IO_CALLS_H
#define IO_CALLS_H

#include <fcntl.h>
#include <netinet/in.h>
#include <stdarg.h>
#include <sys/sendfile.h>
#include <sys/socket.h>
#include <sys/uio.h>
#include <sys/wait.h>

#include "victim.h"

/* What a build with _FORTIFY_SOURCE calls. */
ssize_t __read_chk(int fd, void *to, size_t n, size_t room);
ssize_t __pread_chk(int fd, void *to, size_t n, off_t at, size_t room);
ssize_t __recv_chk(int fd, void *to, size_t n, size_t room, int flags);
ssize_t __recvfrom_chk(int fd, void *to, size_t n, size_t room, int flags,
		       void *from, void *length);
size_t __fread_chk(void *to, size_t room, size_t size, size_t n, FILE *f);
char *__fgets_chk(char *to, size_t room, int n, FILE *f);
int __fprintf_chk(FILE *f, int flag, const char *format, ...);
int __vfprintf_chk(FILE *f, int flag, const char *format, va_list ap);
int __dprintf_chk(int fd, int flag, const char *format, ...);
int __open_2(const char *path, int flags);

/* ---- the truth ----------------------------------------------------------- */

struct tally {
	const char *name;
	_Atomic uint64_t reads, read_bytes, writes, written, others, errors;
};

enum { TALLIES_MAX = 128 };
static struct tally *tallies[TALLIES_MAX];
static _Atomic int ntallies;

static void
join(struct tally *t, const char *name)
{
	static atomic_flag busy = ATOMIC_FLAG_INIT;

	while (atomic_flag_test_and_set(&busy))
		;
	if (!t->name) {
		t->name = name;
		tallies[ntallies++] = t;
	}
	atomic_flag_clear(&busy);
}

enum way { READS, WRITES, BOTH, OTHER, TWO };

static void
count(struct tally *t, enum way way, int64_t r)
{
	if (r < 0) {
		t->errors++;
		return;
	}
	if (way == READS || way == BOTH) {
		t->reads++;
		t->read_bytes += (uint64_t)r;
	}
	if (way == WRITES || way == BOTH) {
		t->writes++;
		t->written += (uint64_t)r;
	}
	t->others += way == TWO ? 2 : way == OTHER;
}

#ifdef __clang__
#define NOINLINE __attribute__((noinline))
#else
#ifdef __clang__	/* knows no noclone, and does not clone */
#define NOINLINE __attribute__((noinline))
#else
#define NOINLINE __attribute__((noinline, noclone))
#endif
#endif

/* do_NAME: CALL, whose result is what it moved; -1: it failed. */
#define DO(what, way, parameters, call) \
NOINLINE static int64_t \
do_##what parameters \
{ \
	static struct tally t; \
	const int64_t r = (call); \
\
	if (!t.name) \
		join(&t, #what); \
	count(&t, way, r); \
	return r; \
}

/* The same of what gives a stream; *out is where it goes. */
#define DO_STREAM(what, parameters, call) \
	DO(what, OTHER, parameters, (*out = (call)) ? 0 : -1)

/* ---- bytes --------------------------------------------------------------- */

DO(read, READS, (int fd, void *p, size_t n), read(fd, p, n))
DO(write, WRITES, (int fd, const void *p, size_t n), write(fd, p, n))
/* of files alone */
DO(read_file, READS, (int fd, void *p, size_t n), read(fd, p, n))
DO(write_file, WRITES, (int fd, const void *p, size_t n), write(fd, p, n))
DO(pread, READS, (int fd, void *p, size_t n, off_t at), pread(fd, p, n, at))
DO(pwrite, WRITES, (int fd, void *p, size_t n, off_t at),
   pwrite(fd, p, n, at))
DO(pread64, READS, (int fd, void *p, size_t n, off_t at),
   pread64(fd, p, n, at))
DO(pwrite64, WRITES, (int fd, void *p, size_t n, off_t at),
   pwrite64(fd, p, n, at))
DO(readv, READS, (int fd, struct iovec *v, int n), readv(fd, v, n))
DO(writev, WRITES, (int fd, struct iovec *v, int n), writev(fd, v, n))
DO(preadv, READS, (int fd, struct iovec *v, int n, off_t at),
   preadv(fd, v, n, at))
DO(pwritev, WRITES, (int fd, struct iovec *v, int n, off_t at),
   pwritev(fd, v, n, at))
DO(preadv2, READS, (int fd, struct iovec *v, int n, off_t at),
   preadv2(fd, v, n, at, 0))
DO(pwritev2, WRITES, (int fd, struct iovec *v, int n, off_t at),
   pwritev2(fd, v, n, at, 0))
DO(read_chk, READS, (int fd, void *p, size_t n), __read_chk(fd, p, n, n))
DO(pread_chk, READS, (int fd, void *p, size_t n, off_t at),
   __pread_chk(fd, p, n, at, n))
DO(sendfile, BOTH, (int to, int from, off_t at, size_t n),
   sendfile(to, from, &at, n))
DO(copy_file_range, BOTH, (int to, int from, off_t at, size_t n),
   copy_file_range(from, &at, to, NULL, n, 0))
DO(splice, BOTH, (int to, int from, size_t n),
   splice(from, NULL, to, NULL, n, 0))
DO(failing_read, READS, (int fd, void *nowhere), read(fd, nowhere, 100))
DO(failing_write, WRITES, (int fd), write(fd, "x", 1))

/* ---- sockets ------------------------------------------------------------- */

DO(recv, READS, (int fd, void *p, size_t n, int flags),
   recv(fd, p, n, flags))
DO(recvfrom, READS, (int fd, void *p, size_t n),
   recvfrom(fd, p, n, 0, NULL, NULL))
DO(recv_chk, READS, (int fd, void *p, size_t n), __recv_chk(fd, p, n, n, 0))
DO(recvfrom_chk, READS, (int fd, void *p, size_t n),
   __recvfrom_chk(fd, p, n, n, 0, NULL, NULL))
DO(recvmsg, READS, (int fd, struct msghdr *m), recvmsg(fd, m, 0))
DO(send, WRITES, (int fd, const void *p, size_t n), send(fd, p, n, 0))
DO(sendto, WRITES, (int fd, const void *p, size_t n),
   sendto(fd, p, n, 0, NULL, 0))
DO(sendmsg, WRITES, (int fd, const struct msghdr *m), sendmsg(fd, m, 0))

static int64_t
bytes_of(const struct mmsghdr *m, int n)
{
	int64_t bytes = 0;

	for (int i = 0; i < n; i++)
		bytes += m[i].msg_len;
	return n < 0 ? -1 : bytes;
}

DO(sendmmsg, WRITES, (int fd, struct mmsghdr *m, unsigned n),
   bytes_of(m, sendmmsg(fd, m, n, 0)))
DO(recvmmsg, READS, (int fd, struct mmsghdr *m, unsigned n),
   bytes_of(m, recvmmsg(fd, m, n, 0, NULL)))
DO(socket, OTHER, (int family, int type), socket(family, type, 0))
DO(connect, OTHER, (int fd, const struct sockaddr *to, socklen_t n),
   connect(fd, to, n))
DO(accept, OTHER, (int fd, struct sockaddr *from, socklen_t *n),
   accept(fd, from, n))
DO(accept4, OTHER, (int fd), accept4(fd, NULL, NULL, SOCK_CLOEXEC))
/* two descriptors, each an event */
DO(socketpair, TWO, (int fds[2], int type),
   socketpair(AF_UNIX, type, 0, fds))

/* ---- descriptors --------------------------------------------------------- */

DO(open, OTHER, (const char *path, int flags, mode_t mode),
   open(path, flags, mode))
DO(open64, OTHER, (const char *path, int flags), open64(path, flags))
DO(open_2, OTHER, (const char *path, int flags), __open_2(path, flags))
DO(openat, OTHER, (int at, const char *path, int flags),
   openat(at, path, flags))
DO(creat, OTHER, (const char *path), creat(path, 0600))
DO(mkstemp, OTHER, (char *path), mkstemp(path))
DO(close, OTHER, (int fd), close(fd))
DO(dup, OTHER, (int fd), dup(fd))
DO(dup2, OTHER, (int fd, int to), dup2(fd, to))
DO(dup3, OTHER, (int fd, int to), dup3(fd, to, O_CLOEXEC))
DO(fcntl, OTHER, (int fd), fcntl(fd, F_DUPFD_CLOEXEC, 100))
DO(pipe, TWO, (int fds[2]), pipe(fds))
DO(pipe2, TWO, (int fds[2]), pipe2(fds, O_CLOEXEC))
DO(fsync, OTHER, (int fd), fsync(fd))
DO(fdatasync, OTHER, (int fd), fdatasync(fd))

/* ---- streams ------------------------------------------------------------- */

/* In parentheses: no macro that does without the function. */
static int64_t
length_of(const char *s)
{
	return s ? (int64_t)strlen(s) : -1;
}

static int64_t
one_if(bool ok)
{
	return ok ? 1 : -1;
}

/* Nothing more is no failure. */
static int64_t
unless_over(int64_t r, FILE *f)
{
	return r < 0 && !ferror(f) ? 0 : r;
}

DO_STREAM(fopen, (FILE **out, const char *path, const char *mode),
	  fopen(path, mode))
DO_STREAM(fopen64, (FILE **out, const char *path), fopen64(path, "r+"))
DO_STREAM(freopen, (FILE **out, const char *path, FILE *f),
	  freopen(path, "r+", f))
DO_STREAM(fdopen, (FILE **out, int fd), fdopen(fd, "r+"))
DO(fclose, OTHER, (FILE *f), fclose(f))
DO(fflush, OTHER, (FILE *f), fflush(f))
DO(fread, READS, (void *p, size_t size, size_t n, FILE *f),
   (int64_t)(size * fread(p, size, n, f)))
DO(fread_unlocked, READS, (void *p, size_t size, size_t n, FILE *f),
   (int64_t)(size * (fread_unlocked)(p, size, n, f)))
DO(fread_chk, READS, (void *p, size_t size, size_t n, FILE *f),
   (int64_t)(size * __fread_chk(p, size * n, size, n, f)))
DO(fwrite, WRITES, (const void *p, size_t size, size_t n, FILE *f),
   (int64_t)(size * fwrite(p, size, n, f)))
DO(fwrite_unlocked, WRITES, (const void *p, size_t size, size_t n, FILE *f),
   (int64_t)(size * (fwrite_unlocked)(p, size, n, f)))
DO(fgets, READS, (char *p, int n, FILE *f), 
   unless_over(length_of(fgets(p, n, f)), f))
DO(fgets_chk, READS, (char *p, int n, FILE *f),
   unless_over(length_of(__fgets_chk(p, (size_t)n, n, f)), f))
DO(fputs, WRITES, (const char *s, FILE *f),
   fputs(s, f) < 0 ? -1 : length_of(s))
DO(fputc, WRITES, (int c, FILE *f), one_if(fputc(c, f) != EOF))
DO(putc, WRITES, (int c, FILE *f), one_if(putc(c, f) != EOF))
DO(fgetc, READS, (FILE *f), unless_over(one_if(fgetc(f) != EOF), f))
DO(getc, READS, (FILE *f), unless_over(one_if(getc(f) != EOF), f))
DO(getline, READS, (char **p, size_t *n, FILE *f),
   unless_over(getline(p, n, f), f))
DO(getdelim, READS, (char **p, size_t *n, FILE *f), getdelim(p, n, ':', f))
DO(fprintf, WRITES, (FILE *f, int a, double b),
   fprintf(f, "%d and %.3f and %s\n", a, b, "words"))
DO(fprintf_chk, WRITES, (FILE *f, int a, double b),
   __fprintf_chk(f, 1, "%d and %.3f and %d %d %d %d %f\n", a, b, 1, 2, 3, 4,
		 b))
DO(dprintf, WRITES, (int fd, int a), dprintf(fd, "%d bottles\n", a))
DO(dprintf_chk, WRITES, (int fd, int a),
   __dprintf_chk(fd, 1, "%d bottles\n", a))
/* its mark makes these lines: nobody reads them */
DO(printf, WRITES, (int a, double b), printf("chatter %d %.1f\n", a, b))
DO(puts, WRITES, (const char *s), puts(s) < 0 ? -1 : length_of(s) + 1)
DO(putchar, WRITES, (int c), one_if(putchar(c) != EOF))
DO(vfprintf_, WRITES, (FILE *f, const char *format, va_list ap),
   vfprintf(f, format, ap))
DO(vfprintf_chk, WRITES, (FILE *f, const char *format, va_list ap),
   __vfprintf_chk(f, 1, format, ap))

static void
formatted(FILE *f, const char *format, ...)
{
	va_list ap;

	va_start(ap, format);
	(void)do_vfprintf_(f, format, ap);
	va_end(ap);
	va_start(ap, format);
	(void)do_vfprintf_chk(f, format, ap);
	va_end(ap);
}

/* Not to a file. */
DO(print, WRITES, (FILE *f, int a, double b),
   fprintf(f, "%d and %.3f and %s\n", a, b, "words"))
DO(print_chk, WRITES, (FILE *f, int a, double b),
   __fprintf_chk(f, 1, "%d and %.3f and %d %d %d %d %f\n", a, b, 1, 2, 3, 4,
		 b))

/* Values of all kinds come to where they should: false, if not. */
static bool
is_right(int a, double b)
{
	char wanted[200] = "", text[200] = "";
	FILE *f = fmemopen(text, sizeof text, "w");

	if (!f)
		return false;
	(void)do_print(f, a, b);
	(void)do_print_chk(f, a, b);
	(void)do_fclose(f);
	snprintf(wanted, sizeof wanted, "%d and %.3f and %s\n"
		 "%d and %.3f and %d %d %d %d %f\n", a, b, "words", a, b, 1,
		 2, 3, 4, b);
	return strcmp(text, wanted) == 0;
}

#endif
