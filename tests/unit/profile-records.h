/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Five packets of which a test of filters knows all: each weighs one bit of
 * its own, so that a sum tells whose it is.
 */
#ifndef PROFILE_RECORDS_H
#define PROFILE_RECORDS_H

#include "profile.h"
#include "profile-help.h"

#define FRAME(name) \
	__attribute__((noinline, used)) long name(long n); \
	long name(long n) { return n * __LINE__ + (n ? n >> 2 : 1); }
FRAME(outer_one)
FRAME(middle_two)
FRAME(inner_three)
FRAME(lonely_four)

#define PC(function) ((uint64_t)(uintptr_t)(function) + 1)

struct packet {
	uint64_t ms, tid, thread;	/* thread: by first appearance */
	int cpu, state;
	uint64_t pcs[4];		/* ended by 0 */
};
static const struct packet packets[] = {
	{ 10, 700, 1, 0, MSTATE_USER, { PC(inner_three), PC(middle_two),
					PC(outer_one) } },
	{ 20, 500, 2, 3, MSTATE_SYSTEM, { PC(middle_two), PC(outer_one) } },
	{ 30, 700, 1, 1, MSTATE_SLEEP, { PC(lonely_four) } },
	{ 40, 600, 3, 3, MSTATE_USER, { PC(inner_three), PC(outer_one) } },
	{ 50, 500, 2, 0, MSTATE_LOCK, { PC(middle_two), PC(inner_three),
					PC(middle_two) } },
};
enum { PACKETS = ARRAY_LEN(packets), ALL = (1 << PACKETS) - 1 };

static const char *path;
static struct profile *prof;

static void
write_experiment(const struct text *text)
{
	const uint64_t t = now_ns();
	struct experiment *exp = new_experiment(path, t);

	map_text(exp, text, t);
	for (size_t i = 0; i < PACKETS; i++) {
		const struct packet *p = &packets[i];
		size_t n = 0;

		while (n < 4 && p->pcs[n])
			n++;
		experiment_clock(exp, t + p->ms * MS, (pid_t)p->tid, p->cpu,
				 p->state, MS << i,
				 experiment_stack(exp, p->pcs, n,
						  STACK_COMPLETE));
	}
	if (experiment_close(exp, t + 60 * MS, "the test ended it") < 0)
		exit(99);
}

static uint64_t
weight_of(const struct profile *p, const uint64_t *slots)
{
	int metrics[METRIC_MAX];
	const size_t n = profile_metrics(p, metrics);

	for (size_t i = 0; i < n; i++)
		if (!strcmp(metric_table[metrics[i]].name, "total"))
			return slots[i] / MS;
	return 0;
}

/* Which packets an expression comes to this value for, as bits. */
static uint64_t
packets_with(const char *text, uint64_t value)
{
	const struct index_cost *costs;
	const ssize_t n = profile_index(prof, text, NULL, 0, &costs);

	if (n < 0) {
		printf("%s: %s\n", text, fail_last()->reason);
		failures++;
	}
	for (ssize_t i = 0; i < n; i++)
		if (costs[i].index == value)
			return weight_of(prof, costs[i].excl);
	return 0;
}

/* Ends the test where there is none. */
static void
open_records(void)
{
	const struct text text = own_text();
	const char *paths[1];

	make_scratch();
	path = scratch_path("records.er");
	write_experiment(&text);
	paths[0] = path;
	prof = profile_open(paths, 1, NULL);
	if (!prof) {
		printf("%s\n", fail_last()->reason);
		exit(99);
	}
}

static int
close_records(void)
{
	profile_free(prof);
	free((char *)path);
	return failures ? 1 : 0;
}

#endif
