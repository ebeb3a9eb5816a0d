/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * What the shell asks of functions that it has called in a target that stands.
 */
#include "client.h"
#include "inject.h"

#include <string.h>

static int
ask(struct session *s, struct wire_message *request, struct session_call_news
    *news)
{
	struct wire_message answer;
	int r;

	s->moves++;
	r = client_ask(s, request, &answer);
	*news = (struct session_call_news){0};
	if (r == 0) {
		news->why = (enum session_called)wire_take(&answer);
		news->ints[0] = wire_take(&answer);
		news->ints[1] = wire_take(&answer);
		news->floats[0] = wire_take(&answer);
		news->floats[1] = wire_take(&answer);
		for (size_t i = 0; i < ARRAY_LEN(news->x87); i++)
			news->x87[i] = wire_take(&answer);
		news->signal = (int)wire_take(&answer);
		client_take_where(&answer, &news->where);
		news->breakpoint = (int)wire_take(&answer);
		news->tid = (pid_t)wire_take(&answer);
		news->own = wire_take(&answer);
		news->from = (pid_t)wire_take(&answer);
		news->end_signal = (int)wire_take(&answer);
		client_take_where(&answer, &news->end_where);
	}
	wire_fini(&answer);
	return r;
}

int
session_call_here(struct session *s, pid_t tid, const struct session_call *c,
		  unsigned ms, struct session_call_news *news)
{
	struct interlude_call words = {
		.function = c->function, .int_count = c->int_count,
		.float_count = c->float_count, .stack_count = c->stack_count,
		.data_ints = c->data_ints, .data_stack = c->data_stack,
	};
	struct wire_message request;

	if (c->int_count > INTERLUDE_INTS ||
	    c->float_count > INTERLUDE_FLOATS ||
	    c->stack_count > INTERLUDE_STACK)
		return fail(FAIL_USAGE, "too many arguments");
	memcpy(words.ints, c->ints, c->int_count * sizeof *c->ints);
	memcpy(words.floats, c->floats, c->float_count * sizeof *c->floats);
	memcpy(words.stack, c->stack, c->stack_count * sizeof *c->stack);
	wire_init(&request, WIRE_CALL_HERE);
	wire_put(&request, (uint64_t)tid);
	wire_put(&request, ms);
	wire_put(&request, c->only_waiting);
	wire_put(&request, c->did_wait);
	wire_put(&request, c->fresh);
	wire_put_bytes(&request, &words, sizeof words);
	wire_put_bytes(&request, c->data ? c->data : "", c->data_size);
	return ask(s, &request, news);
}

int
session_call_go(struct session *s, unsigned ms,
		struct session_call_news *news)
{
	struct wire_message request;

	wire_init(&request, WIRE_CALL_GO);
	wire_put(&request, ms);
	return ask(s, &request, news);
}

int
session_call_end(struct session *s, bool abandon, int signal,
		 struct session_call_news *news)
{
	struct wire_message request;

	wire_init(&request, WIRE_CALL_END);
	wire_put(&request, abandon);
	wire_put(&request, (uint64_t)signal);
	return ask(s, &request, news);
}
