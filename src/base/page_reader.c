/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * A process of ours that reads what may never come (beside.h), into a buffer
 * that both share.
 */
#include "beside.h"
#include "pages.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/uio.h>
#include <unistd.h>

enum { ROOM = 256 << 10, STEP = 4096 };

struct room {
	uint64_t addr;
	uint64_t n;
	pid_t tid;
	int way, error;
	_Atomic uint64_t got;
	unsigned char bytes[ROOM];
};

/* ---- in the process ------------------------------------------------------ */

static ssize_t
read_step(struct room *r, int mem, uint64_t got)
{
	const uint64_t at = r->addr + got;
	const uint64_t left = r->n - got, to_page = STEP - at % STEP;
	const size_t n = (size_t)(left < to_page ? left : to_page);
	const struct iovec to = { r->bytes + got, n };
	const struct iovec from = { (void *)(uintptr_t)at, n };

	return r->way == BY_FORCE ? pread(mem, to.iov_base, n, (off_t)at) :
		process_vm_readv(r->tid, &to, 1, &from, 1, 0);
}

static void
serve(struct room *r)
{
	char path[64];
	int mem = -1;

	r->error = 0;
	if (r->way == BY_FORCE) {
		(void)snprintf(path, sizeof path, "/proc/%d/mem", (int)r->tid);
		mem = open(path, O_RDONLY | O_CLOEXEC);
	}
	for (uint64_t got = 0; got < r->n;) {
		const ssize_t n = read_step(r, mem, got);

		if (n <= 0) {
			r->error = n < 0 ? errno : ESRCH;
			break;
		}
		got += (uint64_t)n;
		atomic_store(&r->got, got);
	}
	if (mem >= 0)
		close(mem);
}

static void
stand(int fd, void *room)
{
	char byte;

	while (recv(fd, &byte, 1, 0) == 1) {
		serve(room);
		if (send(fd, &byte, 1, MSG_NOSIGNAL) != 1)
			break;
	}
}

/* ---- with it ------------------------------------------------------------- */

static struct beside reader = {
	.lock = PTHREAD_MUTEX_INITIALIZER, .name = "page-reader",
	.serve = stand, .fd = -1, .least_ms = 10, .sulks = true,
};
static struct room *room;

static void
drop_room(void)
{
	if (room)
		(void)munmap(room, sizeof *room);
	room = NULL;
}

/* The room goes with the process: one that was left may still write. */
static bool
begin(void)
{
	if (beside_is_there(&reader))
		return true;
	drop_room();
	room = mmap(NULL, sizeof *room, PROT_READ | PROT_WRITE,
		    MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	if (room == MAP_FAILED)
		room = NULL;
	if (room && beside_begin(&reader, room))
		return true;
	drop_room();
	return false;
}

void
pages_prepare(void)
{
	(void)pthread_mutex_lock(&reader.lock);
	(void)begin();		/* or later */
	(void)pthread_mutex_unlock(&reader.lock);
}

static size_t
ask(pid_t tid, uint64_t addr, void *to, size_t n, enum page_way way)
{
	struct room *r = room;
	char byte;

	r->tid = tid;
	r->addr = addr;
	r->n = n;
	r->way = way;
	atomic_store(&r->got, 0);

	const bool answered = send(reader.fd, "", 1, MSG_NOSIGNAL) == 1 &&
		beside_await(&reader) &&
		recv(reader.fd, &byte, 1, MSG_DONTWAIT) == 1;
	const size_t got = (size_t)atomic_load(&r->got);

	memcpy(to, r->bytes, got < n ? got : n);
	if (answered) {
		beside_praise(&reader);
		errno = r->error;
		return got < n ? got : n;
	}
	beside_part(&reader);	/* it may have ended */
	drop_room();
	errno = ETIMEDOUT;
	return got < n ? got : n;
}

size_t
pages_await(pid_t tid, uint64_t addr, void *to, size_t n, enum page_way way)
{
	size_t done = 0;
	int error = ETIMEDOUT;

	(void)pthread_mutex_lock(&reader.lock);
	while (done < n && begin()) {
		const size_t most = n - done < ROOM ? n - done : ROOM;
		const size_t got = ask(tid, addr + done,
				       (unsigned char *)to + done, most, way);

		error = errno;
		done += got;
		if (got < most)
			break;
	}
	(void)pthread_mutex_unlock(&reader.lock);
	errno = error;
	return done;
}
