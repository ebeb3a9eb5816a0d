/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * One pass over the packets of an experiment: read.c adds them up, records.c
 * looks at them only.
 */
#ifndef PROFILE_READING_H
#define PROFILE_READING_H

#include "filter.h"

enum { THREADS_KNOWN = 64, PCS_KNOWN = 8191 };

struct known_pc {
	uint64_t pc;
	uint32_t location;	/* + 1; 0: none */
};

struct reading {
	struct profile *prof;
	struct source *src;
	bool ours;		/* others say nothing by a CPU of -1 */
	struct blocks *blocks;	/* of read.c; NULL: leaks are known */
	uint64_t *pcs;
	size_t pcs_cap;
	/* the last answers: packets of one thread come in runs */
	uint64_t raw, raw_frinfo;
	struct {
		uint64_t tid;
		uint32_t thread;	/* + 1 */
	} threads[THREADS_KNOWN];
	struct known_pc known[PCS_KNOWN];
};

/* load.c, group.c. -1: there is none, or nothing in it can be read. */
int load_experiment(struct profile *prof, const char *path);
int load_group(struct profile *prof, const char *path);

/* The thread's index; the first of its packets makes it. */
uint32_t reading_thread(struct reading *rd, uint64_t tid);
/* The stack of a packet; *missing: the experiment does not have it. */
uint32_t reading_stack(struct reading *rd, const struct experiment_packet *p,
		       bool *missing);
/* The stack of those who created its thread; 0: none. */
uint32_t reading_creators(struct reading *rd,
			  const struct experiment_packet *p, uint32_t stack);
/* With what the profile knows beside the packet, perhaps in a copy of it. */
const struct experiment_packet *
reading_complete(struct reading *rd, const struct experiment_packet *p,
		 struct experiment_packet *copy);

/* Ask the memory for what packets that may come need, of which many have a
 * stack of their own. */
void reading_ask(const struct reading *rd, const uint64_t ahead[2]);

/* Stack 0. */
void stacks_init(struct profile *prof);
/* Add every packet of an experiment to its stack and its thread. */
void read_packets(struct profile *prof, struct source *src);

#endif
