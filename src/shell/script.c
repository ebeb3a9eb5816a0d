/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Statements, as ksh has them: commands joined by && and ||, if, while, until,
 * for, functions. There is no tree: the text is walked, and what is not to be
 * run is walked over (run false). An outermost if or loop is walked over
 * before it is run, so that nothing of a statement runs that is not whole.
 *
 * A failure ends a file, as ever; not where it is asked for: in a condition,
 * before && and ||, behind !. That is `tested`. What cannot be understood is
 * no answer: `mistake`. A loop ends at Ctrl-C.
 */
#include "script.h"

#include <signal.h>
#include <stdlib.h>
#include <string.h>

enum { NESTED_MAX = 50, TEXTS_MAX = 150 };

enum keyword {			/* bits of a set */
	NO_KEYWORD = 0, IF = 1, THEN = 2, ELIF = 4, ELSE = 8, FI = 16,
	WHILE = 32, UNTIL = 64, FOR = 128, DO = 256, DONE_WORD = 512,
	NOT = 1024, FUNCTION = 2048, ARITHMETIC = 4096,
};

static const struct {
	const char *name;
	enum keyword keyword;
} keywords[] = {
	{ "if", IF }, { "then", THEN }, { "elif", ELIF }, { "else", ELSE },
	{ "fi", FI }, { "while", WHILE }, { "until", UNTIL }, { "for", FOR },
	{ "do", DO }, { "done", DONE_WORD }, { "!", NOT },
};

struct script {
	struct shell *sh;	/* NULL: it is only looked at */
	const char *text;
	size_t at;
	int line;		/* of its first character */
	int nested;		/* statements around this one */
	bool open;		/* it ends before what it began */
	bool going;		/* what it was run from goes on */
};

static bool list(struct script *s, bool run, unsigned ends);
static int check(const char *text, int nested);

/* ---- where we are --------------------------------------------------------- */

static int
newlines(const char *text, size_t n)
{
	int count = 0;

	for (size_t i = 0; i < n; i++)
		count += text[i] == '\n';
	return count;
}

static void
set_line(const struct script *s, size_t at)
{
	if (s->sh && s->sh->source)
		s->sh->source->line = s->line + newlines(s->text, at);
}

/* The failure that is recorded is one of the text itself: the rest of it
 * makes no sense. */
static bool
nonsense(struct script *s, size_t at)
{
	if (!s->sh)
		return false;
	set_line(s, at);
	s->sh->mistake = true;
	s->going = shell_judge(s->sh, FAILED);
	return false;
}

static bool
ends_early(struct script *s, size_t start, const char *what, const char *lacks)
{
	s->open = true;
	fail(FAIL_USAGE, "%s has no %s", what, lacks);
	(void)fail_remedy("help language shows how statements are written");
	return nonsense(s, start);
}

static bool
leaves(const struct shell *sh)
{
	return sh->leaving.breaks || sh->leaving.continues ||
		sh->leaving.returns || sh->quitting;
}

/* Is it still to be run? */
static bool
runs(const struct script *s, bool run)
{
	return run && !leaves(s->sh);
}

/* ---- keywords ------------------------------------------------------------- */

/* `function NAME`, `NAME() {`: where its body begins, 0: it is none of these.
 * The view `functions` may be called `function`, too. */
static size_t
function_at(const char *text, size_t at, size_t *name, size_t *n)
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

	*n = strcspn(text + at, " \t\r\n;");
	for (size_t i = 0; i < ARRAY_LEN(keywords); i++)
		if (strlen(keywords[i].name) == *n &&
		    strncmp(keywords[i].name, text + at, *n) == 0)
			return keywords[i].keyword;
	if (strncmp(text + at, "((", 2) == 0)
		return ARITHMETIC;
	return function_at(text, at, &name, n) ? FUNCTION : NO_KEYWORD;
}

static const char *
keyword_name(enum keyword k)
{
	for (size_t i = 0; i < ARRAY_LEN(keywords); i++)
		if (keywords[i].keyword == k)
			return keywords[i].name;
	return "";
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

static enum keyword
next_keyword(struct script *s)
{
	size_t n;

	words_skip(s->text, &s->at);
	return keyword_at(s->text, s->at, &n);
}

/* The list before it ended there. */
static bool
take(struct script *s, enum keyword k, size_t start, const char *what)
{
	if (next_keyword(s) != k)
		return ends_early(s, start, what, keyword_name(k));
	s->at += strlen(keyword_name(k));
	return true;
}

/* ---- interruption --------------------------------------------------------- */

static bool
interrupted(struct script *s)
{
	struct shell *sh = s->sh;

	if (wait_signal == SIGTERM || wait_signal == SIGHUP) {
		sh->quitting = true;
		sh->exit_status = 128 + wait_signal;
		return s->going = false;
	}
	wait_signal = 0;
	(void)fail(FAIL_GENERAL, "interrupted");
	shell_print_failure(sh);
	sh->status = sh->exit_status = 128 + SIGINT;
	return s->going = false;
}

/* ---- if ------------------------------------------------------------------- */

/* The list up to `then` or `do`; *truth: it was run and says yes. */
static bool
condition(struct script *s, bool run, enum keyword end, bool *truth)
{
	bool ok;

	if (!runs(s, run)) {
		*truth = false;
		return list(s, false, end);
	}
	s->sh->tested++;
	ok = list(s, true, end);
	s->sh->tested--;
	*truth = ok && !leaves(s->sh) && s->sh->status == 0;
	return ok;
}

static bool
take_if(struct script *s, bool run)
{
	const size_t start = s->at;
	bool taken = false, truth;

	do {
		s->at += strlen(s->at == start ? "if" : "elif");
		if (!condition(s, run && !taken, THEN, &truth) ||
		    !take(s, THEN, start, "if"))
			return false;
		taken |= truth;
		if (!list(s, truth, ELIF | ELSE | FI))
			return false;
	} while (next_keyword(s) == ELIF);
	if (next_keyword(s) == ELSE) {
		s->at += strlen("else");
		if (!list(s, run && !taken, FI))
			return false;
	} else if (!taken && s->sh && runs(s, run)) {
		s->sh->status = 0;
	}
	return take(s, FI, start, "if");
}

/* ---- loops ---------------------------------------------------------------- */

/* The body was walked, and perhaps run. false: it is left. */
static bool
goes_round(struct shell *sh)
{
	if (sh->leaving.breaks) {
		sh->leaving.breaks--;
		return false;
	}
	sh->leaving.continues = false;
	return !leaves(sh);
}

static bool
body(struct script *s, bool run, size_t start, const char *what)
{
	bool ok;

	if (run)
		s->sh->loops++;
	ok = take(s, DO, start, what) && list(s, run, DONE_WORD) &&
		take(s, DONE_WORD, start, what);
	if (run)
		s->sh->loops--;
	if (!ok || !run)
		return ok;
	if (wait_signal)
		return interrupted(s);
	if (!s->sh->in_body)
		wait_poll(s->sh);	/* a thread may stand at its `when` */
	return true;
}

static bool
take_while(struct script *s, bool run, enum keyword k)
{
	const size_t start = s->at;
	const char *what = keyword_name(k);
	int status = 0;
	bool truth;

	run = runs(s, run);
	if (run && !s->sh->loops)
		run_forget_interrupt();
	for (;;) {
		s->at = start + strlen(what);
		if (!condition(s, run, DO, &truth))
			return false;
		truth = runs(s, run) && truth == (k == WHILE);
		if (!body(s, truth, start, what))
			return false;
		if (!truth)
			break;
		status = s->sh->status;
		if (!goes_round(s->sh))
			return true;
	}
	if (runs(s, run))
		s->sh->status = status;
	return true;
}

/* NAME in WORDS: the words, or the parameters without `in`. */
static bool
take_values(struct script *s, bool run, struct words *w, struct vec *values)
{
	const size_t start = s->at;
	const int got = words_list(s->text, &s->at, w,
				   run ? shell_variable : NULL, s->sh);
	const struct params *p = run ? s->sh->params : NULL;

	if (got < 0 && run) {		/* it may be a value that failed */
		s->at = start;
		set_line(s, start);
		s->going = shell_judge(s->sh, FAILED);
		return false;
	}
	if (got < 0)
		return nonsense(s, start);
	if (!got)
		return ends_early(s, start, "for", "name");
	if (!w->len || w->joined || w->out || w->in ||
	    !var_is_name(w->items[0], strlen(w->items[0])) ||
	    (w->len > 1 && strcmp(w->items[1], "in") != 0)) {
		fail(FAIL_USAGE, "for '%s' is not understood", w->raw);
		(void)fail_remedy("for NAME in WORDS; do COMMANDS; done");
		return nonsense(s, start);
	}
	for (size_t i = 2; i < w->len; i++)
		vec_push(values, w->items[i]);
	for (size_t i = 0; w->len == 1 && p && i < p->n; i++)
		vec_push(values, p->items[i]);
	return true;
}

static bool
run_for(struct script *s, const char *name, const struct vec *values,
	size_t start)
{
	const size_t at = s->at;

	if (!s->sh->loops)
		run_forget_interrupt();
	s->sh->status = 0;
	for (size_t i = 0; i < values->len; i++) {
		s->at = at;
		if (var_set(s->sh, name, values->items[i]) < 0)
			return nonsense(s, start);
		if (!body(s, true, start, "for"))
			return false;
		if (!goes_round(s->sh))
			return true;
	}
	return values->len || body(s, false, start, "for");
}

static bool
take_for(struct script *s, bool run)
{
	const size_t start = s->at;
	struct words w = {0};
	struct vec values = {0};
	bool ok;

	run = runs(s, run);
	s->at += strlen("for");
	ok = take_values(s, run, &w, &values) &&
		(run ? run_for(s, w.items[0], &values, start) :
		 body(s, false, start, "for"));
	vec_fini(&values);
	words_fini(&w);
	return ok;
}

/* ---- functions ------------------------------------------------------------ */

static bool
too_deep(struct script *s)
{
	if (s->nested < NESTED_MAX)
		return false;
	fail(FAIL_USAGE, "statements are nested too deep");
	(void)nonsense(s, s->at);
	return true;
}

static bool
take_function(struct script *s, bool run)
{
	const size_t start = s->at;
	size_t name, n;
	char *text;

	if (too_deep(s))
		return false;
	s->at = function_at(s->text, s->at, &name, &n);
	if (!s->text[s->at])
		return ends_early(s, start, "the function", "{ COMMANDS }");

	const size_t from = s->at + 1;

	text = words_group(s->text, &s->at);
	if (!text || check(text, s->nested + 1) < 0) {
		s->open |= !text;
		free(text);
		return nonsense(s, start);
	}
	if (!runs(s, run)) {
		free(text);
		return true;
	}

	const struct source *source = s->sh->source;

	function_define(s->sh, &(struct function){
		.name = xstrndup(s->text + name, n), .body = text,
		.file = source && source->name ? xstrdup(source->name) : NULL,
		.line = s->line + newlines(s->text, from),
	});
	return true;
}

/* ---- one command ---------------------------------------------------------- */

static bool
take_arithmetic(struct script *s, bool run, bool tested)
{
	const size_t start = s->at;
	char *text = words_arithmetic(s->text, &s->at), *expanded;
	long long value = 0;
	int r;

	if (!text) {
		s->open |= !s->text[s->at];
		return nonsense(s, start);
	}
	if (!runs(s, run)) {
		free(text);
		return true;
	}
	expanded = words_expanded(text, false, shell_variable, s->sh);
	r = expanded ? arith_evaluate(s->sh, expanded, &value) : -1;
	free(expanded);
	free(text);
	set_line(s, start);
	s->sh->tested += tested;
	s->sh->status = !value;
	s->sh->mistake = r < 0;
	s->going = shell_judge(s->sh, r < 0 ? FAILED : ANSWERED);
	s->sh->tested -= tested;
	return s->going;
}

static bool
look_at_simple(struct script *s, char *joined)
{
	const size_t start = s->at;
	struct words w;

	if (words_next(s->text, &s->at, &w, NULL, NULL) < 0) {
		s->open |= !s->text[s->at];
		return nonsense(s, start);
	}
	*joined = w.joined;
	words_fini(&w);
	return true;
}

static bool
take_simple(struct script *s, bool run, bool tested, char *joined)
{
	const size_t start = s->at;
	struct words w;
	enum result r = FAILED;

	if (!runs(s, run))
		return look_at_simple(s, joined);
	set_line(s, start);

	const int got = words_next(s->text, &s->at, &w, shell_variable, s->sh);

	if (got < 0) {
		struct failure *why = fail_keep();
		struct script again = { .text = s->text, .at = start };
		const bool whole = look_at_simple(&again, joined);

		s->at = again.at;	/* a value alone may have failed */
		fail_again(why);
		if (!whole)
			return nonsense(s, start);
	} else {
		*joined = w.joined;
	}
	s->sh->tested += tested || *joined;
	s->sh->mistake = got < 0 && (!s->sh->told || s->sh->mistake);
	if (got >= 0)
		r = shell_run_words(s->sh, &w);
	set_line(s, start);
	fflush(s->sh->out);
	s->going = shell_judge(s->sh, r) && !s->sh->quitting;
	s->sh->tested -= tested || *joined;
	if (got >= 0)
		words_fini(&w);
	return s->going;
}

/* && or || behind a statement that ends with a word of its own; else nothing
 * may follow. */
static bool
take_operator(struct script *s, const char *what, char *joined)
{
	const char *c;

	s->at += strspn(s->text + s->at, " \t");
	c = s->text + s->at;
	if ((c[0] == '&' || c[0] == '|') && c[1] == c[0]) {
		*joined = *c;
		s->at += 2;
		return true;
	}
	if (!*c || strchr(";\r\n#", *c))
		return true;
	fail(FAIL_USAGE, "'%.20s' cannot stand behind %s", c, what);
	(void)fail_remedy("begin a new line; redirect the commands within, or "
			  "outfile FILE");
	return nonsense(s, s->at);
}

static bool
unexpected(struct script *s, enum keyword k)
{
	fail(FAIL_USAGE, "'%s' stands where a command should", keyword_name(k));
	(void)fail_remedy("help language shows how statements are written");
	return nonsense(s, s->at);
}

static bool
compound(struct script *s, enum keyword k, bool run)
{
	switch (k) {
	case IF:
		return take_if(s, run);
	case FOR:
		return take_for(s, run);
	default:
		return take_while(s, run, k);
	}
}

/* The outermost is looked at before it is run. */
static bool
take_compound(struct script *s, enum keyword k, bool run, char *joined)
{
	const size_t start = s->at;
	bool ok = true;

	if (too_deep(s))
		return false;
	s->nested++;
	if (run && s->nested == 1) {
		ok = compound(s, k, false) &&
			take_operator(s, k == IF ? "fi" : "done", joined);
		s->at = ok ? start : s->at;
		*joined = 0;
	}
	ok = ok && compound(s, k, run);
	s->nested--;
	return ok && take_operator(s, k == IF ? "fi" : "done", joined);
}

static bool
command(struct script *s, bool run, bool tested, char *joined)
{
	const enum keyword k = next_keyword(s);

	switch (k) {
	case IF:
	case WHILE:
	case UNTIL:
	case FOR:
		return take_compound(s, k, run, joined);
	case FUNCTION:
		return take_function(s, run) && take_operator(s, "}", joined);
	case ARITHMETIC:
		return take_arithmetic(s, run, tested) &&
			take_operator(s, "))", joined);
	case NO_KEYWORD:
		return take_simple(s, run, tested, joined);
	default:
		return unexpected(s, k);
	}
}

/* Commands joined by && and ||. */
static bool
chain(struct script *s, bool run)
{
	const size_t start = s->at;
	bool doing = run;

	for (;;) {
		char joined = 0;
		const bool not = next_keyword(s) == NOT;

		s->at += not;
		if (not)
			words_skip(s->text, &s->at);
		if (!command(s, doing, not, &joined))
			return false;
		if (not && runs(s, doing))
			s->sh->status = !s->sh->status;
		if (!joined)
			return true;
		if (run)
			doing = !leaves(s->sh) &&
				(joined == '&') == (s->sh->status == 0);
		words_skip(s->text, &s->at);
		if (!s->text[s->at])
			return ends_early(s, start, joined == '&' ? "&&" :
					  "||", "command behind it");
	}
}

static bool
list(struct script *s, bool run, unsigned ends)
{
	for (;;) {
		const enum keyword k = next_keyword(s);

		if (!s->text[s->at] || k & ends)
			return true;
		if (!chain(s, run))
			return false;
		if (run && s->sh->loops && wait_signal)
			return interrupted(s);
	}
}

/* ---- texts ---------------------------------------------------------------- */

bool
shell_run_text(struct shell *sh, const char *text)
{
	const int line = sh->source ? sh->source->line : 1;
	struct script s = { .sh = sh, .text = text, .line = line,
			    .going = true };

	if (sh->texts >= TEXTS_MAX) {
		fail(FAIL_USAGE, "commands are nested too deep");
		return nonsense(&s, 0);
	}
	sh->texts++;
	if (!sh->quitting)
		(void)list(&s, true, 0);
	sh->texts--;
	if (sh->source && s.going)
		sh->source->line = line;
	return s.going && !sh->quitting;
}

static int
check(const char *text, int nested)
{
	struct script s = { .text = text, .nested = nested };

	return list(&s, false, 0) ? 0 : -1;
}

int
script_check(const char *text)
{
	return check(text, 0);
}

bool
script_unfinished(const char *text)
{
	struct script s = { .text = text };
	bool whole;

	if (words_unfinished(text))
		return true;
	whole = list(&s, false, 0);
	fail_clear();
	return !whole && s.open;
}
