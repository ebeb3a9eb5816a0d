/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * What is kept of an experiment becomes one on disk: an ordinary one, that
 * begins where the span begins.
 */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "format.h"
#include "keep.h"
#include "writer.h"
#include "xml.h"

enum { FLUSH_AT = 64 << 10 };

struct copying {
	struct experiment *from, *to;
	const struct map *stacks;	/* that are there */
	struct overview_record *samples;
	uint64_t line, sample, strange, strange_waits;
};

/* The same line at its time in the other one. */
static void
put_line(struct copying *c, struct sink *to, const unsigned char *line,
	 size_t n)
{
	static const char name[] = " tstamp=\"";
	const unsigned char *at = memmem(line, n, name, sizeof name - 1);
	const unsigned char *rest = at ? memchr(at + sizeof name - 1, '"',
		n - (size_t)(at + sizeof name - 1 - line)) : NULL;
	struct str out = { 0 };

	if (!rest)
		return;		/* all lines of events have one */
	str_addn(&out, (const char *)line, (size_t)(at - line));
	xml_time_add(&out, "tstamp", writer_since(c->to,
		keep_time(c->from, line, n)));
	rest++;
	/* writer_line puts the newline */
	str_addn(&out, (const char *)rest, n - 1 - (size_t)(rest - line));
	writer_line(c->to, to, &out);
}

/* <Lost samples>, the first, is there already. */
static bool
copy_map(void *arg, const unsigned char *line, size_t n, uint64_t index)
{
	struct copying *c = arg;

	if (index > 0)
		put_line(c, &c->to->map, line, n);
	return true;
}

static struct overview_time
time_pair(uint64_t ns)
{
	return (struct overview_time){ ns / 1000000000u, ns % 1000000000u };
}

static void
copy_sample(struct copying *c, const unsigned char *line, size_t n)
{
	struct overview_record record = c->samples[c->sample++];
	const uint64_t time = keep_time(c->from, line, n);
	struct str out = { 0 };

	record.create = time_pair(c->to->start_ns);
	record.real = time_pair(writer_since(c->to, time));
	sink_put(&c->to->overview, &record, sizeof record);
	if (sink_flush(&c->to->overview) < 0) {
		/* readers pair records and lines by their order */
		c->to->refused += sink_drop(&c->to->overview);
		return;
	}
	/* numbered from 0 in each experiment */
	const char *id = memmem(line, n, " id=\"", 5);
	const char *label = id ? memchr(id + 5, '"', 24) : NULL;

	writer_event_begin(c->to, &out, "sample", time);
	str_addf(&out, " id=\"%" PRIu64 "\"", c->to->samples++);
	if (label)
		str_addn(&out, label + 1, n - 1 -
			 (size_t)((const unsigned char *)label + 1 - line));
	else
		str_add(&out, "/>");
	writer_line(c->to, &c->to->log, &out);
}

/* Losses are told by their difference. */
static bool
copy_log(void *arg, const unsigned char *line, size_t n, uint64_t index)
{
	struct copying *c = arg;
	char kind[KEEP_WORD];

	(void)index;
	(void)keep_word(line, n, "kind", kind);
	if (!strcmp(kind, "sample"))
		copy_sample(c, line, n);
	else if (strcmp(kind, "sonde_loss") != 0)
		put_line(c, &c->to->log, line, n);
	return true;
}

/* It is not in memory twice. What is refused is booked at the end. */
static void
put_record(struct sink *to, const void *record, size_t n)
{
	sink_put(to, record, n);
	if (to->len >= FLUSH_AT && !to->error)
		(void)sink_flush(to);
}

static bool
copy_frame(void *arg, const unsigned char *record, size_t n, uint64_t index)
{
	struct copying *c = arg;
	uint64_t link, found;

	(void)index;
	if (keep_frame(record, n, &link) > c->to->lost_frinfo &&
	    map_get(c->stacks, keep_frame(record, n, &link), &found))
		put_record(&c->to->frames, record, n);
	return true;
}

static bool
note_stack(void *arg, const unsigned char *record, size_t n, uint64_t index)
{
	struct clock_packet packet;

	(void)n, (void)index;
	memcpy(&packet, record, sizeof packet);
	map_put(arg, packet.frinfo, 1);
	return true;
}

static bool
note_frame(void *arg, const unsigned char *record, size_t n, uint64_t index)
{
	uint64_t link;

	(void)index;
	map_put(arg, keep_frame(record, n, &link), 1);
	return true;
}

static bool
copy_packet(void *arg, const unsigned char *record, size_t n, uint64_t index)
{
	struct copying *c = arg;
	struct clock_packet packet;
	uint64_t found;

	(void)index;
	memcpy(&packet, record, sizeof packet);
	if (!map_get(c->stacks, packet.frinfo, &found)) {
		packet.frinfo = c->to->lost_frinfo;
		c->strange += packet.cpu != EXPERIMENT_BOOKED;
	}
	put_record(&c->to->profile, &packet, n);
	if ((uint64_t)packet.time > c->to->last_ns)
		c->to->last_ns = (uint64_t)packet.time;
	return true;
}

static bool
note_wait(void *arg, const unsigned char *record, size_t n, uint64_t index)
{
	struct sync_packet packet;

	(void)n, (void)index;
	memcpy(&packet, record, sizeof packet);
	map_put(arg, packet.frinfo, 1);
	return true;
}

static bool
copy_wait(void *arg, const unsigned char *record, size_t n, uint64_t index)
{
	struct copying *c = arg;
	struct sync_packet packet;
	uint64_t found;

	(void)index;
	memcpy(&packet, record, sizeof packet);
	if (!map_get(c->stacks, packet.frinfo, &found)) {
		packet.frinfo = c->to->lost_frinfo;
		c->strange_waits++;
	}
	writer_call(c->to, CALL_SYNC, (uint64_t)packet.time, &packet, n);
	return true;
}

static void
copy_packets(struct copying *c)
{
	struct sink *waits = &c->from->calls[CALL_SYNC];
	struct map wanted = { 0 }, there = { 0 };

	keep_sift(&c->from->profile, note_stack, &wanted);
	keep_sift(waits, note_wait, &wanted);
	keep_follow(&c->from->frames, &wanted);
	c->stacks = &wanted;
	keep_sift(&c->from->frames, copy_frame, c);
	keep_sift(&c->from->frames, note_frame, &there);
	c->stacks = &there;
	keep_sift(&c->from->profile, copy_packet, c);
	keep_sift(waits, copy_wait, c);
	map_fini(&wanted);
	map_fini(&there);
}

/* What this experiment is, for people and for programs. */
static void
say_kept(struct copying *c, uint64_t now)
{
	const struct keep *k = c->from->keep;
	const uint64_t start = c->to->start_ns;
	char span[24], whole[24], dropped[24], cpu[24], waits[24], of[64] = "";
	char *text;

	if (k->dropped_waits)
		(void)snprintf(of, sizeof of, ", and %" PRIu64 " traced waits",
			       k->dropped_waits);
	text = xasprintf("Only the last %.3f s are kept, of %.3f s "
		"recorded: %" PRIu64 " samples before that, of %.3f s CPU "
		"time%s, were dropped on purpose", (double)(now - start) / 1e9,
		(double)(now - c->from->start_ns) / 1e9, k->dropped,
		(double)k->dropped_cpu_ns / 1e9, of);

	(void)snprintf(span, sizeof span, "%" PRIu64, (now - start) / 1000);
	(void)snprintf(whole, sizeof whole, "%" PRIu64,
		       (now - c->from->start_ns) / 1000);
	(void)snprintf(dropped, sizeof dropped, "%" PRIu64, k->dropped);
	(void)snprintf(cpu, sizeof cpu, "%" PRIu64, k->dropped_cpu_ns / 1000);
	(void)snprintf(waits, sizeof waits, "%" PRIu64, k->dropped_waits);
	experiment_comment(c->to, start, text);
	experiment_event(c->to, start, "sonde_kept", (const char *const[]){
		"span_us", span, "recorded_us", whole, "dropped_samples",
		dropped, "dropped_us", cpu, "dropped_waits", waits, NULL });
	free(text);
}

static void
copy_losses(struct copying *c, uint64_t now)
{
	const struct experiment *from = c->from;

	for (size_t i = 0; i < from->losses.len; i++) {
		const struct loss *l = from->losses.items[i];
		const uint64_t key = keep_loss_key(l->cause, l->detail);
		uint64_t samples = 0, ns = 0;

		(void)map_get(&from->keep->base, key, &samples);
		(void)map_get(&from->keep->base_ns, key, &ns);
		if (l->samples > samples || l->weight_ns > ns)
			experiment_loss(c->to, now, l->cause, l->detail,
					l->samples - samples,
					l->weight_ns - ns);
	}
	if (c->strange)
		experiment_loss(c->to, now, "forgotten stack", "", c->strange,
				0);
	if (c->strange_waits)
		experiment_loss(c->to, now, "forgotten stack", "traced calls",
				c->strange_waits, 0);
}

int
experiment_write_kept(struct experiment *exp, const char *path,
		      uint64_t time_ns, const char *how)
{
	struct keep *k = exp->keep;
	struct copying c = { .from = exp };

	if (!k)
		return fail(FAIL_USAGE, "%s is written as it is recorded",
			    exp->path);
	keep_prune(exp, keep_cut(k, time_ns));
	k->info.start_ns = k->cut_ns > exp->start_ns ? k->cut_ns :
		exp->start_ns;
	k->info.path = path ? path : exp->path;
	c.to = experiment_create(&k->info);
	if (!c.to)
		return -1;
	if (k->written_fd >= 0)
		close(k->written_fd);
	k->written_fd = experiment_directory(c.to);
	c.to->last_uid = exp->last_uid;
	c.to->sync_us = exp->sync_us;
	c.samples = (struct overview_record *)exp->overview.buf;
	say_kept(&c, time_ns);
	if (k->paused)
		experiment_pause(c.to, c.to->start_ns, "collector");
	keep_sift(&exp->map, copy_map, &c);
	copy_packets(&c);
	keep_sift(&exp->log, copy_log, &c);
	copy_losses(&c, time_ns);
	c.to->replaced = exp->replaced;
	return experiment_close(c.to, time_ns, how);
}
