/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * The guest at work: start it, keep it alive by a heartbeat, tell it of
 * threads, stop it. Each command is an errand of its own; between them
 * nothing of ours runs in the target but the handler.
 */
#include <errno.h>
#include <signal.h>
#include <string.h>

#include "private.h"

enum { STOP_TRIES = 2 };
#define AGAIN_NS	UINT64_C(1000000000)

void
guest_heartbeat(struct guest *g)
{
	__atomic_fetch_add(&g->area->beat, 1, __ATOMIC_RELEASE);
}

bool
guest_is_lost(const struct guest *g)
{
	return g->size &&
		__atomic_load_n(&g->area->left, __ATOMIC_ACQUIRE) != 0;
}

static void
switch_on(struct guest *g, uint32_t on)
{
	__atomic_store_n(&g->area->on, on, __ATOMIC_RELEASE);
}

void
guest_start_call(const struct guest *g, enum guest_clock clock,
		 struct collector_call *call)
{
	*call = (struct collector_call){
		.command = COLLECTOR_START, .interval_ns = g->interval_ns,
		.clock = clock == GUEST_POSIX_TIMER ? COLLECTOR_POSIX_TIMER
						    : COLLECTOR_PERF_SIGNAL,
		.owner = g->self,
	};
}

void
guest_started(struct guest *g, const struct collector_call *call)
{
	/* read back from the target: one of the two */
	g->signo = call->signo == SIGWINCH ? SIGWINCH : SIGURG;
	g->handler = call->handler;
	guest_heartbeat(g);
	switch_on(g, 1);
	g->started = true;
}

int
guest_start(struct guest *g, enum guest_clock clock)
{
	struct inject_report report = {0};
	struct collector_call call;

	guest_start_call(g, clock, &call);
	if (guest_command(g, &call, NULL, &report) < 0)
		return fail_in("start the collector");
	guest_started(g, &call);
	return 0;
}

static int
stop(struct guest *g, struct inject_report *report)
{
	struct collector_call call = { .command = COLLECTOR_STOP };
	struct collector_call unmap = { .command = COLLECTOR_UNMAP };
	int r;

	if (g->started && guest_command(g, &call, NULL, report) < 0)
		return -1;
	if (g->started)
		report->handler_kept = call.handler_kept;
	g->started = false;
	r = guest_command(g, &unmap, NULL, report);
	g->parting = r < 0 && unmap.result == -EBUSY;
	return r;
}

bool
guest_is_parting(const struct guest *g)
{
	return g->parting;
}

/* A thread that works for us may end, or become another program, which has
 * nothing of ours. */
int
guest_stop(struct guest *g, struct inject_report *report)
{
	const uint64_t since = now_ns();
	int r = 0;

	memset(report, 0, sizeof *report);
	switch_on(g, 0);
	for (int i = 0; i < STOP_TRIES && !g->stopped; i++) {
		if (!guest_is_there(g) || guest_is_lost(g)) {
			fail_clear();
			return 0;
		}
		r = stop(g, report);
		g->stopped = r == 0;
		/* what took long is not begun at once again */
		if (r < 0 && fail_last()->kind != FAIL_MISSING &&
		    now_ns() - since > AGAIN_NS)
			break;
	}
	if (r == 0)
		return 0;
	if (!guest_is_there(g)) {
		fail_clear();
		return 0;
	}
	return fail_in("stop the collector");
}

int
guest_lost_handler(struct guest *g)
{
	struct collector_call call = { .command = COLLECTOR_LOOK };
	struct inject_report report = {0};

	if (guest_command(g, &call, NULL, &report) < 0)
		return -1;
	return call.handler_kept != 0;
}

int
guest_signal(const struct guest *g)
{
	return g->signo;
}

uint64_t
guest_handler(const struct guest *g)
{
	return g->handler;
}

/* ---- threads ------------------------------------------------------------- */

int
guest_ticker(struct guest *g, int fd, pid_t tid)
{
	uint32_t *tickers = (uint32_t *)((unsigned char *)g->area +
					 g->layout.tickers_at);
	pid_t inner;

	if (fd < 0 || fd >= RECORD_TICKERS)
		return fail(FAIL_PARTIAL, "thread %d: descriptor %d is too "
			    "high for a tick", (int)tid, fd);
	inner = guest_inner_tid(g, tid);
	/* whose it is may be asked when the thread has ended */
	if (g->other_namespace)
		map_put(&g->tids, (uint64_t)inner, (uint64_t)tid);
	__atomic_store_n(&tickers[fd], (uint32_t)inner, __ATOMIC_RELEASE);
	return 0;
}

void
guest_set_deaf(struct guest *g, const pid_t *tids, size_t n)
{
	size_t i;

	n = n < RECORD_DEAF ? n : RECORD_DEAF;
	for (i = 0; i < n; i++)
		g->area->deaf[i] = (uint32_t)guest_inner_tid(g, tids[i]);
	g->area->ndeaf = (uint32_t)n;
}

int
guest_refresh(struct guest *g, struct inject_report *report)
{
	struct collector_call call = { .command = COLLECTOR_TIMERS };

	memset(report, 0, sizeof *report);
	guest_heartbeat(g);
	if (guest_command(g, &call, NULL, report) < 0)
		return fail_in("give timers to new threads");
	return 0;
}
