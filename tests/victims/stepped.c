/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * stepped [NAME]...: short scenes, to be executed one instruction at a time by
 * somebody who unwinds at each of them (tests/unit/unwind-truth.c). Without
 * names all of them are played.
 *
 * What it knows of itself it says first, one `key value` a line: where its
 * stacks and its handlers are, and where it keeps `chain`, the return addresses
 * of its own frames that are open, as the compiler gives them. At `begin` it
 * stops by SIGSTOP.
 */
#if defined OPTIMIZE && !defined __clang__	/* which has no such pragma */
/* the user's CFLAGS come last and have a level of their own */
#define PRAGMA(text) _Pragma(#text)
#define OPTIMIZE_AS(level) PRAGMA(GCC optimize level)
OPTIMIZE_AS(OPTIMIZE)
#endif
#include <alloca.h>
#include <dlfcn.h>
#include <fcntl.h>
#include <math.h>
#include <regex.h>
#include <setjmp.h>
#include <signal.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <time.h>
#include <ucontext.h>
#include <unistd.h>

#define NOINLINE __attribute__((noinline, noclone))
#ifdef __clang__		/* knows no noclone, and does not clone */
#undef NOINLINE
#define NOINLINE __attribute__((noinline))
#endif
#define BARRIER() __asm__ volatile("" ::: "memory")

enum { CHAIN_MAX = 4096, SIDE_STACK = 64 * 1024 };

/* The victim's own truth: read by who steps it. */
static struct {
	volatile uint64_t count;
	uint64_t ret[CHAIN_MAX];
} chain;

static volatile int sink = 3;
static volatile sig_atomic_t handled;
static char alternate[SIDE_STACK], side[2][SIDE_STACK];

#define ENTER() do { \
	chain.ret[chain.count] = (uintptr_t)__builtin_extract_return_addr( \
		__builtin_return_address(0)); \
	BARRIER(); \
	chain.count++; \
	BARRIER(); \
} while (0)
#define LEAVE() do { BARRIER(); chain.count--; BARRIER(); } while (0)

/* ---- frames of every kind ------------------------------------------------ */

NOINLINE static int
leaf(int n)
{
	return n * 7 + (n >> 3);
}

NOINLINE static int
many(int a, int b, int c, int d, int e, int f, int g, int h, long i)
{
	ENTER();

	const int r = leaf(a + b) + leaf(c + d) + e + f + g + h + (int)i;

	LEAVE();
	return r;
}

NOINLINE static int
recurse(int n)
{
	volatile int keep = n;
	int r;

	ENTER();
	r = n ? recurse(n - 1) + keep : many(n, 1, 2, 3, 4, 5, 6, 7, 8);
	LEAVE();
	return r;
}

/* A frame that must be realigned, of a size unknown, with arguments on the
 * stack. */
NOINLINE static int
realigned(int n, int b, int c, int d, int e, int f, int g, int h)
{
	volatile char vector[64] __attribute__((aligned(64)));
	volatile char *more = alloca((size_t)n);
	int r;

	ENTER();
	more[0] = vector[n & 63] = (char)n;
	r = many(b, c, d, e, f, g, h, more[0], vector[n & 63]);
	LEAVE();
	return r;
}

NOINLINE static int
of_any_size(size_t n)
{
	int room[n];
	int r;

	ENTER();
	memset(room, (int)n, n * sizeof *room);
	r = room[n / 2] + leaf(room[0]);
	LEAVE();
	return r;
}

NOINLINE static int
large(int n)
{
	volatile char room[40000];
	int r;

	ENTER();
	room[0] = room[sizeof room - 1] = (char)n;
	r = room[0] + leaf(n);
	LEAVE();
	return r;
}

NOINLINE __attribute__((cold)) static int
seldom(int n)
{
	ENTER();
	sink += n;
	LEAVE();
	return n + 1;
}

/* Its unlikely part is moved away: .cold */
NOINLINE static int
with_cold_part(int n)
{
	volatile int keep[4] = { n, n, n, n };

	if (__builtin_expect(n & 1, 0)) {
		keep[1] = seldom(keep[0]);
		keep[2] = seldom(keep[1]) + seldom(keep[3]);
	}
	return keep[1] + keep[2] + leaf(n);
}

NOINLINE static int
last(int n)
{
	int r;

	ENTER();
	r = leaf(n);
	LEAVE();
	return r;
}

NOINLINE static int
middle(int n)
{
	return last(n + leaf(n));		/* a jump, where optimised */
}

static int
up(const void *a, const void *b)
{
	return *(const int *)a - *(const int *)b;
}

static void
frames(void)
{
	int values[] = { 4, 2, 9, 1, 7, 3, 8 };

	ENTER();
	sink += recurse(6);
	sink += realigned(40, 1, 2, 3, 4, 5, 6, 7);
	sink += realigned(200, 1, 2, 3, 4, 5, 6, 7);
	sink += of_any_size(10) + of_any_size(300);
	sink += large(sink);
	sink += with_cold_part(2) + with_cold_part(3);
	sink += middle(sink);
	qsort(values, sizeof values / sizeof *values, sizeof *values, up);
	sink += values[0];
	LEAVE();
}

/* ---- assembly ------------------------------------------------------------ */

/* with_cfi, by_frame_pointer, without_anything: call their argument. */
int asm_with_cfi(int (*f)(int), int n);
int asm_by_fp(int (*f)(int), int n);
int asm_remapped(int (*f)(int), int n);
extern const char asm_end[];

__asm__(
	".text\n"
	".p2align 12\n"
	".type asm_with_cfi, @function\n"
	"asm_with_cfi:\n"
	"	.cfi_startproc\n"
	"	push %rbx\n"
	"	.cfi_adjust_cfa_offset 8\n"
	"	.cfi_rel_offset %rbx, 0\n"
	"	sub $32, %rsp\n"
	"	.cfi_adjust_cfa_offset 32\n"
	"	mov %rdi, %rbx\n"
	"	mov %esi, %edi\n"
	"	call *%rbx\n"
	"	add $32, %rsp\n"
	"	.cfi_adjust_cfa_offset -32\n"
	"	pop %rbx\n"
	"	.cfi_adjust_cfa_offset -8\n"
	"	.cfi_restore %rbx\n"
	"	ret\n"
	"	.cfi_endproc\n"
	".size asm_with_cfi, . - asm_with_cfi\n"
	".type asm_by_fp, @function\n"
	"asm_by_fp:\n"
	"	push %rbp\n"
	"	mov %rsp, %rbp\n"
	"	sub $16, %rsp\n"
	"	mov %rdi, %rax\n"
	"	mov %esi, %edi\n"
	"	call *%rax\n"
	"	leave\n"
	"	ret\n"
	".size asm_by_fp, . - asm_by_fp\n"
	".type asm_remapped, @function\n"
	"asm_remapped:\n"
	"	.cfi_startproc\n"
	"	push %r12\n"
	"	.cfi_adjust_cfa_offset 8\n"
	"	push %rbx\n"
	"	.cfi_adjust_cfa_offset 8\n"
	"	push %rdi\n"
	"	.cfi_adjust_cfa_offset 8\n"
	"	mov %rdi, %rax\n"
	"	mov %esi, %edi\n"
	"	call *%rax\n"
	"	pop %rdi\n"
	"	.cfi_adjust_cfa_offset -8\n"
	"	pop %rbx\n"
	"	.cfi_adjust_cfa_offset -8\n"
	"	pop %r12\n"
	"	.cfi_adjust_cfa_offset -8\n"
	"	ret\n"
	"	.cfi_endproc\n"
	".size asm_remapped, . - asm_remapped\n"
	".p2align 12\n"
	"asm_end:\n"
	"	nop\n");

static void
assembly(void)
{
	ENTER();
	sink += asm_with_cfi(recurse, 2);
	sink += asm_by_fp(recurse, 2);
	sink += asm_by_fp(leaf, 2);
	LEAVE();
}

/* What generated code looks like that keeps frame pointers. */
static const unsigned char jit_code[] = {
	0x55,				/* push %rbp */
	0x48, 0x89, 0xe5,		/* mov %rsp, %rbp */
	0x48, 0x83, 0xec, 0x20,		/* sub $32, %rsp */
	0x48, 0x89, 0xf8,		/* mov %rdi, %rax */
	0x89, 0xf7,			/* mov %esi, %edi */
	0xff, 0xd0,			/* call *%rax */
	0x48, 0x89, 0xec,		/* mov %rbp, %rsp */
	0x5d,				/* pop %rbp */
	0xc3,				/* ret */
};

static int
through_jit(int n)
{
	return n & 7 ? recurse(n & 3) : leaf(n);
}

static void
jit(void)
{
	void *code = mmap(NULL, 4096, PROT_READ | PROT_WRITE,
			  MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	int (*f)(int (*)(int), int);

	ENTER();
	if (code == MAP_FAILED)
		_exit(9);
	memcpy(code, jit_code, sizeof jit_code);
	if (mprotect(code, 4096, PROT_READ | PROT_EXEC) < 0)
		_exit(9);
	f = (int (*)(int (*)(int), int))(uintptr_t)code;
	sink += f(through_jit, 3);
	sink += f(leaf, 3);
	munmap(code, 4096);
	LEAVE();
}

/* The same page of this file at a second address, at another distance from
 * its place in the file: as V8 does with its own text. */
static void
remap(void)
{
	Dl_info info;
	struct stat st;
	const uintptr_t at = (uintptr_t)asm_with_cfi;
	char *copy = mmap(NULL, 3 * 4096, PROT_NONE,
			  MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	const int fd = open("/proc/self/exe", O_RDONLY | O_CLOEXEC);
	int (*f)(int (*)(int), int);

	ENTER();
	/* a static program does not know where its file begins */
	if (!dladdr((void *)at, &info)) {
		LEAVE();
		return;
	}
	if (fd < 0 || fstat(fd, &st) < 0 || copy == MAP_FAILED ||
	    mmap(copy + 4096, 4096, PROT_READ | PROT_EXEC,
		 MAP_PRIVATE | MAP_FIXED, fd,
		 (off_t)(at - (uintptr_t)info.dli_fbase)) == MAP_FAILED)
		_exit(9);
	if (memcmp(copy + 4096, (void *)at, 4096) == 0) {
		f = (int (*)(int (*)(int), int))(uintptr_t)(copy + 4096 +
			((uintptr_t)asm_remapped - at));
		sink += f(recurse, 2);
		sink += asm_remapped(leaf, 1);
	}
	munmap(copy, 3 * 4096);
	close(fd);
	LEAVE();
}

/* ---- signals, jumps, other stacks ---------------------------------------- */

static sigjmp_buf back;

static void
handler(int sig)
{
	ENTER();
	handled += sig;
	sink += leaf(sig);
	LEAVE();
}

/* Comes at any instruction, also amid ENTER(): leaves the chain alone. */
static void
tick(int sig)
{
	sink += leaf(sig);
}

static void
nesting(int sig)
{
	ENTER();
	handled += sig;
	raise(SIGUSR1);
	LEAVE();
}

static void
leaving(int sig)
{
	chain.count = 1;
	handled += sig;
	siglongjmp(back, 1);
}

static void
deliver(int sig, void (*how)(int), int flags)
{
	struct sigaction action = { .sa_handler = how, .sa_flags = flags };

	ENTER();
	sigaction(sig, &action, NULL);
	raise(sig);
	LEAVE();
}

static void
signals(void)
{
	ENTER();
	deliver(SIGUSR1, handler, 0);
	deliver(SIGUSR2, nesting, 0);
	deliver(SIGUSR1, handler, SA_ONSTACK);
	deliver(SIGUSR2, nesting, SA_ONSTACK);
	if (sigsetjmp(back, 1) == 0)
		deliver(SIGUSR2, leaving, 0);
	if (sigsetjmp(back, 1) == 0)
		deliver(SIGUSR2, leaving, SA_ONSTACK);
	LEAVE();
}

static jmp_buf out;

/* Its last instruction is a call: what it returns to is another's. */
NOINLINE __attribute__((noreturn)) static void
jumps(int n)
{
	sink += n;
	longjmp(out, 1);
}

NOINLINE static int
calls_the_jump(int n)
{
	volatile int keep = n;

	jumps(keep + leaf(n));
}

static void
jump(void)
{
	ENTER();
	for (volatile int i = 0; i < 3; i++)
		if (setjmp(out) == 0)
			calls_the_jump(i);
	LEAVE();
}

static ucontext_t home, away[2];

static void
coroutine(int which)
{
	for (int i = 0; i < 3; i++) {
		sink += recurse(2);
		swapcontext(&away[which], which ? &home : &away[1]);
	}
	free(malloc((size_t)sink & 255));
}

static void
context(void)
{
	ENTER();
	for (volatile int i = 0; i < 2; i++) {
		if (getcontext(&away[i]) < 0)
			_exit(9);
		away[i].uc_stack.ss_sp = side[i];
		away[i].uc_stack.ss_size = sizeof side[i];
		away[i].uc_link = &home;
		makecontext(&away[i], (void (*)(void))(uintptr_t)coroutine, 1,
			    i);
	}
	/* its own frames are closed when it is switched away */
	for (int i = 0; i < 3; i++)
		if (swapcontext(&home, &away[0]) < 0)
			_exit(9);
	LEAVE();
}

/* ---- libraries ----------------------------------------------------------- */

static void
memory(void)
{
	void *blocks[24];
	char text[600];

	ENTER();
	for (size_t i = 0; i < 24; i++)
		blocks[i] = malloc(24 + i * i * 40);
	for (size_t i = 0; i < 24; i += 2)
		free(blocks[i]);
	for (size_t i = 1; i < 24; i += 2)
		blocks[i] = realloc(blocks[i], 30 + i * 500);
	blocks[0] = malloc(300000);		/* by mmap */
	blocks[2] = calloc(3, 5000);
	free(blocks[0]);
	free(blocks[2]);
	for (size_t i = 1; i < 24; i += 2)
		free(blocks[i]);
	memset(text, 'a', sizeof text);
	text[sizeof text - 1] = '\0';
	for (size_t n = 1; n < sizeof text / 2; n = n * 3 + 1) {
		memcpy(text, text + sizeof text / 2, n);
		memmove(text + 1, text, n);
		sink += (int)strlen(text + n) + (strchr(text, 'z') != NULL);
		sink += memcmp(text, text + 1, n);
	}
	LEAVE();
}

static void
text(void)
{
	char line[256];
	double d = 0;
	regex_t re;
	regmatch_t at[3];
	time_t now = time(NULL);		/* in the vdso */
	struct tm tm;

	ENTER();
	snprintf(line, sizeof line, "%d %s %10.3f %g %#lx", sink, "text",
		 sink / 7.0, 1e100, (long)now);
	sink += sscanf(line, "%*d %*s %lf", &d);
	sink += (int)(strtod("3.25e17", NULL) > d);
	if (regcomp(&re, "(a|b)*c([0-9]+)", REG_EXTENDED) == 0) {
		sink += regexec(&re, "xxababc123", 3, at, 0);
		regfree(&re);
	}
	if (gmtime_r(&now, &tm))
		sink += (int)strftime(line, sizeof line, "%F %T", &tm);
	sink += (int)strtoul("123", NULL, 10);
	LEAVE();
}

/* Functions of another object that nobody has called yet. */
static void
lazy(void)
{
	ENTER();
	sink += (int)(sin(sink) + pow(sink, 0.3) + cbrt(sink) + lgamma(3.5));
	LEAVE();
}

static const struct scene {
	const char *name;
	void (*play)(void);
} scenes[] = {
	{ "frames", frames }, { "assembly", assembly }, { "jit", jit },
	{ "remap", remap }, { "signals", signals }, { "jump", jump },
	{ "context", context }, { "memory", memory }, { "text", text },
	{ "lazy", lazy },
};

static bool
wanted(int argc, char **argv, const char *name)
{
	for (int i = 1; i < argc; i++)
		if (strcmp(argv[i], name) == 0)
			return true;
	return argc < 2;
}

static void
say(const char *key, const void *from, size_t size)
{
	printf("%s %lx %lx\n", key, (unsigned long)(uintptr_t)from,
	       (unsigned long)(uintptr_t)from + size);
}

int
main(int argc, char **argv)
{
	const stack_t stack = { .ss_sp = alternate,
				.ss_size = sizeof alternate };
	struct sigaction action = { .sa_flags = SA_ONSTACK };

	say("alternate", alternate, sizeof alternate);
	say("side", side[0], sizeof side[0]);
	say("side", side[1], sizeof side[1]);
	say("chain", &chain, sizeof chain);
	fflush(stdout);
	sigaltstack(&stack, NULL);
	action.sa_handler = tick;
	sigaction(SIGURG, &action, NULL);
	raise(SIGSTOP);
	for (size_t i = 0; i < sizeof scenes / sizeof *scenes; i++) {
		if (!wanted(argc, argv, scenes[i].name))
			continue;
		chain.count = 0;
		scenes[i].play();
	}
	_exit(chain.count == 0 ? 0 : 1);
}
