/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * What visits that were killed have left, as the first look found it: the
 * guest with its handler, its timers and its record memory, or scratch memory.
 * The records that nobody took are salvaged at once (salvage.c). At the end of
 * our visit the rest goes, unless a recording of our own has taken it over
 * before.
 */
#include <inttypes.h>
#include <time.h>

#include "hazard.h"
#include "look_back.h"

#define HELPERS_NS	UINT64_C(5000000000)

void
look_back_found(struct look_back *lb, enum trace what, uint64_t where,
		uint64_t size)
{
	if (what == TRACE_AREA) {
		lb->area = where;
		lb->area_size = size;
	}
	if (what == TRACE_SCRATCH)
		lb->visited = true;
	if ((what == TRACE_SCRATCH || what == TRACE_DESCRIPTOR) &&
	    lb->nleft < LEFT_MAX)
		lb->left[lb->nleft++] = (struct left_over){
			what, where, size };
}

void
look_back_find_orphan(struct look_back *lb)
{
	struct inject_left left;

	if (!lb->area || inject_left(lb->t, &left) < 0)
		return;
	lb->strange = !left.orphan && left.other_version;
	if (!left.orphan)
		return;
	lb->orphan = true;
	if (handled(HAZARD_SALVAGE))
		look_back_salvage(lb);
}

static void
tell_orphan(struct look_back *lb)
{
	str_addf(&lb->tidied, "%sa visit that was killed had left its handler "
		 "and ", lb->tidied.len ? "; " : "");
	if (lb->area_size)
		str_addf(&lb->tidied, "%" PRIu64 " KB of ",
			 lb->area_size / 1024);
	str_add(&lb->tidied, "record memory");
}

/* What is still as we found it goes now. Failures are told, and no more. */
static void
tidy_orphan(struct look_back *lb)
{
	struct inject_left left;
	struct inject_report report;

	tell_orphan(lb);
	if (inject_left(lb->t, &left) == 0 && left.orphan &&
	    inject_tidy(lb->t, &report) < 0)
		str_addf(&lb->tidied, ", which cannot be removed (%s)",
			 fail_last()->reason);
	else
		str_add(&lb->tidied, ": removed");
	lb->orphan = false;
}

/* By what we do not know it cannot be removed; nor does it wait for us. */
static void
tell_strange(struct look_back *lb)
{
	str_addf(&lb->tidied, "%sanother version of sonde has %" PRIu64
		 " KB of record memory here: only that one can remove it",
		 lb->tidied.len ? "; " : "", lb->area_size / 1024);
	lb->strange = false;
}

/* Whose descriptor it is. */
static pid_t
thread_of(struct look_back *lb, const struct left_over *o)
{
	const pid_t tid = (pid_t)(o->where >> 32);

	return tid ? tid : target_live_thread(lb->t);
}

static int
remove_left(struct look_back *lb, const struct left_over *o)
{
	struct inject_report report = {0};
	const int r = o->what == TRACE_SCRATCH ?
		inject_unmap_scratch(lb->t, o->where, &report) :
		inject_close_descriptor(lb->t, thread_of(lb, o),
					(uint32_t)o->where, &report);

	look_back_visit(lb, &report);
	return r;
}

/*
 * Still there, as we found it. Descriptors only of a program that we visited:
 * a sonde that is visited has such ones, and needs them.
 */
static bool
is_left(struct look_back *lb, const struct left_over *o)
{
	char number[24];

	if (o->what == TRACE_SCRATCH)
		return inject_scratch_size(lb->t, o->where) == o->size;
	if (!lb->visited)
		return false;
	snprintf(number, sizeof number, "%u", (uint32_t)o->where);
	return inject_owns_descriptor(lb->t, thread_of(lb, o), number);
}

static void
tidy_left(struct look_back *lb)
{
	uint64_t scratch = 0, descriptors = 0, stays = 0;

	for (unsigned i = 0; i < lb->nleft; i++) {
		const struct left_over *o = &lb->left[i];

		if (!is_left(lb, o))
			continue;
		scratch += o->what == TRACE_SCRATCH ? o->size : 0;
		descriptors += o->what == TRACE_DESCRIPTOR;
		/* who holds a lock once holds it again: one wait is enough */
		if (stays || remove_left(lb, o) < 0)
			stays++;
	}
	lb->nleft = 0;
	if (!scratch && !descriptors)
		return;
	str_addf(&lb->tidied, "%svisits that were killed had left",
		 lb->tidied.len ? "; " : "");
	if (scratch)
		str_addf(&lb->tidied, " %" PRIu64 " KB of scratch memory",
			 scratch / 1024);
	if (descriptors)
		str_addf(&lb->tidied, "%s %" PRIu64 " descriptors",
			 scratch ? " and" : "", descriptors);
	if (stays)
		str_addf(&lb->tidied, ", not all of which can be removed (%s)",
			 fail_last()->reason);
	else
		str_add(&lb->tidied, ": removed");
}

/* No helper comes to its end in a program that does not. */
static bool
may_run(struct target *t)
{
	struct thread_facts f;

	return !target_gone(t) && !target_held(t) &&
		target_check_frozen(t) == 0 &&
		target_thread_facts(t, target_live_thread(t), &f) == 0 &&
		f.state != 'T';
}

/*
 * The helper of a visit that was killed ends by itself, but first does what it
 * was told: it may load the library and take the guest when we have planned
 * with neither.
 */
void
look_back_await_helpers(struct look_back *lb)
{
	const struct timespec nap = { .tv_nsec = 2000000 };
	const uint64_t give_up = lb->waited ? 0 : now_ns() + HELPERS_NS;

	for (unsigned i = 0; i < lb->nleft; i++) {
		const struct left_over *o = &lb->left[i];

		while (o->what == TRACE_SCRATCH &&
		       handled(HAZARD_LATE_HELPER) && now_ns() < give_up &&
		       may_run(lb->t) &&
		       inject_scratch_size(lb->t, o->where) == o->size &&
		       inject_scratch_is_bound(lb->t, o->where))
			(void)nanosleep(&nap, NULL);
	}
	/* once: it may stay for good */
	lb->waited = lb->waited || now_ns() >= give_up;
	fail_clear();
}

void
look_back_parting(struct look_back *lb)
{
	lb->parting = true;
}

/* What stays is found by the last look. */
void
look_back_part(struct look_back *lb)
{
	struct inject_report report;

	if (!lb->parting || target_gone(lb->t) || target_held(lb->t))
		return;
	if (inject_tidy(lb->t, &report) == 0)
		look_back_visit(lb, &report);
	lb->parting = false;
	fail_clear();
}

/* What was on its way to the guest at our first look has come. */
static void
find_late_orphan(struct look_back *lb)
{
	struct inject_left left;

	if (!lb->visited || lb->orphan)
		return;
	look_back_await_helpers(lb);
	lb->orphan = inject_left(lb->t, &left) == 0 && left.orphan;
}

/* Of a visit that was killed, or of a parent at the fork. */
static void
tidy_hooks(struct look_back *lb)
{
	struct inject_report report = {0};
	struct inject_unhooked n;
	int r;

	if (!lb->visited && !lb->nborrowed)
		return;
	r = inject_unhook(lb->t, &n, &report);
	look_back_visit(lb, &report);
	if (!n.out && !n.left)
		return;
	str_addf(&lb->tidied, "%s%zu import slots led to hooks by which nobody "
		 "traced", lb->tidied.len ? "; " : "", n.out + n.left);
	if (n.left)
		str_addf(&lb->tidied, ", %zu of which still do, and hand on "
			 "(%s)", n.left, fail_last()->reason);
	else
		str_add(&lb->tidied, r == 0 ? ": as they were" : "");
}

void
look_back_tidy(struct look_back *lb)
{
	if (target_gone(lb->t) || !handled(HAZARD_ORPHAN))
		return;
	look_back_part(lb);
	find_late_orphan(lb);
	if (lb->orphan)
		tidy_orphan(lb);
	tidy_hooks(lb);
	if (lb->strange)
		tell_strange(lb);
	tidy_left(lb);
	look_back_close_copies(lb);
	fail_clear();
}
