/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Owners of locks in memory that processes share. A lock holds the number of a
 * thread, as its process knows it: it is that thread of a process which has
 * the same memory mapped. Where processes number alike, one is asked;
 * otherwise all that may be looked into are.
 */
#include "private.h"

#include <dirent.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

enum { SHARERS_AGE_MS = 100 };

/* ---- what is shared ------------------------------------------------------ */

/* "7f01...-7f02... rw-s 00000000 00:01 4711   /dev/zero (deleted)" */
static bool
parse_mapping(const char *line, uint64_t *start, uint64_t *end,
	      struct shared_object *o)
{
	char rights[5];

	return sscanf(line, "%" SCNx64 "-%" SCNx64 " %4s %*x %15s %" SCNu64,
		      start, end, rights, o->device, &o->inode) == 5 &&
		rights[3] == 's' && o->inode;
}

static const char *
next_line(const char *line)
{
	const char *end = strchr(line, '\n');

	return end && end[1] ? end + 1 : NULL;
}

static bool
object_at(pid_t tid, uint64_t addr, struct shared_object *o)
{
	char *text = proc_text(tid, "maps");
	uint64_t start, end;
	bool found = false;

	for (const char *at = text; at && !found; at = next_line(at))
		found = parse_mapping(at, &start, &end, o) && addr >= start &&
			addr < end;
	free(text);
	return found;
}

enum sharing { SHARES, SHARES_NOT, MAY_NOT_BE_SEEN };

static enum sharing
shares(pid_t pid, const struct shared_object *o)
{
	char *text = proc_text(pid, "maps");
	enum sharing result = text ? SHARES_NOT : MAY_NOT_BE_SEEN;
	struct shared_object one;
	uint64_t start, end;

	for (const char *at = text; at && result != SHARES; at = next_line(at))
		if (parse_mapping(at, &start, &end, &one) &&
		    one.inode == o->inode && !strcmp(one.device, o->device))
			result = SHARES;
	free(text);
	return result;
}

/* ---- who shares it ------------------------------------------------------- */

/* "NSpid:	4711	12": in a name space of numbers below ours. */
static bool
numbers_otherwise(pid_t pid)
{
	char *text = proc_text(pid, "status");
	const char *at = text ? strstr(text, "\nNSpid:\t") : NULL;
	const char *end = at ? strchr(at + 1, '\n') : NULL;
	const char *second = at ? strchr(at + strlen("\nNSpid:\t"), '\t') : NULL;
	const bool more = second && end && second < end;

	free(text);
	return more;
}

static void
add_sharer(struct sharers *s, pid_t pid)
{
	s->pids = xgrow(s->pids, &s->cap, s->len + 1, sizeof *s->pids);
	s->pids[s->len++] = pid;
}

static void
list_sharers(struct sharers *s, const struct shared_object *o)
{
	DIR *dir = opendir("/proc");
	const struct dirent *e;

	s->object = *o;
	s->len = 0;
	s->unseen = false;
	while (dir && (e = readdir(dir))) {
		const pid_t pid = (pid_t)strtol(e->d_name, NULL, 10);

		const enum sharing how = pid > 0 ? shares(pid, o) : SHARES_NOT;

		if (how == SHARES)
			add_sharer(s, pid);
		s->unseen |= how == MAY_NOT_BE_SEEN && numbers_otherwise(pid);
	}
	if (dir)
		closedir(dir);
	s->read_at = now_ns();
}

static const struct sharers *
sharers_of(struct why *y, const struct shared_object *o)
{
	struct sharers *s = &y->sharers;

	if (s->object.inode != o->inode ||
	    strcmp(s->object.device, o->device) ||
	    now_ns() - s->read_at > SHARERS_AGE_MS * UINT64_C(1000000))
		list_sharers(s, o);
	return s;
}

/* ---- the owner ----------------------------------------------------------- */

/* The process of a thread, as we number them; 0: there is none. */
static pid_t
process_of(pid_t tid)
{
	char *text = proc_text(tid, "status");
	const char *at = text ? strstr(text, "\nTgid:") : NULL;
	const pid_t pid = at ? (pid_t)strtol(at + strlen("\nTgid:"), NULL, 10) :
		0;

	free(text);
	return pid;
}

static bool
take_owner(struct why *y, struct wait *w, pid_t pid, pid_t number)
{
	w->owner = member_by_inner(members_of(y, pid), number);
	w->owner_pid = pid;
	return w->owner != 0;
}

/* Its number is one of ours: asked directly, it is there or is not. */
static bool
look_outside(struct why *y, struct wait *w, pid_t number,
	     const struct shared_object *o)
{
	const pid_t pid = process_of(number);
	const enum sharing sharing = pid ? shares(pid, o) : SHARES_NOT;

	if (sharing == MAY_NOT_BE_SEEN)
		w->owner_unseen = number;
	return sharing == SHARES && take_owner(y, w, pid, number);
}

void
owner_elsewhere(struct why *y, struct wait *w, pid_t number)
{
	const bool inside = process_is_inside(w->pid);
	struct shared_object o;

	if (!object_at(w->tid, w->word, &o) ||
	    (!inside && look_outside(y, w, number, &o)))
		return;

	const struct sharers *s = sharers_of(y, &o);

	for (size_t i = 0; i < s->len; i++)
		if (s->pids[i] != w->pid &&
		    take_owner(y, w, s->pids[i], number)) {
			w->owner_unseen = 0;
			return;
		}
	w->owner = w->owner_pid = 0;
}

bool
owner_is_gone(struct why *y, const struct wait *w, pid_t number)
{
	struct shared_object o;

	return !process_is_inside(w->pid) && !process_of(number) &&
		object_at(w->tid, w->word, &o) && !sharers_of(y, &o)->unseen;
}
