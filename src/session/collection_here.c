/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Recording is switched off and on at a hit, perhaps thousands of times in a
 * second. What is as good a while later is left for then: records of samples,
 * and, of resource samples, all but a few.
 */
#include "collection.h"

#define SAMPLE_NS	100000000ull

bool
collection_is_quick(const struct collection *c)
{
	return !c->stopped && (!c->rec || recorder_is_quick(c->rec));
}

const char *
collection_engine(const struct collection *c)
{
	return c->rec ? recorder_engine(c->rec) : "none";
}

bool
collection_may_resume(const struct collection *c)
{
	return !c->over_limit;
}

static bool
sample_is_due(struct collection *c, uint64_t now)
{
	if (now - c->sampled_here_ns < SAMPLE_NS)
		return false;
	c->sampled_here_ns = now;
	return true;
}

int
collection_pause_here(struct collection *c)
{
	if (c->paused)
		return 0;

	const uint64_t end = c->rec ? recorder_rest_waits(c->rec) : 0;

	if (sample_is_due(c, now_ns()))
		collection_take_sample(c, "collector_pause", end);
	if (c->rec && recorder_run(c->rec, false) < 0)
		return -1;
	c->paused = true;
	experiment_pause(c->exp, now_ns(), "API");
	return 0;
}

int
collection_resume_here(struct collection *c)
{
	if (!c->paused)
		return 0;
	experiment_resume(c->exp, now_ns());
	if (mapper_sync(c->mapper, now_ns()) < 0 ||
	    (c->rec && recorder_run(c->rec, true) < 0))
		return -1;
	c->paused = false;
	return 0;
}

void
collection_sample_here(struct collection *c, const char *label)
{
	if (!c->paused)
		(void)mapper_sync(c->mapper, now_ns());
	if (c->rec && !c->paused) {
		recorder_drain(c->rec, false);
		recorder_settle(c->rec);
	}
	collection_take_sample(c, *label ? label : "manual", 0);
}
