/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * The stack of a thread that stands for us, by CFI, from copies: where it is,
 * and who called that.
 */
#include <stdlib.h>
#include <string.h>

#include "private.h"
#include "step.h"
#include "unwind.h"
#include "walk.h"

enum { STACK_MAX = 4 << 20 };

struct walker {
	const struct plan *p;
	struct unwind_space *space;
	const struct step_tables *tables;
	unsigned char *stack;
	uint64_t own, own_size;
};

/* ---- tables -------------------------------------------------------------- */

static struct unwind_object *
open_object(const struct plan *p, const struct module *m)
{
	unsigned char *image;
	int fd;

	if (m->inode) {
		fd = target_open_mapped(p->t, m->start, m->end, m->path,
					m->device, m->inode);
		return fd < 0 ? NULL : unwind_object_open(fd, m->path);
	}
	if (strcmp(m->path, "[vdso]") != 0)
		return NULL;
	image = xmalloc(m->end - m->start);
	if (target_read(p->t, m->start, image, m->end - m->start) == 0)
		return unwind_object_memory(image, m->end - m->start,
					    m->start, m->path);
	free(image);
	return NULL;
}

static void
map_all(struct walker *w)
{
	const struct modules *mods = &w->p->mods;
	struct unwind_object *obj = NULL;
	const struct module *of = NULL;
	size_t i;

	for (i = 0; i < mods->len; i++) {
		const struct module *m = &mods->items[i];

		if (!(m->prot & MODULE_EXEC))
			continue;
		if (!obj || !of || of->inode != m->inode ||
		    of->device != m->device || !m->inode) {
			unwind_object_free(obj);
			obj = open_object(w->p, m);
			of = m;
		}
		unwind_space_map(w->space, m->start, m->end, m->offset, obj);
	}
	unwind_object_free(obj);
}

struct walker *
walker_open(const struct plan *p)
{
	struct walker *w = xcalloc(1, sizeof *w);

	w->p = p;
	w->stack = xmalloc(STACK_MAX);
	w->tables = p->tables;
	if (!w->tables) {
		w->space = unwind_space_new();
		map_all(w);
		w->tables = unwind_space_tables(w->space);
	}
	if (w->tables)
		return w;
	walker_close(w);
	return NULL;
}

void
walker_add_stack(struct walker *w, uint64_t at, size_t size)
{
	w->own = at;
	w->own_size = size;
}

void
walker_close(struct walker *w)
{
	if (!w)
		return;
	unwind_space_free(w->space);
	free(w->stack);
	free(w);
}

/* ---- one look ------------------------------------------------------------ */

/* From there on. It may have grown since the maps were read. */
static int
copy_stack(struct walker *w, uint64_t from, struct step_stack *stack)
{
	const struct module *m = modules_find(&w->p->mods, from);

	*stack = (struct step_stack){ .data = w->stack, .base = from };
	if (from - w->own < w->own_size)
		stack->size = w->own + w->own_size - from;
	else if (!m && from < w->p->main_stack.end)
		stack->size = w->p->main_stack.end - from;
	else if (m)
		stack->size = m->end - from;
	if (stack->size > STACK_MAX)
		stack->size = STACK_MAX;
	return target_read(w->p->t, stack->base, w->stack, stack->size);
}

/* A handler with a stack of its own interrupted code on another. */
static bool
is_elsewhere(const struct step_regs *regs, const struct step_stack *stack)
{
	return regs->exact && (regs->sp < stack->base ||
			       regs->sp - stack->base >= stack->size);
}

size_t
walker_walk(struct walker *w, const struct user_regs_struct *r,
	    struct walked *frames, size_t most, bool *whole)
{
	struct step_regs regs = {
		.pc = r->rip, .sp = r->rsp, .fp = r->rbp, .exact = 1
	};
	struct step_stack stack;
	enum step_result res;
	size_t n = 0;

	*whole = false;
	if (copy_stack(w, regs.sp, &stack) < 0)
		return 0;
	do {
		if (n == most)
			return n;
		frames[n++] = (struct walked){ regs.pc, regs.exact };
		if (is_elsewhere(&regs, &stack) &&
		    copy_stack(w, regs.sp, &stack) < 0)
			return n;
		res = step_frame(w->tables, &stack, &regs);
	} while (res == STEP_OK);
	*whole = res == STEP_OUTERMOST;
	return n;
}
