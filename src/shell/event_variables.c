/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * What bodies of handlers ask for: who has fired, and where the process stands.
 * $func, $file and $line are of the innermost frame, $v... of the one that is
 * selected.
 */
#include "private.h"

#include <stdlib.h>
#include <string.h>

static void
add_numbers(struct shell *sh)
{
	for (size_t i = 0; i < sh->handlers.len; i++) {
		const struct handler *h = sh->handlers.items[i];

		str_addf(&sh->value, "%s%d", i ? " " : "", h->number);
	}
}

/* One with -temp is there no more. */
static void
add_fired(struct shell *sh)
{
	char *fired = xstrdup(str_text(&sh->fired)), *rest = NULL;

	for (char *one = strtok_r(fired, " ", &rest); one;
	     one = strtok_r(NULL, " ", &rest))
		if (handler_numbered(sh, atoi(one)))
			str_addf(&sh->value, "%s%s", sh->value.len ? " " : "",
				 one);
	free(fired);
}

static bool
of_handlers(struct shell *sh, const char *name)
{
	if (strcmp(name, "firedhandlers") == 0)
		add_fired(sh);
	else if (strcmp(name, "newhandlerid") == 0 && sh->next_handler > 1)
		str_addf(&sh->value, "%d", sh->next_handler - 1);
	else if (strcmp(name, "handlers") == 0)
		add_numbers(sh);
	else if (strcmp(name, "booting") == 0)
		str_add(&sh->value, sh->booting ? "true" : "false");
	else
		return false;
	return true;
}

static bool
of_process(struct shell *sh, const char *name)
{
	if (strcmp(name, "proc") == 0 && sh->session)
		str_addf(&sh->value, "%d", (int)session_pid(sh->session));
	else if (strcmp(name, "prog") != 0)
		return false;
	else if (sh->session && !session_launched(sh->session))
		str_add(&sh->value, session_name(sh->session));
	else if (sh->program)
		str_add(&sh->value, sh->program[0]);
	else
		return false;
	return true;
}

/* What is not known of the frame is the empty word. */
static void
of_frame(struct shell *sh, const char *name, const struct debug_frame *f)
{
	char *function = f->function ? name_display(f->function, NAME_SHORT) :
		NULL;

	if (strcmp(name, "func") == 0 && function)
		str_add(&sh->value, function);
	else if (strcmp(name, "file") == 0 && f->file)
		str_add(&sh->value, f->file);
	else if (strcmp(name, "line") == 0 && f->file)
		str_addf(&sh->value, "%d", f->line);
	free(function);
}

static bool
is_of_frame(const char *name)
{
	return strcmp(name, "func") == 0 || strcmp(name, "file") == 0 ||
		strcmp(name, "line") == 0;
}

static bool
of_place(struct shell *sh, const char *name)
{
	const bool selected = *name == 'v';
	const char *what = name + selected;
	const bool level = selected && strcmp(what, "level") == 0;
	struct debug_frame f;
	struct debug *d;
	bool known = false;

	if (!is_of_frame(what) && !level)
		return false;
	if (!sh->core && (!target_alive(sh) ||
			  session_state(sh->session) != SESSION_STOPPED))
		return false;
	d = debuggee_now(sh);
	if (d && level) {
		str_addf(&sh->value, "%zu", debug_selected(d));
		known = true;
	} else if (d && debug_frame(d, selected ? debug_selected(d) : 0,
				    &f) == 0) {
		of_frame(sh, what, &f);
		known = true;
	}
	fail_clear();
	return known;
}

const char *
event_variable(struct shell *sh, const char *name)
{
	str_clear(&sh->value);
	return of_handlers(sh, name) || of_process(sh, name) ||
		of_place(sh, name) ? str_text(&sh->value) : NULL;
}
