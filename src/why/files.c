/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Descriptors that a thread waits at: which, and what is behind each. Links
 * of /proc/PID/fd say what; fdinfo says what an epoll watches.
 */
#include "private.h"

#include <fcntl.h>
#include <inttypes.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/select.h>
#include <sys/syscall.h>
#include <unistd.h>

enum { FILES_MAX = 1024, CLOSER_MAX = 64, LINK_MAX_BYTES = 4096 };

/* ---- one descriptor ----------------------------------------------------- */

static char *
link_of(const char *path)
{
	char text[LINK_MAX_BYTES];
	const ssize_t n = readlink(path, text, sizeof text - 1);

	text[n < 0 ? 0 : n] = '\0';
	return xstrdup(str_tame(text));
}

static bool
inode_of(const char *what, const char *kind, uint64_t *inode)
{
	if (!str_starts(what, kind))
		return false;
	*inode = strtoull(what + strlen(kind), NULL, 10);
	return *inode != 0;
}

static struct wait_file *
add(struct wait *w, int fd, bool reads, bool writes)
{
	if (w->file_count >= FILES_MAX)
		return NULL;
	w->files = xrealloc(w->files, (w->file_count + 1) * sizeof *w->files);

	struct wait_file *f = &w->files[w->file_count++];

	char *path = xasprintf("/proc/%d/fd/%d", (int)w->tid, fd);

	*f = (struct wait_file){ .fd = fd, .reads = reads, .writes = writes,
				 .what = link_of(path) };
	f->is_fifo = f->what[0] == '/' &&
		fifo_look(path, &f->device, &f->inode);
	f->is_pipe = f->is_fifo || inode_of(f->what, "pipe:[", &f->inode);
	f->is_socket = inode_of(f->what, "socket:[", &f->inode);
	free(path);
	return f;
}

/* What a socket is, and who has the other end. */
static void
complete(struct why *y, const struct wait *w, struct wait_file *f)
{
	if (f->is_socket) {
		const struct socket_entry *s = socket_find(y, w->pid,
							   f->inode);

		if (s) {
			free(f->what);
			f->what = xstrdup(s->text);
		}
	}
	if (f->is_pipe || f->is_socket)
		peers_find(y, w->pid, f);
}

/* ---- several ------------------------------------------------------------ */

static void
take_poll(struct wait *w)
{
	const uint64_t n = w->args[1] < FILES_MAX ? w->args[1] : FILES_MAX;
	struct pollfd *fds = xcalloc(n + 1, sizeof *fds);

	if (memory_read(w->tid, w->args[0], fds, n * sizeof *fds) == 0)
		for (uint64_t i = 0; i < n; i++)
			if (fds[i].fd >= 0)
				(void)add(w, fds[i].fd,
					  fds[i].events & POLLIN,
					  fds[i].events & POLLOUT);
	free(fds);
}

static void
take_select(struct wait *w)
{
	const int n = w->args[0] < FILES_MAX ? (int)w->args[0] : FILES_MAX;
	const size_t bytes = ((size_t)n + 63) / 64 * 8;
	uint64_t sets[3][FILES_MAX / 64] = { { 0 } };

	for (int i = 0; i < 3; i++)
		if (w->args[1 + i])
			(void)memory_read(w->tid, w->args[1 + i], sets[i],
					  bytes);
	for (int fd = 0; fd < n; fd++) {
		const uint64_t bit = UINT64_C(1) << fd % 64;
		const bool reads = sets[0][fd / 64] & bit;
		const bool writes = sets[1][fd / 64] & bit;

		if (reads || writes || sets[2][fd / 64] & bit)
			(void)add(w, fd, reads, writes);
	}
}

/* "tfd:        5 events:       19 data: ..." */
static void
take_epoll(struct wait *w)
{
	char *text = proc_text(w->pid, "task/%d/fdinfo/%d", (int)w->tid,
			       (int)w->args[0]);

	w->epoll = true;
	for (char *line = text; line; line = strchr(line, '\n')) {
		int fd;
		unsigned events;

		line += *line == '\n';
		if (!*line)
			break;
		if (sscanf(line, "tfd: %d events: %x", &fd, &events) == 2)
			(void)add(w, fd, events & EPOLLIN, events & EPOLLOUT);
	}
	free(text);
}

static bool
is_epoll(long call)
{
	switch (call) {
#ifdef SYS_epoll_wait
	case SYS_epoll_wait:
#endif
#ifdef SYS_epoll_pwait2
	case SYS_epoll_pwait2:
#endif
	case SYS_epoll_pwait:
		return true;
	default:
		return false;
	}
}

static bool
is_select(long call)
{
#ifdef SYS_select
	if (call == SYS_select)
		return true;
#endif
	return call == SYS_pselect6;
}

void
files_look(struct why *y, struct wait *w, const struct call_row *row)
{
	if (is_epoll(w->call))
		take_epoll(w);
	else if (row->fd != NO_ARGUMENT)
		(void)add(w, (int)w->args[row->fd], row->reads, row->writes);
	else if (is_select(w->call))
		take_select(w);
	else
		take_poll(w);
	/* an epoll may watch thousands: nobody reads who they all are */
	for (size_t i = 0; i < w->file_count && i < CLOSER_MAX; i++)
		complete(y, w, &w->files[i]);
}

/* ---- for others ---------------------------------------------------------- */

char *
why_file(struct why *y, pid_t pid, const char *link)
{
	const struct socket_entry *s;
	uint64_t inode;

	if (!inode_of(link, "socket:[", &inode))
		return xstrdup(link);
	s = socket_find(y, pid, inode);
	return xstrdup(s ? s->text : "socket");
}

void
why_forget_sockets(struct why *y)
{
	sockets_forget(y);
	y->sockets_of = 0;
}

/* ---- locks of files ----------------------------------------------------- */

/*
 * /proc/locks:	"5: POSIX  ADVISORY  WRITE 4711 08:01:123 0 EOF"
 *		"5: -> POSIX  ADVISORY  WRITE 4712 08:01:123 0 EOF"
 * The first of a number holds it, those with arrows wait.
 */
static pid_t
holder_of_lock(const char *text, pid_t waiter)
{
	unsigned number, held_number = 0;
	int pid, holder = 0;

	for (const char *line = text; line && *line;
	     line = strchr(line, '\n')) {
		line += *line == '\n';
		if (sscanf(line, "%u: %*s %*s %*s %d", &number, &pid) == 2) {
			held_number = number;
			holder = pid;
			continue;
		}
		if (sscanf(line, "%u: -> %*s %*s %*s %d", &number, &pid) == 2 &&
		    number == held_number && pid == waiter)
			return holder;
	}
	return 0;
}

void
file_lock_look(struct why *y, struct wait *w)
{
	char *text = file_read("/proc/locks", NULL);
	const struct wait_file *f = add(w, (int)w->args[0], false, false);

	(void)y;
	if (f && text)
		w->holder = holder_of_lock(text, w->pid);
	if (w->holder < 0)
		w->holder = 0;		/* a lock of an open file: of nobody */
	free(text);
}
