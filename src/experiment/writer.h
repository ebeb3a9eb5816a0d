/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * An experiment being written, shared by the files of this room that write.
 */
#ifndef SONDE_EXPERIMENT_WRITER_H
#define SONDE_EXPERIMENT_WRITER_H

#include "base.h"
#include "experiment.h"
#include "keep.h"
#include "sink.h"

/* A stack piece that is on disk, or waits for it. */
struct piece {
	uint64_t check;		/* a second hash: the two make 128 bits */
	uint64_t frame;		/* its FRINFO; 0 for the target of links */
	uint64_t chain;		/* what a link to it names */
};

struct artificial {
	char *name;
	uint64_t pc;
};

struct loss {
	char *cause, *detail;
	uint64_t samples, weight_ns;
	uint64_t said_samples, said_ns;	/* in log.xml already */
	uint64_t said_at;
};

/* Data files of traced calls. */
enum call_file { CALL_HEAP, CALL_SYNC, CALL_IO, CALL_FILES };

struct experiment {
	char *path;
	int dir_fd;
	pid_t pid;
	uint64_t start_ns, last_ns;
	bool clocked;			/* clock data was asked for */
	bool replaced;			/* the target's exec ended it */
	struct keep *keep;		/* NULL: it is on disk */
	struct place *place;		/* of what it replaces; NULL: begun */

	/* log and map take a line at once; frames go out before profile */
	struct sink log, map, frames, profile, overview;
	struct sink calls[CALL_FILES];	/* from the first event on */
	uint64_t heap_interval;		/* bytes; 0: all calls */
	int64_t sync_us;		/* threshold, as it is declared */
	uint64_t samples;		/* sample points so far */

	struct map by_hash;		/* hash -> index into pieces */
	struct piece *pieces;
	size_t piece_count, piece_cap;
	uint64_t last_uid;
	uint64_t *words;		/* scratch: a stack and its end mark */
	size_t words_cap;

	struct map artificial_by_hash;	/* hash of name -> index */
	struct artificial *artificials;
	size_t artificial_count, artificial_cap;

	struct map carry;		/* (thread, state) -> ns below 1 us */
	struct map split;		/* start -> size of mappings >= 2 GiB */

	struct vec losses;		/* of struct loss */
	uint64_t refused;		/* records the disk took no more */
	uint64_t refused_samples, refused_ns;
	uint64_t refused_calls;		/* traced */
	uint64_t lost_frinfo;		/* of <Lost samples> */
	struct map again;		/* thread -> samples that may be given
					 * once more: see reopen.c */
	uint64_t owed_us[MSTATE_COUNT];	/* refused weight, to be charged to
					 * <Lost samples> once there is room */
};

/* log.xml and map.xml: one whole line, newline included, in one write. */
void writer_line(struct experiment *exp, struct sink *to, struct str *line);
/* Begin `<event kind="KIND" tstamp="..."`. */
void writer_event_begin(const struct experiment *exp, struct str *line,
			const char *kind, uint64_t time_ns);
/* Time since the start; 0 for what was before it. */
uint64_t writer_since(const struct experiment *exp, uint64_t time_ns);
/* Why the disk refused, in words; "" when it did not. */
const char *writer_disk_error(const struct experiment *exp);
/* Losses that the log does not have yet; all, or those not said lately. */
enum writer_when { WRITER_NOW, WRITER_LATELY };
void writer_losses(struct experiment *exp, enum writer_when when);
/* Stacks, then what names them. -1: refused, and counted. */
int writer_calls(struct experiment *exp);
/* A packet into one of them. */
void writer_call(struct experiment *exp, enum call_file file, uint64_t time_ns,
		 const void *packet, size_t n);
/* Charge refused weights to <Lost samples>, now that there may be room. */
void writer_settle(struct experiment *exp);
/* Without files yet. */
struct experiment *writer_new(const char *path);
/* The log has this of it already. */
void writer_loss_was(struct experiment *exp, const char *cause,
		     const char *detail, uint64_t samples, uint64_t weight_ns);
/* The next artificial function is this one, and is in map.xml already. */
void writer_knows_artificial(struct experiment *exp, const char *name);
/* Free everything, the files untouched as they are. */
void writer_abandon(struct experiment *exp);
/* Free everything but leave the files; closes them. */
int writer_free(struct experiment *exp);

#endif
