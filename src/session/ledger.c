/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * The books by thread: what the scheduler has counted for each since we
 * watch it, beside what was booked to it. A thread's states sum up to its
 * life only where both agree. The two are kept, and forgotten, together: a
 * clock without its books is a whole life to be booked again.
 */
#include "recorder.h"
#include "waits.h"

enum {
	NEGLIGIBLE_NS = 10 * 1000,	/* the rest of a division */
	LACK_EVERY_NS = 500 * 1000 * 1000,	/* many clocks may be read */
};

void
ledger_add(struct recorder *rec, pid_t tid, enum mstate state, uint64_t ns)
{
	modes_note(rec, tid, state, ns);
	if (tid != RECORDER_NO_THREAD)
		*map_slot_of(&rec->booked, (uint64_t)tid) += ns;
}

void
ledger_forget(struct recorder *rec, pid_t tid)
{
	(void)map_remove(&rec->booked, (uint64_t)tid);
	recorder_forget_latest(rec, tid);
	modes_forget(rec, tid);
}

void
recorder_forget_thread(struct recorder *rec, pid_t tid)
{
	ledger_forget(rec, tid);
	names_death(&rec->names, tid);
}

bool
recorder_thread_clock(const struct recorder *rec, pid_t tid, uint64_t *cpu_ns,
		      uint64_t *booked_ns)
{
	*booked_ns = 0;
	(void)map_get(&rec->booked, (uint64_t)tid, booked_ns);
	return roll_clock(waits_roll(rec->waits), tid, cpu_ns);
}

bool
recorder_seen_clock(const struct recorder *rec, pid_t tid, uint64_t *cpu_ns,
		    uint64_t *time_ns, uint64_t *booked_ns)
{
	const struct roll *r = waits_roll(rec->waits);
	const struct waiter *th = r ? roll_find(r, tid) : NULL;

	if (!th || th->last.cpu_ns < th->base.cpu_ns)
		return false;
	*booked_ns = 0;
	(void)map_get(&rec->booked, (uint64_t)tid, booked_ns);
	*cpu_ns = th->last.cpu_ns - th->base.cpu_ns;
	*time_ns = th->looked_at;
	return true;
}

/* ---- what is left of the process's clock --------------------------------- */

struct share_out {
	struct recorder *rec;
	uint64_t sum_ns;
	double scale;		/* 0: only add up */
};

static void
share_one(void *arg, pid_t tid, uint64_t cpu_ns)
{
	struct share_out *o = arg;
	uint64_t booked = 0, ns;

	(void)map_get(&o->rec->booked, (uint64_t)tid, &booked);
	ns = cpu_ns > booked + NEGLIGIBLE_NS ? cpu_ns - booked : 0;
	if (o->scale == 0) {
		o->sum_ns += ns;
		return;
	}
	ns = (uint64_t)((double)ns * o->scale);
	recorder_unsampled(o->rec, now_ns(), tid, ns);
	o->sum_ns += ns;
}

uint64_t
recorder_unbooked_of_threads(struct recorder *rec)
{
	struct share_out o = { .rec = rec };

	roll_each_clock(waits_roll(rec->waits), share_one, &o);
	return o.sum_ns;
}

bool
recorder_knows_thread(const struct recorder *rec, pid_t tid)
{
	const struct roll *r = waits_roll(rec->waits);

	return r && roll_find(r, tid);
}

uint64_t
recorder_nobodys(struct recorder *rec, uint64_t left_ns, uint64_t pending_ns,
		 uint64_t slack_ns)
{
	const uint64_t now = now_ns();
	uint64_t known = pending_ns > rec->lack_ns ? pending_ns : rec->lack_ns;

	if (left_ns <= known + slack_ns ||
	    now - rec->lack_read_at < LACK_EVERY_NS)
		return 0;
	rec->lack_read_at = now;
	rec->lack_ns = recorder_unbooked_of_threads(rec);
	known = pending_ns > rec->lack_ns ? pending_ns : rec->lack_ns;
	return left_ns > known + slack_ns ? left_ns - known - slack_ns : 0;
}

void
recorder_unsampled_rest(struct recorder *rec, uint64_t rest_ns)
{
	const uint64_t lack = recorder_unbooked_of_threads(rec);
	struct share_out o = { .rec = rec };

	o.scale = lack > rest_ns ? (double)rest_ns / (double)lack : 1;
	if (lack)
		roll_each_clock(waits_roll(rec->waits), share_one, &o);
	if (rest_ns > o.sum_ns + NEGLIGIBLE_NS)
		recorder_unsampled(rec, now_ns(), RECORDER_NO_THREAD,
				   rest_ns - o.sum_ns);
}
