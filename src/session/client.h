/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * The shell's end of a session, shared by its files: client.c starts and
 * hears, ask.c asks, ask_call.c and ask_look.c what takes long or is long.
 */
#ifndef SONDE_SESSION_CLIENT_H
#define SONDE_SESSION_CLIENT_H

#include "private.h"

/* A tracer process has a session for each of its targets. */
struct tracing {
	unsigned sessions;
	bool kept;		/* one of them records on without us */
};

struct session {
	int fd;
	struct tracing *tracing;
	pid_t tracer, pid;
	pid_t left;		/* launched, and its child is followed */
	char *name, *experiment, *look, *salvaged;
	bool launched, held, collecting, paused, ended, tracer_gone;
	bool partial;		/* the disk refused a part of what ended */
	int status;		/* of a launched program, -1 unknown */
	uint64_t moves;		/* how often it may have changed */
	struct vec events;	/* struct session_event */
	int serve_fd;		/* see session_serve */
	session_serve_fn *serve;
	void *serve_arg;
};

/* Ask and await the answer, which is always initialised; takes request. */
int client_ask(struct session *s, struct wire_message *request,
	       struct wire_message *answer);
int client_ask_simple(struct session *s, enum wire_kind kind, uint64_t word);
/* For answers that are one text (caller frees), or one word. */
int client_ask_text(struct session *s, struct wire_message *request,
		    char **text);
int client_ask_word(struct session *s, struct wire_message *request,
		    uint64_t *word);
/* One message, an event is queued. 1: it is the answer; 0; -1: gone. */
int client_await_message(struct session *s, struct wire_message *answer);
/* 0, or the failure that it brings. */
int client_judge(struct wire_message *answer);
/* Of a function that was called. */
void client_take_where(struct wire_message *m, struct session_called_at *where);
/* Of a child that is a target as well; takes the descriptor. NULL: none came,
 * and the tracer is gone. */
struct session *client_of_child(struct session *s, int fd, pid_t child);
void client_queue_event(struct session *s, struct wire_message *m);
/* Records that failure; returns -1. */
int client_tracer_gone(struct session *s);

#endif
