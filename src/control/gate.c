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
 *	the program has another handler for it
 *				there is none: it would be taken for the
 *				program's own
 *	its stack pointer is on no stack that we know, or has little room below
 *				there is none: the kernel would write the
 *				handler's frame over data, or end the program
 *
 * The stacks that we know: the alternate one of the thread, the main stack, and
 * the one that libc made for the thread and describes in its descriptor
 * (stacks.c). Once found, that of a thread stays in its entry.
 *
 * What was held back is counted, by thread and reason. (A program that says no
 * keeps the kernel from sending the signal since Linux 6.10; before that it
 * kept it from writing a sample, no more.)
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/auxv.h>
#include <sys/ioctl.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <linux/btf.h>
#include <linux/perf_event.h>

#include "btf.h"
#include "gate.h"
#include "hazard.h"
#include "machine.h"
#include "private.h"

enum {
	THREADS = 16384,
	WORK_DISPATCH = 1 << 5,	/* SYSCALL_WORK_SYSCALL_USER_DISPATCH */
	MODE_FILTER = 2,	/* strict mode permits rt_sigreturn */
};

struct gate {
	int program, map;
};

static int
bpf(int command, union bpf_attr *a)
{
	return (int)syscall(SYS_bpf, command, a, sizeof *a);
}

/* ---- what the kernel has ------------------------------------------------- */

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

/* In what all threads of a process share. */
static bool
find_actions(const struct btf *b, struct places *at)
{
	const uint32_t its = btf_find(b, BTF_KIND_STRUCT, "sighand_struct");
	struct btf_place place;

	if (!its || !btf_member(b, its, "action", &place))
		return false;
	at->action = place.offset;
	return find_member(b, NULL, "task_struct", "sighand", &at->actions);
}

static bool
find_stack_places(const struct btf *b, struct places *at)
{
	return find_member(b, NULL, "task_struct", "sas_ss_sp",
			   &at->alternate) &&
		find_member(b, NULL, "task_struct", "sas_ss_size",
			    &at->alternate_size) &&
		find_member(b, "pending", "sigpending", "signal",
			    &at->pending) &&
		find_member(b, "thread", "thread_struct",
			    machine_kernel_thread_pointer,
			    &at->thread_pointer);
}

static bool
find_places(struct places *at, bool for_handler)
{
	struct btf *b = btf_open("/sys/kernel/btf/vmlinux");
	const bool found = b && (!for_handler || (find_stack_places(b, at) &&
						  find_actions(b, at))) &&
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

static void
answer(struct code *c, int passes)
{
	with(c, BPF_MOV, BPF_REG_0, passes);
	emit(c, (struct bpf_insn){ .code = BPF_JMP | BPF_EXIT });
}

void
gate_read_task(struct code *c, int size, uint32_t at)
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

void
gate_look_up(struct code *c, int map, int to)
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
	with_reg(c, BPF_ADD, BPF_REG_1, REASON);
	with(c, BPF_MOV, BPF_REG_2, 1);
	emit(c, (struct bpf_insn){ .code = BPF_STX | BPF_DW | BPF_ATOMIC,
				   .dst_reg = BPF_REG_1, .src_reg = BPF_REG_2,
				   .imm = BPF_ADD });
	jump_here(c, none);
}

void
gate_hold_back(struct code *c, int map, enum gate_reason why)
{
	const size_t place = offsetof(struct entry, news.held) +
		why * sizeof(uint64_t);

	with(c, BPF_MOV, BPF_REG_1, GATE_ALL);
	store(c, BPF_W, BPF_REG_10, KEY_AT, BPF_REG_1);
	gate_look_up(c, map, REASON);
	move(c, BOUNDS, REASON);
	with(c, BPF_MOV, REASON, (int)place);
	count(c, BOUNDS);
	count(c, ENTRY);
	answer(c, 0);
}

/* What the kernel writes for a handler, by its own word, in bytes. */
static size_t
frame_bytes(void)
{
	enum { AT_LEAST = 51 /* AT_MINSIGSTKSZ, Linux 5.14 */, OLD = 4096 };
	const unsigned long bytes = getauxval(AT_LEAST);

	return bytes ? bytes : OLD;
}

/* The mask is always looked at: a signal that is blocked is pending. */
static void
check_mask(struct code *c, const struct places *at, int signo, int map)
{
	size_t open;

	gate_read_task(c, sizeof(uint64_t), at->blocked);
	with(c, BPF_RSH, BPF_REG_1, signo - 1);
	with(c, BPF_AND, BPF_REG_1, 1);
	open = jump_if(c, BPF_JEQ, BPF_REG_1, 0);
	gate_hold_back(c, map, GATE_BLOCKED);
	jump_here(c, open);
}

static void
check_dispatch(struct code *c, const struct places *at, int map)
{
	size_t free_of_it;

	gate_read_task(c, sizeof(uint64_t), at->work);
	with(c, BPF_AND, BPF_REG_1, WORK_DISPATCH);
	free_of_it = jump_if(c, BPF_JEQ, BPF_REG_1, 0);
	gate_hold_back(c, map, GATE_DISPATCHED);
	jump_here(c, free_of_it);
}

static void
check_filters(struct code *c, const struct places *at, int map)
{
	size_t none, not_known, asked;

	gate_read_task(c, sizeof(uint32_t), at->mode);
	none = jump_if(c, BPF_JNE, BPF_REG_1, MODE_FILTER);
	gate_read_task(c, sizeof(uint32_t), at->filters);
	not_known = jump_if(c, BPF_JEQ, ENTRY, 0);
	load(c, BPF_W, BPF_REG_2, ENTRY, offsetof(struct entry, filters));
	asked = jump_if_regs(c, BPF_JLE, BPF_REG_1, BPF_REG_2);
	gate_read_task(c, sizeof(uint64_t), at->filter);
	store(c, BPF_DW, ENTRY, offsetof(struct entry, news.filter), BPF_REG_1);
	jump_here(c, not_known);
	gate_hold_back(c, map, GATE_CONFINED);
	jump_here(c, asked);
	jump_here(c, none);
}

/*
 * Of the signals that are a thread's own the kernel takes those with lower
 * numbers first, and writes a frame for each before any handler runs: ours
 * would come below another's, and there is room for one. Those of the process
 * come later.
 */
static void
check_due(struct code *c, const struct places *at, int signo, int map)
{
	size_t none, blocked;

	gate_read_task(c, sizeof(uint64_t), at->pending);
	with(c, BPF_AND, BPF_REG_1, (1 << (signo - 1)) - 1);
	none = jump_if(c, BPF_JEQ, BPF_REG_1, 0);
	store(c, BPF_DW, BPF_REG_10, SIZE_AT, BPF_REG_1);
	gate_read_task(c, sizeof(uint64_t), at->blocked);
	with(c, BPF_XOR, BPF_REG_1, -1);
	load(c, BPF_DW, BPF_REG_2, BPF_REG_10, (size_t)SIZE_AT);
	with_reg(c, BPF_AND, BPF_REG_1, BPF_REG_2);
	blocked = jump_if(c, BPF_JEQ, BPF_REG_1, 0);
	gate_hold_back(c, map, GATE_BESIDE);
	jump_here(c, none);
	jump_here(c, blocked);
}

/* The kernel's own struct, of the ABI: handler, flags, restorer, mask. */
static void
check_handler(struct code *c, const struct places *at, int signo, int map)
{
	enum { ACTION = 32 };
	size_t any, same, none;

	with(c, BPF_MOV, BPF_REG_1, GATE_ALL);
	store(c, BPF_W, BPF_REG_10, KEY_AT, BPF_REG_1);
	gate_look_up(c, map, BOUNDS);
	none = jump_if(c, BPF_JEQ, BOUNDS, 0);
	load(c, BPF_DW, BPF_REG_1, BOUNDS, offsetof(struct entry, handler));
	any = jump_if(c, BPF_JEQ, BPF_REG_1, 0);
	gate_read_task(c, sizeof(uint64_t), at->actions);
	move(c, BPF_REG_3, BPF_REG_1);
	with(c, BPF_ADD, BPF_REG_3, (int)at->action + (signo - 1) * ACTION);
	move(c, BPF_REG_1, BPF_REG_10);
	with(c, BPF_ADD, BPF_REG_1, WORD_AT);
	with(c, BPF_MOV, BPF_REG_2, sizeof(uint64_t));
	call(c, BPF_FUNC_probe_read_kernel);
	load(c, BPF_DW, BPF_REG_1, BPF_REG_10, (size_t)WORD_AT);
	load(c, BPF_DW, BPF_REG_2, BOUNDS, offsetof(struct entry, handler));
	same = jump_if_regs(c, BPF_JEQ, BPF_REG_1, BPF_REG_2);
	gate_hold_back(c, map, GATE_TAKEN);
	jump_here(c, none);
	jump_here(c, any);
	jump_here(c, same);
}

static int
load_program(const struct places *at, int map, int signo,
	     const struct gate_handler *handler)
{
	const size_t room = frame_bytes() + handler->stack;
	struct code c = { 0 };
	union bpf_attr a;
	int program;

	if (room > GATE_ROOM_MOST) {
		errno = E2BIG;
		return -1;
	}
	gate_save_sp(&c);
	call(&c, BPF_FUNC_get_current_task);
	move(&c, TASK, BPF_REG_0);
	call(&c, BPF_FUNC_get_current_pid_tgid);
	store(&c, BPF_W, BPF_REG_10, KEY_AT, BPF_REG_0);
	store(&c, BPF_DW, BPF_REG_10, IDS_AT, BPF_REG_0);
	gate_look_up(&c, map, ENTRY);
	check_mask(&c, at, signo, map);
	if (handler->stack) {
		check_handler(&c, at, signo, map);
		check_dispatch(&c, at, map);
		check_filters(&c, at, map);
	}
	if (handler->stack && handled(HAZARD_TICK_STACK)) {
		check_due(&c, at, signo, map);
		gate_check_stack(&c, at, map, room, handler->alternate);
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
on_entry(enum bpf_cmd what, int map, pid_t tid, void *entry)
{
	const uint32_t key = (uint32_t)tid;
	union bpf_attr a;

	memset(&a, 0, sizeof a);
	a.map_fd = (uint32_t)map;
	a.key = (uint64_t)(uintptr_t)&key;
	a.value = (uint64_t)(uintptr_t)entry;
	return bpf(what, &a);
}

/* Zeros where there is none. */
static struct entry
get_entry(const struct gate *g, pid_t tid)
{
	struct entry entry = { 0 };

	(void)on_entry(BPF_MAP_LOOKUP_ELEM, g->map, tid, &entry);
	return entry;
}

/* What the program counts or notes in this moment may be lost. */
static int
put_entry(const struct gate *g, pid_t tid, struct entry *entry)
{
	return on_entry(BPF_MAP_UPDATE_ELEM, g->map, tid, entry);
}

static int
make_map(uint32_t entries)
{
	struct entry none = { 0 };
	union bpf_attr a;
	int map;

	memset(&a, 0, sizeof a);
	a.map_type = BPF_MAP_TYPE_HASH;
	a.key_size = sizeof(uint32_t);
	a.value_size = sizeof none;
	a.max_entries = entries;
	map = bpf(BPF_MAP_CREATE, &a);
	if (map < 0 ||
	    on_entry(BPF_MAP_UPDATE_ELEM, map, GATE_ALL, &none) == 0)
		return map;
	(void)close(map);
	return -1;
}

/* ---- the door ------------------------------------------------------------ */

size_t
gate_room(size_t handler_stack)
{
	return GATE_RED_ZONE + frame_bytes() + handler_stack;
}

struct gate *
gate_open(int signo, const struct gate_handler *handler)
{
	struct places at;
	struct gate *g;

	if (!handled(HAZARD_GATE) || !kernel_is_at_least(6, 10) ||
	    !pids_are_the_kernels() || !find_places(&at, handler->stack > 0))
		return NULL;
	g = xcalloc(1, sizeof *g);
	g->program = -1;
	g->map = make_map(handler->stack ? THREADS : 1);
	if (g->map >= 0)
		g->program = load_program(&at, g->map, signo, handler);
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
	*news = get_entry(g, tid).news;
}

int
gate_note_filters(const struct gate *g, pid_t tid, uint32_t filters)
{
	struct entry entry = get_entry(g, tid);

	entry.filters = filters;
	return put_entry(g, tid, &entry);
}

int
gate_note_stack(const struct gate *g, pid_t tid, const struct stack_bounds *its)
{
	struct entry entry = get_entry(g, tid);

	entry.news.stack = *its;
	return put_entry(g, tid, &entry);
}

int
gate_note_stacks(const struct gate *g, const struct stacks *stacks)
{
	struct entry all = get_entry(g, GATE_ALL);

	all.news.stack = stacks->main;
	all.form = stacks->form;
	all.words_at = stacks->words_at;
	return put_entry(g, GATE_ALL, &all);
}

int
gate_note_handler(const struct gate *g, uint64_t handler)
{
	struct entry all = get_entry(g, GATE_ALL);

	all.handler = handler;
	return put_entry(g, GATE_ALL, &all);
}

void
gate_forget(const struct gate *g, pid_t tid)
{
	(void)on_entry(BPF_MAP_DELETE_ELEM, g->map, tid, NULL);
}
