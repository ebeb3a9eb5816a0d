/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * The guardian: a process that does nothing until the tracer process is
 * killed, and then takes our traps out of the target's text, and lets a thread
 * that works for us be scheduled as before (guardian.c). Here is what the tracer
 * has to do with it.
 *
 * What is in the text is noted in a page that both share, before it is
 * written and until after it is taken out: at whatever instruction we die,
 * the note is true or says too much, and a place that holds no trap is left
 * alone. /proc/PID/mem needs no tracer and is opened beforehand; over an exec
 * it stays with the old image, so nobody else's text is ever written.
 *
 * There are two locks, so that one of them is ours at any time:
 *
 *	tracer		holds A		locks B, gives A	holds B ...
 *	guardian	waits for A	has A: an errand	waits for B ...
 *
 * Getting one is an errand; getting it as its dead owner's heir is the alarm.
 *
 * One that is killed alone is replaced at once: its notes are taken over.
 */
#include "guardian.h"
#include "private.h"

#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <string.h>
#include <sys/mman.h>
#include <time.h>
#include <unistd.h>

enum {
	ERRAND_LIMIT_MS = 1000,
	ERRAND_TRIES = 5,	/* of one that has not been stopped: on a busy
				 * machine one was too few */
	ERRAND_NAP_NS = 20 * NS_PER_US,
	GUARDS_MAX = 64,
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

/* Of this process, for all its guardians. It stays mapped: some thread may be
 * in the midst of a read whenever a guardian's page goes. */
static struct page_watch *reads;

static int
watch_reads(void)
{
	if (reads)
		return 0;
	reads = mmap(NULL, sizeof *reads, PROT_READ | PROT_WRITE,
		     MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	if (reads == MAP_FAILED) {
		reads = NULL;
		return fail_errno("map what the guardian watches");
	}
	pages_watched(reads);
	return 0;
}

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
	if (watch_reads() < 0)
		return -1;
	page = mmap(NULL, sizeof *page, PROT_READ | PROT_WRITE,
		    MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	if (page == MAP_FAILED)
		return fail_errno("map the guardian's page");
	if (init_locks(page) < 0) {
		munmap(page, sizeof *page);
		return fail_errno("make the guardian's locks");
	}

	page->tracer = getpid();
	page->reads = reads;

	const pid_t pid = fork();

	if (pid == 0)
		guardian_stand(page);
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

static void
give_up_page(struct guard *g)
{
	/* else it stays in the list of those that we hold, which the next one
	 * writes to */
	(void)pthread_mutex_unlock(&g->page->turn[g->mine]);
	munmap(g->page, sizeof *g->page);
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
	pthread_mutex_t *turn = &g->page->turn[!g->mine];
	struct timespec limit;

	clock_gettime(CLOCK_MONOTONIC, &limit);
	for (int tried = 1; ; tried++) {
		limit.tv_sec += ERRAND_LIMIT_MS / 1000;

		const int r = pthread_mutex_clocklock(turn, CLOCK_MONOTONIC,
						      &limit);

		if (r == 0)
			return true;
		/* killed just now, it leaves the lock to us: its page goes */
		if (r == EOWNERDEAD)
			(void)pthread_mutex_unlock(turn);
		if (r == EOWNERDEAD || !is_late(g, tried))
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

/* One that lives and has nothing to take out. NULL: there can be none more. */
static struct guard *
idle_guard(void)
{
	for (size_t i = 0; i < guard_count; i++)
		if ((!guards[i].watched || !guards[i].watched->traps) &&
		    !guardian_ended(&guards[i]))
			return &guards[i];
	return guard_start() < 0 ? NULL : &guards[guard_count - 1];
}

static int
begin_refused(pid_t pid)
{
	const bool may_not_write = errno == EIO;

	(void)fail_errno("guardian: open the memory of process %d, and write "
			 "to its text", (int)pid);
	return may_not_write ?
		fail_remedy("start this kernel with "
			    "proc_mem.force_override=always, or remove what "
			    "makes this breakpoint a trap (doctor -p %d)",
			    (int)pid) : -1;
}

/* It opens the memory of page->pid, and tries the first note there. */
static int
begin_watch(struct guard *g)
{
	const pid_t pid = g->page->pid;

	if (!send_errand(g, ERRAND_WATCH) || !errand_done(g)) {
		fail(FAIL_GENERAL, "the guardian process does not answer: "
		     "nobody would take the traps out of process %d should "
		     "we be killed", (int)pid);
		return fail_remedy("detach, and attach %d again", (int)pid);
	}
	errno = g->page->error;
	if (g->page->error)
		return begin_refused(pid);
	return 0;
}

/* The new one stands in the old one's place, and knows what it knew. -1: nobody
 * does; the next trap is tried with another. */
static int
replace(struct guard *g, struct target *t)
{
	struct guard_page *old = g->page, *page;
	struct guard before = *g;
	const pid_t tid = target_live_thread(t);

	if (tid < 0 || guard_start() < 0)
		return -1;
	*g = guards[--guard_count];
	page = g->page;
	page->pid = t->pid;
	page->tid = tid;
	memcpy(page->notes, old->notes, sizeof page->notes);
	page->schedule = old->schedule;
	atomic_store(&page->scheduled, atomic_load(&old->scheduled));
	atomic_store(&page->planted, atomic_load(&old->planted));
	give_up_page(&before);
	g->watched = t;
	if (begin_watch(g) == 0)
		return 0;
	guard_forget(t);
	return -1;
}

void
guard_look(struct target *t)
{
	struct guard *g = guard_of(t);

	if (g && g->pid && guardian_ended(g) && replace(g, t) < 0)
		fail_clear();	/* tried again, and told, with the next trap */
}

int
guard_watch(struct target *t, const struct trap_text *text)
{
	struct guard *g = guard_of(t);
	struct guard_page *page;

	if (!guard_count)
		return 0;
	if (g)
		return guardian_ended(g) ? replace(g, t) : 0;
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
	if (begin_watch(g) < 0)
		return -1;
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
	give_up_page(g);
}

void
guard_end(void)
{
	while (guard_count)
		end_guardian(&guards[--guard_count]);
	guards[0] = (struct guard){ 0 };
}
