/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * What engines and looks hand in, as stacks of the experiment: unwound,
 * interned, and counted by how they end.
 */
#include "clock.h"
#include "recorder.h"

#include <elf.h>
#include <string.h>

static enum stack_end
on_disk(enum unwind_end end)
{
	return end == UNWIND_COMPLETE ? STACK_COMPLETE :
		end == UNWIND_FAILED ? STACK_FAILED : STACK_TRUNCATED;
}

static enum stack_end
count_end(struct recorder *rec, enum unwind_end end)
{
	rec->counts.complete += end == UNWIND_COMPLETE;
	rec->counts.failed += end == UNWIND_FAILED;
	rec->counts.truncated += on_disk(end) == STACK_TRUNCATED;
	rec->counts.too_deep += end == UNWIND_TOO_DEEP;
	return on_disk(end);
}

void
recorder_uncount(struct recorder *rec, enum unwind_end end)
{
	rec->counts.complete -= end == UNWIND_COMPLETE;
	rec->counts.failed -= end == UNWIND_FAILED;
	rec->counts.truncated -= on_disk(end) == STACK_TRUNCATED;
	rec->counts.too_deep -= end == UNWIND_TOO_DEEP;
}

static enum unwind_end
walk(struct recorder *rec, const struct arch_regs *regs,
     const struct step_stack *stack, struct step_stack *under,
     bool window_full)
{
	struct unwind_trace *trace = &rec->trace;

	/* memory of now is not the stack of then: the copy alone counts */
	unwind_walk(rec->opt.space, regs, stack,
		    under ? unwind_read_piece : NULL, under,
		    rec->opt.settings->depth, trace);

	trace->len = mapper_skip_hooks(rec->opt.mapper, trace->pcs,
				       trace->len);

	/*
	 * A window that the kernel did not fill ends where the stack's memory
	 * ends: a walk past it followed a wrong value, not a deep stack.
	 */
	if (trace->end == UNWIND_TRUNCATED && !window_full)
		return UNWIND_FAILED;
	return trace->end;
}

uint64_t
recorder_walk(struct recorder *rec, const struct arch_regs *regs,
	      const struct step_stack *stack, struct step_stack *under,
	      bool window_full)
{
	const enum unwind_end end = walk(rec, regs, stack, under, window_full);
	const struct unwind_trace *trace = &rec->trace;

	rec->counts.full_steps += trace->full_steps;
	rec->fresh = (struct fresh_stack){ trace->pcs, trace->len, end };
	if (end == UNWIND_TRUNCATED)
		rec->counts.cut_bytes = (uint32_t)stack->size;
	return experiment_stack(rec->opt.exp, trace->pcs, trace->len,
				count_end(rec, end));
}

/*
 * Where a function begins, its caller is what the top of the stack says: that
 * is enough for a libc without unwind data (musl).
 */
static enum unwind_end
walk_from_caller(struct recorder *rec, const struct arch_regs *entry,
		 const struct step_stack *stack, bool window_full)
{
	struct unwind_trace *trace = &rec->trace;
	struct arch_regs caller = *entry;
	enum unwind_end end;
	uint64_t ret;

	if (arch.elf_machine != EM_X86_64 || stack->size < sizeof ret)
		return UNWIND_FAILED;
	memcpy(&ret, stack->data, sizeof ret);
	caller.reg[arch.reg_pc] = ret;
	caller.reg[arch.reg_sp] += sizeof ret;
	end = walk(rec, &caller, stack, NULL, window_full);
	trace->pcs = xgrow(trace->pcs, &trace->cap, trace->len + 1,
			   sizeof *trace->pcs);
	memmove(trace->pcs + 1, trace->pcs, trace->len++ * sizeof *trace->pcs);
	trace->pcs[0] = entry->reg[arch.reg_pc];
	trace->pcs[1] = unwind_call_address(rec->opt.space, ret);
	return end;
}

/* How libc goes on from the function at entry to the kernel is of no interest:
 * so many frames are left out. */
static size_t
frames_inside(const struct unwind_trace *trace, uint64_t entry)
{
	enum { INSIDE_MAX = 6, FUNCTION_BYTES = 8192 };
	size_t inner = 0;

	for (size_t i = 0; entry && i < trace->len && i < INSIDE_MAX; i++)
		if (trace->pcs[i] - entry < FUNCTION_BYTES)
			inner = i;
	return inner;
}

uint64_t
recorder_creator_stack(struct recorder *rec, const struct arch_regs *regs,
		       const struct step_stack *stack, bool window_full,
		       uint64_t entry)
{
	enum unwind_end end = walk(rec, regs, stack, NULL, window_full);
	const struct unwind_trace *trace = &rec->trace;

	if (end == UNWIND_FAILED && trace->len == 1)
		end = walk_from_caller(rec, regs, stack, window_full);

	const size_t inner = frames_inside(trace, entry);

	return experiment_stack(rec->opt.exp, trace->pcs + inner,
				trace->len - inner, on_disk(end));
}

uint64_t
recorder_raw_stack(struct recorder *rec, uint64_t *pcs, size_t n,
		   const unsigned char *exact, enum unwind_end end)
{
	if (n > rec->opt.settings->depth) {
		n = rec->opt.settings->depth;
		end = UNWIND_TOO_DEEP;
	}
	if (n > 1 && end == UNWIND_COMPLETE &&
	    unwind_skips_caller(rec->opt.space, pcs[0], pcs[1]))
		end = UNWIND_FAILED;
	for (size_t i = 1; i < n; i++)
		if (!(exact[i / 8] & 1 << i % 8))
			pcs[i] = unwind_call_address(rec->opt.space, pcs[i]);
	n = mapper_skip_hooks(rec->opt.mapper, pcs, n);
	rec->fresh = (struct fresh_stack){ pcs, n, end };
	return experiment_stack(rec->opt.exp, pcs, n, count_end(rec, end));
}

enum unwind_end
recorder_latest_end(const struct recorder *rec)
{
	return rec->fresh.end;
}

bool
recorder_has_stack(const struct recorder *rec, uint64_t frinfo)
{
	return experiment_has_stack(rec->opt.exp, frinfo);
}

uint64_t
recorder_artificial(struct recorder *rec, uint64_t *frinfo, const char *name)
{
	if (!*frinfo)
		*frinfo = experiment_artificial(rec->opt.exp, name);
	return *frinfo;
}

/* One of no code is whole. */
static uint64_t
whole_artificial(struct recorder *rec, uint64_t *frinfo, const char *name)
{
	rec->fresh = (struct fresh_stack){ .end = UNWIND_COMPLETE };
	(void)count_end(rec, UNWIND_COMPLETE);
	return recorder_artificial(rec, frinfo, name);
}

uint64_t
recorder_kernel_stack(struct recorder *rec)
{
	return whole_artificial(rec, &rec->kernel_frinfo, "<Kernel>");
}

uint64_t
recorder_system_stack(struct recorder *rec)
{
	return whole_artificial(rec, &rec->system_frinfo,
				"<Unsampled system time>");
}

uint64_t
recorder_unseen_stack(struct recorder *rec)
{
	return recorder_artificial(rec, &rec->unseen_frinfo, "<Unseen stack>");
}

uint64_t
recorder_copied_stack(struct recorder *rec, const struct clock_record *sample)
{
	if (!sample->u.sample.has_user)
		return recorder_kernel_stack(rec);

	const struct step_stack stack = {
		.data = sample->u.sample.stack,
		.base = sample->u.sample.stack_base,
		.size = sample->u.sample.stack_size,
	};

	return recorder_walk(rec, &sample->u.sample.regs, &stack, NULL,
			     sample->u.sample.stack_full);
}

static bool
wants_more(const struct unwind_trace *trace, enum waiting_copy copy)
{
	if (trace->end == UNWIND_COMPLETE || trace->end == UNWIND_TOO_DEEP)
		return false;
	return copy == COPY_FIRST || (copy == COPY_LARGER && trace->above);
}

static enum stack_end
end_of_waiting(enum unwind_end end, bool window_full)
{
	if (end == UNWIND_COMPLETE)
		return STACK_COMPLETE;
	return end == UNWIND_TOO_DEEP ||
		(end == UNWIND_TRUNCATED && window_full) ?
		STACK_TRUNCATED : STACK_FAILED;
}

/* No sample: it counts among none of them. */
uint64_t
recorder_waiting_stack(struct recorder *rec, uint64_t pc, uint64_t sp,
		       const struct step_stack *stack, struct step_stack *under,
		       bool window_full, enum waiting_copy copy)
{
	struct unwind_trace *trace = &rec->trace;

	unwind_walk_waiting(rec->opt.space, pc, sp, stack,
			    under ? unwind_read_piece : NULL, under,
			    rec->opt.settings->depth, trace);
	if (window_full && wants_more(trace, copy))
		return 0;

	const enum stack_end end = end_of_waiting(trace->end, window_full);

	trace->len = mapper_skip_hooks(rec->opt.mapper, trace->pcs,
				       trace->len);

	rec->counts.looks++;
	rec->counts.looks_cut += end != STACK_COMPLETE;
	return experiment_stack(rec->opt.exp, trace->pcs, trace->len, end);
}
