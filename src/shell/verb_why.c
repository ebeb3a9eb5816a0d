/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * why: who waits for whom. The first line is the verdict; then each ring of a
 * deadlock, who is stuck behind it, and for the rest those who are waited for.
 */
#include "private.h"

#include <stdlib.h>
#include <string.h>

enum { SCENES = 4 };
#define SCENES_NS	(400 * UINT64_C(1000000))	/* then no other */

struct answer {
	struct scene *l;
	struct why_graph *g;
	pid_t pid;
	FILE *out;
};

/* ---- one thread --------------------------------------------------------- */

static void
print_who(const struct answer *a, const struct wait *w)
{
	char *name = str_tamed(w->name);

	if (w->pid == a->pid)
		fprintf(a->out, "thread %d (%s)", (int)w->tid, name);
	else if (w->pid == w->tid)
		fprintf(a->out, "process %d (%s)", (int)w->pid, name);
	else
		fprintf(a->out, "thread %d (%s) of process %d", (int)w->tid,
			name, (int)w->pid);
	free(name);
}

/* Where in the program: the first place that is not libc's. */
static void
print_place(const struct answer *a, const struct wait *w)
{
	const struct session_stack *st = w->pid == a->pid ?
		scene_stack(a->l, w->tid) : NULL;
	const struct frame *f = st ?
		frames_own(a->l->frames, st->pcs, st->len) : NULL;

	if (!f)
		return;
	fputs("      in ", a->out);
	frame_print(f, a->out);
	fputc('\n', a->out);
}

static void
print_node(const struct answer *a, size_t at)
{
	struct why_node *n = &a->g->nodes[at];
	char *text = why_text(a->l->why, &n->wait);

	fputs("  ", a->out);
	print_who(a, &n->wait);
	if (*text)
		fprintf(a->out, " %s %s%s\n", why_verb(text), text,
			!n->changed ? "" : *wait_change(&n->wait) ?
			wait_change(&n->wait) :
			" (it or the owner changes)");
	else
		fprintf(a->out, "%s\n", n->wait.state == 'Z' ? " has ended" :
			" runs");
	print_place(a, &n->wait);
	n->shown = true;
	free(text);
}

/* ---- the stuck ---------------------------------------------------------- */

static size_t
count_stuck(const struct why_graph *g)
{
	size_t n = 0;

	for (size_t i = 0; i < g->len; i++)
		n += g->nodes[i].stuck;
	return n;
}

static void
print_ring(const struct answer *a, const size_t *cycle, size_t len)
{
	fprintf(a->out, "\n%s\n", len == 1 ? "A thread waits for itself:" :
		"Each of these waits for the next, the last for the first:");
	for (size_t i = 0; i < len; i++)
		print_node(a, cycle[i]);
}

static size_t
print_rings(const struct answer *a)
{
	size_t from = 0, len, *cycle, rings = 0;

	while ((len = why_graph_cycle(a->g, &from, &cycle)) > 0) {
		print_ring(a, cycle, len);
		free(cycle);
		rings++;
	}
	return rings;
}

static void
print_behind(const struct answer *a)
{
	bool any = false;

	for (size_t i = 0; i < a->g->len; i++) {
		if (!a->g->nodes[i].stuck || a->g->nodes[i].shown)
			continue;
		if (!any)
			fputs("\nNobody can wake these either:\n", a->out);
		any = true;
		print_node(a, i);
	}
}

static bool
waits_at_fifo(const struct wait *w)
{
	for (size_t i = 0; i < w->file_count; i++)
		if (w->files[i].is_fifo)
			return true;
	return false;
}

/* A pipe may have an end in a process that we could not look into, and a FIFO
 * may get one. */
static void
print_doubt(const struct answer *a)
{
	bool files = false, fifo = false;

	for (size_t i = 0; i < a->g->len; i++) {
		const struct why_node *n = &a->g->nodes[i];

		files |= n->stuck && n->wait.kind == WAIT_FILES;
		fifo |= n->stuck && waits_at_fifo(&n->wait);
	}
	if (fifo)
		fputs("\nA FIFO can be opened by its name; should somebody do "
		      "that, it is no deadlock.\n", a->out);
	if (files && why_unseen(a->l->why))
		fprintf(a->out, "\n%zu processes of others could not be looked "
			"into; should one of them have an end of a pipe, it is "
			"no deadlock.\n", why_unseen(a->l->why));
}

/* A condition names nobody who could signal it. */
static void
print_unknown(const struct answer *a)
{
	size_t n = 0;

	for (size_t i = 0; i < a->g->len; i++) {
		const struct wait *w = &a->g->nodes[i].wait;

		n += w->kind == WAIT_FUTEX && !w->owner &&
			!w->owner_unseen && !w->timed &&
			!a->g->nodes[i].stuck && w->lock != LOCK_RWLOCK;
	}
	if (n)
		fprintf(a->out, "\n%zu thread%s for what names nobody who "
			"could end it (a condition, a semaphore): not seen "
			"through.\n", n, n == 1 ? " waits" : "s wait");
}

/* ---- the others --------------------------------------------------------- */

static size_t
waiters_of(const struct why_graph *g, size_t at)
{
	const struct wait *w = &g->nodes[at].wait;
	size_t n = 0;

	for (size_t i = 0; i < g->len; i++)
		n += !g->nodes[i].shown && g->nodes[i].wait.owner == w->tid &&
			g->nodes[i].wait.kind == WAIT_FUTEX;
	return n;
}

/* Those that wait for one thread, below what that one does. */
static void
print_queue(const struct answer *a, size_t at, size_t waiters)
{
	const pid_t tid = a->g->nodes[at].wait.tid;

	fprintf(a->out, "\n%zu thread%s for ", waiters,
		waiters == 1 ? " waits" : "s wait");
	print_who(a, &a->g->nodes[at].wait);
	fputs(":\n", a->out);
	print_node(a, at);
	for (size_t i = 0; i < a->g->len; i++)
		if (!a->g->nodes[i].shown && a->g->nodes[i].wait.owner == tid &&
		    a->g->nodes[i].wait.kind == WAIT_FUTEX)
			print_node(a, i);
}

/* The longest queue first. */
static void
print_queues(const struct answer *a)
{
	for (;;) {
		size_t most = 0, at = 0;

		for (size_t i = 0; i < a->g->len; i++) {
			const size_t n = waiters_of(a->g, i);

			if (n > most) {
				most = n;
				at = i;
			}
		}
		if (!most)
			return;
		print_queue(a, at, most);
	}
}

static void
print_rest(const struct answer *a)
{
	bool any = false;

	for (size_t i = 0; i < a->g->len; i++) {
		if (a->g->nodes[i].shown)
			continue;
		if (!any)
			fputs("\nFor themselves:\n", a->out);
		any = true;
		print_node(a, i);
	}
}

/* ---- all ---------------------------------------------------------------- */

/* Over how long a time all this was seen. */
static void
print_moment(const struct answer *a)
{
	const double ms = (double)(now_ns() - a->l->began) / 1e6;

	if (a->g->changed)
		fprintf(a->out, "\n(not one moment: the look took %.3f ms, and "
			"%zu of these threads changed meanwhile)\n", ms,
			a->g->changed);
	else
		fprintf(a->out, "\n(one moment: no wait changed in the %.3f ms "
			"that the look took)\n", ms);
}

static void
print_answer(const struct answer *a, const char *program)
{
	const size_t stuck = count_stuck(a->g);

	if (stuck)
		fprintf(a->out, "deadlock: %zu thread%s will never go on, "
			"process %d (%s)\n", stuck, stuck == 1 ? "" : "s",
			(int)a->pid, program);
	else
		fprintf(a->out, "no deadlock found: process %d (%s), %zu thread%s\n",
			(int)a->pid, program, a->l->stacks.len,
			a->l->stacks.len == 1 ? "" : "s");
	(void)print_rings(a);
	print_behind(a);
	print_doubt(a);
	print_unknown(a);
	print_queues(a);
	print_rest(a);
	print_moment(a);
}

/* Until nothing has changed meanwhile, or it is no use. */
static int
take_answer(struct shell *sh, struct answer *a)
{
	const uint64_t began = now_ns();

	for (int i = 0;; i++) {
		if (scene_take(sh, 0, LOOK_GENTLY, a->l) < 0)
			return -1;
		if (why_graph_make(a->l->why, a->pid, scene_functions, a->l,
				   a->g) < 0) {
			scene_fini(a->l);
			return -1;
		}
		if (!a->g->changed || i + 1 == SCENES ||
		    now_ns() - began > SCENES_NS)
			return 0;
		why_graph_fini(a->g);
		scene_fini(a->l);
	}
}

enum result
cmd_why(struct shell *sh, size_t n, char **words)
{
	struct why_graph g = { 0 };
	struct scene l;
	struct answer a = { &l, &g, session_pid(sh->session), sh->out };

	(void)words;
	if (n != 1)
		return USAGE;
	if (take_answer(sh, &a) < 0) {
		why_graph_fini(&g);
		return FAILED;
	}
	print_answer(&a, session_name(sh->session));
	why_graph_fini(&g);
	scene_fini(&l);
	return DONE;
}

int
verb_why(struct shell *sh, int argc, char **argv)
{
	const char *pid = pid_option(argc, argv);

	if (!pid) {
		fail(FAIL_USAGE, "why: give -p PID");
		fail_remedy("sonde why -p 4711");
	} else {
		sh->quiet = true;
		if (target_attach(sh, pid, false) < 0)
			fail_in("why");
		else if (!shell_run_text(sh, "why"))
			return sh->exit_status;
		else if (target_end_session(sh) == DONE)
			return 0;
	}
	return verb_failed(sh);
}
