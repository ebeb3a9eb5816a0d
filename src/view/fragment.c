/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * A fragment of stacks that the user puts together: functions of which each
 * calls the next. Shown are, of all stacks that hold it, who called its first
 * function, what its last one spent itself, and whom that called. Functions
 * are kept by what they are, not by number: the fragment outlives settings
 * that make the profile be read again.
 */
#include "private.h"

#include <stdlib.h>
#include <string.h>

struct fragment_part {
	char *object, *linkage;
	uint64_t start;
};

enum { FUNCTION_NONE = UINT32_MAX };

static struct fragment_part
part_of(struct viewer *v, uint32_t function)
{
	const struct profile_function *fn = profile_function(v->prof,
							     function);

	return (struct fragment_part){ xstrdup(fn->object->path),
				       xstrdup(fn->linkage), fn->start };
}

static void
part_fini(struct fragment_part *part)
{
	free(part->object);
	free(part->linkage);
}

static uint32_t
find_part(struct viewer *v, const struct fragment_part *part)
{
	const size_t n = profile_function_count(v->prof);

	for (uint32_t i = 0; i < n; i++) {
		const struct profile_function *fn = profile_function(v->prof,
								     i);

		if (fn->start == part->start &&
		    !strcmp(fn->linkage, part->linkage) &&
		    !strcmp(fn->object->path, part->object))
			return i;
	}
	return FUNCTION_NONE;
}

void
fragment_free(struct viewer *v)
{
	for (size_t i = 0; i < v->fragment_len; i++)
		part_fini(&v->fragment[i]);
	free(v->fragment);
	v->fragment = NULL;
	v->fragment_len = v->fragment_cap = 0;
}

/* ---- the report ------------------------------------------------------ */

struct showing {
	struct viewer *v;
	struct specs specs;
	struct sort sort;
	struct table table;
};

static void
add_heading(struct showing *s, const char *name)
{
	table_row(&s->table, name)->kind = ROW_HEADING;
}

static struct item *
side_items(struct viewer *v, const struct profile_neighbour *side, size_t n)
{
	struct item *items = xcalloc(n + 1, sizeof *items);

	for (size_t i = 0; i < n; i++)
		items[i] = (struct item){
			.name = (char *)viewer_name(v, side[i].function),
			.cost = { side[i].value, side[i].value },
			.function = profile_function(v->prof,
						     side[i].function),
		};
	return items;
}

static void
add_side(struct showing *s, const struct profile_neighbour *side, size_t n,
	 const char *heading, const char *none)
{
	struct item *items = side_items(s->v, side, n);

	add_heading(s, n ? heading : none);
	items_sort(s->v, &s->sort, items, n, n);
	for (size_t i = 0; i < n; i++)
		table_cost(&s->table, s->v, &s->specs,
			   table_row(&s->table, items[i].name),
			   &items[i].cost, items[i].function);
	free(items);
}

static const char *
name_of(struct viewer *v, const struct fragment_part *part, uint32_t function)
{
	return function == FUNCTION_NONE ? part->linkage :
					   viewer_name(v, function);
}

const char *
fragment_name(struct viewer *v, size_t i)
{
	return name_of(v, &v->fragment[i], find_part(v, &v->fragment[i]));
}

static bool
is_nothing(const struct viewer *v, const struct profile_fragment *f)
{
	for (size_t i = 0; i < v->slots; i++)
		if (f->cost.incl[i])
			return false;
	return !f->callers_len && !f->callees_len;
}

static void
add_run(struct showing *s, const uint32_t *run,
	const struct profile_fragment *f)
{
	struct viewer *v = s->v;
	const size_t last = v->fragment_len - 1;

	add_heading(s, "Stack Fragment");
	for (size_t i = 0; i < last; i++)
		table_row(&s->table, name_of(v, &v->fragment[i], run[i]))
			->kind = ROW_NAME;

	struct row *row = table_row(&s->table, name_of(v, &v->fragment[last],
						       run[last]));

	row->no_percent = run[last] == FUNCTION_TOTAL;
	row->kind = is_nothing(v, f) ? ROW_NAME : ROW_VALUES;
	table_cost(&s->table, v, &s->specs, row,
		   &(struct cost){ f->cost.excl, f->cost.excl },
		   run[last] == FUNCTION_NONE ? NULL :
		   profile_function(v->prof, run[last]));
}

/* Of <Total> percent are of what its callees sum up to. */
static void
sum_callees(const struct viewer *v, const struct profile_fragment *f,
	    uint64_t *whole)
{
	for (size_t s = 0; s < v->slots; s++) {
		whole[s] = 0;
		for (size_t i = 0; i < f->callees_len; i++)
			whole[s] += f->callees[i].value[s];
	}
}

static void
write_fragment(struct viewer *v, const uint32_t *run,
	       const struct profile_fragment *f, FILE *out)
{
	struct showing s = { .v = v, .specs = specs_folded(v, ATTRIBUTED),
			     .sort = sort_flavored(v, ATTRIBUTED),
			     .table = { .color = v->color } };
	const bool is_total = v->fragment_len == 1 && run[0] == FUNCTION_TOTAL;
	char *by = sort_title(v, &s.sort);
	uint64_t whole[METRIC_MAX];

	sum_callees(v, f, whole);
	title_write(v, out, "Callers and callees sorted by metric: %s", by);
	putc('\n', out);
	table_columns(&s.table, v, &s.specs, is_total ? whole : f->cost.incl);
	add_side(&s, f->callers, f->callers_len, "Callers", "No Callers");
	add_run(&s, run, f);
	add_side(&s, f->callees, f->callees_len, "Callees", "No Callees");
	table_write(&s.table, 0, out);
	putc('\n', out);
	if (v->format == VIEW_TEXT && is_nothing(v, f))
		fputs("No stack holds these functions one after the other; "
		      "crmfirst and crmlast\ntake one away.\n\n", out);
	free(by);
	table_fini(&s.table);
	specs_fini(&s.specs);
}

/* It is the same thing in each experiment, whatever it is called there. */
static void
gather_fragment(struct viewer *v, const uint32_t *run,
		const struct profile_fragment *f)
{
	const size_t last = v->fragment_len - 1;
	struct item *callers = side_items(v, f->callers, f->callers_len);
	struct item *callees = side_items(v, f->callees, f->callees_len);
	const struct item item = {
		.name = (char *)name_of(v, &v->fragment[last], run[last]),
		.key = (char *)"fragment", .cost = f->cost,
		.function = run[last] != FUNCTION_TOTAL ? NULL :
			profile_function(v->prof, FUNCTION_TOTAL),
	};

	compare_gather_fragment(v, &item, callers, f->callers_len, callees,
				f->callees_len);
	free(callers);
	free(callees);
}

int
view_fragment(struct viewer *v, size_t n, const char *const *words, FILE *out)
{
	uint32_t *run = xcalloc(v->fragment_len, sizeof *run);

	(void)n;
	(void)words;
	for (size_t i = 0; i < v->fragment_len; i++)
		run[i] = find_part(v, &v->fragment[i]);

	struct profile_fragment *f = profile_fragment(v->prof, run,
						      v->fragment_len);

	if (compare_gathers(v))
		gather_fragment(v, run, f);
	else
		write_fragment(v, run, f, out);
	profile_fragment_free(f);
	free(run);
	return 0;
}

static int
show(struct viewer *v, FILE *out)
{
	static const struct view report = { .name = "fragment",
					    .run = view_fragment };

	return compare_run(v, &report, 1, &report.name, out);
}

/* ---- commands -------------------------------------------------------- */

enum end { FIRST, LAST };

static void
add_part(struct viewer *v, enum end end, struct fragment_part part)
{
	v->fragment = xgrow(v->fragment, &v->fragment_cap,
			    v->fragment_len + 1, sizeof *v->fragment);

	const size_t at = end == FIRST ? 0 : v->fragment_len;

	memmove(&v->fragment[at + 1], &v->fragment[at],
		(v->fragment_len - at) * sizeof *v->fragment);
	v->fragment[at] = part;
	v->fragment_len++;
}

static int
lengthen(struct viewer *v, enum end end, size_t n, const char *const *words,
	 FILE *out)
{
	uint32_t function;

	if (viewer_choose(v, n, words, &function) < 0)
		return -1;
	add_part(v, end, part_of(v, function));
	return show(v, out);
}

static int
shorten(struct viewer *v, enum end end, size_t n, const char *const *words,
	FILE *out)
{
	if (words_check(n, words, 1) < 0 || viewer_check(v) < 0)
		return -1;
	if (v->fragment_len < 2) {
		fail(FAIL_USAGE, v->fragment_len ?
		     "%s: the fragment is one function, which stays" :
		     "%s: there is no fragment", words[0]);
		return fail_remedy("csingle NAME begins a new one");
	}

	const size_t at = end == FIRST ? 0 : v->fragment_len - 1;

	part_fini(&v->fragment[at]);
	v->fragment_len--;
	memmove(&v->fragment[at], &v->fragment[at + 1],
		(v->fragment_len - at) * sizeof *v->fragment);
	return show(v, out);
}

int
view_csingle(struct viewer *v, size_t n, const char *const *words, FILE *out)
{
	uint32_t function;

	if (viewer_choose(v, n, words, &function) < 0)
		return -1;
	fragment_free(v);
	add_part(v, FIRST, part_of(v, function));
	return show(v, out);
}

int
view_cprepend(struct viewer *v, size_t n, const char *const *words, FILE *out)
{
	return lengthen(v, FIRST, n, words, out);
}

int
view_cappend(struct viewer *v, size_t n, const char *const *words, FILE *out)
{
	return lengthen(v, LAST, n, words, out);
}

int
view_crmfirst(struct viewer *v, size_t n, const char *const *words, FILE *out)
{
	return shorten(v, FIRST, n, words, out);
}

int
view_crmlast(struct viewer *v, size_t n, const char *const *words, FILE *out)
{
	return shorten(v, LAST, n, words, out);
}
