/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Traced calls, a packet each, in data files of their own. Packets that the
 * disk refuses are counted and dropped: what they would have said is lost, and
 * readers are told.
 */
#include <errno.h>
#include <stddef.h>
#include <sys/stat.h>
#include <unistd.h>

#include "format.h"
#include "header.h"
#include "writer.h"
#include "xml.h"

enum { FLUSH_AT = 256 << 10 };

/* ---- declarations -------------------------------------------------------- */

static void
declare_heap(struct experiment *exp)
{
	static const struct packet_field fields[] = {
#define FIELD(name, text, type, member) \
		{ name, text, type, offsetof(struct heap_packet, member) }
		FIELD("LWPID", "Lightweight process id", "INT32", thread),
		FIELD("THRID", "Thread number", "INT32", thread),
		FIELD("CPUID", "CPU id", "INT32", cpu),
		FIELD("TSTAMP", "High resolution timestamp", "INT64", time),
		FIELD("FRINFO", "Call stack", "INT64", frinfo),
		FIELD("HTYPE", "Heap event type", "INT32", type),
		FIELD("HSIZE", "Bytes", "UINT64", size),
		FIELD("HVADDR", "Address", "UINT64", address),
		FIELD("HOVADDR", "Old address", "UINT64", old_address),
#undef FIELD
	};
	struct str out = {0};

	str_addf(&out, "<profile name=\"heaptrace\">\n"
		 "  <profdata fname=\"heaptrace\"/>\n"
		 "  <profpckt kind=\"%d\" uname=\"Heap tracing data\">\n",
		 PACKET_HEAP);
	header_fields(&out, fields, ARRAY_LEN(fields));
	str_add(&out, "  </profpckt>\n</profile>");
	writer_line(exp, &exp->log, &out);
}

/* Its owner is the log's. */
static bool
open_heap(struct experiment *exp)
{
	struct stat st;

	if (exp->heap.fd >= 0)
		return true;
	if (sink_open(&exp->heap, exp->dir_fd, "heaptrace", sink_packet) < 0)
		return false;
	if (fstat(exp->log.fd, &st) == 0 &&
	    fchown(exp->heap.fd, st.st_uid, st.st_gid) < 0)
		exp->heap.error = errno;
	declare_heap(exp);
	return true;
}

/* ---- packets ------------------------------------------------------------- */

int
writer_calls(struct experiment *exp)
{
	if (exp->heap.fd < 0 || !exp->heap.len)
		return 0;
	if (sink_flush(&exp->frames) == 0 && sink_flush(&exp->heap) == 0)
		return 0;

	const uint64_t n = sink_drop(&exp->heap);

	exp->refused += n;
	exp->refused_calls += n;
	return -1;
}

void
experiment_heap(struct experiment *exp, const struct experiment_allocation *a)
{
	const struct heap_packet packet = {
		.head = { sizeof packet, PACKET_HEAP },
		.thread = a->tid, .time = (int64_t)a->time_ns,
		.frinfo = a->frinfo, .cpu = -1, .type = a->type,
		.size = a->size, .address = a->address,
		.old_address = a->old_address,
	};

	if (!open_heap(exp)) {
		exp->refused++;
		exp->refused_calls++;
		return;
	}
	if (a->time_ns > exp->last_ns)
		exp->last_ns = a->time_ns;
	sink_put(&exp->heap, &packet, sizeof packet);
	if (exp->heap.len >= FLUSH_AT)
		(void)writer_calls(exp);
}
