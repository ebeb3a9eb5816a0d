/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * An experiment whose writer was killed goes on: what it could not take any
 * more is appended by a later visit. Which one it is, the memory of a process
 * says, and that is not to be trusted: it must be the very directory, ours,
 * reached over no link, written by nobody, not closed, and its own log must
 * have the token that was given to that memory.
 *
 * The files are cut back to whole records first. Packets behind `kept` bytes
 * of the profile are of records that may come once more: they are counted by
 * thread, and as many are not taken again.
 */
#include <errno.h>
#include <fcntl.h>
#include <linux/openat2.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "format.h"
#include "place.h"
#include "reader.h"
#include "writer.h"

static int
open_directory(const struct experiment_left *left)
{
	const struct open_how how = {
		.flags = O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC |
			O_NONBLOCK,
		.resolve = RESOLVE_NO_SYMLINKS | RESOLVE_NO_MAGICLINKS,
	};
	struct stat st;
	const int fd = left->path[0] == '/' ? (int)syscall(SYS_openat2,
			AT_FDCWD, left->path, &how, sizeof how) : -1;

	if (fd >= 0 && fstat(fd, &st) == 0 && st.st_dev == left->device &&
	    st.st_ino == left->inode && st.st_uid == geteuid())
		return fd;
	if (fd >= 0)
		close(fd);
	return fail(FAIL_MISSING, "the experiment is not there any more");
}

static int
open_file(struct sink *s, int dir_fd, const char *name, sink_record_fn *record)
{
	struct stat st;

	*s = (struct sink){ .name = name, .record = record };
	s->fd = openat(dir_fd, name, O_RDWR | O_APPEND | O_CLOEXEC |
		       O_NOFOLLOW | O_NONBLOCK | O_NOCTTY);
	if (s->fd < 0)
		return fail_errno("open %s", name);
	if (fstat(s->fd, &st) < 0 || !S_ISREG(st.st_mode) ||
	    st.st_uid != geteuid() || st.st_nlink != 1)
		return fail(FAIL_UNSUITABLE, "%s is not as we left it", name);
	s->size = (uint64_t)st.st_size;
	return 0;
}

/* ---- what the log says --------------------------------------------------- */

static bool
has_token(const struct experiment_reader *rd, uint64_t token)
{
	char *text = xasprintf("%016llx", (unsigned long long)token);
	bool found = false;

	for (size_t i = 0; i < rd->event_count && !found; i++) {
		const struct experiment_log_event *ev = &rd->events[i];
		const char *its = ev->attr(ev, "token");

		found = strcmp(ev->kind, "sonde_records") == 0 && its &&
			strcmp(its, text) == 0;
	}
	free(text);
	return found && token;
}

static void
take_losses(struct experiment *exp, const struct experiment_reader *rd)
{
	for (size_t i = 0; i < rd->event_count; i++) {
		const struct experiment_log_event *ev = &rd->events[i];
		const char *cause = ev->attr(ev, "cause");
		const char *detail = ev->attr(ev, "detail");

		if (strcmp(ev->kind, "sonde_loss") != 0 || !cause || !detail)
			continue;
		writer_loss_was(exp, cause, detail,
				xml_number(ev->attr(ev, "samples")),
				xml_number(ev->attr(ev, "weight_ns")));
	}
}

/* By a sonde that writes packets as we do: readers go by the one declaration
 * that the log has. */
static bool
has_our_packets(const struct experiment_reader *rd)
{
	const struct layout *l = NULL;

	for (size_t i = 0; i < rd->files.len && !l; i++) {
		const struct data_file *file = rd->files.items[i];

		if (strcmp(file->name, "profile") == 0)
			l = layout_find(file, PACKET_CLOCK);
	}
	return l && l->fields[ROLE_THREAD].type == FIELD_INT32 &&
		l->fields[ROLE_TICKS].offset ==
			offsetof(struct clock_packet, ticks);
}

static int
take_log(struct experiment *exp, const struct experiment_left *left)
{
	struct experiment_reader *rd = reader_open_log(exp->dir_fd);
	const char *pid = rd ? experiment_property(rd, "pid") : NULL;
	int r = -1;

	if (!rd)
		return -1;
	if (!rd->started || experiment_finished(rd))
		fail(FAIL_UNSUITABLE, "the experiment is closed");
	else if (!pid || atoi(pid) != left->pid ||
		 !has_token(rd, left->token))
		fail(FAIL_UNSUITABLE, "the experiment is another");
	else if (!has_our_packets(rd))
		fail(FAIL_UNSUITABLE, "the experiment is of another version");
	else
		r = 0;
	exp->pid = left->pid;
	exp->start_ns = rd->start_ns;
	exp->last_ns = rd->start_ns + rd->end_ns;
	take_losses(exp, rd);
	experiment_reader_free(rd);
	return r;
}

/* ---- whole records ------------------------------------------------------- */

static void
see_frame(struct experiment *exp, const unsigned char *packet, size_t size)
{
	struct frame_packet frame;
	struct frame_info info;

	if (size < sizeof frame)
		return;
	/* a piece's frame has a number above its chain's, and is ours */
	memcpy(&frame, packet, sizeof frame);
	if (frame.uid > exp->last_uid)
		exp->last_uid = frame.uid;
	if (frame.head.kind != PACKET_FRAME ||
	    size < sizeof frame + sizeof info)
		return;
	memcpy(&info, packet + sizeof frame, sizeof info);
	if (info.uid > exp->last_uid)
		exp->last_uid = info.uid;
}

static void
see_clock(struct experiment *exp, const unsigned char *data, size_t size)
{
	struct clock_packet packet;

	if (size != sizeof packet)
		return;
	memcpy(&packet, data, sizeof packet);
	if (packet.head.kind == PACKET_CLOCK &&
	    packet.cpu != EXPERIMENT_BOOKED && packet.frinfo)
		++*map_slot_of(&exp->again, (uint64_t)packet.thread);
}

/* To the end of the last whole packet; a hole is not ours. */
static int
cut_packets(struct experiment *exp, struct sink *s, uint64_t from,
	    void (*see)(struct experiment *exp, const unsigned char *packet,
			size_t size))
{
	struct packet_stream st;
	struct packet_head head;
	const unsigned char *packet;
	uint64_t end = 0;

	if (stream_open(&st, exp->dir_fd, s->name) < 0)
		return fail_errno("read %s", s->name);
	while ((packet = stream_next(&st, &head)) &&
	       stream_offset(&st) == end + head.size) {
		end += head.size;
		if (end > from)
			see(exp, packet, head.size);
	}
	if (packet || st.state == STREAM_DAMAGED ||
	    st.state == STREAM_UNREADABLE) {
		stream_close(&st);
		return fail(FAIL_UNSUITABLE, "%s is damaged", s->name);
	}
	stream_close(&st);
	s->size = end;
	return 0;
}

static int
cut_lines(struct sink *s)
{
	char buf[4096];

	while (s->size > 0) {
		const size_t n = s->size < sizeof buf ? (size_t)s->size :
			sizeof buf;
		const uint64_t from = s->size - n;
		const char *end;

		if (pread(s->fd, buf, n, (off_t)from) != (ssize_t)n)
			return fail_errno("read %s", s->name);
		end = memrchr(buf, '\n', n);
		s->size = from + (end ? (uint64_t)(end + 1 - buf) : 0);
		if (end)
			break;
	}
	return 0;
}

static int
cut_file(struct sink *s)
{
	if (ftruncate(s->fd, (off_t)s->size) < 0)
		return fail_errno("cut %s", s->name);
	if (checksum_file(&s->sum, s->fd, s->size) < 0)
		return fail_errno("read %s", s->name);
	return 0;
}

static int
cut_files(struct experiment *exp, uint64_t kept)
{
	struct sink *const sinks[] = { &exp->log, &exp->map, &exp->frames,
		&exp->profile, &exp->overview };

	exp->overview.size -= exp->overview.size %
		sizeof(struct overview_record);
	if (cut_lines(&exp->log) < 0 || cut_lines(&exp->map) < 0 ||
	    cut_packets(exp, &exp->frames, 0, see_frame) < 0 ||
	    cut_packets(exp, &exp->profile, kept, see_clock) < 0)
		return -1;
	if (exp->last_uid > UINT64_MAX / 2)
		return fail(FAIL_UNSUITABLE, "data.frameinfo is damaged");
	for (size_t i = 0; i < ARRAY_LEN(sinks); i++)
		if (cut_file(sinks[i]) < 0)
			return -1;
	return 0;
}

/* ---- the door ------------------------------------------------------------ */

static int
open_files(struct experiment *exp)
{
	if (open_file(&exp->log, exp->dir_fd, "log.xml", sink_line) < 0)
		return -1;
	if (lock_take(exp->log.fd) < 0)
		return fail_errno("lock log.xml");
	return open_file(&exp->map, exp->dir_fd, "map.xml", sink_line) < 0 ||
		open_file(&exp->frames, exp->dir_fd, "data.frameinfo",
			  sink_packet) < 0 ||
		open_file(&exp->profile, exp->dir_fd, "profile",
			  sink_packet) < 0 ||
		open_file(&exp->overview, exp->dir_fd, "overview",
			  sink_overview) < 0 ? -1 : 0;
}

struct experiment *
experiment_reopen(const struct experiment_left *left)
{
	struct experiment *exp = writer_new(left->path);

	exp->clocked = true;
	exp->dir_fd = open_directory(left);
	if (exp->dir_fd < 0 || open_files(exp) < 0 ||
	    take_log(exp, left) < 0 || cut_files(exp, left->kept) < 0) {
		struct failure *first = fail_keep();

		writer_abandon(exp);
		fail_again(first);
		return NULL;
	}
	/* it was the first function of all: see create.c */
	writer_knows_artificial(exp, "<Lost samples>");
	exp->lost_frinfo = experiment_artificial(exp, "<Lost samples>");
	return exp;
}

bool
experiment_has_again(struct experiment *exp, pid_t tid)
{
	uint64_t n;

	if (!map_get(&exp->again, (uint64_t)tid, &n) || n == 0)
		return false;
	map_put(&exp->again, (uint64_t)tid, n - 1);
	return true;
}

int
experiment_leave(struct experiment *exp)
{
	int res = experiment_flush(exp);

	writer_losses(exp, WRITER_NOW);
	if (sink_flush(&exp->log) < 0)
		res = -1;
	if (writer_free(exp) < 0)
		res = -1;
	return res;
}
