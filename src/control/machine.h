/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * What ptrace shows of this machine: machine_*.c, one for each.
 */
#ifndef CONTROL_MACHINE_H
#define CONTROL_MACHINE_H

#include <signal.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/user.h>

struct target;

uint64_t machine_pc(const struct user_regs_struct *regs);
void machine_set_pc(struct user_regs_struct *regs, uint64_t pc);
uint64_t machine_sp(const struct user_regs_struct *regs);
/* Above sp of who stands on a stack of libc's own; 0: not known. */
uint64_t machine_thread_pointer(const struct user_regs_struct *regs);
/* As many words as struct user_regs_struct begins with lie alike where the kernel
 * keeps them (struct pt_regs); *sp: which of them that is. 0: they do not. */
size_t machine_entry_words(size_t *sp);
/* Where sp is in what a BPF program sees of an event (struct
 * bpf_perf_event_data), and the member of the kernel's struct thread_struct
 * that has the thread pointer; "": not known. */
extern const size_t machine_event_sp;
extern const char machine_kernel_thread_pointer[];
/* The number of the system call the thread is in, -1: none. */
long machine_syscall(const struct user_regs_struct *regs);
/* That call was cut short by our stop, and the kernel would say EINTR where
 * it would not have without us. fd_arg: the call's first argument. */
enum interrupted { INTERRUPTED_NO, INTERRUPTED_YES, INTERRUPTED_IF_SOCKET };
enum interrupted machine_interrupted(const struct user_regs_struct *regs);
int machine_first_argument(const struct user_regs_struct *regs);
/* The same as an address. */
uint64_t machine_first_word(const struct user_regs_struct *regs);
/* A call that moved bytes and has just ended: between fd and memory, how many
 * were asked for and got. asked 0: it is none. */
struct transfer {
	int fd;
	uint64_t asked;
	int64_t got;
};
struct transfer machine_transfer(const struct user_regs_struct *regs);
/* All six arguments, and what the call has answered. */
int64_t machine_call(const struct user_regs_struct *regs, uint64_t args[6]);
/* Does that call end by itself some time after it began? */
bool machine_has_time_limit(const struct user_regs_struct *regs);
/* Make the kernel restart it unless a handler runs first. */
void machine_restart(struct user_regs_struct *regs);
/* The number of the call that the kernel is about to restart, or to end with
 * EINTR if a handler runs; -1: none. */
long machine_restarts(const struct user_regs_struct *regs);
/* The kernel will begin that call again, or go on in it. */
bool machine_waits(const struct user_regs_struct *regs);
/* Make the kernel begin that call again as call nr, behind any handler. */
void machine_begin_again(struct user_regs_struct *regs, long nr);
/* Its time limit, or what remains of it, is in the kernel only. */
bool machine_sleeps_on(const struct user_regs_struct *regs);
/* At a signal's delivery: is the thread about to enter restart_syscall? The
 * address behind that call, or 0. */
uint64_t machine_goes_on_at(struct target *t,
			    const struct user_regs_struct *regs);
/* A handler that runs first makes it EINTR; else it is begun as call nr. */
void machine_start_over(struct user_regs_struct *regs, long nr);
/* It enters call nr in place of restart_syscall. */
void machine_go_to_call(struct user_regs_struct *regs, long nr);
/* The number of restart_syscall. */
extern const long machine_restart_call;
/* At the entry of a call: it has not come there yet, and comes when it goes on.
 * false: that cannot be. */
bool machine_before_call(struct user_regs_struct *regs);
/* It goes on somewhere else, and no call of it begins again. */
void machine_leave_call(struct user_regs_struct *regs);
/* Carry out the instruction that a standing thread is at, on its registers
 * and stack. false: nothing was done, it must be stepped. */
bool machine_emulate(struct target *t, struct user_regs_struct *regs);
/* What the kernel lays down for a signal's handler, at a multiple of 16: how
 * far in are the bounds of the alternate stack (a stack_t), and the sp that
 * was interrupted; and how much of it has both. */
extern const size_t machine_signal_stack, machine_signal_sp;
extern const size_t machine_signal_size;
/* So many bytes that look like it: are they? */
bool machine_is_signal(const unsigned char *at);
extern const unsigned char machine_trap[];
extern const size_t machine_trap_size;
/* How far behind the trap instruction the pc stands after it. */
extern const size_t machine_trap_advance;
/* perf's breakpoints work here as watch.c says. */
extern const bool machine_can_watch;
/* The instruction at pc is executed even where there is a watch. */
bool machine_passes(const struct user_regs_struct *regs);
/* So it is. */
void machine_pass(struct user_regs_struct *regs);
/* And no more. */
void machine_meet_again(struct user_regs_struct *regs);
/* A SIGTRAP that the processor raised, at pc, with the n bytes before it: did
 * an instruction of the program ask for it? Else a watch did, and a hypervisor
 * has lost that (arch_breakpoints_are_safe). */
bool machine_trap_is_own(const siginfo_t *info, const unsigned char *before,
			 size_t n);


/* ---- what the instruction at pc is; code has n bytes of it --------------- */

enum { MACHINE_CODE_MAX = 16 };
bool machine_enters_kernel(const unsigned char *code, size_t n);
/* It calls a function: how long it is, so that the return address is behind
 * it. 0: it does not. */
size_t machine_call_length(const unsigned char *code, size_t n);

#endif
