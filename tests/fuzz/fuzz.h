/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * fuzz: what the harnesses share. Each is one file with libFuzzer's door; with
 * clang it is built into a fuzzer (run), else replay.c feeds it the seeds. A
 * harness reads what it is given as the product would and must only come back.
 */
#ifndef SONDE_FUZZ_H
#define SONDE_FUZZ_H

#include <fcntl.h>
#include <ftw.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static char fuzz_dir[64];

__attribute__((unused)) static void
fuzz_broken(const char *what)
{
	perror(what);
	_exit(99);
}

static inline int
fuzz_remove(const char *path, const struct stat *st, int type,
	    struct FTW *ftw)
{
	(void)st, (void)type, (void)ftw;
	return remove(path);
}

static inline void
fuzz_leave(void)
{
	if (chdir("/") == 0)
		(void)nftw(fuzz_dir, fuzz_remove, 16, FTW_DEPTH | FTW_PHYS);
}

/* A new directory, in memory where there is such, is the current one. True:
 * the first time. */
static inline bool
fuzz_enter(void)
{
	if (*fuzz_dir)
		return false;
	(void)snprintf(fuzz_dir, sizeof fuzz_dir, "%s/sonde-fuzz.XXXXXX",
		       access("/dev/shm", W_OK) == 0 ? "/dev/shm" : "/tmp");
	if (!mkdtemp(fuzz_dir) || chdir(fuzz_dir) < 0)
		fuzz_broken(fuzz_dir);
	(void)atexit(fuzz_leave);
	return true;
}

static inline void
fuzz_file(const char *path, const void *data, size_t size)
{
	const int fd = open(path, O_WRONLY | O_CREAT | O_TRUNC, 0600);

	if (fd < 0 || write(fd, data, size) != (ssize_t)size)
		fuzz_broken(path);
	close(fd);
}

/* The bytes as text that ends; the caller frees it. */
static inline char *
fuzz_text(const uint8_t *data, size_t size)
{
	char *text = xmalloc(size + 1);

	memcpy(text, data, size);
	text[size] = '\0';
	return text;
}

/* What is looked at counts as used: a bad pointer must be followed. */
static inline size_t
fuzz_use(const char *text)
{
	return text ? strlen(text) : 0;
}

#endif
