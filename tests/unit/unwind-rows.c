/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * mission: S2
 *
 * Compiled rows against libdw's interpreter: in libc, the dynamic linker,
 * this program, and what else of size is installed, at every eighth byte of
 * text (fewer in huge objects; all of the files named as arguments), the CFA,
 * the return address and the frame pointer must have the same rule. Rows that
 * need the second engine must be rare: 0.05 % of all.
 */
#include <dwarf.h>
#include <elfutils/libdw.h>
#include <gelf.h>
#include <glob.h>
#include <libelf.h>

#include "unwind-help.h"

enum { QUERIES_MAX = 300000, SP = 7, FP = 6, RA = 16 };

static unsigned long all_rows, full_rows;

struct judge {
	int fd;
	Elf *elf;
	Dwarf_CFI *cfi;
};

struct count {
	unsigned long pcs, none, full, differ, fixed;
};

static bool
saved_at_cfa(Dwarf_Frame *frame, int reg, int64_t offset)
{
	Dwarf_Op mem[3], *ops;
	size_t n;

	return dwarf_frame_register(frame, reg, mem, &ops, &n) == 0 &&
	       n == 2 && ops[0].atom == DW_OP_call_frame_cfa &&
	       ops[1].atom == DW_OP_plus_uconst &&
	       (int64_t)ops[1].number == offset;
}

/* same value, or undefined: both read "unchanged" for a frame pointer */
static bool
unsaved(Dwarf_Frame *frame, int reg, bool *undefined)
{
	Dwarf_Op mem[3], *ops;
	size_t n;

	if (dwarf_frame_register(frame, reg, mem, &ops, &n) != 0 || n != 0)
		return false;
	*undefined = ops == mem;
	return true;
}

/* libdw puts the CFA in front of any expression */
static bool
saved_at_fp(Dwarf_Frame *frame)
{
	Dwarf_Op mem[3], *ops;
	size_t n;

	return dwarf_frame_register(frame, FP, mem, &ops, &n) == 0 &&
	       n == 2 && ops[0].atom == DW_OP_call_frame_cfa &&
	       ops[1].atom == DW_OP_breg6 && ops[1].number == 0;
}

static bool
same_fp(struct step_row row, Dwarf_Frame *frame)
{
	bool undefined;

	/* at the return of a realigned frame the compiler is wrong, we know */
	if (row.fp == STEP_FP_SAME)
		return unsaved(frame, FP, &undefined) ||
		       (row.kind == STEP_SP && saved_at_fp(frame));
	if (row.fp == STEP_FP_AT_FP)
		return saved_at_fp(frame);
	return saved_at_cfa(frame, FP, row.fp * 8);
}

static bool
is_plt(const Dwarf_Op *ops, size_t n, unsigned limit)
{
	static const uint8_t atoms[] = {
		DW_OP_breg7, DW_OP_breg16, DW_OP_lit15, DW_OP_and, 0,
		DW_OP_ge, DW_OP_lit3, DW_OP_shl, DW_OP_plus,
	};

	if (n != ARRAY_LEN(atoms) || ops[0].number != 8 || ops[1].number)
		return false;
	for (size_t i = 0; i < n; i++)
		if (ops[i].atom != (atoms[i] ? atoms[i] : DW_OP_lit0 + limit))
			return false;
	return true;
}

static bool
same_cfa(struct step_row row, const Dwarf_Op *ops, size_t n)
{
	if (row.kind == STEP_PLT)
		return is_plt(ops, n, row.cfa);
	if (row.kind == STEP_DRAP)
		return n == 2 && ops[0].atom == DW_OP_breg6 &&
		       (int64_t)ops[0].number == (int16_t)row.cfa &&
		       ops[1].atom == DW_OP_deref;
	return n == 1 && ops[0].atom == DW_OP_bregx &&
	       ops[0].number == (row.kind == STEP_SP ? SP : FP) &&
	       ops[0].number2 == row.cfa * 8u;
}

static bool
same_rule(struct step_row row, Dwarf_Frame *frame)
{
	Dwarf_Op *ops;
	size_t n;
	bool flag = false;

	if (row.kind == STEP_SIGNAL)
		return dwarf_frame_info(frame, NULL, NULL, &flag) >= 0 && flag;
	if (row.kind == STEP_END)
		return unsaved(frame, RA, &flag) && flag;
	return dwarf_frame_cfa(frame, &ops, &n) == 0 &&
	       same_cfa(row, ops, n) && saved_at_cfa(frame, RA, -8) &&
	       same_fp(row, frame);
}

static struct step_row
row_at(const struct step_row *rows, uint32_t count, uint64_t at)
{
	const struct step_tables tables = { 0 };
	const struct step_range range = {
		.rows = (uintptr_t)rows, .count = count,
	};

	return step_row_find(&tables, &range, at);
}

static void
compare_pc(struct judge *judge, struct step_row row, uint64_t pc,
	   struct count *c, const char *path)
{
	Dwarf_Frame *frame = NULL;
	const bool known = dwarf_cfi_addrframe(judge->cfi, pc, &frame) == 0;

	c->pcs++;
	if (row.kind == STEP_NONE)
		c->none++;
	if (row.kind == STEP_FULL)
		c->full++;
	if (!known && row.kind != STEP_NONE)
		c->fixed++;	/* we know more: stubs of linkers and libcs */
	if (row.kind == STEP_NONE ? known :
	    known && row.kind != STEP_FULL && !same_rule(row, frame)) {
		if (c->differ++ < 5)
			printf("%s: %#lx: kind %u cfa %u fp %d differs\n", path,
			       (unsigned long)pc, row.kind, row.cfa, row.fp);
	}
	free(frame);
}

static int
judge_open(struct judge *judge, const char *path)
{
	elf_version(EV_CURRENT);
	judge->fd = open(path, O_RDONLY | O_CLOEXEC);
	judge->elf = elf_begin(judge->fd, ELF_C_READ_MMAP, NULL);
	judge->cfi = judge->elf ? dwarf_getcfi_elf(judge->elf) : NULL;
	return judge->cfi ? 0 : -1;
}

static void
judge_close(struct judge *judge)
{
	if (judge->cfi)
		dwarf_cfi_end(judge->cfi);
	elf_end(judge->elf);
	close(judge->fd);
}

static void
compare_text(struct judge *judge, struct unwind_object *obj, uint64_t limit,
	     struct count *c, const char *path)
{
	uint32_t count;
	const struct step_row *rows = unwind_object_rows(obj, &count);
	const uint64_t base = unwind_object_base(obj);
	size_t n;

	CHECK(count > 0, "%s: no rows", path);
	all_rows += count;
	for (uint32_t i = 0; i < count; i++)
		full_rows += rows[i].kind == STEP_FULL;
	if (elf_getphdrnum(judge->elf, &n) != 0)
		return;
	for (size_t i = 0; i < n; i++) {
		GElf_Phdr ph;

		if (!gelf_getphdr(judge->elf, (int)i, &ph) ||
		    ph.p_type != PT_LOAD || !(ph.p_flags & PF_X))
			continue;

		uint64_t step = ph.p_memsz / limit & -8ull;

		step = step < 8 ? 8 : step + 1;	/* odd: not aligned */
		for (uint64_t pc = ph.p_vaddr; pc < ph.p_vaddr + ph.p_memsz;
		     pc += step)
			compare_pc(judge, row_at(rows, count, pc - base), pc,
				   c, path);
	}
}

static void
compare_object(const char *path, uint64_t limit)
{
	struct count c = { 0 };
	struct judge judge;
	struct unwind_object *obj =
		unwind_object_open(open(path, O_RDONLY | O_CLOEXEC), path);

	if (!obj || judge_open(&judge, path) < 0) {
		CHECK(0, "%s: cannot be read", path);
		return;
	}
	compare_text(&judge, obj, limit, &c, path);
	printf("%s: %lu pcs, %lu without data, %lu known without data, "
	       "%lu full, %lu differ\n", path, c.pcs, c.none, c.fixed,
	       c.full, c.differ);
	CHECK(c.differ == 0, "%s: %lu rows differ", path, c.differ);
	judge_close(&judge);
	unwind_object_free(obj);
}

static void
compare_glob(const char *pattern)
{
	glob_t found;

	if (glob(pattern, 0, NULL, &found) != 0)
		return;		/* not installed here */
	compare_object(found.gl_pathv[0], QUERIES_MAX);
	globfree(&found);
}

static void
compare_libc(void)
{
	char line[1024], path[512], last[512] = "";
	FILE *maps = fopen("/proc/self/maps", "r");

	while (maps && fgets(line, sizeof line, maps)) {
		if (sscanf(line, "%*s %*s %*s %*s %*s %511[^\n]", path) != 1 ||
		    path[0] != '/' || strcmp(path, last) == 0)
			continue;
		snprintf(last, sizeof last, "%s", path);
		compare_object(path, QUERIES_MAX);
	}
	if (maps)
		fclose(maps);
}

int
main(int argc, char **argv)
{
	for (int i = 1; i < argc; i++)
		compare_object(argv[i], UINT64_MAX);
	if (argc == 1) {
		compare_libc();
		compare_glob("/usr/lib/*/libpython3*.so*");
		compare_glob("/usr/lib/*/libstdc++.so.6");
		compare_glob("/usr/bin/gdb");
		compare_glob("/usr/bin/node");
	}
	printf("%lu of %lu rows need the second engine (%.4f %%)\n", full_rows,
	       all_rows, 100.0 * full_rows / all_rows);
	CHECK(argc > 1 || full_rows * 2000 <= all_rows, "that is too many");
	return failures ? 1 : 0;
}
