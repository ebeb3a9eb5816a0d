/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * One collection: an experiment, a recorder with its engine, and when to do
 * what. Lives in the tracer process from `enable` to `disable`, the end of
 * the target, an exec, or the size limit.
 *
 *	collecting <-> paused
 *	    \            /
 *	     -> closed <-
 */
#include "collection.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define DRAIN_NS	100000000ull	/* what a kill of everything may lose */
#define FIRST_DRAIN_NS	5000000ull	/* soon: somebody may wait to see it */
#define LEAST_DRAIN_NS	2000000ull
#define CHILDREN_NS	250000000ull

enum { CROWDED = 25 };	/* percent */

/* ---- life ---------------------------------------------------------------- */

static int
start_recording(struct collection *c, enum collection_way way)
{
	const struct recorder_options options = {
		.target = c->target, .settings = &c->settings,
		.interval_ns = c->settings.interval_ns,
		.stack_bytes = c->settings.stack_bytes,
		.at_start = way == AT_START,
	};
	struct recorder_options o = options;

	if (collection_create(c, way == ATTACHED) < 0)
		return -1;
	/* what is kept has its directory at the end */
	if (!c->settings.keep_ns && collection_write_notes(c) < 0)
		return -1;
	c->space = unwind_space_new();
	c->mapper = mapper_new(c->target, c->space, c->exp);
	/* maps before clocks: the first sample finds its load objects */
	if (mapper_sync(c->mapper, c->start_ns) < 0)
		return -1;
	o.exp = c->exp;
	o.space = c->space;
	o.mapper = c->mapper;
	o.look = c->look;
	if (c->settings.profile &&
	    !(c->rec = recorder_new(&o, c->settings.engine)))
		return -1;

	(void)collection_read_usage(c);

	/* at one moment: many threads wait through what lies between two */
	const uint64_t began = c->rec ? recorder_begin_waits(c->rec) :
		now_ns();

	/* many threads take milliseconds: the clocks need not wait for it */
	usage_read_switches(&c->switches, c->target, &c->usage, USAGE_ALL);
	experiment_sample(c->exp, began, "collector_open_experiment",
			  &c->usage);
	if (!c->rec)
		return 0;
	collection_write_engine(c);
	collection_write_threads(c);
	return experiment_flush(c->exp);
}

void
collection_free(struct collection *c)
{
	recorder_free(c->rec);
	mapper_free(c->mapper);
	unwind_space_free(c->space);
	settings_fini(&c->settings);
	usage_switches_fini(&c->switches);
	offspring_fini(&c->offspring);
	str_fini(&c->trouble);
	if (c->dir_fd >= 0)
		close(c->dir_fd);
	free(c->path);
	free(c);
}

struct collection *
collection_start(struct target *t, const struct settings *s,
		 enum collection_way way, struct look_back *look)
{
	struct collection *c = xcalloc(1, sizeof *c);
	struct wire_message copy;

	wire_init(&copy, WIRE_ENABLE);
	wire_put_settings(&copy, s);
	wire_take_settings(&copy, &c->settings);
	wire_fini(&copy);
	c->target = t;
	c->look = look;
	c->standing = way == AT_START;
	c->path = collection_choose_path(s);
	c->dir_fd = -1;
	c->owner = c->group = 65534;	/* if it ends before it is asked */
	c->start_ns = now_ns();
	c->marks = *target_marks(t);
	c->drain_ns = FIRST_DRAIN_NS;
	c->next_drain_ns = c->start_ns + FIRST_DRAIN_NS;
	c->next_sample_ns = s->sample_period_ns ?
		c->start_ns + s->sample_period_ns : UINT64_MAX;
	if (start_recording(c, way) == 0) {
		experiment_began(c->exp);
		return c;
	}
	if (c->exp) {
		recorder_free(c->rec);
		c->rec = NULL;
		if (c->settings.keep_ns)
			(void)experiment_close(c->exp, now_ns(), "not started");
		else
			experiment_abandon(c->exp);
	}
	collection_free(c);
	return NULL;
}

/* Until now it stood for us to begin, which is no wait of the program's. */
void
collection_runs(struct collection *c)
{
	if (!c->standing)
		return;
	c->standing = false;
	if (!c->rec || c->paused)
		return;
	recorder_restart_waits(c->rec);
	if (recorder_start(c->rec) < 0)
		str_addf(&c->trouble, "%snothing was sampled: %s",
			 c->trouble.len ? ", " : "", fail_last()->reason);
}

/* Its clocks are on. */
static bool
samples(const struct collection *c)
{
	return c->rec && !c->paused && !c->standing;
}

size_t
collection_pollfds(struct collection *c, struct pollfd *fds, size_t max)
{
	return samples(c) ? recorder_pollfds(c->rec, fds, max) : 0;
}

static uint64_t
work_due(const struct collection *c)
{
	return c->next_drain_ns < c->next_sample_ns ?
		c->next_drain_ns : c->next_sample_ns;
}

uint64_t
collection_deadline(const struct collection *c)
{
	const uint64_t work = work_due(c);
	const uint64_t look = samples(c) ?
		recorder_look_due(c->rec) : UINT64_MAX;

	return look < work ? look : work;
}

static void
check_limit(struct collection *c)
{
	const uint64_t limit = c->settings.limit_mb << 20;

	/* what is kept is held below it */
	if (!limit || c->settings.keep_ns || c->over_limit ||
	    experiment_size(c->exp) < limit)
		return;
	c->over_limit = true;
	/* it is not resumed */
	if (c->rec)
		recorder_end_calls(c->rec);
	(void)collection_pause(c, "size-limit");
}

static int
flush(struct collection *c)
{
	return c->rec ? recorder_flush(c->rec) : experiment_flush(c->exp);
}

/* Deep stacks fill in milliseconds what others fill in a second: a drain that
 * finds it more than a quarter full comes sooner the next time. The time counts
 * from the last drain, whatever that was for. */
static void
plan_drain(struct collection *c, uint64_t now)
{
	const unsigned crowding = samples(c) ? recorder_crowding(c->rec) : 0;

	if (crowding > CROWDED)
		c->drain_ns = c->drain_ns * CROWDED / crowding;
	else if (now >= c->next_drain_ns)
		c->drain_ns *= 2;
	if (c->drain_ns < LEAST_DRAIN_NS)
		c->drain_ns = LEAST_DRAIN_NS;
	if (c->drain_ns > DRAIN_NS)
		c->drain_ns = DRAIN_NS;
	c->next_drain_ns = now + c->drain_ns;
}

/* What is between two samples is a whole. */
static void
settle(struct collection *c)
{
	if (c->rec)
		recorder_settle(c->rec);
}

bool
collection_work(struct collection *c)
{
	const uint64_t now = now_ns();

	if (samples(c) && recorder_look_wanted(c->rec, now)) {
		/* whatever is there to be drained wakes us at once again */
		if (recorder_look(c->rec) && now < work_due(c))
			return !recorder_counts(c->rec)->execed;
	}
	if (samples(c)) {
		if (now < work_due(c) && !recorder_ripe(c->rec))
			return !recorder_counts(c->rec)->execed;
		recorder_drain(c->rec, false);
	}
	if (now >= c->next_sample_ns) {
		if (!c->paused && !target_gone(c->target)) {
			(void)mapper_sync(c->mapper, now);
			settle(c);
			collection_take_sample(c, "periodic", 0);
		}
		c->next_sample_ns = now + c->settings.sample_period_ns;
	}
	if (now >= c->children_due_ns) {
		collection_note_children(c);
		c->children_due_ns = now + CHILDREN_NS;
	}
	plan_drain(c, now);
	check_limit(c);
	/* A disk may keep us for as long as it likes: not while the target
	 * stands, since we are who would notice that the shell is gone. */
	if (!target_held(c->target))
		(void)flush(c);	/* refusals of the disk are counted */
	return !c->rec || !recorder_counts(c->rec)->execed;
}

int
collection_pause(struct collection *c, const char *who)
{
	if (c->paused)
		return 0;

	/* many threads take a while, which is in no account */
	const uint64_t end = c->rec ? recorder_end_waits(c->rec) : 0;

	collection_take_sample(c, "collector_pause", end);
	if (c->rec && recorder_run(c->rec, false) < 0)
		return -1;
	c->paused = true;
	experiment_pause(c->exp, now_ns(), who);
	return flush(c);
}

int
collection_resume(struct collection *c)
{
	if (!c->paused)
		return 0;
	if (c->over_limit)
		return fail(FAIL_GENERAL, "%s has reached its size limit of "
			    "%llu MB", c->path,
			    (unsigned long long)c->settings.limit_mb);
	experiment_resume(c->exp, now_ns());
	if (mapper_sync(c->mapper, now_ns()) < 0 ||
	    (c->rec && recorder_run(c->rec, true) < 0))
		return -1;
	c->paused = false;
	collection_take_sample(c, "collector_resume", 0);
	return experiment_flush(c->exp);
}

int
collection_sample(struct collection *c, const char *label)
{
	/* a moment that is marked is marked, also in a pause: then there is
	 * nothing of the clocks to be drained */
	if (!c->paused) {
		(void)mapper_sync(c->mapper, now_ns());
		if (c->rec)
			recorder_drain(c->rec, false);
		settle(c);
	}
	collection_take_sample(c, label && *label ? label : "manual", 0);
	return experiment_flush(c->exp);
}

bool
collection_paused(const struct collection *c)
{
	return c->paused;
}

const char *
collection_path(const struct collection *c)
{
	return c->path;
}

int
collection_directory(const struct collection *c)
{
	return c->dir_fd;
}

void
collection_note_stop(struct collection *c, uint64_t pause_ns)
{
	if (c->rec)
		recorder_stopped(c->rec, pause_ns);
}

void
collection_stop_sample(struct collection *c)
{
	if (c->settings.dbx_sample && !c->paused)
		collection_sample_here(c, "dbxsample");
}

void
collection_give_register(struct collection *c)
{
	if (c->rec)
		recorder_give_register(c->rec);
}
