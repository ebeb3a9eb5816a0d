/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Memory of the target: link maps, an object's headers, hash tables and
 * symbols, libc's descriptors of itself, who owns the guest, record memory
 * and scratch that a visit has left. The memory at BASE is the fuzzer's; its
 * last word is where the link maps begin. What we would have made there is
 * at SCRATCH, and holds the fuzzer's bytes, too; our library as it was built
 * is at LIBRARY. Linked with --wrap=target_read, target_write and nanosleep.
 */
#include <elf.h>
#include <time.h>

#include "../../src/control/private.h"
#include "../../src/inject/private.h"
#include "fuzz.h"
#include "record.h"

#define BASE UINT64_C(0x7f0000000000)
#define SCRATCH UINT64_C(0x7e0000000000)
#define LIBRARY UINT64_C(0x7d0000000000)

enum { ENTRIES = 4, AREA_MOST = 1 << 20, TP_AT = 0x6000 };

static const uint8_t *memory;
static size_t memory_size;
static uint64_t mapped_size;	/* behind the fuzzer's bytes are zeros */
static struct target target = { .pid = 42, .live_tid = 42 };

/* Our library, page by page as a loader would map it: 0 read. */
static int
read_library(uint64_t at, void *buf, size_t n)
{
	const Elf64_Ehdr *eh = (const Elf64_Ehdr *)collector_image;
	const Elf64_Phdr *ph = (const Elf64_Phdr *)(collector_image +
						    eh->e_phoff);
	unsigned i;

	for (i = 0; i < eh->e_phnum; i++)
		if (ph[i].p_type == PT_LOAD && at >= ph[i].p_vaddr &&
		    at - ph[i].p_vaddr <= ph[i].p_filesz &&
		    n <= ph[i].p_filesz - (at - ph[i].p_vaddr)) {
			memcpy(buf, collector_image + ph[i].p_offset +
			       (at - ph[i].p_vaddr), n);
			return 0;
		}
	return fail(FAIL_GENERAL, "read");
}

static int
read_scratch(uint64_t at, unsigned char *buf, size_t n)
{
	size_t i;

	for (i = 0; i < n; i++)
		buf[i] = memory[(at + i) % memory_size];
	return 0;
}

int __wrap_target_read(struct target *t, uint64_t addr, void *buf, size_t n);

int
__wrap_target_read(struct target *t, uint64_t addr, void *buf, size_t n)
{
	(void)t;
	if (addr - LIBRARY < BASE - SCRATCH)
		return read_library(addr - LIBRARY, buf, n);
	if (addr - SCRATCH < AREA_MOST * 64 && memory_size)
		return read_scratch(addr - SCRATCH, buf, n);
	if (addr < BASE || addr - BASE > mapped_size ||
	    n > mapped_size - (addr - BASE))
		return fail(FAIL_GENERAL, "read");
	memset(buf, 0, n);
	addr -= BASE;
	if (addr < memory_size)
		memcpy(buf, memory + addr, n < memory_size - addr ?
		       n : memory_size - addr);
	return 0;
}

int __wrap_target_write(struct target *t, uint64_t addr, const void *buf,
			size_t n);

int
__wrap_target_write(struct target *t, uint64_t addr, const void *buf, size_t n)
{
	const unsigned char *bytes = buf;

	(void)t, (void)addr;
	return n && bytes[0] + bytes[n - 1] < 0 ? -1 : 0;
}

/* What we wait for does not come. */
int __wrap_nanosleep(const struct timespec *time, struct timespec *left);

int
__wrap_nanosleep(const struct timespec *time, struct timespec *left)
{
	(void)time, (void)left;
	return 0;
}

/* What /proc says of it, but for its memory, is sound. */
static void
make_proc(void)
{
	static const char status[] = "Name:\tx\nState:\tS (sleeping)\n"
		"Tgid:\t42\nPid:\t42\nPPid:\t1\nTracerPid:\t0\n"
		"NSpid:\t42\nSeccomp:\t0\n";
	static const char maps[] =
		"7f0000000000-7f0000008000 r-xp 00000000 00:01 5    /l.so\n"
		"7f0000008000-7f0000040000 r-xp 00000000 00:01 6    "
		"/memfd:sonde-collector (deleted)\n"
		"7ffd00000000-7ffd00010000 rw-p 00000000 00:00 0    [stack]\n";
	static const char stat[] = "42 (x) S 1 42 42 0 -1 4194304 1 0 0 0 1 1 "
		"0 0 20 0 1 0 100 1 1 18446744073709551615 0 0 0 0 0 0 0 0 0 0 "
		"0 0 17 1 0 0 0 0 0 0 0 0 0 0 0 0 0\n";
	const uint64_t auxv[ENTRIES] = { AT_PHDR, BASE + 64, AT_NULL, 0 };
	Elf64_Ehdr exe = {
		.e_ident = { 0x7f, 'E', 'L', 'F', ELFCLASS64, ELFDATA2LSB, 1 },
		.e_type = ET_DYN, .e_machine = EM_X86_64,
	};

	if (mkdir("task", 0700) < 0 || mkdir("task/42", 0700) < 0)
		fuzz_broken("task");
	fuzz_file("task/42/status", status, sizeof status - 1);
	fuzz_file("status", status, sizeof status - 1);
	fuzz_file("task/42/maps", maps, sizeof maps - 1);
	fuzz_file("task/42/stat", stat, sizeof stat - 1);
	fuzz_file("stat", stat, sizeof stat - 1);
	fuzz_file("task/42/auxv", auxv, sizeof auxv);
	fuzz_file("task/42/exe", &exe, sizeof exe);
	target.proc_fd = open(".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	target.pidfd = -1;
}

static void
visit(void *arg, const struct record *r)
{
	uint64_t *sum = arg;

	*sum += r->depth ? r->pcs[r->depth - 1] : 0;
}

static void
find_all(struct look *look, uint64_t header)
{
	static const char *const names[] = {
		"dlopen", "malloc", "free", "exit", "nothing", "dlclose",
	};
	struct plan p = { .t = &target, .look = look };
	struct image img;
	size_t i;

	if (locate_image(look, header, &img) < 0)
		return;
	for (i = 0; i < ARRAY_LEN(names); i++)
		(void)locate_address(look, &img, names[i]);
	(void)locate_glibc_minor(look, &img);
	(void)image_symbol(&target, header, "_r_debug", &p.dlopen);
}

/* What the link maps say, then our library among them. */
static void
walk_links(struct plan *p, uint64_t head)
{
	const Elf64_Ehdr *eh = (const Elf64_Ehdr *)collector_image;

	head = head ? head : plan_link_maps(p);
	(void)plan_no_loader(p);
	if (plan_walk_links(p, head) < 0)
		return;
	plan_find_library(p);
	p->images = realloc(p->images, (p->nimages + 1) * sizeof *p->images);
	p->images[p->nimages++] = (struct image){
		.bias = LIBRARY, .entry = LIBRARY + eh->e_entry,
		.link_map = head,
	};
	plan_find_library(p);
	if (!p->library)
		abort();
	(void)plan_rename_library(p);
	(void)plan_choose_library(p, BASE + 64);
	if (!plan_choose_library(p, LIBRARY + eh->e_entry))
		abort();
	(void)plan_has_other_version(p);
	p->nimages--;
}

/* The helper's memory, as this libc would have it. */
static void
make_scratch(struct plan *p, const struct collector_call *call)
{
	static const struct block block;
	struct scratch s;

	if (scratch_plan(p, &s) < 0)
		return;
	s.at = SCRATCH;
	(void)scratch_write(p, &s, &block, call, BASE + TP_AT);
	(void)tls_hand_over(p, &s, BASE + TP_AT);
}

/* As look_back does. */
static void
salvage(uint64_t size, uint64_t *sum)
{
	struct salvage *s;

	mapped_size = size;
	s = salvage_open(&target, BASE, size);
	if (s && salvage_pending(s)) {
		*sum += strlen(salvage_area(s)->keep.path);
		(void)salvage_each(s, visit, sum);
		*sum += salvage_spoiled(s);
		(void)salvage_settle(s, 1);
	}
	salvage_close(s);
}

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct look look = { .t = &target };
	struct collector_call call = {0};
	struct inject_left left;
	struct record_area area = {0};
	uint64_t head = 0, sum = 0;
	struct plan p;

	if (fuzz_enter())
		make_proc();
	memory = data;
	memory_size = mapped_size = size;
	if (size >= 8)
		memcpy(&head, data + size - 8, sizeof head);
	find_all(&look, BASE);
	look_fini(&look);
	if (plan_make(&target, &p) == 0) {
		(void)owner_check(&p, &call);
		plan_fini(&p);
	}
	memset(&p, 0, sizeof p);
	p.t = &target;
	p.look = xcalloc(1, sizeof *p.look);
	p.look->t = &target;
	if (modules_parse(&p.mods, "7f0000000000-7f0000008000 r-xp 00000000 "
			  "00:01 5    /l.so\n") == 0) {
		(void)plan_link_maps(&p);
		walk_links(&p, head);
		if (plan_read_libc(&p) == 0)
			make_scratch(&p, &call);
	}
	plan_fini(&p);
	(void)inject_left(&target, &left);
	if (size >= sizeof area)
		memcpy(&area, data, sizeof area);
	if (area.size <= AREA_MOST)
		salvage(area.size, &sum);
	(void)inject_scratch_size(&target, BASE);
	fail_clear();
	return 0;
}
