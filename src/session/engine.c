/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Which engine records: the one that was asked for, or the one that does the
 * least harm of those that work here; and why, in the user's words.
 */
#include "private.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

struct start {
	struct recorder *rec;
	const struct recorder_options *opt;
	struct engine *engine;
};

static int
start(struct start *s, const struct engine_ops *ops)
{
	const char *why = NULL;

	s->engine->ops = ops;
	s->engine->self = ops->start(s->rec, s->opt, &why);
	if (!s->engine->self)
		return -1;
	s->engine->why = xstrdup(why ? why : "");
	return 0;
}

/* "kernel.perf_event_paranoid is 3", or what the kernel answered. */
static char *
why_no_perf(void)
{
	const char *reason = fail_last()->reason;
	const char *detail = strstr(reason, ": ");
	char *text = file_read("/proc/sys/kernel/perf_event_paranoid", NULL);
	const long level = text ? strtol(text, NULL, 10) : -1;

	free(text);
	if (geteuid() != 0 && level > 2)
		return xasprintf("perf refused by perf_event_paranoid %ld",
				 level);
	return xasprintf("perf refused: %s", detail ? detail + 2 : reason);
}

/* The innermost reason: "process 42: load the collector: " is ours. */
static char *
why_no_guest(void)
{
	const char *reason = fail_last()->reason;
	const char *detail = strstr(reason, "load the collector: ");

	return xstrdup(detail ? strchr(detail, ':') + 2 : reason);
}

/*
 * auto takes the least harmful engine that works here: ring puts nothing into
 * the target and never stops it; inject stops one thread for a moment; remote
 * stops what runs again and again, and is for those where nothing can be
 * loaded.
 */
static int
start_best(struct start *s)
{
	if (start(s, &engine_ring) == 0)
		return 0;
	if (fail_last()->kind != FAIL_DENIED)
		return -1;

	char *no_perf = why_no_perf();
	int r = start(s, &engine_inject);

	if (r < 0 && fail_last()->kind == FAIL_UNSUITABLE) {
		char *no_guest = why_no_guest();

		r = start(s, &engine_remote);
		if (r == 0) {
			char *why = s->engine->why;

			s->engine->why = xasprintf("nothing can be loaded "
						   "(%s), %s: %s", no_guest,
						   no_perf, why);
			free(why);
		}
		free(no_guest);
	}
	free(no_perf);
	return r;
}

int
engine_start(struct recorder *rec, const struct recorder_options *o,
	     enum session_engine wanted, struct engine *engine)
{
	struct start s = { rec, o, engine };

	switch (wanted) {
	case ENGINE_RING:
		return start(&s, &engine_ring);
	case ENGINE_INJECT:
		if (start(&s, &engine_inject) == 0)
			return 0;
		engine_remedy();
		return -1;
	case ENGINE_REMOTE:
		return start(&s, &engine_remote);
	case ENGINE_AUTO:
		break;
	}
	return start_best(&s);
}
