/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Requests whose answers are lists: mappings, threads, stacks.
 */
#include "client.h"

#include <stdlib.h>
#include <string.h>

char *
session_maps(struct session *s)
{
	struct wire_message request;
	char *text;

	wire_init(&request, WIRE_MAPS);
	return client_ask_text(s, &request, &text) == 0 ? text : NULL;
}

ssize_t
session_threads(struct session *s, struct session_thread **out)
{
	struct wire_message request, answer;
	size_t n = 0, cap = 0;

	*out = NULL;
	wire_init(&request, WIRE_THREADS);
	if (client_ask(s, &request, &answer) < 0) {
		wire_fini(&answer);
		return -1;
	}
	while (answer.at < answer.body.len && !answer.broken) {
		*out = xgrow(*out, &cap, n + 1, sizeof **out);

		struct session_thread *th = &(*out)[n++];

		th->tid = (pid_t)wire_take(&answer);
		th->state = (char)wire_take(&answer);

		const char *name = wire_take_text(&answer);

		snprintf(th->name, sizeof th->name, "%s", name ? name : "");
		th->cpu_ns = wire_take(&answer);
	}
	wire_fini(&answer);
	return (ssize_t)n;
}

static void
take_futex(struct wire_message *m, struct session_stack *st)
{
	uint64_t words[sizeof st->futex / sizeof(uint64_t)];
	const uint64_t size = wire_take(m);

	if (!size || size > sizeof st->futex)
		return;
	st->futex_at = wire_take(m);
	for (size_t i = 0; i < ARRAY_LEN(words); i++)
		words[i] = wire_take(m);
	memcpy(st->futex, words, sizeof st->futex);
	st->futex_size = (size_t)size;
}

static void
take_call(struct wire_message *m, struct session_stack *st)
{
	st->seen = wire_take(m);
	st->turns = wire_take(m);
	st->call = (long)(int64_t)wire_take(m);
	for (size_t i = 0; i < ARRAY_LEN(st->args); i++)
		st->args[i] = wire_take(m);
}

static void
take_stack(struct wire_message *m, struct session_stack *st)
{
	*st = (struct session_stack){ .tid = (pid_t)wire_take(m) };
	st->state = (char)wire_take(m);

	const char *name = wire_take_text(m);

	snprintf(st->name, sizeof st->name, "%s", name ? name : "");
	st->sp = wire_take(m);
	st->cpu_ns = wire_take(m);
	st->waits = wire_take(m);
	take_call(m, st);
	take_futex(m, st);
	st->complete = wire_take(m);

	const uint64_t len = wire_take(m);

	if (m->broken || len > (m->body.len - m->at) / sizeof *st->pcs)
		return;
	st->len = len;
	st->pcs = xcalloc(len, sizeof *st->pcs);
	for (size_t i = 0; i < len; i++)
		st->pcs[i] = wire_take(m);
}

int
session_where(struct session *s, pid_t tid, enum session_look look,
	      struct session_stacks *out)
{
	struct wire_message request, answer;
	size_t cap = 0;

	*out = (struct session_stacks){0};
	wire_init(&request, WIRE_WHERE);
	wire_put(&request, (uint64_t)tid);
	wire_put(&request, look);
	if (client_ask(s, &request, &answer) < 0) {
		wire_fini(&answer);
		return -1;
	}
	out->pause_ns = wire_take(&answer);
	out->run_pause_ns = wire_take(&answer);
	while (answer.at < answer.body.len && !answer.broken) {
		out->items = xgrow(out->items, &cap, out->len + 1,
				   sizeof *out->items);
		take_stack(&answer, &out->items[out->len++]);
	}
	wire_fini(&answer);
	if (s->held)
		snprintf(out->how, sizeof out->how, "the target is stopped");
	else if (out->pause_ns > out->run_pause_ns)
		snprintf(out->how, sizeof out->how,
			 "threads that slept stood for %.3f ms, those that "
			 "ran for %.3f ms", (double)out->pause_ns / 1e6,
			 (double)out->run_pause_ns / 1e6);
	else if (out->pause_ns)
		snprintf(out->how, sizeof out->how,
			 "the target stood for %.3f ms",
			 (double)out->pause_ns / 1e6);
	else
		snprintf(out->how, sizeof out->how, "nobody was stopped");
	return 0;
}

void
session_stacks_fini(struct session_stacks *st)
{
	for (size_t i = 0; i < st->len; i++)
		free(st->items[i].pcs);
	free(st->items);
	*st = (struct session_stacks){0};
}
