/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * What maps.c (the list) and maps_files.c (the files) share.
 */
#ifndef SESSION_MAPS_H
#define SESSION_MAPS_H

#include "private.h"

enum { BUILD_ID_MAX = 64 };

struct file {			/* one load object, by identity */
	uint64_t device, inode;
	char *path;
	struct unwind_object *object;	/* NULL: unreadable */
	char build_id[2 * BUILD_ID_MAX + 1];
};

struct mapper {
	struct target *target;
	struct unwind_space *space;
	struct experiment *exp;
	struct vec files;
	struct modules now;	/* executable mappings, sorted by start */
	uint64_t hooks, hooks_end;	/* code of ours; 0: none */
};

/* The bytes of one mapping out of the target's memory. */
struct unwind_object *mapper_memory(struct mapper *m, uint64_t start,
				    uint64_t end, const char *name);
/* A file that is gone: its segments in memory. */
struct unwind_object *mapper_neighbours(struct mapper *m,
					const struct module *mod);
/* The load object of a mapping; NULL: the mapping is of no ELF file. */
struct file *mapper_file(struct mapper *m, const struct module *mod);
/* It is one, and was read. */
bool mapper_has_object(struct mapper *m, const struct module *mod);
void mapper_files_fini(struct mapper *m);

/* ---- maps_now.c ---------------------------------------------------------- */

enum maps_age { MAPS_OF_NOW, MAPS_OLD, MAPS_UNKNOWN };

/* Does the process have the code that the list has? UNKNOWN before Linux 6.11,
 * and where it has ended. */
enum maps_age mapper_age(const struct mapper *m);

#endif
