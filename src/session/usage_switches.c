/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * The context switches of a process, for resource samples. The kernel tells
 * them of each thread that lives, to others one by one, and of those that have
 * ended to nobody. So what each thread was seen to have is kept: of one that
 * ends what it had at the last sample, of one too short for any nothing.
 */
#include "usage.h"

#include <stdlib.h>
#include <string.h>
#include <sys/types.h>

enum {
	SOME = 256,		/* threads at a sample, by turns */
	ALL = 4096,		/* ... at the first and the last */
};

static const char *const names[USAGE_SWITCHES] = {
	"\nvoluntary_ctxt_switches:", "\nnonvoluntary_ctxt_switches:",
};

/* Counted from 0 again it is another thread of the same number. */
static uint64_t
growth(struct map *seen, pid_t tid, uint64_t now, bool ours)
{
	uint64_t before = 0;
	const bool known = map_get(seen, (uint64_t)tid, &before);

	map_put(seen, (uint64_t)tid, now);
	if (!known)
		return ours ? now : 0;
	return now < before ? now : now - before;
}

static void
read_thread(struct usage_switches *s, struct target *t, pid_t tid,
	    uint64_t *const sums[USAGE_SWITCHES], bool ours)
{
	char path[64];

	(void)snprintf(path, sizeof path, "task/%d/status", (int)tid);

	char *text = file_read_at(target_proc(t), path, NULL);

	for (size_t i = 0; text && i < USAGE_SWITCHES; i++) {
		const char *at = strstr(text, names[i]);
		const uint64_t n = at ?
			strtoull(at + strlen(names[i]), NULL, 10) : 0;

		*sums[i] += growth(&s->seen[i], tid, n, ours);
	}
	free(text);
}

void
usage_read_switches(struct usage_switches *s, struct target *t,
		    struct experiment_usage *use, enum usage_reach reach)
{
	uint64_t *const sums[] = { &use->voluntary, &use->involuntary };
	pid_t *tids = NULL;
	size_t cap = 0;
	const ssize_t n = target_gone(t) ? 0 : target_threads(t, &tids, &cap);
	const size_t all = n > 0 ? (size_t)n : 0;
	const size_t most = reach == USAGE_ALL ? ALL : SOME;

	if (!s->begun)
		s->whole = all <= most;
	for (size_t i = 0; i < all && i < most; i++)
		read_thread(s, t, tids[(s->next + i) % all], sums,
			    s->begun ? s->whole : true);
	s->next = all > most ? (s->next + most) % all : 0;
	s->begun = true;
	free(tids);
	fail_clear();
}

void
usage_switches_fini(struct usage_switches *s)
{
	for (size_t i = 0; i < USAGE_SWITCHES; i++)
		map_fini(&s->seen[i]);
}
