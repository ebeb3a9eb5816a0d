/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * A data file as packets one after another, each with its size in front. Files
 * are read and not mapped: a writer may cut off half a record at any moment,
 * and touching a mapped page that is gone kills the reader.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "reader.h"

enum { STREAM_BUFFER = 1 << 17 };	/* more than a packet; in the cache */

int
stream_open(struct packet_stream *st, int dir_fd, const char *name)
{
	struct stat info;

	*st = (struct packet_stream){ .fd = -1 };

	const int fd = file_open_plain(dir_fd, name);

	if (fd < 0)
		return -1;
	if (fstat(fd, &info) < 0) {
		close(fd);
		return -1;
	}
	st->fd = fd;
	st->limit = (uint64_t)info.st_size;
	st->buf = xmalloc(STREAM_BUFFER);
	return 0;
}

void
stream_close(struct packet_stream *st)
{
	if (st->fd >= 0)
		close(st->fd);
	free(st->buf);
	*st = (struct packet_stream){ .fd = -1 };
}

uint64_t
stream_offset(const struct packet_stream *st)
{
	return st->base + st->at;
}

/* One read into the free end of the buffer; false at the end. */
static bool
read_more(struct packet_stream *st)
{
	const uint64_t from = st->base + st->len;
	size_t want = STREAM_BUFFER - st->len;

	if (from >= st->limit)
		return false;
	if (want > st->limit - from)
		want = (size_t)(st->limit - from);

	ssize_t n;

	do
		n = pread(st->fd, st->buf + st->len, want, (off_t)from);
	while (n < 0 && errno == EINTR);
	if (n < 0)
		st->state = STREAM_UNREADABLE;
	if (n <= 0)
		return false;
	st->len += (size_t)n;
	return true;
}

/* Have the next n bytes in the buffer; false when the file has fewer. */
static bool
fill(struct packet_stream *st, size_t n)
{
	if (st->len - st->at >= n)
		return true;
	memmove(st->buf, st->buf + st->at, st->len - st->at);
	st->base += st->at;
	st->len -= st->at;
	st->at = 0;
	while (st->len < n)
		if (!read_more(st))
			return false;
	return true;
}

static void
go_to(struct packet_stream *st, uint64_t offset)
{
	if (offset <= st->base + st->len) {
		st->at = (size_t)(offset - st->base);
		return;
	}
	st->base = offset;
	st->at = st->len = 0;
}

/* Zeros: the next packet stands at a boundary; holes are not read through. */
static void
skip_hole(struct packet_stream *st)
{
	uint64_t next = (stream_offset(st) / HOLE_STEP + 1) * HOLE_STEP;
	const off_t data = lseek(st->fd, (off_t)next, SEEK_DATA);

	if (data >= 0)
		next = (uint64_t)data / HOLE_STEP * HOLE_STEP;
	else if (errno == ENXIO)
		next = st->limit;
	go_to(st, next < st->limit ? next : st->limit);
}

static bool
rest_is_zero(const struct packet_stream *st)
{
	for (size_t i = st->at; i < st->len; i++)
		if (st->buf[i])
			return false;
	return true;
}

static const unsigned char *
stop(struct packet_stream *st)
{
	if (st->state == STREAM_SOUND && !rest_is_zero(st))
		st->state = STREAM_CUT;
	return NULL;
}

static const unsigned char *
next_slowly(struct packet_stream *st, struct packet_head *head)
{
	for (;;) {
		if (!fill(st, sizeof *head))
			return stop(st);
		memcpy(head, st->buf + st->at, sizeof *head);
		if (head->size == 0) {
			skip_hole(st);
			continue;
		}
		if (head->size < sizeof *head) {
			st->state = STREAM_DAMAGED;
			return NULL;
		}
		if (!fill(st, head->size))
			return stop(st);

		const unsigned char *packet = st->buf + st->at;

		st->at += head->size;
		if (head->kind != PACKET_EMPTY && head->kind != PACKET_CLOSED)
			return packet;
	}
}

/* Mostly the next packet is in the buffer, whole. */
const unsigned char *
stream_next(struct packet_stream *st, struct packet_head *head)
{
	const size_t rest = st->len - st->at;

	if (rest >= sizeof *head) {
		const unsigned char *packet = st->buf + st->at;

		memcpy(head, packet, sizeof *head);
		if (head->size >= sizeof *head && head->size <= rest &&
		    head->kind != PACKET_EMPTY && head->kind != PACKET_CLOSED) {
			st->at += head->size;
			return packet;
		}
	}
	return next_slowly(st, head);
}

/* ---- one packet ------------------------------------------------------ */
