/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Which threads are to stop at a breakpoint: where functions return to, and
 * nothing else is awaited, those that are within one. Else, and where anybody
 * is told of all hits, all are. It changes with what a filter awaits, and with
 * who has one; control is told to ask again then.
 */
#include "filters.h"

bool
filter_has_site(const struct filter *f, size_t number)
{
	for (unsigned i = 0; i < f->say.site_count; i++)
		if ((size_t)f->say.sites[i].number == number)
			return true;
	return false;
}

static bool
awaits(const struct filter *f, uint64_t address, pid_t tid)
{
	for (unsigned i = 0; i < f->say.pending_count; i++)
		if (f->say.pending[i].tid == tid &&
		    f->say.pending[i].address == address)
			return true;
	return false;
}

bool
concern_of_hit(void *arg, const struct breakpoint *bp, pid_t tid)
{
	const struct tracer *tr = arg;
	const uint64_t address = breakpoint_address(bp);
	unsigned asked = 0;
	size_t i = 0;

	while (i < tr->trap_count && tr->traps[i].at != bp)
		i++;
	if (i == tr->trap_count || !tr->traps[i].users)
		return true;
	for (const struct filter *f = tr->filters; f; f = f->next) {
		if (!f->on || (f->number != i && !filter_has_site(f, i)))
			continue;
		if (f->number == i || awaits(f, address, tid))
			return true;
		asked++;
	}
	return asked != tr->traps[i].users;
}

void
concern_ask_all(struct tracer *tr)
{
	for (size_t i = 0; tr->target && i < tr->trap_count; i++)
		if (tr->traps[i].at)
			target_ask_concern(tr->target, tr->traps[i].at, 0);
}

void
concern_ask_site(struct tracer *tr, const struct filter *f, uint64_t address,
		 pid_t tid)
{
	const struct session_site *site = f->say.sites;

	for (unsigned i = 0; i < f->say.site_count; i++)
		if (site[i].address == address)
			target_ask_concern(tr->target,
					   tr->traps[site[i].number].at, tid);
}
