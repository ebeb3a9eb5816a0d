/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Nothing of ours is in the text of a program that is only debugged, so what
 * must happen behind a function's return is done by instructions that any
 * program has: the end of a function that stores a result (rax is lost in
 * what follows), and libc's return from signal handlers.
 */
#include <stdlib.h>
#include <string.h>

#include "interlude.h"

enum { PIECE = 256 << 10, OVERLAP = 32, TEXT_MAX = 256 << 20 };

static const unsigned char restore[] = {
	0x48, 0xc7, 0xc0, 0x0f, 0, 0, 0, 0x0f, 0x05
};
static const unsigned char pops[] = {
	0x5d, 0x41, 0x5c, 0x41, 0x5d, 0x41, 0x5e, 0x41, 0x5f, 0xc3
};

/* mov %rax, disp(%base): its length, 0: it is none. */
static size_t
store_length(const unsigned char *c, struct way_back *way)
{
	static const struct {
		unsigned char rex, modrm, sib, base, has_disp;
	} forms[] = {
		{ 0x48, 0x03, 0, 3, 0 }, { 0x48, 0x43, 0, 3, 1 },
		{ 0x48, 0x45, 0, 5, 1 }, { 0x49, 0x04, 0x24, 12, 0 },
		{ 0x49, 0x44, 0x24, 12, 1 }, { 0x49, 0x45, 0, 13, 1 },
		{ 0x49, 0x06, 0, 14, 0 }, { 0x49, 0x46, 0, 14, 1 },
		{ 0x49, 0x07, 0, 15, 0 }, { 0x49, 0x47, 0, 15, 1 },
	};

	if (c[1] != 0x89)
		return 0;
	for (size_t i = 0; i < ARRAY_LEN(forms); i++) {
		size_t n = 3;

		if (c[0] != forms[i].rex || c[2] != forms[i].modrm)
			continue;
		if (forms[i].sib && c[n++] != forms[i].sib)
			continue;
		way->base = forms[i].base;
		way->disp = forms[i].has_disp ? (int8_t)c[n++] : 0;
		return n;
	}
	return 0;
}

/* add $n, %rsp and pops, to a ret: its length, 0: it does not end so. */
static size_t
end_length(const unsigned char *c, unsigned *words)
{
	size_t n = 0;

	*words = 0;
	if (c[0] == 0x48 && c[1] == 0x83 && c[2] == 0xc4) {
		if (c[3] & 0x87)
			return 0;
		*words = c[3] / 8u;
		n = 4;
	}
	while (n + 2 < OVERLAP - 8) {
		if (c[n] == 0xc3)
			return n + 1;
		if (c[n] == 0x41 && c[n + 1] >= 0x5c && c[n + 1] <= 0x5f)
			n++;
		else if (c[n] != 0x5b && c[n] != 0x5d)
			return 0;
		n++;
		++*words;
	}
	return 0;
}

/* add $n, %rsp and pops, to a ret: room for so many words. */
static bool
parse_wide(const unsigned char *c, struct way_back *way)
{
	const bool is_byte = c[1] == 0x83;
	uint32_t bytes = c[3];
	size_t n = is_byte ? 4 : 7;

	if (c[0] != 0x48 || (!is_byte && c[1] != 0x81) || c[2] != 0xc4)
		return false;
	if (!is_byte)
		memcpy(&bytes, c + 3, sizeof bytes);
	else if (bytes & 0x80)
		return false;
	way->wide_words = bytes / 8;
	way->wide_rbx = -1;
	if (bytes % 8 || bytes > 8 * WIDE_MOST)
		return false;
	for (way->wide_pops = 0; c[n] != 0xc3; way->wide_pops++) {
		if (c[n] == 0x5b)
			way->wide_rbx = (int)way->wide_pops;
		if (c[n] == 0x41 && c[n + 1] >= 0x5c && c[n + 1] <= 0x5f)
			n++;
		else if (c[n] != 0x5b && c[n] != 0x5d)
			return false;
		if (++n > OVERLAP - 8)
			return false;
	}
	return true;
}

/* The least that has room for all that a call may have; else the most. */
static void
look_wide(const unsigned char *c, uint64_t addr, struct way_back *way)
{
	struct way_back found = { .wide = addr };
	const unsigned now = way->wide_words;

	if (!parse_wide(c, &found) || (way->wide && (now >= INTERLUDE_STACK ?
	    found.wide_words < INTERLUDE_STACK || found.wide_words >= now :
	    found.wide_words <= now)))
		return;
	way->wide = addr;
	way->wide_words = found.wide_words;
	way->wide_pops = found.wide_pops;
	way->wide_rbx = found.wide_rbx;
}

/* An odd number of words needs no ret of its own, and rbx no care. */
static bool
better(const struct way_back *a, const struct way_back *b)
{
	if (!b->store || (a->base == 3) != (b->base == 3))
		return !b->store || a->base == 3;
	return a->skips % 2 > b->skips % 2;
}

static void
look_at(const unsigned char *c, uint64_t addr, struct way_back *way)
{
	struct way_back found = { .store = addr };
	size_t n, m;

	if (c[0] == restore[0] && !way->restore_rt &&
	    memcmp(c, restore, sizeof restore) == 0)
		way->restore_rt = addr;
	if (c[0] == pops[0] && !way->pops &&
	    memcmp(c, pops, sizeof pops) == 0)
		way->pops = addr;
	look_wide(c, addr, way);
	n = store_length(c, &found);
	m = n ? end_length(c + n, &found.skips) : 0;
	if (!m || !better(&found, way))
		return;
	way->store = addr;
	way->ret = addr + n + m - 1;
	way->base = found.base;
	way->disp = found.disp;
	way->skips = found.skips;
}

static void
search(struct target *t, const struct module *m, struct way_back *way)
{
	unsigned char *piece = xmalloc(PIECE + OVERLAP);

	for (uint64_t at = m->start; at < m->end; at += PIECE) {
		const uint64_t left = m->end - at;
		const size_t n = left < PIECE + OVERLAP ? left :
			PIECE + OVERLAP;

		if (target_read(t, at, piece, n) < 0)
			break;
		for (size_t i = 0; i + OVERLAP < n && i < PIECE; i++)
			if (piece[i] == 0x48 || piece[i] == 0x49 ||
			    piece[i] == pops[0])
				look_at(piece + i, at + i, way);
	}
	free(piece);
}

static bool
is_whole(const struct way_back *way)
{
	return way->restore_rt && way->store && way->pops;
}

/* libc and ld.so stay where they are. */
static bool
is_libc(const struct module *m)
{
	const char *slash = m->path ? strrchr(m->path, '/') : NULL;

	return slash && (str_starts(slash, "/libc.") ||
			 str_starts(slash, "/libc-") ||
			 str_starts(slash, "/ld-"));
}

/* The instructions at all places. */
static bool
see(struct target *t, const struct way_back *way, unsigned char *seen)
{
	enum { AT_STORE = 32 };

	memset(seen, 0, WAY_SEEN);
	return target_read(t, way->restore_rt, seen, sizeof restore) == 0 &&
		target_read(t, way->store, seen + 16, AT_STORE) == 0 &&
		(!way->pops || target_read(t, way->pops, seen + 48,
					   sizeof pops) == 0) &&
		(!way->wide || target_read(t, way->wide, seen + 64,
					   AT_STORE) == 0);
}

/* libc's; a program's own are not known. */
static void
find_jumps(struct target *t, const struct modules *mods, struct way_back *way)
{
	static const char *const names[JUMPS] = { "longjmp", "__longjmp_chk" };
	struct look look = { .t = t };
	struct image img;

	for (size_t i = 0; i < mods->len && !way->jumps[0]; i++) {
		const struct module *m = &mods->items[i];

		if (!(m->prot & MODULE_EXEC) || !is_libc(m) ||
		    locate_image(&look, mapping_header(mods, m->start),
				 &img) < 0)
			continue;
		for (int j = 0; j < JUMPS; j++)
			way->jumps[j] = locate_address(&look, &img, names[j]);
	}
	look_fini(&look);
}

int
way_back_find(struct target *t, const struct modules *mods,
	      struct way_back *way)
{
	unsigned char seen[WAY_SEEN];

	if (way->store && see(t, way, seen) &&
	    memcmp(seen, way->seen, sizeof seen) == 0)
		return 0;
	*way = (struct way_back){ 0 };
	for (int others = 0; others < 2; others++)
		for (size_t i = 0; i < mods->len && !is_whole(way); i++) {
			const struct module *m = &mods->items[i];

			if ((m->prot & MODULE_EXEC) && m->inode &&
			    m->end - m->start < TEXT_MAX &&
			    is_libc(m) != (others == 1))
				search(t, m, way);
		}
	find_jumps(t, mods, way);
	fail_clear();
	if (way->restore_rt && way->store && see(t, way, way->seen))
		return 0;
	*way = (struct way_back){ 0 };
	return fail(FAIL_UNSUITABLE, "the program has no code by which a "
		    "function could come back from a call of ours");
}

uint64_t
way_back_pops(const struct way_back *way, unsigned k)
{
	/* the first is of one byte, the others of two */
	return !way->pops ? 0 : k == POPS ? way->pops :
		way->pops + 1 + 2 * (POPS - 1 - k);
}
