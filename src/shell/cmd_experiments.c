/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Which experiments views look at: open_exp, add_exp, drop_exp. A list that
 * cannot be read as a whole leaves the one before in place.
 */
#include "private.h"

#include <stdlib.h>
#include <string.h>

static char *
without_slashes(const char *path)
{
	size_t len = strlen(path);

	while (len > 1 && path[len - 1] == '/')
		len--;
	return xstrndup(path, len);
}

/* Takes the paths. */
static enum result
look_at(struct shell *sh, struct vec *paths)
{
	if (viewer_load(sh->viewer, (const char *const *)paths->items,
			paths->len) < 0) {
		vec_free_items(paths);
		return FAILED;
	}
	view_forget(sh);
	sh->viewed = *paths;
	return DONE;
}

static enum result
check_names(const char *command, size_t n, char **words)
{
	for (size_t i = 1; i < n; i++) {
		if (is_experiment_name(words[i]))
			continue;
		fail(FAIL_USAGE, "%s: '%s' is no experiment (NAME.er) and no "
		     "group (NAME.erg)", command, words[i]);
		fail_remedy("%s test.1.er", command);
		return FAILED;
	}
	return n < 2 ? USAGE : DONE;
}

static bool
has_path(const struct vec *paths, const char *path)
{
	for (size_t i = 0; i < paths->len; i++) {
		char *here = without_slashes(paths->items[i]);
		const bool same = strcmp(here, path) == 0;

		free(here);
		if (same)
			return true;
	}
	return false;
}

/* Named twice, it counts once. */
static void
add_words(struct vec *paths, size_t n, char **words)
{
	for (size_t i = 1; i < n; i++) {
		char *path = without_slashes(words[i]);

		if (has_path(paths, path))
			free(path);
		else
			vec_push(paths, path);
	}
}

static void
add_viewed(const struct shell *sh, struct vec *paths)
{
	for (size_t i = 0; i < sh->viewed.len; i++)
		vec_push(paths, xstrdup(sh->viewed.items[i]));
	if (!sh->viewed.len && sh->experiment)
		vec_push(paths, xstrdup(sh->experiment));
}

static enum result
told(enum result r, const char *command)
{
	if (r == FAILED)
		fail_in("%s", command);
	return r;
}

static enum result
cmd_open_exp(struct shell *sh, size_t n, char **words)
{
	const enum result r = check_names("open_exp", n, words);
	struct vec paths = {0};

	if (r != DONE)
		return r;
	add_words(&paths, n, words);
	return told(look_at(sh, &paths), "open_exp");
}

static enum result
cmd_add_exp(struct shell *sh, size_t n, char **words)
{
	const enum result r = check_names("add_exp", n, words);
	struct vec paths = {0};

	if (r != DONE)
		return r;
	add_viewed(sh, &paths);
	add_words(&paths, n, words);
	return told(look_at(sh, &paths), "add_exp");
}

/* false: it is not among them. */
static bool
remove_path(struct vec *paths, const char *word)
{
	char *path = without_slashes(word);
	bool found = false;

	for (size_t i = 0; i < paths->len && !found; i++) {
		char *here = without_slashes(paths->items[i]);

		found = strcmp(here, path) == 0;
		free(here);
		if (!found)
			continue;
		free(paths->items[i]);
		memmove(&paths->items[i], &paths->items[i + 1],
			(--paths->len - i) * sizeof *paths->items);
	}
	free(path);
	return found;
}

static enum result
refuse_drop(const struct vec *paths, const char *word)
{
	struct str all = {0};

	for (size_t i = 0; i < paths->len; i++)
		str_addf(&all, " %s", (const char *)paths->items[i]);
	fail(FAIL_MISSING, "drop_exp: %s is not among the experiments that "
	     "were named", word);
	fail_remedy("these were:%s", all.len ? str_text(&all) : " none");
	str_fini(&all);
	return FAILED;
}

static enum result
cmd_drop_exp(struct shell *sh, size_t n, char **words)
{
	struct vec paths = {0};
	enum result r = DONE;

	if (n < 2)
		return USAGE;
	add_viewed(sh, &paths);
	for (size_t i = 1; i < n && r == DONE; i++)
		if (!remove_path(&paths, words[i]))
			r = refuse_drop(&paths, words[i]);
	if (r == DONE && !paths.len) {
		fail(FAIL_USAGE, "drop_exp: nothing would be left to look at");
		fail_remedy("open_exp OTHER.er");
		r = FAILED;
	}
	if (r != DONE) {
		vec_free_items(&paths);
		return r;
	}
	return told(look_at(sh, &paths), "drop_exp");
}

const struct command experiment_commands[] = {
	{ "add_exp", "EXP...", "look at these experiments, too", 0,
	  cmd_add_exp, "add_exp test.2.er" },
	{ "drop_exp", "EXP...", "look at these experiments no more", 0,
	  cmd_drop_exp, "drop_exp test.2.er" },
	{ "open_exp", "EXP...", "look at these experiments instead", 0,
	  cmd_open_exp, "open_exp test.1.er" },
	{ 0 }
};
