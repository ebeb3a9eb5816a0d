/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * A line into words: blanks part them; '...' and "..." hold them together; a
 * backslash takes the next character as it is, and hides the end of a line;
 * { ... } is one word (its text, for the bodies of `when`); ; ends a command,
 * && and || between blanks do, # the line; what begins with $ is replaced
 * outside '...' (scan.c). > >> < name files; behind | a line of the system's
 * shell stands (tail.c).
 */
#include "private.h"
#include "scan.h"

#include <ctype.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

void
words_fini(struct words *w)
{
	for (size_t i = 0; i < w->len; i++)
		free(w->items[i]);
	free(w->items);
	free(w->out);
	free(w->in);
	free(w->pipe);
	free(w->raw);
	*w = (struct words){0};
}

void
words_push(struct words *w, char *word)
{
	w->items = xgrow(w->items, &w->cap, w->len + 2, sizeof *w->items);
	w->items[w->len++] = word;
	w->items[w->len] = NULL;
}

/* 2> FILE, > &1: of descriptors only 0 and 1 go elsewhere. What sh runs is
 * its own affair. */
static bool
is_of_descriptors(const struct scan *s, const struct words *w)
{
	const char *c = s->text + s->at, *before = c;

	if (!w->len || strcmp(w->items[0], "sh") == 0)
		return false;
	while (before > s->text && isdigit((unsigned char)before[-1]))
		before--;
	if (before < c && before > s->text && strchr(" \t", before[-1]))
		return true;
	c += strspn(c, "<>");
	return *c == '&';
}

static int
no_descriptors(void)
{
	fail(FAIL_USAGE, "only < FILE, > FILE and >> FILE redirect here");
	return fail_remedy("debug /bin/sh -c 'exec PROGRAM 2> FILE', and run");
}

static int
take_redirection(struct scan *s, struct words *w)
{
	const char c = s->text[s->at++];
	char **place = c == '<' ? &w->in : &w->out;
	struct str word = {0};

	if (c == '>') {
		w->append = scan_here(s) == '>';
		s->at += w->append;
	}
	scan_skip_blanks(s);
	s->whole = true;

	const int got = scan_word(s, &word);

	s->whole = false;
	if (got < 0) {
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

/* NAME=VALUE, whose value is one word. */
static bool
is_assignment(const struct scan *s)
{
	const char *c = s->text + s->at;

	if (!isalpha((unsigned char)*c) && *c != '_')
		return false;
	while (isalnum((unsigned char)*c) || *c == '_')
		c++;
	return *c == '=';
}

/* A word, or as many as its values are split into; perhaps none. */
static void
push_pieces(struct words *w, const struct scan *s, struct str *word)
{
	size_t from = 0;

	if (!s->cuts_len) {
		if (word->len || s->quoted)
			words_push(w, str_take(word));
		else
			str_fini(word);
		return;
	}
	for (size_t i = 0; i <= s->cuts_len; i++) {
		const size_t end = i < s->cuts_len ? s->cuts[i] : word->len;

		if (end > from)
			words_push(w, xstrndup(str_text(word) + from, end - from));
		from = end;
	}
	str_fini(word);
}

/* when cpu > 80 */
static bool
compares(const struct words *w)
{
	static const char *const events[] = { "when", "stop", "trace" };

	if (w->len != 2 || (strcmp(w->items[1], "cpu") != 0 &&
			    strcmp(w->items[1], "rss") != 0))
		return false;
	for (size_t i = 0; i < ARRAY_LEN(events); i++)
		if (strncasecmp(events[i], w->items[0],
				strlen(w->items[0])) == 0)
			return true;
	return false;
}

static int
take_next(struct scan *s, struct words *w)
{
	struct str word = {0};

	if (scan_here(s) == '>' && compares(w)) {
		s->at++;
		words_push(w, xstrdup(">"));
		return 0;
	}
	if (words_begin_condition(s, w))
		return words_condition(s, w);
	if (scan_here(s) == '>' || scan_here(s) == '<')
		return is_of_descriptors(s, w) ? no_descriptors() :
			take_redirection(s, w);
	if (scan_here(s) == '{') {
		w->group_at = s->at + 1;
		w->is_group |= !w->len;
	}
	s->whole = !w->len && is_assignment(s);

	const int got = scan_word(s, &word);

	s->whole = false;
	if (got < 0) {
		str_fini(&word);
		return -1;
	}
	push_pieces(w, s, &word);
	return 0;
}

/* ---- commands ------------------------------------------------------------ */

/* && and || after a command, between blanks. */
static bool
at_operator(const struct scan *s, const struct words *w)
{
	const char *c = s->text + s->at;

	return w->len && (*c == '&' || *c == '|') && c[1] == *c &&
		strchr(" \t\r\n{[(", c[2]) && !words_keep_operators(w->items[0]);
}

/* ... and perhaps what stands behind it. */
static bool
at_end(const struct scan *s, const struct words *w)
{
	return !scan_here(s) || strchr(";#", scan_here(s)) ||
		scan_at_line_end(s) || at_operator(s, w);
}

static void
end_command(struct scan *s, struct words *w, size_t start)
{
	w->raw = xstrndup(s->text + start, s->at - start);
	if (at_operator(s, w) ||
	    (w->pipe && scan_here(s) && strchr("&|", scan_here(s)))) {
		w->joined = scan_here(s);
		s->at += 2;
	}
	if (scan_here(s) == '#')
		scan_skip_comment(s);
}

static int
take_command(struct scan *s, struct words *w)
{
	const size_t start = w->start = s->at;

	s->piped = !s->plain;
	for (;;) {
		scan_skip_blanks(s);
		if (at_end(s, w))
			break;
		if (scan_here(s) == '|' && s->piped) {
			if (scan_pipe(s, &w->pipe) < 0)
				return -1;
			break;
		}
		if (take_next(s, w) < 0)
			return -1;
		if (w->len && !w->rest) {
			w->rest = s->at - start;
			if (s->plain)
				continue;
			s->piped = !words_keep_operators(w->items[0]) ||
				w->is_group;
			if (strcmp(w->items[0], "sh") == 0)
				s->vars = NULL;	/* its line is not ours */
			if (w->len == 1 && words_take_expression(w->items[0]) &&
			    words_expression(s, w) < 0)
				return -1;
		}
	}
	end_command(s, w, start);
	return 1;
}

int
words_tail(const char *text, size_t *at, struct words *w, words_vars *vars,
	   void *arg)
{
	struct scan s = { .text = text, .at = *at, .vars = vars, .arg = arg };
	int result = 0;

	*w = (struct words){0};
	scan_skip_blanks(&s);
	while (result == 0 && scan_here(&s) && strchr("<>", scan_here(&s))) {
		result = take_redirection(&s, w);
		scan_skip_blanks(&s);
	}
	if (result == 0 && scan_here(&s) == '|' && text[s.at + 1] != '|')
		result = scan_pipe(&s, &w->pipe);
	free(s.cuts);
	*at = s.at;
	if (result == 0)
		return 1;
	words_fini(w);
	return -1;
}

static int
next(struct scan *s, struct words *w)
{
	*w = (struct words){0};
	scan_skip_separators(s);
	if (!scan_here(s))
		return 0;

	const int result = take_command(s, w);

	free(s->cuts);
	s->cuts = NULL;
	s->cuts_len = s->cuts_cap = 0;
	if (result < 0)
		words_fini(w);
	return result;
}

int
words_next(const char *text, size_t *at, struct words *w, words_vars *vars,
	   void *arg)
{
	struct scan s = { .text = text, .at = *at, .vars = vars, .arg = arg };
	const int result = next(&s, w);

	*at = s.at;
	return result;
}

int
words_list(const char *text, size_t *at, struct words *w, words_vars *vars,
	   void *arg)
{
	struct scan s = { .text = text, .at = *at, .vars = vars, .arg = arg,
			  .plain = true };
	const int result = next(&s, w);

	*at = s.at;
	return result;
}

void
words_skip(const char *text, size_t *at)
{
	struct scan s = { .text = text, .at = *at, .arms = true };

	scan_skip_separators(&s);
	*at = s.at;
}

char *
words_group(const char *text, size_t *at)
{
	struct scan s = { .text = text, .at = *at };
	struct str body = {0};
	const int result = scan_group(&s, &body);

	*at = s.at;
	if (result == 0)
		return str_take(&body);
	str_fini(&body);
	return NULL;
}

char *
words_arithmetic(const char *text, size_t *at)
{
	struct scan s = { .text = text, .at = *at };
	const size_t start = *at + 2;

	if (scan_skip_nested(&s, ')') < 0)
		return NULL;
	*at = s.at;
	if (text[s.at - 2] == ')')
		return xstrndup(text + start, s.at - 2 - start);
	fail(FAIL_USAGE, "(( is closed by ))");
	return NULL;
}

char *
words_expanded(const char *text, bool own, words_vars *vars, void *arg)
{
	struct scan s = { .text = text, .vars = vars, .arg = arg,
			  .whole = true };
	struct str out = {0};
	int result = 0;

	while (scan_here(&s) && result == 0) {
		const size_t start = s.at;

		if (own && strchr("\"'", scan_here(&s))) {
			result = scan_skip_literal(&s);
			str_addn(&out, text + start, s.at - start);
		} else if (scan_here(&s) != '$') {
			str_addn(&out, &text[s.at++], 1);
		} else if (own) {
			scan_own_variable(&s, &out);
		} else {
			result = scan_variable(&s, &out, false);
		}
	}
	free(s.cuts);
	if (result == 0)
		return str_take(&out);
	str_fini(&out);
	return NULL;
}

bool
words_unfinished(const char *text)
{
	struct scan s = { .text = text };
	struct words w;

	while (!s.open && next(&s, &w) > 0)
		words_fini(&w);
	return s.open;
}
