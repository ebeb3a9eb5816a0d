/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * What an opened experiment is asked for.
 */
#include <string.h>

#include "reader.h"

const char *
experiment_reader_path(const struct experiment_reader *rd)
{
	return rd->path;
}

const char *
experiment_reader_shown(const struct experiment_reader *rd)
{
	return rd->shown;
}

const char *
experiment_property(const struct experiment_reader *rd, const char *name)
{
	for (size_t i = 0; i < rd->property_count; i++)
		if (strcmp(rd->properties[i].name, name) == 0)
			return rd->properties[i].value;
	return NULL;
}

struct experiment_cpus
experiment_cpus(const struct experiment_reader *rd)
{
	return rd->cpus;
}

bool
experiment_finished(const struct experiment_reader *rd)
{
	return rd->exited || rd->replaced;
}

bool
experiment_recording(const struct experiment_reader *rd)
{
	return rd->recording;
}

uint64_t
experiment_start_ns(const struct experiment_reader *rd)
{
	return rd->start_ns;
}

time_t
experiment_wall_start(const struct experiment_reader *rd)
{
	return rd->wall;
}

uint64_t
experiment_duration_ns(const struct experiment_reader *rd)
{
	return rd->end_ns;
}

const char *
experiment_notes(const struct experiment_reader *rd)
{
	return rd->notes ? rd->notes : "";
}

size_t
experiment_warning_count(const struct experiment_reader *rd)
{
	for (size_t i = 0; i < rd->files.len; i++)
		data_file_scan(rd, rd->files.items[i]);
	return rd->warnings->len;
}

const char *
experiment_warning(const struct experiment_reader *rd, size_t i)
{
	return rd->warnings->items[i];
}

size_t
experiment_damaged_count(const struct experiment_reader *rd)
{
	for (size_t i = 0; i < rd->files.len; i++)
		data_file_scan(rd, rd->files.items[i]);
	return rd->damaged->len;
}

const char *
experiment_damaged(const struct experiment_reader *rd, size_t i)
{
	return rd->damaged->items[i];
}

size_t
experiment_child_count(const struct experiment_reader *rd)
{
	return rd->children.len;
}

const struct experiment_reader *
experiment_child(const struct experiment_reader *rd, size_t i)
{
	return rd->children.items[i];
}

size_t
experiment_log_count(const struct experiment_reader *rd)
{
	return rd->event_count;
}

const struct experiment_log_event *
experiment_log_at(const struct experiment_reader *rd, size_t i)
{
	return &rd->events[i];
}

size_t
experiment_sample_count(const struct experiment_reader *rd)
{
	return rd->sample_count;
}

const struct experiment_sample_record *
experiment_sample_at(const struct experiment_reader *rd, size_t i)
{
	return &rd->samples[i];
}

size_t
experiment_counter_count(const struct experiment_reader *rd)
{
	return rd->counter_count;
}

const struct experiment_counter *
experiment_counter_at(const struct experiment_reader *rd, size_t i)
{
	return &rd->counters[i];
}

bool
experiment_declares(const struct experiment_reader *rd, int kind)
{
	for (size_t i = 0; i < rd->files.len; i++)
		if (layout_find(rd->files.items[i], kind))
			return true;
	return false;
}
