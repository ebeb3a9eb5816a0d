/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * A control group that is frozen (a paused container, a suspended unit): its
 * threads run nothing until it is thawed. Under version 1 they do not even
 * stop for a tracer; under version 2 they stop, but a call that we ask of
 * them is never made. So nothing is begun there, and what was begun is given
 * up when it is frozen meanwhile.
 *
 * Who freezes is the group itself or one above it: that one's file is the
 * remedy.
 */
#include "private.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

static const struct version {
	const char *type, *controller;	/* of the file system */
	const char *own;		/* "1": it is this group that freezes */
	const char *thaw, *file;
} versions[CGROUP_VERSIONS] = {
	{ "cgroup2", "", "cgroup.freeze", "0", "cgroup.freeze" },
	{ "cgroup", "freezer", "freezer.self_freezing", "THAWED",
	  "freezer.state" },
	{ "cgroup", "pids", NULL, NULL, NULL },
};

/* ---- where the hierarchies are ------------------------------------------- */

static bool
has_word(const char *list, const char *word, char separator)
{
	const size_t n = strlen(word);

	for (const char *at = list; at && *at; at += *at == separator) {
		if (strncmp(at, word, n) == 0 &&
		    (!at[n] || at[n] == separator || at[n] == '\n'))
			return true;
		at += strcspn(at, (char[]){ separator, '\0' });
	}
	return false;
}

/* "37 31 0:34 ROOT MOUNT rw,relatime - cgroup cgroup rw,freezer" */
static void
read_mount(struct target *t, char *line)
{
	char root[1024], mount[1024], type[32], options[256];
	const char *rest = strstr(line, " - ");

	if (!rest ||
	    sscanf(line, "%*s %*s %*s %1023s %1023s", root, mount) != 2 ||
	    sscanf(rest, " - %31s %*s %255s", type, options) != 2)
		return;
	for (size_t i = 0; i < CGROUP_VERSIONS; i++) {
		struct cgroup_mount *m = &t->cgroups[i];

		if (m->mount || strcmp(type, versions[i].type) != 0 ||
		    (*versions[i].controller &&
		     !has_word(options, versions[i].controller, ',')))
			continue;
		m->root = xstrdup(root);
		m->mount = xstrdup(mount);
	}
}

static void
read_mounts(struct target *t)
{
	char *text = file_read("/proc/self/mountinfo", NULL);

	for (char *line = text; line && *line;) {
		char *end = strchr(line, '\n');

		if (end)
			*end = '\0';
		read_mount(t, line);
		line = end ? end + 1 : NULL;
	}
	free(text);
	t->cgroups_read = true;
}

void
cgroups_fini(struct target *t)
{
	for (size_t i = 0; i < CGROUP_VERSIONS; i++) {
		free(t->cgroups[i].root);
		free(t->cgroups[i].mount);
	}
}

/* "6:freezer:/a/b", "0::/a/b". The caller frees it; NULL: not in one. */
static char *
group_of(const struct target *t, pid_t tid, const struct version *v)
{
	char path[64], *found = NULL;

	(void)snprintf(path, sizeof path, "task/%d/cgroup", (int)tid);

	char *text = file_read_at(t->proc_fd, path, NULL);

	for (char *line = text; line && *line && !found;) {
		char *names = strchr(line, ':'), *end = strchr(line, '\n');
		char *group = names ? strchr(names + 1, ':') : NULL;

		if (end)
			*end = '\0';
		if (group) {
			*group = '\0';
			if (*v->controller ?
			    has_word(names + 1, v->controller, ',') :
			    !names[1])
				found = xstrdup(group + 1);
		}
		line = end ? end + 1 : NULL;
	}
	free(text);
	return found;
}

/* Its directory as we see it. NULL: it is not below what we see. */
static char *
directory(struct target *t, pid_t tid, enum cgroup_version which)
{
	const struct cgroup_mount *m = &t->cgroups[which];
	char *group = NULL, *found = NULL;

	if (!t->cgroups_read)
		read_mounts(t);
	if (m->mount)
		group = group_of(t, tid, &versions[which]);
	if (group) {
		const size_t above = strcmp(m->root, "/") == 0 ? 0 :
			strlen(m->root);

		if (strncmp(group, m->root, above) == 0 &&
		    !strstr(group, "/.."))
			found = xasprintf("%s%s", m->mount, group + above);
	}
	free(group);
	return found;
}

static char *
read_in(const char *dir, const char *name)
{
	char *path = xasprintf("%s/%s", dir, name);
	char *text = file_read(path, NULL);

	free(path);
	return text;
}

/* One directory up; false at the mount. */
static bool
go_up(char *dir, const struct cgroup_mount *m)
{
	char *slash = strrchr(dir, '/');

	if (!slash || (size_t)(slash - dir) < strlen(m->mount))
		return false;
	*slash = '\0';
	return true;
}

/* ---- frozen -------------------------------------------------------------- */

/* The group that freezes this thread; the caller frees it. NULL: none. */
static char *
freezer_of(struct target *t, pid_t tid, enum cgroup_version which)
{
	char *dir = directory(t, tid, which);

	while (dir) {
		char *own = read_in(dir, versions[which].own);
		const bool freezes = own && *own == '1';

		free(own);
		if (freezes)
			return dir;
		if (!go_up(dir, &t->cgroups[which]))
			break;
	}
	free(dir);
	return NULL;
}

static int
check_frozen(struct target *t, pid_t tid, enum cgroup_version which)
{
	const struct version *v = &versions[which];
	char *dir = freezer_of(t, tid, which);

	if (!dir)
		return 0;
	(void)fail(FAIL_UNSUITABLE, "process %d (%s) is frozen with its "
		   "control group %s", (int)t->pid, t->name, dir);
	fail_remedy_write(v->thaw, dir, v->file, "");
	free(dir);
	return -1;
}

int
cgroup_check_frozen(struct target *t, pid_t tid)
{
	if (check_frozen(t, tid, CGROUP_UNIFIED) < 0)
		return -1;
	return check_frozen(t, tid, CGROUP_FREEZER);
}

int
target_check_frozen(struct target *t)
{
	const pid_t tid = target_live_thread(t);

	return tid < 0 ? -1 : cgroup_check_frozen(t, tid);
}

/* ---- how many tasks ------------------------------------------------------ */

static long long
number_in(const char *dir, const char *name)
{
	char *text = read_in(dir, name);
	long long n = -1;

	if (text) {
		text[strcspn(text, "\n")] = '\0';
		if (!str_number(text, 0, INT64_MAX, &n))
			n = -1;		/* "max" */
	}
	free(text);
	return n;
}

/* The next group up that can take no `wanted` more; the caller frees it. */
static char *
full_group(struct target *t, enum cgroup_version which, long long wanted)
{
	char *dir = directory(t, target_live_thread(t), which);

	while (dir) {
		const long long most = number_in(dir, "pids.max");

		if (most >= 0 &&
		    number_in(dir, "pids.current") + wanted > most)
			return dir;
		if (!go_up(dir, &t->cgroups[which]))
			break;
	}
	free(dir);
	return NULL;
}

char *
target_full_pids(struct target *t, long long wanted)
{
	char *dir = full_group(t, CGROUP_UNIFIED, wanted);

	return dir ? dir : full_group(t, CGROUP_PIDS, wanted);
}
