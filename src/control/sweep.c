/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * All threads that sleep, in one reading: registers and stacks as the kernel's
 * task iterator shows them to a program of ours (BPF). Files of /proc take more
 * time for each thread, and tell sp and pc alone (bench/run --only look: 16 us
 * one by one, 3 so). It needs Linux 6.1, root (CAP_BPF and CAP_PERFMON) and the
 * initial PID namespace, whose numbers the kernel has for threads; setting it
 * up takes 2 ms, once for a target.
 */
#include "sweep.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/btf.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "btf.h"
#include "hazard.h"
#include "private.h"

#define KERNEL_TYPES "/sys/kernel/btf/vmlinux"

enum {				/* include/linux/sched.h */
	STATE_MASK = 0xff, STATE_SLEEPS = 1, STATE_WAITS = 2,
	STATE_NO_LOAD = 0x400,
};

struct sweep {
	int link, map;
	struct sweep_slot *slots;
	char *trouble;		/* why there is none */
};

/* ---- what the kernel has where ------------------------------------------- */

static bool
member_of(const struct btf *b, const char *type, const char *name,
	  uint32_t *offset)
{
	const uint32_t its = btf_find(b, BTF_KIND_STRUCT, type);
	struct btf_place place;

	if (!its || !btf_member(b, its, name, &place))
		return false;
	*offset += place.offset;
	return true;
}

static bool
find_places(const struct btf *b, struct sweep_places *at)
{
	static const char task[] = "task_struct";
	uint32_t info = 0, entity = 0;

	*at = (struct sweep_places){
		.iterator = btf_find(b, BTF_KIND_FUNC, "bpf_iter_task") };
	if (!at->iterator || !member_of(b, task, "sched_info", &info) ||
	    !member_of(b, task, "se", &entity))
		return false;
	at->runs = at->wait_ns = info;
	at->cpu_ns = entity;
	return member_of(b, task, "pid", &at->tid) &&
		member_of(b, task, "__state", &at->state) &&
		member_of(b, task, "on_cpu", &at->on_cpu) &&
		member_of(b, task, "comm", &at->name) &&
		member_of(b, "sched_info", "pcount", &at->runs) &&
		member_of(b, "sched_info", "run_delay", &at->wait_ns) &&
		member_of(b, "sched_entity", "sum_exec_runtime", &at->cpu_ns);
}

static int
read_places(struct sweep_places *at)
{
	struct btf *b = btf_open(KERNEL_TYPES);
	bool found;

	if (!b)
		return -1;
	found = find_places(b, at);
	btf_free(b);
	return found ? 0 : fail(FAIL_UNSUITABLE, "the kernel's tasks have "
				"other members than are known here");
}

/* ---- setting up ------------------------------------------------------------ */

static int
bpf(int command, union bpf_attr *attr)
{
	return (int)syscall(SYS_bpf, command, attr, sizeof *attr);
}

static int
make_slots(struct sweep *s)
{
	union bpf_attr a;
	void *slots;

	memset(&a, 0, sizeof a);
	a.map_type = BPF_MAP_TYPE_ARRAY;
	a.key_size = sizeof(uint32_t);
	a.value_size = sizeof(struct sweep_slot);
	a.max_entries = SWEEP_SLOTS;
	a.map_flags = BPF_F_MMAPABLE;
	s->map = bpf(BPF_MAP_CREATE, &a);
	if (s->map < 0)
		return fail_errno("make a BPF map");
	slots = mmap(NULL, SWEEP_SLOTS * sizeof *s->slots, PROT_READ,
		     MAP_SHARED, s->map, 0);
	if (slots == MAP_FAILED)
		return fail_errno("map a BPF map");
	s->slots = slots;
	return 0;
}

static int
load_program(const struct sweep *s, const struct sweep_places *at)
{
	union bpf_attr a;
	struct bpf_insn *code;
	size_t sp;
	const size_t words = machine_entry_words(&sp);
	int fd;

	_Static_assert(sizeof(struct user_regs_struct) <=
		       SWEEP_REGS * sizeof(uint64_t), "all registers");
	memset(&a, 0, sizeof a);
	a.prog_type = BPF_PROG_TYPE_TRACING;
	a.expected_attach_type = BPF_TRACE_ITER;
	a.attach_btf_id = at->iterator;
	a.prog_flags = BPF_F_SLEEPABLE;
	a.insn_cnt = (uint32_t)sweep_code(at, s->map, words, sp, &code);
	a.insns = (uint64_t)(uintptr_t)code;
	a.license = (uint64_t)(uintptr_t)"GPL";
	fd = bpf(BPF_PROG_LOAD, &a);
	free(code);
	return fd < 0 ? fail_errno("load a BPF program") : fd;
}

static int
link_program(struct sweep *s, int program, pid_t pid)
{
	union bpf_iter_link_info info;
	union bpf_attr a;

	memset(&info, 0, sizeof info);
	info.task.pid = (uint32_t)pid;
	memset(&a, 0, sizeof a);
	a.link_create.prog_fd = (uint32_t)program;
	a.link_create.attach_type = BPF_TRACE_ITER;
	a.link_create.iter_info = (uint64_t)(uintptr_t)&info;
	a.link_create.iter_info_len = sizeof info;
	s->link = bpf(BPF_LINK_CREATE, &a);
	return s->link < 0 ? fail_errno("iterate over the threads of process "
					"%d", (int)pid) : 0;
}

static int
set_up(struct sweep *s, pid_t pid)
{
	struct sweep_places at;
	size_t sp;
	int program, r;

	if (!machine_entry_words(&sp))
		return fail(FAIL_UNSUITABLE, "not on this machine");
	if (!pids_are_the_kernels())
		return fail(FAIL_UNSUITABLE, "not in a PID namespace");
	if (make_slots(s) < 0 || read_places(&at) < 0)
		return -1;
	program = load_program(s, &at);
	if (program < 0)
		return -1;
	r = link_program(s, program, pid);
	close(program);
	return r;
}

static void
give_back(struct sweep *s)
{
	if (s->slots)
		munmap(s->slots, SWEEP_SLOTS * sizeof *s->slots);
	if (s->map >= 0)
		close(s->map);
	if (s->link >= 0)
		close(s->link);
	s->slots = NULL;
	s->link = s->map = -1;
}

struct sweep *
sweep_new(pid_t pid)
{
	struct sweep *s = xcalloc(1, sizeof *s);

	s->link = s->map = -1;
	if (set_up(s, pid) < 0) {
		s->trouble = xstrdup(fail_last()->reason);
		give_back(s);
	}
	return s;
}

void
sweep_free(struct sweep *s)
{
	if (!s)
		return;
	give_back(s);
	free(s->trouble);
	free(s);
}

/* ---- reading --------------------------------------------------------------- */

/* '\0': it does not sleep, or in a way that only stops have. */
static char
state_of(uint32_t state)
{
	if ((state & STATE_MASK) == STATE_SLEEPS)
		return 'S';
	return (state & STATE_MASK) == STATE_WAITS &&
		!(state & STATE_NO_LOAD) ? 'D' : '\0';
}

static void
take_facts(const struct sweep_slot *slot, const struct user_regs_struct *regs,
	   struct thread_facts *f)
{
	(void)machine_call(regs, f->args);
	f->syscall = machine_syscall(regs);
	f->in_syscall = f->syscall >= 0;
	f->partial = f->in_syscall && call_is_partial(f->syscall, f->args);
	f->pc = machine_pc(regs);
	f->sp = machine_sp(regs);
	f->cpu_ns = slot->cpu_ns;
	f->wait_ns = slot->wait_ns;
	f->switches = slot->runs;
	f->state = state_of(slot->state);
	memcpy(f->name, slot->name, sizeof f->name);
	f->name[sizeof f->name - 1] = '\0';
}

/* Is all of it of one moment of sleep? */
static bool
is_sound(const struct sweep_slot *slot)
{
	const bool stayed = slot->runs == slot->runs_after &&
		slot->cpu_ns == slot->cpu_ns_after;

	return slot->stack_len && state_of(slot->state) &&
		(stayed || !handled(HAZARD_SWEPT_RUNS));
}

/* From sp on; who is in a handler on a stack of its own is left to peek_thread,
 * which reads both. */
static bool
view(struct sweep_slot *slot, size_t max_stack, struct snapshot_thread *th)
{
	struct user_regs_struct regs;
	size_t skip;

	*th = (struct snapshot_thread){ .tid = (pid_t)slot->tid };
	if (!is_sound(slot))
		return false;
	memcpy(&regs, slot->regs, sizeof regs);
	take_facts(slot, &regs, &th->facts);
	if (!th->facts.pc || !th->facts.sp)
		return false;		/* a thread of the kernel's */
	th->stack_base = th->facts.sp & ~UINT64_C(7);
	skip = th->stack_base % SWEEP_PAGE;
	th->stack = slot->stack[0] + skip;
	th->stack_size = slot->stack_len - skip;
	if (th->stack_size > max_stack)
		th->stack_size = max_stack & ~(size_t)7;
	arch.from_ptrace(&regs, &th->regs);
	th->ok = true;
	return !under_find(th->stack, th->stack_base, th->stack_size);
}

/* As many as there are slots at a time: nobody writes to them until we ask for
 * more. */
static int
read_all(const struct sweep *s, int fd, size_t max_stack,
	 snapshot_visit_fn *visit, void *arg)
{
	uint32_t told[SWEEP_SLOTS];
	struct snapshot_thread th;
	ssize_t n;

	while ((n = read(fd, told, sizeof told)) > 0)
		for (size_t i = 0; i < (size_t)n / sizeof *told; i++)
			if (told[i] < SWEEP_SLOTS &&
			    view(&s->slots[told[i]], max_stack, &th))
				visit(arg, &th);
	return n < 0 ? fail_errno("iterate over threads") : 0;
}

int
snapshot_sleeping(struct target *t, size_t max_stack,
		  snapshot_visit_fn *visit, void *arg)
{
	union bpf_attr a;
	int fd, r;

	if (!t->sweep)
		t->sweep = sweep_new(t->pid);
	if (t->sweep->trouble)
		return fail(FAIL_UNSUITABLE, "%s", t->sweep->trouble);
	memset(&a, 0, sizeof a);
	a.iter_create.link_fd = (uint32_t)t->sweep->link;
	fd = bpf(BPF_ITER_CREATE, &a);
	if (fd < 0)
		return fail_errno("iterate over threads");
	r = read_all(t->sweep, fd, max_stack, visit, arg);
	close(fd);
	return r;
}
