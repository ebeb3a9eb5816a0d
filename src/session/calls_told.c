/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * What became of traced calls, in one line of the log: how many, and how many
 * are missing, by cause. The recorder names the kinds of calls that the user
 * asked for and that have no hook, when the recording begins and when it ends.
 */
#include <inttypes.h>

#include "calls.h"
#include "inject.h"

enum { BYTES_OF_LOADER = 65536 };	/* what it reads of a library it
					 * reads by calls of its own */

static uint64_t
lost_of(const struct tracing_counts *n, uint64_t by_disk)
{
	uint64_t sum = n->spoiled + by_disk;

	for (int i = 0; i < TRACE_LOSSES; i++)
		sum += n->lost[i];
	return sum;
}

unsigned
calls_untraced(const struct settings *s, const struct tracing_counts *n)
{
	const bool asked[TRACE_FAMILIES] = {
		[TRACE_HEAP] = s->heap, [TRACE_SYNC] = s->sync,
		[TRACE_IO] = s->io,
	};
	unsigned untraced = 0;

	for (unsigned f = 0; f < TRACE_FAMILIES; f++)
		untraced |= asked[f] && !n->of_family[f] ? 1u << f : 0;
	if (n->refused)
		untraced |= UNTRACED_SLOTS;
	if (s->heap && !n->heap_of_program)
		untraced |= UNTRACED_HEAP_OF_PROGRAM;
	return untraced;
}

/* More passed our hooks by than through them. */
static bool
io_passes_by(const struct calls_io_bytes *b)
{
	const uint64_t all = b->kernel_read + b->kernel_written;
	const uint64_t traced = b->traced_read + b->traced_written +
		b->stream_read + b->stream_written;

	return b->known && all > BYTES_OF_LOADER && all / 2 > traced;
}

void
calls_untraced_text(unsigned untraced, struct str *s)
{
	static const struct {
		unsigned bit;
		const char *what;
	} all[] = {
		{ 1u << TRACE_HEAP, "calls that give and take memory" },
		{ 1u << TRACE_SYNC, "waits for locks" },
		{ 1u << TRACE_IO, "input and output" },
	};
	const char *before = "NOT TRACED: ";
	bool none = false;

	for (size_t i = 0; i < ARRAY_LEN(all); i++)
		if (untraced & all[i].bit) {
			str_addf(s, "%s%s", before, all[i].what);
			before = ", ";
			none = true;
		}
	if (none)
		str_add(s, " (no import slot leads to them)");
	if ((untraced & UNTRACED_HEAP_OF_PROGRAM) &&
	    !(untraced & 1u << TRACE_HEAP)) {
		str_addf(s, "%swhat the program takes of an allocator of its "
			 "own (it has no import slot of malloc)", before);
		before = ", ";
	}
	if ((untraced & UNTRACED_SLOTS) && !none) {
		str_addf(s, "%scalls through import slots that cannot be "
			 "written (the header counts them)", before);
		before = ", ";
	}
	if ((untraced & UNTRACED_BYTES) && !(untraced & 1u << TRACE_IO))
		str_addf(s, "%smost of the input and output (the kernel "
			 "counted more than twice as much)", before);
}

/* What the process read and wrote by the kernel's count is told beside what of
 * it went by traced calls. */
void
calls_tell(struct recorder *rec, const struct recorder_options *opt,
	   const struct calls_told *told)
{
	const bool heap = opt->settings->heap;
	const uint64_t by_disk = experiment_disk_lost_calls(opt->exp);
	const struct tracing_counts *n = told->n;
	const struct calls_io_bytes b = told->bytes;
	const struct { const char *name; uint64_t value; bool untold; } all[] = {
		{ "calls", told->events, false }, { "slots", n->slots, false },
		{ "heap_slots", n->of_family[TRACE_HEAP], false },
		{ "sync_slots", n->of_family[TRACE_SYNC], false },
		{ "io_slots", n->of_family[TRACE_IO], false },
		{ "others", n->others, false },
		{ "refused", n->refused, false },
		{ "heap_unseen", n->unseen[TRACE_HEAP], !n->unseen[TRACE_HEAP] },
		{ "sync_unseen", n->unseen[TRACE_SYNC], !n->unseen[TRACE_SYNC] },
		{ "io_unseen", n->unseen[TRACE_IO], !n->unseen[TRACE_IO] },
		{ "lost_full", n->lost[TRACE_LOST_FULL], false },
		{ "lost_lease", n->lost[TRACE_LOST_LEASE], false },
		{ "lost_disk", by_disk, false },
		{ "paused_ns", told->paused_ns, !told->paused_ns },
		{ "lost_thread", n->lost[TRACE_LOST_THREAD], false },
		{ "spoiled", n->spoiled, false },
		{ "lost_confined", n->lost[TRACE_LOST_CONFINED], false },
		{ "lost_stack", n->lost[TRACE_LOST_STACK], false },
		{ "lost_sampled", n->lost[TRACE_LOST_SAMPLED], !heap },
		{ "heap_of_program", n->heap_of_program, !heap },
		{ "waited_ns", n->waited_ns, false },
		{ "wait_ms", opt->settings->trace_wait_ms, false },
		{ "short_waits", n->short_waits, false },
		{ "sync_ns", told->sync_ns, false },
		{ "sync_traced", opt->settings->sync, false },
		{ "io_traced", opt->settings->io, false },
		{ "io_unknown", 1, !opt->settings->io || b.known },
		{ "io_read", b.kernel_read, !b.known },
		{ "io_written", b.kernel_written, !b.known },
		{ "traced_read", b.traced_read, !b.known },
		{ "traced_written", b.traced_written, !b.known },
		{ "stream_read", b.stream_read, !b.known },
		{ "stream_written", b.stream_written, !b.known },
	};
	const char *words[2 * ARRAY_LEN(all) + 1] = { NULL };
	char values[ARRAY_LEN(all)][24];
	size_t len = 0;

	for (size_t i = 0; i < ARRAY_LEN(all); i++) {
		if (all[i].untold)
			continue;
		snprintf(values[i], sizeof values[i], "%" PRIu64,
			 all[i].value);
		words[len++] = all[i].name;
		words[len++] = values[i];
	}
	experiment_event(opt->exp, now_ns(), "sonde_calls", words);
	recorder_calls_lost(rec, lost_of(n, by_disk));
	recorder_calls_untraced(rec, calls_untraced(opt->settings, n) |
				(io_passes_by(&b) ? UNTRACED_BYTES : 0));
}
