/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * What it took to read the experiments, since the program began: records,
 * stacks, time, memory. Whoever waits can see for what.
 */
#include "private.h"

#include <inttypes.h>
#include <stdlib.h>
#include <sys/resource.h>
#include <time.h>

static uint64_t
clock_ns(clockid_t clock)
{
	struct timespec t;

	(void)clock_gettime(clock, &t);	/* these two clocks always are */
	return (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec;
}

struct profile *
viewer_read(struct viewer *v, const char *const *paths, size_t n,
	    const struct profile_options *options)
{
	const uint64_t wall = clock_ns(CLOCK_MONOTONIC);
	const uint64_t cpu = clock_ns(CLOCK_PROCESS_CPUTIME_ID);
	struct profile *prof = profile_open(paths, n, options);

	v->reading.count++;
	v->reading.wall_ns += clock_ns(CLOCK_MONOTONIC) - wall;
	v->reading.cpu_ns += clock_ns(CLOCK_PROCESS_CPUTIME_ID) - cpu;
	return prof;
}

static void
count_stack(void *arg, const uint32_t *frames, size_t n,
	    const uint64_t *weight)
{
	(void)frames;
	(void)n;
	(void)weight;
	++*(uint64_t *)arg;
}

static uint64_t
records_of(const struct viewer *v, size_t e)
{
	const struct stack_ends ends = profile_stack_ends(v->prof, e);

	return ends.complete + ends.truncated + ends.failed +
	       ends.artificial + ends.missing + ends.booked;
}

static void
add_seconds(struct panel *p, const char *key, uint64_t ns)
{
	char *text = xasprintf("%.3f", (double)ns / 1e9);

	panel_text(p, key, text);
	free(text);
}

static void
make_panel(void *arg, size_t i, struct panel *p)
{
	struct viewer *v = arg;
	const size_t experiments = profile_experiment_count(v->prof);
	uint64_t records = 0, stacks = 0;
	struct rusage use;

	(void)i;
	for (size_t e = 0; e < experiments; e++)
		records += records_of(v, e);
	profile_stacks(v->prof, count_stack, &stacks);
	p->name = "Processing statistics";
	panel_count(p, "Experiments", experiments);
	panel_count(p, "Records", records);
	panel_count(p, "Distinct stacks", stacks);
	panel_count(p, "Functions", profile_function_count(v->prof));
	panel_count(p, "Times experiments were read", v->reading.count);
	add_seconds(p, "Reading (sec.)", v->reading.wall_ns);
	add_seconds(p, "CPU of reading (sec.)", v->reading.cpu_ns);
	add_seconds(p, "CPU so far (sec.)",
		    clock_ns(CLOCK_PROCESS_CPUTIME_ID));
	if (getrusage(RUSAGE_SELF, &use) == 0)
		panel_count(p, "Most memory (KB)", (uint64_t)use.ru_maxrss);
}

int
view_procstats(struct viewer *v, size_t n, const char *const *words, FILE *out)
{
	if (words_check(n, words, 1) < 0 || viewer_check(v) < 0)
		return -1;
	panels_write(v, NULL, 1, make_panel, v, out);
	return 0;
}

/* Counts of executed instructions come from rewritten programs; neither
 * sonde nor gprofng rewrites any. */
int
view_ifreq(struct viewer *v, size_t n, const char *const *words, FILE *out)
{
	if (words_check(n, words, 1) < 0 || viewer_check(v) < 0)
		return -1;
	fputs("There are no instruction frequencies: nothing was asked to "
	      "count instructions.\n`pcs` shows what single instructions "
	      "cost.\n\n", out);
	return 0;
}
