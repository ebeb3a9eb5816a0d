/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Every call of a function that has a breakpoint is seen once and only once,
 * by one thread and by four at once, while signals rain, with holds thrown in
 * at any moment; forked and vforked children run through it unharmed; and
 * afterwards the text is what it was. All that with breakpoints of the
 * processor, and with traps, for a program that uses the signals of those. So
 * it is when no descriptor is free at the end.
 * mission: X2
 */
#include "control-test.h"

#include <pthread.h>
#include <sched.h>
#include <sys/resource.h>
#include <sys/time.h>
#include <sys/user.h>

enum { CALLS = 500, THREADS_MAX = 4, TEXT_BYTES = 16 };

struct shared {
	_Atomic int ready, go, wrong;
	_Atomic uint64_t ticks;
	_Atomic int children;
	int threads;
	bool forks, traps;
};

static struct shared *sh;
static uint64_t calls[THREADS_MAX];

static void
called(uint64_t *count)
{
	++*count;
}

/* So that every call is made, and to that very function. */
static void (*volatile call)(uint64_t *count) = called;

static void
on_tick(int signal)
{
	(void)signal;
	sh->ticks++;
}

static int
vforked(void *arg)
{
	(void)arg;

	uint64_t own = 0;

	call(&own);
	_exit(own == 1 ? 5 : 6);
}

/* clone(2) as vfork(2): a C function must not return from vfork. */
static pid_t
vfork_call(void)
{
	static char stack[THREADS_MAX][64 * 1024]
		__attribute__((aligned(16)));

	return clone(vforked, stack[0] + sizeof stack[0],
		     CLONE_VM | CLONE_VFORK | SIGCHLD, NULL);
}

static void
have_child(bool vfork)
{
	const pid_t pid = vfork ? vfork_call() : fork();

	if (pid == 0)
		(void)vforked(NULL);
	if (pid < 0 || WEXITSTATUS(status_of(pid)) != 5)
		sh->wrong++;
	sh->children++;
}

static void *
caller(void *arg)
{
	const int me = (int)(intptr_t)arg;

	sh->ready++;
	while (!sh->go)
		rest_ms(1);
	for (int i = 0; i < CALLS; i++) {
		call(&calls[me]);
		if (sh->forks && i % 50 == 7)
			have_child(i % 100 == 7);
	}
	if (calls[me] != CALLS)
		sh->wrong++;
	return NULL;
}

static void
victim(void *arg)
{
	const struct itimerval often = { { 0, 500 }, { 0, 500 } };
	struct sigaction sa = { .sa_handler = on_tick,
				.sa_flags = SA_RESTART };
	pthread_t th[THREADS_MAX];

	(void)arg;
	sigaction(SIGALRM, &sa, NULL);
	if (sh->traps) {
		sigaction(SIGURG, &sa, NULL);
		sigaction(SIGWINCH, &sa, NULL);
	}
	setitimer(ITIMER_REAL, &often, NULL);
	for (int i = 1; i < sh->threads; i++)
		if (pthread_create(&th[i], NULL, caller,
				   (void *)(intptr_t)i))
			_exit(2);
	(void)caller((void *)(intptr_t)0);
	for (int i = 1; i < sh->threads; i++)
		(void)pthread_join(th[i], NULL);
	_exit(sh->wrong ? 1 : 0);
}

static bool
ready(void *arg)
{
	(void)arg;
	return sh->ready == sh->threads;
}

/* One breakpoint event: as the session would treat it. */
static bool
pass_hit(struct target *t, struct breakpoint *bp, const struct event *ev)
{
	struct user_regs_struct user;
	struct arch_regs regs = { 0 };

	check(ev->breakpoint == bp, "which breakpoint");
	if (target_hold_all(t) < 0)
		return false;
	if (thread_get_regs(ev->tid, &user) == 0)
		arch.from_ptrace(&user, &regs);
	check(regs.reg[arch.reg_pc] == breakpoint_address(bp),
	      "its pc is put back");
	if (breakpoint_step_over(t, bp, ev->tid) < 0)
		return false;
	return target_continue_all(t) == 0;
}

/* Run until nobody is left to call it; the hits. */
static int
count_hits(struct target *t, struct breakpoint *bp, int wanted)
{
	struct event ev;
	int hits = 0, idle = 0;

	while (!target_gone(t) && idle < 10000) {
		if (!target_next_event(t, &ev)) {
			rest_ms(idle++ ? 1 : 0);
			continue;
		}
		idle = 0;
		if (ev.kind != EVENT_BREAKPOINT)
			continue;
		hits++;
		if (!pass_hit(t, bp, &ev)) {
			check(target_gone(t), "pass hit %d", hits);
			return hits;
		}
		/* Interrupt them anywhere, most of all near the trap. */
		if (hits % 7 == 0)
			check(target_hold_all(t) == 0 &&
			      target_continue_all(t) == 0, "hold, run on");
		if (hits == wanted)
			return hits;
	}
	return hits;
}

/* Where perf is refused there are only traps; that is as it should be. */
static bool
is_as_wanted(const struct target *t, const struct breakpoint *bp, bool traps)
{
	const char *why = breakpoint_why_trap(t, bp);

	if (!traps && only_traps_here(why)) {
		printf("there are only traps here: %s\n", why);
		return true;
	}
	return traps == (why && strstr(why, "SIGURG")) &&
		target_has_traps(t) == (why != NULL);
}

static void
count(int threads, bool forks, bool traps)
{
	unsigned char before[TEXT_BYTES], after[TEXT_BYTES];
	const uint64_t at = (uint64_t)(uintptr_t)called;
	struct breakpoint *bp = NULL;

	sh = shared_page(sizeof *sh);
	sh->threads = threads;
	sh->forks = forks;
	sh->traps = traps;

	const pid_t pid = fork_victim(victim, NULL);
	struct target *t = target_open(pid);
	int hits;

	check(t && await(ready, NULL), "ready");
	check(!breakpoint_insert(t, at), "not while it runs");
	fail_clear();
	check(target_read(t, at, before, sizeof before) == 0, "its text");
	check(target_hold_all(t) == 0 && (bp = breakpoint_insert(t, at)),
	      "insert");
	check(is_as_wanted(t, bp, traps), "a trap");
	check(!breakpoint_insert(t, at), "not twice");
	fail_clear();
	check(target_continue_all(t) == 0, "run");
	sh->go = 1;
	/* the last call is made without it */
	hits = count_hits(t, bp, threads * CALLS - 1);
	check(hits == threads * CALLS - 1, "%d threads: %d hits of %d",
	      threads, hits, threads * CALLS - 1);
	check(target_release_all(t) == 0, "release");
	if (!target_gone(t) && target_read(t, at, after, sizeof after) == 0)
		check(memcmp(before, after, sizeof after) == 0,
		      "its text afterwards");
	fail_clear();
	serve_to_end(t, pid);
	check(target_ended_well(t, pid), "%d threads: the victim came to harm",
	      threads);
	check(sh->ticks > 0, "signals rained");
	check(!forks || sh->children == threads * CALLS / 50,
	      "%d children", sh->children);
	target_close(t);
}

/* Let go in the middle of the storm: whoever is about to trap must not. */
static void
let_go_at_once(bool traps)
{
	const uint64_t at = (uint64_t)(uintptr_t)called;

	for (int i = 0; i < 30; i++) {
		sh = shared_page(sizeof *sh);
		sh->threads = THREADS_MAX;
		sh->traps = traps;

		const pid_t pid = fork_victim(victim, NULL);
		struct target *t = target_open(pid);
		struct event ev;

		check(t && await(ready, NULL), "ready");
		check(target_hold_all(t) == 0 && breakpoint_insert(t, at) &&
		      target_continue_all(t) == 0, "insert");
		sh->go = 1;
		for (int k = 0; k < i % 5; k++)
			(void)target_next_event(t, &ev);
		if (i % 3 == 0)
			rest_ms(i % 4);
		check(target_release_all(t) == 0, "release");
		serve_to_end(t, pid);
		check(target_ended_well(t, pid),
		      "round %d: the victim came to harm", i);
		target_close(t);
	}
}

static void
set_descriptors(rlim_t most)
{
	struct rlimit limit;

	check(getrlimit(RLIMIT_NOFILE, &limit) == 0, "limit of descriptors");
	limit.rlim_cur = most;
	check(setrlimit(RLIMIT_NOFILE, &limit) == 0, "limit of descriptors");
}

/* Not one can be opened when the traps have to go. */
static void
let_go_without_descriptors(void)
{
	const uint64_t at = (uint64_t)(uintptr_t)called;
	struct rlimit limit;
	uint64_t left = 0;
	int n;

	sh = shared_page(sizeof *sh);
	sh->threads = THREADS_MAX;
	sh->traps = true;

	const pid_t pid = fork_victim(victim, NULL);
	struct target *t = target_open(pid);

	check(t && await(ready, NULL), "ready");
	check(target_hold_all(t) == 0 && breakpoint_insert(t, at) &&
	      target_has_traps(t) && target_continue_all(t) == 0, "insert");
	(void)getrlimit(RLIMIT_NOFILE, &limit);
	set_descriptors(0);
	/* its threads cannot be listed; it is let go all the same */
	(void)target_release_all(t);
	fail_clear();
	set_descriptors(limit.rlim_cur);
	n = target_traps_left(t, &left);
	check(n == 0, "%d traps, at %#llx", n, (unsigned long long)left);
	sh->go = 1;
	serve_to_end(t, pid);
	check(target_ended_well(t, pid), "the victim came to harm");
	target_close(t);
}

/* ---- text that makes way for another ------------------------------------ */

struct page {
	_Atomic int step;	/* 1 mapped, 2 go, 3 another is mapped, 4 go */
	_Atomic uint64_t at;
};

static struct page *pg;

static void
map_code(void *at, const void *code, size_t n, int rest)
{
	void *p = mmap(at, TEXT_BYTES, PROT_READ | PROT_WRITE | PROT_EXEC,
		       MAP_PRIVATE | MAP_ANONYMOUS | (at ? MAP_FIXED : 0),
		       -1, 0);

	if (p == MAP_FAILED)
		_exit(2);
	memset(p, rest, TEXT_BYTES);
	memcpy(p, code, n);
	pg->at = (uint64_t)(uintptr_t)p;
}

static void
remapping_victim(void *arg)
{
	static const unsigned char first[] = { 0x53, 0x5b, 0xc3 };
	/* data that looks like a trap of ours; mov $42, %eax; ret */
	static const unsigned char second[] = { 0xcc, 0xb8, 42, 0, 0, 0,
						0xc3 };
	const struct sigaction own = { .sa_handler = on_tick };

	(void)arg;
	sigaction(SIGURG, &own, NULL);		/* so there are traps */
	sigaction(SIGWINCH, &own, NULL);
	map_code(NULL, first, sizeof first, 0x90);
	pg->step = 1;
	while (pg->step != 2)
		rest_ms(1);
	map_code((void *)(uintptr_t)pg->at, second, sizeof second, 0xf4);
	pg->step = 3;
	while (pg->step != 4)
		rest_ms(1);
	_exit(*(volatile unsigned char *)(uintptr_t)pg->at == 0xcc &&
	      ((int (*)(void))(uintptr_t)(pg->at + 1))() == 42 ? 0 : 1);
}

static bool
at_step(void *arg)
{
	return pg->step == (int)(intptr_t)arg;
}

/* As when a library is unloaded: the trap went with it. */
static void
leave_others_alone(void)
{
	pg = shared_page(sizeof *pg);

	const pid_t pid = fork_victim(remapping_victim, NULL);
	struct target *t = target_open(pid);

	check(t && await(at_step, (void *)1), "ready");
	check(target_hold_all(t) == 0 && breakpoint_insert(t, pg->at) &&
	      target_has_traps(t) && target_continue_all(t) == 0, "insert");
	pg->step = 2;
	check(await(at_step, (void *)3), "mapped again");
	check(target_hold_all(t) == 0 && target_continue_all(t) == 0,
	      "hold, run on");
	check(target_release_all(t) == 0, "release");
	pg->step = 4;
	check(target_ended_well(t, pid), "the other text came to harm");
	target_close(t);
}

static void
body(void)
{
	leave_others_alone();
	let_go_without_descriptors();
	for (int traps = 0; traps < 2; traps++) {
		count(1, false, traps);
		count(THREADS_MAX, false, traps);
		count(1, true, traps);
		let_go_at_once(traps);
	}
}

int
main(void)
{
	return run_both_if_watched(body, 120);
}
