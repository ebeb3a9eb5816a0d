/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * The words of the table: programs among the victims, scripts beside the
 * sources, numbers for each processor; and whether all of it is here.
 */
#include "torture.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static char *
in_path(const char *name)
{
	const char *dirs = getenv("PATH");
	char path[4096];

	while (dirs && *dirs) {
		const size_t n = strcspn(dirs, ":");

		snprintf(path, sizeof path, "%.*s/%s", (int)n, dirs, name);
		if (access(path, X_OK) == 0)
			return strdup(path);
		dirs += n + (dirs[n] == ':');
	}
	return NULL;
}

char *
word_of(const char *word)
{
	char *text;

	if (*word == '@')
		return path_in(victims_dir, word + 1);
	if (*word == '%')
		return path_in(source_dir, word + 1);
	if (*word == '#' && asprintf(&text, "%ld", atol(word + 1) *
				     sysconf(_SC_NPROCESSORS_ONLN)) > 0)
		return text;
	return strdup(word);
}

static bool
is_there(const char *what)
{
	char *path = word_of(what), *found = NULL;
	bool there = access(path, R_OK) == 0;
	const char *servers = getenv("SONDE_SERVERS");

	if (!there && !strchr(path, '/')) {
		found = in_path(path);
		there = found != NULL;
	}
	if (!there && servers) {	/* unpacked by scripts/setup */
		free(path);
		if (asprintf(&path, "%s%s%s", servers, *what == '/' ? "" :
			     "/usr/sbin/", what) < 0)
			abort();
		there = access(path, X_OK) == 0;
	}
	free(found);
	free(path);
	return there;
}

const char *
words_missing(const struct situation *s)
{
	const char *preload = s->preload;

	preload += preload && *preload == '=';
	if (s->needs && !is_there(s->needs))
		return s->needs;
	if (preload && !is_there(preload))
		return preload;
	if (!is_there(s->argv[0]))
		return s->argv[0];
	return NULL;
}
