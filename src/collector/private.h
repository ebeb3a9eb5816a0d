/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The guest's own state and its way to the kernel. No libc, no TLS, no
 * constructor: it must load into any process and disturb nothing there.
 * Functions named hot_* run inside signal handlers.
 */
#ifndef SONDE_COLLECTOR_PRIVATE_H
#define SONDE_COLLECTOR_PRIVATE_H

#include <signal.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "collector.h"
#include "record.h"

/* All names are our own: no table of imports stands between. */
#pragma GCC visibility push(hidden)

#include "step.h"

struct trace_area;

enum {
	TIMERS_MAX = 16384,
	PAGE_BYTES = 4096,
};

/* As the kernel has it, not as libc. */
struct disposition {
	void *handler;
	uint64_t flags;
	void *restorer;
	uint64_t mask;
};

struct timer_slot {
	uint32_t tid;		/* 0: free */
	int32_t id;
};

/* A page of our own that a fork's child finds empty. */
struct guest_origin {
	uint32_t own;		/* 1: the process that we were put into */
	uint32_t pad;
	struct trace_area *trace;	/* NULL: nothing is traced */
};

struct guest_state {
	struct record_area *area;	/* NULL: nothing to write to */
	uint64_t area_size;
	struct guest_origin *origin;	/* NULL: none */
	uint32_t inside;	/* handlers that may use area and origin */
	uint32_t clock;		/* enum collector_clock */
	uint64_t interval_ns;
	uint64_t vdso_clock;
	uint32_t signo;		/* our handler is in place for it; 0: none */
	struct disposition before;	/* its default, as it was written */
	uint32_t pid;		/* the owner's target, by its own number */
	uint32_t timer_slots;	/* slots ever used */
	struct timer_slot timers[TIMERS_MAX];
};

extern struct guest_state guest;
extern struct collector_owner sonde_owner;
extern struct collector_moved sonde_moved[COLLECTOR_MOVED];
extern uint32_t sonde_hooked;

/* 1: an instruction reads the base of %fs. */
extern uint32_t hot_fs_readable;
/* 1: memory may have protection keys. */
extern uint32_t hot_keyed;

/*
 * The base of %fs: libc's thread descriptor, which begins with its own address.
 * A program may have put any other there (wrfsbase), so nothing is read from
 * it where the processor says what the base is.
 */
static inline uint64_t
thread_pointer(void)
{
	uint64_t tp;

	if (__builtin_expect(hot_fs_readable, 1))
		__asm__ volatile(".byte 0xf3, 0x48, 0x0f, 0xae, 0xc0"
				 : "=a"(tp));		/* rdfsbase %rax */
	else
		__asm__ volatile("movq %%fs:0, %0" : "=r"(tp));
	return tp;
}

static inline int64_t
sys6(long nr, uint64_t a, uint64_t b, uint64_t c, uint64_t d, uint64_t e,
     uint64_t f)
{
	register uint64_t r10 __asm__("r10") = d;
	register uint64_t r8 __asm__("r8") = e;
	register uint64_t r9 __asm__("r9") = f;
	int64_t result;

	__asm__ volatile("syscall" : "=a"(result)
			 : "a"(nr), "D"(a), "S"(b), "d"(c), "r"(r10), "r"(r8),
			   "r"(r9)
			 : "rcx", "r11", "memory");
	return result;
}

static inline int64_t
sys4(long nr, uint64_t a, uint64_t b, uint64_t c, uint64_t d)
{
	return sys6(nr, a, b, c, d, 0, 0);
}

/* A child of the process that we were put into: nothing here is ours. */
static inline bool
forked(void)
{
	const struct guest_origin *origin = __atomic_load_n(&guest.origin,
							__ATOMIC_SEQ_CST);

	return origin && !origin->own;
}

/* ---- handler.c ----------------------------------------------------------- */

/* Only where the default is in place; -EBUSY: the program uses the signal. */
int64_t handler_in(uint32_t signo);
/* As it was, where it is still ours; call->handler_kept: it was not. */
int64_t handler_out(struct collector_call *call);
/* The default instead for a moment, until _rested: at the beginning and at the
 * end of it no tick is pending. False: no. */
bool handler_rest(void);
void handler_rested(void);
/* call->handler_kept: the program has put its own there. */
int64_t handler_look(struct collector_call *call);

/* ---- timers.c ------------------------------------------------------------ */

/* For all threads but the deaf, which lose theirs. */
int timers_start(struct collector_call *call);
void timers_stop(void);
/* They are another process's. */
void timers_forget(void);

/* ---- hot_sample.c -------------------------------------------------------- */

/* The signal's action, and what it does with any key's memory open to it. */
void hot_signal(int signo, siginfo_t *info, void *context);
void hot_handle(int signo, siginfo_t *info, void *context);
void hot_restorer(void);

/* ---- hot_ring.c ---------------------------------------------------------- */

/* The thread's window, claimed if need be, until _leave; NULL: none is free. */
struct record_window *hot_ring_window(struct record_area *area, uint32_t tid);
void hot_ring_leave(struct record_window *w);
/* Room for a record of RECORD_DEPTH_LEAST frames, and *most, or more; NULL:
 * full. */
struct record *hot_ring_reserve(struct record_area *area,
				struct record_window *w, uint32_t *most);
/* Instead of rec: room for more frames than *most, with what stands in rec's
 * head; NULL: there is none, rec holds. */
struct record *hot_ring_more(struct record_area *area, struct record_window *w,
			     const struct record *rec, uint32_t *most);
/* Publish it with the size it turned out to have. */
void hot_ring_commit(struct record_window *w, struct record *rec);

/* ---- hot_stack.c --------------------------------------------------------- */

/* Fills pcs, depth and end from a signal's ucontext. */
void hot_stack_walk(struct record_area *area, const void *context,
		    struct record *rec, uint32_t most);

struct hot_walk {
	uint64_t *pcs;		/* leaf first */
	uint32_t tid, most;
	uint32_t depth;		/* found */
	uint8_t end;		/* enum record_end */
};

/* The same from registers. */
void hot_stack_from(struct record_area *area, const struct step_regs *from,
		    const stack_t *alternate, struct hot_walk *w);
/* The same, remembered where that can be: then it is the trail's. */
bool hot_stack_trail(struct record_area *area, const struct step_regs *from,
		     struct step_trail *trail, struct hot_walk *w);
/* Is the address on the stack above sp, as far as that is there for certain? */
bool hot_stack_has(struct record_area *area, uint32_t tid, uint64_t sp,
		   uint64_t address);
/* Is that much of the stack below sp, by what is known without a call? */
bool hot_stack_is_roomy(struct record_area *area, uint64_t sp, uint64_t least);

/* ---- setup.c ------------------------------------------------------------- */

/* Who works for us here may wait: a helper of ours, and no thread of the
 * program's, which would wait alone if its borrower were killed. */
bool may_wait(const struct collector_call *call);
void nap_ms(void);
bool is_error(int64_t result);

#pragma GCC visibility pop

#endif
