/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * mission: S2, S9
 *
 * Damaged unwind data and damaged stacks: an ELF file of this machine with
 * bytes flipped in its headers and its CFI, or cut short, also while it is
 * open; expressions that loop; stacks full of noise. Nothing may crash, hang
 * or read beyond what it was given (run it under sanitizers), walks end within
 * their bounds, and rows stay sorted. Arguments: a seed, a file.
 */
#include <dlfcn.h>
#include <elf.h>
#include <sys/mman.h>
#include <sys/stat.h>

#include "unwind-help.h"

enum { FRAMES_MAX = 300, STACK = 16384, VARIANTS = 150, WALKS = 20 };

#define MAPPED 0x7f0000000000ull

static uint64_t seed = 1;
static uint64_t text_size;
static unsigned long objects, refused, frames, full_frames;

static uint64_t
noise(void)
{
	seed = hash_word(seed + 0x9e3779b97f4a7c15ull);
	return seed;
}

struct file {
	unsigned char *bytes;
	size_t size;
	size_t cfi, cfi_size;	/* where .eh_frame stands */
};

static int
file_open(struct file *f, const char *path)
{
	f->bytes = (unsigned char *)file_read(path, &f->size);
	if (!f->bytes)
		return -1;

	const Elf64_Ehdr *eh = (const void *)f->bytes;
	const Elf64_Shdr *sh = (const void *)(f->bytes + eh->e_shoff);
	const char *names =
		(const char *)f->bytes + sh[eh->e_shstrndx].sh_offset;

	for (unsigned i = 0; i < eh->e_shnum; i++) {
		if (strcmp(names + sh[i].sh_name, ".eh_frame") != 0)
			continue;
		f->cfi = sh[i].sh_offset;
		f->cfi_size = sh[i].sh_size;
	}
	return f->cfi_size ? 0 : -1;
}

static int
store(const void *bytes, size_t size)
{
	const int fd = memfd_create("hostile", MFD_CLOEXEC);

	if (fd < 0 || write_all(fd, bytes, size) < 0) {
		perror("memfd");
		exit(99);
	}
	return fd;
}

static void
check_rows(struct unwind_object *obj)
{
	uint32_t count;
	const struct step_row *rows = unwind_object_rows(obj, &count);

	for (uint32_t i = 0; i < count; i++) {
		if (i && rows[i].pc <= rows[i - 1].pc) {
			CHECK(0, "row %u is out of order", i);
			return;
		}
		if (rows[i].kind > STEP_FULL) {
			CHECK(0, "row %u has kind %u", i, rows[i].kind);
			return;
		}
	}
}

/* Words that often lead somewhere: code, stack, small numbers, anything. */
static uint64_t
plausible(uint64_t base)
{
	const uint64_t word = noise();

	switch (word >> 60) {
	case 0:
		return word;
	case 1:
		return word & 0xff;
	case 2: case 3: case 4:
		return base + (word & (STACK - 8));
	default:
		return MAPPED + word % text_size;
	}
}

static int
noisy_memory(void *arg, uint64_t addr, void *buf, size_t n)
{
	(void)arg;
	if (addr >> 47 || addr % 7 == 0)
		return -1;
	memset(buf, (int)addr, n);
	return 0;
}

static void
walk_noise(struct unwind_space *space, struct unwind_trace *t)
{
	const uint64_t base = 0x7ffc00000000ull;
	uint64_t words[STACK / 8];
	const struct step_stack stack = {
		.data = (const unsigned char *)words, .base = base,
		.size = noise() & 3 ? sizeof words : noise() % sizeof words,
	};
	const unwind_memory memory = noise() & 1 ? noisy_memory : NULL;
	struct arch_regs regs;

	for (size_t i = 0; i < ARRAY_LEN(words); i++)
		words[i] = plausible(base);
	for (int i = 0; i < arch.reg_count; i++)
		regs.reg[i] = plausible(base);
	regs.reg[arch.reg_pc] = MAPPED + noise() % text_size;
	if (noise() & 7)
		regs.reg[arch.reg_sp] = base + (noise() & 0x7f8);
	unwind_walk(space, &regs, &stack, memory, NULL, FRAMES_MAX, t);
	CHECK(t->len <= FRAMES_MAX && t->len > 0, "%zu frames", t->len);
	frames += t->len;
	unwind_walk_full(space, &regs, &stack, memory, NULL, FRAMES_MAX, t);
	CHECK(t->len <= FRAMES_MAX && t->len > 0, "%zu frames", t->len);
	full_frames += t->len;
}

/* The same image at two biases, a hole in the middle of one. */
static void
use_object(struct unwind_object *obj, bool rows_first)
{
	struct unwind_space *space = unwind_space_new();
	struct unwind_trace t = { 0 };

	unwind_space_map(space, MAPPED, MAPPED + text_size, 0, obj);
	unwind_space_map(space, MAPPED + text_size, MAPPED + 2 * text_size,
			 0x1000, obj);
	unwind_space_unmap(space, MAPPED + 0x4000, MAPPED + 0x5000);
	if (rows_first)
		check_rows(obj);
	for (int i = 0; i < WALKS; i++)
		walk_noise(space, &t);
	if (!rows_first)
		check_rows(obj);
	(void)unwind_space_tables(space);
	unwind_trace_fini(&t);
	unwind_space_free(space);
}

static void
use_file(int fd)
{
	struct unwind_object *obj = unwind_object_open(fd, "hostile");

	objects += !!obj;
	refused += !obj;
	if (!obj)
		return;
	use_object(obj, noise() & 1);
	unwind_object_free(obj);
}

static void
use_memory(const unsigned char *bytes, size_t size)
{
	unsigned char *image = xmalloc(size);
	struct unwind_object *obj;

	memcpy(image, bytes, size);
	obj = unwind_object_memory(image, size, MAPPED, "hostile memory");
	objects += !!obj;
	refused += !obj;
	if (!obj)
		return;
	use_object(obj, noise() & 1);
	unwind_object_free(obj);
}

/* Flip a few bytes of the CFI, now and then of the headers. */
static void
damage(unsigned char *bytes, const struct file *f)
{
	const unsigned flips = 1 + noise() % 200;
	const bool headers = noise() % 4 == 0;

	for (unsigned i = 0; i < flips; i++) {
		size_t at = f->cfi + noise() % f->cfi_size;

		if (headers && i % 16 == 0)
			at = 16 + noise() % 700;
		if (headers && i % 32 == 0)
			at = f->size - 1 - noise() % 2000;
		bytes[at] = (unsigned char)noise();
	}
}

static void
damaged_files(const struct file *f)
{
	unsigned char *bytes = xmalloc(f->size);

	for (int i = 0; i < VARIANTS; i++) {
		memcpy(bytes, f->bytes, f->size);
		damage(bytes, f);
		use_file(store(bytes, f->size));
		use_memory(bytes, f->size);
	}
	free(bytes);
}

static void
short_files(const struct file *f)
{
	for (int i = 0; i < VARIANTS / 4; i++) {
		const size_t size = noise() % f->size;
		int fd = store(f->bytes, size);
		struct unwind_object *obj;

		use_file(fd);
		use_memory(f->bytes, size);
		/* replaced in place after it was opened */
		fd = store(f->bytes, f->size);
		obj = unwind_object_open(fd, "truncated");
		if (ftruncate(fd, (off_t)size) < 0 || !obj)
			exit(99);
		use_object(obj, false);
		unwind_object_free(obj);
	}
}

/*
 * CFI in which each function has an expression that jumps back to its own
 * beginning, as its CFA: `lit0; skip -4`.
 */
static void
endless_expression(const struct file *f)
{
	static const unsigned char loop[] = {
		0x0f, 0x04, 0x30, 0x2f, 0xfc, 0xff,
	};
	unsigned char *bytes = xmalloc(f->size);
	size_t at = f->cfi;

	memcpy(bytes, f->bytes, f->size);
	while (at + 8 < f->cfi + f->cfi_size) {
		uint32_t length, id;

		memcpy(&length, bytes + at, 4);
		memcpy(&id, bytes + at + 4, 4);
		if (length == 0)
			break;
		if (id != 0 && length >= 13 + sizeof loop)
			memcpy(bytes + at + 4 + 13, loop, sizeof loop);
		at += 4 + length;
	}
	use_file(store(bytes, f->size));
	free(bytes);
}

int
main(int argc, char **argv)
{
	struct file f = { 0 };
	const uint64_t from = now_ns();
	Dl_info lib;

	if (argc > 1)
		seed = strtoull(argv[1], NULL, 0);
	if (!dladdr((void *)(uintptr_t)main, &lib) ||
	    file_open(&f, argc > 2 ? argv[2] : lib.dli_fname) < 0) {
		puts("this program cannot read its own file");
		return 99;
	}
	text_size = f.size & -4096ull;
	use_file(store(f.bytes, f.size));
	damaged_files(&f);
	short_files(&f);
	endless_expression(&f);
	printf("%lu objects, %lu refused, %lu frames by table, %lu by the "
	       "second engine, %.1f s\n", objects, refused, frames,
	       full_frames, (double)(now_ns() - from) / 1e9);
	CHECK(objects > VARIANTS && frames > objects * WALKS,
	      "too little was tried");
	free(f.bytes);
	return failures ? 1 : 0;
}
