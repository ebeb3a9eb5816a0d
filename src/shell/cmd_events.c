/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * stop, when, trace; delete, handler, status: the list of handlers.
 */
#include "event_words.h"
#include "private.h"

#include <stdlib.h>
#include <string.h>

enum { WORDS_MOST = 64 };

static enum result
add_words(struct shell *sh, size_t n, char **words, enum handler_does does)
{
	char *w[WORDS_MOST + 1];

	if (n > WORDS_MOST || n < 2)
		return USAGE;
	memcpy(w, words, (n + 1) * sizeof *w);

	struct event e = event_take(n, w, does == DOES_RUN);
	const enum result r = event_make(sh, words[0], &e, does);

	event_end(&e);
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

/* stopi, wheni, tracei of dbx: `at` an address, which ours is by its &. */
static enum result
add_at_address(struct shell *sh, size_t n, char **words, const char *command,
	       enum handler_does does)
{
	char *w[WORDS_MOST + 1], *address = NULL;
	enum result r;

	if (n < 3 || n > WORDS_MOST)
		return USAGE;
	memcpy(w, words, (n + 1) * sizeof *w);
	w[0] = (char *)command;
	if (strcmp(w[1], "at") == 0 && *w[2] != '&')
		w[2] = address = xasprintf("&%s", w[2]);
	r = add_words(sh, n, w, does);
	free(address);
	return r;
}

static enum result
cmd_stopi(struct shell *sh, size_t n, char **words)
{
	return add_at_address(sh, n, words, "stop", DOES_STOP);
}

static enum result
cmd_wheni(struct shell *sh, size_t n, char **words)
{
	return add_at_address(sh, n, words, "when", DOES_RUN);
}

static enum result
cmd_tracei(struct shell *sh, size_t n, char **words)
{
	return add_at_address(sh, n, words, "trace", DOES_TRACE);
}

static enum result
cmd_stop(struct shell *sh, size_t n, char **words)
{
	/* in bodies of dbx's when; there is no window to be updated */
	if (n == 2 && (strcmp(words[1], "-update") == 0 ||
		       strcmp(words[1], "-noupdate") == 0))
		n = 1;
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

		if (h && (temporary ? h->once : !h->perm))
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
			strcmp(words[i], "-all") == 0 ||
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

/* clear [[FILE:]LINE]: of the places of that line, or of where it stands. */
static bool
waits_at_one(const struct handler *h, const struct handler *line, uint64_t pc)
{
	for (size_t i = 0; i < h->spots_len; i++) {
		if (pc && h->spots[i] == pc)
			return true;
		for (size_t k = 0; k < line->spots_len; k++)
			if (h->spots[i] == line->spots[k])
				return true;
	}
	return false;
}

static int
find_line(struct shell *sh, const char *word, struct handler *line,
	  struct place *now)
{
	if (place_now(sh, thread_now(sh), now) < 0)
		return -1;
	if (!word)
		return 0;
	line->place = strchr(word, ':') || !now->file ? xstrdup(word) :
		xasprintf("%s:%s", now->file, word);
	return event_find(sh, line);
}

static enum result
cmd_clear(struct shell *sh, size_t n, char **words)
{
	struct handler line = { .kind = EVENT_PLACE, .at_line = true };
	struct place now = {0};
	bool any = false;
	int r;

	if (n > 2)
		return USAGE;
	r = find_line(sh, n == 2 ? words[1] : NULL, &line, &now);
	for (int number = 1; r == 0 && number < sh->next_handler; number++) {
		struct handler *h = handler_numbered(sh, number);

		if (!h || h->kind != EVENT_PLACE ||
		    !waits_at_one(h, &line, n == 1 ? now.pc : 0))
			continue;
		fprintf(sh->out, "cleared (%d) %s\n", number, h->what);
		handler_remove(sh, h);
		any = true;
	}
	free(line.place);
	free(line.spots);
	vec_fini(&line.searched);
	if (r == 0 && !any) {
		fail(FAIL_MISSING, "clear: nothing waits there");
		r = fail_remedy("status lists handlers; delete N");
	}
	return r < 0 ? FAILED : DONE;
}

static int
set_disabled(struct shell *sh, struct handler *h, bool disabled)
{
	h->disabled = disabled;
	if (!disabled)
		return handler_place_all(sh, h);
	handler_unplace_all(sh, h);
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
	    (event_is_for_ever(words[3], &limit) ||
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

/* A trap is a danger, and what is off is missed: so both are told, once of all
 * places that it is so of. */
static void
print_whys(struct shell *sh, const struct handler *h)
{
	struct vec told = { 0 };

	for (size_t i = 0; i < h->spots_len && target_alive(sh); i++) {
		char *why = NULL;
		size_t k = 0;

		if (session_why_trap(sh->session,
				     spot_number(sh, h->spots[i]), &why) < 0)
			continue;
		while (k < told.len && strcmp(told.items[k], why) != 0)
			k++;
		if (*why && k == told.len)
			fprintf(sh->out, "   (%s)", why);
		vec_push(&told, why);
	}
	vec_free_items(&told);
	vec_fini(&told);
}

static void
print_handler(struct shell *sh, struct handler *h)
{
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
	print_whys(sh, h);
	fputc('\n', sh->out);
}

static void
print_again(const struct shell *sh, const struct handler *h)
{
	char *line = event_again(h->what, h->body, h->disabled);

	fprintf(sh->out, "%s\n", line);
	free(line);
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
	const bool hidden = n == 2 && strcmp(words[1], "-h") == 0;

	if (n != 1 && !again && !hidden)
		return USAGE;
	if (!sh->handlers.len && !again)
		fputs("No handlers.\n", sh->out);
	for (size_t i = 0; i < sh->handlers.len; i++) {
		struct handler *h = sh->handlers.items[i];

		if (h->hidden && !again && !hidden)
			continue;
		if (again)
			print_again(sh, h);
		else
			print_handler(sh, h);
	}
	return DONE;
}

const struct command event_commands[] = {
	{ "clear", "[[FILE:]LINE]", "remove what waits at a line, or where the "
	  "thread stands", NEEDS_TARGET | NEEDS_STOPPED, cmd_clear, "clear 12" },
	{ "delete", "N... | all | -temp", "remove handlers (all: but for those with\n"
	  "  -perm; $firedhandlers: those of the last event)", 0, cmd_delete,
	  "delete 1" },
	{ "handler", "-enable|-disable|-reset N...|all, -count N [LIMIT]",
	  "switch handlers off and on; their counts of hits", 0, cmd_handler,
	  "handler -disable 1" },
	{ "status", "[-h [N] | -s]", "list handlers of events (-h: one, or hidden\n"
	  "  ones, too; -s: as commands)",
	  0, cmd_status, "status" },
	{ "stop", "[EVENT [MODIFIERS]]", "stop the process now, or at an event "
	  "(see when)", 0, cmd_stop, "stop in main" },
	{ "stopi", "at ADDRESS [MODIFIERS]", "the same as stop at &ADDRESS", 0,
	  cmd_stopi, "stopi at 0x401000" },
	{ "trace", "EVENT [MODIFIERS]", "tell of an event (see when)", 0,
	  cmd_trace, "trace in parse" },
	{ "tracei", "at ADDRESS [MODIFIERS]", "the same as trace at &ADDRESS", 0,
	  cmd_tracei, "tracei at 0x401000" },
	{ "when", "EVENT [MODIFIERS] { COMMANDS }",
	  "run commands at an event; the process goes on\n"
	  "  COMMANDS that are all collector resume, pause and sample record stop\n"
	  "  but one thread, at in, at and returns.\n"
	  "  EVENT: in FUNCTION, at FILE:LINE, at &ADDRESS, returns FUNCTION,\n"
	  "  infunction NAME, infile FILE,\n"
	  "  change EXPR[, SIZE], access r|w|rw ADDRESS[, SIZE] (&x; of a pointer,\n"
	  "  what it points to; x is short for &x, else), timer SECONDS,\n"
	  "  sig SIGNAL [CODE], fault FAULT, throw, dlopen [LIB], dlclose [LIB],\n"
	  "  attach, detach, sync, syncrtld, prog_new, lastrites, exit [CODE],\n"
	  "  proc_gone, thr_create [TID], thr_exit [TID], lwp_exit [TID],\n"
	  "  sysin [CALL], sysout [CALL], stop,\n"
	  "  in FUNCTION longer TIME, cpu > PERCENT [for SECONDS], rss > SIZE\n"
	  "  MODIFIERS: -if EXPR, -in FUNCTION, -temp, -count N|infinity,\n"
	  "  -thread TID, -lwp TID, -disable, -hidden, -perm, -resumeone, -trap",
	  0, cmd_when, "when timer 30 { collector disable; quit }" },
	{ "wheni", "at ADDRESS [MODIFIERS] { COMMANDS }", "the same as when at "
	  "&ADDRESS", 0, cmd_wheni, "wheni at 0x401000 { regs }" },
	{ 0 }
};
