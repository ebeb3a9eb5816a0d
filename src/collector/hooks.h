/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What the hooks of traced functions share. They run in the program's own
 * threads, as the functions that they stand before: errno, results, exceptions
 * through them and handlers in their midst are what they are without us.
 */
#ifndef SONDE_COLLECTOR_HOOKS_H
#define SONDE_COLLECTOR_HOOKS_H

#include "private.h"
#include "trace.h"

#pragma GCC visibility push(hidden)

enum { TRACE_THREADS = 8192, TRACE_THREAD_PROBES = 32 };

/* Pages in which a hook has room, by the lower half of their number; changed by
 * one store. */
struct trace_room {
	uint32_t first, pages;	/* none: not known */
} __attribute__((aligned(8)));

/*
 * A thread, by its pointer: libc gives that to the next one when it has ended.
 * Only the thread itself and its handlers write here, in single instructions:
 * `inside` tells that it may use the area.
 */
struct trace_thread {
	uint64_t pointer;	/* 0: nobody's */
	uint64_t place;		/* chunk + 1 << 32 | bytes used; 0: none */
	uint64_t token;		/* of the recording that its chunk is of */
	uint32_t tid;
	uint32_t inside;
	uint32_t walking;	/* the chunk whose scratch is in use, + 1 */
	uint32_t stale;		/* of inside, what nobody comes out of */
	uint64_t serial;	/* of its chunk */
	struct trace_room room;
	int64_t until;		/* bytes to the next that is chosen; where all
				 * are it stays at 0 or below */
};
_Static_assert(sizeof(struct trace_thread) == 64, "a line of the cache");

/* A hook's work, from trace_begin to trace_end. */
struct trace_turn {
	struct trace_thread *th;	/* NULL: not traced */
	struct trace_area *area;
};

/* Where a hook was called from. */
struct trace_caller {
	uint64_t pc, sp, fp;
};

#define TRACE_CALLER() \
	{ (uint64_t)__builtin_return_address(0), \
	  (uint64_t)__builtin_frame_address(0) + 16, \
	  *(const uint64_t *)__builtin_frame_address(0) }

/* ---- hot_confine.c ------------------------------------------------------- */

extern uint32_t hot_clock;	/* 1: the processor's clock may be read */
extern uint32_t hot_clockless;	/* 1: it is forbidden for good */
extern uint32_t hot_confined;	/* 1: a filter may punish calls of ours */

/* 0: it may not be read. */
static inline uint64_t
hot_trace_now(void)
{
	return __builtin_expect(__atomic_load_n(&hot_clock, __ATOMIC_RELAXED),
				1) ? __builtin_ia32_rdtsc() : 0;
}

static inline bool
hot_is_confined(const struct trace_area *a)
{
	return __atomic_load_n(&hot_confined, __ATOMIC_RELAXED) ||
		__atomic_load_n(&a->confined, __ATOMIC_RELAXED);
}

/* ---- hot_room.c ---------------------------------------------------------- */

enum { TRACE_STACK_LEAST = 2048 };	/* bytes; a walk takes half of it */

/* Where sp is in none of the pages that are known. */
bool hot_room_ask(const struct trace_turn *turn, uint64_t sp);

static inline __attribute__((always_inline)) bool
hot_has_room(const struct trace_turn *turn)
{
	const struct trace_room *known = &turn->th->room;
	uint64_t sp;

	__asm__("movq %%rsp, %0" : "=r"(sp));
	return __builtin_expect((uint32_t)(sp / PAGE_BYTES) - known->first <
				known->pages, true) ||
		hot_room_ask(turn, sp);
}

/* ---- hot_chunk.c --------------------------------------------------------- */

/* As in a place: its index + 1; 0: none. */
static inline uint32_t
chunk_number(const struct trace_thread *th)
{
	return (uint32_t)(th->place >> 32);
}

static inline char *
hot_chunk_data(const struct trace_area *a, uint64_t index)
{
	return (char *)a + a->data_at + index * TRACE_CHUNK_BYTES;
}

static inline uint64_t
hot_chunk_take(struct trace_thread *th, uint64_t bytes)
{
	uint64_t at = bytes;

	__asm__ volatile("xaddq %0, %1" : "+r"(at), "+m"(th->place)
			 : : "memory", "cc");
	return at;
}

uint64_t hot_chunk_serial(const struct trace_area *a, uint32_t number);
/* Where it is somebody else's by now it stays as it is. */
void hot_chunk_close(const struct trace_area *a, uint32_t number,
		     uint64_t serial);
/* Another one for the thread; false: none, and its old one has room for
 * nothing more. */
bool hot_chunk_next(struct trace_area *a, struct trace_thread *th);
/* Room in another one, for what had none at the place `at`. */
uint64_t *hot_chunk_more(struct trace_turn turn, uint32_t bytes, uint64_t at);

/* Room for a record in the thread's chunk; NULL: none, which is counted. */
static inline __attribute__((always_inline)) uint64_t *
hot_chunk_reserve(const struct trace_turn *turn, uint32_t words)
{
	const uint32_t bytes = words * 8;
	const uint64_t at = hot_chunk_take(turn->th, bytes);

	if (at >> 32 && (uint32_t)at + bytes <= TRACE_ROOM)
		return (uint64_t *)(hot_chunk_data(turn->area,
						   (at >> 32) - 1) +
				    (uint32_t)at);
	return hot_chunk_more(*turn, bytes, at);
}

/* ---- hot_trace.c --------------------------------------------------------- */

extern struct trace_thread hot_threads[TRACE_THREADS];
/* Calls of threads that there is no room for. */
extern uint64_t hot_trace_strangers;

enum { TRACE_THREAD_SHIFT = 64 - 13 };
_Static_assert(TRACE_THREADS == 1 << (64 - TRACE_THREAD_SHIFT),
	       "one slot a hash");

static inline uint64_t
hot_trace_hash(uint64_t pointer)
{
	return pointer * UINT64_C(0x9e3779b97f4a7c15) >> TRACE_THREAD_SHIFT;
}

/* Where its first slot is another's; NULL: there is none. */
struct trace_thread *hot_trace_claim(uint64_t pointer);
/* A thread that the recording does not know yet. */
void hot_trace_meet(struct trace_turn turn, uint32_t tid);
/* The heartbeat is another. */
void hot_trace_renew(struct trace_area *a, uint64_t now);

static inline struct trace_thread *
hot_trace_thread(void)
{
	struct trace_thread *th;
	uint64_t pointer;

	__asm__("movq %%fs:0, %0" : "=r"(pointer));
	th = &hot_threads[hot_trace_hash(pointer)];
	return th->pointer == pointer ? th : hot_trace_claim(pointer);
}

/* One instruction: a handler sees all of it, or nothing. */
static inline void
hot_trace_end(const struct trace_turn *turn)
{
	__asm__ volatile("decl %0" : "+m"(turn->th->inside) : :
			 "memory", "cc");
}

static inline bool
hot_trace_is_leased(struct trace_area *a, uint64_t now)
{
	if (__builtin_expect(
		    __atomic_load_n(&a->beat, __ATOMIC_RELAXED) ==
		    __atomic_load_n(&a->seen_beat, __ATOMIC_RELAXED), true))
		return (int64_t)(now - __atomic_load_n(&a->seen_at,
						       __ATOMIC_RELAXED)) <
			(int64_t)a->lease_ticks;
	hot_trace_renew(a, now);
	return true;
}

/* Its number, as libc has it. */
static inline void
hot_trace_know(const struct trace_turn *turn)
{
	const struct trace_thread *th = turn->th;
	const uint32_t tid = *(const uint32_t *)
		(th->pointer + (uint64_t)(int64_t)turn->area->tid_offset);

	if (th->tid != tid || th->token != sonde_owner.token)
		hot_trace_meet(*turn, tid);
}

/* Why nothing is recorded. */
static inline enum trace_loss
hot_trace_hindrance(const struct trace_turn *turn, uint64_t now)
{
	if (!now)
		return TRACE_LOST_CONFINED;
	if (!hot_trace_is_leased(turn->area, now))
		return TRACE_LOST_LEASE;
	hot_trace_know(turn);
	return hot_has_room(turn) ? TRACE_LOSSES : TRACE_LOST_STACK;
}

/* now: ticks, of this moment or one before; 0: nobody knows. false: nothing is
 * recorded, and _end is not called. */
static inline __attribute__((always_inline)) bool
hot_trace_begin(struct trace_turn *turn, enum trace_family family, uint64_t now)
{
	const struct guest_origin *origin;

	turn->th = hot_trace_thread();
	if (!turn->th)
		return false;
	__asm__ volatile("incl %0" : "+m"(turn->th->inside) : :
			 "memory", "cc");
	origin = __atomic_load_n(&guest.origin, __ATOMIC_ACQUIRE);
	turn->area = origin ? __atomic_load_n(&origin->trace,
					      __ATOMIC_ACQUIRE) : NULL;
	if (turn->area && __atomic_load_n(&turn->area->on, __ATOMIC_RELAXED) &
	    1u << family) {
		const enum trace_loss why = hot_trace_hindrance(turn, now);

		if (__builtin_expect(why == TRACE_LOSSES, true))
			return true;
		__atomic_fetch_add(&turn->area->lost[why], 1,
				   __ATOMIC_RELAXED);
	}
	hot_trace_end(turn);
	return false;
}

/* A record of n words behind its head. */
static inline __attribute__((always_inline)) void
hot_trace_write(const struct trace_turn *turn, enum trace_kind kind,
		enum trace_function function, const uint64_t *words,
		uint32_t n)
{
	uint64_t *to = hot_chunk_reserve(turn, n + 1);
	uint32_t i;

	if (!to)
		return;
	for (i = 0; i < n; i++)
		to[i + 1] = words[i];
	__atomic_store_n(to, trace_head(kind, n + 1, function),
			 __ATOMIC_RELEASE);
}

/* Nobody is between trace_begin and trace_end, or comes out of there. */
bool hot_trace_is_quiet(void);
/* Nothing is traced: whoever seems to be inside at each look is not. */
void hot_trace_look(bool first);

/* ---- hot_sampled.c ------------------------------------------------------- */

enum { TRACE_SAMPLED_BITS = 14,
       TRACE_SAMPLED_COUNTS = 1 << TRACE_SAMPLED_BITS };

extern uint64_t hot_sample_bytes;	/* as in the area */
extern uint8_t hot_sampled[TRACE_SAMPLED_COUNTS];

static inline uint64_t
hot_sample_hash(uint64_t address)
{
	return address * UINT64_C(0x9e3779b97f4a7c15) >>
		(64 - TRACE_SAMPLED_BITS);
}

/* No byte of the block is chosen. One of no bytes has one here. */
static inline bool
hot_sample_passes(uint64_t size)
{
	struct trace_thread *th = hot_trace_thread();
	const int64_t bytes = (int64_t)(size ? size : 1);
	int64_t until = -bytes;

	if (!th)
		return false;
	/* one instruction: a handler may come in between */
	__asm__ volatile("xaddq %0, %1" : "+r"(until), "+m"(th->until)
			 : : "memory", "cc");
	return until > bytes;
}

/* May it be a block that was chosen? */
static inline bool
hot_sample_may_have(const void *p)
{
	return __atomic_load_n(&hot_sampled[hot_sample_hash((uint64_t)p)],
			       __ATOMIC_RELAXED) != 0;
}

void hot_sample_start(uint64_t bytes);
/* A block that did not pass: is it to be recorded? */
bool hot_sample_choose(const struct trace_turn *turn, const void *p,
		       uint64_t size);
/* Was it one? Then it is none any more. */
bool hot_sample_drop(const struct trace_turn *turn, const void *p);
/* The same, by itself; when that was, or 0: it was none. */
uint64_t hot_sample_take(const void *p);
/* What was taken is one still. */
void hot_sample_give_back(const void *p);

/* ---- hot_trail.c --------------------------------------------------------- */

/* The id of the caller's stack, which is written if it is new. */
uint64_t hot_trace_stack(struct trace_turn *turn,
			 const struct trace_caller *caller);

/* ---- hot_heap.c, hot_sync.c, hot_io.c ------------------------------------ */

/* NULL: hooks call it, nothing is in its place. */
void *hot_heap_hook(enum trace_function function);
void *hot_sync_hook(enum trace_function function);
void *hot_io_hook(enum trace_function function);
/* Before hooks of this area are bound. */
void hot_sync_begin(const struct trace_area *a);
/* What they stand before. Hooks may be called for ever: it stays. */
extern void *hot_originals[TRACE_FUNCTIONS];

/* ---- trace.c ------------------------------------------------------------- */

/* Map the trace area behind call->fd, and bind what is wanted in it. */
int64_t trace_begin(const struct collector_call *call);
/* The slots that are wanted lead to hooks; results are in the patches. */
int64_t trace_bind(void);
/* May eight bytes be read there? */
bool trace_is_readable(uint64_t address);
/* Slots as they were; hooks that are still called pass through; the area goes.
 * -EBUSY: a thread does not come out of it. */
int64_t trace_end(const struct collector_call *call);
/* Slots as they were that others have left, by an area of its own. */
int64_t trace_unhook(const struct collector_call *call);
/* No hook uses what guest.origin led to, which is NULL by now. */
bool trace_is_left(const struct collector_call *call);
/* Shall children have what hooks use? A thread is inside one. */
void trace_share(bool with_children);
/* In a fork's child: all that was the parent's. */
void trace_forget(const struct collector_call *call);

/* ---- trace_names.c ------------------------------------------------------- */

/* What the loader finds by name from now on are hooks; and no more. */
void trace_names_in(struct trace_area *a);
void trace_names_out(void);

#pragma GCC visibility pop

#endif
