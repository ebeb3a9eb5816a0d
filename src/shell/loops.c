/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * if, while, until, for. An outermost one is walked over before it is run, so
 * that nothing of a statement runs that is not whole.
 */
#include "statement.h"

#include <stdlib.h>
#include <string.h>

/* ---- if ------------------------------------------------------------------ */

/* The list up to `then` or `do`; *truth: it was run and says yes. */
static bool
condition(struct script *s, bool run, enum keyword end, bool *truth)
{
	bool ok;

	if (!script_runs(s, run)) {
		*truth = false;
		return script_list(s, false, end);
	}
	s->sh->tested++;
	ok = script_list(s, true, end);
	s->sh->tested--;
	*truth = ok && !script_leaves(s->sh) && s->sh->status == 0;
	return ok;
}

bool
script_if(struct script *s, bool run)
{
	const size_t start = s->at;
	bool taken = false, truth;

	do {
		s->at += strlen(s->at == start ? "if" : "elif");
		if (!condition(s, run && !taken, THEN, &truth) ||
		    !script_take(s, THEN, start, "if"))
			return false;
		taken |= truth;
		if (!script_list(s, truth, ELIF | ELSE | FI))
			return false;
	} while (script_keyword(s) == ELIF);
	if (script_keyword(s) == ELSE) {
		s->at += strlen("else");
		if (!script_list(s, run && !taken, FI))
			return false;
	} else if (!taken && s->sh && script_runs(s, run)) {
		s->sh->status = 0;
	}
	return script_take(s, FI, start, "if");
}

/* ---- loops --------------------------------------------------------------- */

/* The body was walked, and perhaps run. false: it is left. */
static bool
goes_round(struct shell *sh)
{
	if (sh->leaving.breaks) {
		sh->leaving.breaks--;
		return false;
	}
	sh->leaving.continues = false;
	return !script_leaves(sh) && output_is_read(sh);
}

static bool
body(struct script *s, bool run, size_t start, const char *what)
{
	bool ok;

	if (run)
		s->sh->loops++;
	ok = script_take(s, DO, start, what) && script_list(s, run, DONE_WORD) &&
		script_take(s, DONE_WORD, start, what);
	if (run)
		s->sh->loops--;
	if (!ok || !run)
		return ok;
	if (wait_signal)
		return script_interrupted(s);
	if (!s->sh->in_body)
		wait_poll(s->sh);	/* a thread may stand at its `when` */
	return true;
}

bool
script_while(struct script *s, bool run, enum keyword k)
{
	const size_t start = s->at;
	const char *what = script_keyword_name(k);
	int status = 0;
	bool truth;

	run = script_runs(s, run);
	for (;;) {
		s->at = start + strlen(what);
		if (!condition(s, run, DO, &truth))
			return false;
		truth = script_runs(s, run) && truth == (k == WHILE);
		if (!body(s, truth, start, what))
			return false;
		if (!truth)
			break;
		status = s->sh->status;
		if (!goes_round(s->sh))
			return true;
	}
	if (script_runs(s, run))
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
		script_set_line(s, start);
		s->going = shell_judge(s->sh, FAILED);
		return false;
	}
	if (got < 0)
		return script_nonsense(s, start);
	if (!got)
		return script_ends_early(s, start, "for", "name");
	if (!w->len || w->joined || w->out || w->in ||
	    !var_is_name(w->items[0], strlen(w->items[0])) ||
	    (w->len > 1 && strcmp(w->items[1], "in") != 0)) {
		fail(FAIL_USAGE, "for '%s' is not understood", w->raw);
		(void)fail_remedy("for NAME in WORDS; do COMMANDS; done");
		return script_nonsense(s, start);
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

	s->sh->status = 0;
	for (size_t i = 0; i < values->len; i++) {
		s->at = at;
		if (var_set(s->sh, name, values->items[i]) < 0)
			return script_nonsense(s, start);
		if (!body(s, true, start, "for"))
			return false;
		if (!goes_round(s->sh))
			return true;
	}
	return values->len || body(s, false, start, "for");
}

bool
script_for(struct script *s, bool run)
{
	const size_t start = s->at;
	struct words w = {0};
	struct vec values = {0};
	bool ok;

	run = script_runs(s, run);
	s->at += strlen("for");
	ok = take_values(s, run, &w, &values) &&
		(run ? run_for(s, w.items[0], &values, start) :
		 body(s, false, start, "for"));
	vec_fini(&values);
	words_fini(&w);
	return ok;
}
