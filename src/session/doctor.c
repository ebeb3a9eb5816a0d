/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * What would work with a process, found out by asking as the real thing would
 * ask, up to the point where it would begin: a line for each way in, what is
 * in the way with its remedy below, then what is particular about it. The
 * process runs on untouched.
 */
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include "clock.h"
#include "inject.h"
#include "private.h"

struct exam {
	struct target *t;
	void (*visit)(void *arg, bool ok, const char *subject,
		      const char *text);
	void *arg;
	size_t ways;		/* that work */
	char *libc;		/* NULL: not looked at */
};

static void
works(struct exam *e, const char *way, const char *how)
{
	e->ways++;
	e->visit(e->arg, true, way, how);
}

/* Remedies name ring, which is no way where perf is refused: remote loads
 * nothing either, but it needs ptrace. */
void
engine_remedy(void)
{
	static const char ring[] = "--engine ring (in the shell: collector "
		"engine ring)";
	static const char no_trace[] = "--engine ring, which needs no ptrace";
	const char *text = fail_last()->remedy;
	const char *at = strstr(text, ring), *dead = strstr(text, no_trace);
	char *other = NULL;

	if ((!at && !dead) || !clock_is_refused())
		return;
	if (at)
		other = xasprintf("%.*s--engine remote (in the shell: "
				  "collector engine remote)%s",
				  (int)(at - text), text,
				  at + sizeof ring - 1);
	else if (dead - text > (ptrdiff_t)sizeof ", or: " - 1)
		other = xasprintf("%.*s", (int)(dead - text -
				  (ptrdiff_t)(sizeof ", or: " - 1)), text);
	fail_remedy("%s", other ? other : "");
	free(other);
}

static void
refused(struct exam *e, const char *way)
{
	engine_remedy();

	const struct failure f = *fail_last();

	e->visit(e->arg, false, way, f.reason);
	if (*f.remedy)
		e->visit(e->arg, false, "fix", f.remedy);
}

/* With nothing but perf: no trace, nothing put into it. */
static void
examine_ring(struct exam *e)
{
	if (clock_possible(target_pid(e->t), target_live_thread(e->t)) < 0)
		refused(e, "ring");
	else
		works(e, "ring", "the kernel samples it, nothing is put into "
		      "it");
}

static void
examine_inject(struct exam *e)
{
	if (inject_possible(e->t, &e->libc) < 0)
		refused(e, "inject");
	else
		works(e, "inject", clock_is_refused() ?
		      "the collector can be loaded; its clocks are timers, "
		      "as perf is refused" : "the collector can be loaded");
}

static void
examine_breakpoints(struct exam *e)
{
	const char *why = target_why_traps(e->t);

	if (!why) {
		works(e, "breakpoints", "stop in, when, where");
		return;
	}
	if (target_check_alone(e->t) < 0) {
		refused(e, "breakpoints");
		return;
	}
	fail(FAIL_UNSUITABLE, "only by traps in its text: %s", why);
	(void)fail_remedy("remove what is in the way, or stop in FUNCTION "
			  "-trap (kill -9 of sonde could end it then)");
	refused(e, "breakpoints");
}

static void
examine_ways(struct exam *e)
{
	if (target_check_rights(e->t) < 0) {
		refused(e, "attach");
		return;
	}
	examine_ring(e);
	if (target_check_ptrace(e->t) < 0) {
		refused(e, "inject, stop");
		return;
	}
	examine_inject(e);
	examine_breakpoints(e);
	works(e, "remote", "it can be stopped and looked at from outside");
}

static int
examine_process(pid_t pid, struct exam *e)
{
	e->t = target_open(pid);
	if (!e->t)
		return -1;

	char *who = xasprintf("%d (%s)", (int)pid, target_name(e->t));

	e->visit(e->arg, true, "process", who);
	free(who);
	examine_ways(e);

	/* the last failure stays: it is why nothing works */
	const struct failure f = *fail_last();
	char *reason = xstrdup(f.reason), *remedy = xstrdup(f.remedy);

	target_doctor(e->t, e->libc, e->visit, e->arg);
	free(e->libc);
	target_close(e->t);
	fail(f.kind, "%s", reason);
	fail_remedy("%s", remedy);
	free(reason);
	free(remedy);
	if (e->ways)
		fail_clear();
	return !e->ways;
}

int
session_doctor(pid_t pid,
	       void (*visit)(void *arg, bool ok, const char *subject,
			     const char *text),
	       void *arg)
{
	struct exam e = { .visit = visit, .arg = arg };

	if (pid)
		return examine_process(pid, &e);
	host_doctor(visit, arg);
	return 0;
}
