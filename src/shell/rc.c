/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * .er.rc: how whoever looks at experiments likes to see them. The system's
 * file is read first, then that of the home, then that of the directory, so
 * that what is nearer holds; of dmetrics and dsort the nearer ones come first.
 * Only settings may stand there. What is wrong is told and passed over, since
 * these files are shared with other tools.
 */
#include "private.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/stat.h>
#include <unistd.h>

struct rc {
	struct shell *sh;
	const char *name;	/* of the file, for people */
	int line;
	struct str metrics, sort;	/* of this file */
	char *all_metrics, *all_sort;	/* of all so far */
};

static const char *const settings[] = {
	"addpath", "cc", "compare", "dcc", "dthresh", "indxobj_define",
	"inlines", "limit", "machinemodel", "mobj_define", "name",
	"object_api", "object_hide", "object_show", "pathmap", "printmode",
	"scc", "setpath", "sthresh", "viewmode",
};
/* of windows */
static const char *const ignored[] = { "rtabs", "tabs", "tldata", "tlmode" };

static bool
is_among(const char *word, const char *const *names, size_t n)
{
	for (size_t i = 0; i < n; i++)
		if (strcmp(word, names[i]) == 0)
			return true;
	return false;
}

/* ---- a line --------------------------------------------------------- */

/* The next word of *text, cut out of it; NULL at the end. */
static char *
next_word(char **text)
{
	char *word = *text + strspn(*text, " \t");

	if (!*word)
		return NULL;

	const bool quoted = *word == '"';

	word += quoted;

	char *end = word + strcspn(word, quoted ? "\"" : " \t");

	*text = *end ? end + 1 : end;
	*end = '\0';
	return word;
}

static void
tell(const struct rc *rc, const char *reason, const char *remedy)
{
	shell_note(rc->sh, "%s:%d: %s%s%s", rc->name, rc->line, reason,
		   *remedy ? "; " : "", remedy);
}

static void
tell_failure(const struct rc *rc)
{
	tell(rc, fail_last()->reason, fail_last()->remedy);
	fail_clear();
}

static void
run_setting(const struct rc *rc, size_t n, char **words)
{
	const struct view *v = view_table;

	while (v->name && strcasecmp(v->name, words[0]) != 0)
		v++;
	if (!v->name) {
		char *reason = xasprintf("'%s' is nothing that sonde has",
					 words[0]);

		tell(rc, reason, "");
		free(reason);
		return;
	}
	if (v->run(rc->sh->viewer, n, (const char *const *)words,
		   rc->sh->out) < 0)
		tell_failure(rc);
}

static void
add_list(struct str *list, const char *more)
{
	str_addf(list, "%s%s", list->len ? ":" : "", more);
}

static void
run_words(struct rc *rc, size_t n, char **words)
{
	const char *arg = n > 1 ? words[1] : "";

	if (strcasecmp(words[0], "dmetrics") == 0)
		add_list(&rc->metrics, arg);
	else if (strcasecmp(words[0], "dsort") == 0)
		add_list(&rc->sort, arg);
	else if (strcasecmp(words[0], "en_desc") == 0) {
		if (viewer_set_descendants(rc->sh->viewer, arg) < 0)
			tell_failure(rc);
	} else if (is_among(words[0], settings, ARRAY_LEN(settings))) {
		run_setting(rc, n, words);
	} else if (!is_among(words[0], ignored, ARRAY_LEN(ignored))) {
		char *reason = xasprintf("'%s' is no setting that may stand "
					 "in such a file", words[0]);

		tell(rc, reason, "write it in .sonderc");
		free(reason);
	}
}

static void
run_line(struct rc *rc, char *text)
{
	enum { WORDS_MAX = 16 };
	char *words[WORDS_MAX + 1], *word;
	size_t n = 0;

	while (n < WORDS_MAX && (word = next_word(&text)))
		words[n++] = word;
	words[n] = NULL;
	if (n && words[0][0] != '#')
		run_words(rc, n, words);
}

/* ---- a file --------------------------------------------------------- */

/* Nearer lists come first. */
static void
put_before(char **all, struct str *mine)
{
	char *both = xasprintf("%s%s%s", str_text(mine),
			       mine->len && *all ? ":" : "", *all ? *all : "");

	free(*all);
	*all = both;
	str_clear(mine);
}

/* A backslash at its end joins a line with the next. Closes the file. */
static void
read_file(struct rc *rc, FILE *file, const char *name)
{
	struct str text = {0};
	char *line = NULL;
	size_t cap = 0;
	ssize_t n;

	rc->name = name;
	rc->line = 0;
	while ((n = getline(&line, &cap, file)) >= 0) {
		rc->line++;
		while (n > 0 && (line[n - 1] == '\n' || line[n - 1] == '\r'))
			line[--n] = '\0';

		const bool more = n > 0 && line[n - 1] == '\\';

		str_addn(&text, line, (size_t)n - more);
		if (more)
			continue;

		char *whole = str_take(&text);

		run_line(rc, whole);
		free(whole);
	}
	put_before(&rc->all_metrics, &rc->metrics);
	put_before(&rc->all_sort, &rc->sort);
	str_fini(&text);
	free(line);
	fclose(file);
}

static void
read_path(struct rc *rc, const char *path)
{
	FILE *file = file_open_own(path);

	if (file)
		read_file(rc, file, path);
	else if (errno == EPERM)
		shell_note(rc->sh, "%s is not read: others may write it or a "
			   "directory above it", path);
}

/* In the home directory it has been read already. */
static bool
is_same(const char *a, const char *b)
{
	struct stat x, y;

	return stat(a, &x) == 0 && stat(b, &y) == 0 && x.st_dev == y.st_dev &&
	       x.st_ino == y.st_ino;
}

/* A file that others may write would make us obey them. */
static void
read_here(struct rc *rc)
{
	FILE *file = file_open_private(".er.rc");

	if (file)
		read_file(rc, file, "./.er.rc");
	else if (access(".er.rc", F_OK) == 0)
		shell_note(rc->sh, "./.er.rc is not read: it is not yours, or "
			   "others may write it or a directory above it");
}

void
rc_read(struct shell *sh)
{
	const char *home = getenv("HOME");
	char *path = home && *home ? xasprintf("%s/.er.rc", home) : NULL;
	struct rc rc = { .sh = sh };

	read_path(&rc, SYSCONFDIR "/sonde/er.rc");
	if (path)
		read_path(&rc, path);
	if (!path || !is_same(path, ".er.rc"))
		read_here(&rc);
	viewer_set_defaults(sh->viewer, rc.all_metrics, rc.all_sort);
	str_fini(&rc.metrics);
	str_fini(&rc.sort);
	free(rc.all_metrics);
	free(rc.all_sort);
	free(path);
}
