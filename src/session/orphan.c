/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * What visits that were killed have left, as the first look found it: the
 * guest with its handler, its timers and its record memory, or scratch memory.
 * The records that nobody took are counted: they belong to an experiment that
 * has ended. At the end of our visit it goes, unless a recording of our own
 * has taken it over before.
 */
#include <inttypes.h>

#include "hazard.h"
#include "look_back.h"

static void
ignore_record(void *arg, const struct record *r)
{
	(void)arg, (void)r;
}

void
look_back_find_orphan(struct look_back *lb)
{
	struct inject_left left;

	if (!lb->area || inject_left(lb->t, &left) < 0 || !left.orphan)
		return;
	lb->orphan = true;
	lb->records = inject_salvage(lb->t, lb->area, lb->area_size,
				     ignore_record, NULL);
}

static void
tell_orphan(struct look_back *lb)
{
	str_addf(&lb->tidied, "%sa visit that was killed had left its "
		 "handler and %" PRIu64 " KB of record memory",
		 lb->tidied.len ? "; " : "", lb->area_size / 1024);
	if (lb->records > 0)
		str_addf(&lb->tidied, " with %d records", lb->records);
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

static void
tidy_scratch(struct look_back *lb)
{
	const uint64_t size = inject_scratch_size(lb->t, lb->scratch);
	struct inject_report report = {0};

	if (!size)
		return;
	str_addf(&lb->tidied, "%sa visit that was killed had left %" PRIu64
		 " KB of scratch memory", lb->tidied.len ? "; " : "",
		 size / 1024);
	if (inject_unmap_scratch(lb->t, lb->scratch, &report) < 0)
		str_addf(&lb->tidied, ", which cannot be removed (%s)",
			 fail_last()->reason);
	else
		str_add(&lb->tidied, ": removed");
	look_back_visit(lb, &report);
	lb->scratch = 0;
}

void
look_back_tidy(struct look_back *lb)
{
	if (target_gone(lb->t) || !handled(HAZARD_ORPHAN))
		return;
	if (lb->orphan)
		tidy_orphan(lb);
	if (lb->scratch)
		tidy_scratch(lb);
	fail_clear();
}
