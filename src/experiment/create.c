/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Creating an experiment: all or nothing. Every file exists from the start,
 * so that a full disk or a missing right shows here and not later, and from
 * then on they are reached by descriptors only: the caller may change its
 * directory, the target may live in another mount namespace.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "header.h"
#include "place.h"
#include "writer.h"

/* The end of a log with many losses; <Lost samples> in every state. */
enum { LOG_RESERVE = 16 << 10, PROFILE_RESERVE = 4 << 10 };

static int
check_path(const char *path)
{
	size_t len = strlen(path);

	while (len > 0 && path[len - 1] == '/')
		len--;
	/* readers refuse other names; "x" of x.er is at least a letter */
	if (len >= 4 && memcmp(path + len - 3, ".er", 3) == 0 &&
	    path[len - 4] != '/')
		return 0;
	fail(FAIL_USAGE, "the name of an experiment ends in .er");
	return fail_remedy("say %.*s.er", (int)len, path);
}

static int
open_files(struct experiment *exp)
{
	if (sink_open(&exp->log, exp->dir_fd, "log.xml", sink_line) < 0)
		return -1;
	if (lock_take(exp->log.fd) < 0)
		return fail_errno("lock log.xml");
	if (sink_open(&exp->map, exp->dir_fd, "map.xml", sink_line) < 0 ||
	    sink_open(&exp->frames, exp->dir_fd, "data.frameinfo",
		      sink_packet) < 0 ||
	    sink_open(&exp->overview, exp->dir_fd, "overview",
		      sink_overview) < 0)
		return -1;
	if (exp->clocked && sink_open(&exp->profile, exp->dir_fd, "profile",
				      sink_packet) < 0)
		return -1;
	return 0;
}

/* Files without content are made on a full disk, too. */
static int
no_room(const struct sink *s)
{
	errno = s->error;
	fail_errno("write %s", s->name);
	if (s->error == ENOSPC || s->error == EDQUOT)
		return fail_remedy("make room, or record elsewhere: "
				   "-o DIR/NAME.er");
	return -1;
}

static int
write_header(struct experiment *exp, const struct experiment_info *info)
{
	struct str text = { 0 };

	header_text(&text, info);
	sink_put(&exp->log, str_text(&text), text.len);
	str_fini(&text);
	return sink_flush(&exp->log) < 0 ? no_room(&exp->log) : 0;
}

/*
 * What says that the disk is full must find room: the end of the log, and the
 * time of lost samples, whose function is there from the beginning.
 */
static int
make_room(struct experiment *exp)
{
	if (sink_reserve(&exp->log, LOG_RESERVE) < 0)
		return no_room(&exp->log);
	if (!exp->clocked)
		return 0;
	exp->lost_frinfo = experiment_artificial(exp, "<Lost samples>");
	if (sink_flush(&exp->frames) < 0)
		return no_room(&exp->frames);
	if (sink_flush(&exp->map) < 0)
		return no_room(&exp->map);
	if (sink_reserve(&exp->profile, PROFILE_RESERVE) < 0)
		return no_room(&exp->profile);
	return 0;
}

/* Who asked owns the files; a file system may not know owners. */
static int
give_away(const struct experiment *exp, const struct experiment_info *info)
{
	const int fds[] = { exp->log.fd, exp->map.fd, exp->frames.fd,
		exp->overview.fd, exp->profile.fd, exp->dir_fd };

	if (info->owner == (uid_t)-1 && info->group == (gid_t)-1)
		return 0;
	for (size_t i = 0; i < ARRAY_LEN(fds); i++)
		if (fds[i] >= 0 && fchown(fds[i], info->owner,
					  info->group) < 0)
			return -1;
	return 0;
}

struct experiment *
writer_new(const char *path)
{
	struct experiment *exp = xcalloc(1, sizeof *exp);

	exp->path = xstrdup(path);
	exp->dir_fd = -1;
	exp->log.fd = exp->map.fd = exp->frames.fd = exp->profile.fd =
		exp->overview.fd = -1;
	for (int i = 0; i < CALL_FILES; i++)
		exp->calls[i].fd = -1;
	return exp;
}

static struct experiment *
new_experiment(const struct experiment_info *info)
{
	struct experiment *exp = writer_new(info->path);

	exp->pid = info->pid;
	exp->start_ns = exp->last_ns = info->start_ns;
	exp->clocked = info->interval_ns != 0;
	return exp;
}

/* What went wrong on the side and does not make the experiment unsound. */
static void
remark(struct experiment *exp, const char *what, const char *why)
{
	char *text = xasprintf("%s: %s", what, why);

	experiment_comment(exp, exp->start_ns, text);
	free(text);
}

static void
forget_place(struct experiment *exp)
{
	place_close(exp->place);
	free(exp->place);
	exp->place = NULL;
}

void
experiment_began(struct experiment *exp)
{
	if (!exp->place)
		return;
	if (place_commit(exp->place) < 0)
		remark(exp, "the old experiment is not wholly removed",
		       exp->place->aside);
	forget_place(exp);
}

void
experiment_abandon(struct experiment *exp)
{
	if (exp->place) {
		place_undo(exp->place, exp->dir_fd);
		forget_place(exp);
	}
	(void)writer_free(exp);
}

struct experiment *
experiment_create(const struct experiment_info *info)
{
	struct experiment *exp = new_experiment(info);
	struct place *place = xcalloc(1, sizeof *place);

	*place = (struct place){ .parent_fd = -1, .spare_fd = -1, .old_fd = -1,
		.old_lock = -1 };
	exp->place = place;
	if (check_path(info->path) < 0 ||
	    place_open(place, info->path) < 0 ||
	    place_clear(place, info->overwrite) < 0 ||
	    (exp->dir_fd = place_make(place)) < 0 ||
	    open_files(exp) < 0 || write_header(exp, info) < 0 ||
	    make_room(exp) < 0) {
		fail_in("create experiment %s", info->path);
		experiment_abandon(exp);
		return NULL;
	}
	if (!info->provisional)
		experiment_began(exp);
	if (give_away(exp, info) < 0)
		remark(exp, "these files cannot be given to who asked",
		       strerror(errno));
	return exp;
}

const char *
experiment_path(const struct experiment *exp)
{
	return exp->path;
}

int
experiment_directory(const struct experiment *exp)
{
	const int fd = exp->keep ? exp->keep->written_fd : exp->dir_fd;

	return fd < 0 ? -1 : fcntl(fd, F_DUPFD_CLOEXEC, 0);
}

int
experiment_where(const struct experiment *exp, char *path, size_t size,
		 struct experiment_left *left)
{
	char link[64];
	struct stat st;
	ssize_t n;

	snprintf(link, sizeof link, "/proc/self/fd/%d", exp->dir_fd);
	n = readlink(link, path, size);
	if (n <= 0 || (size_t)n >= size || fstat(exp->dir_fd, &st) < 0)
		return -1;
	path[n] = '\0';
	left->path = path;
	left->device = st.st_dev;
	left->inode = st.st_ino;
	return 0;
}
