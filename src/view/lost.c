/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * What is not known of traced calls: that none were traced, and those that
 * were lost, by cause.
 */
#include "calls.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

/* ---- nothing ------------------------------------------------------------- */

static const struct {
	enum metric_kind kind;
	const char *what, *option, *none;
} recipes[] = {
	{ METRIC_HEAP, "calls that give and take memory", "--heap",
	  "no thread took or gave memory" },
	{ METRIC_SYNC, "waits for locks", "--sync",
	  "no thread waited for a lock" },
	{ METRIC_IO, "input and output", "--io",
	  "no thread read, wrote or opened a file" },
};

/* Where it was, what is not there did not happen. Files are declared with
 * their first record, so the log is asked, too. */
static bool
was_traced(const struct viewer *v, size_t e, enum metric_kind kind)
{
	const struct experiment_reader *rd = profile_experiment(v->prof, e);
	const struct calls_lost calls = calls_lost(rd);

	return experiment_declares(rd, kind) ||
		(kind == METRIC_HEAP && calls.heap_traced) ||
		(kind == METRIC_SYNC && calls.sync_traced) ||
		(kind == METRIC_IO && calls.io_traced);
}

static bool
all_traced(const struct viewer *v, enum metric_kind kind)
{
	const size_t n = profile_experiment_count(v->prof);

	for (size_t e = 0; e < n; e++)
		if (!was_traced(v, e, kind))
			return false;
	return n;
}

/* Records are kept, those of shorter waits are counted. */
static uint64_t
short_waits(const struct viewer *v)
{
	uint64_t sum = 0;

	for (size_t e = 0; e < profile_experiment_count(v->prof); e++)
		sum += calls_lost(profile_experiment(v->prof, e)).short_waits;
	return sum;
}

/* Not one slot led to the collector. Older experiments do not tell of which
 * kind their slots were. */
static bool
has_no_slot(const struct calls_lost *calls, enum metric_kind kind)
{
	const uint64_t slots = !calls->by_kind ? calls->slots + calls->calls :
		kind == METRIC_HEAP ? calls->heap_slots :
		kind == METRIC_SYNC ? calls->sync_slots : calls->io_slots;

	return calls->told && calls->slots_told && !slots;
}

/* Some slots lead to no hook. */
static uint64_t
slots_unseen(const struct calls_lost *calls, enum metric_kind kind)
{
	return kind == METRIC_HEAP ? calls->heap_unseen :
		kind == METRIC_SYNC ? calls->sync_unseen : calls->io_unseen;
}

/* Nothing that the program itself does: it has no slot of malloc, say, but an
 * allocator of its own. */
static bool
misses_program(const struct calls_lost *calls, enum metric_kind kind)
{
	return has_no_slot(calls, kind) ||
		(kind == METRIC_HEAP && calls->told && calls->heap_traced &&
		 !calls->heap_of_program);
}

static bool
misses_something(const struct calls_lost *calls, enum metric_kind kind)
{
	return slots_unseen(calls, kind) || misses_program(calls, kind);
}

/* Of how many experiments that holds. */
static size_t
count_if(const struct viewer *v, enum metric_kind kind,
	 bool (*holds)(const struct calls_lost *calls, enum metric_kind kind))
{
	size_t n = 0;

	for (size_t e = 0; e < profile_experiment_count(v->prof); e++) {
		const struct calls_lost calls =
			calls_lost(profile_experiment(v->prof, e));

		n += holds(&calls, kind);
	}
	return n;
}

static bool
none_could_be(const struct viewer *v, enum metric_kind kind)
{
	return count_if(v, kind, has_no_slot) ==
		profile_experiment_count(v->prof);
}

/* What is beside the calls that were traced: "no record" is not "none". */
static void
write_beside(const struct viewer *v, enum metric_kind kind, FILE *out)
{
	struct str notes = {0};

	calls_unseen_add(v, kind, &notes);
	if (kind == METRIC_HEAP)
		calls_hidden_heap_add(v, &notes);
	if (kind == METRIC_IO)
		calls_untraced_add_all(v, &notes);
	fputs(str_text(&notes), out);
	str_fini(&notes);
}

static void
write_none(const struct viewer *v, size_t which, FILE *out)
{
	const uint64_t waits = recipes[which].kind == METRIC_SYNC ?
		short_waits(v) : 0;

	if (none_could_be(v, recipes[which].kind)) {
		fprintf(out, "Nothing to show: %s were not traced: no import "
			"slot of the program could be led to the collector, "
			"and calls that are made without one are not seen.\n",
			recipes[which].what);
		write_beside(v, recipes[which].kind, out);
		return;
	}
	if (count_if(v, recipes[which].kind, misses_something))
		fprintf(out, "Nothing to show: no %s were recorded, but some "
			"could not be traced", recipes[which].what);
	else
		fprintf(out, "Nothing to show: %s%s (%s were traced)",
			recipes[which].none,
			waits ? " long enough to be recorded" : "",
			recipes[which].what);
	if (waits)
		fprintf(out, "; %" PRIu64 " shorter waits were only counted",
			waits);
	fputs(".\n", out);
	write_beside(v, recipes[which].kind, out);
}

static void
write_nothing(const struct viewer *v, size_t which, uint64_t events, FILE *out)
{
	const char *what = recipes[which].what, *option = recipes[which].option;

	if (!events)
		fprintf(out, "Nothing to show: %s were not traced, or there "
			"were none; record with `sonde record %s -p PID` or "
			"`sonde record %s -- PROGRAM`.\n", what, option,
			option);
	else if (v->filter || v->selections.len)
		fprintf(out, "Nothing to show: none of %" PRIu64 " records of "
			"%s passes the filter and the selections; `filters 1` "
			"and `thread_select all` end them.\n", events, what);
	else
		fprintf(out, "Nothing to show: none of %" PRIu64 " records of "
			"%s counts; `header` tells what was lost.\n", events,
			what);
}

static void
tell_nothing(const struct viewer *v, size_t which, uint64_t events, FILE *out)
{
	if (!events && all_traced(v, recipes[which].kind))
		write_none(v, which, out);
	else
		write_nothing(v, which, events, out);
}

static uint64_t
events_of(const struct viewer *v, enum metric_kind kind)
{
	uint64_t events = 0;

	for (size_t e = 0; e < profile_experiment_count(v->prof); e++)
		events += profile_events(v->prof, e, kind);
	return events;
}

/* true: no record of the kind counts; *which of the recipes it is. */
static bool
has_none(const struct viewer *v, enum metric_kind kind, size_t *which)
{
	const struct cost total = profile_total(v->prof);

	for (size_t s = 0; s < v->slots; s++)
		if (profile_metric(v->prof, v->metrics[s])->packet_kind ==
		    kind && total.incl[s])
			return false;
	for (*which = 0; recipes[*which].kind != kind;)
		++*which;
	return true;
}

bool
nothing_traced(struct viewer *v, enum metric_kind kind, FILE *out)
{
	size_t which;

	if (!has_none(v, kind, &which))
		return false;

	const uint64_t events = events_of(v, kind);

	v->untraced |= !events && all_traced(v, kind) &&
		count_if(v, kind, misses_program) ==
			profile_experiment_count(v->prof);
	if (viewer_is_delimited(v))
		return false;	/* a table without rows; see heap_notes */
	tell_nothing(v, which, events, out);
	return true;
}

void
notes_write(struct viewer *v, const char *notes, FILE *out)
{
	if (!viewer_is_delimited(v)) {
		fputs(notes, out);
		return;
	}
	while (*notes) {
		const size_t n = strcspn(notes, "\n");

		if (n)
			viewer_note(v, xasprintf("%.*s", (int)n, notes));
		notes += n + (notes[n] == '\n');
	}
}

void
nothing_traced_add(struct viewer *v, enum metric_kind kind, struct str *notes)
{
	char *text = NULL;
	size_t size, which;
	FILE *out;

	if (!viewer_is_delimited(v) || !has_none(v, kind, &which))
		return;
	out = open_memstream(&text, &size);
	if (!out)
		die("a note");
	tell_nothing(v, which, events_of(v, kind), out);
	fclose(out);
	str_add(notes, text);
	free(text);
}

static const char record_counters[] =
	"record them with `gprofng collect app -h COUNTER`, which sonde reads";

void
nothing_of_kind(const struct viewer *v, size_t experiment,
		enum metric_kind kind, FILE *out)
{
	size_t which = 0;

	while (which < ARRAY_LEN(recipes) && recipes[which].kind != kind)
		which++;
	if (which == ARRAY_LEN(recipes))
		fprintf(out, "Nothing to show: no such data was recorded; %s; "
			"`metric_list` lists what there is.\n",
			kind == METRIC_COUNTER ? record_counters :
			"record with `sonde record -p PID` or `sonde record "
			"-- PROGRAM`");
	else if (was_traced(v, experiment, kind))
		write_none(v, which, out);
	else
		write_nothing(v, which, 0, out);
}

/* ---- calls that are lost ------------------------------------------------- */

static uint64_t
count_of(const struct experiment_log_event *ev, const char *name)
{
	const char *text = ev->attr(ev, name);

	return text ? strtoull(text, NULL, 10) : 0;
}

/* The last event tells all. */
struct calls_lost
calls_lost(const struct experiment_reader *rd)
{
	struct calls_lost lost = {0};

	for (size_t i = 0; i < experiment_log_count(rd); i++) {
		const struct experiment_log_event *ev =
			experiment_log_at(rd, i);

		if (strcmp(ev->kind, "sonde_calls") == 0)
			lost = (struct calls_lost){
				.told = true,
				.heap_traced = ev->attr(ev, "heap_of_program"),
				.sync_traced = count_of(ev, "sync_traced") ||
					count_of(ev, "short_waits"),
				.io_traced = count_of(ev, "io_traced") ||
					ev->attr(ev, "io_read"),
				.calls = count_of(ev, "calls"),
				.slots_told = ev->attr(ev, "slots"),
				.slots = count_of(ev, "slots"),
				.by_kind = ev->attr(ev, "heap_slots"),
				.heap_slots = count_of(ev, "heap_slots"),
				.sync_slots = count_of(ev, "sync_slots"),
				.io_slots = count_of(ev, "io_slots"),
				.heap_unseen = count_of(ev, "heap_unseen"),
				.sync_unseen = count_of(ev, "sync_unseen"),
				.io_unseen = count_of(ev, "io_unseen"),
				.others = count_of(ev, "others"),
				.refused = count_of(ev, "refused"),
				.full = count_of(ev, "lost_full") +
					count_of(ev, "lost_sampled") +
					count_of(ev, "lost_thread") +
					count_of(ev, "spoiled"),
				.lease = count_of(ev, "lost_lease"),
				.disk = count_of(ev, "lost_disk"),
				.paused_ns = count_of(ev, "paused_ns"),
				.confined = count_of(ev, "lost_confined"),
				.tight = count_of(ev, "lost_stack"),
				.waited_ns = ev->attr(ev, "wait_ms") ?
					count_of(ev, "waited_ns") : 0,
				.wait_ms = count_of(ev, "wait_ms"),
				.short_waits = count_of(ev, "short_waits"),
				.heap_of_program =
					!ev->attr(ev, "heap_of_program") ||
					count_of(ev, "heap_of_program"),
				.io_unknown = count_of(ev, "io_unknown"),
				.io_told = ev->attr(ev, "io_read"),
				.read = count_of(ev, "io_read"),
				.written = count_of(ev, "io_written"),
				.traced_read = count_of(ev, "traced_read"),
				.traced_written =
					count_of(ev, "traced_written"),
				.stream_read = count_of(ev, "stream_read"),
				.stream_written =
					count_of(ev, "stream_written"),
			};
	}
	return lost;
}

/* Its size was limited, and from then on no call was recorded. */
static bool
is_limited(const struct experiment_reader *rd)
{
	for (size_t i = 0; i < experiment_log_count(rd); i++) {
		const struct experiment_log_event *ev =
			experiment_log_at(rd, i);
		const char *who = ev->attr(ev, "name");

		if (strcmp(ev->kind, "pause") == 0 && who &&
		    strcmp(who, "size-limit") == 0)
			return true;
	}
	return false;
}

/* The disk's share is of records of all kinds. */
static bool
disk_refused(const struct viewer *v, size_t e)
{
	const struct profile_loss *losses;
	const size_t n = profile_losses(v->prof, e, &losses);

	for (size_t i = 0; i < n; i++)
		if (strcmp(losses[i].cause, "disk") == 0)
			return true;
	return false;
}

void
calls_lost_add(const struct viewer *v, const char *so_what, struct str *notes)
{
	for (size_t e = 0; e < profile_experiment_count(v->prof); e++) {
		const struct experiment_reader *rd =
			profile_experiment(v->prof, e);
		const char *path = experiment_reader_shown(rd);
		const struct calls_lost lost = calls_lost(rd);

		if (lost.full || lost.lease)
			str_addf(notes, "NOT RELIABLE: of %s %" PRIu64 " calls "
				 "are missing (%" PRIu64 " while the buffer was "
				 "full, %" PRIu64 " while the recorder did not "
				 "look): %s.\n", path, lost.full + lost.lease,
				 lost.full, lost.lease, so_what);
		if (lost.paused_ns)
			str_addf(notes, "NOT RELIABLE: %s was paused for %.3f "
				 "s, in which calls were not recorded: %s.\n",
				 path, (double)lost.paused_ns / 1e9, so_what);
		if (lost.told && is_limited(rd))
			str_addf(notes, "NOT RELIABLE: %s has reached its "
				 "size limit, and no call was recorded from "
				 "then on: %s.\n", path, so_what);
		if (lost.confined)
			str_addf(notes, "NOT RELIABLE: of %s %" PRIu64 " calls "
				 "are missing, since the program took the "
				 "processor's clock from itself: %s.\n", path,
				 lost.confined, so_what);
		if (lost.tight)
			str_addf(notes, "NOT RELIABLE: of %s %" PRIu64 " calls "
				 "are missing, of handlers on an alternate "
				 "stack that is full: %s.\n", path, lost.tight,
				 so_what);
		if (disk_refused(v, e))
			str_addf(notes, "NOT RELIABLE: the disk refused "
				 "records of %s: %s.\n", path, so_what);
	}
}

void
calls_unseen_add(const struct viewer *v, enum metric_kind kind,
		 struct str *notes)
{
	for (size_t e = 0; e < profile_experiment_count(v->prof); e++) {
		const struct experiment_reader *rd =
			profile_experiment(v->prof, e);
		const struct calls_lost calls = calls_lost(rd);
		const uint64_t n = slots_unseen(&calls, kind);

		if (has_no_slot(&calls, kind) && !none_could_be(v, kind) &&
		    was_traced(v, e, kind))
			str_addf(notes, "NOT TRACED: sonde could hook no "
				 "import slot of the program in %s: calls of "
				 "this kind were not recorded.\n",
				 experiment_reader_shown(rd));
		if (n)
			str_addf(notes, "NOT TRACED: in %s, calls through %"
				 PRIu64 " import slot%s: the slot leads to "
				 "another definition or cannot be written.\n",
				 experiment_reader_shown(rd), n,
				 n == 1 ? "" : "s");
	}
}

void
calls_hidden_heap_add(const struct viewer *v, struct str *notes)
{
	for (size_t e = 0; e < profile_experiment_count(v->prof); e++) {
		const struct experiment_reader *rd =
			profile_experiment(v->prof, e);
		const struct calls_lost calls = calls_lost(rd);

		if (calls.told && calls.heap_traced && !calls.heap_of_program)
			str_addf(notes, "NOT TRACED: the program of %s itself "
				 "takes no memory by an import slot of malloc: "
				 "what an allocator of its own gives it is not "
				 "seen, but the pages that it takes for that.\n",
				 experiment_reader_shown(rd));
	}
}

/* ---- bytes that passed no traced call ------------------------------------ */

static void
untraced_add(const char *what, uint64_t all, uint64_t traced, uint64_t stream,
	     struct str *notes)
{
	const uint64_t rest = all > traced ? all - traced : 0;

	str_addf(notes, "%" PRIu64 " bytes %s, %" PRIu64 " of them by no "
		 "traced call", all, what, rest);
	if (stream)
		str_addf(notes, " (calls of stdio moved %" PRIu64 ")", stream);
}

void
calls_untraced_add(const struct calls_lost *calls, struct str *notes)
{
	if (calls->io_unknown)
		str_add(notes, "How many bytes the kernel counted is not "
			"known: the process ended first.\n");
	if (!calls->io_told)
		return;
	str_add(notes, "The kernel counted ");
	untraced_add("read", calls->read, calls->traced_read,
		     calls->stream_read, notes);
	str_add(notes, ", and ");
	untraced_add("written", calls->written, calls->traced_written,
		     calls->stream_written, notes);
	str_add(notes, ".\n");
}

void
calls_untraced_add_all(const struct viewer *v, struct str *notes)
{
	for (size_t e = 0; e < profile_experiment_count(v->prof); e++) {
		const struct calls_lost calls =
			calls_lost(profile_experiment(v->prof, e));

		calls_untraced_add(&calls, notes);
	}
}
