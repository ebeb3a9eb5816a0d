/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Unwind data: the .eh_frame of a small sound object is the fuzzer's, compiled
 * to rows, walked by these and by the full interpreter over a stack that is
 * the fuzzer's too, while the object's mapping is cut, covered and taken away;
 * and by the pure step, as the guest does.
 */
#include <elf.h>

#include "arch.h"
#include "fuzz.h"
#include "unwind.h"

enum {
	TEXT_AT = 0x1000, TEXT_SIZE = 0x1000, FRAME_AT = 0x2000,
	LOADED = 0x10000000, STACK = 1024, STACK_AT = 0x7fff0000,
	SIGRETURN_AT = TEXT_AT + 0xf00, STARTS = 24, DEPTH = 64,
};

static const uint8_t sigreturn[] = {
	0x48, 0xc7, 0xc0, 0x0f, 0, 0, 0, 0x0f, 0x05,
};

static const char names[] = "\0.text\0.eh_frame\0.shstrtab";

/* Header, segments, text, the fuzzer's section, names, section headers. */
static unsigned char *
make_object(const uint8_t *data, size_t size, size_t *total)
{
	const size_t names_at = FRAME_AT + size;
	const size_t sections_at = (names_at + sizeof names + 7) / 8 * 8;
	const Elf64_Ehdr eh = {
		.e_ident = { 0x7f, 'E', 'L', 'F', ELFCLASS64, ELFDATA2LSB, 1 },
		.e_type = ET_DYN, .e_machine = EM_X86_64, .e_version = 1,
		.e_phoff = sizeof eh, .e_shoff = sections_at,
		.e_ehsize = sizeof eh, .e_phentsize = sizeof(Elf64_Phdr),
		.e_phnum = 1, .e_shentsize = sizeof(Elf64_Shdr), .e_shnum = 4,
		.e_shstrndx = 3,
	};
	const Elf64_Phdr ph = {
		.p_type = PT_LOAD, .p_flags = PF_R | PF_X, .p_filesz = names_at,
		.p_memsz = names_at, .p_align = 4096,
	};
	const Elf64_Shdr sh[4] = {
		[1] = { .sh_name = 1, .sh_type = SHT_PROGBITS,
			.sh_flags = SHF_ALLOC | SHF_EXECINSTR,
			.sh_addr = TEXT_AT, .sh_offset = TEXT_AT,
			.sh_size = TEXT_SIZE, .sh_addralign = 16 },
		[2] = { .sh_name = 7, .sh_type = SHT_PROGBITS,
			.sh_flags = SHF_ALLOC, .sh_addr = FRAME_AT,
			.sh_offset = FRAME_AT, .sh_size = size,
			.sh_addralign = 8 },
		[3] = { .sh_name = 17, .sh_type = SHT_STRTAB,
			.sh_offset = names_at, .sh_size = sizeof names,
			.sh_addralign = 1 },
	};
	unsigned char *image;

	*total = sections_at + sizeof sh;
	image = xcalloc(1, *total);
	memcpy(image, &eh, sizeof eh);
	memcpy(image + sizeof eh, &ph, sizeof ph);
	memset(image + TEXT_AT, 0x90, TEXT_SIZE);
	memcpy(image + SIGRETURN_AT, sigreturn, sizeof sigreturn);
	if (size)
		memcpy(image + FRAME_AT, data, size);
	memcpy(image + names_at, names, sizeof names);
	memcpy(image + sections_at, sh, sizeof sh);
	return image;
}

/* The stack goes on above the window, as it began. */
static int
read_above(void *arg, uint64_t addr, void *buf, size_t n)
{
	const struct step_stack *stack = arg;
	unsigned char *to = buf;
	size_t i;

	if (addr < STACK_AT || addr >= STACK_AT + 16 * STACK)
		return -1;
	for (i = 0; i < n; i++)
		to[i] = stack->data[(addr + i - STACK_AT) % STACK];
	return 0;
}

/* A memo of other tables, or of nobody's, changes nothing. */
static void
step_all(const struct step_tables *tables, const struct step_stack *stack,
	 const struct arch_regs *from)
{
	static struct step_memo memo[STEP_MEMO];
	struct step_tables recalling = *tables;
	struct step_regs regs = {
		.pc = from->reg[arch.reg_pc], .sp = from->reg[arch.reg_sp],
		.fp = from->reg[arch.reg_fp], .exact = 1,
	}, again = regs, ahead = regs;
	uint64_t pcs[DEPTH];
	enum step_result r = STEP_OK;

	recalling.memo = memo;
	memo[from->reg[arch.reg_pc] % STEP_MEMO].place = from->reg[arch.reg_fp];
	while (regs.depth < DEPTH && r == STEP_OK) {
		r = step_frame(tables, stack, &regs);
		if (step_frame(&recalling, stack, &again) != r ||
		    memcmp(&regs, &again, sizeof regs) != 0)
			abort();
	}
	do {
		(void)step_ahead(&recalling, stack, &ahead, pcs,
				 DEPTH - ahead.depth);
	} while (ahead.depth < DEPTH &&
		 step_frame(&recalling, stack, &ahead) == STEP_OK);
	if (memcmp(&regs, &ahead, sizeof regs) != 0)
		abort();
}

/* From places all over the rows; the last ones from the sigreturn and from
 * where nothing is mapped. */
static void
walk_from(struct unwind_space *space, struct unwind_object *obj,
	  const struct step_stack *stack, struct unwind_trace *trace)
{
	const struct step_tables *tables = unwind_space_tables(space);
	const uint64_t base = LOADED + unwind_object_base(obj);
	struct arch_regs regs = {0};
	uint32_t count, i;
	const struct step_row *rows = unwind_object_rows(obj, &count);

	for (i = 0; i < STARTS; i++) {
		uint64_t pc = LOADED + TEXT_AT + i * 64;

		if (i < count)
			pc = base + rows[(uint64_t)i * count / STARTS].pc + 1;
		if (i == STARTS - 2)
			pc = LOADED + SIGRETURN_AT;
		if (i == STARTS - 1)
			pc = LOADED / 2;
		regs.reg[arch.reg_pc] = pc;
		regs.reg[arch.reg_sp] = STACK_AT + i % 16 * 8;
		regs.reg[arch.reg_fp] = i % 8 == 7 ? 0 : STACK_AT + i * 16;
		unwind_walk(space, &regs, stack, i % 2 ? read_above : NULL,
			    (void *)stack, DEPTH, trace);
		unwind_walk_full(space, &regs, stack, NULL, NULL, DEPTH, trace);
		step_all(tables, stack, &regs);
		(void)unwind_call_address(space, pc);
	}
}

/* The object with a hole in it, covered in its midst, then gone. */
static void
walk(struct unwind_object *obj, const unsigned char *window)
{
	const struct step_stack stack = {
		.data = window, .base = STACK_AT, .size = STACK,
	};
	struct unwind_space *space = unwind_space_new();
	struct unwind_trace trace = {0};

	unwind_space_map(space, LOADED, LOADED + 0x100000, 0, obj);
	walk_from(space, obj, &stack, &trace);
	unwind_space_unmap(space, LOADED + 0x40000, LOADED + 0x50000);
	unwind_space_map(space, LOADED + TEXT_AT + 0x800, LOADED + 0x60000, 0,
			 NULL);
	unwind_space_map(space, LOADED + 0x30000, LOADED + 0x70000, 0x30000,
			 obj);
	walk_from(space, obj, &stack, &trace);
	unwind_space_unmap(space, 0, LOADED + 0x200000);
	walk_from(space, obj, &stack, &trace);
	unwind_trace_fini(&trace);
	unwind_space_free(space);
}

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static unsigned char window[STACK];
	struct unwind_object *obj;
	unsigned char *image;
	size_t total, i;

	for (i = 0; i < STACK; i += 8) {
		uint64_t word = i % 24 ? STACK_AT + i + 32
				       : LOADED + TEXT_AT + i;

		if (size > 8)
			word ^= data[i % size];
		memcpy(window + i, &word, sizeof word);
	}
	image = make_object(data, size, &total);
	(void)fuzz_enter();
	fuzz_file("object", image, total);
	obj = unwind_object_open(open("object", O_RDONLY | O_CLOEXEC),
				 "object");
	free(image);
	if (obj)
		walk(obj, window);
	unwind_object_free(obj);
	fail_clear();
	return 0;
}
