/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * COMMANDS | LINE: the line goes to the system's shell as it stands, which has
 * its own quotes, pipes and redirections, and finds our variables in its
 * environment. Here it is only told where it ends: where a command of ours
 * would.
 */
#include "private.h"
#include "scan.h"

#include <stdlib.h>
#include <string.h>

static int
missing(struct scan *s, const char *what)
{
	s->open = true;
	fail(FAIL_USAGE, "%s is missing behind |", what);
	return fail_remedy("COMMANDS | PROGRAM WORDS; quotes come in pairs");
}

/* In '...' and `...` nothing hides its end. */
static int
skip_to(struct scan *s, char quote)
{
	const char *end = strchr(s->text + s->at + 1, quote);

	if (!end)
		return missing(s, quote == '`' ? "a `" : "a '");
	s->at = (size_t)(end + 1 - s->text);
	return 0;
}

static int
skip_dollar(struct scan *s)
{
	const char next = s->text[s->at + 1];

	if (next == '[') {
		fail(FAIL_USAGE, "$[...] behind |: the line is that of the "
		     "system's shell");
		return fail_remedy("x=$[...]; COMMANDS | PROGRAM $x");
	}
	s->at++;
	return next == '(' ? scan_skip_nested(s, ')') :
		next == '{' ? scan_skip_nested(s, '}') : 0;
}

static bool
is_blank(char c)
{
	return !c || strchr(" \t\r\n;", c);
}

/* A & that is a word: neither && nor 2>&1. */
static bool
is_job(const struct scan *s, size_t start)
{
	return s->at > start && is_blank(s->text[s->at - 1]) &&
		is_blank(s->text[s->at + 1]);
}

static int
skip_one(struct scan *s, size_t start)
{
	switch (scan_here(s)) {
	case '\'':
	case '`':
		return skip_to(s, scan_here(s));
	case '"':
		return scan_skip_literal(s);
	case '$':
		return skip_dollar(s);
	case '(':
		return scan_skip_nested(s, ')');
	case '{':
		if (!is_blank(s->text[s->at - 1]))
			break;
		return scan_skip_nested(s, '}');
	case '\\':
		s->at += s->text[s->at + 1] ? 2 : 1;
		return 0;
	case '&':
		if (!is_job(s, start))
			break;
		fail(FAIL_USAGE, "&: there are no jobs in this language");
		return fail_remedy("sh PROGRAM &");
	}
	s->at++;
	return 0;
}

static bool
ends_here(const struct scan *s)
{
	const char *c = s->text + s->at;

	return !*c || *c == ';' || scan_at_line_end(s) ||
		(strchr("&|", *c) && c[1] == *c) ||
		(*c == '#' && is_blank(c[-1]));
}

/* A program may stand on the next line. */
static void
skip_lines(struct scan *s)
{
	scan_skip_blanks(s);
	while (scan_at_line_end(s)) {
		s->at++;
		scan_skip_blanks(s);
	}
}

/* Its ; would end it. */
static int
refuse_statement(const struct scan *s)
{
	static const char *const all[] = { "if", "while", "until", "for",
					   "case" };
	const char *c = s->text + s->at;
	const size_t n = strcspn(c, " \t\r\n;|");

	for (size_t i = 0; i < ARRAY_LEN(all); i++) {
		if (strlen(all[i]) != n || strncmp(c, all[i], n) != 0)
			continue;
		fail(FAIL_USAGE, "| %s: a program of the system reads what "
		     "commands write", all[i]);
		return fail_remedy("of the system's shell in parentheses: "
				   "COMMANDS | (while read x; do ...; done); "
				   "of sonde: for x in $(COMMANDS); do ...; "
				   "done");
	}
	return 0;
}

int
scan_pipe(struct scan *s, char **line)
{
	const size_t start = s->at + 1;
	size_t end;

	do {
		s->at += scan_here(s) == '|';
		skip_lines(s);
		if (ends_here(s))
			return missing(s, "a program");
		if (refuse_statement(s) < 0)
			return -1;
		while (!ends_here(s) && scan_here(s) != '|')
			if (skip_one(s, start) < 0)
				return -1;
	} while (scan_here(s) == '|' && !ends_here(s));
	for (end = s->at; strchr(" \t", s->text[end - 1]);)
		end--;
	free(*line);
	*line = xstrndup(s->text + start, end - start);
	return 0;
}
