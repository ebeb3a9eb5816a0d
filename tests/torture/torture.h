/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * torture: visits the worst programs we know with the real sonde, at random
 * moments, by random threads, and kills sonde itself at random points. Each
 * program knows its own truth (victims/); this harness looks at it from
 * outside after every visit.
 *
 *	situations.c	the table: what is visited, and what must come of it
 *	victim.c	one life: start, find, tell to end, judge
 *	visit.c		one visit, whole or killed; what its receipt says
 *	health.c	is the target as it was?
 *	threads.c	who stands, who was made to wait
 *	words.c		the words of the table, and what they need
 *	report.c	what came of each situation
 *	torture.c	the loop
 */
#ifndef TORTURE_H
#define TORTURE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <sys/resource.h>
#include <sys/types.h>

#include "page.h"

/* ---- situations.c -------------------------------------------------------- */

enum {
	QUIET = 1,	/* its threads, descriptors, memory do not change */
	OWN_SIGNALS = 2,	/* its handlers and masks change by themselves */
	ENDS = 4,	/* it ends by itself: a new one for each visit */
	STOPPED = 8,	/* a stopped job, which must stay stopped */
	TRACED = 16,	/* somebody else traces it */
	RACE = 32,	/* two of us at once */
	FOREIGN = 64,	/* no page: says "ready PID", ends with its input */
	BEHIND = 128,	/* something else starts it: look for it */
	SLOW = 256,	/* a third of the visits */
	MEASURE = 512,	/* the stops of all other threads are counted */
	NEVER = 1024,	/* engine inject must refuse it each time */
	SHORT_FORM = 2048,	/* one of those in `make check` */
};

struct situation {
	const char *name;
	/* Words; with @ before it a program among the victims, with % a
	 * script beside the sources, with # so many for each processor. */
	const char *argv[14];
	unsigned traits;
	const char *needs;	/* a file or program it cannot do without */
	const char *preload;	/* LD_PRELOAD; LD_AUDIT when it begins with = */
	int resource;		/* a limit, when value is not 0 */
	rlim_t value;
	/* What a refusal may say; words apart by |. NULL: none is right. */
	const char *refusal;
};

extern const struct situation situations[];	/* ended by name NULL */

/* ---- words.c ------------------------------------------------------------- */

/* What one word of the table stands for; the caller frees it. */
char *word_of(const char *word);
/* What a situation needs and is not here, or NULL. */
const char *words_missing(const struct situation *s);

/* ---- victim.c ------------------------------------------------------------ */

struct victim {
	const struct situation *s;
	pid_t child, pid;	/* what we started; what is visited */
	pid_t other_tracer;
	struct torture_page *page;	/* NULL: FOREIGN */
	int input;
	bool reaped;
	int status;
	uint64_t eintr, wrong, missed;
};

/* 0, or -1 and a sentence in *why. */
int victim_start(struct victim *v, const struct situation *s,
		 const char **why);
bool victim_alive(struct victim *v);
/* It works on: rounds grow. */
bool victim_goes_on(struct victim *v);
/* Told to end; true: it did, with status 0, and its own counts are filled. */
bool victim_end(struct victim *v);
/* Not to be used for anything but the end of the harness. */
void victim_kill(struct victim *v);
/* The last lines it said. */
void victim_print_words(void);

/* ---- visit.c ------------------------------------------------------------- */

enum who { NOBODY, THE_SHELL, THE_TRACER, BOTH };

struct visit {
	const char *engine;
	unsigned ms, seed;
	bool by_shell;		/* commands, not the verb record */
	bool stands;		/* ... to a program that they have stopped */
	bool states;		/* time of those that wait, too */
	bool creators;		/* who created each thread */
	bool traced;		/* its heap, locks, input and output */
	enum who kill;
	unsigned kill_us;	/* after its begin */
};

struct outcome {
	bool injected, refused, killed, hung, unclean;
	int status;
	unsigned stops;
	double stop_ms;		/* of all stops together */
	unsigned took_us;
	char reason[240];
};

void visit_run(pid_t pid, const struct visit *v, struct outcome *o);
void visit_race(pid_t pid, const struct visit *v, struct outcome *o);
/* The ends of anybody else's child: ours are waited for by pid. */
void reap_strangers(const struct victim *v);

/* ---- health.c ------------------------------------------------------------ */

struct health;
struct health *health_take(const struct victim *v);
void health_free(struct health *h);
/* Number of things that are not as before; each is printed. */
unsigned threads_of(const struct victim *v);
unsigned health_compare(const struct health *was, const struct victim *v);
/* ---- threads.c ----------------------------------------------------------- */

/* A thread that stands or is traced, and should not; printed. */
unsigned health_standing(const struct victim *v);
/* Threads with their counts of waits: to see who was stopped. */
struct waits;
struct waits *waits_take(pid_t pid);
/* How many of them waited meanwhile, of how many; frees. */
unsigned waits_grown(struct waits *was, pid_t pid, unsigned *of);

/* ---- report.c ------------------------------------------------------------ */

struct count {
	unsigned visits, injected, killed, refused, unexpected, hung, lost;
	unsigned unclean, standing, others, of, measured;
	uint64_t eintr, wrong, missed;
	double *stops;
	size_t nstops;
	char reason[300];
};

void count_sort(struct count *c);
/* Of which visit a victim has complained. */
void visit_print_harm(const struct visit *v, const struct outcome *o);
bool count_is_bad(const struct count *c);
void count_print(const struct situation *s, const struct count *c);
/* A line more in the file `out`, NULL: none. how: well, bad, missing, broken. */
void count_write(const struct situation *s, const struct count *c,
		 const char *how, const char *out);

/* ---- tools.c ------------------------------------------------------------- */

void random_begin(uint64_t seed);
uint64_t random_below(uint64_t n);
uint64_t clock_us(void);
void rest_ms(unsigned ms);
char *path_in(const char *dir, const char *name);	/* caller frees */
/* Not by /proc/PID/task/TID/children: not every kernel has it. */
size_t children_of(pid_t pid, pid_t *out, size_t max);
char *read_text(const char *path);	/* NULL, or caller frees */

/* ---- torture.c ----------------------------------------------------------- */

extern const char *sonde, *victims_dir, *source_dir, *work_dir;

#endif
