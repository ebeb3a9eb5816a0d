/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * gdb-xstate.so: preloaded into gdb, it makes up for registers that gdb 13 does
 * not know. Where a processor has AMX, the kernel's record of the extended
 * state (NT_X86_XSTATE) is longer than gdb's, and what is shorter cannot be
 * written (EFAULT, "Couldn't write extended state status"): so no function could
 * be called by gdb, and no register be changed. What gdb does not have stays as
 * it is. The programs that gdb starts run without this.
 */
#include <dlfcn.h>
#include <elf.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ptrace.h>
#include <sys/types.h>
#include <sys/uio.h>

typedef long ptrace_fn(int request, pid_t pid, void *addr, void *data);

enum { STATE_MAX = 64 << 10 };

static ptrace_fn *real;

__attribute__((constructor)) static void
begin(void)
{
	*(void **)&real = dlsym(RTLD_NEXT, "ptrace");
	unsetenv("LD_PRELOAD");
}

static long
write_state(pid_t pid, void *addr, struct iovec *part)
{
	static char state[STATE_MAX] __attribute__((aligned(64)));
	struct iovec all = { state, sizeof state };

	if (real(PTRACE_GETREGSET, pid, addr, &all) < 0 ||
	    part->iov_len >= all.iov_len)
		return real(PTRACE_SETREGSET, pid, addr, part);
	memcpy(state, part->iov_base, part->iov_len);
	return real(PTRACE_SETREGSET, pid, addr, &all);
}

long
ptrace(enum __ptrace_request request, ...)
{
	va_list ap;

	va_start(ap, request);

	const pid_t pid = va_arg(ap, pid_t);
	void *const addr = va_arg(ap, void *);
	void *const data = va_arg(ap, void *);

	va_end(ap);
	if (request == PTRACE_SETREGSET && addr == (void *)NT_X86_XSTATE)
		return write_state(pid, addr, data);
	return real((int)request, pid, addr, data);
}
