/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Several targets of one tracer process. Whom a process traces cannot be
 * handed to another one but through a stop that would outlive us (SIGSTOP);
 * so the child of a target, which the kernel has made ours, stays here:
 *
 *	tracer of the parent ----> tracer of the child		one loop
 *	     | a socket			 | another socket
 *	session of the parent	   session of the child		the shell
 *
 * Should we be killed, the kernel lets both go where they are, and each has a
 * guardian of its own for its traps.
 */
#include "look_back.h"
#include "private.h"

#include <sys/socket.h>
#include <unistd.h>

enum { TARGETS_MAX = 64 };

static size_t
count_targets(const struct tracer *first)
{
	size_t n = 0;

	for (; first; first = first->next)
		n++;
	return n;
}

/* It comes behind tr, which is in the list. */
static struct tracer *
add_sibling(struct tracer *tr, struct target *t, int shell)
{
	struct tracer *new = tracer_new(shell, tr->signals);

	new->target = t;
	new->look = look_back_new(t);
	new->launched = tr->launched;
	new->wants = new->programs = true;	/* until the shell has said */
	new->siblings = tr->siblings;
	new->next = tr->next;
	tr->next = new;
	return new;
}

static void
tell(struct tracer *tr, struct target *child, int socket)
{
	const pid_t pid = target_pid(child);
	struct session_event out = {
		.kind = SESSION_EVENT_BOTH, .tid = pid, .value = pid,
	};
	pid_t with;

	out.signal = target_shares_memory(child, &with);
	(void)snprintf(out.text, sizeof out.text, "process %d has forked "
		       "process %d; both are under the prompt%s",
		       (int)target_pid(tr->target), (int)pid, out.signal ?
		       ", and the parent waits until its child executes a "
		       "program or ends (vfork)" : "");
	tracer_send_event(tr, &out);
	(void)wire_send_fd(tr->shell, socket);
}

int
tracer_both(struct tracer *tr, pid_t child)
{
	struct target *t;
	int pair[2];

	if (count_targets(*tr->siblings) >= TARGETS_MAX)
		return fail(FAIL_GENERAL, "%d processes are under the prompt",
			    TARGETS_MAX);
	if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, pair) < 0)
		return fail_errno("make a socket pair");
	t = target_adopt(tr->target, child);
	if (!t) {
		close(pair[0]);
		close(pair[1]);
		return -1;
	}
	tr->forked = 0;
	(void)add_sibling(tr, t, pair[1]);
	tell(tr, t, pair[0]);
	close(pair[0]);
	return 0;
}
