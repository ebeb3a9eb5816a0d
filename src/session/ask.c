/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Requests of the shell to the tracer process. One answer each; events that
 * come before it are queued for session_wait.
 */
#include "client.h"

#include <poll.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

/* ---- asking -------------------------------------------------------------- */

void
client_queue_event(struct session *s, struct wire_message *m)
{
	struct session_event *ev = xcalloc(1, sizeof *ev);

	ev->kind = (enum session_event_kind)wire_take(m);
	ev->tid = (pid_t)wire_take(m);
	ev->breakpoint = (int)wire_take(m);
	ev->signal = (int)wire_take(m);
	ev->status = (int)wire_take(m);
	ev->hits = wire_take(m);
	ev->value = (int64_t)wire_take(m);
	ev->address = wire_take(m);

	const char *text = wire_take_text(m);

	snprintf(ev->text, sizeof ev->text, "%s", text ? text : "");
	s->partial |= wire_take(m) != 0;
	/* what it is about was done by then */
	if (ev->kind == SESSION_EVENT_FIRED && s->collecting)
		s->paused = ev->status;
	s->moves += ev->kind == SESSION_EVENT_NEW_PROGRAM ||
		ev->kind == SESSION_EVENT_SYNC ||
		ev->kind == SESSION_EVENT_STARTED ||
		ev->kind == SESSION_EVENT_FOLLOWED;
	if (ev->kind == SESSION_EVENT_BOTH)
		ev->other = client_of_child(s, wire_recv_fd(s->fd),
					    (pid_t)ev->value);
	vec_push(&s->events, ev);
}

/* It closes its end a moment before it can be asked. */
static void
how_it_ended(const struct session *s, char *text, size_t size)
{
	enum { TRIES = 100, TRY_US = 5000 };
	siginfo_t si = { 0 };

	for (int i = 0; i < TRIES && s->tracer > 0 && !si.si_pid; i++) {
		if (i > 0)
			(void)usleep(TRY_US);
		if (waitid(P_PID, (id_t)s->tracer, &si,
			   WEXITED | WNOHANG | WNOWAIT) < 0)
			break;
	}
	*text = 0;
	if (!si.si_pid)
		return;
	if (si.si_code != CLD_EXITED)
		snprintf(text, size, ": killed by SIG%s",
			 sigabbrev_np(si.si_status));
	else if (si.si_status == DIE_STATUS)
		snprintf(text, size, ": out of memory");
}

int
client_tracer_gone(struct session *s)
{
	char how[64];

	s->tracer_gone = true;
	s->collecting = s->paused = s->held = false;
	how_it_ended(s, how, sizeof how);
	fail(FAIL_GENERAL, "the tracer process of %d is gone%s", s->pid, how);
	if (!s->experiment)
		return fail_remedy("the target was let go");
	return fail_remedy("the target was let go; what was recorded is in %s",
			   s->experiment);
}

void
session_serve(struct session *s, int fd, session_serve_fn *serve, void *arg)
{
	s->serve_fd = fd;
	s->serve = serve;
	s->serve_arg = arg;
}

static void
serve_meanwhile(struct session *s)
{
	struct pollfd fds[2] = {
		{ s->fd, POLLIN, 0 }, { s->serve_fd, POLLIN, 0 },
	};

	while (s->serve && !fds[0].revents) {
		if (poll(fds, 2, -1) < 0)
			continue;		/* a signal */
		if (fds[1].revents & POLLIN)
			s->serve(s->serve_arg);
		else if (fds[1].revents)
			fds[1].fd = -1;		/* nobody has it */
	}
}

int
client_await_message(struct session *s, struct wire_message *answer)
{
	serve_meanwhile(s);
	if (wire_recv(s->fd, answer) <= 0)
		return client_tracer_gone(s);
	if (answer->kind != WIRE_EVENT)
		return 1;
	client_queue_event(s, answer);
	wire_fini(answer);
	return 0;
}

int
client_judge(struct wire_message *answer)
{
	return answer->kind == WIRE_OK ? 0 : wire_take_failure(answer);
}

/* One answer; events before it are queued. */
static int
await(struct session *s, struct wire_message *answer)
{
	int got;

	while ((got = client_await_message(s, answer)) == 0)
		;
	return got < 0 ? -1 : client_judge(answer);
}

int
client_ask(struct session *s, struct wire_message *request,
    struct wire_message *answer)
{
	if (s->tracer_gone) {
		wire_fini(request);
		wire_init(answer, WIRE_FAILED);
		return client_tracer_gone(s);
	}
	/* a tracer that is gone shows at the answer */
	(void)wire_send(s->fd, request);
	wire_fini(request);
	return await(s, answer);
}

int
client_ask_simple(struct session *s, enum wire_kind kind, uint64_t word)
{
	struct wire_message request, answer;

	wire_init(&request, kind);
	wire_put(&request, word);

	const int result = client_ask(s, &request, &answer);

	wire_fini(&answer);
	return result;
}

/* For answers that are one text; a receipt has a word behind it. */
int
client_ask_text(struct session *s, struct wire_message *request, char **text)
{
	struct wire_message answer;
	int result = client_ask(s, request, &answer);

	*text = NULL;
	if (result == 0) {
		const char *t = wire_take_text(&answer);

		*text = xstrdup(t ? t : "");
		if (answer.at < answer.body.len)
			s->partial |= wire_take(&answer) != 0;
	}
	wire_fini(&answer);
	return result;
}

/* A request of some words whose answer is one word. */
int
client_ask_word(struct session *s, struct wire_message *request, uint64_t *word)
{
	struct wire_message answer;
	const int result = client_ask(s, request, &answer);

	if (result == 0)
		*word = wire_take(&answer);
	wire_fini(&answer);
	return result;
}

/* ---- requests ------------------------------------------------------------ */

int
session_enable(struct session *s, const struct settings *what)
{
	struct wire_message request;
	char *path = NULL;

	wire_init(&request, WIRE_ENABLE);
	wire_put_settings(&request, what);
	if (client_ask_text(s, &request, &path) < 0)
		return -1;
	free(s->experiment);
	s->experiment = path;
	s->collecting = true;
	s->paused = false;
	return 0;
}

int
session_disable(struct session *s, char **receipt)
{
	struct wire_message request;

	wire_init(&request, WIRE_DISABLE);
	if (client_ask_text(s, &request, receipt) < 0)
		return -1;
	s->collecting = s->paused = false;
	return 0;
}

int
session_pause(struct session *s)
{
	if (client_ask_simple(s, WIRE_PAUSE, 0) < 0)
		return -1;
	s->paused = true;
	return 0;
}

int
session_resume(struct session *s)
{
	if (client_ask_simple(s, WIRE_RESUME, 0) < 0)
		return -1;
	s->paused = false;
	return 0;
}

int
session_sample(struct session *s, const char *label)
{
	struct wire_message request, answer;

	wire_init(&request, WIRE_SAMPLE);
	wire_put_text(&request, label);

	const int result = client_ask(s, &request, &answer);

	wire_fini(&answer);
	return result;
}

int
session_write_kept(struct session *s, const char *name, char **path)
{
	struct wire_message request;

	wire_init(&request, WIRE_WRITE_KEPT);
	wire_put_text(&request, name);
	return client_ask_text(s, &request, path);
}

int
session_progress(struct session *s, struct session_progress *out)
{
	struct wire_message request, answer;

	wire_init(&request, WIRE_PROGRESS);

	int result = client_ask(s, &request, &answer);

	if (result == 0 && answer.body.len == sizeof *out)
		memcpy(out, answer.body.data, sizeof *out);
	else if (result == 0)
		result = fail(FAIL_GENERAL, "the answer was damaged");
	wire_fini(&answer);
	return result;
}

int
session_stop(struct session *s)
{
	if (session_check_holdable(s->pid) < 0 ||
	    client_ask_simple(s, WIRE_STOP, 0) < 0)
		return -1;
	s->held = true;
	return 0;
}

int
session_cont(struct session *s)
{
	return session_cont_with(s, 0, 0);
}

int
session_cont_with(struct session *s, pid_t tid, int signal)
{
	struct wire_message request, answer;

	s->moves++;
	wire_init(&request, WIRE_CONT);
	wire_put(&request, (uint64_t)tid);
	wire_put(&request, (uint64_t)signal);

	const int r = client_ask(s, &request, &answer);

	wire_fini(&answer);
	if (r == 0)
		s->held = false;
	return r;
}

int
session_catch(struct session *s, uint64_t signals)
{
	return session_check_holdable(s->pid) < 0 ? -1 :
		client_ask_simple(s, WIRE_CATCH, signals);
}

int
session_want(struct session *s, const struct session_wants *w)
{
	struct wire_message request, answer;

	if (session_check_holdable(s->pid) < 0)
		return -1;
	wire_init(&request, WIRE_WANT);
	wire_put_bytes(&request, w, sizeof *w);

	const int r = client_ask(s, &request, &answer);

	wire_fini(&answer);
	return r;
}

int
session_follow(struct session *s, enum session_follow_mode whom)
{
	return client_ask_simple(s, WIRE_FOLLOW, whom);
}

static const char *
text_of(struct wire_message *answer)
{
	const char *text = wire_take_text(answer);

	return text ? text : "";
}

int
session_deliver(struct session *s, pid_t tid, int signal)
{
	struct wire_message request, answer;
	int r;

	wire_init(&request, WIRE_DELIVER);
	wire_put(&request, (uint64_t)tid);
	wire_put(&request, (uint64_t)signal);
	r = client_ask(s, &request, &answer);
	wire_fini(&answer);
	return r;
}

int
session_detach(struct session *s, enum session_leave how, char **receipt)
{
	struct wire_message request, answer;

	*receipt = NULL;
	wire_init(&request, WIRE_DETACH);
	wire_put(&request, how);
	if (client_ask(s, &request, &answer) < 0) {
		wire_fini(&answer);
		return -1;
	}
	*receipt = xstrdup(text_of(&answer));
	s->partial |= wire_take(&answer) != 0;
	free(s->look);
	s->look = xstrdup(text_of(&answer));
	wire_fini(&answer);
	s->held = s->collecting = s->paused = false;
	/* the tracer that keeps recording is not ours to wait for any more */
	if (how == LEAVE_RECORDING) {
		s->tracer = 0;
		s->tracing->kept = true;
	}
	return 0;
}

const char *
session_look(const struct session *s)
{
	return s->look ? s->look : "";
}

int
session_kill(struct session *s, int signal)
{
	if (client_ask_simple(s, WIRE_KILL, (uint64_t)signal) < 0)
		return -1;
	s->held = false;
	return 0;
}

/* size 0: code. The number of it, or -1. */
static int
ask_break(struct session *s, uint64_t address, enum may_trap may_trap,
	  unsigned size, bool accesses)
{
	struct wire_message request;
	uint64_t number = 0;

	if (session_check_holdable(s->pid) < 0)
		return -1;
	wire_init(&request, WIRE_BREAK);
	wire_put(&request, address);
	wire_put(&request, may_trap);
	wire_put(&request, size);
	wire_put(&request, accesses);
	return client_ask_word(s, &request, &number) < 0 ? -1 : (int)number;
}

int
session_break(struct session *s, uint64_t address, enum may_trap may_trap)
{
	return ask_break(s, address, may_trap, 0, false);
}

int
session_watch(struct session *s, uint64_t address, unsigned size,
	      enum watch_for what)
{
	return ask_break(s, address, NO_TRAP, size, what == WATCH_ACCESSES);
}

int
session_unbreak(struct session *s, int number)
{
	return client_ask_simple(s, WIRE_UNBREAK, (uint64_t)number);
}

int
session_why_trap(struct session *s, int number, char **why)
{
	struct wire_message request;

	wire_init(&request, WIRE_WHY_TRAP);
	wire_put(&request, (uint64_t)number);
	return client_ask_text(s, &request, why);
}
