/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * What is learnt of the target by reading alone, before anything is begun: a
 * plan.
 */
#ifndef SONDE_INJECT_PLAN_H
#define SONDE_INJECT_PLAN_H

#include "base.h"
#include "inject.h"
#include "record.h"
#include "symbol.h"

/* ---- look.c -------------------------------------------------------------- */

/* Memory of the target, read once. */
struct look {
	struct target *t;
	struct map pages;	/* address -> our copy */
	struct collector_moved *moved;	/* what a guest has changed */
	size_t nmoved, moved_cap;
};

int look_read(struct look *k, uint64_t addr, void *buf, size_t n);
/* From here on values of symbols are what they are without the guest whose
 * books are there. */
void look_without(struct look *k, uint64_t books);
void look_fini(struct look *k);

/* ---- locate.c: load objects as the target's memory shows them ------------ */

struct image {
	uint64_t header;	/* where its ELF header is mapped */
	uint64_t bias, dynamic, entry;
	uint64_t text, text_end;
	uint64_t symtab, strtab, strsz, gnu_hash, hash, verdef;
	uint64_t verneed, versym;
	uint64_t debug;		/* value of DT_DEBUG */
	uint64_t tls_image, tls_filesz, tls_memsz, tls_align;
	uint64_t link_map;	/* 0: none */
	uint64_t tls_module, tls_offset;	/* static TLS; 0: it has none */
	bool has_interp;
};

enum { SYMBOL_VERSIONS = 4 };

struct symbol_at {
	uint64_t addr, size;
	uint32_t index;		/* in the symbol table */
	uint32_t all[SYMBOL_VERSIONS], nall;	/* of the name, but for some */
	bool older;		/* there is an older one, elsewhere */
	bool chosen;		/* by a function of its own, at run time */
};

/* The image whose ELF header is mapped at `header`. */
int locate_image(struct look *k, uint64_t header, struct image *img);
/* A defined dynamic symbol, by the image's hash tables: of its versions the
 * default one, where there is one. */
bool locate_symbol(struct look *k, const struct image *img, const char *name,
		   struct symbol_at *out);
/* Its address, or 0. */
uint64_t locate_address(struct look *k, const struct image *img,
			const char *name);
/* The highest minor version among GLIBC_2.n definitions, 0: none. */
unsigned locate_glibc_minor(struct look *k, const struct image *img);
/* Where bytes stand in the image's text; 0: nowhere. */
uint64_t locate_code(struct target *t, const struct image *img,
			 const void *code, size_t n);
/* The start of the file mapping that `inside` belongs to. */
uint64_t mapping_header(const struct modules *mods, uint64_t inside);

/* ---- versions.c: of symbols ---------------------------------------------- */

/* Nobody gets it who does not ask for its version. */
bool version_is_hidden(struct look *k, const struct image *img, uint32_t index);
/* Where the name of a defined symbol's version is; 0: it has none. */
uint64_t version_of(struct look *k, const struct image *img, uint32_t index);
/* The same, of a symbol that the image wants of others. */
uint64_t version_wanted(struct look *k, const struct image *img,
			uint32_t index);
/* Have these two names the same text? */
bool version_is(struct look *k, uint64_t a, uint64_t b);

/* ---- preflight.c --------------------------------------------------------- */

enum { PLAN_IMAGES_MAX = 4096 };

struct plan {
	struct target *t;
	struct look *look;
	struct modules mods;
	struct image *images;	/* main namespace, in link-map order */
	size_t nimages;
	struct image libc, ldso;
	unsigned glibc_minor;
	char libc_name[24];
	bool single;		/* libc believes there is one thread */
	bool loading;		/* ... and it stands while the loader works */
	bool by_hand;		/* nothing of libc is called: by_hand.c */
	const char *runtime;	/* why, where it is not libc; NULL: it is */
	bool standing;		/* the donor itself calls our library */
	bool seccomp, strict;
	bool leaves;		/* we are there, and go: nothing is asked */
	uint64_t dlopen, dlopen_flags, dlerror;
	uint64_t pthread_create, attr_init, attr_setstack, attr_setdetach;
	uint64_t ctype_init, single_flag;
	uint64_t debug;		/* struct r_debug */
	uint64_t thread_keys, call_tls_dtors;
	uint32_t sizeof_pthread, off_tid, off_list, off_specific;
	uint32_t off_modid, off_tlsoff;
	pid_t number_there;	/* at off_tid of a thread that has another
				 * number; 0: it is right */
	int64_t rseq_offset;	/* 0: none */
	uint64_t gadget;	/* syscall; ret */
	uint64_t restore_rt;	/* mov $15, %rax; syscall */
	uint64_t vdso_clock;
	struct main_stack main_stack;	/* zeros: none is known */
	uint64_t library;	/* bias of our library when it is there */
	uint64_t library_entry, library_leave, library_name;
	uint64_t library_map;	/* its link map */
	/* The signal that ticks; one that our handler was left in place for
	 * by an owner who has ended; who gets no ticks. 0: not chosen yet */
	int signo, signal_left;
	uint32_t ndeaf, deaf[RECORD_DEAF];
	pid_t helper;		/* ours, which is nobody's donor; 0: none */
	pid_t files_of;		/* whose descriptors a donor must have; 0: any */
	const struct step_tables *tables;	/* of all of it, when given */
};

int plan_make(struct target *t, struct plan *p);
void plan_fini(struct plan *p);
/* No function is called on a thread of our making, and why. -1 */
int plan_refuse_call(const struct plan *p);
/* FAIL_UNSUITABLE, with the other engine as remedy. */
int plan_refuse(const char *reason);
int plan_not_begun(void);
/* As the option of a verb, and as a command. */
#define PLAN_ENGINE_RING "--engine ring (in the shell: collector engine ring)"
#define PLAN_OTHER_ENGINE PLAN_ENGINE_RING " loads nothing"

/* ---- idle.c -------------------------------------------------------------- */

int plan_choose_signal(struct plan *p);
/* FAIL_UNSUITABLE; why says what the program does with the signals. */
int plan_refuse_signal(const struct plan *p, const char *why);

/* ---- room.c -------------------------------------------------------------- */

/* Has it room for what we bring, and `bytes` more of address space? Refuses by
 * the name of the limit, before anything is begun. */
int room_check(struct target *t, uint64_t bytes);
/* And for a timer of each thread? */
int room_check_timers(struct target *t);

/* ---- objects.c ----------------------------------------------------------- */

/* The head of the main namespace's link maps, 0: there is no ld.so. */
uint64_t plan_link_maps(struct plan *p);
/* Its dynamic loader is setting up the program, or adding to it. */
bool plan_loader_works(const struct plan *p);
/* The load objects of these link maps. */
int plan_walk_links(struct plan *p, uint64_t head);
/* Refuse for want of link maps. */
int plan_no_loader(const struct plan *p);
/* Where our library is, when it is there already. */
void plan_find_library(struct plan *p);
/* Calls are for the library whose entry this is: of another build, perhaps,
 * that understands the same commands. false: there is none. */
bool plan_choose_library(struct plan *p, uint64_t entry);
/* Is there one that may understand others, and keeps its books otherwise? */
bool plan_has_other_version(const struct plan *p);
/* The name by which it was preloaded becomes its own. The target is held. */
int plan_rename_library(const struct plan *p);

/* ---- libc.c -------------------------------------------------------------- */

int plan_read_libc(struct plan *p);
/* Which one it is, and what of it was checked; the caller frees it. */
char *plan_describe_libc(const struct plan *p);

#endif
