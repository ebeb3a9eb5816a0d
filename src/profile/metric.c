/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * The metrics, as data. A row says which values it is the sum of; who adds up
 * never asks a metric for its name. The order is that of metric_list.
 */
#include "private.h"

#include <stdlib.h>
#include <string.h>

#define STATE(name) (UINT64_C(1) << MSTATE_##name)
#define VALUE(name) (UINT64_C(1) << VALUE_##name)

const struct metric metric_table[] = {
	{ .name = "sync", .title = "Sync Wait Time", .heading = "Sync Wait",
	  .is_time = true, .packet_kind = METRIC_SYNC,
	  .values = VALUE(SYNC_TIME) },
	{ .name = "syncn", .title = "Sync Wait Count",
	  .heading = "Sync Wait Count", .packet_kind = METRIC_SYNC,
	  .values = VALUE(SYNC_COUNT) },
	{ .name = "heapallocbytes", .title = "Bytes Allocated",
	  .heading = "Bytes Allocated", .alias = "balloc",
	  .packet_kind = METRIC_HEAP, .values = VALUE(ALLOC_BYTES) },
	{ .name = "heapalloccnt", .title = "Allocations",
	  .heading = "Allocations", .alias = "alloc",
	  .packet_kind = METRIC_HEAP, .values = VALUE(ALLOC_COUNT) },
	{ .name = "heapleakbytes", .title = "Bytes Leaked",
	  .heading = "Bytes Leaked", .alias = "bleak",
	  .packet_kind = METRIC_HEAP, .values = VALUE(LEAK_BYTES) },
	{ .name = "heapleakcnt", .title = "Leaks", .heading = "Leaks",
	  .alias = "leak", .packet_kind = METRIC_HEAP,
	  .values = VALUE(LEAK_COUNT) },
	{ .name = "ioreadtime", .title = "Read Time", .heading = "Read Time",
	  .is_time = true, .packet_kind = METRIC_IO,
	  .values = VALUE(READ_TIME) },
	{ .name = "ioreadbytes", .title = "Read Bytes",
	  .heading = "Read Bytes", .packet_kind = METRIC_IO,
	  .values = VALUE(READ_BYTES) },
	{ .name = "ioreadcnt", .title = "Read Count", .heading = "Read Count",
	  .packet_kind = METRIC_IO, .values = VALUE(READ_COUNT) },
	{ .name = "iowritetime", .title = "Write Time",
	  .heading = "Write Time", .is_time = true, .packet_kind = METRIC_IO,
	  .values = VALUE(WRITE_TIME) },
	{ .name = "iowritebytes", .title = "Write Bytes",
	  .heading = "Write Bytes", .packet_kind = METRIC_IO,
	  .values = VALUE(WRITE_BYTES) },
	{ .name = "iowritecnt", .title = "Write Count",
	  .heading = "Write Count", .packet_kind = METRIC_IO,
	  .values = VALUE(WRITE_COUNT) },
	{ .name = "ioothertime", .title = "Other I/O Time",
	  .heading = "Other I/O Time", .is_time = true,
	  .packet_kind = METRIC_IO, .values = VALUE(OTHER_TIME) },
	{ .name = "ioothercnt", .title = "Other I/O Count",
	  .heading = "Other I/O Count", .packet_kind = METRIC_IO,
	  .values = VALUE(OTHER_COUNT) },
	{ .name = "ioerrortime", .title = "I/O Error Time",
	  .heading = "I/O Error Time", .is_time = true,
	  .packet_kind = METRIC_IO, .values = VALUE(ERROR_TIME) },
	{ .name = "ioerrorcnt", .title = "I/O Error Count",
	  .heading = "I/O Error Count", .packet_kind = METRIC_IO,
	  .values = VALUE(ERROR_COUNT) },
	{ .name = "total", .title = "Total Thread Time",
	  .heading = "Total Thread", .is_time = true,
	  .packet_kind = METRIC_CLOCK, .values = STATE(LINUX_CPU) - 1 },
	{ .name = "totalcpu", .title = "Total CPU Time",
	  .heading = "Total CPU", .is_time = true, .packet_kind = METRIC_CLOCK,
	  .values = STATE(USER) | STATE(SYSTEM) | STATE(TRAP) | STATE(LINUX_CPU) },
	{ .name = "user", .title = "User CPU Time", .heading = "User CPU",
	  .is_time = true, .packet_kind = METRIC_CLOCK,
	  .values = STATE(USER) },
	{ .name = "system", .title = "System CPU Time", .heading = "Sys. CPU",
	  .is_time = true, .packet_kind = METRIC_CLOCK,
	  .values = STATE(SYSTEM) },
	{ .name = "trap", .title = "Trap CPU Time", .heading = "Trap CPU",
	  .is_time = true, .packet_kind = METRIC_CLOCK,
	  .values = STATE(TRAP) },
	{ .name = "datapfault", .title = "Data Page Fault Time",
	  .heading = "Data Fault", .alias = "data", .is_time = true,
	  .packet_kind = METRIC_CLOCK, .values = STATE(DATA_FAULT) },
	{ .name = "textpfault", .title = "Text Page Fault Time",
	  .heading = "Text Fault", .alias = "text", .is_time = true,
	  .packet_kind = METRIC_CLOCK, .values = STATE(TEXT_FAULT) },
	{ .name = "kernelpfault", .title = "Kernel Page Fault Time",
	  .heading = "Kernel Page Fault", .is_time = true,
	  .packet_kind = METRIC_CLOCK, .values = STATE(KERNEL_FAULT) },
	{ .name = "stop", .title = "Stopped Time", .heading = "Stopped",
	  .is_time = true, .packet_kind = METRIC_CLOCK,
	  .values = STATE(STOPPED) },
	{ .name = "wait", .title = "Wait CPU Time", .heading = "Wait CPU",
	  .is_time = true, .packet_kind = METRIC_CLOCK,
	  .values = STATE(WAIT_CPU) },
	{ .name = "sleep", .title = "Sleep Time", .heading = "Sleep",
	  .is_time = true, .packet_kind = METRIC_CLOCK,
	  .values = STATE(SLEEP) },
	{ .name = "lock", .title = "User Lock Time", .heading = "User Lock",
	  .alias = "ulock", .is_time = true, .packet_kind = METRIC_CLOCK,
	  .values = STATE(LOCK) },
	/* of the older generation, which summed up three states */
	{ .name = "owait", .title = "Other Wait Time", .heading = "Other Wait",
	  .is_time = true, .packet_kind = METRIC_CLOCK,
	  .values = STATE(STOPPED) | STATE(SLEEP) | STATE(KERNEL_FAULT) },
	{ .name = "kcpu", .title = "Kernel CPU Time", .heading = "Kernel CPU",
	  .is_time = true, .packet_kind = METRIC_CLOCK,
	  .values = STATE(KERNEL_CPU) },
	{ .name = NULL },
};

enum { ROWS = ARRAY_LEN(metric_table) - 1 };

_Static_assert(ARRAY_LEN(metric_table) + (size_t)VALUE_MAX >
	       (size_t)METRIC_MAX + (size_t)VALUE_COUNTER,
	       "each counter that is a metric has a value");

/* ---- hardware counters ---------------------------------------------- */

const struct metric *
profile_metric(const struct profile *prof, int i)
{
	if (i < ROWS)
		return &metric_table[i];
	return prof && (size_t)(i - ROWS) < prof->counters_len ?
		&prof->counters[i - ROWS].metric : NULL;
}

static struct counter
new_counter(const struct experiment_counter *c, size_t number)
{
	struct counter new = { .name = xstrdup(c->name),
			       .title = xasprintf("%s Events", c->name) };

	new.metric = (struct metric){
		.name = new.name, .title = new.title, .heading = new.title,
		.packet_kind = METRIC_COUNTER,
		.values = VALUE(COUNTER) << number,
	};
	return new;
}

uint32_t
metrics_counter(struct profile *prof, const struct experiment_counter *c)
{
	const size_t most = METRIC_MAX - ROWS;
	size_t i = 0;

	while (i < prof->counters_len &&
	       strcmp(prof->counters[i].name, c->name))
		i++;
	if (i == most)
		return 0;
	if (i == prof->counters_len) {
		prof->counters = xgrow(prof->counters, &prof->counters_cap,
				       i + 1, sizeof *prof->counters);
		prof->counters[prof->counters_len++] = new_counter(c, i);
	}
	return VALUE_COUNTER + (uint32_t)i;
}

void
metrics_free(struct profile *prof)
{
	for (size_t i = 0; i < prof->counters_len; i++) {
		free(prof->counters[i].name);
		free(prof->counters[i].title);
	}
	free(prof->counters);
}

/* ---- what there is -------------------------------------------------- */

static void
find_parts(struct profile *prof, size_t slot, uint64_t values)
{
	prof->parts[slot].len = 0;
	for (int v = 0; v < VALUE_MAX; v++)
		if (values >> v & 1 && prof->column[v])
			prof->parts[slot].column[prof->parts[slot].len++] =
				prof->column[v] - 1;
}

static void
add_slot(struct profile *prof, int i, uint64_t seen)
{
	const struct metric *m = profile_metric(prof, i);

	if (!(m->values & seen))
		return;
	find_parts(prof, prof->slots, m->values);
	prof->metrics[prof->slots++] = i;
}

/*
 * A collector that tells the states of a thread apart declares all of them,
 * so one such packet turns all their metrics on, as zeros. The two states
 * beside them have metrics only where they were seen. Counters stand before
 * the clock.
 */
void
metrics_find(struct profile *prof)
{
	const uint64_t beside = STATE(LINUX_CPU) | STATE(KERNEL_CPU);
	const uint64_t states = VALUE(SYNC_TIME) - 1;
	const uint64_t seen = prof->values_seen & states & ~beside ?
		prof->values_seen | (states & ~beside) : prof->values_seen;
	int i = 0;

	prof->slots = 0;
	prof->packed = prof->columns;
	for (; metric_table[i].packet_kind != METRIC_CLOCK; i++)
		add_slot(prof, i, seen);
	for (int c = 0; c < (int)prof->counters_len; c++)
		add_slot(prof, ROWS + c, seen);
	for (; i < ROWS; i++)
		add_slot(prof, i, seen);
}

size_t
profile_metrics(const struct profile *prof, int *out)
{
	for (size_t i = 0; i < prof->slots; i++)
		out[i] = prof->metrics[i];
	return prof->slots;
}

void
profile_weigh(const struct profile *prof, const struct bank *bank, size_t row,
	      uint64_t *slots)
{
	const uint64_t *cells = row < bank->rows ?
		&bank->cells[row * bank->width] : NULL;

	for (size_t i = 0; i < prof->slots; i++) {
		slots[i] = 0;
		for (int p = 0; cells && p < prof->parts[i].len; p++)
			if (prof->parts[i].column[p] < bank->width)
				slots[i] += cells[prof->parts[i].column[p]];
	}
}

void
profile_pack(const struct profile *prof, const struct bank *bank, size_t row,
	     uint64_t *packed)
{
	const uint32_t n = row >= bank->rows ? 0 :
		bank->width < prof->packed ? bank->width : prof->packed;

	for (uint32_t c = 0; c < n; c++)
		packed[c] = bank->cells[row * bank->width + c];
	for (uint32_t c = n; c < prof->packed; c++)
		packed[c] = 0;
}

void
profile_unpack(const struct profile *prof, const uint64_t *packed,
	       uint64_t *slots)
{
	for (size_t i = 0; i < prof->slots; i++) {
		slots[i] = 0;
		for (int p = 0; p < prof->parts[i].len; p++)
			slots[i] += packed[prof->parts[i].column[p]];
	}
}
