/* SPDX-License-Identifier: Apache-2.0 */
/*
 * step: one frame up the stack, by table. The contract between the unwinder
 * that compiles CFI into rows and everyone who walks with them: the tracer
 * over copied stacks, the guest inside a signal handler.
 *
 * Pure: no allocation, no lock, no system call, no global; reads only the
 * tables and the given stack window. Includes no other header of ours.
 */
#ifndef SONDE_STEP_H
#define SONDE_STEP_H

#include <stdint.h>

/* How a row says to find the caller (DWARF 5, section 6.4). */
enum step_kind {
	STEP_NONE,	/* no unwind data here: try the frame pointer */
	STEP_END,	/* the return address is undefined: outermost frame */
	STEP_SP,	/* CFA = sp + cfa * 8 */
	STEP_FP,	/* CFA = fp + cfa * 8 */
	STEP_PLT,	/* CFA = sp + 8 + ((pc & 15) >= cfa ? 8 : 0) */
	STEP_DRAP,	/* CFA = *(fp + (int16_t)cfa) */
	STEP_SIGNAL,	/* an rt_sigframe at sp */
	STEP_FULL,	/* needs the full DWARF interpreter; where fp is not 0:
			 * or the return address is in register fp - 1, and
			 * CFA = sp + cfa * 8 */
	STEP_LINKED = 16,	/* and one or more of enum step_link, below */
};

/* Machines whose calls leave the return address in a register have rows of
 * kind STEP_LINKED alone (CFA = sp + cfa * 8, and it is still there), or of
 * STEP_LINKED ORed with these; and STEP_NONE, _END, _SIGNAL, _FULL. */
enum step_link {
	STEP_LINK_FP = 1,	/* CFA = fp + cfa * 8 */
	STEP_LINK_PAIR = 2,	/* in the word above the saved fp, */
	STEP_LINK_ALONE = 4,	/* or at its place; fp itself is unchanged: at
				 * CFA + fp * 8; if fp is not below 0, so far
				 * from what the CFA counts from */
};

enum {
	STEP_FP_SAME = 0,	/* the frame pointer is unchanged */
	STEP_FP_AT_FP = 127,	/* saved at *(fp) itself (DRAP frames) */
};

/*
 * Where the kernel keeps registers in an rt_sigframe, from the sp with which a
 * handler returns; and how many bits of a return address are address: the rest
 * may be a signature (programs get more than 48 bits on demand only). Here,
 * and not in arch: the guest has no other room. 0: no link register.
 */
#ifdef __aarch64__
enum {
	STEP_SIGNAL_FP = 128 + 184 + 29 * 8,
	STEP_SIGNAL_LINK = 128 + 184 + 30 * 8,
	STEP_SIGNAL_SP = 128 + 184 + 31 * 8,
	STEP_SIGNAL_PC = 128 + 184 + 32 * 8,
	STEP_ADDRESS_BITS = 48,
};
#else
enum {
	STEP_SIGNAL_FP = 40 + 10 * 8,
	STEP_SIGNAL_LINK = 0,
	STEP_SIGNAL_SP = 40 + 15 * 8,
	STEP_SIGNAL_PC = 40 + 16 * 8,
	STEP_ADDRESS_BITS = 64,
};
#endif

/* From pc (relative to the range's base) up to the next row's pc. */
struct step_row {
	uint32_t pc;
	uint16_t cfa;
	int8_t fp;		/* saved fp at CFA + fp * 8, or STEP_FP_* */
	uint8_t kind;		/* enum step_kind */
};
_Static_assert(sizeof(struct step_row) == 8, "a row is 8 bytes");

/* One executable mapping. The bias belongs to a mapping, not to a file. */
struct step_range {
	uint64_t start, end;	/* run-time addresses, end exclusive */
	uint64_t base;		/* run-time address of row pc 0 */
	uint64_t rows;		/* of the first row, from tables->origin */
	uint32_t count;		/* rows; 0: none known */
	uint32_t pad;
};
_Static_assert(sizeof(struct step_range) == 40, "fixed layout");

/* Sorted by start, not overlapping. origin is NULL in the tracer (then
 * `rows` is the pointer itself) and the mapped table area in the guest. memo
 * has STEP_MEMO entries, or is NULL: where rows were found before. It is
 * written here, by several threads at once; what it says is checked, so
 * anything may stand in it. */
struct step_tables {
	const unsigned char *origin;
	const struct step_range *ranges;
	uint32_t count;
	struct step_memo *memo;
};

enum { STEP_MEMO_BITS = 12, STEP_MEMO = 1 << STEP_MEMO_BITS };

struct step_memo {
	uint64_t place;		/* number of the range << 32 | of its row */
	uint64_t row;		/* that struct step_row */
};
_Static_assert(sizeof(struct step_memo) == 16, "fixed layout");

/*
 * A bigger frame is taken for garbage in the frame pointer, not for one that
 * reaches beyond the window.
 */
enum { STEP_FRAME_MAX = 1 << 26 };

/* A window of stack: bytes of [base, base + size) stand at data. In the
 * guest data is base itself. The last `doubtful` of them may be gone, and are
 * read as long as rows alone have led there. */
struct step_stack {
	const unsigned char *data;
	uint64_t base, size;
	uint64_t doubtful;
};

struct step_regs {
	uint64_t pc, sp, fp;
	uint64_t link;		/* where exact: what the link register holds */
	/* 1: pc is the next instruction (leaf, or interrupted by a signal);
	 * 0: pc is a return address, looked up one byte lower. */
	uint32_t exact;
	uint32_t depth;		/* frames stepped so far, counted by step */
	uint32_t guessed;	/* 1: a frame pointer without a row was used */
};

enum step_result {
	STEP_OK,		/* regs are the caller's */
	STEP_OUTERMOST,		/* regs were the outermost frame: end of stack */
	STEP_CUT,		/* needs stack bytes outside the window */
	STEP_NO_ROW,		/* no row, and no sound frame pointer */
	STEP_NEEDS_FULL,	/* a row of kind STEP_FULL */
	STEP_WILD,		/* the CFA does not grow: corrupt */
};

/* The range that holds pc, or NULL. */
const struct step_range *step_range_find(const struct step_tables *tables,
					 uint64_t pc);
/* The row for pc inside range; kind STEP_NONE when there is none. */
struct step_row step_row_find(const struct step_tables *tables,
			      const struct step_range *range, uint64_t pc);
/* The same for a return address. One that is the first byte of a function, with
 * nothing before it, is STEP_END: nobody calls there; by this libc shows where
 * a coroutine ends. */
struct step_row step_row_returned(const struct step_tables *tables,
				  const struct step_range *range, uint64_t ret);
/* The row of a frame, remembered or searched for. */
struct step_row step_row_of(const struct step_tables *tables,
			    const struct step_regs *regs);
/* Apply one row to regs. regs is unchanged unless STEP_OK is returned. */
enum step_result step_apply(struct step_row row, const struct step_stack *stack,
			    struct step_regs *regs);
/* Find and apply. */
enum step_result step_frame(const struct step_tables *tables,
			    const struct step_stack *stack,
			    struct step_regs *regs);
/* The same many times, quicker: as far as rows are remembered and usual, `most`
 * times if it can. How often; pcs has where each led to, regs is the last. */
uint32_t step_ahead(const struct step_tables *tables,
		    const struct step_stack *stack, struct step_regs *regs,
		    uint64_t *pcs, uint32_t most);

/*
 * A walk that is remembered. What a walk finds is a function of the registers
 * that it begins with and of the words that it reads: where all of them are
 * what they were, it need not be walked again. Each frame has its registers,
 * and which two words led on to the next; so what is outside of a frame that
 * is still there is joined, whatever became of those inside. Compared is what
 * would be read, in that order, up to the first word that differs.
 *
 * Only rows of kind STEP_SP and STEP_FP are remembered, of walks that reached
 * the outermost frame in one window whose data is base itself. It holds as
 * long as the tables do. Frames stand outermost first.
 */
enum { STEP_TRAIL = 512, STEP_TRAIL_PCS = 1000 };

struct step_crumb {
	uint64_t fp;
	uint64_t id;		/* of the stack whose leaf this frame is */
	uint32_t sp;		/* below the window's end */
	uint32_t slot;		/* below it; what the caller's fp is read from;
				 * 0: the register still has it */
};
_Static_assert(sizeof(struct step_crumb) == 24, "fixed layout");

struct step_trail {
	uint64_t top;		/* end of the window */
	uint32_t len;		/* 0: nothing is remembered */
	uint32_t leaf;		/* where it was found last */
	uint32_t zero;		/* below top: the return address of 0 that is
				 * the end; 0: a row says that it is */
	uint32_t pad;
	struct step_crumb crumbs[STEP_TRAIL];
	uint64_t pcs[STEP_TRAIL_PCS];
};
_Static_assert(sizeof(struct step_trail) == 24 + 24 * 512 + 8 * 1000,
	       "fixed layout");

/* The stack of regs, which are a caller's, if it is remembered as it is; its
 * leaf is frame `leaf` then. */
int step_trail_recall(struct step_trail *trail, const struct step_regs *regs);
/*
 * Walks and remembers. STEP_OUTERMOST: its leaf is frame `leaf`. STEP_OK:
 * nothing is remembered, `len` is 0; the first `leaf` return addresses, leaf
 * first, are in pcs, and regs are the last one's: to go on from.
 */
enum step_result step_trail_walk(struct step_trail *trail,
				 const struct step_tables *tables,
				 const struct step_stack *stack,
				 struct step_regs *regs);

/* Of a stack, from that of its caller's, or from 0. Never 0. */
static inline uint64_t
step_stack_id(uint64_t outer, uint64_t pc)
{
	uint64_t id = ((outer ? outer : UINT64_C(0x9e3779b97f4a7c15)) ^ pc) *
		UINT64_C(0xff51afd7ed558ccd);

	id ^= id >> 29;
	return id ? id : 1;
}

#endif
