/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * The target's memory, maps and mapped files. process_vm_readv and its
 * sister go by what the memory allows; /proc/TID/mem goes further, and is
 * opened anew each time, since a kept descriptor would stay with the old
 * image over an exec.
 */
#include "foreign.h"
#include "private.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/uio.h>
#include <unistd.h>

enum {
	MAPS_READINGS_MAX = 100,
	LIVE_TRUST_NS = 2000000,	/* no thread id comes again so soon */
};

static int
open_mem(int proc_fd, pid_t tid, int flags)
{
	char path[64];

	(void)snprintf(path, sizeof path, "task/%d/mem", (int)tid);
	return openat(proc_fd, path, flags | O_CLOEXEC);
}

static int
read_all(int fd, uint64_t addr, void *buf, size_t n)
{
	for (size_t done = 0; done < n;) {
		const ssize_t got = pread(fd, (char *)buf + done, n - done,
					  (off_t)(addr + done));

		if (got < 0 && errno == EINTR)
			continue;
		if (got == 0)
			errno = ESRCH;
		if (got <= 0)
			return -1;
		done += (size_t)got;
	}
	return 0;
}

static int
poke_all(int fd, uint64_t addr, const void *buf, size_t n)
{
	for (size_t done = 0; done < n;) {
		const ssize_t put = pwrite(fd, (const char *)buf + done,
					   n - done, (off_t)(addr + done));

		if (put < 0 && errno == EINTR)
			continue;
		if (put == 0)
			errno = ESRCH;
		if (put <= 0)
			return -1;
		done += (size_t)put;
	}
	return 0;
}

/* The result of what was done with it is kept, and its errno. */
static int
close_mem(int fd, int result)
{
	const int error = errno;

	close(fd);
	errno = error;
	return result;
}

static int
mem_read(const struct target *t, pid_t tid, uint64_t addr, void *buf, size_t n)
{
	if (!pages_are_there(t->pid, addr, n))
		return pages_force(tid, addr, buf, n) == (ssize_t)n ? 0 : -1;

	const int fd = open_mem(t->proc_fd, tid, O_RDONLY);

	return fd < 0 ? -1 : close_mem(fd, read_all(fd, addr, buf, n));
}

int
memory_poke(int proc_fd, pid_t tid, uint64_t addr, const void *buf, size_t n)
{
	const int fd = open_mem(proc_fd, tid, O_RDWR);

	return fd < 0 ? -1 : close_mem(fd, poke_all(fd, addr, buf, n));
}

int
memory_open(int proc_fd, pid_t tid)
{
	return open_mem(proc_fd, tid, O_RDWR);
}

static int
memory_failed(struct target *t, const char *verb, uint64_t addr, size_t n)
{
	if (errno == ESRCH)
		return fail(FAIL_MISSING, "%s %zu bytes at %#llx: process %d "
			    "has ended", verb, n, (unsigned long long)addr,
			    (int)t->pid);
	if (errno == ETIMEDOUT)
		return fail(FAIL_GENERAL, "%s %zu bytes at %#llx of process %d: "
			    "a page there is not served in time (userfaultfd, "
			    "FUSE or a network file system)", verb, n,
			    (unsigned long long)addr, (int)t->pid);
	return fail_errno("%s %zu bytes at %#llx of process %d", verb, n,
			  (unsigned long long)addr, (int)t->pid);
}

/* Asked thousands of times in a row: /proc is not read for each. */
static pid_t
live_thread_lately(struct target *t)
{
	const uint64_t now = now_ns();

	if (now - t->live_seen_ns < LIVE_TRUST_NS)
		return t->live_tid;

	const pid_t tid = target_live_thread(t);

	t->live_seen_ns = tid < 0 ? 0 : now;
	return tid;
}

static int
memory_read(struct target *t, pid_t tid, uint64_t addr, void *buf, size_t n)
{
	if (pages_read(t->pid, tid, addr, buf, n) == (ssize_t)n)
		return 0;
	if (errno == ETIMEDOUT)
		return -1;
	return mem_read(t, tid, addr, buf, n);
}

int
memory_look(struct target *t, uint64_t addr, void *buf, size_t n)
{
	return memory_read(t, t->live_tid, addr, buf, n);
}

int
target_read(struct target *t, uint64_t addr, void *buf, size_t n)
{
	const pid_t tid = live_thread_lately(t);

	if (tid < 0)
		return -1;
	return memory_read(t, tid, addr, buf, n) == 0 ? 0 :
		memory_failed(t, "read", addr, n);
}

int
target_write(struct target *t, uint64_t addr, const void *buf, size_t n)
{
	const pid_t tid = live_thread_lately(t);

	if (tid < 0)
		return -1;

	const struct iovec from = { (void *)(uintptr_t)buf, n };
	const struct iovec to = { (void *)(uintptr_t)addr, n };

	if (!pages_fetch(t->pid, tid, addr, n))
		return memory_failed(t, "write", addr, n);
	if (process_vm_writev(tid, &from, 1, &to, 1, 0) == (ssize_t)n ||
	    memory_poke(t->proc_fd, tid, addr, buf, n) == 0)
		return 0;
	return memory_failed(t, "write", addr, n);
}

bool
memory_load(struct target *t, uint64_t addr, void *buf, size_t n)
{
	const pid_t tid = live_thread_lately(t);
	return tid > 0 &&
		pages_read(t->pid, tid, addr, buf, n) == (ssize_t)n;
}

bool
memory_store(struct target *t, uint64_t addr, const void *buf, size_t n)
{
	const pid_t tid = live_thread_lately(t);
	const struct iovec from = { (void *)(uintptr_t)buf, n };
	const struct iovec to = { (void *)(uintptr_t)addr, n };

	return tid > 0 && pages_fetch(t->pid, tid, addr, n) &&
		process_vm_writev(tid, &from, 1, &to, 1, 0) == (ssize_t)n;
}

static char *
read_maps(struct target *t)
{
	const pid_t tid = target_live_thread(t);
	char path[64];

	if (tid < 0)
		return NULL;
	(void)snprintf(path, sizeof path, "task/%d/maps", (int)tid);

	char *text = file_read_at(t->proc_fd, path, NULL);

	if (!text)
		fail_errno("read the memory map of process %d", (int)t->pid);
	else if (!*text) {
		free(text);
		text = NULL;
		fail(FAIL_MISSING, "process %d has ended", (int)t->pid);
	}
	return text;
}

/* The next line that has a name, from text on; NULL: there is none. */
static const char *
named_line(const char *text)
{
	while (text && *text) {
		const size_t n = strcspn(text, "\n");

		if ((memchr(text, '/', n) || memchr(text, '[', n)) &&
		    !memmem(text, n, "[heap]", strlen("[heap]")))
			return text;
		text += n + (text[n] == '\n');
	}
	return NULL;
}

static bool
same_files(const char *a, const char *b)
{
	while ((a = named_line(a)) != NULL) {
		const size_t n = strcspn(a, "\n");

		b = named_line(b);
		if (!b || strcspn(b, "\n") != n || memcmp(a, b, n) != 0)
			return false;
		a += n;
		b += n;
	}
	return !named_line(b);
}

/* Without the files that were not there a moment before. What stays is in
 * every reading, however torn: the kernel goes by addresses. */
static char *
lasting_lines(const char *now, const char *before)
{
	struct str out = {0};

	while (*now) {
		const size_t n = strcspn(now, "\n") + 1;
		const bool named = named_line(now) == now;

		if (!named || memmem(before, strlen(before), now, n))
			str_addn(&out, now, now[n - 1] ? n : n - 1);
		now += now[n - 1] ? n : n - 1;
	}
	return str_take(&out);
}

/*
 * The file is made page by page, and a mapping that comes or goes meanwhile
 * tears it: two equal readings are whole. An allocator may give the heap a new
 * shape all the time (musl's does); then the files must do, which is what
 * anybody looks for. And where libraries come and go all the time, those that
 * stay.
 */
static char *
whole_maps(struct target *t)
{
	char *before = read_maps(t);

	for (int i = 0; before && i < MAPS_READINGS_MAX; i++) {
		char *now = read_maps(t);

		if (!now) {
			free(before);
			return NULL;
		}

		const bool same = i < MAPS_READINGS_MAX / 4
			? strcmp(before, now) == 0 : same_files(before, now);
		char *lasting = same || i < MAPS_READINGS_MAX - 1 ? NULL :
			lasting_lines(now, before);

		free(before);
		before = now;
		if (same)
			return now;
		if (lasting) {
			free(now);
			return lasting;
		}
	}
	return NULL;
}

char *
target_maps(struct target *t)
{
	char *text = whole_maps(t);

	return text ? maps_settle(t, text) : NULL;
}

int
target_open_mapped(struct target *t, uint64_t start, uint64_t end,
		   const char *path, uint64_t device, uint64_t inode)
{
	const struct mapped m = { start, end, device, inode, path };
	const pid_t tid = target_live_thread(t);
	char proc[32];

	if (tid < 0)
		return -1;
	/* no task/TID has map_files */
	(void)snprintf(proc, sizeof proc, "../%d", (int)tid);

	char *name = mapped_file(t->proc_fd, proc, &m);
	const int fd = name ? foreign_open_at(t->proc_fd, name, 0, 0) : -1;

	free(name);
	if (fd < 0)
		fail(FAIL_MISSING, "no file holds what process %d has mapped "
		     "from %s", (int)t->pid, *path ? path : "nowhere");
	return fd;
}

enum { PAGE_BYTES = 4096 };	/* the least there is */

size_t
target_peek(struct target *t, uint64_t addr, void *buf, size_t n)
{
	const pid_t tid = live_thread_lately(t);
	const size_t to_page = PAGE_BYTES - addr % PAGE_BYTES;

	if (tid >= 0 && memory_read(t, tid, addr, buf, n) == 0)
		return n;
	if (tid >= 0 && n > to_page &&
	    memory_read(t, tid, addr, buf, to_page) == 0)
		return to_page;
	return 0;
}
