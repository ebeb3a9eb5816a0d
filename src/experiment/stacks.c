/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Stacks on their way to data.frameinfo. Each distinct stack is written once
 * and named by a number of ours; two 64-bit hashes decide what is distinct.
 * A stack longer than one packet is cut at multiples of PIECE frames counted
 * from its root, so that recursions that differ at the leaf share the rest;
 * the pieces are linked towards the root.
 *
 * What the disk refuses is kept, up to KEEP_MAX: a lost stack would unname
 * every later sample that refers to it.
 */
#include <stdlib.h>
#include <string.h>

#include "format.h"
#include "writer.h"

enum {
	PIECE = 2048,		/* frames in a packet; readers take these */
	DEPTH_MAX = 65536,	/* frames; gprofng crashes somewhat above */
	FLUSH_AT = 64 << 10,
	KEEP_MAX = 4 << 20,
};

/* The place of a piece by content; key is where it is, or belongs. */
static struct piece *
find_piece(struct experiment *exp, uint64_t *key, uint64_t check)
{
	uint64_t i;

	for (; map_get(&exp->by_hash, *key, &i); ++*key)
		if (exp->pieces[i].check == check)
			return &exp->pieces[i];
	return NULL;
}

static const struct piece *
add_piece(struct experiment *exp, uint64_t key, const struct piece *piece)
{
	map_put(&exp->by_hash, key, exp->piece_count);
	exp->pieces = xgrow(exp->pieces, &exp->piece_cap,
			    exp->piece_count + 1, sizeof *exp->pieces);
	exp->pieces[exp->piece_count] = *piece;
	return &exp->pieces[exp->piece_count++];
}

static bool
has_room(struct experiment *exp)
{
	if (exp->frames.len < FLUSH_AT || sink_flush(&exp->frames) == 0)
		return true;
	return exp->frames.len < KEEP_MAX;
}

static void
put_words(struct experiment *exp, const void *head, size_t head_size,
	  const uint64_t *words, size_t n, uint64_t link)
{
	sink_put(&exp->frames, head, head_size);
	sink_put(&exp->frames, words, n * sizeof *words);
	if (link)
		sink_put(&exp->frames, &link, sizeof link);
}

static void
put_uid_packet(struct experiment *exp, const struct piece *piece,
	       const uint64_t *words, size_t n, uint64_t link)
{
	const struct uid_packet packet = {
		.head.size = (uint16_t)(sizeof packet +
					(n + (link != 0)) * sizeof *words),
		.head.kind = PACKET_UID,
		.flags = link ? LINKED : 0,
		.uid = piece->chain,
	};

	put_words(exp, &packet, sizeof packet, words, n, link);
}

static void
put_frame_packet(struct experiment *exp, const struct piece *piece,
		 const uint64_t *words, size_t n, uint64_t link)
{
	const size_t info_size = sizeof(struct frame_info) +
		(n + (link != 0)) * sizeof *words;
	const struct {
		struct frame_packet frame;
		struct frame_info info;
	} packet = {
		.frame = {
			.head.size = (uint16_t)(sizeof packet.frame +
						info_size),
			.head.kind = PACKET_FRAME,
			.head_size = sizeof packet.frame,
			.uid = piece->frame,
		},
		.info = {
			.size = (uint32_t)info_size,
			.kind = INFO_NATIVE | (link ? LINKED : 0),
			.uid = piece->chain,
		},
	};

	put_words(exp, &packet, sizeof packet, words, n, link);
}

_Static_assert(sizeof(struct frame_packet) + sizeof(struct frame_info) +
	       (PIECE + 2) * sizeof(uint64_t) <= PACKET_MAX,
	       "a piece, its mark and its link fit one packet");

enum piece_kind { PIECE_LEAF, PIECE_TAIL };

/* Intern one piece; NULL when there is no room for it. */
static const struct piece *
intern(struct experiment *exp, const uint64_t *words, size_t n, uint64_t link,
       enum piece_kind kind)
{
	/* what it holds, what it is linked to, and what it is for */
	const struct hash_two hash =
		hash_words(words, n, hash_word(link) + kind);
	uint64_t key = hash.key;
	const struct piece *known = find_piece(exp, &key, hash.check);

	if (known)
		return known;
	if (!has_room(exp))
		return NULL;

	struct piece piece = { .check = hash.check };

	if (n > 0 || link)
		piece.chain = ++exp->last_uid;	/* else 0: no stack at all */
	if (kind == PIECE_LEAF) {
		piece.frame = ++exp->last_uid;
		put_frame_packet(exp, &piece, words, n, link);
	} else {
		put_uid_packet(exp, &piece, words, n, link);
	}
	return add_piece(exp, key, &piece);
}

/* words: the stack with its end mark. */
static uint64_t
intern_stack(struct experiment *exp, const uint64_t *words, size_t n)
{
	uint64_t link = 0;

	while (n > PIECE) {
		const struct piece *tail = intern(exp, words + n - PIECE,
						  PIECE, link, PIECE_TAIL);

		if (!tail)
			return 0;
		link = tail->chain;
		n -= PIECE;
	}

	const struct piece *leaf = intern(exp, words, n, link, PIECE_LEAF);

	return leaf ? leaf->frame : 0;
}

uint64_t
experiment_stack(struct experiment *exp, const uint64_t *pcs, size_t len,
		 enum stack_end end)
{
	if (len > DEPTH_MAX) {
		len = DEPTH_MAX;
		end = STACK_TRUNCATED;
	}
	exp->words = xgrow(exp->words, &exp->words_cap, len + 1,
			   sizeof *exp->words);
	if (len > 0)
		memcpy(exp->words, pcs, len * sizeof *pcs);
	if (end != STACK_COMPLETE)
		exp->words[len++] = end == STACK_FAILED ? MARK_FAILED :
			MARK_TRUNCATED;

	const uint64_t frinfo = intern_stack(exp, exp->words, len);

	/* who holds it may name it in a while */
	if (exp->keep)
		keep_used(exp, frinfo, exp->last_ns);
	return frinfo;
}

/* ---- functions without code ------------------------------------------ */

static struct artificial *
find_artificial(struct experiment *exp, const char *name, uint64_t *key)
{
	uint64_t i;

	*key = hash_bytes(name, strlen(name), 0);
	for (; map_get(&exp->artificial_by_hash, *key, &i); ++*key)
		if (strcmp(exp->artificials[i].name, name) == 0)
			return &exp->artificials[i];
	return NULL;
}

static uint64_t
add_artificial(struct experiment *exp, const char *name, uint64_t key)
{
	const size_t n = exp->artificial_count++;
	const uint64_t pc = ARTIFICIAL_BASE + n * ARTIFICIAL_SIZE +
		ARTIFICIAL_PC;

	exp->artificials = xgrow(exp->artificials, &exp->artificial_cap, n + 1,
				 sizeof *exp->artificials);
	exp->artificials[n] = (struct artificial){
		.name = xstrdup(name), .pc = pc,
	};
	map_put(&exp->artificial_by_hash, key, n);
	return pc;
}

void
writer_knows_artificial(struct experiment *exp, const char *name)
{
	uint64_t key;

	if (!find_artificial(exp, name, &key))
		(void)add_artificial(exp, name, key);
}

uint64_t
experiment_artificial_pc(struct experiment *exp, const char *name)
{
	uint64_t key, pc;
	const struct artificial *known = find_artificial(exp, name, &key);

	if (known)
		return known->pc;
	pc = add_artificial(exp, name, key);
	experiment_function(exp, exp->start_ns, pc - ARTIFICIAL_PC,
			    ARTIFICIAL_SIZE, name);
	return pc;
}

uint64_t
experiment_artificial(struct experiment *exp, const char *name)
{
	const uint64_t pc = experiment_artificial_pc(exp, name);

	return experiment_stack(exp, &pc, 1, STACK_COMPLETE);
}
