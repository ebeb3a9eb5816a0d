/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Time that no sample has: what was lost, with its cause, and what nobody
 * could sample. It gets a row of its own, and is told.
 */
#include "recorder.h"

#include <stdlib.h>
#include <string.h>

enum {
	MODES_EVERY_NS = 100 * 1000 * 1000,
	UNSAMPLED_LEAST_NS = 20 * 1000 * 1000,	/* less is not told */
};

/* A target that is gone leaves the last reading. */
void
losses_read_modes(struct recorder *rec)
{
	const uint64_t now = now_ns();
	struct task_stat st;

	if (rec->modes.read_at && now - rec->modes.read_at < MODES_EVERY_NS)
		return;
	if (target_stat(rec->opt.target, &st) == 0)
		rec->modes = (struct modes){ st.field[STAT_UTIME],
					     st.field[STAT_STIME], now };
}

/* No tick tells in which mode this time went: the process's own clocks do,
 * so that user and system time are the whole of it. */
static void
book_unknown(struct recorder *rec, uint64_t time_ns, pid_t tid,
	     uint64_t weight_ns, uint64_t frinfo)
{
	losses_read_modes(rec);

	const uint64_t user = rec->modes.user - rec->first_modes.user;
	const uint64_t system = rec->modes.system - rec->first_modes.system;
	uint64_t part = user + system ?
		(uint64_t)((double)weight_ns * (double)system /
			   (double)(user + system)) : 0;

	part = recorder_system_of(rec, tid, weight_ns, part);

	recorder_book(rec, time_ns, tid, MSTATE_USER, weight_ns - part,
		      frinfo);
	recorder_book(rec, time_ns, tid, MSTATE_SYSTEM, part, frinfo);
}

/* Its number is that of no thread. */
static void
name_nobody(struct recorder *rec, uint64_t time_ns, pid_t tid)
{
	if (tid != RECORDER_NO_THREAD || rec->nobody_named)
		return;
	rec->nobody_named = true;
	recorder_thread_name(rec, time_ns, tid, "not known which");
}

/* ---- what no sample has -------------------------------------------------- */

static struct loss *
loss_of(struct recorder *rec, const char *cause, const char *detail)
{
	for (size_t i = 0; i < rec->loss_count; i++)
		if (strcmp(rec->losses[i].cause, cause) == 0 &&
		    strcmp(rec->losses[i].detail, detail) == 0)
			return &rec->losses[i];

	rec->losses = xgrow(rec->losses, &rec->loss_cap, rec->loss_count + 1,
			    sizeof *rec->losses);

	struct loss *l = &rec->losses[rec->loss_count++];

	*l = (struct loss){0};
	snprintf(l->cause, sizeof l->cause, "%s", cause);
	snprintf(l->detail, sizeof l->detail, "%s", detail);
	return l;
}

void
recorder_lost(struct recorder *rec, uint64_t time_ns, const char *cause,
	      const char *detail, pid_t tid, uint64_t samples,
	      uint64_t weight_ns)
{
	if (!samples && !weight_ns)
		return;

	struct loss *l = loss_of(rec, cause, detail);

	l->samples += samples;
	l->weight_ns += weight_ns;
	name_nobody(rec, time_ns, tid);
	rec->counts.lost += samples;
	rec->counts.lost_ns += weight_ns;
	book_unknown(rec, time_ns, tid, weight_ns,
		     recorder_artificial(rec, &rec->lost_frinfo, "<Lost samples>"));
	experiment_loss(rec->opt.exp, time_ns, l->cause, l->detail, l->samples,
			l->weight_ns);
}

void
recorder_unsampled(struct recorder *rec, uint64_t time_ns, pid_t tid,
		   uint64_t cpu_ns)
{
	if (!cpu_ns)
		return;
	rec->unsampled_ns += cpu_ns;
	name_nobody(rec, time_ns, tid);
	book_unknown(rec, time_ns, tid, cpu_ns,
		     recorder_artificial(rec, &rec->unsampled_frinfo,
					 "<Unsampled threads>"));
}

/* No sample was lost, but the time has no function all the same. */
void
losses_tell_unsampled(struct recorder *rec, struct str *text)
{
	const char *whose = rec->counts.not_sampled ?
		"threads that had no clock, or ended before a tick" :
		"threads that ended, or were let go, before a tick";

	if (rec->unsampled_ns < UNSAMPLED_LEAST_NS)
		return;
	experiment_loss(rec->opt.exp, now_ns(), "unsampled", whose, 0,
			rec->unsampled_ns);
	str_addf(text, "%s%.3f s CPU of %s has no function",
		 text->len ? "; " : "", (double)rec->unsampled_ns / 1e9, whose);
}

void
recorder_unsampled_wait(struct recorder *rec, uint64_t time_ns, uint64_t ns)
{
	name_nobody(rec, time_ns, RECORDER_NO_THREAD);
	recorder_wait(rec, time_ns, RECORDER_NO_THREAD, MSTATE_SLEEP, ns,
		      recorder_artificial(rec, &rec->unsampled_frinfo,
					      "<Unsampled threads>"));
}
