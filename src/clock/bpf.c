/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * The filter of the per-CPU form: an overflow in any other process ends here,
 * before the kernel copies a single register.
 *
 * BPF sees process ids of the initial PID namespace. When we live in another
 * one, ids are compared in the target's own namespace instead, which both
 * sides can name by its device and inode.
 */
#include "perf.h"

#include <errno.h>
#include <linux/bpf.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/sysmacros.h>
#include <unistd.h>

#define CALL(f)		{ .code = BPF_JMP | BPF_CALL, .imm = (f) }
#define MOVE(d, s)	{ .code = BPF_ALU64 | BPF_MOV | BPF_X, \
			  .dst_reg = (d), .src_reg = (s) }
#define SET(d, n)	{ .code = BPF_ALU64 | BPF_MOV | BPF_K, \
			  .dst_reg = (d), .imm = (n) }
#define ADD(d, n)	{ .code = BPF_ALU64 | BPF_ADD | BPF_K, \
			  .dst_reg = (d), .imm = (n) }
#define SHIFT(d, n)	{ .code = BPF_ALU64 | BPF_RSH | BPF_K, \
			  .dst_reg = (d), .imm = (n) }
#define SKIP_UNLESS(d, n, to)	{ .code = BPF_JMP | BPF_JNE | BPF_K, \
				  .dst_reg = (d), .off = (to), .imm = (n) }
/* a 64-bit constant takes two instructions */
#define SET64(d, n)	{ .code = BPF_LD | BPF_DW | BPF_IMM, \
			  .dst_reg = (d), .imm = (int)(uint32_t)(n) }, \
			{ .imm = (int)(uint32_t)((uint64_t)(n) >> 32) }
#define LOAD32(d, s, at)	{ .code = BPF_LDX | BPF_W | BPF_MEM, \
				  .dst_reg = (d), .src_reg = (s), .off = (at) }
#define END		{ .code = BPF_JMP | BPF_EXIT }

static int
load(const struct bpf_insn *code, size_t n)
{
	union bpf_attr a;

	memset(&a, 0, sizeof a);
	a.prog_type = BPF_PROG_TYPE_PERF_EVENT;
	a.insns = (uint64_t)(uintptr_t)code;
	a.insn_cnt = (uint32_t)n;
	a.license = (uint64_t)(uintptr_t)"GPL";
	return (int)syscall(SYS_bpf, BPF_PROG_LOAD, &a, sizeof a);
}

static int
load_by_tgid(pid_t pid)
{
	const struct bpf_insn code[] = {
		CALL(BPF_FUNC_get_current_pid_tgid),
		SHIFT(BPF_REG_0, 32),
		MOVE(BPF_REG_1, BPF_REG_0),
		SET(BPF_REG_0, 0),
		SKIP_UNLESS(BPF_REG_1, pid, 1),
		SET(BPF_REG_0, 1),
		END,
	};

	return load(code, ARRAY_LEN(code));
}

/* struct bpf_pidns_info is { pid, tgid }; it stays zero in other namespaces. */
static int
load_by_namespace(uint64_t device, uint64_t inode, pid_t pid)
{
	const struct bpf_insn code[] = {
		SET64(BPF_REG_1, device),
		SET64(BPF_REG_2, inode),
		MOVE(BPF_REG_3, BPF_REG_10),
		ADD(BPF_REG_3, -8),
		SET(BPF_REG_4, 8),
		CALL(BPF_FUNC_get_ns_current_pid_tgid),
		LOAD32(BPF_REG_1, BPF_REG_10, -4),
		SET(BPF_REG_0, 0),
		SKIP_UNLESS(BPF_REG_1, pid, 1),
		SET(BPF_REG_0, 1),
		END,
	};

	return load(code, ARRAY_LEN(code));
}

/* The process id in the innermost namespace: the last word of NSpid. */
static pid_t
innermost_pid(pid_t pid)
{
	char path[32];

	(void)snprintf(path, sizeof path, "/proc/%d/status", (int)pid);
	char *text = file_read(path, NULL);
	char *line = text ? strstr(text, "\nNSpid:") : NULL;
	pid_t inner = -1;

	if (line) {
		line += strlen("\nNSpid:");
		line[strcspn(line, "\n")] = '\0';

		const char *last = strrchr(line, '\t');

		inner = (pid_t)strtol(last ? last : line, NULL, 10);
	}
	free(text);
	return inner > 0 ? inner : -1;
}

/* The number that the kernel itself has for a device. */
static uint64_t
kernel_device(dev_t device)
{
	return (uint64_t)major(device) << 20 | minor(device);
}

int
bpf_open_filter(pid_t pid)
{
	struct stat its;
	char path[32];

	(void)snprintf(path, sizeof path, "/proc/%d/ns/pid", (int)pid);
	if (pids_are_the_kernels())
		return load_by_tgid(pid);
	if (stat(path, &its) < 0)
		return -1;

	const pid_t inner = innermost_pid(pid);

	if (inner < 0) {
		errno = ENOTSUP;
		return -1;
	}
	return load_by_namespace(kernel_device(its.st_dev), its.st_ino, inner);
}
