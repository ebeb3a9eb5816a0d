/* SPDX-License-Identifier: Apache-2.0 */
/*
 * hazard: what would harm a target if we did not handle it, by name. Each
 * handling asks handled(), which is constant true; a build with
 * -DMUTANT=HAZARD_NAME takes that one away, and the test that tests/mutants
 * names for it must then fail (make check-mutants). So no check here is one
 * that cannot fail. Includes no other header of ours.
 */
#ifndef SONDE_HAZARD_H
#define SONDE_HAZARD_H

enum hazard {
	HAZARD_NONE,
	HAZARD_AREA_CHARGED,	/* record memory, to the target's control group */
	HAZARD_AREA_CUT,	/* record memory that somebody cuts */
	HAZARD_AREA_STAYS,	/* record memory, when we have gone */
	HAZARD_BIRTHS,	/* a cost for each thread that is born */
	HAZARD_BORROWED_SIGNAL,	/* signals to a thread that works for us */
	HAZARD_BREAKPOINT_BLOCKED, /* a hit whose signal is blocked */
	HAZARD_BREAKPOINT_KILLED, /* a trap that our death leaves behind */
	HAZARD_BREAKPOINT_SIGNAL, /* a watch's signal that the program has */
	HAZARD_BREAKPOINT_VIRTUAL, /* a trap whose reason a hypervisor lost */
	HAZARD_CHILD_AREA,	/* record memory, in a child of the target */
	HAZARD_COPIED_FILES,	/* our descriptors, in a table of a thread's own */
	HAZARD_DEAF,		/* ticks to threads that block the signal */
	HAZARD_DESCRIPTOR_STAYS, /* in the target, when we are killed */
	HAZARD_EARLY_TICK,	/* CPU-time ticks that a stop brings forward */
	HAZARD_EINTR,		/* calls that say EINTR to any stop */
	HAZARD_ESCAPES,	/* terminal sequences in names of others */
	HAZARD_EXEC,		/* another program, since we looked */
	HAZARD_FILTER,		/* a seccomp filter against our calls */
	HAZARD_FILTER_KILLS,	/* ... when we are killed on our way in */
	HAZARD_FLAGS,		/* direction and trap, set where we borrow */
	HAZARD_EXEC_SEIZED,	/* a thread execs that we wait for */
	HAZARD_EXEC_WAITS,	/* an exec waits for one of ours, and we for it */
	HAZARD_FRAME,		/* we are killed while a thread works for us */
	HAZARD_FROZEN,		/* a frozen control group */
	HAZARD_GATE,		/* ticks to a thread in no ordinary state */
	HAZARD_GUEST_FAULTS,	/* our entry crashes in the target */
	HAZARD_GUEST_HANGS,	/* our entry does not return there */
	HAZARD_HANDLER_STAYS,	/* our handler, when we have gone */
	HAZARD_HELPER_NUMBER,	/* a clone's result in the next call's place */
	HAZARD_IDLE_SIGNAL,	/* a signal that the program uses */
	HAZARD_LATE_FILTER,	/* our calls in a thread that seccomp confines */
	HAZARD_LATE_HELPER,	/* at work for a visit that was killed */
	HAZARD_LATE_STOP,	/* who is late to stop stands while we look */
	HAZARD_LATE_TICK,	/* a tick in a call that lets signals in */
	HAZARD_LEADER_ENDED,	/* only later threads are left */
	HAZARD_LEASE,	/* nobody listens to our ticks any more */
	HAZARD_LIBRARY_PATH,	/* a library that others could replace */
	HAZARD_LIMITS,		/* no room for what we bring */
	HAZARD_LOCK_CANCEL,	/* a point of cancellation that we step over */
	HAZARD_LOCK_ERRNO,	/* errno of a call that succeeds */
	HAZARD_LOCK_OWN,	/* the program's own lock, libc's other one */
	HAZARD_LOCK_ROBUST,	/* a try that keeps what it refuses */
	HAZARD_LOCK_VERSION,	/* an older function of the same name */
	HAZARD_MUSL,		/* a libc that cannot be asked to load */
	HAZARD_NARROW,		/* 32-bit registers and addresses */
	HAZARD_NO_ROOM,		/* we are killed, and it has no room for a frame */
	HAZARD_ODD_STACK,	/* a stack with something else below it */
	HAZARD_OLD_FRAME,	/* a stack that is another than we remember, */
	HAZARD_OLD_RETURN,	/* by a frame pointer, or a return address */
	HAZARD_ORPHAN,		/* what a visit that was killed left */
	HAZARD_OTHERS_RAX,	/* the program's rax as the number of a call */
	HAZARD_OTHER_BUILD,	/* what a killed visit of another build left */
	HAZARD_OWN_FAULT,	/* a fault that the program has yet to meet */
	HAZARD_OWN_STEPS,	/* a program that steps through itself */
	HAZARD_PARTIAL,		/* calls that a stop leaves half done */
	HAZARD_PLANTED_LINK,	/* a symlink in an experiment */
	HAZARD_RC_FILE,	/* a command file of another's */
	HAZARD_RED_ZONE,	/* what a leaf keeps below its sp */
	HAZARD_RESTART_FILTERED, /* a sleep goes on by a forbidden call */
	HAZARD_RSEQ,		/* a stop in a restartable sequence */
	HAZARD_SALVAGE,		/* samples of a killed visit that nobody took */
	HAZARD_SCHEDULE,	/* a short slice that our death leaves behind */
	HAZARD_SAFE_POINT,	/* a libc without locks, half way in it */
	HAZARD_SETUID,		/* libc's signal to change the user */
	HAZARD_SHARED_MEMORY,	/* another process in the same memory */
	HAZARD_SIGNAL_MASK,	/* the program's handlers on top of ours */
	HAZARD_SIGRETURN,	/* a sleep that it makes the kernel forget */
	HAZARD_STARTING,	/* a loader that has not set up its libc */
	HAZARD_STRAY_STACK,	/* holes between a stack and what is above */
	HAZARD_SWEPT_RUNS,	/* who wakes while its stack is read */
	HAZARD_TAKEN_NUMBER,	/* its own file at the number of a descriptor of ours */
	HAZARD_TICK_CALLS,	/* ticks in a thread that seccomp confines */
	HAZARD_TICK_STACK,	/* a tick's frame where no stack has room */
	HAZARD_TIMERS_STAY,	/* our timers, when we have gone */
	HAZARD_TRACE_CONFINED,	/* who confines itself while it is traced */
	HAZARD_TRACE_INSIDE,	/* threads in a hook when its memory goes */
	HAZARD_TRACE_NAMESAKE,	/* another function of the name of libc's */
	HAZARD_TRACE_ORDER,	/* a block that is another's before we say so */
	HAZARD_TRACE_RELOADED,	/* slots of another library, where one was */
	HAZARD_TRACE_UNLOADED,	/* slots that are unmapped by now */
	HAZARD_TRANSFER,	/* a call that a stop cuts short */
	HAZARD_TRAP_ALLOWED,	/* a trap in a process that must not end */
	HAZARD_TRAP_STAYS,	/* in the text, for want of a descriptor */
	HAZARD_TRAP_TEXT,	/* another text where our trap was */
	HAZARD_TRAP_VISIT,	/* a thread that we make meets our trap */
	HAZARD_VECTORS,	/* vector registers, when we are killed */
};

#ifndef MUTANT
#define MUTANT HAZARD_NONE
#endif

#define handled(hazard) ((hazard) != MUTANT)

#endif
