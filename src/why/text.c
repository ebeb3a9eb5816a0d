/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * What a thread waits for, in one line for people.
 */
#include "private.h"

#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>

enum { FILES_SHOWN = 4, PEERS_SHOWN = 3, CHILDREN_SHOWN = 3,
       WORDS_SHOWN = 4 };

const char *
why_name(struct why *y, pid_t pid, pid_t tid)
{
	char *text = proc_text(pid, "task/%d/comm", (int)tid);

	(void)snprintf(y->name, sizeof y->name, "%s",
		       text ? str_chomp(text) : "");
	free(text);
	return str_tame(y->name);
}

static void
add_thread(struct why *y, struct str *s, pid_t pid, pid_t tid)
{
	const char *name = why_name(y, pid, tid);

	str_addf(s, *name ? "thread %d (%s)" : "thread %d", (int)tid, name);
}

static void
add_process(struct why *y, struct str *s, pid_t pid)
{
	const char *name = why_name(y, pid, pid);

	str_addf(s, *name ? "process %d (%s)" : "process %d", (int)pid, name);
}

/* ---- kinds -------------------------------------------------------------- */

static void
add_holder(struct why *y, struct str *s, const struct wait *w)
{
	if (w->owner_ended) {
		str_addf(s, " held by thread %d, which has ended",
			 (int)w->owner);
	} else if (w->owner) {
		str_add(s, " held by ");
		add_thread(y, s, w->owner_pid, w->owner);
		if (w->owner_pid != w->pid) {
			str_add(s, " of ");
			add_process(y, s, w->owner_pid);
		}
	} else if (w->owner_unseen) {
		str_addf(s, " held by thread %d, of a process that may not be "
			 "looked into", (int)w->owner_unseen);
	} else if (w->readers) {
		str_addf(s, " held by %u reader%s", w->readers,
			 w->readers == 1 ? "" : "s");
	}
}

static void
add_words(struct str *s, const struct wait *w)
{
	str_addf(s, "one of %zu futexes: ", w->word_count);
	for (size_t i = 0; i < w->word_count && i < WORDS_SHOWN; i++)
		str_addf(s, "%s0x%llx (holds %u)", i ? ", " : "",
			 (unsigned long long)w->words[i].address,
			 w->words[i].value);
	if (w->word_count > WORDS_SHOWN)
		str_addf(s, " and %zu more", w->word_count - WORDS_SHOWN);
}

static void
add_futex(struct why *y, struct str *s, const struct wait *w)
{
	static const char *const words[] = {
		[LOCK_UNKNOWN] = "futex", [LOCK_MUTEX] = "mutex",
		[LOCK_RWLOCK] = "read-write lock",
		[LOCK_CONDITION] = "condition variable",
		[LOCK_SEMAPHORE] = "semaphore", [LOCK_BARRIER] = "barrier",
		[LOCK_ONCE] = "pthread_once,",
		[LOCK_INTERNAL] = "lock within libc,",
		[LOCK_STREAM] = "the lock of a stream,",
	};

	if (w->word_count > 1) {
		add_words(s, w);
		return;
	}
	if (w->lock == LOCK_JOIN && w->owner) {
		str_add(s, "the end of ");
		add_thread(y, s, w->pid, w->owner);
		return;
	}
	str_addf(s, "%s%s 0x%llx", w->lock == LOCK_JOIN ? "the end of a thread,"
		 : words[w->lock], w->lock == LOCK_CONDITION &&
		 w->address == w->word ? ", word" : "",
		 (unsigned long long)w->address);
	if (w->lock == LOCK_UNKNOWN)
		str_addf(s, " (holds %u)", w->value);
	add_holder(y, s, w);
}

static void
add_peers(struct why *y, struct str *s, const struct wait_file *f)
{
	for (size_t i = 0, shown = 0; i < f->peer_count; i++) {
		if (i && f->peers[i].pid == f->peers[i - 1].pid)
			continue;
		if (shown++ == PEERS_SHOWN) {
			str_add(s, " and others");
			break;
		}
		str_add(s, i ? ", " : "; other end: ");
		add_process(y, s, f->peers[i].pid);
	}
}

static void
add_files(struct why *y, struct str *s, const struct wait *w)
{
	if (w->epoll)
		str_addf(s, "epoll %d of %zu descriptor%s", (int)w->args[0],
			 w->file_count, w->file_count == 1 ? "" : "s");
	for (size_t i = 0; i < w->file_count && i < FILES_SHOWN; i++) {
		const struct wait_file *f = &w->files[i];

		str_add(s, i ? ", " : w->epoll ? ": " : "");
		str_addf(s, "fd %d (%s", f->fd, f->what);
		add_peers(y, s, f);
		str_add(s, ")");
	}
	if (w->file_count > FILES_SHOWN)
		str_addf(s, " and %zu more", w->file_count - FILES_SHOWN);
	if (!w->file_count && !w->epoll)
		str_add(s, "no descriptor");
}

static void
add_file_lock(struct why *y, struct str *s, const struct wait *w)
{
	str_add(s, "a lock of ");
	add_files(y, s, w);
	if (w->holder) {
		str_add(s, " held by ");
		add_process(y, s, w->holder);
	}
}

static void
add_children(struct why *y, struct str *s, const struct wait *w)
{
	if (w->vforked)
		str_add(s, "its vfork child ");
	else
		str_add(s, w->child_count ? "the end of " : "a child");
	for (size_t i = 0; i < w->child_count; i++) {
		if (i == CHILDREN_SHOWN) {
			str_addf(s, " and %zu more", w->child_count - i);
			break;
		}
		if (i)
			str_add(s, ", ");
		add_process(y, s, w->children[i]);
	}
}

static void
add_stopper(struct why *y, struct str *s, const struct wait *w)
{
	char *text = proc_text(w->pid, "task/%d/status", (int)w->tid);
	const char *at = text ? strstr(text, "\nTracerPid:") : NULL;
	const pid_t tracer = at ? (pid_t)strtol(at + 11, NULL, 10) : 0;

	free(text);
	if (w->state == 'T') {
		str_add(s, "SIGCONT: a signal has stopped it");
	} else {
		str_add(s, "its tracer");
		if (tracer) {
			str_add(s, ", ");
			add_process(y, s, tracer);
		}
	}
}

const char *
ipc_kind_name(const struct wait *w)
{
	/* msgrcv, msgsnd; semop, semtimedop */
	return str_starts(wait_call_name(w->call), "msg") ? "message queue" :
		"semaphore set";
}

/* ---- all ---------------------------------------------------------------- */

static void
add_limit(struct str *s, const struct wait *w)
{
	if (!w->timed)
		return;
	if (w->timeout_ns < 0)
		str_add(s, w->kind == WAIT_TIME ? "a moment of a clock" :
			", at most until a moment of a clock");
	else
		str_addf(s, "%s%.6g s", w->kind == WAIT_TIME ? "" :
			 ", at most ", (double)w->timeout_ns / 1e9);
}

char *
why_text(struct why *y, const struct wait *w)
{
	struct str s = { 0 };

	switch (w->kind) {
	case WAIT_NONE:
		return xstrdup("");
	case WAIT_CALL:
		if (w->call < 0)
			str_add(&s, "something that may not be seen");
		break;
	case WAIT_TIME:
		break;
	case WAIT_FUTEX:
		add_futex(y, &s, w);
		break;
	case WAIT_FILES:
		add_files(y, &s, w);
		break;
	case WAIT_CHILD:
		add_children(y, &s, w);
		break;
	case WAIT_SIGNAL:
		str_add(&s, "a signal");
		break;
	case WAIT_FILE_LOCK:
		add_file_lock(y, &s, w);
		break;
	case WAIT_STOPPED:
		add_stopper(y, &s, w);
		break;
	case WAIT_IPC:
		str_addf(&s, "%s %d", ipc_kind_name(w), (int)w->args[0]);
		break;
	case WAIT_KERNEL:
		str_add(&s, "the kernel: a page fault or the like");
		break;
	}
	add_limit(&s, w);
	if (w->call >= 0 && w->kind != WAIT_STOPPED)
		str_addf(&s, "%sin %s", s.len ? ", " : "",
			 wait_call_name(w->call));
	return str_take(&s);
}

const char *
why_verb(const char *text)
{
	return str_starts(text, "in ") ? "waits" : "waits for";
}
