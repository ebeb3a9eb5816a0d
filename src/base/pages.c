/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Another process's memory, without waiting for a page for ever.
 *
 * A page that is not there is made by whoever owns the mapping: a userfaultfd
 * or a FUSE file system of the very process that we look at. A read of it
 * sleeps until it is served, and only SIGKILL ends that sleep (FUSE: not even
 * SIGKILL). So each read asks the page map first. Pages that are there are
 * read at once; the others by a process of ours that can be given up
 * (page_reader.c).
 *
 * A page can go between the two. So each direct read is noted where another
 * process sees it: one that lasts for seconds ends its reader (guardian.c).
 */
#include "pages.h"

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <string.h>
#include <sys/uio.h>
#include <unistd.h>

enum {
	MAPS_KEPT = 8, ENDS_KEPT = 1024, PAGES_AT_ONCE = 128,
	END_AGE_S = 2,
};
static const uint64_t PAGE_THERE = UINT64_C(3) << 62;	/* present, swapped */
static const uint64_t PAGE_GUARDED = UINT64_C(1) << 57;	/* userfaultfd-wp */

/* Page maps, kept open: it stays with the old image over an exec, and then
 * gives nothing. A fork does not share them. */
static struct {
	pthread_mutex_t lock;
	pid_t owner;
	unsigned next;
	struct { pid_t tid; int fd; } kept[MAPS_KEPT];
} maps = { .lock = PTHREAD_MUTEX_INITIALIZER };

/* Where memory was seen to end: the pages above a stack are asked for each
 * time. */
static struct end {
	_Atomic uint64_t key, until;
} ends[ENDS_KEPT];

static struct page_watch nobody;
static struct page_watch *watch = &nobody;

void
pages_watched(struct page_watch *w)
{
	watch = w;
}

static size_t
page_size(void)
{
	static size_t size;

	if (!size)
		size = (size_t)sysconf(_SC_PAGESIZE);
	return size;
}

/* ---- which pages are there ----------------------------------------------- */

static int
open_map(unsigned slot, pid_t tid)
{
	char path[64];

	(void)snprintf(path, sizeof path, "/proc/%d/pagemap", (int)tid);
	maps.kept[slot].tid = tid;
	maps.kept[slot].fd = open(path, O_RDONLY | O_CLOEXEC);
	return maps.kept[slot].fd;
}

static unsigned
slot_of(pid_t tid)
{
	const pid_t self = getpid();

	if (maps.owner != self) {
		maps.owner = self;
		for (unsigned i = 0; i < MAPS_KEPT; i++) {
			maps.kept[i].tid = 0;
			maps.kept[i].fd = -1;
		}
	}
	for (unsigned i = 0; i < MAPS_KEPT; i++)
		if (maps.kept[i].tid == tid)
			return i;

	const unsigned slot = maps.next++ % MAPS_KEPT;

	if (maps.kept[slot].fd >= 0)
		close(maps.kept[slot].fd);
	(void)open_map(slot, tid);
	return slot;
}

/* The entries of count pages from this one on; 0: not known. */
static size_t
read_map(pid_t tid, uint64_t page, uint64_t *entries, size_t count)
{
	const size_t bytes = count * sizeof *entries;
	const off_t at = (off_t)(page * sizeof *entries);
	ssize_t got = -1;

	(void)pthread_mutex_lock(&maps.lock);

	const unsigned slot = slot_of(tid);

	if (maps.kept[slot].fd >= 0)
		got = pread(maps.kept[slot].fd, entries, bytes, at);
	if (got <= 0) {		/* another image, or a thread of that number */
		if (maps.kept[slot].fd >= 0)
			close(maps.kept[slot].fd);
		if (open_map(slot, tid) >= 0)
			got = pread(maps.kept[slot].fd, entries, bytes, at);
	}
	(void)pthread_mutex_unlock(&maps.lock);
	return got > 0 ? (size_t)got / sizeof *entries : 0;
}

/* So many bytes from addr on lie in pages that are there. Where the kernel
 * shows no page map: all of them. */
static size_t
bytes_there(pid_t tid, uint64_t addr, size_t n, uint64_t never)
{
	uint64_t entries[PAGES_AT_ONCE];
	const uint64_t first = addr / page_size();
	const uint64_t pages = n ? (addr + n - 1) / page_size() - first + 1 : 0;

	for (uint64_t done = 0; done < pages;) {
		const uint64_t left = pages - done;
		const size_t count = read_map(tid, first + done, entries,
			left < PAGES_AT_ONCE ? (size_t)left : PAGES_AT_ONCE);

		if (!count)
			return n;
		for (size_t i = 0; i < count; i++, done++) {
			const uint64_t at = (first + done) * page_size();

			if (!(entries[i] & PAGE_THERE) || entries[i] & never)
				return at > addr ? (size_t)(at - addr) : 0;
		}
	}
	return n;
}

/* ---- where memory ends --------------------------------------------------- */

static uint64_t
end_key(pid_t tid, uint64_t page)
{
	return hash_words((const uint64_t[]){ (uint64_t)tid, page }, 2, 1).key;
}

static bool
is_end(pid_t tid, uint64_t addr)
{
	const uint64_t key = end_key(tid, addr / page_size());
	struct end *e = &ends[key % ENDS_KEPT];

	return atomic_load(&e->key) == key && now_ns() < atomic_load(&e->until);
}

static void
note_end(pid_t tid, uint64_t addr)
{
	const uint64_t key = end_key(tid, addr / page_size());
	struct end *e = &ends[key % ENDS_KEPT];

	atomic_store(&e->key, 0);
	atomic_store(&e->until, now_ns() + END_AGE_S * UINT64_C(1000000000));
	atomic_store(&e->key, key);
}

/* ---- reading ------------------------------------------------------------- */

static ssize_t
read_now(pid_t tid, const struct iovec *to, const struct iovec *from, size_t n)
{
	if (watch != &nobody) {
		atomic_fetch_add(&watch->begun, 1);
		atomic_store(&watch->reader, gettid());
	}

	const ssize_t got = process_vm_readv(tid, to, n, from, n, 0);

	atomic_store(&watch->reader, 0);
	return got;
}

static size_t
read_slowly(pid_t tid, uint64_t addr, unsigned char *to, size_t n)
{
	size_t got;

	if (is_end(tid, addr)) {
		errno = EFAULT;
		return 0;
	}
	got = pages_await(tid, addr, to, n, BY_ACCESS);
	if (got < n && errno == EFAULT)
		note_end(tid, addr + got);
	return got;
}

/* What is there at once, and then the rest. */
static ssize_t
read_one(pid_t tid, const struct iovec *to, const struct iovec *from,
	 size_t there)
{
	const uint64_t addr = (uint64_t)(uintptr_t)from->iov_base;
	const struct iovec here = { to->iov_base, there };
	const struct iovec that = { from->iov_base, there };
	const ssize_t got = there ? read_now(tid, &here, &that, 1) : 0;

	if (got < (ssize_t)there)
		return got;

	const size_t more = read_slowly(tid, addr + there,
					(unsigned char *)to->iov_base + there,
					from->iov_len - there);

	return there + more ? (ssize_t)(there + more) : -1;
}

static size_t
whole_bytes(const struct iovec *v, size_t n)
{
	size_t sum = 0;

	for (size_t i = 0; i < n; i++)
		sum += v[i].iov_len;
	return sum;
}

ssize_t
pages_readv(pid_t pid, pid_t tid, const struct iovec *to,
	    const struct iovec *from, size_t n)
{
	ssize_t done = 0;
	size_t run = 0;		/* those before it are read, or failed */

	for (size_t i = 0; i <= n; i++) {
		const size_t len = i < n ? from[i].iov_len : 0;
		const size_t there = i == n ? 0 :
			bytes_there(pid, (uint64_t)(uintptr_t)from[i].iov_base,
				    len, 0);

		if (i < n && there == len)
			continue;
		if (i > run) {
			const ssize_t got = read_now(tid, to + run, from + run,
						     i - run);

			if (got < (ssize_t)whole_bytes(from + run, i - run))
				return done + (got > 0 ? got : 0) > 0 ?
					done + (got > 0 ? got : 0) : got;
			done += got;
		}
		run = i + 1;
		if (i == n)
			break;

		const ssize_t got = read_one(tid, to + i, from + i, there);

		if (got < (ssize_t)len)
			return got > 0 || done ? done + (got > 0 ? got : 0) :
				got;
		done += got;
	}
	return done;
}

ssize_t
pages_read(pid_t pid, pid_t tid, uint64_t addr, void *buf, size_t n)
{
	const struct iovec to = { buf, n };
	const struct iovec from = { (void *)(uintptr_t)addr, n };

	return pages_readv(pid, tid, &to, &from, 1);
}

bool
pages_are_there(pid_t pid, uint64_t addr, size_t n)
{
	return bytes_there(pid, addr, n, 0) == n;
}

ssize_t
pages_force(pid_t tid, uint64_t addr, void *buf, size_t n)
{
	const size_t got = pages_await(tid, addr, buf, n, BY_FORCE);

	return got ? (ssize_t)got : -1;
}

bool
pages_fetch(pid_t pid, pid_t tid, uint64_t addr, size_t n)
{
	unsigned char byte;

	for (uint64_t at = addr; at < addr + n;
	     at = (at / page_size() + 1) * page_size()) {
		if (bytes_there(pid, at, 1, PAGE_GUARDED) == 1)
			continue;
		if (bytes_there(pid, at, 1, 0) == 1) {
			errno = ETIMEDOUT;	/* a write would wait */
			return false;
		}
		if (pages_await(tid, at, &byte, 1, BY_FORCE) != 1)
			return false;
	}
	return true;
}
