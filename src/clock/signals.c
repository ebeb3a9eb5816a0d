/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Clocks that send a signal: one task-clock per thread, user mode only, whose
 * overflow the kernel signals to that very thread. No ring, no inheritance
 * (an inherited event would signal its creator): new threads are opened when
 * a side-band record tells of them.
 *
 * The side-band is one silent event per CPU where that is permitted, else one
 * per (thread x CPU), inherited. When a record of it was lost, the threads
 * are listed anew.
 *
 * A thread's descriptor is closed at its end and its count is kept.
 *
 * exec resets the handler of the signal: the kernel itself removes these
 * events then, and none is opened for the new program.
 */
#include "control.h"
#include "signals.h"

#include <errno.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

enum {
	SIDE_BAND_RING = 64 << 10, SIDE_BAND_LEAST = 16 << 10,
};

/* ---- opening ------------------------------------------------------------- */

static int
open_side_band(struct signal_clock *c)
{
	if (sideband_open(&c->sides, &c->sides_len, &c->kernel,
			  &c->rings) == 0)
		return 0;
	c->watch = (struct watch){
		.pid = c->pid,
		.attr = attr_dummy(),
		.kernel = &c->kernel,
		.rings = &c->rings,
		.spare = 1,		/* its ticker */
	};
	attr_add_side_band(&c->watch.attr);
	attr_add_inherit(&c->watch.attr);
	return watch_open(&c->watch);
}

/* The side-band first: a thread born later is told or listed. */
static int
open_all(struct signal_clock *c)
{
	if (rings_open(&c->rings, &c->kernel, SIDE_BAND_RING, SIDE_BAND_LEAST,
		       c->pid) < 0)
		return -1;
	if (open_side_band(c) < 0 || tickers_add_all(c) < 0)
		return fail_refused(errno, c->pid,
				    "perf_event_open on the threads");
	return 0;
}

/* ---- the side-band ------------------------------------------------------- */

struct side_delivery {
	struct signal_clock *c;
	clock_sink sink;
	void *arg;
	size_t n;
};

static bool
is_ours(struct signal_clock *c, const struct raw_record *raw)
{
	const struct clock_record *r = &raw->r;

	if (!c->sides)
		return watch_accept(&c->watch, raw);
	return family_takes(&c->family, c->pid, r) || r->pid == c->pid ||
		r->kind == CLOCK_LOST;
}

static void
follow_exec(struct signal_clock *c)
{
	for (size_t i = 0; i < c->len; i++)
		tickers_end(c, c->tickers[i].tid);
	c->execed = true;
}

static void
take(void *arg, size_t ring, const unsigned char *record)
{
	struct side_delivery *d = arg;
	struct signal_clock *c = d->c;
	struct raw_record raw;

	(void)ring;
	if (!record_parse(record, &raw) || !is_ours(c, &raw))
		return;
	if (raw.r.kind == CLOCK_LOST) {
		c->lost = true;
		return;
	}
	if (raw.r.kind == CLOCK_FORK && raw.r.pid == c->pid)
		/* refused: it is counted */
		(void)tickers_add_born(c, raw.r.tid, raw.r.u.fork.ptid);
	if (raw.r.kind == CLOCK_EXIT)
		tickers_end(c, raw.r.tid);
	if (raw.r.kind == CLOCK_EXEC)
		follow_exec(c);
	d->n++;
	d->sink(d->arg, &raw.r);
}

/* ---- the door ------------------------------------------------------------ */

struct signal_clock *
signal_clock_open(pid_t pid, uint64_t interval_ns, int signo, pid_t except_tid,
		  const struct gate_handler *handler)
{
	if (interval_check(interval_ns) < 0)
		return NULL;

	struct signal_clock *c = xcalloc(1, sizeof *c);

	c->pid = pid;
	c->except = except_tid;
	c->interval_ns = interval_ns;
	c->signo = signo;
	c->gate_signo = signo ? signo : SIGURG;
	c->handler = *handler;
	c->gate = gate_open(c->pid, c->gate_signo, &c->handler);
	descriptors_raise();
	if (open_all(c) < 0) {
		signal_clock_close(c);
		return NULL;
	}
	return c;
}

void
signal_clock_close(struct signal_clock *c)
{
	if (!c)
		return;
	for (size_t i = 0; i < c->len; i++) {
		if (c->tickers[i].fd >= 0)
			(void)close(c->tickers[i].fd);
		tick_times_close(&c->tickers[i].times);
	}
	free(c->tickers);
	free(c->ended);
	map_fini(&c->by_tid);
	map_fini(&c->refused);
	watch_close(&c->watch);
	if (c->sides)
		fds_close(c->sides, c->sides_len);
	rings_close(&c->rings);
	gate_close(c->gate);
	map_fini(&c->filters);
	family_fini(&c->family);
	free(c);
}

int
signal_clock_enable(struct signal_clock *c, bool on)
{
	const unsigned long request = on ? PERF_EVENT_IOC_ENABLE :
					   PERF_EVENT_IOC_DISABLE;

	int done = 0;

	/* whatever one says: all others are stopped too */
	c->on = on;
	for (size_t i = 0; i < c->len; i++)
		if (c->tickers[i].fd >= 0 &&
		    ioctl(c->tickers[i].fd, request, 0) < 0)
			done = fail_errno("%s the clock of thread %d",
					  on ? "start" : "stop",
					  (int)c->tickers[i].tid);
	return done;
}

int
signal_clock_signal(struct signal_clock *c, int signo, uint64_t handler,
		    bool (*wanted)(void *arg, int fd, pid_t tid), void *arg)
{
	int done = 0;

	if (c->gate && signo != c->gate_signo) {
		gate_close(c->gate);
		c->gate_signo = signo;
		c->gate = gate_open(c->pid, signo, &c->handler);
		if (!c->gate || gate_note_stacks(c->gate, &c->stacks) < 0)
			return fail_errno("make a gate for the ticks");
	}
	if (c->gate && gate_note_handler(c->gate, handler) < 0)
		return fail_errno("tell the gate of the handler");
	c->signo = signo;
	c->wanted = wanted;
	c->wanted_arg = arg;
	for (size_t i = 0; i < c->len; i++) {
		const struct ticker *t = &c->tickers[i];

		/* one that has ended gets none, and no error for it */
		if (t->fd >= 0 && ticker_send_to(c, t->fd, t->tid) < 0 &&
		    errno != ESRCH)
			done = fail_errno("have the clock of thread %d send a "
					  "signal", (int)t->tid);
	}
	return done;
}

void
signal_clock_send(struct signal_clock *c, pid_t tid, bool on)
{
	uint64_t at;

	if (map_get(&c->by_tid, (uint64_t)tid, &at) &&
	    c->tickers[at].fd >= 0)
		(void)ticker_set_sending(c->tickers[at].fd, on);
}

bool
signal_clock_is_gated(const struct signal_clock *c)
{
	return c->gate != NULL;
}

void
signal_clock_held_back(const struct signal_clock *c, pid_t tid,
		       struct gate_news *news)
{
	memset(news, 0, sizeof *news);
	if (c->gate)
		gate_held_back(c->gate, tid, news);
}

void
signal_clock_note_filters(struct signal_clock *c, pid_t tid, uint32_t filters)
{
	map_put(&c->filters, (uint64_t)tid, filters);
	if (c->gate)
		(void)gate_note_filters(c->gate, tid, filters);	/* else none */
}

void
signal_clock_note_stacks(struct signal_clock *c, const struct stacks *stacks)
{
	c->stacks = *stacks;
	if (c->gate)
		(void)gate_note_stacks(c->gate, stacks);	/* else none */
}

void
signal_clock_note_stack(struct signal_clock *c, pid_t tid,
			const struct stack_bounds *its)
{
	if (c->gate)
		(void)gate_note_stack(c->gate, tid, its);	/* else none */
}

uint32_t
signal_clock_filters(const struct signal_clock *c, pid_t tid)
{
	uint64_t filters;

	return map_get(&c->filters, (uint64_t)tid, &filters) ?
		(uint32_t)filters : 0;
}

size_t
signal_clock_unserved(const struct signal_clock *c)
{
	return c->refused.len;
}

char *
signal_clock_missing(const struct signal_clock *c)
{
	uint64_t tid, error = 0;
	size_t at = 0;

	(void)map_next(&c->refused, &at, &tid, &error);
	return not_sampled_text(c->refused.len, c->len + c->refused.len,
				(int)error);
}

size_t
signal_clock_pollfds(const struct signal_clock *c, struct pollfd *fds,
		     size_t max)
{
	return rings_pollfds(&c->rings, fds, max);
}

size_t
signal_clock_drain(struct signal_clock *c, clock_sink sink, void *arg)
{
	struct side_delivery d = { .c = c, .sink = sink, .arg = arg };

	tickers_forget_times(c);
	(void)rings_drain(&c->rings, UINT64_MAX, take, &d);
	if (c->lost) {
		c->lost = false;
		/* whom we miss now is gone, or told by a record to come */
		(void)tickers_add_all(c);
	}
	return d.n;
}

struct tick_time
signal_clock_time(struct signal_clock *c, pid_t tid, uint64_t coarse_ns)
{
	struct tick_time tick = { .time_ns = coarse_ns };
	uint64_t at;

	if (!map_get(&c->by_tid, (uint64_t)tid, &at))
		return tick;
	tick = tick_times_take(&c->tickers[at].times, coarse_ns);
	if (tick.cpu_ns)
		tick.cpu_ns += c->tickers[at].before;
	return tick;
}

int
signal_clock_cpu(struct signal_clock *c, pid_t tid, uint64_t *cpu_ns)
{
	uint64_t at;

	if (!map_get(&c->by_tid, (uint64_t)tid, &at))
		return fail(FAIL_MISSING, "thread %d has no clock", (int)tid);
	*cpu_ns = ticker_cpu(&c->tickers[at]);
	return 0;
}

void
signal_clock_each(struct signal_clock *c,
		  void (*visit)(void *arg, pid_t tid, uint64_t cpu_ns),
		  void *arg)
{
	for (size_t i = 0; i < c->len; i++)
		visit(arg, c->tickers[i].tid, ticker_cpu(&c->tickers[i]));
}
