/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * no-perf-lib.so: preloaded into sonde, it refuses perf_event_open and bpf as
 * stock Debian does to ordinary users. Unlike the filter of no-perf it does
 * not confine the programs that sonde launches.
 */
#include <dlfcn.h>
#include <errno.h>
#include <stdarg.h>
#include <sys/syscall.h>

long syscall(long number, ...);

long
syscall(long number, ...)
{
	long (*real)(long, ...);
	long arg[6];
	va_list ap;

	if (number == SYS_perf_event_open || number == SYS_bpf) {
		errno = EACCES;
		return -1;
	}
	*(void **)&real = dlsym(RTLD_NEXT, "syscall");
	va_start(ap, number);
	for (int i = 0; i < 6; i++)
		arg[i] = va_arg(ap, long);
	va_end(ap);
	return real(number, arg[0], arg[1], arg[2], arg[3], arg[4], arg[5]);
}
