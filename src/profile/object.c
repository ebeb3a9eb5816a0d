/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Which file holds the names of a load object. Names of another build are
 * worse than none, so a file whose build-id differs from the recorded one is
 * never used. Tried in turn: the archived copy, the recorded path, the path as
 * the process sees it, the mapping of the living process itself (a file that
 * was deleted or replaced under it is still there).
 */
#include "foreign.h"
#include "private.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static const char *
base_name(const char *path)
{
	const char *slash = strrchr(path, '/');

	return slash && slash[1] ? slash + 1 : path;
}

/*
 * gprofng records no build-id, but copies what it maps: the copy tells which
 * build it was. So one file is one object whoever recorded it, and two builds
 * at one path are two.
 */
static char *
build_of(const struct source *src, const struct experiment_map_record *rec)
{
	return rec->build_id && *rec->build_id ? xstrdup(rec->build_id) :
		experiment_archived_id(src->founder, rec->name);
}

uint32_t
object_intern(struct profile *prof, uint32_t source,
	      const struct experiment_map_record *rec)
{
	char *build_id = build_of(&prof->sources[source], rec);

	for (uint32_t i = OBJECT_FIRST; i < prof->objects.len; i++) {
		const struct object *obj = object_at(prof, i);

		if (!strcmp(obj->path, rec->name) &&
		    !strcmp(obj->build_id, build_id)) {
			free(build_id);
			return i;
		}
	}

	struct object *obj = xcalloc(1, sizeof *obj);

	obj->path = xstrdup(rec->name);
	obj->build_id = build_id;
	obj->pub.path = obj->path;
	obj->pub.name = base_name(obj->path);
	obj->pub.is_file = true;
	obj->source = source;
	obj->start = rec->start;
	obj->end = rec->start + rec->size;
	obj->plt = obj->nothing = FUNCTION_UNSET;
	vec_push(&prof->objects, obj);
	return (uint32_t)prof->objects.len - 1;
}

void
object_free(struct object *obj)
{
	if (!obj)
		return;
	if (obj->pub.symbols)
		symfile_free(obj->pub.symbols);
	map_fini(&obj->functions);
	map_fini(&obj->locations);
	map_fini(&obj->inlined);
	map_fini(&obj->wholes);
	free(obj->path);
	free(obj->build_id);
	free(obj->trouble);
	free(obj->file);
	free(obj);
}

/* Seconds since 1970 when the process started; 0: there is no such process. */
static time_t
process_start(long long pid)
{
	char *path = xasprintf("/proc/%lld", pid);
	struct stat st;
	const bool alive = stat(path, &st) == 0;

	free(path);
	if (!alive)
		return 0;

	char *stat_path = xasprintf("/proc/%lld/stat", pid);
	char *text = file_read(stat_path, NULL);
	char *all = file_read("/proc/stat", NULL);
	const char *boot = all ? strstr(all, "\nbtime ") : NULL;
	const char *at = text ? strrchr(text, ')') : NULL;

	free(stat_path);
	/* the name may hold blanks; starttime is the 20th word after it */
	for (int i = 0; at && i < 20; i++)
		at = strchr(at + 1, ' ');

	const time_t start = at && boot ?
		strtoll(boot + strlen("\nbtime "), NULL, 10) +
		strtoll(at, NULL, 10) / sysconf(_SC_CLK_TCK) : 0;

	free(text);
	free(all);
	return start;
}

/*
 * "/proc/PID" of the recorded process, or of a thread of it that lives, if it
 * is not a later one that got its number; "" otherwise. The caller frees it.
 */
static char *
living_process(const struct source *src)
{
	enum { SLACK = 2 };	/* both clocks are read in whole seconds */
	const char *text = experiment_property(src->reader, "pid");
	long long pid;

	if (!text || !str_number(text, 1, INT32_MAX, &pid))
		return xstrdup("");

	const time_t start = process_start(pid);
	const time_t recorded = experiment_wall_start(src->reader);

	if (!start || !recorded || start > recorded + SLACK)
		return xstrdup("");
	return xasprintf("/proc/%d", process_living((pid_t)pid));
}

static bool
is_right_build(const struct object *obj, struct symfile *sf)
{
	return !obj->build_id[0] ||
	       !strcmp(symfile_build_id(sf), obj->build_id);
}

enum found { FOUND_NONE, FOUND_OTHER_BUILD, FOUND_HOLLOW, FOUND };

/* Takes path. */
static enum found
try_file(struct object *obj, char *path, const char *prefix)
{
	enum found found = FOUND_NONE;
	const int fd = foreign_open(path, 0);
	const bool hollow = fd >= 0 && file_is_hollow(fd);

	if (fd >= 0)
		close(fd);
	if (hollow) {
		found = FOUND_HOLLOW;	/* its build-id is not read either */
	} else if (fd >= 0) {
		struct symfile *sf = symfile_open(path, obj->path, prefix);

		if (is_right_build(obj, sf)) {
			obj->pub.symbols = sf;
			obj->pub.file = obj->file = path;
			return FOUND;
		}
		symfile_free(sf);
		found = FOUND_OTHER_BUILD;
	}
	free(path);
	return found;
}

/* Whoever made the experiment may have planted links in it. */
static bool
is_plain(const char *path, mode_t kind)
{
	struct stat st;

	return foreign_stat(AT_FDCWD, path, &st, AT_SYMLINK_NOFOLLOW) == 0 &&
		(st.st_mode & S_IFMT) == kind;
}

static enum found
try_archive(struct object *obj, const struct source *src)
{
	char *name = experiment_archived_name(obj->path);
	char *dir = xasprintf("%s/archives", src->founder);
	char *path = xasprintf("%s/%s", dir, name);
	const bool plain = is_plain(dir, S_IFDIR) && is_plain(path, S_IFREG);

	free(name);
	free(dir);
	if (plain && experiment_archived_sound(src->reader, src->founder,
					       obj->path))
		return try_file(obj, path, "");
	free(path);
	return FOUND_NONE;
}

static enum found
try_process(struct object *obj, const char *proc)
{
	if (!proc[0])
		return FOUND_NONE;

	char *root = xasprintf("%s/root", proc);
	enum found found = try_file(obj, xasprintf("%s%s", root, obj->path),
				    root);

	const struct mapped m = { .start = obj->start, .end = obj->end,
				  .path = obj->path };
	char *path = found == FOUND ? NULL : mapped_file(AT_FDCWD, proc, &m);

	if (path)
		found = try_file(obj, path, root);
	free(root);
	return found;
}

static void
explain(struct object *obj, enum found at_path)
{
	struct stat st;

	if (at_path == FOUND_OTHER_BUILD)
		obj->trouble = xasprintf(
			"%s is another build than the one that ran (build-id "
			"%.12s...): its functions are not named; put that "
			"build back, or record with `collector archive copy`",
			obj->path, obj->build_id);
	else if (at_path == FOUND_HOLLOW)
		obj->trouble = xasprintf(
			"%s is a file that is mostly holes: its functions are "
			"not named; put the file back as it was when the "
			"program was built", obj->path);
	else if (foreign_stat(AT_FDCWD, obj->path, &st, 0) < 0 &&
		 errno == ETIMEDOUT)
		obj->trouble = xasprintf(
			"the file system of %s does not answer: its functions "
			"are not named; look again when it does, or record "
			"with `collector archive copy`", obj->path);
	else if (foreign_stat(AT_FDCWD, obj->path, &st, 0) < 0)
		obj->trouble = xasprintf(
			"%s is gone: its functions are not named; put it "
			"back, or record with `collector archive copy`",
			obj->path);
	else
		obj->trouble = xasprintf(
			"%s cannot be read: its functions are not named; give "
			"yourself read permission", obj->path);
}

/* A file without a recorded build-id: at least tell when it is younger. */
static void
check_age(struct object *obj, const struct source *src, const char *used)
{
	const time_t recorded = experiment_wall_start(src->reader);
	struct stat st;

	if (obj->build_id[0] || !recorded ||
	    foreign_stat(AT_FDCWD, used, &st, 0) < 0 ||
	    st.st_mtime <= recorded)
		return;
	obj->trouble = xasprintf(
		"%s was changed after the recording began: its function "
		"names and lines may be wrong", obj->path);
}

/* Nothing here is right: the servers know files by their build-id. */
static enum found
try_server(struct object *obj, struct symbol_server *server)
{
	int fd;
	char *path = symbol_server_program(server, obj->build_id, obj->path,
					   &fd);

	if (!path)
		return FOUND_NONE;

	const enum found found = try_file(obj, path, "");

	close(fd);
	return found;
}

static void
find_outside(struct object *obj, const struct source *src,
	     struct symbol_server *server)
{
	const enum found at_path = try_file(obj, xstrdup(obj->path), "");

	if (at_path == FOUND) {
		check_age(obj, src, obj->path);
		return;
	}

	char *proc = living_process(src);

	if (try_process(obj, proc) != FOUND &&
	    try_server(obj, server) != FOUND)
		explain(obj, at_path);
	free(proc);
}

/* Leaves symbols NULL and says why when no file is right. */
void
object_open(struct profile *prof, struct object *obj)
{
	if (obj->opened || !obj->pub.is_file)
		return;
	obj->opened = true;

	const struct source *src = &prof->sources[obj->source];

	if (try_archive(obj, src) != FOUND)
		find_outside(obj, src, prof->options.server);
	if (obj->pub.symbols)
		symfile_ask(obj->pub.symbols, prof->options.server);
	if (!obj->trouble && obj->pub.symbols) {
		const char *why = symfile_trouble(obj->pub.symbols);

		obj->trouble = why ? xstrdup(why) : NULL;
	}
	obj->pub.trouble = obj->trouble;
}
