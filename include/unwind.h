/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * unwind: stacks from copies. CFI of each load object is compiled to rows
 * (compile.c), looked up and cached (table.c), applied by the pure step
 * (step.c); where a step fails, libunwind-ptrace over the same copied memory
 * takes over (full.c). Nothing here touches a process.
 */
#ifndef SONDE_UNWIND_H
#define SONDE_UNWIND_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "arch.h"
#include "step.h"

/* The image of one ELF file; shared by all its mappings; compiled on first
 * use. Reference counted: the space holds its own references. */
struct unwind_object;

/* Takes fd (closed with the object). The file's layout is used. NULL on
 * failure. name is for messages and is copied. */
struct unwind_object *unwind_object_open(int fd, const char *name);
/* Takes image (malloc'ed): bytes of memory as loaded at address `loaded`
 * (vdso, or an ELF whose file is gone). */
struct unwind_object *unwind_object_memory(void *image, size_t size,
					   uint64_t loaded, const char *name);
void unwind_object_free(struct unwind_object *obj);	/* drop a reference */

/* Rows of the whole object, compiled now if need be. The view lives as long
 * as the object. count 0: there is no usable CFI. */
const struct step_row *unwind_object_rows(struct unwind_object *obj,
					  uint32_t *count);
/* The ELF virtual address that is row pc 0. */
uint64_t unwind_object_base(struct unwind_object *obj);

/* What is mapped where in one process, for unwinding. */
struct unwind_space;

struct unwind_space *unwind_space_new(void);
void unwind_space_free(struct unwind_space *space);
/* [start, end) now maps obj from file offset `offset` (for a memory object
 * the offset is ignored). Overlapped ranges are cut or split. obj may be NULL
 * (JIT code, anonymous memory: frame pointers only). */
void unwind_space_map(struct unwind_space *space, uint64_t start, uint64_t end,
		      uint64_t offset, struct unwind_object *obj);
void unwind_space_unmap(struct unwind_space *space, uint64_t start,
			uint64_t end);
/* For publishing to the guest: compiles everything, then gives the sorted
 * ranges; `rows` of each is a pointer. Valid until the next map/unmap. */
const struct step_tables *unwind_space_tables(struct unwind_space *space);
/* Grows with each map and unmap. */
uint64_t unwind_space_changes(const struct unwind_space *space);

enum unwind_end {
	UNWIND_COMPLETE,	/* the outermost frame was reached */
	UNWIND_TRUNCATED,	/* the copied stack ended first */
	UNWIND_TOO_DEEP,	/* more frames than asked for */
	UNWIND_FAILED,		/* no engine could go on */
};

/* Reads target memory outside the window (file-backed text and data are
 * served from images already). NULL: nothing else is readable. */
typedef int (*unwind_memory)(void *arg, uint64_t addr, void *buf, size_t n);

struct unwind_trace {
	uint64_t *pcs;		/* leaf first; the leaf is exact; a caller is
				 * the address of its call instruction; an
				 * interrupted frame below a signal frame is
				 * exact. Grown as needed; freed by _fini. */
	size_t len, cap;
	enum unwind_end end;
	bool above;		/* truncated, and the caller's frame is known
				 * to lie above the window */
	uint32_t full_steps;	/* frames that needed the second engine */
	uint32_t failed_steps;	/* table steps that failed */
};

/* An unwind_memory: arg is a struct step_stack, a second piece of the same
 * copy: of the stack that a handler on an alternate one interrupted. */
int unwind_read_piece(void *arg, uint64_t addr, void *buf, size_t n);

void unwind_trace_fini(struct unwind_trace *trace);

/* Walk from regs through the window. Keeps what was found in trace. */
void unwind_walk(struct unwind_space *space, const struct arch_regs *regs,
		 const struct step_stack *stack, unwind_memory memory,
		 void *arg, size_t max_frames, struct unwind_trace *trace);
/* The same for a thread that waits, of which no more is known: a frame
 * pointer that is missing is looked for in the window. */
void unwind_walk_waiting(struct unwind_space *space, uint64_t pc, uint64_t sp,
			 const struct step_stack *stack, unwind_memory memory,
			 void *arg, size_t max_frames,
			 struct unwind_trace *trace);
/* The same with libunwind-ptrace alone: second engine and judge. */
void unwind_walk_full(struct unwind_space *space, const struct arch_regs *regs,
		      const struct step_stack *stack, unwind_memory memory,
		      void *arg, size_t max_frames, struct unwind_trace *trace);
/* Was a caller left out between a leaf at pc and the return address that its
 * frame pointer led to? It is, if the leaf has no unwind data and is not what
 * was called there. */
bool unwind_skips_caller(struct unwind_space *space, uint64_t pc,
			 uint64_t ret);
/* Address of the call instruction before a return address (return address
 * - 1 where that is ambiguous). */
uint64_t unwind_call_address(struct unwind_space *space, uint64_t ret);

#endif
