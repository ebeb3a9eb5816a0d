/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * The metric grammar: columns as people write them, and back again.
 *
 *     spec    := keyword { ':' keyword } | default
 *     keyword := [flavor+ visibility+] name  |  [visibility+] name|size|address
 *     flavor  := e exclusive | i inclusive | a attributed
 *     visibility := . time | + count | % percent of the total | ! hidden
 */
#include "private.h"

#include <stdlib.h>
#include <string.h>

static const struct {
	const char *name, *title;
	enum flavor flavor;
} static_columns[] = {
	{ "name", "Name", STATIC_NAME },
	{ "size", "Size", STATIC_SIZE },
	{ "address", "PC Address", STATIC_ADDRESS },
};

static const char *const flavor_titles[] = { "Exclusive", "Inclusive",
					     "Attributed" };
static const char flavor_letters[] = "eia";

void
specs_fini(struct specs *s)
{
	free(s->items);
	*s = (struct specs){0};
}

bool
spec_same(const struct spec *a, const struct spec *b)
{
	return a->flavor == b->flavor && a->metric == b->metric;
}

void
specs_add(struct specs *s, struct spec spec)
{
	for (size_t i = 0; i < s->len; i++)
		if (spec_same(&s->items[i], &spec))
			return;
	s->items = xgrow(s->items, &s->cap, s->len + 1, sizeof *s->items);
	s->items[s->len++] = spec;
}

void
specs_add_name(struct specs *s)
{
	specs_add(s, (struct spec){ STATIC_NAME, -1, SHOW_VALUE });
}

/* ---- reading a spec ------------------------------------------------- */

int
spec_metric(const struct viewer *v, const char *name)
{
	const struct metric *m;

	for (int i = 0; (m = profile_metric(v->prof, i)); i++)
		if (!strcmp(m->name, name) ||
		    (m->alias && !strcmp(m->alias, name)))
			return i;
	return -1;
}

/* `wall` was of the older generation. */
static int
no_such_metric(const char *name)
{
	if (!strcmp(name, "wall")) {
		fail(FAIL_USAGE, "there is no metric wall, the time of the "
		     "first thread");
		return fail_remedy("`metrics e.total` with `filters 'THRID == "
				   "1'` shows that time");
	}
	fail(FAIL_USAGE, "there is no metric %s", name);
	return fail_remedy("`metric_list` shows what there is");
}

static int
no_data(const char *name)
{
	fail(FAIL_USAGE, "the experiment has no data for the metric %s", name);
	return fail_remedy("`metric_list` shows what there is");
}

static int
bad_spec(const char *word)
{
	fail(FAIL_USAGE, "%s is not a metric specification", word);
	return fail_remedy("write it as in `metrics e.%%totalcpu:i.user:name`; "
			   "`metric_list` shows the metrics");
}

struct keyword {
	char flavors[8];
	unsigned show;
	bool hidden, visible;	/* some visibility was given */
	const char *name;
};

static bool
split_keyword(const char *word, struct keyword *k)
{
	const size_t flavors = strspn(word, flavor_letters);
	const size_t visible = strspn(word + flavors, ".+%!");

	*k = (struct keyword){ .name = word };
	if (!visible)
		return true;
	if (flavors >= sizeof k->flavors)
		return false;
	memcpy(k->flavors, word, flavors);
	k->visible = true;
	for (const char *c = word + flavors; c < word + flavors + visible; c++)
		if (*c == '!')
			k->hidden = true;
		else
			k->show |= *c == '%' ? SHOW_PERCENT : SHOW_VALUE;
	if (k->hidden)
		k->show = 0;
	k->name = word + flavors + visible;
	return true;
}

static bool
add_static(struct specs *s, const struct keyword *k)
{
	for (size_t i = 0; i < ARRAY_LEN(static_columns); i++) {
		if (strcmp(static_columns[i].name, k->name))
			continue;
		specs_add(s, (struct spec){ static_columns[i].flavor, -1,
				      k->hidden ? 0 : SHOW_VALUE });
		return true;
	}
	return false;
}

static int
add_metric(const struct viewer *v, struct specs *s, const struct keyword *k,
	   int metric)
{
	for (const char *f = k->flavors; *f; f++) {
		const enum flavor flavor =
			(enum flavor)(strchr(flavor_letters, *f) -
				      flavor_letters);

		if (flavor == ATTRIBUTED) {
			fail(FAIL_USAGE, "attributed metrics exist in "
			     "callers-callees and calltree only");
			return fail_remedy("these views show them for each "
					   "metric that has a column");
		}
		specs_add(s, (struct spec){ flavor, metric, k->show });
	}
	if (v->prof && viewer_slot(v, metric) < 0)
		return no_data(profile_metric(v->prof, metric)->name);
	return 0;
}

/* `bit` is gprofng's for counters that this format does not have. */
static bool
is_group(const char *name)
{
	return !strcmp(name, "any") || !strcmp(name, "all") ||
	       !strcmp(name, "hwc") || !strcmp(name, "bit");
}

static int
add_group(const struct viewer *v, struct specs *s, const struct keyword *k)
{
	const size_t before = s->len;
	const struct metric *m;

	for (int i = 0; k->name[0] != 'b' && (m = profile_metric(v->prof, i));
	     i++) {
		if (k->name[0] == 'h' && m->packet_kind != METRIC_COUNTER)
			continue;
		if (!v->prof || viewer_slot(v, i) >= 0)
			(void)add_metric(v, s, k, i);
	}
	return s->len > before ? 0 : no_data(k->name);
}

static int
add_keyword(const struct viewer *v, struct specs *s, const char *word)
{
	struct keyword k;

	if (!split_keyword(word, &k))
		return bad_spec(word);
	if (!k.flavors[0] && add_static(s, &k))
		return 0;

	const int metric = spec_metric(v, k.name);
	const bool group = is_group(k.name);

	if (k.visible && !k.flavors[0])
		return metric < 0 && !group ? bad_spec(word) :
			fail(FAIL_USAGE, "%s lacks its flavor: write e%s or "
			     "i%s", word, word, word);
	if (!k.visible) {	/* both, as they are shown */
		k.flavors[0] = 'e';
		k.flavors[1] = 'i';
		k.show = SHOW_VALUE;
	}
	if (group)
		return add_group(v, s, &k);
	return metric < 0 ? no_such_metric(k.name) :
			    add_metric(v, s, &k, metric);
}

int
specs_parse(const struct viewer *v, const char *text, struct specs *s)
{
	char *copy = xstrdup(text), *save = NULL;
	int rc = 0;

	for (char *word = strtok_r(copy, ":", &save); word && rc == 0;
	     word = strtok_r(NULL, ":", &save))
		rc = add_keyword(v, s, word);
	free(copy);
	if (rc == 0 && s->len == 0)
		rc = bad_spec(text);
	if (rc < 0) {
		specs_fini(s);
		return -1;
	}
	specs_add_name(s);
	return 0;
}

/* ---- writing it ----------------------------------------------------- */

char *
sort_title(const struct viewer *v, const struct sort *sort)
{
	const char *minus = sort->reverse ? "-" : "";

	if (sort->metric >= 0)
		return xasprintf("%s%s %s", minus, flavor_titles[sort->flavor],
				 profile_metric(v->prof, sort->metric)->title);
	return xasprintf("%s%s", minus,
			 static_columns[sort->flavor - STATIC_NAME].title);
}

static void
add_visibility(struct str *out, const struct spec *spec,
	       const struct metric *m)
{
	if (!spec->show)
		str_add(out, "!");
	if (spec->show & SHOW_VALUE)
		str_add(out, m->is_time ? "." : "+");
	if (spec->show & SHOW_PERCENT)
		str_add(out, "%");
}

void
spec_write(const struct viewer *v, struct str *out, const struct spec *spec)
{
	if (spec->metric < 0) {
		str_addf(out, "%s%s", spec->show ? "" : "!",
			 static_columns[spec->flavor - STATIC_NAME].name);
		return;
	}

	const struct metric *m = profile_metric(v->prof, spec->metric);

	str_addf(out, "%c", flavor_letters[spec->flavor]);
	add_visibility(out, spec, m);
	str_add(out, m->name);
}
