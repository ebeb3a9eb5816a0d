/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * What is in the data files, packet by packet, in the order of the files, and
 * what was mapped: for whoever doubts a sum, and for tests of writers. Times
 * are seconds since the experiment began.
 */
#include "calls.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

struct field {			/* a column */
	const char *heading;
	/* NULL: not told. The caller frees it. */
	char *(*text)(const struct experiment_packet *p);
};

struct kind {			/* of packets */
	const char *view, *title;
	int packets[2];
	/* what the packet is, in words */
	char *(*name)(const struct experiment_packet *p);
	struct field fields[4];
};

struct dump {
	struct viewer *v;
	const struct kind *kind;
	size_t experiment;
	uint64_t count;
	struct table table;
	struct map ordinals;	/* thread -> its number */
	uint64_t *pcs;
	size_t pcs_cap;
	struct vec names;
};

static char *
seconds(uint64_t ns)
{
	return xasprintf("%" PRIu64 ".%09" PRIu64, ns / 1000000000u,
			 ns % 1000000000u);
}

static char *
address(uint64_t value)
{
	return xasprintf("0x%" PRIx64, value);
}

static char *
signed_number(uint64_t value)
{
	return xasprintf("%" PRId64, (int64_t)value);
}

/* ---- clock ---------------------------------------------------------- */

static char *
clock_name(const struct experiment_packet *p)
{
	static const char *const states[MSTATE_COUNT] = {
		"USER", "SYSTEM", "TRAP", "TFAULT", "DFAULT", "KFAULT",
		"USER_LOCK", "SLEEP", "WAIT_CPU", "STOPPED", "LINUX_CPU",
		"KERNEL_CPU",
	};

	if (p->mstate < 0 || p->mstate >= MSTATE_COUNT)
		return xasprintf("state %d", p->mstate);
	return xasprintf("%s (%d)", states[p->mstate], p->mstate);
}

static char *
clock_weight(const struct experiment_packet *p)
{
	return seconds(p->weight_ns);
}

/* ---- heap ----------------------------------------------------------- */

static char *
heap_name(const struct experiment_packet *p)
{
	static const char *const types[] = { "malloc", "free", "realloc",
					     "mmap", "munmap" };

	return p->value[0] < ARRAY_LEN(types) ? xstrdup(types[p->value[0]]) :
		xasprintf("type %" PRIu64, p->value[0]);
}

static char *
heap_size(const struct experiment_packet *p)
{
	return xasprintf("%" PRIu64, p->value[1]);
}

static char *
heap_address(const struct experiment_packet *p)
{
	return address(p->value[2]);
}

static char *
heap_old(const struct experiment_packet *p)
{
	return address(p->value[3]);
}

/* ---- waits ---------------------------------------------------------- */

static char *
sync_name(const struct experiment_packet *p)
{
	(void)p;
	return xstrdup("wait");
}

static char *
sync_object(const struct experiment_packet *p)
{
	return address(p->value[1]);
}

static char *
sync_delay(const struct experiment_packet *p)
{
	return seconds(p->time_ns - p->value[0]);
}

/* ---- input and output ----------------------------------------------- */

static char *
io_name(const struct experiment_packet *p)
{
	static const char *const types[] = { "read", "write", "open", "close",
					     "other" };
	const size_t n = ARRAY_LEN(types);

	if (p->value[0] >= 2 * n)
		return xasprintf("type %" PRIu64, p->value[0]);
	return xasprintf("%s%s%s%s", types[p->value[0] % n],
			 p->value[0] >= n ? " failed" : "",
			 p->text && *p->text ? " " : "",
			 p->text ? p->text : "");
}

static char *
io_descriptor(const struct experiment_packet *p)
{
	return signed_number((uint64_t)(int32_t)p->value[1]);
}

static char *
io_bytes(const struct experiment_packet *p)
{
	return signed_number(p->value[2]);
}

static char *
io_delay(const struct experiment_packet *p)
{
	return seconds(p->value[3] ? p->time_ns - p->value[3] : 0);
}

/* ---- hardware counters ---------------------------------------------- */

static char *
counter_name(const struct experiment_packet *p)
{
	return xasprintf("counter %" PRIu64, p->value[0]);
}

static char *
counter_count(const struct experiment_packet *p)
{
	return signed_number(p->value[1]);
}

static char *
counter_address(const struct experiment_packet *p)
{
	return address(p->value[2]);
}

static const struct kind kinds[] = {
	{ "dprofile", "Clock packets", { 8, 8 }, clock_name,
	  { { "Weight", clock_weight } } },
	{ "dheap", "Heap packets", { 5, 5 }, heap_name,
	  { { "Size", heap_size }, { "Address", heap_address },
	    { "Old Address", heap_old } } },
	{ "dsync", "Synchronization packets", { 2, 2 }, sync_name,
	  { { "Object", sync_object }, { "Delay", sync_delay } } },
	{ "diotrace", "I/O packets", { 19, 19 }, io_name,
	  { { "FD", io_descriptor }, { "Bytes", io_bytes },
	    { "Delay", io_delay } } },
	{ "dhwc", "Counter packets", { 3, 7 }, counter_name,
	  { { "Count", counter_count }, { "Address", counter_address } } },
};

/* ---- a table of packets --------------------------------------------- */

static void
add_column(struct table *t, const char *heading, enum cell_kind kind)
{
	table_column(t, (struct column){ .heading = xstrdup(heading),
					 .kind = kind, .show = SHOW_VALUE });
}

static void
add_columns(struct dump *d)
{
	static const char *const common[] = { "Packet", "Time", "Thread",
					      "CPU", "Frames" };

	for (size_t i = 0; i < ARRAY_LEN(common); i++)
		add_column(&d->table, common[i], CELL_TEXT);
	for (const struct field *f = d->kind->fields; f->heading; f++)
		add_column(&d->table, f->heading, CELL_TEXT);
	add_column(&d->table, "Name", CELL_NAME);
}

/* Threads have the numbers that `threads` shows. */
static void
number_threads(struct dump *d)
{
	const struct thread_cost *threads;
	const size_t n = profile_threads(d->v->prof, &threads);

	for (size_t i = 0; i < n; i++)
		if (threads[i].experiment == d->experiment)
			map_put(&d->ordinals, threads[i].tid,
				threads[i].ordinal);
}

static char *
thread_number(const struct dump *d, const struct experiment_packet *p)
{
	uint64_t number;

	return map_get(&d->ordinals, p->thread, &number) ?
		xasprintf("%" PRIu64, number) :
		xasprintf("tid %" PRIu64, p->thread);
}

/* The artificial one of a stack without an end is one of them. */
static char *
frames(struct dump *d, const struct experiment_packet *p)
{
	enum stack_end end;
	const ssize_t n = experiment_stack_of(
		profile_experiment(d->v->prof, d->experiment), p->frinfo,
		&d->pcs, &d->pcs_cap, &end);

	return n < 0 ? xstrdup("-") :
		xasprintf("%zd", n + (end != STACK_COMPLETE));
}

static bool
add_packet(void *arg, const struct experiment_packet *p)
{
	struct dump *d = arg;
	size_t column = 0;

	if (p->kind != d->kind->packets[0] && p->kind != d->kind->packets[1])
		return true;
	d->count++;
	if (d->v->limit && d->table.rows_len >= d->v->limit)
		return true;

	char *name = str_tame(d->kind->name(p));
	struct row *row = table_row(&d->table, name);
	struct table *t = &d->table;

	vec_push(&d->names, name);
	table_cell(t, row, column++)->text = xasprintf("%" PRIu64,
						       d->count - 1);
	table_cell(t, row, column++)->text = seconds(p->time_ns);
	table_cell(t, row, column++)->text = thread_number(d, p);
	table_cell(t, row, column++)->text = xasprintf("%d", p->cpu);
	table_cell(t, row, column++)->text = frames(d, p);
	for (const struct field *f = d->kind->fields; f->heading; f++)
		table_cell(t, row, column++)->text = f->text(p);
	return true;
}

static void
dump_fini(struct dump *d)
{
	table_fini(&d->table);
	map_fini(&d->ordinals);
	vec_free_items(&d->names);
	free(d->pcs);
}

static void
write_packets(struct viewer *v, const struct kind *kind, size_t experiment,
	      FILE *out)
{
	const struct experiment_reader *rd = profile_experiment(v->prof,
								experiment);
	struct dump d = { .v = v, .kind = kind, .experiment = experiment,
			  .table.color = v->color,
			  .table.v = v };

	add_columns(&d);
	number_threads(&d);
	experiment_packets(rd, add_packet, &d);
	title_write(v, out, "%s of %s: %" PRIu64, kind->title,
		    experiment_reader_shown(rd), d.count);
	putc('\n', out);
	if (d.count) {
		table_write(&d.table, v->limit, out);
		putc('\n', out);
	} else {
		nothing_of_kind(v, experiment,
				(enum metric_kind)kind->packets[0], out);
		putc('\n', out);
	}
	dump_fini(&d);
}

int
view_packets(struct viewer *v, size_t n, const char *const *words, FILE *out)
{
	size_t k = 0;
	struct range range;

	if (experiments_chosen(v, n, words, &range) < 0)
		return -1;
	while (strcmp(kinds[k].view, words[0]))
		k++;
	for (size_t e = range.first; e < range.end; e++)
		write_packets(v, &kinds[k], e, out);
	return 0;
}

/* ---- what was mapped ------------------------------------------------ */

static void
write_map(struct viewer *v, size_t experiment, FILE *out)
{
	const struct experiment_reader *rd = profile_experiment(v->prof,
								experiment);
	const size_t n = experiment_map_count(rd);
	struct table t = { .color = v->color, .v = v };

	add_column(&t, "Address", CELL_TEXT);
	add_column(&t, "Size", CELL_TEXT);
	add_column(&t, "Load Time", CELL_TEXT);
	add_column(&t, "Unload Time", CELL_TEXT);
	add_column(&t, "Name", CELL_NAME);
	for (size_t i = 0; i < n; i++) {
		const struct experiment_map_record *m =
			experiment_map_at(rd, i);
		struct row *row = table_row(&t, m->name);

		table_cell(&t, row, 0)->text = address(m->start);
		table_cell(&t, row, 1)->text = address(m->size);
		table_cell(&t, row, 2)->text = seconds(m->time_ns);
		table_cell(&t, row, 3)->text = m->until_ns == UINT64_MAX ?
			xstrdup("-") : seconds(m->until_ns);
	}
	title_write(v, out, "Mappings of %s: %zu", experiment_reader_shown(rd),
		    n);
	putc('\n', out);
	table_write(&t, v->limit, out);
	putc('\n', out);
	table_fini(&t);
}

int
view_map(struct viewer *v, size_t n, const char *const *words, FILE *out)
{
	struct range range;

	if (experiments_chosen(v, n, words, &range) < 0)
		return -1;
	for (size_t e = range.first; e < range.end; e++)
		write_map(v, e, out);
	return 0;
}
