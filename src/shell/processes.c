/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * The processes under the prompt (dbxenv follow_fork_mode both). One is
 * current: the shell's own fields, and those of its handlers, are about it.
 * What these are of each other one is kept here meanwhile:
 *
 *	the shell, the handlers: current <---- exchange ----> kept: another
 *
 * News of another one are served as if it were current, and told with its
 * number. If it stands then, it is told how to make it current.
 */
#include "private.h"

#include <poll.h>
#include <stdlib.h>
#include <string.h>

struct placement {		/* of a handler, in that process */
	int number;
	long long hits;
	bool filtered, no_filter, late;
	uint64_t sites[SESSION_SITES];
	size_t sites_len;
	uint64_t *spots;
	size_t spots_len, spots_cap;
	struct data *data;
	char *object;
	struct vec searched;
	struct pending *pending;
	size_t pending_len, pending_cap;
};

struct process {
	struct session *session;
	struct live *live;
	uint64_t judged;
	pid_t thread;
	uint64_t caught;
	int signal, signal_code;
	uint64_t signal_address;
	struct str fired;
	bool at_exec, booting, prog_new;
	uint64_t examine_next;
	struct session_wants wants;
	long call;
	long long call_result;
	bool call_returned;
	struct until until;
	bool call_waits;
	int call_ended;
	struct vec suspended, hidden_threads;
	struct debuggee *debuggee;
	struct vec spots;
	struct loads *loads;
	struct vec placements;	/* struct placement */
};

struct field {
	size_t here, kept, size;
};

#define SHELL_FIELD(name) { offsetof(struct shell, name), \
	offsetof(struct process, name), sizeof(((struct process *)0)->name) }
#define HANDLER_FIELD(name) { offsetof(struct handler, name), \
	offsetof(struct placement, name), \
	sizeof(((struct placement *)0)->name) }

static const struct field shell_fields[] = {
	SHELL_FIELD(session), SHELL_FIELD(live), SHELL_FIELD(judged),
	SHELL_FIELD(thread), SHELL_FIELD(caught), SHELL_FIELD(signal),
	SHELL_FIELD(signal_code), SHELL_FIELD(signal_address),
	SHELL_FIELD(fired), SHELL_FIELD(at_exec), SHELL_FIELD(booting),
	SHELL_FIELD(prog_new), SHELL_FIELD(examine_next),
	SHELL_FIELD(hidden_threads),
	SHELL_FIELD(wants), SHELL_FIELD(call), SHELL_FIELD(call_result),
	SHELL_FIELD(call_returned), SHELL_FIELD(until),
	SHELL_FIELD(call_waits), SHELL_FIELD(call_ended),
	SHELL_FIELD(suspended), SHELL_FIELD(debuggee), SHELL_FIELD(spots),
	SHELL_FIELD(loads),
};

static const struct field handler_fields[] = {
	HANDLER_FIELD(hits), HANDLER_FIELD(filtered),
	HANDLER_FIELD(no_filter), HANDLER_FIELD(late), HANDLER_FIELD(sites),
	HANDLER_FIELD(sites_len), HANDLER_FIELD(spots),
	HANDLER_FIELD(spots_len), HANDLER_FIELD(spots_cap),
	HANDLER_FIELD(data), HANDLER_FIELD(object), HANDLER_FIELD(searched),
	HANDLER_FIELD(pending), HANDLER_FIELD(pending_len),
	HANDLER_FIELD(pending_cap),
};

/* ---- exchange ------------------------------------------------------------ */

static void
exchange_fields(void *here, void *kept, const struct field *fields, size_t n)
{
	/* more than any field has */
	char between[sizeof(struct process) + sizeof(struct placement)];

	for (size_t i = 0; i < n; i++) {
		char *a = (char *)here + fields[i].here;
		char *b = (char *)kept + fields[i].kept;

		memcpy(between, a, fields[i].size);
		memcpy(a, b, fields[i].size);
		memcpy(b, between, fields[i].size);
	}
}

/* Its hits are counted on from those of the process that it comes from. */
static struct placement *
placement_of(struct process *p, const struct handler *h)
{
	struct placement *new;

	for (size_t i = 0; i < p->placements.len; i++) {
		struct placement *pl = p->placements.items[i];

		if (pl->number == h->number)
			return pl;
	}
	new = xcalloc(1, sizeof *new);
	new->number = h->number;
	new->hits = h->hits;
	vec_push(&p->placements, new);
	return new;
}

/* What was current is kept in p. */
static void
exchange(struct shell *sh, struct process *p)
{
	exchange_fields(sh, p, shell_fields, ARRAY_LEN(shell_fields));
	for (size_t i = 0; i < sh->handlers.len; i++) {
		struct handler *h = sh->handlers.items[i];

		exchange_fields(h, placement_of(p, h), handler_fields,
				ARRAY_LEN(handler_fields));
	}
}

static void
placement_free(struct placement *pl)
{
	free(pl->spots);
	free(pl->object);
	free(pl->pending);
	vec_fini(&pl->searched);
	data_free(pl->data);
	free(pl);
}

/* It is kept, and its session is closed. */
static void
drop_kept(struct shell *sh, struct process *p)
{
	size_t i = 0;

	while (sh->processes.items[i] != p)
		i++;
	sh->processes.len--;
	memmove(&sh->processes.items[i], &sh->processes.items[i + 1],
		(sh->processes.len - i) * sizeof *sh->processes.items);
	for (i = 0; i < p->placements.len; i++)
		placement_free(p->placements.items[i]);
	vec_fini(&p->placements);
	vec_free_items(&p->suspended);
	vec_free_items(&p->hidden_threads);
	str_fini(&p->fired);
	vec_free_items(&p->spots);
	live_free(p->live);
	free(p);
}

static struct process *
find(const struct shell *sh, pid_t pid)
{
	for (size_t i = 0; i < sh->processes.len; i++) {
		struct process *p = sh->processes.items[i];

		if (p->session && session_pid(p->session) == pid)
			return p;
	}
	return NULL;
}

static bool
is_over(struct session *s)
{
	return session_state(s) == SESSION_ENDED || session_lost(s);
}

bool
processes_others(const struct shell *sh)
{
	return sh->processes.len > 0;
}

bool
process_is_ours(const struct shell *sh, pid_t pid)
{
	return (sh->session && session_pid(sh->session) == pid) ||
		find(sh, pid);
}

/* ---- which is current ---------------------------------------------------- */

/* It is ours. */
static void
enter(struct shell *sh, pid_t pid)
{
	struct process *p = find(sh, pid);

	if (!p)
		return;		/* it is current */
	if (!sh->session) {	/* nothing to keep */
		exchange(sh, p);
		drop_kept(sh, p);
		return;
	}
	exchange(sh, p);
}

int
process_choose(struct shell *sh, pid_t pid)
{
	if (!process_is_ours(sh, pid)) {
		fail(FAIL_USAGE, "process %d is not under the prompt",
		     (int)pid);
		return fail_remedy("processes lists those that are");
	}
	enter(sh, pid);
	if (sh->home)		/* a body says so, of another one */
		sh->home = pid;
	levels_reset(sh);
	return 0;
}

const char *
process_state(const struct session *s)
{
	switch (session_state(s)) {
	case SESSION_STOPPED:
		return "stopped";
	case SESSION_RUNNING:
		return "running";
	default:
		return "ended";
	}
}

/* Close what has ended, and forget what the shell knew of it. */
static void
close_current(struct shell *sh)
{
	debuggee_free(sh);
	handlers_drop_breakpoints(sh);
	session_close(sh->session);
	sh->session = NULL;
	sh->thread = 0;
}

bool
processes_next(struct shell *sh)
{
	while (!sh->session && sh->processes.len) {
		const struct process *p = sh->processes.items[0];

		enter(sh, session_pid(p->session));
		if (is_over(sh->session))
			close_current(sh);
	}
	levels_reset(sh);
	return sh->session;
}

void
processes_settle(struct shell *sh)
{
	if (!processes_others(sh) ||
	    (sh->session && !is_over(sh->session)))
		return;
	if (sh->session)
		close_current(sh);
	if (processes_next(sh))
		shell_note(sh, "process %d (%s) is current now",
			   session_pid(sh->session),
			   process_state(sh->session));
}

void
processes_each(struct shell *sh, process_fn *visit, void *arg)
{
	const pid_t home = sh->session ? session_pid(sh->session) : 0;
	pid_t *pids = xcalloc(sh->processes.len + 1, sizeof *pids);
	size_t n = 0;

	for (size_t i = 0; i < sh->processes.len; i++) {
		const struct process *p = sh->processes.items[i];

		if (!is_over(p->session))
			pids[n++] = session_pid(p->session);
	}
	for (size_t i = 0; home && i < n; i++) {
		enter(sh, pids[i]);
		visit(sh, arg);
		enter(sh, home);
	}
	free(pids);
}

void
processes_forget(struct shell *sh, int number)
{
	for (size_t i = 0; i < sh->processes.len; i++) {
		struct vec *v = &((struct process *)
				  sh->processes.items[i])->placements;
		size_t at = 0;

		while (at < v->len && ((struct placement *)
				       v->items[at])->number != number)
			at++;
		if (at == v->len)
			continue;
		placement_free(v->items[at]);
		v->items[at] = v->items[--v->len];
	}
}

/* ---- one more ------------------------------------------------------------ */

void
process_add(struct shell *sh, struct session *child)
{
	struct process *p = xcalloc(1, sizeof *p);

	p->session = child;
	p->call = -1;
	vec_push(&sh->processes, p);
	enter(sh, session_pid(child));
	levels_reset(sh);
}

/* ---- news ---------------------------------------------------------------- */

/* One that is current has its news first. */
static int
look(struct shell *sh, struct session_event *ev, struct session **whose)
{
	int got = session_wait(*whose = sh->session, 0, ev);

	for (size_t i = 0; !got && i < sh->processes.len; i++) {
		const struct process *p = sh->processes.items[i];

		got = session_wait(*whose = p->session, 0, ev);
		if (got < 0)		/* that was told */
			got = 0;
	}
	return got;
}

nfds_t
processes_pollfds(const struct shell *sh, struct pollfd *fds, nfds_t max)
{
	nfds_t n = 0;

	if (sh->session)
		fds[n++] = (struct pollfd){ session_fd(sh->session), POLLIN,
					    0 };
	for (size_t i = 0; i < sh->processes.len && n < max; i++) {
		const struct process *p = sh->processes.items[i];

		if (!session_lost(p->session))
			fds[n++] = (struct pollfd){ session_fd(p->session),
						    POLLIN, 0 };
	}
	return n;
}

int
processes_wait(struct shell *sh, int ms, struct session_event *ev,
	       struct session **whose)
{
	struct pollfd fds[PROCESSES_MAX];
	int got;

	*whose = sh->session;
	if (!processes_others(sh))
		return session_wait(sh->session, ms, ev);
	got = look(sh, ev, whose);
	if (got || poll(fds, processes_pollfds(sh, fds, PROCESSES_MAX),
			ms) <= 0)
		return got;
	return look(sh, ev, whose);
}

int
processes_halted(const struct shell *sh, pid_t *pid)
{
	int sig = session_stopped_itself(sh->session);

	*pid = session_pid(sh->session);
	for (size_t i = 0; !sig && i < sh->processes.len; i++) {
		const struct process *p = sh->processes.items[i];

		sig = session_stopped_itself(p->session);
		*pid = session_pid(p->session);
	}
	return sig;
}

/* By handlers it may have gone, or another one be current. */
static void
leave(struct shell *sh, pid_t home)
{
	if (sh->session && is_over(sh->session)) {
		close_current(sh);
		(void)processes_next(sh);
	}
	if (sh->session && process_is_ours(sh, home))
		enter(sh, home);
	else if (sh->session)
		shell_note(sh, "process %d (%s) is current now",
			   session_pid(sh->session),
			   process_state(sh->session));
}

bool
process_serve(struct shell *sh, struct session *whose,
	      bool (*take)(struct shell *sh, const struct session_event *ev),
	      const struct session_event *ev)
{
	const pid_t pid = session_pid(whose), before = sh->home;
	pid_t home;
	bool over, stands;

	if (whose == sh->session) {
		over = take(sh, ev);
		processes_settle(sh);
		return over;
	}
	sh->home = session_pid(sh->session);
	enter(sh, pid);
	over = take(sh, ev);
	stands = over && sh->session && session_pid(sh->session) == pid &&
		session_state(sh->session) == SESSION_STOPPED;
	home = sh->home;
	leave(sh, home);
	sh->home = before;
	if (stands && home != pid)
		shell_note(sh, "process %d stands; process %d is current "
			   "(`process %d` makes that one current)", (int)pid,
			   (int)home, (int)pid);
	return stands || sh->quitting || sh->body_failed;
}

/* ---- commands ------------------------------------------------------------ */

static void
list_one(struct shell *sh, const struct session *s, bool current)
{
	fprintf(sh->out, "%c %7d  %-8s %-10s %s\n", current ? '*' : ' ',
		session_pid(s), process_state(s),
		session_experiment_state(s) == NOT_COLLECTING ? "" :
		"recorded", session_name(s));
}

enum result
cmd_processes(struct shell *sh, size_t n, char **words)
{
	if (n != 1)
		return USAGE;
	if (!target_alive(sh) && (sh->viewed.len || sh->experiment))
		return view_run(sh, n, words);	/* those of the experiment */
	if (!sh->session) {
		fputs("No process.\n", sh->out);
		return DONE;
	}
	list_one(sh, sh->session, true);
	for (size_t i = 0; i < sh->processes.len; i++)
		list_one(sh, ((struct process *)
			      sh->processes.items[i])->session, false);
	return DONE;
}

enum result
cmd_process(struct shell *sh, size_t n, char **words)
{
	long long pid;

	if (n > 2 || (n == 2 && !str_number(words[1], 1, 1 << 30, &pid)))
		return USAGE;
	if (n == 2 && process_choose(sh, (pid_t)pid) < 0)
		return FAILED;
	if (!sh->session) {
		fputs("No process.\n", sh->out);
		return DONE;
	}
	fprintf(sh->out, "process %d (%s) is current; it is %s\n",
		session_pid(sh->session), session_name(sh->session),
		process_state(sh->session));
	return DONE;
}

void
processes_offer(const struct shell *sh, offer_fn *offer, const char *typed)
{
	for (size_t i = 0; i < sh->processes.len; i++) {
		const struct process *p = sh->processes.items[i];
		char *pid = xasprintf("%d", session_pid(p->session));

		offer(pid, typed);
		free(pid);
	}
}
