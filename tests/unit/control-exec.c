/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * One thread of a program is ours; the first execs, which kills ours and waits
 * until we have reaped it; we are about to seize the first, which waits for
 * the exec. Neither may wait for the other for ever: the program becomes the
 * other one, and lives.
 *
 * hazard: EXEC_WAITS
 */
#include <pthread.h>
#include <sys/ptrace.h>

#include <linux/ptrace.h>

#include "control-test.h"
#include "inject-victim.h"

enum { TIMES = 3, GIVE_UP_S = 20 };

struct shared {
	struct victim_page at;
	volatile pid_t sleeper;
	volatile int exec, execed;
	char number[16];
};

static struct shared *shared;

static void *
sleeper(void *arg)
{
	shared->sleeper = (pid_t)syscall(SYS_gettid);
	for (;;)
		(void)pause();
	return arg;
}

static int
run_program(const char *how, const char *page)
{
	const int keep = dup(atoi(page));
	pthread_t th;

	shared = victim_page_of(page);
	if (strcmp(how, "other") == 0) {
		shared->execed = 1;
		while (!shared->at.stop)
			usleep(1000);
		_exit(0);
	}
	(void)snprintf(shared->number, sizeof shared->number, "%d", keep);
	pthread_create(&th, NULL, sleeper, NULL);
	while (!shared->sleeper)
		usleep(1000);
	shared->at.ready = 1;
	while (!shared->exec)
		usleep(1000);
	execl("/proc/self/exe", "victim", "other", shared->number,
	      (char *)NULL);
	_exit(98);
}

static bool
is_dead(pid_t pid, pid_t tid)
{
	char path[64], *text;
	bool dead;

	(void)snprintf(path, sizeof path, "/proc/%d/task/%d/status", (int)pid,
		       (int)tid);
	text = file_read(path, NULL);
	dead = !text || strstr(text, "State:\tZ");
	free(text);
	return dead;
}

/* Ends with 0: the first thread could be held, or was another program's. */
static void
visit(pid_t pid)
{
	struct target *t = target_open(pid);
	struct held ours, first;

	if (!t || thread_hold(t, shared->sleeper, 0, SECOND_MS * (uint64_t)MS,
			      &ours) < 0 ||
	    ptrace(PTRACE_TRACEME, 0, 0, 0) < 0)
		_exit(3);
	(void)raise(SIGSTOP);
	if (thread_hold(t, pid, 0, SECOND_MS * (uint64_t)MS, &first) == 0)
		(void)thread_release(t, &first);
	(void)thread_release(t, &ours);
	target_close(t);
	_exit(0);
}

static bool
is_about_to_seize(pid_t visitor, pid_t pid)
{
	struct __ptrace_syscall_info info;

	return ptrace(PTRACE_GET_SYSCALL_INFO, visitor, sizeof info,
		      &info) > 0 &&
		info.op == PTRACE_SYSCALL_INFO_ENTRY &&
		info.entry.nr == SYS_ptrace &&
		info.entry.args[0] == PTRACE_SEIZE &&
		info.entry.args[1] == (unsigned)pid;
}

/* The visitor stands, about to seize the first thread, until that has begun
 * to exec. */
static void
exec_at_seizure(pid_t visitor, pid_t pid)
{
	int status;

	while (waitpid(visitor, &status, 0) == visitor && WIFSTOPPED(status) &&
	       !is_about_to_seize(visitor, pid))
		if (ptrace(PTRACE_SETOPTIONS, visitor, 0,
			   PTRACE_O_TRACESYSGOOD) < 0 ||
		    ptrace(PTRACE_SYSCALL, visitor, 0, 0) < 0)
			abort();
	check(WIFSTOPPED(status), "it seizes nothing");
	shared->exec = 1;
	while (WIFSTOPPED(status) && !is_dead(pid, shared->sleeper))
		usleep(1000);
	(void)ptrace(PTRACE_DETACH, visitor, 0, 0);
	(void)waitpid(visitor, &status, 0);
	check(status == 0, "the visitor ended with %#x", (unsigned)status);
}

static void
once(void)
{
	int status = -1;
	const pid_t pid = victim_start("victim", (void **)&shared);
	pid_t visitor;

	if (pid < 0) {
		check(false, "no victim");
		return;
	}
	(void)fflush(stdout);
	visitor = fork();
	if (visitor == 0)
		visit(pid);
	exec_at_seizure(visitor, pid);
	while (!shared->execed && kill(pid, 0) == 0)
		usleep(1000);
	shared->at.stop = 1;
	(void)waitpid(pid, &status, 0);
	check(status == 0, "the program ended with %#x", (unsigned)status);
}

int
main(int argc, char **argv)
{
	if (argc == 3)
		return run_program(argv[1], argv[2]);
	(void)alarm(GIVE_UP_S);
	for (int i = 0; i < TIMES && !failures; i++)
		once();
	return failures != 0;
}
