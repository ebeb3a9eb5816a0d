/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * What header and overview tell, as names and values: for formats that are
 * for programs, which need exact numbers and no sentences.
 */
#include "report.h"

#include <stdlib.h>
#include <string.h>

bool
facts_wanted(const struct viewer *v)
{
	return v->report && v->report->writer->panel;
}

void
facts_write(const struct viewer *v, struct panel *p)
{
	(void)report_panel(v->report, p);
	panel_fini(p);
}

void
fact_time(struct panel *p, const char *key, uint64_t ns, uint64_t whole)
{
	panel_metric(p, xstrdup(key), true, ns, whole);
}

static void
add_properties(struct panel *p, const struct experiment_reader *rd)
{
	static const struct { const char *key, *property; } texts[] = {
		{ "Command", "command" }, { "PID", "pid" },
		{ "Directory", "cwd" }, { "Collector", "collector" },
		{ "Host", "hostname" }, { "Architecture", "arch" },
		{ "System", "os" }, { "Engine", "engine" },
		{ "Interval (us)", "interval_us" }, { "End", "end" },
	};

	for (size_t i = 0; i < ARRAY_LEN(texts); i++)
		panel_text(p, texts[i].key,
			   experiment_property(rd, texts[i].property));
}

static void
add_losses(struct panel *p, const struct viewer *v, size_t e)
{
	const struct profile_loss *losses;
	const size_t n = profile_losses(v->prof, e, &losses);

	for (size_t i = 0; i < n; i++) {
		char *key = xasprintf("Lost: %s%s%s", losses[i].cause,
				      *losses[i].detail ? ": " : "",
				      losses[i].detail);

		panel_count(p, key, losses[i].samples);
		fact_time(p, key, losses[i].weight_ns, 0);
		free(key);
	}
}

static void
add_children(struct panel *p, const struct experiment_reader *rd)
{
	for (size_t i = 0; i < experiment_log_count(rd); i++) {
		const struct experiment_log_event *ev =
			experiment_log_at(rd, i);
		const char *us = strcmp(ev->kind, "sonde_children") ? NULL :
			ev->attr(ev, "untold_us");

		if (us)
			fact_time(p, "Not recorded: children",
				  strtoull(us, NULL, 10) * 1000, 0);
	}
}

void
facts_experiment(const struct viewer *v, size_t e)
{
	const struct experiment_reader *rd = profile_experiment(v->prof, e);
	const struct stack_ends ends = profile_stack_ends(v->prof, e);
	struct panel p = { .name = experiment_reader_path(rd) };

	if (!facts_wanted(v))
		return;
	add_properties(&p, rd);
	panel_text(&p, "State", experiment_finished(rd) ? "finished" :
		   experiment_recording(rd) ? "recording" : "not closed");
	panel_count(&p, "Start (seconds since 1970)",
		    (uint64_t)experiment_wall_start(rd));
	fact_time(&p, "Duration", experiment_duration_ns(rd), 0);
	panel_count(&p, "Samples", ends.complete + ends.truncated +
		    ends.failed + ends.artificial + ends.missing -
		    ends.traced);
	panel_count(&p, "Complete stacks", ends.complete);
	panel_count(&p, "Truncated stacks", ends.truncated);
	panel_count(&p, "Failed stacks", ends.failed);
	panel_count(&p, "Missing stacks", ends.missing);
	add_losses(&p, v, e);
	add_children(&p, profile_experiment(v->prof, e));
	if (experiment_damaged_count(rd))
		panel_list(&p, "Damaged files");
	for (size_t i = 0; i < experiment_damaged_count(rd); i++)
		panel_item(&p, experiment_damaged(rd, i));
	facts_write(v, &p);
}

void
facts_metrics(const struct viewer *v, const struct range *range,
	      const uint64_t *sums)
{
	struct panel p = { .name = "Metrics" };
	uint64_t used;

	if (!facts_wanted(v))
		return;
	for (size_t s = 0; s < v->slots; s++) {
		const struct metric *m = profile_metric(v->prof,
							v->metrics[s]);

		panel_metric(&p, xstrdup(m->name), m->is_time, sums[s], 0);
		if (!m->is_time || !usage_of_metric(v, range, m, &used))
			continue;
		panel_metric(&p, xasprintf("%s used", m->name), true, used, 0);
	}
	facts_write(v, &p);
}
