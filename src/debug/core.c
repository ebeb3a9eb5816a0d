/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * A core file as a stopped program. Memory comes from what was dumped; pages
 * that the kernel left out because a file has them, from that file.
 */
#include "core.h"
#include "foreign.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/* ---- memory ---- */

const struct core_segment *
core_segment_at(const struct core *core, uint64_t addr)
{
	size_t low = 0, high = core->segment_len;

	while (low < high) {
		const size_t mid = low + (high - low) / 2;

		if (core->segments[mid].start <= addr)
			low = mid + 1;
		else
			high = mid;
	}
	if (low == 0 || addr >= core->segments[low - 1].end)
		return NULL;
	return &core->segments[low - 1];
}

static bool
from_file(struct core *core, uint64_t addr, void *buf, size_t n)
{
	for (size_t i = 0; i < core->map_len; i++) {
		const struct core_map *m = &core->maps[i];

		if (addr < m->start || addr >= m->end || n > m->end - addr)
			continue;

		const int fd = core_open_file(core, m->file);

		return fd >= 0 &&
			core_read_all(fd, m->offset + (addr - m->start), buf,
				      n);
	}
	return false;
}

/* Up to the end of a segment at once. */
int
core_read(void *arg, uint64_t addr, void *buf, size_t n)
{
	struct core *core = arg;
	unsigned char *to = buf;

	while (n > 0) {
		const struct core_segment *s = core_segment_at(core, addr);
		size_t now = n;
		bool good;

		if (!s) {
			good = from_file(core, addr, to, now);
		} else {
			const uint64_t at = addr - s->start;
			const bool dumped = at < s->dumped;
			const uint64_t room = (dumped ? s->dumped :
					       s->end - s->start) - at;

			if (now > room)
				now = room;
			good = dumped ?
				core_read_all(core->fd, s->offset + at, to, now) :
				core->unstarted ? memset(to, 0, now) != NULL :
				from_file(core, addr, to, now);
		}
		if (!good)
			return fail(FAIL_GENERAL, "not in the core");
		addr += now;
		to += now;
		n -= now;
	}
	return 0;
}

static int
read_registers(void *arg, struct debug_regs *out)
{
	struct core *core = arg;

	if (core->unstarted)
		return fail(FAIL_MISSING, "the program does not run");
	if (core->thread_len == 0)
		return fail(FAIL_MISSING, "the core has no threads");
	*out = core->threads[core->selected].regs;
	return 0;
}

static const struct debug_object *
read_objects(void *arg, size_t *count)
{
	struct core *core = arg;

	*count = core->object_len;
	return core->objects;
}

const struct debug_target core_target = {
	.read = core_read,
	.registers = read_registers,
	.objects = read_objects,
};

/* ---- opening ---- */

static int
by_start(const void *a, const void *b)
{
	const struct core_segment *x = a, *y = b;

	return x->start < y->start ? -1 : x->start > y->start;
}

static int
read_segments(struct core *core)
{
	size_t n, cap = 0;
	GElf_Phdr ph;

	if (elf_getphdrnum(core->elf, &n) < 0)
		return fail(FAIL_UNSUITABLE, "the core has no segments");
	for (size_t i = 0; i < n; i++) {
		uint64_t there;

		if (!gelf_getphdr(core->elf, (int)i, &ph) ||
		    ph.p_type != PT_LOAD ||
		    ph.p_vaddr + ph.p_memsz < ph.p_vaddr)
			continue;
		there = ph.p_offset < core->size ? core->size - ph.p_offset :
						   0;
		if (ph.p_filesz > there && !core->trouble)
			core->trouble = xstrdup("the core is truncated");
		if (ph.p_filesz < there)
			there = ph.p_filesz;
		if (there > ph.p_memsz)
			there = ph.p_memsz;
		core->segments = xgrow(core->segments, &cap,
				       core->segment_len + 1,
				       sizeof *core->segments);
		core->segments[core->segment_len++] = (struct core_segment){
			.start = ph.p_vaddr, .end = ph.p_vaddr + ph.p_memsz,
			.offset = ph.p_offset, .dumped = there,
		};
	}
	if (core->segment_len)
		qsort(core->segments, core->segment_len,
		      sizeof *core->segments, by_start);
	return 0;
}

static bool
is_wanted(const struct core *core, int type)
{
	return core->unstarted ? type == ET_EXEC || type == ET_DYN :
		type == ET_CORE;
}

static int
open_core(struct core *core, const char *path)
{
	struct stat st;
	GElf_Ehdr eh;

	(void)elf_version(EV_CURRENT);
	core->fd = foreign_open(path, 0);
	if (core->fd < 0 && (errno == EINVAL || errno == ETIMEDOUT))
		return fail(FAIL_UNSUITABLE, "%s: %s", path,
			    foreign_error(errno));
	if (core->fd < 0 || fstat(core->fd, &st) < 0)
		return fail_errno("%s", path);
	core->size = (uint64_t)st.st_size;
	core->elf = elf_begin(core->fd, ELF_C_READ, NULL);
	if (!core->elf || !gelf_getehdr(core->elf, &eh) ||
	    gelf_getclass(core->elf) != ELFCLASS64 ||
	    !is_wanted(core, eh.e_type))
		return fail(FAIL_UNSUITABLE, "%s: not a 64-bit %s", path,
			    core->unstarted ? "program" : "core file");
	if (eh.e_machine != arch.elf_machine)
		return fail(FAIL_UNSUITABLE, "%s: of another kind of machine",
			    path);
	return 0;
}

struct core *
core_open(const char *path, const char *program)
{
	struct core *core = xcalloc(1, sizeof *core);

	core->fd = -1;
	core->program = program ? xstrdup(program) : NULL;
	if (open_core(core, path) < 0 || read_segments(core) < 0 ||
	    core_read_notes(core) < 0) {
		core_free(core);
		return NULL;
	}
	core_make_objects(core);
	return core;
}

/* One load object, where its file wants to be. Its headers are mapped with
 * it, often at address 0, where an expression that goes there is wrong. */
static void
make_object(struct core *core)
{
	const size_t n = core->segment_len;
	struct core_segment *first = &core->segments[0];
	GElf_Ehdr eh;
	uint64_t headers = 0;

	if (first->offset == 0 && gelf_getehdr(core->elf, &eh))
		headers = eh.e_phoff +
			(uint64_t)eh.e_phnum * eh.e_phentsize;
	if (headers < first->dumped) {
		first->start += headers;
		first->offset += headers;
		first->dumped -= headers;
	}

	core->objects = xcalloc(1, sizeof *core->objects);
	core->objects[0] = (struct debug_object){
		.path = core->program, .shown = core->program, .prefix = "",
		.start = core->segments[0].start,
		.end = core->segments[n - 1].end,
	};
	core->object_len = 1;
}

struct core *
core_of_program(const char *path)
{
	struct core *core = xcalloc(1, sizeof *core);

	core->fd = -1;
	core->unstarted = true;
	core->program = xstrdup(path);
	if (open_core(core, path) < 0 || read_segments(core) < 0 ||
	    !core->segment_len) {
		core_free(core);
		return NULL;
	}
	make_object(core);
	return core;
}

void
core_free(struct core *core)
{
	if (!core)
		return;
	for (size_t i = 0; i < core->file_len; i++) {
		if (core->files[i].fd >= 0)
			close(core->files[i].fd);
		free(core->files[i].path);
	}
	if (core->elf)
		(void)elf_end(core->elf);
	if (core->fd >= 0)
		close(core->fd);
	free(core->files);
	free(core->segments);
	free(core->maps);
	free(core->threads);
	free(core->objects);
	free(core->program);
	free(core->command);
	free(core->trouble);
	free(core->vdso_image);
	free(core);
}

const char *
core_program(const struct core *core)
{
	return core->program ? core->program : "";
}

const char *
core_command(const struct core *core)
{
	return core->command ? core->command : "";
}

pid_t
core_pid(const struct core *core)
{
	return core->pid;
}

int
core_signal(const struct core *core, uint64_t *addr)
{
	*addr = core->fault;
	return core->signal;
}

size_t
core_threads(const struct core *core)
{
	return core->thread_len;
}

const struct core_thread *
core_thread(const struct core *core, size_t i)
{
	return i < core->thread_len ? &core->threads[i].thread : NULL;
}

int
core_select(struct core *core, size_t i)
{
	if (i >= core->thread_len)
		return fail(FAIL_MISSING, "the core has %zu threads",
			    core->thread_len);
	core->selected = i;
	return 0;
}

const char *
core_trouble(const struct core *core)
{
	return core->trouble;
}
