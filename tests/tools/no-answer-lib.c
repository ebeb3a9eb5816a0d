/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * A file system that does not answer, for whoever loads this: a call that names
 * a file below SONDE_NO_ANSWER waits for ever. (Any user can mount one of FUSE
 * that does so; here there may be no /dev/fuse.)
 */
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/* By its name, or by what a link of the kernel's names. */
static void
wait_if_silent(int dir, const char *path)
{
	const char *silent = getenv("SONDE_NO_ANSWER");
	char to[4096];
	const int error = errno;
	const ssize_t n = silent ? readlinkat(dir, path, to, sizeof to - 1) : 0;

	to[n > 0 ? n : 0] = '\0';
	errno = error;
	if (silent && (strstr(path, silent) || strstr(to, silent)))
		for (;;)
			(void)pause();
}

#define NEXT(name) ((__typeof__(&name))dlsym(RTLD_NEXT, #name))

int
open(const char *path, int flags, ...)
{
	va_list ap;
	mode_t mode;

	va_start(ap, flags);
	mode = va_arg(ap, mode_t);
	va_end(ap);
	wait_if_silent(AT_FDCWD, path);
	return NEXT(open)(path, flags, mode);
}

int
openat(int dir, const char *path, int flags, ...)
{
	va_list ap;
	mode_t mode;

	va_start(ap, flags);
	mode = va_arg(ap, mode_t);
	va_end(ap);
	wait_if_silent(dir, path);
	return NEXT(openat)(dir, path, flags, mode);
}

int
stat(const char *path, struct stat *st)
{
	wait_if_silent(AT_FDCWD, path);
	return NEXT(stat)(path, st);
}

int
lstat(const char *path, struct stat *st)
{
	wait_if_silent(AT_FDCWD, path);
	return NEXT(lstat)(path, st);
}

int
fstatat(int dir, const char *path, struct stat *st, int flags)
{
	wait_if_silent(dir, path);
	return NEXT(fstatat)(dir, path, st, flags);
}

int
access(const char *path, int mode)
{
	wait_if_silent(AT_FDCWD, path);
	return NEXT(access)(path, mode);
}

int
faccessat(int dir, const char *path, int mode, int flags)
{
	wait_if_silent(dir, path);
	return NEXT(faccessat)(dir, path, mode, flags);
}
