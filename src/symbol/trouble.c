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
	const char *urls = getenv("DEBUGINFOD_URLS");
	const bool asked = urls && *urls && *sf->build_id;
	char *text;

	free(dpkg);
	if (!has_dpkg)
		text = xasprintf("install the debug information of %s",
				 sf->shown);
	else
		text = xasprintf("install the -dbgsym (or -dbg) package of the"
				 " package that owns it (dpkg -S %s)",
				 sf->shown);
	char *whole = xasprintf("%s%s", text, asked ?
				"; debuginfod has nothing for it" :
				" or set DEBUGINFOD_URLS");
	free(text);
	return whole;
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
		return NULL;

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
