/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * One call on a fresh thread of the target: the memory it lives in there, the
 * code in it, the threads that do the work, and those who watch them.
 */
#ifndef SONDE_INJECT_ERRAND_H
#define SONDE_INJECT_ERRAND_H

#include <sys/user.h>

#include "base.h"
#include "collector.h"
#include "inject.h"
#include "plan.h"

/* ---- helper.c, stub.S: the threads that do the work ---------------------- */

/* What the code in the target is told, and tells. stub.h knows the offsets. */
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
	/* What the thread's code in libc had when it called ours: rbx, rbp, r12
	 * to r15, and where it goes on. */
	uint64_t saved[7];
	/* What the kernel clears when the thread is gone; 0: not known, the
	 * thread's number then, which glibc had the kernel clear up to 2.42. */
	uint64_t gone_at;
};

/* libc's own, to every thread on its list: change your user as well. */
enum { SIGNAL_SETXID = 33 };

enum block_state {
	BLOCK_READY, BLOCK_STARTED, BLOCK_LOADING, BLOCK_CALLING, BLOCK_DONE,
	BLOCK_NOT_LOADED, BLOCK_WRONG_LIBRARY, BLOCK_CANCELLED,
	BLOCK_NO_THREAD, BLOCK_FAULTED,
};

enum {
	STUB_NOTIFY = 0x736e6465, STUB_PARK = 0x736e6470,
	STUB_BLOCK = 4096, THEN_AT = 512,
};
extern const unsigned char stub_begin[], stub_end[];
extern const unsigned char stub_helper[], stub_thread[], stub_fault[];
extern const unsigned char stub_park[];

/* Where things are in the scratch memory; offsets, but for `at`. */
struct scratch {
	uint64_t at;		/* 0: not mapped yet */
	size_t size;
	size_t call, then, frame, frame_size, stack_top;
	size_t tls, tls_size, tp;
	size_t guard, thread_stack, thread_stack_size;
};

enum { JUMPS = 2 };		/* longjmp, and its fortified form */

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
	bool parks;		/* or none: the thread stands, and waits */
	bool keeps;		/* what it must leave behind is enlisted */
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
	struct schedule scheduled; /* the helper as it was born; 0: left alone */
	bool at_bell;		/* the helper stands at its last call */
	bool parked;		/* the thread stands in stub_park's */
	bool left_behind;	/* the scratch must stay */
	bool cancelled;		/* a thread goes on in it, and that was said */
	char fault[64];		/* what a thread of ours did: "crashed" */
	uint64_t ended_ns;	/* the call was ended then; 0: not */
	/* What others had waited for a processor by then, and when they were
	 * asked last; 0: not yet. */
	uint64_t others_ns, others_since, others_asked;
	/* Of a function of the program's. */
	uint64_t thread_tp;
	struct thread_watch *jumps[JUMPS];
	unsigned ends;		/* how often the thread was sent to its end */
};

/* Sizes of everything; static TLS offsets are read from the link maps. */
int scratch_plan(struct plan *p, struct scratch *s);
/* A page below the thread's stack that cannot be written. */
int scratch_guard(const struct plan *p, const struct scratch *s, pid_t helper,
		  const struct user_regs_struct *regs);
/* Code, block, first stack word and TLS, into the mapped scratch. */
int scratch_write(const struct plan *p, const struct scratch *s,
		  const struct block *block, const struct collector_call *call,
		  uint64_t donor_tp);
/* What libc gave the helper (an arena, a cache) becomes the thread's, which
 * hands it back when it ends; the helper ends without libc's knowledge. */
int tls_hand_over(const struct plan *p, const struct scratch *s,
		  uint64_t thread_tp);
int errand_run(struct errand *e);
/* One that parks: until it does. Both threads stand then, or are gone. */
int errand_park(struct errand *e);
/* From there, or wherever its thread was brought back to, to its end. */
int errand_finish(struct errand *e);

/* ---- birth.c ------------------------------------------------------------- */

/* The scratch and the helper, by a borrowed thread. */
int helper_make(struct errand *e);

/* ---- watch.c ------------------------------------------------------------- */

/* Until the thread exists (or cannot be made). The helper stands then. */
int helper_run_to_birth(struct errand *e);
/* Until the thread has ended and the helper says so; it stands then. Or, if it
 * parks, until it has, and stands, while the helper runs. */
int helper_run_to_bell(struct errand *e);
/* Threads that its function makes are the program's, and nobody would wait for
 * them here. */
int errand_let_children_go(const struct errand *e, pid_t thread);
int block_read(struct errand *e);
int block_set_state(struct errand *e, uint32_t state);
/* Let go of a thread (0: none) that goes on without us. STANDS: it does. But who
 * debugs the program must have all of its threads: one that is not traced would
 * die of a trap. */
void thread_let_stay(struct errand *e, pid_t tid, enum enlist how);
/* A signal is due to a thread of ours; it goes on. */
int errand_signal(struct errand *e, pid_t tid, enum thread_run how);

/* ---- mishap.c: what befalls a function, or our entry --------------------- */

/* The thread that loads and calls. */
pid_t errand_worker(const struct errand *e);
/* By what the thread did itself; it comes to its end. */
int mishap_fault(struct errand *e, pid_t tid, const siginfo_t *si);
/* Before the function is called: its thread is not to jump out of it. */
void mishap_watch_jumps(struct errand *e);
void mishap_watch_no_more(struct errand *e);
/* 1: such a watch was hit, and the thread goes on, or to its end; 0: that is no
 * such signal; -1. */
int mishap_jump(struct errand *e, const siginfo_t *si);
/* It is too late for that: true if it comes to its end, or will soon. */
bool mishap_late(struct errand *e, const char *why);
/* libc has it on its list for ever: the memory stays. */
void mishap_keep_descriptor(struct errand *e);
/* The thread ended in the function. */
void mishap_gone(struct errand *e);

#endif
