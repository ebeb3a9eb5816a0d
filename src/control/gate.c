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

#include <linux/perf_event.h>

#include "gate.h"
#include "hazard.h"
#include "private.h"

enum { THREADS = 16384 };

struct gate {
	int program, map;
};

static int
bpf(int command, union bpf_attr *a)
{
	return (int)syscall(SYS_bpf, command, a, sizeof *a);
}

/* ---- the program --------------------------------------------------------- */

void
gate_answer(struct code *c, int passes)
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
	gate_answer(c, 0);
}

/* What the kernel writes for a handler, by its own word, in bytes. */
static size_t
frame_bytes(void)
{
	enum { AT_LEAST = 51 /* AT_MINSIGSTKSZ, Linux 5.14 */, OLD = 4096 };
	const unsigned long bytes = getauxval(AT_LEAST);

	return bytes ? bytes : OLD;
}

/*
 * The numbers of the thread and of its process, as we know them. In a PID
 * namespace those are not the kernel's: it is asked for the ones in there. A
 * thread never changes its own, so there is no tick of one that is elsewhere.
 */
static void
read_ids(struct code *c, const struct pid_numbers *numbers)
{
	size_t found;

	if (numbers->are_the_kernels) {
		call(c, BPF_FUNC_get_current_pid_tgid);
		store(c, BPF_DW, BPF_REG_10, IDS_AT, BPF_REG_0);
	} else {
		set_64(c, BPF_REG_1, numbers->device);
		set_64(c, BPF_REG_2, numbers->inode);
		move(c, BPF_REG_3, BPF_REG_10);
		with(c, BPF_ADD, BPF_REG_3, IDS_AT);
		with(c, BPF_MOV, BPF_REG_4, sizeof(struct bpf_pidns_info));
		call(c, BPF_FUNC_get_ns_current_pid_tgid);
		found = jump_if(c, BPF_JEQ, BPF_REG_0, 0);
		gate_answer(c, 0);
		jump_here(c, found);
	}
	load(c, BPF_W, BPF_REG_1, BPF_REG_10, (size_t)IDS_AT);
	store(c, BPF_W, BPF_REG_10, KEY_AT, BPF_REG_1);
}

static int
load_program(const struct places *at, const struct pid_numbers *numbers,
	     int map, int signo, const struct gate_handler *handler)
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
	read_ids(&c, numbers);
	gate_look_up(&c, map, ENTRY);
	gate_check_mask(&c, at, signo, map);
	if (handler->stack) {
		gate_check_handler(&c, at, signo, map);
		gate_check_dispatch(&c, at, map);
		gate_check_filters(&c, at, map);
	}
	if (handler->stack && handled(HAZARD_TICK_STACK)) {
		gate_check_due(&c, at, signo, map);
		gate_check_stack(&c, at, map, room, handler->alternate);
	}
	gate_answer(&c, 1);
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
gate_open(pid_t pid, int signo, const struct gate_handler *handler)
{
	struct pid_numbers numbers;
	struct places at;
	struct gate *g;

	if (!handled(HAZARD_GATE) || !kernel_is_at_least(6, 10) ||
	    !gate_find_numbers(pid, &numbers) ||
	    !gate_find_places(&at, handler->stack > 0))
		return NULL;
	g = xcalloc(1, sizeof *g);
	g->program = -1;
	g->map = make_map(handler->stack ? THREADS : 1);
	if (g->map >= 0)
		g->program = load_program(&at, &numbers, g->map, signo,
					  handler);
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
