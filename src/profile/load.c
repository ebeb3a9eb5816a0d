/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Which experiments a profile is made of: those named, the members of groups
 * (group.c), and the descendants of each. What their logs say is kept with
 * them.
 */
#include "calls.h"
#include "reading.h"

#include <stdlib.h>
#include <string.h>

/* ---- experiments ---------------------------------------------------- */

static void
add_source(struct profile *prof, const struct experiment_reader *reader,
	   const char *founder)
{
	prof->sources = xgrow(prof->sources, &prof->sources_cap,
			      prof->sources_len + 1, sizeof *prof->sources);

	struct source *src = &prof->sources[prof->sources_len++];
	const char *pid = experiment_property(reader, "pid");

	*src = (struct source){
		.reader = reader, .founder = founder, .group = prof->groups,
		.pid = pid ? strtoull(pid, NULL, 10) : 0,
	};
	space_init(&src->space, reader);
	src->object_of = xcalloc(experiment_map_count(reader) + 1,
				 sizeof *src->object_of);
}

/* The time of a descendant goes on from that of its founder. */
static void
add_child(struct profile *prof, const struct experiment_reader *parent,
	  const struct experiment_reader *child, const char *founder)
{
	add_source(prof, child, founder);
	prof->sources[prof->sources_len - 1].since_founder =
		experiment_start_ns(child) - experiment_start_ns(parent);
}

/* `_f1.er` opened by itself: its archives are the founder's. */
static char *
founder_of(const char *path)
{
	const char *slash = strrchr(path, '/');
	const char *name = slash ? slash + 1 : path;

	if (slash && name[0] == '_' && str_ends(name, ".er"))
		return xstrndup(path, (size_t)(slash - path));
	return xstrdup(path);
}

struct founding {
	struct profile *prof;
	const struct experiment_reader *reader;
	const char *founder;
};

static void
add_descendant(void *arg, const struct experiment_reader *child)
{
	const struct founding *f = arg;

	add_child(f->prof, f->reader, child, f->founder);
}

int
load_experiment(struct profile *prof, const char *path)
{
	/* before it is read: what comes meanwhile counts as growth */
	const uint64_t mark = profile_mark(path);
	struct experiment_reader *reader = experiment_open(path);

	if (!reader)
		return -1;
	vec_push(&prof->owned, reader);

	char *founder = founder_of(path);

	profile_watch(prof, founder,
		      strcmp(founder, path) ? profile_mark(founder) : mark);
	free(founder);
	founder = prof->watches[prof->watches_len - 1].path;
	add_source(prof, reader, founder);

	struct founding f = { prof, reader, founder };

	return descendants_each(prof->options.descendants, reader,
				add_descendant, &f);
}

static uint64_t
attr_number(const struct experiment_log_event *ev, const char *name)
{
	const char *text = ev->attr(ev, name);

	return text ? strtoull(text, NULL, 10) : 0;
}

/* An event repeats a cause with its sum so far: the last one counts. */
static void
note_loss(struct source *src, struct profile_loss loss)
{
	for (size_t i = 0; i < src->losses_len; i++)
		if (!strcmp(src->losses[i].cause, loss.cause) &&
		    !strcmp(src->losses[i].detail, loss.detail)) {
			src->losses[i] = loss;
			return;
		}
	src->losses = xgrow(src->losses, &src->losses_cap,
			    src->losses_len + 1, sizeof *src->losses);
	src->losses[src->losses_len++] = loss;
}

static void
on_loss(struct source *src, const struct experiment_log_event *ev)
{
	const char *cause = ev->attr(ev, "cause");
	const char *detail = ev->attr(ev, "detail");

	if (cause)
		note_loss(src, (struct profile_loss){
			.cause = cause, .detail = detail ? detail : "",
			.samples = attr_number(ev, "samples"),
			.weight_ns = attr_number(ev, "weight_ns"),
		});
}

static void
on_thread(struct profile *prof, const struct source *src,
	  const struct experiment_log_event *ev)
{
	const char *name = ev->attr(ev, "name");
	uint64_t i;

	/* "": it was not known any more, or never */
	if (name && map_get(&src->threads, attr_number(ev, "tid"), &i) &&
	    (*name || !prof->threads[i - 1].name))
		prof->threads[i - 1].name = name;
}

/* Those of whom nothing else is told. */
static void
name_others(struct profile *prof, const struct source *src, const char *name)
{
	uint64_t tid, i;
	size_t at = 0;

	while (name && map_next(&src->threads, &at, &tid, &i))
		if (!prof->threads[i - 1].name)
			prof->threads[i - 1].name = name;
}

static void
read_log(struct profile *prof, struct source *src)
{
	const char *usual = NULL;

	for (size_t i = 0; i < experiment_log_count(src->reader); i++) {
		const struct experiment_log_event *ev =
			experiment_log_at(src->reader, i);

		if (!strcmp(ev->kind, "sonde_loss"))
			on_loss(src, ev);
		else if (!strcmp(ev->kind, "sonde_thread"))
			on_thread(prof, src, ev);
		else if (!strcmp(ev->kind, "sonde_threads"))
			usual = ev->attr(ev, "name");
	}
	name_others(prof, src, usual);
}

struct profile *
profile_open(const char *const *paths, size_t n,
	     const struct profile_options *options)
{
	struct profile *prof = xcalloc(1, sizeof *prof);

	if (options)
		prof->options = *options;
	if (filter_init(prof) < 0) {
		profile_free(prof);
		return NULL;
	}
	symbolize_init(prof);
	stacks_init(prof);
	for (size_t i = 0; i < n; i++) {
		prof->groups++;

		const int rc = str_ends(paths[i], ".erg") ?
			load_group(prof, paths[i]) :
			load_experiment(prof, paths[i]);

		if (rc < 0) {
			profile_free(prof);
			return NULL;
		}
	}
	objects_find(prof);
	for (size_t i = 0; i < prof->sources_len; i++)
		births_read(prof, &prof->sources[i]);
	filter_prepare(prof);
	for (size_t i = 0; i < prof->sources_len; i++) {
		read_packets(prof, &prof->sources[i]);
		read_log(prof, &prof->sources[i]);
	}
	metrics_find(prof);
	return prof;
}

static void
source_fini(struct source *src)
{
	space_fini(&src->space);
	map_fini(&src->raw_of);
	free(src->raw);
	map_fini(&src->by_epoch);
	map_fini(&src->threads);
	map_fini(&src->lwps);
	free(src->object_of);
	free(src->losses);
	births_free(src);
	bank_fini(&src->periods);
}

static void
answers_free(struct profile *prof)
{
	struct sums *const sums[] = { &prof->by_function, &prof->by_location,
				      &prof->by_line, &prof->by_object };

	for (size_t i = 0; i < ARRAY_LEN(sums); i++) {
		free(sums[i]->excl);
		free(sums[i]->incl);
		free(sums[i]->present);
	}
	free(prof->total);
	free(prof->function_costs);
	free(prof->location_costs);
	free(prof->line_of);
	free(prof->line_keys);
	free(prof->line_costs);
	free(prof->object_costs);
	listing_free(&prof->listing);
	free(prof->edges);
	free(prof->edge_values);
	free(prof->tree);
	free(prof->tree_values);
	free(prof->thread_costs);
	free(prof->thread_slots);
}

void
profile_free(struct profile *prof)
{
	if (!prof)
		return;
	answers_free(prof);
	filter_free(prof);
	index_free(prof);
	files_free(prof->files);
	for (size_t i = 0; i < prof->sources_len; i++)
		source_fini(&prof->sources[i]);
	free(prof->sources);
	for (size_t i = 0; i < prof->functions_len; i++) {
		free(prof->functions[i].linkage);
		free(prof->functions[i].name);
	}
	free(prof->functions);
	for (uint32_t i = 0; i < prof->objects.len; i++)
		object_free(object_at(prof, i));
	vec_fini(&prof->objects);
	map_fini(&prof->dynamic);
	map_fini(&prof->dynamic_locations);
	map_fini(&prof->unknown_locations);
	map_fini(&prof->stack_of);
	map_fini(&prof->grown_of);
	free(prof->grown);
	free(prof->locations);
	free(prof->frames);
	free(prof->stacks);
	free(prof->threads);
	bank_fini(&prof->stack_values);
	bank_fini(&prof->grown_values);
	bank_fini(&prof->thread_values);
	metrics_free(prof);
	for (size_t i = 0; i < prof->watches_len; i++)
		free(prof->watches[i].path);
	free(prof->watches);
	for (size_t i = 0; i < prof->owned.len; i++)
		experiment_reader_free(prof->owned.items[i]);
	vec_fini(&prof->owned);
	free(prof);
}

size_t
profile_experiment_count(const struct profile *prof)
{
	return prof->sources_len;
}

const struct experiment_reader *
profile_experiment(const struct profile *prof, size_t i)
{
	return prof->sources[i].reader;
}

struct stack_ends
profile_stack_ends(struct profile *prof, size_t experiment)
{
	return prof->sources[experiment].ends;
}

uint64_t
profile_events(const struct profile *prof, size_t experiment,
	       enum metric_kind kind)
{
	enum { MEMORY_COUNTER = 7 };
	const struct source *src = &prof->sources[experiment];

	return src->events[kind] + (kind == METRIC_COUNTER ?
				    src->events[MEMORY_COUNTER] : 0);
}

uint64_t
profile_ignored(const struct profile *prof, size_t experiment)
{
	return prof->sources[experiment].ignored;
}

size_t
profile_losses(struct profile *prof, size_t experiment,
	       const struct profile_loss **out)
{
	*out = prof->sources[experiment].losses;
	return prof->sources[experiment].losses_len;
}
