/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * A line into words: blanks part them; '...' and "..." hold them together; a
 * backslash takes the next character as it is, and hides the end of a line;
 * { ... } is one word (its text, for the bodies of `when`); ; ends a command,
 * # the line; $name is replaced outside '...'. > >> < name files.
 */
#include "private.h"

#include <ctype.h>
#include <stdlib.h>
#include <string.h>

struct scan {
	const char *text;
	size_t at;
	const char *(*vars)(void *arg, const char *name);
	void *arg;
	bool open;		/* the text ends before what it began */
};

void
words_fini(struct words *w)
{
	for (size_t i = 0; i < w->len; i++)
		free(w->items[i]);
	free(w->items);
	free(w->out);
	free(w->in);
	free(w->raw);
	*w = (struct words){0};
}

static void
push(struct words *w, char *word)
{
	w->items = xgrow(w->items, &w->cap, w->len + 2, sizeof *w->items);
	w->items[w->len++] = word;
	w->items[w->len] = NULL;
}

static char
here(const struct scan *s)
{
	return s->text[s->at];
}

/* A backslash before the end of a line, or of all: the line goes on. */
static bool
skip_continuation(struct scan *s)
{
	size_t n = 1;

	if (here(s) != '\\')
		return false;
	n += s->text[s->at + n] == '\r';
	if (s->text[s->at + n] && s->text[s->at + n] != '\n')
		return false;
	n += s->text[s->at + n] == '\n';
	s->at += n;
	s->open |= !here(s);
	return true;
}

/* At the end of a line, also of a file that came from DOS. */
static bool
at_line_end(const struct scan *s)
{
	const char *c = &s->text[s->at];

	return *c == '\n' || (*c == '\r' && (c[1] == '\n' || !c[1]));
}

static void
skip_blanks(struct scan *s)
{
	while (here(s) == ' ' || here(s) == '\t' || skip_continuation(s))
		s->at += here(s) == ' ' || here(s) == '\t';
}

static void
take_variable(struct scan *s, struct str *word)
{
	size_t n = 1;

	while (isalnum((unsigned char)s->text[s->at + n]) ||
	       s->text[s->at + n] == '_')
		n++;

	char *name = xstrndup(s->text + s->at + 1, n - 1);
	const char *value = n > 1 && s->vars ? s->vars(s->arg, name) : NULL;

	if (value)
		str_add(word, value);
	else
		str_addn(word, s->text + s->at, n);
	s->at += n;
	free(name);
}

static int
missing(struct scan *s, char what)
{
	s->open = true;
	fail(FAIL_USAGE, "a %c is missing", what);
	return fail_remedy(what == '}' ? "braces come in pairs: { COMMANDS }" :
			   "quotes come in pairs; within double quotes \\\" "
			   "is one");
}

/* From the opening quote to behind the closing one. */
static int
take_quoted(struct scan *s, struct str *word)
{
	const char quote = s->text[s->at++];

	while (here(s) && here(s) != quote) {
		if (quote == '"' && here(s) == '$') {
			take_variable(s, word);
			continue;
		}
		if (quote == '"' && skip_continuation(s))
			continue;
		if (quote == '"' && here(s) == '\\' &&
		    strchr("\"\\$", s->text[s->at + 1]))
			s->at++;
		str_addn(word, &s->text[s->at++], 1);
	}
	if (!here(s))
		return missing(s, quote);
	s->at++;
	return 0;
}

static void
skip_comment(struct scan *s)
{
	while (here(s) && here(s) != '\n')
		s->at++;
}

/* One thing of a group: quotes and comments may hide a brace. */
static int
skip_hidden(struct scan *s)
{
	struct scan quoted = { s->text, s->at, NULL, NULL, false };
	struct str ignored = {0};

	if (here(s) == '#' && strchr(" \t\n;{}", s->text[s->at - 1])) {
		skip_comment(s);
		return 0;
	}
	if (here(s) != '"' && here(s) != '\'') {
		s->at += here(s) == '\\' && s->text[s->at + 1] ? 2 : 1;
		return 0;
	}

	const int result = take_quoted(&quoted, &ignored);

	s->at = quoted.at;
	s->open |= quoted.open;
	str_fini(&ignored);
	return result;
}

/* The text between braces, inner braces and quotes included. */
static int
take_group(struct scan *s, struct str *word)
{
	int depth = 0;
	const size_t start = s->at + 1;

	while (here(s)) {
		if (here(s) == '{') {
			depth++;
			s->at++;
		} else if (here(s) == '}') {
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

static int
take_word(struct scan *s, struct str *word)
{
	str_addn(word, "", 0);
	while (!strchr(" \t\n;<>", here(s)) && !at_line_end(s)) {
		const char c = here(s);

		if (c == '"' || c == '\'') {
			if (take_quoted(s, word) < 0)
				return -1;
		} else if (c == '$') {
			take_variable(s, word);
		} else if (c == '{' && !word->len) {
			return take_group(s, word);
		} else if (!skip_continuation(s)) {
			s->at += c == '\\';
			str_addn(word, &s->text[s->at++], 1);
		}
	}
	return 0;
}

static int
take_redirection(struct scan *s, struct words *w)
{
	const char c = s->text[s->at++];
	char **place = c == '<' ? &w->in : &w->out;
	struct str word = {0};

	if (c == '>') {
		w->append = here(s) == '>';
		s->at += w->append;
	}
	skip_blanks(s);
	if (take_word(s, &word) < 0) {
		str_fini(&word);
		return -1;
	}
	if (!word.len) {
		str_fini(&word);
		return fail(FAIL_USAGE, "a file name is missing after %c", c);
	}
	free(*place);
	*place = str_take(&word);
	return 0;
}

/* To the next place where a command may begin. */
static void
skip_separators(struct scan *s)
{
	for (;;) {
		skip_blanks(s);
		if (here(s) == '#')
			skip_comment(s);
		else if (here(s) == ';' || at_line_end(s))
			s->at++;
		else
			return;
	}
}

static int
take_next(struct scan *s, struct words *w)
{
	struct str word = {0};

	if (here(s) == '>' || here(s) == '<')
		return take_redirection(s, w);
	if (take_word(s, &word) < 0) {
		str_fini(&word);
		return -1;
	}
	push(w, str_take(&word));
	return 0;
}

/* Commands of which the rest is one expression of C: < and > compare, quotes
 * and braces are its own, $ is a register. */
static bool
takes_expression(const char *command)
{
	static const char *const all[] = { "print", "whatis", "assign",
		"display", "dis", "examine", "x", "call" };

	for (size_t i = 0; i < ARRAY_LEN(all); i++)
		if (strcmp(all[i], command) == 0)
			return true;
	return false;
}

/* A character or a string is not ended by what it holds. */
static int
skip_literal(struct scan *s)
{
	const char quote = s->text[s->at++];

	while (here(s) && here(s) != quote)
		s->at += here(s) == '\\' && s->text[s->at + 1] ? 2 : 1;
	if (!here(s))
		return missing(s, quote);
	s->at++;
	return 0;
}

/* What is called ends with its parenthesis; a redirection may follow. */
static bool
ends_call(const struct scan *s, int *depth)
{
	if (here(s) == '(')
		++*depth;
	if (here(s) == ')')
		--*depth;
	return *depth <= 0 && (here(s) == '<' || here(s) == '>');
}

static int
take_expression(struct scan *s, struct words *w)
{
	const bool call = strcmp(w->items[0], "call") == 0;
	size_t start, end;
	int depth = 0;

	skip_blanks(s);
	start = s->at;
	while (here(s) && here(s) != ';' && !at_line_end(s) &&
	       !(call && ends_call(s, &depth))) {
		if (here(s) == '"' || here(s) == '\'') {
			if (skip_literal(s) < 0)
				return -1;
		} else if (!skip_continuation(s)) {
			s->at++;
		}
	}
	for (end = s->at; end > start && strchr(" \t", s->text[end - 1]);)
		end--;
	if (end > start)
		push(w, xstrndup(s->text + start, end - start));
	return 0;
}

static int
take_command(struct scan *s, struct words *w)
{
	const size_t start = s->at;

	for (;;) {
		skip_blanks(s);
		if (!here(s) || here(s) == ';' || here(s) == '#' ||
		    at_line_end(s))
			break;
		if (take_next(s, w) < 0)
			return -1;
		if (w->len == 1 && !w->rest) {
			w->rest = s->at - start;
			if (takes_expression(w->items[0]) &&
			    take_expression(s, w) < 0)
				return -1;
		}
	}
	w->raw = xstrndup(s->text + start, s->at - start);
	if (here(s) == '#')
		skip_comment(s);
	return 1;
}

static int
next(struct scan *s, struct words *w)
{
	*w = (struct words){0};
	skip_separators(s);
	if (!here(s))
		return 0;

	const int result = take_command(s, w);

	if (result < 0)
		words_fini(w);
	return result;
}

int
words_next(const char *text, size_t *at, struct words *w,
	   const char *(*vars)(void *arg, const char *name), void *arg)
{
	struct scan s = { text, *at, vars, arg, false };
	const int result = next(&s, w);

	*at = s.at;
	return result;
}

bool
words_unfinished(const char *text)
{
	struct scan s = { text, 0, NULL, NULL, false };
	struct words w;

	while (!s.open && next(&s, &w) > 0)
		words_fini(&w);
	return s.open;
}
