/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * clock: sampling clocks owned by us, on their threads (perf_event_open), and
 * what comes out of their rings, in time order. Two ring forms: one cpu-clock
 * event per CPU with a BPF filter on the process (root, CAP_PERFMON +
 * CAP_BPF), or task-clock per (thread x CPU) inherited by new threads.
 * Nothing runs in the target.
 */
#ifndef SONDE_CLOCK_H
#define SONDE_CLOCK_H

#include <poll.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "arch.h"

enum clock_form { CLOCK_FORM_AUTO, CLOCK_FORM_CPU, CLOCK_FORM_THREAD };

struct clock_options {
	pid_t pid;
	uint64_t interval_ns;
	uint32_t stack_bytes;	/* copied: 8..65528, multiple of 8; 0: 64 KB,
				 * less where ticks are many or rings small */
	size_t ring_bytes;	/* per CPU; 0: 200 ms or more, if allowed */
	enum clock_form form;
	bool never_kernel;		/* user mode samples only */
	bool only_kernel;	/* samples of kernel mode, without CPU times,
				 * and nothing of threads and mappings */
};

struct clock;

/* Open on every thread and start. NULL: refused, with reason and remedy. The
 * calling thread must outlive the clock: its rings are events on it. */
struct clock *clock_open(const struct clock_options *opt);
void clock_close(struct clock *c);

/* The kernel refuses perf to this process whatever the target is. */
bool clock_is_refused(void);
/* May this thread of the target be sampled? -1 with reason and remedy. */
int clock_possible(pid_t pid, pid_t tid);

struct clock_traits {
	enum clock_form form;
	bool kernel;		/* kernel mode is sampled too */
	const char *why;	/* one line: form, why, precision */
	size_t descriptors, rings, ring_bytes;
	size_t threads;		/* opened explicitly (thread form) */
	size_t not_sampled;	/* threads that could not be opened */
};
const struct clock_traits *clock_traits(const struct clock *c);

/* Descriptors for poll(2): readable when a ring passed its watermark. */
size_t clock_pollfds(const struct clock *c, struct pollfd *fds, size_t max);

enum clock_record_kind { CLOCK_SAMPLE, CLOCK_FORK, CLOCK_EXIT, CLOCK_COMM,
			 CLOCK_EXEC, CLOCK_MMAP, CLOCK_SWITCH, CLOCK_LOST };

struct clock_record {
	enum clock_record_kind kind;
	uint64_t time_ns;	/* CLOCK_MONOTONIC */
	pid_t pid, tid;
	int cpu;
	union {
		struct {
			bool kernel;		/* interrupted in the kernel */
			uint64_t kernel_pc;	/* 0 when !kernel */
			bool has_user;		/* registers are there */
			struct arch_regs regs;	/* user mode */
			const unsigned char *stack; /* valid in the callback */
			uint64_t stack_base;	/* = sp */
			size_t stack_size;	/* bytes really copied */
			bool stack_full;	/* the dump size was the limit */
			uint64_t period_ns;
			/* CPU time of this thread since its previous sample
			 * (thread form: exact, from switches; 0 unknown) */
			uint64_t cpu_ns;
		} sample;
		struct { pid_t ppid, ptid; } fork;	/* pid/tid: the child */
		struct { uint64_t cpu_ns; } exit;	/* since last sample */
		struct { const char *name; } comm;	/* also CLOCK_EXEC */
		struct { uint64_t start, size, offset, device, inode;
			 unsigned prot; const char *path; } map;
		struct { bool out, preempted; } sw;
		struct { uint64_t samples; } lost;	/* kernel's count */
	} u;
};

typedef void (*clock_sink)(void *arg, const struct clock_record *r);
/* Deliver what the rings hold, merged by time, up to the previous round;
 * final: everything. Returns the number of records. A CLOCK_LOST (cpu -1, tid
 * 0) is new losses since the last one; in the thread form it is at most what
 * CPU time allows, where the kernel counts side-band records too. */
size_t clock_drain(struct clock *c, bool final, clock_sink sink, void *arg);
/* There is enough to be drained: a descriptor may be readable without it. */
bool clock_ripe(const struct clock *c);
/* CLOCK_MONOTONIC: all that is older has been delivered. */
uint64_t clock_drained(const struct clock *c);
/* Stop the clocks (records already taken stay to be drained). In the thread
 * form mappings, forks and exits are not recorded either until clock_enable:
 * drain with final before that, and read the maps again after it. */
void clock_disable(struct clock *c);
void clock_enable(struct clock *c);
/* Exact number of samples the kernel dropped so far (PERF_FORMAT_LOST). */
uint64_t clock_lost(struct clock *c);
/* Per-thread CPU ns not yet given to a sample or an exit; thread form, after
 * clock_disable and the final drain: visit each thread with the rest, and
 * whether it ever had a sample. tid 0: threads whose records were lost. */
void clock_rest(struct clock *c,
		void (*visit)(void *arg, pid_t tid, uint64_t cpu_ns,
			      bool sampled),
		void *arg);

/* ---- births: who creates threads, and where ------------------------------ */

struct births;
/* The kernel tells of each birth (the tracepoint task_newtask; for root), or
 * the processor watches the entry of the function that creates threads (0: not
 * known), which takes one debug register and is not done below a hypervisor:
 * nothing is put into the process and none of its threads stops. NULL:
 * refused, with the reason. */
struct births *births_open(pid_t pid, uint64_t entry, uint32_t stack_bytes);
void births_close(struct births *b);
bool births_need_register(const struct births *b);
/* What the birth of a thread costs the process so, about. */
uint64_t births_cost_ns(const struct births *b);
size_t births_pollfds(const struct births *b, struct pollfd *fds, size_t max);
/* In order of time: CLOCK_SAMPLE, a thread at the entry; CLOCK_FORK, a thread
 * is born; CLOCK_EXIT; CLOCK_LOST. final: everything. */
void births_drain(struct births *b, bool final, clock_sink sink, void *arg);
bool births_ripe(const struct births *b);

/* ---- signals: perf overflow -> a signal to that very thread -------------- */

struct signal_clock;
struct gate_handler;		/* control.h */
/* task-clock per thread, user mode only, F_SETSIG signo (0: told later),
 * F_OWNER_TID. New threads are found by FORK records. Starts disabled. exec
 * ends it: the handler is gone then (a signal that a thread blocked meanwhile
 * stays pending in the new program). Needs Linux 5.13. */
struct signal_clock *signal_clock_open(pid_t pid, uint64_t interval_ns,
				       int signo, pid_t except_tid,
				       const struct gate_handler *handler);
void signal_clock_close(struct signal_clock *c);
/* Which signal, and the address of its handler: where the kernel looks, none is
 * sent while the program has another one (0: any will do). wanted (may be NULL) is asked before the first one of each
 * thread, also of those to come; fd will be its si_fd. */
int signal_clock_signal(struct signal_clock *c, int signo, uint64_t handler,
			bool (*wanted)(void *arg, int fd, pid_t tid),
			void *arg);
/* Begin or cease to send to a thread. Its clock counts on. */
void signal_clock_send(struct signal_clock *c, pid_t tid, bool on);
/* A thread in no ordinary state gets none (control's gate.c). Where that is
 * not so, the caller must ask. How many were held back; tid 0: of all. */
bool signal_clock_is_gated(const struct signal_clock *c);
struct gate_news;
void signal_clock_held_back(const struct signal_clock *c, pid_t tid,
			    struct gate_news *news);
/* So many seccomp filters of this thread permit a handler's return; threads
 * that it creates inherit that. */
void signal_clock_note_filters(struct signal_clock *c, pid_t tid,
			       uint32_t filters);
/* Of the process, and of a thread: where ticks may write their frames. */
struct stacks;
struct stack_bounds;
void signal_clock_note_stacks(struct signal_clock *c,
			      const struct stacks *stacks);
void signal_clock_note_stack(struct signal_clock *c, pid_t tid,
			     const struct stack_bounds *its);
uint32_t signal_clock_filters(const struct signal_clock *c, pid_t tid);
int signal_clock_enable(struct signal_clock *c, bool on);
size_t signal_clock_pollfds(const struct signal_clock *c, struct pollfd *fds,
			    size_t max);
/* Side-band records (fork, exit, mmap, exec, comm); opens new threads. */
size_t signal_clock_drain(struct signal_clock *c, clock_sink sink, void *arg);
struct tick_time {
	uint64_t time_ns;	/* CLOCK_MONOTONIC */
	uint64_t cpu_ns;	/* signal_clock_cpu at that time; 0: not known */
};
/* Of a tick of a thread that came shortly after a coarse time, in order; each
 * is told once. The coarse time where it is not known. A thread that has ended
 * is known until the next drain. */
struct tick_time signal_clock_time(struct signal_clock *c, pid_t tid,
				   uint64_t coarse_ns);
/* CPU ns of a thread since enable, by its counter (user + system); also
 * right after its end. -1: not ours. */
int signal_clock_cpu(struct signal_clock *c, pid_t tid, uint64_t *cpu_ns);
/* How many threads could not be given a clock (descriptors, refusals). */
size_t signal_clock_unserved(const struct signal_clock *c);
/* "5 of 9 threads ... not sampled: why; ", or "". The caller frees it. */
char *signal_clock_missing(const struct signal_clock *c);
/* Every thread that had a clock, those that ended too. */
void signal_clock_each(struct signal_clock *c,
		       void (*visit)(void *arg, pid_t tid, uint64_t cpu_ns),
		       void *arg);

#endif
