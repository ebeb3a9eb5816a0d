/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Descriptors that we make in the target. Their table is the program's: it
 * may close any number at any moment and put a file of its own there (dup2,
 * close_range). So what is behind a number is asked before it is written to
 * and before it is closed, here and by the stub: no file of the program's is
 * cut or closed by us. Nor is one opened with our rights that a hostile
 * program has put there because it may only read it.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "hazard.h"
#include "private.h"

enum {
	MFD_FLAGS = MFD_CLOEXEC | MFD_ALLOW_SEALING,
	/* A debugger that reads the path while dlopen works opens its own
	 * descriptor of that number: one that nobody has. Below 64 the
	 * kernel's table need not grow, which takes long. */
	FD_LEAST = 56,
};

/* ---- whose it is --------------------------------------------------------- */

int
descriptor_taken(const struct errand *e)
{
	(void)fail(FAIL_UNSUITABLE, "process %d has closed a descriptor that "
		   "we made in it, or put a file of its own in its place",
		   target_pid(e->p->t));
	return fail_remedy("try again, or: " PLAN_ENGINE_RING);
}

/* All memfds are on one file system of the kernel's, where no path leads. */
static int
device_of_memfds(dev_t *dev)
{
	struct stat st = { 0 };
	const int fd = memfd_create("sonde-look", MFD_CLOEXEC);
	const int r = fd < 0 ? -1 : fstat(fd, &st);

	if (r < 0)
		(void)fail_errno("make a file in memory");
	if (fd >= 0)
		close(fd);
	*dev = st.st_dev;
	return r;
}

/* 1, 0, or -1: it cannot be known. */
static int
has_name(int fd, const char *name)
{
	char link[64], path[128], wanted[128];
	ssize_t n;

	snprintf(link, sizeof link, "/proc/self/fd/%d", fd);
	snprintf(wanted, sizeof wanted, "/memfd:%s (deleted)", name);
	n = readlink(link, path, sizeof path - 1);
	if (n < 0)
		return fail_errno("read the name of a descriptor");
	path[n] = 0;
	return strcmp(path, wanted) == 0;
}

/* Just made by us, so empty. 1, 0, or -1: it cannot be known. */
static int
is_fresh(int look, const char *name, struct file_id *id)
{
	struct stat st;
	dev_t dev;

	if (device_of_memfds(&dev) < 0)
		return -1;
	if (fstat(look, &st) < 0)
		return fail_errno("look at a descriptor");
	if (!handled(HAZARD_TAKEN_NUMBER))
		return 1;
	*id = (struct file_id){ st.st_dev, st.st_ino };
	if (!S_ISREG(st.st_mode) || st.st_dev != dev || st.st_size != 0)
		return 0;
	return has_name(look, name);
}

/* From outside, without opening it. */
static bool
is_still(const struct errand *e, pid_t tid, int number,
	 const struct file_id *id)
{
	char path[64];
	struct stat st;

	snprintf(path, sizeof path, "task/%d/fd/%d", (int)tid, number);
	return !handled(HAZARD_TAKEN_NUMBER) ||
		(fstatat(target_proc(e->p->t), path, &st, 0) == 0 &&
		 st.st_dev == id->dev && st.st_ino == id->ino);
}

/* ---- ours of the same file ----------------------------------------------- */

/* A handle that can do nothing: not even a device notices. */
static int
open_to_look(struct errand *e, pid_t tid, int theirs)
{
	struct target *t = e->p->t;
	char path[64];
	int fd;

	snprintf(path, sizeof path, "task/%d/fd/%d", (int)tid, theirs);
	fd = openat(target_proc(t), path, O_PATH | O_CLOEXEC);
	if (fd < 0 && errno == ENOENT)
		return descriptor_taken(e);
	if (fd < 0)
		fd = (int)syscall(SYS_pidfd_getfd, target_pidfd(t), theirs,
				  0);
	return fd < 0 ? fail_errno("open a descriptor of process %d",
				   target_pid(t)) : fd;
}

static int
open_to_write(int look)
{
	char path[64];
	int fd;

	snprintf(path, sizeof path, "/proc/self/fd/%d", look);
	fd = open(path, O_RDWR | O_CLOEXEC);
	return fd < 0 ? fail_errno("open %s", path) : fd;
}

/* id->ino stays 0 when it cannot be known whose it is; *ours then, too. */
static int
open_theirs(struct errand *e, pid_t tid, int theirs, const char *name,
	    struct file_id *id, bool *ours)
{
	const int look = open_to_look(e, tid, theirs);
	int fresh, fd = -1;

	*id = (struct file_id){ 0, 0 };
	*ours = true;
	if (look < 0) {
		*ours = fail_last()->kind != FAIL_UNSUITABLE;
		return -1;
	}
	fresh = is_fresh(look, name, id);
	if (fresh == 0) {
		*ours = false;
		(void)descriptor_taken(e);
	}
	if (fresh > 0)
		fd = open_to_write(look);
	close(look);
	return fd;
}

/* ---- notes --------------------------------------------------------------- */

static int32_t *
number_of(struct block *k, enum our_file which)
{
	return which == LIBRARY_FILE ? &k->library_fd : &k->area_fd;
}

static int
write_field(struct errand *e, const void *field, size_t n)
{
	const size_t at = (size_t)((const char *)field -
				   (const char *)&e->block);

	return e->s.at ? target_write(e->p->t, e->s.at + STUB_BLOCK + at,
				      field, n) : 0;
}

/* From now on a helper that is left alone closes it. What it is known by goes
 * first: a number without that is closed unseen. */
static int
note(struct errand *e, enum our_file which, int number,
     const struct file_id *id)
{
	struct file_id *ids = &e->block.files[which];
	int32_t *field = number_of(&e->block, which);

	*ids = *id;
	*field = number;
	return write_field(e, ids, sizeof *ids) < 0 ? -1 :
		write_field(e, field, sizeof *field);
}

/* ---- the door ------------------------------------------------------------ */

static int64_t
make(struct errand *e, pid_t tid, const struct user_regs_struct *regs,
     const char *name)
{
	const uint64_t args[6] = { e->name_at, MFD_FLAGS };
	int64_t result;

	if (target_write(e->p->t, e->name_at, name, strlen(name) + 1) < 0 ||
	    remote_syscall(e->p, tid, regs, SYS_memfd_create, args, &result,
			   NULL, NULL) < 0)
		return -1;
	if (result >= 0)
		return result;
	errno = (int)-result;
	(void)fail_errno("memfd_create in process %d", target_pid(e->p->t));
	return result == -EMFILE ?
		fail_remedy("raise its limit on open files: prlimit --nofile "
			    "-p %d", target_pid(e->p->t)) : -1;
}

int
descriptor_make(struct errand *e, pid_t tid,
		const struct user_regs_struct *regs, const char *name,
		enum our_file which)
{
	const int64_t theirs = make(e, tid, regs, name);
	struct file_id id;
	bool ours;
	int fd;

	if (theirs < 0)
		return -1;
	/* It stands at the end of that call: were we killed here, it would
	 * still have the number, and close it (stub.S). */
	fd = open_theirs(e, tid, (int)theirs, name, &id, &ours);
	if (ours && note(e, which, (int)theirs, &id) < 0 && fd >= 0) {
		close(fd);
		return -1;
	}
	return fd;
}

/* Looked at when the thread is about to close it: all that is left for another
 * to put a file there is the time that the thread takes to go on. */
static void
close_number(struct errand *e, pid_t tid, const struct user_regs_struct *regs,
	     int number, const struct file_id *id)
{
	const uint64_t args[6] = { (uint64_t)number };
	int64_t result;

	if (!is_still(e, tid, number, id) ||
	    remote_enter(e->p, tid, regs, SYS_close, args, NULL) < 0)
		return;
	if (is_still(e, tid, number, id) || remote_cancel(tid) == 0)
		(void)remote_leave(tid, &result, NULL, NULL);
}

/* Where there is room: else it stays where it is. */
int
descriptor_move(struct errand *e, pid_t tid,
		const struct user_regs_struct *regs, enum our_file which)
{
	const struct file_id id = e->block.files[which];
	const int from = *number_of(&e->block, which);
	const uint64_t args[6] = {
		(uint64_t)from, F_DUPFD_CLOEXEC, FD_LEAST
	};
	int64_t to;

	if (from >= FD_LEAST ||
	    remote_syscall(e->p, tid, regs, SYS_fcntl, args, &to, NULL,
			   NULL) < 0 || to < 0)
		return 0;
	if (!is_still(e, tid, (int)to, &id)) {
		/* a copy of what the program has put at the number before */
		const uint64_t copy[6] = { (uint64_t)to };

		(void)remote_syscall(e->p, tid, regs, SYS_close, copy, &to,
				     NULL, NULL);
		return descriptor_taken(e);
	}
	(void)note(e, which, (int)to, &id);
	close_number(e, tid, regs, from, &id);
	return 0;
}

void
descriptor_close(struct errand *e, pid_t tid,
		 const struct user_regs_struct *regs, enum our_file which)
{
	static const struct file_id none;
	const struct file_id id = e->block.files[which];
	const int number = *number_of(&e->block, which);

	close_number(e, tid, regs, number, &id);
	(void)note(e, which, -1, &none);
}

bool
descriptor_is_there(const struct errand *e, pid_t tid, enum our_file which)
{
	const struct file_id *id = &e->block.files[which];

	return !id->ino || is_still(e, tid, which == LIBRARY_FILE ?
				    e->block.library_fd : e->block.area_fd,
				    id);
}
