/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Copies of stacks: 64 threads, some spinning and most blocked in
 * epoll_wait, each with its own mark on its stack and its own sum to get
 * right. Every snapshot has every thread, and every thread's copy has its
 * mark and no other's. Some do so in a handler on an alternate stack: their
 * marks are on the stack that was interrupted, which is copied too. Blocked
 * ones are copied without a stop too. The same when the first thread has
 * ended, and while all are held.
 * mission: X3 C5
 */
#include "control-test.h"

#include <pthread.h>
#include <signal.h>
#include <sys/epoll.h>

enum { THREADS = 64, SNAPSHOTS = 20, MARKS = 4, MAX_STACK = 64 * 1024 };

static const uint64_t mark_base = UINT64_C(0x5eedface00000000);

struct shared {
	_Atomic pid_t tid[THREADS];
	_Atomic int stop, wrong, finished;
	_Atomic uint64_t work[THREADS];
	int pipe[2];
	bool leader_ends;
};

static struct shared *sh;

static bool
spins(int i)
{
	return i % 8 == 1;
}

static bool
in_handler(int i)
{
	return i % 8 == 2 || i % 16 == 9;
}

static void
spin(int i)
{
	while (!sh->stop)
		sh->work[i]++;
}

static void
block(void)
{
	const int efd = epoll_create1(0);
	struct epoll_event ev = { .events = EPOLLIN };

	if (epoll_ctl(efd, EPOLL_CTL_ADD, sh->pipe[0], &ev) < 0 ||
	    epoll_wait(efd, &ev, 1, -1) != 1)
		sh->wrong++;
}

static __thread int number;

static void
wait_for_end(void)
{
	sh->tid[number] = own_tid();
	if (spins(number))
		spin(number);
	else
		block();
}

static void
on_signal(int signal)
{
	(void)signal;
	wait_for_end();
}

static void
interrupt(void)
{
	enum { SIZE = 64 * 1024 };
	static char stacks[THREADS][SIZE];
	const stack_t stack = { .ss_sp = stacks[number], .ss_size = SIZE };

	if (sigaltstack(&stack, NULL) < 0 ||
	    pthread_kill(pthread_self(), SIGUSR1) != 0)
		sh->wrong++;
}

/* The marks stand on the stack while the thread spins or blocks below. */
static void __attribute__((noinline))
marked(int i)
{
	volatile uint64_t marks[MARKS];

	for (int k = 0; k < MARKS; k++)
		marks[k] = mark_base | (unsigned)i;
	number = i;
	if (in_handler(i))
		interrupt();
	else
		wait_for_end();
	for (int k = 0; k < MARKS; k++)
		if (marks[k] != (mark_base | (unsigned)i))
			sh->wrong++;
}

static void *
worker(void *arg)
{
	marked((int)(intptr_t)arg);
	if (++sh->finished == THREADS)
		_exit(sh->wrong ? 1 : 0);
	pause();
	return NULL;
}

static void
victim(void *arg)
{
	const struct sigaction action = { .sa_handler = on_signal,
					  .sa_flags = SA_ONSTACK };

	(void)arg;
	sigaction(SIGUSR1, &action, NULL);
	for (int i = 0; i < THREADS; i++) {
		pthread_t th;

		if (pthread_create(&th, NULL, worker, (void *)(intptr_t)i))
			_exit(2);
	}
	if (sh->leader_ends)
		pthread_exit(NULL);
	for (;;)
		pause();
}

static bool
all_ready(void *arg)
{
	(void)arg;
	for (int i = 0; i < THREADS; i++)
		if (!sh->tid[i])
			return false;
	return true;
}

static bool
works_on(void *arg)
{
	const uint64_t *before = arg;

	for (int i = 0; i < THREADS; i++)
		if (spins(i) && sh->work[i] == before[i])
			return false;
	return true;
}

/* How many marks of thread i, and how many of others. */
static void
count_marks(const unsigned char *stack, size_t size, int i, int *own,
	    int *others)
{
	*own = *others = 0;
	for (size_t at = 0; at + 8 <= size; at += 8) {
		uint64_t word;

		memcpy(&word, stack + at, sizeof word);
		if (word >> 32 != mark_base >> 32)
			continue;
		if (word == (mark_base | (unsigned)i))
			++*own;
		else
			++*others;
	}
}

static void
check_copy(const struct snapshot_thread *th, int i, const char *what)
{
	int own, others;

	if (!th) {
		check(false, "%s: thread %d is missing", what, i);
		return;
	}
	if (in_handler(i))
		count_marks(th->under, th->under_size, i, &own, &others);
	else
		count_marks(th->stack, th->stack_size, i, &own, &others);
	check(in_handler(i) || !th->under_size, "%s: thread %d has another "
	      "stack", what, i);
	check(th->ok && own >= MARKS && !others, "%s: thread %d: ok %d, %d "
	      "marks of its own, %d of others, %zu bytes", what, i, th->ok,
	      own, others, th->stack_size);
	check(th->regs.reg[arch.reg_sp] >= th->stack_base &&
	      th->regs.reg[arch.reg_sp] < th->stack_base + 8,
	      "%s: thread %d: the copy begins at sp", what, i);
	check(th->regs.reg[arch.reg_pc] != 0, "%s: pc", what);
	if (!spins(i))
		check(th->facts.syscall == SYS_epoll_wait, "%s: thread %d is "
		      "in call %ld", what, i, th->facts.syscall);
}

static const struct snapshot_thread *
find_thread(const struct snapshot *snap, pid_t tid)
{
	for (size_t i = 0; i < snap->len; i++)
		if (snap->threads[i].tid == tid)
			return &snap->threads[i];
	return NULL;
}

static uint64_t
one_snapshot(struct target *t, const char *what)
{
	struct snapshot snap;
	uint64_t pause;

	if (snapshot_take(t, 0, MAX_STACK, &snap) < 0) {
		check(false, "%s", what);
		return 0;
	}
	check(snap.len == (size_t)THREADS + !sh->leader_ends, "%s: %zu "
	      "threads", what, snap.len);
	for (int i = 0; i < THREADS; i++)
		check_copy(find_thread(&snap, sh->tid[i]), i, what);
	pause = snap.pause_ns;
	check(pause == 0 || (snap.run_pause_ns > 0 &&
			     snap.run_pause_ns <= pause),
	      "%s: those that run stand within the pause", what);
	snapshot_fini(&snap);
	return pause;
}

static bool
nobody_traces(struct target *t)
{
	for (int i = 0; i < THREADS; i++) {
		char path[64];

		(void)snprintf(path, sizeof path, "task/%d/status",
			       (int)sh->tid[i]);

		char *text = file_read_at(target_proc(t), path, NULL);
		const bool free_one = text && strstr(text, "TracerPid:\t0\n");

		free(text);
		if (!free_one)
			return false;
	}
	return true;
}

/* A stop takes them out of their call, and they go on to it when they run: on
 * a busy machine that may be later than the next snapshot. */
static void
await_all_blocked(struct target *t)
{
	for (int i = 0; i < THREADS; i++)
		check(spins(i) || await_blocked(t, sh->tid[i], SYS_epoll_wait),
		      "thread %d blocks", i);
}

static void
many_snapshots(struct target *t)
{
	uint64_t before[THREADS], longest = 0, total = 0;

	for (int n = 0; n < SNAPSHOTS; n++) {
		await_all_blocked(t);

		const uint64_t pause = one_snapshot(t, "snapshot");

		check(pause > 0, "a pause is measured");
		check(nobody_traces(t), "all are let go");
		total += pause;
		longest = pause > longest ? pause : longest;
		for (int i = 0; i < THREADS; i++)
			before[i] = sh->work[i];
		if (n % 10 == 0)
			check(await(works_on, before), "spinners go on");
	}
	printf("pause of %d threads: mean %.3f ms, longest %.3f ms\n",
	       THREADS, (double)total / SNAPSHOTS / 1e6, (double)longest / 1e6);
}

static void
peeks(struct target *t)
{
	for (int i = 0; i < THREADS; i++) {
		struct snapshot_thread th;

		if (spins(i)) {
			check(peek_thread(t, sh->tid[i], MAX_STACK, &th) < 0,
			      "a spinning thread is not peeked at");
			continue;
		}
		if (!await_blocked(t, sh->tid[i], SYS_epoll_wait) ||
		    peek_thread(t, sh->tid[i], MAX_STACK, &th) < 0) {
			check(false, "peek at thread %d", i);
			continue;
		}
		check_copy(&th, i, "peek");
		snapshot_thread_fini(&th);
	}
}

/* One that could not stop in time is let go when it does. */
static bool
all_let_go(void *arg)
{
	struct target *t = arg;
	struct event ev;

	target_let_go_late(t);
	while (target_next_event(t, &ev))
		;
	return nobody_traces(t);
}

static void
held_snapshot(struct target *t)
{
	struct event ev;

	await_all_blocked(t);
	check(target_hold_all(t) == 0, "hold");
	(void)one_snapshot(t, "snapshot while held");
	check(target_held(t), "it is still held");
	check(target_continue_all(t) == 0, "continue seized");
	check(one_snapshot(t, "snapshot while seized") > 0, "pause");
	check(!target_held(t), "it runs again");
	while (target_next_event(t, &ev))
		check(ev.kind != EVENT_ENDED, "it lives");
	check(target_release_all(t) == 0, "release");
	check(await(all_let_go, t), "all are let go");
}

static void
one_thread(struct target *t)
{
	for (int i = 0; i < 2; i++) {
		struct snapshot snap;

		check(snapshot_take(t, sh->tid[i], MAX_STACK, &snap) == 0 &&
		      snap.len == 1 && snap.threads[0].tid == sh->tid[i],
		      "snapshot of one thread");
		if (snap.len == 1)
			check_copy(&snap.threads[0], i, "one thread");
		snapshot_fini(&snap);
	}
}

static bool
leader_as_wanted(void *t)
{
	return (target_live_thread(t) != target_pid(t)) == sh->leader_ends;
}

static void
examine(bool leader_ends)
{
	sh = shared_page(sizeof *sh);
	sh->leader_ends = leader_ends;
	check(pipe(sh->pipe) == 0, "pipe");

	const pid_t pid = fork_victim(victim, NULL);
	struct target *t = target_open(pid);
	char *maps;

	check(t && await(all_ready, NULL), "the victim is ready");
	if (t && !failures) {
		await_all_blocked(t);
		check(await(leader_as_wanted, t), "a live thread");
		check((maps = target_maps(t)) && strstr(maps, "libc.so"),
		      "its map");
		free(maps);
		one_thread(t);
		many_snapshots(t);
		peeks(t);
		held_snapshot(t);
	}
	sh->stop = 1;
	check(write(sh->pipe[1], "x", 1) == 1, "wake");
	check(target_ended_well(t, pid), "the victim saw something");
	target_close(t);
}

static void
body(void)
{
	examine(false);
	examine(true);
}

int
main(void)
{
	return run_both(body, 120);
}
