/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * led LIBRARY: at each mark it says how many import slots of all its objects
 * lead into a library of sonde's, as it reads them itself, and as many of
 * those of a child. At the first mark it loads the library, has it bind all of
 * its slots, and uses it; at the second one it forks the child.
 */
#include <dlfcn.h>
#include <link.h>
#include <sys/wait.h>

#include "victim.h"

static pid_t child;
static int orders[2], answers[2];
static void (*blocks)(int);

static uint64_t
entry_of(const ElfW(Dyn) *d, ElfW(Sxword) tag)
{
	for (; d->d_tag != DT_NULL; d++)
		if (d->d_tag == tag)
			return d->d_un.d_val;
	return 0;
}

static bool
leads_to_sonde(uint64_t slot)
{
	Dl_info info;

	return dladdr(*(void *const *)slot, &info) != 0 && info.dli_fname &&
		strstr(info.dli_fname, "sonde-collector");
}

static uint64_t
count_table(uint64_t bias, uint64_t at, uint64_t bytes)
{
	const ElfW(Rela) *r = (const ElfW(Rela) *)(at < bias ? bias + at : at);
	uint64_t n = 0;

	for (uint64_t i = 0; at && i < bytes / sizeof *r; i++)
		switch (ELF64_R_TYPE(r[i].r_info)) {
		case R_X86_64_JUMP_SLOT:
		case R_X86_64_GLOB_DAT:
		case R_X86_64_64:
			n += leads_to_sonde(bias + r[i].r_offset);
		}
	return n;
}

static int
count_object(struct dl_phdr_info *info, size_t size, void *n)
{
	const ElfW(Dyn) *d = NULL;

	(void)size;
	for (int i = 0; i < info->dlpi_phnum; i++)
		if (info->dlpi_phdr[i].p_type == PT_DYNAMIC)
			d = (const ElfW(Dyn) *)(info->dlpi_addr +
						info->dlpi_phdr[i].p_vaddr);
	if (!d || strstr(info->dlpi_name, "sonde-collector") ||
	    strstr(info->dlpi_name, "linux-vdso"))
		return 0;
	*(uint64_t *)n += count_table(info->dlpi_addr, entry_of(d, DT_JMPREL),
				      entry_of(d, DT_PLTRELSZ)) +
		count_table(info->dlpi_addr, entry_of(d, DT_RELA),
			    entry_of(d, DT_RELASZ));
	return 0;
}

static uint64_t
led(void)
{
	uint64_t n = 0;

	(void)dl_iterate_phdr(count_object, &n);
	return n;
}

static void
live_as_child(void)
{
	uint64_t n;
	char c;

	close(orders[1]);
	while (read(orders[0], &c, 1) == 1) {
		blocks(10);
		n = led();
		if (write(answers[1], &n, sizeof n) != sizeof n)
			_exit(98);
	}
	_exit(7);
}

static void
load(const char *path)
{
	void *library = dlopen(path, RTLD_NOW | RTLD_LOCAL);

	if (!library)
		exit(99);
	*(void **)&blocks = dlsym(library, "blocks");
}

static const char *path;

static void
mark(void)
{
	uint64_t n = 0;
	char c = 0;

	if (!blocks) {
		load(path);
	} else if (!child) {
		child = fork();
		if (child == 0)
			live_as_child();
		victim_say("child", (uint64_t)child);
	}
	blocks(10);
	victim_say("led", led());
	if (!child)
		return;
	if (write(orders[1], &c, 1) != 1 ||
	    read(answers[0], &n, sizeof n) != sizeof n)
		exit(99);
	victim_say("child_led", n);
}

int
main(int argc, char **argv)
{
	int status = 7 << 8;

	if (argc != 2)
		return 99;
	path = argv[1];
	victim_init();
	if (pipe(orders) < 0 || pipe(answers) < 0)
		return 99;
	victim_ready();
	victim_serve(mark);
	close(orders[0]);
	close(orders[1]);
	if (child > 0 && waitpid(child, &status, 0) != child)
		return 99;
	return victim_end(status == 7 << 8);
}
