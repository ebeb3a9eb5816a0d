/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * The threads of the process: threads, thread, lwps, lwp. On Linux a thread and
 * its LWP are one: t@4711 and l@4711.
 */
#include "private.h"

#include <stdlib.h>
#include <string.h>

/* ---- lists --------------------------------------------------------------- */

/* Of those who wait; memory that is not ours to read tells less. */
static void
take_waiting(struct shell *sh, struct scene *l)
{
	if (scene_take(sh, 0, LOOK_AT_WAITING, l) == 0)
		return;
	fail_clear();
	l->why = why_new();
}

static bool
is_hidden(const struct shell *sh, pid_t tid)
{
	for (size_t i = 0; i < sh->hidden_threads.len; i++)
		if (*(pid_t *)sh->hidden_threads.items[i] == tid)
			return true;
	return false;
}

/* threads -mode all is what there is; -all: those that are hidden, too. */
static bool
take_mode(size_t n, char **words, bool *all)
{
	*all = n == 2 && strcmp(words[1], "-all") == 0;
	return n == 1 || *all || (n == 3 && strcmp(words[1], "-mode") == 0 &&
				  strcmp(words[2], "all") == 0);
}

/* The one that commands are of is marked. */
static void
print_thread(struct shell *sh, const struct session_thread *th,
	     struct scene *l)
{
	char *wait = scene_wait_text(l, th->tid);
	char *line = xasprintf("%c%7d  %-5c  %12.3f  %-*s%s",
			       th->tid == sh->thread ? '>' : ' ', th->tid,
			       th->state, (double)th->cpu_ns / 1e9,
			       *wait ? 17 : 0, th->name, wait);

	people_print(sh, str_tame(line));
	free(line);
	free(wait);
}

static enum result
cmd_threads(struct shell *sh, size_t n, char **words)
{
	struct session_thread *th;
	struct scene l;
	bool all;

	if (n == 2 && strcmp(words[1], "-mode") == 0) {
		fputs("mode is all\n", sh->out);
		return DONE;
	}
	if (n == 3 && strcmp(words[1], "-mode") == 0 &&
	    strcmp(words[2], "all") != 0) {
		fail(FAIL_USAGE, "threads -mode %s: threads are hidden only by "
		     "hand", words[2]);
		fail_remedy("thread -hide TID; threads -all lists all");
		return FAILED;
	}
	if (!take_mode(n, words, &all))
		return USAGE;
	if (sh->core)
		return post_mortem_threads(sh);
	if (!target_alive(sh))		/* then it is the table of the experiment */
		return view_run(sh, n, words);

	const ssize_t count = session_threads(sh->session, &th);

	if (count < 0)
		return FAILED;

	take_waiting(sh, &l);
	fprintf(sh->out, "%8s  %-5s  %12s  %-15s  %s\n", "TID", "STATE",
		"CPU s", "NAME", "WAITS FOR");
	for (ssize_t i = 0; i < count; i++)
		if (all || !is_hidden(sh, th[i].tid))
			print_thread(sh, &th[i], &l);
	fail_clear();
	scene_fini(&l);
	free(th);
	return DONE;
}

/* dbx: one line each, the one that stopped marked. */
static enum result
cmd_lwps(struct shell *sh, size_t n, char **words)
{
	struct session_thread *th;

	(void)words;
	if (n != 1)
		return USAGE;

	const ssize_t count = session_threads(sh->session, &th);

	if (count < 0)
		return FAILED;
	for (ssize_t i = 0; i < count; i++) {
		const pid_t now = sh->thread ? sh->thread :
			session_pid(sh->session);

		fprintf(sh->out, "%cl@%d %c %s\n", th[i].tid == now ? '>' :
			' ', th[i].tid, th[i].state, str_tame(th[i].name));
	}
	free(th);
	return DONE;
}

/* ---- one ----------------------------------------------------------------- */

enum what { CHOOSE, INFO, HIDE, UNHIDE, SUSPEND, RESUME, BLOCKS, BLOCKED_BY };

static const struct {
	const char *name;
	enum what what;
	bool all;		/* or of all */
} options[] = {
	{ "-info", INFO, true }, { "-hide", HIDE, false },
	{ "-unhide", UNHIDE, true }, { "-suspend", SUSPEND, false },
	{ "-resume", RESUME, false }, { "-blocks", BLOCKS, false },
	{ "-blockedby", BLOCKED_BY, false },
};

/* tid 0: all; -1: none was given. */
static bool
take_thread(size_t n, char **words, enum what *what, long long *tid)
{
	bool may_all = false;
	size_t at = 1;

	*what = CHOOSE;
	*tid = -1;
	for (size_t i = 0; n > 1 && i < ARRAY_LEN(options); i++) {
		if (strcmp(words[1], options[i].name) != 0)
			continue;
		*what = options[i].what;
		may_all = options[i].all;
		at = 2;
	}
	if (n > at + 1)
		return false;
	if (n == at)
		return true;
	if (!may_all || strcmp(words[at], "all") != 0)
		return thread_word(words[at], tid);
	*tid = 0;
	return true;
}

static void
hide(struct shell *sh, pid_t tid, bool hidden)
{
	size_t kept = 0;

	for (size_t i = 0; i < sh->hidden_threads.len; i++) {
		pid_t *item = sh->hidden_threads.items[i];

		if (tid && *item != tid)
			sh->hidden_threads.items[kept++] = item;
		else
			free(item);
	}
	sh->hidden_threads.len = kept;
	if (hidden) {
		pid_t *item = xmalloc(sizeof *item);

		*item = tid;
		vec_push(&sh->hidden_threads, item);
	}
}

static enum result
show(struct shell *sh, enum what what, pid_t tid)
{
	struct session_thread *th;
	const ssize_t count = session_threads(sh->session, &th);
	bool found = false;

	for (ssize_t i = 0; i < count; i++) {
		if (tid && th[i].tid != tid)
			continue;
		found = true;
		if (what == CHOOSE || what == INFO)
			fprintf(sh->out, "thread %d (%s), state %c, %.3f s "
				"CPU%s\n", th[i].tid, str_tame(th[i].name), th[i].state,
				(double)th[i].cpu_ns / 1e9,
				is_hidden(sh, th[i].tid) ? ", hidden" : "");
	}
	free(th);
	if (count >= 0 && !found) {
		fail(FAIL_MISSING, "process %d has no thread %d",
		     session_pid(sh->session), (int)tid);
		fail_remedy("threads lists them");
	}
	return found ? DONE : FAILED;
}

/* By whom it is blocked: what it waits for says so. */
static enum result
blocked_by(struct shell *sh, pid_t tid)
{
	struct scene l;
	char *text;

	take_waiting(sh, &l);
	text = scene_wait_text(&l, tid);
	if (*text)
		fprintf(sh->out, "thread %d %s %s\n", (int)tid, why_verb(text),
			text);
	else
		fprintf(sh->out, "thread %d is not blocked\n", (int)tid);
	free(text);
	fail_clear();
	scene_fini(&l);
	return DONE;
}

static void
print_blocked(struct shell *sh, struct scene *l, const struct why_graph *g,
	      pid_t tid)
{
	bool any = false;

	for (size_t i = 0; i < g->len; i++) {
		const struct why_node *node = &g->nodes[i];

		for (size_t k = 0; k < node->waker_count; k++) {
			const struct wait *by = &g->nodes[node->wakers[k]].wait;
			char *text;

			if (by->tid != tid || node->wait.tid == tid)
				continue;
			any = true;
			text = why_text(l->why, &node->wait);
			fprintf(sh->out, "thread %d %s %s\n",
				(int)node->wait.tid, why_verb(text), text);
			free(text);
			break;
		}
	}
	if (!any)
		fprintf(sh->out, "thread %d blocks nobody\n", (int)tid);
}

static enum result
blocks(struct shell *sh, pid_t tid)
{
	struct why_graph g = {0};
	struct scene l;
	int r;

	take_waiting(sh, &l);
	r = why_graph_make(l.why, session_pid(sh->session), scene_functions, &l,
			   &g);
	if (r == 0)
		print_blocked(sh, &l, &g, tid);
	why_graph_fini(&g);
	scene_fini(&l);
	return r < 0 ? FAILED : DONE;
}

static enum result
cmd_thread(struct shell *sh, size_t n, char **words)
{
	enum what what;
	long long tid;
	enum result r;

	if (!take_thread(n, words, &what, &tid))
		return USAGE;
	if (sh->core)
		return what == CHOOSE || what == INFO ?
			post_mortem_thread(sh, tid > 0 ? tid : 0) : USAGE;
	if (tid < 0)
		tid = thread_now(sh);
	r = show(sh, what, (pid_t)tid);
	if (r != DONE)
		return r;
	switch (what) {
	case CHOOSE:
		sh->thread = (pid_t)tid;
		return DONE;
	case INFO:
		return DONE;
	case HIDE:
	case UNHIDE:
		hide(sh, (pid_t)tid, what == HIDE);
		return DONE;
	case SUSPEND:
	case RESUME:
		return alone_suspend(sh, (pid_t)tid, what == SUSPEND);
	case BLOCKS:
		return blocks(sh, (pid_t)tid);
	case BLOCKED_BY:
		return blocked_by(sh, (pid_t)tid);
	}
	return DONE;
}

const struct command thread_commands[] = {
	{ "lwp", "[l@TID]", "the same as thread", NEEDS_SEEN, cmd_thread,
	  "lwp l@4712" },
	{ "lwps", "", "list the threads as the kernel numbers them",
	  NEEDS_TARGET, cmd_lwps, "lwps" },
	{ "thread", "[OPTION] [TID]", "choose a thread for commands;\n"
	  "  OPTION: -info [all], -suspend (it stands while others run),\n"
	  "  -resume, -blockedby (what it waits for), -blocks (who waits for\n"
	  "  it), -hide (from threads), -unhide [all]",
	  NEEDS_SEEN, cmd_thread, "thread 4712" },
	{ "threads", "[-all | -mode all]", "list the threads (-all: also those "
	  "that\n  are hidden); without a process: of the experiment", 0,
	  cmd_threads, "threads" },
	{ "where", "[-all | TID] [N] [-f N] [-v] [-h] [-l] [-q]", "print "
	  "stacks\n  (N: so many frames; -f: from that one on; -v: with "
	  "arguments)", NEEDS_SEEN, cmd_where, "where -all" },
	{ 0 }
};
