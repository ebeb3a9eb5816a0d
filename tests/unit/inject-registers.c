/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * What a thread has in its registers, below its stack pointer and in a
 * restartable sequence while it is borrowed. The victim knows how often it was
 * stopped: a sequence that ends with another count than it began with was
 * completed over a stop, which the kernel would have aborted.
 * injection.md 2: rows 13, 14, 16
 * hazard: ODD_STACK RED_ZONE RSEQ
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ptrace.h>
#include <sys/rseq.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "../../src/inject/private.h"
#include "inject-victim.h"

enum { VISITS = 150, SPINS = 200000, LIMIT_S = 60 };

struct shared {
	struct victim_page at;
	volatile uint64_t stops;	/* told while it stands */
	volatile uint64_t sections, aborted, completed_over, zones, spoiled;
};

static struct shared *shared;

/* ---- the victim ---------------------------------------------------------- */

/* 0: completed, the count at its two ends in *begin and *end; 1: aborted. */
static int __attribute__((noinline))
run_section(uint64_t *begin, uint64_t *end)
{
	struct rseq *area = (struct rseq *)((char *)__builtin_thread_pointer() +
					    __rseq_offset);
	int aborted = 0;

	__asm__ volatile(
		"	.pushsection .data.rel.ro, \"aw\"\n"
		"	.balign 32\n"
		"4:	.long 0, 0\n"
		"	.quad 1f, 2f - 1f, 3f\n"
		"	.popsection\n"
		"	leaq 4b(%%rip), %%rax\n"
		"	movq %%rax, %[cs]\n"
		"1:	movq %[stops], %[begin]\n"
		"	movl %[spins], %%ecx\n"
		"6:	decl %%ecx\n"
		"	jnz 6b\n"
		"	movq %[stops], %[end]\n"
		"2:	jmp 5f\n"
		"	.byte 0x0f, 0xb9, 0x3d\n"
		"	.long 0x53053053\n"
		"3:	movl $1, %[aborted]\n"
		"5:	movq $0, %[cs]\n"
		: [cs] "+m" (area->rseq_cs), [begin] "=&r" (*begin),
		  [end] "=&r" (*end), [aborted] "+r" (aborted)
		: [stops] "m" (shared->stops), [spins] "i" (SPINS)
		: "rax", "rcx", "memory", "cc");
	return aborted;
}

/* All 128 bytes below sp, and vector registers, for as long. */
static int __attribute__((noinline))
keep_zone(void)
{
	long wrong;

	__asm__ volatile(
		"	movabsq $0x5ca1ab1e0ddba11, %%rax\n"
		"	movq %%rax, %%xmm7\n"
		"	movq %%rax, %%xmm15\n"
		"	movq $-16, %%rcx\n"
		"1:	movq %%rax, (%%rsp,%%rcx,8)\n"
		"	incq %%rcx\n"
		"	js 1b\n"
		"	movl %[spins], %%ecx\n"
		"2:	decl %%ecx\n"
		"	jnz 2b\n"
		"	xorl %k[wrong], %k[wrong]\n"
		"	movq $-16, %%rcx\n"
		"3:	movq (%%rsp,%%rcx,8), %%rdx\n"
		"	xorq %%rax, %%rdx\n"
		"	orq %%rdx, %[wrong]\n"
		"	incq %%rcx\n"
		"	js 3b\n"
		"	movq %%xmm7, %%rdx\n"
		"	xorq %%rax, %%rdx\n"
		"	orq %%rdx, %[wrong]\n"
		"	movq %%xmm15, %%rdx\n"
		"	xorq %%rax, %%rdx\n"
		"	orq %%rdx, %[wrong]\n"
		: [wrong] "=&r" (wrong)
		: [spins] "i" (SPINS)
		: "rax", "rcx", "rdx", "xmm7", "xmm15", "memory", "cc");
	return wrong != 0;
}

/*
 * On a stack that was carved out of something: below its last bytes lies what
 * is somebody's. (A handler of the program's own would ask for more.)
 */
static int __attribute__((noinline))
keep_neighbour(void)
{
	static struct {
		volatile unsigned char neighbour[8192], stack[256];
	} place __attribute__((aligned(64)));
	size_t wrong = 0;

	memset((void *)place.neighbour, 0x5c, sizeof place.neighbour);
	__asm__ volatile(
		"	movq %%rsp, %%rbx\n"
		"	movq %[top], %%rsp\n"
		"	movl %[spins], %%ecx\n"
		"1:	decl %%ecx\n"
		"	jnz 1b\n"
		"	movq %%rbx, %%rsp\n"
		: : [top] "r" (place.stack + sizeof place.stack),
		    [spins] "i" (SPINS)
		: "rbx", "rcx", "memory", "cc");
	for (size_t i = 0; i < sizeof place.neighbour; i++)
		wrong += place.neighbour[i] != 0x5c;
	return wrong != 0;
}

/* Nobody's frame may be where keep_zone writes. */
static void __attribute__((noinline))
keep_zone_far(void)
{
	volatile char room[512];

	room[0] = room[511] = 0;
	shared->spoiled += (uint64_t)keep_zone();
	shared->spoiled += (uint64_t)keep_neighbour();
	shared->zones++;
}

static int
run_victim(const char *page)
{
	uint64_t begin = 0, end = 0;

	shared = victim_page_of(page);
	alarm(LIMIT_S);
	if (__rseq_size == 0)
		return 2;
	shared->at.ready = 1;
	while (!shared->at.stop) {
		if (run_section(&begin, &end))
			shared->aborted++;
		else if (begin != end)
			shared->completed_over++;
		shared->sections++;
		keep_zone_far();
	}
	return shared->completed_over || shared->spoiled ? 1 : 0;
}

/* ---- the visits ---------------------------------------------------------- */

static int
visit(struct target *t)
{
	static const uint64_t nothing[6];
	struct inject_report report = { 0 };
	struct borrow *b = xcalloc(1, sizeof *b);
	struct plan p;
	int64_t told;
	int r;

	if (plan_make(t, &p) < 0) {
		free(b);
		return -1;
	}
	p.single = false;		/* nothing of libc is called */
	r = donor_take(&p, 0, b, &report);
	if (r == 0) {
		shared->stops++;
		r = borrow_syscall(b, SYS_getppid, nothing, &told, NULL);
		if (borrow_return(b, &report) < 0)
			r = -1;
	}
	plan_fini(&p);
	free(b);
	return r;
}

int
main(int argc, char **argv)
{
	struct target *t;
	int status = -1, failed = 0;
	pid_t pid;

	if (argc == 3)
		return run_victim(argv[2]);
	alarm(LIMIT_S);
	pid = victim_start("run", (void **)&shared);
	t = pid > 0 ? target_open(pid) : NULL;
	if (!t)
		return printf("no victim\n"), 99;
	for (int i = 0; i < VISITS; i++) {
		const uint64_t before = shared->sections;

		if (visit(t) < 0)
			failed++, printf("FAIL: visit %d: %s\n", i,
					 fail_last()->reason);
		/* wherever it is then */
		while (shared->sections == before && !target_gone(t))
			usleep(100 + (unsigned)hash_word((uint64_t)i) % 300);
	}
	shared->at.stop = 1;
	target_close(t);
	waitpid(pid, &status, 0);
	printf("%d visits, %llu sections, %llu aborted, %llu completed over a "
	       "stop, %llu zones, %llu spoiled\n", VISITS,
	       (unsigned long long)shared->sections,
	       (unsigned long long)shared->aborted,
	       (unsigned long long)shared->completed_over,
	       (unsigned long long)shared->zones,
	       (unsigned long long)shared->spoiled);
	return failed || status ? 1 : 0;
}
