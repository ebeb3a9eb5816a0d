/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * where: stacks, in the forms that dbx knows.
 */
#include "private.h"

#include <stdlib.h>
#include <string.h>

bool
thread_word(const char *word, long long *tid)
{
	if (str_starts(word, "t@") || str_starts(word, "l@"))
		word += 2;
	return str_number(word, 1, 1 << 30, tid);
}

enum { FRAMES_MOST = 100000 };

struct where {
	bool all, verbose, limited;
	long long tid, first, count;	/* count 0: all */
};

static bool
has_thread(struct shell *sh, long long tid)
{
	struct session_thread *th = NULL;
	const ssize_t n = sh->session ? session_threads(sh->session, &th) : 0;
	bool found = false;

	if (sh->core)
		return post_mortem_has(sh, tid);
	for (ssize_t i = 0; i < n; i++)
		found |= th[i].tid == tid;
	free(th);
	fail_clear();
	return found;
}

/* A number is a thread's, if there is such a one, or so many frames. */
static bool
take_where(struct shell *sh, size_t n, char **words, struct where *w)
{
	for (size_t i = 1; i < n; i++) {
		const char *word = words[i];
		long long number;

		if (strcmp(word, "-all") == 0)
			w->all = true;
		else if (strcmp(word, "-v") == 0)
			w->verbose = true;
		else if (strcmp(word, "-f") == 0 && i + 1 < n &&
			 str_number(words[i + 1], 0, FRAMES_MOST, &w->first))
			i++;
		/* no frame is hidden; objects are told; of -v: arguments */
		else if (strcmp(word, "-h") == 0 || strcmp(word, "-l") == 0 ||
			 strcmp(word, "-q") == 0)
			continue;
		else if (!thread_word(word, &number))
			return false;
		else if (word[1] == '@' || has_thread(sh, number))
			w->tid = number;
		else
			w->count = number;
	}
	return !w->all || !w->tid;
}

/* With arguments, as debug information has them. */
static enum result
where_verbose(struct shell *sh, const struct where *w)
{
	const pid_t before = sh->thread;
	const long long last = w->count ? w->first + w->count : FRAMES_MOST;
	enum result r = DONE;
	struct debug *d;

	if (sh->session && session_state(sh->session) != SESSION_STOPPED) {
		fail(FAIL_USAGE, "where -v: process %d is running",
		     session_pid(sh->session));
		fail_remedy("stop it first: stop; where alone stops it for a "
			    "moment");
		return FAILED;
	}
	sh->thread = w->tid ? (pid_t)w->tid : before;
	d = debuggee_now(sh);

	const size_t n = d ? debug_frames(d, (size_t)last) : 0;

	for (size_t i = (size_t)w->first; i < n && (long long)i < last; i++) {
		struct str out = {0};

		if (debug_frame_text(d, i, &out) < 0)
			r = FAILED;
		else
			fprintf(sh->out, "#%-3zu %s%s", i, str_tame_lines(out.data),
				out.data[out.len - 1] == '\n' ? "" : "\n");
		str_fini(&out);
	}
	sh->thread = before;
	return n ? r : FAILED;
}

enum result
cmd_where(struct shell *sh, size_t n, char **words)
{
	struct where w = {0};
	struct scene l;

	if (!take_where(sh, n, words, &w))
		return USAGE;
	if (sh->core && (w.all || !w.verbose))
		return post_mortem_where(sh, w.all ? 0 : w.tid ? w.tid :
					 sh->thread, w.first, w.count);
	if (w.verbose && !w.all)
		return where_verbose(sh, &w);
	if (!w.tid)
		w.tid = thread_now(sh);
	if (scene_take(sh, w.all ? 0 : (pid_t)w.tid, LOOK_GENTLY, &l) < 0)
		return FAILED;
	l.frames_first = (size_t)w.first;
	l.frames_max = w.count ? (size_t)(w.first + w.count) : sh->frames_max;
	l.frames_asked = w.count;
	scene_print(&l, sh->out);
	scene_fini(&l);
	return DONE;
}
