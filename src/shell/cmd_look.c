/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Looking at the process: where, threads, thread, loadobject, proc, call. (why: verb_why.c)
 */
#include "private.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

/* A thread by its tid; 0 for none given. */
static bool
thread_word(size_t n, char **words, size_t at, long long *tid)
{
	*tid = 0;
	if (n <= at)
		return true;

	const char *word = words[at];

	if (str_starts(word, "t@") || str_starts(word, "l@"))
		word += 2;
	return str_number(word, 1, 1 << 30, tid);
}

static enum result
cmd_where(struct shell *sh, size_t n, char **words)
{
	const bool all = n == 2 && strcmp(words[1], "-all") == 0;
	struct scene l;
	long long tid;

	if (sh->core)
		return post_mortem_where(sh, n, words);
	tid = thread_now(sh);
	if (n > 2 || (!all && n == 2 && !thread_word(n, words, 1, &tid)))
		return USAGE;
	if (scene_take(sh, all ? 0 : (pid_t)tid, LOOK_GENTLY, &l) < 0)
		return FAILED;
	l.frames_max = sh->frames_max;
	scene_print(&l, sh->out);
	scene_fini(&l);
	return DONE;
}

/* Of those who wait; memory that is not ours to read tells less. */
static void
take_waiting(struct shell *sh, struct scene *l)
{
	if (scene_take(sh, 0, LOOK_AT_WAITING, l) == 0)
		return;
	fail_clear();
	l->why = why_new();
}

static enum result
cmd_threads(struct shell *sh, size_t n, char **words)
{
	struct session_thread *th;
	struct scene l;

	(void)words;
	if (n != 1)
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
	for (ssize_t i = 0; i < count; i++) {
		char *text = scene_wait_text(&l, th[i].tid);

		fprintf(sh->out, "%8d  %-5c  %12.3f  %-*s%s\n", th[i].tid,
			th[i].state, (double)th[i].cpu_ns / 1e9,
			*text ? 17 : 0, th[i].name, text);
		free(text);
	}
	fail_clear();
	scene_fini(&l);
	free(th);
	return DONE;
}

/* dbx: one line each, the one that stopped marked. Names are of Linux, where
 * a thread and its LWP are one. */
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
			' ', th[i].tid, th[i].state, th[i].name);
	}
	free(th);
	return DONE;
}

static enum result
cmd_thread(struct shell *sh, size_t n, char **words)
{
	struct session_thread *th;
	long long tid;
	const bool suspend = n > 1 && strcmp(words[1], "-suspend") == 0;
	const bool resume = n > 1 && strcmp(words[1], "-resume") == 0;
	const bool info = n > 1 && strcmp(words[1], "-info") == 0;
	const size_t at = suspend || resume || info ? 2 : 1;

	if (n > at + 1 || !thread_word(n, words, at, &tid))
		return USAGE;
	if (sh->core)
		return suspend || resume ? USAGE : post_mortem_thread(sh, tid);
	if (suspend || resume)
		return alone_suspend(sh, tid ? (pid_t)tid : thread_now(sh),
				     suspend);
	if (!tid)
		tid = sh->thread ? sh->thread : session_pid(sh->session);

	const ssize_t count = session_threads(sh->session, &th);
	bool found = false;

	for (ssize_t i = 0; i < count; i++) {
		if (th[i].tid != tid)
			continue;
		fprintf(sh->out, "thread %d (%s), state %c, %.3f s CPU\n",
			th[i].tid, th[i].name, th[i].state,
			(double)th[i].cpu_ns / 1e9);
		found = true;
	}
	free(th);
	if (found && !info)
		sh->thread = (pid_t)tid;
	if (count >= 0 && !found)
		fail(FAIL_MISSING, "process %d has no thread %lld",
		     session_pid(sh->session), tid);
	return found ? DONE : FAILED;
}

static enum result
cmd_loadobject(struct shell *sh, size_t n, char **words)
{
	struct modules mods = {0};
	const char *last = "";

	if (n > 2 || (n == 2 && strcmp(words[1], "-list") != 0))
		return USAGE;

	char *text = session_maps(sh->session);

	if (!text || modules_parse(&mods, text) < 0) {
		free(text);
		return FAILED;
	}
	for (size_t i = 0; i < mods.len; i++) {
		const struct module *m = &mods.items[i];

		if (!*m->path || strcmp(last, m->path) == 0 ||
		    !(m->prot & MODULE_EXEC))
			continue;
		last = m->path;
		fprintf(sh->out, "0x%012llx  %s%s\n",
			(unsigned long long)m->start, str_tame(m->path),
			m->deleted ? " (deleted)" : "");
	}
	modules_fini(&mods);
	free(text);
	return DONE;
}

static const char *
state_word(const struct shell *sh)
{
	switch (session_state(sh->session)) {
	case SESSION_RUNNING:
		return "running";
	case SESSION_STOPPED:
		return "stopped";
	case SESSION_ENDED:
		break;
	}
	return "ended";
}

static enum result
cmd_proc(struct shell *sh, size_t n, char **words)
{
	const char *what = n == 2 ? words[1] : "";
	char *text;

	if (n > 2)
		return USAGE;
	if (strcmp(what, "-map") == 0) {
		if (!(text = session_maps(sh->session)))
			return FAILED;
		fputs(text, sh->out);
		free(text);
		return DONE;
	}
	if (*what && strcmp(what, "-pid") != 0)
		return USAGE;
	if (*what) {
		fprintf(sh->out, "%d\n", session_pid(sh->session));
		return DONE;
	}
	text = session_state(sh->session) == SESSION_RUNNING ?
		session_why_halted(session_pid(sh->session)) : NULL;
	fprintf(sh->out, "process %d (%s) is %s\n",
		session_pid(sh->session), session_name(sh->session),
		text ? text : state_word(sh));
	free(text);
	return DONE;
}

/* ---- call f(args) -------------------------------------------------------------------- */

enum { CALL_ARGS = 6 };

/* "f(1, 0x2)" in one or more words -> name and numbers. */
static int
parse_call(char *text, char **name, uint64_t *args, size_t *nargs)
{
	char *open = strchr(text, '('), *close = strrchr(text, ')');

	if (!open || !close || close < open || close[1] || open == text) {
		fail(FAIL_USAGE, "'%s' is not of the form f(1, 2)", text);
		return -1;
	}

	char *arguments = open + 1;

	*open = *close = '\0';
	while (open > text && open[-1] == ' ')
		*--open = '\0';
	*name = text;
	*nargs = 0;
	for (char *word = strtok(arguments, ","); word;
	     word = strtok(NULL, ",")) {
		char *end;

		errno = 0;
		const unsigned long long value = strtoull(word, &end, 0);

		while (*end == ' ')
			end++;
		if (errno || *end || end == word || *nargs == CALL_ARGS) {
			fail(FAIL_USAGE, "argument '%s' of %s", word, text);
			return fail_remedy("up to %d whole numbers", CALL_ARGS);
		}
		args[(*nargs)++] = value;
	}
	return 0;
}

/* On a thread of its own, beside those that run. */
static enum result
call_beside(struct shell *sh, char *text)
{
	uint64_t args[CALL_ARGS], result, addr;
	size_t nargs;
	char *name, *called = xstrdup(text);
	enum result r = FAILED;

	if (parse_call(text, &name, args, &nargs) == 0) {
		struct live *l = live_of(sh);

		addr = live_address(l, name);
		if (addr && session_call(sh->session, addr, args, nargs,
					 &result) == 0) {
			fprintf(sh->out, "%s = %lld (0x%llx)\n", called,
				(long long)result,
				(unsigned long long)result);
			r = DONE;
		}
	}
	free(called);
	return r;
}

/* By the thread that stands. What no debug information is about returns a
 * long. */
static enum result
call_here(struct shell *sh, const char *text)
{
	struct debug *d = debuggee_now(sh);
	struct str out = {0};
	int r = debug_print(d, text, '\0', &out);

	if (r < 0 && strstr(fail_last()->reason, "unknown return type")) {
		char *as_long = xasprintf("(long)%s", text);

		r = debug_print(d, as_long, '\0', &out);
		free(as_long);
	}
	if (r == 0 && strcmp(str_text(&out), "void\n") != 0)
		fprintf(sh->out, "%s = %s", text, str_text(&out));
	str_fini(&out);
	return r < 0 ? FAILED : DONE;
}

static enum result
cmd_call(struct shell *sh, size_t n, char **words)
{
	static const char alone[] = "-resumeone ", fresh[] = "-fresh ";
	char *whole = words_joined(n - 1, words + 1), *text = whole;
	enum result r = USAGE;

	sh->call_alone = str_starts(text, alone);
	sh->call_fresh = str_starts(text, fresh);
	if (sh->call_alone)
		text += sizeof alone - 1;
	if (sh->call_fresh)
		text += sizeof fresh - 1;
	text += strspn(text, " \t");
	if (*text)
		r = session_state(sh->session) == SESSION_STOPPED ?
			call_here(sh, text) : call_beside(sh, text);
	sh->call_alone = sh->call_fresh = false;
	free(whole);
	return r;
}

const struct command look_commands[] = {
	{ "call", "[-resumeone | -fresh] F(ARGUMENTS)", "call a function of "
	  "the process\n  (-resumeone: alone; -fresh: on a thread of its own)",
	  NEEDS_TARGET, cmd_call, "call getpid()" },
	{ "loadobject", "[-list]", "list what is loaded", NEEDS_TARGET,
	  cmd_loadobject, "loadobject -list" },
	{ "lwps", "", "list the threads as the kernel numbers them",
	  NEEDS_TARGET, cmd_lwps, "lwps" },
	{ "proc", "[-map | -pid]", "tell about the process", NEEDS_TARGET,
	  cmd_proc, "proc -map" },
	{ "thread", "[-info | -suspend | -resume] [TID]", "choose a thread for "
	  "commands (-suspend: it stands)",
	  NEEDS_SEEN, cmd_thread, "thread 4712" },
	{ "threads", "", "list the threads; without a process: of the "
	  "experiment", 0, cmd_threads, "threads" },
	{ "where", "[TID | -all]", "print stacks", NEEDS_SEEN, cmd_where,
	  "where -all" },
	{ "why", "", "tell who waits for whom, and the ring of a deadlock",
	  NEEDS_TARGET, cmd_why, "why" },
	{ 0 }
};
