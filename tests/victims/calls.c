/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * calls: a thread in each system call that waits, again and again. Each knows
 * what its call has to answer and how long that takes at least: time limits
 * that run out, or something that a feeder gives after a while. A call may say
 * EINTR only where a signal was sent to make it; a transfer of many pieces
 * gives all of them. injection.md 2: rows 6, 7
 */
#include <fcntl.h>
#include <mqueue.h>
#include <pthread.h>
#include <linux/aio_abi.h>
#include <linux/futex.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/inotify.h>
#include <sys/ipc.h>
#include <sys/msg.h>
#include <sys/select.h>
#include <sys/sem.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/timerfd.h>
#include <sys/un.h>
#include <sys/wait.h>

#include "victim.h"

enum {
	NAP_MS = 60, FAR_MS = 20000, MS = 1000000,
	PIECE = 512, PIECES = 6, LOT = 1 << 20,
	CALL_NEW = SIGUSR1, CALL_WAIT = SIGUSR2, CALL_PAUSE = SIGIO,
};

static _Atomic uint64_t done, early, late, interrupted, wrong, cut, signalled,
	paused;
static int quiet[2];		/* sockets that nobody writes to */
static int silent, full;	/* that nobody calls, that takes no more callers */
static int fed_pipe[2], fed_event, fed_pair[2], wide_pipe[2];
static int sem_id, queue_id, full_id, epoll_fd;
static int watched, watcher;	/* a file, and who tells of its changes */
static mqd_t messages;		/* that nobody sends */
static aio_context_t aio;

static const struct timespec nap = { .tv_nsec = NAP_MS * MS };

static struct timespec
nap_end(clockid_t clock)
{
	const uint64_t end = victim_clock(clock) + NAP_MS * UINT64_C(1000000);

	return (struct timespec){ .tv_sec = end / 1000000000,
				  .tv_nsec = end % 1000000000 };
}

/* ---- those that end by their time limit ---------------------------------- */

static bool
timed_out(long r, int error)
{
	return r < 0 && errno == error;
}

static bool
in_epoll_wait(void)
{
	struct epoll_event ev;

	return syscall(SYS_epoll_wait, epoll_fd, &ev, 1, NAP_MS) == 0;
}

static bool
in_epoll_pwait(void)
{
	struct epoll_event ev;
	sigset_t set;

	sigfillset(&set);
	return epoll_pwait(epoll_fd, &ev, 1, NAP_MS, &set) == 0;
}

static bool
in_epoll_pwait2(void)
{
	struct epoll_event ev;
	const long r = syscall(441, epoll_fd, &ev, 1, &nap, NULL, 8);

	return r == 0 || timed_out(r, ENOSYS);
}

static bool
in_semtimedop(void)
{
	struct sembuf op = { .sem_num = 1, .sem_op = -1 };

	return timed_out(semtimedop(sem_id, &op, 1, &nap), EAGAIN);
}

static bool
in_sigtimedwait(void)
{
	sigset_t set;

	sigemptyset(&set);
	sigaddset(&set, SIGRTMAX);
	return timed_out(sigtimedwait(&set, NULL, &nap), EAGAIN);
}

static bool
in_io_getevents(void)
{
	struct timespec t = nap;
	struct io_event ev;

	return syscall(SYS_io_getevents, aio, 1, 1, &ev, &t) == 0;
}

static bool
in_mq_timedreceive(void)
{
	const struct timespec end = nap_end(CLOCK_REALTIME);
	char text[16];

	return timed_out(mq_timedreceive(messages, text, sizeof text, NULL,
					 &end), ETIMEDOUT);
}

static bool
in_recv(void)
{
	char c;

	return timed_out(recv(quiet[0], &c, 1, 0), EAGAIN);
}

static bool
in_socket_read(void)
{
	char c;

	return timed_out(read(quiet[0], &c, 1), EAGAIN);
}

static bool
in_accept(void)
{
	return timed_out(accept(silent, NULL, NULL), EAGAIN);
}

/* The queue of callers is full. */
static bool
in_connect(void)
{
	const struct timeval t = { .tv_usec = NAP_MS * 1000 };
	struct sockaddr_un to;
	socklen_t n = sizeof to;
	const int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
	const bool ok = getsockname(full, (void *)&to, &n) == 0 &&
		setsockopt(fd, SOL_SOCKET, SO_SNDTIMEO, &t, sizeof t) == 0 &&
		timed_out(connect(fd, (void *)&to, n), EAGAIN);
	const int error = errno;

	close(fd);
	errno = error;
	return ok;
}

static bool
in_poll(void)
{
	struct pollfd fd = { .fd = quiet[0], .events = POLLIN };

	return poll(&fd, 1, NAP_MS) == 0;
}

static bool
in_ppoll(void)
{
	struct pollfd fd = { .fd = quiet[0], .events = POLLIN };

	return ppoll(&fd, 1, &nap, NULL) == 0;
}

static bool
in_select(void)
{
	struct timeval t = { .tv_usec = NAP_MS * 1000 };

	return select(0, NULL, NULL, NULL, &t) == 0;
}

static bool
in_pselect(void)
{
	return pselect(0, NULL, NULL, NULL, &nap, NULL) == 0;
}

static bool
in_nanosleep(void)
{
	return syscall(SYS_nanosleep, &nap, NULL) == 0;
}

static bool
in_clock_nanosleep(void)
{
	errno = clock_nanosleep(CLOCK_MONOTONIC, 0, &nap, NULL);
	return errno == 0;
}

static bool
in_absolute(void)
{
	const struct timespec end = nap_end(CLOCK_MONOTONIC);

	errno = clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &end, NULL);
	return errno == 0;
}

static bool
in_futex(void)
{
	int word = 0;

	return timed_out(syscall(SYS_futex, &word, FUTEX_WAIT_PRIVATE, 0, &nap,
				 NULL, 0), ETIMEDOUT);
}

static bool
in_timerfd(void)
{
	const struct itimerspec once = { .it_value = nap };
	const int fd = timerfd_create(CLOCK_MONOTONIC, TFD_CLOEXEC);
	uint64_t n = 0;
	const bool ok = timerfd_settime(fd, 0, &once, NULL) == 0 &&
		read(fd, &n, sizeof n) == (ssize_t)sizeof n && n == 1;
	const int error = errno;

	close(fd);
	errno = error;
	return ok;
}

static bool
in_wait4(void)
{
	int status = -1;
	const pid_t pid = fork();

	if (pid == 0) {
		(void)nanosleep(&nap, NULL);
		_exit(7);
	}
	return waitpid(pid, &status, 0) == pid && WEXITSTATUS(status) == 7;
}

/* ---- those that a feeder ends -------------------------------------------- */

static bool
in_semop(void)
{
	struct sembuf op = { .sem_op = -1 };

	return semop(sem_id, &op, 1) == 0;
}

static void
feed_semop(pthread_t whom)
{
	struct sembuf op = { .sem_op = 1 };

	(void)whom;
	if (semop(sem_id, &op, 1) < 0)
		wrong++;
}

struct message {
	long type;
	char text[8000];
};

static bool
in_msgrcv(void)
{
	struct message m;

	return msgrcv(queue_id, &m, sizeof m.text, 0, 0) == 5;
}

static void
feed_msgrcv(pthread_t whom)
{
	const struct message m = { .type = 1 };

	(void)whom;
	if (msgsnd(queue_id, &m, 5, 0) < 0)
		wrong++;
}

/* Two of these are more than a queue takes. */
static bool
in_msgsnd(void)
{
	static const struct message m = { .type = 1 };

	return msgsnd(full_id, &m, sizeof m.text, 0) == 0;
}

static void
feed_msgsnd(pthread_t whom)
{
	static struct message m;

	(void)whom;
	(void)msgrcv(full_id, &m, sizeof m.text, 0, IPC_NOWAIT);
}

static bool
in_sigwaitinfo(void)
{
	sigset_t set;

	sigemptyset(&set);
	sigaddset(&set, CALL_WAIT);
	return sigwaitinfo(&set, NULL) == CALL_WAIT;
}

static void
feed_sigwaitinfo(pthread_t whom)
{
	pthread_kill(whom, CALL_WAIT);
}

static bool
in_pipe(void)
{
	char c;

	return read(fed_pipe[0], &c, 1) == 1;
}

static void
feed_pipe(pthread_t whom)
{
	(void)whom;
	if (write(fed_pipe[1], "", 1) != 1)
		wrong++;
}

static bool
in_eventfd(void)
{
	uint64_t n;

	return read(fed_event, &n, sizeof n) == (ssize_t)sizeof n;
}

static void
feed_eventfd(pthread_t whom)
{
	const uint64_t one = 1;

	(void)whom;
	if (write(fed_event, &one, sizeof one) < 0)
		wrong++;
}

/* The signal should end it: EINTR once for each that was sent. */
static void
on_call(int signal)
{
	(void)signal;
	signalled++;
}

static bool
in_sigsuspend(void)
{
	const uint64_t before = signalled;
	sigset_t set;

	sigfillset(&set);
	sigdelset(&set, CALL_NEW);
	return sigsuspend(&set) < 0 && errno == EINTR &&
		signalled == before + 1;
}

static void
feed_sigsuspend(pthread_t whom)
{
	pthread_kill(whom, CALL_NEW);
}

/* The same without a mask of its own: one that comes before is not lost, the
 * next one follows. */
static void
on_pause(int signal)
{
	(void)signal;
	paused++;
}

static bool
in_pause(void)
{
	const uint64_t before = paused;
	sigset_t set;

	sigemptyset(&set);
	sigaddset(&set, CALL_PAUSE);
	pthread_sigmask(SIG_UNBLOCK, &set, NULL);
	return pause() < 0 && errno == EINTR && paused > before;
}

static void
feed_pause(pthread_t whom)
{
	pthread_kill(whom, CALL_PAUSE);
}

static bool
in_inotify(void)
{
	struct inotify_event ev;

	return read(watcher, &ev, sizeof ev) == (ssize_t)sizeof ev &&
		ev.mask == IN_MODIFY;
}

static void
feed_inotify(pthread_t whom)
{
	(void)whom;
	if (pwrite(watched, "", 1, 0) != 1)
		wrong++;
}

static void
breathe(void)
{
	(void)clock_nanosleep(CLOCK_MONOTONIC, 0, &nap, NULL);
}

static bool
whole(ssize_t n, ssize_t all)
{
	if (n > 0 && n < all)
		cut++;
	return n > 0;
}

static bool
in_waitall(void)
{
	char all[PIECE * PIECES];
	const bool ok = whole(recv(fed_pair[0], all, sizeof all, MSG_WAITALL),
			      sizeof all);

	breathe();
	return ok;
}

static void
feed_waitall(pthread_t whom)
{
	const struct timespec t = { .tv_nsec = NAP_MS * MS / PIECES };
	const char piece[PIECE] = { 0 };

	(void)whom;
	for (int i = 0; i < PIECES; i++) {
		if (send(fed_pair[1], piece, sizeof piece, 0) != PIECE)
			wrong++;
		(void)clock_nanosleep(CLOCK_MONOTONIC, 0, &t, NULL);
	}
}

static atomic_bool wrote_all;	/* or what it could */

static bool
in_wide_write(void)
{
	static char lot[LOT];
	bool ok;

	atomic_store(&wrote_all, false);
	ok = whole(write(wide_pipe[1], lot, sizeof lot), LOT);
	atomic_store(&wrote_all, true);
	breathe();
	return ok;
}

static void
feed_wide_write(pthread_t whom)
{
	static char part[LOT / PIECES];
	const struct timespec t = { .tv_nsec = MS };

	(void)whom;
	for (size_t left = LOT; left > 0 && !atomic_load(&wrote_all);) {
		const ssize_t n = read(wide_pipe[0], part,
				       left < sizeof part ? left :
				       sizeof part);

		left -= n > 0 ? (size_t)n : 0;
		(void)clock_nanosleep(CLOCK_MONOTONIC, 0, &t, NULL);
	}
}

/* ---- all of them --------------------------------------------------------- */

static const struct call {
	const char *name;
	bool (*wait)(void);
	void (*feed)(pthread_t whom);	/* NULL: NAP_MS at least */
} calls[] = {
	{ "epoll_wait", in_epoll_wait, NULL },
	{ "epoll_pwait", in_epoll_pwait, NULL },
	{ "epoll_pwait2", in_epoll_pwait2, NULL },
	{ "semtimedop", in_semtimedop, NULL },
	{ "sigtimedwait", in_sigtimedwait, NULL },
	{ "io_getevents", in_io_getevents, NULL },
	{ "mq_timedreceive", in_mq_timedreceive, NULL },
	{ "recv", in_recv, NULL },
	{ "read of a socket", in_socket_read, NULL },
	{ "accept", in_accept, NULL },
	{ "connect", in_connect, NULL },
	{ "poll", in_poll, NULL },
	{ "ppoll", in_ppoll, NULL },
	{ "select", in_select, NULL },
	{ "pselect", in_pselect, NULL },
	{ "nanosleep", in_nanosleep, NULL },
	{ "clock_nanosleep", in_clock_nanosleep, NULL },
	{ "clock_nanosleep, absolute", in_absolute, NULL },
	{ "futex", in_futex, NULL },
	{ "timerfd", in_timerfd, NULL },
	{ "wait4", in_wait4, NULL },
	{ "semop", in_semop, feed_semop },
	{ "msgrcv", in_msgrcv, feed_msgrcv },
	{ "msgsnd", in_msgsnd, feed_msgsnd },
	{ "sigwaitinfo", in_sigwaitinfo, feed_sigwaitinfo },
	{ "read of a pipe", in_pipe, feed_pipe },
	{ "read of an eventfd", in_eventfd, feed_eventfd },
	{ "sigsuspend", in_sigsuspend, feed_sigsuspend },
	{ "pause", in_pause, feed_pause },
	{ "read of an inotify", in_inotify, feed_inotify },
	{ "recv of all", in_waitall, feed_waitall },
	{ "write of a lot", in_wide_write, feed_wide_write },
};
enum { CALLS = sizeof calls / sizeof *calls };

static pthread_t waiter[CALLS], feeder[CALLS];
static _Atomic bool waits[CALLS];

static void
judge(const struct call *c, bool ok, int error, uint64_t took_ms)
{
	done++;
	if (!ok && error == EINTR)
		interrupted++;
	else if (!ok)
		wrong++;
	else if (!c->feed && took_ms + 1 < NAP_MS)
		early++;	/* jiffies: System V calls round down */
	else if (took_ms > FAR_MS)
		late++;
	else
		return;
	printf("bad %s: %s, errno %d, %llu ms\n", c->name, ok ? "ok" : "failed",
	       error, (unsigned long long)took_ms);
}

static void *
wait_often(void *arg)
{
	const uintptr_t i = (uintptr_t)arg;

	while (!atomic_load(&victim_over)) {
		const uint64_t since = victim_clock(CLOCK_MONOTONIC);
		bool ok;
		int error;

		errno = 0;
		ok = calls[i].wait();
		error = errno;
		judge(&calls[i], ok, error,
		      (victim_clock(CLOCK_MONOTONIC) - since) / MS);
	}
	waits[i] = false;
	return NULL;
}

static void *
feed_often(void *arg)
{
	const uintptr_t i = (uintptr_t)arg;

	while (waits[i]) {
		calls[i].feed(waiter[i]);
		(void)clock_nanosleep(CLOCK_MONOTONIC, 0, &nap, NULL);
	}
	return NULL;
}

static void
mark(void)
{
	victim_say("done", done);
	victim_say("early", early);
	victim_say("late", late);
	victim_say("eintr", interrupted);
	victim_say("wrong", wrong);
	victim_say("cut", cut);
}

static int
listen_silently(void)
{
	struct sockaddr_un any = { .sun_family = AF_UNIX };
	const int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);

	return fd < 0 || bind(fd, (void *)&any, sizeof any.sun_family) < 0 ||
		listen(fd, 0) < 0 ? -1 : fd;
}

static bool
make_watch(void)
{
	char path[64];

	FILE *file = tmpfile();	/* of no memfd's changes anybody is told */

	watched = file ? fileno(file) : -1;
	watcher = inotify_init1(IN_CLOEXEC);
	snprintf(path, sizeof path, "/proc/self/fd/%d", watched);
	return inotify_add_watch(watcher, path, IN_MODIFY) >= 0;
}

static bool
make_messages(void)
{
	struct mq_attr attr = { .mq_maxmsg = 1, .mq_msgsize = 16 };
	char name[64];

	snprintf(name, sizeof name, "/sonde-calls-%d", (int)getpid());
	messages = mq_open(name, O_RDWR | O_CREAT | O_EXCL, 0600, &attr);
	return messages >= 0 && mq_unlink(name) == 0;
}

static bool
prepare(void)
{
	const struct timeval t = { .tv_usec = NAP_MS * 1000 };
	struct epoll_event ev = { .events = EPOLLIN };
	struct sockaddr_un to;
	socklen_t n = sizeof to;
	struct msqid_ds room;
	int caller;

	if (socketpair(AF_UNIX, SOCK_STREAM, 0, quiet) < 0 ||
	    socketpair(AF_UNIX, SOCK_STREAM, 0, fed_pair) < 0 ||
	    setsockopt(quiet[0], SOL_SOCKET, SO_RCVTIMEO, &t, sizeof t) < 0 ||
	    pipe(fed_pipe) < 0 || pipe(wide_pipe) < 0 ||
	    fcntl(wide_pipe[0], F_SETFL, O_NONBLOCK) < 0 ||
	    (fed_event = eventfd(0, EFD_CLOEXEC)) < 0 ||
	    (epoll_fd = epoll_create1(EPOLL_CLOEXEC)) < 0 ||
	    epoll_ctl(epoll_fd, EPOLL_CTL_ADD, quiet[0], &ev) < 0 ||
	    syscall(SYS_io_setup, 8, &aio) < 0)
		return false;
	if (!make_watch() || !make_messages())
		return false;
	silent = listen_silently();
	full = listen_silently();
	if (silent < 0 || full < 0 ||
	    setsockopt(silent, SOL_SOCKET, SO_RCVTIMEO, &t, sizeof t) < 0 ||
	    getsockname(full, (void *)&to, &n) < 0)
		return false;
	caller = socket(AF_UNIX, SOCK_STREAM, 0);
	if (connect(caller, (void *)&to, n) < 0)
		return false;
	sem_id = semget(IPC_PRIVATE, 2, 0600);
	queue_id = msgget(IPC_PRIVATE, 0600);
	full_id = msgget(IPC_PRIVATE, 0600);
	if (sem_id < 0 || queue_id < 0 || msgctl(full_id, IPC_STAT, &room) < 0)
		return false;
	room.msg_qbytes = sizeof(((struct message *)0)->text);
	return msgctl(full_id, IPC_SET, &room) == 0;
}

static void
tidy(void)
{
	(void)semctl(sem_id, 0, IPC_RMID);
	(void)msgctl(queue_id, IPC_RMID, NULL);
	(void)msgctl(full_id, IPC_RMID, NULL);
}

int
main(void)
{
	struct sigaction action = { .sa_handler = on_call };
	struct sigaction pausing = { .sa_handler = on_pause };
	sigset_t set;

	victim_init();
	sigemptyset(&set);
	sigaddset(&set, CALL_NEW);
	sigaddset(&set, CALL_WAIT);
	sigaddset(&set, SIGRTMAX);
	sigaddset(&set, CALL_PAUSE);
	if (sigaction(CALL_NEW, &action, NULL) < 0 ||
	    sigaction(CALL_PAUSE, &pausing, NULL) < 0 ||
	    pthread_sigmask(SIG_BLOCK, &set, NULL) != 0 || !prepare())
		return 99;
	for (uintptr_t i = 0; i < CALLS; i++) {
		waits[i] = true;
		if (pthread_create(&waiter[i], NULL, wait_often, (void *)i) ||
		    (calls[i].feed && pthread_create(&feeder[i], NULL,
						     feed_often, (void *)i)))
			return 99;
	}
	victim_ready();
	victim_serve(mark);
	for (int i = 0; i < CALLS; i++) {
		pthread_join(waiter[i], NULL);
		if (calls[i].feed)
			pthread_join(feeder[i], NULL);
	}
	tidy();
	mark();
	return victim_end(!early && !late && !interrupted && !wrong);
}
