/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * A load object: its identity, names and lines, its unwind data and text, from
 * a file and from memory.
 */
#include "arch.h"
#include "fuzz.h"
#include "symbol.h"
#include "unwind.h"
#include "../../src/experiment/elf_id.h"

static size_t used;

static bool
visit(void *arg, const struct symbol *sym)
{
	unsigned *left = arg;

	used += fuzz_use(sym->name);
	return (*left)-- > 0;
}

static bool
visit_insn(void *arg, const struct symfile_insn *insn)
{
	unsigned *left = arg;

	used += fuzz_use(insn->text) + insn->bytes[insn->length - 1];
	return (*left)-- > 0;
}

static bool
visit_row(void *arg, const struct symfile_row *row)
{
	unsigned *left = arg;

	used += row->file ? fuzz_use(row->file) : row->vaddr;
	return (*left)-- > 0;
}

static void
visit_function(void *arg, uint64_t start, const char *file, int line)
{
	(void)arg;
	used += fuzz_use(file) + start + (size_t)line;
}

/* What listings of source and instructions ask. */
static void
list(struct symfile *sf)
{
	struct symbol sym;
	unsigned left = 2000;

	for (uint64_t at = 0; at < 0x3000; at += 0x177)
		if (symfile_find(sf, at, &sym))
			(void)symfile_instructions(sf, sym.start,
						   sym.start + sym.size,
						   NAME_LONG, visit_insn,
						   &left);
	for (size_t unit = 0; unit <= symfile_units(sf) && unit < 8; unit++) {
		const char *file = symfile_unit_file(sf, unit);
		const char *producer = symfile_unit_producer(sf, unit);

		used += (file ? fuzz_use(file) : 0) +
			(producer ? fuzz_use(producer) : 0);
		symfile_unit_rows(sf, unit, visit_row, &left);
		symfile_unit_functions(sf, unit, visit_function, NULL);
	}
}

static void
ask(struct symfile *sf)
{
	unsigned left = 2000;
	struct symbol named;
	const char *file;
	uint64_t at;
	int line;

	used += fuzz_use(symfile_trouble(sf)) + fuzz_use(symfile_build_id(sf));
	symfile_each(sf, visit, &left);
	(void)symfile_named(sf, "twin", 0, &named);
	(void)symfile_named(sf, "hidden", 1, &named);
	for (at = 0; at < 0x3000; at += 0x77) {
		const char *const *alias;
		struct symbol sym;

		if (symfile_find(sf, at, &sym))
			for (alias = symfile_aliases(sf, sym.start); *alias;
			     alias++)
				used += fuzz_use(*alias);
		if (symfile_line(sf, at, &file, &line))
			used += fuzz_use(file);
		used += symfile_vaddr(sf, at);
	}
	list(sf);
}

static void
walk(struct unwind_object *obj)
{
	enum { AT = 0x10000000, SIZE = 0x100000, STACK = 4096 };
	static unsigned char window[STACK];
	const struct step_stack stack = {
		.data = window, .base = 0x7fff0000, .size = STACK,
	};
	struct unwind_space *space = unwind_space_new();
	struct unwind_trace trace = {0};
	struct arch_regs regs = {0};
	uint32_t count, i;
	const struct step_row *rows = unwind_object_rows(obj, &count);

	for (i = 0; i < STACK; i += 8) {
		const uint64_t word = i % 64 ? AT + i * 3 : 0x7fff0000 + i + 64;

		memcpy(window + i, &word, sizeof word);
	}
	unwind_space_map(space, AT, AT + SIZE, 0, obj);
	(void)unwind_space_tables(space);
	for (i = 0; i < 20; i++) {
		regs.reg[arch.reg_pc] = AT + (i < count ? rows[i].pc : i * 0x111);
		regs.reg[arch.reg_sp] = stack.base + i * 8;
		regs.reg[arch.reg_fp] = stack.base + i * 16;
		unwind_walk(space, &regs, &stack, NULL, NULL, 64, &trace);
		unwind_walk_full(space, &regs, &stack, NULL, NULL, 64, &trace);
	}
	used += unwind_call_address(space, AT + 0x1005);
	unwind_trace_fini(&trace);
	unwind_space_free(space);
}

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct unwind_object *obj;
	struct symfile *sf;
	struct str id = {0};
	void *copy;
	int fd;

	(void)fuzz_enter();
	fuzz_file("object", data, size);
	fd = open("object", O_RDONLY | O_CLOEXEC);
	if (fd < 0)
		fuzz_broken("object");
	(void)elf_id(fd, &id);
	str_fini(&id);
	sf = symfile_open("object", "/object", "");
	ask(sf);
	symfile_free(sf);
	if ((obj = unwind_object_open(fd, "object")))
		walk(obj);
	unwind_object_free(obj);
	sf = symfile_memory(data, size, "[vdso]");
	ask(sf);
	symfile_free(sf);
	copy = xmalloc(size + 1);
	memcpy(copy, data, size);
	if ((obj = unwind_object_memory(copy, size, 0x10000000, "[vdso]")))
		walk(obj);
	unwind_object_free(obj);
	fail_clear();
	return 0;
}
