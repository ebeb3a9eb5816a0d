/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Where threads are while they have no processor, the same beside every
 * engine: waits_roll.c knows the threads, waits_pace.c when to look at them,
 * waits_look.c looks at one, waits_account.c keeps its account, waits_faults.c
 * knows page faults, waits_woken.c where it waited for a processor, waits_told.c
 * what others know, waits_held.c what is not written yet, waits_brief.c that of those too short for a
 * look; waits_sum.c adds up what is not booked.
 */
#ifndef SONDE_SESSION_WAITS_H
#define SONDE_SESSION_WAITS_H

#include "private.h"

#include <dirent.h>

struct waits;

struct waits *waits_new(struct recorder *rec,
			const struct recorder_options *o);
void waits_free(struct waits *w);
/* All wall time of all threads counts from now on: from the time returned. */
uint64_t waits_begin(struct waits *w);
/* The same, once more: what it has by then is not written. */
void waits_restart(struct waits *w);
/* What is pending is booked, and nothing after it counts. Returns when that
 * was. 0: it had ended already. */
uint64_t waits_end(struct waits *w);
/* now_ns() when waits_work wants to be woken; it may have something to do
 * earlier, if we are awake. false: and more of it, when others have had their
 * turn. */
uint64_t waits_deadline(const struct waits *w);
/* From one look at each thread to the next, on average over the time; 0: not
 * known. */
uint64_t waits_every_ns(const struct waits *w);
bool waits_wanted(const struct waits *w, uint64_t now);
bool waits_work(struct waits *w);
/* A resource sample is taken: what is held is written. */
void waits_settle(struct waits *w);
/* Now we are awake. */
void waits_count(struct waits *w);

/* A stack that the thread had on a processor. */
void waits_note_stack(struct waits *w, pid_t tid, uint64_t frinfo);
/* We let it stand for a moment: that was no sleep of its own. */
void waits_note_stood(struct waits *w, pid_t tid);
/* Exact times, where somebody tells them. */
/* Births: true where it is another thread of a number that was known. */
bool waits_note_birth(struct waits *w, pid_t tid, uint64_t time_ns);
void waits_note_death(struct waits *w, pid_t tid, uint64_t time_ns);
/* Who there is, also after the end until the next beginning. NULL: w is. */
struct roll;
const struct roll *waits_roll(const struct waits *w);
/* Time by state from the first beginning until then, what is pending too. */
void waits_sum(const struct waits *w, uint64_t now, uint64_t sum[MSTATE_COUNT]);
/* Of that, waits of threads that nobody told of and no look has met. */
uint64_t waits_guessed_ns(const struct waits *w);

/* ---- waits_pace.c -------------------------------------------------------- */

struct pace {
	uint64_t early_ns, due_ns;	/* the next look: not before; wakes */
	uint64_t span_ns;	/* between looks, but for what they cost */
	int64_t credit_ns;	/* CPU time that looks may take at once */
	uint64_t paid_at;	/* ... as of then; 0: never */
	uint64_t random;
};

/* After a look at so many threads that took so much CPU time. moved: one of
 * them had a turn since the look before. */
void pace_next(struct pace *p, uint64_t now, uint64_t interval_ns,
	       size_t threads, bool moved, uint64_t cost_ns);

/* ---- waits_look.c -------------------------------------------------------- */

struct look {
	bool ended;
	bool blocked;		/* else it runs */
	bool released;		/* it stood, for us, and was let go */
	enum mstate state;
	uint64_t frinfo;	/* 0: its stack may not be read */
	uint64_t faults;	/* page faults so far that waited for a disk */
};

struct looker {
	struct recorder *rec;
	struct target *target;
	int pagemap;		/* -1: not to be had */
	struct copy {
		unsigned char *bytes;
		size_t cap;
	} stack, under;		/* under: what a handler interrupted */
	struct map seen;	/* stacks by thread, pc and sp */
};

struct looked_at {		/* a thread, and files of it that stay open */
	pid_t tid;
	int schedstat, syscall, stat;	/* -1: not to be had */
	bool anew;		/* no descriptor to spare: opened each time */
};

void looker_init(struct looker *k, struct recorder *rec, struct target *t);
void looker_fini(struct looker *k);
int look_at_turns(const struct target *t, const struct looked_at *th,
		  struct task_turns *turns);
/* What a thread waits in, and where, without a stop. turns: of right before. */
struct look look_at_waiting(struct looker *k, const struct looked_at *th,
			    const struct task_turns *turns);
/* Just that: else it has a processor, or wants one. */
bool look_is_blocked(const struct looker *k, const struct looked_at *th);

/* ---- a thread ------------------------------------------------------------ */

enum { HELD_MAX = 8, LATE_MAX = 8 };

struct waiter {			/* a thread */
	struct looked_at of;
	uint64_t round;		/* of the last list that had it */
	uint64_t since_ns;	/* its wall time counts from here */
	struct task_turns base;	/* then */
	struct task_turns last;	/* at the last look */
	uint64_t looked_at;
	uint64_t blocked_ns, waited_ns;	/* of it so far */
	uint64_t faults, fault_turns;	/* when it was found blocked last */
	uint64_t fault_ns;	/* what one takes; 0 not known */
	uint64_t unplaced_ns;	/* of what it waited: not in held[] yet */
	uint64_t woken_ns;	/* ... and began when it woke up */
	struct outs {
		double woken;	/* the part of its waits that began so */
		/* so often it left a processor, and has not come back yet; and
		 * what was counted at the last reading */
		double willing, lost;
		uint64_t willing_then, lost_then, turns_then, read_at;
		uint64_t stood;	/* for us, since then */
		bool known;
	} outs;
	bool woke;		/* it was blocked, and waits since then */
	struct late_time {	/* ... and is before a resource sample */
		uint64_t ns, at;
	} late[LATE_MAX];
	size_t late_len;
	uint64_t before_ns;	/* of what it waited: at most, before since_ns */
	bool waited;		/* and that is known */
	unsigned looks;
	bool met;		/* its birth is a guess */
	char name[16];		/* then; "": not asked */
	bool blocked;		/* at the last look */
	uint64_t wants_since;	/* else it runs, or wants to, in this turn */
	bool known;		/* once it was; in this, with this stack: */
	enum mstate state;
	uint64_t frinfo;
	uint64_t run_frinfo;	/* its stack when it ran last; 0 none */
	struct held_time {
		enum mstate state;
		uint64_t frinfo, ns;
	} held[HELD_MAX];	/* not written yet */
	size_t held_len;
	uint64_t held_since, hold_ns, turns_written;
	uint64_t gone_ns;	/* it had ended by then; 0: it lives */
	bool ended;		/* and that is booked */
};

struct accounts {		/* of all threads */
	struct recorder *rec;
	uint64_t unseen_frinfo;
	uint64_t booked[MSTATE_COUNT];
	uint64_t booked_before[MSTATE_COUNT];	/* this beginning */
	uint64_t lives_ns, seen_cpu_ns;	/* of threads that have ended */
	uint64_t brief_ns;	/* lives of threads that no look has met */
	uint64_t ends;		/* of threads; most are known by looks */
};

/* ---- waits_held.c -------------------------------------------------------- */

void held_add(struct accounts *a, struct waiter *th, uint64_t now,
	      enum mstate state, uint64_t ns, uint64_t frinfo);
void held_write(struct accounts *a, struct waiter *th, uint64_t now);
void held_write_due(struct accounts *a, struct waiter *th, uint64_t now);
void held_write_sample(struct accounts *a, struct waiter *th, uint64_t now);
bool held_is_still(const struct waiter *th);
/* Returns how much there was. */
uint64_t held_take_back(struct waiter *th, enum mstate state, uint64_t ns);
void held_place_waited(struct accounts *a, struct waiter *th, uint64_t now);
void held_place_woken(struct accounts *a, struct waiter *th, uint64_t now,
		      uint64_t frinfo);
void held_place_later(struct waiter *th, uint64_t now);

/* ---- waits_faults.c ------------------------------------------------------ */

/* Of what it was blocked since the last such look: added to held[], and
 * returned. */
uint64_t account_faults(struct accounts *a, struct waiter *th, uint64_t now,
			uint64_t fresh, const struct task_turns *t,
			const struct look *look);

/* ---- waits_woken.c ------------------------------------------------------- */

/* Of such a wait for a processor, counted at t: what began when the thread was
 * woken; and of one that lasts until now. */
uint64_t woken_of(const struct accounts *a, struct waiter *th, uint64_t now,
		  const struct task_turns *t, uint64_t ns);
uint64_t woken_now(const struct waiter *th, const struct task_turns *t,
		   uint64_t ns);

/* ---- waits_account.c ----------------------------------------------------- */

/* What it was blocked that is not in the account, if it is blocked now. */
uint64_t account_new_blocked(const struct waiter *th, uint64_t now,
			     const struct task_turns *t);
/* look NULL: it is blocked as before. */
void account_look(struct accounts *a, struct waiter *th, uint64_t now,
		  const struct task_turns *t, const struct look *look);
/* It ended then. */
void account_end(struct accounts *a, struct waiter *th, uint64_t end);
/* It lives, blocked or not, and is not recorded any more. */
void account_stop(struct accounts *a, struct waiter *th, uint64_t now,
		  const struct task_turns *t, bool blocked);
/* What is between two resource samples is a whole: all of its time is written.
 * blocked: as before, or in something that is not known. */
void account_settle(struct accounts *a, struct waiter *th, uint64_t now,
		    const struct task_turns *t, bool blocked);
/* It need not: it has stood still since it was written, in one wait, which is
 * laid over all of its time. */
bool account_can_wait(const struct waiter *th);
/* It is blocked in what the last look has seen. */
bool account_is_as_before(const struct waiter *th, const struct task_turns *t);
/* Of so much time without a processor what it waited for one, as on the
 * whole. */
uint64_t account_part_waited(const struct waiter *th, uint64_t ns);

/* ---- waits_roll.c -------------------------------------------------------- */

struct roll {
	struct target *target;
	struct map threads;	/* tid -> struct waiter */
	DIR *tasks;
	uint64_t round, listed_at;
	bool full;		/* no descriptor to spare */
};

int roll_init(struct roll *r, struct target *t);
void roll_fini(struct roll *r);
void roll_clear(struct roll *r);
/* NULL: not known. */
struct waiter *roll_find(const struct roll *r, pid_t tid);
/* As it was called when it was met; "": not known. */
const char *roll_name(const struct roll *r, pid_t tid);
struct waiter *roll_add(struct roll *r, pid_t tid, uint64_t since);
void roll_drop(struct roll *r, struct waiter *th);
/* Meet those who are new. all: they were there before us, and what they have
 * counted is not ours. */
void roll_list(struct roll *r, uint64_t now, bool all);
/* The scheduler's count of a thread's CPU time since the beginning, as it is
 * now; false: it has ended, and nobody counts for it. r may be NULL. */
bool roll_clock(const struct roll *r, pid_t tid, uint64_t *cpu_ns);
/* The same of each that lives, or was there at the last look. */
void roll_each_clock(const struct roll *r,
		     void (*tell)(void *arg, pid_t tid, uint64_t cpu_ns),
		     void *arg);
/* Of all that were not told to have ended, as of the last looks. */
uint64_t roll_seen_cpu(const struct roll *r);
/* Of one that was told of, and is not met yet. Without a descriptor to spare
 * they stay closed, and each look opens its own. */
void roll_open_files(struct roll *r, struct waiter *th);

/* ---- waits_brief.c ------------------------------------------------------- */

struct census {
	bool told;		/* of births, by a clock: all are met */
	uint64_t at, threads;	/* so many there were */
	uint64_t lives_ns;	/* of all, until then */
	uint64_t squares;	/* ... to be unsure of, us */
	uint64_t clock_start_ns;	/* of the process, at the beginning */
	uint64_t cpu_ns;	/* ... since, as of the last note */
	uint64_t guessed_ns;	/* booked, since the first beginning */
};

void census_begin(struct census *c, const struct roll *r, uint64_t now);
void census_take(struct census *c, const struct roll *r, uint64_t now);
/* CPU time of all since the beginning; of a process that is gone, as it was
 * noted last. */
uint64_t census_cpu(const struct census *c, const struct roll *r);
/* Lives that are in no account, where nobody told. every_ns: looks at each
 * thread. So far: not more than it will be. */
enum census_time { CENSUS_SO_FAR, CENSUS_AT_END };
uint64_t census_unmet(const struct census *c, const struct accounts *a,
		      const struct roll *r, uint64_t every_ns,
		      enum census_time when);
/* Of these, and of those that ended before a look, what they did not run. */
uint64_t census_wait(const struct census *c, const struct accounts *a,
		     const struct roll *r, uint64_t unmet_ns);
/* That, at the end. */
void census_book(struct census *c, struct accounts *a, const struct roll *r,
		 uint64_t now, uint64_t unmet_ns);

/* ---- waits_sum.c --------------------------------------------------------- */

/* All time of the threads so far that is not CPU time. */
void accounts_sum(const struct accounts *a, const struct roll *r,
		  const struct census *c, uint64_t now, uint64_t unmet_ns,
		  uint64_t sum[MSTATE_COUNT]);

/* ---- all of it ----------------------------------------------------------- */

struct waits {
	struct recorder *rec;
	const struct recorder_options *opt;
	struct looker looker;
	struct roll roll;
	struct pace pace;
	pid_t *plan;		/* of this look */
	size_t plan_len, plan_at, plan_cap;
	uint64_t cost_ns;	/* since the last one, of our CPU time */
	struct accounts accounts;
	struct census census;
	uint64_t all_at;	/* when all were looked at last; 0: not yet */
	double between_ns, squares;	/* from one of these to the next, ns */
	uint64_t new_at;	/* when new ones were looked at */
	bool moved;		/* somebody had a turn since the last */
	bool on;
};

#endif
