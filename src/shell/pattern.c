/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * case: its word, and patterns as fnmatch has them. What is quoted means
 * itself; what a $ stands for does only within quotes, as in ksh.
 */
#include "statement.h"
#include "scan.h"

#include <fnmatch.h>
#include <stdlib.h>
#include <string.h>

/* ---- patterns ------------------------------------------------------------ */

static void
add_literally(struct str *pattern, const char *text)
{
	for (; *text; text++) {
		str_add(pattern, "\\");
		str_addn(pattern, text, 1);
	}
}

/* From one quote to the other. */
static int
take_quoted(struct scan *s, struct str *pattern)
{
	struct str value = {0};
	const int result = scan_quoted(s, &value);

	if (result == 0)
		add_literally(pattern, str_text(&value));
	str_fini(&value);
	return result;
}

static bool
ends(const struct scan *s)
{
	return !scan_here(s) || strchr("|);\n", scan_here(s));
}

/* Up to | or ). */
static int
take_pattern(struct scan *s, struct str *pattern)
{
	int result = 0;

	scan_skip_blanks(s);
	while (!ends(s) && result == 0) {
		const char c = scan_here(s);

		if (c == '"' || c == '\'') {
			result = take_quoted(s, pattern);
		} else if (c == '$') {
			result = scan_variable(s, pattern, false);
		} else if (!scan_skip_continuation(s)) {
			const size_t n = 1 + (c == '\\' && s->text[s->at + 1]);

			if (!strchr(" \t\r", c))
				str_addn(pattern, s->text + s->at, n);
			s->at += n;
		}
	}
	return result;
}

/* ---- where the walk is --------------------------------------------------- */

/* What was read is no failure of the text itself: a value has none. */
static bool
value_failed(struct script *s, size_t start)
{
	script_set_line(s, start);
	s->going = shell_judge(s->sh, FAILED);
	return false;
}

static bool
not_understood(struct script *s, size_t at)
{
	fail(FAIL_USAGE, "case: '%.*s' is not understood",
	     (int)strcspn(s->text + at, "\r\n"), s->text + at);
	(void)fail_remedy("case WORD in PATTERN|PATTERN) COMMANDS;; esac");
	return script_nonsense(s, at);
}

typedef int take_fn(struct scan *s, struct str *out);

/* *value: what take reads; NULL if it is only walked over. */
static bool
read_on(struct script *s, bool run, take_fn *take, char **value)
{
	struct scan in = { .text = s->text, .at = s->at, .whole = true,
			   .vars = run ? shell_variable : NULL, .arg = s->sh };
	const size_t start = s->at;
	struct str out = {0};
	const int result = take(&in, &out);

	free(in.cuts);
	s->at = in.at;
	s->open |= in.open;
	*value = result == 0 ? str_take(&out) : NULL;
	str_fini(&out);
	if (result < 0)
		return run && !in.open ? value_failed(s, start) :
			script_nonsense(s, start);
	return true;
}

static int
take_word(struct scan *s, struct str *word)
{
	scan_skip_blanks(s);
	return scan_word(s, word);
}

static bool
take_subject(struct script *s, bool run, char **word)
{
	const size_t start = s->at;
	size_t at;

	s->at += strlen("case");
	at = s->at;
	if (!read_on(s, run, take_word, word))
		return false;
	if (s->at == at + strspn(s->text + at, " \t"))
		return s->text[s->at] ? not_understood(s, start) :
			script_ends_early(s, start, "case", "word");
	s->at += strspn(s->text + s->at, " \t\r\n");
	if (!s->text[s->at])
		return script_ends_early(s, start, "case", "in");
	if (strncmp(s->text + s->at, "in", 2) != 0 ||
	    !strchr(" \t\r\n", s->text[s->at + 2]))
		return not_understood(s, start);
	s->at += 2;
	return true;
}

/* PATTERN|PATTERN); *meets: one of them does. */
static bool
take_patterns(struct script *s, bool run, const char *word, bool *meets)
{
	const size_t start = s->at;
	char *pattern;

	*meets = false;
	s->at += s->text[s->at] == '(';
	do {
		if (!read_on(s, run && !*meets, take_pattern, &pattern))
			return false;
		*meets |= run && !*meets && fnmatch(pattern, word, 0) == 0;
		free(pattern);
		if (!s->text[s->at])
			return script_ends_early(s, start, "case",
						 ") behind a pattern");
	} while (s->text[s->at++] == '|');
	return s->text[s->at - 1] == ')' || not_understood(s, start);
}

static bool
take_arms(struct script *s, bool run, const char *word, size_t start)
{
	bool taken = false, meets;

	while (script_keyword(s) != ESAC) {
		if (!s->text[s->at])
			return script_ends_early(s, start, "case", "esac");
		if (!take_patterns(s, script_runs(s, run) && !taken, word,
				   &meets) ||
		    !script_list(s, meets, ARM_END | ESAC))
			return false;
		taken |= meets;
		if (script_keyword(s) == ARM_END)
			s->at += strlen(";;");
	}
	if (!taken && script_runs(s, run))
		s->sh->status = 0;
	return script_take(s, ESAC, start, "case");
}

bool
script_case(struct script *s, bool run)
{
	const size_t start = s->at;
	char *word = NULL;
	const bool ok = take_subject(s, script_runs(s, run), &word) &&
		take_arms(s, run, word, start);

	free(word);
	return ok;
}
