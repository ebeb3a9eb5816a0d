/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Writing one small .eh_frame for one function: a one-entry search table, a
 * CIE, an FDE with absolute addresses. See pieces.h for why.
 */
#include "pieces.h"

#include <dwarf.h>
#include <stdlib.h>
#include <string.h>

#include "arch.h"

/* A function with more instructions than this is not worth a copy. */
enum { PIECE_MAX = 1 << 20 };

static void
put(struct pieces *p, const void *data, size_t n)
{
	p->bytes = xgrow(p->bytes, &p->cap, p->len + n, 1);
	memcpy(p->bytes + p->len, data, n);
	p->len += n;
}

static void
put_byte(struct pieces *p, unsigned byte)
{
	put(p, &(unsigned char){ (unsigned char)byte }, 1);
}

static void
put_word(struct pieces *p, uint64_t value, size_t size)
{
	put(p, &value, size);	/* little-endian, as we are */
}

static void
put_uleb(struct pieces *p, uint64_t value)
{
	for (; value >= 0x80; value >>= 7)
		put_byte(p, (value & 0x7f) | 0x80);
	put_byte(p, (unsigned)value);
}

static void
put_sleb(struct pieces *p, int64_t value)
{
	for (; value < -64 || value > 63; value >>= 7)
		put_byte(p, (value & 0x7f) | 0x80);
	put_byte(p, value & 0x7f);
}

/* Fill up to a multiple of 8 and write the length of the entry at `at`. */
static void
end_entry(struct pieces *p, size_t at)
{
	uint32_t size;

	while (p->len & 7)
		put_byte(p, DW_CFA_nop);
	size = (uint32_t)(p->len - at - sizeof size);
	memcpy(p->bytes + at, &size, sizeof size);
}

/* The kernel's sigframe (struct ucontext of x86-64), in CFI. */
static void
put_signal_code(struct pieces *p)
{
	enum { REGISTERS = 40, SP_PLACE = 15 };
	static const uint8_t order[] = {
		8, 9, 10, 11, 12, 13, 14, 15, 5, 4, 6, 3, 1, 0, 2, 7, 16,
	};

	put_byte(p, DW_CFA_def_cfa_expression);
	put_uleb(p, 4);
	put_byte(p, DW_OP_breg7);
	put_sleb(p, REGISTERS + 8 * SP_PLACE);	/* two bytes */
	put_byte(p, DW_OP_deref);
	for (unsigned i = 0; i < sizeof order; i++) {
		const int64_t offset = REGISTERS + 8 * (int64_t)i;

		if (i == SP_PLACE)
			continue;
		put_byte(p, DW_CFA_expression);
		put_uleb(p, order[i]);
		put_uleb(p, offset > 63 ? 3 : 2);
		put_byte(p, DW_OP_breg7);
		put_sleb(p, offset);
	}
}

static void
put_plt_code(struct pieces *p, unsigned push_end)
{
	const uint8_t expr[] = {
		DW_OP_breg7, 8, DW_OP_breg16, 0, DW_OP_lit15, DW_OP_and,
		(uint8_t)(DW_OP_lit0 + push_end), DW_OP_ge, DW_OP_lit3,
		DW_OP_shl, DW_OP_plus,
	};

	put_byte(p, DW_CFA_def_cfa_expression);
	put_uleb(p, sizeof expr);
	put(p, expr, sizeof expr);
	put_byte(p, DW_CFA_offset | 16);
	put_uleb(p, 1);
}

/* CFI of a row that we made up. */
static void
put_fixed_code(struct pieces *p, const struct frame_fde *fde)
{
	if (fde->fixed_kind == STEP_SIGNAL) {
		put_signal_code(p);
		return;
	}
	if (fde->fixed_kind == STEP_PLT) {
		put_plt_code(p, fde->fixed_cfa);
		return;
	}
	put_byte(p, DW_CFA_def_cfa);
	put_uleb(p, 7);
	put_uleb(p, fde->fixed_cfa * 8u);
	put_byte(p, DW_CFA_offset | 16);
	put_uleb(p, 1);
}

static void
put_cie(struct pieces *p, const struct frame_fde *fde,
	const struct frame_cie *cie)
{
	const size_t at = p->len;

	put_word(p, 0, 4);		/* length, later */
	put_word(p, 0, 4);		/* this is a CIE */
	put_byte(p, 1);			/* version */
	if (cie->signal)
		put(p, "zRS", sizeof "zRS");
	else
		put(p, "zR", sizeof "zR");
	put_uleb(p, cie->code_align);
	put_sleb(p, cie->data_align);
	put_byte(p, cie->ra);
	put_uleb(p, 1);			/* of augmentation: */
	put_byte(p, DW_EH_PE_absptr);
	if (fde->insn)
		put(p, cie->insn, (size_t)(cie->insn_end - cie->insn));
	else
		put_fixed_code(p, fde);
	end_entry(p, at);
}

static void
put_fde(struct pieces *p, const struct frame_fde *fde, uint64_t bias, size_t cie)
{
	const size_t at = p->len;

	put_word(p, 0, 4);
	put_word(p, p->len - cie, 4);	/* back to the CIE */
	put_word(p, fde->start + bias, 8);
	put_word(p, fde->end - fde->start, 8);
	put_uleb(p, 0);			/* no augmentation */
	if (fde->insn)
		put(p, fde->insn, (size_t)(fde->insn_end - fde->insn));
	end_entry(p, at);
}

/* ---- what libunwind must not see ----------------------------------------- */

/* The operands of an instruction: U is a number (signed or not), B a block, R a
 * register that another is in, digits so many bytes. NULL: not for us to say. */
static const char *
operands(uint8_t op)
{
	static const char *const extended[] = {
		[DW_CFA_nop] = "", [DW_CFA_advance_loc1] = "1",
		[DW_CFA_advance_loc2] = "2", [DW_CFA_advance_loc4] = "4",
		[DW_CFA_offset_extended] = "UU",
		[DW_CFA_restore_extended] = "U", [DW_CFA_undefined] = "U",
		[DW_CFA_same_value] = "U", [DW_CFA_register] = "UR",
		[DW_CFA_remember_state] = "", [DW_CFA_restore_state] = "",
		[DW_CFA_def_cfa] = "UU", [DW_CFA_def_cfa_register] = "U",
		[DW_CFA_def_cfa_offset] = "U",
		[DW_CFA_def_cfa_expression] = "B", [DW_CFA_expression] = "UB",
		[DW_CFA_offset_extended_sf] = "UU", [DW_CFA_def_cfa_sf] = "UU",
		[DW_CFA_def_cfa_offset_sf] = "U", [DW_CFA_val_offset] = "UU",
		[DW_CFA_val_offset_sf] = "UU", [DW_CFA_val_expression] = "UB",
		[DW_CFA_GNU_args_size] = "U",
		[DW_CFA_GNU_negative_offset_extended] = "UU",
	};

	if (op & 0xc0)
		return (op & 0xc0) == DW_CFA_offset ? "U" : "";
	return op < ARRAY_LEN(extended) ? extended[op] : NULL;
}

/* Numbers with more bits than a word are read in other ways by others. */
static uint64_t
check_number(struct reader *r)
{
	enum { LONGEST = 9 };
	const uint8_t *from = r->at;
	const uint64_t value = reader_uleb(r);

	r->bad = r->bad || r->at - from > LONGEST;
	return value;
}

static void
check_operand(struct reader *r, char kind)
{
	uint64_t n;

	if (kind >= '1' && kind <= '4') {
		(void)reader_fixed(r, (unsigned)(kind - '0'));
		return;
	}
	n = check_number(r);
	if (kind == 'B')
		(void)reader_skip(r, n);
	if (kind == 'R' && n >= (uint64_t)arch.reg_count)
		r->bad = true;
}

/*
 * libunwind (1.6) takes a register that another is said to be in for an index
 * of its own table, whatever the number is.
 */
static bool
is_sound(const uint8_t *from, const uint8_t *to)
{
	struct reader r = { .at = from, .end = to };

	while (!r.bad && r.at < r.end) {
		const char *kinds = operands(reader_byte(&r));

		if (!kinds)
			return false;
		for (; *kinds && !r.bad; kinds++)
			check_operand(&r, *kinds);
	}
	return !r.bad;
}

static bool
is_for_libunwind(const struct frame_fde *fde, const struct frame_cie *cie)
{
	if (cie->ra > UINT8_MAX || fde->insn_end - fde->insn > PIECE_MAX)
		return false;
	/* what we make up below is about x86-64 */
	if (!fde->insn)
		return arch.elf_machine == EM_X86_64;
	return is_sound(cie->insn, cie->insn_end) &&
	       is_sound(fde->insn, fde->insn_end);
}

/* The piece of a function: table entry, CIE, FDE. -1: not expressible. */
static int
make_piece(struct pieces *p, const struct frames *frames,
	   const struct frame_fde *fde, uint64_t bias, uint64_t *offset)
{
	const struct frame_cie made_up = {
		.code_align = 1, .data_align = -8, .ra = 16,
		.signal = fde->fixed_kind == STEP_SIGNAL,
	};
	const struct frame_cie *cie =
		fde->insn ? &frames->cies[fde->cie] : &made_up;
	const size_t at = p->len, entry = sizeof(uint64_t);
	uint32_t fde_at;

	if (!is_for_libunwind(fde, cie))
		return -1;
	put_word(p, (uint32_t)INT32_MIN, 4);	/* below every pc */
	put_word(p, 0, 4);
	put_cie(p, fde, cie);
	fde_at = (uint32_t)(p->len - at);
	memcpy(p->bytes + at + 4, &fde_at, sizeof fde_at);
	put_fde(p, fde, bias, at + entry);
	*offset = at;
	return 0;
}

int
pieces_find(struct pieces *p, const struct frames *frames,
	    const struct frame_fde *fde, uint64_t bias, uint64_t *offset)
{
	const uint64_t key = fde->start + bias;

	if (map_get(&p->known, key, offset))
		return 0;
	if (make_piece(p, frames, fde, bias, offset) < 0)
		return -1;
	map_put(&p->known, key, *offset);
	return 0;
}

void
pieces_fini(struct pieces *p)
{
	map_fini(&p->known);
	free(p->bytes);
	*p = (struct pieces){ 0 };
}
