/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * The start of an experiment, and the group it is to be named in: a file of
 * paths that stands where experiments are stored. The experiment comes first,
 * so that a group never names what is not there.
 */
#include "experiment.h"
#include "private.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>

static const char head[] = "#analyzer experiment group";

/* Relative names are those of the directory where experiments go. */
static char *
group_path(const struct shell *sh)
{
	const char *dir = sh->settings.directory;

	return sh->group[0] == '/' || strcmp(dir, ".") == 0 ?
		xstrdup(sh->group) : xasprintf("%s/%s", dir, sh->group);
}

static int
refuse(const char *path)
{
	fail(FAIL_UNSUITABLE, "%s is not an experiment group", path);
	return fail_remedy("collector store group OTHER.erg");
}

/* Others' files are not touched. -1: it is one. */
static int
check_head(const char *path, char **text)
{
	*text = file_read_plain(AT_FDCWD, path, NULL);
	if (!*text && errno == ENOENT)
		return 0;
	if (!*text)
		return fail_errno("read group %s", path);
	if (str_starts(*text, head))
		return 0;
	return refuse(path);
}

int
group_check(const struct shell *sh)
{
	char *path = group_path(sh), *text;
	const int rc = check_head(path, &text);

	free(text);
	free(path);
	return rc;
}

/* As it is written in the group: from where that stands, if that is where
 * it is itself. */
static char *
member_name(const char *group, const char *experiment)
{
	const char *group_slash = strrchr(group, '/');
	const char *slash = strrchr(experiment, '/');
	const size_t dir = group_slash ? (size_t)(group_slash - group) + 1 : 0;
	const size_t its = slash ? (size_t)(slash - experiment) + 1 : 0;

	if (dir == its && strncmp(group, experiment, dir) == 0)
		return xstrdup(experiment + its);

	char *full = realpath(experiment, NULL);

	return full ? full : xstrdup(experiment);
}

static int
append(const char *path, const char *experiment)
{
	char *text, *name = member_name(path, experiment);
	FILE *file = outward_append(path, &text);
	int rc = -1;

	if (!file) {
		fail_errno("write group %s", path);
	} else if (text && !str_starts(text, head)) {
		refuse(path);
		fclose(file);
	} else {
		if (!text)
			fprintf(file, "%s\n", head);
		else if (*text && !str_ends(text, "\n"))
			putc('\n', file);
		fprintf(file, "%s\n", name);
		rc = fclose(file) == 0 ? 0 : fail_errno("write group %s",
							path);
	}
	free(text);
	free(name);
	return rc;
}

static int
name_in_group(struct shell *sh)
{
	char *path = group_path(sh);
	const int rc = append(path, sh->experiment);

	if (rc == 0)
		shell_note(sh, "It is named in group %s", path);
	free(path);
	return rc;
}

/* G.erg: its experiments are G.1.er, G.2.er ... unless they have a name. */
static char *
name_by_group(const struct shell *sh)
{
	const char *slash, *dir = sh->settings.directory;

	if (!sh->group || sh->settings.experiment)
		return NULL;
	slash = strrchr(sh->group, '/');

	const char *base = slash ? slash + 1 : sh->group;
	char *stem = xstrndup(base, strlen(base) - strlen(".erg"));
	char *name = experiment_next_name(dir, stem);

	free(stem);
	return name;
}

int
collecting_start(struct shell *sh)
{
	struct settings settings = sh->settings;	/* a view of it */
	char *name = name_by_group(sh);

	if (name)
		settings.experiment = name;

	const int rc = outward_check(sh, settings.experiment) < 0 ||
		(sh->group && group_check(sh) < 0) ? -1 :
		session_enable(sh->session, &settings);

	free(name);
	if (rc < 0)
		return fail_in("collector enable");
	target_note_experiment(sh);
	shell_note(sh, "Creating experiment %s", sh->experiment);
	if (sh->armed_paused && session_pause(sh->session) < 0)
		return -1;
	if (!sh->group || name_in_group(sh) == 0)
		return 0;
	/* it records all the same */
	shell_print_failure(sh);
	fail_clear();
	return 0;
}
