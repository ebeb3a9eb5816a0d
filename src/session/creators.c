/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * The creation of threads. Whoever creates one leaves its stack here, and the
 * next thread that the kernel says it has created gets it:
 *
 *	sonde_birth  tid by [stack]	one per thread born; stack is its FRINFO
 *	sonde_births known unknown [why]	so far; why: they are not followed
 *
 * A program that creates very many would feel it: what a birth costs is taken
 * out of an allowance, and when that is used up nobody is followed any more.
 */
#include "creators.h"
#include "hazard.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "clock.h"

enum {
	COST_SHARE = 25,		/* 4 % of one processor */
	ALLOWANCE_NS = 80 * 1000 * 1000,	/* at once */
	BIRTHS_MAX = 100000,		/* in one experiment */
	FIND_EVERY_NS = 100 * 1000 * 1000,
};

struct creators {
	struct recorder *rec;
	const struct recorder_options *opt;
	struct births *births;	/* NULL: they are not followed */
	struct map stacks;	/* creator -> of its last call; not taken yet */
	char *why;		/* ... and will not be */
	uint64_t known, unknown;
	uint64_t left_ns, filled_at;	/* of the allowance */
	uint64_t sought_at;
	uint64_t entry;		/* of pthread_create; 0: not known */
	bool on;
};

/* ---- beginning and end -------------------------------------------------- */

static void
give_up(struct creators *c, const char *why)
{
	if (!c->why)
		c->why = xstrdup(why);
	births_close(c->births);
	c->births = NULL;
}

/* A program may load its libc later than we come. */
static void
seek(struct creators *c)
{
	enum { COPY = 16 << 10 };	/* births are bursts */
	const uint32_t asked = c->opt->stack_bytes;
	const uint64_t now = now_ns();

	if ((c->births && c->entry) || c->why || !c->on ||
	    now - c->sought_at < FIND_EVERY_NS)
		return;
	c->sought_at = now;
	if (!mapper_libc_function(c->opt->mapper, "pthread_create", &c->entry))
		c->entry = 0;
	if (!c->births)
		c->births = births_open(target_pid(c->opt->target), c->entry,
					asked ? asked : COPY);
	if (!c->births && c->entry)
		give_up(c, fail_last()->reason);
	fail_clear();
}

void
creators_begin(struct creators *c)
{
	if (!c)
		return;
	c->on = true;
	c->left_ns = ALLOWANCE_NS;
	c->filled_at = now_ns();
	c->sought_at = 0;
	seek(c);
}

struct creators *
creators_new(struct recorder *rec, const struct recorder_options *o)
{
	struct creators *c = xcalloc(1, sizeof *c);

	c->rec = rec;
	c->opt = o;
	creators_begin(c);
	return c;
}

/* ---- births ------------------------------------------------------------- */

static void
note_birth(struct creators *c, const struct clock_record *r)
{
	const uint64_t by = (uint64_t)r->u.fork.ptid;
	char tid[24], creator[24], stack[24];
	uint64_t frinfo;
	const bool known = map_get(&c->stacks, by, &frinfo) && frinfo;

	(void)map_remove(&c->stacks, by);
	c->known += known;
	c->unknown += !known;
	(void)snprintf(tid, sizeof tid, "%d", (int)r->tid);
	(void)snprintf(creator, sizeof creator, "%" PRIu64, by);
	(void)snprintf(stack, sizeof stack, "%" PRIu64, known ? frinfo : 0);
	experiment_event(c->opt->exp, r->time_ns, "sonde_birth",
			 (const char *const[]){ "tid", tid, "by", creator,
						known ? "stack" : NULL, stack,
						NULL });
}

static void
note_entry(struct creators *c, const struct clock_record *r)
{
	const struct step_stack stack = {
		.data = r->u.sample.stack,
		.base = r->u.sample.stack_base,
		.size = r->u.sample.stack_size,
	};

	if (r->u.sample.has_user)
		map_put(&c->stacks, (uint64_t)r->tid,
			recorder_creator_stack(c->rec, &r->u.sample.regs,
					       &stack, r->u.sample.stack_full,
					       c->entry));
}

static void
take(void *arg, const struct clock_record *r)
{
	struct creators *c = arg;
	const struct recorder_counts *counts = recorder_counts(c->rec);
	const uint64_t cost = births_cost_ns(c->births);

	if (r->pid != target_pid(c->opt->target) ||
	    (counts->execed && r->time_ns >= counts->exec_ns))
		return;
	if (r->kind == CLOCK_FORK) {
		note_birth(c, r);
		c->left_ns -= cost < c->left_ns ? cost : c->left_ns;
	}
	if (r->kind == CLOCK_SAMPLE)
		note_entry(c, r);
	if (r->kind == CLOCK_EXIT)
		(void)map_remove(&c->stacks, (uint64_t)r->tid);
}

static void
fill(struct creators *c)
{
	const uint64_t now = now_ns();

	c->left_ns += (now - c->filled_at) / COST_SHARE;
	if (c->left_ns > ALLOWANCE_NS)
		c->left_ns = ALLOWANCE_NS;
	c->filled_at = now;
}

static bool
too_many(const struct creators *c)
{
	return c->known + c->unknown >= BIRTHS_MAX ||
		(handled(HAZARD_BIRTHS) && !c->left_ns);
}

static void
drain(struct creators *c, bool final)
{
	if (!c->births)
		return;
	fill(c);
	births_drain(c->births, final, take, c);
	if (too_many(c))
		give_up(c, c->left_ns ? "as many as an experiment holds" :
			"more births than can be followed at no cost");
}

bool
creators_ripe(const struct creators *c)
{
	return c && c->births && births_ripe(c->births);
}

void
creators_drain(struct creators *c)
{
	if (!c)
		return;
	seek(c);
	drain(c, false);
}

static void
drop(void *arg, const struct clock_record *r)
{
	(void)arg;
	(void)r;
}

void
creators_forget(struct creators *c)
{
	if (c && c->births)
		births_drain(c->births, true, drop, NULL);
}

size_t
creators_pollfds(const struct creators *c, struct pollfd *fds, size_t max)
{
	return c && c->births ? births_pollfds(c->births, fds, max) : 0;
}

void
creators_give_register(struct creators *c)
{
	if (!c || !c->births || !births_need_register(c->births))
		return;
	drain(c, true);
	give_up(c, "a breakpoint has the debug register");
}

/* ---- the end ------------------------------------------------------------ */

void
creators_end(struct creators *c)
{
	char known[24], unknown[24];
	const char *why;

	if (!c || !c->on)
		return;
	drain(c, true);
	why = c->births || c->why ? c->why :
		"no libc with pthread_create is mapped";
	(void)snprintf(known, sizeof known, "%" PRIu64, c->known);
	(void)snprintf(unknown, sizeof unknown, "%" PRIu64, c->unknown);
	experiment_event(c->opt->exp, now_ns(), "sonde_births",
			 (const char *const[]){ "known", known, "unknown",
						unknown, why ? "why" : NULL,
						why, NULL });
	births_close(c->births);
	c->births = NULL;
	c->on = false;
	map_fini(&c->stacks);
}

void
creators_free(struct creators *c)
{
	if (!c)
		return;
	creators_end(c);
	births_close(c->births);
	free(c->why);
	free(c);
}
