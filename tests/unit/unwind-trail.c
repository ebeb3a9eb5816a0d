/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * mission: S4, S5, D4
 *
 * A walk that is remembered is the walk that would be made: on stacks of made
 * tables whose words change anywhere, and in a program whose frames change
 * inside, in the middle and outside; by frame pointers that alloca moves, with
 * other callers at the same sp, in handlers on a stack of their own, after
 * longjmp. And most of them are remembered.
 */
#include <alloca.h>
#include <setjmp.h>
#include <signal.h>

#include "unwind-help.h"

enum {
	MADE = 400000, RANGES = 2, ROWS = 24, WORDS = 96, CODE = 256,
	FRAMES_MAX = 1000, LIVE = 4000, DEEP = 700,
};
#define CODE_AT		UINT64_C(0x100000000000)

struct seen {
	struct step_regs regs;
	enum step_result end;
	uint32_t count;
	uint64_t pcs[FRAMES_MAX];
};

static struct step_memo memo[STEP_MEMO];
static struct step_tables plain, recalling;
static struct step_trail trail;
static uint64_t recalled, joined, complete, refused;

/* By frames, without a memo; the first is the leaf. */
static void
fresh(const struct step_regs *leaf, const struct step_stack *stack,
      uint32_t most, struct seen *s)
{
	s->regs = *leaf;
	s->end = STEP_OK;
	s->count = 0;
	for (;;) {
		s->pcs[s->count++] = s->regs.pc;
		if (s->count >= most)
			return;
		s->end = step_frame(&plain, stack, &s->regs);
		if (s->end != STEP_OK)
			return;
	}
}

static bool
is_trail(const struct seen *s)
{
	uint64_t id = 0;

	if (s->end != STEP_OUTERMOST || s->count != trail.leaf + 1)
		return false;
	for (uint32_t i = 0; i < s->count; i++) {
		if (trail.pcs[trail.leaf - i] != s->pcs[i])
			return false;
		id = step_stack_id(id, s->pcs[s->count - 1 - i]);
	}
	return id == trail.crumbs[trail.leaf].id;
}

/* What was walked before somebody else has to go on. */
static void
check_refused(const char *what, const struct step_regs *leaf,
	      const struct step_stack *stack, const struct step_regs *regs)
{
	static struct seen s;

	refused++;
	fresh(leaf, stack, trail.leaf, &s);
	CHECK(trail.len == 0 && s.count == trail.leaf &&
	      memcmp(s.pcs, trail.pcs, s.count * sizeof s.pcs[0]) == 0 &&
	      memcmp(&s.regs, regs, sizeof *regs) == 0,
	      "%s: refused after %u frames, of %u", what, trail.leaf, s.count);
}

static void
compare(const char *what, const struct step_regs *leaf,
	const struct step_stack *stack)
{
	static struct seen s;
	struct step_regs regs = *leaf;
	const uint32_t had = trail.len;

	fresh(leaf, stack, FRAMES_MAX, &s);
	complete += s.end == STEP_OUTERMOST && s.count <= STEP_TRAIL;
	if (trail.top == stack->base + stack->size &&
	    step_trail_recall(&trail, &regs)) {
		recalled++;
		CHECK(is_trail(&s), "%s: recalled %u frames; %u, end %d", what,
		      trail.leaf + 1, s.count, s.end);
		return;
	}
	if (step_trail_walk(&trail, &recalling, stack, &regs) == STEP_OK) {
		check_refused(what, leaf, stack, &regs);
		return;
	}
	joined += had > 0;
	CHECK(is_trail(&s), "%s: walked %u frames; %u, end %d", what,
	      trail.leaf + 1, s.count, s.end);
}

/* ---- made tables and stacks ---------------------------------------------- */

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

static struct step_row
some_row(uint32_t pc)
{
	static const int8_t fps[] = { 0, 0, -1, -2, -2, -3, 3, STEP_FP_AT_FP };
	const uint64_t kind = pick(64);

	return (struct step_row){
		.pc = pc, .cfa = (uint16_t)(1 + pick(4)),
		.fp = fps[pick(kind == 9 ? 8 : 6)],
		.kind = (uint8_t)(kind < 6 ? STEP_END : kind < 8 ?
				  pick(STEP_FULL + 1) : kind < 24 ? STEP_FP :
				  STEP_SP),
	};
}

static void
some_tables(struct made *m)
{
	for (uint32_t i = 0; i < RANGES; i++) {
		struct step_range *r = &m->ranges[i];

		r->start = r->base = CODE_AT * (i + 1);
		r->end = r->start + CODE;
		r->rows = (uintptr_t)m->rows[i];
		r->count = ROWS;
		for (uint32_t k = 0, pc = 0; k < ROWS; k++, pc += 8)
			m->rows[i][k] = some_row(pc);
	}
	trail.len = 0;
}

static uint64_t
some_word(const struct made *m)
{
	switch (pick(24)) {
	case 0: return 0;
	case 1: return pick(CODE_AT);
	case 2: case 3: case 4: case 5: case 6:
		return (uint64_t)(uintptr_t)&m->words[pick(WORDS)];
	default: return CODE_AT * (1 + pick(RANGES)) + 1 + pick(CODE - 1);
	}
}

/* A frame of the walk before, another leaf, or one a little inside. */
static struct step_regs
some_leaf(const struct made *m, const struct step_regs *last)
{
	struct step_regs regs = {
		.pc = CODE_AT + 1 + pick(CODE - 1),
		.sp = (uint64_t)(uintptr_t)&m->words[pick(8)],
		.fp = (uint64_t)(uintptr_t)&m->words[pick(WORDS)],
	};

	if (trail.len && pick(4) == 0) {
		const uint32_t k = (uint32_t)pick(trail.len);

		regs.pc = trail.pcs[k];
		regs.sp = trail.top - trail.crumbs[k].sp;
		regs.fp = trail.crumbs[k].fp;
	} else if (last->sp && pick(8)) {
		regs = *last;
		if (pick(8) == 0)
			regs.pc = CODE_AT + 1 + pick(CODE - 1);
		if (pick(8) == 0)
			regs.fp = (uint64_t)(uintptr_t)&m->words[pick(WORDS)];
	}
	return regs;
}

static void
compare_made(void)
{
	struct made *m = xcalloc(1, sizeof *m);
	struct step_regs leaf = {0};

	plain = (struct step_tables){ NULL, m->ranges, RANGES, NULL };
	recalling = plain;
	recalling.memo = memo;
	for (int i = 0; i < MADE && !failures; i++) {
		const uint64_t end = (uint64_t)(uintptr_t)
			&m->words[pick(16) ? WORDS : WORDS - pick(4)];

		if (i % 200 == 0) {
			some_tables(m);
			for (size_t k = 0; k < WORDS; k++)
				m->words[k] = some_word(m);
		}
		for (uint64_t n = pick(4); n > 0; n--)
			m->words[pick(WORDS)] = some_word(m);
		leaf = some_leaf(m, &leaf);
		if (leaf.sp >= end)
			continue;

		const struct step_stack stack = {
			(unsigned char *)(uintptr_t)leaf.sp, leaf.sp,
			end - leaf.sp, 0,
		};

		compare("made tables", &leaf, &stack);
	}
	printf("made: %llu complete, %llu recalled, %llu joined, %llu "
	       "refused\n", (unsigned long long)complete,
	       (unsigned long long)recalled, (unsigned long long)joined,
	       (unsigned long long)refused);
	CHECK(recalled > MADE / 20 && joined > MADE / 40 && refused > MADE / 40,
	      "not all ways are gone");
	free(m);
}

/* ---- a program ----------------------------------------------------------- */

#ifdef __clang__	/* knows no noclone, and does not clone */
#define NOINLINE __attribute__((noinline))
#else
#define NOINLINE __attribute__((noinline, noclone))
#endif

static struct help_space h;
static uint64_t stack_end;
static unsigned char alternate[1 << 16] __attribute__((aligned(16)));
static sigjmp_buf back;

NOINLINE static void
probe(void)
{
	const struct step_regs leaf = {
		.pc = (uint64_t)(uintptr_t)__builtin_return_address(0),
		.sp = (uint64_t)(uintptr_t)__builtin_frame_address(0) + 16,
		.fp = *(const uint64_t *)__builtin_frame_address(0),
	};
	const uint64_t low = (uint64_t)(uintptr_t)alternate;
	const uint64_t end = leaf.sp - low < sizeof alternate ?
		low + sizeof alternate : stack_end;
	const struct step_stack stack = {
		(unsigned char *)(uintptr_t)leaf.sp, leaf.sp, end - leaf.sp, 0,
	};

	compare("a program", &leaf, &stack);
	__asm__ volatile("");
}

NOINLINE static void by_sp(int depth);

/* The frame pointer says where it is; what is in between changes. */
NOINLINE static void
by_fp(int depth)
{
	volatile char *room = alloca(16 + pick(3) * 16);

	room[0] = 1;
	if (pick(2))
		probe();
	if (depth > 0)
		by_sp(depth - 1);
	else
		probe();
	room[1] = 1;
}

/* Two callers at one sp. */
NOINLINE static void
by_sp(int depth)
{
	volatile int keep = depth;

	for (uint64_t n = pick(4); n > 0; n--)
		probe();
	if (depth == 0)
		probe();
	else if (pick(2))
		by_sp(depth - 1);
	else if (pick(2))
		by_sp(depth - 1 - (depth > 4));
	else
		by_fp(depth - 1);
	if (pick(16) == 0)
		siglongjmp(back, 1);
	if (pick(4) == 0)
		probe();
	(void)keep;
}

static int
by_libc(const void *a, const void *b)
{
	probe();
	return *(const int *)a - *(const int *)b;
}

static void
on_signal(int signal)
{
	(void)signal;
	by_sp((int)pick(4));
}

NOINLINE static int
deep(int depth)
{
	const int below = depth > 0 ? deep(depth - 1) : 0;

	if (depth == 0 || depth % 64 == 0)
		probe();
	__asm__ volatile("");
	return below + 1;
}

NOINLINE static void
once(int round)
{
	int numbers[] = { 5, 2, 8, 1, 9, (int)pick(10) };

	by_sp((int)pick(20));
	by_fp((int)pick(8));
	if (round % 16 == 0)
		qsort(numbers, ARRAY_LEN(numbers), sizeof numbers[0],
		      by_libc);
	if (round % 8 == 0)
		raise(SIGUSR1);
}

NOINLINE static void
unless_it_jumps(int round)
{
	if (sigsetjmp(back, 1) == 0)
		once(round);
}

static void
live(void)
{
	for (int i = 0; i < LIVE && !failures; i++)
		unless_it_jumps(i);
	(void)deep(DEEP);
	(void)deep(20);
}

static void
compare_live(void)
{
	const stack_t own = {
		.ss_sp = alternate, .ss_size = sizeof alternate,
	};
	struct sigaction action = { .sa_handler = on_signal,
				    .sa_flags = SA_ONSTACK };

	complete = recalled = joined = refused = 0;
	trail.len = 0;
	if (sigaltstack(&own, NULL) < 0 ||
	    sigaction(SIGUSR1, &action, NULL) < 0) {
		perror("sigaction");
		exit(99);
	}
	help_space_open(&h, getpid(), (uint64_t)(uintptr_t)&action,
			&stack_end);
	plain = recalling = *unwind_space_tables(h.space);
	recalling.memo = memo;
	live();
	printf("live: %llu complete, %llu recalled, %llu joined, %llu "
	       "refused\n", (unsigned long long)complete,
	       (unsigned long long)recalled, (unsigned long long)joined,
	       (unsigned long long)refused);
	CHECK(recalled > LIVE && recalled + joined > complete / 2 &&
	      refused > LIVE / 8, "not all ways are gone");
	help_space_close(&h);
}

int
main(void)
{
	srand(1);
	compare_made();
	compare_live();
	return failures ? 1 : 0;
}
