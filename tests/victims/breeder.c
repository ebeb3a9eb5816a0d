/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * breeder: at each mark it makes children: by fork, vfork, posix_spawn, by
 * clone with another exit signal, and by clone with its memory. Each calls
 * `work` (but the spawned one, /bin/true), as the parent does after each. It
 * says how many there were and how many ended otherwise than they should. It
 * uses both signals that a watch of sonde could use: breakpoints are traps.
 */
#include <sched.h>
#include <signal.h>
#include <spawn.h>
#include <stdlib.h>
#include <sys/syscall.h>
#include <sys/wait.h>

#include "victim.h"

enum { ANSWER = 7, STACK = 65536 };

static uint64_t children, wrong;
static _Atomic uint64_t foreign;

__attribute__((noinline)) static int
work(int x)
{
	__asm__ volatile("" ::: "memory");
	return x + 1;
}

static int
child(void *arg)
{
	(void)arg;
	_exit(work(ANSWER - 1));
}

static void
await(pid_t pid, int answer)
{
	int status = -1;

	children++;
	if (pid <= 0 || waitpid(pid, &status, __WALL) != pid ||
	    !WIFEXITED(status) || WEXITSTATUS(status) != answer)
		wrong++;
	wrong += work(1) != 2;
}

static void
mark(void)
{
	static char name[] = "/bin/true";
	static char stack[STACK] __attribute__((aligned(16)));
	char *argv[] = { name, NULL };
	pid_t pid = fork();

	if (pid == 0)
		child(NULL);
	await(pid, ANSWER);
	pid = vfork();
	if (pid == 0)
		_exit(work(ANSWER - 1));
	await(pid, ANSWER);
	if (posix_spawn(&pid, name, NULL, NULL, argv, NULL) != 0)
		pid = -1;
	await(pid, 0);
	pid = (pid_t)syscall(SYS_clone, SIGUSR1, NULL, NULL, NULL, NULL);
	if (pid == 0)
		child(NULL);
	await(pid, ANSWER);
	await(clone(child, stack + STACK, CLONE_VM, NULL), ANSWER);
	victim_say("children", children);
	victim_say("wrong", wrong);
	victim_say("foreign", atomic_load(&foreign));
}

static void
on_signal(int signal)
{
	(void)signal;
	atomic_fetch_add(&foreign, 1);
}

int
main(void)
{
	const struct sigaction sa = { .sa_handler = on_signal };

	victim_init();
	sigaction(SIGURG, &sa, NULL);
	sigaction(SIGWINCH, &sa, NULL);
	(void)signal(SIGUSR1, SIG_IGN);
	victim_ready();
	victim_serve(mark);
	return victim_end(true);
}
