/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Memory and instructions: examine (x), dis. A place is an expression, two with
 * a comma are a range; behind / stand how many and dbx's letter.
 */
#include "private.h"

#include <ctype.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

enum { COUNT_MOST = 100000, WIDE_MOST = 4096 };

struct look {
	char *first, *last;	/* expressions; last NULL: no range */
	long long count;
	char letter[3];		/* "X", "lX" */
	bool goes_on, as_value;	/* x +; x ADDRESS = */
};

/* dbx's letters, as gdb's format and size. */
static const struct { char letter[3]; char format; unsigned size; } formats[] = {
	{ "X", 'x', 4 }, { "x", 'x', 2 }, { "lx", 'x', 8 }, { "lX", 'x', 8 },
	{ "D", 'd', 4 }, { "d", 'd', 2 }, { "ld", 'd', 8 }, { "lD", 'd', 8 },
	{ "O", 'o', 4 }, { "o", 'o', 2 }, { "lo", 'o', 8 }, { "lO", 'o', 8 },
	{ "b", 'o', 1 }, { "c", 'c', 1 }, { "w", 'x', 4 }, { "g", 'x', 8 },
	{ "F", 'f', 8 }, { "f", 'f', 4 }, { "E", 'f', 16 }, { "s", 's', 0 },
	{ "W", 's', 4 }, { "a", 'a', 8 }, { "i", 'i', 0 },
};

static int
format_of(const char *letter)
{
	for (size_t i = 0; i < ARRAY_LEN(formats); i++)
		if (strcmp(formats[i].letter, letter) == 0)
			return (int)i;
	fail(FAIL_USAGE, "examine: format '%s' is not known", letter);
	return fail_remedy("i s W c w a b x X lX d D lD o O lO f F E g, as in "
			   "x main /8i");
}

/* ---- the words ----------------------------------------------------------- */

static void
cut_blanks(char *text)
{
	size_t len = strlen(text);

	while (len > 0 && isspace((unsigned char)text[len - 1]))
		text[--len] = '\0';
}

/* "/10", "/10i", "/ x", "/lX": what is before it stays. false: no such thing. */
static bool
take_count(char *text, struct look *l)
{
	char *slash = strrchr(text, '/');
	char *at;

	if (!slash)
		return true;
	*slash = '\0';
	at = slash + 1 + strspn(slash + 1, " \t");
	if (isdigit((unsigned char)*at)) {
		errno = 0;
		l->count = strtoll(at, &at, 10);
		if (errno || l->count < 1 || l->count > COUNT_MOST)
			return false;
		at += strspn(at, " \t");
	}
	cut_blanks(at);
	if (strlen(at) >= sizeof l->letter)
		return false;
	if (*at)
		strcpy(l->letter, at);
	cut_blanks(text);
	return true;
}

/* ADDRESS, FIRST,LAST, ADDRESS = LETTER, + */
static bool
take_place(char *text, struct look *l)
{
	char *equals = strrchr(text, '=');
	int depth = 0;

	l->first = text;
	if (strcmp(text, "+") == 0) {
		l->goes_on = true;
		return true;
	}
	if (equals && equals > text && !strchr("=!<>", equals[-1])) {
		char *letter = equals + 1 + strspn(equals + 1, " \t");

		if (strlen(letter) >= sizeof l->letter)
			return true;	/* it may be an expression */
		if (*letter && strspn(letter, "lxXdDoObcsaifFEgwW") !=
		    strlen(letter))
			return true;
		if (*letter)
			strcpy(l->letter, letter);
		*equals = '\0';
		cut_blanks(text);
		l->as_value = true;
		return true;
	}
	for (char *at = text; *at; at++) {
		depth += (strchr("([{", *at) != NULL) -
			(strchr(")]}", *at) != NULL);
		if (*at != ',' || depth)
			continue;
		*at = '\0';
		l->last = at + 1;
		return l->last[strspn(l->last, " \t")];
	}
	return true;
}

/* ---- showing ------------------------------------------------------------- */

/* What gdb has no letter for: by the type. */
static int
show_typed(struct debug *d, uint64_t addr, long long count, const char *type,
	   unsigned size, struct str *out)
{
	for (long long i = 0; i < count; i++, addr += size) {
		char *text = xasprintf("*(%s *)%#llx", type,
				       (unsigned long long)addr);
		int r;

		debug_examined(d, addr, out);
		r = debug_print(d, text, '\0', out);
		free(text);
		if (r < 0)
			return -1;
	}
	return 0;
}

static int
show_wide(struct debug *d, uint64_t addr, long long count, struct str *out)
{
	for (long long i = 0; i < count; i++) {
		debug_examined(d, addr, out);
		str_add(out, "L\"");
		for (int k = 0; k < WIDE_MOST; k++, addr += 4) {
			char *text = xasprintf("*(int *)%#llx",
					       (unsigned long long)addr);
			int64_t c;
			const int r = debug_number(d, text, &c);

			free(text);
			if (r < 0)
				return -1;
			if (!c)
				break;
			if (c >= ' ' && c < 127)
				str_addf(out, "%c", (int)c);
			else
				str_addf(out, "\\x%llx", (long long)c);
		}
		addr += 4;
		str_add(out, "\"\n");
	}
	return 0;
}

static int
show(struct shell *sh, struct debug *d, uint64_t addr, int format,
     long long count, struct str *out)
{
	const char letter = formats[format].format;
	const unsigned size = formats[format].size;
	uint64_t next = addr;
	int r;

	if (size == 16) {
		r = show_typed(d, addr, count, "long double", size, out);
		next = addr + (uint64_t)count * size;
	} else if (letter == 's' && size) {
		r = show_wide(d, addr, count, out);
	} else {
		r = debug_examine(d, addr, (size_t)count, letter, size, out,
				  &next);
	}
	sh->examine_next = next;
	return r;
}

/* Of a range: as many as begin in it. */
static int
show_range(struct shell *sh, struct debug *d, uint64_t addr, uint64_t last,
	   int format, struct str *out)
{
	if (last < addr) {
		fail(FAIL_USAGE, "examine: the range ends before it begins");
		return fail_remedy("x FIRST,LAST");
	}
	for (int n = 0; addr <= last && n < COUNT_MOST; n++) {
		if (show(sh, d, addr, format, 1, out) < 0)
			return -1;
		if (sh->examine_next <= addr)
			break;
		addr = sh->examine_next;
	}
	return 0;
}

static int
show_value(struct debug *d, const char *text, int format, struct str *out)
{
	char *expr = xasprintf("(unsigned long)(%s)", text);
	const char letter = formats[format].format;
	int r = debug_print(d, expr, letter == 'i' || letter == 's' ? 'a' :
			    letter, out);

	if (r < 0) {
		fail_clear();
		free(expr);
		expr = xasprintf("(unsigned long)&(%s)", text);
		r = debug_print(d, expr, letter, out);
	}
	free(expr);
	return r;
}

static enum result
look(struct shell *sh, struct debug *d, const struct look *l)
{
	const int format = format_of(l->letter);
	uint64_t addr = sh->examine_next, last, size;
	struct str out = {0};
	int r;

	if (format < 0)
		return FAILED;
	if (l->as_value)
		return say(sh, &out, show_value(d, l->first, format, &out));
	if (l->goes_on && !addr) {
		fail(FAIL_USAGE, "+: nothing was looked at before");
		fail_remedy("x ADDRESS, then x +");
		return FAILED;
	}
	if (!l->goes_on && debug_address(d, *l->first ? l->first : "$pc",
					 &addr, &size) < 0)
		return FAILED;
	if (!l->last)
		return say(sh, &out, show(sh, d, addr, format, l->count, &out));
	if (debug_address(d, l->last, &last, &size) < 0)
		return FAILED;
	r = show_range(sh, d, addr, last, format, &out);
	return say(sh, &out, r);
}

/* ---- commands ------------------------------------------------------------ */

static enum result
cmd_examine(struct shell *sh, size_t n, char **words)
{
	struct debug *d = need_debug(sh, "examine");
	struct look l = { .count = 1, .letter = "X" };
	enum result r = USAGE;
	char *text;

	if (!d)
		return FAILED;
	text = words_joined(n - 1, words + 1);
	if (take_count(text, &l) && take_place(text, &l))
		r = look(sh, d, &l);
	free(text);
	return r;
}

static int
extent(struct debug *d, const char *name, struct debug_code *out)
{
	if (debug_function(d, name, out) < 0)
		return -1;
	if (out->start)
		return 0;
	fail(FAIL_MISSING, "'%s' has no code of its own: it was inlined "
	     "wherever it is called", name);
	return fail_remedy("stop in %s, and dis there", name);
}

/* All of a function. */
static enum result
dis_function(struct shell *sh, struct debug *d, const char *name)
{
	struct debug_code code;
	struct str out = {0};
	int r;

	if (extent(d, name, &code) < 0)
		return FAILED;
	if (!code.size) {
		fail(FAIL_MISSING, "dis: where %s ends is not known", name);
		fail_remedy("dis %s /20", name);
		return FAILED;
	}
	r = show_range(sh, d, code.start, code.start + code.size - 1,
		       format_of("i"), &out);
	return say(sh, &out, r);
}

static enum result
cmd_dis(struct shell *sh, size_t n, char **words)
{
	struct look l = { .count = 10, .letter = "i" };
	enum result r = USAGE;
	struct debug *d;
	char *text;

	/* then it is short for the table of the experiment */
	if (!sh->core && !target_alive(sh)) {
		words[0] = (char *)"disasm";
		return view_run(sh, n, words);
	}
	d = debuggee_now(sh);
	if (!d)
		return FAILED;
	text = words_joined(n - 1, words + 1);
	if (strncmp(text, "-a ", 3) == 0)
		r = dis_function(sh, d, text + 3 + strspn(text + 3, " "));
	else if (take_count(text, &l) && take_place(text, &l) &&
		 strcmp(l.letter, "i") == 0 && !l.as_value)
		r = look(sh, d, &l);
	free(text);
	return r;
}

const struct command examine_commands[] = {
	{ "dis", "[ADDRESS | FIRST,LAST | +] [/COUNT] | -a FUNCTION", "print "
	  "instructions, from\n  where the thread stands (-a: all of a function)",
	  REDIRECTS_ITSELF | OF_PROGRAM | OR_EXPERIMENT, cmd_dis, "dis main /5" },
	{ "examine", "[ADDRESS | FIRST,LAST | +] [/[COUNT][FORMAT]]",
	  "print memory (+: what comes next)\n"
	  "  FORMAT: i s W c w a b x X lX g d D lD o O lO f F E;\n"
	  "  ADDRESS = FORMAT: the address itself",
	  REDIRECTS_ITSELF | OF_PROGRAM, cmd_examine, "examine main /8i" },
	{ "x", "[ADDRESS | FIRST,LAST | +] [/[COUNT][FORMAT]]", "the same as "
	  "examine", REDIRECTS_ITSELF | OF_PROGRAM, cmd_examine, "x main /8i" },
	{ 0 }
};
