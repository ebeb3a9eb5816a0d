/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * What was written behind stop, when and trace.
 */
#ifndef SONDE_SHELL_EVENT_WORDS_H
#define SONDE_SHELL_EVENT_WORDS_H

#include "private.h"

struct event {			/* as it was written */
	const char *name, *place, *body;
	char *condition;	/* ours */
	const char *longer, *limit, *span;
	char *data;		/* the place, ours */
	const char *how;	/* it is accessed */
	const char *code, *within;
	bool temp, trap, disable, reads, hidden, perm, alone,
	     instr;
	long long count, thread;
	bool wrong;
	const char *lacks;	/* the modifier that has not what it needs */
	const char *extra;	/* the first word that is nothing */
};

/* -count infinity: it counts, and does nothing else. */
#define FOR_EVER	INT64_MAX
bool event_is_for_ever(const char *word, long long *out);
/* Rearranges the words: a copy of the pointers. has_body: the last word. event_end
 * frees what is ours of it. */
struct event event_take(size_t n, char **words, bool has_body);
void event_end(struct event *e);
/* As it is shown again; the caller frees it. */
char *event_shown(const char *command, const struct event *e);
/* What makes a handler again that is shown so: all of its body. To be freed. */
char *event_again(const char *shown, const char *body, bool disabled);
/* What was written becomes a handler, which is told. */
enum result event_make(struct shell *sh, const char *command,
		       const struct event *e, enum handler_does does);

#endif
