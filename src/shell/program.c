/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Is there such a program, and is the experiment's name free? Asked before
 * anything is started, so that the answer names the word that was typed.
 */
#include "private.h"

#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static bool
may_execute(const char *path)
{
	struct stat st;

	return stat(path, &st) == 0 && S_ISREG(st.st_mode) &&
	       access(path, X_OK) == 0;
}

char *
target_program_path(const char *name)
{
	const char *env = getenv("PATH");
	char *path, *save = NULL, *found = NULL;

	if (strchr(name, '/'))
		return may_execute(name) ? xstrdup(name) : NULL;
	path = xstrdup(env ? env : "/bin:/usr/bin");
	for (char *dir = strtok_r(path, ":", &save); dir && !found;
	     dir = strtok_r(NULL, ":", &save)) {
		found = xasprintf("%s/%s", dir, name);
		if (!may_execute(found)) {
			free(found);
			found = NULL;
		}
	}
	free(path);
	return found;
}

int
target_check_program(const char *name)
{
	char *path = target_program_path(name);
	const bool found = path != NULL;
	struct stat st;

	free(path);
	if (found)
		return 0;
	if (!strchr(name, '/')) {
		fail(FAIL_MISSING, "program '%s' is not in PATH", name);
		return stat(name, &st) == 0 ? fail_remedy("./%s", name) : -1;
	}
	if (stat(name, &st) < 0)
		return fail_errno("program %s", name);
	return fail(FAIL_DENIED, "%s is not a program that can be run", name);
}

bool
target_name_is_taken(const struct shell *sh, const char *name)
{
	char *path = *name == '/' ? xstrdup(name) :
		xasprintf("%s/%s", sh->settings.directory, name);
	const bool taken = access(path, F_OK) == 0;

	free(path);
	return taken;
}
