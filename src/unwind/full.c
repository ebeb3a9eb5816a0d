/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * libunwind without a process. Its accessors are ours: registers from the
 * sample, memory from the copied windows, unwind data from our own list of
 * frame descriptions, as pieces (pieces.h).
 */
#include "full.h"

#include <stdlib.h>
#include <string.h>

#include "base.h"
#include "pieces.h"
#include "space.h"

/* Not canonical: no process can have anything there. */
#define INVENTED 0x8f00000000000000ull

enum {
	/* An expression may loop; this many words end any step. */
	STEP_BUDGET = 20000,
	/* A read this far above the window is garbage, not its end. */
	BEYOND_MAX = 1 << 26,
};

struct full {
	unw_addr_space_t as;
	struct pieces pieces;	/* what stands at INVENTED */
};

/* libunwind exports this search for others' accessors; its headers do not. */
extern int UNW_OBJ(dwarf_search_unwind_table)(unw_addr_space_t as,
					      unw_word_t ip,
					      unw_dyn_info_t *di,
					      unw_proc_info_t *pi,
					      int need_unwind_info, void *arg);

static int
find_proc_info(unw_addr_space_t as, unw_word_t ip, unw_proc_info_t *pi,
	       int need_unwind_info, void *arg)
{
	struct full_walk *walk = arg;
	const struct frames *frames;
	uint64_t bias, offset;
	const struct frame_fde *fde = space_fde(walk->space, ip, &frames,
						&bias);

	if (!fde || pieces_find(&walk->full->pieces, frames, fde, bias, &offset) < 0) {
		walk->blind = true;
		return -UNW_ENOINFO;
	}

	unw_dyn_info_t di = {
		.start_ip = fde->start + bias,
		.end_ip = fde->end + bias,
		.format = UNW_INFO_FORMAT_REMOTE_TABLE,
		.u.rti = {
			.segbase = INVENTED + offset,
			.table_data = INVENTED + offset,
			.table_len = 1,	/* words */
		},
	};

	return UNW_OBJ(dwarf_search_unwind_table)(as, ip, &di, pi,
						  need_unwind_info, arg);
}

static void
put_unwind_info(unw_addr_space_t as, unw_proc_info_t *pi, void *arg)
{
	/* it came from libunwind's own pool, and goes back there without us */
	(void)as;
	(void)pi;
	(void)arg;
}

static int
no_dynamic_info(unw_addr_space_t as, unw_word_t *list, void *arg)
{
	(void)as;
	(void)list;
	(void)arg;
	return -UNW_ENOINFO;
}

static bool
read_window(const struct step_stack *stack, uint64_t addr, uint64_t *value)
{
	const uint64_t at = addr - stack->base;

	if (stack->size < sizeof *value || at > stack->size - sizeof *value)
		return false;
	memcpy(value, stack->data + at, sizeof *value);
	return true;
}

int
unwind_read_piece(void *arg, uint64_t addr, void *buf, size_t n)
{
	const struct step_stack *piece = arg;
	const uint64_t at = addr - piece->base;

	if (n > piece->size || at > piece->size - n)
		return -1;
	memcpy(buf, piece->data + at, n);
	return 0;
}

static bool
read_invented(const struct pieces *p, uint64_t addr, uint64_t *value)
{
	const uint64_t at = addr - INVENTED;

	if (p->len < sizeof *value || at > p->len - sizeof *value)
		return false;
	memcpy(value, p->bytes + at, sizeof *value);
	return true;
}

static bool
read_source(struct full_walk *walk, uint64_t addr, uint64_t *value)
{
	const struct full_source *src = &walk->source;

	if (read_invented(&walk->full->pieces, addr, value) ||
	    read_window(src->stack, addr, value) ||
	    read_window(src->more, addr, value))
		return true;
	*value = 0;
	if (space_read(walk->space, addr, value, sizeof *value) > 0)
		return true;
	return src->memory &&
	       src->memory(src->arg, addr, value, sizeof *value) == 0;
}

/* Did the window end too early, or is it another stack than the frame's? */
static bool
is_beyond(const struct full_walk *walk, uint64_t end)
{
	const struct step_stack *stack = walk->source.stack;
	const uint64_t window_end = stack->base + stack->size;

	if (walk->regs.sp - stack->base > stack->size)
		return true;
	return end > window_end && end - window_end < BEYOND_MAX;
}

static int
access_mem(unw_addr_space_t as, unw_word_t addr, unw_word_t *value, int write,
	   void *arg)
{
	struct full_walk *walk = arg;
	uint64_t word;

	(void)as;
	if (write || walk->budget == 0)
		return -UNW_EINVAL;
	walk->budget--;
	if (read_source(walk, addr, &word)) {
		*value = word;
		return 0;
	}
	walk->cut = walk->cut || is_beyond(walk, addr + sizeof word);
	return -UNW_EINVAL;
}

static int
access_reg(unw_addr_space_t as, unw_regnum_t reg, unw_word_t *value, int write,
	   void *arg)
{
	const struct full_walk *walk = arg;

	(void)as;
	if (write || reg < 0 || reg >= arch.reg_count)
		return -UNW_EBADREG;
	*value = walk->start.reg[reg];
	return 0;
}

static int
access_fpreg(unw_addr_space_t as, unw_regnum_t reg, unw_fpreg_t *value,
	     int write, void *arg)
{
	(void)as;
	(void)reg;
	(void)value;
	(void)write;
	(void)arg;
	return -UNW_EBADREG;
}

static int
no_resume(unw_addr_space_t as, unw_cursor_t *cursor, void *arg)
{
	(void)as;
	(void)cursor;
	(void)arg;
	return -UNW_EINVAL;
}

static int
no_name(unw_addr_space_t as, unw_word_t addr, char *buf, size_t size,
	unw_word_t *offset, void *arg)
{
	(void)as;
	(void)addr;
	(void)buf;
	(void)size;
	(void)offset;
	(void)arg;
	return -UNW_ENOINFO;
}

static struct full *
full_new(void)
{
	static unw_accessors_t accessors = {
		.find_proc_info = find_proc_info,
		.put_unwind_info = put_unwind_info,
		.get_dyn_info_list_addr = no_dynamic_info,
		.access_mem = access_mem,
		.access_reg = access_reg,
		.access_fpreg = access_fpreg,
		.resume = no_resume,
		.get_proc_name = no_name,
	};
	struct full *f = xcalloc(1, sizeof *f);

	f->as = unw_create_addr_space(&accessors, 0);
	if (!f->as)
		die("libunwind's address space");
	/* a failure only costs speed */
	(void)unw_set_caching_policy(f->as, UNW_CACHE_GLOBAL);
	return f;
}

void
full_free(struct full *f)
{
	if (!f)
		return;
	unw_destroy_addr_space(f->as);
	pieces_fini(&f->pieces);
	free(f);
}

void
full_flush(struct full *f)
{
	if (!f)
		return;
	unw_flush_cache(f->as, 0, 0);
	pieces_fini(&f->pieces);
}

int
full_begin(struct full_walk *walk, struct unwind_space *space,
	   const struct full_source *source, const struct arch_regs *regs,
	   bool exact)
{
	if (!space->full)
		space->full = full_new();
	walk->space = space;
	walk->full = space->full;
	walk->source = *source;
	walk->start = *regs;
	walk->regs = arch_step_regs(regs);
	walk->regs.exact = exact;
	walk->cut = false;
	walk->budget = STEP_BUDGET;
	/* libunwind takes the first pc as exact: a return address may belong
	 * to the next function already */
	if (!exact)
		walk->start.reg[arch.reg_pc]--;
	return unw_init_remote(&walk->cursor, space->full->as, walk) < 0 ?
	       -1 : 0;
}

/*
 * Was the caller of this frame interrupted by a signal? Restorers without
 * unwind data have a description of ours. libunwind itself is not asked: 1.6
 * tells of the frame below, and so of the first one in generated code.
 */
static bool
stands_at_signal(struct full_walk *walk)
{
	const struct frames *frames;
	uint64_t bias;
	const struct frame_fde *fde =
		space_fde(walk->space, walk->regs.pc - !walk->regs.exact,
			  &frames, &bias);

	if (!fde)
		return false;
	return fde->insn ? frames->cies[fde->cie].signal :
			   fde->fixed_kind == STEP_SIGNAL;
}

static enum step_result
take_registers(struct full_walk *walk, bool signal)
{
	const bool may_stay = arch.reg_link >= 0 && walk->regs.exact;
	unw_word_t pc, sp, fp = 0, link = 0;

	/* with a link register libunwind says "ip" for it, which a call left
	 * equal to the pc of the caller; a signal did not */
	if (unw_get_reg(&walk->cursor, signal ? arch.reg_pc : UNW_REG_IP,
			&pc) < 0 ||
	    unw_get_reg(&walk->cursor, UNW_REG_SP, &sp) < 0)
		return STEP_NO_ROW;
	/* the frame pointer may be lost; most callers do without */
	if (unw_get_reg(&walk->cursor, arch.reg_fp, &fp) < 0)
		fp = 0;
	if (arch.reg_link >= 0 &&
	    unw_get_reg(&walk->cursor, arch.reg_link, &link) < 0)
		link = 0;
	if (!signal && sp < walk->regs.sp + !may_stay)
		return STEP_WILD;
	if (space_index(walk->space, pc - !signal) < 0)
		return STEP_WILD;
	walk->regs = (struct step_regs){
		.pc = pc, .sp = sp, .fp = fp, .link = link, .exact = signal,
		.depth = walk->regs.depth + 1,
	};
	return STEP_OK;
}

enum step_result
full_step(struct full_walk *walk)
{
	int result;
	bool signal;

	walk->budget = STEP_BUDGET;
	walk->cut = walk->blind = false;
	signal = stands_at_signal(walk);
	result = unw_step(&walk->cursor);
	/* then it takes the link register's word, of whenever that is */
	if (walk->blind && arch.reg_link >= 0 && !signal)
		return STEP_NO_ROW;
	if (result == 0)
		return STEP_OUTERMOST;
	if (result < 0)
		return walk->cut ? STEP_CUT : STEP_NO_ROW;
	return take_registers(walk, signal);
}
