/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * data.frameinfo: FRINFO -> stack. A stack is a chain of pieces, because a
 * writer may link to a piece that it wrote before, or will write later. Links
 * are followed once, when everything is loaded: what leads nowhere and what
 * leads in a circle is cut there, so that walking a chain always ends.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "reader.h"

enum { FRAMES_MOST = 1 << 17 };	/* of a stack: we write no more than 20000 */

static uint64_t
read_word(const unsigned char *p, size_t width)
{
	uint32_t narrow;
	uint64_t word;

	if (width == sizeof word) {
		memcpy(&word, p, sizeof word);
		return word;
	}
	memcpy(&narrow, p, sizeof narrow);
	/* 32-bit markers are the same numbers cut short */
	return narrow >= UINT32_MAX - 2 ? UINT64_MAX - (UINT32_MAX - narrow) :
		narrow;
}

/* n bytes of PCs, leaf first, the last 8 being a link when linked. */
static void
add_chain(struct experiment_reader *rd, uint64_t uid, const unsigned char *p,
	  size_t n, bool linked)
{
	struct frames *fr = &rd->frames;
	const size_t width = rd->words32 ? sizeof(uint32_t) : sizeof(uint64_t);
	struct chain chain = {
		.start = fr->word_count, .next = CHAIN_NONE, .linked = linked,
	};
	uint64_t known;

	if (linked && n < sizeof chain.link)
		return;
	if (linked) {
		n -= sizeof chain.link;
		memcpy(&chain.link, p + n, sizeof chain.link);
	}
	/* without words it only names a chain that stands elsewhere */
	if ((n < width && !linked) || map_get(&fr->by_uid, uid, &known) ||
	    fr->chain_count >= INT32_MAX)
		return;
	chain.len = (uint32_t)(n / width);
	fr->words = xgrow(fr->words, &fr->word_cap, fr->word_count + chain.len,
			  sizeof *fr->words);
	for (size_t i = 0; i < chain.len; i++)
		fr->words[fr->word_count++] = read_word(p + i * width, width);
	fr->chains = xgrow(fr->chains, &fr->chain_cap, fr->chain_count + 1,
			   sizeof *fr->chains);
	map_put(&fr->by_uid, uid, fr->chain_count);
	fr->chains[fr->chain_count++] = chain;
}

/* False when the infos do not fill the packet as they say. */
static bool
add_frame(struct experiment_reader *rd, const unsigned char *p, size_t size)
{
	struct frame_packet frame;
	struct frame_info info;
	uint64_t native = 0, known;

	if (size < sizeof frame)
		return false;
	memcpy(&frame, p, sizeof frame);
	if (frame.head_size < sizeof frame)
		return false;
	for (size_t at = frame.head_size; at < size; at += info.size) {
		if (size - at < sizeof info)
			return false;
		memcpy(&info, p + at, sizeof info);
		if (info.size < sizeof info || info.size > size - at)
			return false;
		if ((info.kind & ~LINKED) != INFO_NATIVE || info.uid == 0)
			continue;
		native = info.uid;
		add_chain(rd, info.uid, p + at + sizeof info,
			  info.size - sizeof info, info.kind & LINKED);
	}
	if (!map_get(&rd->frames.by_frinfo, frame.uid, &known))
		map_put(&rd->frames.by_frinfo, frame.uid, native);
	return true;
}

static bool
add_uid(struct experiment_reader *rd, const unsigned char *p, size_t size)
{
	struct uid_packet packet;

	if (size < sizeof packet)
		return false;
	memcpy(&packet, p, sizeof packet);
	add_chain(rd, packet.uid, p + sizeof packet, size - sizeof packet,
		  packet.flags & LINKED);
	return true;
}

/* ---- links ----------------------------------------------------------- */

/* How many lead nowhere. */
static uint64_t
resolve_links(struct frames *fr)
{
	uint64_t lost = 0;

	for (size_t i = 0; i < fr->chain_count; i++) {
		struct chain *chain = &fr->chains[i];
		uint64_t next;

		if (!chain->linked)
			continue;
		if (map_get(&fr->by_uid, chain->link, &next)) {
			chain->next = (int32_t)next;
		} else {
			chain->end = STACK_TRUNCATED;
			lost++;
		}
	}
	return lost;
}

/*
 * Every chain has one successor at most, so a walk either ends or runs into
 * itself. Each walk marks what it visits with its own number: meeting that
 * number again is a circle, meeting another one is known ground. Returns how
 * many circles there were.
 */
static uint64_t
cut_circles(struct frames *fr)
{
	uint64_t circles = 0;
	uint32_t *seen = xcalloc(fr->chain_count + 1, sizeof *seen);

	for (size_t i = 0; i < fr->chain_count; i++) {
		const uint32_t walk = (uint32_t)i + 1;
		int32_t at = (int32_t)i;

		while (!seen[at]) {
			struct chain *chain = &fr->chains[at];

			seen[at] = walk;
			if (chain->next == CHAIN_NONE)
				break;
			if (seen[chain->next] == walk) {
				chain->next = CHAIN_NONE;
				chain->end = STACK_TRUNCATED;
				circles++;
				break;
			}
			at = chain->next;
		}
	}
	free(seen);
	return circles;
}

/* The last word of a whole stack may say why it ends. */
static void
take_marks(struct frames *fr)
{
	for (size_t i = 0; i < fr->chain_count; i++) {
		struct chain *chain = &fr->chains[i];

		if (chain->linked || chain->len == 0)
			continue;

		const uint64_t last = fr->words[chain->start + chain->len - 1];

		if (last == MARK_TRUNCATED)
			chain->end = STACK_TRUNCATED;
		else if (last == MARK_FAILED)
			chain->end = STACK_FAILED;
		else
			continue;
		chain->len--;
	}
}

/* What a recorder has linked to may be written a moment later. */
static void
follow_links(struct experiment_reader *rd, const char *name)
{
	const uint64_t lost = resolve_links(&rd->frames);
	const uint64_t circles = cut_circles(&rd->frames);

	if (lost && !rd->recording)
		reader_damage(rd, name, "links of stacks that lead to nothing: "
			      "%llu; what is above them is cut off",
			      (unsigned long long)lost);
	if (circles)
		reader_damage(rd, name, "links of stacks that lead back to "
			      "themselves: %llu; what is above them is cut off",
			      (unsigned long long)circles);
}

void
frames_load(struct experiment_reader *rd)
{
	static const char name[] = "data.frameinfo";
	struct packet_stream st;
	struct packet_head head;
	const unsigned char *p;
	uint64_t damaged = 0;

	if (rd->foreign)
		return;		/* the data files have said so */
	if (stream_open(&st, rd->dir_fd, name) < 0) {
		reader_damage(rd, name, "%s; no stacks are known",
			      strerror(errno));
		return;
	}
	while ((p = stream_next(&st, &head)))
		if ((head.kind == PACKET_FRAME &&
		     !add_frame(rd, p, head.size)) ||
		    (head.kind == PACKET_UID && !add_uid(rd, p, head.size)))
			damaged++;
	stream_warn(rd, name, &st);
	stream_close(&st);
	if (damaged)
		reader_damage(rd, name, "%llu damaged stacks",
			      (unsigned long long)damaged);
	follow_links(rd, name);
	take_marks(&rd->frames);
}

void
frames_fini(struct frames *fr)
{
	free(fr->words);
	free(fr->chains);
	map_fini(&fr->by_uid);
	map_fini(&fr->by_frinfo);
	*fr = (struct frames){ 0 };
}

ssize_t
experiment_stack_of(const struct experiment_reader *rd, uint64_t frinfo,
		    uint64_t **pcs, size_t *cap, enum stack_end *end)
{
	const struct frames *fr = &rd->frames;
	uint64_t uid, first;
	size_t n = 0;

	*end = STACK_COMPLETE;
	if (!map_get(&fr->by_frinfo, frinfo, &uid))
		return -1;
	if (uid == 0)
		return 0;	/* it says that there is no stack */
	if (!map_get(&fr->by_uid, uid, &first))
		return -1;
	for (int32_t i = (int32_t)first; i != CHAIN_NONE; ) {
		const struct chain *chain = &fr->chains[i];

		/* chains may be linked so that few bytes are endless stacks */
		if (n + chain->len > FRAMES_MOST) {
			*end = STACK_TRUNCATED;
			break;
		}
		*pcs = xgrow(*pcs, cap, n + chain->len, sizeof **pcs);
		if (chain->len > 0)
			memcpy(*pcs + n, fr->words + chain->start,
			       chain->len * sizeof **pcs);
		n += chain->len;
		*end = chain->end;
		i = chain->next;
	}
	return (ssize_t)n;
}
