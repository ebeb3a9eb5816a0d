/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * What an experiment has and lacks: samples and how their stacks end, traced
 * calls, creators of threads, and what was lost, by cause.
 */
#include "calls.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

/* Where they were cut, and how to have them whole. */
static void
print_cuts(const struct experiment_reader *rd, FILE *out)
{
	for (size_t i = 0; i < experiment_log_count(rd); i++) {
		const struct experiment_log_event *ev =
			experiment_log_at(rd, i);
		const char *text = strcmp(ev->kind, "sonde_cuts") ? NULL :
			ev->attr(ev, "text");

		if (text)
			fprintf(out, "  %s\n", text);
	}
}

/* Stacks of threads that wait are no samples, and have their own count. */
static void
print_looks(const struct experiment_reader *rd, FILE *out)
{
	const char *looks = NULL, *cut = NULL, *every = NULL;
	const char *guessed = NULL;

	for (size_t i = 0; i < experiment_log_count(rd); i++) {
		const struct experiment_log_event *ev =
			experiment_log_at(rd, i);

		if (strcmp(ev->kind, "sonde_waits"))
			continue;
		looks = ev->attr(ev, "looks");
		cut = ev->attr(ev, "cut");
		every = ev->attr(ev, "every_us");
		guessed = ev->attr(ev, "guessed_us");
	}
	if (!looks || !cut)
		return;
	fprintf(out, "Looks at threads that wait: %s stack%s, %s not whole\n",
		looks, strcmp(looks, "1") ? "s" : "", cut);
	if (every && strtod(every, NULL) > 0)
		fprintf(out, "  at each thread every %.1f ms on average: what "
			"is shorter is estimated over many looks\n",
			strtod(every, NULL) / 1e3);
	if (guessed && strtod(guessed, NULL) > 0)
		fprintf(out, "  %.3f s of threads that ended before a look: "
			"estimated, by how many there were\n",
			strtod(guessed, NULL) / 1e6);
}

/* Traced calls: how many, and what is not among them. */
static void
print_calls(const struct experiment_reader *rd, FILE *out)
{
	const struct calls_lost calls = calls_lost(rd);
	const uint64_t lost = calls.full + calls.lease + calls.disk +
		calls.confined + calls.tight;

	if (!calls.told)
		return;
	fprintf(out, "Traced calls: %" PRIu64 " through %" PRIu64
		" import slots; %" PRIu64 " lost%s\n", calls.calls,
		calls.slots, lost, lost ?
		": leaks and what is freed are not reliable" : "");
	if (calls.paused_ns)
		fprintf(out, "  none were recorded for %.3f s, while it was "
			"paused\n", (double)calls.paused_ns / 1e9);
	if (calls.waited_ns)
		fprintf(out, "  calls waited for room for their records: "
			"%.3f s in all, %" PRIu64 " ms each at most\n",
			(double)calls.waited_ns / 1e9, calls.wait_ms);
	if (calls.others)
		fprintf(out, "  %" PRIu64 " slots lead to other definitions, "
			"and are not traced\n", calls.others);
	if (calls.refused)
		fprintf(out, "  %" PRIu64 " slots cannot be written: calls "
			"through them are not traced\n", calls.refused);
	if (!calls.heap_of_program)
		fputs("  the program itself takes no memory by an import slot: "
		      "what an allocator\n  of its own (a static one) gives "
		      "it is not traced\n", out);

	struct str rest = {0};

	calls_untraced_add(&calls, &rest);
	if (rest.len)
		fprintf(out, "  %s", str_text(&rest));
	str_fini(&rest);
}

static void
print_creators(const struct viewer *v, size_t e, FILE *out)
{
	const struct profile_creators c = profile_creators(v->prof, e);

	if (!c.recorded) {
		fputs("Creators of threads: not recorded (record "
		      "--creators)\n", out);
		return;
	}
	fprintf(out, "Creators of threads: %" PRIu64 " known, %" PRIu64
		" unknown; %" PRIu64 " threads from when births were not "
		"followed%s%s%s\n", c.known, c.unknown, c.untold,
		c.why ? " (" : "", c.why ? c.why : "", c.why ? ")" : "");
}

void
creators_write(const struct viewer *v, FILE *out)
{
	for (size_t e = 0; e < profile_experiment_count(v->prof); e++)
		print_creators(v, e, out);
}

static void
print_stacks(const struct viewer *v, size_t e, FILE *out)
{
	const struct stack_ends ends = profile_stack_ends(v->prof, e);
	const uint64_t ignored = profile_ignored(v->prof, e);

	fprintf(out, "Samples: %" PRIu64, ends.complete + ends.truncated +
		ends.failed + ends.artificial + ends.missing - ends.traced);
	if (ends.traced)
		fprintf(out, ends.traced == 1 ?
			"; %" PRIu64 " traced call has a stack, too" :
			"; %" PRIu64 " traced calls have stacks, too",
			ends.traced);
	if (ends.booked)
		fprintf(out, ends.booked == 1 ?
			"; %" PRIu64 " more record books time that no sample "
			"has" :
			"; %" PRIu64 " more records book time that no sample "
			"has", ends.booked);
	fprintf(out, "\nStacks: %" PRIu64 " complete, %" PRIu64 " truncated, %"
		PRIu64 " failed", ends.complete, ends.truncated, ends.failed);
	if (ends.artificial)
		fprintf(out, ", %" PRIu64 " for time that has none",
			ends.artificial);
	if (ends.missing)
		fprintf(out, ", %" PRIu64 " missing", ends.missing);
	putc('\n', out);
	print_cuts(profile_experiment(v->prof, e), out);
	print_looks(profile_experiment(v->prof, e), out);
	print_calls(profile_experiment(v->prof, e), out);
	if (profile_creators(v->prof, e).recorded)
		print_creators(v, e, out);
	if (ignored)
		fprintf(out, "Warning: %" PRIu64 " clock records of unknown "
			"states are not counted\n", ignored);
}

/* What children used is no loss of this process's, and must not be looked for
 * in it. */
static void
print_children(const struct experiment_reader *rd, FILE *out)
{
	for (size_t i = 0; i < experiment_log_count(rd); i++) {
		const struct experiment_log_event *ev =
			experiment_log_at(rd, i);
		const char *us = strcmp(ev->kind, "sonde_children") ? NULL :
			ev->attr(ev, "untold_us");

		if (us)
			fprintf(out, "Not recorded: its children used %.2f s "
				"CPU\n", strtod(us, NULL) / 1e6);
	}
}

static void
print_losses(const struct viewer *v, size_t e, FILE *out)
{
	const struct profile_loss *losses;
	const size_t n = profile_losses(v->prof, e, &losses);

	const uint64_t missing = profile_stack_ends(v->prof, e).missing;
	const struct experiment_reader *rd = profile_experiment(v->prof, e);
	const size_t damaged = experiment_damaged_count(rd);
	const bool open = !experiment_finished(rd) && !experiment_recording(rd);

	fputs(n || missing || damaged || open ? "Lost, by cause:\n" :
	      "Lost: nothing\n", out);
	if (open)
		fputs("  not closed: what its recorder had not written when it "
		      "ended, an unknown number of records\n", out);
	for (size_t i = 0; i < damaged; i++)
		fprintf(out, "  damaged file %s: an unknown number of "
			"records\n", experiment_damaged(rd, i));
	if (missing)
		fprintf(out, "  stacks that data.frameinfo does not have: %"
			PRIu64 " records, in <Total> alone\n", missing);
	for (size_t i = 0; i < n; i++)
		if (strcmp(losses[i].detail, "traced calls") == 0)
			fprintf(out, "  %s: %" PRIu64 " traced calls\n",
				losses[i].cause, losses[i].samples);
		else
			fprintf(out, "  %s%s%s%s: %" PRIu64 " samples, %.3f "
				"s\n", losses[i].cause,
				losses[i].detail[0] ? " (" : "",
				losses[i].detail,
				losses[i].detail[0] ? ")" : "",
				losses[i].samples,
				(double)losses[i].weight_ns / 1e9);
}

void
header_stacks(const struct viewer *v, size_t e, FILE *out)
{
	print_stacks(v, e, out);
	print_losses(v, e, out);
	print_children(profile_experiment(v->prof, e), out);
}
