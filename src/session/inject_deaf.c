/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Threads that get no ticks. One that blocks the signal gives no sample, and
 * a tick that waits for it would be seen by a program that takes all signals
 * from sigtimedwait or a signalfd: none is sent until it hears again, and its
 * time is booked as lost, under its name. One that blocks it for a moment gets
 * its tick late. One that lets signals in only while it waits (ppoll, pselect,
 * epoll_pwait, sigsuspend) would have all of its ticks in there.
 *
 * For root the kernel looks at each tick (control's gate.c): none is sent then
 * to a thread that blocks it, or whose system calls are dispatched to the
 * program, or that has a seccomp filter which nobody has asked about a
 * handler's return. Where it does not, threads are looked at now and then, and
 * a process where that is not enough is refused (inject_check_ungated).
 */
#include <stdlib.h>
#include <string.h>

#include "engine_inject.h"
#include "hazard.h"

static bool
is_gated(const struct inject *e)
{
	return e->clock && signal_clock_is_gated(e->clock);
}

/* A filter that nobody has asked about a handler's return. */
static bool
is_confined(struct inject *e, struct thread *th)
{
	const uint32_t inherited = e->clock ?
		signal_clock_filters(e->clock, th->tid) : 0;

	if (inherited > th->filters)
		th->filters = inherited;
	return handled(HAZARD_GATE) &&
		inject_thread_filters(e->opt->target, th->tid) > th->filters;
}

bool
inject_wants_ticks(struct inject *e, pid_t tid)
{
	struct thread *th = inject_thread(e, tid);

	if (is_gated(e))
		return true;	/* the kernel looks at each tick */
	th->confined = is_confined(e, th);
	th->deaf = th->late || th->confined ||
		inject_thread_is_deaf(e->opt->target, tid,
				      guest_signal(e->guest));
	return !th->deaf;
}

static void
send_ticks(struct inject *e, struct thread *th, bool on)
{
	if (e->clock)
		signal_clock_send(e->clock, th->tid, on);
	else
		e->refresh_due = true;
}

void
inject_came_late(struct inject *e, struct thread *th)
{
	if (!th->late)
		send_ticks(e, th, false);
	th->late = th->deaf = true;
}

/* ---- seccomp filters ------------------------------------------------------ */

static void
allow(struct inject *e, struct thread *th, uint32_t filters)
{
	th->filters = filters;
	if (e->clock)
		signal_clock_note_filters(e->clock, th->tid, filters);
}

/* Another that lives has the same filters, and they were asked. */
static bool
has_known_filters(struct inject *e, struct thread *th, uint32_t n)
{
	size_t at = 0;
	uint64_t tid, slot;

	while (th->filter && map_next(&e->threads, &at, &tid, &slot)) {
		const struct thread *o = (struct thread *)(uintptr_t)slot;

		if (o->filter == th->filter && o->filters == n &&
		    inject_thread_filters(e->opt->target, o->tid) >= n)
			return true;
	}
	return false;
}

/* It works, so it is met in user mode soon. Once for each of its filters. */
static void
ask(struct inject *e, struct thread *th)
{
	const uint32_t n = inject_thread_filters(e->opt->target, th->tid);
	struct inject_report report;
	uint32_t filters;

	if (n == th->asked || n <= th->filters)
		return;
	th->asked = n;
	if (has_known_filters(e, th, n)) {
		allow(e, th, n);
		return;
	}
	filters = inject_ask_filters(e->opt->target, th->tid, &report);
	inject_note_report(e, &report);
	if (filters)
		allow(e, th, filters);
}

bool
inject_is_deaf(struct inject *e, struct thread *th)
{
	const bool before = th->deaf;

	if (th->confined)
		ask(e, th);

	const bool wants = inject_wants_ticks(e, th->tid);

	if (wants != before)
		return before;
	send_ticks(e, th, wants);
	return true;
}

/* ---- the gate ------------------------------------------------------------ */

enum { SEARCHES_MOST = 3 };	/* it may stand in a coroutine for once */

/* The number was another thread's: the gate has counted from 0. */
static bool
were_forgotten(const struct thread *th, const struct gate_news *news)
{
	for (int i = 0; i < GATE_REASONS; i++)
		if (news->held[i] < th->held[i])
			return true;
	return false;
}

/* Near the end of a stack the gate asks whether pages are there: one that was
 * never touched is not, before it is read. */
static void
touch_pages(struct inject *e, uint64_t sp, uint64_t low)
{
	enum { PAGE = 4096 };
	const uint64_t room = gate_room(RECORD_HANDLER_STACK);
	uint64_t word;

	for (uint64_t at = sp - room; sp - low >= room && at < sp; at += PAGE)
		(void)target_peek(e->opt->target, at, &word, sizeof word);
}

/* Its sp was on no stack that the gate knows. */
static void
find_stack(struct inject *e, struct thread *th, uint64_t sp)
{
	struct stacks stacks = e->stacks;
	struct stack_bounds its;

	th->searched++;
	if (!stacks_find(e->opt->target, sp, &stacks, &its))
		return;
	th->searched = SEARCHES_MOST;
	signal_clock_note_stack(e->clock, th->tid, &its);
	if (stacks.form != e->stacks.form ||
	    stacks.words_at != e->stacks.words_at) {
		e->stacks = stacks;
		signal_clock_note_stacks(e->clock, &stacks);
	}
}

/* So that its next ticks can be sent. true: that took reads. */
static bool
look_at_stack(struct inject *e, struct thread *th, const struct gate_news *news)
{
	if (news->sp >= news->stack.low && news->sp <= news->stack.high)
		touch_pages(e, news->sp, news->stack.low);
	else if (th->searched < SEARCHES_MOST)
		find_stack(e, th, news->sp);
	else
		return false;
	return true;
}

static void
add_news(struct inject *e, struct thread *th, const struct gate_news *news)
{
	for (int i = 0; i < GATE_REASONS; i++) {
		const uint64_t ns = (news->held[i] - th->held[i]) *
			e->opt->interval_ns;

		th->held[i] = news->held[i];
		th->held_ns[i] += ns;
		th->held_all_ns[i] += ns;
	}
	th->filter = news->filter;
}

void
inject_note_held_back(struct inject *e)
{
	enum { STACKS_MOST = 16 };	/* that are looked at */
	struct gate_news news;
	uint64_t all = 0, tid, slot;
	size_t at = 0;
	int left = STACKS_MOST;

	if (!is_gated(e))
		return;
	signal_clock_held_back(e->clock, 0, &news);
	for (int i = 0; i < GATE_REASONS; i++)
		all += news.held[i];
	if (all == e->held_back)
		return;
	e->held_back = all;
	while (map_next(&e->threads, &at, &tid, &slot)) {
		struct thread *th = (struct thread *)(uintptr_t)slot;
		const uint64_t confined = th->held[GATE_CONFINED];
		const uint64_t narrow = th->held[GATE_NARROW];

		signal_clock_held_back(e->clock, th->tid, &news);
		if (were_forgotten(th, &news)) {
			memset(th->held, 0, sizeof th->held);
			th->searched = 0;
		}
		add_news(e, th, &news);
		if (th->held[GATE_CONFINED] > confined && !e->final)
			ask(e, th);
		if (th->held[GATE_NARROW] > narrow && !e->final && left > 0)
			left -= look_at_stack(e, th, &news);
	}
}

uint64_t
inject_book_held_back(struct inject *e, struct thread *th, uint64_t rest)
{
	static const char *const causes[GATE_REASONS] = {
		[GATE_BLOCKED] = "blocked", [GATE_DISPATCHED] = "dispatched",
		[GATE_CONFINED] = "confined", [GATE_BESIDE] = "beside",
		[GATE_NARROW] = "narrow", [GATE_TAKEN] = "taken",
	};
	uint64_t booked = 0;

	for (int i = 0; i < GATE_REASONS; i++) {
		const uint64_t left = rest - booked;
		const uint64_t ns = left < th->held_ns[i] ? left :
			th->held_ns[i];

		if (!ns)
			continue;
		th->held_ns[i] -= ns;
		inject_book_gap(e, th, ns, causes[i], th->name);
		booked += ns;
	}
	return booked;
}

#define TOLD_NS	UINT64_C(100000000)

static void
tell_reason(const struct inject *e, struct str *text, enum gate_reason reason,
	    const char *why)
{
	uint64_t ns = 0, tid, slot;
	unsigned n = 0;
	size_t at = 0;

	while (map_next(&e->threads, &at, &tid, &slot)) {
		const struct thread *th = (struct thread *)(uintptr_t)slot;

		n += th->held_all_ns[reason] > 0;
		ns += th->held_all_ns[reason];
	}
	/* libc blocks all signals for moments, and two may meet */
	if (n && ((reason != GATE_BLOCKED && reason != GATE_BESIDE) ||
		  ns >= TOLD_NS))
		str_addf(text, "%s%u thread%s not sampled for %.*f s of CPU "
			 "time: %s", text->len ? ", " : "", n, n == 1 ? "" :
			 "s", ns < TOLD_NS ? 3 : 1, (double)ns / 1e9, why);
}

void
inject_tell_held_back(const struct inject *e, struct str *text)
{
	tell_reason(e, text, GATE_DISPATCHED, "under syscall user dispatch");
	tell_reason(e, text, GATE_CONFINED, "under a seccomp filter of its "
		    "own that forbids rt_sigreturn");
	tell_reason(e, text, GATE_NARROW, "its stack is not known to have room "
		    "for a signal handler; --engine ring samples all of it");
	tell_reason(e, text, GATE_TAKEN, "the program uses the signal of the "
		    "ticks itself");
	tell_reason(e, text, GATE_BESIDE, "other signals came in the same "
		    "moments");
	tell_reason(e, text, GATE_BLOCKED, "the signal of the ticks was "
		    "blocked");
}

/* ---- without perf: what the guest cannot see ----------------------------- */

/* A handler of ours makes one call: to put the timer to sleep when we are
 * gone. A filter may punish it. */
enum { FILTERS_EVERY = 10 };	/* drains, for each thread */

void
inject_tell_guest(struct inject *e)
{
	struct record_area *area = guest_area(e->guest);
	pid_t *deaf = xcalloc(e->threads.len + 1, sizeof *deaf);
	size_t at = 0, n = 0;
	uint64_t tid, slot;

	while (map_next(&e->threads, &at, &tid, &slot)) {
		const struct thread *th = (struct thread *)(uintptr_t)slot;

		if (th->drain != e->drains)
			continue;	/* it has ended */
		if (th->deaf)
			deaf[n++] = th->tid;
		if (!area->confined &&
		    (e->drains + (uint64_t)th->tid) % FILTERS_EVERY == 0 &&
		    inject_thread_is_confined(e->opt->target, th->tid))
			__atomic_store_n(&area->confined, 1,
					 __ATOMIC_RELAXED);
	}
	guest_set_deaf(e->guest, deaf, n);
	free(deaf);
}
