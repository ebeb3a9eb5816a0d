/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Does a thread still stand, trace or block for us; does the signal of our
 * ticks still have a handler? By what /proc says of the process and of each
 * thread.
 */
#include "look_back.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define THREADS_NS	UINT64_C(300000000)	/* for reading them all */

/* The number behind a name in a status file; 0: it is not there. */
static uint64_t
number_of(const char *text, const char *name, int base)
{
	const char *at = strstr(text, name);

	return at ? strtoull(at + strlen(name), NULL, base) : 0;
}

static char
state_of(const char *text)
{
	const char *at = strstr(text, "\nState:\t");

	return at ? at[strlen("\nState:\t")] : 0;
}

static char *
status_of(const struct look_back *lb, pid_t tid)
{
	char path[64];

	snprintf(path, sizeof path, "task/%d/status", (int)tid);
	return file_read_at(target_proc(lb->t), path, NULL);
}

static bool
is_of_ours(uint64_t tracer)
{
	char path[64];

	if (!tracer)
		return false;
	snprintf(path, sizeof path, "/proc/self/task/%" PRIu64, tracer);
	return access(path, F_OK) == 0;
}

static bool
keeps_our_mask(const struct look_back *lb, pid_t tid, uint64_t blocked)
{
	const unsigned n = lb->nborrowed < BORROWED_MAX ? lb->nborrowed :
		BORROWED_MAX;

	if (blocked != inject_busy_mask())
		return false;
	for (unsigned i = 0; i < n; i++)
		if (lb->borrowed[i].tid == tid &&
		    lb->borrowed[i].mask != blocked)
			return true;
	return false;
}

/* Its state; 0: it has ended. */
static char
look_at_thread(struct look *l, pid_t tid)
{
	char *text = status_of(l->lb, tid);
	char state = text ? state_of(text) : 0;

	if (!text)
		return 0;
	if (is_of_ours(number_of(text, "\nTracerPid:", 10))) {
		look_tell(l, "thread %d traced by us", (int)tid);
		state = 't';
	}
	if (keeps_our_mask(l->lb, tid, number_of(text, "\nSigBlk:", 16)))
		look_tell(l, "signals of thread %d blocked", (int)tid);
	free(text);
	return state == 'Z' || state == 'X' ? 0 : state;
}

/*
 * We stop threads one by one, and never by a signal that stops the process:
 * where all of them stand in a job stop, that was somebody else.
 */
static void
tell_stopped(struct look *l, const pid_t *stopped, size_t n, size_t live)
{
	l->job_stopped = n > 0 && n == live;
	for (size_t i = 0; i < n && !l->job_stopped; i++)
		look_tell(l, "thread %d stopped", (int)stopped[i]);
}

void
look_at_threads(struct look *l, bool stays_stopped)
{
	const uint64_t end = now_ns() + THREADS_NS;
	pid_t *tids = NULL;
	size_t cap = 0;
	const ssize_t n = target_threads(l->lb->t, &tids, &cap);
	size_t stopped = 0, live = 0;
	ssize_t i;

	for (i = 0; i < n && (i % 64 || now_ns() < end); i++) {
		const char state = look_at_thread(l, tids[i]);

		live += state != 0;
		if (state == 'T')
			tids[stopped++] = tids[i];
	}
	if (!l->lb->stopped && !stays_stopped)
		tell_stopped(l, tids, stopped, live);
	if (i < n)
		str_addf(&l->unlooked, "%s%zd of its %zd threads",
			 l->unlooked.len ? ", " : "", n - i, n);
	free(tids);
}

void
look_at_signals(struct look *l)
{
	const int signal = l->lb->signal;
	const uint64_t bit = signal ? UINT64_C(1) << (signal - 1) : 0;
	char *text = status_of(l->lb, target_live_thread(l->lb->t));

	if (text && number_of(text, "\nSigCgt:", 16) & ~l->lb->caught & bit)
		look_tell(l, "a handler of SIG%s", sigabbrev_np(signal));
	free(text);
}

void
look_note_before(struct look_back *lb)
{
	char *text = status_of(lb, target_live_thread(lb->t));

	if (text) {
		lb->caught = number_of(text, "\nSigCgt:", 16);
		lb->stopped = state_of(text) == 'T';
	}
	free(text);
}
