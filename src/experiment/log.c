/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * log.xml: properties of the run, how packets are laid out, and every event
 * in order. gprofng's own logs are read as well as ours, so nothing is taken
 * for granted but the names of elements.
 */
#include <stdlib.h>
#include <string.h>

#include "reader.h"

/* Longer ticks are nonsense; gprofng's slowest is 0.1 s. */
enum { TICK_US_MAX = 1000000000 };

/* In a row, however many lines it has. */
static void
set_line(struct experiment_reader *rd, const char *name, const char *value)
{
	char *line = str_tamed(value);

	vec_push(&rd->texts, line);
	reader_set(rd, name, line);
}

static void
set_all(struct experiment_reader *rd, const struct xml_tag *tag)
{
	for (size_t i = 0; i < tag->count; i++)
		set_line(rd, tag->attrs[i].name, tag->attrs[i].value);
}

static void
on_collector(struct experiment_reader *rd, const struct xml_tag *tag)
{
	if (*tag->text)
		reader_set(rd, "collector", tag->text);
}

/* Data of SPARC is in another byte order. */
static void
on_system(struct experiment_reader *rd, const struct xml_tag *tag)
{
	const char *arch = xml_attr(tag, "arch");
	const char *big = xml_attr(tag, "bigendian");

	set_all(rd, tag);
	rd->foreign = (arch && (str_starts(arch, "sun4") ||
				str_starts(arch, "sparc"))) ||
		(big && strcmp(big, "1") == 0);
}

static void
on_cpu(struct experiment_reader *rd, const struct xml_tag *tag)
{
	const uint64_t mhz = xml_number(xml_attr(tag, "clk"));

	if (!rd->cpus.count || mhz < rd->cpus.mhz_min)
		rd->cpus.mhz_min = mhz;
	if (mhz > rd->cpus.mhz_max)
		rd->cpus.mhz_max = mhz;
	rd->cpus.count++;
}

static void
on_process(struct experiment_reader *rd, const struct xml_tag *tag)
{
	const char *wsize = xml_attr(tag, "wsize");

	set_all(rd, tag);
	if (wsize)
		rd->words32 = strcmp(wsize, "32") == 0;
	if (*tag->text)		/* arguments have lines, a row has none */
		set_line(rd, "command", tag->text);
}

/* ---- declarations ---------------------------------------------------- */

static void
add_counter(struct experiment_reader *rd, const struct xml_tag *tag)
{
	const char *name = xml_attr(tag, "hwcname");

	if (!name || !*name)
		return;
	rd->counters = xgrow(rd->counters, &rd->counter_cap,
			     rd->counter_count + 1, sizeof *rd->counters);
	rd->counters[rd->counter_count++] = (struct experiment_counter){
		.name = name, .tag = xml_number(xml_attr(tag, "tag")),
	};
}

static void
on_profile(struct experiment_reader *rd, const struct xml_tag *tag)
{
	const char *ptimer = xml_attr(tag, "ptimer");
	const char *states = xml_attr(tag, "numstates");
	const char *name = xml_attr(tag, "name");
	const char *interval = xml_attr(tag, "interval");

	if (name && interval && strcmp(name, "heaptrace") == 0)
		reader_set(rd, "heap_interval", interval);
	if (name && xml_attr(tag, "threshold"))
		reader_set(rd, "sync_threshold", xml_attr(tag, "threshold"));
	if (states)
		reader_set(rd, "numstates", states);
	add_counter(rd, tag);
	rd->now.tick_ns = 0;
	rd->now.file = NULL;
	rd->now.layout = NULL;
	if (!ptimer)
		return;

	const uint64_t us = xml_number(ptimer);

	if (us == 0 || us > TICK_US_MAX)
		reader_warn(rd, "log.xml: a clock tick of %s microseconds "
			    "makes no sense", ptimer);
	else
		rd->now.tick_ns = us * 1000;
	/* ours says later what was asked for; for gprofng it is this */
	reader_set(rd, "interval_us", ptimer);
}

static struct data_file *
find_file(struct experiment_reader *rd, const char *name)
{
	for (size_t i = 0; i < rd->files.len; i++) {
		struct data_file *file = rd->files.items[i];

		if (strcmp(file->name, name) == 0)
			return file;
	}

	struct data_file *file = xcalloc(1, sizeof *file);

	file->name = xstrdup(name);
	vec_push(&rd->files, file);
	return file;
}

static void
on_profdata(struct experiment_reader *rd, const struct xml_tag *tag)
{
	const char *name = xml_attr(tag, "fname");

	rd->now.file = NULL;
	rd->now.layout = NULL;
	if (!name || !*name || strchr(name, '/') || name[0] == '.') {
		reader_warn(rd, "log.xml: data in \"%s\" is not read: "
			    "not a plain name", name ? name : "");
		return;
	}
	rd->now.file = find_file(rd, name);
	if (rd->now.tick_ns)
		rd->now.file->tick_ns = rd->now.tick_ns;
}

static void
on_profpckt(struct experiment_reader *rd, const struct xml_tag *tag)
{
	struct data_file *file = rd->now.file;
	const int kind = (int)xml_number(xml_attr(tag, "kind"));

	rd->now.layout = NULL;
	if (!file || kind <= PACKET_EMPTY || kind >= PACKET_CLOSED)
		return;
	for (size_t i = 0; i < file->layout_count; i++)
		if (file->layouts[i].kind == kind)
			rd->now.layout = &file->layouts[i];
	if (!rd->now.layout && file->layout_count < LAYOUTS)
		rd->now.layout = &file->layouts[file->layout_count++];
	if (rd->now.layout)
		*rd->now.layout = (struct layout){ .kind = kind };
}

static void
on_field(struct experiment_reader *rd, const struct xml_tag *tag)
{
	const char *name = xml_attr(tag, "name");
	const char *type = xml_attr(tag, "type");

	if (rd->now.layout && name && type)
		layout_declare(rd->now.layout, name, xml_attr(tag, "offset"),
			       type);
}

/* ---- events ---------------------------------------------------------- */

static const char *
event_attr(const struct experiment_log_event *ev, const char *name)
{
	const struct log_attrs *own = ev->opaque;

	for (size_t i = 0; i < own->count; i++)
		if (strcmp(own->attrs[i].name, name) == 0)
			return own->attrs[i].value;
	return NULL;
}

static struct log_attrs *
copy_attrs(const struct xml_tag *tag)
{
	const size_t bytes = tag->count * sizeof *tag->attrs;
	struct log_attrs *own = xmalloc(sizeof *own + bytes);

	own->attrs = (struct xml_attr *)(own + 1);
	own->count = tag->count;
	memcpy(own->attrs, tag->attrs, bytes);
	return own;
}

static void
add_event(struct experiment_reader *rd, const struct xml_tag *tag,
	  const char *kind, uint64_t time_ns)
{
	const char *text = xml_attr(tag, "text");
	struct log_attrs *own = copy_attrs(tag);

	vec_push(&rd->event_attrs, own);
	rd->events = xgrow(rd->events, &rd->event_cap, rd->event_count + 1,
			   sizeof *rd->events);
	rd->events[rd->event_count++] = (struct experiment_log_event){
		.time_ns = time_ns, .kind = kind, .attr = event_attr,
		.text = !*tag->text && text ? text : tag->text, .opaque = own,
	};
}

/* The first one counts: gprofng repeats it at the end. */
static void
on_run(struct experiment_reader *rd, const struct xml_tag *tag)
{
	if (rd->started)
		return;
	rd->started = true;
	rd->start_ns = xml_time(xml_attr(tag, "tstamp"));
	rd->wall = (time_t)xml_number(xml_attr(tag, "time"));
}

static void
on_event(struct experiment_reader *rd, const struct xml_tag *tag)
{
	const char *kind = xml_attr(tag, "kind");
	uint64_t time_ns = xml_time(xml_attr(tag, "tstamp"));

	if (!kind)
		return;
	if (strcmp(kind, "run") == 0) {
		on_run(rd, tag);
		time_ns = 0;	/* the only absolute one */
	}
	if (strcmp(kind, "exit") == 0) {
		const char *how = xml_attr(tag, "how");

		rd->exited = true;
		if (how)
			reader_set(rd, "end", how);
	}
	if (strcmp(kind, "exec_start") == 0)
		rd->replaced = true;
	if (strcmp(kind, "exec_error") == 0)
		rd->replaced = false;
	if (strcmp(kind, "sonde_settings") == 0)
		set_all(rd, tag);
	reader_saw(rd, time_ns);
	add_event(rd, tag, kind, time_ns);
}

static const struct {
	const char *name;
	void (*visit)(struct experiment_reader *rd, const struct xml_tag *tag);
} elements[] = {
	{ "collector", on_collector },
	{ "cpu", on_cpu },
	{ "event", on_event },
	{ "experiment", set_all },
	{ "field", on_field },
	{ "process", on_process },
	{ "profdata", on_profdata },
	{ "profile", on_profile },
	{ "profpckt", on_profpckt },
	{ "setting", set_all },
	{ "system", on_system },
};

static void
visit_tag(struct experiment_reader *rd, const struct xml_tag *tag)
{
	if (tag->form == XML_CLOSE)
		return;
	for (size_t i = 0; i < ARRAY_LEN(elements); i++)
		if (strcmp(elements[i].name, tag->name) == 0)
			elements[i].visit(rd, tag);
}

int
log_load(struct experiment_reader *rd)
{
	/* gprofng's notes to itself; only few experiments have them */
	(void)reader_tags(rd, "warnings.xml", visit_tag);
	return reader_tags(rd, "log.xml", visit_tag);
}
