/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * x86-64 as ptrace shows it.
 */
#include "private.h"

#include <errno.h>
#include <sys/syscall.h>

/* Inside the kernel only (linux/errno.h): start the call again, unless a
 * handler runs; then it is EINTR. */
enum { ERESTARTNOHAND = 514 };

const unsigned char machine_trap[] = { 0xcc };
const size_t machine_trap_size = sizeof machine_trap;
const size_t machine_trap_advance = sizeof machine_trap;

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

int
machine_first_argument(const struct user_regs_struct *regs)
{
	return (int)regs->rdi;
}

void
machine_restart(struct user_regs_struct *regs)
{
	regs->rax = (unsigned long)-ERESTARTNOHAND;
}
