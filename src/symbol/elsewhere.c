/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Debug information that lies in another file: units that are split off
 * (.dwo, .dwp), and what several files share (dwz). libdw opens the name that
 * the file gives, whatever it leads to; so it is kept from names that another
 * user has a hand in. Such a part counts as absent.
 */
#include "foreign.h"
#include "symfile.h"

#include <dwarf.h>
#include <elfutils/libdwelf.h>
#include <elfutils/libdwfl.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* As libdw learns it. */
char *
elsewhere_dir(const struct symfile *sf, const Elf *elf)
{
	const struct image *im = sf->main.elf == elf ? &sf->main : &sf->debug;
	char link[64], path[PATH_MAX], *slash;
	ssize_t n;

	(void)snprintf(link, sizeof link, "/proc/self/fd/%d", im->fd);
	n = im->fd < 0 ? -1 : readlink(link, path, sizeof path - 1);
	if (n <= 0)
		return NULL;
	path[n] = '\0';
	slash = strrchr(path, '/');
	if (!slash)
		return NULL;
	slash[slash == path] = '\0';
	return xstrdup(path);
}

/* Nobody else has a hand in it, and it is not mostly holes, which libdw would
 * read. What is not there is sound. */
static bool
is_sound(const char *path)
{
	if (!path_is_safe(path))
		return false;

	const int fd = foreign_open(path, 0);
	const bool hollow = fd >= 0 && file_is_hollow(fd);

	if (fd >= 0)
		close(fd);
	return !hollow;
}

/* within may be NULL, or relative to dir; where there is no directory libdw
 * tries no such name. */
static bool
is_safe(const char *dir, const char *within, const char *name)
{
	char *path;
	bool safe;

	if (*name == '/')
		return is_sound(name);
	if (within && *within == '/')
		path = xasprintf("%s/%s", within, name);
	else if (dir)
		path = xasprintf("%s/%s/%s", dir, within ? within : ".", name);
	else
		return true;
	safe = is_sound(path);
	free(path);
	return safe;
}

/* Since 0.191 libdw looks for the program's own name and .dwp first. Who could
 * put that there is the question, so any name will do. */
static bool
is_pack_safe(const char *dir)
{
	unsigned major = 0, minor = 0;

	if (!dir || sscanf(dwfl_version(NULL), "%u.%u", &major, &minor) != 2 ||
	    (major == 0 && minor < 191))
		return true;
	return is_safe(dir, NULL, ".dwp");
}

static const char *
string_of(Dwarf_Die *die, unsigned attribute)
{
	Dwarf_Attribute attr;

	return dwarf_attr(die, attribute, &attr) ? dwarf_formstring(&attr) :
		NULL;
}

bool
elsewhere_split(const char *dir, Dwarf_Die *die, Dwarf_Die *split)
{
	const char *name = string_of(die, DW_AT_dwo_name);
	const char *compiled_in = string_of(die, DW_AT_comp_dir);

	if (!name)
		name = string_of(die, DW_AT_GNU_dwo_name);
	if (!name || !is_safe(dir, NULL, name) || !is_pack_safe(dir) ||
	    (compiled_in && !is_safe(dir, compiled_in, name)))
		return false;
	return dwarf_cu_info(die->cu, NULL, NULL, NULL, split, NULL, NULL,
			     NULL) == 0 && split->cu;
}

bool
elsewhere_bar(Dwarf *dwarf, const char *dir)
{
	const char *name;
	const void *id;

	if (dwelf_dwarf_gnu_debugaltlink(dwarf, &name, &id) <= 0 ||
	    is_safe(dir, NULL, name))
		return true;
	/* what libdw itself notes when it has found none */
	dwarf_setalt(dwarf, (Dwarf *)-1);
	return dwarf_getalt(dwarf) == NULL;
}
