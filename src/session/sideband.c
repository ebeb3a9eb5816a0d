/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * What the kernel tells beside samples, the same for every engine: new
 * mappings, names of threads, an exec.
 */
#include "clock.h"
#include "private.h"

#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

static bool
take_map(struct recorder *rec, const struct clock_record *r)
{
	const char *path = r->u.map.path;
	char *name = xstrndup(path, module_path_length(path, strlen(path)));
	const struct module mod = {
		.start = r->u.map.start,
		.end = r->u.map.start + r->u.map.size,
		.offset = r->u.map.offset,
		.prot = r->u.map.prot & PROT_EXEC ?
			MODULE_READ | MODULE_EXEC : 0,
		.device = r->u.map.device, .inode = r->u.map.inode,
		.path = name,
	};

	mapper_add(recorder_get_options(rec)->mapper, r->time_ns, &mod);
	free(name);
	return mod.prot != 0;
}

bool
sideband_take(struct recorder *rec, const struct clock_record *r)
{
	switch (r->kind) {
	case CLOCK_MMAP:
		return take_map(rec, r);
	case CLOCK_COMM:
		recorder_thread_name(rec, r->time_ns, r->tid,
				     r->u.comm.name);
		break;
	case CLOCK_EXEC:
		recorder_exec(rec, r->time_ns, r->u.comm.name);
		break;
	case CLOCK_FORK:
		if (r->pid == target_pid(recorder_get_options(rec)->target))
			recorder_birth(rec, r->time_ns, r->tid,
				       r->u.fork.ptid);
		else
			recorder_descendant(rec, r->pid);
		break;
	case CLOCK_EXIT:
		recorder_death(rec, r->time_ns, r->tid);
		break;
	case CLOCK_SAMPLE:
	case CLOCK_SWITCH:
	case CLOCK_LOST:
		break;
	}
	return false;
}
