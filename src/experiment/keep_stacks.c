/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Stacks of an experiment that is kept in memory. One goes when no packet names
 * it any more and none has for a while: the recorder may name one again that it
 * was given long ago. One that comes too late is counted, and its time is of
 * <Lost samples>.
 */
#include <stdlib.h>
#include <string.h>

#include "format.h"
#include "keep.h"
#include "writer.h"

enum { STACKS_AT = 8 << 20 };	/* bytes of stacks that are looked at */

void
keep_used(struct experiment *exp, uint64_t frinfo, uint64_t time_ns)
{
	uint64_t *when = map_slot_of(&exp->keep->used, frinfo);

	if (*when < time_ns)
		*when = time_ns;
}

bool
experiment_has_stack(const struct experiment *exp, uint64_t frinfo)
{
	uint64_t when;

	return !exp->keep || map_get(&exp->keep->used, frinfo, &when);
}

/* Of a record of data.frameinfo: its number, and what it is linked to. */
uint64_t
keep_frame(const unsigned char *record, size_t n, uint64_t *link)
{
	struct uid_packet uid;
	struct frame_packet frame;
	struct frame_info info;
	bool linked;

	memcpy(&uid, record, sizeof uid);
	*link = 0;
	if (uid.head.kind == PACKET_UID) {
		linked = uid.flags & LINKED;
	} else {
		memcpy(&frame, record, sizeof frame);
		memcpy(&info, record + sizeof frame, sizeof info);
		uid.uid = frame.uid;
		linked = info.kind & LINKED;
	}
	if (linked)
		memcpy(link, record + n - sizeof *link, sizeof *link);
	return uid.uid;
}

/* What wanted stacks are linked to is wanted: it stands before them. */
void
keep_follow(const struct sink *frames, struct map *wanted)
{
	size_t *at = NULL, cap = 0, count = 0;
	uint64_t link, found;

	for (size_t i = 0; i < frames->len;
	     i += frames->record(frames->buf + i, frames->len - i)) {
		at = xgrow(at, &cap, count + 1, sizeof *at);
		at[count++] = i;
	}
	while (count-- > 0) {
		const unsigned char *record = frames->buf + at[count];
		const uint64_t uid = keep_frame(record, frames->record(record,
			frames->len - at[count]), &link);

		if (link && map_get(wanted, uid, &found))
			map_put(wanted, link, 1);
	}
	free(at);
}

static bool
frame_wanted(void *arg, const unsigned char *record, size_t n, uint64_t index)
{
	uint64_t link, found;

	(void)index;
	return map_get(arg, keep_frame(record, n, &link), &found);
}

/* Pieces that were forgotten are written anew, when they come again. */
static void
forget_pieces(struct experiment *exp, const struct map *wanted)
{
	struct map by_hash = { 0 };
	uint64_t key, i, found;
	size_t at = 0, n = 0;
	struct piece *pieces = xcalloc(exp->piece_count + 1, sizeof *pieces);

	while (map_next(&exp->by_hash, &at, &key, &i)) {
		const struct piece *piece = &exp->pieces[i];

		if (!map_get(wanted, piece->frame ? piece->frame :
			     piece->chain, &found))
			continue;
		map_put(&by_hash, key, n);
		pieces[n++] = *piece;
	}
	map_fini(&exp->by_hash);
	free(exp->pieces);
	exp->by_hash = by_hash;
	exp->pieces = pieces;
	exp->piece_cap = exp->piece_count + 1;
	exp->piece_count = n;
}

/* What has no code is asked for once, and named for ever. */
static void
use_artificials(struct experiment *exp, uint64_t now)
{
	for (size_t i = 0; i < exp->artificial_count; i++)
		keep_used(exp, experiment_artificial(exp,
			exp->artificials[i].name), now);
}

void
keep_prune_stacks(struct experiment *exp, uint64_t since)
{
	struct keep *k = exp->keep;
	struct map used = { 0 }, wanted = { 0 };
	uint64_t frinfo, when;
	size_t at = 0;

	use_artificials(exp, since);
	while (map_next(&k->used, &at, &frinfo, &when)) {
		if (when < since)
			continue;
		map_put(&used, frinfo, when);
		map_put(&wanted, frinfo, 1);
	}
	map_fini(&k->used);
	k->used = used;
	keep_follow(&exp->frames, &wanted);
	keep_sift(&exp->frames, frame_wanted, &wanted);
	forget_pieces(exp, &wanted);
	map_fini(&wanted);
	k->stacks_at = 2 * exp->frames.len > STACKS_AT ?
		2 * exp->frames.len : STACKS_AT;
}
