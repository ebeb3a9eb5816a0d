/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * x86-64 as ptrace shows it.
 */
#include "private.h"

#include <errno.h>
#include <string.h>
#include <sys/syscall.h>
#include <ucontext.h>

#include <linux/bpf_perf_event.h>

/* Inside the kernel only (linux/errno.h): start the call again, unless a
 * handler runs; then it is EINTR. NOINTR: again after the handler, too. */
enum {
	ERESTARTSYS = 512, ERESTARTNOINTR = 513, ERESTARTNOHAND = 514,
	ERESTART_RESTARTBLOCK = 516,
};

const long machine_restart_call = SYS_restart_syscall;

const unsigned char machine_trap[] = { 0xcc };
const size_t machine_trap_size = sizeof machine_trap;
const size_t machine_trap_advance = sizeof machine_trap;
const bool machine_can_watch = true;
const size_t machine_signal_stack = offsetof(ucontext_t, uc_stack);
const size_t machine_signal_sp =
	offsetof(ucontext_t, uc_mcontext.gregs[REG_RSP]);
const size_t machine_signal_size =
	offsetof(ucontext_t, uc_mcontext.gregs[REG_CSGSFS]) + sizeof(greg_t);

enum { RESUME_FLAG = 1 << 16 };

/* All of 64 bits has the same code segment; Xen adds bits above. */
bool
machine_is_signal(const unsigned char *at)
{
	enum { USER_CS = 0x33 };

	return at[offsetof(ucontext_t, uc_mcontext.gregs[REG_CSGSFS])] ==
		USER_CS;
}

bool
machine_passes(const struct user_regs_struct *regs)
{
	return regs->eflags & RESUME_FLAG;
}

void
machine_pass(struct user_regs_struct *regs)
{
	regs->eflags |= RESUME_FLAG;
}

void
machine_meet_again(struct user_regs_struct *regs)
{
	regs->eflags &= ~(unsigned long long)RESUME_FLAG;
}

uint64_t
machine_pc(const struct user_regs_struct *regs)
{
	return regs->rip;
}

void
machine_set_pc(struct user_regs_struct *regs, uint64_t pc)
{
	regs->rip = pc;
}

uint64_t
machine_sp(const struct user_regs_struct *regs)
{
	return regs->rsp;
}

uint64_t
machine_thread_pointer(const struct user_regs_struct *regs)
{
	return regs->fs_base;
}

/* From r15 to ss: arch/x86/include/asm/ptrace.h. */
const size_t machine_event_sp = offsetof(struct bpf_perf_event_data, regs.rsp);
const char machine_kernel_thread_pointer[] = "fsbase";

size_t
machine_entry_words(size_t *sp)
{
	*sp = offsetof(struct user_regs_struct, rsp) / sizeof(uint64_t);
	return offsetof(struct user_regs_struct, fs_base) / sizeof(uint64_t);
}

/* An interrupt or trap leaves a negative number there. */
long
machine_syscall(const struct user_regs_struct *regs)
{
	const long nr = (long)regs->orig_rax;

	return nr < 0 ? -1 : nr;
}

/*
 * signal(7), "interruption by stop signals": these calls answer EINTR after
 * any stop, PTRACE_INTERRUPT included, even when no handler runs. Seen on
 * Linux 6.18: 200 of 200 threads in epoll_wait. The socket calls do so only
 * under SO_RCVTIMEO or SO_SNDTIMEO; without one the kernel itself restarts
 * them and the result is not EINTR. read and write are such calls only on
 * sockets. close is not here: it must never be repeated.
 */
enum interrupted
machine_interrupted(const struct user_regs_struct *regs)
{
	if ((long)regs->rax != -EINTR)
		return INTERRUPTED_NO;
	switch (machine_syscall(regs)) {
	case SYS_epoll_wait:
	case SYS_epoll_pwait:
	case SYS_epoll_pwait2:
	case SYS_semop:
	case SYS_semtimedop:
	case SYS_rt_sigtimedwait:
	case SYS_io_getevents:
	case SYS_io_pgetevents:
	case SYS_io_uring_enter:
	case SYS_msgrcv:
	case SYS_msgsnd:
	case SYS_accept:
	case SYS_accept4:
	case SYS_connect:
	case SYS_recvfrom:
	case SYS_recvmsg:
	case SYS_recvmmsg:
	case SYS_sendto:
	case SYS_sendmsg:
	case SYS_sendmmsg:
		return INTERRUPTED_YES;
	case SYS_read:
	case SYS_readv:
	case SYS_write:
	case SYS_writev:
		return INTERRUPTED_IF_SOCKET;
	default:
		return INTERRUPTED_NO;
	}
}

uint64_t
machine_first_word(const struct user_regs_struct *regs)
{
	return regs->rdi;
}

int
machine_first_argument(const struct user_regs_struct *regs)
{
	return (int)regs->rdi;
}

struct transfer
machine_transfer(const struct user_regs_struct *regs)
{
	switch (machine_syscall(regs)) {
	case SYS_read: case SYS_write: case SYS_pread64: case SYS_pwrite64:
	case SYS_recvfrom: case SYS_sendto:
		return (struct transfer){ (int)regs->rdi, regs->rdx,
					  (int64_t)regs->rax };
	case SYS_sendfile:
		return (struct transfer){ (int)regs->rdi, regs->r10,
					  (int64_t)regs->rax };
	case SYS_splice: case SYS_copy_file_range:
		return (struct transfer){ (int)regs->rdi, regs->r8,
					  (int64_t)regs->rax };
	default:
		return (struct transfer){ 0 };
	}
}

int64_t
machine_call(const struct user_regs_struct *r, uint64_t args[6])
{
	const uint64_t a[6] = { r->rdi, r->rsi, r->rdx, r->r10, r->r8, r->r9 };

	memcpy(args, a, sizeof a);
	return (int64_t)r->rax;
}

/* Of those that machine_interrupted knows. A socket call is interrupted so
 * only when it has one. */
bool
machine_has_time_limit(const struct user_regs_struct *regs)
{
	switch (machine_syscall(regs)) {
	case SYS_epoll_wait:
	case SYS_epoll_pwait:
		return (int)regs->r10 >= 0;
	case SYS_epoll_pwait2:
	case SYS_semtimedop:
		return regs->r10 != 0;
	case SYS_rt_sigtimedwait:
		return regs->rdx != 0;
	case SYS_io_getevents:
	case SYS_io_pgetevents:
		return regs->r8 != 0;
	case SYS_semop:
	case SYS_msgrcv:
	case SYS_msgsnd:
		return false;
	default:
		return true;
	}
}

void
machine_restart(struct user_regs_struct *regs)
{
	regs->rax = (unsigned long)-ERESTARTNOHAND;
}

long
machine_restarts(const struct user_regs_struct *regs)
{
	switch (-regs->rax) {
	case ERESTARTSYS:
	case ERESTARTNOHAND:
	case ERESTART_RESTARTBLOCK:
		return machine_syscall(regs);
	default:
		return -1;
	}
}

bool
machine_waits(const struct user_regs_struct *regs)
{
	return machine_syscall(regs) >= 0 && (machine_restarts(regs) >= 0 ||
		(long)regs->rax == -ERESTARTNOINTR);
}

/* The program gives rcx and r11 up at any call. */
bool
machine_before_call(struct user_regs_struct *regs)
{
	enum { SYSCALL_SIZE = 2 };

	regs->rip -= SYSCALL_SIZE;
	regs->rax = regs->orig_rax;
	regs->orig_rax = (unsigned long)-1;
	return true;
}

void
machine_begin_again(struct user_regs_struct *regs, long nr)
{
	regs->orig_rax = (unsigned long)nr;
	regs->rax = (unsigned long)-ERESTARTNOINTR;
}

bool
machine_sleeps_on(const struct user_regs_struct *regs)
{
	return (long)regs->rax == -ERESTART_RESTARTBLOCK &&
		machine_syscall(regs) >= 0;
}

void
machine_start_over(struct user_regs_struct *regs, long nr)
{
	regs->orig_rax = (unsigned long)nr;
	machine_restart(regs);
}

void
machine_leave_call(struct user_regs_struct *regs)
{
	regs->orig_rax = UINT64_MAX;
}

uint64_t
machine_goes_on_at(struct target *t, const struct user_regs_struct *regs)
{
	unsigned char code[2];

	if (machine_sleeps_on(regs))
		return regs->rip;	/* the kernel has not prepared it yet */
	if (regs->rax != SYS_restart_syscall || machine_syscall(regs) < 0 ||
	    target_read(t, regs->rip, code, sizeof code) < 0 ||
	    code[0] != 0x0f || code[1] != 0x05)
		return 0;
	return regs->rip + sizeof code;
}

void
machine_go_to_call(struct user_regs_struct *regs, long nr)
{
	if (machine_sleeps_on(regs))
		machine_begin_again(regs, nr);
	else
		regs->rax = (unsigned long)nr;
}

/* Which the kernel goes on with by restart_syscall (set_restart_fn). */
static bool
can_be_restarted(uint32_t call)
{
	return call == SYS_poll || call == SYS_futex ||
		call == SYS_nanosleep || call == SYS_clock_nanosleep;
}

/* mov $nr, %eax; syscall. With a prefix in front it is another register, and the
 * number an argument: hardly one of those. */
long
thread_sleeping_call(struct target *t, uint64_t pc)
{
	enum { MOV_EAX = 0xb8, MOV_SIZE = 5, SYSCALL_SIZE = 2 };
	unsigned char code[MOV_SIZE + SYSCALL_SIZE];
	uint32_t number;

	if (target_read(t, pc - sizeof code, code, sizeof code) < 0) {
		fail_clear();
		return -1;
	}
	memcpy(&number, code + 1, sizeof number);
	if (code[0] != MOV_EAX || code[MOV_SIZE] != 0x0f ||
	    code[MOV_SIZE + 1] != 0x05 || !can_be_restarted(number))
		return -1;
	return (long)number;
}

/* int3 has SI_KERNEL; what has TRAP_BRKPT was int1, or nothing (exc_debug_user,
 * 6.18, for which both are a DR6 of 0). */
bool
machine_trap_is_own(const siginfo_t *info, const unsigned char *before,
		    size_t n)
{
	enum { INT1 = 0xf1 };

	return info->si_code != TRAP_BRKPT || n == 0 || before[n - 1] == INT1;
}

/* ---- instructions -------------------------------------------------------- */

bool
machine_enters_kernel(const unsigned char *code, size_t n)
{
	return n >= 2 &&
		((code[0] == 0x0f && (code[1] == 0x05 || code[1] == 0x34)) ||
		 (code[0] == 0xcd && code[1] == 0x80));
}

static bool
is_prefix(unsigned char byte)
{
	/* notrack and the other segments, bnd, operand size, REX */
	return byte == 0x3e || byte == 0x2e || byte == 0x64 || byte == 0x65 ||
		byte == 0xf2 || byte == 0x66 || (byte & 0xf0) == 0x40;
}

/* What follows a modrm of 64-bit addressing. */
static size_t
operand_length(const unsigned char *modrm)
{
	const unsigned mod = *modrm >> 6, rm = *modrm & 7;
	size_t length = 1;

	if (mod == 3)
		return length;
	if (rm == 4) {
		length++;
		if (mod == 0 && (modrm[1] & 7) == 5)
			length += 4;
	}
	if (mod == 0 && rm == 5)
		length += 4;
	return length + (mod == 1 ? 1 : mod == 2 ? 4 : 0);
}

size_t
machine_call_length(const unsigned char *code, size_t n)
{
	enum { CALL_NEAR = 0xe8, GROUP_5 = 0xff, GROUP_5_CALL = 2 };
	size_t at = 0;

	while (at < n && is_prefix(code[at]))
		at++;
	if (at + 2 >= n)
		return 0;
	if (code[at] == CALL_NEAR)
		return at + 5;
	if (code[at] != GROUP_5 || (code[at + 1] >> 3 & 7) != GROUP_5_CALL)
		return 0;
	return at + 1 + operand_length(code + at + 1);
}
