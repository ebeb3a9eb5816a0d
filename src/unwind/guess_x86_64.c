/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Where unwind data are missing or wrong, the code itself says something: what
 * a function is about to do with its frame pointer, and whom a call before a
 * return address called. Only what leaves no doubt is used, and only for the
 * innermost frame, or one that a signal interrupted: of any other one it is
 * known that it stands at a call.
 */
#include <string.h>

#include "space.h"

enum { WORD = 8, PUSHES_MAX = 8, SYSCALL = 2, END = 10, LEAF_MAX = 4096 };

/* Does code begin so? */
static bool
begins(const unsigned char *code, size_t n, const char *bytes, size_t length)
{
	return n >= length && memcmp(code, bytes, length) == 0;
}

#define BEGINS(code, n, bytes) begins(code, n, bytes, sizeof (bytes) - 1)

static bool
sets_frame_pointer(const unsigned char *code, size_t n)
{
	return BEGINS(code, n, "\x48\x89\xe5") ||	/* mov %rsp, %rbp */
	       BEGINS(code, n, "\x48\x8b\xec");
}

/* syscall; test %rax, %rax; jl error; jz child; ret: glibc's clone, clone3 */
static bool
is_behind_clone(const unsigned char *code, size_t n)
{
	enum { JL_TO = 6 };

	return n >= END &&
	       BEGINS(code, JL_TO, "\x0f\x05\x48\x85\xc0\x7c") &&
	       BEGINS(code + JL_TO + 1, END - JL_TO - 1, "\x74\x01\xc3");
}

bool
guess_makes_thread(const struct unwind_space *space, uint64_t pc)
{
	unsigned char code[END];

	return space_read(space, pc - SYSCALL, code, sizeof code) ==
		sizeof code && is_behind_clone(code, sizeof code);
}

/*
 * code: n bytes from GUESS_BEFORE before pc on. Before `push %rbp; mov %rsp, %rbp`,
 * between the two, and at a return the frame pointer is the caller's, and
 * following it would leave the caller out. libc's calls that make a thread or
 * a process say nothing of the stack behind their system call; there is nothing
 * on it then but the return address, in the parent (walk.c: in the child).
 */
struct step_row
guess_row(const unsigned char *code, size_t n)
{
	enum { PUSH_FP = 0x55, RET = 0xc3, RET_POP = 0xc2 };
	struct step_row row = { .kind = STEP_NONE };
	const unsigned char *at = code + GUESS_BEFORE;

	if (n <= GUESS_BEFORE)
		return row;
	n -= GUESS_BEFORE;
	if (*at == RET || *at == RET_POP || BEGINS(at, n, "\xf3\xc3") ||
	    BEGINS(at, n, "\xf3\x0f\x1e\xfa") ||		/* endbr64 */
	    is_behind_clone(at - SYSCALL, n + SYSCALL) ||
	    (*at == PUSH_FP && sets_frame_pointer(at + 1, n - 1)))
		row = (struct step_row){ .kind = STEP_SP, .cfa = 1 };
	else if (at[-1] == PUSH_FP && sets_frame_pointer(at, n))
		row = (struct step_row){ .kind = STEP_SP, .cfa = 2 };
	return row;
}

static bool
read_slot(const struct step_stack *stack, uint64_t addr, uint64_t *value)
{
	const uint64_t at = addr - stack->base;

	if (stack->size < WORD || at > stack->size - WORD)
		return false;
	memcpy(value, stack->data + at, WORD);
	return true;
}

/* Which function does the instruction before ret call? False: that is not in
 * the instruction, or it is no call. */
static bool
called_there(const struct unwind_space *space, uint64_t ret,
	     uint64_t *function)
{
	enum { CALL = 0xe8, CALL_LENGTH = 5 };
	unsigned char code[CALL_LENGTH];
	int32_t rel;

	if (space_read(space, ret - CALL_LENGTH, code, sizeof code) !=
	    sizeof code || code[0] != CALL)
		return false;
	memcpy(&rel, code + 1, sizeof rel);
	*function = ret + (uint64_t)(int64_t)rel;
	return true;
}

static bool
called(const struct unwind_space *space, uint64_t ret, uint64_t function)
{
	uint64_t at;

	return called_there(space, ret, &at) && at == function;
}

/* Is a frame pointer set up in [from, to), as functions begin? */
static bool
sets_one_between(const struct unwind_space *space, uint64_t from, uint64_t to)
{
	unsigned char code[LEAF_MAX];
	const size_t n = space_read(space, from, code, to - from);

	for (size_t i = 0; i + 1 < n; i++)
		if (code[i] == 0x55 &&
		    sets_frame_pointer(code + i + 1, n - i - 1))
			return true;
	return false;
}

/*
 * A function that calls nothing needs no frame, and gets none although it was
 * compiled with frame pointers: its return address is on top of the stack then,
 * and behind a call of it. No function that has a frame begins between there
 * and pc.
 */
bool
guess_leaf(const struct unwind_space *space, const struct step_stack *stack,
	   const struct step_regs *regs, struct step_regs *caller)
{
	uint64_t ret, function;

	if (!read_slot(stack, regs->sp, &ret) ||
	    !called_there(space, ret, &function) || function > regs->pc ||
	    regs->pc - function >= LEAF_MAX ||
	    sets_one_between(space, function, regs->pc))
		return false;
	*caller = (struct step_regs){
		.pc = ret, .sp = regs->sp + WORD, .fp = regs->fp,
		.depth = regs->depth + 1,
	};
	return true;
}

/* A stub of a call to another object only jumps. */
static bool
is_stub(const struct unwind_space *space, uint64_t function)
{
	unsigned char code[END] = { 0 };
	const size_t n = space_read(space, function, code, sizeof code);
	const size_t at = BEGINS(code, n, "\xf3\x0f\x1e\xfa") ? 4 : 0;

	return n < sizeof code || BEGINS(code + at, n - at, "\xff\x25") ||
		BEGINS(code + at, n - at, "\xf2\xff\x25") ||
		code[at] == 0xe9 || code[at] == 0xeb;
}

bool
guess_skips(const struct unwind_space *space, uint64_t pc, uint64_t ret)
{
	uint64_t function;

	if (!called_there(space, ret, &function) || is_stub(space, function))
		return false;
	return function > pc || (pc - function < LEAF_MAX &&
				 sets_one_between(space, function + 1, pc) &&
				 !sets_one_between(space, function,
						   function + END));
}

/* How many registers a function pushes before it saves the frame pointer, when
 * it begins by pushing some; or PUSHES_MAX. */
static unsigned
pushes_before_fp(const struct unwind_space *space, uint64_t function)
{
	enum { PUSH = 0x50, PUSH_MASK = 0xf8, PUSH_FP = 0x55, REX_B = 0x41 };
	unsigned char code[2 * PUSHES_MAX];
	const size_t n = space_read(space, function, code, sizeof code);
	unsigned pushes = 0;

	for (size_t i = 0; i < n; i++) {
		const bool rex = code[i] == REX_B;

		i += rex;
		if (i == n || (code[i] & PUSH_MASK) != PUSH)
			break;
		if (!rex && code[i] == PUSH_FP)
			return pushes;
		pushes++;
	}
	return PUSHES_MAX;
}

/*
 * glibc's arithmetic in assembly pushes registers and says nothing of it, so
 * that its return address is looked for some words too low. The right one lies
 * behind a call of this very function.
 */
bool
guess_caller(struct unwind_space *space, const struct step_stack *stack,
	     const struct step_regs *regs, struct step_regs *caller)
{
	const struct frames *frames;
	uint64_t bias, ret, fp = regs->fp;
	const struct frame_fde *fde = space_fde(space, regs->pc, &frames,
						&bias);

	for (unsigned i = 0; fde && i < PUSHES_MAX; i++) {
		if (!read_slot(stack, regs->sp + i * WORD, &ret))
			return false;
		if (!called(space, ret, fde->start + bias))
			continue;

		const unsigned before =
			pushes_before_fp(space, fde->start + bias);

		if (before < i)
			(void)read_slot(stack, regs->sp +
					(i - 1 - before) * WORD, &fp);
		*caller = (struct step_regs){
			.pc = ret, .sp = regs->sp + (i + 1) * WORD,
			.fp = fp, .depth = regs->depth + 1,
		};
		return true;
	}
	return false;
}
