/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Traced calls, a packet each, in data files of their own. Packets that the
 * disk refuses are counted and dropped: what they would have said is lost, and
 * readers are told.
 */
#include <errno.h>
#include <stddef.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "format.h"
#include "header.h"
#include "keep.h"
#include "writer.h"
#include "xml.h"

enum { FLUSH_AT = 256 << 10, NAME_BYTES_MAX = 4096 };
enum { FS_UNKNOWN = 24 };	/* IOFSTYPE */

/* ---- declarations -------------------------------------------------------- */

#define FIELD(packet, name, text, type, member) \
	{ name, text, type, offsetof(struct packet, member) }
#define HEAD_FIELDS(packet) \
	FIELD(packet, "LWPID", "Lightweight process id", "INT32", thread), \
	FIELD(packet, "THRID", "Thread number", "INT32", thread), \
	FIELD(packet, "CPUID", "CPU id", "INT32", cpu), \
	FIELD(packet, "TSTAMP", "High resolution timestamp", "INT64", time), \
	FIELD(packet, "FRINFO", "Call stack", "INT64", frinfo)

static const struct packet_field heap_fields[] = {
	HEAD_FIELDS(heap_packet),
	FIELD(heap_packet, "HTYPE", "Heap event type", "INT32", type),
	FIELD(heap_packet, "HSIZE", "Bytes", "UINT64", size),
	FIELD(heap_packet, "HVADDR", "Address", "UINT64", address),
	FIELD(heap_packet, "HOVADDR", "Old address", "UINT64", old_address),
	FIELD(heap_packet, "HCALLS", "Calls that it stands for", "UINT64",
	      calls),
};

static const struct packet_field sync_fields[] = {
	HEAD_FIELDS(sync_packet),
	FIELD(sync_packet, "SRQST", "Time of the request", "INT64", since),
	FIELD(sync_packet, "SOBJ", "Address of the object", "UINT64", object),
	FIELD(sync_packet, "SOWNER", "Thread that had it", "INT32", owner),
};

static const struct packet_field io_fields[] = {
	HEAD_FIELDS(io_packet),
	FIELD(io_packet, "IOTYPE", "I/O event type", "INT32", type),
	FIELD(io_packet, "IOFD", "File descriptor", "INT32", fd),
	FIELD(io_packet, "IONBYTE", "Bytes", "INT64", bytes),
	FIELD(io_packet, "IORQST", "Time of the request", "INT64", since),
	FIELD(io_packet, "IOOFD", "Old file descriptor", "INT32", old_fd),
	FIELD(io_packet, "IOFSTYPE", "File system", "INT32", fs_type),
	{ "IOFNAME", "File name", "STRING", sizeof(struct io_packet) },
};

static const struct {
	const char *name, *text;
	int kind;
	const struct packet_field *fields;
	size_t n;
} files[CALL_FILES] = {
	[CALL_HEAP] = { "heaptrace", "Heap tracing data", PACKET_HEAP,
			heap_fields, ARRAY_LEN(heap_fields) },
	[CALL_SYNC] = { "synctrace", "Synchronization tracing data",
			PACKET_SYNC, sync_fields, ARRAY_LEN(sync_fields) },
	[CALL_IO] = { "iotrace", "I/O tracing data", PACKET_IO, io_fields,
		      ARRAY_LEN(io_fields) },
};

static void
declare(struct experiment *exp, enum call_file file)
{
	enum { NATIVE = 1 };
	struct str out = {0};

	const bool exact = file == CALL_HEAP && !exp->heap_interval;

	str_addf(&out, "<profile name=\"%s\"", files[file].name);
	if (file == CALL_HEAP && !exact)
		str_addf(&out, " interval=\"%llu\"",
			 (unsigned long long)exp->heap_interval);
	if (file == CALL_SYNC)
		str_addf(&out, " threshold=\"%lld\" scope=\"%d\"",
			 (long long)exp->sync_us, NATIVE);
	str_addf(&out, ">\n  <profdata fname=\"%s\"/>\n"
		 "  <profpckt kind=\"%d\" uname=\"%s\">\n", files[file].name,
		 files[file].kind, files[file].text);
	/* the last one is of those that stand for others */
	header_fields(&out, files[file].fields, files[file].n - exact);
	str_add(&out, "  </profpckt>\n</profile>");
	writer_line(exp, &exp->log, &out);
}

/* Its owner is the log's. */
static bool
open_file(struct experiment *exp, enum call_file file)
{
	struct sink *sink = &exp->calls[file];
	struct stat st;

	if (exp->keep) {	/* declared when it is written */
		sink->held = true;
		sink->record = sink_packet;
		return true;
	}
	if (sink->fd >= 0)
		return true;
	if (sink_open(sink, exp->dir_fd, files[file].name, sink_packet) < 0)
		return false;
	if (fstat(exp->log.fd, &st) == 0 &&
	    fchown(sink->fd, st.st_uid, st.st_gid) < 0)
		sink->error = errno;
	declare(exp, file);
	return true;
}

/* ---- packets ------------------------------------------------------------- */

static int
flush(struct experiment *exp, struct sink *sink)
{
	if (sink->fd < 0 || !sink->len)
		return 0;
	if (sink_flush(&exp->frames) == 0 && sink_flush(sink) == 0)
		return 0;

	const uint64_t n = sink_drop(sink);

	exp->refused += n;
	exp->refused_calls += n;
	return -1;
}

int
writer_calls(struct experiment *exp)
{
	int res = 0;

	for (int i = 0; i < CALL_FILES; i++)
		if (flush(exp, &exp->calls[i]) < 0)
			res = -1;
	return res;
}

void
writer_call(struct experiment *exp, enum call_file file, uint64_t time_ns,
	    const void *packet, size_t n)
{
	struct sink *sink = &exp->calls[file];

	if (!open_file(exp, file)) {
		exp->refused++;
		exp->refused_calls++;
		return;
	}
	if (time_ns > exp->last_ns)
		exp->last_ns = time_ns;
	sink_put(sink, packet, n);
	if (sink->len >= FLUSH_AT)
		(void)flush(exp, sink);
}

/* ---- the door ------------------------------------------------------------ */

uint64_t
experiment_disk_lost_calls(const struct experiment *exp)
{
	return exp->refused_calls;
}

void
experiment_heap_interval(struct experiment *exp, uint64_t bytes)
{
	exp->heap_interval = bytes;
}

void
experiment_heap(struct experiment *exp, const struct experiment_allocation *a)
{
	const size_t size = exp->heap_interval ? sizeof(struct heap_packet) :
		HEAP_PACKET_EXACT;
	const struct heap_packet packet = {
		.head = { (uint16_t)size, PACKET_HEAP },
		.thread = a->tid, .time = (int64_t)a->time_ns,
		.frinfo = a->frinfo, .cpu = -1, .type = a->type,
		.size = a->size, .address = a->address,
		.old_address = a->old_address, .calls = a->calls,
	};

	writer_call(exp, CALL_HEAP, a->time_ns, &packet, size);
}

void
experiment_sync_threshold(struct experiment *exp, int64_t us)
{
	exp->sync_us = us;
}

void
experiment_wait(struct experiment *exp, const struct experiment_wait *w)
{
	const struct sync_packet packet = {
		.head = { sizeof packet, PACKET_SYNC },
		.thread = w->tid, .time = (int64_t)w->time_ns,
		.frinfo = w->frinfo, .cpu = -1, .owner = w->owner,
		.since = (int64_t)w->since_ns, .object = w->object,
	};

	if (exp->keep)
		keep_used(exp, w->frinfo, w->time_ns);
	writer_call(exp, CALL_SYNC, w->time_ns, &packet, sizeof packet);
}

void
experiment_io(struct experiment *exp, const struct experiment_transfer *t)
{
	struct {
		struct io_packet fixed;
		char name[NAME_BYTES_MAX + 8];
	} packet;
	const size_t n = t->name ? strnlen(t->name, NAME_BYTES_MAX - 1) : 0;
	const size_t size = sizeof packet.fixed + (n + 1 + 7) / 8 * 8;

	packet.fixed = (struct io_packet){
		.head = { (uint16_t)size, PACKET_IO },
		.thread = t->tid, .time = (int64_t)t->time_ns,
		.frinfo = t->frinfo, .cpu = -1, .type = t->type,
		.bytes = t->bytes, .since = (int64_t)t->since_ns,
		.fd = t->fd, .old_fd = t->old_fd, .fs_type = FS_UNKNOWN,
	};
	memset(packet.name, 0, size - sizeof packet.fixed);
	memcpy(packet.name, t->name ? t->name : "", n);
	writer_call(exp, CALL_IO, t->time_ns, &packet, size);
}
