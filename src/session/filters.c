/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Hits that the shell does not want to hear of: its handlers have conditions,
 * or count, or only drive the recording, which is here. They are judged while
 * the thread that has hit stands alone; so such a hit costs one stop of one
 * thread.
 *
 * First all who wait at the place are asked, and nothing is done yet: what one
 * of them cannot tell here is for the shell, as a whole; it then judges the
 * next ones itself, until it has given each of them a filter again.
 */
#include "filters.h"

#include <stdlib.h>
#include <string.h>

enum verdict { FILTER_NOTHING, FILTER_COUNTS, FILTER_DOES, FILTER_TELLS };

static int
read_target(void *arg, uint64_t addr, void *buf, size_t n)
{
	return target_read(arg, addr, buf, n);
}

/* ---- what is asked for --------------------------------------------------- */

static struct filter *
find(const struct tracer *tr, int who)
{
	struct filter *f = tr->filters;

	while (f && f->say.who != who)
		f = f->next;
	return f;
}

static void
drop_one(struct tracer *tr, struct filter *f)
{
	struct filter **at = &tr->filters;

	while (*at != f)
		at = &(*at)->next;
	*at = f->next;
	free(f);
}

void
filter_drop(struct tracer *tr, size_t number)
{
	struct filter *f = tr->filters, *next;

	tr->traps[number].users = 0;
	for (; f; f = next) {
		next = f->next;
		if (f->number == number)
			drop_one(tr, f);
		else if (filter_has_site(f, number))
			f->on = false;
	}
	concern_ask_all(tr);
}

/* ---- is it one that counts? ---------------------------------------------- */

static enum verdict
weigh(struct tracer *tr, struct filter *f, const struct arch_regs *regs,
      pid_t tid)
{
	const struct session_filter *say = &f->say;
	bool truth;

	if (say->thread && say->thread != tid)
		return FILTER_NOTHING;
	if (condition_run(&say->condition, regs, read_target, tr->target,
			  &truth) < 0) {
		fail_clear();
		f->on = false;
		return FILTER_TELLS;
	}
	if (!truth)
		return FILTER_NOTHING;
	if (say->limit && (f->hits + 1) % say->limit)
		return FILTER_COUNTS;
	return say->deed_count && deeds_are_possible(tr, say) ? FILTER_DOES :
		FILTER_TELLS;
}

/* The function is entered: where it returns to is watched? */
static enum verdict
weigh_entry(struct tracer *tr, struct filter *f, const struct arch_regs *regs,
	    pid_t tid)
{
	const struct session_filter *say = &f->say;

	if (say->thread && say->thread != tid)
		return FILTER_NOTHING;
	if (say->pending_count == SESSION_PENDING ||
	    condition_number(&say->to, regs, read_target, tr->target,
			     &f->to) < 0) {
		fail_clear();
		return FILTER_TELLS;
	}
	for (unsigned i = 0; i < say->site_count; i++)
		if (say->sites[i].address == f->to)
			return FILTER_COUNTS;
	return FILTER_TELLS;
}

static bool
returns(const struct session_pending *p, const struct arch_regs *regs,
	pid_t tid)
{
	return p->tid == tid && p->address == regs->reg[arch.reg_pc] &&
		regs->reg[arch.reg_sp] >= p->least_sp;
}

static enum verdict
weigh_return(struct tracer *tr, struct filter *f,
	     const struct arch_regs *regs, pid_t tid)
{
	const struct session_filter *say = &f->say;

	for (unsigned i = 0; i < say->pending_count; i++)
		if (returns(&say->pending[i], regs, tid))
			return weigh(tr, f, regs, tid);
	return FILTER_NOTHING;
}

static void
has_returned(struct session_filter *say, const struct arch_regs *regs,
	     pid_t tid)
{
	unsigned kept = 0;

	for (unsigned i = 0; i < say->pending_count; i++)
		if (!returns(&say->pending[i], regs, tid))
			say->pending[kept++] = say->pending[i];
	say->pending_count = kept;
}

/* ---- a hit --------------------------------------------------------------- */

static void
carry_out(struct tracer *tr, struct filter *f, size_t number,
	  const struct arch_regs *regs, pid_t tid)
{
	struct session_filter *say = &f->say;

	if (say->returns && f->number == number) {
		if (f->verdict != FILTER_COUNTS)
			return;
		say->pending[say->pending_count++] = (struct session_pending){
			.tid = tid, .address = f->to,
			.least_sp = regs->reg[arch.reg_sp] + 1,
			.since_ns = now_ns(),
		};
		concern_ask_site(tr, f, f->to, tid);
		return;
	}
	if (say->returns) {
		has_returned(say, regs, tid);
		concern_ask_site(tr, f, regs->reg[arch.reg_pc], tid);
	}
	f->hits += f->verdict != FILTER_NOTHING;
	if (f->verdict == FILTER_DOES)
		deeds_do(tr, f);
}

/* Those of this breakpoint. What is left out: users who have none. */
static unsigned
weigh_all(struct tracer *tr, size_t number, const struct arch_regs *regs,
	  pid_t tid, bool *tells)
{
	unsigned n = 0;

	*tells = false;
	for (struct filter *f = tr->filters; f; f = f->next) {
		f->asked = f->on && (f->number == number ||
				     filter_has_site(f, number));
		if (!f->asked)
			continue;
		n++;
		f->told = 0;
		f->verdict = !f->say.returns ? weigh(tr, f, regs, tid) :
			f->number == number ? weigh_entry(tr, f, regs, tid) :
			weigh_return(tr, f, regs, tid);
		*tells |= f->verdict == FILTER_TELLS;
		if (f->verdict == FILTER_TELLS && f->on && !f->say.returns &&
		    !f->say.deed_count)
			f->told = f->hits + 1;
	}
	return n;
}

/* One that is alone, and counts here: its hit is told as judged. */
static void
tell_judged(struct tracer *tr, unsigned asked)
{
	for (struct filter *f = tr->filters; f; f = f->next)
		if (f->asked && asked == 1 && f->told)
			f->hits = f->told;
		else
			f->told = 0;
}

/* true: it concerns nobody. */
static bool
judge(struct tracer *tr, size_t number, const struct arch_regs *regs,
      pid_t tid)
{
	bool tells;
	const unsigned asked = weigh_all(tr, number, regs, tid, &tells);

	if (asked != tr->traps[number].users)
		return false;
	if (tells) {
		tell_judged(tr, asked);
		return false;
	}
	for (struct filter *f = tr->filters; f; f = f->next)
		if (f->asked)
			carry_out(tr, f, number, regs, tid);
	return true;
}

static bool
judge_hit(void *arg, const struct breakpoint *bp, const struct arch_regs *regs,
	  pid_t tid)
{
	struct tracer *tr = arg;

	for (size_t i = 0; i < tr->trap_count; i++)
		if (tr->traps[i].at == bp)
			return tr->traps[i].users &&
				judge(tr, i, regs, tid);
	return false;
}

uint64_t
filter_told(struct tracer *tr, size_t number)
{
	uint64_t told = 0;

	for (struct filter *f = tr->filters; f; f = f->next) {
		if (f->number == number && f->told)
			told = f->told;
		if (f->number == number)
			f->told = 0;
	}
	return told;
}

/* ---- requests ------------------------------------------------------------ */

static bool
is_trap(const struct tracer *tr, uint64_t number)
{
	return number < tr->trap_count && tr->traps[number].at;
}

static bool
is_sound(const struct tracer *tr, uint64_t number,
	 const struct session_filter *say)
{
	if (!is_trap(tr, number) || say->site_count > SESSION_SITES ||
	    say->pending_count > SESSION_PENDING ||
	    say->deed_count > SESSION_DEEDS)
		return false;
	for (unsigned i = 0; i < say->site_count; i++)
		if (!is_trap(tr, (uint64_t)say->sites[i].number))
			return false;
	return true;
}

static int
do_filter(struct tracer *tr, struct wire_message *in, struct wire_message *out)
{
	const uint64_t number = wire_take(in);
	struct session_filter say;
	struct filter *f;
	const void *bytes;
	size_t n;

	(void)out;
	bytes = wire_take_bytes(in, &n);
	if (tracer_need_target(tr) < 0)
		return -1;
	if (!bytes || n != sizeof say)
		return fail(FAIL_GENERAL, "a request was damaged");
	memcpy(&say, bytes, sizeof say);
	if (!is_sound(tr, number, &say))
		return fail(FAIL_GENERAL, "a request was damaged");
	if (say.deed_count && tr->col && !collection_is_quick(tr->col))
		return fail(FAIL_UNSUITABLE, "the %s engine is not switched "
			    "at a hit", collection_engine(tr->col));
	f = find(tr, say.who);
	if (f)
		drop_one(tr, f);
	f = xcalloc(1, sizeof *f);
	*f = (struct filter){ .next = tr->filters, .say = say, .on = true,
			      .number = number, .hits = say.hits };
	tr->filters = f;
	tr->traps[number].users = say.users;
	for (unsigned i = 0; i < say.site_count; i++)
		tr->traps[say.sites[i].number].users = say.sites[i].users;
	target_set_judge(tr->target, judge_hit, concern_of_hit, tr);
	concern_ask_all(tr);
	return 0;
}

/* Its hits are asked for also when the target is gone. */
static int
do_hits(struct tracer *tr, struct wire_message *in, struct wire_message *out)
{
	struct filter *f = find(tr, (int)wire_take(in));
	const bool end = wire_take(in);
	struct session_hits hits;

	if (!f)
		return fail(FAIL_MISSING, "there is no such filter");
	deeds_tell(tr);
	memset(&hits, 0, sizeof hits);
	hits.hits = f->hits;
	hits.pending_count = f->say.pending_count;
	memcpy(hits.pending, f->say.pending, sizeof hits.pending);
	wire_put_bytes(out, &hits, sizeof hits);
	if (end) {
		drop_one(tr, f);
		concern_ask_all(tr);
	}
	return 0;
}

const struct request_handler filter_requests[] = {
	{ WIRE_FILTER, do_filter, false },
	{ WIRE_HITS, do_hits, false },
	{ 0 }
};
