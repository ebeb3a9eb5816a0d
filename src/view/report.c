/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * One run of a view in a format that is more than its text as it comes. Titles
 * and tables are kept apart from what else the view prints; at its end the
 * writer puts them together, so that the output is whole or is not there.
 */
#include "report.h"

#include <stdlib.h>
#include <string.h>

static const struct format {
	const char *name;
	const struct table_writer *writer;
	int (*export)(struct viewer *v, FILE *out);
} formats[] = {
	[VIEW_TEXT] = { "text", &text_writer, NULL },
	[VIEW_HTML] = { "html", &html_writer, NULL },
	[VIEW_DELIMITED] = { NULL, &delimited_writer, NULL },
	[VIEW_CSV] = { "csv", &csv_writer, NULL },
	[VIEW_JSON] = { "json", &json_writer, NULL },
	[VIEW_FOLDED] = { "folded", NULL, folded_write },
	[VIEW_SPEEDSCOPE] = { "speedscope", NULL, speedscope_write },
	[VIEW_PPROF] = { "pprof", NULL, pprof_write },
};

bool
viewer_exports(const struct viewer *v)
{
	return formats[v->format].export;
}

bool
viewer_is_text(const struct viewer *v)
{
	return v->format == VIEW_TEXT;
}

int
viewer_export(struct viewer *v, FILE *out)
{
	return formats[v->format].export(v, out);
}

/* ---- choosing ------------------------------------------------------- */

void
viewer_set_format(struct viewer *v, enum view_format format)
{
	v->format = format;
}

static int
bad_format(const char *command, const char *name, bool exports)
{
	struct str names = {0};

	for (size_t i = 0; i < ARRAY_LEN(formats); i++)
		if (formats[i].name && (exports || !formats[i].export))
			str_addf(&names, "%s%s", names.len ? ", " : "",
				 formats[i].name);
	fail(FAIL_USAGE, "%sthere is no format '%s'", command, name);
	(void)fail_remedy("one of %s%s", str_text(&names),
			  exports ? "" : ", or one character that separates");
	str_fini(&names);
	return -1;
}

static int
choose(struct viewer *v, const char *command, const char *name, bool exports)
{
	for (size_t i = 0; i < ARRAY_LEN(formats); i++)
		if (formats[i].name && !strcmp(formats[i].name, name) &&
		    (exports || !formats[i].export)) {
			v->format = (enum view_format)i;
			return 0;
		}
	return bad_format(command, name, exports);
}

int
viewer_choose_format(struct viewer *v, const char *name)
{
	return choose(v, "", name, true);
}

int
view_printmode(struct viewer *v, size_t n, const char *const *words, FILE *out)
{
	if (n == 1) {
		if (v->format == VIEW_DELIMITED)
			fprintf(out, "printmode %c\n", v->delimiter);
		else
			fprintf(out, "printmode %s\n",
				formats[v->format].name);
		return 0;
	}
	if (words_check(n, words, 2) < 0)
		return -1;
	if (strlen(words[1]) != 1)
		return choose(v, "printmode: ", words[1], false);
	if (strchr("\"\n\r", words[1][0])) {
		fail(FAIL_USAGE, "printmode: this character quotes or ends "
		     "a line, it cannot separate");
		return fail_remedy("printmode ,");
	}
	v->format = VIEW_DELIMITED;
	v->delimiter = words[1][0];
	return 0;
}

/* ---- one run -------------------------------------------------------- */

/* Only lines without text from there on. A longer title that stood there once
 * may have left its end in the buffer, behind the text. */
static bool
is_blank(const struct report *r, size_t from)
{
	while (from < r->rest_size && r->rest_text[from] == '\n')
		from++;
	return from >= r->rest_size;
}

void
report_title(struct report *r, const char *text)
{
	fflush(r->rest);
	if (!r->first_title)
		r->first_title = xstrdup(text);
	/* what stands behind a title that nothing took is text of that one */
	if (r->title.len && !is_blank(r, r->title_at + r->title.len))
		str_clear(&r->title);
	if (!r->title.len)
		r->title_at = r->rest_size;
	str_addf(&r->title, "%s%s", r->title.len ? "\n" : "", text);
	fprintf(r->rest, "%s\n", text);
}

/* Out of the text, unless text of its own stands behind it. */
static void
take_title(struct report *r)
{
	if (!r->title.len)
		return;
	fflush(r->rest);
	if (is_blank(r, r->title_at + r->title.len))
		fseeko(r->rest, (off_t)r->title_at, SEEK_SET);
	else
		str_clear(&r->title);
}

void
report_table(struct report *r, const struct table *t, size_t rows)
{
	take_title(r);
	if (r->writer->before_table)
		r->writer->before_table(r);
	r->writer->table(t, rows, r->tables);
	r->count++;
	str_clear(&r->title);
}

bool
report_panel(struct report *r, const struct panel *p)
{
	if (!r->writer->panel)
		return false;
	take_title(r);
	r->writer->panel(p, r);
	r->panel_count++;
	str_clear(&r->title);
	return true;
}

static void
report_open(struct report *r, const struct viewer *v, size_t n,
	    const char *const *words)
{
	*r = (struct report){ .v = v, .writer = formats[v->format].writer,
			      .words = words, .words_len = n };
	r->tables = open_memstream(&r->tables_text, &r->tables_size);
	r->panels = open_memstream(&r->panels_text, &r->panels_size);
	r->rest = open_memstream(&r->rest_text, &r->rest_size);
	if (!r->tables || !r->panels || !r->rest)
		die("the output of a view");
}

static void
report_close(struct report *r)
{
	fclose(r->tables);
	fclose(r->panels);
	fclose(r->rest);
}

static void
report_fini(struct report *r)
{
	free(r->tables_text);
	free(r->panels_text);
	free(r->rest_text);
	free(r->first_title);
	str_fini(&r->title);
}

static int
run_captured(struct viewer *v, const struct view *view, size_t n,
	     const char *const *words, FILE *out)
{
	struct report r;

	report_open(&r, v, n, words);
	v->report = &r;

	const int rc = compare_run(v, view, n, words, r.rest);

	v->report = NULL;
	report_close(&r);
	/* settings that were set say nothing */
	if (rc == 0 && (r.tables_size || r.rest_size || !view->is_setting))
		r.writer->report(&r, out);
	report_fini(&r);
	return rc;
}

/* What is exported are stacks; other views have none. */
static int
check_export(const struct viewer *v, const struct view *view)
{
	if (view->is_setting || view->run == view_functions ||
	    view->run == view_callers || view->run == view_calltree)
		return 0;
	fail(FAIL_USAGE, "%s: format %s holds stacks, this view has none",
	     view->name, formats[v->format].name);
	return fail_remedy("-calltree, or --format json");
}

/* ---- at a terminal --------------------------------------------------- */

static void
write_left_out(const struct viewer *v, const struct vec *left, FILE *out)
{
	struct str line = {0};

	if (!left->len)
		return;
	str_addf(&line, "%zu column%s did not fit: ", left->len,
		 left->len == 1 ? "" : "s");
	for (size_t i = 0; i < left->len; i++)
		str_addf(&line, "%s%s", i ? ", " : "",
			 (const char *)left->items[i]);
	str_add(&line, " (`outfile FILE`, a pipe and a wider terminal show "
		"all; `metrics` chooses columns)");
	text_wrap(str_text(&line), v->width, out);
	str_fini(&line);
}

static int
run_fitted(struct viewer *v, const struct view *view, size_t n,
	   const char *const *words, FILE *out)
{
	struct vec left = {0};
	char *text = NULL;
	size_t size;
	FILE *whole = open_memstream(&text, &size);

	if (!whole)
		die("the output of a view");
	v->left_out = &left;

	const int rc = compare_run(v, view, n, words, whole);

	v->left_out = NULL;
	fclose(whole);
	text_wrap(text, v->width, out);
	write_left_out(v, &left, out);
	vec_free_items(&left);
	free(text);
	return rc;
}

static int
run(struct viewer *v, const struct view *view, size_t n,
    const char *const *words, FILE *out)
{
	const struct table_writer *writer = formats[v->format].writer;

	if (viewer_exports(v) && check_export(v, view) < 0)
		return -1;
	if (writer == &text_writer && v->width)
		return run_fitted(v, view, n, words, out);
	if (!writer || !writer->report)
		return compare_run(v, view, n, words, out);
	return run_captured(v, view, n, words, out);
}

int
viewer_run(struct viewer *v, const struct view *view, size_t n,
	   const char *const *words, FILE *out)
{
	const size_t before = v->limit;
	const bool limited = !view->is_setting && n > 2 &&
		strcmp(words[n - 2], "-limit") == 0;
	const char *const limit[] = { "limit", words[n - 1] };

	if (limited && view_limit(v, ARRAY_LEN(limit), limit, out) < 0)
		return -1;

	const int rc = run(v, view, limited ? n - 2 : n, words, out);

	if (limited)
		v->limit = before;
	return rc;
}
