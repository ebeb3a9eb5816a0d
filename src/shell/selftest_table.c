/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * What selftest has found, as a table; and was it harm?
 */
#include "config.h"
#include "private.h"
#include "selftest.h"

#include <stdlib.h>
#include <sys/utsname.h>

/* Not every build knows all of them. */
const char *const selftest_engines[] = { "ring", "inject", "remote" };
const char *const selftest_programs[] = { "threads", "alone" };

static int
by_value(const void *a, const void *b)
{
	const double x = *(const double *)a, y = *(const double *)b;

	return (x > y) - (x < y);
}

static void
print_row(struct selftest *t, const char *program, const char *engine,
	  struct row *row)
{
	FILE *out = t->sh->out;

	if (!row->cycles && !row->refused)
		return;
	fprintf(out, "%-8s  %-7s  %6u  %7u  %7llu", program, engine,
		row->cycles + row->refused, row->refused,
		(unsigned long long)row->samples);
	if (row->nstops) {
		qsort(row->stops, row->nstops, sizeof *row->stops, by_value);
		fprintf(out, "  %8.2f  %8.2f", row->stops[row->nstops / 2],
			row->stops[row->nstops - 1]);
	}
	fputc('\n', out);
}

static void
print_if_refused(struct selftest *t, const char *program, const char *engine,
		 struct row *row)
{
	FILE *out = t->sh->out;

	if (row->reason)
		fprintf(out, "no  %s, %s: %s\n", program, engine, row->reason);
	if (row->reason && *row->remedy)
		fprintf(out, "      fix: %s\n", row->remedy);
	if (row->unclean)
		fprintf(out, "no  %s, %s: %s\n", program, engine,
			row->unclean);
}

static void
print_missing(void *arg, bool ok, const char *subject, const char *text)
{
	const struct shell *sh = arg;

	if (!ok)
		fprintf(sh->out, "no  %s: %s\n", subject, text);
}

static void
each_row(struct selftest *t,
	 void (*visit_row)(struct selftest *t, const char *program,
			   const char *engine, struct row *row))
{
	for (size_t i = 0; i < SELFTEST_PROGRAMS; i++)
		for (size_t k = 0; k < SELFTEST_ENGINES; k++)
			visit_row(t, selftest_programs[i], selftest_engines[k],
				  &t->rows[i][k]);
}

void
selftest_print(struct selftest *t)
{
	FILE *out = t->sh->out;
	struct utsname host;

	if (uname(&host) == 0)
		fprintf(out, "sonde %s on %s %s, %s\n\n", VERSION,
			host.sysname, host.release, host.machine);
	fprintf(out, "program   engine   cycles  refused  samples  longest "
		"stop, ms: p50, max\n");
	each_row(t, print_row);
	fprintf(out, "\nvictims lost %u, EINTR %llu, wrong results %llu, "
		"missed signals %llu\n", t->lost,
		(unsigned long long)t->eintr, (unsigned long long)t->wrong,
		(unsigned long long)t->missed);
	fprintf(out, "\nnot available here:\n");
	each_row(t, print_if_refused);
	(void)session_doctor(0, print_missing, t->sh);
}

bool
selftest_was_harm(const struct selftest *t)
{
	bool harm = t->lost || t->eintr || t->wrong || t->missed;

	for (size_t i = 0; i < SELFTEST_PROGRAMS; i++)
		for (size_t k = 0; k < SELFTEST_ENGINES; k++)
			harm |= t->rows[i][k].unclean != NULL;
	return harm;
}
