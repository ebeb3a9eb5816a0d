/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * waits: every call that waits with a time-out, also those that answer EINTR
 * to any stop. Each must return what it promises, and not before its time.
 */
#include "victim.h"

#include <fcntl.h>
#include <linux/aio_abi.h>
#include <mqueue.h>
#include <poll.h>
#include <sys/epoll.h>
#include <sys/ipc.h>
#include <sys/msg.h>
#include <sys/select.h>
#include <sys/sem.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/wait.h>

/* Late is one that waits for ever: some are stopped for a minute. */
enum { NAP_MS = 15, NAP_NS = NAP_MS * 1000000, TOO_LATE_MS = 300000 };

static const struct timespec nap = { 0, NAP_NS };

/* r and errno as a time-out has them: want_errno 0 means that r is 0. */
static void
judge(int line, long r, int error, int want_errno, uint64_t since)
{
	const uint64_t took = now_ms() - since;

	if (r < 0 && error == EINTR)
		interrupted_at(line);
	else if (want_errno ? r != -1 || error != want_errno : r != 0)
		wrong_at(line, r < 0 ? -error : r);
	else if (took + 1 < NAP_MS || took > TOO_LATE_MS)
		wrong_at(line, (long)took);
	round_done();
}

#define WAIT(want, call) \
	while (!over()) { \
		const uint64_t since = now_ms(); \
		const long got = (call); \
		judge(__LINE__, got, errno, (want), since); \
	}

static void *
use_nanosleep(void *arg)
{
	WAIT(0, nanosleep(&nap, NULL));
	return arg;
}

static void *
use_poll(void *arg)
{
	WAIT(0, poll(NULL, 0, NAP_MS));
	return arg;
}

static void *
use_select(void *arg)
{
	struct timeval tv;

	WAIT(0, (tv = (struct timeval){ 0, NAP_NS / 1000 },
		 select(0, NULL, NULL, NULL, &tv)));
	return arg;
}

static void *
use_ppoll(void *arg)
{
	sigset_t set;

	sigemptyset(&set);
	WAIT(0, ppoll(NULL, 0, &nap, &set));
	return arg;
}

static void *
use_pselect(void *arg)
{
	sigset_t set;

	sigemptyset(&set);
	WAIT(0, pselect(0, NULL, NULL, NULL, &nap, &set));
	return arg;
}

static void *
use_cond(void *arg)
{
	pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
	pthread_cond_t cond = PTHREAD_COND_INITIALIZER;
	struct timespec at;

	pthread_mutex_lock(&lock);
	while (!over()) {
		const uint64_t since = now_ms();
		int r;

		clock_gettime(CLOCK_REALTIME, &at);
		at.tv_nsec += NAP_NS;
		at.tv_sec += at.tv_nsec / 1000000000;
		at.tv_nsec %= 1000000000;
		r = pthread_cond_timedwait(&cond, &lock, &at);
		judge(__LINE__, -1, r, ETIMEDOUT, since);
	}
	pthread_mutex_unlock(&lock);
	return arg;
}

static void *
use_epoll(void *arg)
{
	const int fd = epoll_create1(EPOLL_CLOEXEC);
	struct epoll_event ev;

	WAIT(0, epoll_wait(fd, &ev, 1, NAP_MS));
	close(fd);
	return arg;
}

static void *
use_epoll_pwait(void *arg)
{
	const int fd = epoll_create1(EPOLL_CLOEXEC);
	struct epoll_event ev;
	sigset_t set;

	sigemptyset(&set);
	WAIT(0, epoll_pwait(fd, &ev, 1, NAP_MS, &set));
	close(fd);
	return arg;
}

static void *
use_semtimedop(void *arg)
{
	const int id = semget(IPC_PRIVATE, 1, 0600);
	struct sembuf op = { 0, -1, 0 };

	WAIT(EAGAIN, semtimedop(id, &op, 1, &nap));
	semctl(id, 0, IPC_RMID);
	return arg;
}

static void *
use_sigtimedwait(void *arg)
{
	sigset_t set;

	sigemptyset(&set);
	sigaddset(&set, SIGUSR2);
	pthread_sigmask(SIG_BLOCK, &set, NULL);
	WAIT(EAGAIN, sigtimedwait(&set, NULL, &nap));
	return arg;
}

static void *
use_io_getevents(void *arg)
{
	aio_context_t ctx = 0;
	struct io_event ev;
	struct timespec ts;

	if (syscall(SYS_io_setup, 4, &ctx) < 0) {
		perror("io_setup");
		exit(99);
	}
	WAIT(0, (ts = nap, syscall(SYS_io_getevents, ctx, 1, 1, &ev, &ts)));
	syscall(SYS_io_destroy, ctx);
	return arg;
}

static void *
use_receive(void *arg)
{
	const struct timeval tv = { 0, NAP_NS / 1000 };
	int fd[2];
	char c;

	if (socketpair(AF_UNIX, SOCK_STREAM, 0, fd) < 0 ||
	    setsockopt(fd[0], SOL_SOCKET, SO_RCVTIMEO, &tv, sizeof tv) < 0)
		exit(99);
	WAIT(EAGAIN, recv(fd[0], &c, 1, 0));
	close(fd[0]);
	close(fd[1]);
	return arg;
}

static void *
use_mq(void *arg)
{
	struct mq_attr attr = { .mq_maxmsg = 1, .mq_msgsize = 8 };
	char name[32], buffer[8];
	struct timespec at;
	mqd_t q;

	snprintf(name, sizeof name, "/torture-%d-%ld", (int)getpid(),
		 (long)(uintptr_t)arg);
	q = mq_open(name, O_CREAT | O_RDWR | O_CLOEXEC, 0600, &attr);
	if (q < 0) {
		perror("mq_open");
		exit(99);
	}
	mq_unlink(name);
	WAIT(ETIMEDOUT, (clock_gettime(CLOCK_REALTIME, &at),
			 at.tv_nsec += NAP_NS,
			 at.tv_sec += at.tv_nsec / 1000000000,
			 at.tv_nsec %= 1000000000,
			 mq_timedreceive(q, buffer, 8, NULL, &at)));
	mq_close(q);
	return arg;
}

/* ---- calls without a time-out: another process sends --------------------- */

static int queue;

/* A message each NAP_MS, numbered; ends when the page says so. */
static void
send_messages(void)
{
	struct { long type; unsigned number; } m = { 1, 0 };

	while (!over()) {
		m.number++;
		if (msgsnd(queue, &m, sizeof m.number, 0) < 0)
			_exit(errno == EIDRM ? 0 : 1);
		nanosleep(&nap, NULL);
	}
	m.number = 0;
	(void)msgsnd(queue, &m, sizeof m.number, 0);
	_exit(0);
}

static void *
use_msgrcv(void *arg)
{
	struct { long type; unsigned number; } m;
	unsigned last = 0;
	pid_t child;

	queue = msgget(IPC_PRIVATE, 0600);
	child = fork();
	if (child == 0)
		send_messages();
	for (;;) {
		const ssize_t r = msgrcv(queue, &m, sizeof m.number, 0, 0);

		if (r < 0 && errno == EINTR) {
			EINTR_SEEN();
			continue;
		}
		if (r != sizeof m.number)
			WRONG(r);
		if (r < 0 || m.number == 0)
			break;
		if (m.number != last + 1)
			WRONG(m.number);
		last = m.number;
		round_done();
	}
	waitpid(child, NULL, 0);
	msgctl(queue, IPC_RMID, NULL);
	return arg;
}

/* ---- calls with partial results ------------------------------------------ */

enum { WHOLE = 65536, PIECE = 4096 };

/* The pieces of a WHOLE come slowly; a WAITALL takes all of them at once. */
static void
send_pieces(int fd)
{
	static char piece[PIECE];
	const struct timespec gap = { 0, 500000 };

	while (!over()) {
		unsigned sent;

		for (sent = 0; sent < WHOLE; sent += PIECE) {
			memset(piece, (int)(sent / PIECE), PIECE);
			if (send(fd, piece, PIECE, MSG_NOSIGNAL) != PIECE)
				_exit(1);
			nanosleep(&gap, NULL);
		}
	}
	_exit(0);
}

static void *
use_waitall(void *arg)
{
	static char whole[WHOLE];
	int fd[2];
	ssize_t r;
	pid_t child;

	if (socketpair(AF_UNIX, SOCK_STREAM, 0, fd) < 0)
		exit(99);
	child = fork();
	if (child == 0) {
		close(fd[0]);
		send_pieces(fd[1]);
	}
	close(fd[1]);
	while ((r = recv(fd[0], whole, WHOLE, MSG_WAITALL)) != 0) {
		if (r < 0 && errno == EINTR) {
			EINTR_SEEN();
			continue;
		}
		if (r != WHOLE || whole[WHOLE - 1] != WHOLE / PIECE - 1) {
			WRONG(r);
			break;
		}
		round_done();
	}
	close(fd[0]);
	waitpid(child, NULL, 0);
	return arg;
}

static void
take_slowly(int fd)
{
	static char piece[PIECE];
	const struct timespec gap = { 0, 300000 };

	while (read(fd, piece, sizeof piece) > 0)
		nanosleep(&gap, NULL);
	_exit(0);
}

/* One write far above a pipe's capacity: all of it, or a wrong result. */
static void *
use_large_write(void *arg)
{
	static char much[WHOLE * 4];
	int fd[2];
	pid_t child;

	if (pipe(fd) < 0)
		exit(99);
	child = fork();
	if (child == 0) {
		close(fd[1]);
		take_slowly(fd[0]);
	}
	close(fd[0]);
	while (!over()) {
		const ssize_t r = write(fd[1], much, sizeof much);

		if (r < 0 && errno == EINTR)
			EINTR_SEEN();
		else if (r != (ssize_t)sizeof much)
			WRONG(r);
		round_done();
	}
	close(fd[1]);
	waitpid(child, NULL, 0);
	return arg;
}

/* ---- all of them, one thread each ---------------------------------------- */

static void *
use_any(void *arg)
{
	static void *(*const all[])(void *) = {
		use_nanosleep, use_epoll, use_poll, use_semtimedop,
		use_select, use_sigtimedwait, use_cond, use_receive,
	};

	return all[(uintptr_t)arg % COUNT_OF(all)](arg);
}

static const struct trait traits[] = {
	{ "nanosleep", use_nanosleep, 0 },
	{ "poll", use_poll, 0 },
	{ "ppoll", use_ppoll, 0 },
	{ "select", use_select, 0 },
	{ "pselect", use_pselect, 0 },
	{ "cond", use_cond, 0 },
	{ "epoll", use_epoll, 0 },
	{ "epoll-pwait", use_epoll_pwait, 0 },
	{ "semtimedop", use_semtimedop, 0 },
	{ "sigtimedwait", use_sigtimedwait, 0 },
	{ "io-getevents", use_io_getevents, 0 },
	{ "receive", use_receive, 0 },
	{ "mq", use_mq, 0 },
	{ "msgrcv", use_msgrcv, 0 },
	{ "waitall", use_waitall, 0 },
	{ "large-write", use_large_write, 0 },
	{ "any", use_any, 0 },
	{ "any-small-stack", use_any, 32768 },
};

int
main(int argc, char **argv)
{
	return victim_run(traits, COUNT_OF(traits), argc, argv);
}
