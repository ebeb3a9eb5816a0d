/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Two moments in which a process is not yet, or no more, the program that it
 * seems. Its dynamic loader is still setting it up: libc is mapped, but knows
 * nothing of threads, and nothing may be loaded. And a thread that is waited
 * for execs: its number is nobody's then, the process is ours without having
 * been seized, and must be let go all the same.
 *
 * hazard: STARTING EXEC_SEIZED
 */
#include <fcntl.h>
#include <pthread.h>
#include <sys/ptrace.h>
#include <sys/user.h>

#include "control-test.h"
#include "inject.h"
#include "inject-victim.h"

enum { EXECS = 150, MUCH = 120 * 1024 };

struct shared {
	struct victim_page at;
	volatile unsigned execs;
	char number[16];
};

static struct shared *shared;

/* ---- a program that is being set up -------------------------------------- */

static bool
maps_libc(pid_t pid)
{
	char path[64], *text;
	bool found;

	(void)snprintf(path, sizeof path, "/proc/%d/maps", (int)pid);
	text = file_read(path, NULL);
	found = text && strstr(text, "/libc.so.6");
	free(text);
	return found;
}

/* At each system call of its start, from libc's mapping to its own first one,
 * which is the first of those that libc makes for itself. */
static void
check_start(void)
{
	unsigned refused = 0;
	int status;
	const pid_t pid = fork();

	if (pid == 0) {
		if (ptrace(PTRACE_TRACEME, 0, 0, 0) < 0)
			_exit(99);
		execl("/bin/true", "true", (char *)NULL);
		_exit(99);
	}
	check(waitpid(pid, &status, 0) == pid && WIFSTOPPED(status), "exec");

	struct target *t = target_open(pid);

	check(t != NULL, "open");
	while (t && WIFSTOPPED(status)) {
		struct user_regs_struct regs;

		if (ptrace(PTRACE_GETREGS, pid, 0, &regs) < 0 ||
		    regs.orig_rax == SYS_prlimit64)
			break;
		if (maps_libc(pid) && regs.orig_rax != SYS_mmap) {
			char *libc;

			check(inject_possible(t, &libc) < 0,
			      "call %lld of its start",
			      (long long)regs.orig_rax);
			check(!libc, "no libc is told then");
			check(strstr(fail_last()->reason, "loader") != NULL,
			      "for that reason");
			refused++;
			fail_clear();
		}
		if (ptrace(PTRACE_SYSCALL, pid, 0, 0) < 0 ||
		    waitpid(pid, &status, 0) != pid)
			break;
	}
	printf("%u refusals while it was being set up\n", refused);
	check(refused > 0, "libc was met before it worked");
	target_close(t);
	if (WIFSTOPPED(status))
		(void)ptrace(PTRACE_DETACH, pid, 0, 0);
	check(ended_well(pid), "its end");
}

/* ---- a thread that becomes a program ------------------------------------- */

/* With much to copy, so that it is in the midst of it for a while. */
static void *
become_another(void *arg)
{
	static char text[MUCH];
	char *const much[] = { text, text, text, text, text, text, text, text,
			       text, text, text, text, NULL };
	char *const argv[] = { (char *)"victim", (char *)"execs",
			       shared->number, NULL };

	memset(text, '=', sizeof text - 1);
	shared->execs++;
	execve("/proc/self/exe", argv, much);
	return arg;
}

static int
run_program(const char *page)
{
	const int keep = dup(atoi(page));
	pthread_t thread;

	(void)prctl(PR_SET_PDEATHSIG, SIGKILL);
	shared = victim_page_of(page);
	(void)snprintf(shared->number, sizeof shared->number, "%d", keep);
	shared->at.ready = 1;
	if (shared->at.stop)
		return 0;
	pthread_create(&thread, NULL, become_another, NULL);
	pthread_join(thread, NULL);
	return 1;
}

/* Any thread but the leader, which only waits for it. */
static void
touch(struct target *t, unsigned *caught)
{
	pid_t *tids = NULL;
	size_t cap = 0;
	const ssize_t n = target_threads(t, &tids, &cap);

	for (ssize_t i = 0; i < n; i++) {
		struct held h;

		if (tids[i] == target_pid(t) ||
		    thread_catch(t, tids[i], 20 * (uint64_t)MS, &h) < 0)
			continue;
		(*caught)++;
		(void)thread_release(t, &h);
	}
	fail_clear();
	free(tids);
}

struct going_on {
	struct target *target;
	unsigned before;
};

/* Who stopped too late is let go by the next look at events. */
static bool
execs_go_on(void *arg)
{
	const struct going_on *g = arg;
	struct event ev;

	while (target_next_event(g->target, &ev))
		;
	return shared->execs != g->before;
}

static void
check_execs(void)
{
	void *page = NULL;
	const pid_t pid = victim_start("execs", &page);
	struct target *t = pid > 0 ? target_open(pid) : NULL;
	struct going_on going = { t, 0 };
	unsigned caught = 0;

	shared = page;
	check(t != NULL, "open");
	if (!t)
		return;
	while (shared->execs < EXECS && !failures && !target_gone(t)) {
		going.before = shared->execs;
		touch(t, &caught);
		check(await(execs_go_on, &going), "it goes on");
	}
	printf("%u execs, %u threads caught\n", shared->execs, caught);
	shared->at.stop = 1;
	serve_to_end(t, pid);
	check(target_ended_well(t, pid), "its end");
	target_close(t);
}

static void
body(void)
{
	check_start();
	check_execs();
}

int
main(int argc, char **argv)
{
	if (argc == 3)
		return run_program(argv[2]);
	return run_as(false, body, 120);
}
