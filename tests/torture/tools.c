/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Small things that every part of the harness needs.
 */
#include "torture.h"

#include <ctype.h>
#include <dirent.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

static uint64_t word;

void
random_begin(uint64_t seed)
{
	word = seed * 0x9e3779b97f4a7c15u + 1;
}

uint64_t
clock_us(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_MONOTONIC, &ts);
	return (uint64_t)ts.tv_sec * 1000000 + (uint64_t)ts.tv_nsec / 1000;
}

uint64_t
random_below(uint64_t n)
{
	word ^= word << 13;
	word ^= word >> 7;
	word ^= word << 17;
	return n ? (word >> 11) % n : 0;
}

void
rest_ms(unsigned ms)
{
	const struct timespec ts = { ms / 1000, ms % 1000 * 1000000 };

	(void)nanosleep(&ts, NULL);
}

char *
path_in(const char *dir, const char *name)
{
	char *path;

	if (asprintf(&path, "%s/%s", dir, name) < 0)
		abort();
	return path;
}

char *
read_text(const char *path)
{
	const int fd = open(path, O_RDONLY | O_CLOEXEC);
	size_t n = 0, cap = 8192;
	char *text;
	ssize_t r;

	if (fd < 0)
		return NULL;
	text = malloc(cap);
	while ((r = read(fd, text + n, cap - n - 1)) > 0) {
		n += (size_t)r;
		if (cap - n < 4096)
			text = realloc(text, cap *= 2);
	}
	close(fd);
	text[n] = '\0';
	return text;
}

static pid_t
parent_of(const char *pid)
{
	char path[300], *text, *at;
	int parent = 0;

	snprintf(path, sizeof path, "/proc/%s/stat", pid);
	text = read_text(path);
	at = text ? strrchr(text, ')') : NULL;
	if (at)
		(void)sscanf(at + 1, " %*c %d", &parent);
	free(text);
	return parent;
}

size_t
children_of(pid_t pid, pid_t *out, size_t max)
{
	DIR *d = opendir("/proc");
	struct dirent *e;
	size_t n = 0;

	while (d && n < max && (e = readdir(d)))
		if (isdigit((unsigned char)e->d_name[0]) &&
		    parent_of(e->d_name) == pid)
			out[n++] = (pid_t)atoi(e->d_name);
	if (d)
		closedir(d);
	return n;
}
