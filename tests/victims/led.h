/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * led(): how many import slots of all objects of the program lead into a
 * library of sonde's, as it reads them itself.
 */
#ifndef LED_H
#define LED_H

#include <dlfcn.h>
#include <link.h>
#include <stdbool.h>
#include <stdint.h>
#include <string.h>

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

#endif
