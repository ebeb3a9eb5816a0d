/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Annotated source and instructions.
 */
#ifndef VIEW_LISTING_H
#define VIEW_LISTING_H

#include "private.h"

struct source_text {
	char *data;
	char **lines;
	size_t len;
};

/* path NULL, or not to be read: no lines. */
void text_read(struct source_text *text, const char *path);
void text_fini(struct source_text *text);
const char *text_line(const struct source_text *text, int line); /* or "" */

struct listing {
	struct viewer *v;
	struct table table;
	struct specs specs;
	struct vec names;
	size_t line, address, bytes;	/* columns */
	unsigned threshold;
};

enum { LISTING_ADDRESS = 1, LISTING_BYTES = 2 };	/* more columns */
enum { LISTING_BYTES_WIDTH = 29 };

void listing_init(struct listing *l, struct viewer *v, unsigned threshold,
		  unsigned columns);
void listing_fini(struct listing *l);
/* Rows; without a cost: nothing to measure there. A cost of NULLs is zero.
 * listing_index takes name. */
void listing_index(struct listing *l, char *name, const struct cost *cost);
void listing_astray(struct listing *l, uint64_t vaddr,
		    const struct cost *cost);
void listing_source(struct listing *l, int line, const char *text,
		    const struct cost *cost);
void listing_code(struct listing *l, int line, const struct symfile_insn *insn,
		  const struct cost *cost);
/* How the unit was compiled, if it tells. */
void listing_flags(struct listing *l, const struct profile_object *object,
		   size_t unit);
void listing_write(struct listing *l, FILE *out);
/* Above it: files. source, found: or NULL. */
void listing_header(const char *source, const char *found,
		    const struct profile_object *object, FILE *out);
/* A note where the source is missing or newer than the recording. */
void source_trouble(struct viewer *v, const char *recorded,
		    const struct found_source *f);

/* true: the listing is kept for that of a comparison; l is empty.
 * compare_listing.c. */
bool compare_takes_listing(struct viewer *v, struct listing *l);

#endif
