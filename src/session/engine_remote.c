/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * The remote engine: the target is looked at from outside, once in each
 * interval of the wall's clock, where neither the kernel samples for us nor
 * anything can be loaded. Needs ptrace, for moments, and nothing else.
 *
 * A timer of ours says when. Looks come no faster than what they cost allows:
 * of the target's time a bounded share is spent standing, and of ours one
 * looking, so an interval that is too short is stretched, and said to be.
 */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <sys/timerfd.h>
#include <unistd.h>

#include "hazard.h"
#include "sampler.h"

enum {
	STAND_SHARE = 20,	/* a thread stands for 1/20 of its time */
	LOOK_SHARE = 8,		/* and we look for 1/8 of ours */
	STRETCH_MAX = 100,	/* intervals */
	COMING_NS = 150 * 1000,	/* from our timer to the look, at most */
};

struct remote {
	struct sampler sampler;
	const struct recorder_options *opt;
	int timer;
	uint64_t due_ns;	/* the next look */
	uint64_t interval_ns;	/* between looks, now */
	uint64_t looks, began_ns;	/* of this recording */
	uint64_t on_ns;		/* how long it was on, before this stretch */
	char *auxv;		/* of the program that we record */
	size_t auxv_size;
	bool running;
};

/* ---- exec --------------------------------------------------------------- */

/* What the kernel told the program at its start: addresses that are new in
 * each. NULL: it is on its way out, or not ours to read any more. */
static char *
read_auxv(const struct remote *e, size_t *size)
{
	char *text = file_read_at(target_proc(e->opt->target), "auxv", size);

	if (text && *size)
		return text;
	free(text);
	return NULL;
}

/* Nobody tells us of an exec, and what threads use from then on is another
 * program's. */
static bool
has_execed(struct remote *e)
{
	size_t size;
	char *auxv = read_auxv(e, &size), *comm;
	const bool same = !auxv || (size == e->auxv_size &&
				    memcmp(auxv, e->auxv, size) == 0);

	free(auxv);
	if (same || !(comm = file_read_at(target_proc(e->opt->target), "comm",
					  NULL)))
		return false;
	recorder_exec(e->sampler.rec, now_ns(), str_chomp(comm));
	free(comm);
	return true;
}

/* ---- when to look ------------------------------------------------------- */

static void
set_timer(struct remote *e, uint64_t at_ns)
{
	const struct itimerspec when = {
		.it_value = { (time_t)(at_ns / 1000000000),
			      (long)(at_ns % 1000000000) },
	};

	e->due_ns = at_ns;
	/* it cannot fail with these arguments; the loop's own wakes remain */
	(void)timerfd_settime(e->timer, TFD_TIMER_ABSTIME, &when, NULL);
}

/* The next look, after one that cost so much and let threads stand. */
static void
pace(struct remote *e, uint64_t cost_ns, uint64_t stood_ns, unsigned stops)
{
	const uint64_t asked = e->opt->interval_ns, now = now_ns();
	uint64_t need = cost_ns * LOOK_SHARE;

	if (stops && stood_ns / stops * STAND_SHARE > need)
		need = stood_ns / stops * STAND_SHARE;
	if (need > STRETCH_MAX * asked)
		need = STRETCH_MAX * asked;
	/* by and by: one slow look says little */
	e->interval_ns = (7 * e->interval_ns + (need > asked ? need : asked)) /
		8;
	if (e->interval_ns < asked)
		e->interval_ns = asked;

	uint64_t next = e->due_ns + e->interval_ns;

	/* late: what was missed is not made up for */
	if (next < now + e->interval_ns / 2)
		next = now + e->interval_ns / 2;
	set_timer(e, next);
}

static void
look(struct remote *e)
{
	struct sampler *s = &e->sampler;
	const uint64_t began = thread_cpu_ns(), stood = s->stood_ns;
	const uint64_t now = now_ns();
	const unsigned stops = s->stops;

	e->looks++;
	/* in time: whoever had our processor lost it to our timer */
	if (!has_execed(e))
		sampler_look(s, now - e->due_ns < COMING_NS ? e->due_ns : now);
	/* to wait for a thread to stop costs nobody anything */
	pace(e, thread_cpu_ns() - began, s->stood_ns - stood, s->stops - stops);
}

/* ---- the engine --------------------------------------------------------- */

/* Asked right before each wait. */
static size_t
remote_pollfds(void *engine, struct pollfd *fds, size_t max)
{
	struct remote *e = engine;

	if (!max)
		return 0;
	sampler_hurry(&e->sampler);
	fds[0] = (struct pollfd){ e->timer, POLLIN, 0 };
	return 1;
}

static void
remote_drain(void *engine, bool final)
{
	struct remote *e = engine;

	if (final)
		sampler_end(&e->sampler);
	else if (now_ns() >= e->due_ns && !target_gone(e->opt->target) &&
		 !recorder_counts(e->sampler.rec)->execed)
		look(e);
	sampler_share(&e->sampler);
}

static void
remote_catch_up(void *engine)
{
	struct remote *e = engine;

	sampler_catch_up(&e->sampler);
}

static int
remote_run(void *engine, bool on)
{
	struct remote *e = engine;
	struct sampler *s = &e->sampler;

	if (on == e->running)
		return 0;
	e->running = on;
	if (on) {
		sampler_begin(s);
		recorder_clock(s->rec, true, s->clock_ns);
		e->began_ns = now_ns();
		set_timer(e, e->began_ns + e->interval_ns);
		return 0;
	}
	e->on_ns += now_ns() - e->began_ns;
	if (handled(HAZARD_LATE_STOP))
		target_let_go_late(e->opt->target);
	remote_drain(e, true);
	recorder_clock(s->rec, false, s->clock_ns);
	return 0;
}

static void
free_remote(struct remote *e)
{
	if (e->timer >= 0)
		close(e->timer);
	sampler_fini(&e->sampler);
	free(e->auxv);
	free(e);
}

static void
tell_stretch(const struct remote *e, struct str *text)
{
	const double asked = (double)e->opt->interval_ns / 1e6;
	const double had = e->looks ?
		(double)e->on_ns / 1e6 / (double)e->looks : asked;

	if (had > asked * 1.5)
		str_addf(text, "looked at every %.1f ms, not %.1f: more often "
			 "would have cost too much", had, asked);
}

static void
tell_late(const struct sampler *s, struct str *text)
{
	if (s->late)
		str_addf(text, "%s%u of %u stops came so late that a system "
			 "call had begun: their time went to the stack before "
			 "it", text->len ? "; " : "", s->late, s->stops);
}

static void
remote_stop(void *engine, struct str *clean)
{
	struct remote *e = engine;

	(void)remote_run(e, false);
	tell_stretch(e, clean);
	tell_late(&e->sampler, clean);
	free_remote(e);
}

static void *
remote_start(struct recorder *rec, const struct recorder_options *o,
	     const char **why)
{
	struct remote *e = xcalloc(1, sizeof *e);

	e->opt = e->sampler.opt = o;
	e->sampler.rec = rec;
	e->interval_ns = o->interval_ns;
	e->timer = -1;
	if (target_check_ptrace(o->target) < 0) {
		free_remote(e);
		return NULL;
	}
	e->timer = timerfd_create(CLOCK_MONOTONIC, TFD_CLOEXEC | TFD_NONBLOCK);
	if (e->timer < 0) {
		fail_errno("make a timer");
		free_remote(e);
		return NULL;
	}
	e->auxv = read_auxv(e, &e->auxv_size);
	if (!o->held)
		(void)remote_run(e, true);
	*why = "each running thread is stopped for a copy of its stack; "
		"user:system is estimated, by whether it is in a call then "
		"and by utime:stime";
	return e;
}

const struct engine_ops engine_remote = {
	.name = "remote", .start = remote_start, .pollfds = remote_pollfds,
	.drain = remote_drain, .run = remote_run, .stop = remote_stop,
	.catch_up = remote_catch_up,
};
