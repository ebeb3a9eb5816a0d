/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * What may stand within a word: quotes, backslashes, groups in braces, and
 * what is replaced: $name ${name} $1 $# $* $@ $? $[expression] $((arithmetic))
 * $(commands). A value that is not in quotes is split at its blanks: the word
 * notes where (cuts), words.c makes several of it.
 */
#include "private.h"
#include "scan.h"

#include <ctype.h>
#include <stdlib.h>
#include <string.h>

char
scan_here(const struct scan *s)
{
	return s->text[s->at];
}

bool
scan_skip_continuation(struct scan *s)
{
	size_t n = 1;

	if (scan_here(s) != '\\')
		return false;
	n += s->text[s->at + n] == '\r';
	if (s->text[s->at + n] && s->text[s->at + n] != '\n')
		return false;
	n += s->text[s->at + n] == '\n';
	s->at += n;
	s->open |= !scan_here(s);
	return true;
}

bool
scan_at_line_end(const struct scan *s)
{
	const char *c = &s->text[s->at];

	return *c == '\n' || (*c == '\r' && (c[1] == '\n' || !c[1]));
}

void
scan_skip_blanks(struct scan *s)
{
	while (scan_here(s) == ' ' || scan_here(s) == '\t' ||
	       scan_skip_continuation(s))
		s->at += scan_here(s) == ' ' || scan_here(s) == '\t';
}

void
scan_skip_comment(struct scan *s)
{
	while (scan_here(s) && scan_here(s) != '\n')
		s->at++;
}

void
scan_skip_separators(struct scan *s)
{
	for (;;) {
		scan_skip_blanks(s);
		if (scan_here(s) == '#')
			scan_skip_comment(s);
		else if (s->arms && strncmp(s->text + s->at, ";;", 2) == 0)
			return;
		else if (scan_here(s) == ';' || scan_at_line_end(s))
			s->at++;
		else
			return;
	}
}

static int
missing(struct scan *s, char what)
{
	s->open = true;
	fail(FAIL_USAGE, "a %c is missing", what);
	if (what == '}')
		return fail_remedy("braces come in pairs: { COMMANDS }");
	if (what == ')' || what == ']')
		return fail_remedy("$(COMMANDS), $((ARITHMETIC)) and "
				   "$[EXPRESSION] are closed where they "
				   "began");
	return fail_remedy("quotes come in pairs; within double quotes \\\" "
			   "is one");
}

int
scan_skip_literal(struct scan *s)
{
	const char quote = s->text[s->at++];

	while (scan_here(s) && scan_here(s) != quote)
		s->at += scan_here(s) == '\\' && s->text[s->at + 1] ? 2 : 1;
	if (!scan_here(s))
		return missing(s, quote);
	s->at++;
	return 0;
}

int
scan_skip_nested(struct scan *s, char close)
{
	const char open = scan_here(s);
	int depth = 0;

	while (scan_here(s)) {
		const char c = scan_here(s);

		if (c == '"' || c == '\'') {
			if (scan_skip_literal(s) < 0)
				return -1;
			continue;
		}
		s->at++;
		depth += c == open;
		if (c == close && --depth == 0)
			return 0;
	}
	return missing(s, close);
}

/* ---- what is replaced ---------------------------------------------------- */

static void
cut(struct scan *s, const struct str *word)
{
	s->cuts = xgrow(s->cuts, &s->cuts_cap, s->cuts_len + 1,
			sizeof *s->cuts);
	s->cuts[s->cuts_len++] = word->len;
}

static void
add_value(struct scan *s, struct str *word, const char *value, bool whole)
{
	while (*value) {
		const size_t n = whole ? strlen(value) :
			strcspn(value, " \t\n");

		str_addn(word, value, n);
		value += n;
		if (*value)
			cut(s, word);
		value += strspn(value, " \t\n");
	}
	s->quoted |= whole;
}

static size_t
name_length(const char *text)
{
	size_t n = 0;

	if (*text && strchr("?#*@", *text))
		return 1;
	if (isdigit((unsigned char)*text))
		return strspn(text, "0123456789");
	while (isalnum((unsigned char)text[n]) || text[n] == '_')
		n++;
	return n;
}

/* $name: what is not known stays as it was typed. */
static int
take_name(struct scan *s, struct str *word, bool quoted)
{
	const size_t n = name_length(s->text + s->at + 1);
	char *name = xstrndup(s->text + s->at + 1, n);
	const char *value = n && s->vars ? s->vars(s->arg, name) : NULL;

	if (value)
		add_value(s, word, value, quoted ||
			  strcmp(name, "experiment") == 0);
	else
		str_addn(word, s->text + s->at, n + 1);
	s->quoted |= !value;
	s->at += n + 1;
	free(name);
	return 0;
}

/* ${name} $[expression] $((arithmetic)) $(commands): what is between is asked
 * for with its first bracket before it; who answers may fail. */
static int
take_bracketed(struct scan *s, struct str *word, bool quoted, char close)
{
	const size_t dollar = s->at++, start = s->at;

	if (scan_skip_nested(s, close) < 0)
		return -1;

	const size_t n = s->at - 1 - start;
	char *name = xstrndup(s->text + start, n);
	const char *value = s->vars ? s->vars(s->arg, name) : "";

	if (!s->vars)
		str_addn(word, s->text + dollar, s->at - dollar);
	else if (value)
		add_value(s, word, value, quoted);
	s->quoted |= !s->vars;
	free(name);
	return value ? 0 : -1;
}

/* "$@": each argument is a word. */
static int
take_arguments(struct scan *s, struct str *word)
{
	const char *count = s->vars ? s->vars(s->arg, "#") : NULL;
	const int n = count ? atoi(count) : 0;

	for (int i = 1; i <= n; i++) {
		char number[16];

		snprintf(number, sizeof number, "%d", i);

		const char *value = s->vars(s->arg, number);

		if (i > 1)
			cut(s, word);
		str_add(word, value ? value : "");
	}
	s->at += 2;
	return 0;
}

int
scan_variable(struct scan *s, struct str *word, bool quoted)
{
	const bool arguments = quoted && s->text[s->at + 1] == '@';

	quoted |= s->whole;
	switch (s->text[s->at + 1]) {
	case '[':
		return take_bracketed(s, word, quoted, ']');
	case '(':
		return take_bracketed(s, word, quoted, ')');
	case '{':
		return take_bracketed(s, word, quoted, '}');
	}
	return arguments ? take_arguments(s, word) :
		take_name(s, word, quoted);
}

void
scan_own_variable(struct scan *s, struct str *word)
{
	const size_t brace = s->text[s->at + 1] == '{';
	const char *start = s->text + s->at + 1 + brace;
	const size_t n = name_length(start);
	char *name = xasprintf("=%.*s", (int)n, start);
	const char *value = n && s->vars && (!brace || start[n] == '}') ?
		s->vars(s->arg, name) : NULL;

	if (value) {
		str_add(word, value);
		s->at += 1 + n + 2 * brace;
	} else {
		str_addn(word, &s->text[s->at++], 1);
	}
	free(name);
}

/* ---- words --------------------------------------------------------------- */

int
scan_quoted(struct scan *s, struct str *word)
{
	const char quote = s->text[s->at++];

	s->quoted = true;
	while (scan_here(s) && scan_here(s) != quote) {
		if (quote == '"' && scan_here(s) == '$') {
			if (scan_variable(s, word, true) < 0)
				return -1;
			continue;
		}
		if (quote == '"' && scan_skip_continuation(s))
			continue;
		if (quote == '"' && scan_here(s) == '\\' &&
		    strchr("\"\\$", s->text[s->at + 1]))
			s->at++;
		str_addn(word, &s->text[s->at++], 1);
	}
	if (!scan_here(s))
		return missing(s, quote);
	s->at++;
	return 0;
}

/* One thing of a group: quotes and comments may hide a brace. */
static int
skip_hidden(struct scan *s)
{
	struct scan quoted = { .text = s->text, .at = s->at };
	struct str ignored = {0};

	if (scan_here(s) == '#' && strchr(" \t\n;{}", s->text[s->at - 1])) {
		scan_skip_comment(s);
		return 0;
	}
	if (scan_here(s) != '"' && scan_here(s) != '\'') {
		s->at += scan_here(s) == '\\' && s->text[s->at + 1] ? 2 : 1;
		return 0;
	}

	const int result = scan_quoted(&quoted, &ignored);

	s->at = quoted.at;
	s->open |= quoted.open;
	str_fini(&ignored);
	free(quoted.cuts);
	return result;
}

/* The text between braces, inner braces and quotes included. */
int
scan_group(struct scan *s, struct str *word)
{
	int depth = 0;
	const size_t start = s->at + 1;

	while (scan_here(s)) {
		if (scan_here(s) == '{') {
			depth++;
			s->at++;
		} else if (scan_here(s) == '}') {
			s->at++;
			if (--depth > 0)
				continue;
			str_addn(word, s->text + start, s->at - 1 - start);
			return 0;
		} else if (skip_hidden(s) < 0) {
			return -1;
		}
	}
	return missing(s, '}');
}

int
scan_word(struct scan *s, struct str *word)
{
	str_addn(word, "", 0);
	s->quoted = false;
	s->cuts_len = 0;
	while (!strchr(" \t\n;<>", scan_here(s)) && !scan_at_line_end(s) &&
	       !(s->piped && scan_here(s) == '|' && s->text[s->at + 1] != '|')) {
		const char c = scan_here(s);

		if (c == '"' || c == '\'') {
			if (scan_quoted(s, word) < 0)
				return -1;
		} else if (c == '$') {
			if (scan_variable(s, word, s->whole) < 0)
				return -1;
		} else if (c == '{' && !word->len) {
			s->quoted = true;
			return scan_group(s, word);
		} else if (!scan_skip_continuation(s)) {
			s->at += c == '\\';
			s->quoted = true;
			str_addn(word, &s->text[s->at++], 1);
		}
	}
	return 0;
}
