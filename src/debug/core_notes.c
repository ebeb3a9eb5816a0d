/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * What the notes of a core tell: threads with their registers, why it died,
 * which files were mapped where.
 */
#include "core.h"

#include <elf.h>
#include <fcntl.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* As the kernel lays them out on 64-bit machines (linux/elfcore.h). */
enum { PRSTATUS_SIGNAL = 12, PRSTATUS_PID = 32, PRPSINFO_PID = 24,
       PRPSINFO_NAME = 40, PRPSINFO_ARGS = 56, PRPSINFO_SIZE = 136,
       SIGINFO_ADDR = 16 };

static void
read_status(struct core *core, const unsigned char *desc, size_t n,
	    size_t *cap)
{
	struct core_registers *th;
	uint16_t sig;
	int32_t pid;

	if (n < machine.prstatus_regs)
		return;
	core->threads = xgrow(core->threads, cap, core->thread_len + 1,
			      sizeof *core->threads);
	th = &core->threads[core->thread_len++];
	*th = (struct core_registers){0};
	memcpy(&sig, desc + PRSTATUS_SIGNAL, sizeof sig);
	memcpy(&pid, desc + PRSTATUS_PID, sizeof pid);
	th->thread = (struct core_thread){ .tid = pid, .signal = sig };
	machine.from_prstatus(desc + machine.prstatus_regs,
			      n - machine.prstatus_regs, &th->regs);
	if (core->thread_len == 1)
		core->signal = sig;
}

static void
read_process(struct core *core, const unsigned char *desc, size_t n)
{
	int32_t pid;

	if (n < PRPSINFO_SIZE)
		return;
	memcpy(&pid, desc + PRPSINFO_PID, sizeof pid);
	core->pid = pid;
	free(core->command);
	core->command = xstrndup((const char *)desc + PRPSINFO_ARGS,
				 PRPSINFO_SIZE - PRPSINFO_ARGS);
	(void)str_tame(core->command);
	for (size_t len = strlen(core->command);
	     len && core->command[len - 1] == ' '; len--)
		core->command[len - 1] = '\0';
}

static void
read_fault(struct core *core, const unsigned char *desc, size_t n)
{
	int32_t sig;

	if (n < SIGINFO_ADDR + 8)
		return;
	memcpy(&sig, desc, sizeof sig);
	if (sig == SIGSEGV || sig == SIGBUS || sig == SIGILL || sig == SIGFPE)
		memcpy(&core->fault, desc + SIGINFO_ADDR, 8);
}

static void
read_vector(struct core *core, const unsigned char *desc, size_t n)
{
	uint64_t pair[2];

	for (size_t i = 0; i + sizeof pair <= n; i += sizeof pair) {
		memcpy(pair, desc + i, sizeof pair);
		if (pair[0] == AT_SYSINFO_EHDR)
			core->vdso = pair[1];
		if (pair[0] == AT_PHDR)
			core->headers = pair[1];
	}
}

static size_t
file_number(struct core *core, const char *path, size_t *cap)
{
	for (size_t i = core->file_len; i-- > 0;)
		if (strcmp(core->files[i].path, path) == 0)
			return i;
	core->files = xgrow(core->files, cap, core->file_len + 1,
			    sizeof *core->files);
	core->files[core->file_len] = (struct core_file){
		.path = xstrdup(path), .fd = -1,
	};
	return core->file_len++;
}

/* Count, page size, then ranges, then as many names, each ended by NUL. */
static void
read_files(struct core *core, const unsigned char *desc, size_t n)
{
	uint64_t head[2], range[3];
	const unsigned char *name;
	size_t cap = 0;

	if (core->files || n < sizeof head)
		return;
	memcpy(head, desc, sizeof head);
	if (head[0] > (n - sizeof head) / sizeof range)
		return;
	core->maps = xcalloc(head[0] + 1, sizeof *core->maps);
	name = desc + sizeof head + head[0] * sizeof range;
	for (uint64_t i = 0; i < head[0]; i++) {
		const size_t left = (size_t)(desc + n - name);
		const size_t len = strnlen((const char *)name, left);

		if (len == left)
			return;
		memcpy(range, desc + sizeof head + i * sizeof range,
		       sizeof range);
		if (range[0] < range[1])
			core->maps[core->map_len++] = (struct core_map){
				.start = range[0], .end = range[1],
				.offset = range[2] * head[1],
				.file = file_number(core, (const char *)name,
						    &cap),
			};
		name += len + 1;
	}
}

static void
read_note(struct core *core, const GElf_Nhdr *nh, const char *owner,
	  const unsigned char *desc, size_t *cap)
{
	const size_t n = nh->n_descsz;

	if (strncmp(owner, "LINUX", 5) == 0 && nh->n_type == NT_X86_XSTATE &&
	    core->thread_len && machine.from_highs)
		machine.from_highs(desc, n,
				   &core->threads[core->thread_len - 1].regs);
	if (strncmp(owner, "CORE", 4) != 0)
		return;
	switch (nh->n_type) {
	case NT_PRSTATUS:
		read_status(core, desc, n, cap);
		break;
	case NT_FPREGSET:
		if (core->thread_len)
			machine.from_floats(desc, n,
				&core->threads[core->thread_len - 1].regs);
		break;
	case NT_PRPSINFO:
		read_process(core, desc, n);
		break;
	case NT_SIGINFO:
		read_fault(core, desc, n);
		break;
	case NT_AUXV:
		read_vector(core, desc, n);
		break;
	case NT_FILE:
		read_files(core, desc, n);
		break;
	default:
		break;
	}
}

int
core_read_notes(struct core *core)
{
	enum { NOTES_MAX = 64 };	/* Linux writes one */
	size_t n, cap = 0, at, name, desc, notes = 0;
	GElf_Phdr ph;
	GElf_Nhdr nh;

	if (elf_getphdrnum(core->elf, &n) < 0)
		return fail(FAIL_UNSUITABLE, "the core has no segments");
	for (size_t i = 0; i < n; i++) {
		Elf_Data *data;

		if (!gelf_getphdr(core->elf, (int)i, &ph) ||
		    ph.p_type != PT_NOTE || ph.p_filesz > core->size ||
		    notes++ >= NOTES_MAX)
			continue;
		data = elf_getdata_rawchunk(core->elf, (int64_t)ph.p_offset,
					    ph.p_filesz, ELF_T_NHDR);
		at = 0;
		while (data && (at = gelf_getnote(data, at, &nh, &name,
						  &desc)) > 0)
			read_note(core, &nh, nh.n_namesz >= 4 ?
				  (const char *)data->d_buf + name : "    ",
				  (const unsigned char *)data->d_buf + desc,
				  &cap);
	}
	if (core->thread_len == 0)
		return fail(FAIL_UNSUITABLE, "the core has no threads");
	return 0;
}

/* ---- load objects ---- */

/* The address where the file's first segment would be at 0. */
static bool
bias_of(const char *path, const struct core_map *m, uint64_t *bias)
{
	const int fd = core_open_regular(path);
	Elf *elf = fd < 0 ? NULL : elf_begin(fd, ELF_C_READ, NULL);
	bool found = false;
	GElf_Ehdr eh;
	GElf_Phdr ph;
	size_t n;

	if (elf && elf_kind(elf) == ELF_K_ELF && gelf_getehdr(elf, &eh) &&
	    (eh.e_type == ET_EXEC || eh.e_type == ET_DYN) &&
	    elf_getphdrnum(elf, &n) == 0)
		for (size_t i = 0; i < n && !found; i++) {
			if (!gelf_getphdr(elf, (int)i, &ph) ||
			    ph.p_type != PT_LOAD)
				continue;
			if ((ph.p_offset & ~0xfffull) != m->offset)
				continue;
			*bias = m->start - (ph.p_vaddr & ~0xfffull);
			found = true;
		}
	if (elf)
		(void)elf_end(elf);
	if (fd >= 0)
		close(fd);
	return found;
}

static uint64_t
last_end(const struct core *core, size_t file)
{
	uint64_t end = 0;

	for (size_t i = 0; i < core->map_len; i++)
		if (core->maps[i].file == file && core->maps[i].end > end)
			end = core->maps[i].end;
	return end;
}

/* .bss behind the file's last page is of the object too. */
static uint64_t
extent(const char *path, uint64_t bias, uint64_t end)
{
	struct symfile *sf = symfile_open(path, path, "");
	const uint64_t size = symfile_extent(sf);

	symfile_free(sf);
	return size && bias + size > end ? bias + size : end;
}

static void
add_vdso(struct core *core)
{
	struct debug_object *o = &core->objects[core->object_len];
	unsigned char page[4096];

	if (!core->vdso)
		return;
	while (core->vdso_size < 16 * sizeof page &&
	       core_read(core, core->vdso + core->vdso_size, page,
			 sizeof page) == 0) {
		core->vdso_image = xrealloc(core->vdso_image,
					    core->vdso_size + sizeof page);
		memcpy(core->vdso_image + core->vdso_size, page, sizeof page);
		core->vdso_size += sizeof page;
	}
	fail_clear();
	if (core->vdso_size == 0)
		return;
	*o = (struct debug_object){
		.path = "", .shown = "[vdso]", .prefix = "",
		.start = core->vdso, .end = core->vdso + core->vdso_size,
		.bias = core->vdso, .image = core->vdso_image,
		.image_size = core->vdso_size,
	};
	core->object_len++;
}

static bool
is_listed(const struct core *core, const char *shown)
{
	for (size_t i = 0; i < core->object_len; i++)
		if (core->objects[i].shown == shown)
			return true;
	return false;
}

static void
add_object(struct core *core, const struct core_map *m, bool is_program)
{
	struct core_file *file = &core->files[m->file];
	const char *path = file->path;
	uint64_t bias;

	if (is_listed(core, file->path))
		return;
	if (is_program) {
		if (!core->program)
			core->program = xstrdup(file->path);
		path = core->program;
		file->is_program = true;
	}
	if (core_is_other_build(core, m->file) ||
	    (is_program && !bias_of(path, m, &bias))) {
		/* where it was is known; nothing that a file says is true */
		core->objects[core->object_len++] = (struct debug_object){
			.path = "", .shown = file->path, .prefix = "",
			.start = m->start, .end = last_end(core, m->file),
			.bias = m->start - m->offset,
		};
	} else if (!bias_of(path, m, &bias)) {
		return;
	} else {
		core->objects[core->object_len++] = (struct debug_object){
			.path = path, .shown = file->path, .prefix = "",
			.start = m->start,
			.end = extent(path, bias, last_end(core, m->file)),
			.bias = bias,
		};
	}
}

/* The program is the file that holds its headers, as the kernel says; else the
 * one that is mapped first. */
static size_t
program_map(const struct core *core)
{
	for (size_t i = 0; i < core->map_len; i++) {
		const struct core_map *m = &core->maps[i];

		if (core->headers < m->start || core->headers >= m->end)
			continue;
		while (i > 0 && core->maps[i - 1].file == m->file)
			i--;
		return i;
	}
	return 0;
}

void
core_make_objects(struct core *core)
{
	core->objects = xcalloc(core->file_len + 1, sizeof *core->objects);
	if (core->map_len)
		add_object(core, &core->maps[program_map(core)], true);
	for (size_t i = 0; i < core->map_len; i++)
		add_object(core, &core->maps[i], false);
	add_vdso(core);
}
