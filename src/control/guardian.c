/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * What the guardian process does (guard.c: what it is for).
 *
 * How it learns of our death is a matter of microseconds, for whoever hits a
 * trap that nobody takes is killed by SIGTRAP. In do_exit (kernel/exit.c, 6.18)
 * the locks of robust futexes are given up first, at the head of exit_mm
 * (exit_mm_release, futex_exit_release); then the memory goes, which may be
 * milliseconds' work; then descriptors (exit_files), which would be a pipe's
 * end of file; last the tracees (exit_notify, exit_ptrace), and only then a
 * pidfd is readable. So it waits for a robust lock of ours.
 *
 * A child that the target has just forked has copies of the traps, and stands
 * until we have taken them out: by exit_ptrace it would run with them.
 */
#include "guardian.h"
#include "hazard.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

enum { LOOK_S = 2, LOOKS_MAX = 3 };

/* And write it once, with what is there: what is touched for the first
 * time, here and in the kernel, costs as much as all the rest; and a kernel may
 * let nobody but the tracer write text (proc_mem.force_override=ptrace). */
static int
open_memory(struct guard_page *page)
{
	const struct trap_text *first = &page->notes[0];
	char path[64], byte;
	int mem;

	(void)snprintf(path, sizeof path, "/proc/%d/task/%d/mem",
		       (int)page->pid, (int)page->tid);
	mem = open(path, O_RDWR | O_CLOEXEC);
	page->error = mem < 0 ? errno : 0;
	/* its library may have been unloaded meanwhile */
	if (mem >= 0 && pread(mem, &byte, 1, (off_t)first->addr) == 1 &&
	    trap_swap(mem, first, TRAP_TRY) < 0)
		page->error = errno;
	return mem;
}

/*
 * Killed with the shell's group, or its session, it would be of no use; and
 * `pkill -9 sonde` is what one types when all is stuck: the name is not ours.
 */
static void
become_guardian(void)
{
	/* before the tracer, which may be on its way out at priority 1 */
	const struct sched_param first = { .sched_priority = 2 };
	sigset_t all;

	sigfillset(&all);
	sigprocmask(SIG_SETMASK, &all, NULL);
	(void)setsid();
	(void)prctl(PR_SET_NAME, "text-guardian");
	/* where permitted; the tracer's own priority is inherited */
	(void)sched_setscheduler(0, SCHED_FIFO | SCHED_RESET_ON_FORK, &first);
	(void)close_range(0, ~0u, 0);
	(void)!chdir("/");
}

static void
take_out(const struct guard_page *page, int mem, size_t n)
{
	for (size_t i = 0; i < n; i++)
		(void)trap_swap(mem, &page->notes[i], TRAP_OUT);
}

static void
take_out_of_children(const struct guard_page *page, const char *tid, size_t n)
{
	char path[64];
	FILE *list;
	int child;

	(void)snprintf(path, sizeof path, "/proc/%d/task/%.16s/children",
		       (int)page->pid, tid);
	list = fopen(path, "re");
	while (list && fscanf(list, "%d", &child) == 1) {
		(void)snprintf(path, sizeof path, "/proc/%d/mem", child);

		const int mem = open(path, O_RDWR | O_CLOEXEC);

		take_out(page, mem, n);
		if (mem >= 0)
			close(mem);
	}
	if (list)
		(void)fclose(list);
}

static void
take_out_of_copies(const struct guard_page *page, size_t n)
{
	const struct dirent *entry;
	char path[64];
	DIR *threads;

	(void)snprintf(path, sizeof path, "/proc/%d/task", (int)page->pid);
	threads = n ? opendir(path) : NULL;
	while (threads && (entry = readdir(threads)))
		if (entry->d_name[0] != '.')
			take_out_of_children(page, entry->d_name, n);
}

static void __attribute__((noreturn))
heir(struct guard_page *page, int mem)
{
	const size_t n = atomic_load(&page->planted);
	const pid_t tid = atomic_load(&page->scheduled);

	take_out(page, mem, n);
	take_out_of_copies(page, n);
	if (tid && handled(HAZARD_SCHEDULE))
		(void)syscall(SYS_sched_setattr, tid, &page->schedule, 0);
	_exit(0);
}

/*
 * The tracer waits for a page that nobody serves: it was there a moment before
 * (pages.c), so only a hostile process, or luck, gets so far. No signal but
 * SIGKILL ends that wait, and a thread of the target may stand.
 */
static void
end_endless_read(const struct guard_page *page)
{
	static unsigned begun, looks;
	const unsigned now = atomic_load(&page->reads->begun);
	const pid_t tid = atomic_load(&page->reads->reader);

	looks = tid && now == begun && thread_state(page->tracer, tid) == 'D' ?
		looks + 1 : 0;
	begun = now;
	if (looks >= LOOKS_MAX && getppid() == page->tracer)
		(void)kill(page->tracer, SIGKILL);
}

/* Robust locks are only as good as their owner's memory: now and then it sees
 * for itself whether there is anybody to guard for. */
static int
await_turn(struct guard_page *page, int turn)
{
	for (;;) {
		struct timespec limit;

		clock_gettime(CLOCK_MONOTONIC, &limit);
		limit.tv_sec += LOOK_S;

		const int r = pthread_mutex_clocklock(&page->turn[turn],
						      CLOCK_MONOTONIC, &limit);

		if (r != ETIMEDOUT)
			return r;
		if (getppid() != page->tracer)
			return EOWNERDEAD;
		end_endless_read(page);
	}
}

void
guardian_stand(struct guard_page *page)
{
	int mem = -1;

	become_guardian();
	for (int turn = 0;; turn = !turn) {
		const int r = await_turn(page, turn);

		if (r == EOWNERDEAD)
			heir(page, mem);
		if (r || page->errand == ERRAND_END)
			_exit(r != 0);
		if (mem >= 0)
			close(mem);
		mem = open_memory(page);
		atomic_fetch_add(&page->done, 1);
		(void)pthread_mutex_unlock(&page->turn[turn]);
	}
}
