/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * From packets to values. Only offsets that log.xml declared are used, and
 * only within the packet.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "reader.h"

enum { AHEAD_FAR = 24, AHEAD_NEAR = 12 };	/* packets */

#define LATE_NS (10 * UINT64_C(1000000000))

static uint64_t
weight_of(uint64_t ticks, uint64_t tick_ns)
{
	uint64_t ns;

	if ((int64_t)ticks <= 0)
		return 0;
	return __builtin_mul_overflow(ticks, tick_ns, &ns) ? UINT64_MAX : ns;
}

/* A record may be late, but not by longer than that after the exit. */
static uint64_t
time_of(const struct experiment_reader *rd, uint64_t stamp)
{
	const uint64_t ns = stamp > rd->start_ns ? stamp - rd->start_ns : 0;

	return rd->exited && ns > rd->end_ns + LATE_NS ? rd->end_ns : ns;
}

/*
 * When something began that ended at time_ns; nothing began before the
 * recording, or later than it ended. Never 0, which says that nobody knows.
 */
static uint64_t
since(const struct experiment_reader *rd, uint64_t began, uint64_t time_ns)
{
	if (began <= rd->start_ns)
		return 1;
	began -= rd->start_ns;
	return began < time_ns ? began : time_ns;
}

/* Of one packet after another: what a layout does not have stays 0. */
struct decoder {
	const struct experiment_reader *rd;
	const struct data_file *file;
	const struct layout *layout;	/* of the last one */
	struct decoded decoded;
};

static void
take_times(struct decoder *d)
{
	struct experiment_packet *out = &d->decoded.packet;

	for (size_t i = 0; i < d->layout->value_count; i++)
		if (d->layout->time_values[i] && out->value[i])
			out->value[i] = since(d->rd, out->value[i],
					      out->time_ns);
}

/* False when the packet cannot mean anything. */
static bool
decode(struct decoder *d, const struct layout *layout,
       const unsigned char *packet, size_t size)
{
	struct experiment_packet *out = &d->decoded.packet;
	const uint64_t *n = d->decoded.n;

	if (layout != d->layout) {
		d->decoded = (struct decoded){ .packet.kind = layout->kind };
		d->layout = layout;
	}
	layout_numbers(layout, packet, size, &d->decoded);
	if (n[ROLE_STATE] >= MSTATE_COUNT)
		return false;
	out->time_ns = time_of(d->rd, n[ROLE_TIME]);
	out->thread = n[ROLE_THREAD];
	out->lwp = n[ROLE_LWP];
	out->cpu = (int)n[ROLE_CPU];
	out->frinfo = n[ROLE_FRINFO];
	out->mstate = (int)n[ROLE_STATE];
	out->ticks = n[ROLE_TICKS];
	out->weight_ns = weight_of(n[ROLE_TICKS], d->file->tick_ns);
	if (layout->fields[ROLE_TEXT].type == FIELD_STRING)
		out->text = layout_text(packet, size,
					&layout->fields[ROLE_TEXT]);
	if (layout->timed)
		take_times(d);
	return true;
}

/* One thread in one state for longer than since the start, and by more than
 * how late its packet may be? Sums of what nobody sampled may. */
static bool
is_doubtful(const struct experiment_packet *p)
{
	return p->weight_ns > p->time_ns + LATE_NS &&
	       p->cpu != EXPERIMENT_BOOKED;
}

/* ---- whole files ----------------------------------------------------- */

/*
 * As gprofng's printer reads them, whatever their order in the log: threads
 * are numbered by their first packet, and a number is to select the same one.
 */
static int
rank_of(const struct data_file *file)
{
	static const int kinds[] = { 8, 2, 19, 3, 7, 5 };
	size_t i = 0;

	while (i < ARRAY_LEN(kinds) && !layout_find(file, kinds[i]))
		i++;
	return (int)i;
}

void
data_files_sort(struct experiment_reader *rd)
{
	void **items = rd->files.items;

	/* there are few, and equals keep their order */
	for (size_t i = 1; i < rd->files.len; i++)
		for (size_t k = i; k > 0 && rank_of(items[k - 1]) >
		     rank_of(items[k]); k--) {
			void *file = items[k];

			items[k] = items[k - 1];
			items[k - 1] = file;
		}
}

void
stream_warn(const struct experiment_reader *rd, const char *name,
	    const struct packet_stream *st)
{
	const unsigned long long at = stream_offset(st);

	if (st->state == STREAM_DAMAGED)
		reader_damage(rd, name, "damaged at byte %llu; the rest is not "
			      "read", at);
	else if (st->state == STREAM_UNREADABLE)
		reader_damage(rd, name, "cannot be read beyond byte %llu", at);
	else if (st->state == STREAM_CUT && !rd->recording)
		reader_damage(rd, name, "the last record is incomplete and "
			      "was ignored");
}

void
data_file_open(const struct experiment_reader *rd, struct data_file *file)
{
	struct packet_stream st;

	for (size_t i = 0; i < file->layout_count; i++)
		layout_finish(&file->layouts[i]);
	file->read = true;
	if (rd->foreign) {
		reader_warn(rd, "%s: the byte order of its machine is not "
			    "supported; it is not read", file->name);
		return;
	}
	if (stream_open(&st, rd->dir_fd, file->name) < 0) {
		/* nothing recorded of that kind, or its file is lost */
		if (errno != ENOENT || reader_must_have(rd))
			reader_damage(rd, file->name, "%s", strerror(errno));
		else if (!rd->recording)
			reader_warn(rd, "%s: %s", file->name, strerror(errno));
		return;
	}
	file->end = st.limit;
	file->read = false;
	stream_close(&st);
}

/* A file that is open, up to its end when the experiment was opened. */
static bool
open_data(const struct experiment_reader *rd, const struct data_file *file,
	  struct packet_stream *st)
{
	if (file->end == 0 || stream_open(st, rd->dir_fd, file->name) < 0)
		return false;	/* opening it has warned already */
	if (st->limit > file->end)
		st->limit = file->end;
	return true;
}

static void
close_data(const struct experiment_reader *rd, struct data_file *file,
	   struct packet_stream *st)
{
	if (!file->read) {
		file->read = true;
		file->end = stream_offset(st);
		stream_warn(rd, file->name, st);
	}
	stream_close(st);
}

void
data_file_scan(const struct experiment_reader *rd, struct data_file *file)
{
	struct packet_stream st;
	struct packet_head head;
	const unsigned char *packet;

	if (file->read || !open_data(rd, file, &st))
		return;
	while ((packet = stream_next(&st, &head))) {
		const struct layout *l = layout_find(file, head.kind);
		const uint64_t t = l ? layout_get(packet, head.size,
						  &l->fields[ROLE_TIME]) : 0;

		if (t > file->last_ns)
			file->last_ns = t;
	}
	close_data(rd, file, &st);
}

/* Of the packet n behind the last one, were they all of one size. Only asked
 * for, so that one that is not of 8 bytes need not be found. */
static inline uint64_t
frinfo_ahead(const struct packet_stream *st, const struct layout *layout,
	     size_t size, size_t n)
{
	const struct field *f = &layout->fields[ROLE_FRINFO];
	const size_t at = st->at + (n - 1) * size + f->offset;
	uint64_t frinfo;

	if (at + sizeof frinfo > st->len)
		return 0;
	memcpy(&frinfo, st->buf + at, sizeof frinfo);
	return frinfo;
}

static bool
visit_file(const struct experiment_reader *rd, struct data_file *file,
	   bool (*visit)(void *arg, const struct experiment_packet *p),
	   void *arg)
{
	struct packet_stream st;
	struct packet_head head;
	const unsigned char *packet;
	unsigned long long doubtful = 0;
	struct decoder d = { .rd = rd, .file = file };
	const struct layout *l = NULL;
	struct experiment_packet *p = &d.decoded.packet;

	if (!open_data(rd, file, &st))
		return true;
	while ((packet = stream_next(&st, &head))) {
		if (!l || l->kind != head.kind)
			l = layout_find(file, head.kind);
		if (!l || !decode(&d, l, packet, head.size))
			continue;
		doubtful += is_doubtful(p);
		p->ahead[0] = frinfo_ahead(&st, l, head.size, AHEAD_FAR);
		p->ahead[1] = frinfo_ahead(&st, l, head.size, AHEAD_NEAR);
		if (!visit(arg, p)) {
			stream_close(&st);
			return false;
		}
	}
	if (doubtful)
		reader_damage(rd, file->name, "%llu records say that more time "
			      "passed than since the start; totals may be wrong",
			      doubtful);
	close_data(rd, file, &st);
	return true;
}

struct wanted {
	int kind;
	bool (*visit)(void *arg, const struct experiment_packet *p);
	void *arg;
};

static bool
visit_wanted(void *arg, const struct experiment_packet *p)
{
	const struct wanted *want = arg;

	return p->kind != want->kind || want->visit(want->arg, p);
}

bool
experiment_packets_of(const struct experiment_reader *rd, int kind,
		      bool (*visit)(void *arg,
				    const struct experiment_packet *p),
		      void *arg)
{
	struct wanted want = { kind, visit, arg };

	for (size_t i = 0; i < rd->files.len; i++)
		if (layout_find(rd->files.items[i], kind) &&
		    !visit_file(rd, rd->files.items[i], visit_wanted, &want))
			return false;
	return true;
}

void
experiment_packets(const struct experiment_reader *rd,
		   bool (*visit)(void *arg, const struct experiment_packet *p),
		   void *arg)
{
	for (size_t i = 0; i < rd->files.len; i++)
		if (!visit_file(rd, rd->files.items[i], visit, arg))
			return;
}
