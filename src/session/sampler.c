/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Remote sampling: at each look the threads that used CPU time since the last
 * one and run now are stopped, each alone, for as long as its registers and
 * stack take to copy; they are unwound when they run again.
 *
 * A sample weighs the CPU time of its thread since the thread's last sample,
 * exact by its own clock. One that does not have a processor at a look is not
 * sampled: its time waits for a look that finds it running, so that a place
 * gets what it uses, and not what it sleeps or is preempted beside. What waits
 * for very long was used by one that never has a processor when we look: then
 * where it is will do; one that sleeps is peeked at, without a stop.
 *
 *	        used nothing            runs               sleeps
 *	skip <---------------- a look --------> stop, copy  ------> let it wait
 *	                                                     (long: peek)
 *
 * A thread can have used no more since the last look than the time between
 * them; that is the bound for one seen first, whose clock may have run for
 * long before we could read it. All of it together is what the process's
 * clock says: what no thread that we know has used is unsampled.
 */
#include "sampler.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum {
	STACK_MAX = 64 * 1024,
	PATIENCE = 8,		/* intervals of CPU time without a sample */
	SLACK = 4,		/* intervals that user and system may be off */
	/* who runs stops within some microseconds; others are no loss */
	STOP_LIMIT_NS = 5 * 1000 * 1000,
	SLACK_LEAST_NS = 50 * 1000 * 1000,	/* their unit is 10 ms */
	WATCH_LOOKS = 3,
	GAP_NS = 500 * 1000 * 1000,
	NEGLIGIBLE_NS = 10 * 1000,
	LAG_NS = 10 * 1000 * 1000,	/* a tick of the scheduler, at most */
	UNSEEN_NS = 50 * 1000 * 1000,
	SYNC_EVERY_NS = 1000 * 1000 * 1000,
	SYNC_NEED_NS = 100 * 1000 * 1000,
};

/* ---- clocks ------------------------------------------------------------- */

static bool
read_cpu(const struct sampler *s, pid_t tid, uint64_t *cpu_ns)
{
	char path[64];

	(void)snprintf(path, sizeof path, "task/%d/schedstat", (int)tid);

	char *text = file_read_at(target_proc(s->opt->target), path, NULL);
	const bool known = text && sscanf(text, "%" SCNu64, cpu_ns) == 1;

	free(text);
	return known;
}

struct state {
	char letter;		/* 0: it has ended */
	int cpu;
	uint64_t system_ns;	/* in whole ticks */
};

static struct state
read_state(const struct sampler *s, pid_t tid)
{
	struct state st = { 0 };
	unsigned long long ticks = 0;
	char path[64];

	(void)snprintf(path, sizeof path, "task/%d/stat", (int)tid);

	char *text = file_read_at(target_proc(s->opt->target), path, NULL);
	const char *after = text ? strrchr(text, ')') : NULL;

	if (after && sscanf(after + 1, " %c %*d %*d %*d %*d %*d %*u %*u %*u "
			    "%*u %*u %*u %llu %*d %*d %*d %*d %*d %*d %*u "
			    "%*u %*d %*u %*u %*u %*u %*u %*u %*u %*u %*u %*u "
			    "%*u %*u %*u %*d %d", &st.letter, &ticks,
			    &st.cpu) != 3)
		st.letter = 0;
	free(text);
	st.system_ns = ticks *
		(UINT64_C(1000000000) / (uint64_t)sysconf(_SC_CLK_TCK));
	return st;
}

static void
read_clock(struct sampler *s)
{
	uint64_t cpu_ns;

	if (target_cpu_ns(s->opt->target, &cpu_ns) == 0)
		s->clock_ns = cpu_ns;
	/* else it was reaped: the last reading stands */
}

static struct seen *
find_thread(const struct sampler *s, pid_t tid)
{
	uint64_t slot;

	if (!map_get(&s->threads, (uint64_t)tid, &slot))
		return NULL;
	return (struct seen *)(uintptr_t)slot;
}

static struct seen *
add_thread(struct sampler *s, pid_t tid, uint64_t cpu_ns, uint64_t system_ns)
{
	struct seen *th = xcalloc(1, sizeof *th);
	const uint64_t most = s->before ? s->looked_at - s->before : 0;

	th->tid = tid;
	th->newborn = s->looks > 0;
	/* born since the last look, or not readable then */
	th->booked_ns = cpu_ns > most ? cpu_ns : 0;
	th->system_base_ns = cpu_ns > most ? system_ns : 0;
	map_put(&s->threads, (uint64_t)tid, (uintptr_t)th);
	return th;
}

static uint64_t
pending_of(const struct seen *th)
{
	return th->cpu_ns > th->booked_ns ? th->cpu_ns - th->booked_ns : 0;
}

/* What the process has used and nobody was charged with. */
static uint64_t
unbooked(const struct sampler *s)
{
	const uint64_t booked = s->clock_start_ns + s->booked_ns;

	return s->clock_ns > booked ? s->clock_ns - booked : 0;
}

/* So much CPU time without a sample is no chance. */
static uint64_t
patience(const struct sampler *s)
{
	const uint64_t interval = s->opt->interval_ns;

	return PATIENCE * (interval > LAG_NS ? interval : LAG_NS);
}

/* ---- weights ------------------------------------------------------------ */

/*
 * A sample in a system call is system time, any other user time; page faults
 * and interrupts do not show. So the thread's own utime and stime, which are
 * whole ticks, bound how far that may be off.
 */
static uint64_t
system_part(const struct sampler *s, const struct seen *th, uint64_t weight)
{
	const uint64_t some = SLACK * s->opt->interval_ns;
	const int64_t slack = (int64_t)(some > SLACK_LEAST_NS ? some :
					SLACK_LEAST_NS);
	const int64_t most = th->system_due_ns + slack;
	const int64_t least = th->system_due_ns - slack;
	int64_t part = th->in_call ? (int64_t)weight : 0;

	part = part > most ? most : part;
	part = part < least ? least : part;
	part = part < 0 ? 0 : part;
	return (uint64_t)part < weight ? (uint64_t)part : weight;
}

static uint64_t
charge(struct sampler *s, struct seen *th, uint64_t weight)
{
	const uint64_t system = system_part(s, th, weight);

	th->booked_ns += weight;
	th->system_due_ns -= (int64_t)system;
	s->booked_ns += weight;
	return system;
}

/* Not more than the process has used: clocks of threads are read later. */
static uint64_t
weight_of(const struct sampler *s, const struct seen *th)
{
	const uint64_t pending = pending_of(th), left = unbooked(s);

	return pending < left ? pending : left;
}

static void
book_sample(struct sampler *s, struct seen *th)
{
	const uint64_t weight = weight_of(s, th);

	th->sampled = true;
	if (!weight)
		return;

	const uint64_t now = now_ns();
	const uint64_t system = charge(s, th, weight), user = weight - system;
	/* one sample, and what of it is of the other kind */
	const bool is_system = system > user;

	s->latest_tid = (uint64_t)th->tid;
	recorder_tick(s->rec, now, th->tid, th->cpu,
		      is_system ? MSTATE_SYSTEM : MSTATE_USER,
		      is_system ? system : user, th->frinfo);
	recorder_book(s->rec, now, th->tid,
		      is_system ? MSTATE_USER : MSTATE_SYSTEM,
		      is_system ? user : system, th->frinfo);
}

/* Time of a thread behind its last sample: more of the same, or nobody's. */
static void
book_rest(struct sampler *s, struct seen *th, uint64_t rest)
{
	const uint64_t now = now_ns();

	if (!rest)
		return;
	if (!th->frinfo) {
		th->booked_ns += rest;
		s->booked_ns += rest;
		recorder_unsampled(s->rec, now, th->tid, rest);
		return;
	}

	const uint64_t system = charge(s, th, rest);

	recorder_book(s->rec, now, th->tid, MSTATE_USER, rest - system,
		      th->frinfo);
	recorder_book(s->rec, now, th->tid, MSTATE_SYSTEM, system, th->frinfo);
}

/* It runs and runs, and cannot be looked at. */
static void
book_gap(struct sampler *s, struct seen *th, const char *cause)
{
	const uint64_t rest = weight_of(s, th);
	const uint64_t interval = s->opt->interval_ns;

	if (rest < GAP_NS || rest < 2 * patience(s))
		return;
	th->booked_ns += rest;
	s->booked_ns += rest;
	recorder_lost(s->rec, now_ns(), cause, "", th->tid, rest / interval,
		      rest);
}

/* A stop would cut its call short, or has done so. */
static void
spare(struct sampler *s, struct seen *th)
{
	th->transfers = s->transfers = true;
}

/* ---- stacks ------------------------------------------------------------- */

/* Nobody tells of new mappings: the list is read again now and then, and
 * where code runs that is on no list. */
static void
sync_maps(struct sampler *s, bool need)
{
	const uint64_t age = s->looked_at - s->synced_at;

	if (age < (need ? SYNC_NEED_NS : SYNC_EVERY_NS))
		return;
	(void)mapper_sync(s->opt->mapper, s->looked_at); /* the old one does */
	s->synced_at = s->looked_at;
}

static void
take_sample(struct sampler *s, const struct snapshot_thread *copy)
{
	const struct step_stack stack = {
		.data = copy->stack, .base = copy->stack_base,
		.size = copy->stack_size,
	};
	struct seen *th = find_thread(s, copy->tid);

	if (!th)
		return;
	if (!mapper_knows(s->opt->mapper, copy->facts.pc))
		sync_maps(s, true);
	th->frinfo = recorder_walk(s->rec, &copy->regs, &stack,
				   copy->stack_size == STACK_MAX);
	th->in_call = copy->facts.in_syscall;
	if (copy->cut_short)
		spare(s, th);
	book_sample(s, th);
}

/* The stop has brought its clock up to date; otherwise that lags by up to a
 * tick of the scheduler. */
static void
note_stopped(struct sampler *s, const struct snapshot *snap)
{
	for (size_t i = 0; i < snap->len; i++) {
		const struct thread_facts *f = &snap->threads[i].facts;
		struct seen *th = find_thread(s, snap->threads[i].tid);

		if (th && f->cpu_ns > th->cpu_ns)
			th->cpu_ns = f->cpu_ns;
	}
	read_clock(s);
}

/* Where the scheduler left it is better than nothing. */
static bool
is_fair(const struct sampler *s, const struct snapshot_thread *copy)
{
	const struct seen *th = find_thread(s, copy->tid);

	return th && (!copy->waited ||
		      pending_of(th) > patience(s));
}

/* We share when nobody stands any more: maps and stacks may take long. */
static bool
copy_running(struct sampler *s, struct snapshot *snap)
{
	const bool copied = s->running_count &&
		snapshot_running(s->opt->target, s->running, s->running_count,
				 s->came_at, STOP_LIMIT_NS, STACK_MAX,
				 snap) == 0;

	sampler_share(s);
	sync_maps(s, false);
	return copied;
}

static void
sample_running(struct sampler *s)
{
	struct snapshot snap;

	if (!copy_running(s, &snap))
		return;
	s->stood_ns += snap.pause_total_ns;
	s->stops += snap.stops;
	recorder_stops(s->rec, snap.stops, snap.pause_total_ns, snap.pause_ns);
	note_stopped(s, &snap);
	for (size_t i = 0; i < snap.len; i++)
		if (is_fair(s, &snap.threads[i]))
			take_sample(s, &snap.threads[i]);
	snapshot_fini(&snap);
	for (size_t i = 0; i < s->running_count; i++) {
		struct seen *th = find_thread(s, s->running[i]);

		if (th && !th->sampled)
			book_gap(s, th, "not stopped");
	}
}

static void
peek_waiting(struct sampler *s)
{
	for (size_t i = 0; i < s->waiting_count; i++) {
		struct snapshot_thread copy;

		if (peek_thread(s->opt->target, s->waiting[i], STACK_MAX,
				&copy) < 0)
			continue;	/* it runs: the next look may find it */
		copy.facts.in_syscall = true;
		take_sample(s, &copy);
		free(copy.stack);
	}
}

/*
 * A look that comes late comes when the scheduler likes it, and finds threads
 * where that took their processor from them; one that is in time takes it
 * from them anywhere.
 */
void
sampler_hurry(struct sampler *s)
{
	if (!s->hurries)
		urgent_begin(&s->urgent);
	s->hurries = true;
}

void
sampler_share(struct sampler *s)
{
	if (s->hurries)
		urgent_end(&s->urgent);
	s->hurries = false;
}

/* ---- a look ------------------------------------------------------------- */

static void
plan_stop(struct sampler *s, pid_t tid)
{
	s->running = xgrow(s->running, &s->running_cap, s->running_count + 1,
			   sizeof *s->running);
	s->running[s->running_count++] = tid;
}

static void
plan_peek(struct sampler *s, pid_t tid)
{
	s->waiting = xgrow(s->waiting, &s->waiting_cap, s->waiting_count + 1,
			   sizeof *s->waiting);
	s->waiting[s->waiting_count++] = tid;
}

/* It has used some; or its clock lags, for a tick of the scheduler at most:
 * who waits longer than that for a processor has an exact one. */
static bool
uses_cpu(const struct sampler *s, const struct seen *th)
{
	return pending_of(th) || s->looked_at - th->moved_at < LAG_NS;
}

/*
 * Who moves much in one call waits in it, mostly, and is not to be stopped:
 * each thread is watched at work for a while before its first stop. Newborn
 * ones are taken to be like those that were watched.
 */
static bool
is_known(const struct sampler *s, const struct seen *th)
{
	return th->watched > WATCH_LOOKS ||
		(th->newborn && !s->transfers && s->looks > WATCH_LOOKS);
}

static void
plan_thread(struct sampler *s, struct seen *th, char state)
{
	const uint64_t pending = pending_of(th);

	th->watched++;
	th->sampled = false;
	th->ran = state == 'R';
	if (th->ran && !th->transfers && uses_cpu(s, th) &&
	    is_known(s, th))
		plan_stop(s, th->tid);
	else if (th->ran)
		book_gap(s, th, "transfer");
	if (state != 'S' || !pending)
		return;
	if (!th->transfers && thread_in_transfer(s->opt->target, th->tid))
		spare(s, th);
	if (pending > (th->transfers ? s->opt->interval_ns : patience(s)))
		plan_peek(s, th->tid);
}

static void
note_state(struct seen *th, const struct state *st)
{
	th->cpu = st->cpu;
	if (st->system_ns > th->system_base_ns) {
		th->system_due_ns +=
			(int64_t)(st->system_ns - th->system_base_ns);
		th->system_base_ns = st->system_ns;
	}
}

/* One that does not run and has not run is done with by one reading. */
static void
read_thread(struct sampler *s, pid_t tid)
{
	struct seen *th = find_thread(s, tid);
	uint64_t cpu_ns;

	if (!read_cpu(s, tid, &cpu_ns))
		return;			/* now, or any more */
	if (th && cpu_ns == th->cpu_ns && !th->ran) {
		th->round = s->round;
		return;
	}

	const struct state st = read_state(s, tid);

	if (!st.letter)
		return;
	if (!th)
		th = add_thread(s, tid, cpu_ns, st.system_ns);
	if (cpu_ns != th->cpu_ns)
		th->moved_at = s->looked_at;
	th->cpu_ns = cpu_ns;
	th->round = s->round;
	note_state(th, &st);
	plan_thread(s, th, st.letter);
}

static void
read_threads(struct sampler *s)
{
	pid_t *tids = NULL;
	size_t cap = 0;
	const ssize_t n = target_threads(s->opt->target, &tids, &cap);

	s->round++;
	s->running_count = s->waiting_count = 0;
	for (ssize_t i = 0; i < n; i++)
		read_thread(s, tids[i]);
	free(tids);
	fail_clear();
}

/* Those that were not found: their rest is known but for the last bit, which
 * only the process's clock has. One whose clock could not be read comes back
 * as a new one. */
static void
drop_ended(struct sampler *s)
{
	uint64_t tid, slot;
	size_t at = 0;

	while (map_next(&s->threads, &at, &tid, &slot)) {
		struct seen *th = (struct seen *)(uintptr_t)slot;

		if (th->round == s->round)
			continue;
		book_rest(s, th, weight_of(s, th));
		free(th);
		map_remove(&s->threads, tid);
		at--;		/* another may have moved here */
	}
}

static uint64_t
pending_of_all(const struct sampler *s)
{
	uint64_t tid, slot, pending = 0;
	size_t at = 0;

	while (map_next(&s->threads, &at, &tid, &slot))
		pending += pending_of((struct seen *)(uintptr_t)slot);
	return pending;
}

/* Clocks are not read in one instant, and all processors may run it. */
static void
book_unseen(struct sampler *s)
{
	const uint64_t took = now_ns() - s->looked_at;
	const uint64_t known = pending_of_all(s) + UNSEEN_NS +
		took * (uint64_t)sysconf(_SC_NPROCESSORS_ONLN);
	const uint64_t left = unbooked(s);

	if (left <= known)
		return;
	recorder_unsampled(s->rec, now_ns(), target_pid(s->opt->target),
			   left - known);
	s->booked_ns += left - known;
}

void
sampler_look(struct sampler *s, uint64_t came_at)
{
	const uint64_t clock_ns = s->clock_ns;

	read_clock(s);
	/* it lags, so whoever ran may have run on */
	if (s->clock_ns == clock_ns && !s->running_count)
		return;
	s->before = s->looked_at;
	s->looked_at = now_ns();
	s->came_at = came_at;
	s->looks++;
	read_threads(s);
	sample_running(s);
	peek_waiting(s);
	read_clock(s);
	drop_ended(s);
	book_unseen(s);
}

/* ---- a stretch ---------------------------------------------------------- */

static void
forget_threads(struct sampler *s)
{
	uint64_t tid, slot;
	size_t at = 0;

	while (map_next(&s->threads, &at, &tid, &slot))
		free((void *)(uintptr_t)slot);
	map_fini(&s->threads);
}

void
sampler_begin(struct sampler *s)
{
	forget_threads(s);
	s->before = s->looked_at = 0;
	s->looks = 0;
	read_threads(s);
	s->looked_at = s->synced_at = now_ns();
	read_clock(s);
	s->clock_start_ns = s->clock_ns;
	s->booked_ns = 0;
	s->latest_tid = 0;
}

/* Rests are not more than what is left of the process's clock, nor, but for
 * an interval of each thread, less. */
static double
scale_of_rests(const struct sampler *s)
{
	const uint64_t left = unbooked(s);
	uint64_t tid, slot, rests = 0, slack = 0;
	size_t at = 0;

	while (map_next(&s->threads, &at, &tid, &slot)) {
		rests += pending_of((struct seen *)(uintptr_t)slot);
		slack += s->opt->interval_ns;
	}
	if (!rests || (rests <= left && left > rests + slack))
		return 1;
	return (double)left / (double)rests;
}

/* What is left belongs to the only thread there is, or to none that we know. */
static void
book_last(struct sampler *s)
{
	const uint64_t left = unbooked(s);
	struct seen *th = find_thread(s, (pid_t)s->latest_tid);

	if (left < NEGLIGIBLE_NS)
		return;
	if (th && th->frinfo &&
	    (s->threads.len == 1 || left < s->opt->interval_ns)) {
		book_rest(s, th, left);
		return;
	}
	recorder_unsampled(s->rec, now_ns(), target_pid(s->opt->target), left);
	s->booked_ns += left;
}

void
sampler_end(struct sampler *s)
{
	uint64_t tid, slot;
	size_t at = 0;

	if (!target_gone(s->opt->target))
		read_threads(s);
	read_clock(s);

	const double scale = scale_of_rests(s);

	while (map_next(&s->threads, &at, &tid, &slot)) {
		struct seen *th = (struct seen *)(uintptr_t)slot;

		book_rest(s, th, (uint64_t)((double)pending_of(th) * scale));
	}
	book_last(s);
}

void
sampler_fini(struct sampler *s)
{
	forget_threads(s);
	free(s->running);
	free(s->waiting);
}
