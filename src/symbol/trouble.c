/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * What is wrong with a load object, in one line that ends with the remedy.
 */
#include "symfile.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static const char *
base_name(const char *path)
{
	const char *slash = strrchr(path, '/');

	return slash && slash[1] ? slash + 1 : path;
}

/*
 * How to get full symbols. The package system is asked by the user, not by
 * us: searching its lists costs more than opening every object of a process.
 */
static char *
advice(const struct symfile *sf)
{
	char *dpkg = xasprintf("%s/var/lib/dpkg/info", sf->prefix);
	const bool has_dpkg = access(dpkg, F_OK) == 0;
	const char *server = " or set DEBUGINFOD_URLS";
	char *text;

	if (sf->server)
		server = symbol_server_trouble(sf->server) ? "" :
			"; debuginfod has nothing for it";

	free(dpkg);
	if (!has_dpkg)
		text = xasprintf("install the debug information of %s",
				 sf->shown);
	else
		text = xasprintf("install the -dbgsym (or -dbg) package of the"
				 " package that owns it (dpkg -S %s)",
				 sf->shown);
	char *whole = xasprintf("%s%s", text, server);

	free(text);
	return whole;
}

/* libelf unpacks what it was built to unpack; elfutils before 0.190 knows no
 * zstd. */
static bool
is_packed(Elf *elf)
{
	Elf_Scn *scn;
	GElf_Shdr shdr;
	GElf_Chdr chdr;

	return elf && image_section(elf, ".debug_info", &scn, &shdr) &&
	       (shdr.sh_flags & SHF_COMPRESSED) &&
	       gelf_getchdr(scn, &chdr) && chdr.ch_type != ELFCOMPRESS_ZLIB &&
	       elf_compress(scn, 0, 0) < 0;
}

static char *
packed_trouble(struct symfile *sf)
{
	const bool main_one = is_packed(sf->main.elf);

	if (!main_one && !is_packed(sf->debug.elf))
		return NULL;
	return xasprintf("%s: its debug sections are packed by zstd, which"
			 " this libelf cannot unpack: no lines and no inlined"
			 " functions; objcopy --decompress-debug-sections %s",
			 base_name(sf->shown), main_one ? sf->shown :
			 "on its debug file");
}

static char *
make_trouble(struct symfile *sf)
{
	const char *name = base_name(sf->shown);

	if (sf->fault)
		return xasprintf("%s: %s; its functions have no names; put the"
				 " file back as it was when the program ran,"
				 " or keep copies in the experiment's archives",
				 sf->shown, sf->fault);
	functions_load(sf);
	if (!*sf->path || (sf->source != SYMFILE_DYNSYM &&
			   sf->source != SYMFILE_NONE))
		return packed_trouble(sf);

	char *how = advice(sf);
	char *text = xasprintf("%s: no full symbols; static functions appear"
			       " as <static>@0x...; %s", name, how);

	free(how);
	return text;
}

const char *
symfile_trouble(struct symfile *sf)
{
	if (!sf->trouble_made) {
		sf->trouble = make_trouble(sf);
		sf->trouble_made = true;
	}
	return sf->trouble;
}
