/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * From FRINFO to interned stack. An FRINFO is decoded once per experiment,
 * unless one of its addresses meant different things at different times; then
 * once per epoch.
 */
#include "reading.h"

#include <string.h>

/* ---- stacks --------------------------------------------------------- */

static bool
same_frames(const struct profile *prof, const struct stack *st,
	    const uint32_t *frames, size_t n)
{
	return st->len == n &&
	       !memcmp(&prof->frames[st->first], frames, n * sizeof *frames);
}

static bool
is_artificial(const struct profile *prof, const struct location *loc)
{
	return loc->object == OBJECT_DYNAMIC &&
	       prof->functions[loc->function].linkage[0] == '<';
}

static enum end_kind
end_of(const struct profile *prof, const uint32_t *frames, size_t n)
{
	const uint32_t last = n ? frames[n - 1] : LOCATION_FIRST;

	if (last == LOCATION_TRUNCATED)
		return END_TRUNCATED;
	if (last == LOCATION_FAILED)
		return END_FAILED;
	return n && is_artificial(prof, &prof->locations[last]) ?
		END_ARTIFICIAL : END_COMPLETE;
}

/* What lived too short to have a sample of its own. */
static bool
is_many(const struct profile *prof, const struct stack *st,
	const uint32_t *frames)
{
	return st->end == END_ARTIFICIAL && st->len == 1 &&
	       !strcmp(prof->functions[prof->locations[frames[0]].function]
		       .linkage, "<Unsampled threads>");
}

static void
add_stack(struct profile *prof, const uint32_t *frames, size_t n,
	  uint32_t next)
{
	prof->stacks = xgrow(prof->stacks, &prof->stacks_cap,
			     prof->stacks_len + 1, sizeof *prof->stacks);

	struct stack *st = &prof->stacks[prof->stacks_len++];

	*st = (struct stack){
		.first = prof->frames_len - n, .len = (uint32_t)n,
		.next = next, .end = (uint8_t)end_of(prof, frames, n),
	};
	st->is_many = is_many(prof, st, frames);
}

/* The frames are the last n of the pool; they stay there when new. */
static uint32_t
intern(struct profile *prof, size_t n)
{
	const uint32_t *frames = &prof->frames[prof->frames_len - n];
	uint64_t *slot = map_slot_of(&prof->stack_of,
				     hash_bytes(frames, n * sizeof *frames, 0));

	for (uint64_t i = *slot; i; i = prof->stacks[i - 1].next)
		if (same_frames(prof, &prof->stacks[i - 1], frames, n)) {
			prof->frames_len -= n;
			return (uint32_t)i - 1;
		}
	add_stack(prof, frames, n, (uint32_t)*slot);
	*slot = prof->stacks_len;
	return (uint32_t)*slot - 1;
}

static void
push_frame(struct profile *prof, uint32_t location)
{
	prof->frames = xgrow(prof->frames, &prof->frames_cap,
			     prof->frames_len + 1, sizeof *prof->frames);
	prof->frames[prof->frames_len++] = location;
}

/*
 * What is known of a FRINFO, in one word: its stack; or, where that varies
 * with time, its number among those that do.
 */
#define RAW_KNOWN (UINT64_C(1) << 32)
#define RAW_VARIES (UINT64_C(1) << 33)
#define RAW_MISSING (UINT64_C(1) << 34)

/* What one PC is at any time, most PCs are; no other has its place. */
static uint32_t
location_of(struct reading *rd, uint64_t pc, uint64_t time_ns, bool *varies)
{
	struct known_pc *known = &rd->known[pc % PCS_KNOWN];
	bool changes = false;

	if (known->location && known->pc == pc)
		return known->location - 1;

	const uint32_t rec = space_find(&rd->src->space, pc, time_ns,
					&changes);
	const uint32_t location = symbolize_location(rd->prof, rd->src, rec,
						     pc);

	if (changes)
		*varies = true;
	else
		*known = (struct known_pc){ pc, location + 1 };
	return location;
}

static uint32_t
resolve(struct reading *rd, size_t n, enum stack_end end, uint64_t time_ns,
	bool *varies)
{
	struct profile *prof = rd->prof;
	const size_t before = prof->frames_len;

	for (size_t i = 0; i < n; i++)
		push_frame(prof, location_of(rd, rd->pcs[i], time_ns, varies));
	if (end == STACK_TRUNCATED)
		push_frame(prof, LOCATION_TRUNCATED);
	if (end == STACK_FAILED)
		push_frame(prof, LOCATION_FAILED);
	return intern(prof, prof->frames_len - before);
}

static uint32_t
decode(struct reading *rd, uint64_t frinfo, uint64_t time_ns, bool *varies,
       bool *missing)
{
	enum stack_end end = STACK_COMPLETE;
	const ssize_t n = frinfo ?
		experiment_stack_of(rd->src->reader, frinfo, &rd->pcs,
				    &rd->pcs_cap, &end) : -1;

	*missing = n < 0;
	return n < 0 ? 0 : resolve(rd, (size_t)n, end, time_ns, varies);
}

static uint64_t
new_raw(struct reading *rd, uint64_t frinfo, uint64_t time_ns)
{
	bool varies = false, missing;
	const uint32_t stack = decode(rd, frinfo, time_ns, &varies, &missing);

	return RAW_KNOWN | (missing ? RAW_MISSING : 0) |
	       (varies ? RAW_VARIES | rd->src->varying++ : stack);
}

enum { SMALL_FRINFO = 1 << 21, FIRST_RAW = 1024 };

/* 0 in it: not known yet. Valid until the next one. */
static uint64_t *
raw_slot(struct source *src, uint64_t frinfo)
{
	size_t cap = src->raw_cap ? src->raw_cap : FIRST_RAW;

	if (frinfo >= SMALL_FRINFO)
		return map_slot_of(&src->raw_of, frinfo);
	if (frinfo < src->raw_cap)
		return &src->raw[frinfo];
	while (cap <= frinfo)
		cap *= 2;
	src->raw = xrealloc(src->raw, cap * sizeof *src->raw);
	memset(src->raw + src->raw_cap, 0,
	       (cap - src->raw_cap) * sizeof *src->raw);
	src->raw_cap = cap;
	return &src->raw[frinfo];
}

void
reading_ask(const struct reading *rd, const uint64_t ahead[2])
{
	const struct profile *prof = rd->prof;
	const struct source *src = rd->src;
	uint64_t raw;

	if (ahead[0] < src->raw_cap)
		__builtin_prefetch(&src->raw[ahead[0]]);
	if (ahead[1] >= src->raw_cap)
		return;
	raw = src->raw[ahead[1]];
	if (!(raw & RAW_KNOWN) || raw & RAW_VARIES)
		return;
	__builtin_prefetch(&prof->stacks[(uint32_t)raw], 1);
	if (!prof->stack_values.cells)	/* nothing has counted yet */
		return;
	__builtin_prefetch(&prof->stack_values.cells[
			   (uint32_t)raw * prof->stack_values.width], 1);
}

static uint64_t
raw_stack(struct reading *rd, uint64_t frinfo, uint64_t time_ns)
{
	if (rd->raw && rd->raw_frinfo == frinfo)
		return rd->raw;

	uint64_t *slot = raw_slot(rd->src, frinfo);

	/* what is made for it makes no other */
	if (!*slot)
		*slot = new_raw(rd, frinfo, time_ns);
	rd->raw_frinfo = frinfo;
	return rd->raw = *slot;
}

static uint32_t
stack_at(struct reading *rd, uint64_t frinfo, uint64_t raw, uint64_t time_ns)
{
	struct source *src = rd->src;
	bool ignored = false;

	if (!(raw & RAW_VARIES))
		return (uint32_t)raw;

	uint64_t *slot = map_slot_of(&src->by_epoch, raw << 32 |
				     space_epoch(&src->space, time_ns));

	if (!*slot)
		*slot = 1 + decode(rd, frinfo, time_ns, &ignored, &ignored);
	return (uint32_t)*slot - 1;
}

static uint32_t
stack_of(struct reading *rd, uint64_t frinfo, uint64_t time_ns)
{
	return stack_at(rd, frinfo, raw_stack(rd, frinfo, time_ns), time_ns);
}

uint32_t
reading_stack(struct reading *rd, const struct experiment_packet *p,
	      bool *missing)
{
	const uint64_t raw = raw_stack(rd, p->frinfo, p->time_ns);

	*missing = raw & RAW_MISSING;
	return stack_at(rd, p->frinfo, raw, p->time_ns);
}

/* ---- who created a thread -------------------------------------------- */

enum { GENERATIONS_MAX = 32 };

/* Put the frames of where a creator was at the end of the pool. */
static void
push_creator(struct reading *rd, const struct birth *b)
{
	struct profile *prof = rd->prof;
	const struct stack *st = &prof->stacks[stack_of(rd, b->frinfo,
							b->time_ns)];
	const size_t first = st->first, n = st->len;

	for (size_t i = 0; i < n; i++)
		push_frame(prof, prof->frames[first + i]);
}

static uint32_t
chain_of(struct reading *rd, struct birth *b)
{
	struct profile *prof = rd->prof;
	const struct birth *line[GENERATIONS_MAX];
	const struct birth *at = b;
	size_t generations = 0;

	if (b->chain)
		return b->chain - 1;
	/* all are decoded first: that works at the end of the pool, too */
	while (at && at->frinfo && generations < GENERATIONS_MAX) {
		line[generations++] = at;
		(void)stack_of(rd, at->frinfo, at->time_ns);
		at = births_find(rd->src, at->by, at->time_ns);
	}

	const size_t before = prof->frames_len;

	for (size_t i = 0; i < generations; i++)
		push_creator(rd, line[i]);
	if (at && at->frinfo)
		push_frame(prof, LOCATION_TRUNCATED);
	b->chain = 1 + intern(prof, prof->frames_len - before);
	return b->chain - 1;
}

uint32_t
reading_creators(struct reading *rd, const struct experiment_packet *p,
		 uint32_t stack)
{
	struct profile *prof = rd->prof;
	struct birth *b = prof->has_births ?
		births_find(rd->src, p->thread, p->time_ns) : NULL;
	const struct stack *st = &prof->stacks[stack];
	const bool below = b && st->len && st->end != END_ARTIFICIAL;

	return below ? chain_of(rd, b) : 0;
}

void
stacks_init(struct profile *prof)
{
	prof->frames = xgrow(NULL, &prof->frames_cap, 1, sizeof *prof->frames);
	intern(prof, 0);	/* stack 0: no frames */
}
