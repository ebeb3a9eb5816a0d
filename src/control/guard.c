/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * The guardian: a process that does nothing until the tracer process is
 * killed, and then takes our traps out of the target's text, and lets a thread
 * that works for us be scheduled as before.
 *
 * What is in the text is noted in a page that both share, before it is
 * written and until after it is taken out: at whatever instruction we die,
 * the note is true or says too much, and a place that holds no trap is left
 * alone. /proc/PID/mem needs no tracer and is opened beforehand; over an exec
 * it stays with the old image, so nobody else's text is ever written.
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
 *
 * There are two locks, so that one of them is ours at any time:
 *
 *	tracer		holds A		locks B, gives A	holds B ...
 *	guardian	waits for A	has A: an errand	waits for B ...
 *
 * Getting one is an errand; getting it as its dead owner's heir is the alarm.
 */
#include "hazard.h"
#include "private.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

enum {
	NOTES_MAX = 1024,
	ERRAND_LIMIT_MS = 1000,
	ERRAND_TRIES = 5,	/* of one that has not been stopped: on a busy
				 * machine one was too few */
	LOOK_S = 2,
	ERRAND_NAP_NS = 20 * NS_PER_US,
	GUARDS_MAX = 64,
};

struct guard_page {
	pthread_mutex_t turn[2];
	enum errand { ERRAND_WATCH, ERRAND_END } errand;
	pid_t tracer;
	pid_t pid, tid;			/* ERRAND_WATCH: whose memory */
	int error;			/* of that: errno or 0 */
	_Atomic unsigned done;		/* errands */
	_Atomic pid_t scheduled;	/* a thread that is not as before; 0 */
	struct schedule schedule;	/* how it was */
	_Atomic size_t planted;		/* notes that count */
	struct trap_text notes[NOTES_MAX];
};

/* Each for one target at a time; the first is started early, the others when
 * there are more targets with traps. */
static struct guard {
	struct guard_page *page;
	pid_t pid;			/* 0: it has ended */
	int mine;			/* the turn that we hold */
	unsigned errands;
	const struct target *watched;
} guards[GUARDS_MAX];
static size_t guard_count;

/* ---- in the guardian ---------------------------------------------------- */

/* And write it once, with what is there: what is touched for the first
 * time, here and in the kernel, costs as much as all the rest. */
static int
open_memory(struct guard_page *page)
{
	char path[64];
	int mem;

	(void)snprintf(path, sizeof path, "/proc/%d/task/%d/mem",
		       (int)page->pid, (int)page->tid);
	mem = open(path, O_RDWR | O_CLOEXEC);
	page->error = mem < 0 ? errno : 0;
	if (mem >= 0)
		(void)trap_swap(mem, &page->notes[0], TRAP_TRY);
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
	}
}

static void __attribute__((noreturn))
stand_guard(struct guard_page *page)
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

/* ---- in the tracer ------------------------------------------------------ */

static int
init_locks(struct guard_page *page)
{
	pthread_mutexattr_t attr;
	int r = pthread_mutexattr_init(&attr);

	if (r == 0)
		r = pthread_mutexattr_setpshared(&attr,
						 PTHREAD_PROCESS_SHARED);
	if (r == 0)
		r = pthread_mutexattr_setrobust(&attr, PTHREAD_MUTEX_ROBUST);
	for (int i = 0; i < 2 && r == 0; i++)
		r = pthread_mutex_init(&page->turn[i], &attr);
	if (r == 0)
		r = pthread_mutex_lock(&page->turn[0]);
	errno = r;
	return r ? -1 : 0;
}

int
guard_start(void)
{
	struct guard_page *page;

	if (guard_count == GUARDS_MAX)
		return fail(FAIL_GENERAL, "there are %d guardians already",
			    GUARDS_MAX);
	page = mmap(NULL, sizeof *page, PROT_READ | PROT_WRITE,
		    MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	if (page == MAP_FAILED)
		return fail_errno("map the guardian's page");
	if (init_locks(page) < 0) {
		munmap(page, sizeof *page);
		return fail_errno("make the guardian's locks");
	}

	page->tracer = getpid();

	const pid_t pid = fork();

	if (pid == 0)
		stand_guard(page);
	guards[guard_count++] = (struct guard){
		.page = page, .pid = pid > 0 ? pid : 0,
	};
	return pid < 0 ? fail_errno("fork the guardian") : 0;
}

static bool
guardian_ended(struct guard *g)
{
	if (g->pid && waitpid(g->pid, NULL, WNOHANG | WAIT_FLAGS) != 0)
		g->pid = 0;
	return !g->pid;
}

/* One that waits for a processor is waited for, though the target stands; one
 * that was stopped is not. */
static bool
is_late(struct guard *g, int tried)
{
	return tried < ERRAND_TRIES && !guardian_ended(g) &&
		!strchr("Tt", thread_state(g->pid, g->pid));
}

static bool
take_turn(struct guard *g)
{
	struct timespec limit;

	clock_gettime(CLOCK_MONOTONIC, &limit);
	for (int tried = 1; ; tried++) {
		limit.tv_sec += ERRAND_LIMIT_MS / 1000;
		if (pthread_mutex_clocklock(&g->page->turn[!g->mine],
					    CLOCK_MONOTONIC, &limit) == 0)
			return true;
		if (!is_late(g, tried))
			return false;
	}
}

/* Give the turn away. false: it is not there to take it. */
static bool
send_errand(struct guard *g, enum errand errand)
{
	if (guardian_ended(g))
		return false;
	g->page->errand = errand;
	if (!take_turn(g))
		return false;
	(void)pthread_mutex_unlock(&g->page->turn[g->mine]);
	g->mine = !g->mine;
	g->errands++;
	return true;
}

static bool
errand_done(struct guard *g)
{
	const struct timespec nap = { .tv_nsec = ERRAND_NAP_NS };
	uint64_t deadline = deadline_in_ms(ERRAND_LIMIT_MS);
	int tried = 1;

	while (atomic_load(&g->page->done) != g->errands) {
		if (guardian_ended(g))
			return false;
		if (now_ns() > deadline) {
			if (!is_late(g, tried++))
				return false;
			deadline = deadline_in_ms(ERRAND_LIMIT_MS);
		}
		(void)nanosleep(&nap, NULL);
	}
	return true;
}

/* NULL: none. */
static struct guard *
guard_of(const struct target *t)
{
	for (size_t i = 0; i < guard_count; i++)
		if (guards[i].watched == t)
			return &guards[i];
	return NULL;
}

/* One that has nothing to take out. NULL: there can be none more. */
static struct guard *
idle_guard(void)
{
	for (size_t i = 0; i < guard_count; i++)
		if (!guards[i].watched || !guards[i].watched->traps)
			return &guards[i];
	return guard_start() < 0 ? NULL : &guards[guard_count - 1];
}

int
guard_watch(struct target *t, const struct trap_text *text)
{
	struct guard *g = guard_of(t);
	struct guard_page *page;

	if (!guard_count || g)
		return 0;
	g = idle_guard();
	if (!g)
		return -1;
	page = g->page;
	g->watched = NULL;
	page->pid = t->pid;
	page->tid = target_live_thread(t);
	if (page->tid < 0)
		return -1;
	page->notes[0] = *text;
	if (!send_errand(g, ERRAND_WATCH) || !errand_done(g)) {
		fail(FAIL_GENERAL, "the guardian process does not answer: "
		     "nobody would take the traps out of process %d should "
		     "we be killed", (int)t->pid);
		return fail_remedy("detach, and attach %d again",
				   (int)t->pid);
	}
	errno = page->error;
	if (page->error)
		return fail_errno("guardian: open the memory of process %d",
				  (int)t->pid);
	g->watched = t;
	return 0;
}

int
guard_note(const struct target *t, const struct trap_text *text)
{
	struct guard *g = guard_of(t);
	struct guard_page *page = g ? g->page : NULL;
	const size_t n = page ? atomic_load(&page->planted) : 0;

	if (!page)
		return 0;
	for (size_t i = 0; i < n; i++)
		if (memcmp(&page->notes[i], text, sizeof *text) == 0)
			return 0;	/* kept for a copy */
	if (n == NOTES_MAX)
		return fail(FAIL_GENERAL, "more than %d breakpoints",
			    NOTES_MAX);
	page->notes[n] = *text;
	atomic_store(&page->planted, n + 1);
	return 0;
}

void
guard_clear(const struct target *t)
{
	const struct guard *g = guard_of(t);

	if (g)
		atomic_store(&g->page->planted, 0);
}

/* Nobody works for us in two targets at a time. */
void
guard_schedule(pid_t tid, const struct schedule *before)
{
	struct guard_page *page = guards[0].page;

	if (!page)
		return;
	atomic_store(&page->scheduled, 0);
	if (!tid)
		return;
	page->schedule = *before;
	atomic_store(&page->scheduled, tid);
}

void
guard_forget(const struct target *t)
{
	struct guard *g = guard_of(t);

	guard_clear(t);
	if (g)
		g->watched = NULL;
}

static void
end_guardian(struct guard *g)
{
	int status;

	/* One that was stopped ends when it goes on. One that is late finds
	 * the lock that we hold at our end: its page stays. */
	if (!send_errand(g, ERRAND_END) ||
	    wait_status(g->pid, deadline_in_ms(ERRAND_LIMIT_MS), &status) != 1)
		return;
	/* else it stays in the list of those that we hold, which the next one
	 * writes to */
	(void)pthread_mutex_unlock(&g->page->turn[g->mine]);
	munmap(g->page, sizeof *g->page);
}

void
guard_end(void)
{
	while (guard_count)
		end_guardian(&guards[--guard_count]);
	guards[0] = (struct guard){ 0 };
}
