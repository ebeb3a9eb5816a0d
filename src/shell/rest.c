/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Commands whose words are not the shell's alone: expressions of the target's,
 * filters, lines of the system's shell.
 */
#include "private.h"
#include "scan.h"

#include <stdlib.h>
#include <string.h>
#include <strings.h>

/* Commands of which the rest is one expression of C: < and > compare, quotes
 * and braces are its own, $ is a register. */
bool
words_take_expression(const char *command)
{
	static const char *const all[] = { "print", "whatis", "assign",
		"display", "dis", "examine", "x", "call" };

	for (size_t i = 0; i < ARRAY_LEN(all); i++)
		if (strcmp(all[i], command) == 0)
			return true;
	return false;
}

/* && || and | are theirs: of expressions, and of the system's shell. Prefixes
 * that are nobody else's are names; shorter ones may be functions. */
bool
words_keep_operators(const char *command)
{
	static const struct {
		const char *name;
		size_t least;
	} all[] = {
		{ "alias", 3 }, { "call", 4 }, { "filters", 4 },
		{ "indxobj_define", 9 }, { "mobj_define", 6 },
		{ "printmode", 6 }, { "sh", 2 }, { "stop", 3 },
		{ "trace", 2 }, { "when", 4 },
	};
	const size_t n = strlen(command);

	for (size_t i = 0; i < ARRAY_LEN(all); i++)
		if (n >= all[i].least &&
		    strncasecmp(all[i].name, command, n) == 0)
			return true;
	return false;
}

/* What is called ends with its parenthesis; a redirection may follow. */
static bool
ends_call(const struct scan *s, int *depth)
{
	const char c = scan_here(s);

	*depth += (c == '(') - (c == ')');
	return *depth <= 0 && (c == '<' || c == '>');
}

/* Of these | ends the address, which has none that is not in parentheses. */
static bool
ends_address(const struct scan *s, const struct words *w)
{
	static const char *const all[] = { "dis", "examine", "x" };
	const char *c = s->text + s->at;

	for (size_t i = 0; i < ARRAY_LEN(all); i++)
		if (strcmp(all[i], w->items[0]) == 0)
			return c[0] == '|' && c[1] == ' ' && c[-1] == ' ';
	return false;
}

/* Without the blanks at its end; perhaps none. */
static void
push_trimmed(struct words *w, const struct str *text)
{
	size_t end = text->len;

	while (end > 0 && strchr(" \t", str_text(text)[end - 1]))
		end--;
	if (end > 0)
		words_push(w, xstrndup(str_text(text), end));
}

/* ---- of events ----------------------------------------------------------- */

static bool
is_of_events(const char *command)
{
	static const char *const all[] = { "stop", "when", "trace", "stopi",
		"wheni", "tracei" };

	for (size_t i = 0; i < ARRAY_LEN(all); i++)
		if (strncasecmp(all[i], command, strlen(command)) == 0)
			return true;
	return false;
}

/* Behind -if, change, cond, access r: < and > compare, -> is a member. */
static bool
wants_condition(const struct words *w)
{
	if (w->len < 2 || !is_of_events(w->items[0]))
		return false;
	if (strcmp(w->items[w->len - 1], "-if") == 0)
		return true;
	return (w->len == 2 && (strcmp(w->items[1], "change") == 0 ||
				strcmp(w->items[1], "cond") == 0)) ||
		(w->len == 3 && strcmp(w->items[1], "access") == 0);
}

/* A modifier, a body, a comment. */
static bool
ends_condition(const struct scan *s)
{
	const char *c = s->text + s->at;

	if (*c == '{' || *c == ';')
		return true;
	if (!strchr(" \t", c[-1]))
		return false;
	return *c == '#' ||
		(*c == '-' && modifier_is(c, strcspn(c, " \t\r\n;{")));
}

/* A quoted one is a word like others. */
bool
words_begin_condition(const struct scan *s, const struct words *w)
{
	return !s->plain && scan_here(s) != '"' && scan_here(s) != '\'' &&
		wants_condition(w) && !ends_condition(s);
}

int
words_condition(struct scan *s, struct words *w)
{
	struct str text = {0};
	int r = 0;

	while (r == 0 && scan_here(s) && !scan_at_line_end(s) &&
	       !ends_condition(s)) {
		const size_t start = s->at;

		if (scan_here(s) == '"' || scan_here(s) == '\'') {
			r = scan_skip_literal(s);
			str_addn(&text, s->text + start, s->at - start);
		} else if (scan_here(s) == '$') {
			r = scan_variable(s, &text, true);
		} else if (scan_skip_continuation(s)) {
			str_add(&text, " ");
		} else {
			s->at += scan_here(s) == '\\';
			str_addn(&text, &s->text[s->at++], 1);
		}
	}
	if (r == 0)
		push_trimmed(w, &text);
	str_fini(&text);
	return r;
}

/* ---- of all the line ----------------------------------------------------- */

/* $[ and $( are nothing in C: they are the shell's here, too. */
static bool
is_computed(const struct scan *s)
{
	const char *c = s->text + s->at;

	return c[0] == '$' && (c[1] == '[' || c[1] == '(');
}

int
words_expression(struct scan *s, struct words *w)
{
	const bool call = strcmp(w->items[0], "call") == 0;
	struct str text = {0};
	int depth = 0, r = 0;

	scan_skip_blanks(s);
	while (r == 0 && scan_here(s) && scan_here(s) != ';' &&
	       !scan_at_line_end(s) &&
	       !(call && ends_call(s, &depth)) && !ends_address(s, w)) {
		const size_t start = s->at;

		if (scan_here(s) == '"' || scan_here(s) == '\'') {
			r = scan_skip_literal(s);
			str_addn(&text, s->text + start, s->at - start);
		} else if (is_computed(s)) {
			r = scan_variable(s, &text, true);
		} else if (scan_here(s) == '$') {
			scan_own_variable(s, &text);
		} else if (scan_skip_continuation(s)) {
			str_add(&text, " ");
		} else {
			str_addn(&text, &s->text[s->at++], 1);
		}
	}
	if (r == 0)
		push_trimmed(w, &text);
	str_fini(&text);
	return r;
}
