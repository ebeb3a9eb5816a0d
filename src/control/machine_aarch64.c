/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * AArch64 as ptrace shows it.
 *
 * Here the kernel prepares the restart of a system call before a tracer sees
 * the stop, and a call that answers EINTR after any stop cannot be repaired:
 * its first argument is overwritten by the result, and ptrace shows no copy.
 * So threads that wait are better peeked at than stopped.
 */
#include "private.h"

#include <signal.h>
#include <stddef.h>
#include <string.h>
#include <ucontext.h>

#include <linux/bpf_perf_event.h>

bool
machine_emulate(struct target *t, struct user_regs_struct *regs)
{
	(void)t, (void)regs;
	return false;
}

const long machine_restart_call = -1;

const unsigned char machine_trap[] = { 0x00, 0x00, 0x20, 0xd4 }; /* brk #0 */
const size_t machine_trap_size = sizeof machine_trap;
const size_t machine_trap_advance = 0;
/* The kernel steps over a hit by itself; nobody has tried that here. */
const bool machine_can_watch = false;

/* The kernel's, as of Linux 6: the program's headers have no name for it. */
struct signal_frame {
	siginfo_t info;
	ucontext_t context;
};
const size_t machine_signal_stack =
	offsetof(struct signal_frame, context.uc_stack);
const size_t machine_signal_sp =
	offsetof(struct signal_frame, context.uc_mcontext.sp);
const size_t machine_signal_size =
	offsetof(struct signal_frame, context.uc_mcontext.__reserved) +
	sizeof(uint32_t);

/* The floating point registers are always there, and first. */
bool
machine_is_signal(const unsigned char *at)
{
	enum { FP_REGISTERS = 0x46508001 };	/* FPSIMD_MAGIC */
	uint32_t magic;

	memcpy(&magic, at + offsetof(struct signal_frame,
				     context.uc_mcontext.__reserved),
	       sizeof magic);
	return magic == FP_REGISTERS;
}

/* The number of the call is in another register set. */
bool
machine_before_call(struct user_regs_struct *regs)
{
	(void)regs;
	return false;
}

bool
machine_passes(const struct user_regs_struct *regs)
{
	(void)regs;
	return false;
}

void
machine_pass(struct user_regs_struct *regs)
{
	(void)regs;
}

void
machine_meet_again(struct user_regs_struct *regs)
{
	(void)regs;
}

uint64_t
machine_pc(const struct user_regs_struct *regs)
{
	return regs->pc;
}

void
machine_set_pc(struct user_regs_struct *regs, uint64_t pc)
{
	regs->pc = pc;
}

uint64_t
machine_sp(const struct user_regs_struct *regs)
{
	return regs->sp;
}

/* That is another register set: one more question to each that stands. */
uint64_t
machine_thread_pointer(const struct user_regs_struct *regs)
{
	(void)regs;
	return 0;
}

/* They do, but this processor may show us a copy and a count in another order than
 * they came to be. */
const size_t machine_event_sp = offsetof(struct bpf_perf_event_data, regs.sp);
const char machine_kernel_thread_pointer[] = "";

size_t
machine_entry_words(size_t *sp)
{
	*sp = 0;
	return 0;
}

/* The general registers do not tell; x8 keeps the number of the last one. */
long
machine_syscall(const struct user_regs_struct *regs)
{
	(void)regs;
	return -1;
}

enum interrupted
machine_interrupted(const struct user_regs_struct *regs)
{
	(void)regs;
	return INTERRUPTED_NO;
}

uint64_t
machine_first_word(const struct user_regs_struct *regs)
{
	(void)regs;
	return 0;
}

int
machine_first_argument(const struct user_regs_struct *regs)
{
	return (int)regs->regs[0];
}

/* Nor does ptrace show whether it stands behind a call. */
struct transfer
machine_transfer(const struct user_regs_struct *regs)
{
	(void)regs;
	return (struct transfer){ 0 };
}

void
machine_restart(struct user_regs_struct *regs)
{
	(void)regs;		/* nothing is ever found to restart */
}

long
machine_restarts(const struct user_regs_struct *regs)
{
	(void)regs;
	return -1;
}

bool
machine_waits(const struct user_regs_struct *regs)
{
	(void)regs;
	return false;
}

void
machine_begin_again(struct user_regs_struct *regs, long nr)
{
	(void)regs, (void)nr;
}

long
thread_sleeping_call(struct target *t, uint64_t pc)
{
	(void)t, (void)pc;
	return -1;
}

bool
machine_sleeps_on(const struct user_regs_struct *regs)
{
	(void)regs;
	return false;
}

void
machine_start_over(struct user_regs_struct *regs, long nr)
{
	(void)regs, (void)nr;
}

/* What the kernel goes by is in a set of registers of its own. */
void
machine_leave_call(struct user_regs_struct *regs)
{
	(void)regs;
}

uint64_t
machine_goes_on_at(struct target *t, const struct user_regs_struct *regs)
{
	(void)t, (void)regs;
	return 0;
}

void
machine_go_to_call(struct user_regs_struct *regs, long nr)
{
	(void)regs, (void)nr;
}

int64_t
machine_call(const struct user_regs_struct *regs, uint64_t args[6])
{
	for (int i = 0; i < 6; i++)
		args[i] = 0;
	(void)regs;
	return -1;
}

bool
machine_has_time_limit(const struct user_regs_struct *regs)
{
	(void)regs;
	return false;
}

bool
machine_trap_is_own(const siginfo_t *info, const unsigned char *before,
		    size_t n)
{
	(void)info;
	(void)before;
	(void)n;
	return true;
}

/* ---- instructions -------------------------------------------------------- */

static uint32_t
instruction(const unsigned char *code, size_t n)
{
	uint32_t word = 0;

	if (n >= sizeof word)
		memcpy(&word, code, sizeof word);
	return word;
}

bool
machine_enters_kernel(const unsigned char *code, size_t n)
{
	return (instruction(code, n) & 0xffe0001fu) == 0xd4000001u;	/* svc */
}

size_t
machine_call_length(const unsigned char *code, size_t n)
{
	const uint32_t word = instruction(code, n);

	return (word & 0xfc000000u) == 0x94000000u ||	/* bl */
		(word & 0xfffffc1fu) == 0xd63f0000u ? sizeof word : 0;
}
