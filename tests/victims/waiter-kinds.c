/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * waiter kinds: one thread for each kind of thing that a thread can wait for.
 */
#include <arpa/inet.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <semaphore.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/wait.h>

#include "victim.h"
#include "waiter.h"

static int full[2], pair[2], listener, tcp_here, tcp_there, epoll;
static sem_t semaphore;
static pthread_cond_t condition = PTHREAD_COND_INITIALIZER;
static pthread_mutex_t of_condition = PTHREAD_MUTEX_INITIALIZER;
static pthread_rwlock_t rwlock = PTHREAD_RWLOCK_INITIALIZER;
static pthread_barrier_t barrier;
static FILE *stream;
static struct member *joined;

static void
wait_read(struct member *me)
{
	read_one(me, empty[0]);
}

static void
wait_write(struct member *me)
{
	say_fd(me, full[1]);
	note(write(full[1], "x", 1));
}

static void
wait_poll(struct member *me)
{
	struct pollfd fds[] = { { .fd = empty[0], .events = POLLIN },
				{ .fd = pair[0], .events = POLLIN } };

	say_fd(me, pair[0]);
	note(poll(fds, 2, 1000000));
}

static void
wait_epoll(struct member *me)
{
	struct epoll_event ev;

	say_fd(me, epoll);
	note(epoll_wait(epoll, &ev, 1, -1));
}

static void
wait_accept(struct member *me)
{
	say_fd(me, listener);
	note(accept(listener, NULL, NULL));
}

static void
receive_one(struct member *me, int fd)
{
	char c;

	say_fd(me, fd);
	note(recv(fd, &c, 1, 0));
}

static void
wait_unix(struct member *me)
{
	receive_one(me, pair[1]);
}

static void
wait_tcp(struct member *me)
{
	receive_one(me, tcp_here);
}

static void
wait_semaphore(struct member *me)
{
	say_word(me, &semaphore);
	note(sem_wait(&semaphore));
}

static void
wait_condition(struct member *me)
{
	say_word(me, &condition);
	pthread_mutex_lock(&of_condition);
	pthread_cond_wait(&condition, &of_condition);
}

static void
wait_rwlock(struct member *me)
{
	say_word(me, &rwlock);
	pthread_rwlock_rdlock(&rwlock);
}

static void
wait_barrier(struct member *me)
{
	say_word(me, &barrier);
	pthread_barrier_wait(&barrier);
}

#ifdef __GLIBC__
static void
wait_stream(struct member *me)
{
	say_word(me, stream);
	flockfile(stream);
}
#endif

static void
wait_sleep(struct member *me)
{
	const struct timespec long_time = { 5000, 0 };

	(void)me;
	note(nanosleep(&long_time, NULL));
}

static void
wait_join(struct member *me)
{
	(void)me;
	pthread_join(joined->thread, NULL);
}

static void
wait_signal(struct member *me)
{
	sigset_t set;

	(void)me;
	sigemptyset(&set);
	sigaddset(&set, SIGUSR2);
	sigwaitinfo(&set, NULL);
}

static void
wait_child(struct member *me)
{
	(void)me;
	printf("%s_child %d\n", me->name, (int)child);
	note(waitpid(child, NULL, 0));
}

/* Numbers and layouts as <linux/futex.h> and <linux/aio_abi.h> have them; not
 * all that build this have those. */
enum { FUTEX_WAITV_CALL = 449, FUTEX_OF_32_BITS = 2, FUTEX_OWN = 128 };
static uint32_t several[2] = { 7, 8 };
static unsigned long requests;

static long
futex_waitv(unsigned count)
{
	const struct {
		uint64_t value, address;
		uint32_t flags, reserved;
	} list[2] = {
		{ 7, (uintptr_t)&several[0], FUTEX_OF_32_BITS | FUTEX_OWN, 0 },
		{ 8, (uintptr_t)&several[1], FUTEX_OF_32_BITS | FUTEX_OWN, 0 },
	};

	return syscall(FUTEX_WAITV_CALL, list, count, 0, NULL, 0);
}

static void
wait_several(struct member *me)
{
	say_word(me, &several[0]);
	note(futex_waitv(2));
}

/* A call that nobody can say more of. */
static void
wait_request(struct member *me)
{
	char event[32];

	(void)me;
	note(syscall(SYS_io_getevents, requests, 1, 1, event, NULL));
}

static void
connect_tcp(void)
{
	struct sockaddr_in at = { .sin_family = AF_INET };
	socklen_t size = sizeof at;

	at.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
	listener = socket(AF_INET, SOCK_STREAM, 0);
	tcp_here = socket(AF_INET, SOCK_STREAM, 0);
	if (bind(listener, (void *)&at, sizeof at) < 0 ||
	    listen(listener, 5) < 0 ||
	    getsockname(listener, (void *)&at, &size) < 0 ||
	    connect(tcp_here, (void *)&at, sizeof at) < 0 ||
	    (tcp_there = accept(listener, NULL, NULL)) < 0)
		exit(99);
	victim_say("port", ntohs(at.sin_port));
}

static void
fill(int fd)
{
	char block[4096] = "";

	fcntl(fd, F_SETFL, O_NONBLOCK);
	while (write(fd, block, sizeof block) > 0)
		;
	fcntl(fd, F_SETFL, 0);
}

void
start_kinds(void)
{
	struct epoll_event ev = { .events = EPOLLIN };

	if (pipe(empty) < 0 || pipe(full) < 0 ||
	    socketpair(AF_UNIX, SOCK_STREAM, 0, pair) < 0)
		exit(99);
	connect_tcp();
	fill(full[1]);
	epoll = epoll_create1(0);
	epoll_ctl(epoll, EPOLL_CTL_ADD, empty[0], &ev);
	epoll_ctl(epoll, EPOLL_CTL_ADD, listener, &ev);
	sem_init(&semaphore, 0, 0);
	pthread_barrier_init(&barrier, NULL, 2);
	pthread_rwlock_wrlock(&rwlock);
	pthread_mutex_lock(&mutexes[0]);
	child = fork();
	if (child == 0)
		for (;;)
			pause();
	add("read", SYS_read, wait_read);
	add("write", SYS_write, wait_write);
	add("poll", SYS_poll, wait_poll);
	add("epoll", SYS_epoll_wait, wait_epoll);
	add("accept", SYS_accept, wait_accept);
	add("unix", SYS_recvfrom, wait_unix);
	add("tcp", SYS_recvfrom, wait_tcp);
	add("semaphore", SYS_futex, wait_semaphore);
	add("condition", SYS_futex, wait_condition);
	add("rwlock", SYS_futex, wait_rwlock);
	add("barrier", SYS_futex, wait_barrier);
	add("mutex", SYS_futex, wait_mutex);
	joined = add("sleep", SYS_clock_nanosleep, wait_sleep);
	add("join", SYS_futex, wait_join);
	add("signal", SYS_rt_sigtimedwait, wait_signal);
	add("child", SYS_wait4, wait_child);
#ifdef __GLIBC__
	stream = fopen("/dev/null", "w");
	flockfile(stream);
	add("stream", SYS_futex, wait_stream);
#endif
	/* none at all is wrong where the kernel has the call */
	if (futex_waitv(0) < 0 && errno == EINVAL)
		add("several", FUTEX_WAITV_CALL, wait_several);
	if (syscall(SYS_io_setup, 1, &requests) == 0)
		add("request", SYS_io_getevents, wait_request);
}
