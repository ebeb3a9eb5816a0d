/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * audit: a library that the loader tells of everything (LD_AUDIT); it makes
 * a name space of its own, with a libc of its own.
 */
#include <link.h>

unsigned la_version(unsigned version);
unsigned la_objopen(struct link_map *map, Lmid_t lmid, uintptr_t *cookie);

unsigned
la_version(unsigned version)
{
	return version;
}

unsigned
la_objopen(struct link_map *map, Lmid_t lmid, uintptr_t *cookie)
{
	(void)map;
	(void)lmid;
	(void)cookie;
	return LA_FLG_BINDTO | LA_FLG_BINDFROM;
}
