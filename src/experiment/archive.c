/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * archives/: copies of the load objects, so that the experiment can be read
 * where the programs are not, or not any more.
 *
 * The file at the path may not be the file that is mapped: programs are
 * upgraded, and deleted, while they run, and the path may belong to another
 * mount namespace. The kernel's own links to the mapped files come first;
 * a file found by its path must carry the build-id that was recorded.
 *
 * We may be root and read names that a user wrote: only regular ELF files
 * are copied, opened with the rights of the target's owner alone, and no link
 * inside the experiment is followed. The experiment is the directory that was
 * made, by its descriptor, and ours.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "elf_id.h"
#include "foreign.h"
#include "reader.h"
#include "sums.h"

enum { COPY_BUFFER = 256 << 10, NAMED_MISSING = 8 };

struct archiving {
	int dir_fd;		/* archives/ */
	enum archive_mode mode;
	const struct experiment_archiving *what;
	struct map seen;	/* hash of name */
	struct str missing;
	unsigned missing_count;
};

/* ---- finding the file ------------------------------------------------ */

/* An open ELF file, or -1. With the build-id known it must be the same. */
static int
open_object(const struct experiment_archiving *a, const char *path,
	    const char *build_id)
{
	const int fd = foreign_open_as(path, a->owner, a->group);
	struct stat st;
	struct str id = { 0 };

	if (fd < 0)
		return -1;

	bool good = fstat(fd, &st) == 0 && S_ISREG(st.st_mode) &&
		!file_is_hollow(fd) && elf_id(fd, &id);

	if (good && *build_id && id.len > 0)
		good = strcmp(str_text(&id), build_id) == 0;
	str_fini(&id);
	if (good)
		return fd;
	close(fd);
	return -1;
}

/* root is /proc/PID/root: the kernel's links to what is mapped there. */
static int
open_mapped(const struct experiment_archiving *a,
	    const struct experiment_map_record *r)
{
	const char *root = a->root;
	const struct mapped m = {
		.start = r->start, .end = r->start + r->size, .path = r->name,
	};
	char *proc = xstrndup(root, strlen(root) - strlen("/root"));
	char *path = mapped_file(AT_FDCWD, proc, &m);
	const int fd = path ? open_object(a, path, r->build_id) : -1;

	free(path);
	free(proc);
	return fd;
}

static int
open_by_path(const struct experiment_archiving *a, const char *root,
	     const struct experiment_map_record *r)
{
	char *path = xasprintf("%s%s", root, r->name);
	const int fd = open_object(a, path, r->build_id);

	free(path);
	return fd;
}

static int
find_object(const struct experiment_archiving *a,
	    const struct experiment_map_record *r)
{
	const char *root = a->root;
	int fd = -1;

	if (str_starts(root, "/proc/") && str_ends(root, "/root"))
		fd = open_mapped(a, r);
	if (fd < 0)
		fd = open_by_path(a, root, r);
	/* The process may be gone, and its root with it. Our own file of that
	 * path will do when it proves to be the same. */
	if (fd < 0 && *root && *r->build_id)
		fd = open_by_path(a, "", r);
	return fd;
}

/* ---- copying --------------------------------------------------------- */

/* Its owner may let it grow while it is copied, as far as our disk goes. */
static int
copy_bytes(int from, int to, uint64_t most, struct checksum *sum)
{
	char *buf = xmalloc(COPY_BUFFER);
	ssize_t n;

	while ((n = read(from, buf, COPY_BUFFER)) != 0) {
		if (n < 0 && errno == EINTR)
			continue;
		if (n > 0 && (uint64_t)n > most) {
			errno = EFBIG;
			n = -1;
		}
		if (n < 0 || write_all(to, buf, (size_t)n) < 0)
			break;
		checksum_add(sum, buf, (size_t)n);
		most -= (uint64_t)n;
	}
	free(buf);
	return n == 0 ? 0 : -1;
}

/* The time is for people; a file system may refuse it. */
static void
dress_copy(int from, int to)
{
	struct stat st;

	if (fstat(from, &st) == 0) {
		const struct timespec times[2] = { st.st_atim, st.st_mtim };

		(void)futimens(to, times);
	}
}

/* The copy appears under its name only when it is whole. */
static int
copy_object(const struct archiving *a, int from, const char *name)
{
	char *temporary = xasprintf(".copying.%d", (int)getpid());
	struct checksum sum = { 0 };
	struct stat st;
	int res = -1;

	if (fstat(from, &st) < 0 || file_is_hollow(from)) {
		free(temporary);
		errno = EFBIG;
		return -1;
	}

	const int to = openat(a->dir_fd, temporary, O_WRONLY | O_CREAT |
			      O_EXCL | O_CLOEXEC | O_NOFOLLOW, 0666);

	if (to >= 0) {
		res = copy_bytes(from, to, (uint64_t)st.st_size, &sum);
		if (res == 0)
			dress_copy(from, to);
		if (close(to) < 0)
			res = -1;
		if (res == 0)
			res = renameat(a->dir_fd, temporary, a->dir_fd, name);
		/* behind it: a reader looks for what has a sum. Without one
		 * there is a copy all the same. */
		if (res == 0)
			(void)sums_add(a->dir_fd, name, &sum);
		if (res < 0) {
			const int error = errno;

			(void)unlinkat(a->dir_fd, temporary, 0);
			errno = error;
		}
	}
	free(temporary);
	return res;
}

static void
add_missing(struct archiving *a, const char *name, const char *why)
{
	if (a->missing_count++ < NAMED_MISSING)
		str_addf(&a->missing, "%s%s (%s)", a->missing.len ? ", " : "",
			 name, why);
}

static void
archive_object(struct archiving *a, const struct experiment_map_record *r)
{
	char *name = experiment_archived_name(r->name);
	const bool there = faccessat(a->dir_fd, name, F_OK,
				     AT_SYMLINK_NOFOLLOW) == 0;

	if (!there || a->mode == ARCHIVE_COPY) {
		const int fd = find_object(a->what, r);

		if (fd < 0)
			add_missing(a, r->name, "not found as it was mapped");
		else if (copy_object(a, fd, name) < 0)
			add_missing(a, r->name, strerror(errno));
		if (fd >= 0)
			close(fd);
	}
	free(name);
}

/* Text of a file; not the vdso, a JIT's memory, devices. What lies in memory
 * that has a name (a memfd, /dev/shm) is one when it has a build-id. */
static bool
is_object(const struct experiment_map_record *r)
{
	static const char *const others[] = {
		"/dev/", "/memfd:", "/SYSV", "/[", "/anon_hugepage", "/drm ",
	};

	if (r->is_function || !(r->prot & 1) || r->name[0] != '/')
		return false;
	if (r->build_id[0] || str_starts(r->name, "/dev/shm/"))
		return true;
	for (size_t i = 0; i < ARRAY_LEN(others); i++)
		if (str_starts(r->name, others[i]))
			return false;
	return true;
}

static void
archive_maps(struct archiving *a, const struct maps *maps)
{
	for (size_t i = 0; i < maps->count; i++) {
		const struct experiment_map_record *r = &maps->records[i];
		uint64_t *seen = map_slot_of(&a->seen,
			hash_bytes(r->name, strlen(r->name), 0));

		if (*seen || !is_object(r))
			continue;
		*seen = 1;
		archive_object(a, r);
	}
}

/* ---- the directory --------------------------------------------------- */

/* The directory that is to have archives/: of a descendant its founder. */
static int
open_founder(const struct experiment_reader *rd)
{
	const char *slash = strrchr(rd->path, '/');
	int fd = -1;

	if ((slash ? slash[1] : rd->path[0]) == '_')
		fd = openat(rd->dir_fd, "..", O_RDONLY | O_DIRECTORY |
			    O_CLOEXEC);
	if (fd >= 0 && faccessat(fd, "log.xml", F_OK,
				 AT_SYMLINK_NOFOLLOW) == 0)
		return fd;
	if (fd >= 0)
		close(fd);
	return fcntl(rd->dir_fd, F_DUPFD_CLOEXEC, 0);
}

/* What we copied must not become another's. */
static int
check_owner(int fd)
{
	struct stat st;

	if (fstat(fd, &st) < 0)
		return fail_errno("look at the directory");
	if (geteuid() != 0 || st.st_uid == 0)
		return 0;
	return fail(FAIL_UNSUITABLE, "the directory is of user %u",
		    (unsigned)st.st_uid);
}

static int
open_archives(const struct experiment_reader *rd)
{
	const int founder = open_founder(rd);
	int fd = -1;

	if (founder < 0)
		return fail_errno("open the directory");
	if (check_owner(founder) < 0) {
		close(founder);
		return -1;
	}
	if (mkdirat(founder, "archives", 0700) < 0 && errno != EEXIST)
		fail_errno("make archives");
	else if ((fd = openat(founder, "archives", O_RDONLY | O_DIRECTORY |
			      O_NOFOLLOW | O_CLOEXEC)) < 0)
		fail_errno("open archives");
	close(founder);
	if (fd >= 0 && check_owner(fd) < 0) {
		close(fd);
		return -1;
	}
	return fd;
}

static int
archive_all(struct archiving *a, const struct experiment_reader *rd)
{
	a->dir_fd = open_archives(rd);
	if (a->dir_fd < 0)
		return -1;
	archive_maps(a, &rd->maps);
	for (size_t i = 0; i < rd->children.len; i++) {
		const struct experiment_reader *child = rd->children.items[i];

		archive_maps(a, &child->maps);
	}
	close(a->dir_fd);
	if (a->missing_count > NAMED_MISSING)
		str_addf(&a->missing, " and %u more",
			 a->missing_count - NAMED_MISSING);
	return a->missing_count ? fail(FAIL_PARTIAL, "not archived: %s",
				       str_text(&a->missing)) : 0;
}

int
experiment_archive(const struct experiment_archiving *what,
		   enum archive_mode mode)
{
	struct archiving a = { .mode = mode, .what = what };

	if (mode == ARCHIVE_OFF)
		return 0;

	struct experiment_reader *rd = reader_open_maps(what->dir_fd,
							what->path);

	if (!rd)
		return -1;

	int res = archive_all(&a, rd);

	if (res < 0)
		res = fail_in("archive the load objects of %s", what->path);
	experiment_reader_free(rd);
	map_fini(&a.seen);
	str_fini(&a.missing);
	return res;
}

/* No link is followed: whoever made the experiment may have planted them. */
char *
experiment_archived_id(const char *experiment, const char *path)
{
	char *dir = xasprintf("%s/archives", experiment);
	char *name = experiment_archived_name(path);
	const int dir_fd = open(dir, O_RDONLY | O_DIRECTORY | O_NOFOLLOW |
				O_CLOEXEC);
	const int fd = dir_fd < 0 ? -1 :
		openat(dir_fd, name, O_RDONLY | O_NOFOLLOW | O_NONBLOCK |
		       O_NOCTTY | O_CLOEXEC);
	struct stat st;
	struct str id = { 0 };

	if (fd >= 0 && fstat(fd, &st) == 0 && S_ISREG(st.st_mode))
		(void)elf_id(fd, &id);	/* what is no ELF has no id */
	if (fd >= 0)
		close(fd);
	if (dir_fd >= 0)
		close(dir_fd);
	free(name);
	free(dir);
	return str_take(&id);
}
