/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * A program that was chosen and does not run. Commands that need no more than
 * its file (OF_PROGRAM) see it as a core file without threads, whose memory is
 * as it would be mapped: list, print, whatis, whereis, which, dis, examine.
 */
#include "private.h"

#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

struct unstarted {
	char *path;
	struct timespec changed;	/* the file, when it was read */
	struct core *core;
};

void
unstarted_free(struct shell *sh)
{
	struct unstarted *u = sh->unstarted;

	sh->unstarted = NULL;
	if (!u)
		return;
	debuggee_free(sh);
	core_free(u->core);
	free(u->path);
	free(u);
}

static bool
is_still(const struct unstarted *u, const char *path, const struct stat *st)
{
	return strcmp(u->path, path) == 0 &&
		u->changed.tv_sec == st->st_mtim.tv_sec &&
		u->changed.tv_nsec == st->st_mtim.tv_nsec;
}

/* Takes the path. */
static struct core *
read_program(struct shell *sh, char *path)
{
	struct stat st;

	if (stat(path, &st) == 0 && sh->unstarted &&
	    is_still(sh->unstarted, path, &st)) {
		free(path);
		return sh->unstarted->core;
	}
	unstarted_free(sh);

	struct core *core = core_of_program(path);

	if (!core) {
		free(path);
		return NULL;
	}
	sh->unstarted = xcalloc(1, sizeof *sh->unstarted);
	*sh->unstarted = (struct unstarted){ path, st.st_mtim, core };
	return core;
}

bool
unstarted_begin(struct shell *sh, unsigned needs)
{
	char *path;

	if (!(needs & OF_PROGRAM) || !sh->program || sh->core ||
	    target_alive(sh) || (needs & OR_EXPERIMENT &&
				 (sh->viewed.len || sh->experiment)))
		return false;
	path = target_program_path(sh->program[0]);
	sh->core = path ? read_program(sh, path) : NULL;
	sh->thread = 0;
	if (!sh->core)
		fail_clear();	/* a script, or gone: as without it */
	return sh->core != NULL;
}

void
unstarted_end(struct shell *sh)
{
	sh->core = NULL;
}
