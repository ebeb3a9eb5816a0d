/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * A gate before the signals of a clock: the kernel itself looks, in the moment
 * of the tick, whether the thread blocks the signal, and then makes none. So
 * none is ever pending, to be seen by a program that takes its signals from
 * sigtimedwait or a signalfd. What was held back is counted, by thread.
 *
 * A program that says no keeps the kernel from sending the signal since Linux
 * 6.10; before that it kept it from writing a sample, no more.
 */
#include "bpf.h"
#include "control.h"
#include "signals.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/syscall.h>
#include <sys/utsname.h>
#include <unistd.h>

enum { THREADS = 8192, ALL = 0 };	/* ALL: the key of the sum */

static int
bpf(int command, union bpf_attr *a)
{
	return (int)syscall(SYS_bpf, command, a, sizeof *a);
}

static bool
kernel_can(void)
{
	struct utsname u;
	unsigned major = 0, minor = 0;

	return uname(&u) == 0 &&
		sscanf(u.release, "%u.%u", &major, &minor) == 2 &&
		(major > 6 || (major == 6 && minor >= 10));
}

static int
make_map(void)
{
	const uint32_t key = ALL;
	const uint64_t none = 0;
	union bpf_attr a;
	int map;

	memset(&a, 0, sizeof a);
	a.map_type = BPF_MAP_TYPE_HASH;
	a.key_size = sizeof key;
	a.value_size = sizeof none;
	a.max_entries = THREADS;
	map = bpf(BPF_MAP_CREATE, &a);
	if (map < 0)
		return -1;
	memset(&a, 0, sizeof a);
	a.map_fd = (uint32_t)map;
	a.key = (uint64_t)(uintptr_t)&key;
	a.value = (uint64_t)(uintptr_t)&none;
	if (bpf(BPF_MAP_UPDATE_ELEM, &a) == 0)
		return map;
	(void)close(map);
	return -1;
}

/* blocked: where the mask is in a task. 1: let it pass. */
static int
load_gate(int map, uint32_t blocked, int signo)
{
	const struct bpf_insn code[] = {
		CALL(BPF_FUNC_get_current_task),
		MOVE(BPF_REG_3, BPF_REG_0),
		ADD(BPF_REG_3, (int)blocked),
		MOVE(BPF_REG_1, BPF_REG_10),
		ADD(BPF_REG_1, -8),
		SET(BPF_REG_2, 8),
		CALL(BPF_FUNC_probe_read_kernel),
		MOVE(BPF_REG_6, BPF_REG_0),
		SKIP_UNLESS(BPF_REG_6, 0, 6),
		LOAD64(BPF_REG_1, BPF_REG_10, -8),
		SET64(BPF_REG_2, UINT64_C(1) << (signo - 1)),
		AND(BPF_REG_1, BPF_REG_2),
		SET(BPF_REG_0, 1),
		SKIP_UNLESS(BPF_REG_1, 0, 1),
		END,
		/* the sum */
		SET(BPF_REG_1, ALL),
		STORE32(BPF_REG_10, -12, BPF_REG_1),
		MAP(BPF_REG_1, map),
		MOVE(BPF_REG_2, BPF_REG_10),
		ADD(BPF_REG_2, -12),
		CALL(BPF_FUNC_map_lookup_elem),
		SKIP_IF(BPF_REG_0, 0, 2),
		SET(BPF_REG_1, 1),
		ADD_LOCKED(BPF_REG_0, BPF_REG_1),
		/* the thread's, that it has already, or its first */
		CALL(BPF_FUNC_get_current_pid_tgid),
		STORE32(BPF_REG_10, -12, BPF_REG_0),
		MAP(BPF_REG_1, map),
		MOVE(BPF_REG_2, BPF_REG_10),
		ADD(BPF_REG_2, -12),
		CALL(BPF_FUNC_map_lookup_elem),
		SET(BPF_REG_1, 1),
		SKIP_IF(BPF_REG_0, 0, 3),
		ADD_LOCKED(BPF_REG_0, BPF_REG_1),
		SET(BPF_REG_0, 0),
		END,
		STORE64(BPF_REG_10, -24, BPF_REG_1),
		MAP(BPF_REG_1, map),
		MOVE(BPF_REG_2, BPF_REG_10),
		ADD(BPF_REG_2, -12),
		MOVE(BPF_REG_3, BPF_REG_10),
		ADD(BPF_REG_3, -24),
		SET(BPF_REG_4, BPF_ANY),
		CALL(BPF_FUNC_map_update_elem),
		SET(BPF_REG_0, 0),
		END,
	};

	return bpf_load(code, ARRAY_LEN(code));
}

int
gate_open(struct gate *g, int signo)
{
	uint32_t blocked;

	*g = (struct gate){ .program = -1, .map = -1, .signo = signo };
	if (!kernel_can() ||
	    !pids_are_the_kernels() ||
	    kernel_member("task_struct", "blocked", &blocked) < 0)
		return -1;
	g->map = make_map();
	if (g->map >= 0)
		g->program = load_gate(g->map, blocked, signo);
	if (g->program >= 0)
		return 0;
	gate_close(g);
	return -1;
}

void
gate_close(struct gate *g)
{
	if (g->program >= 0)
		(void)close(g->program);
	if (g->map >= 0)
		(void)close(g->map);
	g->program = g->map = -1;
}

int
gate_put(const struct gate *g, int fd)
{
	if (g->program < 0 ||
	    ioctl(fd, PERF_EVENT_IOC_SET_BPF, g->program) == 0 ||
	    errno == EEXIST)
		return 0;
	return -1;
}

uint64_t
gate_held_back(const struct gate *g, pid_t tid)
{
	const uint32_t key = (uint32_t)tid;
	uint64_t n = 0;
	union bpf_attr a;

	if (g->map < 0)
		return 0;
	memset(&a, 0, sizeof a);
	a.map_fd = (uint32_t)g->map;
	a.key = (uint64_t)(uintptr_t)&key;
	a.value = (uint64_t)(uintptr_t)&n;
	return bpf(BPF_MAP_LOOKUP_ELEM, &a) == 0 ? n : 0;
}
