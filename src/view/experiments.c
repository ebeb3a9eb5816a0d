/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * The experiments that are looked at: their list, and the words by which
 * other views mean one of them.
 */
#include "private.h"

#include <stdlib.h>
#include <string.h>

static const char *
experiment_pid(const struct viewer *v, size_t e)
{
	const char *pid = experiment_property(profile_experiment(v->prof, e),
					      "pid");

	return pid && *pid ? pid : "(unknown)";
}

int
view_experiments(struct viewer *v, size_t n, const char *const *words,
		 FILE *out)
{
	size_t width = strlen("PID");

	if (words_check(n, words, 1) < 0 || viewer_check(v) < 0)
		return -1;

	const size_t count = profile_experiment_count(v->prof);

	for (size_t e = 0; e < count; e++) {
		const size_t len = strlen(experiment_pid(v, e));

		width = len > width ? len : width;
	}
	fprintf(out, "ID Sel %*s Experiment\n== === ", (int)width, "PID");
	for (size_t i = 0; i < width; i++)
		putc('=', out);
	fputs(" ==========\n", out);
	for (size_t e = 0; e < count; e++)
		fprintf(out, "%2zu yes %*s %s\n", e + 1, (int)width,
			experiment_pid(v, e), experiment_reader_shown(
				profile_experiment(v->prof, e)));
	putc('\n', out);
	return 0;
}

static bool
same_path(const char *a, const char *b)
{
	size_t na = strlen(a), nb = strlen(b);

	while (na > 1 && a[na - 1] == '/')
		na--;
	while (nb > 1 && b[nb - 1] == '/')
		nb--;
	return na == nb && !strncmp(a, b, na);
}

/* Where it is in the list, or the length of that. */
static size_t
find(const struct viewer *v, const char *word)
{
	const size_t count = profile_experiment_count(v->prof);
	long long number;
	size_t e = 0;

	if (str_number(word, 1, (long long)count, &number))
		return (size_t)number - 1;
	while (e < count && !same_path(word, experiment_reader_path(
				profile_experiment(v->prof, e))))
		e++;
	return e;
}

int
experiments_chosen(const struct viewer *v, size_t n, const char *const *words,
		   struct range *range)
{
	if ((n > 2 && words_check(n, words, 2) < 0) || viewer_check(v) < 0)
		return -1;

	const size_t count = profile_experiment_count(v->prof);

	*range = (struct range){ 0, count };
	if (n < 2 || !strcmp(words[1], "all"))
		return 0;
	range->first = find(v, words[1]);
	range->end = range->first + 1;
	if (range->first < count)
		return 0;
	fail(FAIL_USAGE, "%s: there is no experiment %s", words[0], words[1]);
	return fail_remedy("experiment_list numbers them, 1 to %zu; or all",
			   count);
}

void
experiment_totals(const struct viewer *v, size_t e, uint64_t *slots)
{
	const struct thread_cost *threads;
	const size_t n = profile_threads(v->prof, &threads);

	memset(slots, 0, METRIC_MAX * sizeof *slots);
	for (size_t i = 0; i < n; i++)
		for (size_t s = 0; s < v->slots; s++)
			if (threads[i].experiment == e)
				slots[s] += threads[i].excl[s];
}
