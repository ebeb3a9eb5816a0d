/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Where there is nothing to show, a sentence says why, and what would give
 * something.
 */
#include "private.h"

#include <stdlib.h>
#include <string.h>

static bool
is_zero(const struct viewer *v)
{
	const struct cost total = profile_total(v->prof);

	for (size_t s = 0; s < v->slots; s++)
		if (total.incl[s])
			return false;
	return true;
}

static bool
is_recording(const struct viewer *v)
{
	for (size_t e = 0; e < profile_experiment_count(v->prof); e++)
		if (experiment_recording(profile_experiment(v->prof, e)))
			return true;
	return false;
}

/* `sonde record` makes what views of cost show. */
static const char recipe[] =
	"record with `sonde record -p PID` or `sonde record -- PROGRAM`";

static void
say_why(const struct viewer *v, FILE *out)
{
	char *filter = viewer_filter(v);

	fputs("Nothing to show: ", out);
	if (is_recording(v))
		fputs("nothing was recorded so far; ask again when the process "
		      "has run.\n", out);
	else if (!v->slots)
		fprintf(out, "the experiment holds no samples of any kind; "
			"%s.\n", recipe);
	else if (v->selections.len)
		fprintf(out, "no record is of what is selected%s%s; "
			"thread_list, sample_list, lwp_list and cpu_list show "
			"it, `thread_select all` and its like end it.\n",
			v->filter ? " and passes the filter " : "",
			v->filter ? v->filter : "");
	else if (filter)
		fprintf(out, "no record passes the filter %s; `filters 1` "
			"ends it.\n", filter);
	else
		fprintf(out, "no record counts: the process did not run, or "
			"none of its threads was sampled; `header` tells what "
			"was lost; %s.\n", recipe);
	free(filter);
}

/* A spreadsheet has the headings; the sentence would be a row of it. */
static void
note_why(struct viewer *v)
{
	char *text = NULL;
	size_t size;
	FILE *out = open_memstream(&text, &size);

	if (!out)
		die("a note");
	say_why(v, out);
	fclose(out);
	text[strcspn(text, "\n")] = '\0';
	viewer_note(v, text);
}

bool
nothing_to_show(struct viewer *v, FILE *out)
{
	if (v->slots && !is_zero(v))
		return false;
	if (viewer_is_delimited(v))
		note_why(v);
	else
		say_why(v, out);
	return true;
}

bool
viewer_is_delimited(const struct viewer *v)
{
	return v->format == VIEW_CSV || v->format == VIEW_DELIMITED;
}
