/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Where rows were found before: half of a walk's time was the search for them.
 * An entry says what the row says, too, so that the walk goes on with it at
 * once; the processor checks that it stands there meanwhile. Several threads
 * write: half an entry of one and half of another is found out like any other
 * that is of other tables, or of nobody's.
 */
#ifndef SONDE_UNWIND_STEP_MEMO_H
#define SONDE_UNWIND_STEP_MEMO_H

#include "step.h"

_Static_assert(sizeof(struct step_row) == sizeof(uint64_t), "kept as a word");

static inline const struct step_row *
rows_of(const struct step_tables *tables, const struct step_range *range)
{
	return (const struct step_row *)
		((uintptr_t)tables->origin + (uintptr_t)range->rows);
}

static inline struct step_memo *
memo_entry(const struct step_tables *tables, uint64_t pc)
{
	return &tables->memo[pc * UINT64_C(0x9e3779b97f4a7c15) >>
			     (64 - STEP_MEMO_BITS)];
}

/* `row` is of range. */
static inline void
memo_keep(const struct step_tables *tables, const struct step_range *range,
	  const struct step_row *row, uint64_t pc)
{
	struct step_memo *entry = memo_entry(tables, pc);
	const uint64_t i = (uint64_t)(range - tables->ranges);
	const uint64_t k = (uint64_t)(row - rows_of(tables, range));
	uint64_t says;

	__builtin_memcpy(&says, row, sizeof says);
	__atomic_store_n(&entry->place, i << 32 | k, __ATOMIC_RELAXED);
	__atomic_store_n(&entry->row, says, __ATOMIC_RELAXED);
}

/* Is it row k of the range, and the last that starts at or before pc? */
static inline int
is_row_of(const struct step_tables *tables, const struct step_range *range,
	  uint32_t k, uint64_t says, uint64_t pc)
{
	const struct step_row *rows = rows_of(tables, range);
	const uint64_t at = pc - range->base;
	uint64_t said;

	if (pc < range->start || pc >= range->end || at > UINT32_MAX ||
	    k >= range->count)
		return 0;
	__builtin_memcpy(&said, &rows[k], sizeof said);
	return said == says && rows[k].pc <= at &&
		(k + 1 == range->count || rows[k + 1].pc > at);
}

/* The row of pc if it is remembered, else one of kind STEP_NONE: those are
 * searched for. */
static inline struct step_row
memo_row(const struct step_tables *tables, uint64_t pc)
{
	struct step_row row = { .kind = STEP_NONE };
	uint64_t place, says;

	if (!tables->memo)
		return row;
	place = __atomic_load_n(&memo_entry(tables, pc)->place,
				__ATOMIC_RELAXED);
	says = __atomic_load_n(&memo_entry(tables, pc)->row, __ATOMIC_RELAXED);
	if (place >> 32 < tables->count &&
	    is_row_of(tables, &tables->ranges[place >> 32], (uint32_t)place,
		      says, pc))
		__builtin_memcpy(&row, &says, sizeof row);
	return row;
}

#endif
