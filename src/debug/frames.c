/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * The stack, frame by frame, with all the registers that calls preserve: by
 * the rules of .eh_frame and .debug_frame as libdw reads them, by the frame
 * pointer where there are none. A register that a frame did not save and a
 * call does not preserve is not known further out; nobody guesses it.
 */
#include "private.h"

#include <stdlib.h>
#include <string.h>

static void
open_cfi(struct object *o)
{
	Elf *elf = symfile_elf(o->symbols);

	if (o->cfi_sought)
		return;
	o->cfi_sought = true;
	if (elf)
		o->eh_cfi = dwarf_getcfi_elf(elf);
	if (object_dwarf(o))
		o->debug_cfi = dwarf_getcfi(o->dwarf);
}

/* The address that tells what a frame is doing: of the call it is in. */
uint64_t
frame_lookup_pc(const struct physical *p)
{
	return p->exact || p->pc == 0 ? p->pc : p->pc - 1;
}

static Dwarf_Frame *
rules_at(struct physical *p)
{
	struct object *o = p->object;
	Dwarf_Frame *rules = NULL;

	if (!o)
		return NULL;
	open_cfi(o);

	const uint64_t vaddr = frame_lookup_pc(p) - o->bias;

	if (o->eh_cfi && dwarf_cfi_addrframe(o->eh_cfi, vaddr, &rules) == 0)
		return rules;
	if (o->debug_cfi &&
	    dwarf_cfi_addrframe(o->debug_cfi, vaddr, &rules) == 0)
		return rules;
	return NULL;
}

static bool
find_cfa(struct debug *d, struct physical *p, Dwarf_Frame *rules)
{
	struct context c = { .d = d, .object = p->object, .regs = p };
	Dwarf_Op *ops;
	size_t n;

	if (dwarf_frame_cfa(rules, &ops, &n) != 0 || n == 0)
		return false;
	/* one that asks for the address that it tells would do so for ever */
	for (size_t i = 0; i < n; i++)
		if (ops[i].atom == DW_OP_call_frame_cfa)
			return false;
	return number_of_ops(&c, NULL, ops, n, &p->cfa) == 0;
}

/* 0: it is not known. */
uint64_t
frame_cfa(struct debug *d, const struct physical *p)
{
	struct physical *own = (struct physical *)p;

	if (p->cfa == 0) {
		Dwarf_Frame *rules = rules_at(own);

		if (rules && !find_cfa(d, own, rules))
			own->cfa = 0;
		free(rules);
	}
	return p->cfa;
}

int
frame_cfa_base(const struct physical *p)
{
	Dwarf_Frame *rules = rules_at((struct physical *)p);
	Dwarf_Op *ops;
	size_t n;
	int reg = -2;

	if (rules && dwarf_frame_cfa(rules, &ops, &n) == 0 && n == 1) {
		if (ops[0].atom >= DW_OP_breg0 && ops[0].atom <= DW_OP_breg31)
			reg = (int)(ops[0].atom - DW_OP_breg0);
		if (ops[0].atom == DW_OP_bregx)
			reg = (int)ops[0].number;
	}
	free(rules);
	return reg;
}

/* A register's value that stands nowhere: it cannot be given another. */
static struct reg_state
computed(uint64_t value)
{
	return (struct reg_state){
		.known = REG_HERE, .value = value, .computed = true,
	};
}

/* What the caller had in a register, by the rule for it. */
static struct reg_state
restore(struct debug *d, const struct physical *p, Dwarf_Frame *rules, int reg)
{
	struct context c = { .d = d, .object = p->object, .regs = p };
	struct reg_state out = { .known = REG_LOST };
	struct places where = {0};
	Dwarf_Op memory[3], *ops;
	size_t n;

	if (dwarf_frame_register(rules, reg, memory, &ops, &n) != 0)
		return out;
	if (n == 0) {
		/* libdw says of what no rule is about that it is undefined */
		if (!ops || (reg < 32 && machine.kept >> reg & 1))
			out = p->reg[reg];
		return out;
	}
	if (places_of_ops(&c, NULL, ops, n, &where) < 0 || where.len != 1)
		return out;

	const struct place *at = &where.items[0];

	if (at->kind == PLACE_MEMORY) {
		if (debug_read_word(d, at->value, &out.value)) {
			out.known = REG_SAVED;
			out.saved_at = at->value;
		}
	} else if (at->kind == PLACE_REGISTER && at->reg >= 0 &&
		   at->reg < arch.reg_count) {
		out = p->reg[at->reg];
		out.computed |= at->reg != reg;
	} else if (at->kind == PLACE_VALUE) {
		out.known = REG_HERE;
		out.computed = true;
		out.value = at->value;
	}
	return out;
}

/* By rules; false: this is the outermost frame. */
static bool
step_by_rules(struct debug *d, struct physical *p, Dwarf_Frame *rules,
	      struct physical *out)
{
	bool signal = false;
	const int ra = dwarf_frame_info(rules, NULL, NULL, &signal);

	if (ra < 0 || ra >= arch.reg_count || !find_cfa(d, p, rules))
		return false;
	p->signal = signal;
	for (int i = 0; i < arch.reg_count; i++)
		out->reg[i] = restore(d, p, rules, i);
	if (out->reg[arch.reg_sp].known == REG_LOST ||
	    arch.reg_sp == arch.reg_link)
		out->reg[arch.reg_sp] = computed(p->cfa);

	const struct reg_state pc = ra == arch.reg_pc ? out->reg[ra] :
				    restore(d, p, rules, ra);

	if (pc.known == REG_LOST || pc.value == 0)
		return false;
	out->reg[arch.reg_pc] = pc;
	out->pc = pc.value;
	out->exact = signal;
	return true;
}

/* Without rules: the saved frame pointer and the return address above it. */
static bool
step_by_pointer(struct debug *d, struct physical *p, struct physical *out)
{
	const struct reg_state *fp = &p->reg[arch.reg_fp];
	uint64_t saved, pc;

	if (fp->known == REG_LOST || fp->value & 7 ||
	    fp->value < p->reg[arch.reg_sp].value ||
	    !debug_read_word(d, fp->value, &saved) ||
	    !debug_read_word(d, fp->value + 8, &pc) || !object_at(d, pc))
		return false;
	p->cfa = fp->value + 16;
	out->reg[arch.reg_fp] = (struct reg_state){
		.known = REG_SAVED, .value = saved, .saved_at = fp->value,
	};
	out->reg[arch.reg_pc] = (struct reg_state){
		.known = REG_SAVED, .value = pc, .saved_at = fp->value + 8,
	};
	out->reg[arch.reg_sp] = computed(p->cfa);
	out->pc = pc;
	return true;
}

/*
 * A call through a bad pointer leaves the processor where no code is: the
 * return address is still on top of the stack, or in the link register.
 */
static bool
step_out_of_nothing(struct debug *d, struct physical *p, struct physical *out)
{
	const uint64_t sp = p->reg[arch.reg_sp].value;
	uint64_t pc;

	if (!p->innermost || p->object)
		return false;
	memcpy(out->reg, p->reg, sizeof out->reg);
	if (arch.reg_link >= 0) {
		pc = p->reg[arch.reg_link].value;
		p->cfa = sp;
	} else {
		if (!debug_read_word(d, sp, &pc))
			return false;
		p->cfa = sp + 8;
	}
	if (!object_at(d, pc))
		return false;
	out->reg[arch.reg_sp] = computed(p->cfa);
	out->reg[arch.reg_pc] = computed(pc);
	out->pc = pc;
	return true;
}

static struct physical *
first_frame(struct debug *d)
{
	struct physical *p;

	if (debug_regs_load(d) < 0)
		return NULL;
	p = arena_alloc(&d->stack, sizeof *p);
	for (int i = 0; i < arch.reg_count; i++)
		p->reg[i] = (struct reg_state){
			.known = REG_HERE, .value = d->regs.general.reg[i],
		};
	p->pc = d->regs.general.reg[arch.reg_pc];
	p->exact = p->innermost = true;
	return p;
}

/* The stack ends, goes on, or turns back on itself, which ends it too. */
static struct physical *
next_physical(struct debug *d, struct physical *p)
{
	struct physical *out = arena_alloc(&d->stack, sizeof *out);
	Dwarf_Frame *rules = rules_at(p);
	const bool more = rules ? step_by_rules(d, p, rules, out) :
		step_by_pointer(d, p, out) || step_out_of_nothing(d, p, out);

	free(rules);
	if (!more)
		return NULL;
	if (out->reg[arch.reg_sp].value <= p->reg[arch.reg_sp].value &&
	    !p->signal && !(p->innermost && out->pc != p->pc))
		return NULL;
	return out;
}

static void
push_frame(struct debug *d, const struct frame *f)
{
	d->frames = xgrow(d->frames, &d->frame_cap, d->frame_len + 1,
			  sizeof *d->frames);
	d->frames[d->frame_len] = arena_alloc(&d->stack, sizeof *f);
	*d->frames[d->frame_len++] = *f;
}

static bool
is_function(Dwarf_Die *die)
{
	const int tag = dwarf_tag(die);

	return tag == DW_TAG_subprogram || tag == DW_TAG_inlined_subroutine;
}

/* A frame of its own for each function that was inlined there. */
static void
push_physical(struct debug *d, struct physical *p)
{
	struct frame f = { .at = p };

	objects_load(d);
	p->object = object_at(d, frame_lookup_pc(p));
	vec_push(&d->physicals, p);
	if (p->object)
		scopes_at(d, p->object, frame_lookup_pc(p) - p->object->bias,
			  p);
	for (size_t i = 0; i < p->scope_len; i++) {
		if (!is_function(&p->scopes[i]))
			continue;
		f.last = i;
		f.inlined = dwarf_tag(&p->scopes[i]) ==
			    DW_TAG_inlined_subroutine;
		push_frame(d, &f);
		if (!f.inlined)
			return;
		f.first = i + 1;
	}
	f.inlined = false;
	f.last = p->scope_len ? p->scope_len - 1 : 0;
	push_frame(d, &f);
}

int
frame_make_all(struct debug *d, size_t upto)
{
	if (upto > FRAME_MAX)
		upto = FRAME_MAX;
	while (!d->frames_ended && d->frame_len <= upto) {
		struct physical *p = d->physicals.len ?
			next_physical(d, d->physicals.items[
						d->physicals.len - 1]) :
			first_frame(d);

		if (!p) {
			d->frames_ended = true;
			break;
		}
		push_physical(d, p);
	}
	return d->frame_len ? 0 : -1;
}

const struct frame *
frame_get(struct debug *d, size_t n)
{
	if (frame_make_all(d, n) < 0)
		return NULL;
	if (n >= d->frame_len) {
		(void)fail(FAIL_MISSING, "No frame at level %zu.", n);
		return NULL;
	}
	return d->frames[n];
}

const struct frame *
frame_selected(struct debug *d)
{
	return frame_get(d, d->selected);
}

size_t
debug_frames(struct debug *d, size_t max)
{
	objects_load(d);
	if (frame_make_all(d, max) < 0)
		return 0;
	return d->frame_len < max ? d->frame_len : max;
}

int
debug_select(struct debug *d, size_t n)
{
	objects_load(d);
	if (!frame_get(d, n))
		return -1;
	d->selected = n;
	return 0;
}

size_t
debug_selected(const struct debug *d)
{
	return d->selected;
}

int
debug_register(struct debug *d, size_t n, int reg, uint64_t *value)
{
	const struct frame *f = frame_get(d, n);

	if (!f)
		return -1;
	if (reg < 0 || reg >= arch.reg_count ||
	    f->at->reg[reg].known == REG_LOST)
		return fail(FAIL_MISSING, "the register was not saved");
	*value = f->at->reg[reg].value;
	return 0;
}

bool
debug_is_preserved(int reg)
{
	return reg == arch.reg_pc || reg == arch.reg_sp ||
		(reg >= 0 && reg < 32 && (machine.kept >> reg & 1));
}
