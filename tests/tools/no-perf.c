/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * no-perf [-kcmp] PROGRAM [ARGUMENTS]: run a program to which the kernel
 * refuses perf_event_open and bpf, as stock Debian does to ordinary users
 * (kernel.perf_event_paranoid 3); or kcmp, as containers do. A filter that
 * survives exec says EACCES.
 */
#include <errno.h>
#include <linux/audit.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

int
main(int argc, char **argv)
{
	const bool kcmp = argc > 1 && strcmp(argv[1], "-kcmp") == 0;
	struct sock_filter code[] = {
		BPF_STMT(BPF_LD | BPF_W | BPF_ABS,
			 offsetof(struct seccomp_data, nr)),
		BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K,
			 kcmp ? SYS_kcmp : SYS_perf_event_open, 1, 0),
		BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K,
			 kcmp ? SYS_kcmp : SYS_bpf, 0, 1),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | EACCES),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
	};
	const struct sock_fprog prog = {
		.len = sizeof code / sizeof *code, .filter = code,
	};

	argv += kcmp;
	if (argc - kcmp < 2) {
		fputs("usage: no-perf [-kcmp] PROGRAM [ARGUMENTS]\n", stderr);
		return 2;
	}
	if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) < 0 ||
	    prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &prog) < 0) {
		perror("no-perf");
		return 99;
	}
	execvp(argv[1], argv + 1);
	fprintf(stderr, "no-perf: %s: %s\n", argv[1], strerror(errno));
	return 127;
}
