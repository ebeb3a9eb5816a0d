/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * The part of a gate that looks at the thread's stack. The kernel writes a
 * handler's frame below sp, whatever sp points to, or to the alternate stack.
 * So a stack must be known, and have the room:
 *
 *	the alternate stack, if the thread has one
 *	else the one that its entry has, from an earlier look
 *	else the main stack, of the first thread
 *	else the one that the thread's descriptor describes: libc wrote that;
 *	sp, and with glibc the descriptor itself, must lie in it
 *
 * The first of them that sp lies in decides. Near the end of one, the alternate
 * stack aside, a program may have guards of its own, as a JVM has, which come
 * and go: there the pages that the kernel would write to must be there.
 */
#include "gate.h"
#include "machine.h"

enum {
	NEAR_END = 32 << 10,	/* a JVM's guards are 16 KB */
	PAGE = 4096,		/* at least */
	EXITS = 80,
	/* by three stacks of which each page is looked at, and a few more */
	FIXED_EXITS = 10,
};
_Static_assert((EXITS - FIXED_EXITS) / 3 >= GATE_ROOM_MOST / PAGE + 2, "exits");

struct exits {			/* jumps to one place */
	size_t at[EXITS], n;
};

static void
exit_by(struct exits *e, size_t jump)
{
	e->at[e->n++] = jump;
}

static void
exits_here(struct code *c, const struct exits *e)
{
	size_t i;

	for (i = 0; i < e->n; i++)
		jump_here(c, e->at[i]);
}

void
gate_save_sp(struct code *c)
{
	load(c, BPF_DW, BPF_REG_2, BPF_REG_1, machine_event_sp);
	store(c, BPF_DW, BPF_REG_10, SP_AT, BPF_REG_2);
}

/* Passes where the pages below sp are there, to which so many bytes go. */
static void
check_pages(struct code *c, size_t bytes, struct exits *passes,
	    struct exits *holds)
{
	for (size_t below = bytes; below <= bytes; below -= PAGE) {
		load(c, BPF_DW, BPF_REG_3, BPF_REG_10, (size_t)SP_AT);
		with(c, BPF_ADD, BPF_REG_3, -(int)below);
		move(c, BPF_REG_1, BPF_REG_10);
		with(c, BPF_ADD, BPF_REG_1, WORD_AT);
		with(c, BPF_MOV, BPF_REG_2, sizeof(uint64_t));
		call(c, BPF_FUNC_probe_read_user);
		exit_by(holds, jump_if(c, BPF_JNE, BPF_REG_0, 0));
	}
	exit_by(passes, jump(c));
}

/* Where sp is between registers 2 and 3: passes with room, holds without. Else
 * it goes on. */
static void
check_bounds(struct code *c, size_t bytes, struct exits *passes,
	     struct exits *holds)
{
	const int needed = (int)bytes + GATE_RED_ZONE;
	size_t above, below;

	load(c, BPF_DW, BPF_REG_1, BPF_REG_10, (size_t)SP_AT);
	above = jump_if_regs(c, BPF_JGT, BPF_REG_1, BPF_REG_3);
	below = jump_if_regs(c, BPF_JLT, BPF_REG_1, BPF_REG_2);
	with_reg(c, BPF_SUB, BPF_REG_1, BPF_REG_2);
	exit_by(passes, jump_if(c, BPF_JGE, BPF_REG_1, needed + NEAR_END));
	exit_by(holds, jump_if(c, BPF_JLT, BPF_REG_1, needed));
	check_pages(c, (size_t)needed, passes, holds);
	jump_here(c, above);
	jump_here(c, below);
}

/* The kernel stays on it if the thread is on it, and else goes to its top, if
 * the handler is to run there. */
static void
check_alternate(struct code *c, const struct places *at, size_t bytes,
		bool goes_there, struct exits *passes, struct exits *holds)
{
	size_t none, at_end, outside;

	gate_read_task(c, sizeof(uint64_t), at->alternate_size);
	none = jump_if(c, BPF_JEQ, BPF_REG_1, 0);
	store(c, BPF_DW, BPF_REG_10, SIZE_AT, BPF_REG_1);
	gate_read_task(c, sizeof(uint64_t), at->alternate);
	load(c, BPF_DW, BPF_REG_2, BPF_REG_10, (size_t)SP_AT);
	with_reg(c, BPF_SUB, BPF_REG_2, BPF_REG_1);
	load(c, BPF_DW, BPF_REG_3, BPF_REG_10, (size_t)SIZE_AT);
	at_end = jump_if(c, BPF_JEQ, BPF_REG_2, 0);
	outside = jump_if_regs(c, BPF_JGT, BPF_REG_2, BPF_REG_3);
	exit_by(passes, jump_if(c, BPF_JGE, BPF_REG_2,
				(int)bytes + GATE_RED_ZONE));
	exit_by(holds, jump(c));
	jump_here(c, at_end);
	jump_here(c, outside);
	if (goes_there) {
		exit_by(passes, jump_if(c, BPF_JGE, BPF_REG_3, (int)bytes));
		exit_by(holds, jump(c));
	}
	jump_here(c, none);
}

static void
check_entry(struct code *c, int entry, size_t bytes, struct exits *passes,
	    struct exits *holds)
{
	load(c, BPF_DW, BPF_REG_2, entry, offsetof(struct entry, news.stack.low));
	load(c, BPF_DW, BPF_REG_3, entry, offsetof(struct entry, news.stack.high));
	check_bounds(c, bytes, passes, holds);
}

/* Others may have theirs within the first thread's. */
static void
check_main(struct code *c, size_t bytes, struct exits *passes,
	   struct exits *holds)
{
	size_t another;

	load(c, BPF_W, BPF_REG_1, BPF_REG_10, (size_t)IDS_AT);
	load(c, BPF_W, BPF_REG_2, BPF_REG_10, (size_t)IDS_AT + 4);
	another = jump_if_regs(c, BPF_JNE, BPF_REG_1, BPF_REG_2);
	check_entry(c, BOUNDS, bytes, passes, holds);
	jump_here(c, another);
}

/* From three words to bounds in registers 2 and 3. */
static void
read_words(struct code *c, struct exits *holds)
{
	const int at = WORDS_AT, word = sizeof(uint64_t);
	size_t is_low, done;

	load(c, BPF_DW, BPF_REG_2, BPF_REG_10, (size_t)at);
	exit_by(holds, jump_if(c, BPF_JEQ, BPF_REG_2, 0));
	move(c, BPF_REG_3, BPF_REG_2);
	load(c, BPF_DW, BPF_REG_4, BPF_REG_10, (size_t)(at + word));
	load(c, BPF_W, BPF_REG_1, BOUNDS, offsetof(struct entry, form));
	is_low = jump_if(c, BPF_JEQ, BPF_REG_1, DESCRIPTOR_HAS_LOW);
	with_reg(c, BPF_SUB, BPF_REG_2, BPF_REG_4);
	done = jump(c);
	jump_here(c, is_low);
	with_reg(c, BPF_ADD, BPF_REG_3, BPF_REG_4);
	load(c, BPF_DW, BPF_REG_4, BPF_REG_10, (size_t)(at + 2 * word));
	with_reg(c, BPF_ADD, BPF_REG_2, BPF_REG_4);
	/* what else lies there is no description of the thread's own stack */
	load(c, BPF_DW, BPF_REG_1, BPF_REG_10, (size_t)WORD_AT);
	exit_by(holds, jump_if_regs(c, BPF_JLT, BPF_REG_1, BPF_REG_2));
	exit_by(holds, jump_if_regs(c, BPF_JGE, BPF_REG_1, BPF_REG_3));
	jump_here(c, done);
}

static void
check_descriptor(struct code *c, const struct places *at, size_t bytes,
		 struct exits *passes, struct exits *holds)
{
	size_t no_entry, known;

	load(c, BPF_W, BPF_REG_1, BOUNDS, offsetof(struct entry, form));
	exit_by(holds, jump_if(c, BPF_JEQ, BPF_REG_1, DESCRIPTOR_UNKNOWN));
	gate_read_task(c, sizeof(uint64_t), at->thread_pointer);
	load(c, BPF_DW, BPF_REG_3, BOUNDS, offsetof(struct entry, words_at));
	with_reg(c, BPF_ADD, BPF_REG_3, BPF_REG_1);
	move(c, BPF_REG_1, BPF_REG_10);
	with(c, BPF_ADD, BPF_REG_1, WORDS_AT);
	with(c, BPF_MOV, BPF_REG_2, 3 * sizeof(uint64_t));
	call(c, BPF_FUNC_probe_read_user);
	exit_by(holds, jump_if(c, BPF_JNE, BPF_REG_0, 0));
	read_words(c, holds);
	no_entry = jump_if(c, BPF_JEQ, ENTRY, 0);
	/* what was found in the maps says more than a descriptor */
	load(c, BPF_DW, BPF_REG_1, ENTRY, offsetof(struct entry, news.stack.low));
	known = jump_if(c, BPF_JNE, BPF_REG_1, 0);
	store(c, BPF_DW, ENTRY, offsetof(struct entry, news.stack.low), BPF_REG_2);
	store(c, BPF_DW, ENTRY, offsetof(struct entry, news.stack.high), BPF_REG_3);
	jump_here(c, no_entry);
	jump_here(c, known);
	check_bounds(c, bytes, passes, holds);
}

void
gate_check_stack(struct code *c, const struct places *at, int map, size_t bytes,
		 bool alternate)
{
	struct exits passes = { .n = 0 }, holds = { .n = 0 };
	size_t no_entry;

	check_alternate(c, at, bytes, alternate, &passes, &holds);
	no_entry = jump_if(c, BPF_JEQ, ENTRY, 0);
	check_entry(c, ENTRY, bytes, &passes, &holds);
	jump_here(c, no_entry);
	with(c, BPF_MOV, BPF_REG_1, GATE_ALL);
	store(c, BPF_W, BPF_REG_10, KEY_AT, BPF_REG_1);
	gate_look_up(c, map, BOUNDS);
	exit_by(&holds, jump_if(c, BPF_JEQ, BOUNDS, 0));
	check_main(c, bytes, &passes, &holds);
	check_descriptor(c, at, bytes, &passes, &holds);
	exits_here(c, &holds);
	no_entry = jump_if(c, BPF_JEQ, ENTRY, 0);
	load(c, BPF_DW, BPF_REG_1, BPF_REG_10, (size_t)SP_AT);
	store(c, BPF_DW, ENTRY, offsetof(struct entry, news.sp), BPF_REG_1);
	jump_here(c, no_entry);
	gate_hold_back(c, map, GATE_NARROW);
	exits_here(c, &passes);
}
