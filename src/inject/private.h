/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * What the files of this room share. A `plan` (plan.h) is everything that was
 * learnt by reading alone; a `borrow` is a thread that we hold with all it
 * needs to be put back; a `scratch` (errand.h) is the memory a call lives in,
 * inside the target.
 */
#ifndef SONDE_INJECT_PRIVATE_H
#define SONDE_INJECT_PRIVATE_H

#include <signal.h>
#include <sys/user.h>

#include "base.h"
#include "collector.h"
#include "errand.h"
#include "inject.h"
#include "plan.h"
#include "symbol.h"

/* ---- by_hand.c ----------------------------------------------------------- */

#define LIBRARY_NAME "sonde-collector"	/* of the memfd */
#define HELPER_NAME "sonde-helper"	/* of that with the helper's code */

/* What was mapped by hand joins the plan's images. */
void by_hand_list(struct plan *p);
/* Map the library from block.library_fd; sets plan->library and
 * block.function. The helper stands. */
int by_hand_load(struct errand *e, pid_t helper,
		 const struct user_regs_struct *regs);
/* Find off_tid by a thread whose thread pointer is known; -1: it stays 0, which
 * is a failure where the program is confined. */
int by_hand_find_tid(struct plan *p, pid_t tid, uint64_t tp);

/* ---- call.c: a thread that we borrow ------------------------------------- */

enum { XSTATE_MAX = 16384 };

struct borrow {
	const struct plan *p;
	struct held held;
	struct user_regs_struct regs;	/* what it gets back */
	unsigned char xstate[XSTATE_MAX];
	size_t xstate_size;
	uint64_t mask;
	uint64_t frame;		/* sp while it works for us; 0: none */
	uint64_t spare, spare_size;	/* where that is; 0: elsewhere */
	struct schedule scheduled;	/* as it was; 0: left alone */
	siginfo_t *kept;	/* signals of the program; see borrow_keep */
	size_t nkept, kept_cap;
	bool masked, restarted, rseq_aborted;
	bool in_clone;		/* it stands at the event of its clone */
};

/* A signal that came for the thread while it is ours; borrow_resend, which
 * borrow_return does, sends it once more. */
void borrow_keep(struct borrow *b, const siginfo_t *info);
void borrow_resend(struct borrow *b, struct inject_report *report);
/* After thread_hold: save what it has. It has not changed yet. */
int borrow_save(struct borrow *b);
/* Write a frame from which the kernel restores the thread by itself: at
 * `room`; if that is 0, below its stack where that is known to be one, else in
 * spare memory, else nowhere. */
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
/* Its two halves: it stands at the entry between them, where it may still be
 * made no call (result -ENOSYS). Were we killed there, it would be made. */
int remote_enter(const struct plan *p, pid_t tid,
		 const struct user_regs_struct *regs, long nr,
		 const uint64_t args[6], struct borrow *keep);
int remote_cancel(pid_t tid);
int remote_leave(pid_t tid, int64_t *result, pid_t *child,
		 struct borrow *keep);
/* Run to the next entry or exit of a system call. */
int run_to_syscall_stop(pid_t tid, pid_t *child, struct borrow *keep);
/* All signals but those a thread raises itself. */
uint64_t maskable_signals(void);

/* ---- mishap.c ------------------------------------------------------------ */

/* Where a thread stands, and who called that; own: a stack that the plan does
 * not know. */
void stack_of(const struct plan *p, pid_t tid, uint64_t own, size_t own_size,
	      struct inject_met *met);
/* It is about to execute longjmp: the sp that leads to, as it is, and in case
 * that libc keeps it in disguise. */
bool jump_leads_to(struct target *t, const struct user_regs_struct *r,
		   uint64_t sp[2]);
/* A signal that a thread of ours raised, or its function by abort or raise. */
bool signal_is_own(const siginfo_t *si);

/* ---- filter.c ------------------------------------------------------------ */

struct sock_filter;
/* Would this program of n instructions, as the kernel has it, do no more to a
 * call of ours than to refuse it? */
bool filter_spares(const struct sock_filter *f, size_t n);
/* By CAP_SYS_ADMIN, which also shows them. */
bool we_may_suspend_seccomp(void);
/* All filters of a thread that we have stopped and that has some; else
 * FAIL_UNSUITABLE. */
int filter_check(pid_t tid);
/* Trace options of a thread that is to work for us. -1: errno. */
int filter_set_options(const struct plan *p, pid_t tid, unsigned long options);
/* A thread that stands: do its system calls go to the program itself
 * (PR_SET_SYSCALL_USER_DISPATCH)? Ours would, too. */
bool thread_is_dispatched(pid_t tid);
int filter_refuse(void);

/* ---- spare.c ------------------------------------------------------------- */

/* So many bytes below the main stack, which the borrow then has: their end; 0:
 * none. Given back when the thread has come back from its frame there. */
uint64_t spare_take(struct borrow *b, size_t bytes);
void spare_return(struct borrow *b);

/* ---- credentials.c ------------------------------------------------------- */

/* Other users, groups, capabilities or label than the process has. */
bool inject_has_own_credentials(struct target *t, pid_t tid);

/* ---- donor.c ------------------------------------------------------------- */

/* Hold a thread that is fit to work for us; in a single-threaded libc at a
 * point where nothing of libc is half done. */
int donor_take(struct plan *p, unsigned seed, struct borrow *b,
	       struct inject_report *report);

/*
 * Is it still the program that the plan was made for? After an exec every
 * address of ours would be a wild one. While a thread stands none can exec.
 */
bool plan_holds(const struct plan *p);
/* It must come back by itself if we are killed. */
bool donor_makes_calls(const struct plan *p);

/* ---- safepoint.c --------------------------------------------------------- */

struct safepoint;

/* Tables of the whole target, before anything is stopped. */
struct safepoint *safepoint_open(const struct plan *p);
void safepoint_close(struct safepoint *sp);
/* Bring the held thread to a point where libc has nothing half done: 1 it
 * stands there, 0 not yet (let it run and try again), -1 failed. */
int safepoint_reach(struct safepoint *sp, struct held *h);
/* One that was made since, of a thread of ours. */
void safepoint_add_stack(struct safepoint *sp, uint64_t at, size_t size);
/* Does that thread stand outside of what others would miss, should it end
 * there: malloc, the loader and the like? */
bool safepoint_is_clear(struct safepoint *sp, const struct user_regs_struct *r);

/* ---- urgent.c ------------------------------------------------------------ */

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

/* ---- left.c, aftermath.c ------------------------------------------------- */

/* A raw system call disturbs nothing in libc: by any thread at any point, that
 * has the descriptors of files_of, if that is not 0. */
int left_call(struct target *t, pid_t files_of, long nr,
	      const uint64_t args[6], struct inject_report *report);
/* Does a thread of ours live in this scratch memory, or may it? */
bool inject_scratch_is_used(struct target *t, uint64_t at);
/* It has failed: take away what is left of it; the failure names what stays. */
void errand_aftermath(struct errand *e);

/* ---- bare.c -------------------------------------------------------------- */

/* An argument that points n bytes into the data. */
#define BARE_DATA	UINT64_C(0x7473656775610000)

/* One system call by a thread of any program, whatever it runs; n bytes of
 * data (at most 64) are put where it may read them. */
int bare_syscall(struct target *t, long nr, const uint64_t args[6],
		 const void *data, size_t n, int64_t *result);

/* ---- standing.c ---------------------------------------------------------- */

/* For a target that is held, with the library in it: 1 done, -1 failed, 0
 * not possible (no thread has a plain stack): run an errand. */
int standing_call(struct errand *e);

/* ---- owner.c ------------------------------------------------------------- */

/* Us, for one recording. */
void owner_make(struct collector_owner *o);
/* Does somebody who lives record it already? FAIL_UNSUITABLE. If one who has
 * ended does, the call tells the guest, and the plan his signal. */
int owner_check(struct plan *p, struct collector_call *call);
/* Does a library of ours, of this build or another, work for somebody who has
 * ended? Then that is *o, and its entry. */
bool owner_left(const struct plan *p, struct collector_owner *o,
		uint64_t *entry);
/* Does the library with this entry work for somebody, whoever that is? */
bool owner_works(const struct plan *p, uint64_t entry);
/* The guest said so: -1 with the same words. */
int owner_refused(const struct plan *p);
/* This thread obeys a command. */
bool owner_turn_is(const struct plan *p, pid_t tid);
/* This thread was taken out of a command, which will not go on: the turn is
 * the next one's. */
void owner_end_turn(const struct plan *p, pid_t tid);
/* A descriptor: until it is closed nobody else loads a library there. */
int owner_lock(struct target *t);
/* -1 where somebody else is at it. */
int owner_try_lock(struct target *t);

/* ---- descriptor.c -------------------------------------------------------- */

/* A memfd made in the target by a stopped thread of ours; its number is in the
 * block, by which it is closed whoever lives. Returns our own descriptor of
 * it; -1 on failure, also when the program has put another there meanwhile. */
int descriptor_make(struct errand *e, pid_t tid,
		    const struct user_regs_struct *regs, const char *name,
		    enum our_file which);
/* To a high number, where there is room for it. */
int descriptor_move(struct errand *e, pid_t tid,
		    const struct user_regs_struct *regs, enum our_file which);
/* Closed by that thread, if it is our file still. */
void descriptor_close(struct errand *e, pid_t tid,
		      const struct user_regs_struct *regs,
		      enum our_file which);
/* Is our file behind the number still? */
bool descriptor_is_there(const struct errand *e, pid_t tid,
			 enum our_file which);
/* The failure where it is not. */
int descriptor_taken(const struct errand *e);

/* ---- load.c, channel.c --------------------------------------------------- */

/* The library as it was built. */
extern const unsigned char collector_image[], collector_image_end[];

/* Write the library into a memfd and seal that. */
int load_fill_library(int fd);
/* The embedded library as a memfd of the target. */
int load_library_file(struct errand *e, pid_t helper,
		      const struct user_regs_struct *regs);
/* Size it, allocate so many bytes of it now, and seal it. */
int channel_size(int fd, uint64_t size, uint64_t now);
void *channel_map(int fd, uint64_t size);	/* NULL: failed */

struct guest {
	struct target *t;
	struct record_area *area;
	struct record_area layout;	/* our own copy: nobody changes it */
	uint64_t size;		/* mapped; 0: area is only a plan */
	uint64_t spoiled;	/* rings that made no sense */
	uint64_t forged;	/* records of no thread that can be */
	uint64_t crowded;	/* bytes of the fullest, by the last drain */
	unsigned seed;
	int signo;		/* of the ticks, once started */
	uint64_t handler;	/* ... and where that leads */
	uint64_t interval_ns;
	uint64_t library;	/* its entry in the target, 0: not yet in */
	bool only_present, started, stopped, parting;
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
	uint64_t learnt_ns;	/* when they were last looked for */
	uint64_t *taken;	/* by window: read, not settled; NULL: none */
	struct tracing *tracing;	/* NULL: nothing is traced */
};

/* One command to the guest, by an errand. */
int guest_command(struct guest *g, struct collector_call *call,
		  errand_prepare prepare, struct inject_report *report);
/* The command of guest_start; and what is true once it was obeyed. */
void guest_start_call(const struct guest *g, enum guest_clock clock,
		      struct collector_call *call);
void guest_started(struct guest *g, const struct collector_call *call);
/* Can a thread have that number? */
bool guest_tid_is_plausible(uint32_t tid);
/* Our number of a thread that the target calls tid; 0: it has ended. */
pid_t guest_outer_tid(struct guest *g, pid_t tid);
/* The same, of what may be no thread, or one that ended long ago, as often as
 * calls come: 0, too, where it was not looked for. */
pid_t guest_known_tid(struct guest *g, pid_t tid);
/* The same at most once in a round, of one that was met then: false if that
 * cannot be told in this round any more. */
bool guest_tid_since(struct guest *g, pid_t tid, uint64_t met_ns,
		     uint64_t round_ns, pid_t *outer);
/* The thread is no more; 0: nobody knew it. */
bool guest_thread_ended(const struct guest *g, pid_t outer);
/* The number of one that has ended may be another's, once its samples have been
 * read. */
void guest_forget_tid(struct guest *g, uint32_t tid);
pid_t guest_inner_tid(struct guest *g, pid_t tid);
/* The number of a thread in its own pid namespace. */
pid_t thread_inner_tid(struct target *t, pid_t tid);
/* Call the library's entry with a command, and tell where that is. */
int load_command(struct target *t, const struct errand *how,
		 struct collector_call *call, struct inject_report *report,
		 uint64_t *entry);

#endif
