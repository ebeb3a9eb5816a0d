/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Most threads of a program have confined themselves by a seccomp filter each,
 * of which /proc/PID says nothing; the filter would end the program for a call
 * of ours. Whichever thread the seed draws, it lives (hazard: LATE_FILTER).
 */
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <pthread.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <time.h>

#include "base.h"
#include "inject.h"
#include "inject-victim.h"

enum { CONFINED = 6, VISITS = 5 };

struct shared {
	struct victim_page at;
	volatile int confined;
};

static struct shared *shared;

static void
confine(void)
{
	static const unsigned calls[] = {
		SYS_clock_nanosleep, SYS_nanosleep, SYS_restart_syscall,
		SYS_rt_sigreturn, SYS_exit,
	};
	struct sock_filter code[16];
	struct sock_fprog program = { .filter = code };
	size_t i, at = 0;

	code[at++] = (struct sock_filter)BPF_STMT(BPF_LD | BPF_W | BPF_ABS,
		offsetof(struct seccomp_data, nr));
	for (i = 0; i < ARRAY_LEN(calls); i++) {
		code[at++] = (struct sock_filter)BPF_JUMP(BPF_JMP | BPF_JEQ |
			BPF_K, calls[i], 0, 1);
		code[at++] = (struct sock_filter)BPF_STMT(BPF_RET | BPF_K,
			SECCOMP_RET_ALLOW);
	}
	code[at++] = (struct sock_filter)BPF_STMT(BPF_RET | BPF_K,
		SECCOMP_RET_KILL_PROCESS);
	program.len = (unsigned short)at;
	if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) < 0 ||
	    prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program) < 0)
		_exit(99);
}

static void *
nap(void *arg)
{
	const struct timespec ms = { .tv_nsec = 1000000 };

	confine();
	(void)__atomic_fetch_add(&shared->confined, 1, __ATOMIC_SEQ_CST);
	while (!shared->at.stop)
		(void)nanosleep(&ms, NULL);
	syscall(SYS_exit, 0);
	return arg;
}

static int
run_program(const char *page)
{
	pthread_t th[CONFINED];
	int i;

	shared = victim_page_of(page);
	for (i = 0; i < CONFINED; i++)
		pthread_create(&th[i], NULL, nap, NULL);
	while (shared->confined < CONFINED)
		usleep(1000);
	shared->at.ready = 1;
	while (!shared->at.stop)
		usleep(1000);
	for (i = 0; i < CONFINED; i++)
		pthread_join(th[i], NULL);
	return 0;
}

int
main(int argc, char **argv)
{
	struct target *t;
	int status = -1, failed = 0;
	unsigned seed;
	pid_t pid;

	if (argc == 3)
		return run_program(argv[2]);
	pid = victim_start("filter", (void **)&shared);
	t = target_open(pid);
	if (!t)
		return 99;
	for (seed = 1; seed <= VISITS && !failed; seed++)
		failed = victim_visit(t, seed) < 0;
	shared->at.stop = 1;
	target_close(t);
	waitpid(pid, &status, 0);
	if (status != 0)
		printf("FAILED: the program ended with %#x\n", status);
	return failed || status != 0;
}
