/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Machine code as text, by libopcodes. It decodes and writes registers and
 * numbers; what an address means is looked up here, so that a call names what
 * is called and an operand relative to the PC the variable. Bytes that are no
 * instruction are shown as bytes, one by one.
 */
#include "config.h"
#include "symfile.h"

#include <dis-asm.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

enum { CODE_MAX = 64 << 20 };	/* no function is larger */

struct decoder {
	disassemble_info info;
	disassembler_ftype decode;
	struct symfile *sf;
	enum name_form form;
	struct str text;
	uint64_t target;
};

/* ---- what libopcodes calls ------------------------------------------ */

static int
print(void *stream, const char *fmt, ...)
{
	struct str *text = stream;
	va_list ap;

	va_start(ap, fmt);
	char *part = xvasprintf(fmt, ap);
	va_end(ap);

	const size_t n = strlen(part);

	str_addn(text, part, n);
	free(part);
	return (int)n;
}

#ifdef HAVE_OPCODES_STYLES
static int
print_styled(void *stream, enum disassembler_style style, const char *fmt, ...)
{
	struct str *text = stream;
	va_list ap;

	(void)style;
	va_start(ap, fmt);
	char *part = xvasprintf(fmt, ap);
	va_end(ap);

	const size_t n = strlen(part);

	str_addn(text, part, n);
	free(part);
	return (int)n;
}
#endif

static void
begin(disassemble_info *info, struct str *text)
{
#ifdef HAVE_OPCODES_STYLES
	init_disassemble_info(info, text, print, print_styled);
#else
	init_disassemble_info(info, text, print);
#endif
}

static void
print_address(bfd_vma addr, disassemble_info *info)
{
	struct decoder *d = info->application_data;
	struct str name = {0};

	d->target = addr;
	str_addf(&d->text, "0x%" PRIx64, (uint64_t)addr);
	/* <static>@0x... has brackets of its own */
	if (operand_name(d->sf, addr, d->form, &name))
		str_addf(&d->text, str_text(&name)[0] == '<' ? " %s" : " <%s>",
			 str_text(&name));
	str_fini(&name);
}

static void
ignore_error(int status, bfd_vma addr, disassemble_info *info)
{
	(void)status;		/* the return value says so too */
	(void)addr;
	(void)info;
}

/* ---- decoding ------------------------------------------------------- */

static const struct {
	unsigned elf;
	enum bfd_architecture arch;
	unsigned long mach;
} machines[] = {
	{ EM_X86_64, bfd_arch_i386, bfd_mach_x86_64 },
	{ EM_386, bfd_arch_i386, bfd_mach_i386_i386 },
	{ EM_AARCH64, bfd_arch_aarch64, bfd_mach_aarch64 },
	{ EM_RISCV, bfd_arch_riscv, bfd_mach_riscv64 },
};

static bool
decoder_init(struct decoder *d, struct symfile *sf, enum name_form form)
{
	const unsigned machine = symfile_machine(sf);
	size_t i = 0;

	while (i < ARRAY_LEN(machines) && machines[i].elf != machine)
		i++;
	if (i == ARRAY_LEN(machines))
		return false;
	*d = (struct decoder){ .sf = sf, .form = form };
	begin(&d->info, &d->text);
	d->info.arch = machines[i].arch;
	d->info.mach = machines[i].mach;
	d->info.endian = d->info.endian_code = BFD_ENDIAN_LITTLE;
	d->info.application_data = d;
	d->info.print_address_func = print_address;
	d->info.memory_error_func = ignore_error;
	d->decode = disassembler(d->info.arch, false, d->info.mach, NULL);
	if (d->decode)
		disassemble_init_for_target(&d->info);
	return d->decode != NULL;
}

static void
decoder_fini(struct decoder *d)
{
	disassemble_free_target(&d->info);
	str_fini(&d->text);
}

static void
trim(struct str *text)
{
	while (text->len && text->data[text->len - 1] == ' ')
		text->data[--text->len] = '\0';
}

static struct symfile_insn
decode_at(struct decoder *d, const unsigned char *code, uint64_t start,
	  uint64_t at, uint64_t end)
{
	str_clear(&d->text);
	d->target = 0;
	d->info.stop_vma = end;

	int n = d->decode(at, &d->info);

	if (n <= 0 || (uint64_t)n > end - at) {
		str_clear(&d->text);
		str_addf(&d->text, ".byte  0x%02x", code[at - start]);
		d->target = 0;
		n = 1;
	}
	trim(&d->text);
	return (struct symfile_insn){
		.vaddr = at, .length = (unsigned)n, .bytes = code + (at - start),
		.text = str_text(&d->text), .target = d->target,
	};
}

static void
decode_all(struct decoder *d, unsigned char *code, uint64_t start,
	   uint64_t end,
	   bool (*visit)(void *arg, const struct symfile_insn *ins), void *arg)
{
	d->info.buffer = code;
	d->info.buffer_vma = start;
	d->info.buffer_length = end - start;
	for (uint64_t at = start; at < end;) {
		const struct symfile_insn ins = decode_at(d, code, start, at,
							 end);

		if (!visit(arg, &ins))
			return;
		at += ins.length;
	}
}

enum symfile_decoded
symfile_instructions(struct symfile *sf, uint64_t start, uint64_t end,
		     enum name_form form,
		     bool (*visit)(void *arg, const struct symfile_insn *ins),
		     void *arg)
{
	struct decoder d;

	if (end <= start || end - start > CODE_MAX)
		return SYMFILE_NO_CODE;

	unsigned char *code = xmalloc(end - start);

	if (!symfile_code(sf, start, code, end - start)) {
		free(code);
		return SYMFILE_NO_CODE;
	}
	if (!decoder_init(&d, sf, form)) {
		free(code);
		return SYMFILE_NO_DECODER;
	}
	decode_all(&d, code, start, end, visit, arg);
	decoder_fini(&d);
	free(code);
	return SYMFILE_DECODED;
}
