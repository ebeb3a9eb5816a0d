/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * What the target's program file says of itself: machine, interpreter, Go.
 * Read with bounded counts: it is the target's file, not ours.
 */
#include "foreign.h"
#include "private.h"

#include <elf.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { PHDRS_MAX = 64, SECTIONS_MAX = 4096, NAMES_MAX = 1 << 16 };

static bool
read_at(int fd, void *buf, size_t n, uint64_t at)
{
	return pread(fd, buf, n, (off_t)at) == (ssize_t)n;
}

static void
read_interpreter(int fd, const Elf64_Ehdr *eh, struct program *p)
{
	Elf64_Phdr ph[PHDRS_MAX];

	p->is_static = true;
	if (eh->e_phnum > PHDRS_MAX || eh->e_phentsize != sizeof *ph ||
	    !read_at(fd, ph, eh->e_phnum * sizeof *ph, eh->e_phoff))
		return;
	for (unsigned i = 0; i < eh->e_phnum; i++) {
		if (ph[i].p_type != PT_INTERP)
			continue;
		p->is_static = false;
		if (ph[i].p_filesz >= sizeof p->interpreter ||
		    !read_at(fd, p->interpreter, ph[i].p_filesz,
			     ph[i].p_offset))
			p->interpreter[0] = '\0';
	}
}

/* The one section that every Go linker writes, stripped or not. */
static bool
has_section(int fd, const Elf64_Ehdr *eh, const char *name)
{
	const size_t n = eh->e_shnum;
	Elf64_Shdr *sh = xcalloc(n, sizeof *sh);
	char *names = xcalloc(NAMES_MAX + 1, 1);
	bool found = false;

	if (n && n <= SECTIONS_MAX && eh->e_shentsize == sizeof *sh &&
	    eh->e_shstrndx < n &&
	    read_at(fd, sh, n * sizeof *sh, eh->e_shoff) &&
	    sh[eh->e_shstrndx].sh_size <= NAMES_MAX &&
	    read_at(fd, names, sh[eh->e_shstrndx].sh_size,
		    sh[eh->e_shstrndx].sh_offset))
		for (size_t i = 0; i < n && !found; i++)
			found = sh[i].sh_name < NAMES_MAX &&
				strcmp(names + sh[i].sh_name, name) == 0;
	free(sh);
	free(names);
	return found;
}

static bool
is_go(int fd, const Elf64_Ehdr *eh)
{
	static const char *const names[] = {
		".go.buildinfo", ".gopclntab", ".data.rel.ro.gopclntab",
	};

	for (size_t i = 0; i < ARRAY_LEN(names); i++)
		if (has_section(fd, eh, names[i]))
			return true;
	return false;
}

static bool
file_is_go(struct target *t, const char *path)
{
	const pid_t tid = target_live_thread(t);
	Elf64_Ehdr eh;
	bool is = false;
	char *at = xasprintf("task/%d/root%s", (int)tid, path);
	const int fd = tid < 0 ? -1 : foreign_open_at(t->proc_fd, at, 0, 0);

	free(at);
	if (fd < 0)
		return false;
	if (read_at(fd, &eh, sizeof eh, 0) &&
	    memcmp(eh.e_ident, ELFMAG, SELFMAG) == 0 &&
	    eh.e_ident[EI_CLASS] == ELFCLASS64)
		is = is_go(fd, &eh);
	close(fd);
	return is;
}

bool
target_runs_go(struct target *t)
{
	char *text = target_maps(t);
	struct modules mods = { 0 };
	struct program p;
	bool is;

	program_read(t, &p);
	is = p.is_go;
	if (text && modules_parse(&mods, text) == 0)
		for (size_t i = 0; i < mods.len && !is; i++)
			is = mods.items[i].offset == 0 &&
				mods.items[i].path[0] == '/' &&
				file_is_go(t, mods.items[i].path);
	modules_fini(&mods);
	free(text);
	fail_clear();		/* a file that is gone is no Go */
	return is;
}

void
program_read(struct target *t, struct program *p)
{
	const pid_t tid = target_live_thread(t);
	char path[64];
	Elf64_Ehdr eh;
	int fd;

	*p = (struct program){ 0 };
	(void)snprintf(path, sizeof path, "task/%d/exe", (int)tid);
	fd = tid < 0 ? -1 : foreign_open_at(t->proc_fd, path, 0, 0);
	if (fd < 0)
		return;
	if (read_at(fd, &eh, sizeof eh, 0) &&
	    memcmp(eh.e_ident, ELFMAG, SELFMAG) == 0) {
		p->known = true;
		p->is_64 = eh.e_ident[EI_CLASS] == ELFCLASS64;
		p->is_native = eh.e_machine == arch.elf_machine;
	}
	if (p->known && p->is_64) {
		read_interpreter(fd, &eh, p);
		p->is_go = is_go(fd, &eh);
	}
	close(fd);
}
