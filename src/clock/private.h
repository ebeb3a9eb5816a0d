/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * The inside of a clock: which events it has, the rings they write into, and
 * the accounts of what was delivered and what was lost.
 */
#ifndef SONDE_CLOCK_PRIVATE_H
#define SONDE_CLOCK_PRIVATE_H

#include "perf.h"
#include "states.h"

/* The events of the per-CPU form. */
struct percpu {
	int *clocks, *sides;	/* one of each per ring, -1: no such CPU */
	size_t len;
	uint64_t period_ns;	/* near the interval that was asked for */
};

/*
 * What a sink was told, so that every loss is told exactly once. The kernel
 * counts all records that found no room; of an event that writes switch
 * records too, those that can have been samples are at most what its count
 * of CPU time allows.
 */
struct losses {
	bool seen;		/* a LOST record since the last reading */
	uint64_t read_at;
	uint64_t by_record;	/* what LOST records say, the last resort */
	uint64_t told;
	uint64_t samples;	/* delivered */
};

/* ---- family.c ------------------------------------------------------------ */

struct family {			/* {0}: nobody */
	struct map members;
};
/* Is it the birth of a process that descends from root? For all records of all
 * processes, in their order. */
bool family_takes(struct family *f, pid_t root, const struct clock_record *r);
void family_fini(struct family *f);

struct clock {
	struct clock_options opt;
	struct clock_traits traits;
	char *why;
	struct perf_kernel kernel;
	struct rings rings;
	struct percpu percpu;	/* one of these two forms */
	struct family family;	/* of the first one */
	struct watch watch;
	struct states states;	/* thread form */
	struct losses losses;
	uint64_t previous;	/* when the previous round began */
	uint64_t drained;	/* all that is older has been delivered */
	bool stopped, stop_booked;
	uint64_t stopped_at;
};

/* ---- sizes.c ------------------------------------------------------------- */

enum {
	COPY_LEAST = 16 << 10,	/* of those that we choose */
	STACK_MOST = 65528,	/* that the kernel copies */
};

/* How much of a stack is to be copied, where nobody said. */
uint32_t copy_for(uint64_t interval_ns);
/* ... as much as rings of that size hold for long enough. */
uint32_t copy_fitting(const struct clock_options *opt, size_t ring_bytes);
size_t ring_size(const struct clock_options *opt);
size_t ring_least(uint32_t stack_bytes);

/* ---- percpu.c ------------------------------------------------------------ */

/* -1 with errno; *what says at which step. */
int percpu_open(struct percpu *p, struct perf_kernel *k,
		const struct rings *rings, const struct clock_options *opt,
		const char **what);
void percpu_close(struct percpu *p);
/* Side-band events alone, for every process. */
int sideband_open(int **fds, size_t *len, struct perf_kernel *k,
		  const struct rings *rings);
/* Any event, of every process; -1 with errno. */
int everywhere_open(int **fds, size_t *len, struct perf_kernel *k,
		    const struct rings *rings,
		    const struct perf_event_attr *a);
/* ... but only what this process does. */
int everywhere_filter(const int *fds, size_t len, pid_t pid);
void fds_close(int *fds, size_t len);

/* ---- events.c ------------------------------------------------------------ */

/* The events that sample; owned by the clock. */
const int *clock_events(const struct clock *c, size_t *len);
/* Samples lost so far, by reading every event. */
uint64_t clock_count_lost(struct clock *c, uint64_t *cpu_ns);

/* ---- ticks.c ------------------------------------------------------------- */

struct perf_event_mmap_page;

struct tick_times {
	struct perf_event_mmap_page *page;	/* NULL: not known */
	size_t size;
};

/* false: the kernel grants no memory. */
bool tick_times_open(struct tick_times *t, int fd, uint64_t interval_ns);
void tick_times_close(struct tick_times *t);
/* What is exact of a tick whose time is known by the kernel's tick before. */
struct tick_time tick_times_take(struct tick_times *t, uint64_t coarse_ns);

#endif
