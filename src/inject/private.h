/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * What the files of this room share. A `plan` is everything that was learnt
 * by reading alone; a `borrow` is a thread that we hold with all it needs to
 * be put back; a `scratch` is the memory a call lives in, inside the target.
 */
#ifndef SONDE_INJECT_PRIVATE_H
#define SONDE_INJECT_PRIVATE_H

#include <signal.h>
#include <sys/user.h>

#include "base.h"
#include "collector.h"
#include "inject.h"
#include "symbol.h"

/* ---- look.c ---------------------------------------------------------------- */

/* Memory of the target, read once. */
struct look {
	struct target *t;
	struct map pages;	/* address -> our copy */
};

int look_read(struct look *k, uint64_t addr, void *buf, size_t n);
void look_fini(struct look *k);

/* ---- locate.c: load objects as the target's memory shows them ------------ */

struct image {
	uint64_t header;	/* where its ELF header is mapped */
	uint64_t bias, dynamic, entry;
	uint64_t text, text_end;
	uint64_t symtab, strtab, strsz, gnu_hash, hash, verdef;
	uint64_t debug;		/* value of DT_DEBUG */
	uint64_t tls_image, tls_filesz, tls_memsz, tls_align;
	uint64_t link_map;	/* 0: none */
	uint64_t tls_module, tls_offset;	/* static TLS; 0: it has none */
	bool has_interp;
};

struct symbol_at {
	uint64_t addr, size;
};

/* The image whose ELF header is mapped at `header`. */
int locate_image(struct look *k, uint64_t header, struct image *img);
/* A defined dynamic symbol, by the image's hash tables. */
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

/* ---- preflight.c ----------------------------------------------------------- */

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
	bool by_hand;		/* nothing of libc is called: by_hand.c */
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
	int64_t rseq_offset;	/* 0: none */
	uint64_t gadget;	/* syscall; ret */
	uint64_t restore_rt;	/* mov $15, %rax; syscall */
	uint64_t vdso_clock;
	uint64_t main_stack_end, main_stack_floor;
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
/* FAIL_UNSUITABLE, with the other engine as remedy. */
int plan_refuse(const char *reason);
/* As the option of a verb, and as a command. */
#define PLAN_ENGINE_RING "--engine ring (in the shell: collector engine ring)"
#define PLAN_OTHER_ENGINE PLAN_ENGINE_RING " loads nothing"

/* ---- idle.c ---------------------------------------------------------------- */

int plan_choose_signal(struct plan *p);
/* FAIL_UNSUITABLE; why says what the program does with the signals. */
int plan_refuse_signal(const struct plan *p, const char *why);

/* ---- room.c ---------------------------------------------------------------- */

/* Has it room for what we bring, and `bytes` more of address space? Refuses by
 * the name of the limit, before anything is begun. */
int room_check(struct target *t, uint64_t bytes);
/* And for a timer of each thread? */
int room_check_timers(struct target *t);

/* ---- objects.c ------------------------------------------------------------- */

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

struct errand;

/* ---- by_hand.c --------------------------------------------------------------- */

#define LIBRARY_NAME "sonde-collector"	/* of the memfd */

/* What was mapped by hand joins the plan's images. */
void by_hand_list(struct plan *p);
/* Map the library from block.library_fd; sets plan->library and
 * block.function. The helper stands. */
int by_hand_load(struct errand *e, pid_t helper,
		 const struct user_regs_struct *regs);
/* Find off_tid by a thread whose thread pointer is known. */
int by_hand_find_tid(struct plan *p, pid_t tid, uint64_t tp);

/* ---- libc.c ---------------------------------------------------------------- */

int plan_read_libc(struct plan *p);

/* ---- call.c: a thread that we borrow ---------------------------------------- */

enum { XSTATE_MAX = 16384, KEPT_SIGNALS = 64 };

struct borrow {
	const struct plan *p;
	struct held held;
	struct user_regs_struct regs;	/* what it gets back */
	unsigned char xstate[XSTATE_MAX];
	size_t xstate_size;
	uint64_t mask;
	uint64_t frame;		/* sp while it works for us; 0: none */
	struct urgent scheduled;	/* as it was; 0: left alone */
	siginfo_t kept[KEPT_SIGNALS];
	unsigned nkept;
	bool masked, restarted, rseq_aborted;
	bool in_clone;		/* it stands at the event of its clone */
};

/* After thread_hold: save what it has. It has not changed yet. */
int borrow_save(struct borrow *b);
/* Write a frame from which the kernel restores the thread by itself, below
 * its stack where that is known to be one, else at `room` (0: nowhere). */
int borrow_write_frame(struct borrow *b, uint64_t room, size_t room_size);
/* Is there room for `need` bytes below sp on what is surely a stack? */
bool borrow_stack_is_plain(const struct plan *p, uint64_t sp, uint64_t need);
/* Its registers and mask become fit for calls; *regs are good for
 * remote_syscall. */
int borrow_begin(struct borrow *b, struct user_regs_struct *regs);
/* A system call by the borrowed thread. child: of clone. */
int borrow_syscall(struct borrow *b, long nr, const uint64_t args[6],
		   int64_t *result, pid_t *child);
/* Put everything back at a stop from which the kernel restarts what it
 * interrupted, and let go. */
int borrow_return(struct borrow *b, struct inject_report *report);

/* One system call of any stopped thread of ours, at the gadget, with the
 * registers of `regs` (whose sp must hold a sound return address). */
int remote_syscall(const struct plan *p, pid_t tid,
		   const struct user_regs_struct *regs, long nr,
		   const uint64_t args[6], int64_t *result, pid_t *child,
		   struct borrow *keep);
/* Run to the next entry or exit of a system call. */
int run_to_syscall_stop(pid_t tid, pid_t *child, struct borrow *keep);
/* All signals but those a thread raises itself. */
uint64_t maskable_signals(void);

/* ---- filter.c -------------------------------------------------------------- */

struct sock_filter;
/* Would this program of n instructions, as the kernel has it, do no more to a
 * call of ours than to refuse it? */
bool filter_spares(const struct sock_filter *f, size_t n);
/* All filters of a thread that we have stopped and that has some; else
 * FAIL_UNSUITABLE. */
int filter_check(pid_t tid);
int filter_refuse(void);

/* ---- donor.c ----------------------------------------------------------------- */

/* Hold a thread that is fit to work for us; in a single-threaded libc at a
 * point where nothing of libc is half done. */
int donor_take(struct plan *p, unsigned seed, struct borrow *b,
	       struct inject_report *report);

/* ---- safepoint.c ---------------------------------------------------------------- */

struct safepoint;

/* Tables of the whole target, before anything is stopped. */
struct safepoint *safepoint_open(const struct plan *p);
void safepoint_close(struct safepoint *sp);
/* Bring the held thread to a point where libc has nothing half done: 1 it
 * stands there, 0 not yet (let it run and try again), -1 failed. */
int safepoint_reach(struct safepoint *sp, struct held *h);

/* ---- helper.c, stub.c: the threads that do the work ----------------------- */

/* What the code in the target is told, and tells. stub.c knows the offsets. */
enum our_file { LIBRARY_FILE, AREA_FILE, OUR_FILES };

struct file_id {
	uint64_t dev, ino;	/* 0: unknown */
};

struct block {
	uint32_t state;
	int32_t create_error;
	int32_t library_fd, area_fd;
	uint64_t ctype_init, attr_init, attr_setstack, attr_setdetach;
	uint64_t pthread_create, stack, stack_size;
	uint64_t dlopen, dlopen_flags, dlerror, handle, base, entry_offset;
	uint64_t function, result, saved_sp;
	uint64_t pthread, tid_offset, leave, area, area_size;
	uint64_t args[6];
	uint64_t attr[8];
	char error[256];
	char path[128];
	/* What the helper's thread-specific data is forgotten with. */
	uint64_t specific_offset, thread_keys, call_tls_dtors;
	uint64_t then;		/* what the function gets next, 0: nothing */
	uint64_t name_offset;	/* of what the loader shall call the library */
	/* Where the kernel has put the helper's tid: is it over? */
	uint64_t helper_tid_at;
	uint64_t unblock;	/* signals that the thread must take */
	/* Behind library_fd and area_fd; another's is not closed. */
	struct file_id files[OUR_FILES];
};

/* libc's own, to every thread on its list: change your user as well. */
enum { SIGNAL_SETXID = 33 };

enum block_state {
	BLOCK_READY, BLOCK_STARTED, BLOCK_LOADING, BLOCK_CALLING, BLOCK_DONE,
	BLOCK_NOT_LOADED, BLOCK_WRONG_LIBRARY, BLOCK_CANCELLED,
	BLOCK_NO_THREAD, BLOCK_FAULTED,
};

enum { STUB_NOTIFY = 0x736e6465, STUB_BLOCK = 4096, THEN_AT = 512 };
extern const unsigned char stub_begin[], stub_end[];
extern const unsigned char stub_helper[], stub_thread[], stub_fault[];

/* Where things are in the scratch memory; offsets, but for `at`. */
struct scratch {
	uint64_t at;		/* 0: not mapped yet */
	size_t size;
	size_t call, then, frame, frame_size, stack_top;
	size_t tls, tls_size, tp;
	size_t thread_stack, thread_stack_size;
};

struct errand;
/* Called while the helper (or whoever makes the call) stands; regs are
 * good for remote_syscall. It may put descriptors made in the target into
 * block->area_fd, which are closed after the call. */
typedef int (*errand_prepare)(struct errand *e, pid_t tid,
			      const struct user_regs_struct *regs);

/* One call on a fresh real thread of the target. */
struct errand {
	struct plan *p;
	bool entry;		/* our library's entry: load it if need be */
	uint64_t function;	/* else this */
	uint64_t guest;		/* the library with this entry, 0: ours */
	uint64_t args[6];
	/* For the entry: copied into the target and back afterwards. `then`
	 * is for a second call right after one that gave 0; NULL: none. */
	struct collector_call *call, *then;
	errand_prepare prepare;	/* NULL: nothing */
	/* Work for us while the thread is busy loading; may not be called. */
	void (*meanwhile)(struct errand *e);
	void *arg;
	/* Of the whole target, for finding a safe point; NULL: to be made. */
	const struct step_tables *tables;
	struct inject_limits limits;
	unsigned seed;
	bool only_present;	/* load nothing: the library is there */
	bool leaves;		/* it takes away what is there */
	uint64_t room;		/* address space that the call takes */
	int64_t result;
	struct inject_report *report;

	/* While it runs. */
	struct scratch s;
	struct block block;
	uint64_t name_at;	/* there prepare may write a name */
	pid_t helper, thread;	/* 0: none, or gone */
	struct urgent scheduled; /* the helper as it was born; 0: left alone */
	bool at_bell;		/* the helper stands at its last call */
	bool left_behind;	/* the scratch must stay */
	char fault[64];		/* what a thread of ours did: "crashed" */
	uint64_t ended_ns;	/* the call was ended then; 0: not */
};

/* Sizes of everything; static TLS offsets are read from the link maps. */
int scratch_plan(struct plan *p, struct scratch *s);
/* Code, block, first stack word and TLS, into the mapped scratch. */
int scratch_write(const struct plan *p, const struct scratch *s,
		  const struct block *block, const struct collector_call *call,
		  uint64_t donor_tp);
/* What libc gave the helper (an arena, a cache) becomes the thread's, which
 * hands it back when it ends; the helper ends without libc's knowledge. */
int tls_hand_over(const struct plan *p, const struct scratch *s,
		  uint64_t thread_tp);
int errand_run(struct errand *e);

/* ---- birth.c --------------------------------------------------------------- */

/* The scratch and the helper, by a borrowed thread. */
int helper_make(struct errand *e);

/* ---- watch.c --------------------------------------------------------------- */

/* Until the thread exists (or cannot be made). The helper stands then. */
int helper_run_to_birth(struct errand *e);
/* Until the thread has ended and the helper says so; it stands then. */
int helper_run_to_bell(struct errand *e);
int block_read(struct errand *e);
int block_set_state(struct errand *e, uint32_t state);
/* Let go of a thread (0: none) that goes on without us. */
void thread_abandon(pid_t tid);

/* ---- urgent.c ---------------------------------------------------------------- */

/* A donor stops and works soon, until _end. */
void urgent_donor(struct borrow *b, pid_t tid);
void urgent_donor_end(const struct borrow *b, pid_t tid);
/* The helper comes first: for raw system calls only. */
void urgent_helper_first(struct errand *e);
/* From here on it comes soon, and so does what it makes. */
void urgent_helper_shares(struct errand *e);
/* It goes on for who knows how long, or runs a function of the program, which
 * may make threads that stay: as the program is scheduled. */
void urgent_no_more(const struct errand *e, pid_t tid);

/* ---- bare.c ---------------------------------------------------------------- */

/* An argument that points n bytes into the data. */
#define BARE_DATA	UINT64_C(0x7473656775610000)

/* One system call by a thread of any program, whatever it runs; n bytes of
 * data (at most 64) are put where it may read them. */
int bare_syscall(struct target *t, long nr, const uint64_t args[6],
		 const void *data, size_t n, int64_t *result);

/* ---- standing.c ------------------------------------------------------------ */

/* For a target that is held, with the library in it: 1 done, -1 failed, 0
 * not possible (no thread has a plain stack): run an errand. */
int standing_call(struct errand *e);

/* ---- owner.c ----------------------------------------------------------------- */

/* Us, for one recording. */
void owner_make(struct collector_owner *o);
/* Does somebody who lives record it already? FAIL_UNSUITABLE. If one who has
 * ended does, the call tells the guest, and the plan his signal. */
int owner_check(struct plan *p, struct collector_call *call);
/* Does a library of ours, of this build or another, work for somebody who has
 * ended? Then that is *o, and its entry. */
bool owner_left(const struct plan *p, struct collector_owner *o,
		uint64_t *entry);
/* The guest said so: -1 with the same words. */
int owner_refused(const struct plan *p);
/* This thread was taken out of a command, which will not go on: the turn is
 * the next one's. */
void owner_end_turn(const struct plan *p, pid_t tid);
/* A descriptor: until it is closed nobody else loads a library there. */
int owner_lock(struct target *t);
/* -1 where somebody else is at it. */
int owner_try_lock(struct target *t);

/* ---- descriptor.c --------------------------------------------------------- */

/* A memfd made in the target by a stopped thread of ours; its number is in the
 * block, by which it is closed whoever lives. Returns our own descriptor of
 * it; -1 on failure, also when the program has put another there meanwhile. */
int descriptor_make(struct errand *e, pid_t tid,
		    const struct user_regs_struct *regs, const char *name,
		    enum our_file which);
/* To a high number, where there is room for it. */
int descriptor_move(struct errand *e, pid_t tid,
		    const struct user_regs_struct *regs, enum our_file which);
/* Is our file behind the number still? */
bool descriptor_is_there(const struct errand *e, pid_t tid,
			 enum our_file which);
/* The failure where it is not. */
int descriptor_taken(const struct errand *e);

/* ---- load.c, channel.c ---------------------------------------------------- */

/* The library as it was built. */
extern const unsigned char collector_image[], collector_image_end[];

/* Write the library into a memfd and seal that. */
int load_fill_library(int fd);
/* The embedded library as a memfd of the target. */
int load_library_file(struct errand *e, pid_t helper,
		      const struct user_regs_struct *regs);
struct guest {
	struct target *t;
	struct record_area *area;
	struct record_area layout;	/* our own copy: nobody changes it */
	uint64_t size;		/* mapped; 0: area is only a plan */
	uint64_t spoiled;	/* rings that made no sense */
	uint64_t crowded;	/* bytes of the fullest, by the last drain */
	unsigned seed;
	int signo;		/* of the ticks, once started */
	uint64_t interval_ns;
	uint64_t library;	/* its entry in the target, 0: not yet in */
	bool only_present, started, stopped;
	bool refused;		/* it has another owner: not ours to tidy */
	struct collector_owner self;
	bool other_namespace;	/* thread ids differ from ours */
	/* While it is being opened. */
	int fd;			/* the area's, -1: none */
	bool filled;		/* all of it is there, with its tables */
	const struct step_tables *tables;
	uint64_t passing, passing_end;	/* memory that is about to go */
	struct map tids;	/* then: theirs -> ours */
	bool tids_known;	/* no other will be asked for */
	uint64_t *taken;	/* by window: read, not settled; NULL: none */
};

/* One command to the guest, by an errand. */
int guest_command(struct guest *g, struct collector_call *call,
		  errand_prepare prepare, struct inject_report *report);
/* The command of guest_start; and what is true once it was obeyed. */
void guest_start_call(const struct guest *g, enum guest_clock clock,
		      struct collector_call *call);
void guest_started(struct guest *g, const struct collector_call *call);
/* Our number of a thread that the target calls tid; 0: it has ended. */
pid_t guest_outer_tid(struct guest *g, pid_t tid);
pid_t guest_inner_tid(struct guest *g, pid_t tid);
/* The number of a thread in its own pid namespace. */
pid_t thread_inner_tid(struct target *t, pid_t tid);
/* Call the library's entry with a command, and tell where that is. */
int load_command(struct target *t, const struct errand *how,
		 struct collector_call *call, struct inject_report *report,
		 uint64_t *entry);

#endif
