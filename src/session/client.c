/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * The shell's end: start a tracer process, ask it, hear what happens. Events
 * that arrive while we wait for an answer are queued for session_wait.
 */
#include "client.h"
#include "clock.h"
#include "inject.h"

#include <errno.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

/* ---- starting ------------------------------------------------------------ */

static struct session *
start_tracer(void)
{
	int pair[2];

	if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, pair) < 0) {
		fail_errno("make a socket pair");
		return NULL;
	}
	fflush(NULL);

	const pid_t pid = fork();

	if (pid == 0) {
		close(pair[0]);
		tracer_main(pair[1]);
	}
	close(pair[1]);
	if (pid < 0) {
		fail_errno("fork the tracer process");
		close(pair[0]);
		return NULL;
	}

	struct session *s = xcalloc(1, sizeof *s);

	s->fd = pair[0];
	s->tracer = pid;
	s->status = -1;
	s->tracing = xcalloc(1, sizeof *s->tracing);
	s->tracing->sessions = 1;
	return s;
}

struct session *
client_of_child(struct session *s, int fd, pid_t child)
{
	struct session *new;

	if (fd < 0)
		return NULL;
	new = xcalloc(1, sizeof *new);
	new->fd = fd;
	new->tracer = s->tracer;
	new->tracing = s->tracing;
	new->tracing->sessions++;
	new->pid = child;
	new->name = s->name ? xstrdup(s->name) : NULL;
	new->launched = s->launched;
	new->held = true;
	new->status = -1;
	new->serve_fd = s->serve_fd;
	new->serve = s->serve;
	new->serve_arg = s->serve_arg;
	return new;
}

/* Until this target is let go: its tracer process has others. */
static void
hear_out(int fd)
{
	char rest[64];
	ssize_t n;

	(void)shutdown(fd, SHUT_WR);
	do {
		n = recv(fd, rest, sizeof rest, MSG_TRUNC);
	} while (n > 0 || (n < 0 && errno == EINTR));
}

static void
close_tracing(struct session *s)
{
	struct tracing *t = s->tracing;
	const bool last = --t->sessions == 0;
	const bool ends = last && !t->kept;

	if (s->tracer > 0 && !ends)
		hear_out(s->fd);
	close(s->fd);
	if (s->tracer > 0 && ends)
		while (waitpid(s->tracer, NULL, 0) < 0 && errno == EINTR)
			;
	if (last)
		free(t);
}

static void
drop_events(struct session *s)
{
	for (size_t i = 0; i < s->events.len; i++)
		session_close(((struct session_event *)
			       s->events.items[i])->other);
	vec_free_items(&s->events);
}

void
session_close(struct session *s)
{
	if (!s)
		return;
	drop_events(s);
	close_tracing(s);
	if (s->left)		/* it may run on */
		(void)waitpid(s->left, NULL, WNOHANG);
	free(s->name);
	free(s->experiment);
	free(s->look);
	free(s->salvaged);
	free(s);
}

static int
take_attached(struct session *s, struct wire_message *request)
{
	struct wire_message answer;
	const int result = client_ask(s, request, &answer);

	if (result == 0) {
		const char *name = wire_take_text(&answer);
		const char *salvaged = wire_take_text(&answer);

		s->name = xstrdup(name ? name : "");
		s->salvaged = salvaged ? xstrdup(salvaged) : NULL;
	}
	wire_fini(&answer);
	return result;
}

struct session *
session_attach(pid_t pid, bool hold)
{
	struct session *s;
	struct wire_message request;

	if (hold && session_check_holdable(pid) < 0)
		return NULL;
	s = start_tracer();
	if (!s)
		return NULL;
	s->pid = pid;
	s->held = hold;
	wire_init(&request, WIRE_ATTACH);
	wire_put(&request, (uint64_t)pid);
	wire_put(&request, hold);
	if (take_attached(s, &request) < 0) {
		session_close(s);
		return NULL;
	}
	return s;
}

const char *
session_salvaged(const struct session *s)
{
	return s->salvaged;
}

/* Where the kernel refuses perf, auto tries that next. */
bool
session_wants_preload(const struct settings *s)
{
	return s->profile && (s->heap || s->sync || s->io ||
		s->engine == ENGINE_INJECT ||
		(s->engine == ENGINE_AUTO && clock_is_refused()));
}

static int
bring_to_start(struct session *s, int go_fd, const struct preload *p,
	       bool to_exec)
{
	struct wire_message request;

	if (client_ask_simple(s, WIRE_SEIZE, (uint64_t)s->pid) < 0) {
		close(go_fd);
		return -1;
	}
	if (launch_go(go_fd) < 0)
		return -1;
	wire_init(&request, WIRE_TO_START);
	wire_put_text(&request, p->variable);
	wire_put(&request, (uint64_t)(int64_t)p->fd);
	wire_put(&request, to_exec);
	return client_ask_text(s, &request, &s->name);
}

/* It has run nothing of its own yet, and never will. It can be reaped when
 * its tracer has let go of it. */
static void
give_launch_up(struct session *s)
{
	const pid_t pid = s->pid;

	if (pid > 0)
		(void)kill(pid, SIGKILL);	/* or it ended by itself */
	session_close(s);
	if (pid > 0)
		while (waitpid(pid, NULL, 0) < 0 && errno == EINTR)
			;
}

struct session *
session_launch(const struct session_launch *l)
{
	struct session *s = start_tracer();
	struct preload preload = { .fd = -1 };
	int go_fd = -1;

	if (!s)
		return NULL;
	/* after the tracer's birth: it inherits no descriptor of it */
	if (l->preload && preload_open(&preload, COLLECTOR_PATH, environ) < 0) {
		session_close(s);
		return NULL;
	}

	const struct launch launch = {
		.argv = l->argv, .in = l->in, .out = l->out,
		.append = l->append, .tracer = s->tracer,
		.own_group = l->own_group, .terminal = l->terminal,
		.envp = preload.envp,
	};

	s->launched = s->held = true;
	s->pid = launch_fork(&launch, &go_fd);

	const bool started = s->pid > 0 &&
		bring_to_start(s, go_fd, &preload, l->to_exec) == 0;

	preload_close(&preload);
	if (started)
		return s;
	give_launch_up(s);
	return NULL;
}

/* ---- plain facts --------------------------------------------------------- */

pid_t
session_pid(const struct session *s)
{
	return s->pid;
}

const char *
session_name(const struct session *s)
{
	return s->name ? s->name : "?";
}

bool
session_launched(const struct session *s)
{
	return s->launched;
}

enum session_state
session_state(const struct session *s)
{
	if (s->ended)
		return SESSION_ENDED;
	return s->held ? SESSION_STOPPED : SESSION_RUNNING;
}

int
session_stopped_itself(const struct session *s)
{
	siginfo_t info = { .si_pid = 0 };

	if (!s->launched || s->ended ||
	    waitid(P_PID, (id_t)s->pid, &info, WSTOPPED | WNOHANG) < 0 ||
	    info.si_pid != s->pid || info.si_code != CLD_STOPPED)
		return 0;
	return info.si_status;
}

enum experiment_state
session_experiment_state(const struct session *s)
{
	if (!s->collecting)
		return NOT_COLLECTING;
	return s->paused ? PAUSED : COLLECTING;
}

bool
session_lost(const struct session *s)
{
	return s->tracer_gone;
}

bool
session_partial(const struct session *s)
{
	return s->partial;
}

const char *
session_experiment(const struct session *s)
{
	return s->experiment;
}

int
session_fd(const struct session *s)
{
	return s->fd;
}

/* ---- events -------------------------------------------------------------- */

/* A program that we launched is our child: its status is ours to take. */
static void
reap(struct session *s)
{
	if (!s->launched || s->status >= 0)
		return;
	while (waitpid(s->pid, &s->status, 0) < 0 && errno == EINTR)
		;
}

/* Its parent goes on without us; it was our child, and is waited for late. */
static void
follow(struct session *s, pid_t child)
{
	if (s->launched && !s->left)
		s->left = s->pid;
	s->pid = child;
	s->held = true;
	s->collecting = s->paused = false;
}

static void
note_event(struct session *s, struct session_event *ev)
{
	switch (ev->kind) {
	case SESSION_EVENT_ENDED:
		s->ended = true;
		s->held = s->collecting = s->paused = false;
		reap(s);
		if (s->launched)
			ev->status = s->status;
		break;
	case SESSION_EVENT_EXEC:
	case SESSION_EVENT_MESSAGE:
		s->collecting = s->paused = false;
		break;
	case SESSION_EVENT_STOPPED:
	case SESSION_EVENT_BREAKPOINT:
	case SESSION_EVENT_SIGNAL:
	case SESSION_EVENT_NEW_PROGRAM:
	case SESSION_EVENT_SYNC:
	case SESSION_EVENT_STARTED:
	case SESSION_EVENT_CALLED:
	case SESSION_EVENT_BEGINS:
	case SESSION_EVENT_ENDS:
	case SESSION_EVENT_DIES:
	case SESSION_EVENT_ENTERS:
	case SESSION_EVENT_RETURNS:
	case SESSION_EVENT_FORK:
	case SESSION_EVENT_BOTH:
		s->held = true;
		break;
	case SESSION_EVENT_FOLLOWED:
		follow(s, (pid_t)ev->value);
		break;
	case SESSION_EVENT_FIRED:
	case SESSION_EVENT_NOTE:
	case SESSION_EVENT_LOST:
	case SESSION_EVENT_NONE:
	case SESSION_EVENT_TRACER_GONE:
		break;
	}
}

static void
take_event(struct session *s, struct session_event *ev)
{
	struct session_event *first = s->events.items[0];

	*ev = *first;
	free(first);
	s->events.len--;
	memmove(s->events.items, s->events.items + 1,
		s->events.len * sizeof *s->events.items);
	note_event(s, ev);
}

int
session_wait(struct session *s, int timeout_ms, struct session_event *ev)
{
	struct pollfd fd = { s->fd, POLLIN, 0 };
	struct wire_message m;

	*ev = (struct session_event){ .kind = SESSION_EVENT_NONE };
	if (s->events.len) {
		take_event(s, ev);
		return 1;
	}
	if (s->tracer_gone)
		return client_tracer_gone(s);
	if (poll(&fd, 1, timeout_ms) <= 0)
		return 0;	/* time is up, or a signal handler ran */

	const int got = wire_recv(s->fd, &m);

	if (got <= 0) {
		(void)client_tracer_gone(s);
		ev->kind = SESSION_EVENT_TRACER_GONE;
		snprintf(ev->text, sizeof ev->text, "%s; %s",
			 fail_last()->reason, fail_last()->remedy);
		return 1;
	}
	if (m.kind == WIRE_EVENT)
		client_queue_event(s, &m);
	wire_fini(&m);
	if (!s->events.len)
		return 0;
	take_event(s, ev);
	return 1;
}
