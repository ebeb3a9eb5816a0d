/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Threads, by their status: who stands or is traced, and who was made to
 * wait. A stop by ptrace is a wait that the kernel counts; a thread that only
 * computes, or waits for one thing all the time, has no other.
 */
#include "torture.h"

#include <ctype.h>
#include <dirent.h>
#include <stdlib.h>
#include <string.h>

static void
each_task(pid_t pid, void (*visit)(void *arg, pid_t tid, const char *status),
	  void *arg)
{
	char path[64];
	struct dirent *e;
	DIR *d;

	snprintf(path, sizeof path, "/proc/%d/task", pid);
	d = opendir(path);
	while (d && (e = readdir(d))) {
		char *text;

		if (!isdigit((unsigned char)e->d_name[0]))
			continue;
		snprintf(path, sizeof path, "/proc/%d/task/%d/status", pid,
			 atoi(e->d_name));
		text = read_text(path);
		if (text)
			visit(arg, (pid_t)atoi(e->d_name), text);
		free(text);
	}
	if (d)
		closedir(d);
}

struct standing {
	const struct victim *v;
	unsigned n;
	bool print;
};

static void
look_at(void *arg, pid_t tid, const char *status)
{
	struct standing *st = arg;
	const unsigned traits = st->v->s->traits;
	const char *state = strstr(status, "\nState:\t");
	const bool traced = !strstr(status, "\nTracerPid:\t0\n");
	const bool may_be = traits & TRACED && tid == st->v->pid;
	const bool stopped = state && (state[8] == 'T' || state[8] == 't');

	if (traced == may_be && stopped == !!(traits & STOPPED))
		return;
	st->n++;
	if (st->print)
		printf("    thread %d: %.20s%s\n", tid, state ? state + 1 : "",
		       traced ? ", traced" : "");
}

/* A stop of its own job, or a thread being born, passes: look again. */
unsigned
health_standing(const struct victim *v)
{
	struct standing st = { .v = v };
	int i;

	for (i = 0; i < 50; i++) {
		st.n = 0;
		each_task(v->pid, look_at, &st);
		if (!st.n)
			return 0;
		rest_ms(10);
	}
	st.n = 0;
	st.print = true;
	each_task(v->pid, look_at, &st);
	return st.n;
}

struct waits {
	pid_t *tid;
	unsigned long *count;
	size_t n, cap;
};

static void
note_waits(void *arg, pid_t tid, const char *status)
{
	struct waits *w = arg;
	const char *at = strstr(status, "\nvoluntary_ctxt_switches:");

	if (!at || strstr(status, "Name:\tnapper"))
		return;
	if (w->n == w->cap) {
		w->cap = w->cap ? 2 * w->cap : 64;
		w->tid = realloc(w->tid, w->cap * sizeof *w->tid);
		w->count = realloc(w->count, w->cap * sizeof *w->count);
	}
	w->tid[w->n] = tid;
	w->count[w->n++] = strtoul(at + 25, NULL, 10);
}

struct waits *
waits_take(pid_t pid)
{
	struct waits *w = calloc(1, sizeof *w);

	each_task(pid, note_waits, w);
	return w;
}

static void
waits_free(struct waits *w)
{
	free(w->tid);
	free(w->count);
	free(w);
}

unsigned
waits_grown(struct waits *was, pid_t pid, unsigned *of)
{
	struct waits *now = waits_take(pid);
	unsigned grown = 0;
	size_t i, k;

	*of = (unsigned)was->n;
	for (i = 0; i < was->n; i++)
		for (k = 0; k < now->n; k++)
			if (now->tid[k] == was->tid[i])
				grown += now->count[k] != was->count[i];
	waits_free(now);
	waits_free(was);
	return grown;
}

static void
count_one(void *arg, pid_t tid, const char *status)
{
	(void)tid;
	(void)status;
	++*(unsigned *)arg;
}

unsigned
threads_of(const struct victim *v)
{
	unsigned n = 0;

	each_task(v->pid, count_one, &n);
	return n;
}
