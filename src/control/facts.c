/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * What /proc tells of one thread without touching it.
 */
#include "private.h"

#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

static void
read_call(const struct target *t, pid_t tid, struct thread_facts *f)
{
	struct task_call c;
	uint64_t args[6] = { 0 };

	if (target_thread_call(t, tid, &c, args) != 1)
		return;
	f->pc = c.pc;
	f->sp = c.sp;
	f->syscall = c.nr;
	f->in_syscall = c.nr >= 0;
	memcpy(f->args, args, sizeof f->args);
	f->partial = f->in_syscall && call_is_partial(c.nr, args);
}

int
facts_open_switches(const struct target *t, pid_t tid)
{
	char path[64];

	(void)snprintf(path, sizeof path, "task/%d/schedstat", (int)tid);
	return openat(t->proc_fd, path, O_RDONLY | O_CLOEXEC);
}

int
facts_read_switches(const struct target *t, pid_t tid, int schedstat,
		    struct thread_facts *f)
{
	struct task_turns turns;
	struct proc_status st;

	if (task_turns_at(schedstat, &turns) == 0) {
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

static int
read_state(const struct target *t, pid_t tid, struct thread_facts *f)
{
	struct task_stat st;

	(void)target_thread_stat(t, tid, &st);	/* gone is a state, too */
	f->state = st.state;
	if (!f->state || f->state == 'X')
		return fail(FAIL_MISSING, "thread %d has ended", (int)tid);
	(void)snprintf(f->name, sizeof f->name, "%s", st.name);
	return 0;
}

int
facts_read_blocked(const struct target *t, pid_t tid, int schedstat,
		   struct thread_facts *f)
{
	*f = (struct thread_facts){ .syscall = -1 };
	(void)facts_read_switches(t, tid, schedstat, f); /* 0 says unknown */
	read_call(t, tid, f);
	if (!f->sp || !f->switches)
		return fail(FAIL_GENERAL, "thread %d runs", (int)tid);
	return read_state(t, tid, f);
}

int
target_thread_facts(struct target *t, pid_t tid, struct thread_facts *f)
{
	int schedstat;

	*f = (struct thread_facts){ .syscall = -1 };
	if (read_state(t, tid, f) < 0)
		return -1;
	schedstat = facts_open_switches(t, tid);
	(void)facts_read_switches(t, tid, schedstat, f); /* 0 says unknown */
	read_call(t, tid, f);
	if (schedstat >= 0)
		close(schedstat);
	return 0;
}
