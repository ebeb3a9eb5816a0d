/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * The events that stop, when and trace know, and what makes a handler of one.
 */
#include "event_place.h"
#include "event_words.h"
#include "private.h"

#include <stdlib.h>
#include <string.h>

enum event_place { NO_PLACE, A_PLACE, A_LINE, PERHAPS_A_PLACE };

static const struct event_name {
	const char *name;
	enum event_kind kind;
	enum event_place place;
} event_names[] = {
	{ "in", EVENT_PLACE, A_PLACE },
	{ "at", EVENT_PLACE, A_LINE },
	{ "infunction", EVENT_PLACE, A_PLACE },
	{ "infile", EVENT_PLACE, A_PLACE },
	{ "returns", EVENT_RETURNS, A_PLACE },
	{ "timer", EVENT_TIMER, A_PLACE },
	{ "exit", EVENT_EXIT, PERHAPS_A_PLACE },
	{ "lastrites", EVENT_DIES, NO_PLACE },
	{ "sync", EVENT_SYNC, NO_PLACE },
	{ "syncrtld", EVENT_SYNCRTLD, NO_PLACE },
	{ "proc_gone", EVENT_GONE, NO_PLACE },
	{ "prog_new", EVENT_PROG_NEW, NO_PLACE },
	{ "attach", EVENT_ATTACH, NO_PLACE },
	{ "detach", EVENT_DETACH, NO_PLACE },
	{ "sig", EVENT_SIG, A_PLACE },
	{ "fault", EVENT_FAULT, A_PLACE },
	{ "stop", EVENT_STOPS, NO_PLACE },
	{ "change", EVENT_CHANGE, A_PLACE },
	{ "access", EVENT_ACCESS, A_PLACE },
	{ "cpu", EVENT_LEVEL, NO_PLACE },
	{ "rss", EVENT_LEVEL, NO_PLACE },
	{ "dlopen", EVENT_DLOPEN, PERHAPS_A_PLACE },
	{ "dlclose", EVENT_DLCLOSE, PERHAPS_A_PLACE },
	{ "thr_create", EVENT_THR_CREATE, PERHAPS_A_PLACE },
	{ "thr_exit", EVENT_THR_EXIT, PERHAPS_A_PLACE },
	{ "lwp_exit", EVENT_THR_EXIT, PERHAPS_A_PLACE },
	{ "sysin", EVENT_SYSIN, PERHAPS_A_PLACE },
	{ "sysout", EVENT_SYSOUT, PERHAPS_A_PLACE },
	{ "throw", EVENT_PLACE, NO_PLACE },
};

/* Of dbx, and not of ours. */
static const struct {
	const char *name, *why, *fix;
} refused[] = {
	{ "cond", "every thread would have to execute one instruction at a "
	  "time", "stop change EXPR, or stop at PLACE -if EXPR" },
	{ "inclass", "only functions by their names are known",
	  "stop infunction CLASS::FUNCTION, or stop infile FILE" },
	{ "inmember", "only functions by their names are known",
	  "stop infunction CLASS::FUNCTION" },
	{ "inmethod", "only functions by their names are known",
	  "stop infunction CLASS::FUNCTION" },
	{ "inobject", "objects are not followed",
	  "stop infunction CLASS::FUNCTION -if 'this == ADDRESS'" },
	{ "next", "a step is not an event here", "next, then the commands" },
	{ "step", "a step is not an event here", "step, then the commands" },
};

/* Of modifiers, and of kinds of access. */
static bool
is_wrong(const char *command, const struct event *e)
{
	if (e->instr) {
		fail(FAIL_USAGE, "%s %s -instr: a step is not an event here",
		     command, e->name);
		fail_remedy("stop at &ADDRESS, or stepi");
		return true;
	}
	if (strcmp(e->name, "access") != 0 || !e->how ||
	    !strpbrk(e->how, "xb"))
		return false;
	fail(FAIL_USAGE, "%s access %s: the processor tells only %s", command,
	     e->how, strchr(e->how, 'x') ? "of data that was read or written" :
	     "when it was accessed (a)");
	fail_remedy(strchr(e->how, 'x') ? "stop at &ADDRESS, or stop in "
		    "FUNCTION" : "leave out the b");
	return true;
}

static bool
is_refused(const char *command, const char *name)
{
	for (size_t i = 0; i < ARRAY_LEN(refused); i++) {
		if (strcmp(refused[i].name, name) != 0)
			continue;
		fail(FAIL_USAGE, "%s %s: %s", command, name, refused[i].why);
		fail_remedy("%s", refused[i].fix);
		return true;
	}
	return false;
}

static const struct event_name *
event_named(const char *name)
{
	for (size_t i = 0; i < ARRAY_LEN(event_names); i++)
		if (strcmp(event_names[i].name, name) == 0)
			return &event_names[i];
	return NULL;
}

bool
event_is(const char *name)
{
	return event_named(name);
}

void
events_each(offer_fn *offer, const char *typed)
{
	for (size_t i = 0; i < ARRAY_LEN(event_names); i++)
		offer(event_names[i].name, typed);
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

	return (*place == '&' && place[1]) ||
		str_number(colon ? colon + 1 : place, 1, 1 << 30, &line);
}

static bool
is_the_end(enum event_kind kind)
{
	return kind == EVENT_EXIT || kind == EVENT_GONE || kind == EVENT_DETACH;
}

static enum result
refuse_stop(const char *name)
{
	fail(FAIL_USAGE, "stop %s: nothing is there then that could stand",
	     name);
	fail_remedy("when %s { ... }, or stop lastrites, before the end", name);
	return FAILED;
}

static bool
is_possible(const struct event_name *kind, const struct event *e)
{
	if (kind->place == PERHAPS_A_PLACE)
		return true;
	return (kind->place != NO_PLACE) == (e->place != NULL) &&
		(kind->place != A_LINE || is_code_place(e->place));
}

static enum result
not_a_line(const char *command, const char *place)
{
	fail(FAIL_USAGE, "%s at: '%s' is no line", command, place);
	fail_remedy(*place == '*' ? "%s at &%s" : "LINE, FILE:LINE or "
		    "&ADDRESS; %s in %s", command, place + (*place == '*'));
	return FAILED;
}

static enum result
lacks_value(const char *command, const char *modifier)
{
	const char *needs = strcmp(modifier, "-count") == 0 ?
		"a number from 1, or infinity" :
		strcmp(modifier, "-if") == 0 ? "an expression" :
		strcmp(modifier, "-in") == 0 ? "a function" :
		"the number of a thread";

	fail(FAIL_USAGE, "%s: %s needs %s", command, modifier, needs);
	if (strstr(needs, "thread"))
		fail_remedy("threads lists them");
	return FAILED;
}

static enum result
what_is_extra(const char *command, const char *word)
{
	char *dashed = xasprintf("-%s", word);
	const bool forgotten = modifier_is(dashed, strlen(dashed));

	free(dashed);
	if (!forgotten && *word != '-')
		return USAGE;
	fail(FAIL_USAGE, "%s: '%s' is no modifier", command, word);
	if (forgotten)
		fail_remedy("-%s%s", word, strcmp(word, "if") == 0 ? " EXPR" :
			    "");
	else
		fail_remedy("-if EXPR, -temp, -count N, -thread TID, "
			    "-in FUNCTION; help %s", command);
	return FAILED;
}

/* What is wrong with those words, as exactly as can be told. */
static enum result
wrong_words(const char *command, const struct event_name *kind,
	    const struct event *e)
{
	if (e->lacks)
		return lacks_value(command, e->lacks);
	if (kind->place == A_LINE && e->place && !is_code_place(e->place))
		return not_a_line(command, e->place);
	if (e->extra)
		return what_is_extra(command, e->extra);
	return USAGE;
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

/* 4711, t@4711 */
static int
check_thread(const char *command, const char *word, long long *thread)
{
	const char *number = str_starts(word, "t@") ||
		str_starts(word, "l@") ? word + 2 : word;

	if (str_number(number, 1, 1 << 30, thread))
		return 0;
	fail(FAIL_USAGE, "%s: '%s' is no number of a thread", command, word);
	return fail_remedy("threads lists them");
}

static int
check_code(const char *command, const char *word)
{
	long long code;

	if (str_number(word, 0, 255, &code))
		return 0;
	fail(FAIL_USAGE, "%s exit: '%s' is no exit code", command, word);
	return fail_remedy("0 to 255; of a signal N it is 128 + N");
}

/* What can be said of it without a process. */
static int
check_place(const char *command, enum event_kind kind, const char *place,
	    uint64_t *period, long long *thread)
{
	switch (kind) {
	case EVENT_TIMER:
		return settings_duration(place, period) < 0 ?
			fail_in("%s timer", command) : 0;
	case EVENT_SIG:
		return signal_check(command, place);
	case EVENT_FAULT:
		return fault_check(command, place);
	case EVENT_EXIT:
		return place ? check_code(command, place) : 0;
	case EVENT_SYSIN:
	case EVENT_SYSOUT:
		return place ? call_check(command, place) : 0;
	case EVENT_THR_CREATE:
	case EVENT_THR_EXIT:
		return place ? check_thread(command, place, thread) : 0;
	default:
		return 0;
	}
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

enum result
event_make(struct shell *sh, const char *command, const struct event *e,
	   enum handler_does does)
{
	const struct event_name *kind = event_named(e->name);
	uint64_t period = 0, longer = 0;
	long long thread = e->thread;
	struct level level = {0};
	struct handler *h;

	if (is_refused(command, e->name) || is_wrong(command, e))
		return FAILED;
	if (!kind)
		return no_event(command, e->name);
	if (e->wrong || e->lacks || e->extra || !is_possible(kind, e))
		return wrong_words(command, kind, e);
	if (does == DOES_STOP && is_the_end(kind->kind))
		return refuse_stop(kind->name);
	if (does == DOES_STOP && kind->kind == EVENT_STOPS) {
		fail(FAIL_USAGE, "stop stop: it stands then");
		fail_remedy("when stop { ... }");
		return FAILED;
	}
	if (check_place(command, kind->kind, e->place, &period, &thread) < 0 ||
	    event_check_modifiers(sh, command, kind->kind, e) < 0 ||
	    (e->code && signal_code_check(command, e->place, e->code) < 0) ||
	    (e->body && script_check(e->body) < 0))
		return FAILED;
	if (take_numbers(e, &level, &longer) < 0) {
		fail_in("%s", command);
		return FAILED;
	}
	h = handler_add(sh, longer ? EVENT_RETURNS : kind->kind, does);
	h->level = level;
	h->longer_ns = longer;
	note_source(sh, h);
	h->what = event_shown(command, e);
	h->body = e->body ? xstrdup(e->body) : NULL;
	h->place = e->place ? xstrdup(e->place) :
		strcmp(e->name, "throw") == 0 ? xstrdup("__cxa_throw") : NULL;
	h->code = e->code ? xstrdup(e->code) : NULL;
	h->within = e->within ? xstrdup(e->within) : NULL;
	h->hidden = e->hidden;
	h->perm = e->perm;
	h->alone = e->alone;
	h->reads = e->reads;
	h->at_line = kind->place == A_LINE;
	if (h->at_line)
		event_pin(sh, h);
	h->of_name = strcmp(kind->name, "infunction") == 0;
	h->of_file = strcmp(kind->name, "infile") == 0;
	h->once = e->temp;
	h->may_trap = e->trap;
	h->disabled = e->disable;
	h->condition = e->condition ? xstrdup(e->condition) : NULL;
	h->count = e->count;
	h->thread = (pid_t)thread;
	h->period_ns = period;
	if (handler_place_all(sh, h) < 0) {
		handler_remove(sh, h);
		return FAILED;
	}
	event_note_within(sh, h);
	fprintf(sh->out, "(%d) %s\n", h->number, h->what);
	return DONE;
}
