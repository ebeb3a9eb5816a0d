/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * What the seccomp filters of a thread would do to the calls that ours make.
 * While we trace a thread its filters are suspended; should we be killed they
 * hold again, for whatever the thread of ours has not done yet, and a filter
 * that kills would end the program. So each filter is asked beforehand, for
 * each of these calls, and one that would do more than refuse it is a reason
 * not to come.
 *
 * The kernel has them as classic BPF (PTRACE_SECCOMP_GET_FILTER, Linux 4.4).
 * Its jumps go forward only, so one pass has all that can be known: a value is
 * known or not (the arguments of a call are not), and a jump that depends on
 * what is not known goes both ways. A verdict is the worst one that is reached
 * (linux/seccomp.h orders the actions).
 */
#include <errno.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ptrace.h>
#include <sys/syscall.h>

#include <linux/audit.h>
#include <linux/filter.h>
#include <linux/seccomp.h>

#include "hazard.h"
#include "private.h"

enum { MANY_FILTERS = 1000 };

/* Those of libc (as seen with glibc 2.36) for dlopen, a thread and its
 * end, then our own. Refused, they fail, and our thread ends early. */
static const uint16_t may_fail[] = {
	SYS_read, SYS_close, SYS_fstat, SYS_mmap, SYS_mprotect, SYS_munmap,
	SYS_brk, SYS_rt_sigaction, SYS_rt_sigprocmask, SYS_pread64,
	SYS_mremap, SYS_madvise, SYS_futex, SYS_sched_yield, SYS_openat,
	SYS_newfstatat, SYS_lseek, SYS_clone, SYS_clone3, SYS_set_robust_list,
	SYS_rseq, SYS_sched_getaffinity, SYS_gettid, SYS_getrandom,
	SYS_prlimit64, SYS_memfd_create, SYS_fcntl,
	SYS_open, SYS_getdents64, SYS_getpid, SYS_getppid, SYS_tgkill,
	SYS_nanosleep, SYS_timer_create, SYS_timer_settime, SYS_timer_delete,
};
/* Without these there is no end, and no way back. */
static const uint16_t must_not_fail[] = { SYS_exit, SYS_rt_sigreturn };

struct value {
	bool known;
	uint32_t is;
};

/* Before an instruction. */
struct state {
	bool reached;
	struct value a, x;
};

static struct value
known(uint32_t is)
{
	return (struct value){ true, is };
}

static const struct value unknown = { false, 0 };

static void
join_value(struct value *to, struct value v)
{
	if (!v.known || to->is != v.is)
		*to = unknown;
}

static void
join(struct state *to, const struct state *s)
{
	if (!to->reached) {
		*to = *s;
		return;
	}
	if (to->a.known)
		join_value(&to->a, s->a);
	if (to->x.known)
		join_value(&to->x, s->x);
}

/* ---- instructions -------------------------------------------------------- */

static struct value
load(const struct sock_filter *f, uint32_t call)
{
	switch (BPF_MODE(f->code)) {
	case BPF_IMM:
		return known(f->k);
	case BPF_LEN:
		return known(sizeof(struct seccomp_data));
	case BPF_ABS:
		if (f->k == offsetof(struct seccomp_data, nr))
			return known(call);
		if (f->k == offsetof(struct seccomp_data, arch))
			return known(AUDIT_ARCH_X86_64);
		return unknown;
	default:
		return unknown;		/* its scratch memory */
	}
}

static struct value
compute(const struct sock_filter *f, const struct state *s)
{
	const struct value by = BPF_SRC(f->code) == BPF_X ? s->x : known(f->k);

	if (!s->a.known || !by.known)
		return unknown;
	switch (BPF_OP(f->code)) {
	case BPF_AND:
		return known(s->a.is & by.is);
	case BPF_OR:
		return known(s->a.is | by.is);
	case BPF_ADD:
		return known(s->a.is + by.is);
	case BPF_SUB:
		return known(s->a.is - by.is);
	default:
		return unknown;
	}
}

/* -1: it depends */
static int
is_met(const struct sock_filter *f, const struct state *s)
{
	const struct value by = BPF_SRC(f->code) == BPF_X ? s->x : known(f->k);

	if (!s->a.known || !by.known)
		return -1;
	switch (BPF_OP(f->code)) {
	case BPF_JEQ:
		return s->a.is == by.is;
	case BPF_JGT:
		return s->a.is > by.is;
	case BPF_JGE:
		return s->a.is >= by.is;
	case BPF_JSET:
		return (s->a.is & by.is) != 0;
	default:
		return -1;
	}
}

static void
jump(const struct sock_filter *f, struct state *s)
{
	const int met = is_met(f, s);

	if (BPF_OP(f->code) == BPF_JA) {
		join(s + 1 + f->k, s);
		return;
	}
	if (met != 0)
		join(s + 1 + f->jt, s);
	if (met != 1)
		join(s + 1 + f->jf, s);
}

static void
step(const struct sock_filter *f, struct state *s, uint32_t call)
{
	struct state next = *s;

	switch (BPF_CLASS(f->code)) {
	case BPF_JMP:
		jump(f, s);
		return;
	case BPF_LD:
		next.a = load(f, call);
		break;
	case BPF_LDX:
		next.x = load(f, call);
		break;
	case BPF_ALU:
		next.a = compute(f, s);
		break;
	case BPF_MISC:
		if (BPF_MISCOP(f->code) == BPF_TAX)
			next.x = s->a;
		else
			next.a = s->x;
		break;
	default:
		break;			/* stores */
	}
	join(s + 1, &next);
}

/* ---- verdicts ------------------------------------------------------------ */

/* SECCOMP_RET_*, the most severe that may come. The kernel has checked that no
 * jump leaves the program and that its last instruction returns. */
static uint32_t
verdict(const struct sock_filter *f, size_t n, struct state *s, uint32_t call)
{
	uint32_t worst = SECCOMP_RET_ALLOW;

	memset(s, 0, n * sizeof *s);
	s[0].reached = true;
	for (size_t i = 0; i < n; i++) {
		uint32_t action = SECCOMP_RET_KILL_PROCESS;

		if (!s[i].reached)
			continue;
		if (BPF_CLASS(f[i].code) != BPF_RET) {
			step(&f[i], &s[i], call);
			continue;
		}
		if (BPF_RVAL(f[i].code) == BPF_K)
			action = f[i].k & SECCOMP_RET_ACTION_FULL;
		else if (s[i].a.known)
			action = s[i].a.is & SECCOMP_RET_ACTION_FULL;
		if ((int32_t)action < (int32_t)worst)
			worst = action;
	}
	return worst;
}

bool
filter_spares(const struct sock_filter *f, size_t n)
{
	/* a jump from the last instruction, which is none, has a place */
	struct state *s = xcalloc(n + UINT8_MAX + 2, sizeof *s);
	bool spares = true;

	for (size_t i = 0; spares && i < ARRAY_LEN(may_fail); i++) {
		const uint32_t v = verdict(f, n, s, may_fail[i]);

		spares = v == SECCOMP_RET_ERRNO || v == SECCOMP_RET_LOG ||
			v == SECCOMP_RET_ALLOW;
	}
	for (size_t i = 0; spares && i < ARRAY_LEN(must_not_fail); i++) {
		const uint32_t v = verdict(f, n, s, must_not_fail[i]);

		spares = v == SECCOMP_RET_LOG || v == SECCOMP_RET_ALLOW;
	}
	free(s);
	return spares;
}

int
filter_refuse(void)
{
	(void)fail(FAIL_UNSUITABLE, "its seccomp filter would end it for a "
		   "call of ours, should sonde be killed on its way in");
	return fail_remedy(PLAN_OTHER_ENGINE);
}

int
filter_check(pid_t tid)
{
	if (!handled(HAZARD_FILTER_KILLS))
		return 0;
	for (uintptr_t i = 0; i < MANY_FILTERS; i++) {
		struct sock_filter *f;
		const long n = ptrace(PTRACE_SECCOMP_GET_FILTER, tid, i, NULL);
		bool spares;

		if (n < 0)
			return i > 0 && errno == ENOENT ? 0 : filter_refuse();
		f = xcalloc((size_t)n + 1, sizeof *f);
		spares = ptrace(PTRACE_SECCOMP_GET_FILTER, tid, i, f) == n &&
			filter_spares(f, (size_t)n);
		free(f);
		if (!spares)
			return filter_refuse();
	}
	return filter_refuse();
}

/* ---- while we work -------------------------------------------------------- */

/*
 * What works for us is under no filter meanwhile, also where there is none yet:
 * one may come to all threads at any moment (SECCOMP_FILTER_FLAG_TSYNC), and
 * would end the program for a call of ours. Where the kernel does not permit
 * that, it has to only for a filter that is known.
 */
int
filter_set_options(const struct plan *p, pid_t tid, unsigned long options)
{
	const bool known = p->seccomp && handled(HAZARD_FILTER);

	if (handled(HAZARD_FILTER) &&
	    ptrace(PTRACE_SETOPTIONS, tid, 0,
		   options | PTRACE_O_SUSPEND_SECCOMP) == 0)
		return 0;
	return known || ptrace(PTRACE_SETOPTIONS, tid, 0, options) < 0 ? -1 : 0;
}

/* ---- what a handler needs ------------------------------------------------ */

/* The last one is 0 before it; -1: forbidden, or not shown. */
static int
ask_filter(pid_t tid, uintptr_t i)
{
	const long n = ptrace(PTRACE_SECCOMP_GET_FILTER, tid, i, NULL);
	struct sock_filter *f;
	struct state *s;
	uint32_t v = SECCOMP_RET_KILL_PROCESS;

	if (n < 0)
		return i > 0 && errno == ENOENT ? 0 : -1;
	f = xcalloc((size_t)n + 1, sizeof *f);
	s = xcalloc((size_t)n + UINT8_MAX + 2, sizeof *s);
	if (ptrace(PTRACE_SECCOMP_GET_FILTER, tid, i, f) == n)
		v = verdict(f, (size_t)n, s, SYS_rt_sigreturn);
	free(s);
	free(f);
	return v == SECCOMP_RET_LOG || v == SECCOMP_RET_ALLOW ? 1 : -1;
}

uint32_t
inject_ask_filters(struct target *t, pid_t tid, struct inject_report *report)
{
	enum { PATIENCE_NS = 100 * 1000 * 1000 };
	struct held held;
	uint32_t n = 0;
	int more;

	memset(report, 0, sizeof *report);
	if (!we_may_suspend_seccomp() ||
	    thread_catch(t, tid, PATIENCE_NS, &held) < 0)
		return 0;
	while ((more = ask_filter(tid, n)) > 0 && n < MANY_FILTERS)
		n++;
	report->donor_stop_ns = held_stood_ns(&held);
	(void)thread_release(t, &held);	/* it may have ended */
	return more == 0 ? n : 0;
}

bool
thread_is_dispatched(pid_t tid)
{
	enum { GET_DISPATCH = 0x4211 };
	struct { uint64_t mode, selector, offset, length; } d = { 0, 0, 0, 0 };

	/* kernels before 6.4 do not tell */
	return ptrace((enum __ptrace_request)GET_DISPATCH, tid, sizeof d,
		      &d) == 0 && d.mode != 0;
}
