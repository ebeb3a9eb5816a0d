/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * The first instruction of a function that has a breakpoint is carried out
 * for the thread, by us or by a step: either way registers, flags and stack
 * are what the processor makes of it. Each function here has a twin without
 * a breakpoint, called with the same registers.
 * mission: X2
 */
#include "control-test.h"

#ifndef __x86_64__
int
main(void)
{
	printf("SKIP: x86-64 only\n");
	return SKIPPED;
}
#else

enum { ROUNDS = 60, REGS = 9, FLAGS = 8 };
enum { ALL_FLAGS = 0x8d5, NO_AF = 0x8c5 };	/* AF is undefined after and */

/* rax rcx rdx rsi rdi r8 r9 r10, and the flags, before and after */
extern void enter(void (*function)(void), const uint64_t *in, uint64_t *out);
__asm__(".text\n"
	".globl enter\n.type enter, @function\n"
	"enter:\n"
	"	push %rbx\n	push %rbp\n	push %r12\n"
	"	mov %rdi, %rbx\n	mov %rsi, %rbp\n	mov %rdx, %r12\n"
	"	push 64(%rbp)\n	popfq\n"
	"	mov 0(%rbp), %rax\n	mov 8(%rbp), %rcx\n"
	"	mov 16(%rbp), %rdx\n	mov 24(%rbp), %rsi\n"
	"	mov 32(%rbp), %rdi\n	mov 40(%rbp), %r8\n"
	"	mov 48(%rbp), %r9\n	mov 56(%rbp), %r10\n"
	"	call *%rbx\n"
	"	mov %rax, 0(%r12)\n	mov %rcx, 8(%r12)\n"
	"	mov %rdx, 16(%r12)\n	mov %rsi, 24(%r12)\n"
	"	mov %rdi, 32(%r12)\n	mov %r8, 40(%r12)\n"
	"	mov %r9, 48(%r12)\n	mov %r10, 56(%r12)\n"
	"	pushfq\n	pop 64(%r12)\n"
	"	pop %r12\n	pop %rbp\n	pop %rbx\n"
	"	ret\n"
	".size enter, . - enter\n");

/* number, first instruction, what undoes it on the stack */
#define TWINS(TWIN) \
	TWIN(0, "endbr64", "", ALL_FLAGS) \
	TWIN(1, "push %rdi", "mov (%rsp), %rax; lea 8(%rsp), %rsp", ALL_FLAGS) \
	TWIN(2, "push %r10", "mov (%rsp), %rax; lea 8(%rsp), %rsp", ALL_FLAGS) \
	TWIN(3, "push %rsp", "pop %rax; sub %rsp, %rax", ALL_FLAGS) \
	TWIN(4, "sub $0x18, %rsp", "lea 0x18(%rsp), %rsp", ALL_FLAGS) \
	TWIN(5, "sub $0x1234, %rsp", "lea 0x1234(%rsp), %rsp", ALL_FLAGS) \
	TWIN(6, "mov %rdi, %r9", "", ALL_FLAGS) \
	TWIN(7, "mov %esi, %eax", "", ALL_FLAGS) \
	TWIN(8, ".byte 0x4c, 0x8b, 0xc7 # mov", "", ALL_FLAGS) \
	TWIN(9, "xor %eax, %eax", "", NO_AF) \
	TWIN(10, "xor %r8d, %r8d", "", NO_AF) \
	TWIN(11, "xor %rax, %rcx", "", NO_AF) \
	TWIN(12, "test %rdi, %rdi", "", NO_AF) \
	TWIN(13, "test %esi, %edx", "", NO_AF) \
	TWIN(14, "cmp %rsi, %rdi", "", ALL_FLAGS) \
	TWIN(15, "cmp %esi, %r8d", "", ALL_FLAGS) \
	TWIN(16, "cmp $-1, %rdi", "", ALL_FLAGS) \
	TWIN(17, "cmp $0x7fffffff, %edx", "", ALL_FLAGS) \
	TWIN(18, "sub $0x70, %ecx", "", ALL_FLAGS) \
	TWIN(19, "sub $-0x7000, %r10", "", ALL_FLAGS) \
	TWIN(20, "mov $0x89abcdef, %eax", "", ALL_FLAGS) \
	TWIN(21, "mov $0x1234, %r9d", "", ALL_FLAGS) \
	TWIN(22, "lea enter(%rip), %r8", "", ALL_FLAGS) \
	TWIN(23, "nop", "", ALL_FLAGS) \
	TWIN(24, ".byte 0x66, 0x90", "", ALL_FLAGS) \
	TWIN(25, "nopw 0x0(%rax,%rax,1)", "", ALL_FLAGS) \
	TWIN(26, "nopl 0x12345678(%rax)", "", ALL_FLAGS) \
	TWIN(27, "add $0x11, %rdi", "", ALL_FLAGS) \
	TWIN(28, "and $-16, %rsi", "", NO_AF) \
	TWIN(29, "shl $3, %rdx", "", NO_AF) \
	TWIN(30, "movslq %edi, %rax", "", ALL_FLAGS) \
	TWIN(31, "movabs $0x123456789abcdef0, %rax", "", ALL_FLAGS)

#define BODY(number, first, rest, flags) \
	__asm__(".text\n.p2align 4\n" \
		"trapped" #number ":\n	" first "\n	" rest "\n	ret\n" \
		".p2align 4\n" \
		"plain" #number ":\n	" first "\n	" rest "\n	ret\n"); \
	extern void trapped##number(void), plain##number(void);
TWINS(BODY)

static const struct twin {
	const char *first;
	void (*trapped)(void), (*plain)(void);
	uint64_t flags;
} twins[] = {
#define ROW(number, first, rest, flags) \
	{ first, trapped##number, plain##number, flags },
	TWINS(ROW)
};

struct shared {
	_Atomic int ready, go, wrong, first_wrong;
};

static struct shared *sh;

static void
fill(uint64_t *in, uint64_t *state)
{
	static const uint64_t edges[] = {
		0, 1, ~UINT64_C(0), UINT64_C(1) << 63, 0x7fffffff, 0x80000000,
		UINT64_C(0x7fffffffffffffff), 0xffffffff,
	};

	for (int i = 0; i < REGS; i++) {
		*state = *state * UINT64_C(6364136223846793005) + 1;
		in[i] = *state >> 60 < 10 ? *state >> 3 :
			edges[*state >> 40 & 7];
	}
	in[FLAGS] = (in[FLAGS] & ALL_FLAGS) | 0x202;
}

static void
victim(void *arg)
{
	uint64_t in[REGS], out[2][REGS], state = 1;

	(void)arg;
	sh->ready = 1;
	while (!sh->go)
		rest_ms(1);
	for (int k = 0; k < ROUNDS; k++) {
		for (size_t i = 0; i < ARRAY_LEN(twins); i++) {
			const struct twin *t = &twins[i];

			fill(in, &state);
			enter(t->plain, in, out[0]);
			enter(t->trapped, in, out[1]);
			out[0][FLAGS] &= t->flags;
			out[1][FLAGS] &= t->flags;
			if (memcmp(out[0], out[1], sizeof out[0]) == 0)
				continue;
			if (sh->wrong++ == 0)
				sh->first_wrong = (int)i;
		}
	}
	_exit(sh->wrong ? 1 : 0);
}

static bool
ready(void *arg)
{
	(void)arg;
	return sh->ready;
}

static int
run_hits(struct target *t)
{
	struct event ev;
	int hits = 0;

	for (int idle = 0; !target_gone(t) && idle < 10000;) {
		if (!target_next_event(t, &ev)) {
			rest_ms(idle++ > 100 ? 1 : 0);
			continue;
		}
		idle = 0;
		if (ev.kind != EVENT_BREAKPOINT)
			continue;
		hits++;
		if (target_hold_all(t) < 0 ||
		    breakpoint_step_over(t, ev.breakpoint, ev.tid) < 0 ||
		    target_continue_all(t) < 0)
			break;
	}
	return hits;
}

static void
body(void)
{
	sh = shared_page(sizeof *sh);

	const pid_t pid = fork_victim(victim, NULL);
	struct target *t = target_open(pid);
	int hits;

	check(t && await(ready, NULL), "ready");
	check(target_hold_all(t) == 0, "hold");
	for (size_t i = 0; i < ARRAY_LEN(twins); i++)
		check(breakpoint_insert(t, (uint64_t)(uintptr_t)
					twins[i].trapped), "insert");
	check(target_continue_all(t) == 0, "run");
	sh->go = 1;
	hits = run_hits(t);
	check(hits == ROUNDS * (int)ARRAY_LEN(twins), "%d hits", hits);
	check(!sh->wrong, "%d wrong, first: %s", sh->wrong,
	      twins[sh->first_wrong].first);
	check(target_ended_well(t, pid), "the victim came to harm");
	target_close(t);
}

int
main(void)
{
	return run_both(body, 120);
}
#endif
