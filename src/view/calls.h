/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * What views of traced calls share: lists of stacks, the sentence where nothing
 * was traced, and what is not known of the calls.
 */
#ifndef VIEW_CALLS_H
#define VIEW_CALLS_H

#include "private.h"
#include "traced.h"

/* ---- stack_list.c ------------------------------------------------------ */

enum { STACK_VALUES = 10 };

struct stack_entry {
	const char *what;	/* "Leak": it has a number behind it */
	uint32_t stack;
	uint64_t values[STACK_VALUES];
};

struct stack_list {
	const char *title;
	const char *notes;	/* lines about all of them; "" for none */
	struct column columns[STACK_VALUES];	/* their headings stay the
						 * caller's */
	size_t columns_len;
	size_t always;		/* the first ones; others are not said of
				 * entries where they are zero */
	struct stack_entry *items;
	size_t len, cap;
};

void stack_list_add(struct stack_list *list, struct stack_entry entry);
/* By these values, the first that differ; the largest first. */
void stack_list_sort(struct stack_list *list, size_t first, size_t second);
/* As many as the limit says. */
void stack_list_write(struct viewer *v, const struct stack_list *list,
		      FILE *out);
void stack_list_fini(struct stack_list *list);
/* The function that asked the allocator, in a stack; NULL: not known. */
const char *stack_caller(struct viewer *v, uint32_t stack);
/* Is it where libc makes the buffer of a FILE? */
bool stack_is_stdio(struct viewer *v, uint32_t stack);

/* ---- header_stacks.c --------------------------------------------------- */

/* The end of the header of one experiment. */
void header_stacks(const struct viewer *v, size_t e, FILE *out);

/* ---- lost.c ------------------------------------------------------------- */

/* No experiment has records of that kind that count: the sentence that says so
 * and what to record with has been written. In tables for programs it is a
 * note beside a table without rows: false, and the other function adds it. */
bool nothing_traced(struct viewer *v, enum metric_kind kind, FILE *out);
void nothing_traced_add(struct viewer *v, enum metric_kind kind,
			struct str *notes);
/* Lines beside a table: in one for programs they would be rows. */
void notes_write(struct viewer *v, const char *notes, FILE *out);
/* Why there is no packet of that kind, and what to record with. */
void nothing_of_kind(const struct viewer *v, size_t experiment,
		     enum metric_kind kind, FILE *out);
/* Calls that were not recorded, by cause, as the log says. */
struct calls_lost {
	bool told;
	bool heap_traced, sync_traced, io_traced;	/* though none came */
	bool slots_told;
	bool by_kind;		/* of slots: so many of each */
	uint64_t heap_slots, sync_slots, io_slots;
	uint64_t heap_unseen, sync_unseen, io_unseen;	/* slots without hook */
	uint64_t calls, slots, others, refused, full, lease, disk, confined, tight;
	uint64_t paused_ns;	/* that long calls were not recorded */
	uint64_t waited_ns, wait_ms;	/* for room; each at most */
	uint64_t short_waits;	/* below the threshold: counted only */
	bool heap_of_program;	/* the program itself had slots for it */
	bool io_told, io_unknown;
	/* Bytes by the kernel's count, and those of traced calls. */
	uint64_t read, written, traced_read, traced_written;
	uint64_t stream_read, stream_written;	/* by calls of stdio */
};
struct calls_lost calls_lost(const struct experiment_reader *rd);
/* The sentences about experiments whose list of calls is not whole. */
void calls_lost_add(const struct viewer *v, const char *so_what,
		    struct str *notes);
/* The sentence about slots that lead to no hook. */
void calls_unseen_add(const struct viewer *v, enum metric_kind kind,
		      struct str *notes);
/* The sentence about allocators that the program has of its own. */
void calls_hidden_heap_add(const struct viewer *v, struct str *notes);
/* The sentence about bytes that passed no traced call. */
void calls_untraced_add(const struct calls_lost *calls, struct str *notes);
void calls_untraced_add_all(const struct viewer *v, struct str *notes);

/* ---- heap.c ------------------------------------------------------------- */

/* "leaked at exit: ..." */
const char *heap_end_words(enum traced_end end);
/* What makes the numbers of the heap less than the truth. */
void heap_notes(struct viewer *v, const struct traced_heap *heap,
		struct str *notes);
/* The heap as it was traced; NULL: *rc says whether that is a failure. */
struct traced_heap *heap_begin(struct viewer *v, size_t n,
			       const char *const *words, FILE *out, int *rc);

/* ---- io.c --------------------------------------------------------------- */

/* As heap_begin. */
struct traced_files *io_begin(struct viewer *v, size_t n,
			      const char *const *words, FILE *out, int *rc);

#endif
