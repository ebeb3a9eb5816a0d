/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * sandboxes MODE: burns CPU in a thread, which confines itself at the first
 * mark and burns on. What it does not need ends the process from there on.
 *
 *	filter	the thread by a filter: it may write, end, return from handlers
 *	all	all threads by a filter: what the others need besides
 *	strict	the thread in seccomp's strict mode, which takes its clock away
 *
 * With a second word, `now`, it has done so before it says ready. At the end
 * the thread must have been confined, and its work is checked.
 */
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <pthread.h>
#include <stddef.h>
#include <sys/prctl.h>
#include <sys/syscall.h>

#include "burn.h"
#include "victim.h"

enum { STEPS = 100000 };

static const char *mode;
static atomic_bool asked, confined, wrong;
static _Atomic uint64_t rounds;

NOINLINE static uint64_t
free_work(uint64_t x)
{
	return burn(x, STEPS);
}

/* Not the same code, or the compiler would make one function of both. */
NOINLINE static uint64_t
confined_work(uint64_t x)
{
	return burn(x, STEPS + 1);
}

static const unsigned thread_calls[] = {
	SYS_write, SYS_exit, SYS_rt_sigreturn,
};
static const unsigned process_calls[] = {
	SYS_write, SYS_exit, SYS_rt_sigreturn, SYS_read, SYS_poll,
	SYS_exit_group, SYS_futex, SYS_munmap, SYS_madvise,
	SYS_restart_syscall, SYS_clock_gettime,
};

static long
filter(const unsigned *calls, size_t n, unsigned flags)
{
	struct sock_filter code[64];
	struct sock_fprog program = { .filter = code };
	size_t at = 0;

	code[at++] = (struct sock_filter)BPF_STMT(BPF_LD | BPF_W | BPF_ABS,
		offsetof(struct seccomp_data, nr));
	for (size_t i = 0; i < n; i++) {
		code[at++] = (struct sock_filter)BPF_JUMP(BPF_JMP | BPF_JEQ |
			BPF_K, calls[i], 0, 1);
		code[at++] = (struct sock_filter)BPF_STMT(BPF_RET | BPF_K,
			SECCOMP_RET_ALLOW);
	}
	code[at++] = (struct sock_filter)BPF_STMT(BPF_RET | BPF_K,
		SECCOMP_RET_KILL_PROCESS);
	program.len = (unsigned short)at;
	if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) < 0)
		return -1;
	return syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER, flags, &program);
}

static void
confine(void)
{
	long r;

	if (strcmp(mode, "strict") == 0)
		r = prctl(PR_SET_SECCOMP, SECCOMP_MODE_STRICT);
	else if (strcmp(mode, "all") == 0)
		r = filter(process_calls, sizeof process_calls /
			   sizeof *process_calls, SECCOMP_FILTER_FLAG_TSYNC);
	else
		r = filter(thread_calls, sizeof thread_calls /
			   sizeof *thread_calls, 0);
	if (r != 0)
		exit(99);
	atomic_store(&confined, true);
}

/* Ends by a bare call: libc's way would ask for more. */
static void *
work(void *arg)
{
	uint64_t x = 1;

	(void)arg;
	while (!atomic_load(&victim_over)) {
		if (atomic_load(&asked) && !atomic_load(&confined))
			confine();
		if (!atomic_load(&confined)) {
			x = free_work(x);
			continue;
		}

		const uint64_t next = leap(x, STEPS + 1);

		x = confined_work(x);
		if (x != next)
			atomic_store(&wrong, true);
		atomic_fetch_add(&rounds, 1);
	}
	syscall(SYS_exit, 0);
	return NULL;
}

static void
mark(void)
{
	atomic_store(&asked, true);
	while (!atomic_load(&confined))
		;
	victim_say("rounds", atomic_load(&rounds));
}

int
main(int argc, char **argv)
{
	pthread_t thread;

	mode = argc > 1 ? argv[1] : "filter";
	victim_init();
	printf("mode %s\n", mode);	/* its buffer is there from now on */
	atomic_store(&asked, argc > 2);
	if (pthread_create(&thread, NULL, work, NULL) != 0)
		return 99;
	while (argc > 2 && !atomic_load(&confined))
		;
	victim_ready();
	victim_serve(mark);
	pthread_join(thread, NULL);
	return victim_end(atomic_load(&confined) && !atomic_load(&wrong));
}
