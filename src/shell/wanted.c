/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * thr_create, thr_exit, sysin, sysout: what the session is asked to tell of
 * threads and their calls, and the handlers of that.
 */
#include "private.h"

#include <errno.h>
#include <string.h>

enum { ERRORS = 4096 };		/* answers above -ERRORS are error numbers */

static bool
is_of_calls(const struct handler *h)
{
	return h->kind == EVENT_SYSIN || h->kind == EVENT_SYSOUT;
}

/* ---- what is asked for --------------------------------------------------- */

static void
want_calls(uint64_t *set, const struct handler *h)
{
	long long nr;

	if (!h->place) {
		memset(set, 0xff, SESSION_CALLS_KNOWN / 8);
		return;
	}
	nr = call_number(h->place);
	set[nr / 64] |= UINT64_C(1) << (nr % 64);
}

/* Only if that is all of them; 0: any. */
static pid_t
thread_of_calls(const struct shell *sh)
{
	pid_t one = -1;

	for (size_t i = 0; i < sh->handlers.len; i++) {
		const struct handler *h = sh->handlers.items[i];

		if (!is_of_calls(h) || h->disabled)
			continue;
		if (one != -1 && one != h->thread)
			return 0;
		one = h->thread;
	}
	return one == -1 ? 0 : one;
}

static struct session_wants
wanted(const struct shell *sh)
{
	struct session_wants w;

	memset(&w, 0, sizeof w);	/* it is compared as a whole */
	w.calls_of = thread_of_calls(sh);
	w.follow = (unsigned char)sh->follow;
	w.ends = sh->until.on;
	for (size_t i = 0; i < sh->handlers.len; i++) {
		const struct handler *h = sh->handlers.items[i];

		if (h->disabled)
			continue;
		w.programs |= h->kind == EVENT_PROG_NEW ||
			h->kind == EVENT_SYNCRTLD;
		w.execs |= h->kind == EVENT_SYNC;
		/* no call that lasts is told later than its thread's end */
		w.dies |= h->kind == EVENT_DIES || h->longer_ns;
		w.begins |= h->kind == EVENT_THR_CREATE;
		w.ends |= h->kind == EVENT_THR_EXIT || h->longer_ns;
		if (h->kind == EVENT_SYSIN)
			want_calls(w.enters, h);
		if (h->kind == EVENT_SYSOUT)
			want_calls(w.returns, h);
	}
	return w;
}

int
wants_review(struct shell *sh)
{
	const struct session_wants w = wanted(sh);

	if (!target_alive(sh) || memcmp(&w, &sh->wants, sizeof w) == 0)
		return 0;
	if (session_want(sh->session, &w) < 0)
		return -1;
	sh->wants = w;
	return 0;
}

bool
wants_any(const struct shell *sh)
{
	static const struct session_wants nothing;

	return memcmp(&sh->wants, &nothing, sizeof nothing) != 0;
}

/* ---- system calls -------------------------------------------------------- */

long
call_number(const char *word)
{
	long long nr;

	if (str_number(word, 0, SESSION_CALLS_KNOWN - 1, &nr))
		return (long)nr;
	return wait_call_number(word);
}

int
call_check(const char *command, const char *word)
{
	const long nr = call_number(word);

	if (nr >= 0 && nr < SESSION_CALLS_KNOWN)
		return 0;
	fail(FAIL_USAGE, "%s: '%s' is no system call", command, word);
	return fail_remedy("ausyscall --dump lists them, or man 2 syscalls; a "
			   "number up to %d does as well",
			   SESSION_CALLS_KNOWN - 1);
}

static void
tell_call(struct shell *sh, const struct session_event *ev)
{
	const char *name = wait_call_name(ev->signal);

	if (ev->kind == SESSION_EVENT_ENTERS)
		shell_note(sh, "thread %d enters %s", (int)ev->tid, name);
	else if (ev->value < 0 && ev->value > -ERRORS &&
		 strerrorname_np((int)-ev->value))
		shell_note(sh, "thread %d returns from %s: %s (%s)",
			   (int)ev->tid, name,
			   strerrorname_np((int)-ev->value),
			   strerror((int)-ev->value));
	else if (ev->value < 0 && ev->value > -ERRORS)
		shell_note(sh, "thread %d returns from %s: a signal has cut it "
			   "short", (int)ev->tid, name);
	else
		shell_note(sh, "thread %d returns from %s: %lld",
			   (int)ev->tid, name, (long long)ev->value);
}

const char *
wants_variable(struct shell *sh, const char *name)
{
	if (sh->call < 0)
		return NULL;
	if (strcmp(name, "sysname") == 0)
		return wait_call_name(sh->call);
	str_clear(&sh->value);
	if (strcmp(name, "syscode") == 0)
		str_addf(&sh->value, "%ld", sh->call);
	else if (strcmp(name, "sysresult") == 0 && sh->call_returned)
		str_addf(&sh->value, "%lld", sh->call_result);
	else
		return NULL;
	return str_text(&sh->value);
}

/* ---- the event ----------------------------------------------------------- */

static enum event_kind
kind_of(const struct session_event *ev)
{
	switch (ev->kind) {
	case SESSION_EVENT_BEGINS:
		return EVENT_THR_CREATE;
	case SESSION_EVENT_ENDS:
		return EVENT_THR_EXIT;
	case SESSION_EVENT_DIES:
		return EVENT_DIES;
	case SESSION_EVENT_ENTERS:
		return EVENT_SYSIN;
	default:
		return EVENT_SYSOUT;
	}
}

static bool
is_meant(struct shell *sh, struct handler *h, const struct session_event *ev)
{
	return h && h->kind == kind_of(ev) &&
		(!is_of_calls(h) || !h->place ||
		 call_number(h->place) == ev->signal) &&
		handler_counts(sh, h, ev->tid);
}

static void
tell(struct shell *sh, const struct session_event *ev)
{
	if (ev->kind == SESSION_EVENT_DIES)
		sh->program_status = (int)ev->value;
	if (ev->kind == SESSION_EVENT_BEGINS ||
	    ev->kind == SESSION_EVENT_ENDS || ev->kind == SESSION_EVENT_DIES) {
		shell_note(sh, "%s", ev->text);
		return;
	}
	sh->call = ev->signal;
	sh->call_result = ev->value;
	sh->call_returned = ev->kind == SESSION_EVENT_RETURNS;
	tell_call(sh, ev);
}

bool
wants_meet(struct shell *sh, const struct session_event *ev)
{
	const pid_t thread = sh->thread, pid = session_pid(sh->session);
	const bool ends = ev->kind == SESSION_EVENT_ENDS &&
		until_thread_ends(sh, ev->tid);
	bool over = false, told = false;

	if (ev->kind == SESSION_EVENT_ENDS || ev->kind == SESSION_EVENT_DIES)
		over = longer_ended(sh, ev->kind == SESSION_EVENT_ENDS ?
				    ev->tid : 0);
	if (!sh->session || session_pid(sh->session) != pid)
		return true;
	for (int number = 1; number < sh->next_handler; number++) {
		struct handler *h = handler_numbered(sh, number);

		if (!is_meant(sh, h, ev))
			continue;
		if (!told)
			tell(sh, ev);
		told = true;
		if (!handler_fire_of(sh, h, ev->tid, &over))
			return true;
	}
	if (!over)
		sh->thread = thread;
	return ends || over;
}
