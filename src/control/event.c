/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * One wait status, one event.
 *
 *   status >> 16   WSTOPSIG           event
 *   EVENT_STOP     SIGTRAP            STOPPED (our INTERRUPT, a new clone, or
 *                                     the end of a group stop)
 *   EVENT_STOP     another            GROUP_STOP of that signal
 *   EVENT_x        SIGTRAP            CLONE FORK EXEC EXITING
 *   0              SIGTRAP | 0x80     SYSCALL
 *   0              any                SIGNAL, about to be delivered
 */
#include "private.h"

#include <signal.h>

enum { SYSCALL_STOP = SIGTRAP | 0x80 };

static enum event_kind
kind_of_event_stop(int ptrace_event)
{
	switch (ptrace_event) {
	case PTRACE_EVENT_CLONE:
		return EVENT_CLONE;
	case PTRACE_EVENT_FORK:
	case PTRACE_EVENT_VFORK:
		return EVENT_FORK;
	case PTRACE_EVENT_EXEC:
		return EVENT_EXEC;
	case PTRACE_EVENT_EXIT:
		return EVENT_EXITING;
	default:
		/* VFORK_DONE and SECCOMP: nothing to do but to go on */
		return EVENT_NONE;
	}
}

struct event
event_of_status(pid_t tid, int status)
{
	struct event ev = { .tid = tid, .status = status };

	if (!WIFSTOPPED(status)) {
		ev.kind = EVENT_THREAD_GONE;
		return ev;
	}

	const int ptrace_event = (unsigned)status >> 16;
	const int signal = WSTOPSIG(status);

	if (ptrace_event == PTRACE_EVENT_STOP) {
		ev.kind = signal == SIGTRAP ? EVENT_STOPPED : EVENT_GROUP_STOP;
		ev.signal = signal == SIGTRAP ? 0 : signal;
	} else if (ptrace_event) {
		ev.kind = kind_of_event_stop(ptrace_event);
		if (ptrace(PTRACE_GETEVENTMSG, tid, 0, &ev.message) < 0)
			ev.message = 0;		/* killed in between */
	} else if (signal == SYSCALL_STOP) {
		ev.kind = EVENT_SYSCALL;
	} else {
		ev.kind = EVENT_SIGNAL;
		ev.signal = signal;
	}
	return ev;
}
