/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Programs that confine themselves while they are traced. A seccomp filter may
 * end them for a system call of ours, strict mode and PR_SET_TSC for a look at
 * the processor's clock. So both ways of libc to ask for it are hooked, and it
 * is known before it holds: from then on hooks make no system call and, where
 * the clock goes, record nothing. That stays so: a filter is never taken back.
 * No frame of ours stands below the original: it finds its arguments, however
 * many, where they were.
 */
#include "hazard.h"
#include "hooks_io.h"

#include <asm/unistd.h>

uint32_t hot_clock, hot_confined, hot_clockless;

enum { SET_SECCOMP = 22, SET_TSC = 26, TSC_SIGSEGV = 2 };
enum { SECCOMP_STRICT = 1, SECCOMP_FILTER = 2, SECCOMP_BY_CALL_STRICT = 0,
       SECCOMP_BY_CALL_FILTER = 1 };

static void
lose_clock(void)
{
	__atomic_store_n(&hot_clockless, 1, __ATOMIC_RELAXED);
	__atomic_store_n(&hot_clock, 0, __ATOMIC_SEQ_CST);
}

/* The tracer asks, too, and the handler of ticks. */
static void
confine(void)
{
	const struct guest_origin *origin;
	struct trace_area *traces;
	struct record_area *records;
	struct trace_turn turn = { .th = hot_trace_thread() };

	__atomic_store_n(&hot_confined, 1, __ATOMIC_SEQ_CST);
	if (!turn.th)
		return;
	__asm__ volatile("incl %0" : "+m"(turn.th->inside) : :
			 "memory", "cc");
	origin = __atomic_load_n(&guest.origin, __ATOMIC_ACQUIRE);
	traces = origin ? __atomic_load_n(&origin->trace, __ATOMIC_ACQUIRE) :
		NULL;
	records = traces ? __atomic_load_n(&guest.area, __ATOMIC_ACQUIRE) :
		NULL;
	if (traces)
		__atomic_store_n(&traces->confined, 1, __ATOMIC_RELAXED);
	if (records)
		__atomic_store_n(&records->confined, 1, __ATOMIC_RELAXED);
	hot_trace_end(&turn);
}

static void
look_at_prctl(int option, uint64_t argument)
{
	if (!handled(HAZARD_TRACE_CONFINED))
		return;
	if ((option == SET_SECCOMP && argument == SECCOMP_STRICT) ||
	    (option == SET_TSC && argument == TSC_SIGSEGV))
		lose_clock();
	if (option == SET_SECCOMP)
		confine();
}

/* What it stands before. */
void *
hot_confine_prctl(uint64_t option, uint64_t argument)
{
	look_at_prctl((int)option, argument);
	return hot_originals[TRACE_PRCTL];
}

void *
hot_confine_syscall(uint64_t nr, uint64_t a, uint64_t b)
{
	enum { X32 = 0x40000000 };
	const uint32_t call = (uint32_t)nr & ~(uint32_t)X32;

	if (call == __NR_prctl)
		look_at_prctl((int)a, b);
	else if (call == __NR_seccomp && (uint32_t)a == SECCOMP_BY_CALL_STRICT)
		look_at_prctl(SET_SECCOMP, SECCOMP_STRICT);
	else if (call == __NR_seccomp && (uint32_t)a == SECCOMP_BY_CALL_FILTER)
		look_at_prctl(SET_SECCOMP, SECCOMP_FILTER);
	return hot_originals[TRACE_SYSCALL];
}

#define PASSES_ON(name, looks) \
__attribute__((naked)) void \
name(void) \
{ \
	__asm__("subq $56, %rsp\n\t" \
		".cfi_adjust_cfa_offset 56\n\t" \
		"movq %rdi, (%rsp)\n\t" \
		"movq %rsi, 8(%rsp)\n\t" \
		"movq %rdx, 16(%rsp)\n\t" \
		"movq %rcx, 24(%rsp)\n\t" \
		"movq %r8, 32(%rsp)\n\t" \
		"movq %r9, 40(%rsp)\n\t" \
		"movq %rax, 48(%rsp)\n\t" \
		"call " #looks "\n\t" \
		"movq %rax, %r11\n\t" \
		"movq (%rsp), %rdi\n\t" \
		"movq 8(%rsp), %rsi\n\t" \
		"movq 16(%rsp), %rdx\n\t" \
		"movq 24(%rsp), %rcx\n\t" \
		"movq 32(%rsp), %r8\n\t" \
		"movq 40(%rsp), %r9\n\t" \
		"movq 48(%rsp), %rax\n\t" \
		"addq $56, %rsp\n\t" \
		".cfi_adjust_cfa_offset -56\n\t" \
		"jmp *%r11"); \
}

PASSES_ON(hook_PRCTL, hot_confine_prctl)
PASSES_ON(hook_SYSCALL, hot_confine_syscall)
