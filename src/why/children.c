/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Threads that wait for a child: for which ones.
 */
#include "private.h"

#include <sched.h>
#include <stdlib.h>
#include <sys/syscall.h>

enum { CHILDREN_MAX = 4096 };

static void
add_children(struct wait *w, pid_t tid, pid_t only)
{
	char *text = proc_text(w->pid, "task/%d/children", (int)tid);
	char *end;

	for (const char *at = text; at && *at; at = end) {
		const long child = strtol(at, &end, 10);

		if (end == at || w->child_count >= CHILDREN_MAX)
			break;
		if (only > 0 && child != only)
			continue;
		w->children = xrealloc(w->children, (w->child_count + 1) *
				       sizeof *w->children);
		w->children[w->child_count++] = (pid_t)child;
	}
	free(text);
}

bool
children_is_vfork(const struct wait *w)
{
	const struct call_row *row = w->call < 0 ? NULL : call_find(w->call);
	uint64_t flags = w->call == SYS_clone ? w->args[0] : 0;

	/* vfork(2) itself; of the other calls none is one that creates */
	if (row)
		return row->kind == WAIT_CHILD && w->call != SYS_wait4 &&
			w->call != SYS_waitid;
	if (w->call == SYS_clone3 &&
	    memory_read(w->tid, w->args[0], &flags, sizeof flags) < 0)
		return false;
	return flags & CLONE_VFORK;
}

/* The last that it made. */
static void
take_vforked(struct wait *w)
{
	add_children(w, w->tid, 0);
	w->vforked = true;
	if (w->child_count > 1)
		w->children[0] = w->children[w->child_count - 1];
	w->child_count = w->child_count > 0;
}

void
children_look(struct why *y, struct wait *w)
{
	const struct members *m = members_of(y, w->pid);
	pid_t only = 0;

	if (children_is_vfork(w)) {
		take_vforked(w);
		return;
	}
	if (w->call == SYS_wait4)
		only = (pid_t)w->args[0];
	else if (w->call == SYS_waitid && w->args[0] == 1 /* P_PID */)
		only = (pid_t)w->args[1];
	for (size_t i = 0; i < m->len; i++)
		add_children(w, m->items[i].tid, only);
}
