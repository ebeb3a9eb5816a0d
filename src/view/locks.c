/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * What was waited for: locks by their address, with the name of the variable
 * or of the function whose block it lies in, and threads that were joined; who
 * waited how long, and for whom, where that was recorded.
 */
#include "calls.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

enum { THREADS_SHOWN = 6 };

/* ---- names --------------------------------------------------------------- */

static const struct thread_cost *
thread_of(const struct viewer *v, const struct traced_wait *wait)
{
	const struct thread_cost *threads;
	const size_t known = profile_threads(v->prof, &threads);

	return wait->thread < known ? &threads[wait->thread] : NULL;
}

/* All began in the same function: that one, or UINT32_MAX. */
static uint32_t
common_begin(const struct traced_lock *lock)
{
	const uint32_t first = lock->owners[0].begun_in;

	for (size_t i = 1; i < lock->owners_len; i++)
		if (lock->owners[i].begun_in != first)
			return UINT32_MAX;
	return first - 1;
}

/* "thread 2, tid 4711 (work)": the function that it began with, or else its
 * name. One that had ended has no number any more; others may have followed it
 * at its address. */
static char *
joined_name(struct viewer *v, const struct traced_lock *lock)
{
	struct str text = {0};

	if (!lock->owners_len)
		return xstrdup("<thread that had ended>");

	const struct thread_cost *th = thread_of(v, &lock->owners[0]);
	const uint32_t begin = common_begin(lock);
	const char *name = th ? th->name : NULL;

	if (lock->owners_len > 1)
		str_addf(&text, "%zu threads in turn", lock->owners_len);
	else if (th)
		str_addf(&text, "thread %" PRIu32 ", tid %" PRIu64,
			 th->ordinal, th->tid);
	else
		str_addf(&text, "thread, tid %" PRIu32, lock->owners[0].tid);
	if (begin != UINT32_MAX)
		name = viewer_name(v, begin);
	else if (lock->owners_len > 1)
		name = NULL;
	if (name && *name)
		str_addf(&text, " (%s)", name);
	return str_take(&text);
}

static char *
place_name(struct viewer *v, const struct traced_lock *lock)
{
	if (lock->stack) {
		const char *by = stack_caller(v, lock->stack - 1);

		return xasprintf("block of %" PRIu64 " bytes from %s",
				 lock->size, by ? by : "an unknown stack");
	}
	return lock->name ? xstrdup(lock->name) : NULL;
}

static char *
lock_name(struct viewer *v, const struct traced_lock *lock)
{
	const size_t experiments = profile_experiment_count(v->prof);
	char *place = lock->is_thread ? joined_name(v, lock) :
		place_name(v, lock);
	struct str text = {0};

	str_add(&text, place ? place : "<unknown object>");
	if (place && lock->offset && !lock->is_thread)
		str_addf(&text, " + 0x%" PRIx64, lock->offset);
	str_addf(&text, ", at 0x%08" PRIx64, lock->address);
	if (experiments > 1)
		str_addf(&text, " of experiment %" PRIu32,
			 lock->experiment + 1);
	free(place);
	return str_take(&text);
}

/* "2: 0.030 s, t@4711: 0.010 s"; numbers are those of `threads`, and the
 * system's of a thread that is not there. */
static char *
threads_text(const struct viewer *v, const struct traced_wait *waits, size_t n)
{
	struct str text = {0};

	for (size_t i = 0; i < n && i < THREADS_SHOWN; i++) {
		const struct thread_cost *th = thread_of(v, &waits[i]);

		str_add(&text, i ? ", " : "");
		if (th)
			str_addf(&text, "%" PRIu32, th->ordinal);
		else if (waits[i].tid)
			str_addf(&text, "t@%" PRIu32, waits[i].tid);
		else
			str_add(&text, "another");
		str_addf(&text, ": %.3f s", (double)waits[i].ns / 1e9);
	}
	if (n > THREADS_SHOWN)
		str_addf(&text, ", %zu more", n - THREADS_SHOWN);
	return str_take(&text);
}

/* ---- the table ----------------------------------------------------------- */

enum { WAIT_TIME, WAITS, LONGEST, WAITERS, OWNERS };

struct sums {
	uint64_t ns, count, longest_ns;
	bool owned;		/* of some wait it is known for whom */
};

static int
longest_first(const void *a, const void *b)
{
	const struct traced_lock *x = a, *y = b;

	if (x->ns != y->ns)
		return x->ns > y->ns ? -1 : 1;
	if (x->count != y->count)
		return x->count > y->count ? -1 : 1;
	if (x->experiment != y->experiment)
		return x->experiment < y->experiment ? -1 : 1;
	return x->address < y->address ? -1 : x->address > y->address;
}

static struct sums
sum_up(const struct traced_locks *locks)
{
	struct sums sums = {0};

	for (size_t i = 0; i < locks->len; i++) {
		const struct traced_lock *lock = &locks->items[i];

		sums.ns += lock->ns;
		sums.count += lock->count;
		sums.owned |= lock->owners_len;
		if (lock->longest_ns > sums.longest_ns)
			sums.longest_ns = lock->longest_ns;
	}
	return sums;
}

static void
add_columns(struct table *t, const struct sums *sums)
{
	static const struct column columns[] = {
		[WAIT_TIME] = { .heading = (char *)"Wait Time",
				.key = "wait_time", .kind = CELL_TIME },
		[WAITS] = { .heading = (char *)"Waits", .key = "waits",
			    .kind = CELL_COUNT },
		[LONGEST] = { .heading = (char *)"Longest Wait",
			      .key = "longest_wait", .kind = CELL_TIME },
		[WAITERS] = { .heading = (char *)"Waiting Threads",
			      .key = "waiting_threads", .kind = CELL_TEXT },
		[OWNERS] = { .heading = (char *)"Held By", .key = "held_by",
			     .kind = CELL_TEXT },
	};

	for (size_t c = 0; c < ARRAY_LEN(columns); c++) {
		struct column col = columns[c];

		col.heading = xstrdup(col.heading);
		col.show = SHOW_VALUE;
		if (c == WAIT_TIME) {
			col.show |= SHOW_PERCENT;
			col.whole = col.widest = sums->ns;
		}
		table_column(t, col);
	}
	table_column(t, (struct column){ .heading = xstrdup("Name"),
			 .kind = CELL_NAME, .show = SHOW_VALUE });
	t->sorted = WAIT_TIME + 1;
}

static void
add_total(struct table *t, const struct sums *sums)
{
	struct row *row = table_row(t, "<Total>");

	row->is_sum = true;
	table_cell(t, row, WAIT_TIME)->value = sums->ns;
	table_cell(t, row, WAITS)->value = sums->count;
	table_cell(t, row, LONGEST)->value = sums->longest_ns;
}

static void
add_lock(struct table *t, const struct viewer *v,
	 const struct traced_lock *lock, const char *name)
{
	const struct row *row = table_row(t, name);

	table_cell(t, row, WAIT_TIME)->value = lock->ns;
	table_cell(t, row, WAITS)->value = lock->count;
	table_cell(t, row, LONGEST)->value = lock->longest_ns;
	table_cell(t, row, WAITERS)->text = threads_text(v, lock->waiters,
							 lock->waiters_len);
	table_cell(t, row, OWNERS)->text = lock->owners_len ?
		threads_text(v, lock->owners, lock->owners_len) :
		xstrdup("(unknown)");
}

static void
add_short(const struct viewer *v, struct str *notes)
{
	for (size_t e = 0; e < profile_experiment_count(v->prof); e++) {
		const struct experiment_reader *rd =
			profile_experiment(v->prof, e);
		const uint64_t n = calls_lost(rd).short_waits;

		if (n)
			str_addf(notes, "%" PRIu64 " waits of %s were shorter "
				 "than what was to be recorded, and are not "
				 "among these.\n", n,
				 experiment_reader_shown(rd));
	}
}

static void
write_locks(struct viewer *v, const struct traced_locks *locks, FILE *out)
{
	const struct sums sums = sum_up(locks);
	struct table t = { .color = v->color, .v = v };
	struct vec names = {0};
	struct str notes = {0};

	title_write(v, out, "Waits by object: %zu object%s, %" PRIu64
		    " wait%s, %.3f s", locks->len, locks->len == 1 ? "" : "s",
		    sums.count, sums.count == 1 ? "" : "s",
		    (double)sums.ns / 1e9);
	putc('\n', out);
	add_columns(&t, &sums);
	add_total(&t, &sums);
	for (size_t i = 0; i < locks->len; i++) {
		vec_push(&names, str_tame(lock_name(v, &locks->items[i])));
		add_lock(&t, v, &locks->items[i], names.items[i]);
	}
	table_write(&t, v->limit, out);
	putc('\n', out);
	nothing_traced_add(v, METRIC_SYNC, &notes);
	calls_lost_add(v, "there were more waits than are shown", &notes);
	calls_unseen_add(v, METRIC_SYNC, &notes);
	add_short(v, &notes);
	notes_write(v, str_text(&notes), out);
	str_fini(&notes);
	table_fini(&t);
	vec_free_items(&names);
}

int
view_locks(struct viewer *v, size_t n, const char *const *words, FILE *out)
{
	if (words_check(n, words, 1) < 0 || viewer_check(v) < 0)
		return -1;
	if (nothing_traced(v, METRIC_SYNC, out))
		return 0;

	struct traced_locks *locks = traced_locks(v->prof);

	if (locks->len)
		qsort(locks->items, locks->len, sizeof *locks->items,
		      longest_first);
	write_locks(v, locks, out);
	traced_locks_free(locks);
	return 0;
}
