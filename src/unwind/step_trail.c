/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A walk that is remembered (include/step.h). Frames that are new are laid
 * down from the far end of the trail, leaf last, while what was remembered
 * still stands at its beginning; where the walk meets a frame of those, with
 * the same registers, and all outside of it is as it was, the new ones move
 * next to it.
 */
#include "hazard.h"
#include "step_climb.h"
#include "step_memo.h"

enum { ALL = UINT32_MAX };

static inline uint64_t
word_below(uint64_t top, uint64_t below)
{
	uint64_t value;

	__builtin_memcpy(&value, (const void *)(uintptr_t)(top - below),
			 sizeof value);
	return value;
}

/* From frame k outwards: ALL is as it was, or which frame's step is not. */
static uint32_t
confirm(const struct step_trail *t, uint32_t k)
{
	const uint64_t top = t->top;

	for (; k > 0; k--) {
		const struct step_crumb *c = &t->crumbs[k], *outer = c - 1;

		if (handled(HAZARD_OLD_RETURN) &&
		    word_below(top, outer->sp + 8ull) != t->pcs[k - 1])
			return k;
		if (handled(HAZARD_OLD_FRAME) && c->slot &&
		    word_below(top, c->slot) != outer->fp)
			return k;
	}
	return t->zero && word_below(top, t->zero) != 0 ? 0 : ALL;
}

static inline int
is_frame(const struct step_trail *t, uint32_t k, const struct step_regs *regs)
{
	return t->top - t->crumbs[k].sp == regs->sp &&
		t->pcs[k] == regs->pc && t->crumbs[k].fp == regs->fp;
}

int
step_trail_recall(struct step_trail *t, const struct step_regs *regs)
{
	const uint64_t below = t->top - regs->sp;
	uint32_t k = t->leaf;

	if (!t->len)
		return 0;
	while (k + 1 < t->len && t->crumbs[k].sp < below)
		k++;
	while (k > 0 && t->crumbs[k].sp > below)
		k--;
	t->leaf = k;
	return is_frame(t, k, regs) && confirm(t, k) == ALL;
}

/* ---- a walk -------------------------------------------------------------- */

struct trailing {
	struct step_trail *t;
	struct step_window window;
	uint64_t top;
	uint32_t fresh;		/* frames at the far end */
	uint32_t old;		/* remembered, and not yet passed */
};

static void
lay(struct trailing *w, const struct step_regs *at)
{
	const uint32_t k = STEP_TRAIL - 1 - w->fresh;

	if (k < w->old)
		w->old = 0;
	w->t->pcs[STEP_TRAIL_PCS - 1 - w->fresh] = at->pc;
	w->t->crumbs[k] = (struct step_crumb){
		.fp = at->fp, .sp = (uint32_t)(w->top - at->sp),
	};
	w->fresh++;
}

static struct step_crumb *
last_laid(const struct trailing *w)
{
	return &w->t->crumbs[STEP_TRAIL - w->fresh];
}

/* Frames from the next old one to `to` are as they were: they are of the new
 * ones now. */
static void
lay_old(struct trailing *w, uint32_t to, struct step_regs *at)
{
	const struct step_trail *t = w->t;

	for (;;) {
		const uint32_t k = --w->old;
		const struct step_crumb c = t->crumbs[k];

		*at = (struct step_regs){
			.pc = t->pcs[k], .sp = w->top - c.sp, .fp = c.fp,
		};
		lay(w, at);
		if (k == to)
			break;
		last_laid(w)->slot = c.slot;
	}
}

/* The new ones come next to the first `keep` of the old. */
static enum step_result
join(struct trailing *w, uint32_t keep)
{
	struct step_trail *t = w->t;
	uint64_t id = keep > 0 ? t->crumbs[keep - 1].id : 0;
	uint32_t i;

	for (i = 0; i < w->fresh; i++) {
		const uint64_t pc = t->pcs[STEP_TRAIL_PCS - w->fresh + i];

		id = step_stack_id(id, pc);
		t->crumbs[keep + i] = t->crumbs[STEP_TRAIL - w->fresh + i];
		t->crumbs[keep + i].id = id;
		t->pcs[keep + i] = pc;
	}
	if (w->fresh)
		t->len = keep + w->fresh;
	t->leaf = keep + w->fresh - 1;
	t->top = w->top;
	return STEP_OUTERMOST;
}

/* Nothing is remembered; who goes on wants them leaf first. */
static enum step_result
give_up(struct trailing *w, const struct step_place *p, struct step_regs *regs)
{
	uint64_t *pcs = w->t->pcs, *laid = pcs + STEP_TRAIL_PCS - w->fresh;
	uint32_t i;

	for (i = 0; i < w->fresh / 2; i++) {
		const uint64_t pc = laid[i];

		laid[i] = laid[w->fresh - 1 - i];
		laid[w->fresh - 1 - i] = pc;
	}
	for (i = 0; i < w->fresh; i++)
		pcs[i] = laid[i];
	w->t->len = 0;
	w->t->leaf = w->fresh;
	if (w->fresh > 1)
		step_arrive(regs, p, &w->window, w->fresh - 1);
	return STEP_OK;
}

/* The frame was remembered, and from it on all is as it was: ALL; or up to
 * that one's step; or it was not: STEP_TRAIL. */
static uint32_t
meet(struct trailing *w, const struct step_regs *at)
{
	const uint64_t below = w->top - at->sp;

	while (w->old > 0 && w->t->crumbs[w->old - 1].sp > below)
		w->old--;
	if (!w->old || !is_frame(w->t, w->old - 1, at))
		return STEP_TRAIL;
	/* else there is no room to lay them again: that is no loss */
	return w->fresh + w->old <= STEP_TRAIL ? confirm(w->t, w->old - 1) :
		STEP_TRAIL;
}

static struct step_place
place_of(const struct trailing *w, const struct step_regs *at)
{
	return (struct step_place){
		.pc = at->pc - 1, .sp = at->sp - w->window.base,
		.fp = at->fp - w->window.base,
	};
}

static struct step_regs
regs_of(const struct trailing *w, const struct step_place *p)
{
	return (struct step_regs){
		.pc = p->pc + 1, .sp = p->sp + w->window.base,
		.fp = p->fp + w->window.base,
	};
}

static inline struct step_row
row_of(const struct trailing *w, const struct step_tables *tables,
       const struct step_place *p)
{
	const struct step_row row = memo_row(tables, p->pc);

	if (row.kind != STEP_NONE)
		return row;

	const struct step_regs at = regs_of(w, p);

	return step_row_of(tables, &at);
}

/* Where its return address of 0 stands, below the top; 0: it has none. */
static uint32_t
zero_of(const struct trailing *w, struct step_row row,
	const struct step_place *p)
{
	const uint64_t cfa = row_cfa(row, p);

	return is_sound_cfa(cfa, &w->window, p) &&
		window_word(&w->window, cfa - 8) == 0 ?
		(uint32_t)(w->top - w->window.base - (cfa - 8)) : 0;
}

/* On to the caller; 0: refused. */
static inline int
follow(struct trailing *w, struct step_row row, struct step_place *p)
{
	const uint64_t slot = row_cfa(row, p) + (uint64_t)(row.fp * 8ll);
	const int has = has_slot(row, slot, p);

	if (!step_climb(row, &w->window, p))
		return 0;
	if (has)
		last_laid(w)->slot =
			(uint32_t)(w->top - w->window.base - slot);
	return 1;
}

/* One more frame is laid, or all of them that have not changed; 1: the rest
 * has not, too. */
static inline int
arrive(struct trailing *w, struct step_place *p)
{
	struct step_regs at = regs_of(w, p);
	const uint32_t known = w->old ? meet(w, &at) : STEP_TRAIL;

	if (known == ALL)
		return 1;
	if (known == STEP_TRAIL) {
		lay(w, &at);
	} else {
		lay_old(w, known, &at);
		*p = place_of(w, &at);
	}
	return 0;
}

enum step_result
step_trail_walk(struct step_trail *t, const struct step_tables *tables,
		const struct step_stack *stack, struct step_regs *regs)
{
	struct trailing w = {
		.t = t, .top = stack->base + stack->size,
		.window = { stack->data, stack->base, stack->size - 8 },
	};
	struct step_place p = place_of(&w, regs);
	struct step_row row = { .kind = STEP_FULL };

	w.old = t->top == w.top ? t->len : 0;
	for (;;) {
		if (arrive(&w, &p))
			return join(&w, w.old);
		if (w.fresh == STEP_TRAIL || stack->size < 8 ||
		    stack->size > UINT32_MAX)
			return give_up(&w, &p, regs);
		row = row_of(&w, tables, &p);
		if (!is_usual(row) || !follow(&w, row, &p))
			break;
	}
	t->zero = is_usual(row) ? zero_of(&w, row, &p) : 0;
	return t->zero || row.kind == STEP_END ? join(&w, 0) :
		give_up(&w, &p, regs);
}
