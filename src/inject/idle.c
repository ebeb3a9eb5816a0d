/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * The signal that ticks: one whose default action is to do nothing, so that
 * no tick can end a program, whenever it comes and whoever dies, and that the
 * program does not use. SIGPROF and its timer stay the program's.
 *
 * Threads that block it, or wait for it by sigtimedwait, get no ticks: these
 * would be pending, and seen by who takes all signals from a queue. libc
 * blocks all signals for microseconds where a thread is born, so we look a
 * few times before that is believed.
 */
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <time.h>

#include <linux/seccomp.h>

#include "hazard.h"
#include "private.h"

enum { LOOKS = 10 };

static const int candidates[] = { SIGURG, SIGWINCH };

static uint64_t
bit_of(int signo)
{
	return UINT64_C(1) << (signo - 1);
}

static uint64_t
signal_set(const char *status, const char *name)
{
	const char *at = status ? strstr(status, name) : NULL;

	return at ? strtoull(at + strlen(name), NULL, 16) : 0;
}

/* ---- threads ------------------------------------------------------------- */

/* While it waits for them the kernel does not show them as blocked. */
static uint64_t
waited_for(struct target *t, pid_t tid)
{
	struct task_call c;
	uint64_t args[6], set;

	if (target_thread_call(t, tid, &c, args) != 1 ||
	    c.nr != SYS_rt_sigtimedwait ||
	    target_read(t, args[0], &set, sizeof set) < 0)
		return 0;
	return set;
}

static uint64_t
deaf_to(struct target *t, pid_t tid)
{
	char path[64], *text;
	uint64_t set;

	snprintf(path, sizeof path, "task/%d/status", (int)tid);
	text = file_read_at(target_proc(t), path, NULL);
	set = signal_set(text, "\nSigBlk:") | waited_for(t, tid);
	free(text);
	return set;
}

bool
inject_thread_is_deaf(struct target *t, pid_t tid, int signo)
{
	return handled(HAZARD_DEAF) && deaf_to(t, tid) & bit_of(signo);
}

uint32_t
inject_thread_filters(struct target *t, pid_t tid)
{
	char path[64], *text;
	const char *mode, *count;
	uint32_t n = 0;

	snprintf(path, sizeof path, "task/%d/status", (int)tid);
	text = file_read_at(target_proc(t), path, NULL);
	mode = text ? strstr(text, "\nSeccomp:") : NULL;
	count = text ? strstr(text, "\nSeccomp_filters:") : NULL;
	if (mode && strtol(strchr(mode, ':') + 1, NULL, 10) ==
	    SECCOMP_MODE_FILTER)
		n = count ? (uint32_t)strtoul(strchr(count, ':') + 1, NULL,
					      10) : UINT32_MAX;
	free(text);
	return n;
}

bool
inject_thread_is_confined(struct target *t, pid_t tid)
{
	static const char name[] = "\nSeccomp:";
	char path[64], *text;
	const char *at;
	bool confined;

	snprintf(path, sizeof path, "task/%d/status", (int)tid);
	text = file_read_at(target_proc(t), path, NULL);
	at = text ? strstr(text, name) : NULL;
	confined = at && strtol(at + strlen(name), NULL, 10) != 0;
	free(text);
	return confined;
}

/* ---- the choice ---------------------------------------------------------- */

/* Signals that have an action; ours, of an owner who has ended, is none. */
static uint64_t
used_by(const struct plan *p)
{
	char *text = file_read_at(target_proc(p->t), "status", NULL);
	const uint64_t set = signal_set(text, "\nSigCgt:") |
		signal_set(text, "\nSigIgn:");

	free(text);
	return p->signal_left ? set & ~bit_of(p->signal_left) : set;
}

struct look_at_threads {
	pid_t *tids;
	size_t cap;
	ssize_t n;
	uint64_t *deaf;		/* to what each is */
	uint64_t any, all;	/* to what some of them, and each is */
};

static void
look_at(struct target *t, struct look_at_threads *l)
{
	ssize_t i;

	l->n = target_threads(t, &l->tids, &l->cap);
	free(l->deaf);
	l->deaf = xcalloc(l->n > 0 ? (size_t)l->n : 1, sizeof *l->deaf);
	l->any = 0;
	l->all = l->n > 0 ? UINT64_MAX : 0;
	for (i = 0; i < l->n; i++) {
		l->deaf[i] = deaf_to(t, l->tids[i]);
		l->any |= l->deaf[i];
		l->all &= l->deaf[i];
	}
}

static int
first_outside(uint64_t set)
{
	size_t i;

	for (i = 0; i < ARRAY_LEN(candidates); i++)
		if (!(set & bit_of(candidates[i])))
			return candidates[i];
	return 0;
}

static void
note_deaf(struct plan *p, const struct look_at_threads *l)
{
	ssize_t i;

	for (i = 0; i < l->n && p->ndeaf < RECORD_DEAF; i++)
		/* a filter is asked later, where it can be */
		if (l->deaf[i] & bit_of(p->signo) ||
		    inject_thread_filters(p->t, l->tids[i]))
			p->deaf[p->ndeaf++] = (uint32_t)
				thread_inner_tid(p->t, l->tids[i]);
}

int
plan_refuse_signal(const struct plan *p, const char *why)
{
	(void)fail(FAIL_UNSUITABLE, "process %d (%s) %s, one of which would "
		   "be needed for the ticks", target_pid(p->t),
		   target_name(p->t), why);
	return fail_remedy(PLAN_OTHER_ENGINE);
}

int
plan_choose_signal(struct plan *p)
{
	const struct timespec ms = { .tv_nsec = 1000000 };
	struct look_at_threads l = {0};
	const uint64_t used = handled(HAZARD_IDLE_SIGNAL) ? used_by(p) : 0;
	int i;

	for (i = 0; i < LOOKS && !p->signo; i++) {
		if (i > 0)
			(void)nanosleep(&ms, NULL);
		look_at(p->t, &l);
		p->signo = first_outside(used | l.any);
	}
	/* some thread is deaf to each of them, for good */
	if (!p->signo)
		p->signo = first_outside(used | l.all);
	if (p->signo)
		note_deaf(p, &l);
	free(l.deaf);
	free(l.tids);
	if (p->signo)
		return 0;
	return plan_refuse_signal(p, first_outside(used) ?
		"blocks SIGURG and SIGWINCH in all of its threads" :
		"has a use of its own for SIGURG and SIGWINCH");
}

int
inject_check_ungated(struct target *t)
{
	char *status, *takes, *confines, *switches;
	bool dispatched;

	if (!handled(HAZARD_GATE))
		return 0;
	status = file_read_at(target_proc(t), "status", NULL);
	dispatched = signal_set(status, "\nSigCgt:") & bit_of(SIGSYS);
	free(status);
	if (dispatched) {
		(void)fail(FAIL_UNSUITABLE, "process %d (%s) handles SIGSYS: "
			   "the kernel may dispatch system calls to it, so "
			   "that no handler of ours could return",
			   target_pid(t), target_name(t));
		return fail_remedy("run as root, or: " PLAN_OTHER_ENGINE);
	}
	confines = target_confines_threads(t);
	if (confines) {
		(void)fail(FAIL_UNSUITABLE, "process %d (%s) can install a "
			   "seccomp filter or enable syscall dispatch at any "
			   "moment, and a signal handler could then not return "
			   "(%s)", target_pid(t), target_name(t), confines);
		free(confines);
		return fail_remedy("run as root (Linux 6.10), or: "
				   PLAN_OTHER_ENGINE);
	}
	switches = target_switches_stacks(t);
	if (switches) {
		(void)fail(FAIL_UNSUITABLE, "process %d (%s) can run code on a "
			   "stack that has no room for a signal handler (%s)",
			   target_pid(t), target_name(t), switches);
		free(switches);
		return fail_remedy("run as root (Linux 6.10), or: "
				   PLAN_OTHER_ENGINE);
	}
	takes = target_takes_signals(t);
	if (!takes)
		return 0;
	(void)fail(FAIL_UNSUITABLE, "process %d (%s) could take a tick for a "
		   "signal that was sent to it (%s)", target_pid(t),
		   target_name(t), takes);
	free(takes);
	return fail_remedy("run as root (Linux 6.10), or: "
			   PLAN_OTHER_ENGINE);
}
