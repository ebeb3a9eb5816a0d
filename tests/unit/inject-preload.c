/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * What a program is launched with (mission: C1 C2): the environment of its
 * caller with one variable more, and the installed library only where that is
 * the same as ours and nobody else may write it.
 */
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base.h"
#include "inject.h"

static int failed;

static void
check(bool ok, const char *what)
{
	if (!ok)
		printf("wrong: %s\n", what);
	failed |= !ok;
}

static size_t
count(char *const *envp)
{
	size_t n = 0;

	while (envp[n])
		n++;
	return n;
}

/* Beside the built programs is the library as it was built. */
static char *
built_library(void)
{
	const char *dir = getenv("SONDE_BUILDDIR");

	return xasprintf("%s/sonde-collector.so", dir ? dir : ".");
}

static void
check_memfd(char *const *envp, const char *installed, const char *what)
{
	struct preload p;
	char *path, *end;

	check(preload_open(&p, installed, envp) == 0, what);
	check(p.fd > 2, what);
	check(p.fd > 2 && !(fcntl(p.fd, F_GETFD) & FD_CLOEXEC),
	      "it is inherited");
	check(p.fd > 2 && write(p.fd, "x", 1) < 0, "it is sealed");
	path = strrchr(p.variable, '/');
	check(path && strtol(path + 1, &end, 10) == p.fd, "its number");
	preload_close(&p);
	check(p.fd == -1 && !p.envp && !p.variable, "closed");
}

static void
check_environment(void)
{
	char a[] = "A=1", user[] = "LD_PRELOAD=/x.so", b[] = "B=2";
	char *const envp[] = { a, user, b, NULL };
	struct preload p;

	if (preload_open(&p, NULL, envp) < 0) {
		check(false, fail_last()->reason);
		return;
	}
	check(count(p.envp) == 5, "two words more");
	check(p.envp[0] == a && p.envp[1] == user && p.envp[2] == b,
	      "the rest as it was");
	check(p.envp[3] == p.variable && !*p.envp[4], "ours, then an empty");
	check(str_starts(p.variable, "LD_PRELOAD=/x.so:"),
	      "the user's comes first");
	preload_close(&p);
}

static void
copy(const char *from, const char *to, mode_t mode)
{
	size_t size;
	char *bytes = file_read(from, &size);
	const int fd = open(to, O_WRONLY | O_CREAT | O_TRUNC, 0600);

	check(bytes && fd >= 0 && write_all(fd, bytes, size) == 0 &&
	      fchmod(fd, mode) == 0, "copy the library");
	free(bytes);
	close(fd);
}

/* A directory of others, before and behind a link. */
static void
check_way(char *const *envp, const char *dir, const char *library)
{
	char *way = xasprintf("%s/a", dir), *near = xasprintf("%s/b", way);
	char *path = xasprintf("%s/c.so", near);
	char *link = xasprintf("%s/link.so", dir);
	struct preload p;

	check(mkdir(way, 0755) == 0 && mkdir(near, 0755) == 0 &&
	      symlink(path, link) == 0, "make directories");
	copy(library, path, 0755);
	check(preload_open(&p, link, envp) == 0 && p.fd == -1 &&
	      strstr(p.variable, path), "a link is followed once, by us");
	preload_close(&p);
	check(chmod(near, 01777) == 0, "chmod");
	check_memfd(envp, path, "anybody may write beside it");
	check(chmod(near, 0755) == 0 && chmod(way, 0775) == 0, "chmod");
	check_memfd(envp, path, "a group may rename its directory");
	check_memfd(envp, link, "the same behind a link");
	check(chmod(way, 0755) == 0, "chmod");
	if (geteuid() == 0) {
		check(chown(way, 65534, 0) == 0, "chown");
		check_memfd(envp, path, "somebody's directory on its way");
	}
	(void)unlink(link);
	(void)unlink(path);
	(void)rmdir(near);
	(void)rmdir(way);
	free(link);
	free(path);
	free(near);
	free(way);
}

static void
check_installed(char *const *envp)
{
	char dir[] = "/tmp/sonde-preload.XXXXXX";
	char *built = built_library(), *path;
	struct preload p;
	int fd;

	if (!mkdtemp(dir)) {
		check(false, "make a directory");
		free(built);
		return;
	}
	path = xasprintf("%s/c.so", dir);
	check_memfd(envp, path, "it is not there");
	copy(built, path, 0755);
	check(preload_open(&p, path, envp) == 0 && p.fd == -1 &&
	      strstr(p.variable, path), "the installed one is used");
	preload_close(&p);
	check(chmod(path, 0775) == 0, "chmod");
	check_memfd(envp, path, "a group may write it");
	check(chmod(path, 0755) == 0, "chmod");
	check_way(envp, dir, path);
	fd = open(path, O_WRONLY | O_APPEND);
	check(fd >= 0 && write(fd, "x", 1) == 1, "change it");
	close(fd);
	check_memfd(envp, path, "it is another one");
	(void)unlink(path);
	(void)rmdir(dir);
	free(path);
	free(built);
}

int
main(void)
{
	char a[] = "A=1";
	char *const envp[] = { a, NULL };

	check_memfd(envp, NULL, "none is installed");
	check_environment();
	check_installed(envp);
	return failed;
}
