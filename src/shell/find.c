/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * The row of a command by its name, or by a prefix that only one has; else
 * those that have it are listed, or the one is named that was nearly written.
 */
#include "private.h"

#include <string.h>
#include <strings.h>

struct search {
	const char *word;
	const struct command_search *in;
	const struct command *hit;
	int found;
	struct str candidates;
	struct near near;
};

static const struct command_search everything = { NULL, "", "help" };

/* ---- what was nearly written ---------------------------------------- */

/* Letters to change, add, take away or swap: Damerau's distance. */
static size_t
distance(const char *a, const char *b)
{
	enum { LONGEST = 24 };
	size_t d[LONGEST + 1][LONGEST + 1];
	const size_t na = strlen(a), nb = strlen(b);

	if (na > LONGEST || nb > LONGEST)
		return LONGEST;
	for (size_t i = 0; i <= na; i++) {
		for (size_t j = 0; j <= nb; j++) {
			if (!i || !j) {
				d[i][j] = i + j;
				continue;
			}

			size_t least = d[i - 1][j - 1] + (a[i - 1] != b[j - 1]);

			if (d[i - 1][j] + 1 < least)
				least = d[i - 1][j] + 1;
			if (d[i][j - 1] + 1 < least)
				least = d[i][j - 1] + 1;
			if (i > 1 && j > 1 && a[i - 1] == b[j - 2] &&
			    a[i - 2] == b[j - 1] && d[i - 2][j - 2] + 1 < least)
				least = d[i - 2][j - 2] + 1;
			d[i][j] = least;
		}
	}
	return d[na][nb];
}

void
near_consider(struct near *n, const char *word, const char *name)
{
	const size_t allowed = strlen(word) > 4 ? 2 : strlen(word) > 2;
	const size_t far = distance(word, name);

	if (far > allowed || (n->name && far >= n->distance))
		return;
	n->name = name;
	n->distance = far;
}

/* ---- the search ----------------------------------------------------- */

/* Exact, else a prefix, in letters of either case; true: found exactly, nothing
 * else matters. No two names differ by case alone. */
static bool
match(struct search *s, const struct command *table)
{
	for (const struct command *c = table; c->name; c++) {
		if (s->in->fits && !s->in->fits(c->name))
			continue;
		if (strcasecmp(c->name, s->word) == 0) {
			s->found = 1;
			s->hit = c;
			return true;
		}
		near_consider(&s->near, s->word, c->name);
		if (strncasecmp(c->name, s->word, strlen(s->word)) != 0)
			continue;
		s->found++;
		str_addf(&s->candidates, "%s%s", s->candidates.len ? ", " : "",
			 c->name);
		s->hit = c;
	}
	return false;
}

/* Commands of dbx that are none here, and what does their work. */
static const struct {
	const char *name, *why, *fix;
} of_dbx[] = {
	{ "bind", "keys are bound by readline", "~/.inputrc" },
	{ "check", "memory is not checked", "collector heaptrace on, then "
	  "leaks; or valgrind" },
	{ "commands", "lists are one", "help" },
	{ "dalias", "there is one kind of alias", "alias" },
	{ "edit", "no editor is started", "sh vi FILE" },
	{ "fix", "a program is not changed while it runs", "make, then run" },
	{ "fixed", "a program is not changed while it runs", "make, then run" },
	{ "intercept", "types of exceptions are not told apart", "stop throw" },
	{ "kalias", "there is one kind of alias", "alias" },
	{ "language", "C and C++ are one language here", "print EXPR" },
	{ "loadobjects", "the list has another name", "loadobject -list" },
	{ "macro", "macros of the preprocessor are not known",
	  "print what it stands for" },
	{ "replay", "a session cannot be run again", "script FILE" },
	{ "restore", "a session cannot be run again", "status -s > FILE, "
	  "then . FILE" },
	{ "rprint", "inherited members are always shown", "print EXPR" },
	{ "rtc", "memory is not checked", "collector heaptrace on, then leaks" },
	{ "save", "a session cannot be run again", "status -s > FILE" },
	{ "scopes", "frames are what can be chosen", "where, then frame N" },
	{ "showblock", "memory is not checked", "collector heaptrace on, then "
	  "heap" },
	{ "showleaks", "memory is not checked", "collector heaptrace on, then "
	  "leaks" },
	{ "showmemuse", "memory is not checked", "collector heaptrace on, then "
	  "heap" },
	{ "suppress", "memory is not checked", "collector heaptrace on, then "
	  "leaks" },
	{ "uncheck", "memory is not checked", "collector heaptrace off" },
	{ "unintercept", "types of exceptions are not told apart",
	  "delete N, of stop throw" },
	{ "unsuppress", "memory is not checked", "collector heaptrace on, then "
	  "leaks" },
	{ "use", "sources are found by the paths that they were compiled with",
	  "pathmap FROM TO" },
	{ "vitem", "arrays are not drawn", "print ARRAY" },
};

/* Commands of gdb, and what does their work. */
static const struct {
	const char *name, *fix;
} of_gdb[] = {
	{ "awatch", "stop access rw &VARIABLE" },
	{ "b", "stop in FUNCTION, or stop at FILE:LINE" },
	{ "backtrace", "where; where -all of all threads" },
	{ "br", "stop in FUNCTION, or stop at FILE:LINE" },
	{ "breakpoint", "stop in FUNCTION, or stop at FILE:LINE" },
	{ "bt", "where; where -all of all threads" },
	{ "c", "cont" },
	{ "condition", "delete N, then stop PLACE -if EXPR" },
	{ "d", "delete N" },
	{ "disable", "handler -disable N" },
	{ "enable", "handler -enable N" },
	{ "f", "frame N" },
	{ "fin", "step up" },
	{ "finish", "step up" },
	{ "i", "status, locals, threads, regs, loadobject -list" },
	{ "inferior", "process PID; processes lists them" },
	{ "info", "status (breakpoints), locals, threads, regs, "
	  "loadobject -list, whereis NAME, funcs PATTERN" },
	{ "jump", "cont at LINE" },
	{ "l", "list" },
	{ "layout", "list, dis, regs, display" },
	{ "n", "next" },
	{ "p", "print EXPR; alias p print" },
	{ "ptype", "whatis -t TYPE" },
	{ "rwatch", "stop access r &VARIABLE" },
	{ "s", "step" },
	{ "signal", "cont -sig SIGNAL" },
	{ "start", "stop in main -temp, then run" },
	{ "starti", "stop sync, then run" },
	{ "tbreak", "stop in FUNCTION -temp" },
	{ "u", "stop at LINE -temp, then cont" },
	{ "wa", "stop change EXPR" },
	{ "watch", "stop change EXPR" },
};

/* print/x EXPR, x/4i ADDRESS: ours has the format elsewhere. */
static bool
has_format(const struct search *s)
{
	const char *slash = strchr(s->word, '/');
	const size_t n = slash ? (size_t)(slash - s->word) : 0;

	if (n == 0)
		return false;
	if (strncmp(s->word, "print", n) == 0 ||
	    strncmp(s->word, "output", n) == 0) {
		fail(FAIL_USAGE, "'%s' is no command", s->word);
		fail_remedy("print -f %s EXPR", slash + 1);
		return true;
	}
	if (strncmp(s->word, n == 1 ? "x" : "examine", n) != 0)
		return false;
	fail(FAIL_USAGE, "'%s' is no command", s->word);
	fail_remedy("x ADDRESS/4X, x ADDRESS/3i; help x tells the formats");
	return true;
}

/* NULL: it is none of gdb's. */
static const char *
fix_of_gdb(const struct search *s)
{
	for (size_t i = 0; !s->in->fits && i < ARRAY_LEN(of_gdb); i++)
		if (strcmp(of_gdb[i].name, s->word) == 0)
			return of_gdb[i].fix;
	return NULL;
}

static bool
is_of_gdb(const struct search *s)
{
	const char *fix = fix_of_gdb(s);

	if (!fix)
		return !s->in->fits && has_format(s);
	fail(FAIL_USAGE, "'%s' is no command", s->word);
	fail_remedy("%s", fix);
	return true;
}

static bool
is_of_dbx(const struct search *s)
{
	for (size_t i = 0; !s->in->fits && i < ARRAY_LEN(of_dbx); i++) {
		if (strcmp(of_dbx[i].name, s->word) != 0)
			continue;
		fail(FAIL_USAGE, "%s, of dbx, is not here: %s", s->word,
		     of_dbx[i].why);
		fail_remedy("%s", of_dbx[i].fix);
		return true;
	}
	return false;
}

static const struct command *
result_of(struct search *s)
{
	if (s->found > 1) {
		const char *fix = fix_of_gdb(s);

		fail(FAIL_USAGE, "'%s' is ambiguous: %s", s->word,
		     str_text(&s->candidates));
		fail_remedy("%s", fix ? fix :
			    "write more of the one that is meant");
	} else if (!s->found && is_of_gdb(s)) {
		str_fini(&s->candidates);
		return NULL;
	} else if (!s->found && is_of_dbx(s)) {
		str_fini(&s->candidates);
		return NULL;
	} else if (!s->found) {
		fail(FAIL_USAGE, "'%s' is no command", s->word);
		if (s->near.name)
			fail_remedy("perhaps %s%s; %s lists all", s->in->dash,
				    s->near.name, s->in->help);
		else
			fail_remedy("%s lists them", s->in->help);
	}
	str_fini(&s->candidates);
	return s->found == 1 ? s->hit : NULL;
}

const struct command *
shell_find(const struct command *table, const char *name)
{
	static const struct command_search some = { NULL, "",
						    "help collector" };
	struct search s = { .word = name, .in = &some };

	(void)match(&s, table);
	return result_of(&s);
}

const struct command *
shell_find_in(const struct command_search *in, const char *name)
{
	struct search s = { .word = name, .in = in };
	const struct family *f = families;

	while (f->title && !match(&s, f->commands))
		f++;
	if (!f->title)
		(void)match(&s, shell_view_commands());
	return result_of(&s);
}

const struct command *
shell_find_any(const char *name)
{
	return shell_find_in(&everything, name);
}
