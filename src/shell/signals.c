/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * stop sig SIGNAL, catch, ignore: a thread is about to get a signal. While a
 * handler waits for one all threads are seized, and stop for each signal.
 */
#include "private.h"

#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

int
signal_number(const char *word)
{
	long long number;

	if (*word == '-')
		word++;
	if (str_number(word, 1, SIGRTMAX, &number))
		return (int)number;
	if (strncasecmp(word, "SIG", 3) == 0)
		word += 3;
	for (int sig = 1; sig < SIGRTMIN; sig++) {
		const char *name = sigabbrev_np(sig);

		if (name && strcasecmp(name, word) == 0)
			return sig;
	}
	return -1;
}

/* ---- the event ----------------------------------------------------------- */

static uint64_t
wanted(const struct shell *sh)
{
	uint64_t set = 0;

	for (size_t i = 0; i < sh->handlers.len; i++) {
		const struct handler *h = sh->handlers.items[i];

		if (h->kind == EVENT_SIG && !h->disabled)
			set |= UINT64_C(1) << (signal_number(h->place) - 1);
		if (h->kind == EVENT_FAULT && !h->disabled)
			set |= fault_signals(h->place);
	}
	return set;
}

int
signals_review(struct shell *sh)
{
	const uint64_t set = wanted(sh);

	if (set == sh->caught || !target_alive(sh))
		return 0;
	if (session_catch(sh->session, set) < 0)
		return -1;
	sh->caught = set;
	return 0;
}

static bool
is_meant(const struct handler *h, const struct session_event *ev)
{
	int code;

	if (h->kind == EVENT_FAULT)
		return fault_is(h->place, ev->signal, (int)ev->value);
	return h->kind == EVENT_SIG && signal_number(h->place) == ev->signal &&
		(!h->code || (signal_code(h->code, ev->signal, &code) &&
			      code == ev->value));
}

const char *
signals_variable(struct shell *sh, const char *name)
{
	if (!sh->signal)
		return NULL;
	str_clear(&sh->value);
	if (strcmp(name, "sig") == 0)
		str_addf(&sh->value, "%d", sh->signal);
	else if (strcmp(name, "sigstr") == 0 && sigabbrev_np(sh->signal))
		str_addf(&sh->value, "SIG%s", sigabbrev_np(sh->signal));
	else if (strcmp(name, "sigcode") == 0)
		str_addf(&sh->value, "%d", sh->signal_code);
	else if (strcmp(name, "sigaddr") == 0)
		str_addf(&sh->value, "%#llx",
			 (unsigned long long)sh->signal_address);
	else
		return NULL;
	return str_text(&sh->value);
}

bool
signals_meet(struct shell *sh, const struct session_event *ev)
{
	const pid_t thread = sh->thread;
	bool over = false, told = false;

	for (int number = 1; number < sh->next_handler; number++) {
		struct handler *h = handler_numbered(sh, number);

		if (!h || !is_meant(h, ev) || !handler_counts(sh, h, ev->tid))
			continue;
		if (!told)
			shell_note(sh, "%s", ev->text);
		told = true;
		sh->signal = ev->signal;
		sh->signal_code = (int)ev->value;
		sh->signal_address = ev->address;
		if (!handler_fire_of(sh, h, ev->tid, &over))
			return true;
	}
	if (!over)
		sh->thread = thread;
	return over;
}

/* ---- commands ------------------------------------------------------------ */

static struct handler *
stops_at(const struct shell *sh, int signal)
{
	for (size_t i = 0; i < sh->handlers.len; i++) {
		struct handler *h = sh->handlers.items[i];

		if (h->kind == EVENT_SIG && h->does == DOES_STOP && !h->code &&
		    signal_number(h->place) == signal)
			return h;
	}
	return NULL;
}

static int
no_signal(const char *command, const char *word)
{
	fail(FAIL_USAGE, "%s: '%s' is no signal", command, word);
	return fail_remedy("kill -l lists them");
}

static enum result
list_caught(struct shell *sh)
{
	for (int sig = 1; sig < SIGRTMAX; sig++) {
		const struct handler *h = stops_at(sh, sig);

		if (h)
			fprintf(sh->out, "(%d) %s\n", h->number, h->place);
	}
	return DONE;
}

static enum result
list_ignored(struct shell *sh)
{
	const char *before = "";

	for (int sig = 1; sig < SIGRTMIN; sig++) {
		if (!sigabbrev_np(sig) || sig == SIGKILL || stops_at(sh, sig))
			continue;
		fprintf(sh->out, "%s%s", before, sigabbrev_np(sig));
		before = " ";
	}
	fputc('\n', sh->out);
	return DONE;
}

static enum result
cmd_catch(struct shell *sh, size_t n, char **words)
{
	if (n == 1)
		return list_caught(sh);
	for (size_t i = 1; i < n; i++) {
		char stop[] = "stop", sig[] = "sig";
		char *as_stop[] = { stop, sig, words[i], NULL };
		const int signal = signal_number(words[i]);

		if (signal > 0 && stops_at(sh, signal))
			continue;
		if (event_add(sh, ARRAY_LEN(as_stop) - 1, as_stop) != DONE)
			return FAILED;
	}
	return DONE;
}

static enum result
cmd_ignore(struct shell *sh, size_t n, char **words)
{
	if (n == 1)
		return list_ignored(sh);
	for (size_t i = 1; i < n; i++) {
		const int signal = signal_number(words[i]);
		struct handler *h;

		if (signal < 0)
			return no_signal(words[0], words[i]) < 0 ? FAILED :
				DONE;
		while ((h = stops_at(sh, signal)))
			handler_remove(sh, h);
	}
	return DONE;
}

/* What stands before a signal does not get it. */
static enum result
cmd_cancel(struct shell *sh, size_t n, char **words)
{
	(void)words;
	if (n != 1)
		return USAGE;
	if (session_deliver(sh->session, thread_now(sh), 0) == 0)
		return DONE;
	fail_in("cancel");
	fail_remedy("when sig SIGNAL { cancel }");
	return FAILED;
}

int
signal_check(const char *command, const char *word)
{
	const int signal = signal_number(word);

	if (signal < 0)
		return no_signal(command, word);
	if (signal != SIGKILL)
		return 0;
	fail(FAIL_USAGE, "%s: nobody is asked about SIGKILL", command);
	return fail_remedy("stop at a signal that is delivered; when exit "
			   "tells of the end");
}

const struct command signal_commands[] = {
	{ "cancel", "", "do not deliver the signal that the thread stands before",
	  NEEDS_TARGET | NEEDS_STOPPED, cmd_cancel, "when sig USR1 { cancel }" },
	{ "catch", "[SIGNAL...]", "stop before a thread gets it; alone: list "
	  "them (stop sig)", 0, cmd_catch, "catch USR1" },
	{ "ignore", "[SIGNAL...]", "stop at it no more; alone: list those that\n"
	  "  nobody stops at", 0, cmd_ignore,
	  "ignore USR1" },
	{ 0 }
};
