/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * What happens in the target, one record each: clock packets, mappings,
 * sample points. Packets are buffered and go out after the stacks that they
 * name; lines go out at once.
 *
 * A clock packet that the disk refuses is counted, and its weight is owed to
 * <Lost samples>: paid when there is room again, so <Total> stays true.
 */
#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include "format.h"
#include "writer.h"
#include "xml.h"

enum {
	FLUSH_AT = 64 << 10,
	LINES_KEEP = 1 << 20,	/* refused lines kept for later */
};

uint64_t
writer_since(const struct experiment *exp, uint64_t time_ns)
{
	return time_ns > exp->start_ns ? time_ns - exp->start_ns : 0;
}

void
writer_line(struct experiment *exp, struct sink *to, struct str *line)
{
	str_add(line, "\n");
	if (!to->held && to->len + line->len > LINES_KEEP)
		exp->refused++;
	else
		sink_put(to, str_text(line), line->len);
	str_fini(line);
	/* What is refused waits in the sink and is told by the next flush. */
	(void)sink_flush(to);
}

/* ---- clock ----------------------------------------------------------- */

/* Whole microseconds of a weight; the rest waits for the next one. */
static uint64_t
take_microseconds(struct experiment *exp, pid_t tid, enum mstate state,
		  uint64_t weight_ns)
{
	uint64_t *rest = map_slot_of(&exp->carry,
				     (uint64_t)tid << 8 | (uint64_t)state);
	const uint64_t ns = *rest + weight_ns;

	*rest = ns % 1000;
	return ns / 1000;
}

static void
put_clock(struct experiment *exp, const struct clock_packet *like,
	  uint64_t weight_us)
{
	struct clock_packet packet = *like;

	while (weight_us > 0) {
		packet.ticks = weight_us > INT32_MAX ? INT32_MAX :
			(int32_t)weight_us;
		weight_us -= (uint64_t)packet.ticks;
		sink_put(&exp->profile, &packet, sizeof packet);
	}
}

/* What is lost of a profile is CPU time, and samples of it. */
static bool
is_cpu_time(int state)
{
	return state == MSTATE_USER || state == MSTATE_SYSTEM ||
		state == MSTATE_TRAP || state >= MSTATE_LINUX_CPU;
}

static void
note_refused(struct experiment *exp, int cpu, int state, uint64_t us)
{
	exp->refused++;
	exp->refused_samples += cpu != EXPERIMENT_BOOKED;
	exp->refused_ns += is_cpu_time(state) ? us * 1000 : 0;
}

/* The profile's buffer was refused: book it and forget it. */
static void
book_refused(struct experiment *exp)
{
	const struct sink *s = &exp->profile;

	for (size_t at = 0; at < s->len; at += sizeof(struct clock_packet)) {
		struct clock_packet packet;

		memcpy(&packet, s->buf + at, sizeof packet);
		exp->owed_us[packet.state] += (uint64_t)packet.ticks;
		/* a debt that could not be paid is no new loss */
		if (packet.frinfo == exp->lost_frinfo)
			continue;
		note_refused(exp, packet.cpu, packet.state,
			     (uint64_t)packet.ticks);
	}
	(void)sink_drop(&exp->profile);	/* counted above */
}

/* Stacks first: a packet on disk shall find its stack there. */
static int
flush_packets(struct experiment *exp)
{
	if (sink_flush(&exp->frames) == 0 && sink_flush(&exp->profile) == 0)
		return 0;
	book_refused(exp);
	return -1;
}

void
experiment_clock(struct experiment *exp, uint64_t time_ns, pid_t tid, int cpu,
		 enum mstate state, uint64_t weight_ns, uint64_t frinfo)
{
	assert((unsigned)state < MSTATE_COUNT);

	const uint64_t us = take_microseconds(exp, tid, state, weight_ns);
	const struct clock_packet packet = {
		.head = { sizeof packet, PACKET_CLOCK },
		.thread = tid, .cpu = cpu, .state = (int)state,
		.time = (int64_t)time_ns, .frinfo = frinfo,
	};

	if (time_ns > exp->last_ns)
		exp->last_ns = time_ns;
	if (!frinfo) {		/* its stack was refused */
		exp->owed_us[state] += us;
		note_refused(exp, cpu, (int)state, us);
		return;
	}
	if (exp->keep)
		keep_used(exp, frinfo, time_ns);
	put_clock(exp, &packet, us);
	if (!exp->keep && exp->profile.len >= FLUSH_AT)
		(void)flush_packets(exp);	/* losses are booked */
}

void
writer_settle(struct experiment *exp)
{
	for (int state = 0; state < MSTATE_COUNT; state++) {
		const uint64_t us = exp->owed_us[state];

		if (us == 0)
			continue;
		const struct clock_packet packet = {
			.head = { sizeof packet, PACKET_CLOCK },
			.thread = exp->pid,
			.cpu = EXPERIMENT_BOOKED,
			.time = (int64_t)exp->last_ns, .state = state,
			.frinfo = exp->lost_frinfo,
		};

		exp->owed_us[state] = 0;
		put_clock(exp, &packet, us);
	}
	if (exp->profile.len > 0)
		(void)flush_packets(exp);	/* refused: owed again */
}

int
experiment_flush(struct experiment *exp)
{
	if (exp->keep) {
		writer_losses(exp, WRITER_LATELY);
		keep_flush(exp);
		return 0;
	}

	int res = sink_flush(&exp->log);

	if (sink_flush(&exp->map) < 0)
		res = -1;
	if (flush_packets(exp) < 0 || writer_calls(exp) < 0)
		res = -1;
	if (res == 0)
		writer_settle(exp);
	writer_losses(exp, WRITER_LATELY);
	if (res < 0)
		return fail(FAIL_PARTIAL, "write %s: %s", exp->path,
			    writer_disk_error(exp));
	return 0;
}

/* ---- what is mapped -------------------------------------------------- */

/* r 4, w 2, x 1 to the bits of mmap(2): r 1, w 2, x 4. */
static unsigned
mmap_bits(unsigned rwx)
{
	return (rwx & 4) >> 2 | (rwx & 2) | (rwx & 1) << 2;
}

/*
 * gprofng makes a load object only of a segment whose modes are exactly 5,
 * so executable text is always announced so; `prot` has the truth. It knows
 * only files: other mappings are events of ours, which it ignores.
 */
static void
put_segment(struct experiment *exp, uint64_t time_ns, uint64_t start,
	    uint64_t size, uint64_t offset, unsigned rwx, const char *path,
	    const char *build_id)
{
	struct str line = { 0 };
	const bool is_file = path[0] == '/';
	const unsigned modes = rwx & 1 ? 5 : mmap_bits(rwx);

	writer_event_begin(exp, &line, is_file ? "map" : "sonde_map", time_ns);
	str_addf(&line, " object=\"segment\" vaddr=\"0x%016llX\" size=\"%llu\""
		 " pagesz=\"4096\" foffset=\"+0x%08llX\" modes=\"0x%03X\""
		 " chksum=\"0x%X\" prot=\"%u\"", (unsigned long long)start,
		 (unsigned long long)size, (unsigned long long)offset, modes,
		 modes & 2 ? 0 : UINT32_MAX, rwx & 7);
	if (build_id && *build_id)
		xml_attr_add(&line, "build_id", build_id);
	xml_attr_add(&line, "name", path);
	str_add(&line, "/>");
	writer_line(exp, &exp->map, &line);
}

/* gprofng reads the size into an int. */
enum { SEGMENT_MAX = 1 << 30 };

void
experiment_map(struct experiment *exp, uint64_t time_ns, uint64_t start,
	       uint64_t size, uint64_t offset, unsigned prot_rwx,
	       const char *path, const char *build_id)
{
	if (size > SEGMENT_MAX)
		map_put(&exp->split, start, size);
	while (size > 0) {
		const uint64_t n = size > SEGMENT_MAX ? SEGMENT_MAX : size;

		put_segment(exp, time_ns, start, n, offset, prot_rwx,
			    path ? path : "", build_id);
		start += n;
		offset += n;
		size -= n;
	}
}

static void
put_unmap(struct experiment *exp, uint64_t time_ns, uint64_t start)
{
	struct str line = { 0 };

	writer_event_begin(exp, &line, "unmap", time_ns);
	str_addf(&line, " vaddr=\"0x%016llX\"/>", (unsigned long long)start);
	writer_line(exp, &exp->map, &line);
}

void
experiment_unmap(struct experiment *exp, uint64_t time_ns, uint64_t start)
{
	uint64_t size = 1;

	if (map_get(&exp->split, start, &size))
		map_remove(&exp->split, start);
	for (uint64_t at = 0; at < size; at += SEGMENT_MAX)
		put_unmap(exp, time_ns, start + at);
}

void
experiment_function(struct experiment *exp, uint64_t time_ns, uint64_t start,
		    uint64_t size, const char *name)
{
	struct str line = { 0 };

	writer_event_begin(exp, &line, "map", time_ns);
	str_addf(&line, " object=\"function\" vaddr=\"0x%016llX\""
		 " size=\"%llu\"", (unsigned long long)start,
		 (unsigned long long)size);
	xml_attr_add(&line, "name", name);
	str_add(&line, "/>");
	writer_line(exp, &exp->map, &line);
}

/* ---- sample points --------------------------------------------------- */

static struct overview_time
overview_time(uint64_t ns)
{
	return (struct overview_time){ ns / 1000000000u, ns % 1000000000u };
}

static void
put_overview(struct experiment *exp, uint64_t time_ns,
	     const struct experiment_usage *use)
{
	const struct overview_record record = {
		.process = exp->pid, .count = 1,
		.time = overview_time(time_ns),
		.create = overview_time(exp->start_ns),
		.real = overview_time(writer_since(exp, time_ns)),
		.user = overview_time(use->user_ns),
		.system = overview_time(use->system_ns),
		.wait = overview_time(use->wait_ns),
		.sleep = overview_time(use->sleep_ns),
		.lock = overview_time(use->lock_ns),
		.text_fault = overview_time(use->text_fault_ns),
		.data_fault = overview_time(use->data_fault_ns),
		.stop = overview_time(use->stop_ns),
		.minor_faults = use->minor_faults,
		.major_faults = use->major_faults,
		.in_blocks = use->in_blocks, .out_blocks = use->out_blocks,
		.voluntary = use->voluntary, .involuntary = use->involuntary,
	};

	sink_put(&exp->overview, &record, sizeof record);
}

void
experiment_sample(struct experiment *exp, uint64_t time_ns, const char *label,
		  const struct experiment_usage *use)
{
	struct str line = { 0 };

	put_overview(exp, time_ns, use);
	if (sink_flush(&exp->overview) < 0) {
		/* readers pair records and lines by their order */
		exp->refused += sink_drop(&exp->overview);
		return;
	}
	writer_event_begin(exp, &line, "sample", time_ns);
	str_addf(&line, " id=\"%llu\"", (unsigned long long)exp->samples++);
	xml_attr_add(&line, "label", label);
	str_add(&line, "/>");
	writer_line(exp, &exp->log, &line);
}
