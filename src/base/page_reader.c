/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * A process of ours that reads what may never come. It has a socket to us, a
 * buffer that both share, and nothing else: a read that is not served in time
 * is given up together with its process, which is killed, or (FUSE) is left
 * behind until the kernel lets it go. It holds no thread, no descriptor, no
 * terminal.
 *
 * Whoever serves no page will serve the next one no sooner, and the thread that
 * we look at may stand meanwhile: each time we wait half as long, and then not
 * at all for a while.
 */
#include "pages.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/uio.h>
#include <sys/wait.h>
#include <unistd.h>

enum {
	ROOM = 256 << 10, PATIENCE_MS = 1000, PATIENCE_LEAST_MS = 10,
	BUSY_MS = 50, BUSY_MAX_MS = 10 * 1000,
	LATE_MAX = 6, SULK_S = 2, GIVEN_UP_MAX = 16, STEP = 4096,
};

struct room {
	uint64_t addr;
	uint64_t n;
	pid_t tid;
	int way, error;
	_Atomic uint64_t got;
	unsigned char bytes[ROOM];
};

static struct {
	pthread_mutex_t lock;
	pid_t owner, pid;
	int fd;
	struct room *room;
	unsigned late;			/* reads that were given up */
	uint64_t sulks_until;
	pid_t given_up[GIVEN_UP_MAX];	/* to be reaped */
} reader = { .lock = PTHREAD_MUTEX_INITIALIZER, .fd = -1 };

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

static void __attribute__((noreturn))
stand(struct room *room, int fd)
{
	char byte;
	sigset_t all;

	sigfillset(&all);
	sigprocmask(SIG_SETMASK, &all, NULL);
	(void)setsid();
	(void)prctl(PR_SET_NAME, "page-reader");
	(void)dup2(fd, 0);
	(void)close_range(1, ~0u, 0);
	(void)!chdir("/");
	while (recv(0, &byte, 1, 0) == 1) {
		serve(room);
		if (send(0, &byte, 1, MSG_NOSIGNAL) != 1)
			break;
	}
	_exit(0);
}

/* ---- with it ------------------------------------------------------------- */

static void
reap(void)
{
	for (int i = 0; i < GIVEN_UP_MAX; i++)
		if (reader.given_up[i] > 0 &&
		    waitpid(reader.given_up[i], NULL, WNOHANG | __WALL))
			reader.given_up[i] = 0;
}

static void
part(void)
{
	if (reader.fd >= 0)
		close(reader.fd);
	if (reader.room)
		(void)munmap(reader.room, sizeof *reader.room);
	reader.fd = -1;
	reader.room = NULL;
	if (reader.pid > 0)
		(void)kill(reader.pid, SIGKILL);
	for (int i = 0; i < GIVEN_UP_MAX && reader.pid > 0; i++) {
		if (!reader.given_up[i]) {
			reader.given_up[i] = reader.pid;
			reader.pid = 0;
		}
	}
	reader.pid = 0;
	reap();
}

/* A fork has our words, and neither the process nor the descriptor. */
static void
forget_parents(void)
{
	if (reader.owner == getpid())
		return;
	reader.owner = getpid();
	reader.pid = 0;
	reader.fd = -1;
	reader.room = NULL;
	memset(reader.given_up, 0, sizeof reader.given_up);
}

static bool
begin(void)
{
	int pair[2];

	forget_parents();
	if (reader.fd >= 0)
		return true;
	reader.room = mmap(NULL, sizeof *reader.room, PROT_READ | PROT_WRITE,
			   MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	if (reader.room == MAP_FAILED) {
		reader.room = NULL;
		return false;
	}
	if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, pair) < 0) {
		part();
		return false;
	}
	reader.pid = fork();
	if (reader.pid == 0)
		stand(reader.room, pair[1]);
	close(pair[1]);
	reader.fd = pair[0];
	if (reader.pid < 0)
		part();
	return reader.fd >= 0;
}

void
pages_prepare(void)
{
	(void)pthread_mutex_lock(&reader.lock);
	(void)begin();		/* or later */
	(void)pthread_mutex_unlock(&reader.lock);
}

static int
patience_ms(void)
{
	const int ms = PATIENCE_MS >> reader.late;

	return ms > PATIENCE_LEAST_MS ? ms : PATIENCE_LEAST_MS;
}

/*
 * true: it answered. A reader that is runnable waits for a processor, not for
 * the page: on a busy machine that takes longer than a page may.
 */
static bool
await_answer(void)
{
	const uint64_t ms = UINT64_C(1000000), begun = now_ns();
	uint64_t until = begun + (uint64_t)patience_ms() * ms;
	struct pollfd fd = { .fd = reader.fd, .events = POLLIN };
	char byte;

	for (;;) {
		const uint64_t now = now_ns();
		const int left = now < until ?
			(int)((until - now) / 1000000 + 1) : 0;
		const int r = poll(&fd, 1, left);

		if (r > 0)
			return recv(reader.fd, &byte, 1, MSG_DONTWAIT) == 1;
		if (r < 0 && errno != EINTR)
			return false;
		if (r < 0)
			continue;
		if (thread_state(reader.pid, reader.pid) != 'R' ||
		    now_ns() - begun > BUSY_MAX_MS * ms)
			return false;
		until = now_ns() + BUSY_MS * ms;
	}
}

static size_t
ask(pid_t tid, uint64_t addr, void *to, size_t n, enum page_way way)
{
	struct room *r = reader.room;

	r->tid = tid;
	r->addr = addr;
	r->n = n;
	r->way = way;
	atomic_store(&r->got, 0);

	const bool sent = send(reader.fd, "", 1, MSG_NOSIGNAL) == 1;
	const bool answered = sent && await_answer();
	const size_t got = (size_t)atomic_load(&r->got);

	memcpy(to, r->bytes, got < n ? got : n);
	errno = answered ? r->error : ETIMEDOUT;
	if (answered) {
		reader.late -= reader.late > 0;
		return got;
	}

	const int error = errno;

	reader.late += reader.late < LATE_MAX;
	if (reader.late == LATE_MAX)
		reader.sulks_until = now_ns() + SULK_S * UINT64_C(1000000000);
	part();
	errno = error;
	return got;
}

size_t
pages_await(pid_t tid, uint64_t addr, void *to, size_t n, enum page_way way)
{
	size_t done = 0;
	int error = ETIMEDOUT;

	(void)pthread_mutex_lock(&reader.lock);
	while (done < n && now_ns() >= reader.sulks_until && begin()) {
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
