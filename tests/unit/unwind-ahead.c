/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * mission: S4, S5
 *
 * What step_ahead makes of a stack is what step_frame makes of it without a
 * memo, frame for frame: with a window that ends at any word or is in doubt
 * from there on, a memo that is empty, full, of other tables or damaged in any
 * bit, and a limit at any depth. And it does go ahead, over most of the stack.
 */
#include <ucontext.h>

#include "unwind-help.h"

enum {
	CALLS = 40, FRAMES_MAX = 256, DAMAGES = 3000,
	/* of tables and stacks that are made up */
	MADE = 40000, RANGES = 3, ROWS = 40, WORDS = 256, CODE = 512,
};
#define CODE_AT		UINT64_C(0x100000000000)
#define STACK_AT	UINT64_C(0x7fff00000000)

struct seen {
	struct step_regs regs;
	enum step_result end;
	uint32_t count, ahead;
	uint64_t pcs[FRAMES_MAX];
};

static struct help_space h;
static struct step_memo memo[STEP_MEMO];
static struct step_tables plain, recalling;
static struct step_regs leaf;
static struct step_stack whole;

static struct seen
by_frames(const struct step_stack *stack, uint32_t most)
{
	struct seen s = { .regs = leaf };

	while (s.count < most) {
		s.end = step_frame(&plain, stack, &s.regs);
		if (s.end != STEP_OK)
			break;
		s.pcs[s.count++] = s.regs.pc;
	}
	return s;
}

static struct seen
by_leaps(const struct step_stack *stack, uint32_t most)
{
	struct seen s = { .regs = leaf };

	for (;;) {
		const uint32_t n = step_ahead(&recalling, stack, &s.regs,
					      s.pcs + s.count, most - s.count);

		s.count += n;
		s.ahead += n;
		if (s.count >= most)
			break;
		s.end = step_frame(&recalling, stack, &s.regs);
		if (s.end != STEP_OK)
			break;
		s.pcs[s.count++] = s.regs.pc;
	}
	return s;
}

static bool
same(const struct seen *a, const struct seen *b)
{
	return a->count == b->count && a->end == b->end &&
		memcmp(&a->regs, &b->regs, sizeof a->regs) == 0 &&
		memcmp(a->pcs, b->pcs, a->count * sizeof a->pcs[0]) == 0;
}

static struct seen
compare(const char *what, const struct step_stack *stack, uint32_t most)
{
	const struct seen frames = by_frames(stack, most);
	const struct seen leaps = by_leaps(stack, most);

	CHECK(same(&frames, &leaps), "%s: %u frames, end %d; ahead: %u, %d",
	      what, frames.count, frames.end, leaps.count, leaps.end);
	return leaps;
}

/* The tracer's own walk goes ahead likewise, by what it knows of a pc. It shows
 * calls, not where they return to. */
static void
compare_walk(const struct step_stack *stack)
{
	struct unwind_trace t = { 0 };
	struct arch_regs regs = { 0 };
	const struct seen frames = by_frames(stack, FRAMES_MAX);
	bool equal;

	regs.reg[arch.reg_pc] = leaf.pc;
	regs.reg[arch.reg_sp] = leaf.sp;
	regs.reg[arch.reg_fp] = leaf.fp;
	/* twice: first there is no room, and nothing is known */
	for (int i = 0; i < 2; i++)
		unwind_walk(h.space, &regs, stack, NULL, NULL, FRAMES_MAX, &t);
	equal = t.len == frames.count + 1;
	for (size_t i = 1; equal && i < t.len; i++)
		equal = frames.pcs[i - 1] - t.pcs[i] - 1 < 8;
	CHECK(equal && t.full_steps == 0 &&
	      (t.end == UNWIND_TRUNCATED) == (frames.end == STEP_CUT),
	      "%llu bytes: %u frames, end %d; the walk has %zu, %d",
	      (unsigned long long)stack->size, frames.count, frames.end,
	      t.len, t.end);
	unwind_trace_fini(&t);
}

static void
compare_windows(void)
{
	for (uint64_t size = 0; size < whole.size && !failures; size++) {
		struct step_stack stack = whole;

		stack.size = size;
		(void)compare("a window that ends", &stack, FRAMES_MAX);
		compare_walk(&stack);
		stack.size = whole.size;
		stack.doubtful = whole.size - size;
		leaf.guessed = 1;	/* only these are in doubt */
		(void)compare("a window in doubt", &stack, FRAMES_MAX);
		leaf.guessed = 0;
	}
}

/* Of the entries that are used: any other is never asked. */
static void
compare_damaged(void)
{
	static size_t used[STEP_MEMO];
	size_t n = 0;

	for (size_t i = 0; i < STEP_MEMO; i++)
		if (memo[i].row)
			used[n++] = i;
	CHECK(n > 0, "nothing is remembered");
	srand(1);
	for (int i = 0; n > 0 && i < DAMAGES && !failures; i++) {
		struct step_memo *entry = &memo[used[(size_t)rand() % n]];
		const uint64_t bit = UINT64_C(1) << rand() % 64;

		if (rand() % 2)
			entry->place ^= bit;
		else
			entry->row ^= bit;
		if (rand() % 8 == 0)
			*entry = memo[used[(size_t)rand() % n]];
		(void)compare("a damaged memo", &whole, FRAMES_MAX);
	}
}

/* They were published anew, and what was remembered is of those before. */
static void
compare_other_tables(void)
{
	struct step_range *fewer = xcalloc(plain.count, sizeof *fewer);
	const struct step_tables full = plain;

	for (uint32_t gone = 0; gone < full.count && !failures; gone++) {
		uint32_t n = 0;

		for (uint32_t i = 0; i < full.count; i++)
			if (i != gone)
				fewer[n++] = full.ranges[i];
		plain.ranges = recalling.ranges = fewer;
		plain.count = recalling.count = n;
		(void)compare("other tables", &whole, FRAMES_MAX);
		fewer[n / 2].count /= 2;
		(void)compare("fewer rows", &whole, FRAMES_MAX);
		plain.ranges = recalling.ranges = full.ranges;
		plain.count = recalling.count = full.count;
		(void)compare("the tables of before", &whole, FRAMES_MAX);
	}
	free(fewer);
}

static void
compare_all(void)
{
	struct seen s = compare("an empty memo", &whole, FRAMES_MAX);

	CHECK(s.end == STEP_OUTERMOST && s.count > CALLS,
	      "%u frames, end %d", s.count, s.end);
	s = compare("a full memo", &whole, FRAMES_MAX);
	CHECK(s.ahead + 4 > s.count, "ahead over %u of %u frames", s.ahead,
	      s.count);
	for (uint32_t most = 0; most < s.count; most++)
		(void)compare("a limit", &whole, most);
	compare_windows();
	compare_damaged();
	compare_other_tables();
}

static void
look(const greg_t *registers)
{
	unsigned char *copy;
	uint64_t end = 0;

	leaf = (struct step_regs){
		.pc = (uint64_t)registers[REG_RIP],
		.sp = (uint64_t)registers[REG_RSP],
		.fp = (uint64_t)registers[REG_RBP], .exact = 1,
	};
	help_space_open(&h, getpid(), leaf.sp, &end);
	plain = recalling = *unwind_space_tables(h.space);
	recalling.memo = memo;
	copy = xmalloc(end - leaf.sp);
	whole = (struct step_stack){ copy, leaf.sp, end - leaf.sp, 0 };
	CHECK(help_read((void *)(intptr_t)getpid(), leaf.sp, copy,
			whole.size) == 0, "cannot read the stack");
	if (!failures)
		compare_all();
	free(copy);
	help_space_close(&h);
}

__attribute__((noinline)) static int
recurse(int n)
{
	volatile int keep = n;
	static ucontext_t uc;

	if (n > 0)
		return recurse(n - 1) + keep;
	getcontext(&uc);
	look(uc.uc_mcontext.gregs);
	return keep;
}

/* ---- what no compiler makes ---------------------------------------------- */

struct made {
	struct step_range ranges[RANGES];
	struct step_row rows[RANGES][ROWS];
	uint64_t words[WORDS];
};

static uint64_t
pick(uint64_t n)
{
	return (uint64_t)rand() % n;
}

/* Mostly of the kinds that are usual. */
static struct step_row
some_row(uint32_t pc)
{
	static const int8_t fps[] = { 0, 0, -1, -2, -3, -7, 3, STEP_FP_AT_FP };

	return (struct step_row){
		.pc = pc, .cfa = (uint16_t)(pick(64) ? pick(5) : pick(65536)),
		.fp = fps[pick(ARRAY_LEN(fps))],
		.kind = (uint8_t)(pick(8) ? STEP_SP + pick(2) :
				  pick(STEP_FULL + 1)),
	};
}

/* The last range goes on beyond what the pc of a row can say. */
static void
some_tables(struct made *m)
{
	for (uint32_t i = 0; i < RANGES; i++) {
		struct step_range *r = &m->ranges[i];

		r->start = CODE_AT * (i + 1);
		r->end = r->start + (i + 1 < RANGES ?
				     CODE / 2 * (1 + pick(2)) :
				     UINT64_C(3) << 32);
		r->base = r->start - pick(2) * CODE / 2;
		r->rows = (uintptr_t)m->rows[i];
		r->count = (uint32_t)pick(ROWS + 1);
		for (uint32_t k = 0, pc = 0; k < ROWS; k++, pc += pick(3) * 8)
			m->rows[i][k] = some_row(pc);
	}
}

static uint64_t
some_word(void)
{
	const uint64_t code = CODE_AT * (pick(RANGES) + 1) + pick(CODE);

	switch (pick(16)) {
	case 0: return 0;
	case 1: return pick(2) ? pick(CODE_AT) : UINT64_MAX - pick(64);
	case 2: return code + (UINT64_C(1) << 32);
	case 3: case 4: return STACK_AT + pick(WORDS) * 8 + pick(2) * 4;
	default: return code;
	}
}

static void
compare_made(void)
{
	struct made *m = xcalloc(1, sizeof *m);
	uint64_t ahead = 0;

	plain = (struct step_tables){ NULL, m->ranges, RANGES, NULL };
	recalling = plain;
	recalling.memo = memo;
	for (int i = 0; i < MADE && !failures; i++) {
		const uint64_t at = pick(4) * 8;
		const struct step_stack stack = {
			(unsigned char *)m->words, STACK_AT - at,
			sizeof m->words - pick(64), pick(64),
		};

		if (i % 100 == 0)
			some_tables(m);
		for (size_t k = 0; k < WORDS; k++)
			m->words[k] = some_word();
		leaf = (struct step_regs){
			.pc = some_word(), .sp = STACK_AT + pick(16) * 8 - 32,
			.fp = STACK_AT + pick(WORDS) * 8,
			.exact = (uint32_t)pick(2), .guessed = (uint32_t)pick(2),
		};
		(void)compare("made tables", &stack, FRAMES_MAX);
		ahead += compare("made tables", &stack, FRAMES_MAX).ahead;
	}
	CHECK(ahead > MADE / 2, "ahead over %llu frames of made tables",
	      (unsigned long long)ahead);
	free(m);
}

int
main(void)
{
	(void)recurse(CALLS);
	compare_made();
	return failures ? 1 : 0;
}
