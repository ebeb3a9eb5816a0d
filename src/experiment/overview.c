/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * overview: what the process had used at each sample point, in order.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "reader.h"

static uint64_t
ns_of(const struct overview_time *t)
{
	return t->s * 1000000000u + t->ns;
}

static void
take_sample(struct experiment_reader *rd, const struct overview_record *in,
	    const char *label)
{
	const uint64_t time_ns = ns_of(&in->time);
	struct experiment_sample_record *out = &rd->samples[rd->sample_count++];

	*out = (struct experiment_sample_record){
		.time_ns = time_ns > rd->start_ns ? time_ns - rd->start_ns : 0,
		.label = label,
		.use = {
			.user_ns = ns_of(&in->user),
			.system_ns = ns_of(&in->system),
			.wait_ns = ns_of(&in->wait),
			.sleep_ns = ns_of(&in->sleep),
			.lock_ns = ns_of(&in->lock),
			.text_fault_ns = ns_of(&in->text_fault),
			.data_fault_ns = ns_of(&in->data_fault),
			.stop_ns = ns_of(&in->stop),
			.minor_faults = in->minor_faults,
			.major_faults = in->major_faults,
			.in_blocks = in->in_blocks,
			.out_blocks = in->out_blocks,
			.voluntary = in->voluntary,
			.involuntary = in->involuntary,
		},
	};
	reader_saw(rd, out->time_ns);
}

/* The label of the next sample point in the log: they pair by order. */
static const char *
next_label(const struct experiment_reader *rd, size_t *at)
{
	while (*at < rd->event_count) {
		const struct experiment_log_event *ev = &rd->events[(*at)++];
		const char *label;

		if (strcmp(ev->kind, "sample") != 0)
			continue;
		label = ev->attr(ev, "label");
		return label ? label : "<unknown>";
	}
	return "<unknown>";
}

/* Times are in order, and none of them is longer than the last is late. */
static bool
is_sample(const struct overview_record *in, uint64_t last_ns)
{
	const struct overview_time *const times[] = {
		&in->time, &in->user, &in->system, &in->wait, &in->sleep,
		&in->lock, &in->text_fault, &in->data_fault, &in->stop,
	};

	for (size_t i = 0; i < ARRAY_LEN(times); i++)
		if (times[i]->ns > 999999999u || times[i]->s > INT32_MAX)
			return false;
	return in->count >= 0 && ns_of(&in->time) >= last_ns;
}

void
overview_load(struct experiment_reader *rd)
{
	const size_t record = sizeof(struct overview_record);
	size_t size, at = 0;
	uint64_t last_ns = 0;

	if (rd->foreign || rd->words32)
		return;		/* laid out differently */

	const char *data = reader_text(rd, "overview", &size);

	if (!data) {		/* without it there are no sample points */
		if (errno != ENOENT || reader_must_have(rd))
			reader_damage(rd, "overview", "%s", strerror(errno));
		return;
	}
	if (size % record && !rd->recording)
		reader_damage(rd, "overview", "the last record is incomplete "
			      "and was ignored");
	rd->samples = xcalloc(size / record + 1, sizeof *rd->samples);
	for (size_t i = 0; i + record <= size; i += record) {
		struct overview_record in;

		memcpy(&in, data + i, record);
		if (!is_sample(&in, last_ns)) {
			reader_damage(rd, "overview", "damaged at byte %zu; "
				      "the rest is not read", i);
			break;
		}
		last_ns = ns_of(&in.time);
		take_sample(rd, &in, next_label(rd, &at));
	}
}
