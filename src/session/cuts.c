/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Stacks that end before their thread's does: how many, where they were cut,
 * and which words would have them whole.
 */
#include "recorder.h"

/* Engine ring: what fits into a record beside the registers is a little less
 * than 64 KB. */
enum { KERNEL_MOST = 63 << 10 };

/* The frames were too many for the setting. */
static void
add_deep(struct str *s, const struct recorder *rec)
{
	enum { DEPTH_MOST = 65536 };
	const uint32_t depth = rec->opt.settings->depth;

	str_add_grouped(s, rec->counts.too_deep);
	str_addf(s, " stack%s cut at %u frames",
		 rec->counts.too_deep == 1 ? "" : "s", depth);
	if (depth < DEPTH_MOST)
		str_addf(s, " (more: --depth %u; in the shell: collector depth "
			 "%u)", DEPTH_MOST, DEPTH_MOST);
}

/* What was copied, or had room, ended before the frames did. */
static void
add_short(struct str *s, const struct recorder *rec, uint64_t cut)
{
	const uint32_t bytes = rec->counts.cut_bytes;
	const uint32_t depth = rec->opt.settings->depth;

	str_add_grouped(s, cut);
	str_addf(s, " stack%s cut", cut == 1 ? "" : "s");
	if (!bytes)
		str_add(s, " (whole: --engine remote)");
	else if (rec->engine.ops != &engine_ring)
		str_addf(s, " at %u KB", (bytes + 1023) / 1024);
	else if (bytes > KERNEL_MOST)
		str_add(s, " at 64 KB, the most that the kernel copies (whole: "
			"--engine inject)");
	else
		str_addf(s, " at %u KB (more: --depth %u,64; in the shell: "
			 "collector depth %u 64)", (bytes + 1023) / 1024, depth,
			 depth);
}

char *
cuts_text(const struct recorder *rec)
{
	const uint64_t deep = rec->counts.too_deep;
	const uint64_t cut = rec->counts.truncated - deep;
	struct str s = {0};

	if (cut)
		add_short(&s, rec, cut);
	if (cut && deep)
		str_add(&s, ", ");
	if (deep)
		add_deep(&s, rec);
	return str_take(&s);
}
