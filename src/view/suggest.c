/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Which experiment may have been meant by a name that none has.
 */
#include "private.h"

#include <dirent.h>
#include <stdlib.h>
#include <string.h>

static int
is_experiment(const struct dirent *e)
{
	return e->d_name[0] != '.' &&
	       ((str_ends(e->d_name, ".er") && e->d_type != DT_REG) ||
		str_ends(e->d_name, ".erg"));
}

/* What the user may have meant, if there is nothing of that name. */
static void
suggest(const char *path)
{
	enum { SHOWN = 10 };
	const char *slash = strrchr(path, '/');
	char *dir = slash ? xstrndup(path, (size_t)(slash - path) + 1) :
			    xstrdup(".");
	struct dirent **list = NULL;
	const int n = scandir(dir, &list, is_experiment, versionsort);
	struct str text = {0};

	for (int i = 0; i < n; i++) {
		if (i < SHOWN)
			str_addf(&text, "%s%s%s", i ? ", " : "",
				 slash ? dir : "", list[i]->d_name);
		else if (i == SHOWN)
			str_addf(&text, ", and %d more", n - SHOWN);
		free(list[i]);
	}
	free(list);
	if (n > 0)
		(void)fail_remedy("experiments there: %s", str_text(&text));
	else
		(void)fail_remedy("record one: sonde record -- PROGRAM, or "
				  "sonde record -p PID");
	str_fini(&text);
	free(dir);
}

static const char *
first_missing(const char *const *paths, size_t n)
{
	for (size_t i = 0; i < n; i++) {
		DIR *dir = str_ends(paths[i], ".erg") ? NULL :
							opendir(paths[i]);
		if (!dir)
			return paths[i];
		closedir(dir);
	}
	return n ? paths[0] : "";
}

void
suggest_experiments(const char *const *paths, size_t n)
{
	suggest(first_missing(paths, n));
}
