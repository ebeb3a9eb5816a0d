/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * A gate before the signals of perf events: in the moment of an overflow, which
 * is in user mode, a program of ours in the kernel (BPF) looks at the thread.
 * Between there and the signal's delivery the thread executes nothing, so what
 * the look finds is so when the signal comes:
 *
 *	it blocks the signal	there is none: it would be pending, and seen by
 *				sigtimedwait, signalfd, sigpending
 *	its system calls are dispatched to the program, or a seccomp filter is
 *	on it that nobody has asked about rt_sigreturn
 *				there is none: the handler could not return
 *
 * What was held back is counted, by thread and reason. (A program that says no
 * keeps the kernel from sending the signal since Linux 6.10; before that it
 * kept it from writing a sample, no more.)
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/syscall.h>
#include <sys/utsname.h>
#include <unistd.h>

#include <linux/btf.h>
#include <linux/perf_event.h>

#include "bpf_code.h"
#include "btf.h"
#include "hazard.h"
#include "private.h"

enum {
	THREADS = 16384,
	ALL = 0,		/* the number under which all are added up */
	WORK_DISPATCH = 1 << 5,	/* SYSCALL_WORK_SYSCALL_USER_DISPATCH */
	MODE_FILTER = 2,	/* strict mode permits rt_sigreturn */
};

struct gate {
	int program, map;
};

struct entry {			/* of one thread */
	uint32_t filters;	/* so many have been asked */
	uint32_t pad;
	struct gate_news news;
};

/* Where the kernel keeps that: bytes into its struct task_struct. */
struct places {
	uint32_t blocked, work, mode, filters, filter;
};

static int
bpf(int command, union bpf_attr *a)
{
	return (int)syscall(SYS_bpf, command, a, sizeof *a);
}

/* ---- what the kernel has ------------------------------------------------- */

static bool
kernel_can(void)
{
	struct utsname u;
	unsigned major = 0, minor = 0;

	return uname(&u) == 0 &&
		sscanf(u.release, "%u.%u", &major, &minor) == 2 &&
		(major > 6 || (major == 6 && minor >= 10));
}

/* within: of a member of a task. */
static bool
find_member(const struct btf *b, const char *within, const char *type,
	    const char *name, uint32_t *offset)
{
	static const char task[] = "task_struct";
	const uint32_t a = btf_find(b, BTF_KIND_STRUCT, task);
	const uint32_t its = btf_find(b, BTF_KIND_STRUCT, type);
	struct btf_place outer = { 0 }, inner;

	if (!a || !its || (within && !btf_member(b, a, within, &outer)) ||
	    !btf_member(b, its, name, &inner))
		return false;
	*offset = outer.offset + inner.offset;
	return true;
}

static bool
find_places(struct places *at)
{
	struct btf *b = btf_open("/sys/kernel/btf/vmlinux");
	const bool found = b &&
		find_member(b, NULL, "task_struct", "blocked", &at->blocked) &&
		find_member(b, "thread_info", "thread_info", "syscall_work",
			    &at->work) &&
		find_member(b, "seccomp", "seccomp", "mode", &at->mode) &&
		find_member(b, "seccomp", "seccomp", "filter_count",
			    &at->filters) &&
		find_member(b, "seccomp", "seccomp", "filter", &at->filter);

	btf_free(b);
	return found;
}

/* ---- the program --------------------------------------------------------- */

enum {				/* registers that calls leave alone */
	TASK = BPF_REG_6, ENTRY = BPF_REG_7, REASON = BPF_REG_8,
};
enum { WORD_AT = -8, KEY_AT = -12 };	/* in the program's own frame */

static void
answer(struct code *c, int passes)
{
	with(c, BPF_MOV, BPF_REG_0, passes);
	emit(c, (struct bpf_insn){ .code = BPF_JMP | BPF_EXIT });
}

/* Leaves it in register 1. */
static void
read_task(struct code *c, int size, uint32_t at)
{
	with(c, BPF_MOV, BPF_REG_1, 0);
	store(c, BPF_DW, BPF_REG_10, WORD_AT, BPF_REG_1);
	move(c, BPF_REG_1, BPF_REG_10);
	with(c, BPF_ADD, BPF_REG_1, WORD_AT);
	with(c, BPF_MOV, BPF_REG_2, size);
	move(c, BPF_REG_3, TASK);
	with(c, BPF_ADD, BPF_REG_3, (int)at);
	call(c, BPF_FUNC_probe_read_kernel);
	load(c, BPF_DW, BPF_REG_1, BPF_REG_10, (size_t)WORD_AT);
}

/* The entry with the number in the frame, or 0. */
static void
look_up(struct code *c, int map, int to)
{
	load_map(c, BPF_REG_1, map);
	move(c, BPF_REG_2, BPF_REG_10);
	with(c, BPF_ADD, BPF_REG_2, KEY_AT);
	call(c, BPF_FUNC_map_lookup_elem);
	move(c, to, BPF_REG_0);
}

/* How often, for the reason in REASON: its place in an entry. */
static void
count(struct code *c, int entry)
{
	const size_t none = jump_if(c, BPF_JEQ, entry, 0);

	move(c, BPF_REG_1, entry);
	emit(c, (struct bpf_insn){ .code = BPF_ALU64 | BPF_ADD | BPF_X,
				   .dst_reg = BPF_REG_1, .src_reg = REASON });
	with(c, BPF_MOV, BPF_REG_2, 1);
	emit(c, (struct bpf_insn){ .code = BPF_STX | BPF_DW | BPF_ATOMIC,
				   .dst_reg = BPF_REG_1, .src_reg = BPF_REG_2,
				   .imm = BPF_ADD });
	jump_here(c, none);
}

static void
hold_back(struct code *c, int map, enum gate_reason why)
{
	const size_t place = offsetof(struct entry, news.held) +
		why * sizeof(uint64_t);

	with(c, BPF_MOV, BPF_REG_1, ALL);
	store(c, BPF_W, BPF_REG_10, KEY_AT, BPF_REG_1);
	look_up(c, map, REASON);
	move(c, BPF_REG_9, REASON);
	with(c, BPF_MOV, REASON, (int)place);
	count(c, BPF_REG_9);
	count(c, ENTRY);
	answer(c, 0);
}

/* The mask is always looked at: a signal that is blocked is pending. */
static void
check_mask(struct code *c, const struct places *at, int signo, int map)
{
	size_t open;

	read_task(c, sizeof(uint64_t), at->blocked);
	emit(c, (struct bpf_insn){ .code = BPF_ALU64 | BPF_RSH | BPF_K,
				   .dst_reg = BPF_REG_1, .imm = signo - 1 });
	with(c, BPF_AND, BPF_REG_1, 1);
	open = jump_if(c, BPF_JEQ, BPF_REG_1, 0);
	hold_back(c, map, GATE_BLOCKED);
	jump_here(c, open);
}

static void
check_dispatch(struct code *c, const struct places *at, int map)
{
	size_t free_of_it;

	read_task(c, sizeof(uint64_t), at->work);
	with(c, BPF_AND, BPF_REG_1, WORK_DISPATCH);
	free_of_it = jump_if(c, BPF_JEQ, BPF_REG_1, 0);
	hold_back(c, map, GATE_DISPATCHED);
	jump_here(c, free_of_it);
}

static void
check_filters(struct code *c, const struct places *at, int map)
{
	size_t none, not_known, asked;

	read_task(c, sizeof(uint32_t), at->mode);
	none = jump_if(c, BPF_JNE, BPF_REG_1, MODE_FILTER);
	read_task(c, sizeof(uint32_t), at->filters);
	not_known = jump_if(c, BPF_JEQ, ENTRY, 0);
	load(c, BPF_W, BPF_REG_2, ENTRY, offsetof(struct entry, filters));
	emit(c, (struct bpf_insn){ .code = BPF_JMP | BPF_JLE | BPF_X,
				   .dst_reg = BPF_REG_1,
				   .src_reg = BPF_REG_2 });
	asked = c->len - 1;
	read_task(c, sizeof(uint64_t), at->filter);
	store(c, BPF_DW, ENTRY, offsetof(struct entry, news.filter), BPF_REG_1);
	jump_here(c, not_known);
	hold_back(c, map, GATE_CONFINED);
	jump_here(c, asked);
	jump_here(c, none);
}

static int
load_program(const struct places *at, int map, int signo,
	     enum gate_looks looks)
{
	struct code c = { 0 };
	union bpf_attr a;
	int program;

	call(&c, BPF_FUNC_get_current_task);
	move(&c, TASK, BPF_REG_0);
	call(&c, BPF_FUNC_get_current_pid_tgid);
	store(&c, BPF_W, BPF_REG_10, KEY_AT, BPF_REG_0);
	look_up(&c, map, ENTRY);
	check_mask(&c, at, signo, map);
	if (looks == GATE_FOR_HANDLER) {
		check_dispatch(&c, at, map);
		check_filters(&c, at, map);
	}
	answer(&c, 1);
	memset(&a, 0, sizeof a);
	a.prog_type = BPF_PROG_TYPE_PERF_EVENT;
	a.insns = (uint64_t)(uintptr_t)c.items;
	a.insn_cnt = (uint32_t)c.len;
	a.license = (uint64_t)(uintptr_t)"GPL";
	program = bpf(BPF_PROG_LOAD, &a);
	free(c.items);
	return program;
}

/* ---- its entries --------------------------------------------------------- */

static int
put_entry(int map, pid_t tid, const struct entry *entry)
{
	const uint32_t key = (uint32_t)tid;
	union bpf_attr a;

	memset(&a, 0, sizeof a);
	a.map_fd = (uint32_t)map;
	a.key = (uint64_t)(uintptr_t)&key;
	a.value = (uint64_t)(uintptr_t)entry;
	return bpf(BPF_MAP_UPDATE_ELEM, &a);
}

static int
make_map(uint32_t entries)
{
	const struct entry none = { 0 };
	union bpf_attr a;
	int map;

	memset(&a, 0, sizeof a);
	a.map_type = BPF_MAP_TYPE_HASH;
	a.key_size = sizeof(uint32_t);
	a.value_size = sizeof none;
	a.max_entries = entries;
	map = bpf(BPF_MAP_CREATE, &a);
	if (map < 0 || put_entry(map, ALL, &none) == 0)
		return map;
	(void)close(map);
	return -1;
}

/* ---- the door ------------------------------------------------------------ */

struct gate *
gate_open(int signo, enum gate_looks looks)
{
	struct places at;
	struct gate *g;

	if (!handled(HAZARD_GATE) || !kernel_can() ||
	    !pids_are_the_kernels() || !find_places(&at))
		return NULL;
	g = xcalloc(1, sizeof *g);
	g->program = -1;
	g->map = make_map(looks == GATE_FOR_HANDLER ? THREADS : 1);
	if (g->map >= 0)
		g->program = load_program(&at, g->map, signo, looks);
	if (g->program >= 0)
		return g;
	gate_close(g);
	return NULL;
}

void
gate_close(struct gate *g)
{
	if (!g)
		return;
	if (g->program >= 0)
		(void)close(g->program);
	if (g->map >= 0)
		(void)close(g->map);
	free(g);
}

int
gate_put(const struct gate *g, int fd)
{
	if (ioctl(fd, PERF_EVENT_IOC_SET_BPF, g->program) == 0 ||
	    errno == EEXIST)
		return 0;
	return -1;
}

void
gate_held_back(const struct gate *g, pid_t tid, struct gate_news *news)
{
	const uint32_t key = (uint32_t)tid;
	struct entry entry = { 0 };
	union bpf_attr a;

	memset(&a, 0, sizeof a);
	a.map_fd = (uint32_t)g->map;
	a.key = (uint64_t)(uintptr_t)&key;
	a.value = (uint64_t)(uintptr_t)&entry;
	(void)bpf(BPF_MAP_LOOKUP_ELEM, &a);	/* no entry: none */
	*news = entry.news;
}

int
gate_note_filters(const struct gate *g, pid_t tid, uint32_t filters)
{
	struct entry entry = { 0 };

	/* what is counted in this moment is not held back for long */
	gate_held_back(g, tid, &entry.news);
	entry.filters = filters;
	return put_entry(g->map, tid, &entry);
}

void
gate_forget(const struct gate *g, pid_t tid)
{
	const uint32_t key = (uint32_t)tid;
	union bpf_attr a;

	memset(&a, 0, sizeof a);
	a.map_fd = (uint32_t)g->map;
	a.key = (uint64_t)(uintptr_t)&key;
	(void)bpf(BPF_MAP_DELETE_ELEM, &a);	/* it may have none */
}
