/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * What the files that answer include/traced.h share.
 */
#ifndef PROFILE_CALLS_H
#define PROFILE_CALLS_H

#include "expr.h"
#include "traced.h"

/* Numbers of stacks, such that those which look the same have the same; the
 * caller frees them. All stacks have their functions then. */
uint32_t *traced_same(struct profile *prof);
void traced_sizes_init(struct traced_sizes *s);
void traced_size_add(struct traced_sizes *s, uint64_t bytes);
/* So many of one size, and their bytes in all. */
void traced_sizes_add(struct traced_sizes *s, uint64_t n, uint64_t bytes);

/* ---- joined.c ----------------------------------------------------------- */

/* Is it a wait for the end of a thread? */
bool joined_by(struct profile *prof, uint32_t stack);
/* Where the threads began that were joined, of those of one experiment, which
 * is the last one so far. */
void joined_begins(struct profile *prof, struct source *src,
		   struct traced_locks *locks, size_t from);

/* ---- descriptors.c: which file a number was at a moment ----------------- */

/*
 * Each open of a process, from when to when its number was it. Found from the
 * records that open, duplicate and close, whatever their order in the file.
 * A descriptor that nobody opened was inherited, or is older than the
 * recording: it is one as long as nothing else has its number.
 */
struct descriptors {
	struct opening {
		int fd;
		uint64_t from, until;
		uint32_t number;	/* as views show it */
		/* the first that reads, writes or opens it */
		bool touched;
		uint64_t time_ns;
		size_t source, order;
		const char *name;	/* NULL: not told */
	} *items;		/* sorted by fd, then time */
	size_t len, cap;
	struct descriptors *parent;	/* whose child it was, or NULL */
	uint64_t born;		/* then, by the parent's clock */
	bool any;		/* I/O was recorded */
};

struct traced_names {		/* each once, and alive with the profile */
	struct map known;
	struct vec names;
};

const char *name_keep(struct traced_names *names, const char *text);
uint64_t name_number(struct traced_names *names, const char *text);
/* Of a descriptor that nobody was seen to open. */
const char *name_unseen(struct traced_names *names, int fd);
/* d is empty, but for its parent, which has been made. */
void descriptors_init(struct descriptors *d, const struct source *src,
		      struct traced_names *names);
void descriptors_fini(struct descriptors *d);
/* The opening that a record is about; one is made where none is known. NULL:
 * its descriptor is none. */
struct opening *descriptors_of(struct descriptors *d,
			       const struct experiment_packet *p);

/* Standard input, output or error that nobody opened. */
bool opening_is_standard(const struct opening *op);

/* ---- files.c ------------------------------------------------------------ */

struct files {
	struct descriptors *descriptors;	/* by experiment */
	size_t descriptors_len;
	struct traced_names names;
};

/* Of all experiments; the first who asks waits for it. */
struct files *files_of(struct profile *prof);
/* NULL: the record is of no descriptor. */
const struct opening *files_opening(struct profile *prof,
				    const struct source *src,
				    const struct experiment_packet *p);
const char *files_name(struct profile *prof, const struct opening *op,
		       const struct experiment_packet *p);
/* Equal names have equal ones. */
uint64_t files_name_number(struct profile *prof, const char *name);

void files_free(struct files *files);

/* Values of packets of I/O. */
enum { IO_KIND, IO_FD, IO_BYTES, IO_SINCE, IO_OLD_FD };
enum { PACKET_SYNC = 2, PACKET_HEAP = 5, PACKET_IO = 19 };

#endif
