/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * when, stop, delete, status: handlers of events, and what they do when the
 * event comes. A body is text that goes through the same loop as a line.
 */
#include "private.h"

#include <stdlib.h>
#include <string.h>

void
handler_free(struct handler *h)
{
	free(h->what);
	free(h->body);
	free(h->function);
	free(h);
}

struct options {
	bool temp;	/* once only */
	bool trap;	/* a trap in the text is allowed */
};

static struct handler *
add_handler(struct shell *sh, enum handler_kind kind, char *what)
{
	struct handler *h = xcalloc(1, sizeof *h);

	h->number = sh->next_handler++;
	h->kind = kind;
	h->what = what;
	h->breakpoint = -1;
	vec_push(&sh->handlers, h);
	return h;
}

static void
remove_handler(struct shell *sh, size_t i)
{
	struct handler *h = sh->handlers.items[i];

	if (h->breakpoint >= 0 && sh->session)
		(void)session_unbreak(sh->session, h->breakpoint);
	handler_free(h);
	sh->handlers.len--;
	memmove(&sh->handlers.items[i], &sh->handlers.items[i + 1],
		(sh->handlers.len - i) * sizeof *sh->handlers.items);
}

static bool
remove_number(struct shell *sh, int number)
{
	for (size_t i = 0; i < sh->handlers.len; i++) {
		const struct handler *h = sh->handlers.items[i];

		if (h->number == number) {
			remove_handler(sh, i);
			return true;
		}
	}
	return false;
}

struct handler *
handler_of_breakpoint(struct shell *sh, int breakpoint)
{
	for (size_t i = 0; i < sh->handlers.len; i++) {
		struct handler *h = sh->handlers.items[i];

		if (h->breakpoint == breakpoint)
			return h;
	}
	return NULL;
}

/* The process is gone: functions are sought again in the next one. */
void
handlers_drop_breakpoints(struct shell *sh)
{
	for (size_t i = 0; i < sh->handlers.len; i++)
		((struct handler *)sh->handlers.items[i])->breakpoint = -1;
}

bool
handler_fire(struct shell *sh, struct handler *h)
{
	const int number = h->number;
	const bool once = h->once, stops = h->stops;
	char *body = h->body ? xstrdup(h->body) : NULL;

	shell_note(sh, "(%d) %s", number, h->what);
	sh->wait_over = false;
	if (once)
		(void)remove_number(sh, number);
	if (stops && session_state(sh->session) == SESSION_RUNNING &&
	    session_stop(sh->session) < 0)
		shell_print_failure(sh);
	const bool within = sh->in_body;

	sh->in_body = true;
	if (body && !shell_run_text(sh, body))
		sh->wait_over = sh->body_failed = true;
	sh->in_body = within;
	free(body);
	return stops || sh->wait_over || sh->quitting;
}

/* ---- commands ------------------------------------------------------------------------ */

char *
words_joined(size_t n, char **words)
{
	struct str s = {0};

	for (size_t i = 0; i < n; i++)
		str_addf(&s, "%s%s", i ? " " : "", words[i]);
	return str_take(&s);
}

/* A breakpoint in the process that there is; without one it waits. */
static int
place(struct shell *sh, struct handler *h)
{
	if (!sh->session || session_state(sh->session) == SESSION_ENDED)
		return 0;

	uint64_t addr = live_address(live_of(sh), h->function);

	if (!addr)
		return -1;
	addr = place_behind_prologue(sh, addr);
	h->address = addr;
	h->breakpoint = session_break(sh->session, addr, h->may_trap ?
				      MAY_TRAP : NO_TRAP);
	return h->breakpoint < 0 ? -1 : 0;
}

int
handlers_place(struct shell *sh)
{
	int result = 0;

	for (size_t i = 0; i < sh->handlers.len; i++) {
		struct handler *h = sh->handlers.items[i];

		if (h->kind != HANDLER_IN || h->breakpoint >= 0 ||
		    place(sh, h) == 0)
			continue;
		fail_in("(%d) %s", h->number, h->what);
		result = fail_remedy("delete %d, or give the name of a "
				     "function that is loaded", h->number);
	}
	return result;
}

static enum result
add_in(struct shell *sh, const char *function, const char *body, char *what,
       struct options options)
{
	struct handler *h = add_handler(sh, HANDLER_IN, what);

	h->function = xstrdup(function);
	h->body = body ? xstrdup(body) : NULL;
	h->stops = !body;
	h->once = options.temp;
	h->may_trap = options.trap;
	if (place(sh, h) < 0) {
		(void)remove_number(sh, h->number);
		return FAILED;
	}
	fprintf(sh->out, "(%d) %s\n", h->number, h->what);
	return DONE;
}

/* Take this option out of the words. */
static bool
take(const char *option, size_t *n, char **words)
{
	for (size_t i = 1; i < *n; i++) {
		if (strcmp(words[i], option) == 0) {
			memmove(&words[i], &words[i + 1],
				(*n - i) * sizeof *words);
			--*n;
			return true;
		}
	}
	return false;
}

static struct options
take_options(size_t *n, char **words)
{
	const bool temp = take("-temp", n, words);

	return (struct options){ .temp = temp,
				 .trap = take("-trap", n, words) };
}

/* As they are shown again. */
static const char *
options_text(struct options o)
{
	if (o.temp)
		return o.trap ? " -temp -trap" : " -temp";
	return o.trap ? " -trap" : "";
}

static enum result
add_timer(struct shell *sh, const char *seconds, const char *body, char *what,
	  bool once)
{
	uint64_t ns;

	if (settings_duration(seconds, &ns) < 0) {
		fail_in("when timer");
		free(what);
		return FAILED;
	}

	struct handler *h = add_handler(sh, HANDLER_TIMER, what);

	h->period_ns = ns;
	h->body = xstrdup(body);
	h->once = once;
	fprintf(sh->out, "(%d) %s\n", h->number, h->what);
	return DONE;
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

static enum result
cmd_when(struct shell *sh, size_t n, char **words)
{
	/* words is rearranged: take a copy of the pointers */
	char *w[7];

	if (n < 4 || n > 6)
		return USAGE;
	memcpy(w, words, (n + 1) * sizeof *w);

	const struct options options = take_options(&n, w);

	if (n != 4)
		return USAGE;

	char *body = one_line(w[3]);
	char *what = xasprintf("when %s %s%s { %s }", w[1], w[2],
			       options_text(options), body);

	free(body);

	if (strcmp(w[1], "timer") == 0)
		return add_timer(sh, w[2], w[3], what, options.temp);
	if (strcmp(w[1], "in") == 0)
		return add_in(sh, w[2], w[3], what, options);
	free(what);
	fail(FAIL_USAGE, "event '%s' is not known", w[1]);
	fail_remedy("when in FUNCTION { ... } or when timer SECONDS { ... }");
	return FAILED;
}

static enum result
cmd_stop(struct shell *sh, size_t n, char **words)
{
	char *w[6];

	if (n == 1) {
		if (!sh->session ||
		    session_state(sh->session) == SESSION_ENDED) {
			fail(FAIL_USAGE, "stop: there is no process");
			fail_remedy("attach PID, or debug PROGRAM and run");
			return FAILED;
		}
		sh->wait_over = true;
		if (session_stop(sh->session) < 0)
			return FAILED;
		shell_note(sh, "process %d is stopped",
			   session_pid(sh->session));
		return DONE;
	}
	if (n > 5)
		return USAGE;
	memcpy(w, words, (n + 1) * sizeof *w);

	const struct options options = take_options(&n, w);

	if (n != 3 || strcmp(w[1], "in") != 0)
		return USAGE;
	return add_in(sh, w[2], NULL, xasprintf("stop in %s%s", w[2],
						options_text(options)),
		      options);
}

static enum result
cmd_delete(struct shell *sh, size_t n, char **words)
{
	long long number;

	if (n < 2)
		return USAGE;
	for (size_t i = 1; i < n; i++) {
		if (strcmp(words[i], "all") == 0 ||
		    strcmp(words[i], "0") == 0) {
			while (sh->handlers.len)
				remove_handler(sh, 0);
			continue;
		}
		if (!str_number(words[i], 1, 1000000, &number))
			return USAGE;
		if (!remove_number(sh, (int)number)) {
			fail(FAIL_USAGE, "delete: there is no handler (%lld)",
			     number);
			fail_remedy("status lists them");
			return FAILED;
		}
	}
	return DONE;
}

/* A trap is a danger, and what is off is missed: so both are told. */
static void
print_handler(struct shell *sh, const struct handler *h)
{
	char *why = NULL;

	fprintf(sh->out, "(%d) %s%s", h->number, h->what,
		h->kind == HANDLER_IN && h->breakpoint < 0 ?
		"   (waits for a process)" : "");
	if (h->breakpoint >= 0 && sh->session &&
	    session_state(sh->session) != SESSION_ENDED &&
	    session_why_trap(sh->session, h->breakpoint, &why) == 0 && *why)
		fprintf(sh->out, "   (%s)", why);
	fputc('\n', sh->out);
	free(why);
}

static enum result
cmd_status(struct shell *sh, size_t n, char **words)
{
	(void)words;
	if (n != 1)
		return USAGE;
	if (!sh->handlers.len)
		fputs("No handlers.\n", sh->out);
	for (size_t i = 0; i < sh->handlers.len; i++)
		print_handler(sh, sh->handlers.items[i]);
	return DONE;
}

const struct command event_commands[] = {
	{ "delete", "N... | all", "remove handlers", 0, cmd_delete,
	  "delete 1" },
	{ "status", "", "list handlers of events", 0, cmd_status, "status" },
	{ "stop", "[in FUNCTION [-temp] [-trap]]",
	  "stop the process now, or whenever a function is entered", 0,
	  cmd_stop, "stop in main" },
	{ "when", "in FUNCTION|timer SECONDS [-temp] [-trap] { COMMANDS }",
	  "run commands at an event; then the process goes on",
	  0, cmd_when, "when timer 30 { collector disable; quit }" },
	{ 0 }
};
