/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * What is known of one thing, as names and values: what a table would have in
 * one row, but too much of it to stand side by side. A report is a list of
 * panels; each is made, written and forgotten, so that a report of every
 * instruction needs no more room than that of one.
 */
#include "report.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

static struct pair *
add_pair(struct panel *p, char *key, enum pair_kind kind)
{
	p->pairs = xgrow(p->pairs, &p->cap, p->len + 1, sizeof *p->pairs);
	p->pairs[p->len] = (struct pair){ .key = key, .kind = kind };
	return &p->pairs[p->len++];
}

void
panel_metric(struct panel *p, char *key, bool is_time, uint64_t value,
	     uint64_t whole)
{
	struct pair *pair = add_pair(p, key, is_time ? PAIR_TIME : PAIR_AMOUNT);

	pair->value = value;
	pair->whole = whole;
}

void
panel_count(struct panel *p, const char *key, uint64_t value)
{
	add_pair(p, xstrdup(key), PAIR_COUNT)->value = value;
}

static void
add_text(struct pair *pair, const char *text)
{
	pair->texts = xgrow(pair->texts, &pair->cap, pair->len + 1,
			    sizeof *pair->texts);
	pair->texts[pair->len++] = xstrdup(text);
}

void
panel_text(struct panel *p, const char *key, const char *text)
{
	struct pair *pair = add_pair(p, xstrdup(key), PAIR_TEXT);

	if (text)
		add_text(pair, text);
}

void
panel_list(struct panel *p, const char *key)
{
	add_pair(p, xstrdup(key), PAIR_LIST);
}

void
panel_item(struct panel *p, const char *text)
{
	add_text(&p->pairs[p->len - 1], text);
}

void
panel_fini(struct panel *p)
{
	for (size_t i = 0; i < p->len; i++) {
		struct pair *pair = &p->pairs[i];

		for (size_t t = 0; t < pair->len; t++)
			free(pair->texts[t]);
		free(pair->texts);
		free(pair->key);
	}
	free(p->pairs);
	*p = (struct panel){0};
}

/* ---- as text --------------------------------------------------------- */

static int
format_number(char *buf, size_t size, const struct pair *pair, uint64_t value)
{
	if (pair->kind != PAIR_TIME)
		return snprintf(buf, size, "%" PRIu64, value);
	if (!value)
		return snprintf(buf, size, "0.   ");
	return snprintf(buf, size, "%.3f", (double)value / 1e9);
}

static bool
is_metric(const struct pair *pair)
{
	return pair->kind == PAIR_TIME || pair->kind == PAIR_AMOUNT;
}

/* The whole is no narrower than a part: all panels of a report agree. */
static int
number_width(const struct panel *p)
{
	char buf[64];
	int width = 0;

	for (size_t i = 0; i < p->len; i++) {
		const int n = !is_metric(&p->pairs[i]) ? 0 :
			format_number(buf, sizeof buf, &p->pairs[i],
				      p->pairs[i].whole);

		width = n > width ? n : width;
	}
	return width;
}

static int
key_width(const struct panel *p)
{
	size_t width = 0;

	for (size_t i = 0; i < p->len; i++)
		if (strlen(p->pairs[i].key) > width)
			width = strlen(p->pairs[i].key);
	return (int)width;
}

static void
write_percent(const struct pair *pair, FILE *out)
{
	if (!pair->value || !pair->whole)
		fputs(" (  0. %)", out);
	else
		fprintf(out, " (%5.1f%%)", 100.0 * (double)pair->value /
			(double)pair->whole);
}

static void
write_texts(const struct pair *pair, FILE *out)
{
	if (pair->kind == PAIR_TEXT && !pair->len)
		fputs(" (unknown)", out);
	for (size_t i = 0; i < pair->len; i++)
		if (pair->texts[i][0])
			fprintf(out, "%s %s", i ? "," : "",
				str_tame(pair->texts[i]));
}

static void
write_pair(const struct pair *pair, int keys, int numbers, FILE *out)
{
	char buf[64];

	fprintf(out, "\t%*s:", keys, pair->key);
	if (pair->kind == PAIR_TEXT || pair->kind == PAIR_LIST) {
		write_texts(pair, out);
	} else {
		format_number(buf, sizeof buf, pair, pair->value);
		fprintf(out, " %*s", numbers, buf);
	}
	if (is_metric(pair))
		write_percent(pair, out);
	putc('\n', out);
}

static void
write_panel(const struct viewer *v, const struct panel *p, FILE *out)
{
	const int keys = key_width(p), numbers = number_width(p);

	if (v->report && report_panel(v->report, p))
		return;

	/* others gave the name: the heading stays one line */
	char *name = str_tamed(p->name);

	if (v->report)
		fprintf(out, "%s\n", name);
	else
		title_write(v, out, "%s", name);
	free(name);
	for (size_t i = 0; i < p->len; i++)
		write_pair(&p->pairs[i], keys, numbers, out);
	putc('\n', out);
}

void
panels_write(struct viewer *v, const char *title, size_t n, panel_make *make,
	     void *arg, FILE *out)
{
	if (title) {
		title_write(v, out, "%s", title);
		putc('\n', out);
	}
	for (size_t i = 0; i < n; i++) {
		struct panel p = {0};

		make(arg, i, &p);
		write_panel(v, &p, out);
		panel_fini(&p);
	}
}
