/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * The one way to a file whose name others chose. Such a file may lie on a file
 * system that does not answer: of FUSE, which any user may mount and serve, or
 * of the network. Then whoever opens it, or only looks for it, sleeps, and not
 * even SIGKILL ends that at once. So a process beside us does it (beside.h),
 * and gives us the descriptor.
 */
#include "beside.h"
#include "foreign.h"
#include "opener.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

static const uint64_t WHOLE_NS = UINT64_C(30000000000);	/* of a slow copy */

/* ---- one message, and perhaps a descriptor ------------------------------- */

static bool
say(int fd, const void *data, size_t n, int with)
{
	union { struct cmsghdr head; char room[CMSG_SPACE(sizeof with)]; } c;
	struct iovec part = { (void *)(uintptr_t)data, n };
	struct msghdr m = { .msg_iov = &part, .msg_iovlen = 1 };

	memset(&c, 0, sizeof c);
	if (with >= 0) {
		m.msg_control = c.room;
		m.msg_controllen = sizeof c.room;
		c.head = (struct cmsghdr){
			.cmsg_len = CMSG_LEN(sizeof with),
			.cmsg_level = SOL_SOCKET, .cmsg_type = SCM_RIGHTS,
		};
		memcpy(CMSG_DATA(&c.head), &with, sizeof with);
	}
	return sendmsg(fd, &m, MSG_NOSIGNAL) == (ssize_t)n;
}

static bool
hear(int fd, void *data, size_t n, int *with)
{
	union { struct cmsghdr head; char room[CMSG_SPACE(sizeof *with)]; } c;
	struct iovec part = { data, n };
	struct msghdr m = { .msg_iov = &part, .msg_iovlen = 1,
			    .msg_control = c.room,
			    .msg_controllen = sizeof c.room };

	*with = -1;
	if (recvmsg(fd, &m, MSG_CMSG_CLOEXEC) != (ssize_t)n)
		return false;
	if (m.msg_controllen >= CMSG_LEN(sizeof *with) &&
	    c.head.cmsg_type == SCM_RIGHTS)
		memcpy(with, CMSG_DATA(&c.head), sizeof *with);
	return true;
}

/* ---- in the process ------------------------------------------------------ */

static void
goes_on(void *arg)
{
	const struct opener_answer more = { .error = EINPROGRESS };

	(void)say(*(int *)arg, &more, sizeof more, -1);
}

static void
serve(int fd, void *arg)
{
	static struct opener_request q;
	static struct opener_answer a;
	int dir;

	(void)arg;
	while (hear(fd, &q, sizeof q, &dir)) {
		const int got = opener_work(dir < 0 ? AT_FDCWD : dir, &q, &a,
					    goes_on, &fd);

		a.error = got < 0 ? errno : 0;
		if (!say(fd, &a, sizeof a, got > 0 ? got : -1))
			return;
		if (got > 0)
			close(got);
		if (dir >= 0)
			close(dir);
	}
}

/* ---- with it ------------------------------------------------------------- */

static struct beside opener = {
	.lock = PTHREAD_MUTEX_INITIALIZER, .name = "file-opener",
	.serve = serve, .fd = -1, .least_ms = 50,
};

void
foreign_prepare(void)
{
	(void)pthread_mutex_lock(&opener.lock);
	(void)beside_begin(&opener, NULL);	/* or later */
	(void)pthread_mutex_unlock(&opener.lock);
}

static bool
await_end(struct opener_answer *a, int *fd)
{
	const uint64_t until = now_ns() + WHOLE_NS;

	while (beside_await(&opener) && hear(opener.fd, a, sizeof *a, fd)) {
		if (a->error != EINPROGRESS)
			return true;
		if (now_ns() > until)
			break;
	}
	return false;
}

/* It is in the root directory. */
static bool
send_request(int dir_fd, const struct opener_request *q)
{
	const bool here = dir_fd == AT_FDCWD && q->path[0] != '/';
	const int dir = here ? open(".", O_PATH | O_DIRECTORY | O_CLOEXEC) :
		dir_fd == AT_FDCWD ? -1 : dir_fd;
	const bool sent = (!here || dir >= 0) &&
		say(opener.fd, q, sizeof *q, dir);

	if (here && dir >= 0)
		close(dir);
	return sent;
}

/* As opener_work. */
static int
ask(int dir_fd, const struct opener_request *q, struct opener_answer *a)
{
	int fd = -1, error = ETIMEDOUT;

	(void)pthread_mutex_lock(&opener.lock);
	if (beside_begin(&opener, NULL)) {
		if (send_request(dir_fd, q) && await_end(a, &fd)) {
			beside_praise(&opener);
			error = a->error;
		} else {
			beside_part(&opener);
		}
	} else {
		/* no process can be had: better this than nothing */
		fd = opener_work(dir_fd, q, a, NULL, NULL);
		error = fd < 0 ? errno : 0;
	}
	(void)pthread_mutex_unlock(&opener.lock);
	errno = error;
	return error ? -1 : fd < 0 ? 0 : fd;
}

/* A long path is nobody's file; /proc/self is ours, and not the other one. */
static bool
put_path(char *to, const char *path)
{
	static const char self[] = "/proc/self/";
	const bool ours = str_starts(path, self);
	const int n = ours ? snprintf(to, PATH_MAX, "/proc/%d/%s",
				      (int)getpid(), path + strlen(self)) :
		snprintf(to, PATH_MAX, "%s", path);

	errno = ENAMETOOLONG;
	return n >= 0 && n < PATH_MAX;
}

static struct opener_request *
request(enum opener_work work, const char *path)
{
	struct opener_request *q = xcalloc(1, sizeof *q);

	q->work = work;
	if (put_path(q->path, path))
		return q;
	free(q);
	return NULL;
}

/* Takes q, which may be NULL; a may be. */
static int
done(int dir_fd, struct opener_request *q, struct opener_answer *a)
{
	struct opener_answer *own = a ? a : xcalloc(1, sizeof *own);
	const int got = q ? ask(dir_fd, q, own) : -1;
	const int error = errno;

	if (!a)
		free(own);
	free(q);
	errno = error;
	return got;
}

int
foreign_open_at(int dir_fd, const char *path, uint64_t most, int flags)
{
	struct opener_request *q = request(OPENER_OPEN, path);

	if (q) {
		q->most = most;
		q->flags = flags;
	}
	return done(dir_fd, q, NULL);
}

int
foreign_open_as(const char *path, uid_t uid, gid_t gid)
{
	struct opener_request *q = request(OPENER_OPEN, path);

	if (q) {
		q->of_user = true;
		q->uid = uid;
		q->gid = gid;
	}
	return done(AT_FDCWD, q, NULL);
}

int
foreign_stat(int dir_fd, const char *path, struct stat *st, int flags)
{
	struct opener_request *q = request(OPENER_STAT, path);
	struct opener_answer *a = xcalloc(1, sizeof *a);
	int got, error;

	if (q)
		q->flags = flags;
	got = done(dir_fd, q, a);
	error = errno;
	*st = a->st;
	free(a);
	errno = error;
	return got;
}

char *
foreign_text(int dir_fd, const char *path, size_t *size)
{
	const int fd = done(dir_fd, request(OPENER_TEXT, path), NULL);
	char *text = NULL;
	char copy[32];

	if (fd < 0)
		return NULL;
	(void)snprintf(copy, sizeof copy, "/proc/self/fd/%d", fd);
	text = file_read(copy, size);
	close(fd);
	return text;
}

char *
mapped_file(int dir_fd, const char *proc, const struct mapped *m)
{
	struct opener_request *q = request(OPENER_MAPPED, proc);
	struct opener_answer *a = xcalloc(1, sizeof *a);
	char *found = NULL;

	if (q && put_path(q->name, m->path)) {
		q->mapped = *m;
		q->mapped.path = NULL;
		found = done(dir_fd, q, a) == 0 ? xstrdup(a->path) : NULL;
	} else {
		free(q);
	}
	free(a);
	return found;
}
