/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Who descends from a process, by the births of all processes: a grandchild is
 * known even if its parent ends in the next moment. Only events of every
 * process tell that (per CPU, for root).
 */
#include "private.h"

bool
family_takes(struct family *f, pid_t root, const struct clock_record *r)
{
	uint64_t none;

	if (r->kind == CLOCK_EXIT && r->pid == r->tid && r->pid != root)
		(void)map_remove(&f->members, (uint64_t)r->pid);
	if (r->kind != CLOCK_FORK || r->pid == r->u.fork.ppid ||
	    (r->u.fork.ppid != root &&
	     !map_get(&f->members, (uint64_t)r->u.fork.ppid, &none)))
		return false;
	map_put(&f->members, (uint64_t)r->pid, 1);
	return true;
}

void
family_fini(struct family *f)
{
	map_fini(&f->members);
}
