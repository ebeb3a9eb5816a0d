/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * The perf side of the room: events, the rings that they write into, and
 * their records. Private to clock.
 *
 * Every record, whatever its event, ends in (or, for samples, begins with)
 * the same identification, so one reader serves all of them:
 *
 *	sample:  header id ip pid/tid time cpu period regs stack
 *	others:  header ... pid/tid time cpu id
 */
#ifndef SONDE_CLOCK_PERF_H
#define SONDE_CLOCK_PERF_H

#include <linux/perf_event.h>
#include <poll.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "base.h"
#include "clock.h"

/* ---- attr.c: what we ask of the kernel ----------------------------------- */

/* What this kernel cannot do; learnt from its refusals. */
struct perf_kernel {
	bool no_lost;		/* PERF_FORMAT_LOST, before 6.0 */
	bool no_inherit_thread;	/* before 5.13 */
};

struct perf_event_attr attr_dummy(void);
void attr_add_side_band(struct perf_event_attr *a);
void attr_add_inherit(struct perf_event_attr *a);
struct perf_event_attr attr_clock(uint64_t config,
				  const struct clock_options *opt);
/* Each time that code at address begins to be executed; forks and ends. */
struct perf_event_attr attr_entry(uint64_t address, uint32_t stack_bytes);
/* The same when the kernel comes by that tracepoint. */
struct perf_event_attr attr_tracepoint(int number, uint32_t stack_bytes);
/* A clock that only signals; stopped. */
struct perf_event_attr attr_ticker(uint64_t interval_ns);
/* A close-on-exec descriptor, or -1 with errno. */
int perf_open(struct perf_kernel *k, const struct perf_event_attr *a,
	      pid_t tid, int cpu);
/* The event's count and how many of its records found no room. */
bool perf_read(const struct perf_kernel *k, int fd, uint64_t *count,
	       uint64_t *lost);

/* ---- limits.c: CPUs, descriptors, threads, and why we were refused ------- */

struct cpus {
	int *id;		/* they need not be 0..n-1 */
	size_t len;
};

void cpus_init(struct cpus *c);
void cpus_fini(struct cpus *c);
/* Not too often for a target to live: beyond 10 kHz it collapses. */
int interval_check(uint64_t interval_ns);
/* Threads of a process by one listing; *tids grows. -1: none, with errno. */
ssize_t threads_list(pid_t pid, pid_t **tids, size_t *cap);
/* The first thread stays where it is, then those that used the most CPU time
 * so far: for when not all can be served. */
void threads_sort_busiest(pid_t pid, pid_t *tids, size_t n);
/* Turn a refusal (errno error) into a failure with the exact remedy. */
int fail_refused(int error, pid_t pid, const char *what);
/* The same for the memory of rings. */
int fail_rings(int error);
/* One line for the receipt: what refused, without failing. */
char *refusal_text(int error, const char *what);
/* "5 of 9 threads ... are not sampled: why (remedy); ", or "" for none. The
 * caller frees it. */
char *not_sampled_text(size_t n, size_t of, int error);

/* ---- ring.c: one ring per CPU, read together in order of time ------------ */

struct ring {
	int fd, cpu;
	struct perf_event_mmap_page *page;	/* NULL: no such CPU now */
	const unsigned char *data;
	uint64_t size;
	/* Places are absolute byte counts, as in data_head. */
	uint64_t from;		/* first record not yet delivered */
	uint64_t peeked;	/* ring_peek looked up to here */
	uint64_t drained;	/* rings_drain looked up to here */
	unsigned char *kept;	/* records moved out of the ring, */
	uint64_t kept_base, kept_end;	/* from here to there */
	size_t kept_cap;
};

struct rings {
	struct ring *ring;
	size_t len, bytes;
	struct entry *entries;
	size_t entries_cap, left;	/* indexed, not delivered */
	size_t left_samples;
	unsigned char *scratch;
	uint64_t late;		/* records delivered out of order */
	uint64_t last;		/* time of the last one delivered */
	uint64_t broken;	/* times a ring made no sense */
};

/*
 * A ring wakes poll(2) when this part of it is new. A drain leaves what came
 * since the one before, so a ring is two parts full by then: less than half.
 */
enum { RING_PARTS = 5 };

/* bytes of data per CPU, halved down to least while the memory limit
 * refuses. pid: for whom, should it fail. */
int rings_open(struct rings *r, struct perf_kernel *k, size_t bytes,
	       size_t least, pid_t pid);
void rings_close(struct rings *r);
typedef void (*ring_sink)(void *arg, size_t ring, const unsigned char *record);
/* Deliver in order of time what is not younger than limit. */
size_t rings_drain(struct rings *r, uint64_t limit, ring_sink sink, void *arg);
/* Look at what came since the last look; nothing is consumed. */
void rings_peek(struct rings *r, ring_sink sink, void *arg);
/*
 * A part of some ring is new since the last drain. The kernel counts what it
 * writes, not what was read: each ring wakes us in its own time, though the
 * drain for another one has emptied it.
 */
bool rings_ripe(const struct rings *r);
/* Some ring is more than half full. */
bool rings_pressed(const struct rings *r);
/* Move what half-full rings hold to memory: there is no reader yet. */
void rings_keep(struct rings *r);
size_t rings_pollfds(const struct rings *r, struct pollfd *fds, size_t max);

/* ---- record.c: one record, every field checked against its end ----------- */

struct raw_record {
	uint64_t id;		/* of the event, or of the one it inherits */
	pid_t by_pid, by_tid;	/* who ran when it was written */
	struct clock_record r;
};

bool record_parse(const unsigned char *record, struct raw_record *out);

/* ---- watch.c: events of every thread, on every CPU ----------------------- */

struct watch {
	pid_t pid;
	struct perf_event_attr attr;
	struct perf_kernel *kernel;
	struct rings *rings;
	int *fds;
	size_t len, cap;
	struct map owner;	/* event id -> thread it was opened for */
	struct map root;	/* thread -> the one whose events it has */
	struct map born;	/* opened thread -> time when all were open */
	struct map seen;	/* threads served, while opening */
	int spare;		/* descriptors to leave for each of them */
	size_t threads, not_sampled;
	int refusal;		/* of those: errno */
	/* a thread was opened, and its events count from then; or refused */
	void (*met)(void *arg, pid_t tid, uint64_t time);
	void *arg;
};

/* Open every thread; list again until a listing has nobody new. -1 with errno
 * when not one could be opened. */
int watch_open(struct watch *w);
void watch_close(struct watch *w);
/* Is this record ours, and not the double of another? Follows forks and
 * exits: call it for every record, in order of time. */
bool watch_accept(struct watch *w, const struct raw_record *raw);

/* ---- tracepoint.c -------------------------------------------------------- */

/* Of "task/task_newtask". -1 with errno: not permitted, or not there. */
int tracepoint_number(const char *name);

/* ---- bpf.c --------------------------------------------------------------- */

/* A program that lets pass only overflows in this process, whatever PID
 * namespace it is in. -1 with errno. */
int bpf_open_filter(pid_t pid);

#endif
