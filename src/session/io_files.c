/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Descriptors and their files. What is told of a call comes some time after
 * it: the kernel is asked only for descriptors that nothing we know of has
 * changed since, and for those that were open when it began the answer is
 * from then.
 */
#include <arpa/inet.h>
#include <dirent.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include "io.h"
#include "why.h"

enum { FD_MAX = 1 << 20, FIRST_MAX = 1 << 16, LINK_BYTES = 4096 };

struct io_files {
	struct target *t;
	struct why *why;
	struct map files;	/* fd -> struct io_file * */
	struct map first;	/* fd -> char *: links at the begin */
	uint64_t forgot_ns;	/* when sockets were */
	uint64_t asked_ns;	/* how long we have looked for some since */
};

/* ---- links of /proc ------------------------------------------------------ */

/* NULL: there is none. */
static char *
read_link(const struct io_files *fs, const char *name)
{
	char text[LINK_BYTES];
	const ssize_t n = readlinkat(target_proc(fs->t), name, text,
				     sizeof text - 1);

	if (n <= 0)
		return NULL;
	text[n] = '\0';
	return xstrdup(str_tame(text));
}

static char *
link_of(const struct io_files *fs, int fd)
{
	char name[32];

	(void)snprintf(name, sizeof name, "fd/%d", fd);
	return read_link(fs, name);
}

void
io_files_begin(struct io_files *fs)
{
	const int dir = openat(target_proc(fs->t), "fd",
			       O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	DIR *d = dir < 0 ? NULL : fdopendir(dir);

	for (struct dirent *e; d && fs->first.len < FIRST_MAX &&
	     (e = readdir(d));) {
		char *link;

		if (*e->d_name < '0' || *e->d_name > '9' ||
		    !(link = link_of(fs, atoi(e->d_name))))
			continue;
		map_put(&fs->first, (uint64_t)atoi(e->d_name),
			(uintptr_t)link);
	}
	if (d)
		closedir(d);
	else if (dir >= 0)
		close(dir);
}

static char *
first_link(struct io_files *fs, int fd)
{
	uint64_t link = 0;

	if (map_get(&fs->first, (uint64_t)fd, &link))
		(void)map_remove(&fs->first, (uint64_t)fd);
	return (char *)(uintptr_t)link;
}

/* ---- descriptors --------------------------------------------------------- */

struct io_file *
io_file(struct io_files *fs, int fd)
{
	uint64_t *slot;

	if (fd < 0 || fd >= FD_MAX)
		return NULL;
	slot = map_slot_of(&fs->files, (uint64_t)fd);
	if (!*slot)
		*slot = (uintptr_t)xcalloc(1, sizeof(struct io_file));
	return (struct io_file *)(uintptr_t)*slot;
}

bool
io_file_next(const struct io_files *fs, size_t *at, int *fd)
{
	uint64_t key, file;

	if (!map_next(&fs->files, at, &key, &file))
		return false;
	*fd = (int)key;
	return true;
}

void
io_file_forget(struct io_files *fs, int fd)
{
	struct io_file *f = io_file(fs, fd);

	if (!f)
		return;
	free(first_link(fs, fd));
	free(f->name);
	free(f->guess);
	*f = (struct io_file){ .coming = f->coming };
}

static char *
ask(struct io_files *fs, const char *link)
{
	const uint64_t since = now_ns();
	char *name = why_file(fs->why, target_pid(fs->t), link);

	fs->asked_ns += now_ns() - since;
	return name;
}

char *
io_file_first(struct io_files *fs, int fd)
{
	char *link = first_link(fs, fd);
	char *name = link ? ask(fs, link) : NULL;

	free(link);
	return name;
}

void
io_file_guess(struct io_files *fs, int fd)
{
	struct io_file *f = io_file(fs, fd);
	char *link;

	if (!f || f->guess || f->coming || !(link = link_of(fs, fd)))
		return;
	f->guess_ns = now_ns();
	f->guess = ask(fs, link);
	free(link);
}

/* ---- names --------------------------------------------------------------- */

char *
io_path(struct io_files *fs, int directory, const char *path)
{
	const struct io_file *f = io_file(fs, directory);
	char *at = NULL, *whole;

	if (*path == '/')
		return xstrdup(path);
	if (f && f->name)
		at = xstrdup(f->name);
	else
		at = f ? link_of(fs, directory) : read_link(fs, "cwd");
	whole = at ? xasprintf("%s/%s", at, path) : xstrdup(path);
	free(at);
	return whole;
}

char *
io_address(const char *kind, const void *words, size_t bytes)
{
	union {
		struct sockaddr any;
		struct sockaddr_in four;
		struct sockaddr_in6 six;
		struct sockaddr_un local;
		char bytes[112];
	} at = { .bytes = "" };
	char text[INET6_ADDRSTRLEN] = "?";
	const int word = kind ? (int)strcspn(kind, " ") : 3;

	if (!kind)
		kind = "tcp";
	memcpy(at.bytes, words, bytes < sizeof at ? bytes : sizeof at);
	switch (at.any.sa_family) {
	case AF_INET:
		(void)inet_ntop(AF_INET, &at.four.sin_addr, text, sizeof text);
		return xasprintf("%.*s to %s:%u", word, kind, text,
				 ntohs(at.four.sin_port));
	case AF_INET6:
		(void)inet_ntop(AF_INET6, &at.six.sin6_addr, text,
				sizeof text);
		return xasprintf("%.*s to [%s]:%u", word, kind, text,
				 ntohs(at.six.sin6_port));
	case AF_UNIX:
		if (!at.local.sun_path[0])
			return at.local.sun_path[1] ?
				xasprintf("unix @%.100s",
					  str_tame(at.local.sun_path + 1)) :
				NULL;
		return xasprintf("unix %.108s", str_tame(at.local.sun_path));
	default:
		return NULL;
	}
}

const char *
io_socket_kind(int family, int type)
{
	const bool datagrams = type == SOCK_DGRAM;

	switch (family) {
	case AF_INET: return datagrams ? "udp socket" : "tcp socket";
	case AF_INET6: return datagrams ? "udp6 socket" : "tcp6 socket";
	case AF_UNIX: return "unix socket";
	default: return "socket";
	}
}

/* ---- life ---------------------------------------------------------------- */

struct io_files *
io_files_new(struct target *t)
{
	struct io_files *fs = xcalloc(1, sizeof *fs);

	fs->t = t;
	fs->why = why_new();
	return fs;
}

/* The tables of a machine with many connections take their time. */
void
io_files_later(struct io_files *fs)
{
	enum { TIMES = 20 };
	const uint64_t now = now_ns();

	if (now - fs->forgot_ns < TIMES * fs->asked_ns)
		return;
	why_forget_sockets(fs->why);
	fs->forgot_ns = now;
	fs->asked_ns = 0;
}

void
io_files_free(struct io_files *fs)
{
	size_t at = 0;
	uint64_t key, value;

	if (!fs)
		return;
	while (map_next(&fs->files, &at, &key, &value)) {
		struct io_file *f = (struct io_file *)(uintptr_t)value;

		free(f->name);
		free(f->guess);
		free(f);
	}
	map_fini(&fs->files);
	map_free_values(&fs->first);
	why_free(fs->why);
	free(fs);
}
