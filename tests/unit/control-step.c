/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Instructions that target_step carries out itself leave what the processor
 * leaves: two children of one image get the same registers, the same memory and
 * the same random instruction; one is stepped by us, the other by
 * PTRACE_SINGLESTEP. Where the processor faults, at pages that are protected,
 * nothing has happened.
 * mission: X2
 */
#include "control-test.h"

#include <elf.h>
#include <sys/ptrace.h>
#include <sys/uio.h>
#include <sys/user.h>

enum { ROUNDS = 4000, PAGE = 4096, PAGES = 8, CODE_MAX = 16,
       FLAG_AF = 1 << 4, FLAG_TF = 1 << 8, FLAG_RF = 1 << 16 };

/* The first and the last page cannot be written, the second not read. */
static unsigned char *area;
static unsigned char *text;		/* where they execute: not written */
static unsigned char code[CODE_MAX];

static uint64_t
next_random(void)
{
	static uint64_t state = 88172645463325252;

	state ^= state << 13;
	state ^= state >> 7;
	state ^= state << 17;
	return state;
}

static unsigned
below(unsigned n)
{
	return (unsigned)(next_random() % n);
}

/* ---- two children of one image ------------------------------------------- */

static int ready[2];			/* a byte from each that spins */

static pid_t
start(void)
{
	const pid_t pid = fork();

	if (pid)
		return pid;
	(void)prctl(PR_SET_PDEATHSIG, SIGKILL);
	(void)write(ready[1], "", 1);
	for (;;)
		__asm__ volatile("" ::: "memory");
}

/* By force: what is protected, too. */
static FILE *
memory_of(pid_t pid, const void *at)
{
	char path[32];
	FILE *f;

	(void)snprintf(path, sizeof path, "/proc/%d/mem", (int)pid);
	f = fopen(path, "r+");
	if (f && fseeko(f, (off_t)(uintptr_t)at, SEEK_SET) == 0)
		return f;
	printf("no memory of %d\n", (int)pid);
	_exit(99);
}

static bool
give(pid_t pid, void *at, const void *bytes, size_t n)
{
	FILE *f = memory_of(pid, at);
	const bool ok = fwrite(bytes, 1, n, f) == n;

	return (fclose(f) == 0) && ok;
}

static bool
take(pid_t pid, unsigned char *bytes)
{
	FILE *f = memory_of(pid, area);
	const bool ok = fread(bytes, 1, PAGES * PAGE, f) == PAGES * PAGE;

	(void)fclose(f);
	return ok;
}

/* ---- instructions -------------------------------------------------------- */

static size_t
put(unsigned char *at, uint64_t value, size_t n)
{
	memcpy(at, &value, n);
	return n;
}

/* modrm, sib, displacement */
static size_t
operand(unsigned char *at)
{
	const unsigned mod = below(4), low = below(8);
	size_t n = 1;

	at[0] = (unsigned char)(mod << 6 | below(8) << 3 | low);
	if (mod != 3 && low == 4)
		at[n++] = (unsigned char)next_random();
	if (mod == 1)
		n += put(at + n, next_random() & 0x7f, 1);
	if (mod == 2 || (mod == 0 && (low == 5 || (low == 4 &&
						   (at[1] & 7) == 5))))
		n += put(at + n, next_random() & 0x3ff, 4);
	return n;
}

static void
instruction(void)
{
	static const unsigned char opcodes[] = {
		0x50, 0x55, 0x89, 0x89, 0x8b, 0x8b, 0xc7, 0x8d, 0x81, 0x83,
		0x85, 0x31, 0x33, 0x39, 0xb8, 0x90, 0x0f, 0x01, 0x29, 0x3b,
	};
	const unsigned char op = opcodes[below(sizeof opcodes)];
	size_t n = 0;

	memset(code, 0x90, CODE_MAX);
	if (op != 0x90 && op != 0x0f && below(3))
		code[n++] = (unsigned char)(0x40 | below(16));
	code[n++] = op;
	if (op == 0x50 || op == 0x55)
		return;
	if (op == 0xb8) {
		(void)put(code + n, next_random(), 8);
		return;
	}
	if (op == 0x0f)
		code[n++] = 0x1f;
	if (op == 0x90)
		return;
	n += operand(code + n);
	if (op == 0xc7 || op == 0x81 || op == 0x83)
		(void)put(code + n, next_random(), op == 0x83 ? 1 : 4);
}

/* Half of them point into the area, some near its protected pages. */
static void
registers(struct user_regs_struct *r)
{
	unsigned long long *const all[] = {
		&r->rax, &r->rbx, &r->rcx, &r->rdx, &r->rsi, &r->rdi, &r->rbp,
		&r->r8, &r->r9, &r->r10, &r->r11, &r->r12, &r->r13, &r->r14,
		&r->r15,
	};

	for (size_t i = 0; i < sizeof all / sizeof *all; i++)
		*all[i] = below(4) == 0 ? next_random() :
			below(4) == 0 ? below(64) :
			(uint64_t)(uintptr_t)area + below(PAGES * PAGE);
	r->rsp = (uint64_t)(uintptr_t)area + 2 * PAGE +
		(below((PAGES - 3) * PAGE) & ~7u);
	r->rip = (uint64_t)(uintptr_t)text;
	r->eflags = 0x202 | (next_random() & 0x8d5);
	r->orig_rax = (uint64_t)-1;
}

/* ---- a step of each ------------------------------------------------------ */

struct outcome {
	struct user_regs_struct regs;
	bool faulted;
	unsigned char bytes[PAGES * PAGE];
};

static unsigned long
switches(pid_t pid)
{
	unsigned long sum = 0, n;
	char path[32], line[128];
	FILE *f;

	(void)snprintf(path, sizeof path, "/proc/%d/status", (int)pid);
	f = fopen(path, "r");
	while (f && fgets(line, sizeof line, f))
		if (sscanf(line, "voluntary_ctxt_switches: %lu", &n) == 1 ||
		    sscanf(line, "nonvoluntary_ctxt_switches: %lu", &n) == 1)
			sum += n;
	if (f)
		(void)fclose(f);
	return sum;
}

/* emulated: it has not run for this. */
static bool
step_ours(struct target *t, const struct user_regs_struct *spins,
	  const struct user_regs_struct *regs, struct outcome *out,
	  bool *emulated)
{
	const pid_t pid = target_pid(t);
	const unsigned long before = switches(pid);
	enum stepped how = STEPPED;

	if (thread_set_regset(pid, NT_PRSTATUS, regs, sizeof *regs) < 0 ||
	    target_step(t, pid, &how) < 0 ||
	    thread_get_regset(pid, NT_PRSTATUS, &out->regs,
			      sizeof out->regs) < 0)
		return false;
	*emulated = switches(pid) == before;
	out->faulted = how == STEP_SIGNALLED;
	if (!take(pid, out->bytes))
		return false;
	return !out->faulted || (target_deliver(t, pid, 0) == 0 &&
		thread_set_regset(pid, NT_PRSTATUS, spins,
				  sizeof *spins) == 0 &&
		target_continue_all(t) == 0 && target_hold_all(t) == 0);
}

static bool
step_theirs(pid_t pid, const struct user_regs_struct *regs,
	    struct outcome *out)
{
	struct iovec io = { (void *)(uintptr_t)regs, sizeof *regs };
	int status;

	if (ptrace(PTRACE_SETREGSET, pid, NT_PRSTATUS, &io) < 0 ||
	    ptrace(PTRACE_SINGLESTEP, pid, 0, 0) < 0 ||
	    waitpid(pid, &status, __WALL) != pid || !WIFSTOPPED(status))
		return false;
	out->faulted = WSTOPSIG(status) != SIGTRAP;
	io = (struct iovec){ &out->regs, sizeof out->regs };
	return ptrace(PTRACE_GETREGSET, pid, NT_PRSTATUS, &io) == 0 &&
		take(pid, out->bytes);
}

static bool
is_same(struct outcome *ours, struct outcome *theirs)
{
	const unsigned char op = code[0] >> 4 == 4 ? code[1] : code[0];
	unsigned long long mask = FLAG_TF | FLAG_RF;

	/* undefined after these */
	if (op == 0x85 || op == 0x31 || op == 0x33)
		mask |= FLAG_AF;
	ours->regs.eflags &= ~mask;
	theirs->regs.eflags &= ~mask;
	ours->regs.orig_rax = theirs->regs.orig_rax;
	return ours->faulted == theirs->faulted &&
		memcmp(&ours->regs, &theirs->regs, sizeof ours->regs) == 0 &&
		memcmp(ours->bytes, theirs->bytes, sizeof ours->bytes) == 0;
}

static void
tell(const struct user_regs_struct *before, const struct outcome *ours,
     const struct outcome *theirs)
{
	const unsigned long long *b = (const unsigned long long *)before;
	const unsigned long long *o = (const unsigned long long *)&ours->regs;
	const unsigned long long *x = (const unsigned long long *)&theirs->regs;

	for (int i = 0; i < CODE_MAX; i++)
		printf(" %02x", code[i]);
	printf(": faults %d, %d; area %p\n", ours->faulted, theirs->faulted,
	       (void *)area);
	for (size_t i = 0; i < sizeof *before / sizeof *b; i++)
		if (o[i] != x[i])
			printf("  register %zu: was %#llx, is %#llx, not %#llx\n",
			       i, b[i], o[i], x[i]);
	for (size_t i = 0; i < sizeof ours->bytes; i++)
		if (ours->bytes[i] != theirs->bytes[i])
			printf("  area+%#zx: %02x, not %02x\n", i,
			       ours->bytes[i], theirs->bytes[i]);
}

static bool
prepare(pid_t pid, const unsigned char *bytes)
{
	return give(pid, area, bytes, PAGES * PAGE) &&
		give(pid, text, code, CODE_MAX);
}

static void
compare(struct target *t, pid_t other)
{
	static unsigned char bytes[PAGES * PAGE];
	static struct outcome ours, theirs;
	unsigned emulated = 0, faults = 0;
	struct user_regs_struct spins, regs;
	const pid_t pid = target_pid(t);

	if (thread_get_regset(pid, NT_PRSTATUS, &spins, sizeof spins) < 0)
		return check(false, "registers");
	for (int i = 0; i < ROUNDS && failures == 0; i++) {
		bool by_us = false;

		for (size_t k = 0; k < sizeof bytes; k += 8)
			(void)put(bytes + k, next_random(), 8);
		instruction();
		regs = spins;
		registers(&regs);
		check(prepare(pid, bytes) && prepare(other, bytes), "memory");
		check(step_theirs(other, &regs, &theirs), "the processor's");
		check(step_ours(t, &spins, &regs, &ours, &by_us), "ours");
		emulated += by_us;
		faults += theirs.faulted;
		if (is_same(&ours, &theirs))
			continue;
		check(false, "round %d, by %s", i, by_us ? "us" : "processor");
		tell(&regs, &ours, &theirs);
	}
	printf("%d instructions, %u by us, %u faults\n", ROUNDS, emulated,
	       faults);
	check(emulated > ROUNDS / 4, "few were carried out by us");
	check(faults > ROUNDS / 100, "few faulted");
	(void)thread_set_regset(pid, NT_PRSTATUS, &spins, sizeof spins);
}

static void *
pages(size_t n)
{
	void *p = mmap(NULL, n, PROT_READ | PROT_WRITE,
		       MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	if (p == MAP_FAILED)
		_exit(99);
	return p;
}

int
main(void)
{
	struct target *t;
	pid_t pid, other;
	int status;

#ifndef __x86_64__
	return SKIPPED;
#endif
	area = pages(PAGES * PAGE);
	text = pages(PAGE);
	memset(area, 0x55, PAGES * PAGE);
	memset(text, 0x90, PAGE);
	if (mprotect(area, PAGE, PROT_READ) < 0 ||
	    mprotect(area + PAGE, PAGE, PROT_NONE) < 0 ||
	    mprotect(area + (PAGES - 1) * PAGE, PAGE, PROT_READ) < 0 ||
	    mprotect(text, PAGE, PROT_READ | PROT_EXEC) < 0)
		return 99;
	if (pipe(ready) < 0)
		return 99;
	pid = start();
	other = start();
	for (int i = 0; i < 2; i++) {
		char byte;

		check(read(ready[0], &byte, 1) == 1, "they spin");
	}
	check(ptrace(PTRACE_SEIZE, other, 0, 0) == 0 &&
	      ptrace(PTRACE_INTERRUPT, other, 0, 0) == 0 &&
	      waitpid(other, &status, __WALL) == other, "the other");
	t = target_open(pid);
	check(t && target_hold_all(t) == 0, "ours");
	if (failures == 0)
		compare(t, other);
	target_close(t);
	kill(pid, SIGKILL);
	kill(other, SIGKILL);
	(void)waitpid(pid, NULL, __WALL);
	(void)waitpid(other, NULL, __WALL);
	return failures != 0;
}
