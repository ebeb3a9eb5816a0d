/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * stop, when, trace, delete, handler, status: which event is meant, and the
 * list of those that are.
 */
#include "private.h"

#include <stdlib.h>
#include <string.h>

/* ---- words ---------------------------------------------------------------- */

char *
words_joined(size_t n, char **words)
{
	struct str s = {0};

	for (size_t i = 0; i < n; i++)
		str_addf(&s, "%s%s", i ? " " : "", words[i]);
	return str_take(&s);
}

struct event {			/* as it was written */
	const char *name, *place, *body, *condition;
	const char *longer, *limit, *span;
	char *data;		/* the place, ours */
	const char *how;	/* it is accessed */
	bool temp, trap, disable, reads;
	long long count, thread;
	bool wrong;
};

static void
cut(size_t *n, char **words, size_t at, size_t k)
{
	memmove(&words[at], &words[at + k], (*n - at - k + 1) * sizeof *words);
	*n -= k;
}

static bool
take(const char *option, size_t *n, char **words)
{
	for (size_t i = 1; i < *n; i++) {
		if (strcmp(words[i], option) == 0) {
			cut(n, words, i, 1);
			return true;
		}
	}
	return false;
}

/* -count infinity: it counts, and does nothing else. */
#define FOR_EVER	INT64_MAX

static bool
is_for_ever(const char *word, long long *out)
{
	*out = FOR_EVER;
	return strcmp(word, "infinity") == 0;
}

static long long
take_number(const char *option, size_t *n, char **words, bool *wrong)
{
	for (size_t i = 1; i < *n; i++) {
		long long value = 0;

		if (strcmp(words[i], option) != 0)
			continue;
		if (i + 1 < *n && strcmp(option, "-count") == 0 &&
		    is_for_ever(words[i + 1], &value)) {
			cut(n, words, i, 2);
			return value;
		}
		if (i + 1 == *n ||
		    !str_number(words[i + 1], 1, 1 << 30, &value)) {
			*wrong = true;
			return 0;
		}
		cut(n, words, i, 2);
		return value;
	}
	return 0;
}

static const char *
take_word(const char *option, size_t *n, char **words, bool *wrong)
{
	for (size_t i = 1; i < *n; i++) {
		const char *word = words[i + 1];

		if (strcmp(words[i], option) != 0)
			continue;
		if (!word) {
			*wrong = true;
			return NULL;
		}
		cut(n, words, i, 2);
		return word;
	}
	return NULL;
}

/* change EXPR[, SIZE], access r|w EXPR[, SIZE]: the rest is one expression. */
static void
take_data(struct event *e, size_t n, char **words)
{
	const bool access = strcmp(e->name, "access") == 0;
	const size_t first = access ? 3 : 2;
	const char *how = access && n > 2 ? words[2] : "w";

	e->how = how;
	e->reads = strchr(how, 'r');
	e->wrong |= n <= first || !*how || how[strspn(how, "rw")];
	e->place = e->data = n > first ? words_joined(n - first,
						      words + first) : NULL;
}

static bool
is_level(const char *name)
{
	return strcmp(name, "cpu") == 0 || strcmp(name, "rss") == 0;
}

/* `in F longer TIME`, `cpu > N for TIME`, `rss > N`: taken off the end. */
static void
take_amounts(struct event *e, size_t *n, char **words)
{
	if (*n == 5 && strcmp(e->name, "in") == 0 &&
	    strcmp(words[3], "longer") == 0) {
		e->longer = words[4];
		*n = 3;
	}
	if (!is_level(e->name))
		return;
	e->limit = *n > 3 ? words[3] : "";
	e->span = *n == 6 ? words[5] : NULL;
	e->wrong |= (*n != 4 && *n != 6) || strcmp(words[2], ">") != 0 ||
		(e->span && strcmp(words[4], "for") != 0);
	*n = 2;
}

/* Rearranges the words: a copy of the pointers. has_body: the last word. */
static struct event
take_event(size_t n, char **words, bool has_body)
{
	struct event e = {0};

	e.body = has_body ? words[--n] : NULL;
	words[n] = NULL;
	e.temp = take("-temp", &n, words);
	e.trap = take("-trap", &n, words);
	e.disable = take("-disable", &n, words);
	e.count = take_number("-count", &n, words, &e.wrong);
	e.thread = take_number("-thread", &n, words, &e.wrong);
	e.condition = take_word("-if", &n, words, &e.wrong);
	e.name = n > 1 ? words[1] : "";
	take_amounts(&e, &n, words);
	e.place = n > 2 ? words[2] : NULL;
	if (strcmp(e.name, "change") == 0 || strcmp(e.name, "access") == 0)
		take_data(&e, n, words);
	else
		e.wrong |= n > 3;
	return e;
}

/* A body as lists show it: its only line, or the first one and dots. */
static char *
one_line(const char *body)
{
	const char *start = body + strspn(body, " \t\r\n");
	const size_t len = strcspn(start, "\r\n");
	const char *rest = start + len;
	size_t end = len;

	while (end > 0 && strchr(" \t", start[end - 1]))
		end--;
	return xasprintf("%.*s%s", (int)end, start,
			 rest[strspn(rest, " \t\r\n")] ? " ..." : "");
}

/* As they are shown again. */
static char *
shown(const char *command, const struct event *e)
{
	struct str s = {0};

	str_addf(&s, "%s %s", command, e->name);
	if (strcmp(e->name, "access") == 0)
		str_addf(&s, " %s", e->how);
	if (e->place) {
		char *place = str_tame(xstrdup(e->place));

		str_addf(&s, " %s", place);
		free(place);
	}
	if (e->longer)
		str_addf(&s, " longer %s", e->longer);
	if (e->limit)
		str_addf(&s, " > %s", e->limit);
	if (e->span)
		str_addf(&s, " for %s", e->span);
	if (e->temp)
		str_add(&s, " -temp");
	if (e->trap)
		str_add(&s, " -trap");
	if (e->count == FOR_EVER)
		str_add(&s, " -count infinity");
	else if (e->count)
		str_addf(&s, " -count %lld", e->count);
	if (e->thread)
		str_addf(&s, " -thread %lld", e->thread);
	if (e->condition)
		str_addf(&s, " -if '%s'", e->condition);
	if (e->body) {
		char *body = one_line(e->body);

		str_addf(&s, " { %s }", body);
		free(body);
	}
	return str_take(&s);
}

/* ---- events --------------------------------------------------------------- */

enum event_place { NO_PLACE, A_PLACE, A_LINE, PERHAPS_A_PLACE };

static const struct event_name {
	const char *name;
	enum event_kind kind;
	enum event_place place;
} event_names[] = {
	{ "in", EVENT_PLACE, A_PLACE },
	{ "at", EVENT_PLACE, A_LINE },
	{ "returns", EVENT_RETURNS, A_PLACE },
	{ "timer", EVENT_TIMER, A_PLACE },
	{ "exit", EVENT_EXIT, NO_PLACE },
	{ "proc_gone", EVENT_EXIT, NO_PLACE },
	{ "attach", EVENT_ATTACH, NO_PLACE },
	{ "detach", EVENT_DETACH, NO_PLACE },
	{ "sig", EVENT_SIG, A_PLACE },
	{ "change", EVENT_CHANGE, A_PLACE },
	{ "access", EVENT_ACCESS, A_PLACE },
	{ "cpu", EVENT_LEVEL, NO_PLACE },
	{ "rss", EVENT_LEVEL, NO_PLACE },
	{ "dlopen", EVENT_DLOPEN, PERHAPS_A_PLACE },
	{ "dlclose", EVENT_DLCLOSE, PERHAPS_A_PLACE },
};

static const struct event_name *
event_named(const char *name)
{
	for (size_t i = 0; i < ARRAY_LEN(event_names); i++)
		if (strcmp(event_names[i].name, name) == 0)
			return &event_names[i];
	return NULL;
}

static enum result
no_event(const char *command, const char *name)
{
	fail(FAIL_USAGE, "event '%s' is not known", name);
	fail_remedy("%s in FUNCTION%s; help when lists the events", command,
		    strcmp(command, "when") == 0 ? " { ... }" : "");
	return FAILED;
}

/* FILE:LINE, LINE, &ADDRESS; whether it is there shows in a process. */
static bool
is_code_place(const char *place)
{
	const char *colon = strrchr(place, ':');
	long long line;

	return *place == '&' ||
		str_number(colon ? colon + 1 : place, 1, 1 << 30, &line);
}

static bool
is_possible(const struct event_name *kind, const struct event *e,
	    enum handler_does does)
{
	/* there is nothing to be stopped then */
	if (does == DOES_STOP && (kind->kind == EVENT_EXIT ||
				  kind->kind == EVENT_DETACH))
		return false;
	if (kind->place == PERHAPS_A_PLACE)
		return true;
	return (kind->place != NO_PLACE) == (e->place != NULL) &&
		(kind->place != A_LINE || is_code_place(e->place));
}

static int
take_numbers(const struct event *e, struct level *level, uint64_t *longer)
{
	const struct level_words words = { e->name, e->limit, e->span };

	if (e->limit)
		return level_parse(&words, level);
	if (!e->longer)
		return 0;
	if (settings_duration(e->longer, longer) < 0)
		return fail_in("longer");
	if (*longer >= 1000000)
		return 0;
	fail(FAIL_USAGE, "longer %s: two stops of the thread are measured "
	     "along, which take some tenths of a millisecond", e->longer);
	return fail_remedy("give 1ms or more");
}

/* Where its body stands, for messages. */
static void
note_source(const struct shell *sh, struct handler *h)
{
	const struct words *w = sh->line;

	if (!sh->source)
		return;
	h->file = sh->source->name ? xstrdup(sh->source->name) : NULL;
	h->line = sh->source->line;
	for (size_t i = 0; w && w->raw && w->group_at > w->start &&
	     i < w->group_at - w->start; i++)
		h->line += w->raw[i] == '\n';
}

static enum result
add(struct shell *sh, const char *command, const struct event *e,
    enum handler_does does)
{
	const struct event_name *kind = event_named(e->name);
	uint64_t period = 0, longer = 0;
	struct level level = {0};
	struct handler *h;

	if (!kind)
		return no_event(command, e->name);
	if (e->wrong || !is_possible(kind, e, does))
		return USAGE;
	if (kind->kind == EVENT_TIMER &&
	    settings_duration(e->place, &period) < 0) {
		fail_in("%s timer", command);
		return FAILED;
	}
	if (kind->kind == EVENT_SIG && signal_check(command, e->place) < 0)
		return FAILED;
	if (e->body && script_check(e->body) < 0)
		return FAILED;
	if (take_numbers(e, &level, &longer) < 0) {
		fail_in("%s", command);
		return FAILED;
	}
	h = handler_add(sh, longer ? EVENT_RETURNS : kind->kind, does);
	h->level = level;
	h->longer_ns = longer;
	note_source(sh, h);
	h->what = shown(command, e);
	h->body = e->body ? xstrdup(e->body) : NULL;
	h->place = e->place ? xstrdup(e->place) : NULL;
	h->reads = e->reads;
	h->at_line = kind->place == A_LINE;
	h->once = e->temp;
	h->may_trap = e->trap;
	h->disabled = e->disable;
	h->condition = e->condition ? xstrdup(e->condition) : NULL;
	h->count = e->count;
	h->thread = (pid_t)e->thread;
	h->period_ns = period;
	if (handler_place(sh, h) < 0) {
		handler_remove(sh, h);
		return FAILED;
	}
	fprintf(sh->out, "(%d) %s\n", h->number, h->what);
	return DONE;
}

/* ---- commands ------------------------------------------------------------- */

enum { WORDS_MOST = 16 };

static enum result
add_words(struct shell *sh, size_t n, char **words, enum handler_does does)
{
	char *w[WORDS_MOST + 1];

	if (n > WORDS_MOST || n < 2)
		return USAGE;
	memcpy(w, words, (n + 1) * sizeof *w);

	const struct event e = take_event(n, w, does == DOES_RUN);
	const enum result r = add(sh, words[0], &e, does);

	free(e.data);
	return r;
}

enum result
event_add(struct shell *sh, size_t n, char **words)
{
	return add_words(sh, n, words, DOES_STOP);
}

static enum result
cmd_when(struct shell *sh, size_t n, char **words)
{
	return n < 3 ? USAGE : add_words(sh, n, words, DOES_RUN);
}

static enum result
cmd_trace(struct shell *sh, size_t n, char **words)
{
	return add_words(sh, n, words, DOES_TRACE);
}

static enum result
cmd_stop(struct shell *sh, size_t n, char **words)
{
	if (n > 1)
		return add_words(sh, n, words, DOES_STOP);
	if (!target_alive(sh)) {
		fail(FAIL_USAGE, "stop: there is no process");
		fail_remedy("attach PID, or debug PROGRAM and run");
		return FAILED;
	}
	sh->wait_over = true;
	if (session_stop(sh->session) < 0)
		return FAILED;
	shell_note(sh, "process %d is stopped", session_pid(sh->session));
	return DONE;
}

static bool
is_number(const char *word)
{
	return *word && word[strspn(word, "0123456789")] == '\0';
}

static struct handler *
handler_of_word(struct shell *sh, const char *command, const char *word)
{
	long long number;
	struct handler *h;

	if (!str_number(word, 1, 1000000, &number)) {
		fail(FAIL_USAGE, "%s: '%s' is no number of a handler", command,
		     word);
		fail_remedy("status lists them");
		return NULL;
	}
	h = handler_numbered(sh, number);
	if (!h) {
		fail(FAIL_USAGE, "%s: there is no handler (%lld)", command,
		     number);
		fail_remedy("status lists them");
	}
	return h;
}

static void
delete_all(struct shell *sh, bool temporary)
{
	for (int number = 1; number < sh->next_handler; number++) {
		struct handler *h = handler_numbered(sh, number);

		if (h && (h->once || !temporary))
			handler_remove(sh, h);
	}
}

static enum result
cmd_delete(struct shell *sh, size_t n, char **words)
{
	if (n < 2)
		return USAGE;
	for (size_t i = 1; i < n; i++) {
		const bool all = strcmp(words[i], "all") == 0 ||
			strcmp(words[i], "0") == 0;

		if (all || strcmp(words[i], "-temp") == 0) {
			delete_all(sh, !all);
			continue;
		}

		if (!is_number(words[i]))
			return USAGE;

		struct handler *h = handler_of_word(sh, "delete", words[i]);

		if (!h)
			return FAILED;
		handler_remove(sh, h);
	}
	return DONE;
}

static int
set_disabled(struct shell *sh, struct handler *h, bool disabled)
{
	h->disabled = disabled;
	if (!disabled)
		return handler_place(sh, h);
	handler_unplace(sh, h);
	return 0;
}

static enum result
handler_apply(struct shell *sh, const char *option, struct handler *h)
{
	if (strcmp(option, "-enable") == 0 || strcmp(option, "-disable") == 0)
		return set_disabled(sh, h, option[1] == 'd') < 0 ? FAILED :
			DONE;
	if (strcmp(option, "-reset") == 0) {
		filter_end(sh, h);
		h->hits = 0;
		return DONE;
	}
	if (strcmp(option, "-count") != 0)
		return USAGE;
	filter_look(sh, h);
	fprintf(sh->out, "(%d) %lld", h->number, h->hits);
	if (h->count == FOR_EVER)
		fputs("/infinity", sh->out);
	else if (h->count)
		fprintf(sh->out, "/%lld", h->count);
	fputc('\n', sh->out);
	return DONE;
}

static enum result
cmd_handler(struct shell *sh, size_t n, char **words)
{
	long long limit;

	if (n < 3)
		return USAGE;
	if (n == 4 && strcmp(words[1], "-count") == 0 &&
	    (is_for_ever(words[3], &limit) ||
	     str_number(words[3], 1, 1 << 30, &limit))) {
		struct handler *h = handler_of_word(sh, "handler", words[2]);

		if (h) {
			filter_end(sh, h);
			h->count = limit;
		}
		return h ? DONE : FAILED;
	}
	for (size_t i = 2; i < n; i++) {
		const bool all = strcmp(words[i], "all") == 0;

		for (int number = 1; all && number < sh->next_handler;
		     number++) {
			struct handler *h = handler_numbered(sh, number);
			const enum result r = h ? handler_apply(sh, words[1],
								h) : DONE;

			if (r != DONE)
				return r;
		}
		if (all)
			continue;

		struct handler *h = handler_of_word(sh, "handler", words[i]);
		const enum result r = h ? handler_apply(sh, words[1], h) :
			FAILED;

		if (r != DONE)
			return r;
	}
	return DONE;
}

static bool
is_of_data(const struct handler *h)
{
	return h->kind == EVENT_CHANGE || h->kind == EVENT_ACCESS;
}

/* A trap is a danger, and what is off is missed: so both are told. */
static void
print_handler(struct shell *sh, struct handler *h)
{
	char *why = NULL;

	filter_look(sh, h);

	const bool has_place = h->kind == EVENT_PLACE ||
		h->kind == EVENT_RETURNS;

	fprintf(sh->out, h->disabled ? "[%d] %s" : "(%d) %s", h->number,
		h->what);
	if (h->hits)
		fprintf(sh->out, "   (%lld hit%s)", h->hits,
			h->hits == 1 ? "" : "s");
	if ((has_place ? !h->spots_len : is_of_data(h) && !h->data) &&
	    !h->disabled)
		fputs(h->late ? "   (pending: not loaded yet)" :
		      "   (waits for a process)", sh->out);
	for (size_t i = 0; i < h->spots_len && target_alive(sh); i++) {
		if (session_why_trap(sh->session,
				     spot_number(sh, h->spots[i]), &why) == 0 &&
		    *why)
			fprintf(sh->out, "   (%s)", why);
		free(why);
		why = NULL;
	}
	fputc('\n', sh->out);
}

static enum result
cmd_status(struct shell *sh, size_t n, char **words)
{
	if (n == 3 && strcmp(words[1], "-h") == 0) {
		struct handler *h = handler_of_word(sh, "status", words[2]);

		if (h)
			print_handler(sh, h);
		return h ? DONE : FAILED;
	}

	const bool again = n == 2 && strcmp(words[1], "-s") == 0;

	if (n != 1 && !again)
		return USAGE;
	if (!sh->handlers.len && !again)
		fputs("No handlers.\n", sh->out);
	for (size_t i = 0; i < sh->handlers.len; i++) {
		struct handler *h = sh->handlers.items[i];

		if (again)
			fprintf(sh->out, "%s%s\n", h->what,
				h->disabled ? " -disable" : "");
		else
			print_handler(sh, h);
	}
	return DONE;
}

const struct command event_commands[] = {
	{ "delete", "N... | all | -temp", "remove handlers", 0, cmd_delete,
	  "delete 1" },
	{ "handler", "-enable|-disable|-reset N...|all, -count N [LIMIT]",
	  "switch handlers off and on; their counts of hits", 0, cmd_handler,
	  "handler -disable 1" },
	{ "status", "[-h N | -s]", "list handlers of events (-s: as commands)",
	  0, cmd_status, "status" },
	{ "stop", "[EVENT [MODIFIERS]]", "stop the process now, or at an event "
	  "(see when)", 0, cmd_stop, "stop in main" },
	{ "trace", "EVENT [MODIFIERS]", "tell of an event (see when)", 0,
	  cmd_trace, "trace in parse" },
	{ "when", "EVENT [MODIFIERS] { COMMANDS }",
	  "run commands at an event; the process goes on.\n"
	  "  EVENT: in FUNCTION, at FILE:LINE, at &ADDRESS, returns FUNCTION,\n"
	  "  change EXPR[, SIZE], access r|w|rw ADDRESS[, SIZE], timer SECONDS,\n"
	  "  sig SIGNAL, exit, attach, detach, dlopen [LIB], dlclose [LIB],\n"
	  "  in FUNCTION longer TIME, cpu > PERCENT [for SECONDS], rss > SIZE\n"
	  "  MODIFIERS: -if EXPR, -temp, -count N|infinity, -thread TID, -disable,\n"
	  "  -trap",
	  0, cmd_when, "when timer 30 { collector disable; quit }" },
	{ 0 }
};
