/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * An experiment that is kept in memory: struct experiment's `keep`.
 */
#ifndef SONDE_EXPERIMENT_KEEP_H
#define SONDE_EXPERIMENT_KEEP_H

#include "base.h"
#include "experiment.h"
#include "sink.h"

struct keep {
	struct experiment_info info;
	char *cwd, *command;
	uint64_t span_ns, cut_ns;	/* nothing is older than that */
	uint64_t prune_ns, stacks_at;
	uint64_t most;			/* bytes, whatever the span */
	uint64_t dropped, dropped_cpu_ns;	/* samples */
	uint64_t dropped_waits;		/* traced ones */
	bool paused;			/* at cut_ns */
	int written_fd;			/* directory of the last; -1 */
	struct map used;		/* FRINFO -> when */
	struct map base;		/* loss -> samples before cut_ns */
	struct map base_ns;
};

/* In place of the disk: what is too old goes. */
void keep_flush(struct experiment *exp);
/* A packet names that stack. */
void keep_used(struct experiment *exp, uint64_t frinfo, uint64_t time_ns);
/* Those that have not been used since go. */
void keep_prune_stacks(struct experiment *exp, uint64_t since);
void keep_free(struct keep *k);

/* What was before the cut goes. */
void keep_prune(struct experiment *exp, uint64_t cut);
uint64_t keep_cut(const struct keep *k, uint64_t now);

typedef bool keep_wanted_fn(void *arg, const unsigned char *record, size_t n,
			    uint64_t index);
/* Those of a sink's records that are wanted stay, in order. */
void keep_sift(struct sink *s, keep_wanted_fn *wanted, void *arg);

enum { KEEP_WORD = 64 };
/* The plain value of an attribute of a line; "" where there is none. */
const char *keep_word(const unsigned char *line, size_t n, const char *name,
		      char *word);	/* of KEEP_WORD */
uint64_t keep_time(const struct experiment *exp, const unsigned char *line,
		   size_t n);
/* Of a record of data.frameinfo: its number, and what it is linked to. */
uint64_t keep_frame(const unsigned char *record, size_t n, uint64_t *link);
/* What wanted stacks are linked to is wanted, too. */
void keep_follow(const struct sink *frames, struct map *wanted);
uint64_t keep_loss_key(const char *cause, const char *detail);

#endif
