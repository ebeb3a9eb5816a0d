/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * An experiment of which one file is the fuzzer's, read as a whole: by the
 * reader's door, as a profile, and by views of that.
 */
#ifndef SONDE_FUZZ_EXPERIMENT_H
#define SONDE_FUZZ_EXPERIMENT_H

#include "experiment.h"
#include "fuzz.h"
#include "profile.h"
#include "view.h"

#define FUZZ_EXPERIMENT "f.er"
#define FUZZ_START UINT64_C(5000000000123)

static size_t fuzz_used;	/* keeps the compiler from leaving work out */

/* A small one with everything in it. */
static inline void
fuzz_make_at(const char *path)
{
	const struct experiment_info info = {
		.path = path, .pid = 42, .ppid = 1, .pgrp = 42,
		.sid = 1, .cwd = "/", .command = "./prog 'x'",
		.attached = true, .interval_ns = 10007000, .engine = "ring",
		.engine_why = "why", .start_ns = FUZZ_START,
		.owner = (uid_t)-1, .group = (gid_t)-1,
	};
	const struct experiment_usage use = { .user_ns = 5000000 };
	struct experiment *exp = experiment_create(&info);
	uint64_t pcs[40], frinfo, t = FUZZ_START;
	int i, k;

	if (!exp)
		fuzz_broken(fail_last()->reason);
	experiment_map(exp, t, 0x400000, 0x10000, 0, 5, "/nowhere/prog", "ab");
	experiment_function(exp, t, 0x7000000, 0x100, "jitted");
	for (i = 0; i < 20; i++) {
		for (k = 0; k < 40; k++)
			pcs[k] = 0x400000 + (uint64_t)(i * k * 16) % 0x10000;
		t += 10007000;
		frinfo = experiment_stack(exp, pcs, 1 + (size_t)i * 2,
					  (enum stack_end)(i % 3));
		experiment_clock(exp, t, 42 + i % 3, 0, MSTATE_USER, 10007000,
				 frinfo);
	}
	frinfo = experiment_artificial(exp, "<Lost samples>");
	experiment_clock(exp, t, 42, 0, MSTATE_SYSTEM, 20014000, frinfo);
	experiment_sample(exp, t, "one", &use);
	experiment_pause(exp, t, "us");
	experiment_resume(exp, t + 1000);
	experiment_comment(exp, t, "a < comment");
	experiment_loss(exp, t, "ring", "", 3, 30000000);
	experiment_loss(exp, t + 1, "ring", "", 4, 40000000);
	experiment_unmap(exp, t, 0x400000);
	if (strchr(path, '/'))		/* one of several */
		experiment_exec(exp, t + 1000, "_x1", "other");
	fuzz_used += experiment_size(exp) + experiment_disk_lost(exp) +
		experiment_disk_lost_samples(exp);
	(void)experiment_close(exp, t + 2000, "ended by us");
}

static inline void
fuzz_make_experiment(void)
{
	fuzz_make_at(FUZZ_EXPERIMENT);
}

struct fuzz_walk {
	const struct experiment_reader *rd;
	unsigned left;
};

static inline bool
fuzz_packet(void *arg, const struct experiment_packet *p)
{
	struct fuzz_walk *w = arg;
	static uint64_t *pcs;
	static size_t cap;
	enum stack_end end;

	fuzz_used += fuzz_use(p->text);
	if (experiment_stack_of(w->rd, p->frinfo, &pcs, &cap, &end) > 0)
		fuzz_used += pcs[0];
	return w->left-- > 0;
}

static inline void
fuzz_read(const struct experiment_reader *rd)
{
	static const char *const names[] = {
		"version", "pid", "cwd", "command", "engine", "nothing",
	};
	struct fuzz_walk w = { rd, 5000 };
	size_t i;

	for (i = 0; i < ARRAY_LEN(names); i++)
		fuzz_used += fuzz_use(experiment_property(rd, names[i]));
	fuzz_used += experiment_duration_ns(rd) + experiment_start_ns(rd);
	fuzz_used += fuzz_use(experiment_notes(rd));
	for (i = 0; i < experiment_warning_count(rd); i++)
		fuzz_used += fuzz_use(experiment_warning(rd, i));
	for (i = 0; i < experiment_map_count(rd); i++) {
		const struct experiment_map_record *m =
			experiment_map_at(rd, i);

		fuzz_used += fuzz_use(m->name) + fuzz_use(m->build_id);
	}
	for (i = 0; i < experiment_log_count(rd); i++) {
		const struct experiment_log_event *ev =
			experiment_log_at(rd, i);

		fuzz_used += fuzz_use(ev->kind) + fuzz_use(ev->text) +
			fuzz_use(ev->attr(ev, "name"));
	}
	for (i = 0; i < experiment_sample_count(rd); i++)
		fuzz_used += fuzz_use(experiment_sample_at(rd, i)->label);
	experiment_packets(rd, fuzz_packet, &w);
}

static inline void
fuzz_view(const char *path)
{
	const char *const paths[] = { path };
	struct viewer *v = viewer_new();
	FILE *null = fopen("/dev/null", "w");
	const struct view *view;

	if (viewer_load(v, paths, 1) == 0)
		for (view = view_table; view->name; view++)
			(void)view->run(v, 1, &view->name, null);
	viewer_notes(v, null);
	fclose(null);
	viewer_free(v);
}

/* One of its files is what the fuzzer says. */
static inline void
fuzz_experiment(const char *name, const uint8_t *data, size_t size)
{
	struct experiment_reader *rd;
	char path[64];

	if (fuzz_enter())
		fuzz_make_experiment();
	(void)snprintf(path, sizeof path, FUZZ_EXPERIMENT "/%s", name);
	fuzz_file(path, data, size);
	rd = experiment_open(FUZZ_EXPERIMENT);
	if (rd) {
		fuzz_read(rd);
		experiment_reader_free(rd);
		fuzz_view(FUZZ_EXPERIMENT);
	}
	fail_clear();
}

#endif
