/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Appending whole records. The kernel may take half of what it is given
 * (disk full, quota, file size limit); then the file is cut back to the last
 * whole record, so that at every moment the file is sound to its end and the
 * next record starts where a reader looks for it.
 */
#include "sink.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>

#include "base.h"
#include "format.h"

enum { PAGE = 4096, STEP = 64 << 10 };	/* of space */

size_t
sink_packet(const void *data, size_t n)
{
	struct packet_head head;

	if (n < sizeof head)
		return n;
	memcpy(&head, data, sizeof head);
	return head.size;
}

size_t
sink_line(const void *data, size_t n)
{
	const char *end = memchr(data, '\n', n);

	return end ? (size_t)(end + 1 - (const char *)data) : n;
}

size_t
sink_overview(const void *data, size_t n)
{
	(void)data;	/* all records are of one size */
	return n < sizeof(struct overview_record) ?
		n : sizeof(struct overview_record);
}

int
sink_open(struct sink *s, int dir_fd, const char *name, sink_record_fn *record)
{
	*s = (struct sink){ .name = name, .record = record };
	s->fd = openat(dir_fd, name,
		       O_RDWR | O_CREAT | O_EXCL | O_APPEND | O_CLOEXEC |
		       O_NOFOLLOW, 0666);
	if (s->fd < 0)
		return fail_errno("create %s", name);
	return 0;
}

/* ---- the reserve --------------------------------------------------------- */

/* fallocate does not ask for the limit where the size stays. */
static bool
within_limit(uint64_t size)
{
	struct rlimit limit;

	return getrlimit(RLIMIT_FSIZE, &limit) < 0 ||
		limit.rlim_cur == RLIM_INFINITY || size <= limit.rlim_cur;
}

/* To need bytes at least, in whole units. */
static int
give_space(struct sink *s, uint64_t need, uint64_t unit)
{
	const uint64_t end = (need + unit - 1) / unit * unit;
	int r;

	do
		r = fallocate(s->fd, FALLOC_FL_KEEP_SIZE, (off_t)s->size,
			      (off_t)(end - s->size));
	while (r < 0 && errno == EINTR);
	if (r == 0)
		s->allocated = end;
	return r;
}

static bool
is_full(void)
{
	return errno == ENOSPC || errno == EDQUOT || errno == EFBIG;
}

/* Is there room for n bytes more, with the reserve behind them? */
static bool
has_room(struct sink *s, size_t n)
{
	const uint64_t need = s->size + n + s->reserve;

	if (!s->reserve)
		return true;
	if (!within_limit(need)) {
		errno = EFBIG;
		return false;
	}
	if (need <= s->allocated)
		return true;
	/* seldom, and so more than is needed; where that is not to be had,
	 * what is needed */
	if (give_space(s, need, STEP) == 0 ||
	    (is_full() && give_space(s, need, PAGE) == 0))
		return true;
	/* where it cannot be done at all, the kernel decides at the write */
	return !is_full();
}

int
sink_reserve(struct sink *s, size_t bytes)
{
	s->reserve = bytes;
	if (has_room(s, 0))
		return 0;
	s->error = errno;
	return -1;
}

void
sink_release(struct sink *s)
{
	s->reserve = 0;
}

/* ---- records ------------------------------------------------------------- */

void
sink_put(struct sink *s, const void *record, size_t n)
{
	s->buf = xgrow(s->buf, &s->cap, s->len + n, 1);
	memcpy(s->buf + s->len, record, n);
	s->len += n;
}

/* How many of the first n bytes of the buffer are whole records. */
static size_t
whole_records(const struct sink *s, size_t n)
{
	size_t at = 0;

	while (at < n) {
		const size_t size = s->record(s->buf + at, s->len - at);

		if (at + size > n)
			break;
		at += size;
	}
	return at;
}

/* Write what the kernel takes of the first len bytes; the number. */
static size_t
write_some(struct sink *s, size_t len)
{
	size_t done = 0;

	while (done < len) {
		const ssize_t n = write(s->fd, s->buf + done, len - done);

		if (n < 0 && errno == EINTR)
			continue;
		if (n <= 0) {
			s->error = n < 0 ? errno : ENOSPC;
			break;
		}
		done += (size_t)n;
	}
	return done;
}

/* A file that ends in half a record would hide all that follow. */
static int
cut_back(struct sink *s, size_t whole)
{
	s->broken = ftruncate(s->fd, (off_t)(s->size + whole)) < 0;
	return s->broken ? -1 : 0;
}

/* The first bytes of the buffer, whole records, that there is room for. */
static size_t
that_fits(struct sink *s)
{
	const size_t first = s->record(s->buf, s->len);
	size_t n = s->len;

	while (!has_room(s, n)) {
		s->error = errno;
		if (n <= first)
			return 0;
		n = whole_records(s, n / 2);
		if (n < first)
			n = first;
	}
	return n;
}

/* -1: the kernel took less. */
static int
write_first(struct sink *s, size_t len)
{
	const size_t done = write_some(s, len);
	const size_t whole = done < len ? whole_records(s, done) : done;

	if (done > whole)
		(void)cut_back(s, whole);	/* remembered in s->broken */
	checksum_add(&s->sum, s->buf, whole);
	s->size += whole;
	s->len -= whole;
	memmove(s->buf, s->buf + whole, s->len);
	return whole < len ? -1 : 0;
}

int
sink_flush(struct sink *s)
{
	if (s->len == 0 || s->held)
		return 0;
	if (s->fd < 0 || (s->broken && cut_back(s, 0) < 0))
		return -1;
	while (s->len > 0) {
		const size_t n = that_fits(s);

		if (n == 0 || write_first(s, n) < 0)
			return -1;
	}
	return 0;
}

uint64_t
sink_drop(struct sink *s)
{
	uint64_t n = 0;

	for (size_t at = 0; at < s->len; n++)
		at += s->record(s->buf + at, s->len - at);
	s->len = 0;
	return n;
}

int
sink_close(struct sink *s)
{
	int res = 0;

	if (s->fd >= 0) {
		/* Cutting to the size it has frees only the reserve. */
		if (ftruncate(s->fd, (off_t)s->size) < 0)
			res = fail_errno("cut %s to its length", s->name);
		if (close(s->fd) < 0)
			res = fail_errno("close %s", s->name);
	}
	free(s->buf);
	*s = (struct sink){ .fd = -1 };
	return res;
}
