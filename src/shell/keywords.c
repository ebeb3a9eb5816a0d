/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Where a text of commands is walked, and the keyword that stands there.
 */
#include "statement.h"

#include <signal.h>
#include <string.h>

/* ---- where we are -------------------------------------------------------- */

int
script_newlines(const char *text, size_t n)
{
	int count = 0;

	for (size_t i = 0; i < n; i++)
		count += text[i] == '\n';
	return count;
}

void
script_set_line(const struct script *s, size_t at)
{
	if (s->sh && s->sh->source)
		s->sh->source->line = s->line + script_newlines(s->text, at);
}

bool
script_nonsense(struct script *s, size_t at)
{
	if (!s->sh)
		return false;
	script_set_line(s, at);
	s->sh->mistake = true;
	s->going = shell_judge(s->sh, FAILED);
	return false;
}

bool
script_ends_early(struct script *s, size_t start, const char *what, const char *lacks)
{
	s->open = true;
	fail(FAIL_USAGE, "%s has no %s", what, lacks);
	(void)fail_remedy("help language shows how statements are written");
	return script_nonsense(s, start);
}

bool
script_leaves(const struct shell *sh)
{
	return sh->leaving.breaks || sh->leaving.continues ||
		sh->leaving.returns || sh->quitting;
}

/* Is it still to be run? */
bool
script_runs(const struct script *s, bool run)
{
	return run && !script_leaves(s->sh);
}

/* ---- keywords ------------------------------------------------------------ */

static const struct {
	const char *name;
	enum keyword keyword;
} keywords[] = {
	{ "if", IF }, { "then", THEN }, { "elif", ELIF }, { "else", ELSE },
	{ "fi", FI }, { "while", WHILE }, { "until", UNTIL }, { "for", FOR },
	{ "do", DO }, { "done", DONE_WORD }, { "!", NOT },
	{ "case", CASE }, { "esac", ESAC },
};

/* `function NAME`, `NAME() {`: where its body begins, 0: it is none of these.
 * The view `functions` may be called `function`, too. */
size_t
script_function_at(const char *text, size_t at, size_t *name, size_t *n)
{
	const bool worded = strncmp(text + at, "function", 8) == 0 &&
		strchr(" \t", text[at + 8]) && text[at + 8];

	if (worded) {
		at += 8;
		at += strspn(text + at, " \t");
	}
	*name = at;
	*n = 0;
	while (text[at + *n] && !strchr(" \t\r\n;(){}<>$'\"#=/", text[at + *n]))
		++*n;
	at += *n;
	if (!var_is_name(text + *name, *n))
		return 0;
	at += strspn(text + at, " \t");
	if (!worded) {
		if (text[at] != '(')
			return 0;
		at += 1 + strspn(text + at + 1, " \t");
		if (text[at++] != ')')
			return 0;
	}

	at += strspn(text + at, " \t\r\n");
	return text[at] == '{' || !text[at] ? at : 0;	/* it is to come */
}

static enum keyword
keyword_at(const char *text, size_t at, size_t *n)
{
	size_t name;

	if (strncmp(text + at, ";;", 2) == 0) {
		*n = 2;
		return ARM_END;
	}
	*n = strcspn(text + at, " \t\r\n;|<>");
	for (size_t i = 0; i < ARRAY_LEN(keywords); i++)
		if (strlen(keywords[i].name) == *n &&
		    strncmp(keywords[i].name, text + at, *n) == 0)
			return keywords[i].keyword;
	if (strncmp(text + at, "((", 2) == 0)
		return ARITHMETIC;
	return script_function_at(text, at, &name, n) ? FUNCTION : NO_KEYWORD;
}

const char *
script_keyword_name(enum keyword k)
{
	for (size_t i = 0; i < ARRAY_LEN(keywords); i++)
		if (keywords[i].keyword == k)
			return keywords[i].name;
	return k == ARM_END ? ";;" : "";
}

size_t
script_skip_keywords(const char *text, size_t at)
{
	size_t n;

	words_skip(text, &at);
	while (keyword_at(text, at, &n) & (IF | THEN | ELIF | ELSE | WHILE |
					   UNTIL | DO | NOT)) {
		at += n;
		words_skip(text, &at);
	}
	return at;
}

enum keyword
script_keyword(struct script *s)
{
	size_t n;

	words_skip(s->text, &s->at);
	return keyword_at(s->text, s->at, &n);
}

bool
script_take(struct script *s, enum keyword k, size_t start, const char *what)
{
	if (script_keyword(s) != k)
		return script_ends_early(s, start, what, script_keyword_name(k));
	s->at += strlen(script_keyword_name(k));
	return true;
}

/* ---- interruption -------------------------------------------------------- */

bool
script_interrupted(struct script *s)
{
	struct shell *sh = s->sh;

	if (wait_end_by_signal(sh))
		return s->going = false;
	wait_forget_interrupt();
	(void)fail(FAIL_GENERAL, "interrupted");
	shell_print_failure(sh);
	sh->status = sh->exit_status = 128 + SIGINT;
	return s->going = false;
}
