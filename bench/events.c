/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Write a big synthetic experiment: many clock samples, or many allocations
 * and frees, with many stacks over the libraries that this program has mapped.
 *
 *     events OUT.er EVENTS STACKS [heap]
 *
 * The same arguments give the same stacks on the same machine. Some PCs are
 * hot and most are not, as in real programs. One allocation in some hundred is
 * never freed.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base.h"
#include "experiment.h"
#include "symbol.h"

enum { PCS = 4000, DEPTH_MIN = 5, DEPTH_MAX = 40, THREADS = 16, CPUS = 8 };
#define MS UINT64_C(1000000)

static uint64_t pcs[PCS];
static uint64_t seed = 1;

static uint64_t
pick(uint64_t n)
{
	seed = hash_word(seed + 0x9e3779b97f4a7c15ull);
	return seed % n;
}

static void
stop(const char *what)
{
	fprintf(stderr, "events: %s\n", what);
	exit(99);
}

/* Offsets, not addresses, are drawn: mappings move from run to run. */
static void
choose_pcs(const struct modules *mods, struct experiment *exp, uint64_t t0)
{
	const struct module *code[256];
	size_t n = 0;

	for (size_t i = 0; i < mods->len && n < ARRAY_LEN(code); i++) {
		const struct module *m = &mods->items[i];

		if (m->path[0] != '/')
			continue;
		experiment_map(exp, t0, m->start, m->end - m->start, m->offset,
			       m->prot, m->path, NULL);
		if (m->prot & MODULE_EXEC)
			code[n++] = m;
	}
	if (!n)
		stop("nothing is mapped");
	for (size_t i = 0; i < PCS; i++) {
		const struct module *m = code[pick(n)];

		pcs[i] = m->start + pick(m->end - m->start);
	}
}

static uint64_t
any_stack(struct experiment *exp)
{
	uint64_t stack[DEPTH_MAX];
	const size_t depth = DEPTH_MIN + pick(DEPTH_MAX - DEPTH_MIN);

	for (size_t i = 0; i < depth; i++)
		stack[i] = pcs[pick(1 + pick(PCS))];
	return experiment_stack(exp, stack, depth, STACK_COMPLETE);
}

static struct experiment *
create(const char *path, uint64_t t0)
{
	const struct experiment_info info = {
		.path = path, .overwrite = true, .pid = getpid(), .ppid = 1,
		.pgrp = 1, .sid = 1, .cwd = "/", .command = "events",
		.interval_ns = MS, .engine = "none", .engine_why = "",
		.start_ns = t0, .owner = (uid_t)-1, .group = (gid_t)-1,
	};
	struct experiment *exp = experiment_create(&info);

	if (!exp)
		stop(fail_last()->reason);
	return exp;
}

static uint64_t *
all_stacks(struct experiment *exp, uint64_t stacks)
{
	uint64_t *ids = xcalloc(stacks, sizeof *ids);

	for (uint64_t i = 0; i < stacks; i++)
		ids[i] = any_stack(exp);
	return ids;
}

static void
fill(struct experiment *exp, uint64_t t0, uint64_t events, uint64_t stacks,
     const uint64_t *ids)
{
	for (uint64_t i = 0; i < events; i++)
		experiment_clock(exp, t0 + (i + 1) * MS / THREADS,
				 1000 + (pid_t)pick(THREADS), (int)pick(CPUS),
				 pick(10) ? MSTATE_USER : MSTATE_SYSTEM, MS,
				 ids[pick(1 + pick(stacks))]);
}

/* ---- the heap, as gprofng's collector writes it ------------------------ */

enum { LIVE = 4096 };

static const char declaration[] =
	"<profile name=\"heaptrace\">\n<profdata fname=\"heaptrace\"/>\n"
	"<profpckt kind=\"5\" uname=\"Heap tracing data\">\n"
#define FIELD(name, offset, type) \
	"<field name=\"" name "\" uname=\"" name "\" offset=\"" offset \
	"\" type=\"" type "\"/>\n"
	FIELD("LWPID", "8", "INT64") FIELD("THRID", "16", "INT64")
	FIELD("CPUID", "24", "INT32") FIELD("TSTAMP", "32", "INT64")
	FIELD("FRINFO", "40", "INT64") FIELD("HTYPE", "48", "INT32")
	FIELD("HSIZE", "56", "UINT64") FIELD("HVADDR", "64", "UINT64")
	FIELD("HOVADDR", "72", "UINT64")
#undef FIELD
	"</profpckt>\n</profile>\n";

struct heap_packet {
	uint16_t size, kind;
	uint32_t pad;
	int64_t lwp, thread;
	int32_t cpu;
	uint32_t pad2;
	int64_t time;
	uint64_t frinfo;
	int32_t type;
	uint32_t pad3;
	uint64_t bytes, address, old;
};
_Static_assert(sizeof(struct heap_packet) == 80, "gprofng's heap packet");

/* Block i stands in slot i % LIVE until the next one needs the slot. */
static struct heap_packet
heap_event(uint64_t i, uint64_t time, uint64_t frinfo)
{
	static uint64_t live[LIVE], made;
	const int64_t thread = 1000 + (int64_t)pick(THREADS);
	struct heap_packet p = { .size = sizeof p, .kind = 5, .lwp = thread,
				 .thread = thread, .time = (int64_t)time };
	const uint64_t slot = made % LIVE;

	if (live[slot] && pick(400)) {
		p.type = 1;
		p.address = live[slot];
	} else {
		p.frinfo = frinfo;
		p.bytes = 16 + pick(1000);
		p.address = UINT64_C(0x10000000) + i * 1024;
		made++;
	}
	live[slot] = p.type ? 0 : p.address;
	return p;
}

static FILE *
in_experiment(const char *path, const char *name, const char *mode)
{
	char *file = xasprintf("%s/%s", path, name);
	FILE *f = fopen(file, mode);

	if (!f)
		stop(file);
	free(file);
	return f;
}

static void
fill_heap(const char *path, uint64_t t0, uint64_t events, uint64_t stacks,
	  const uint64_t *ids)
{
	FILE *log = in_experiment(path, "log.xml", "a");
	FILE *data = in_experiment(path, "heaptrace", "w");

	fputs(declaration, log);
	for (uint64_t i = 0; i < events; i++) {
		const struct heap_packet p = heap_event(
			i, t0 + (i + 1) * MS / THREADS,
			ids[pick(1 + pick(stacks))]);

		fwrite(&p, sizeof p, 1, data);
	}
	if (fclose(log) || fclose(data))
		stop("heaptrace");
}

int
main(int argc, char **argv)
{
	const uint64_t events = argc >= 4 ? strtoull(argv[2], NULL, 10) : 0;
	const uint64_t stacks = argc >= 4 ? strtoull(argv[3], NULL, 10) : 0;
	const bool heap = argc == 5 && !strcmp(argv[4], "heap");
	const uint64_t t0 = now_ns();
	struct modules mods = { 0 };
	char *maps = file_read("/proc/self/maps", NULL);

	if (!events || !stacks)
		stop("usage: events OUT.er EVENTS STACKS [heap]");
	if (!maps || modules_parse(&mods, maps) < 0)
		stop("/proc/self/maps");

	struct experiment *exp = create(argv[1], t0);

	choose_pcs(&mods, exp, t0);

	uint64_t *ids = all_stacks(exp, stacks);

	if (!heap)
		fill(exp, t0, events, stacks, ids);
	if (experiment_close(exp, t0 + (events + THREADS) * MS / THREADS,
			     "") < 0)
		stop(fail_last()->reason);
	if (heap)
		fill_heap(argv[1], t0, events, stacks, ids);
	free(ids);
	modules_fini(&mods);
	free(maps);
	return 0;
}
