/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * One collection: session.c decides what happens when, collection.c has what
 * is written and told, collection_end.c what stays of it.
 */
#ifndef SONDE_SESSION_COLLECTION_H
#define SONDE_SESSION_COLLECTION_H

#include "usage.h"

struct offspring {		/* CPU time of children (offspring.c) */
	pid_t parent;		/* 0: not read yet */
	uint64_t before_ns, waited_ns;	/* what the kernel counted for it */
	uint64_t later_ns;	/* of those that came and went since */
	struct child {
		pid_t pid;
		uint64_t before_ns, now_ns;	/* with children of its own */
		uint64_t read_at, gone_at;
		bool first;	/* it was there at the beginning */
		bool gone;
	} *items;
	size_t len, cap;
	size_t turn;	/* whose children are looked for first */
	struct descendant {	/* as births told; any may lose its parent */
		pid_t pid;
		uint64_t start_time;
		uint64_t seen_ns;	/* while it was below the parent */
		uint64_t now_ns;	/* ... and since then */
	} *far;
	size_t far_len, far_cap;
	uint64_t orphans_ns;	/* of those that have ended */
};

struct collection {
	struct target *target;
	struct settings settings;
	char *path;
	int dir_fd;		/* of the experiment, whatever is at path */
	uid_t owner;		/* of the target */
	gid_t group;
	struct experiment *exp;
	struct unwind_space *space;
	struct mapper *mapper;
	struct recorder *rec;
	struct look_back *look;
	struct str trouble;	/* of its end */
	struct target_marks marks;	/* of the target at its start */
	uint64_t start_ns, next_drain_ns, next_sample_ns;
	uint64_t drain_ns;	/* between drains: short at first */
	struct experiment_usage usage;	/* the last that could be read */
	struct usage_switches switches;
	struct offspring offspring;
	uint64_t children_due_ns;
	unsigned written;	/* experiments of what is kept */
	uint64_t sampled_here_ns;	/* at a pause (collection_here.c) */
	bool paused, over_limit, stopped;
	bool standing;		/* it has not run yet, for our sake */
};

/* Where an experiment of this name will be. The caller frees it. */
char *collection_place(const struct settings *s, const char *name);
/* Where the experiment will be. As above. */
char *collection_choose_path(const struct settings *s);
/* Provisional: experiment_began, or experiment_abandon. */
int collection_create(struct collection *c, bool attached);
void collection_free(struct collection *c);
int collection_write_notes(struct collection *c);
void collection_write_engine(struct collection *c);
void collection_write_threads(struct collection *c);
/* A resource sample, of then, or of now: 0. */
void collection_take_sample(struct collection *c, const char *label,
			    uint64_t time_ns);
/* What is to be in the first and the last one, but for switches; when. */
uint64_t collection_read_usage(struct collection *c);

/* ---- offspring.c --------------------------------------------------------- */

/* A process that descends from it was born. */
void offspring_meet(struct offspring *o, pid_t pid);
/* Read what they have used; the first time: what is before the beginning. */
void offspring_note(struct offspring *o, struct target *t);
/* What is in no experiment. recorded: those that were there at the beginning
 * have their own. */
uint64_t offspring_untold_ns(const struct offspring *o, bool recorded);
void offspring_fini(struct offspring *o);

#endif
