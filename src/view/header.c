/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * What was recorded, by whom, how, how it ended and what is missing. Whatever
 * makes the numbers of other views less than the truth is said here.
 */
#include "calls.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

static const char *
property(const struct experiment_reader *rd, const char *name)
{
	const char *text = experiment_property(rd, name);

	return text && *text ? text : "(unknown)";
}

static bool
has(const struct experiment_reader *rd, const char *name)
{
	const char *text = experiment_property(rd, name);

	return text && *text;
}

static void
print_seconds(FILE *out, uint64_t ns)
{
	fprintf(out, "%" PRIu64 ".%09" PRIu64, ns / 1000000000u,
		ns % 1000000000u);
}

static void
print_notes(const struct experiment_reader *rd, FILE *out)
{
	char *notes = str_tame_lines(xstrdup(experiment_notes(rd)));

	if (!*notes) {
		free(notes);
		return;
	}
	fprintf(out, "Notes:\n%s%s", notes,
		str_ends(notes, "\n") ? "" : "\n");
	free(notes);
	fputs("============================================================\n",
	      out);
}

static void
print_state(const struct experiment_reader *rd, FILE *out)
{
	if (experiment_finished(rd))
		fprintf(out, "Finished%s%s\n", has(rd, "end") ? ": " : "",
			has(rd, "end") ? property(rd, "end") : "");
	else if (experiment_recording(rd))
		fputs("Still recording: these are the data so far\n", out);
	else
		fputs("Not closed: the recorder was killed; the data up to "
		      "then are here\n", out);
	for (size_t i = 0; i < experiment_warning_count(rd); i++)
		fprintf(out, "Warning: %s\n", experiment_warning(rd, i));
}

/* What the collector said: errors, warnings, comments. */
static void
print_remarks(const struct experiment_reader *rd, FILE *out)
{
	static const struct { const char *kind, *prefix; } kinds[] = {
		{ "cerror", "*** Collector Error: " },
		{ "cwarn", "*** Collector Warning: " },
		{ "comment", "" },
	};
	const char *end = experiment_property(rd, "end");

	for (size_t i = 0; i < experiment_log_count(rd); i++) {
		const struct experiment_log_event *ev =
			experiment_log_at(rd, i);

		/* print_state said that already */
		if (ev->text && end && !strcmp(ev->text, end))
			continue;
		for (size_t k = 0; k < ARRAY_LEN(kinds); k++)
			if (!strcmp(ev->kind, kinds[k].kind) && ev->text &&
			    *ev->text)
				fprintf(out, "%s%s\n", kinds[k].prefix,
					ev->text);
	}
}

static uint64_t
number(const struct experiment_reader *rd, const char *name)
{
	const char *text = experiment_property(rd, name);

	return text ? strtoull(text, NULL, 10) : 0;
}

static void
print_memory(const struct experiment_reader *rd, FILE *out)
{
	const uint64_t pages = number(rd, "npages");
	const uint64_t size = number(rd, "pagesz");

	if (pages && size)
		fprintf(out, "  Memory: %" PRIu64 " pages of %" PRIu64
			" bytes = %" PRIu64 " MB\n", pages, size,
			pages * size >> 20);
}

static void
print_cpus(const struct experiment_reader *rd, FILE *out)
{
	const struct experiment_cpus cpus = experiment_cpus(rd);

	if (!cpus.count)
		return;
	fprintf(out, "  %" PRIu64 " CPU%s", cpus.count,
		cpus.count == 1 ? "" : "s");
	if (cpus.mhz_min != cpus.mhz_max)
		fprintf(out, ", clock speeds from %" PRIu64 " to %" PRIu64
			" MHz", cpus.mhz_min, cpus.mhz_max);
	else if (cpus.mhz_max)
		fprintf(out, ", clock speed %" PRIu64 " MHz", cpus.mhz_max);
	fputs(".\n", out);
}

static void
print_process(const struct experiment_reader *rd, FILE *out)
{
	const char *attached = experiment_property(rd, "attached");

	fprintf(out, "Target command: '%s'\n", property(rd, "command"));
	fprintf(out, "Process pid %s, ppid %s, pgrp %s, sid %s%s\n",
		property(rd, "pid"), property(rd, "ppid"),
		property(rd, "pgrp"), property(rd, "sid"),
		attached && !strcmp(attached, "1") ? " (attached)" : "");
	fprintf(out, "Current working directory: %s\n", property(rd, "cwd"));
	fprintf(out, "Collector version: `%s'; experiment version %s\n",
		property(rd, "collector"), property(rd, "version"));
	fprintf(out, "Host `%s', OS `%s', page size %s, architecture `%s'\n",
		property(rd, "hostname"), property(rd, "os"),
		property(rd, "pagesz"), property(rd, "arch"));
	print_cpus(rd, out);
	print_memory(rd, out);
}

/* Below these waits are only counted. The declaration says what was asked for,
 * negative where it was to be found; our log also what was found. */
static void
print_threshold(const struct experiment_reader *rd, FILE *out)
{
	const char *us = experiment_property(rd, "sync_threshold");
	const double asked = us ? strtod(us, NULL) : 0;
	const char *ns = NULL;

	for (size_t i = 0; i < experiment_log_count(rd); i++) {
		const struct experiment_log_event *ev =
			experiment_log_at(rd, i);

		if (!strcmp(ev->kind, "sonde_calls") && ev->attr(ev, "sync_ns"))
			ns = ev->attr(ev, "sync_ns");
	}
	if (ns || us)
		fprintf(out, ", threshold = %.10g microsecs.%s", ns ?
			strtod(ns, NULL) / 1e3 : asked < 0 ? -asked : asked,
			asked < 0 ? " (calibrated)" : "");
}

/* What was traced, and how many events there are. */
static void
print_traced(const struct viewer *v, size_t e, FILE *out)
{
	static const struct { enum metric_kind kind; const char *title; }
	kinds[] = {
		{ METRIC_SYNC, "Synchronization tracing" },
		{ METRIC_HEAP, "Heap tracing" },
		{ METRIC_IO, "IO tracing" },
		{ METRIC_COUNTER, "Hardware counter profiling" },
	};
	const struct experiment_reader *rd = profile_experiment(v->prof, e);

	const char *bytes = experiment_property(rd, "heap_interval");

	for (size_t i = 0; i < ARRAY_LEN(kinds); i++) {
		if (!experiment_declares(rd, kinds[i].kind))
			continue;
		fprintf(out, "  %s", kinds[i].title);
		if (kinds[i].kind == METRIC_SYNC)
			print_threshold(rd, out);
		fprintf(out, ", %" PRIu64 " events\n",
			profile_events(v->prof, e, kinds[i].kind));
		if (bytes && kinds[i].kind == METRIC_HEAP)
			fprintf(out, "    of blocks that one byte in %s is "
				"of: calls and bytes are estimates\n", bytes);
	}
}

static void
print_collection(const struct viewer *v, size_t e, FILE *out)
{
	const struct experiment_reader *rd = profile_experiment(v->prof, e);
	const char *interval = experiment_property(rd, "interval_us");

	fputs("Data collection parameters:\n", out);
	if (interval)
		fprintf(out, "  Clock-profiling, interval = %.10g microsecs.\n",
			strtod(interval, NULL));
	print_traced(v, e, out);
	if (has(rd, "engine"))
		fprintf(out, "  Engine %s%s%s\n", property(rd, "engine"),
			has(rd, "engine_why") ? ": " : "",
			has(rd, "engine_why") ? property(rd, "engine_why") :
						"");
	if (has(rd, "sample_period"))
		fprintf(out, "  Periodic sampling, %s secs.\n",
			property(rd, "sample_period"));
	if (has(rd, "linetrace"))
		fprintf(out, "  Follow descendant processes from: %s\n",
			property(rd, "linetrace"));
}

/* Pauses as they came; returns how long nothing was recorded. */
static uint64_t
print_pauses(const struct experiment_reader *rd, FILE *out)
{
	uint64_t paused = 0, since = 0;
	bool is_paused = false;

	for (size_t i = 0; i < experiment_log_count(rd); i++) {
		const struct experiment_log_event *ev =
			experiment_log_at(rd, i);
		const char *who = ev->attr(ev, "name");

		if (!strcmp(ev->kind, "pause")) {
			fprintf(out, "Pause (%s): ", who ? who : "unknown");
			since = is_paused ? since : ev->time_ns;
			is_paused = true;
		} else if (!strcmp(ev->kind, "resume")) {
			fputs("Resume: ", out);
			paused += is_paused ? ev->time_ns - since : 0;
			is_paused = false;
		} else {
			continue;
		}
		print_seconds(out, ev->time_ns);
		putc('\n', out);
	}
	return is_paused ? paused + experiment_duration_ns(rd) - since :
			   paused;
}

/* Forks and execs, as gprofng names them. */
static void
print_descendants(const struct experiment_reader *rd, FILE *out)
{
	static const struct { const char *kind, *title; } kinds[] = {
		{ "desc_start", "Starting" }, { "desc_started", "Started" },
		{ "exec_start", "Starting" }, { "exec_error", "Failed" },
	};

	for (size_t i = 0; i < experiment_log_count(rd); i++) {
		const struct experiment_log_event *ev =
			experiment_log_at(rd, i);
		const char *variant = ev->attr(ev, "variant");
		const char *lineage = ev->attr(ev, "lineage");
		const char *msg = ev->attr(ev, "msg");

		for (size_t k = 0; k < ARRAY_LEN(kinds); k++) {
			if (strcmp(ev->kind, kinds[k].kind))
				continue;
			fprintf(out, "%s %s ", kinds[k].title,
				variant ? variant : "exec");
			print_seconds(out, ev->time_ns);
			fprintf(out, "%s%s%s%s%s\n", lineage ? ", exp " : "",
				lineage ? lineage : "", lineage ? ".er" : "",
				msg ? ", " : "", msg ? msg : "");
		}
	}
}

static void
print_start(const struct experiment_reader *rd, FILE *out)
{
	const time_t start = experiment_wall_start(rd);
	char text[64] = "at an unknown time";
	struct tm tm;

	if (start && localtime_r(&start, &tm))
		(void)strftime(text, sizeof text, "%a %b %e %H:%M:%S %Y", &tm);
	fprintf(out, "Experiment started %s\n", text);
}

static void
print_times(const struct experiment_reader *rd, FILE *out)
{
	const uint64_t duration = experiment_duration_ns(rd);
	const uint64_t paused = print_pauses(rd, out);

	fprintf(out, "Experiment %s: ", experiment_finished(rd) ? "Ended" :
								"so far");
	print_seconds(out, duration);
	fputs("\nData Collection Duration: ", out);
	print_seconds(out, paused < duration ? duration - paused : 0);
	putc('\n', out);
}

static void
print_experiment(const struct viewer *v, size_t e, FILE *out)
{
	const struct experiment_reader *rd = profile_experiment(v->prof, e);

	title_write(v, out, "Experiment: %s", experiment_reader_shown(rd));
	print_notes(rd, out);
	print_state(rd, out);
	print_remarks(rd, out);
	putc('\n', out);
	print_process(rd, out);
	print_collection(v, e, out);
	putc('\n', out);
	print_start(rd, out);
	print_descendants(rd, out);
	print_times(rd, out);
	putc('\n', out);
	header_stacks(v, e, out);
	facts_experiment(v, e);
	putc('\n', out);
}

int
view_header(struct viewer *v, size_t n, const char *const *words, FILE *out)
{
	struct range range;

	if (experiments_chosen(v, n, words, &range) < 0)
		return -1;
	for (size_t e = range.first; e < range.end; e++) {
		if (e > range.first)
			fputs("--------------------------------------------"
			      "--------------------\n", out);
		print_experiment(v, e, out);
	}
	return 0;
}
