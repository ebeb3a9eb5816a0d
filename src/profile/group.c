/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * A group: a file of paths of experiments. Members that cannot be read are
 * lost, named, and do not keep the others from being shown.
 */
#include "reading.h"

#include <fcntl.h>
#include <stdlib.h>
#include <string.h>

static const char group_head[] = "#analyzer experiment group";

/* Paths in a group file are taken from where the file stands. */
static char *
member_path(const char *group, const char *line)
{
	const char *slash = strrchr(group, '/');

	return line[0] == '/' || !slash ? xstrdup(line) :
		xasprintf("%.*s/%s", (int)(slash - group), group, line);
}

static int
add_members(struct profile *prof, const char *group, char *text)
{
	const size_t first = prof->owned.len;
	struct vec lost = { 0 };
	char *save = NULL;
	int rc = 0;

	for (char *line = strtok_r(text, "\r\n", &save); line;
	     line = strtok_r(NULL, "\r\n", &save)) {
		line += strspn(line, " \t");
		if (!line[0] || line[0] == '#')
			continue;

		char *path = member_path(group, line);

		if (load_experiment(prof, path) < 0)
			vec_push(&lost, xstrdup(fail_last()->reason));
		free(path);
	}
	if (lost.len && prof->owned.len == first)
		rc = fail_in("group %s", group);
	for (size_t i = 0; i < lost.len && rc == 0; i++)
		experiment_note_damage(prof->owned.items[first], group,
				       lost.items[i]);
	if (rc == 0)
		fail_clear();
	vec_free_items(&lost);
	return rc;
}

int
load_group(struct profile *prof, const char *path)
{
	char *text = file_read_plain(AT_FDCWD, path, NULL);

	if (!text)
		return fail_errno("read group %s", path);
	if (!str_starts(text, group_head)) {
		free(text);
		fail(FAIL_UNSUITABLE, "%s is not an experiment group", path);
		return fail_remedy("its first line must be `%s`", group_head);
	}

	const int rc = add_members(prof, path, text);

	free(text);
	return rc;
}
