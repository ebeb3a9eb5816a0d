/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * What an address meant at a moment.
 */
#ifndef PROFILE_SPACE_H
#define PROFILE_SPACE_H

#include "base.h"
#include "profile.h"

struct span {			/* addresses with the same candidates */
	uint64_t start, end;
	uint32_t first, count;	/* in refs, oldest first */
};

struct space {
	const struct experiment_reader *reader;
	struct span *spans;	/* sorted */
	size_t len, cap;
	uint32_t *refs;		/* map records */
	size_t refs_len, refs_cap;
	bool crowded;		/* more overlap than are kept: it was said */
	uint64_t *changes;	/* times when an answer may change; sorted */
	size_t changes_len, changes_cap;
};

enum { SPACE_NOWHERE = UINT32_MAX };

void space_init(struct space *sp, const struct experiment_reader *rd);
void space_fini(struct space *sp);
/* A function, or readable and executable. */
bool space_holds_code(const struct experiment_map_record *rec);
/* Index of the map record, or SPACE_NOWHERE. *varies is set when another
 * time may give another answer. */
uint32_t space_find(const struct space *sp, uint64_t pc, uint64_t time_ns,
		    bool *varies);
/* Equal numbers: the same answers for every address. */
uint32_t space_epoch(const struct space *sp, uint64_t time_ns);

#endif
