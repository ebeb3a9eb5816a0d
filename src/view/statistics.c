/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * The resources that a process used: between the first sample and the last,
 * but for pauses, and from each sample to the next, with <Total> of the profile
 * beside them.
 */
#include "private.h"

#include <inttypes.h>
#include <stddef.h>
#include <string.h>

#define AT(member) offsetof(struct experiment_usage, member)

static const struct figure {
	const char *title;
	size_t offset;
	const char *metric;	/* that says the same in the profile */
} times[] = {
	{ "User CPU", AT(user_ns), "user" },
	{ "System CPU", AT(system_ns), "system" },
	{ "Wait CPU", AT(wait_ns), "wait" },
	{ "User Lock", AT(lock_ns), "lock" },
	{ "Text Page Fault", AT(text_fault_ns), "textpfault" },
	{ "Data Page Fault", AT(data_fault_ns), "datapfault" },
	{ "Sleep", AT(sleep_ns), "sleep" },
	{ "Stopped", AT(stop_ns), "stop" },
}, counts[] = {
	{ "Minor Page Faults", AT(minor_faults), NULL },
	{ "Major Page Faults", AT(major_faults), NULL },
	{ "Input blocks", AT(in_blocks), NULL },
	{ "Output blocks", AT(out_blocks), NULL },
	{ "Voluntary context switches", AT(voluntary), NULL },
	{ "Involuntary context switches", AT(involuntary), NULL },
};

struct span {			/* from one sample to another */
	const struct experiment_sample_record *from, *to;
	struct experiment_sample_record away;	/* what pauses have of it */
	bool is_sum;		/* of several experiments: no one time */
};

static uint64_t
number_at(const struct experiment_sample_record *r, size_t offset)
{
	uint64_t n;

	memcpy(&n, (const char *)&r->use + offset, sizeof n);
	return n;
}

static uint64_t
grown(const struct experiment_sample_record *from,
      const struct experiment_sample_record *to, size_t offset)
{
	const uint64_t before = number_at(from, offset);
	const uint64_t after = number_at(to, offset);

	return after > before ? after - before : 0;
}

static uint64_t
used(const struct span *s, const struct figure *f)
{
	const uint64_t all = grown(s->from, s->to, f->offset);
	const uint64_t away = number_at(&s->away, f->offset);

	return all > away ? all - away : 0;
}

static uint64_t
lasted(const struct span *s)
{
	return s->to->time_ns - s->from->time_ns - s->away.time_ns;
}

/* The numbers of a usage are all alike. */
static void
add_grown(struct experiment_sample_record *sum,
	  const struct experiment_sample_record *from,
	  const struct experiment_sample_record *to)
{
	sum->time_ns += to->time_ns - from->time_ns;
	for (size_t at = 0; at < sizeof sum->use; at += sizeof(uint64_t)) {
		const uint64_t all = number_at(sum, at) + grown(from, to, at);

		memcpy((char *)&sum->use + at, &all, sizeof all);
	}
}

/* Of an experiment with two samples or more. A pause begins with a sample, and
 * the next one is after it. */
static struct span
whole_span(const struct experiment_reader *rd)
{
	const size_t n = experiment_sample_count(rd);
	struct span s = { .from = experiment_sample_at(rd, 0),
			  .to = experiment_sample_at(rd, n - 1) };

	for (size_t i = 1; i < n; i++) {
		const struct experiment_sample_record *from =
			experiment_sample_at(rd, i - 1);

		if (from->label && strcmp(from->label, "collector_pause") == 0)
			add_grown(&s.away, from, experiment_sample_at(rd, i));
	}
	return s;
}

static uint64_t
total_of(const struct span *s)
{
	uint64_t sum = 0;

	for (size_t i = 0; i < ARRAY_LEN(times); i++)
		sum += used(s, &times[i]);
	return sum;
}

/* Of what stands before the values: they fit a narrow terminal, too. */
static int
label_width(const struct viewer *v)
{
	enum { USUAL = 50, NARROW = 40, LONGEST = USUAL + 40 };

	return v->width && v->width < LONGEST ? NARROW : USUAL;
}

static void
print_time(const struct viewer *v, FILE *out, const char *what,
	   const char *metric, uint64_t ns, uint64_t whole,
	   const uint64_t *profile)
{
	const int slot = viewer_slot(v, spec_metric(v, metric));
	const int width = snprintf(NULL, 0, "%.3f", (double)whole / 1e9);

	fprintf(out, "%*s: %*.3f (%5.1f%%)", label_width(v), what, width,
		(double)ns / 1e9,
		whole ? 100 * (double)ns / (double)whole : 0);
	if (slot >= 0)
		fprintf(out, "   <Total> %*.3f", width,
			(double)profile[slot] / 1e9);
	putc('\n', out);
}

static void
print_moment(const struct span *s, const char *what, uint64_t ns, int label,
	     FILE *out)
{
	if (s->is_sum)
		fprintf(out, "%*s: N/A\n", label, what);
	else
		fprintf(out, "%*s: %.3f\n", label, what, (double)ns / 1e9);
}

static void
add_times(const struct viewer *v, const struct span *s,
	  const uint64_t *profile, struct panel *p)
{
	const uint64_t total = total_of(s);

	for (size_t i = 0; i < ARRAY_LEN(times); i++) {
		const int slot = viewer_slot(v, spec_metric(v,
							    times[i].metric));

		fact_time(p, times[i].title, used(s, &times[i]), total);
		if (slot >= 0)
			panel_metric(p, xasprintf("<Total> %s",
						  times[i].title), true,
				     profile[slot], 0);
	}
}

static void
write_facts(const struct viewer *v, const struct span *s,
	    const uint64_t *profile)
{
	struct panel p = { .name = s->to->label };

	panel_text(&p, "Start Label", s->from->label);
	panel_text(&p, "End Label", s->to->label);
	if (!s->is_sum) {
		fact_time(&p, "Start Time", s->from->time_ns, 0);
		fact_time(&p, "End Time", s->to->time_ns, 0);
	}
	fact_time(&p, "Duration", lasted(s), 0);
	fact_time(&p, "Total Thread Time", total_of(s), 0);
	add_times(v, s, profile, &p);
	for (size_t i = 0; i < ARRAY_LEN(counts); i++)
		panel_count(&p, counts[i].title, used(s, &counts[i]));
	facts_write(v, &p);
}

static void
print_span(const struct viewer *v, const struct span *s,
	   const uint64_t *profile, FILE *out)
{
	const uint64_t duration = lasted(s);
	const uint64_t total = total_of(s);
	const int label = label_width(v);

	if (facts_wanted(v)) {
		write_facts(v, s, profile);
		return;
	}
	fprintf(out, "%*s: %s\n", label, "Start Label", s->from->label);
	fprintf(out, "%*s: %s\n", label, "End Label", s->to->label);
	print_moment(s, "Start Time (sec.)", s->from->time_ns, label, out);
	print_moment(s, "End Time (sec.)", s->to->time_ns, label, out);
	fprintf(out, "%*s: %.3f\n", label, "Duration (sec.)",
		(double)duration / 1e9);
	fprintf(out, "%*s: %.3f\n", label, "Total Thread Time (sec.)",
		(double)total / 1e9);
	fprintf(out, "%*s: %.3f\n\n", label, "Average number of Threads",
		duration ? (double)total / (double)duration : 0);
	fprintf(out, "%*s:\n", label, "Process Times (sec.), percent of "
		"Total Thread Time");
	for (size_t i = 0; i < ARRAY_LEN(times); i++)
		print_time(v, out, times[i].title, times[i].metric,
			   used(s, &times[i]), total, profile);
	putc('\n', out);
	for (size_t i = 0; i < ARRAY_LEN(counts); i++)
		fprintf(out, "%*s: %5" PRIu64 "\n", label, counts[i].title,
			used(s, &counts[i]));
}

/* Of these experiments; false where one of them has no two samples. */
bool
usage_of_metric(const struct viewer *v, const struct range *range,
		const struct metric *m, uint64_t *ns)
{
	bool told = false;

	*ns = 0;
	for (size_t e = range->first; e < range->end; e++) {
		const struct experiment_reader *rd =
			profile_experiment(v->prof, e);

		if (experiment_sample_count(rd) < 2)
			return false;

		const struct span span = whole_span(rd);

		for (size_t i = 0; i < ARRAY_LEN(times); i++) {
			const int state = spec_metric(v, times[i].metric);

			if (metric_table[state].values & ~m->values)
				continue;
			told = true;
			*ns += used(&span, &times[i]);
		}
	}
	return told;
}

static void
print_too_few(FILE *out)
{
	fputs("There are no two resource samples to compare.\n\n", out);
}

static void
print_whole(struct viewer *v, size_t e, FILE *out)
{
	const struct experiment_reader *rd = profile_experiment(v->prof, e);
	uint64_t profile[METRIC_MAX];

	if (experiment_sample_count(rd) < 2) {
		print_too_few(out);
		return;
	}

	const struct span span = whole_span(rd);

	experiment_totals(v, e, profile);
	print_span(v, &span, profile, out);
}

static void
print_each(struct viewer *v, size_t e, FILE *out)
{
	const struct experiment_reader *rd = profile_experiment(v->prof, e);
	const size_t samples = experiment_sample_count(rd);
	uint64_t profile[METRIC_MAX];

	if (samples < 2)
		print_too_few(out);
	for (size_t i = 1; i < samples; i++) {
		const struct span span = {
			.from = experiment_sample_at(rd, i - 1),
			.to = experiment_sample_at(rd, i),
		};

		fprintf(out, "Sample Number %zu\n", i);
		profile_period(v->prof, e, i - 1, profile);
		print_span(v, &span, profile, out);
		putc('\n', out);
	}
}

static int
for_each_experiment(struct viewer *v, size_t n, const char *const *words,
		    void (*print)(struct viewer *v, size_t e, FILE *out),
		    FILE *out)
{
	struct range range;

	if (experiments_chosen(v, n, words, &range) < 0)
		return -1;
	for (size_t e = range.first; e < range.end; e++) {
		title_write(v, out, "Experiment: %s", experiment_reader_shown(
				    profile_experiment(v->prof, e)));
		print(v, e, out);
		putc('\n', out);
	}
	return 0;
}

/* What each of them used, in one. */
static void
add_usage(const struct experiment_reader *rd, struct span *sum,
	  struct experiment_sample_record *to)
{
	if (experiment_sample_count(rd) < 2)
		return;

	const struct span one = whole_span(rd);
	const struct experiment_sample_record none = { 0 };

	add_grown(to, one.from, one.to);
	add_grown(&sum->away, &none, &one.away);
}

static void
print_sum(const struct viewer *v, FILE *out)
{
	struct experiment_sample_record none = { .label = "Total" };
	struct experiment_sample_record sum = { .label = "Total" };
	struct span span = { .from = &none, .to = &sum, .is_sum = true };

	for (size_t e = 0; e < profile_experiment_count(v->prof); e++)
		add_usage(profile_experiment(v->prof, e), &span, &sum);
	title_write(v, out, "Sum of the experiments");
	print_span(v, &span, profile_total(v->prof).incl, out);
	putc('\n', out);
}

int
view_statistics(struct viewer *v, size_t n, const char *const *words,
		FILE *out)
{
	if (n == 1 && v->prof && profile_experiment_count(v->prof) > 1)
		print_sum(v, out);
	return for_each_experiment(v, n, words, print_whole, out);
}

int
view_sample_detail(struct viewer *v, size_t n, const char *const *words,
		   FILE *out)
{
	return for_each_experiment(v, n, words, print_each, out);
}
