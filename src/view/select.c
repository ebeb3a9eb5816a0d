/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Selections of samples, threads, LWPs and CPUs, in the way of older tools:
 *
 *     selection := part { '+' part }
 *     part      := [ list ':' ] list        experiments, then what of them
 *     list      := all | number [ '-' number ] { ',' ... }
 *
 * A selection of some experiments leaves the others out, whatever they had
 * selected; those that come back have all. A selection is an expression that
 * joins the filter.
 */
#include "private.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

static const struct {
	const char *name;	/* sample_list, sample_select */
	const char *field;
} kinds[SELECTIONS] = {
	[SELECT_SAMPLES] = { "sample", "SAMPLE" },
	[SELECT_THREADS] = { "thread", "THRID" },
	[SELECT_LWPS] = { "lwp", "LWPID" },
	[SELECT_CPUS] = { "cpu", "CPUID" },
};

/* ---- what is selected ------------------------------------------------- */

static void
selections_fini(struct selections *s)
{
	for (size_t i = 0; i < s->len; i++)
		for (size_t k = 0; k < SELECTIONS; k++)
			free(s->items[i].ranges[k].items);
	free(s->items);
	*s = (struct selections){0};
}

void
selection_forget(struct viewer *v)
{
	selections_fini(&v->selections);
}

static const struct selected *
selected_of(const struct viewer *v, size_t experiment)
{
	static const struct selected all;

	return experiment < v->selections.len ?
		&v->selections.items[experiment] : &all;
}

static void
copy_ranges(struct ranges *to, const struct ranges *from)
{
	for (size_t i = 0; i < from->len; i++)
		ranges_add(to, from->items[i]);
}

struct part {
	struct ranges experiments, numbers;
};

struct parts {
	struct part *items;
	size_t len, cap;
};

static void
parts_fini(struct parts *p)
{
	for (size_t i = 0; i < p->len; i++) {
		free(p->items[i].experiments.items);
		free(p->items[i].numbers.items);
	}
	free(p->items);
}

static bool
take_part(const char **at, struct part *part)
{
	if (!ranges_take(at, &part->numbers))
		return false;
	if (**at == ':') {
		++*at;
		part->experiments = part->numbers;
		part->numbers = (struct ranges){0};
		if (!ranges_take(at, &part->numbers))
			return false;
	}
	return !**at || **at == '+';
}

static bool
parse(const char *text, struct parts *p)
{
	for (const char *at = text;; at++) {
		p->items = xgrow(p->items, &p->cap, p->len + 1,
				 sizeof *p->items);
		p->items[p->len++] = (struct part){0};
		if (!take_part(&at, &p->items[p->len - 1]))
			return false;
		if (!*at)
			return true;
	}
}

/* The last part that speaks of an experiment counts. */
static const struct part *
part_of(const struct parts *p, size_t experiment)
{
	for (size_t i = p->len; i-- > 0;)
		if (ranges_have(&p->items[i].experiments, experiment))
			return &p->items[i];
	return NULL;
}

/* Who stays keeps what else was selected; who comes back has all. */
static struct selections
changed(const struct viewer *v, enum selection kind, const struct parts *p)
{
	const size_t n = profile_experiment_count(v->prof);
	struct selections to = { .items = xcalloc(n + 1, sizeof *to.items),
				 .len = n };

	for (size_t i = 0; i < n; i++) {
		const struct selected *old = selected_of(v, i);
		const struct part *part = part_of(p, i + 1);

		to.items[i].is_out = !part;
		for (size_t k = 0; part && !old->is_out && k < SELECTIONS; k++)
			if (k != kind)
				copy_ranges(&to.items[i].ranges[k],
					    &old->ranges[k]);
		if (part)
			copy_ranges(&to.items[i].ranges[kind], &part->numbers);
	}
	return to;
}

/* ---- as an expression -------------------------------------------------- */

static void
add_ranges(struct str *out, const char *field, const struct ranges *r)
{
	str_add(out, "(");
	for (size_t i = 0; i < r->len; i++) {
		const struct numbers *range = &r->items[i];

		str_add(out, i ? " || " : "");
		if (range->first == range->last)
			str_addf(out, "%s==%" PRIu64, field, range->first);
		else
			str_addf(out, "(%s>=%" PRIu64 " && %s<=%" PRIu64 ")",
				 field, range->first, field, range->last);
	}
	str_add(out, ")");
}

/* What it asks of the records of one experiment; "1": nothing. */
static char *
expression_of(const struct selected *s)
{
	struct str text = {0};

	if (s->is_out)
		return xstrdup("0");
	for (size_t k = 0; k < SELECTIONS; k++) {
		if (!s->ranges[k].len)
			continue;
		str_add(&text, text.len ? " && " : "");
		add_ranges(&text, kinds[k].field, &s->ranges[k]);
	}
	return text.len ? str_take(&text) : xstrdup("1");
}

/* One after the other: EXPID==1 ? ... : EXPID==2 ? ... : 1. Experiments that
 * stand side by side and ask the same are asked for once. */
char *
selection_expression(const struct viewer *v)
{
	struct str text = {0};
	bool any = false;

	for (size_t i = 0; i < v->selections.len;) {
		char *mine = expression_of(&v->selections.items[i]);
		size_t end = i + 1;

		for (; end < v->selections.len; end++) {
			char *next = expression_of(&v->selections.items[end]);
			const bool same = strcmp(mine, next) == 0;

			free(next);
			if (!same)
				break;
		}
		any |= strcmp(mine, "1") != 0;
		str_addf(&text, "%sEXPID<=%zu && (%s)", i ? " || " : "", end,
			 mine);
		if (i)
			str_addf(&text, " && EXPID>%zu", i);
		free(mine);
		i = end;
	}
	if (v->selections.len)
		str_addf(&text, " || EXPID>%zu", v->selections.len);
	if (any)
		return str_take(&text);
	str_fini(&text);
	return NULL;
}

/* ---- commands --------------------------------------------------------- */

static void
add_column(struct table *t, const char *heading, const char *key,
	   enum cell_kind kind)
{
	table_column(t, (struct column){ .heading = xstrdup(heading),
			 .key = key, .kind = kind, .show = SHOW_VALUE });
}

static size_t
total_of(const struct profile_population *p, enum selection kind)
{
	const size_t totals[SELECTIONS] = {
		[SELECT_SAMPLES] = p->samples, [SELECT_THREADS] = p->threads,
		[SELECT_LWPS] = p->lwps, [SELECT_CPUS] = p->cpus,
	};

	return totals[kind];
}

static void
write_list(struct viewer *v, enum selection kind, FILE *out)
{
	struct table t = { .color = v->color, .v = v };
	const size_t n = profile_experiment_count(v->prof);

	add_column(&t, "Exp", "experiment", CELL_COUNT);
	add_column(&t, "Sel", "selected", CELL_TEXT);
	add_column(&t, "Total", "total", CELL_COUNT);
	for (size_t i = 0; i < n; i++) {
		const struct selected *s = selected_of(v, i);
		const struct profile_population p =
			profile_population(v->prof, i);
		const struct row *row = table_row(&t, "");

		table_cell(&t, row, 0)->value = i + 1;
		table_cell(&t, row, 1)->text = s->is_out ? xstrdup("none") :
			ranges_text(&s->ranges[kind]);
		table_cell(&t, row, 2)->value = total_of(&p, kind);
	}
	table_write(&t, 0, out);
	table_fini(&t);
}

static enum selection
kind_of(const char *command)
{
	enum selection kind = 0;

	while (!str_starts(command, kinds[kind].name))
		kind++;
	return kind;
}

int
view_select_list(struct viewer *v, size_t n, const char *const *words,
		 FILE *out)
{
	if (words_check(n, words, 1) < 0 || viewer_check(v) < 0)
		return -1;
	write_list(v, kind_of(words[0]), out);
	return 0;
}

static int
bad_selection(const char *command, const char *text)
{
	fail(FAIL_USAGE, "%s: '%s' is no selection", command, text);
	return fail_remedy("numbers, perhaps of experiments: %s 1-4,9; "
			   "%s 1:1-4+2:5,6; %s all", command, command,
			   command);
}

/* A number that no experiment has is a mistake. */
static int
check_experiments(const struct viewer *v, const char *command,
		  const struct parts *p)
{
	const size_t n = profile_experiment_count(v->prof);

	for (size_t i = 0; i < p->len; i++) {
		const struct ranges *r = &p->items[i].experiments;
		const uint64_t last = r->len ? r->items[r->len - 1].last : 1;

		if (last <= n && (!r->len || r->items[0].first > 0))
			continue;
		fail(FAIL_USAGE, "%s: there is no experiment %" PRIu64,
		     command, last <= n ? 0 : last);
		return fail_remedy("experiment_list shows their numbers");
	}
	return 0;
}

static int
select_now(struct viewer *v, enum selection kind, const struct parts *p)
{
	const struct selections before = v->selections;

	v->selections = changed(v, kind, p);
	if (viewer_reload(v) == 0) {
		selections_fini(&(struct selections){ before.items,
						      before.len });
		return 0;
	}
	selections_fini(&v->selections);
	v->selections = before;
	return -1;
}

int
view_select(struct viewer *v, size_t n, const char *const *words, FILE *out)
{
	const enum selection kind = kind_of(words[0]);
	struct parts p = {0};
	int rc = 0;

	if (viewer_check(v) < 0 || (n > 1 && words_check(n, words, 2) < 0))
		return -1;
	if (n > 1) {
		rc = !parse(words[1], &p) ?
			bad_selection(words[0], words[1]) :
			check_experiments(v, words[0], &p);
		if (rc == 0)
			rc = select_now(v, kind, &p);
		parts_fini(&p);
	}
	if (rc == 0)
		write_list(v, kind, out);
	return rc;
}
