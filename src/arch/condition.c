/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Conditions of breakpoints, carried out where the thread that has hit one is
 * waited for. The compiler of them (debug) knows types; here are words only.
 */
#include "arch.h"

struct run {
	const struct arch_regs *regs;
	int (*read)(void *arg, uint64_t addr, void *buf, size_t n);
	void *arg;
	uint64_t cells[CONDITION_DEPTH];
	size_t len;
};

static int
push(struct run *r, uint64_t word)
{
	if (r->len == CONDITION_DEPTH)
		return -1;
	r->cells[r->len++] = word;
	return 0;
}

static uint64_t
narrow(uint64_t word, const struct condition_step *s)
{
	if (s->size == 0 || s->size >= sizeof word)
		return word;

	const unsigned spare = 64 - 8u * s->size;

	return s->is_signed ? (uint64_t)((int64_t)(word << spare) >> spare) :
		word << spare >> spare;
}

static int
divide(const struct condition_step *s, uint64_t *x, uint64_t y)
{
	const bool quotient = s->op == CONDITION_DIVIDE;

	if (y == 0)
		return -1;
	if (!s->is_signed)
		*x = quotient ? *x / y : *x % y;
	else if ((int64_t)y == -1)
		*x = quotient ? 0 - *x : 0;
	else
		*x = (uint64_t)(quotient ? (int64_t)*x / (int64_t)y :
				(int64_t)*x % (int64_t)y);
	return 0;
}

/* Of the two words on top. */
static int
two(struct run *r, const struct condition_step *s)
{
	if (r->len < 2)
		return -1;

	const uint64_t y = r->cells[--r->len];
	uint64_t *x = &r->cells[r->len - 1];

	switch (s->op) {
	case CONDITION_ADD: *x += y; return 0;
	case CONDITION_SUBTRACT: *x -= y; return 0;
	case CONDITION_MULTIPLY: *x *= y; return 0;
	case CONDITION_AND: *x &= y; return 0;
	case CONDITION_OR: *x |= y; return 0;
	case CONDITION_XOR: *x ^= y; return 0;
	case CONDITION_EQUAL: *x = *x == y; return 0;
	case CONDITION_LESS:
		*x = s->is_signed ? (int64_t)*x < (int64_t)y : *x < y;
		return 0;
	case CONDITION_DIVIDE: case CONDITION_REMAINDER:
		return divide(s, x, y);
	default:
		return -1;
	}
}

/* Of the one on top. */
static int
one(struct run *r, const struct condition_step *s)
{
	uint64_t *x, word = 0;

	if (r->len == 0)
		return -1;
	x = &r->cells[r->len - 1];
	switch (s->op) {
	case CONDITION_LOAD:
		if (s->size > sizeof word ||
		    r->read(r->arg, *x, &word, s->size) < 0)
			return -1;
		*x = word;
		return 0;
	case CONDITION_NARROW:
		*x = narrow(*x, s);
		return 0;
	case CONDITION_NOT:
		*x = *x == 0;
		return 0;
	case CONDITION_DROP:
		r->len--;
		return 0;
	default:
		return two(r, s);
	}
}

static int
step(struct run *r, const struct condition_step *s, size_t *at)
{
	switch (s->op) {
	case CONDITION_WORD:
		return push(r, s->word);
	case CONDITION_REGISTER:
		return s->number < ARCH_REGS_MAX ?
			push(r, r->regs->reg[s->number] + s->word) : -1;
	case CONDITION_SKIP_ZERO: case CONDITION_SKIP_OTHER:
		if (r->len == 0)
			return -1;
		if ((r->cells[r->len - 1] == 0) ==
		    (s->op == CONDITION_SKIP_ZERO))
			*at += s->word < CONDITION_STEPS ? (size_t)s->word :
				CONDITION_STEPS;
		return 0;
	default:
		return one(r, s);
	}
}

int
condition_number(const struct condition *c, const struct arch_regs *regs,
		 int (*read)(void *arg, uint64_t addr, void *buf, size_t n),
		 void *arg, uint64_t *number)
{
	struct run r = { .regs = regs, .read = read, .arg = arg };

	*number = 1;
	if (c->len == 0)
		return 0;
	if (c->len > CONDITION_STEPS)
		return -1;
	for (size_t at = 0; at < c->len; at++)
		if (step(&r, &c->steps[at], &at) < 0)
			return -1;
	if (r.len != 1)
		return -1;
	*number = r.cells[0];
	return 0;
}

int
condition_run(const struct condition *c, const struct arch_regs *regs,
	      int (*read)(void *arg, uint64_t addr, void *buf, size_t n),
	      void *arg, bool *truth)
{
	uint64_t number;

	if (condition_number(c, regs, read, arg, &number) < 0)
		return -1;
	*truth = number != 0;
	return 0;
}
