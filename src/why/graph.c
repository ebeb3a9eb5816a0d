/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Who waits for whom. A node is a thread; its wakers are the threads that can
 * end its wait: one who holds a mutex, any of a process that has the other
 * end of a pipe.
 *
 *	live:	it runs, or its wait ends by itself or by somebody we do not
 *		know, or one of its wakers is live
 *	stuck:	all others: nobody who could wake them ever will
 *
 * So a ring of mutexes is stuck, and who waits for one of its threads; and
 * many who wait for one that sleeps are not. The threads are looked at one
 * after another, without a stop. But each of them that is found stuck has
 * counted no turn on a processor since it was looked at, when all have been
 * seen and are asked once more: then that was one moment of all.
 *
 * Signals are not thought of: a handler may free what nobody else can.
 */
#include "private.h"

#include <stdlib.h>
#include <string.h>

enum { NODES_MAX = 20000, PROCESSES_MAX = 64, TRIES = 5 };

struct maker {
	struct why *y;
	struct why_graph *g;
	pid_t pid;		/* the first process */
	const char *const *(*functions)(void *arg, pid_t tid);
	void *arg;
	struct map node_of;	/* tid -> index + 1 */
	struct map processes;	/* those that are in it */
};

void
why_graph_fini(struct why_graph *g)
{
	for (size_t i = 0; i < g->len; i++) {
		wait_fini(&g->nodes[i].wait);
		free(g->nodes[i].wakers);
	}
	free(g->nodes);
	*g = (struct why_graph){ 0 };
}

/* ---- nodes -------------------------------------------------------------- */

static void
add_node(struct maker *m, pid_t pid, pid_t tid)
{
	struct why_graph *g = m->g;
	const char *const *functions = m->functions && pid == m->pid ?
		m->functions(m->arg, tid) : NULL;
	struct why_node n = { 0 };

	if (g->len >= NODES_MAX ||
	    why_look(m->y, pid, tid, functions, &n.wait) < 0)
		return;
	g->nodes = xgrow(g->nodes, &g->cap, g->len + 1, sizeof *g->nodes);
	g->nodes[g->len++] = n;
	map_put(&m->node_of, (uint64_t)tid, g->len);
}

static bool
add_process(struct maker *m, pid_t pid)
{
	uint64_t known;

	if (map_get(&m->processes, (uint64_t)pid, &known))
		return true;
	if (m->processes.len >= PROCESSES_MAX)
		return false;
	map_put(&m->processes, (uint64_t)pid, 1);

	/* its threads change while we look: a copy */
	const struct members *now = members_of(m->y, pid);
	const size_t n = now->len;
	struct member *copy = xcalloc(n + 1, sizeof *copy);

	if (n)
		memcpy(copy, now->items, n * sizeof *copy);
	for (size_t i = 0; i < n; i++)
		add_node(m, pid, copy[i].tid);
	free(copy);
	return true;
}

/* ---- edges -------------------------------------------------------------- */

static void
add_waker(struct maker *m, size_t at, pid_t tid)
{
	struct why_node *n = &m->g->nodes[at];
	uint64_t index;

	if (!map_get(&m->node_of, (uint64_t)tid, &index)) {
		n->open = true;		/* born since, or ended */
		return;
	}
	n->wakers = xrealloc(n->wakers, (n->waker_count + 1) *
			     sizeof *n->wakers);
	n->wakers[n->waker_count++] = index - 1;
}

/* Any thread of a process can end the wait. */
static void
add_waking_process(struct maker *m, size_t at, pid_t pid)
{
	if (!add_process(m, pid)) {
		m->g->nodes[at].open = true;
		return;
	}
	for (size_t i = 0; i < m->g->len; i++)
		if (m->g->nodes[i].wait.pid == pid && i != at)
			add_waker(m, at, m->g->nodes[i].wait.tid);
}

/* Who holds the other end himself may have a handler that uses it. */
static void
follow_file(struct maker *m, size_t at, size_t which)
{
	const pid_t own = m->g->nodes[at].wait.pid;
	const struct wait_file f = m->g->nodes[at].wait.files[which];

	if (!f.closed_circle)
		m->g->nodes[at].open = true;
	for (size_t i = 0; i < f.peer_count; i++) {
		if (i && f.peers[i].pid == f.peers[i - 1].pid)
			continue;
		if (f.peers[i].pid == own)
			m->g->nodes[at].open = true;
		add_waking_process(m, at, f.peers[i].pid);
	}
}

static void
follow_futex(struct maker *m, size_t at)
{
	const struct wait w = m->g->nodes[at].wait;

	if (w.owner_ended)
		return;
	if (w.owner && add_process(m, w.owner_pid))
		add_waker(m, at, w.owner);
	else
		m->g->nodes[at].open = true;
}

static void
follow_children(struct maker *m, size_t at)
{
	const size_t n = m->g->nodes[at].wait.child_count;

	if (!n)
		m->g->nodes[at].open = true;
	for (size_t i = 0; i < n; i++)
		add_waking_process(m, at,
				   m->g->nodes[at].wait.children[i]);
}

/* Nodes that are added meanwhile stand behind, and are followed in turn. */
static void
follow(struct maker *m, size_t at)
{
	const struct wait w = m->g->nodes[at].wait;

	m->g->nodes[at].open = w.timed || w.past;
	if (w.past)
		return;			/* nobody stands still for it */
	switch (w.kind) {
	case WAIT_FUTEX:
		follow_futex(m, at);
		break;
	case WAIT_FILES:
		if (!w.file_count)
			m->g->nodes[at].open = true;
		for (size_t i = 0; i < w.file_count; i++)
			follow_file(m, at, i);
		break;
	case WAIT_CHILD:
		follow_children(m, at);
		break;
	case WAIT_FILE_LOCK:
		if (w.holder)
			add_waking_process(m, at, w.holder);
		else
			m->g->nodes[at].open = true;
		break;
	default:
		/* a thread that has ended wakes nobody any more */
		m->g->nodes[at].open = w.state != 'Z';
	}
}

/* ---- who is stuck ------------------------------------------------------- */

static bool
is_live(const struct why_graph *g, const struct why_node *n)
{
	if (n->open)
		return true;
	for (size_t i = 0; i < n->waker_count; i++)
		if (!g->nodes[n->wakers[i]].stuck)
			return true;
	return false;
}

static size_t
find_stuck(struct why_graph *g)
{
	size_t stuck = g->len;
	bool changed = true;

	for (size_t i = 0; i < g->len; i++)
		g->nodes[i].stuck = true;
	while (changed) {
		changed = false;
		for (size_t i = 0; i < g->len; i++)
			if (g->nodes[i].stuck && is_live(g, &g->nodes[i])) {
				g->nodes[i].stuck = false;
				changed = true;
				stuck--;
			}
	}
	/* one that has ended waits for nothing */
	for (size_t i = 0; i < g->len; i++)
		if (g->nodes[i].wait.state == 'Z' && g->nodes[i].stuck) {
			g->nodes[i].stuck = false;
			stuck--;
		}
	return stuck;
}

static bool
stuck_hold(struct why *y, const struct why_graph *g)
{
	for (size_t i = 0; i < g->len; i++)
		if (g->nodes[i].stuck && !why_holds(y, &g->nodes[i].wait))
			return false;
	return true;
}

/* Who holds was looked at, and is so now: it was so when the last of them was
 * looked at, all at one moment. */
static void
find_changed(struct why *y, struct why_graph *g)
{
	g->changed = 0;
	for (size_t i = 0; i < g->len; i++) {
		struct why_node *n = &g->nodes[i];

		n->changed = n->wait.state != 'Z' && !why_holds(y, &n->wait);
		g->changed += n->changed;
	}
}

static void
make_once(struct maker *m)
{
	(void)add_process(m, m->pid);
	for (size_t i = 0; i < m->g->len; i++)
		follow(m, i);
	map_fini(&m->node_of);
	map_fini(&m->processes);
}

int
why_graph_make(struct why *y, pid_t pid,
	       const char *const *(*functions)(void *arg, pid_t tid),
	       void *arg, struct why_graph *g)
{
	for (int i = 0; i < TRIES; i++) {
		struct maker m = { .y = y, .g = g, .pid = pid,
				   .functions = functions, .arg = arg };

		*g = (struct why_graph){ 0 };
		make_once(&m);
		if (!g->len)
			return fail(FAIL_MISSING, "process %d has ended",
				    (int)pid);
		if (find_stuck(g) == 0 || stuck_hold(y, g)) {
			find_changed(y, g);
			return 0;
		}
		if (i + 1 < TRIES)
			why_graph_fini(g);
	}
	/* it moves: whoever seemed stuck was not */
	for (size_t i = 0; i < g->len; i++)
		g->nodes[i].stuck = false;
	find_changed(y, g);
	return 0;
}

/* ---- cycles ------------------------------------------------------------- */

static size_t
stuck_waker(const struct why_graph *g, size_t at)
{
	const struct why_node *n = &g->nodes[at];

	for (size_t i = 0; i < n->waker_count; i++)
		if (g->nodes[n->wakers[i]].stuck)
			return n->wakers[i];
	return SIZE_MAX;
}

/* A cycle is told from its lowest node, so that it is told once. */
size_t
why_graph_cycle(const struct why_graph *g, size_t *from, size_t **cycle)
{
	for (; *from < g->len; (*from)++) {
		size_t at = *from, len = 0, lowest = at;

		if (!g->nodes[at].stuck)
			continue;
		do {
			at = stuck_waker(g, at);
			if (at < lowest)
				lowest = at;
			len++;
		} while (at != SIZE_MAX && at != *from && len <= g->len);
		if (at != *from || lowest != *from)
			continue;
		*cycle = xcalloc(len, sizeof **cycle);
		for (size_t i = 0; i < len; i++) {
			(*cycle)[i] = at;
			at = stuck_waker(g, at);
		}
		(*from)++;
		return len;
	}
	return 0;
}
