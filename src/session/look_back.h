/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Do we leave the target as we found it? (look_back.c)
 */
#ifndef SONDE_SESSION_LOOK_BACK_H
#define SONDE_SESSION_LOOK_BACK_H

#include "inject.h"
#include "private.h"

enum { BORROWED_MAX = 256, LEFT_MAX = 64 };
enum trace { TRACE_DESCRIPTOR = 1, TRACE_AREA, TRACE_SCRATCH, TRACE_TIMER };

struct look_back {
	struct target *t;
	struct map before;	/* key of a trace -> 1: was there */
	uint64_t caught;	/* signals, when we came */
	bool stopped;		/* by job control, when we came */
	int signal;		/* of our ticks, 0: none */
	struct inject_borrowed borrowed[BORROWED_MAX];
	unsigned nborrowed;
	/* Of visits that were killed (orphan.c). */
	bool orphan, visited, strange;
	bool parting;		/* memory of our own visit is in use yet */
	bool waited;		/* for a helper of theirs that does not end */
	uint64_t area, area_size;
	char *salvaged;		/* what became of its samples, or NULL */
	struct left_over {
		enum trace what;
		uint64_t where, size;
	} left[LEFT_MAX];
	unsigned nleft;
	struct str tidied;
	struct str unclean;	/* known to stay */
};

/* What is known to stay, though no look shows it. */
void look_back_unclean(struct look_back *lb, const char *what);

/* The first look, before anything is changed. Reads, stops nothing. */
struct look_back *look_back_new(struct target *t);
void look_back_free(struct look_back *lb);
/* A visit: whom it borrowed; was the handler the program's in the end? */
void look_back_visit(struct look_back *lb, const struct inject_report *report);
/* The signal that our ticks come by. */
void look_back_signal(struct look_back *lb, int signal);
/* Before a visit: until what killed ones have begun in the target has ended. */
void look_back_await_helpers(struct look_back *lb);
/* A thread stands in our handler, with the record memory. */
void look_back_parting(struct look_back *lb);
/* That goes, if there is such, where the target runs by now. */
void look_back_part(struct look_back *lb);
/* Remove what the first look found of visits that were killed. The target
 * runs. */
void look_back_tidy(struct look_back *lb);

enum look_back_when {
	LOOK_RELEASED,
	LOOK_STOPPED,		/* released, and left in a job stop */
	LOOK_HELD,		/* threads are still ours to trace */
};
/* The last look: "target clean", or what is left. The caller frees it. */
char *look_back_text(struct look_back *lb, enum look_back_when when);

/* Close what a thread has copied of our descriptors while we visited. */
void look_back_close_copies(struct look_back *lb);

/* ---- look_files.c ------------------------------------------------------- */

/* where: a descriptor, and above 32 bits whose it is; 0: the live thread's. */
typedef void look_found(void *arg, uint64_t where);
/* 0; 1: it cannot be known whether other threads have their own; -1: nothing
 * could be seen; both with errno. */
int look_at_files(struct target *t, look_found *found, void *arg);

/* ---- look_threads.c ------------------------------------------------------ */

/* One look: what it finds goes to note, or is told. */
struct look {
	struct look_back *lb;
	void (*note)(struct look *l, enum trace what, uint64_t where,
		     uint64_t size);
	struct str found, unlooked;
	unsigned n;
	uint64_t lib, lib_end;	/* the library and its data; 0: none */
	uint64_t parting;	/* bytes that are in use yet */
	bool job_stopped;	/* all of it, since we came, by somebody else */
};

/* Found, and of our making. (look_back.c) */
void __attribute__((format(printf, 2, 3)))
look_tell(struct look *l, const char *fmt, ...);

/* Its signals and job control, as they are when we come. */
void look_note_before(struct look_back *lb);
void look_at_threads(struct look *l, bool stays_stopped);
void look_at_signals(struct look *l);

/* ---- orphan.c ------------------------------------------------------------ */

/* The first look found this. */
void look_back_found(struct look_back *lb, enum trace what, uint64_t where,
		     uint64_t size);
/* Whom did the record memory belong to that it found? */
void look_back_find_orphan(struct look_back *lb);

/* ---- salvage.c ----------------------------------------------------------- */

/* The samples in that record memory go into an experiment: lb->salvaged. */
void look_back_salvage(struct look_back *lb);

#endif
