/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * What an alias stands for: its text, then the rest of the line as if it had
 * been typed; or, as csh and dbx's dalias have it, the words of the line where
 * the text says !:1 !^ !$ !*.
 */
#include "script.h"

#include <ctype.h>
#include <stdlib.h>
#include <string.h>

static void
add_word(struct str *out, const char *word)
{
	str_add(out, "'");
	for (; *word; word++)
		if (*word == '\'')
			str_add(out, "'\\''");
		else
			str_addn(out, word, 1);
	str_add(out, "'");
}

/* Behind a !: how long what selects is, 0: it is no such thing; which. */
static size_t
selector(const char *text, size_t words, size_t *first, size_t *last)
{
	const size_t colon = *text == ':';
	const char c = text[colon];

	if (c == '*') {
		*first = 1;
		*last = words;
	} else if (c == '^' || c == '$') {
		*first = *last = c == '^' ? 1 : words ? words : 1;
	} else if (colon && isdigit((unsigned char)c)) {
		*first = *last = strtoul(text + 1, NULL, 10);
		return 1 + strspn(text + 1, "0123456789");
	} else {
		return 0;
	}
	return colon + 1;
}

/* -1: the word that it asks for is not there. */
static int
add_selected(struct str *out, const struct words *w, size_t first, size_t last)
{
	for (size_t i = first; i <= last; i++) {
		if (i >= w->len) {
			fail(FAIL_USAGE, "%s: word %zu is missing behind it",
			     w->items[0], i);
			return fail_remedy("alias shows its text");
		}
		str_add(out, i > first ? " " : "");
		add_word(out, w->items[i]);
	}
	return 0;
}

static void
add_rest(struct str *out, const struct words *w, bool selected)
{
	if (!selected) {
		str_add(out, w->raw + w->rest);
		return;
	}
	if (w->in) {
		str_add(out, " < ");
		add_word(out, w->in);
	}
	if (w->out) {
		str_add(out, w->append ? " >> " : " > ");
		add_word(out, w->out);
	}
	if (w->pipe)
		str_addf(out, " | %s", w->pipe);
}

char *
alias_text(const char *alias, const struct words *w)
{
	struct str out = {0};
	bool selected = false;

	while (*alias) {
		const size_t escaped = alias[0] == '\\' && alias[1] == '!';
		size_t first = 0, last = 0, n = 0;

		if (alias[escaped] == '!')
			n = selector(alias + escaped + 1, w->len - 1, &first,
				     &last);
		if (!n) {
			str_addn(&out, alias++, 1);
			continue;
		}
		if (add_selected(&out, w, first, last) < 0) {
			str_fini(&out);
			return NULL;
		}
		selected = true;
		alias += escaped + 1 + n;
	}
	add_rest(&out, w, selected);
	return str_take(&out);
}
