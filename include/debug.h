/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * debug: what debug information says about a stopped program: frames with all
 * their registers, variables, types, C and C++ expressions. It knows no
 * session: the program is a handful of functions that read and write it, so
 * the same code looks at a live process and at a core file (core_* below).
 *
 * It meets hostile debug data and hostile memory, and so never lives in the
 * tracer. All sizes of output are bounded. Text is what gdb would say.
 *
 * Functions give 0, or -1 and a failure recorded by fail().
 */
#ifndef SONDE_DEBUG_H
#define SONDE_DEBUG_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "arch.h"
#include "base.h"

struct symfile;

/* ---- the program ---- */

enum { DEBUG_VECTORS = 32, DEBUG_HIGHS = 16, DEBUG_X87 = 8, DEBUG_SEGMENTS = 6 };

struct debug_regs {
	struct arch_regs general;	/* by DWARF's numbers */
	bool extra_known;		/* the next ones */
	uint64_t flags;			/* eflags, pstate */
	uint64_t segment[DEBUG_SEGMENTS];	/* cs ss ds es fs gs */
	uint64_t thread_pointer;	/* fs_base, tpidr */
	uint64_t gs_base;
	bool vectors_known;		/* the next ones */
	uint8_t vector[DEBUG_VECTORS][16];
	bool highs_known;		/* see debug_target.highs */
	uint8_t high[DEBUG_HIGHS][16];	/* upper halves of ymm */
	uint8_t x87[DEBUG_X87][10];
	uint32_t control[8];		/* fctrl fstat ftag fiseg fioff foseg
					 * fooff fop; aarch64: fpsr fpcr */
	uint32_t mxcsr;
};

struct debug_object {
	const char *path;	/* the file to read; "" with an image */
	const char *shown;	/* the path that the program knows */
	const char *prefix;	/* where separate debug files are sought first:
				 * "" or /proc/PID/root */
	uint64_t start, end;	/* what is mapped of it, end exclusive */
	uint64_t bias;		/* address in memory - ELF virtual address */
	const void *image;	/* of the vdso; NULL: path is read */
	size_t image_size;
	struct symfile *symbols;	/* borrowed; NULL: opened here */
};

/* A function call in the program: integer arguments and floating ones by the
 * machine's convention, those that found no register on the stack. */
enum { DEBUG_CALL_INTS = 8, DEBUG_CALL_FLOATS = 8, DEBUG_CALL_STACK = 32 };

struct debug_call {
	uint64_t function;
	uint64_t ints[DEBUG_CALL_INTS];
	uint64_t floats[DEBUG_CALL_FLOATS];
	uint64_t stack[DEBUG_CALL_STACK];
	size_t int_count, float_count, stack_count;
	/* Strings of the expression. Bit i: argument i is a place in there. */
	const unsigned char *data;
	size_t data_size;
	uint32_t data_ints, data_stack;
	bool real;			/* the result is floating */
	uint64_t result[2];		/* rax, rdx; x0, x1 */
	uint64_t float_result[2];	/* low halves of xmm0, xmm1; d0, d1 */
	uint8_t x87_result[2][16];	/* st(0), st(1), of 10 bytes */
};

/* All of them get arg. Those of the second group may be NULL: then it cannot
 * be done. -1: a failure was recorded. */
struct debug_target {
	/* All n bytes or -1; the failure that it records is replaced. */
	int (*read)(void *arg, uint64_t addr, void *buf, size_t n);
	/* Of the thread, in its innermost frame. */
	int (*registers)(void *arg, struct debug_regs *out);
	/* Adds those that few ask for; NULL: there are no more. */
	int (*highs)(void *arg, struct debug_regs *out);
	/* Load objects, the program itself first; live until debug_changed. */
	const struct debug_object *(*objects)(void *arg, size_t *count);

	int (*write)(void *arg, uint64_t addr, const void *buf, size_t n);
	/* By DWARF's number; n bytes of it. */
	int (*set_register)(void *arg, int reg, const void *bytes, size_t n);
	int (*call)(void *arg, struct debug_call *call);
};

struct debug;

/* target and arg must live as long. */
struct debug *debug_new(const struct debug_target *target, void *arg);
void debug_free(struct debug *d);
/* What $name is that is no register, to whoever asks the questions: a number
 * or any other word, which lives until the next is asked for; NULL: it has
 * none, and the name is free for a variable of expressions. Such a variable is
 * not assigned to. value may ask for frames of d. */
typedef const char *debug_variable(void *arg, const char *name);
void debug_set_variables(struct debug *d, debug_variable *value, void *arg);
/* The program ran, another thread is meant, or the list of objects is a new
 * one: registers, frames and objects are asked for again, frame 0 is selected.
 * Debug information of objects that are still there stays. */
void debug_changed(struct debug *d);

/* ---- live.c: registers as ptrace(2) has them ---- */

/* Of NT_PRSTATUS and NT_FPREGSET (m 0: not known). */
void debug_regs_of_thread(const void *general, size_t n, const void *floats,
			  size_t m, struct debug_regs *out);
/* Upper halves of vectors, of the set of that type; 0: the machine has none. */
unsigned debug_regs_highs_type(void);
void debug_regs_highs(const void *set, size_t n, struct debug_regs *out);
/* Set one, by DWARF's number, in NT_PRSTATUS of size bytes. false: it is not
 * there. */
bool debug_regs_to_thread(int reg, const void *bytes, size_t n, void *general,
			  size_t size);

/* Does a function that is called leave it as it was? */
bool debug_is_preserved(int reg);

/* ---- frames ---- */

struct debug_frame {
	uint64_t pc;
	uint64_t cfa;		/* 0: not known */
	const char *function;	/* for people; NULL: not known; lives until
				 * debug_changed */
	const char *file;	/* NULL: not known */
	int line;
	const char *object;	/* shown path; NULL: in no load object */
	uint64_t offset;	/* of pc in the function */
	bool inlined;		/* into the frame around it */
	bool signal;		/* the kernel called a handler here */
	bool exact;		/* pc is no return address */
};

/* How many there are, at most max; inlined functions are frames of their own.
 * 0: the registers cannot be read. */
size_t debug_frames(struct debug *d, size_t max);
/* Frame n, 0 is innermost; -1: there is no such. */
int debug_frame(struct debug *d, size_t n, struct debug_frame *out);
/* Which frame names and registers are of. */
int debug_select(struct debug *d, size_t n);
size_t debug_selected(const struct debug *d);
/* "main (argc=1, argv=0x7ffe) at main.c:12"; without the number. */
int debug_frame_text(struct debug *d, size_t n, struct str *out);
/* Value of a general register in frame n by DWARF's number; -1: it was not
 * saved. */
int debug_register(struct debug *d, size_t n, int reg, uint64_t *value);

/* ---- expressions: each appends lines to out, in the selected frame ---- */

/* What `print` shows. format: 0, or x d u o t c f s a z. An assignment and a
 * call in the expression are done. */
int debug_print(struct debug *d, const char *text, char format,
		struct str *out);
/* "type = int"; of an expression or a type's name. */
int debug_whatis(struct debug *d, const char *text, struct str *out);
/* The same with typedefs resolved and members of structs. */
int debug_ptype(struct debug *d, const char *text, struct str *out);
/* A line for each thing of that name in the program. */
int debug_whereis(struct debug *d, const char *name, struct str *out);
/* The line of the one that an expression means, but for variables of blocks. */
int debug_which(struct debug *d, const char *name, struct str *out);
/* Where the code of a function is, and its line; file NULL: not known. Its name
 * need not be whole; start 0: it is only where it was inlined. */
struct debug_code {
	uint64_t start, size;
	const char *name;	/* that it is linked by, or has in the source;
				 * lives until debug_changed */
	const char *file;
	int line;
};
int debug_function(struct debug *d, const char *name, struct debug_code *out);
/* Parameters, then local variables, innermost block first. */
int debug_arguments(struct debug *d, struct str *out);
int debug_locals(struct debug *d, struct str *out);
int debug_dump(struct debug *d, struct str *out);
/* left = right. */
int debug_assign(struct debug *d, const char *left, const char *right);
/* For conditions: is it other than zero? */
int debug_truth(struct debug *d, const char *text, bool *truth);
int debug_number(struct debug *d, const char *text, int64_t *number);
/* The same question as a program, for hits at the pc where the thread stands
 * now; it has the same answer now. false: it is none that can be one (no
 * failure). */
bool debug_condition(struct debug *d, const char *text,
		     struct condition *out);
/* The same of where the function returns to whose frame is innermost; that is
 * `now` this time. */
bool debug_return_address(struct debug *d, uint64_t now,
			  struct condition *out);
/* Where an lvalue lies, or what a pointer or a number says, or where a function
 * begins; size: of the object there in bytes, 1 when it has none. */
int debug_address(struct debug *d, const char *text, uint64_t *addr,
		  uint64_t *size);
/* What is to be watched: an lvalue; or what the address in a pointer or number
 * is of, that is no lvalue, or any pointer where `follow`. */
struct debug_data {
	uint64_t addr, size;	/* size 0: not known */
	bool pointed;		/* it is *(text), not text itself */
};
int debug_data(struct debug *d, const char *text, bool follow,
	       struct debug_data *out);

/* Memory from an address on. format: x d u o t c f a s i; size 1, 2, 4 or 8
 * bytes (0: the format's own). *next: behind what was shown. */
int debug_examine(struct debug *d, uint64_t addr, size_t count, char format,
		  unsigned size, struct str *out, uint64_t *next);

/* How a line of that begins: an address, what is there, a colon. */
void debug_examined(struct debug *d, uint64_t addr, struct str *out);

enum debug_reg_set { DEBUG_GENERAL, DEBUG_FLOATS, DEBUG_ALL };
/* Registers of the selected frame as gdb lists them. */
int debug_registers(struct debug *d, enum debug_reg_set set, struct str *out);

/* ---- core.c: a core file as such a program ---- */

struct core;

struct core_thread {
	pid_t tid;
	int signal;		/* that it stood with; 0: none */
};

/* program: the file that ran, NULL: the core says which. -1 is NULL and a
 * failure. */
struct core *core_open(const char *path, const char *program);
/* A program's file as a core without threads: what memory has before it runs,
 * at the addresses that the file wants. NULL as above. */
struct core *core_of_program(const char *path);
void core_free(struct core *core);
/* What ran, as far as the core says; "" else. A view. */
const char *core_program(const struct core *core);
const char *core_command(const struct core *core);
pid_t core_pid(const struct core *core);
/* The signal that it died by; 0: none, it was not killed. addr: of the fault,
 * 0 where that says nothing. */
int core_signal(const struct core *core, uint64_t *addr);
size_t core_threads(const struct core *core);
const struct core_thread *core_thread(const struct core *core, size_t i);
/* Registers are those of thread i from now on; call debug_changed. */
int core_select(struct core *core, size_t i);
/* What does not fit between the core and the files, in one line; NULL. */
const char *core_trouble(const struct core *core);
/* To be given to debug_new, with the core as arg. */
extern const struct debug_target core_target;

#endif
