/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Inside the unwind room: objects, the ranges they are mapped at, and the
 * cache in front of both.
 */
#ifndef SONDE_UNWIND_SPACE_H
#define SONDE_UNWIND_SPACE_H

#include "frames.h"
#include "unwind.h"

struct unwind_object {
	unsigned refs;
	char *name;
	struct image image;
	struct frames frames;
	struct rows rows;
	bool framed, compiled;
};

/* Another reference. */
struct unwind_object *object_hold(struct unwind_object *obj);
/* The frame descriptions, split now if need be. */
const struct frames *object_frames(struct unwind_object *obj);

/*
 * What a pc means, looked up once: its row, with row.pc abused for the length
 * of the call instruction before it (0: leaf, or ambiguous).
 */
struct cached_row {
	uint64_t key;		/* pc * 2 + exact */
	struct step_row row;
};

enum { CACHE_BITS = 14 };

struct full;

struct unwind_space {
	/* parallel and sorted by address; disjoint; objects may be NULL */
	struct step_range *ranges;
	struct unwind_object **objects;
	size_t count, range_cap, object_cap;
	struct step_tables tables;	/* the view of ranges we hand out */
	struct cached_row *cache;
	bool stale;			/* the cache is of an older map */
	uint64_t changes;		/* of the map, so far */
	struct full *full;		/* second engine, made when needed */
};

/* Must be called before a walk: drops what an older map made us believe. */
void space_refresh(struct unwind_space *space);
/* The index of the range that holds addr, or -1. */
long space_index(const struct unwind_space *space, uint64_t addr);
/* Look a pc up and keep the answer in entry. */
void space_fill(struct unwind_space *space, struct cached_row *entry,
		uint64_t pc, bool exact);
/* The frame description of a pc and what to add to its addresses; or NULL. */
const struct frame_fde *space_fde(struct unwind_space *space, uint64_t pc,
				  const struct frames **frames,
				  uint64_t *bias);
/* guess_MACHINE.c: the row of an instruction without unwind data, by the n bytes from
 * GUESS_BEFORE before it on (STEP_NONE: they say nothing); and the caller where the row
 * leads to no code, by who called this function. */
enum { GUESS_BEFORE = 4, GUESS_BYTES = 12 };
struct step_row guess_row(const unsigned char *code, size_t n);
/* Does a thread that was just made stand there, or who made it? */
bool guess_makes_thread(const struct unwind_space *space, uint64_t pc);
bool guess_caller(struct unwind_space *space, const struct step_stack *stack,
		  const struct step_regs *regs, struct step_regs *caller);
/* A leaf without a frame of its own: its caller is on top of the stack. */
bool guess_leaf(const struct unwind_space *space,
		const struct step_stack *stack, const struct step_regs *regs,
		struct step_regs *caller);
/* pc is not in what the call before ret calls: somebody was left out. */
bool guess_skips(const struct unwind_space *space, uint64_t pc, uint64_t ret);
/* Bytes of the image mapped at addr; how many there were. */
size_t space_read(const struct unwind_space *space, uint64_t addr, void *buf,
		  size_t n);

static inline size_t
cache_index(uint64_t key)
{
	return key * 0x9e3779b97f4a7c15ull >> (64 - CACHE_BITS);
}

/* Of a return address, if it is known; else of kind STEP_NONE. */
static inline struct step_row
known_row(const struct cached_row *cache, uint64_t ret)
{
	const struct cached_row *entry = &cache[cache_index(ret << 1)];

	if (entry->key != ret << 1)
		return (struct step_row){ .kind = STEP_NONE };
	return entry->row;
}

/* The row of a pc, through the cache: the heart of every walk. */
static inline struct step_row
space_row(struct unwind_space *space, uint64_t pc, bool exact)
{
	const uint64_t key = pc << 1 | exact;
	struct cached_row *entry = &space->cache[cache_index(key)];

	if (__builtin_expect(entry->key != key, 0))
		space_fill(space, entry, pc, exact);
	return entry->row;
}

#endif
