/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * The number of a thread that a borrowed one has made must not become the
 * number of its next system call: the kernel writes it into rax when the clone
 * is left, after we set the registers at the clone's event. In a pid namespace
 * of their own new threads get numbers that would do harm: 60 and 231 end
 * the program, 335 kills it, 39 gives another answer than was asked for.
 * injection.md 2: not in its table; HAZARD_HELPER_NUMBER
 */
#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/ptrace.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "../../src/inject/private.h"
#include "inject-victim.h"

enum {
	ROUNDS = 2, SKIPPED = 77, LIMIT_S = 60,
	SHARED = CLONE_VM | CLONE_FS | CLONE_FILES | CLONE_SIGHAND |
		CLONE_THREAD | CLONE_SYSVSEM,
};
#define LONG_NS	UINT64_C(5000000000)

static const pid_t numbers[] = { 60, 231, 335, 39, 186, 34 };

static int
run_victim(const char *page)
{
	struct victim_page *shared = victim_page_of(page);

	alarm(LIMIT_S);
	shared->ready = 1;
	while (!shared->stop)
		usleep(20000);
	return 0;
}

/* The namespace's first process: it sets the next number when asked. */
static void
serve_numbers(int asked, int answer)
{
	pid_t next;

	while (read(asked, &next, sizeof next) == (ssize_t)sizeof next) {
		const int fd = open("/proc/sys/kernel/ns_last_pid", O_WRONLY);
		const bool ok = fd >= 0 && dprintf(fd, "%d", next - 1) > 0;

		close(fd);
		if (write(answer, ok ? "y" : "n", 1) != 1)
			break;
	}
	_exit(0);
}

/* The new thread stands at its birth: it ends there. */
static void
end_child(const struct plan *p, pid_t child)
{
	struct user_regs_struct r;
	struct event ev;

	if (thread_wait(child, LONG_NS, &ev) < 0 ||
	    thread_get_regs(child, &r) < 0)
		return;
	r.rip = p->gadget;
	r.rax = SYS_exit;
	r.orig_rax = UINT64_MAX;
	r.rdi = 0;
	if (thread_set_regs(child, &r) == 0 &&
	    thread_resume(child, RUN_FREE, 0) == 0)
		while (thread_wait(child, LONG_NS, &ev) == 0)
			(void)thread_resume(child, RUN_FREE, 0);
}

/* A clone and the next call, by one borrowed thread. true: all is well. */
static bool
clone_and_ask(struct plan *p, pid_t number, pid_t inner)
{
	static const uint64_t create[6] = { SHARED }, nothing[6];
	struct inject_report report = { 0 };
	struct borrow *b = xcalloc(1, sizeof *b);
	int64_t result = -1, told = -1;
	pid_t child = 0;
	bool ok = false;

	if (donor_take(p, 0, b, &report) == 0) {
		ok = borrow_syscall(b, SYS_clone, create, &result,
				    &child) == 0 && child &&
			borrow_syscall(b, SYS_gettid, nothing, &told,
				       NULL) == 0;
		if (child && thread_inner_tid(p->t, child) != number)
			printf("the thread is %d, not %d\n", (int)
			       thread_inner_tid(p->t, child), (int)number);
		if (child)
			end_child(p, child);
		if (borrow_return(b, &report) < 0)
			ok = false;
	}
	free(b);
	if (ok && told == inner)
		return true;
	printf("FAIL: number %d: gettid said %lld, not %d (%s)\n",
	       (int)number, (long long)told, (int)inner, fail_last()->reason);
	return false;
}

static bool
ask_for(pid_t number, int ask, int answer)
{
	char said = 'n';

	return write(ask, &number, sizeof number) == (ssize_t)sizeof number &&
		read(answer, &said, 1) == 1 && said == 'y';
}

static int
try_numbers(struct target *t, int ask, int answer)
{
	const pid_t inner = thread_inner_tid(t, target_pid(t));
	int wrong = 0;

	for (size_t i = 0; i < ROUNDS * ARRAY_LEN(numbers); i++) {
		const pid_t number = numbers[i % ARRAY_LEN(numbers)];
		struct plan p;

		if (plan_make(t, &p) < 0)
			return printf("FAIL: %s\n", fail_last()->reason), 1;
		p.single = false;	/* nothing of libc is called */
		if (!ask_for(number, ask, answer)) {
			plan_fini(&p);
			printf("ns_last_pid cannot be written\n");
			return SKIPPED;
		}
		wrong += !clone_and_ask(&p, number, inner);
		plan_fini(&p);
	}
	return wrong ? 1 : 0;
}

int
main(int argc, char **argv)
{
	struct victim_page *shared;
	int ask[2], answer[2], status = -1, r;
	pid_t pid;

	if (argc == 3)
		return run_victim(argv[2]);
	if (unshare(CLONE_NEWPID) < 0 || pipe(ask) < 0 || pipe(answer) < 0) {
		printf("no pid namespace of our own: %m\n");
		return SKIPPED;
	}
	alarm(LIMIT_S);
	if (fork() == 0) {
		close(ask[1]);
		close(answer[0]);
		serve_numbers(ask[0], answer[1]);
	}
	close(answer[1]);
	pid = victim_start("sleep", (void **)&shared);

	struct target *t = pid > 0 ? target_open(pid) : NULL;

	if (!t)
		return printf("no victim\n"), 99;
	r = try_numbers(t, ask[1], answer[0]);
	shared->stop = 1;
	target_close(t);
	waitpid(pid, &status, 0);
	if (status && r != SKIPPED)
		r = printf("FAIL: the victim's status is %#x\n", status) > 0;
	close(ask[1]);
	/* its end ends our reader of pages, which is in the namespace too */
	while (waitpid(-1, NULL, __WALL) > 0)
		;
	(void)fflush(stdout);
	/* a leak checker would start a thread, which the namespace forbids */
	_exit(r);
}
