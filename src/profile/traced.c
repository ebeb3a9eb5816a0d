/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * What all answers about traced calls need: stacks that look the same are one,
 * ranges of sizes, and how the recording ended.
 */
#include "calls.h"

#include <stdlib.h>
#include <string.h>

/* ---- stacks ----------------------------------------------------------- */

static bool
look_alike(const struct profile *prof, const struct stack *a,
	   const struct stack *b)
{
	return a->len - a->skip == b->len - b->skip &&
	       !memcmp(&prof->frames[a->first + a->skip],
		       &prof->frames[b->first + b->skip],
		       (a->len - a->skip) * sizeof *prof->frames);
}

/* Hidden objects and the dynamic linker's frames make equals of stacks that
 * differed when they were read. */
uint32_t *
traced_same(struct profile *prof)
{
	struct map first = {0};

	symbolize_all(prof);

	uint32_t *same = xcalloc(prof->stacks_len + 1, sizeof *same);

	for (uint32_t i = 0; i < prof->stacks_len; i++) {
		const struct stack *st = &prof->stacks[i];
		uint64_t at, key = hash_bytes(
			&prof->frames[st->first + st->skip],
			(st->len - st->skip) * sizeof *prof->frames, 0);

		/* another stack with this hash takes the next key */
		while (map_get(&first, key, &at) &&
		       !look_alike(prof, st, &prof->stacks[at]))
			key++;
		same[i] = map_get(&first, key, &at) ? (uint32_t)at : i;
		map_put(&first, key, same[i]);
	}
	map_fini(&first);
	return same;
}

size_t
traced_stack(struct profile *prof, uint32_t stack, struct traced_frame **out,
	     size_t *cap)
{
	symbolize_all(prof);

	const struct stack *st = &prof->stacks[stack];
	const size_t n = st->len - st->skip;

	*out = xgrow(*out, cap, n + 1, sizeof **out);
	for (size_t i = 0; i < n; i++) {
		struct location *loc = &prof->locations[
			prof->frames[st->first + st->skip + i]];

		symbolize_line(prof, loc);
		(*out)[i] = (struct traced_frame){
			.where = { loc->function, loc->offset, loc->vaddr,
				   &object_at(prof, loc->object)->pub },
			.file = loc->file, .line = loc->line,
		};
	}
	return n;
}

/* ---- sizes ------------------------------------------------------------ */

/* What is called 1000KB is 1 MB. */
const char *const traced_range_names[TRACED_RANGES] = {
	"0KB - 1KB", "1KB - 8KB", "8KB - 32KB", "32KB - 128KB",
	"128KB - 256KB", "256KB - 512KB", "512KB - 1000KB", "1000KB - 10MB",
	"10MB - 100MB", "100MB - 1GB", "1GB - 10GB", "10GB - 100GB",
	"100GB - 1TB", "1TB - 10TB", "10TB -",
};

static const uint64_t range_ends[] = {
#define KB(n) (UINT64_C(n) << 10)
#define MB(n) (UINT64_C(n) << 20)
#define GB(n) (UINT64_C(n) << 30)
	KB(1), KB(8), KB(32), KB(128), KB(256), KB(512), MB(1), MB(10),
	MB(100), GB(1), GB(10), GB(100), GB(1024), GB(10240),
#undef KB
#undef MB
#undef GB
};

_Static_assert(ARRAY_LEN(range_ends) == TRACED_RANGES - 1,
	       "the last range has no end");

void
traced_sizes_init(struct traced_sizes *s)
{
	*s = (struct traced_sizes){ .smallest = UINT64_MAX };
}

void
traced_sizes_add(struct traced_sizes *s, uint64_t n, uint64_t bytes)
{
	const uint64_t each = (bytes + n / 2) / n;
	size_t range = 0;

	while (range < ARRAY_LEN(range_ends) && each > range_ends[range])
		range++;
	s->ranges[range] += n;
	s->count += n;
	s->bytes += bytes;
	s->smallest = each < s->smallest ? each : s->smallest;
	s->largest = each > s->largest ? each : s->largest;
}

void
traced_size_add(struct traced_sizes *s, uint64_t bytes)
{
	traced_sizes_add(s, 1, bytes);
}

/* ---- the end ----------------------------------------------------------- */

/* Of ours the last word tells; gprofng's is inside its program, and ends with
 * it. */
enum traced_end
traced_end_of(const struct experiment_reader *rd)
{
	const char *how = experiment_property(rd, "end");

	if (experiment_recording(rd))
		return TRACED_RECORDING;
	if (!experiment_finished(rd))
		return TRACED_CUT;
	if (!how || str_starts(how, "exited ") || str_starts(how, "executed ") ||
	    str_starts(how, "was killed ") || strcmp(how, "ended") == 0)
		return TRACED_EXITED;
	return str_starts(how, "salvaged ") ? TRACED_CUT : TRACED_DETACHED;
}
