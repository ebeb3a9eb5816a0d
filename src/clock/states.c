/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Who is on a CPU since when.
 *
 *	          in                  out
 *	UNKNOWN -------> ON       UNKNOWN -------> OFF, it ran since `since`
 *	    OFF -------> ON            ON -------> OFF
 *	any --- exit ---> forgotten (an exiting thread has no switch-out)
 *
 * A thread that runs when its events are opened gives no record of that: its
 * first record, if not a switch-in, shows that it has been running.
 *
 * pending is CPU time that no sample has been given yet. The scheduler's own
 * count (schedstat; exact but for the tick of a thread that is running) is
 * read only when records were lost or contradict each other; counted is the
 * moment up to which pending holds everything, so that records of before
 * that moment, still in the rings, do not count again.
 */
#include "control.h"
#include "states.h"

#include <fcntl.h>
#include <stdlib.h>
#include <unistd.h>

enum state { UNKNOWN, ON, OFF };

struct thread {
	pid_t tid;
	enum state state;
	uint64_t since;
	uint64_t pending, given;
	uint64_t counted;
	uint64_t base;		/* schedstat when we began to watch */
	bool sampled, doubt;
};

/* ---- the scheduler's count ----------------------------------------------- */

static bool
schedstat(const struct states *s, pid_t tid, uint64_t *cpu_ns)
{
	struct task_turns turns;
	char path[32];

	(void)snprintf(path, sizeof path, "%d/schedstat", (int)tid);
	if (task_turns_of(s->task_fd, path, &turns) < 0)
		return false;
	*cpu_ns = turns.cpu_ns;
	return true;
}

/* Let the scheduler's count begin with what we have counted. */
static void
rebase(const struct states *s, struct thread *t)
{
	uint64_t cpu;

	if (!schedstat(s, t->tid, &cpu))
		return;
	t->base = cpu > t->given + t->pending ? cpu - t->given - t->pending : 0;
}

/* Believe the scheduler. */
static void
resync(const struct states *s, struct thread *t)
{
	uint64_t cpu;

	t->doubt = false;
	if (!schedstat(s, t->tid, &cpu))
		return;		/* it ended: its exit record tells, or none */

	const uint64_t had = t->base + t->given;

	t->pending = cpu > had ? cpu - had : 0;
	t->counted = now_ns();
}

/* ---- threads ------------------------------------------------------------- */

static struct thread *
find(const struct states *s, pid_t tid)
{
	uint64_t at;

	return map_get(&s->threads, (uint64_t)tid, &at) ?
		(struct thread *)(uintptr_t)at : NULL;
}

static struct thread *
add(struct states *s, pid_t tid, enum state state, uint64_t since)
{
	struct thread *t = find(s, tid);

	if (!t)
		t = xmalloc(sizeof *t);
	*t = (struct thread){ .tid = tid, .state = state, .since = since };
	map_put(&s->threads, (uint64_t)tid, (uintptr_t)t);
	return t;
}

/*
 * A thread whose creation we were not told (that record was lost, or it was
 * created while the clocks were stopped): all its CPU time is news, but not
 * more than the time that we have been watching.
 */
static struct thread *
find_or_meet(struct states *s, pid_t tid)
{
	struct thread *t = find(s, tid);

	if (t)
		return t;
	t = add(s, tid, UNKNOWN, now_ns());
	if (tid == s->pid) {
		/* a thread about to exec, which has taken this number:
		 * what it ran is counted under its old one */
		rebase(s, t);
		return t;
	}
	resync(s, t);

	const uint64_t longest = t->counted > s->enabled ?
		t->counted - s->enabled : 0;

	if (t->pending > longest) {
		t->base = t->pending - longest;
		t->pending = longest;
	}
	return t;
}

/* Count what it ran up to time, if it runs. */
static void
run_until(struct thread *t, uint64_t time)
{
	const uint64_t from = t->since > t->counted ? t->since : t->counted;

	if (t->state != OFF && time > from)
		t->pending += time - from;
	if (time > t->since)
		t->since = time;
}

static uint64_t
give(struct states *s, struct thread *t)
{
	const uint64_t cpu = t->pending;

	t->pending = 0;
	t->given += cpu;
	s->given += cpu;
	return cpu;
}

void
states_init(struct states *s, pid_t pid)
{
	char path[32];

	*s = (struct states){ .pid = pid, .enabled = now_ns() };
	(void)snprintf(path, sizeof path, "/proc/%d/task", (int)pid);
	s->task_fd = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
}

void
states_fini(struct states *s)
{
	map_free_values(&s->threads);
	if (s->task_fd >= 0)
		(void)close(s->task_fd);
	*s = (struct states){ .task_fd = -1 };
}

/* ---- what the records say ------------------------------------------------ */

void
states_watch(struct states *s, pid_t tid, uint64_t time)
{
	rebase(s, add(s, tid, UNKNOWN, time));
}

void
states_fork(struct states *s, pid_t tid, uint64_t time)
{
	const struct thread *known = find(s, tid);

	/* opened by us before its creator came to say so */
	if (known && known->state == UNKNOWN && known->since >= time)
		return;
	(void)add(s, tid, OFF, time);
}

void
states_switch(struct states *s, pid_t tid, uint64_t time, bool out)
{
	struct thread *t = find_or_meet(s, tid);

	if (t->state == (out ? OFF : ON)) {
		/* a switch is missing: it did not run all the time between */
		t->doubt = s->doubt = true;
	} else if (out) {
		run_until(t, time);
	}
	t->state = out ? OFF : ON;
	if (time > t->since)
		t->since = time;
}

uint64_t
states_sample(struct states *s, pid_t tid, uint64_t time)
{
	struct thread *t = find_or_meet(s, tid);

	if (t->state == OFF)
		t->doubt = s->doubt = true;
	run_until(t, time);
	t->state = ON;
	t->sampled = true;
	return give(s, t);
}

uint64_t
states_exit(struct states *s, pid_t tid, uint64_t time)
{
	struct thread *t = find(s, tid);

	if (!t || (t->state == UNKNOWN && t->since > time))
		return 0;	/* an earlier thread of the same number */
	run_until(t, time);

	const uint64_t cpu = give(s, t);

	(void)map_remove(&s->threads, (uint64_t)tid);
	free(t);
	return cpu;
}

/*
 * The thread that called exec has become the first thread, whatever it was
 * before. What the others ran and had no exit record for is added to it.
 */
void
states_exec(struct states *s, pid_t tid, uint64_t time)
{
	struct thread *first = find(s, tid);
	uint64_t other, at;
	size_t i = 0;

	if (!first)
		first = add(s, tid, ON, time);

	struct map others = s->threads;

	s->threads = (struct map){0};
	while (map_next(&others, &i, &other, &at)) {
		struct thread *t = (struct thread *)(uintptr_t)at;

		if (t == first)
			continue;
		if (t->state == ON)
			run_until(t, time);
		first->pending += t->pending;
		free(t);
	}
	map_fini(&others);
	run_until(first, time);
	first->state = ON;
	first->since = time;
	map_put(&s->threads, (uint64_t)tid, (uintptr_t)first);
	rebase(s, first);
}

/* ---- losses, pauses, the end --------------------------------------------- */

void
states_resync(struct states *s, bool all)
{
	uint64_t tid, at;
	size_t i = 0;

	while (map_next(&s->threads, &i, &tid, &at)) {
		struct thread *t = (struct thread *)(uintptr_t)at;

		if (all || t->doubt)
			resync(s, t);
	}
	s->doubt = false;
}

/* No record at all: asleep all the time, or running all the time. */
static void
settle_unknown(const struct states *s, struct thread *t)
{
	if (t->state == UNKNOWN)
		resync(s, t);
}

void
states_stop(struct states *s, uint64_t time)
{
	uint64_t tid, at;
	size_t i = 0;

	while (map_next(&s->threads, &i, &tid, &at)) {
		struct thread *t = (struct thread *)(uintptr_t)at;

		settle_unknown(s, t);
		if (t->state == ON)
			run_until(t, time);
		t->state = OFF;
		t->since = time;
	}
}

void
states_start(struct states *s, uint64_t time)
{
	uint64_t tid, at;
	size_t i = 0;

	s->enabled = time;
	while (map_next(&s->threads, &i, &tid, &at)) {
		struct thread *t = (struct thread *)(uintptr_t)at;

		t->state = UNKNOWN;
		t->since = time;
		rebase(s, t);
	}
}

void
states_rest(struct states *s,
	    void (*visit)(void *arg, pid_t tid, uint64_t cpu_ns, bool sampled),
	    void *arg)
{
	uint64_t tid, at;
	size_t i = 0;

	while (map_next(&s->threads, &i, &tid, &at)) {
		struct thread *t = (struct thread *)(uintptr_t)at;

		settle_unknown(s, t);
		visit(arg, t->tid, give(s, t), t->sampled);
	}
}
