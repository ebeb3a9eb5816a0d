/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * A thread may have credentials of its own: servers of files and sandboxes
 * change them by system calls that libc does not spread to all threads. What
 * such a thread opens for us it opens as another user, and a thread that we
 * begin from it would keep that: it does not work for us.
 */
#include <stdlib.h>
#include <string.h>

#include "private.h"

static char *
text_of(struct target *t, pid_t tid, const char *name)
{
	char path[64];

	(void)snprintf(path, sizeof path, "task/%d/%s", (int)tid, name);
	return file_read_at(target_proc(t), path, NULL);
}

/* The two have the same line of that key. */
static bool
same_line(const char *one, const char *other, const char *key)
{
	const char *a = strstr(one, key), *b = strstr(other, key);

	if (!a || !b)
		return a == b;
	a += strlen(key);
	b += strlen(key);

	const size_t n = strcspn(a, "\n");

	return strcspn(b, "\n") == n && memcmp(a, b, n) == 0;
}

static bool
same_status(const char *one, const char *other)
{
	static const char *const keys[] = {
		"\nUid:", "\nGid:", "\nGroups:", "\nCapInh:", "\nCapPrm:",
		"\nCapEff:", "\nCapBnd:", "\nCapAmb:", "\nNoNewPrivs:",
	};

	for (size_t i = 0; i < ARRAY_LEN(keys); i++)
		if (!same_line(one, other, keys[i]))
			return false;
	return true;
}

/* Security modules confine a thread as they confine a process. */
static bool
same_label(struct target *t, pid_t tid, pid_t other)
{
	char *a = text_of(t, tid, "attr/current");
	char *b = text_of(t, other, "attr/current");
	const bool same = !a || !b || strcmp(a, b) == 0;

	free(a);
	free(b);
	return same;
}

bool
inject_has_own_credentials(struct target *t, pid_t tid)
{
	const pid_t leader = target_live_thread(t);
	char *a, *b;
	bool same;

	if (tid == leader)
		return false;
	a = text_of(t, tid, "status");
	b = text_of(t, leader, "status");
	/* which have ended is found out elsewhere */
	same = !a || !b || (same_status(a, b) && same_label(t, tid, leader));
	free(a);
	free(b);
	return !same;
}
