/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Reading an experiment: finished, being recorded, or left behind by a killed
 * writer; ours or gprofng's. Whatever is damaged costs what it holds and one
 * warning, never the rest.
 */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "place.h"
#include "reader.h"

enum { TEXT_MAX = 1 << 30, OLDEST_VERSION = 12 };

static struct experiment_reader *
new_reader(void)
{
	struct experiment_reader *rd = xcalloc(1, sizeof *rd);

	rd->warnings = xcalloc(1, sizeof *rd->warnings);
	rd->damaged = xcalloc(1, sizeof *rd->damaged);
	rd->dir_fd = -1;
	return rd;
}

void
reader_warn(const struct experiment_reader *rd, const char *fmt, ...)
{
	va_list ap;

	va_start(ap, fmt);
	char *text = str_tame(xvasprintf(fmt, ap));
	va_end(ap);
	for (size_t i = 0; i < rd->warnings->len; i++)
		if (strcmp(rd->warnings->items[i], text) == 0) {
			free(text);	/* once is enough */
			return;
		}
	vec_push(rd->warnings, text);
}

void
reader_set(struct experiment_reader *rd, const char *name, const char *value)
{
	for (size_t i = 0; i < rd->property_count; i++)
		if (strcmp(rd->properties[i].name, name) == 0) {
			rd->properties[i].value = value;
			return;
		}
	rd->properties = xgrow(rd->properties, &rd->property_cap,
			       rd->property_count + 1, sizeof *rd->properties);
	rd->properties[rd->property_count++] = (struct property){ name, value };
}

void
reader_saw(struct experiment_reader *rd, uint64_t time_ns)
{
	if (time_ns > rd->end_ns)
		rd->end_ns = time_ns;
}

char *
reader_text(struct experiment_reader *rd, const char *name, size_t *size)
{
	struct stat st;

	if (fstatat(rd->dir_fd, name, &st, AT_SYMLINK_NOFOLLOW) < 0)
		return NULL;
	if (st.st_size > TEXT_MAX) {
		errno = EINVAL;
		return NULL;
	}

	char *text = file_read_plain(rd->dir_fd, name, size);

	if (text)
		vec_push(&rd->texts, text);
	return text;
}

int
reader_tags(struct experiment_reader *rd, const char *name,
	    void (*visit)(struct experiment_reader *rd,
			  const struct xml_tag *tag))
{
	size_t size;
	char *text = reader_text(rd, name, &size);
	struct xml_scan scan;
	struct xml_tag tag;
	bool damaged = false;

	if (!text)
		return -1;
	xml_scan_init(&scan, text, size);
	/* names of files are opened: they stay what they are */
	scan.whole = strcmp(name, "map.xml") == 0;
	for (;;) {
		const enum xml_result res = xml_next(&scan, &tag);

		if (res == XML_TAG)
			visit(rd, &tag);
		else if (res == XML_END)
			break;
		else
			damaged = true;
		if (res == XML_CUT)
			break;
	}
	if (damaged && !rd->recording)
		reader_damage(rd, name, "half-written lines were ignored");
	return 0;
}

/* ---- opening --------------------------------------------------------- */

static int
open_directory(struct experiment_reader *rd, int at, const char *name)
{
	/* within an experiment no link is followed */
	rd->dir_fd = openat(at, name, O_RDONLY | O_DIRECTORY | O_CLOEXEC |
			    (at == AT_FDCWD ? 0 : O_NOFOLLOW));
	if (rd->dir_fd >= 0)
		return 0;
	if (errno == ENOENT || errno == ENOTDIR)
		return fail(FAIL_MISSING, "there is no experiment %s",
			    rd->path);
	return fail_errno("open experiment %s", rd->path);
}

static int
load(struct experiment_reader *rd)
{
	rd->recording = lock_file_is_held(rd->dir_fd, "log.xml");
	if (log_load(rd) < 0) {
		if (errno == ENOENT)
			return fail(FAIL_MISSING, "%s is not an experiment: "
				    "it has no log.xml", rd->path);
		return fail_errno("read %s/log.xml", rd->path);
	}

	const char *version = experiment_property(rd, "version");

	if (version && atoi(version) < OLDEST_VERSION)
		return fail(FAIL_UNSUITABLE, "%s has the old format %s; the "
			    "oldest that can be read is %d", rd->path, version,
			    OLDEST_VERSION);
	if (!rd->started && !rd->recording)
		reader_damage(rd, "log.xml", "it does not say when the target "
			      "was started; times are wrong");
	data_files_sort(rd);
	for (size_t i = 0; i < rd->files.len; i++) {
		data_file_open(rd, rd->files.items[i]);
		/* of a whole one that can wait until its data is wanted */
		if (!rd->exited || rd->recording)
			data_file_scan(rd, rd->files.items[i]);
	}
	frames_load(rd);
	maps_load(rd);
	overview_load(rd);
	rd->notes = reader_text(rd, "notes", NULL);
	if (!rd->notes && errno != ENOENT)
		reader_damage(rd, "notes", "%s", strerror(errno));
	reader_check_files(rd);
	return 0;
}

/* Without an exit the last thing seen is the end. */
static void
find_end(struct experiment_reader *rd)
{
	for (size_t i = 0; i < rd->files.len && !rd->exited; i++) {
		const struct data_file *file = rd->files.items[i];

		if (rd->started && file->last_ns > rd->start_ns)
			reader_saw(rd, file->last_ns - rd->start_ns);
	}
	if (!experiment_finished(rd) && !rd->recording)
		reader_warn(rd, "the experiment was not closed: its recorder "
			    "was killed; what it had written is shown");
}

enum reader_what { READ_ALL, READ_MAPS };

static int
load_maps_only(struct experiment_reader *rd)
{
	if (faccessat(rd->dir_fd, "map.xml", R_OK, AT_SYMLINK_NOFOLLOW) < 0)
		return fail_errno("read %s/map.xml", rd->path);
	maps_load(rd);
	return 0;
}

static struct experiment_reader *
open_one(int at, const char *name, const char *path, enum reader_what what)
{
	struct experiment_reader *rd = new_reader();
	size_t len = strlen(path);

	while (len > 1 && path[len - 1] == '/')
		len--;
	rd->path = xstrndup(path, len);
	rd->shown = str_tamed(rd->path);
	if (open_directory(rd, at, name) < 0 ||
	    (what == READ_ALL ? load(rd) : load_maps_only(rd)) < 0) {
		experiment_reader_free(rd);
		return NULL;
	}
	if (what == READ_ALL)
		find_end(rd);
	return rd;
}

/* Descendants: directories `_f1.er`, `M_r0.er`, with numbers in order. */
static int
is_child(const struct dirent *ent)
{
	return ent->d_name[0] == '_' || str_starts(ent->d_name, "M_r");
}

static void
open_children(struct experiment_reader *rd, enum reader_what what)
{
	struct dirent **names;
	const int n = scandirat(rd->dir_fd, ".", &names, is_child,
				versionsort);

	if (n < 0) {
		reader_warn(rd, "the directory cannot be listed: %s; "
			    "descendants are not read", strerror(errno));
		return;
	}
	for (int i = 0; i < n; i++) {
		struct stat st;
		char *path = xasprintf("%s/%s", rd->path, names[i]->d_name);

		if (fstatat(rd->dir_fd, names[i]->d_name, &st,
			    AT_SYMLINK_NOFOLLOW) == 0 && S_ISDIR(st.st_mode)) {
			struct experiment_reader *child =
				open_one(rd->dir_fd, names[i]->d_name, path,
					 what);

			if (child)
				vec_push(&rd->children, child);
			else
				reader_damage(rd, names[i]->d_name, "%s",
					      fail_last()->reason);
		}
		free(path);
		free(names[i]);
	}
	free(names);
}

struct experiment_reader *
experiment_open(const char *path)
{
	struct experiment_reader *rd = open_one(AT_FDCWD, path, path, READ_ALL);

	if (rd)
		open_children(rd, READ_ALL);
	return rd;
}

struct experiment_reader *
reader_open_log(int dir_fd)
{
	struct experiment_reader *rd = new_reader();

	rd->path = xstrdup("");
	rd->shown = xstrdup("");
	rd->dir_fd = fcntl(dir_fd, F_DUPFD_CLOEXEC, 0);
	if (rd->dir_fd >= 0 && log_load(rd) == 0)
		return rd;
	(void)fail_errno("read log.xml");
	experiment_reader_free(rd);
	return NULL;
}

struct experiment_reader *
reader_open_maps(int dir_fd, const char *path)
{
	struct experiment_reader *rd = open_one(dir_fd, ".", path, READ_MAPS);

	if (rd)
		open_children(rd, READ_MAPS);
	return rd;
}

void
experiment_reader_free(struct experiment_reader *rd)
{
	if (!rd)
		return;
	for (size_t i = 0; i < rd->children.len; i++)
		experiment_reader_free(rd->children.items[i]);
	vec_fini(&rd->children);
	for (size_t i = 0; i < rd->files.len; i++)
		free(((struct data_file *)rd->files.items[i])->name);
	vec_free_items(&rd->files);
	vec_free_items(&rd->event_attrs);
	vec_free_items(rd->warnings);
	vec_free_items(rd->damaged);
	free(rd->damaged);
	free(rd->warnings);
	vec_free_items(&rd->texts);
	free(rd->properties);
	free(rd->events);
	free(rd->samples);
	free(rd->counters);
	maps_fini(&rd->maps);
	frames_fini(&rd->frames);
	if (rd->dir_fd >= 0)
		close(rd->dir_fd);
	free(rd->shown);
	free(rd->path);
	free(rd);
}
