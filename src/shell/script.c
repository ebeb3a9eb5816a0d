/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Statements, as ksh has them: commands joined by && and ||, if, case, while,
 * until, for, functions. There is no tree: the text is walked, and what is not to be
 * run is walked over (run false).
 *
 * A failure ends a file, as ever; not where it is asked for: in a condition,
 * before && and ||, behind !. That is `tested`. What cannot be understood is
 * no answer: `mistake`. A loop ends at Ctrl-C, and so do commands of which none
 * waits.
 */
#include "statement.h"

#include <stdlib.h>
#include <string.h>

enum { NESTED_MAX = 50, TEXTS_MAX = 150 };

static int check(const char *text, int nested);

/* ---- functions ----------------------------------------------------------- */

static bool
too_deep(struct script *s)
{
	if (s->nested < NESTED_MAX)
		return false;
	fail(FAIL_USAGE, "statements are nested too deep");
	(void)script_nonsense(s, s->at);
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
	s->at = script_function_at(s->text, s->at, &name, &n);
	if (!s->text[s->at])
		return script_ends_early(s, start, "the function", "{ COMMANDS }");

	const size_t from = s->at + 1;

	text = words_group(s->text, &s->at);
	if (!text || check(text, s->nested + 1) < 0) {
		s->open |= !text;
		free(text);
		return script_nonsense(s, start);
	}
	if (!script_runs(s, run)) {
		free(text);
		return true;
	}

	const struct source *source = s->sh->source;

	function_define(s->sh, &(struct function){
		.name = xstrndup(s->text + name, n), .body = text,
		.file = source && source->name ? xstrdup(source->name) : NULL,
		.line = s->line + script_newlines(s->text, from),
	});
	return true;
}

/* ---- one command --------------------------------------------------------- */

static bool
take_arithmetic(struct script *s, bool run, bool tested)
{
	const size_t start = s->at;
	char *text = words_arithmetic(s->text, &s->at), *expanded;
	long long value = 0;
	int r;

	if (!text) {
		s->open |= !s->text[s->at];
		return script_nonsense(s, start);
	}
	if (!script_runs(s, run)) {
		free(text);
		return true;
	}
	expanded = words_expanded(text, false, shell_variable, s->sh);
	r = expanded ? arith_evaluate(s->sh, expanded, &value) : -1;
	free(expanded);
	free(text);
	script_set_line(s, start);
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
		return script_nonsense(s, start);
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

	if (!script_runs(s, run))
		return look_at_simple(s, joined);
	script_set_line(s, start);

	const int got = words_next(s->text, &s->at, &w, shell_variable, s->sh);

	if (got < 0) {
		struct failure *why = fail_keep();
		struct script again = { .text = s->text, .at = start };
		const bool whole = look_at_simple(&again, joined);

		s->at = again.at;	/* a value alone may have failed */
		fail_again(why);
		if (!whole)
			return script_nonsense(s, start);
	} else {
		*joined = w.joined;
	}
	s->sh->tested += tested || *joined;
	s->sh->mistake = got < 0 && (!s->sh->told || s->sh->mistake);
	if (got >= 0)
		r = shell_run_words(s->sh, &w);
	script_set_line(s, start);
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
	(void)fail_remedy("begin a new line; > FILE and | PROGRAM may stand "
			  "behind fi, done, esac and { COMMANDS }");
	return script_nonsense(s, s->at);
}

static bool
unexpected(struct script *s, enum keyword k)
{
	fail(FAIL_USAGE, "'%s' stands where a command should",
	     script_keyword_name(k));
	(void)fail_remedy("help language shows how statements are written");
	return script_nonsense(s, s->at);
}

static bool
compound(struct script *s, enum keyword k, bool run)
{
	switch (k) {
	case IF:
		return script_if(s, run);
	case FOR:
		return script_for(s, run);
	case CASE:
		return script_case(s, run);
	default:
		return script_while(s, run, k);
	}
}

static const char *
last_word(enum keyword k)
{
	return k == IF ? "fi" : k == CASE ? "esac" : "done";
}

/* What stands behind it; without tail it is walked over. */
static bool
take_tail(struct script *s, struct words *tail)
{
	const size_t start = s->at;
	struct words none;
	struct words *w = tail ? tail : &none;

	if (words_tail(s->text, &s->at, w, tail ? shell_variable : NULL,
		       s->sh) < 0) {
		s->open |= !s->text[s->at];
		return script_nonsense(s, start);
	}
	if (!tail)
		words_fini(w);
	return true;
}

/* false: not all of it was run. */
static bool
run_elsewhere(struct script *s, enum keyword k, const struct words *tail)
{
	struct output o;
	enum result r;

	if (output_begin(s->sh, tail, &o) < 0) {
		s->going = shell_judge(s->sh, FAILED);
		return s->going && compound(s, k, false);
	}
	if (!compound(s, k, true)) {
		(void)output_end(s->sh, &o, TOLD);
		return false;
	}
	r = output_end(s->sh, &o, ANSWERED);
	s->going = shell_judge(s->sh, r) && !s->sh->quitting;
	return s->going;
}

/* It is looked at before it is run: the outermost for what is not whole, all
 * for where their output goes. */
static bool
take_compound(struct script *s, enum keyword k, bool run, char *joined)
{
	const size_t start = s->at;
	struct words tail = {0};
	bool ok = true;

	if (too_deep(s))
		return false;
	s->nested++;
	run = script_runs(s, run);
	if (run) {
		ok = compound(s, k, false) && take_tail(s, &tail) &&
			take_operator(s, last_word(k), joined);
		s->at = ok ? start : s->at;
		*joined = 0;
	}
	ok = ok && (tail.out || tail.in || tail.pipe ?
		    run_elsewhere(s, k, &tail) : compound(s, k, run));
	words_fini(&tail);
	s->nested--;
	return ok && take_tail(s, NULL) &&
		take_operator(s, last_word(k), joined);
}

static bool
command(struct script *s, bool run, bool tested, char *joined)
{
	const enum keyword k = script_keyword(s);

	switch (k) {
	case IF:
	case WHILE:
	case UNTIL:
	case FOR:
	case CASE:
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
		const bool not = script_keyword(s) == NOT;

		s->at += not;
		if (not)
			words_skip(s->text, &s->at);
		if (!command(s, doing, not, &joined))
			return false;
		if (not && script_runs(s, doing))
			s->sh->status = !s->sh->status;
		if (!joined)
			return true;
		if (run)
			doing = !script_leaves(s->sh) &&
				(joined == '&') == (s->sh->status == 0);
		words_skip(s->text, &s->at);
		if (!s->text[s->at])
			return script_ends_early(s, start, joined == '&' ? "&&" :
					  "||", "command behind it");
	}
}

bool
script_list(struct script *s, bool run, unsigned ends)
{
	for (;;) {
		const enum keyword k = script_keyword(s);

		/* a body runs in a wait, which ends by it */
		if (run && (s->sh->loops ? wait_signal != 0 : !s->sh->in_body &&
			    wait_interrupts_commands()))
			return script_interrupted(s);
		if (!s->text[s->at] || k & ends)
			return true;
		if (!chain(s, run))
			return false;
	}
}

/* ---- texts --------------------------------------------------------------- */

bool
shell_run_text(struct shell *sh, const char *text)
{
	const int line = sh->source ? sh->source->line : 1;
	struct script s = { .sh = sh, .text = text, .line = line,
			    .going = true };

	if (sh->texts >= TEXTS_MAX) {
		fail(FAIL_USAGE, "commands are nested too deep");
		return script_nonsense(&s, 0);
	}
	sh->texts++;
	if (!sh->quitting)
		(void)script_list(&s, true, 0);
	sh->texts--;
	if (sh->source && s.going)
		sh->source->line = line;
	return s.going && !sh->quitting;
}

static int
check(const char *text, int nested)
{
	struct script s = { .text = text, .nested = nested };

	return script_list(&s, false, 0) ? 0 : -1;
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
	whole = script_list(&s, false, 0);
	fail_clear();
	return !whole && s.open;
}
