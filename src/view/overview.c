/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Sums of every metric over the experiments, and what the processes used of
 * it by the clocks of the system.
 */
#include "private.h"

#include <inttypes.h>
#include <string.h>
#include <time.h>

static const char *
property(const struct experiment_reader *rd, const char *name)
{
	const char *text = experiment_property(rd, name);

	return text && *text ? text : "(unknown)";
}

static void
print_experiment(const struct experiment_reader *rd, FILE *out)
{
	const time_t start = experiment_wall_start(rd);
	char text[64] = "(unknown)";
	struct tm tm;

	if (start && localtime_r(&start, &tm))
		(void)strftime(text, sizeof text, "%a %b %e %H:%M:%S %Y", &tm);
	fprintf(out, "Experiment      :%s\n", experiment_reader_shown(rd));
	fprintf(out, "  Target        : '%s'\n", property(rd, "command"));
	fprintf(out, "  Host          : %s (%s, %s)\n",
		property(rd, "hostname"), property(rd, "arch"),
		property(rd, "os"));
	fprintf(out, "  Start Time    : %s\n", text);
	fprintf(out, "  Duration      : %.3f Seconds\n\n",
		(double)experiment_duration_ns(rd) / 1e9);
}

static bool
has_column(const struct viewer *v, int metric)
{
	for (size_t i = 0; i < v->columns.len; i++)
		if (v->columns.items[i].metric == metric &&
		    v->columns.items[i].show)
			return true;
	return false;
}

enum { USAGE_COLUMN = 66 };

static void
print_metric(const struct viewer *v, const struct range *range, int metric,
	     uint64_t total, FILE *out)
{
	const struct metric *m = profile_metric(v->prof, metric);
	uint64_t used;
	int width = fprintf(out, "    [%c]%s - %s", has_column(v, metric) ?
			    'X' : ' ', m->title, m->name);

	if (m->is_time)
		width += fprintf(out, " (Seconds): [%.3f]",
				 (double)total / 1e9);
	else
		width += fprintf(out, ": [%" PRIu64 "]", total);
	if (m->is_time && usage_of_metric(v, range, m, &used))
		fprintf(out, "%*s used %.3f", width < USAGE_COLUMN ?
			USAGE_COLUMN - width : 0, "", (double)used / 1e9);
	putc('\n', out);
}

/* What these experiments have of every metric, by slot. */
static void
sum_range(const struct viewer *v, const struct range *range, uint64_t *sum)
{
	const struct cost total = profile_total(v->prof);
	uint64_t part[METRIC_MAX];

	memset(sum, 0, METRIC_MAX * sizeof *sum);
	if (range->end - range->first == profile_experiment_count(v->prof)) {
		memcpy(sum, total.incl, v->slots * sizeof *sum);
		return;
	}
	for (size_t e = range->first; e < range->end; e++) {
		experiment_totals(v, e, part);
		for (size_t s = 0; s < v->slots; s++)
			sum[s] += part[s];
	}
}

static void
print_group(const struct viewer *v, const struct range *range,
	    enum metric_kind kind, const char *title, FILE *out)
{
	uint64_t sum[METRIC_MAX];
	bool any = false;

	sum_range(v, range, sum);
	for (size_t s = 0; s < v->slots; s++) {
		if (profile_metric(v->prof, v->metrics[s])->packet_kind !=
		    kind)
			continue;
		if (!any)
			fprintf(out, "  %s\n", title);
		any = true;
		print_metric(v, range, v->metrics[s], sum[s], out);
	}
}

static void
print_metrics(const struct viewer *v, const struct range *range, FILE *out)
{
	static const struct {
		enum metric_kind kind;
		const char *title;
	} groups[] = {
		{ METRIC_HEAP, "Heap Tracing" },
		{ METRIC_CLOCK, "Clock Profiling" },
		{ METRIC_COUNTER, "Hardware Counters" },
		{ METRIC_SYNC, "Synchronization Tracing" },
		{ METRIC_IO, "IO Tracing" },
	};

	for (size_t g = 0; g < ARRAY_LEN(groups); g++)
		print_group(v, range, groups[g].kind, groups[g].title, out);
}

int
view_overview(struct viewer *v, size_t n, const char *const *words, FILE *out)
{
	uint64_t duration = 0, sum[METRIC_MAX];
	struct range range;

	if (experiments_chosen(v, n, words, &range) < 0)
		return -1;
	fputs("Experiment(s):\n\n", out);
	for (size_t e = range.first; e < range.end; e++) {
		const struct experiment_reader *rd =
			profile_experiment(v->prof, e);

		print_experiment(rd, out);
		facts_experiment(v, e);
		duration += experiment_duration_ns(rd);
	}
	fprintf(out, "Metrics:\n\n  Experiment Duration (Seconds): [%.3f]\n",
		(double)duration / 1e9);
	print_metrics(v, &range, out);
	sum_range(v, &range, sum);
	facts_metrics(v, &range, sum);
	fputs("\n'[X]' has a column now: `metrics` changes that, `metric_list` "
	      "lists all.\n"
	      "[<Total> of the profile] used: by the process, as the system "
	      "counts it, between\nthe first and the last resource sample; "
	      "`statistics` has more of it.\n\n", out);
	return 0;
}
