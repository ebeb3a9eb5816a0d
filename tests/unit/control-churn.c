/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Stopping what does not hold still: threads that make threads as fast as
 * they can, processes that fork, and a thread that is not the first and
 * replaces the program. When all are held, all stand; when they are let go,
 * none is left behind; and a tracer that runs out of memory, or is killed, or
 * both, leaves a target that lives.
 * mission: X1
 */
#include "control-test.h"

#include <pthread.h>

enum { MAKERS = 3, HOLDS = 40, SNAPSHOTS = 20, RUNS = 20 };

struct shared {
	_Atomic int ready, stop, wrong;
	_Atomic int error;	/* why a thread could not be made */
	_Atomic uint64_t made, ended, forked;
	_Atomic int called;
};

static struct shared *sh;

static bool
is_ready(void *arg)
{
	(void)arg;
	return sh->ready;
}

static bool
makes_more(void *arg)
{
	const uint64_t *before = arg;

	return sh->made > *before;
}

static void *
short_life(void *arg)
{
	volatile uint64_t sum = 0;

	(void)arg;
	for (int i = 0; i < 1000; i++)
		sum += (uint64_t)i;
	if (sum != 499500)
		sh->wrong++;
	sh->ended++;
	return NULL;
}

static void
make(pthread_t *th, void *(*work)(void *arg))
{
	int error;

	/* EAGAIN: another thread is in exec, for one (copy_fs) */
	while ((error = pthread_create(th, NULL, work, NULL)) == EAGAIN)
		rest_ms(1);
	sh->error = error;
	if (error)
		_exit(2);
}

static void *
maker(void *arg)
{
	(void)arg;
	while (!sh->stop) {
		pthread_t th[2];

		for (int i = 0; i < 2; i++) {
			make(&th[i], short_life);
			sh->made++;
		}
		for (int i = 0; i < 2; i++)
			(void)pthread_join(th[i], NULL);
		sh->ready = 1;
	}
	return NULL;
}

static void
fork_often(void)
{
	while (!sh->stop) {
		const pid_t pid = fork();

		if (pid == 0)
			_exit(11);
		if (pid < 0 || WEXITSTATUS(status_of(pid)) != 11)
			sh->wrong++;
		sh->forked++;
		rest_ms(1);
	}
}

static void
victim(void *arg)
{
	pthread_t th[MAKERS];

	(void)arg;
	for (int i = 0; i < MAKERS; i++)
		make(&th[i], maker);
	fork_often();
	for (int i = 0; i < MAKERS; i++)
		(void)pthread_join(th[i], NULL);
	_exit(sh->wrong || sh->made != sh->ended ? 1 : 0);
}

/*
 * Its way out leads through the kernel alone: it does not stop any more, and
 * is listed until it has got there and its tracer has heard of it.
 */
static bool
is_ending(pid_t pid, pid_t tid)
{
	enum { EXITING = 0x4 };		/* PF_EXITING, in stat's flags */
	char path[64], text[512] = "";
	unsigned flags = EXITING;
	FILE *f;

	(void)snprintf(path, sizeof path, "/proc/%d/task/%d/stat", (int)pid,
		       (int)tid);
	f = fopen(path, "r");
	if (!f)
		return true;
	if (fgets(text, sizeof text, f) && strrchr(text, ')'))
		(void)sscanf(strrchr(text, ')'), ") %*c %*d %*d %*d %*d %*d %u",
			     &flags);
	(void)fclose(f);
	return flags & EXITING;
}

/* How many threads stand in a trace stop, and how many do not. */
static void
count_standing(struct target *t, int *stand, int *others)
{
	pid_t *tids = NULL;
	size_t cap = 0;
	const ssize_t n = target_threads(t, &tids, &cap);

	*stand = *others = 0;
	for (ssize_t i = 0; i < n; i++) {
		struct thread_facts f;

		if (is_ending(target_pid(t), tids[i]) ||
		    target_thread_facts(t, tids[i], &f) < 0)
			continue;
		++*(f.state == 't' ? stand : others);
	}
	free(tids);
}

/* One in a call that does not stop will, before it is back: a little later. */
static bool
all_stand(void *arg)
{
	int stand, others;

	count_standing(arg, &stand, &others);
	return others == 0;
}

static void
holds(struct target *t)
{
	for (int i = 0; i < HOLDS; i++) {
		uint64_t before;
		int stand, others;

		check(target_hold_all(t) == 0, "hold %d", i);
		before = sh->made;
		(void)await(all_stand, t);
		count_standing(t, &stand, &others);
		check(stand > MAKERS && others == 0,
		      "hold %d: %d stand, %d do not", i, stand, others);
		check(sh->made == before, "nobody works");
		check(target_release_all(t) == 0, "release");
		check(await(makes_more, &before), "they go on");
	}
}

static void
snapshots(struct target *t)
{
	for (int i = 0; i < SNAPSHOTS; i++) {
		struct snapshot snap;

		check(snapshot_take(t, 0, 16384, &snap) == 0 &&
		      snap.len > MAKERS, "snapshot %d", i);
		for (size_t k = 0; k < snap.len; k++)
			check(snap.threads[k].ok &&
			      snap.threads[k].stack_size > 0,
			      "snapshot %d: thread %zu", i, k);
		snapshot_fini(&snap);
	}
}

static void
runs(struct target *t)
{
	for (int i = 0; i < RUNS; i++) {
		uint64_t before = sh->made;
		int clones = 0;

		check(target_hold_all(t) == 0 && target_continue_all(t) == 0,
		      "run seized %d", i);
		for (int k = 0; k < 10000 && (sh->made < before + 20 ||
					     clones < 20); k++) {
			struct event ev;

			while (target_next_event(t, &ev))
				clones += ev.kind == EVENT_CLONE;
			rest_ms(1);
		}
		check(clones >= 20, "%d births are told", clones);
		check(target_release_all(t) == 0, "release");
	}
}

/* Who could not stop when all were let go is let go when it does. */
static bool
none_stands(void *arg)
{
	struct event ev;
	int stand, others;

	target_let_go_late(arg);
	while (target_next_event(arg, &ev))
		;
	count_standing(arg, &stand, &others);
	return stand == 0;
}

static void
churn(void)
{
	sh = shared_page(sizeof *sh);

	const pid_t pid = fork_victim(victim, NULL);
	struct target *t = target_open(pid);

	check(t && await(is_ready, NULL), "ready");
	if (t && !failures) {
		holds(t);
		snapshots(t);
		runs(t);
		check(await(none_stands, t), "threads are left behind");
	}
	sh->stop = 1;
	serve_to_end(t, pid);
	check(target_ended_well(t, pid),
	      "the victim came to harm; no thread: %s", strerror(sh->error));
	check(sh->forked > 10, "it forked");
	target_close(t);
}

/* ---- exec --------------------------------------------------------------- */

static void *
replace(void *arg)
{
	char *argv[] = { (char[]){ "sh" }, (char[]){ "-c" },
			 (char[]){ "exit 12" }, NULL };

	(void)arg;
	while (!sh->stop)
		rest_ms(1);
	(void)execv("/bin/sh", argv);
	_exit(3);
}

static void
replacer(void *arg)
{
	pthread_t th[3];

	(void)arg;
	for (int i = 0; i < 2; i++)
		make(&th[i], i ? replace : maker);
	for (;;)
		pause();
}

static void
exec_by_another(void)
{
	for (int i = 0; i < 10; i++) {
		struct event ev = { 0 };
		bool told = false;

		sh = shared_page(sizeof *sh);

		const pid_t pid = fork_victim(replacer, NULL);
		struct target *t = target_open(pid);

		check(t && await(is_ready, NULL), "ready");
		check(target_hold_all(t) == 0 && target_continue_all(t) == 0,
		      "run seized");
		if (i % 2)
			(void)target_hold_all(t);
		sh->stop = 1;
		if (i % 2)
			check(target_continue_all(t) == 0, "run on");
		for (int k = 0; k < 10000 && !target_gone(t); k++) {
			while (target_next_event(t, &ev))
				told |= ev.kind == EVENT_EXEC;
			rest_ms(1);
		}
		check(told && strcmp(target_how_ended(t),
				     "exited with status 12") == 0,
		      "exec is told (%d), it %s; no thread: %s", told,
		      target_how_ended(t), strerror(sh->error));
		check(strcmp(target_name(t), "sh") == 0, "its new name");
		target_close(t);
	}
}

/* ---- our own end -------------------------------------------------------- */

static void
called(void)
{
	sh->called++;
}

/* So that every call is made, and to that very function. */
static void (*volatile call)(void) = called;

static void *
call_on(void *arg)
{
	(void)arg;
	sh->ready++;
	while (!sh->stop)
		call();
	return NULL;
}

static void
callers(void *arg)
{
	pthread_t th;

	(void)arg;
	make(&th, call_on);
	(void)call_on(NULL);
	(void)pthread_join(th, NULL);
	_exit(0);
}

enum our_end { NO_MEMORY, NO_MEMORY_WHILE_HELD, KILLED_WHILE_HELD, ENDS };

static void
end_of_tracer(pid_t pid, enum our_end end)
{
	struct target *t = target_open(pid);
	struct event ev;

	if (!t || target_hold_all(t) < 0)
		_exit(3);
	if (end != KILLED_WHILE_HELD &&
	    !breakpoint_insert(t, (uint64_t)(uintptr_t)called))
		_exit(4);
	if (end == NO_MEMORY) {
		if (target_continue_all(t) < 0)
			_exit(5);
		for (int i = own_tid() % 50; i > 0; i--)
			(void)target_next_event(t, &ev);
	}
	if (end == KILLED_WHILE_HELD)
		kill(getpid(), SIGKILL);
	die("this message belongs to a test: out of memory");
}

static bool
calls_on(void *arg)
{
	return sh->called > *(int *)arg + 1000;
}

static void
our_end(void)
{
	for (int i = 0; i < 10 * ENDS; i++) {
		int status, before;

		sh = shared_page(sizeof *sh);

		const pid_t pid = fork_victim(callers, NULL);

		check(await(is_ready, NULL), "ready");

		const pid_t tracer = fork();

		if (tracer == 0)
			end_of_tracer(pid, (enum our_end)(i % ENDS));
		status = status_of(tracer);
		check(i % ENDS == KILLED_WHILE_HELD ? WIFSIGNALED(status) :
		      WIFEXITED(status) && WEXITSTATUS(status) == 125,
		      "end %d: the tracer's status %#x", i % ENDS, status);
		before = sh->called;
		check(await(calls_on, &before), "end %d: the target lives",
		      i % ENDS);
		sh->stop = 1;
		check(ended_well(pid), "end %d: the target came to harm",
		      i % ENDS);
	}
}

static void
body(void)
{
	(void)freopen("/dev/null", "w", stderr);
	churn();
	exec_by_another();
	our_end();
}

int
main(void)
{
	return run_both(body, 120);
}
