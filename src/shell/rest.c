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

int
words_expression(struct scan *s, struct words *w)
{
	const bool call = strcmp(w->items[0], "call") == 0;
	struct str text = {0};
	int depth = 0;

	scan_skip_blanks(s);
	while (scan_here(s) && scan_here(s) != ';' && !scan_at_line_end(s) &&
	       !(call && ends_call(s, &depth)) && !ends_address(s, w)) {
		const size_t start = s->at;

		if (scan_here(s) == '"' || scan_here(s) == '\'') {
			if (scan_skip_literal(s) < 0) {
				str_fini(&text);
				return -1;
			}
			str_addn(&text, s->text + start, s->at - start);
		} else if (scan_here(s) == '$') {
			scan_own_variable(s, &text);
		} else if (scan_skip_continuation(s)) {
			str_add(&text, " ");
		} else {
			str_addn(&text, &s->text[s->at++], 1);
		}
	}

	size_t end = text.len;

	while (end > 0 && strchr(" \t", str_text(&text)[end - 1]))
		end--;
	if (end > 0)
		words_push(w, xstrndup(str_text(&text), end));
	str_fini(&text);
	return 0;
}
