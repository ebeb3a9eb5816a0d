/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * mission: S2
 *
 * The unwinder on AArch64, by a program that knows its own stack: each of its
 * functions writes down whom it returns to. It is stopped at known places, and
 * by a timer at any instruction; registers and stack are copied, and walked
 * afterwards: by rows, and by libunwind. Every frame must be the true one.
 *
 * The functions keep their frames in all ways that the rows have: CFA by sp
 * and by x29; x30 in the register, in a frame record, alone, signed; a signal's
 * frame; code without unwind data that has a frame pointer.
 */
#include <signal.h>
#include <stddef.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <ucontext.h>

#include "../unit/unwind-help.h"

enum {
	WINDOW = 32 << 10, SAMPLES = 1500, DEPTH = 16, FRAMES_MAX = 64,
	LINK = 30, WORD = 4,
};

/* What was seen of this program at one moment, and what was true then. */
struct sample {
	struct arch_regs regs;
	const char *where;
	uint64_t returns[DEPTH];
	unsigned depth;
	unsigned char stack[WINDOW];
};

static struct sample *samples;
static unsigned sample_count;
static uint64_t stack_end;

/* Whom the functions under way return to, main first. */
static volatile uint64_t returns[DEPTH];
static volatile unsigned depth;
static volatile unsigned sum;
static bool ticking;

void entered(uint64_t ret);
void left(void);

void
entered(uint64_t ret)
{
	returns[depth] = ret & (UINT64_MAX >> 16);
	depth++;
}

void
left(void)
{
	depth--;
}

#define ENTER() entered((uint64_t)__builtin_return_address(0))
#define LEAVE() left()

/* Registers as they are in a leaf; the pc is its own. */
__asm__(
	".text\n"
	".globl capture\n"
	".type capture, %function\n"
	"capture:\n"
	"	.cfi_startproc\n"
	"	stp x0, x1, [x0]\n"
	"	stp x18, x19, [x0, #144]\n"
	"	stp x20, x21, [x0, #160]\n"
	"	stp x22, x23, [x0, #176]\n"
	"	stp x24, x25, [x0, #192]\n"
	"	stp x26, x27, [x0, #208]\n"
	"	stp x28, x29, [x0, #224]\n"
	"	mov x1, sp\n"
	"	stp x30, x1, [x0, #240]\n"
	"	adr x1, .\n"
	"	str x1, [x0, #256]\n"
	"	ret\n"
	"	.cfi_endproc\n"
	".size capture, . - capture\n"
	/* without unwind data: calls x0 with x1; has a frame pointer */
	".globl silent\n"
	".type silent, %function\n"
	"silent:\n"
	"	stp x29, x30, [sp, #-48]!\n"
	"	mov x29, sp\n"
	"	stp x0, x1, [sp, #16]\n"
	"	mov x0, x30\n"
	"	bl entered\n"
	"	ldp x2, x0, [sp, #16]\n"
	"	blr x2\n"
	"	bl left\n"
	"	ldp x29, x30, [sp], #48\n"
	".globl silent_return\n"
	"silent_return:\n"
	"	ret\n"
	".size silent, . - silent\n"
	/* a leaf, where the signal comes; then what the kernel has, and libcs:
	 * no unwind data */
	".globl strike\n"
	".type strike, %function\n"
	"strike:\n"
	"	.cfi_startproc\n"
	"	mov x8, #129\n"		/* kill */
	"	svc #0\n"
	"	ret\n"
	"	.cfi_endproc\n"
	".size strike, . - strike\n"
	"	nop\n"
	".globl restorer\n"
	".type restorer, %function\n"
	"restorer:\n"
	"	mov x8, #139\n"
	"	svc #0\n"
	".size restorer, . - restorer\n");
void capture(struct arch_regs *regs);
void silent(void (*function)(int), int argument);
void silent_return(void);
void strike(pid_t pid, int signal);
void restorer(void);

static void
take(const struct arch_regs *regs, const char *where)
{
	struct sample *s = &samples[sample_count++];
	const uint64_t sp = regs->reg[arch.reg_sp];
	const uint64_t n = stack_end - sp < WINDOW ? stack_end - sp : WINDOW;

	s->regs = *regs;
	s->where = where;
	s->depth = depth;
	for (unsigned i = 0; i < s->depth; i++)
		s->returns[i] = returns[i];
	memcpy(s->stack, (const void *)(uintptr_t)sp, n);
}

/* The innermost function of every scene. */
static void __attribute__((noinline))
look(const char *where)
{
	struct arch_regs regs = { 0 };

	ENTER();
	if (!ticking) {
		capture(&regs);
		take(&regs, where);
	}
	for (int i = 0; i < 20; i++)
		sum += (unsigned)i;
	LEAVE();
}

static void __attribute__((noinline))
by_record(int n)
{
	ENTER();
	look("frame record");
	sum += (unsigned)n;
	LEAVE();
}

static void __attribute__((noinline))
by_frame_pointer(int n)
{
	ENTER();
	volatile char *room = __builtin_alloca((size_t)n * 16);

	room[0] = 1;
	by_record(n);
	look("CFA by x29");
	sum += (unsigned)room[0];
	LEAVE();
}

static void __attribute__((noinline, optimize("omit-frame-pointer")))
alone(int n)
{
	ENTER();
	by_frame_pointer(n);
	look("x30 saved alone");
	LEAVE();
}

static void __attribute__((noinline))
large(int n)
{
	volatile char room[6000];

	ENTER();
	room[n] = 1;
	alone(n);
	look("frame record below much else");
	sum += (unsigned)room[n];
	LEAVE();
}

static void __attribute__((noinline, target("branch-protection=pac-ret+leaf")))
signs(int n)
{
	ENTER();
	large(n);
	look("signed return address");
	LEAVE();
}

static void
on_signal(int signal, siginfo_t *info, void *context)
{
	const mcontext_t *m = &((ucontext_t *)context)->uc_mcontext;

	(void)signal, (void)info;
	entered(m->regs[LINK]);
	entered(m->pc + WORD);
	ENTER();
	signs(3);
	look("signal frame");
	LEAVE();
	LEAVE();
	LEAVE();
}

static void
on_tick(int signal, siginfo_t *info, void *context)
{
	const mcontext_t *m = &((ucontext_t *)context)->uc_mcontext;
	struct arch_regs regs;

	(void)signal, (void)info;
	if (sample_count == SAMPLES)
		return;
	memcpy(regs.reg, m->regs, sizeof m->regs);
	regs.reg[arch.reg_sp] = m->sp;
	regs.reg[arch.reg_pc] = m->pc;
	take(&regs, "tick");
}

/* libc would ask for the kernel's own sigreturn. */
static void
handle(int signal, void (*handler)(int, siginfo_t *, void *))
{
	const struct {
		void (*handler)(int, siginfo_t *, void *);
		unsigned long flags;
		void (*restorer)(void);
		uint64_t mask;
	} action = { handler, SA_SIGINFO | 0x04000000, restorer, 0 };

	CHECK(syscall(SYS_rt_sigaction, signal, &action, NULL,
		      sizeof action.mask) == 0, "rt_sigaction");
}

static bool
is_tick(const struct sample *s)
{
	return strcmp(s->where, "tick") == 0;
}

/*
 * From the outer end: libc's frames above main, then what all wrote down. On
 * top come a leaf and its caller; at a tick any of them may have written.
 */
static void
judge(const struct sample *s, const struct unwind_trace *t)
{
	enum { ABOVE = 2 };
	const size_t known = ABOVE + s->depth;
	bool same = t->end == UNWIND_COMPLETE &&
		    (is_tick(s) ? t->len > known && t->len <= known + 3 :
				  t->len == known + 2);

	for (unsigned i = 0; same && i < s->depth; i++) {
		const uint64_t pc = t->pcs[t->len - ABOVE - 1 - i];

		/* nobody called the restorer */
		same = pc == s->returns[i] - WORD ||
		       (pc == s->returns[i] && pc == (uintptr_t)restorer);
	}
	CHECK(same, "%s: end %d, %zu frames", s->where, (int)t->end, t->len);
	if (same)
		return;
	help_print("rows", t);
	printf("  true:");
	for (unsigned i = s->depth; i-- > 0; )
		printf(" %llx", (unsigned long long)s->returns[i] - WORD);
	putchar('\n');
}

static void
walk_all(struct unwind_space *space)
{
	struct unwind_trace rows = { 0 }, full = { 0 };
	unsigned compared = 0, needed_full = 0;

	for (unsigned i = 0; i < sample_count; i++) {
		const struct sample *s = &samples[i];
		const struct step_stack stack = {
			.data = s->stack, .base = s->regs.reg[arch.reg_sp],
			.size = WINDOW,
		};

		unwind_walk(space, &s->regs, &stack, NULL, NULL, FRAMES_MAX,
			    &rows);
		judge(s, &rows);
		needed_full += rows.full_steps;
		unwind_walk_full(space, &s->regs, &stack, NULL, NULL,
				 FRAMES_MAX, &full);
		if (full.end == UNWIND_COMPLETE && is_tick(s)) {
			compared++;
			CHECK(help_same(&rows, &full), "libunwind differs");
			if (!help_same(&rows, &full)) {
				help_print("rows", &rows);
				help_print("libunwind", &full);
			}
		}
	}
	printf("%u stacks, %u judged by libunwind, %u steps by it\n",
	       sample_count, compared, needed_full);
	CHECK(compared > SAMPLES / 4, "libunwind judged only %u", compared);
	unwind_trace_fini(&rows);
	unwind_trace_fini(&full);
}

/* How many rows of a real library need the second engine. */
static void
count_rows(const char *path)
{
	struct unwind_object *obj =
		unwind_object_open(open(path, O_RDONLY | O_CLOEXEC), path);
	uint32_t count = 0, full = 0;
	const struct step_row *rows = NULL;

	if (obj)
		rows = unwind_object_rows(obj, &count);
	for (uint32_t i = 0; i < count; i++)
		full += rows[i].kind == STEP_FULL;
	printf("%s: %u rows, %u need libunwind\n", path, count, full);
	CHECK(count > 1000 && full * 200ull <= count, "too many: %u of %u",
	      full, count);
	unwind_object_free(obj);
}

static void __attribute__((noinline))
interrupted(void)
{
	ENTER();
	handle(SIGUSR1, on_signal);
	strike(getpid(), SIGUSR1);
	LEAVE();
}

/* A leaf's registers are also those before a frame record is made, and when it
 * is gone. */
static void __attribute__((noinline))
without_record(void)
{
	struct arch_regs regs = { 0 };

	ENTER();
	capture(&regs);
	regs.reg[arch.reg_pc] = (uintptr_t)silent;
	take(&regs, "before the frame record");
	regs.reg[arch.reg_pc] = (uintptr_t)silent_return;
	take(&regs, "behind the frame record");
	LEAVE();
}

static void __attribute__((noinline))
scenes(void)
{
	ENTER();
	signs(3);
	interrupted();
	without_record();
	silent(signs, 3);
	LEAVE();
}

static void __attribute__((noinline))
ticks(void)
{
	const struct itimerval every = { { 0, 300 }, { 0, 300 } }, never = { 0 };

	ENTER();
	ticking = true;
	handle(SIGALRM, on_tick);
	setitimer(ITIMER_REAL, &every, NULL);
	while (*(volatile unsigned *)&sample_count < SAMPLES) {
		signs(3);
		large(3);
		silent(alone, 3);
	}
	setitimer(ITIMER_REAL, &never, NULL);
	LEAVE();
}

int
main(int argc, char **argv)
{
	static struct help_space h;	/* large: not on a stack that is copied */
	int here;

	samples = mmap(NULL, (SAMPLES + 1) * sizeof *samples,
		       PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS,
		       -1, 0);
	help_space_open(&h, getpid(), (uintptr_t)&here, &stack_end);
	ENTER();
	scenes();
	ticks();
	LEAVE();
	walk_all(h.space);
	for (int i = 1; i < argc; i++)
		count_rows(argv[i]);
	help_space_close(&h);
	return failures ? 1 : 0;
}
