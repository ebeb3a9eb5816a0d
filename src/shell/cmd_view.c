/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * What views look at: the experiments that were named, else the one that is
 * being recorded, else the one recorded last. A live experiment is read again
 * for every view.
 */
#include "foreign.h"
#include "script.h"

#include <stdlib.h>
#include <string.h>

void
view_forget(struct shell *sh)
{
	vec_free_items(&sh->viewed);
}

int
view_ready(struct shell *sh)
{
	if (sh->viewed.len) {
		if (viewer_loaded(sh->viewer))
			return viewer_refresh(sh->viewer);
		return viewer_load(sh->viewer,
				   (const char *const *)sh->viewed.items,
				   sh->viewed.len);
	}
	if (!sh->experiment) {
		fail(FAIL_USAGE, "there is no experiment to look at");
		return fail_remedy("name one: sonde EXP.er, or record one: "
				   "collector enable");
	}
	vec_push(&sh->viewed, xstrdup(sh->experiment));
	return viewer_load(sh->viewer, (const char *const *)sh->viewed.items,
			   1);
}

/* ---- what was meant to be run --------------------------------------------- */

static bool
is_of_ours(const char *word)
{
	const bool is = builtin_find(word) || shell_find_any(word);

	fail_clear();
	return is;
}

/* Its first command is one of ours. */
static bool
is_command_file(const char *path)
{
	enum { LARGEST = 1 << 20 };
	char *text = foreign_read(path, LARGEST, NULL);
	struct words w;
	size_t at = 0;
	bool is = false;
	int r = text != NULL;

	while (r == 1 && !is &&
	       (r = words_next(text, &at, &w, NULL, NULL)) == 1) {
		is = w.len && !w.is_group && is_of_ours(w.items[0]);
		r = w.len ? 0 : 1;
		words_fini(&w);
	}
	free(text);
	fail_clear();
	return is;
}

/* dbx's `source FILE` runs it. */
static void
name_the_other_source(size_t n, char **words)
{
	struct failure *kept;
	bool is;

	if (n < 2 || strcmp(words[0], "source") != 0)
		return;
	kept = fail_keep();
	is = is_command_file(words[1]);
	fail_again(kept);
	if (is)
		fail_remedy(". %s runs the commands in that file", words[1]);
}

/* ---- rows ---------------------------------------------------------------- */

enum result
view_run(struct shell *sh, size_t n, char **words)
{
	const struct view *v = view_table;

	while (strcmp(v->name, words[0]) != 0)
		v++;
	if (!v->is_setting && view_ready(sh) < 0) {
		fail_in("%s", v->name);
		name_the_other_source(n, words);
		return FAILED;
	}
	if (people_run(sh, v, n, words) < 0) {
		name_the_other_source(n, words);
		return FAILED;
	}
	if (!sh->quiet)
		viewer_notes(sh->viewer, stderr);
	sh->shown = v;
	if (!sh->in_verb)
		people_suggest(sh, v, "", "");
	return DONE;
}

bool
view_is_object(const struct shell *sh, const char *word)
{
	for (const struct view *v = view_table; v->name; v++)
		if (strcmp(v->name, word) == 0)
			return false;
	return viewer_has_index(sh->viewer, word);
}

static bool
is_row(const char *name)
{
	for (const struct family *f = families; f->title; f++)
		for (const struct command *c = f->commands; c->name; c++)
			if (strcmp(c->name, name) == 0)
				return true;
	return false;
}

/* Views are rows of their own table; here they look like commands. */
const struct command *
shell_view_commands(void)
{
	static struct command *rows;
	size_t n = 0;

	if (rows)
		return rows;
	while (view_table[n].name)
		n++;
	rows = xcalloc(n + 1, sizeof *rows);
	n = 0;
	for (const struct view *v = view_table; v->name; v++)
		if (!is_row(v->name))	/* `threads` looks first who lives */
			rows[n++] = (struct command){
				.name = v->name, .args = v->args,
				.help = v->help, .run = view_run,
				.example = v->example,
			};
	return rows;
}
