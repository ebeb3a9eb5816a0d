/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The handler of the signal that ticks (include/record.h). A tick of ours
 * becomes a record or is counted. Any other signal of that number is the
 * program's, whose action was the default when we came: nothing is done.
 *
 * It makes no system call, but for one where no filter is: a program may
 * confine itself by seccomp at any moment, and would end for it. The signal
 * tells the thread, the vDSO the time of the kernel's last tick: a finer
 * clock is the TSC, which the kernel takes away in strict mode. (Who reads the
 * record knows better: src/clock/ticks.c.) And no library call, so errno
 * cannot change.
 */
#include "private.h"

#include <asm/unistd.h>
#include <errno.h>
#include <string.h>
#include <time.h>
#include <ucontext.h>

#include "hazard.h"

enum {
	PERF_POLL_IN = 1,	/* si_code of F_SETSIG signals */
	PERF_POLL_HUP = 6,
	COARSE = 6,		/* CLOCK_MONOTONIC_COARSE */
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

uint32_t hot_keyed;

/*
 * The kernel calls a handler with the rights of key 0 alone, though the frame
 * that it has just written may be in memory of another key: nothing is pushed
 * or called before all keys are open. The kernel puts the thread's own rights
 * back when the handler returns.
 */
__asm__(
"	.text\n"
"	.balign 16\n"
"	.globl hot_signal\n"
"	.hidden hot_signal\n"
"	.type hot_signal, @function\n"
"hot_signal:\n"
"	.cfi_startproc\n"
"	cmpl	$0, hot_keyed(%rip)\n"
"	je	hot_handle\n"
"	movq	%rdx, %r8\n"
"	xorl	%eax, %eax\n"
"	xorl	%ecx, %ecx\n"
"	xorl	%edx, %edx\n"
"	.byte	0x0f, 0x01, 0xef\n"		/* wrpkru */
"	movq	%r8, %rdx\n"
"	jmp	hot_handle\n"
"	.cfi_endproc\n"
"	.size hot_signal, .-hot_signal\n"
);

static uint64_t
now(void)
{
	struct timespec ts = { 0, 0 };

	((int (*)(int, struct timespec *))guest.vdso_clock)(COARSE, &ts);
	return (uint64_t)ts.tv_sec * 1000000000 + (uint64_t)ts.tv_nsec;
}

/* The kernel keeps the processor's number in a segment limit, for this. */
static uint32_t
processor(void)
{
	uint32_t limit = 0;

	__asm__ volatile("lsl %1, %0" : "+r"(limit) : "r"(0x7bu) : "cc");
	return limit & 0xfff;
}

/* 0: no timer of ours. */
static uint32_t
thread_of_timer(const siginfo_t *info)
{
	const uint64_t value = (uint64_t)info->si_value.sival_ptr;

	return info->si_code == SI_TIMER && (uint32_t)value == RECORD_TIMER_MARK ?
		(uint32_t)(value >> 32) : 0;
}

static uint32_t
thread_of_perf(const struct record_area *area, const siginfo_t *info)
{
	const uint32_t *tickers = (const uint32_t *)
		((const char *)area + area->tickers_at);

	if (info->si_code != PERF_POLL_IN && info->si_code != PERF_POLL_HUP)
		return 0;
	return (uint32_t)info->si_fd < RECORD_TICKERS ?
		__atomic_load_n(&tickers[info->si_fd], __ATOMIC_RELAXED) : 0;
}

/* Also of a clock that we no longer use: timers outlive a tracer that was
 * killed. 0: not ours. */
static uint32_t
thread_of(const struct record_area *area, const siginfo_t *info)
{
	const uint32_t tid = thread_of_timer(info);

	return tid ? tid : thread_of_perf(area, info);
}

static bool
is_late(const siginfo_t *info)
{
	return (info->si_code == SI_TIMER) !=
		(guest.clock == COLLECTOR_POSIX_TIMER);
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
	return !handled(HAZARD_LEASE) ||
		(int64_t)(time - since) < (int64_t)RECORD_LEASE_NS;
}

/* This thread's timer sleeps until someone arms it again. */
static void
disarm(const struct record_area *area, const siginfo_t *info)
{
	const struct { int64_t s, ns; } never[2] = { { 0, 0 }, { 0, 0 } };

	if (info->si_code != SI_TIMER ||
	    (handled(HAZARD_TICK_CALLS) &&
	     __atomic_load_n(&area->confined, __ATOMIC_RELAXED)))
		return;
	(void)sys4(__NR_timer_settime, (uint64_t)info->si_timerid, 0,
		   (uint64_t)never, 0);
}

static bool
was_blocked(const void *context)
{
	/* the kernel's mask, not libc's */
	const uint64_t *mask = (const uint64_t *)
		&((const ucontext_t *)context)->uc_sigmask;

	return guest.signo && *mask >> (guest.signo - 1) & 1;
}

/* Calls that let signals in for their time, and say EINTR to any. */
static bool
lets_in(uint32_t nr)
{
	return nr == __NR_ppoll || nr == __NR_pselect6 ||
		nr == __NR_epoll_pwait || nr == __NR_epoll_pwait2 ||
		nr == __NR_io_pgetevents || nr == __NR_rt_sigsuspend;
}

/*
 * How long is this instruction, if it is one that puts an argument into its
 * register and leaves eax alone? 0: it is another. Reads no more than four
 * bytes.
 */
static uint32_t
argument_size(const unsigned char *p)
{
	enum { MOV_IMM = 0xb8, MOV_TO = 0x89, MOV = 0x8b, LEA = 0x8d,
	       XOR_TO = 0x31, SP = 4, NO_BASE = 5 };
	const uint32_t rex = (*p & 0xf0) == 0x40 ? *p++ : 0;
	const uint32_t head = rex ? 3 : 2;	/* with its operands' byte */
	const uint32_t op = p[0], mod = p[1] >> 6, rm = p[1] & 7;
	const uint32_t reg = (p[1] >> 3 & 7) | (rex & 4) << 1;
	const uint32_t to = rm | (rex & 1) << 3;

	if ((op & 0xf8) == MOV_IMM)
		return (op & 7) | (rex & 1) ? head - 1 + (rex & 8 ? 8 : 4) : 0;
	if (op == MOV_TO || op == XOR_TO)
		return mod == 3 && to ? head : 0;
	if ((op != MOV && op != LEA) || !reg)
		return 0;
	if (mod == 3)
		return head;
	if (mod == 0 && (rm == NO_BASE ||
			 (rm == SP && (p[2] & 7) == NO_BASE)))
		return head + (rm == SP) + 4;
	return head + (rm == SP) + (mod == 0 ? 0 : mod == 1 ? 1 : 4);
}

/*
 * The number of the call that ends before pc; 0: not to be seen, as where a
 * function gets it as an argument. Compilers put it into eax right before the
 * call, or some of its arguments come in between. The bytes before the call's
 * page may not be there.
 */
static uint32_t
call_before(const unsigned char *pc)
{
	enum { MOV_EAX = 0xb8, MOV_BYTES = 5, MOST = 40 };
	const unsigned char *call = pc - 2, *at, *p;
	const uint64_t there = (uint64_t)call & (PAGE_BYTES - 1);
	uint32_t back, size, nr;

	if (call[0] != 0x0f || call[1] != 0x05)
		return 0;
	for (back = MOV_BYTES; back <= MOST && back <= there; back++) {
		at = call - back;
		memcpy(&nr, at + 1, sizeof nr);
		if (*at != MOV_EAX || !lets_in(nr))
			continue;
		for (p = at + MOV_BYTES; p < call; p += size)
			if (!(size = argument_size(p)))
				break;
		if (p == call)
			return nr;
	}
	return 0;
}

/* The call that a late tick has ended begins again: nothing has come for the
 * program. */
static void
begin_again(void *context)
{
	enum { CALL_BYTES = 2 };
	greg_t *g = ((ucontext_t *)context)->uc_mcontext.gregs;
	uint32_t nr;

	if (g[REG_RAX] != -EINTR || !handled(HAZARD_LATE_TICK))
		return;
	nr = call_before((const unsigned char *)g[REG_RIP]);
	if (!nr)
		return;
	g[REG_RIP] -= CALL_BYTES;
	g[REG_RAX] = nr;
}

/*
 * Where a system call has returned to, or is about to begin again, rcx and r11
 * are what the instruction has left there (the kernel keeps them so for who
 * interrupts it). Code that has run on has something else in them.
 */
static bool
was_in_call(const void *context)
{
	enum { CALL_BYTES = 2 };
	const greg_t *g = ((const ucontext_t *)context)->uc_mcontext.gregs;
	const uint64_t behind = (uint64_t)g[REG_RCX];
	const uint64_t pc = (uint64_t)g[REG_RIP];

	return (behind == pc || behind == pc + CALL_BYTES) &&
		g[REG_R11] == g[REG_EFL];
}

static void
write_record(struct record_area *area, struct record_window *w, uint32_t tid,
	     uint32_t weight, uint64_t time, const void *context)
{
	uint32_t most;
	struct record *rec = hot_ring_reserve(area, w, &most), *again;

	if (!rec) {
		w->lost += weight;
		count(&area->lost[RECORD_LOST_FULL], weight);
		return;
	}
	rec->tid = tid;
	rec->weight = weight;
	rec->time_ns = time;
	rec->cpu = processor();
	rec->late = was_blocked(context);
	rec->in_call = was_in_call(context);
	hot_stack_walk(area, context, rec, most);
	/* rare: what is deeper than the end of the ring is long */
	if (rec->end == RECORD_TOO_DEEP &&
	    (again = hot_ring_more(area, w, rec, &most))) {
		rec = again;
		hot_stack_walk(area, context, rec, most);
	}
	count(&area->ends[rec->end], 1);
	count(&area->samples, 1);
	hot_ring_commit(w, rec);
}

static void
tick(struct record_area *area, uint32_t tid, const siginfo_t *info,
     const void *context)
{
	const uint32_t weight = info->si_code == SI_TIMER &&
		info->si_overrun > 0 ? 1 + (uint32_t)info->si_overrun : 1;
	struct record_window *w;
	uint64_t time;

	if (is_late(info) || !__atomic_load_n(&area->on, __ATOMIC_ACQUIRE)) {
		count(&area->lost[RECORD_LOST_OFF], weight);
		return;
	}
	time = now();
	if (!lease_holds(area, time)) {
		count(&area->lost[RECORD_LOST_LEASE], weight);
		disarm(area, info);	/* nobody listens */
		return;
	}
	if (!handled(HAZARD_TICK_CALLS))
		(void)sys4(__NR_getpid, 0, 0, 0, 0);
	w = hot_ring_window(area, tid);
	if (!w) {
		count(&area->lost[RECORD_LOST_WINDOW], weight);
		return;
	}
	/* the tracer takes it back; before the next one is due */
	if (was_blocked(context))
		disarm(area, info);
	write_record(area, w, tid, weight, time, context);
	hot_ring_leave(w);
}

void
hot_handle(int signo, siginfo_t *info, void *context)
{
	struct record_area *area;
	uint32_t tid;

	(void)signo;
	__atomic_fetch_add(&guest.inside, 1, __ATOMIC_SEQ_CST);
	/* in a forked child nothing ticks for us, and there is no area */
	area = forked() ? NULL : __atomic_load_n(&guest.area,
						 __ATOMIC_SEQ_CST);
	tid = area ? thread_of(area, info) : 0;
	if (tid)
		tick(area, tid, info, context);
	else if (area)
		__atomic_fetch_add(&area->foreign, 1, __ATOMIC_RELAXED);
	/* whosever: by the default it would not have ended the call */
	if (area && was_blocked(context))
		begin_again(context);
	__atomic_fetch_sub(&guest.inside, 1, __ATOMIC_SEQ_CST);
}
