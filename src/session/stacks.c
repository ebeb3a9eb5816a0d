/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * where: the stacks of live threads. Of a target that runs, blocked threads
 * are looked at without a stop, the others are stopped one by one for a copy.
 * Addresses only: names are looked up in the shell's process.
 */
#include "maps.h"

#include <stdlib.h>
#include <string.h>
#include <time.h>

enum { STACK_MAX = 8 << 20, FRAMES_MAX = 20000, LOOKS = 12,
       LOOK_NAP_NS = 200 * 1000,
       MANY = 128 };		/* then all in one reading pays */
#define STOP_LIMIT_NS	UINT64_C(2000000000)

struct view {
	struct target *target;
	struct unwind_space *space;
	struct mapper *mapper;
	struct unwind_trace trace;
};

/* As many words as there may be. */
static void
put_futex(struct wire_message *m, const struct snapshot_thread *th)
{
	uint64_t words[FUTEX_BYTES / sizeof(uint64_t)];

	_Static_assert(sizeof words == sizeof th->futex, "whole words");
	wire_put(m, th->futex_size);
	if (!th->futex_size)
		return;
	memcpy(words, th->futex, sizeof words);
	wire_put(m, th->futex_at);
	for (size_t i = 0; i < ARRAY_LEN(words); i++)
		wire_put(m, words[i]);
}

/* The call of the moment of its stack, and the turns on a processor that it
 * had had: 0 where a stop has added to them. */
static void
put_call(struct wire_message *m, const struct snapshot_thread *th)
{
	wire_put(m, th->ok);
	wire_put(m, th->facts.switches);
	wire_put(m, (uint64_t)(int64_t)th->facts.syscall);
	for (size_t i = 0; i < ARRAY_LEN(th->facts.args); i++)
		wire_put(m, th->facts.args[i]);
}

/* Of one that stands now, all memory can be read. */
static void
walk(struct view *v, const struct snapshot_thread *th, bool stands)
{
	const struct step_stack stack = {
		.data = th->stack, .base = th->stack_base,
		.size = th->stack_size,
	};
	struct step_stack under = {
		.data = th->under, .base = th->under_base,
		.size = th->under_size,
	};

	if (stands)
		unwind_walk(v->space, &th->regs, &stack, mapper_read,
			    v->mapper, FRAMES_MAX, &v->trace);
	else
		unwind_walk(v->space, &th->regs, &stack,
			    under.size ? unwind_read_piece : NULL, &under,
			    FRAMES_MAX, &v->trace);
}

static void
put_thread(struct view *v, const struct snapshot_thread *th,
	   struct wire_message *m)
{
	if (th->ok)
		walk(v, th, target_held(v->target));
	else
		v->trace.len = 0;
	wire_put(m, (uint64_t)th->tid);
	wire_put(m, (uint64_t)th->facts.state);
	wire_put_text(m, th->facts.name);
	wire_put(m, th->facts.sp);
	wire_put(m, th->facts.cpu_ns);
	wire_put(m, th->facts.waits);
	put_call(m, th);
	put_futex(m, th);
	wire_put(m, th->ok && v->trace.end == UNWIND_COMPLETE);
	wire_put(m, v->trace.len);
	for (size_t i = 0; i < v->trace.len; i++)
		wire_put(m, v->trace.pcs[i]);
}

/* The longest time that anyone stood, and that one stood that ran. */
static void
put_pause(struct wire_message *m, uint64_t pause_ns, uint64_t run_pause_ns)
{
	wire_put(m, pause_ns);
	wire_put(m, run_pause_ns);
}

/* Libraries may have come and gone while we looked. */
static void
refresh_maps(struct view *v)
{
	if (mapper_age(v->mapper) == MAPS_OLD)
		(void)mapper_sync(v->mapper, now_ns());	/* the old one does */
}

/* ---- a target that runs -------------------------------------------------- */

struct crowd {			/* the threads asked for, in their order */
	struct snapshot_thread *all;
	size_t len;
	pid_t *running;		/* those that a look did not do for */
	size_t count;
};

static bool
is_whole(struct view *v, const struct snapshot_thread *th)
{
	walk(v, th, false);
	return v->trace.end == UNWIND_COMPLETE;
}

/* A look shows pc and sp of one that waits; mostly that is enough. */
static bool
look_at(struct view *v, struct snapshot_thread *th)
{
	const pid_t tid = th->tid;

	if (th->ok)
		return true;
	if (peek_thread(v->target, tid, STACK_MAX, th) == 0 && is_whole(v, th))
		return true;
	snapshot_thread_fini(th);
	*th = (struct snapshot_thread){ .tid = tid };
	return false;
}

struct sweeping {
	struct view *v;
	struct crowd *c;
	struct map places;	/* in the crowd, by thread */
};

static void
take_sleeper(void *arg, struct snapshot_thread *copy)
{
	struct sweeping *s = arg;
	uint64_t place;

	if (!map_get(&s->places, (uint64_t)copy->tid, &place) ||
	    !is_whole(s->v, copy))
		return;
	snapshot_thread_keep(copy);
	s->c->all[place] = *copy;
}

/* For whom this does not do is looked at like all others. */
static void
look_at_sleepers(struct view *v, struct crowd *c)
{
	struct sweeping s = { .v = v, .c = c };

	if (c->len < MANY)
		return;
	for (size_t i = 0; i < c->len; i++)
		map_put(&s.places, (uint64_t)c->all[i].tid, i);
	if (snapshot_sleeping(v->target, STACK_MAX, take_sleeper, &s) < 0)
		fail_clear();
	map_fini(&s.places);
}

/* Nobody is stopped: who does not wait has no stack. */
static void
look_once(struct view *v, struct crowd *c)
{
	for (size_t i = 0; i < c->len; i++)
		(void)look_at(v, &c->all[i]);
}

/*
 * Who is in a call that a stop would cut short is not stopped; but between
 * two waits such a call runs. So whoever runs is looked at again and again for
 * a moment: it may be seen to wait, and what in.
 */
static void
look_at_all(struct view *v, struct crowd *c)
{
	const struct timespec nap = { .tv_nsec = LOOK_NAP_NS };
	bool *done = xcalloc(c->len, sizeof *done);
	bool *spare = xcalloc(c->len, sizeof *spare);
	size_t left = c->len;

	for (int round = 0; round < LOOKS && left; round++) {
		if (round)
			(void)nanosleep(&nap, NULL);
		for (size_t i = 0; i < c->len; i++) {
			struct snapshot_thread *th = &c->all[i];

			if (done[i])
				continue;
			done[i] = look_at(v, th);
			if (!done[i])
				spare[i] |= thread_in_transfer(v->target,
							       th->tid);
			left -= done[i];
		}
	}
	for (size_t i = 0; i < c->len; i++)
		if (!done[i] && !spare[i] &&
		    target_thread_facts(v->target, c->all[i].tid,
					&c->all[i].facts) == 0)
			c->running[c->count++] = c->all[i].tid;
	free(done);
	free(spare);
}

/* Stack and registers of the copy, name and state of before the stop. */
static void
take_copy(struct crowd *c, struct snapshot_thread *copy)
{
	for (size_t i = 0; i < c->len; i++) {
		struct snapshot_thread *th = &c->all[i];

		if (th->tid != copy->tid)
			continue;
		copy->facts.state = th->facts.state;
		copy->facts.switches = 0;
		memcpy(copy->facts.name, th->facts.name,
		       sizeof copy->facts.name);
		*th = *copy;
		copy->stack = copy->under = NULL;	/* taken */
		return;
	}
}

static int
stop_rest(struct view *v, struct crowd *c, uint64_t *pause_ns)
{
	struct snapshot snap;

	*pause_ns = 0;
	if (!c->count)
		return 0;
	if (snapshot_running(v->target, c->running, c->count, 0,
			     STOP_LIMIT_NS, STACK_MAX, &snap) < 0)
		return -1;
	*pause_ns = snap.pause_ns;
	for (size_t i = 0; i < snap.len; i++)
		take_copy(c, &snap.threads[i]);
	snapshot_fini(&snap);
	return 0;
}

/*
 * Who could not be stopped is shown as far as a look goes, be it without a
 * stack: one that another tracer holds, or that is in a transfer all the time.
 * True: there is something to show.
 */
static bool
look_at_last(struct view *v, struct snapshot_thread *th)
{
	const pid_t tid = th->tid;

	if (th->ok || peek_thread(v->target, tid, STACK_MAX, th) == 0)
		return true;
	snapshot_thread_fini(th);
	*th = (struct snapshot_thread){ .tid = tid };
	return target_thread_facts(v->target, tid, &th->facts) == 0 &&
		!strchr("ZX", th->facts.state);
}

static void
crowd_fini(struct crowd *c)
{
	for (size_t i = 0; i < c->len; i++)
		snapshot_thread_fini(&c->all[i]);
	free(c->all);
	free(c->running);
}

static int
nothing_of(struct target *t, pid_t tid)
{
	struct thread_facts facts;

	if (target_thread_facts(t, tid, &facts) < 0) {
		fail_clear();
		return fail(FAIL_MISSING, "process %d has no thread %d",
			    (int)target_pid(t), (int)tid);
	}
	return fail(FAIL_MISSING, "thread %d did not stop", (int)tid);
}

static int
answer_running(struct view *v, pid_t only, enum session_look how,
	       struct wire_message *m, uint64_t *pause_ns)
{
	pid_t *tids = NULL;
	size_t cap = 0;
	const ssize_t n = only ? 1 : target_threads(v->target, &tids, &cap);
	struct crowd c = { 0 };
	size_t found = 0;
	int result;

	if (n < 0)
		return -1;
	c.all = xcalloc((size_t)n, sizeof *c.all);
	c.running = xcalloc((size_t)n, sizeof *c.running);
	for (ssize_t i = 0; i < n; i++)
		c.all[c.len++].tid = only ? only : tids[i];
	free(tids);
	look_at_sleepers(v, &c);
	if (how == LOOK_AT_WAITING)
		look_once(v, &c);
	else
		look_at_all(v, &c);
	fail_clear();
	result = stop_rest(v, &c, pause_ns);
	refresh_maps(v);
	if (result == 0)
		put_pause(m, *pause_ns, *pause_ns);
	for (size_t i = 0; i < c.len && result == 0; i++) {
		const bool there = look_at_last(v, &c.all[i]);

		found += c.all[i].ok;
		if (c.all[i].ok || (there && !only))
			put_thread(v, &c.all[i], m);
	}
	if (result == 0)
		fail_clear();		/* who has ended meanwhile */
	if (result == 0 && only && !found)
		result = nothing_of(v->target, only);
	crowd_fini(&c);
	return result;
}

/* ---- one that stands, or is to stand for it ------------------------------ */

static int
answer_snapshot(struct view *v, pid_t only, struct wire_message *m,
		uint64_t *pause_ns)
{
	struct snapshot snap = {0};

	if (snapshot_take(v->target, only, STACK_MAX, &snap) < 0)
		return -1;
	*pause_ns = snap.pause_ns;
	refresh_maps(v);
	put_pause(m, snap.pause_ns, snap.run_pause_ns);
	for (size_t i = 0; i < snap.len; i++) {
		snap.threads[i].facts.switches = 0;
		if (snap.threads[i].ok)
			put_thread(v, &snap.threads[i], m);
	}
	snapshot_fini(&snap);
	return 0;
}

int
stacks_answer(struct target *t, pid_t tid, enum session_look how,
	      struct wire_message *m, uint64_t *pause_ns)
{
	struct view v = { .target = t };
	int result = -1;

	/* a first thread that has ended has no stack; another speaks for it */
	if (tid == target_pid(t))
		tid = target_live_thread(t);
	*pause_ns = 0;
	v.space = unwind_space_new();
	v.mapper = mapper_new(t, v.space, NULL);
	if (tid >= 0 && mapper_sync(v.mapper, now_ns()) == 0)
		result = how == LOOK_AT_ONE_MOMENT || target_held(t) ?
			answer_snapshot(&v, tid, m, pause_ns) :
			answer_running(&v, tid, how, m, pause_ns);
	unwind_trace_fini(&v.trace);
	mapper_free(v.mapper);
	unwind_space_free(v.space);
	return result;
}
