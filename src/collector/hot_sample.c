/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The SIGPROF handler. A tick of ours becomes a record or is counted; any
 * other SIGPROF is the program's and goes where it would have gone without
 * us. It makes no library call, so errno cannot change.
 */
#include "private.h"

#include <asm/unistd.h>
#include <time.h>

enum {
	PERF_POLL_IN = 1,	/* si_code of F_SETSIG signals */
	PERF_POLL_HUP = 6,
	MASK_BYTES = 8,
};

/* The very bytes by which unwinders know a signal frame. */
__asm__(
"	.text\n"
"	.balign 16\n"
"	nop\n"
"	.globl hot_restorer\n"
"	.hidden hot_restorer\n"
"	.type hot_restorer, @function\n"
"hot_restorer:\n"
"	movq	$15, %rax\n"
"	syscall\n"
);

static uint64_t
now(void)
{
	struct timespec ts = { 0, 0 };

	if (guest.vdso_clock)
		((int (*)(int, struct timespec *))guest.vdso_clock)
			(CLOCK_MONOTONIC, &ts);
	else
		(void)sys4(__NR_clock_gettime, CLOCK_MONOTONIC, (uint64_t)&ts,
			   0, 0);
	return (uint64_t)ts.tv_sec * 1000000000 + (uint64_t)ts.tv_nsec;
}

static uint32_t
thread_id(void)
{
	uint32_t tid;

	if (!guest.tid_offset)
		return (uint32_t)sys4(__NR_gettid, 0, 0, 0, 0);
	__asm__("movl %%fs:(%1), %0" : "=r"(tid) : "r"(guest.tid_offset));
	return tid;
}

/* The kernel keeps the processor's number in a segment limit, for this. */
static uint32_t
processor(void)
{
	uint32_t limit = 0;

	__asm__ volatile("lsl %1, %0" : "+r"(limit) : "r"(0x7bu) : "cc");
	return limit & 0xfff;
}

static bool
is_timer(const siginfo_t *info)
{
	return info->si_code == SI_TIMER && info->si_value.sival_ptr == &guest;
}

/*
 * Also one of a clock that we no longer use: a thread that blocked SIGPROF
 * gets its tick when it pleases, and timers outlive a tracer that was killed.
 * In a forked child nothing ticks for us.
 */
static bool
is_ours(const siginfo_t *info)
{
	return !forked() && (is_timer(info) ||
		(guest.perf_used && (info->si_code == PERF_POLL_IN ||
				     info->si_code == PERF_POLL_HUP)));
}

static bool
is_late(const siginfo_t *info)
{
	return is_timer(info) != (guest.clock == COLLECTOR_POSIX_TIMER);
}

static void
count(uint64_t *counter, uint64_t n)
{
	__atomic_fetch_add(counter, n, __ATOMIC_RELAXED);
}

/* Our time is our own: only whether the beat moved is asked. */
static bool
lease_holds(struct record_area *area, uint64_t time)
{
	const uint64_t beat = __atomic_load_n(&area->beat, __ATOMIC_RELAXED);
	uint64_t since;

	if (beat != __atomic_load_n(&area->seen_beat, __ATOMIC_RELAXED)) {
		__atomic_store_n(&area->seen_at, time, __ATOMIC_RELAXED);
		__atomic_store_n(&area->seen_beat, beat, __ATOMIC_RELEASE);
		return true;
	}
	since = __atomic_load_n(&area->seen_at, __ATOMIC_RELAXED);
	return (int64_t)(time - since) < (int64_t)RECORD_LEASE_NS;
}

/* Nobody listens: this thread's timer sleeps until someone arms it again. */
static void
disarm(const siginfo_t *info)
{
	const struct { int64_t s, ns; } never[2] = { { 0, 0 }, { 0, 0 } };

	if (is_timer(info))
		(void)sys4(__NR_timer_settime, (uint64_t)info->si_timerid, 0,
			   (uint64_t)never, 0);
}

/* The tracer found a new thread; whoever ticks next gives it a timer. */
static void
serve_post(struct record_area *area)
{
	uint32_t taken = __atomic_load_n(&area->taken, __ATOMIC_ACQUIRE);
	const uint32_t posted = __atomic_load_n(&area->posted,
						__ATOMIC_ACQUIRE);
	uint32_t tid;

	if (taken == posted || guest.clock != COLLECTOR_POSIX_TIMER)
		return;
	tid = __atomic_load_n(&area->posts[taken % RECORD_POSTS],
			      __ATOMIC_RELAXED);
	if (!__atomic_compare_exchange_n(&area->taken, &taken, taken + 1,
					 false, __ATOMIC_ACQ_REL,
					 __ATOMIC_RELAXED))
		return;
	if (timer_make(tid) < 0)
		count(&area->lost[RECORD_LOST_TIMER], 1);
}

static void
sample(struct record_area *area, uint32_t weight, uint64_t time,
       const void *context)
{
	const uint32_t tid = thread_id();
	struct record_window *w = hot_ring_window(area, tid);
	struct record *rec;

	if (!w) {
		count(&area->lost[RECORD_LOST_WINDOW], weight);
		return;
	}
	rec = hot_ring_reserve(area, w);
	if (!rec) {
		w->lost += weight;
		count(&area->lost[RECORD_LOST_FULL], weight);
		return;
	}
	rec->tid = tid;
	rec->weight = weight;
	rec->time_ns = time;
	rec->cpu = processor();
	hot_stack_walk(area, context, rec);
	count(&area->ends[rec->end], 1);
	count(&area->samples, 1);
	hot_ring_commit(w, rec);
}

static void
tick(struct record_area *area, const siginfo_t *info, const void *context)
{
	const uint32_t weight = info->si_code == SI_TIMER &&
		info->si_overrun > 0 ? 1 + (uint32_t)info->si_overrun : 1;
	uint64_t time;

	if (is_late(info) || !__atomic_load_n(&area->on, __ATOMIC_ACQUIRE)) {
		count(&area->lost[RECORD_LOST_OFF], weight);
		return;
	}
	time = now();
	if (!lease_holds(area, time)) {
		count(&area->lost[RECORD_LOST_LEASE], weight);
		disarm(info);
		return;
	}
	serve_post(area);
	sample(area, weight, time, context);
}

/* ---- signals of the program ------------------------------------------------------ */

/* The default action ends the process, and so must this: put the default
 * back and send it again; it is pending until we return. */
static void
die_as_without_us(int signo)
{
	const struct disposition standard = { .handler = (void *)SIG_DFL };
	const uint64_t pid = (uint64_t)sys4(__NR_getpid, 0, 0, 0, 0);
	const uint64_t tid = (uint64_t)sys4(__NR_gettid, 0, 0, 0, 0);

	(void)sys4(__NR_rt_sigaction, (uint64_t)signo, (uint64_t)&standard, 0,
		   MASK_BYTES);
	(void)sys4(__NR_tgkill, pid, tid, (uint64_t)signo, 0);
}

static void
chain(int signo, siginfo_t *info, void *context)
{
	struct disposition *d = &guest.before;
	void *handler = d->handler;
	uint64_t mask = d->mask, before = 0;

	if (handler == (void *)SIG_IGN)
		return;
	if (handler == (void *)SIG_DFL) {
		die_as_without_us(signo);
		return;
	}
	if (d->flags & SA_RESETHAND)
		d->handler = (void *)SIG_DFL;
	if (!(d->flags & SA_NODEFER))
		mask |= UINT64_C(1) << (signo - 1);
	(void)sys4(__NR_rt_sigprocmask, SIG_BLOCK, (uint64_t)&mask,
		   (uint64_t)&before, MASK_BYTES);
	if (d->flags & SA_SIGINFO)
		((void (*)(int, siginfo_t *, void *))handler)(signo, info,
							      context);
	else
		((void (*)(int))handler)(signo);
	(void)sys4(__NR_rt_sigprocmask, SIG_SETMASK, (uint64_t)&before, 0,
		   MASK_BYTES);
}

void
hot_signal(int signo, siginfo_t *info, void *context)
{
	struct record_area *area;
	bool ours;

	__atomic_fetch_add(&guest.inside, 1, __ATOMIC_SEQ_CST);
	ours = is_ours(info);
	area = __atomic_load_n(&guest.area, __ATOMIC_SEQ_CST);
	if (ours && area)
		tick(area, info, context);
	__atomic_fetch_sub(&guest.inside, 1, __ATOMIC_SEQ_CST);
	if (!ours)
		chain(signo, info, context);
}
