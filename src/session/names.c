/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Names of threads, for the experiment. A thread is born with the name of its
 * creator, and of that nobody tells; if it takes another one, perf does. The
 * log has what most are called, as the first thread is when it begins:
 *
 *	sonde_threads name	of all who have no other
 *	sonde_thread tid name	of one; "": not known
 *
 * Such a line is written when the first packet of its thread is, so that those
 * who come and go leave little in the log.
 *
 * Who has ended is kept for a while: its last ticks are still to come. Engines
 * that hear nothing from perf ask for a name at packets 1, 2, 4, 8... of a
 * thread, and keep it.
 */
#include "recorder.h"
#include "waits.h"

#include <stdlib.h>
#include <string.h>

#define KEEP_NS	UINT64_C(2000000000)

struct named {
	char name[16];
	bool told, ended;
	uint64_t packets;
};

static struct named *
find(const struct names *n, pid_t tid)
{
	uint64_t at;

	return map_get(&n->of, (uint64_t)tid, &at) ?
		(struct named *)(uintptr_t)at : NULL;
}

static struct named *
get(struct names *n, pid_t tid)
{
	uint64_t *slot = map_slot_of(&n->of, (uint64_t)tid);

	if (!*slot)
		*slot = (uintptr_t)xcalloc(1, sizeof(struct named));
	return (struct named *)(uintptr_t)*slot;
}

static void
set_name(struct named *th, const char *name)
{
	(void)snprintf(th->name, sizeof th->name, "%s", name);
}

static void
tell(struct recorder *rec, uint64_t time_ns, pid_t tid, const char *name)
{
	char number[16];

	(void)snprintf(number, sizeof number, "%d", (int)tid);
	experiment_event(rec->opt.exp, time_ns, "sonde_thread",
			 (const char *const[]){ "tid", number, "name", name,
						NULL });
}

void
names_usual(struct recorder *rec)
{
	const struct target *t = rec->opt.target;
	struct names *n = &rec->names;

	(void)snprintf(n->usual, sizeof n->usual, "%s", target_name(t));
	experiment_event(rec->opt.exp, now_ns(), "sonde_threads",
			 (const char *const[]){ "name", n->usual, NULL });
}

void
recorder_thread_name(struct recorder *rec, uint64_t time_ns, pid_t tid,
		     const char *name)
{
	struct named *th = get(&rec->names, tid);

	tell(rec, time_ns, tid, name);
	set_name(th, name);
	th->told = true;
}

void
recorder_thread_met(struct recorder *rec, pid_t tid, const char *name)
{
	struct named *th = get(&rec->names, tid);

	if (!th->name[0] && !th->told)
		set_name(th, name);
}

void
names_birth(struct names *n, pid_t tid, pid_t by)
{
	const struct named *creator = find(n, by);
	struct named *th = get(n, tid);
	const char *name = creator && creator != th ? creator->name : "";

	n->heard = true;
	*th = (struct named){ .told = false };
	set_name(th, name);
}

void
names_death(struct names *n, pid_t tid)
{
	struct named *th = find(n, tid);

	if (!th || th->ended || !n->heard)
		return;
	th->ended = true;
	n->ended = xgrow(n->ended, &n->ended_cap, n->ended_len + 1,
			 sizeof *n->ended);
	n->ended[n->ended_len++] = (struct ended_name){ now_ns(), tid };
}

static void
forget(struct names *n, pid_t tid)
{
	struct named *th = find(n, tid);

	/* or its number has come again */
	if (!th || !th->ended)
		return;
	(void)map_remove(&n->of, (uint64_t)tid);
	free(th);
}

void
names_settle(struct names *n)
{
	const uint64_t now = now_ns();
	size_t gone = 0;

	while (gone < n->ended_len && now - n->ended[gone].at_ns > KEEP_NS)
		forget(n, n->ended[gone++].tid);
	if (!gone)
		return;
	n->ended_len -= gone;
	memmove(n->ended, n->ended + gone, n->ended_len * sizeof *n->ended);
}

void
names_fini(struct names *n)
{
	map_free_values(&n->of);
	free(n->ended);
	*n = (struct names){ 0 };
}

/* The name that it has now, or had when it was met; false: it has that one. */
static bool
ask(const struct recorder *rec, pid_t tid, struct named *th)
{
	struct thread_facts f;
	const char *name = f.name;

	if (target_thread_facts(rec->opt.target, tid, &f) < 0) {
		fail_clear();
		name = th->name[0] ? th->name :
			roll_name(waits_roll(rec->waits), tid);
	}
	if (strcmp(name, th->name) == 0)
		return false;
	set_name(th, name);
	return true;
}

void
names_packet(struct recorder *rec, uint64_t time_ns, pid_t tid)
{
	struct named *th;

	if (tid == RECORDER_NO_THREAD)
		return;
	th = get(&rec->names, tid);
	th->packets++;
	if ((!th->name[0] && !th->told) || (!rec->names.heard &&
	    (th->packets & (th->packets - 1)) == 0))
		th->told &= !ask(rec, tid, th);
	if (th->told)
		return;
	th->told = true;
	/* if perf tells of births, one without a name was told long ago */
	if ((th->name[0] || !rec->names.heard) &&
	    strcmp(th->name, rec->names.usual))
		tell(rec, time_ns, tid, th->name);
}
