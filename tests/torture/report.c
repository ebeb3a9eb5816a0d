/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * What came of a situation: a line for a person, and one of words apart by
 * tabs, which results.awk reads.
 */
#include "torture.h"

#include <stdlib.h>

static int
by_value(const void *a, const void *b)
{
	const double x = *(const double *)a, y = *(const double *)b;

	return (x > y) - (x < y);
}

void
count_sort(struct count *c)
{
	qsort(c->stops, c->nstops, sizeof *c->stops, by_value);
}

bool
count_is_bad(const struct count *c)
{
	return c->lost || c->eintr || c->wrong || c->missed || c->unclean ||
		c->standing || c->hung || c->unexpected;
}

void
count_print(const struct situation *s, const struct count *c)
{
	printf("%-22s %3u visits, %3u injected, %3u killed, %3u refused%s; "
	       "lost %u eintr %llu wrong %llu missed %llu%s", s->name,
	       c->visits, c->injected, c->killed, c->refused,
	       c->unexpected ? " (UNEXPECTED)" : "", c->lost,
	       (unsigned long long)c->eintr, (unsigned long long)c->wrong,
	       (unsigned long long)c->missed,
	       c->unclean || c->standing || c->hung ? " NOT AS BEFORE" : "");
	if (c->nstops)
		printf("; stop p50 %.2f max %.2f ms",
		       c->stops[c->nstops / 2], c->stops[c->nstops - 1]);
	if (c->of)
		printf("; others stopped %u of %u", c->others, c->of);
	putchar('\n');
	fflush(stdout);
}

void
count_write(const struct situation *s, const struct count *c, const char *how,
	    const char *out)
{
	FILE *f = out ? fopen(out, "a") : NULL;
	size_t i;

	if (!f)
		return;
	fprintf(f, "%s\t%s\t%u\t%u\t%u\t%u\t%u\t%u\t%llu\t%llu\t%llu\t%u\t%u\t"
		"%u\t%u\t", s->name, how, c->visits, c->injected, c->killed,
		c->refused, c->unexpected, c->lost,
		(unsigned long long)c->eintr, (unsigned long long)c->wrong,
		(unsigned long long)c->missed, c->unclean + c->standing,
		c->hung, c->others, c->of);
	for (i = 0; i < c->nstops; i++)
		fprintf(f, "%s%.3f", i ? "," : "", c->stops[i]);
	fprintf(f, "\t%s\n", c->reason);
	fclose(f);
}

void
visit_print_harm(const struct visit *v, const struct outcome *o)
{
	static const char *const whom[] = {
		[NOBODY] = "nobody", [THE_SHELL] = "the shell",
		[THE_TRACER] = "the tracer", [BOTH] = "both",
	};

	printf("    harmed by seed %u: engine %s%s%s%s%s%s, killed %s after %u "
	       "us of %u\n", v->seed, v->engine, v->states ? ", states" : "",
	       v->creators ? ", creators" : "", v->traced ? ", traced" : "",
	       v->by_shell ? ", by shell" : "", v->stands ? ", standing" : "",
	       whom[v->kill], v->kill_us, o->took_us);
}
