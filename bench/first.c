/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * When an experiment began and when its first clock sample was taken, on the
 * monotonic clock:
 *
 *     first EXP.er
 */
#include <stdio.h>

#include "base.h"
#include "experiment.h"

enum { CLOCK_DATA = 8 };

struct search {
	uint64_t earliest, count;
};

static bool
visit(void *arg, const struct experiment_packet *p)
{
	struct search *s = arg;

	if (p->kind != CLOCK_DATA)
		return true;
	if (s->count++ == 0 || p->time_ns < s->earliest)
		s->earliest = p->time_ns;
	return true;
}

int
main(int argc, char **argv)
{
	struct experiment_reader *rd =
		argc == 2 ? experiment_open(argv[1]) : NULL;
	struct search s = { 0 };

	if (!rd) {
		fprintf(stderr, "first: %s\n", argc == 2 ?
			fail_last()->reason : "usage: first EXP.er");
		return 99;
	}
	experiment_packets(rd, visit, &s);

	const uint64_t start = experiment_start_ns(rd);

	printf("begun %llu\n", (unsigned long long)start);
	printf("samples %llu\n", (unsigned long long)s.count);
	if (s.count)
		printf("first %llu\n",
		       (unsigned long long)(start + s.earliest));
	experiment_reader_free(rd);
	return s.count ? 0 : 1;
}
