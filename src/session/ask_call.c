/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * To call a function of the target may take long, or for ever: the one request
 * that the user can give up while he waits for the answer.
 */
#include "client.h"

#include <signal.h>
#include <sys/signalfd.h>
#include <unistd.h>

/* Signals that end our waiting: those that do something here. */
static void
endings(sigset_t *set)
{
	static const int all[] = { SIGINT, SIGTERM, SIGHUP };

	sigemptyset(set);
	for (size_t i = 0; i < ARRAY_LEN(all); i++) {
		struct sigaction now;

		if (sigaction(all[i], NULL, &now) == 0 &&
		    now.sa_handler != SIG_IGN)
			sigaddset(set, all[i]);
	}
}

static void
cancel(struct session *s)
{
	struct wire_message m;

	wire_init(&m, WIRE_CANCEL);
	(void)wire_send(s->fd, &m);	/* or it is gone: that shows */
	wire_fini(&m);
}

/* A signal stays pending, and is delivered after the answer: the tracer
 * process hears that nobody waits for the function any more. */
static int
await_or_cancel(struct session *s, int signals, struct wire_message *answer)
{
	struct pollfd fds[2] = {
		{ s->fd, POLLIN, 0 }, { signals, POLLIN, 0 },
	};
	int got = 0;

	while (got == 0) {
		if (poll(fds, 2, -1) <= 0)
			continue;
		if (fds[1].revents) {
			cancel(s);
			fds[1].fd = -1;
		}
		if (fds[0].revents)
			got = client_await_message(s, answer);
	}
	return got < 0 ? -1 : client_judge(answer);
}

void
client_take_where(struct wire_message *m, struct session_called_at *where)
{
	const uint64_t n = wire_take(m);

	where->len = 0;
	for (uint64_t i = 0; i < n && i < SESSION_CALLED_AT; i++)
		where->frames[where->len++] = wire_take(m);
}

static int
take_answer(struct wire_message *answer, uint64_t *result,
	    struct session_met *met)
{
	const char *why = wire_take_text(answer);
	const int kind = (int)wire_take(answer);
	int r = 0;

	if (kind != FAIL_NONE)
		r = fail((enum fail_kind)kind, "%s", why ? why : "");
	*result = wire_take(answer);
	met->why = (enum session_mishap)wire_take(answer);
	met->signal = (int)wire_take(answer);
	client_take_where(answer, &met->where);
	return r;
}

static int
ask_call(struct session *s, struct wire_message *request, uint64_t *result,
	 struct session_met *met)
{
	struct wire_message answer;
	sigset_t set, before;
	int signals, r = -1;

	endings(&set);
	sigprocmask(SIG_BLOCK, &set, &before);
	signals = signalfd(-1, &set, SFD_CLOEXEC);
	wire_init(&answer, WIRE_FAILED);
	if (s->tracer_gone || wire_send(s->fd, request) < 0)
		(void)client_tracer_gone(s);
	else
		r = await_or_cancel(s, signals, &answer);
	if (r == 0)
		r = take_answer(&answer, result, met);
	wire_fini(request);
	wire_fini(&answer);
	if (signals >= 0)
		close(signals);
	sigprocmask(SIG_SETMASK, &before, NULL);
	return r;
}

int
session_call(struct session *s, const struct session_beside *c,
	     uint64_t *result, struct session_met *met)
{
	struct wire_message request;

	*met = (struct session_met){ 0 };
	wire_init(&request, WIRE_CALL);
	wire_put(&request, c->function);
	wire_put(&request, c->nargs);
	for (size_t i = 0; i < c->nargs; i++)
		wire_put(&request, c->args[i]);
	return ask_call(s, &request, result, met);
}
