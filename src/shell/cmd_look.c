/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Looking at the process: loadobject, proc, call. (why: verb_why.c)
 */
#include "private.h"

#include <errno.h>
#include <fnmatch.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* What dbx does by hand, and is done here by itself. */
static const struct {
	const char *option, *fix;
} of_dbx[] = {
	{ "-load", "pathmap FROM TO, where a file is somewhere else" },
	{ "-unload", "nothing: a file is read when it is needed" },
	{ "-hide", "where -all, and the views' object_hide" },
	{ "-exclude", "dbxenv debug_file_directory, where reading takes long" },
	{ "-use", "pathmap FROM TO" },
	{ "-dumpelf", "sh readelf -a FILE" },
};

static enum result
no_option(const char *option, const char *fix)
{
	fail(FAIL_USAGE, "loadobject %s: what is loaded is found by itself",
	     option);
	fail_remedy("%s", fix);
	return FAILED;
}

/* A part of the path, or a pattern of file names. */
static bool
is_like(const char *path, const char *pattern)
{
	return strstr(path, pattern) || fnmatch(pattern, path, 0) == 0;
}

static enum result
cmd_loadobject(struct shell *sh, size_t n, char **words)
{
	struct modules mods = {0};
	const char *last = "", *pattern = n == 3 ? words[2] : "";

	for (size_t i = 0; n > 1 && i < ARRAY_LEN(of_dbx); i++)
		if (strcmp(words[1], of_dbx[i].option) == 0)
			return no_option(words[1], of_dbx[i].fix);
	if (n > 3 || (n > 1 && strcmp(words[1], "-list") != 0))
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
		if (!is_like(m->path, pattern))
			continue;
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
print_directory(struct shell *sh)
{
	char *link = xasprintf("/proc/%d/cwd", (int)session_pid(sh->session));
	char path[4096];
	const ssize_t n = readlink(link, path, sizeof path - 1);

	free(link);
	if (n < 0) {
		fail_errno("read the directory of process %d",
			   (int)session_pid(sh->session));
		return FAILED;
	}
	path[n] = '\0';
	fprintf(sh->out, "%s\n", str_tame(path));
	return DONE;
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
		fputs(str_tame_lines(text), sh->out);
		free(text);
		return DONE;
	}
	if (strcmp(what, "-cwd") == 0)
		return print_directory(sh);
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
		text ? str_tame(text) : state_word(sh));
	free(text);
	return DONE;
}

/* ---- call f(args) -------------------------------------------------------- */

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
		if (addr && beside_call(sh, addr, args, nargs,
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

/* -m, +m: macros of the preprocessor, which are not expanded anyway. */
static bool
call_option(struct shell *sh, const char *word, size_t n)
{
	static const char *const options[] = { "-resumeone", "-fresh", "-m",
					       "+m" };
	size_t i = 0;

	while (i < ARRAY_LEN(options) && (strlen(options[i]) != n ||
					  strncmp(options[i], word, n) != 0))
		i++;
	sh->call_alone |= i == 0;
	sh->call_fresh |= i == 1;
	return i < ARRAY_LEN(options);
}

/* dbx's -lang LANGUAGE, in front of the call or behind it. */
static int
cut_language(char **text)
{
	static const char option[] = "-lang ", behind[] = ") -lang ";
	const bool first = str_starts(*text, option);
	char *at = first ? *text + sizeof option - 1 : strstr(*text, behind);

	if (!at)
		return 0;
	if (first) {
		*text = at + strcspn(at, " ");
		if (**text)
			*(*text)++ = '\0';
	} else {
		at[1] = '\0';
		at += sizeof behind - 1;
	}
	if (strcmp(at, "c") == 0 || strcmp(at, "c++") == 0)
		return 0;
	fail(FAIL_USAGE, "call -lang %s: only C and C++ are known", at);
	return fail_remedy("leave -lang out: by the machine's convention all "
			   "are one");
}

/* Options stand before the call, and in older times behind it. */
static char *
cut_options(struct shell *sh, char *text)
{
	char *last;

	for (size_t n; call_option(sh, text, n = strcspn(text, " \t"));) {
		text += n;
		text += strspn(text, " \t");
	}
	while ((last = strrchr(text, ' ')) &&
	       call_option(sh, last + 1, strlen(last + 1)))
		*last = '\0';
	return text;
}

static enum result
cmd_call(struct shell *sh, size_t n, char **words)
{
	char *whole = words_joined(n - 1, words + 1), *text;
	enum result r = USAGE;

	text = cut_options(sh, whole);
	if (cut_language(&text) < 0)
		r = FAILED;
	else if (*text)
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
	{ "loadobject", "[-list [PATTERN]]", "list what is loaded", NEEDS_TARGET,
	  cmd_loadobject, "loadobject -list" },
	{ "proc", "[-map | -pid | -cwd]", "tell about the process", NEEDS_TARGET,
	  cmd_proc, "proc -map" },
	{ "why", "", "tell who waits for whom, and the ring of a deadlock",
	  NEEDS_TARGET, cmd_why, "why" },
	{ 0 }
};
