/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * A stop leaves no trace: threads blocked in the system calls that answer
 * EINTR after any ptrace stop, in those that restart by themselves, and one
 * that computes are held and let go 200 times each, singly and all together;
 * none sees anything, and all end with the right result.
 * mission: X1
 */
#include "control-test.h"

#include <pthread.h>
#include <sys/epoll.h>
#include <sys/ipc.h>
#include <sys/msg.h>
#include <sys/sem.h>
#include <sys/socket.h>
#include <linux/futex.h>

enum { ROUNDS = 200, KINDS = 11, SUM_ROUNDS = 1 << 20 };

struct shared {
	_Atomic pid_t tid[KINDS];
	_Atomic int wrong[KINDS], done[KINDS];
	_Atomic int stop;
	int pipe[2], epoll[2], pair[2], word;
	int sem, queue;
};

static struct shared *sh;

static bool
epoll_kind(bool with_mask)
{
	struct epoll_event ev;
	sigset_t none;
	const int efd = epoll_create1(0);

	sigemptyset(&none);
	ev.events = EPOLLIN;
	if (epoll_ctl(efd, EPOLL_CTL_ADD, sh->pipe[0], &ev) < 0)
		return false;
	return (with_mask ? epoll_pwait(efd, &ev, 1, -1, &none) :
		epoll_wait(efd, &ev, 1, -1)) == 1;
}

static bool
receive_kind(bool by_read)
{
	const struct timeval long_time = { .tv_sec = 1000 };
	const int fd = sh->pair[0];
	char byte;

	if (setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &long_time,
		       sizeof long_time) < 0)
		return false;
	return (by_read ? read(fd, &byte, 1) : recv(fd, &byte, 1, 0)) == 1;
}

static bool
semop_kind(void)
{
	struct sembuf take = { .sem_op = -1 };

	return semop(sh->sem, &take, 1) == 0;
}

static bool
message_kind(void)
{
	struct { long type; char text[8]; } m;

	return msgrcv(sh->queue, &m, sizeof m.text, 0, 0) == 4;
}

static bool
sleep_kind(void)
{
	const struct timespec ts = { .tv_nsec = 300 * MS };

	while (!sh->stop)
		if (nanosleep(&ts, NULL) != 0)
			return false;
	return true;
}

static bool
signal_kind(void)
{
	sigset_t set;
	siginfo_t info;

	sigemptyset(&set);
	sigaddset(&set, SIGUSR2);
	return syscall(SYS_rt_sigtimedwait, &set, &info, NULL, 8) == SIGUSR2;
}

static bool
pipe_kind(void)
{
	char byte;

	return read(sh->epoll[0], &byte, 1) == 1;
}

static bool
futex_kind(void)
{
	return syscall(SYS_futex, &sh->word, FUTEX_WAIT, 0, NULL, NULL, 0)
		== 0;
}

static uint32_t
sum_once(void)
{
	uint32_t x = 1, sum = 0;

	for (int i = 0; i < SUM_ROUNDS; i++) {
		x = x * 1664525u + 1013904223u;
		sum += x >> 7;
	}
	return sum;
}

static bool
compute_kind(void)
{
	const uint32_t right = sum_once();

	while (!sh->stop)
		if (sum_once() != right)
			return false;
	return true;
}

static const struct {
	const char *name;
	long nr;		/* -1: it computes */
} kinds[KINDS] = {
	{ "epoll_wait", SYS_epoll_wait },
	{ "epoll_pwait", SYS_epoll_pwait },
	{ "recv with a time limit", SYS_recvfrom },
	{ "read from a socket with a time limit", SYS_read },
	{ "semop", SYS_semtimedop },
	{ "msgrcv", SYS_msgrcv },
	{ "nanosleep", SYS_clock_nanosleep },
	{ "sigtimedwait", SYS_rt_sigtimedwait },
	{ "read from a pipe", SYS_read },
	{ "futex", SYS_futex },
	{ "computing", -1 },
};

static bool
run_kind(int kind)
{
	switch (kind) {
	case 0: return epoll_kind(false);
	case 1: return epoll_kind(true);
	case 2: return receive_kind(false);
	case 3: return receive_kind(true);
	case 4: return semop_kind();
	case 5: return message_kind();
	case 6: return sleep_kind();
	case 7: return signal_kind();
	case 8: return pipe_kind();
	case 9: return futex_kind();
	default: return compute_kind();
	}
}

static void *
worker(void *arg)
{
	const int kind = (int)(intptr_t)arg;

	sh->tid[kind] = own_tid();
	if (!run_kind(kind)) {
		printf("victim: %s: errno %d\n", kinds[kind].name, errno);
		sh->wrong[kind]++;
	}
	sh->done[kind] = 1;
	return NULL;
}

static void
victim(void *arg)
{
	pthread_t th[KINDS];
	sigset_t set;

	(void)arg;
	sigemptyset(&set);
	sigaddset(&set, SIGUSR2);
	sigprocmask(SIG_BLOCK, &set, NULL);
	for (int i = 0; i < KINDS; i++)
		if (pthread_create(&th[i], NULL, worker, (void *)(intptr_t)i))
			_exit(2);
	for (int i = 0; i < KINDS; i++)
		(void)pthread_join(th[i], NULL);
	for (int i = 0; i < KINDS; i++)
		if (sh->wrong[i])
			_exit(1);
}

static void
wake_all(pid_t pid)
{
	struct sembuf give = { .sem_op = 1 };
	struct { long type; char text[8]; } m = { 1, "abc" };

	sh->stop = 1;
	sh->word = 1;
	/* all of them, also when one is awake already */
	check((write(sh->pipe[1], "x", 1) == 1) +
	      (write(sh->epoll[1], "x", 1) == 1) +
	      (write(sh->pair[1], "xy", 2) == 2) +
	      (semop(sh->sem, &give, 1) == 0) +
	      (msgsnd(sh->queue, &m, 4, 0) == 0) +
	      (syscall(SYS_tgkill, pid, sh->tid[7], SIGUSR2) == 0) +
	      (syscall(SYS_futex, &sh->word, FUTEX_WAKE, 1, NULL, NULL, 0) ==
	       1) == 7,
	      "wake the victim");
}

static bool
all_ready(void *arg)
{
	(void)arg;
	for (int i = 0; i < KINDS; i++)
		if (!sh->tid[i])
			return false;
	return true;
}

static void
await_all_blocked(struct target *t)
{
	for (int i = 0; i < KINDS; i++)
		if (kinds[i].nr >= 0)
			check(await_blocked(t, sh->tid[i], kinds[i].nr),
			      "%s does not block", kinds[i].name);
}

static bool
is_alone(struct target *t, pid_t tid)
{
	char path[64];
	bool alone;

	(void)snprintf(path, sizeof path, "task/%d/status", (int)tid);

	char *text = file_read_at(target_proc(t), path, NULL);

	alone = text && strstr(text, "TracerPid:\t0\n");
	free(text);
	return alone;
}

static void
hold_each(struct target *t)
{
	for (int round = 0; round < ROUNDS; round++) {
		for (int i = 0; i < KINDS; i++) {
			struct held h;

			if (thread_hold(t, sh->tid[i], 0, 1000 * (uint64_t)MS,
					&h) < 0) {
				check(false, "hold %s", kinds[i].name);
				return;
			}
			check(h.stopped && !h.group_signal, "a plain stop");
			check(thread_release(t, &h) == 0, "release %s",
			      kinds[i].name);
		}
		/* Each must have restarted, or the next hold proves nothing */
		if (round % 50 == 0)
			await_all_blocked(t);
	}
	for (int i = 0; i < KINDS; i++)
		check(is_alone(t, sh->tid[i]), "%s is let go",
		      kinds[i].name);
}

static void
hold_together(struct target *t)
{
	struct event ev;

	for (int round = 0; round < ROUNDS; round++) {
		if (target_hold_all(t) < 0) {
			check(false, "hold all, round %d", round);
			return;
		}
		check(target_held(t), "held");
		while (target_next_event(t, &ev))
			check(false, "no event while held: %d", ev.kind);
		check(target_release_all(t) == 0, "release all");
		check(target_pause_ns(t) > 0, "the pause is measured");
	}
}

static void
body(void)
{
	sh = shared_page(sizeof *sh);
	sh->sem = semget(IPC_PRIVATE, 1, 0600);
	sh->queue = msgget(IPC_PRIVATE, 0600);
	check(pipe(sh->pipe) == 0 && pipe(sh->epoll) == 0 &&
	      socketpair(AF_UNIX, SOCK_STREAM, 0, sh->pair) == 0 &&
	      sh->sem >= 0 && sh->queue >= 0, "set the stage");

	const pid_t pid = fork_victim(victim, NULL);
	struct target *t = target_open(pid);

	check(t && await(all_ready, NULL), "the victim is ready");
	if (t && !failures) {
		check(target_check_ptrace(t) == 0, "we may");
		await_all_blocked(t);
		hold_each(t);
		await_all_blocked(t);
		hold_together(t);
		await_all_blocked(t);
	}
	wake_all(pid);
	check(ended_well(pid), "the victim saw something");
	target_close(t);
	(void)semctl(sh->sem, 0, IPC_RMID);
	(void)msgctl(sh->queue, IPC_RMID, NULL);
}

int
main(void)
{
	return run_both(body, 120);
}
