/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * unready MODE SECONDS: a thread that works where a signal's handler finds
 * nothing as usual, beside one that is ordinary.
 *
 *	fs0 fs1		the base of %fs is 0, or leads nowhere
 *	dispatch	system calls are dispatched to the program itself
 *	filter		a seccomp filter ends the program for rt_sigreturn
 *	permits		a filter of the thread's own that permits all calls
 *
 * Ends with status 0 and "whole" when nothing came that it did not make.
 */
#include <pthread.h>
#include <signal.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include <linux/filter.h>
#include <linux/seccomp.h>

#define NOINLINE __attribute__((noinline))

enum { DISPATCH = 59, ROUND = 2000000 };

static const char *mode;
static double end;
static volatile char selector;
static volatile int strange;
static volatile uint64_t sum, own;

static double
now(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (double)t.tv_sec + (double)t.tv_nsec / 1e9;
}

__attribute__((noinline, no_stack_protector))
static void
guest_work(void)
{
	for (uint64_t i = 0; i < ROUND; i++)
		sum += (i * 7) ^ sum >> 3;
}

__attribute__((noinline, no_stack_protector))
static void
with_base(uint64_t base)
{
	uint64_t kept;

	__asm__ volatile("rdfsbase %0" : "=r"(kept));
	__asm__ volatile("wrfsbase %0" : : "r"(base));
	guest_work();
	__asm__ volatile("wrfsbase %0" : : "r"(kept));
}

static void
on_call(int signo)
{
	(void)signo;
	selector = 0;
	strange++;
}

static void
confine(uint32_t verdict)
{
	struct sock_filter code[] = {
		BPF_STMT(BPF_LD | BPF_W | BPF_ABS,
			 offsetof(struct seccomp_data, nr)),
		BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_rt_sigreturn, 0, 1),
		BPF_STMT(BPF_RET | BPF_K, verdict),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
	};
	struct sock_fprog program = { 4, code };

	if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) < 0 ||
	    syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER, 0, &program) < 0)
		exit(77);
}

static int
is(const char *name)
{
	return strcmp(mode, name) == 0;
}

static void *
work(void *arg)
{
	if (is("filter") || is("permits"))
		confine(is("filter") ? SECCOMP_RET_KILL_PROCESS :
			SECCOMP_RET_ALLOW);
	if (is("dispatch") && prctl(DISPATCH, 1, 0, 0, &selector) < 0)
		exit(77);
	while (now() < end) {
		selector = 1;
		if (is("fs0"))
			with_base(0);
		else if (is("fs1"))
			with_base(0x10);
		else
			guest_work();
		selector = 0;
	}
	return arg;
}

NOINLINE static void
ordinary_work(void)
{
	for (uint64_t i = 0; i < ROUND; i++)
		own = own * 7 + i;
}

static void *
be_ordinary(void *arg)
{
	while (now() < end)
		ordinary_work();
	return arg;
}

int
main(int argc, char **argv)
{
	struct sigaction action = { .sa_handler = on_call };
	pthread_t other, ordinary;

	if (argc < 3)
		return 99;
	mode = argv[1];
	end = now() + strtod(argv[2], NULL);
	if (is("dispatch"))
		sigaction(SIGSYS, &action, NULL);
	if (pthread_create(&other, NULL, work, NULL) != 0 ||
	    pthread_create(&ordinary, NULL, be_ordinary, NULL) != 0)
		return 99;
	printf("ready %d\n", (int)getpid());
	fflush(stdout);
	pthread_join(other, NULL);
	pthread_join(ordinary, NULL);
	printf("%s\n", strange ? "harmed" : "whole");
	return strange != 0;
}
