/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * What /proc tells of one thread without touching it.
 */
#include "private.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static bool
text_is_partial(const char *text, long nr)
{
	uint64_t a[6];

	return sscanf(text, "%*d %" SCNx64 " %" SCNx64 " %" SCNx64 " %" SCNx64
		      " %" SCNx64 " %" SCNx64, &a[0], &a[1], &a[2], &a[3],
		      &a[4], &a[5]) == 6 && call_is_partial(nr, a);
}

/* "232 0x3 ... sp pc", "-1 sp pc", or "running". */
static void
read_syscall(struct target *t, pid_t tid, struct thread_facts *f)
{
	char path[64];

	f->syscall = -1;
	(void)snprintf(path, sizeof path, "task/%d/syscall", (int)tid);

	char *text = file_read_at(t->proc_fd, path, NULL);
	char *last = text ? strrchr(text, ' ') : NULL;

	if (last && *text != 'r') {
		f->pc = strtoull(last + 1, NULL, 16);
		*last = '\0';
		last = strrchr(text, ' ');
		f->sp = last ? strtoull(last + 1, NULL, 16) : 0;
		f->syscall = strtol(text, NULL, 10);
		f->in_syscall = f->syscall >= 0;
		f->partial = f->in_syscall && text_is_partial(text, f->syscall);
	}
	free(text);
}

int
facts_read_switches(const struct target *t, pid_t tid, struct thread_facts *f)
{
	struct task_turns turns;
	struct proc_status st;

	if (target_thread_turns(t, tid, &turns) == 0) {
		f->cpu_ns = turns.cpu_ns;
		f->wait_ns = turns.wait_ns;
		f->switches = turns.switches;
		if (f->switches)
			return 0;
	}
	if (proc_status_thread(t, tid, &st) < 0)
		return -1;
	f->switches = st.switches;
	return 0;
}

/* The switches are read before sp and pc: who peeks relies on it. */
int
target_thread_facts(struct target *t, pid_t tid, struct thread_facts *f)
{
	char path[64];

	*f = (struct thread_facts){ .state = proc_thread_state(t, tid),
				    .syscall = -1 };
	if (!f->state || f->state == 'X')
		return fail(FAIL_MISSING, "thread %d has ended", (int)tid);
	(void)snprintf(path, sizeof path, "task/%d/comm", (int)tid);

	char *comm = file_read_at(t->proc_fd, path, NULL);

	if (comm) {
		comm[strcspn(comm, "\n")] = '\0';
		(void)snprintf(f->name, sizeof f->name, "%s",
			       str_tame(comm));
	}
	free(comm);
	(void)facts_read_switches(t, tid, f);	/* 0 says unknown */
	read_syscall(t, tid, f);
	return 0;
}
