/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Stacks of live threads and what each waits for, as where, dump and why need
 * them. A stack comes with the call of its moment and the count of turns on a
 * processor: what is seen of a wait afterwards belongs to the stack while that
 * count is the same; if it is not, the wait is what was seen with the stack.
 */
#include "private.h"

#include <stdlib.h>
#include <string.h>

enum { NAMED_FRAMES = 10 };

static void
remember(struct scene *l, const struct session_stack *st)
{
	struct why_then then = {
		.tid = st->tid, .state = st->state, .turns = st->turns,
		.pc = st->len ? st->pcs[0] : 0, .sp = st->sp,
		.call = st->call, .at = st->futex_at, .bytes = st->futex,
		.n = st->futex_size,
	};

	memcpy(then.args, st->args, sizeof then.args);
	if (st->seen && st->len)
		why_remember(l->why, &then);
	if (st->waits)
		why_held(l->why, st->tid);
}

int
scene_take(struct shell *sh, pid_t tid, enum session_look how,
	  struct scene *l)
{
	const uint64_t began = now_ns();

	*l = (struct scene){ .session = sh->session };
	if (session_where(sh->session, tid, how, &l->stacks) < 0)
		return -1;
	l->began = began;
	l->look_ns = now_ns() - began;
	l->live = live_of(sh);
	l->frames = frames_new(l->live);
	l->why = why_new();
	for (size_t i = 0; i < l->stacks.len; i++)
		remember(l, &l->stacks.items[i]);
	return 0;
}

void
scene_fini(struct scene *l)
{
	why_free(l->why);
	frames_free(l->frames);
	session_stacks_fini(&l->stacks);
	free(l->names);
	*l = (struct scene){ 0 };
}

const struct session_stack *
scene_stack(const struct scene *l, pid_t tid)
{
	for (size_t i = 0; i < l->stacks.len; i++)
		if (l->stacks.items[i].tid == tid)
			return &l->stacks.items[i];
	return NULL;
}

/* Names of its innermost frames: they tell what kind of lock it waits at. */
const char *const *
scene_functions(void *arg, pid_t tid)
{
	struct scene *l = arg;
	const struct session_stack *st = scene_stack(l, tid);
	size_t n = 0;

	if (!st)
		return NULL;
	l->names = xrealloc(l->names, (NAMED_FRAMES + 1) * sizeof *l->names);
	for (size_t i = 0; i < st->len && i < NAMED_FRAMES; i++) {
		const struct frame_list *at = frames_at(l->frames,
							st->pcs[i]);
		const char *name = at->items[at->len - 1].function;

		l->names[n++] = name ? name : "";
	}
	l->names[n] = NULL;
	return l->names;
}

/* That we hold it is said elsewhere. */
static bool
stands_by_us(const struct scene *l, const struct wait *w)
{
	return w->kind == WAIT_STOPPED && w->state == 't' &&
		session_state(l->session) == SESSION_STOPPED;
}

bool
scene_wait(struct scene *l, const struct session_stack *st, struct wait *w)
{
	if (why_look(l->why, session_pid(l->session), st->tid,
		     scene_functions(l, st->tid), w) < 0) {
		fail_clear();
		return false;
	}
	/* unseen: what it waits for may be another wait than the stack's */
	if (w->kind != WAIT_NONE && !stands_by_us(l, w) && st->seen && st->len)
		return true;
	wait_fini(w);
	return false;
}

/* It was stopped, all of them were: that moment is meant. */
const char *
wait_change(const struct wait *w)
{
	return w->past && w->turns ? " (it has gone on since, and changes)" :
		"";
}

char *
scene_wait_text(struct scene *l, pid_t tid)
{
	const struct session_stack *st = scene_stack(l, tid);
	struct wait w;

	if ((!st || !scene_wait(l, st, &w)) &&
	    why_look(l->why, session_pid(l->session), tid, NULL, &w) < 0)
		return xstrdup("");

	char *text = stands_by_us(l, &w) ? xstrdup("") :
		why_text(l->why, &w);

	wait_fini(&w);
	return text;
}

static void
print_frames(struct scene *l, const struct session_stack *st, FILE *out)
{
	size_t number = 0;

	for (size_t i = 0; i < st->len; i++) {
		const struct frame_list *at = frames_at(l->frames,
							st->pcs[i]);

		for (size_t k = 0; k < at->len; k++) {
			const struct frame *f = &at->items[k];

			if (l->frames_max && number == l->frames_max) {
				fputs(l->frames_asked ? "" :
				      "  ... (dbxenv stack_max_size)\n", out);
				return;
			}

			if (number < l->frames_first) {
				number++;
				continue;
			}
			if (f->inlined)
				fprintf(out, "  #%-3zu %18s  ", number++,
					"inlined");
			else
				fprintf(out, "  #%-3zu 0x%016llx  ", number++,
					(unsigned long long)st->pcs[i]);
			frame_print(f, out);
			fputc('\n', out);
		}
	}
}

void
scene_print(struct scene *l, FILE *out)
{
	for (size_t i = 0; i < l->stacks.len; i++) {
		const struct session_stack *st = &l->stacks.items[i];
		struct wait w;
		char *name = str_tamed(st->name);

		fprintf(out, "%sthread %d (%s), state %c%s\n", i ? "\n" : "",
			st->tid, name, st->state, st->complete ? "" :
			st->len ? ", the stack could not be walked to its end"
			: ", its stack could not be looked at");
		free(name);
		if (scene_wait(l, st, &w)) {
			char *text = why_text(l->why, &w);

			fprintf(out, "  %s %s\n", why_verb(text), text);
			free(text);
			wait_fini(&w);
		}
		print_frames(l, st, out);
	}
	if (!l->stacks.len)
		fputs("No thread could be looked at.\n", out);
	fprintf(out, session_state(l->session) == SESSION_STOPPED ? "(%s)\n" :
		"(%s; the look took %.3f ms)\n", l->stacks.how,
		(double)l->look_ns / 1e6);
}
