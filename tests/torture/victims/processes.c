/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * processes: programs that fork, exec, confine themselves and change what
 * they are, while a visitor comes and goes.
 */
#include "victim.h"

#include <fcntl.h>
#include <grp.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <sched.h>
#include <spawn.h>
#include <stddef.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>

extern char **environ;
static char **own_argv;

static void
expect_child(pid_t child, int want)
{
	int status = -1;
	pid_t r;

	while ((r = waitpid(child, &status, 0)) < 0 && errno == EINTR)
		EINTR_SEEN();
	if (child <= 0 || r != child || !WIFEXITED(status) ||
	    WEXITSTATUS(status) != want)
		WRONG(status);
	round_done();
}

/* The child has the parent's memory as it was, and its own to change. */
static void *
forks(void *arg)
{
	unsigned n = 0;

	while (!over()) {
		const unsigned want = n++ & 63;
		char *block = malloc(500);
		pid_t child;

		memset(block, (int)want, 500);
		child = fork();
		if (child == 0) {
			char *own = malloc(2000);

			memset(own, 1, 2000);
			_exit(block[499] == (char)want ? (int)want : 99);
		}
		expect_child(child, (int)want);
		free(block);
	}
	return arg;
}

/* Children that live for a while, so that some are there during a visit. */
static void *
slow_forks(void *arg)
{
	while (!over()) {
		const struct timespec nap = { 0, 10000000 };
		const pid_t child = fork();

		if (child == 0) {
			if (nanosleep(&nap, NULL) < 0)
				_exit(99);
			_exit(7);
		}
		expect_child(child, 7);
	}
	return arg;
}

/* The child shares our memory: it may do this and no more. */
static void *
vforks(void *arg)
{
	while (!over()) {
		const pid_t child = vfork();

		if (child == 0)
			_exit(5);
		expect_child(child, 5);
	}
	return arg;
}

static void *
spawns(void *arg)
{
	char *const argv[] = { (char *)"true", NULL };

	while (!over()) {
		pid_t child = -1;

		if (posix_spawn(&child, "/bin/true", NULL, NULL, argv,
				environ) != 0)
			WRONG(errno);
		else
			expect_child(child, 0);
	}
	return arg;
}

/* A new image every few milliseconds, the same process. */
static void *
execs(void *arg)
{
	const uint64_t since = now_ms();

	(void)arg;
	round_done();
	while (!over() && now_ms() - since < 30)
		free(malloc(1000));
	if (!over()) {
		execv("/proc/self/exe", own_argv);
		WRONG(errno);
	}
	return arg;
}

/* Ends by itself while it is being visited; how soon is drawn. */
static void *
short_life(void *arg)
{
	const uint64_t since = now_ms(), life = (uint64_t)getpid() * 7919 % 120;

	while (now_ms() - since < life) {
		free(malloc(1000));
		round_done();
	}
	return arg;
}

/* libc sends a signal of its own to every thread, and waits for them all. */
static void *
setuids(void *arg)
{
	const struct timespec nap = { 0, 1000000 };

	while (!over()) {
		if ((uintptr_t)arg == 0) {
			if (setgid(getgid()) < 0 || setuid(getuid()) < 0)
				WRONG(errno);
			nanosleep(&nap, NULL);
		} else {
			free(malloc(100));
		}
		round_done();
	}
	return NULL;
}

/* Only a process of one thread may do the last: nobody of ours has stayed. */
static void *
unshares(void *arg)
{
	const struct timespec nap = { 0, 1000000 };

	while (!over()) {
		if (unshare(CLONE_FS) < 0)
			WRONG(errno);
		nanosleep(&nap, NULL);
		round_done();
	}
	if (unshare(CLONE_NEWUSER) < 0 && errno == EINVAL)
		WRONG(errno);
	return arg;
}

/* Numbers of descriptors: what it opened is what it closes. */
static void *
descriptors(void *arg)
{
	while (!over()) {
		struct stat a, b;
		int fd[2];

		if (pipe(fd) < 0) {
			WRONG(errno);
			continue;
		}
		if (fstat(fd[0], &a) < 0 || fstat(fd[1], &b) < 0 ||
		    a.st_ino != b.st_ino || !S_ISFIFO(a.st_mode))
			WRONG(fd[0]);
		if (close(fd[0]) < 0 || close(fd[1]) < 0)
			WRONG(errno);
		round_done();
	}
	return arg;
}

/* As a daemon does before an exec: closes all that it does not know. */
static void *
closes_all(void *arg)
{
	const struct timespec nap = { 0, 3000000 };
	int fd;

	while (!over()) {
		for (fd = 20; fd < 80; fd++)
			(void)close(fd);
		nanosleep(&nap, NULL);
		round_done();
	}
	return arg;
}

/* ---- confined ------------------------------------------------------------ */

static void
confine(const unsigned *calls, size_t n, unsigned otherwise)
{
	struct sock_filter code[40];
	struct sock_fprog program = { .filter = code };
	size_t i, at = 0;

	code[at++] = (struct sock_filter)BPF_STMT(BPF_LD | BPF_W | BPF_ABS,
		offsetof(struct seccomp_data, nr));
	for (i = 0; i < n; i++) {
		code[at++] = (struct sock_filter)BPF_JUMP(BPF_JMP | BPF_JEQ |
			BPF_K, calls[i], 0, 1);
		code[at++] = (struct sock_filter)BPF_STMT(BPF_RET | BPF_K,
			SECCOMP_RET_ALLOW);
	}
	code[at++] = (struct sock_filter)BPF_STMT(BPF_RET | BPF_K, otherwise);
	program.len = (unsigned short)at;
	if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) < 0 ||
	    prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program) < 0) {
		perror("seccomp");
		exit(99);
	}
}

static const unsigned few_calls[] = {
	SYS_nanosleep, SYS_clock_nanosleep, SYS_write, SYS_exit,
	SYS_exit_group, SYS_rt_sigreturn, SYS_restart_syscall, SYS_futex,
};

static void *
nap_confined(void)
{
	const struct timespec nap = { 0, 5000000 };

	while (!over()) {
		uint64_t x = 1;
		int i;

		for (i = 0; i < 100000; i++)
			x = x * 3 + 1;
		if (x == 0)
			WRONG(0);
		if (nanosleep(&nap, NULL) < 0)
			EINTR_SEEN();
		round_done();
	}
	return NULL;
}

/* By write and exit alone. */
static void
say_and_exit(void)
{
	char line[80];
	const int n = snprintf(line, sizeof line, "eintr %d wrong %d missed 0 "
			       "rounds 1\n", (int)page->eintr,
			       (int)page->wrong);

	if (write(1, line, (size_t)n) != n)
		WRONG(n);
	syscall(SYS_exit, page->eintr || page->wrong);
}

static void *
filter_kills(void *arg)
{
	confine(few_calls, COUNT_OF(few_calls), SECCOMP_RET_KILL_PROCESS);
	nap_confined();
	say_and_exit();
	return arg;
}

static void *
filter_denies(void *arg)
{
	confine(few_calls, COUNT_OF(few_calls), SECCOMP_RET_ERRNO | EPERM);
	nap_confined();
	say_and_exit();
	return arg;
}

/* Four calls are left: read, write, exit, sigreturn. */
static void *
strict(void *arg)
{
	if (prctl(PR_SET_SECCOMP, SECCOMP_MODE_STRICT) < 0)
		exit(99);
	while (!over()) {
		volatile uint64_t x = 1;
		int i;

		for (i = 0; i < 100000; i++)
			x = x * 3 + 1;
		round_done();
	}
	say_and_exit();
	return arg;
}

/* Nobody may trace it but root. */
static void *
hidden(void *arg)
{
	prctl(PR_SET_DUMPABLE, 0);
	while (!over()) {
		free(malloc(1000));
		round_done();
	}
	if (prctl(PR_GET_DUMPABLE) != 0)
		WRONG(1);
	return arg;
}

static const struct trait traits[] = {
	{ "forks", forks, 0 },
	{ "slow-forks", slow_forks, 0 },
	{ "vforks", vforks, 0 },
	{ "spawns", spawns, 0 },
	{ "execs", execs, 0 },
	{ "short", short_life, 0 },
	{ "setuids", setuids, 0 },
	{ "unshares", unshares, 0 },
	{ "descriptors", descriptors, 0 },
	{ "closes-all", closes_all, 0 },
	{ "filter-kills", filter_kills, 0 },
	{ "filter-denies", filter_denies, 0 },
	{ "strict", strict, 0 },
	{ "hidden", hidden, 0 },
};

int
main(int argc, char **argv)
{
	own_argv = argv;
	return victim_run(traits, COUNT_OF(traits), argc, argv);
}
