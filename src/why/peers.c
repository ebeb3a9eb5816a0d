/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Who has the other end of a pipe, a FIFO or a socket: every descriptor of
 * every process is listed once, when it is first asked for. A FIFO's link
 * names a path, which others may know by another name: its device and inode
 * are the same for all.
 */
#include "private.h"

#include <dirent.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <unistd.h>

enum { OPENED_MAX = 4 << 20, PEERS_MAX = 256 };

/* As far as the kernel knows it: no server is asked, which may be away. */
bool
fifo_look(const char *link, uint64_t *device, uint64_t *inode)
{
	struct statx st;

	if (statx(AT_FDCWD, link, AT_STATX_DONT_SYNC, STATX_TYPE | STATX_INO,
		  &st) < 0 || !S_ISFIFO(st.stx_mode))
		return false;
	*device = makedev(st.stx_dev_major, st.stx_dev_minor);
	*inode = st.stx_ino;
	return true;
}

/* What `path` links to, as far as it has another end. */
static bool
identify(struct opened *o, const char *path, const char *link)
{
	const char *number = str_starts(link, "pipe:[") ? link + 6 :
		str_starts(link, "socket:[") ? link + 8 : NULL;

	if (number)
		o->inode = strtoull(number, NULL, 10);
	else if (*link != '/' || !fifo_look(path, &o->device, &o->inode))
		return false;
	return true;
}

static void
take_link(struct why *y, pid_t pid, const char *dir, const char *name)
{
	char path[64], text[64];
	struct opened o = { .pid = pid, .fd = (int)strtol(name, NULL, 10) };
	struct stat st;

	/* who started us may have handed it down: we never use it */
	if (pid == getpid() && o.fd > STDERR_FILENO)
		return;
	(void)snprintf(path, sizeof path, "%s/%.20s", dir, name);

	const ssize_t n = readlink(path, text, sizeof text - 1);

	if (n <= 0 || y->opened_len >= OPENED_MAX)
		return;
	text[n] = '\0';

	/* what the link permits is what the descriptor was opened for */
	if (!identify(&o, path, text) || lstat(path, &st) < 0)
		return;
	o.reads = st.st_mode & S_IRUSR;
	o.writes = st.st_mode & S_IWUSR;
	y->opened = xgrow(y->opened, &y->opened_cap, y->opened_len + 1,
			  sizeof *y->opened);
	y->opened[y->opened_len++] = o;
}

static void
take_process(struct why *y, pid_t pid)
{
	char path[32];
	const struct dirent *e;

	(void)snprintf(path, sizeof path, "/proc/%d/fd",
		       (int)process_living(pid));

	DIR *dir = opendir(path);

	if (!dir)
		y->unseen += errno == EACCES || errno == EPERM;
	while (dir && (e = readdir(dir)))
		if (e->d_name[0] != '.')
			take_link(y, pid, path, e->d_name);
	if (dir)
		closedir(dir);
}

static int
by_inode(const void *a, const void *b)
{
	const struct opened *x = a, *z = b;

	if (x->inode != z->inode)
		return x->inode < z->inode ? -1 : 1;
	return x->pid != z->pid ? (x->pid < z->pid ? -1 : 1) : x->fd - z->fd;
}

static void
list_all(struct why *y)
{
	DIR *dir = opendir("/proc");
	const struct dirent *e;

	y->opened_read = true;
	while (dir && (e = readdir(dir))) {
		const pid_t pid = (pid_t)strtol(e->d_name, NULL, 10);

		if (pid > 0)
			take_process(y, pid);
	}
	if (dir)
		closedir(dir);
	if (y->opened_len)
		qsort(y->opened, y->opened_len, sizeof *y->opened, by_inode);
}

static size_t
first_of(const struct why *y, uint64_t inode)
{
	size_t low = 0, high = y->opened_len;

	while (low < high) {
		const size_t mid = low + (high - low) / 2;

		if (y->opened[mid].inode < inode)
			low = mid + 1;
		else
			high = mid;
	}
	return low;
}

static void
add_peer(struct wait_file *f, pid_t pid, int fd)
{
	if (f->peer_count >= PEERS_MAX)
		return;
	f->peers = xrealloc(f->peers, (f->peer_count + 1) * sizeof *f->peers);
	f->peers[f->peer_count++] = (struct wait_peer){ pid, fd };
}

/*
 * A pipe has one number for both ends: who reads waits for those who can
 * write. A socket's other end has a number of its own.
 */
void
peers_find(struct why *y, pid_t pid, struct wait_file *f)
{
	uint64_t inode = f->inode;

	if (f->is_socket) {
		const struct socket_entry *s = socket_find(y, pid, inode);

		inode = s ? s->peer : 0;
	}
	if (!inode)
		return;
	if (!y->opened_read)
		list_all(y);
	for (size_t i = first_of(y, inode);
	     i < y->opened_len && y->opened[i].inode == inode; i++) {
		const struct opened *o = &y->opened[i];

		if (o->device != f->device)
			continue;
		if (f->is_socket || (f->reads ? o->writes : o->reads))
			add_peer(f, o->pid, o->fd);
	}
	f->closed_circle = f->peer_count > 0 && f->peer_count < PEERS_MAX;
}
