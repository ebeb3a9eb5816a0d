/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * From the rings to the sink: records of our process only, each once, with
 * the CPU time that belongs to it, and the losses.
 *
 * A round delivers what is older than the beginning of the round before: by
 * then every CPU has stored what it had stamped. Where a ring is filling
 * faster than rounds come, a short window has to do; and where samples are to
 * share what was used until now: those of the round before only had that of
 * two rounds at the beginning, and the last ones none (100 ms of a process
 * that is half the time in the kernel moved its first second by 50).
 */
#include "private.h"

enum {
	REORDER_NS = 1000 * 1000,
	COUNT_EVERY_NS = 100 * 1000 * 1000,
};

struct delivery {
	struct clock *c;
	clock_sink sink;
	void *arg;
	size_t n;
};

/* ---- records ------------------------------------------------------------- */

static bool
accept_per_cpu(struct clock *c, const struct clock_record *r)
{
	return family_takes(&c->family, c->opt.pid, r) ||
		r->pid == c->opt.pid || r->kind == CLOCK_LOST;
}

/* Give the record its CPU time. */
static void
account(struct clock *c, struct clock_record *r)
{
	struct states *s = &c->states;

	switch (r->kind) {
	case CLOCK_SAMPLE:
		r->u.sample.cpu_ns = states_sample(s, r->tid, r->time_ns);
		break;
	case CLOCK_SWITCH:
		states_switch(s, r->tid, r->time_ns, r->u.sw.out);
		break;
	case CLOCK_FORK:
		if (r->pid == c->opt.pid)
			states_fork(s, r->tid, r->time_ns);
		break;
	case CLOCK_EXIT:
		r->u.exit.cpu_ns = states_exit(s, r->tid, r->time_ns);
		break;
	case CLOCK_EXEC:
		states_exec(s, r->tid, r->time_ns);
		break;
	case CLOCK_COMM:
	case CLOCK_MMAP:
	case CLOCK_LOST:
		break;
	}
}

static void
take(void *arg, size_t ring, const unsigned char *record)
{
	struct delivery *d = arg;
	struct clock *c = d->c;
	const bool per_cpu = c->traits.form == CLOCK_FORM_CPU;
	struct raw_record raw;

	(void)ring;
	if (!record_parse(record, &raw))
		return;
	if (per_cpu ? !accept_per_cpu(c, &raw.r) :
		      !watch_accept(&c->watch, &raw))
		return;
	if (raw.r.kind == CLOCK_LOST) {
		c->losses.seen = true;
		c->losses.by_record += raw.r.u.lost.samples;
		return;		/* told when the events were read */
	}
	c->losses.samples += raw.r.kind == CLOCK_SAMPLE;
	if (!per_cpu && !c->opt.only_kernel)
		account(c, &raw.r);
	d->n++;
	d->sink(d->arg, &raw.r);
}

/* ---- losses -------------------------------------------------------------- */

static void
read_all(struct clock *c, uint64_t *cpu_ns, uint64_t *lost)
{
	size_t len;
	const int *fds = clock_events(c, &len);

	*cpu_ns = *lost = 0;
	for (size_t i = 0; i < len; i++) {
		uint64_t count, none;

		if (fds[i] < 0 || !perf_read(&c->kernel, fds[i], &count,
					     &none))
			continue;
		*cpu_ns += count;
		*lost += none;
	}
	if (c->kernel.no_lost)
		*lost = c->losses.by_record;
}

/*
 * Events of threads write switch, fork and mapping records too, and the
 * kernel's count of what found no room includes these (a full ring and a
 * target that sleeps and wakes: 5288 counted, where its CPU time allows 56
 * samples). No more samples can be lost than that time had intervals.
 */
static uint64_t
bounded(const struct clock *c, uint64_t lost, uint64_t cpu_ns)
{
	const uint64_t possible = cpu_ns / c->opt.interval_ns;
	const uint64_t had = c->losses.samples + c->rings.left_samples;
	const uint64_t most = possible > had ? possible - had : 0;

	if (c->traits.form == CLOCK_FORM_CPU)
		return lost;
	return lost < most ? lost : most;
}

uint64_t
clock_count_lost(struct clock *c, uint64_t *cpu_ns)
{
	uint64_t lost;

	read_all(c, cpu_ns, &lost);
	lost = bounded(c, lost, *cpu_ns);
	return lost > c->losses.told ? lost : c->losses.told;
}

static void
tell_lost(struct delivery *d, uint64_t samples)
{
	const struct clock_record r = {
		.kind = CLOCK_LOST,
		.time_ns = d->c->rings.last,
		.pid = d->c->opt.pid,
		.cpu = -1,
		.u.lost.samples = samples,
	};

	d->n++;
	d->sink(d->arg, &r);
}

/*
 * Reading every event takes a while: not in every round of a bad time. A full
 * ring tells of it with what it takes next only. Where ticks share what the
 * process has used, that is a round late: they had the time of the lost ones,
 * too (a tracer that was stopped for 8 s: 1.19 of the CPU time).
 */
static void
settle_losses(struct delivery *d, bool pressed, bool final)
{
	struct clock *c = d->c;
	const bool shared = c->traits.form == CLOCK_FORM_CPU && pressed;
	const uint64_t now = now_ns();
	uint64_t cpu_ns;

	if (!final && !shared && (!c->losses.seen ||
				  now - c->losses.read_at < COUNT_EVERY_NS))
		return;

	const uint64_t lost = clock_count_lost(c, &cpu_ns);

	if ((c->losses.seen || lost > c->losses.told) &&
	    c->traits.form == CLOCK_FORM_THREAD)
		states_resync(&c->states, true);
	c->losses.seen = false;
	c->losses.read_at = now;
	if (lost > c->losses.told)
		tell_lost(d, lost - c->losses.told);
	c->losses.told = lost;
}

/* ---- the door ------------------------------------------------------------ */

static uint64_t
round_limit(const struct clock *c, bool pressed, uint64_t now)
{
	const bool soon = pressed || c->opt.only_kernel;
	const uint64_t until = soon ? now : c->previous;

	return until > REORDER_NS ? until - REORDER_NS : 0;
}

size_t
clock_drain(struct clock *c, bool final, clock_sink sink, void *arg)
{
	struct delivery d = { .c = c, .sink = sink, .arg = arg };
	const bool pressed = rings_pressed(&c->rings);
	const uint64_t now = now_ns();
	const uint64_t limit = round_limit(c, pressed, now);

	(void)rings_drain(&c->rings, final ? UINT64_MAX : limit, take, &d);
	c->previous = now;
	c->drained = final ? now : limit;
	settle_losses(&d, pressed, final);
	if (c->states.doubt)
		states_resync(&c->states, false);
	if (final && c->stopped && !c->stop_booked) {
		states_stop(&c->states, c->stopped_at);
		c->stop_booked = true;
	}
	return d.n;
}

bool
clock_ripe(const struct clock *c)
{
	return rings_ripe(&c->rings);
}

uint64_t
clock_drained(const struct clock *c)
{
	return c->drained;
}

uint64_t
clock_lost(struct clock *c)
{
	uint64_t cpu_ns;

	return clock_count_lost(c, &cpu_ns);
}

void
clock_rest(struct clock *c,
	   void (*visit)(void *arg, pid_t tid, uint64_t cpu_ns, bool sampled),
	   void *arg)
{
	uint64_t cpu_ns, lost;

	if (c->traits.form != CLOCK_FORM_THREAD)
		return;
	states_rest(&c->states, visit, arg);
	if (c->losses.told == 0 && c->losses.by_record == 0)
		return;
	/* threads whose last records were lost, and who could not be asked */
	read_all(c, &cpu_ns, &lost);
	if (cpu_ns > c->states.given)
		visit(arg, 0, cpu_ns - c->states.given, true);
	c->states.given = cpu_ns > c->states.given ? cpu_ns : c->states.given;
}
