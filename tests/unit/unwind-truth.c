/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * mission: S1 S2 S4 S5 S6
 *
 * Programs are stepped instruction by instruction, and their stack is unwound
 * at each of them. The truth is kept beside, without unwind data: whoever
 * steps sees each call happen, and knows where it was made and where its
 * return address lies, until the stack pointer has passed that place; and each
 * signal, with what it interrupted. The victim's own list of its open frames
 * must be found in this truth.
 *
 *	unwind-truth [--verbose] [--whole] [--every N] PROGRAM [SCENE]...
 *
 * Without arguments: what make check does. --whole begins at the program's
 * first instruction, in the dynamic loader; --every interrupts each Nth
 * instruction by a signal, whose handler is stepped as well.
 */
#include <inttypes.h>
#include <sched.h>
#include <signal.h>
#include <sys/personality.h>
#include <sys/wait.h>
#include <time.h>

#include "symbol.h"
#include "unwind-help.h"

enum {
	FRAMES_MAX = 8192, COPY_MAX = 1 << 18, STACKS = 3, CHAIN_MAX = 4096,
	STEPS_MAX = 20 * 1000 * 1000, TOLD_MAX = 12, WORD = 8,
	PAGE = 4096, CALL_MAX = 10, NEAR = 64,
};

/* Of a sanitizer, whose steps are its own affair, and slow. */
extern void __asan_init(void) __attribute__((weak));

struct frame {
	uint64_t slot;		/* where its return address lies */
	uint64_t ret;
	uint64_t shown;		/* what a stack has to say for it */
};

/* The open calls of one stack, outermost first. */
struct shadow {
	struct frame frame[FRAMES_MAX];
	size_t len;
};

struct area { uint64_t start, end; };

/*
 * Code that says nothing, or the wrong thing, of its own stack, so that nobody
 * can know better: by name of object and function, and how often in a scene.
 */
struct excuse {
	const char *object, *function, *why;
	unsigned long most;
};

static const struct excuse excuses[] = {
	{ "", "__longjmp", "its unwind data are of where it goes", 400 },
	{ "stepped", "realigned", "gcc: between leave and lea the frame pointer "
	  "is said to be saved still", 10 },
	/* what the compiler brings to each object says nothing of itself */
	{ "", "_init", "no unwind data", 100 },
	{ "", "_fini", "no unwind data", 100 },
	{ "", "frame_dummy", "no unwind data", 100 },
	{ "", "register_tm_clones", "no unwind data", 200 },
	{ "", "deregister_tm_clones", "no unwind data", 200 },
	{ "", "__do_global_dtors_aux", "no unwind data", 200 },
	/* it begins with the process; and what it jumps to it does not call */
	{ "ld-linux", "_start", "no unwind data", 100 },
	{ "ld-linux", "_dl_start_user", "no unwind data", 100 },
};

struct run {
	pid_t pid;
	const char *program;
	struct help_space h;
	struct modules maps;
	struct area alternate, side[STACKS - 1], chain;
	struct shadow shadow[STACKS], *now;
	unsigned stack;			/* the one that now is of */
	struct user_regs_struct regs;
	unsigned char code[PAGE];
	uint64_t code_page;
	bool stale, verbose, leaving, in_tick, entered;
	unsigned every, since;		/* ticks: how often, and the last */
	uint64_t chain_count;
	struct unwind_trace trace;
	unsigned long steps, frames, full, failed, bad, incomplete, signals,
		excused, passed, chains;
	unsigned long used[ARRAY_LEN(excuses)];
	int status;
};

static bool
inside(const struct area *a, uint64_t addr)
{
	return addr >= a->start && addr < a->end;
}

static bool
peek(const struct run *r, uint64_t addr, void *buf, size_t n)
{
	return help_read((void *)(intptr_t)r->pid, addr, buf, n) == 0;
}

static uint64_t
peek_word(const struct run *r, uint64_t addr)
{
	uint64_t word = 0;

	(void)peek(r, addr, &word, sizeof word);
	return word;
}

/* ---- what is mapped ------------------------------------------------------ */

static void
read_maps(struct run *r)
{
	char path[64], *text;

	help_space_close(&r->h);
	help_space_open(&r->h, r->pid, 0, NULL);
	snprintf(path, sizeof path, "/proc/%d/maps", (int)r->pid);
	text = file_read(path, NULL);
	if (text)
		(void)modules_parse(&r->maps, text);
	free(text);
	r->code_page = 0;
	r->stale = false;
}

static uint64_t
stack_end(struct run *r, uint64_t sp)
{
	const struct module *m = modules_find(&r->maps, sp);

	if (inside(&r->alternate, sp))
		return r->alternate.end;
	for (size_t i = 0; i < ARRAY_LEN(r->side); i++)
		if (inside(&r->side[i], sp))
			return r->side[i].end;
	if (!m) {		/* it has grown */
		read_maps(r);
		m = modules_find(&r->maps, sp);
	}
	return m ? m->end : sp;
}

/* "function+0x12 in object", of a pc; for the reader of a failure. */
static const char *
place(struct run *r, uint64_t pc, char function[64], char object[64])
{
	static char text[200];
	const struct module *m = modules_find(&r->maps, pc);
	struct symfile *sf;
	struct symbol sym;
	uint64_t at;

	snprintf(function, 64, "?");
	snprintf(object, 64, "?");
	snprintf(text, sizeof text, "%#" PRIx64, pc);
	if (!m || !m->path[0])
		return text;
	snprintf(object, 64, "%s", strrchr(m->path, '/') ?
		 strrchr(m->path, '/') + 1 : m->path);
	sf = symfile_open(m->path, m->path, "");
	at = symfile_vaddr(sf, pc - m->start + m->offset);
	if (symfile_find(sf, at, &sym)) {
		snprintf(function, 64, "%s", sym.name);
		snprintf(text, sizeof text, "%s+%#" PRIx64 " in %s", sym.name,
			 at - sym.start, object);
	} else {
		snprintf(text, sizeof text, "%#" PRIx64 " in %s", at, object);
	}
	symfile_free(sf);
	return text;
}

/* ---- the truth ----------------------------------------------------------- */

static void
push(struct run *r, uint64_t slot, uint64_t ret, uint64_t shown)
{
	struct shadow *s = r->now;

	if (s->len == FRAMES_MAX) {
		puts("too deep for the truth");
		exit(99);
	}
	s->frame[s->len++] = (struct frame){ slot, ret, shown };
}

/* Is the instruction at pc a call? */
static bool
is_call(struct run *r, uint64_t pc)
{
	unsigned char *at, *end = r->code + sizeof r->code, over[16];

	if (r->code_page != (pc & -(uint64_t)PAGE)) {
		r->code_page = pc & -(uint64_t)PAGE;
		if (!peek(r, r->code_page, r->code, PAGE))
			memset(r->code, 0, PAGE);
	}
	at = r->code + (pc & (PAGE - 1));
	if (end - at < (long)sizeof over) {
		memset(over, 0, sizeof over);
		if (!peek(r, pc, over, sizeof over))
			memcpy(over, at, (size_t)(end - at));
		at = over;
	}
	while (*at == 0x66 || *at == 0x67 || *at == 0x3e || *at == 0xf2 ||
	       (*at & 0xf0) == 0x40)
		at++;
	return *at == 0xe8 || (*at == 0xff && (at[1] >> 3 & 7) == 2);
}

/* The stack pointer has passed it. One that a signal opened on the alternate
 * stack is closed when we are on another. */
static bool
is_closed(const struct run *r, const struct frame *f, uint64_t sp)
{
	if (inside(&r->alternate, f->slot) != inside(&r->alternate, sp))
		return inside(&r->alternate, f->slot);
	return f->slot < sp;
}

static unsigned
stack_of(const struct run *r, uint64_t sp)
{
	for (unsigned i = 0; i < ARRAY_LEN(r->side); i++)
		if (inside(&r->side[i], sp))
			return i + 1;
	return inside(&r->alternate, sp) ? r->stack : 0;
}

/* A coroutine's first function returns to libc, which has no caller. */
static void
switch_stack(struct run *r, unsigned to, uint64_t sp)
{
	const bool first = to != r->stack && r->shadow[to].len == 0;

	r->stack = to;
	r->now = &r->shadow[to];
	if (first && to) {
		const uint64_t ret = peek_word(r, sp);

		push(r, sp, ret, unwind_call_address(r->h.space, ret));
	}
}

/* Generated code is in no file: that a call is one byte before its return
 * address is all that is said of it. */
static uint64_t
shown_call(const struct run *r, uint64_t pc, uint64_t sp)
{
	const struct module *m = modules_find(&r->maps, pc);

	return m && m->path[0] ? pc : peek_word(r, sp) - 1;
}

/* One instruction was executed; before: the registers it began with. */
static void
follow(struct run *r, const struct user_regs_struct *before)
{
	const uint64_t sp = r->regs.rsp;
	const unsigned to = stack_of(r, sp);
	const size_t open = r->now->len;
	const bool jumped = r->regs.rip - before->rip > CALL_MAX;

	/* between two stacks, until the jump to where the new one goes on */
	if (r->leaving && jumped)
		r->leaving = false;
	if (to != r->stack) {
		switch_stack(r, to, sp);
		r->leaving = !jumped;
	}
	if (sp == before->rsp - WORD && is_call(r, before->rip)) {
		push(r, sp, peek_word(r, sp), shown_call(r, before->rip, sp));
		return;
	}
	while (r->now->len &&
	       is_closed(r, &r->now->frame[r->now->len - 1], sp))
		r->now->len--;
	/* frames closed, but not by a return: by longjmp, or a throw */
	if (r->now->len < open && !jumped)
		r->leaving = true;
}

/* The handler's first instruction is next. */
static void
follow_signal(struct run *r, const struct user_regs_struct *before)
{
	const uint64_t sp = r->regs.rsp, restorer = peek_word(r, sp);

	push(r, sp + WORD, before->rip, before->rip);
	push(r, sp, restorer, restorer);
	r->signals++;
}

/* Each return address that the victim knows of is ours, in this order. */
static void
check_chain(struct run *r)
{
	static uint64_t ret[CHAIN_MAX];
	uint64_t count;
	size_t at = 0;

	if (!r->chain.start || r->stack)
		return;
	count = peek_word(r, r->chain.start);
	if (count == r->chain_count || count > CHAIN_MAX)
		return;
	r->chain_count = count;
	if (!count || !peek(r, r->chain.start + WORD, ret, count * WORD))
		return;
	for (size_t i = 0; i < r->now->len && at < count; i++)
		at += r->now->frame[i].ret == ret[at];
	CHECK(at == count, "the victim has %" PRIu64 " frames open; the %zuth, "
	      "which returns to %#" PRIx64 ", is not in the truth", count, at,
	      ret[at]);
	r->chains++;
}

/* ---- comparing ----------------------------------------------------------- */

static bool
is_true(const struct run *r)
{
	const struct unwind_trace *t = &r->trace;
	const struct shadow *s = r->now;

	if (t->len != s->len + 1 || t->pcs[0] != r->regs.rip)
		return false;
	for (size_t i = 0; i < s->len; i++)
		if (t->pcs[i + 1] != s->frame[s->len - 1 - i].shown)
			return false;
	return true;
}

/* How many frames from the leaf on are right. */
static size_t
right_frames(const struct run *r)
{
	const struct shadow *s = r->now;
	size_t i = 0;

	while (i < s->len && i + 1 < r->trace.len &&
	       r->trace.pcs[i + 1] == s->frame[s->len - 1 - i].shown)
		i++;
	return i + 1;
}

static void
tell(struct run *r, size_t right)
{
	char function[64], object[64];

	printf("at %s:", place(r, r->regs.rip, function, object));
	printf(" end %d, %zu frames, %zu in truth, %zu right\n",
	       (int)r->trace.end, r->trace.len, r->now->len + 1, right);
	for (size_t i = right > 1 ? right - 1 : 0; i <= right; i++) {
		if (i < r->trace.len)
			printf("    frame %zu is %s\n", i,
			       place(r, r->trace.pcs[i], function, object));
		if (i && i <= r->now->len)
			printf("      should be %s\n",
			       place(r, r->now->frame[r->now->len - i].shown,
				     function, object));
	}
}

static uint64_t
true_frame(const struct run *r, size_t i)
{
	return i == 0 ? r->regs.rip : r->now->frame[r->now->len - i].shown;
}

static bool
is_excused_at(struct run *r, size_t i)
{
	char function[64], object[64];

	(void)place(r, true_frame(r, i), function, object);
	for (size_t k = 0; k < ARRAY_LEN(excuses); k++) {
		const struct excuse *e = &excuses[k];

		if (strcmp(e->function, function) == 0 &&
		    strncmp(e->object, object, strlen(e->object)) == 0)
			return r->used[k]++ < e->most;
	}
	return false;
}

/* The last right frame is where unwind data are wrong; or the one below it,
 * when they are of its frame pointer. */
static bool
is_excused(struct run *r, size_t right)
{
	return is_excused_at(r, right - 1) ||
		(right > 1 && is_excused_at(r, right - 2));
}

static void
compare(struct run *r)
{
	static unsigned char copy[COPY_MAX];
	struct arch_regs regs;
	struct step_stack stack = {
		.data = copy, .base = r->regs.rsp & -8ull,
	};
	size_t right;

	arch.from_ptrace(&r->regs, &regs);
	stack.size = stack_end(r, stack.base) - stack.base;
	if (stack.size > sizeof copy)
		stack.size = sizeof copy;
	if (!peek(r, stack.base, copy, stack.size))
		return;
	unwind_walk(r->h.space, &regs, &stack, help_read,
		    (void *)(intptr_t)r->pid, FRAMES_MAX, &r->trace);
	r->steps++;
	r->frames += r->now->len + 1;
	r->full += r->trace.full_steps;
	r->failed += r->trace.failed_steps;
	if (r->leaving) {
		r->passed++;
		return;
	}
	if (is_true(r) && r->trace.end == UNWIND_COMPLETE)
		return;
	right = right_frames(r);
	if (is_excused(r, right)) {
		r->excused++;
		return;
	}
	r->incomplete += is_true(r);
	if (r->bad++ < TOLD_MAX || r->verbose)
		tell(r, right);
}

/* ---- stepping ------------------------------------------------------------ */

static bool
get_regs(struct run *r)
{
	struct iovec io = { &r->regs, sizeof r->regs };

	return ptrace(PTRACE_GETREGSET, r->pid, 1 /* NT_PRSTATUS */, &io) == 0;
}

/* A system call may map; which one need not be known here. */
static bool
may_map(const struct run *r)
{
	unsigned char op[2];
	const uint64_t nr = r->regs.rax;

	if (nr != 9 && nr != 10 && nr != 11 && nr != 25)
		return false;
	return peek(r, r->regs.rip, op, sizeof op) && op[0] == 0x0f &&
	       op[1] == 0x05;
}

static bool
blocks_tick(const struct run *r)
{
	uint64_t mask = 0;

	return ptrace(PTRACE_GETSIGMASK, r->pid, sizeof mask, &mask) < 0 ||
	       (mask & 1ull << (SIGURG - 1));
}

/* What to deliver with the next step. */
static int
next_signal(struct run *r)
{
	const int sig = WSTOPSIG(r->status);

	if (sig != SIGTRAP && sig != SIGSTOP)
		return sig;
	/* the kernel drops a signal given where a handler was just entered */
	if (!r->every || r->entered)
		return 0;
	/* steps of the handler do not count: the program must get on */
	if (r->in_tick) {
		if (blocks_tick(r))
			return 0;
		r->in_tick = false;
		r->since = 0;
	}
	/* between two stacks no frames are true for a handler to stand on */
	if (++r->since < r->every || r->leaving || blocks_tick(r))
		return 0;
	r->in_tick = true;
	return SIGURG;
}

static bool
step(struct run *r)
{
	const struct user_regs_struct before = r->regs;
	const int sig = next_signal(r);

	r->stale |= may_map(r);
	if (ptrace(PTRACE_SINGLESTEP, r->pid, 0, sig) < 0 ||
	    waitpid(r->pid, &r->status, 0) != r->pid ||
	    !WIFSTOPPED(r->status) || !get_regs(r))
		return false;
	if (WSTOPSIG(r->status) != SIGTRAP)
		return true;		/* a signal came; nothing was done */
	r->entered = sig != 0;
	if (r->stale && before.rip != r->regs.rip)
		read_maps(r);
	if (sig)
		follow_signal(r, &before);
	else
		follow(r, &before);
	return true;
}

/* What the victim said of itself before it stopped. */
static void
hear(struct run *r, int fd)
{
	char text[1024] = "", *line, *rest = NULL;
	size_t side = 0;

	if (read(fd, text, sizeof text - 1) < 0)
		return;
	for (line = strtok_r(text, "\n", &rest); line;
	     line = strtok_r(NULL, "\n", &rest)) {
		struct area a;
		char key[32];

		if (sscanf(line, "%31s %" SCNx64 " %" SCNx64, key, &a.start,
			   &a.end) != 3)
			continue;
		if (strcmp(key, "alternate") == 0)
			r->alternate = a;
		if (strcmp(key, "chain") == 0)
			r->chain = a;
		if (strcmp(key, "side") == 0 && side < ARRAY_LEN(r->side))
			r->side[side++] = a;
	}
}

static pid_t
start(char *const *argv, int *out)
{
	int fds[2];
	pid_t pid;

	if (pipe(fds) < 0)
		return -1;
	pid = fork();
	if (pid == 0) {
		(void)personality(ADDR_NO_RANDOMIZE);
		if (dup2(fds[1], 1) < 0 ||
		    ptrace(PTRACE_TRACEME, 0, 0, 0) < 0)
			_exit(99);
		close(fds[0]);
		execv(argv[0], argv);
		_exit(99);
	}
	close(fds[1]);
	*out = fds[0];
	return pid;
}

/* To where it stops by itself; its callers of then are taken from the
 * unwinder, whose whole-run test has them from the beginning. */
static bool
go_to_begin(struct run *r, int fd)
{
	while (ptrace(PTRACE_CONT, r->pid, 0, 0) == 0 &&
	       waitpid(r->pid, &r->status, 0) == r->pid &&
	       WIFSTOPPED(r->status))
		if (WSTOPSIG(r->status) == SIGSTOP)
			break;
	if (!WIFSTOPPED(r->status) || !get_regs(r))
		return false;
	hear(r, fd);
	read_maps(r);
	return true;
}

/* Frames that were open before we came. */
static void
believe(struct run *r)
{
	r->leaving = true;
	compare(r);
	r->leaving = false;
	CHECK(r->trace.end == UNWIND_COMPLETE, "the beginning: end %d",
	      (int)r->trace.end);
	for (size_t i = r->trace.len; i-- > 1; ) {
		uint64_t slot = r->regs.rsp, ret = 0;

		/* where its return address lies: found by its value */
		if (r->now->len)
			slot = r->now->frame[r->now->len - 1].slot - WORD;
		else
			slot = stack_end(r, slot) - WORD;
		for (; slot >= r->regs.rsp; slot -= WORD) {
			ret = peek_word(r, slot);
			if (ret > r->trace.pcs[i] &&
			    ret - r->trace.pcs[i] < CALL_MAX &&
			    unwind_call_address(r->h.space, ret) ==
			    r->trace.pcs[i])
				break;
		}
		push(r, slot, ret, r->trace.pcs[i]);
	}
}

static void
run_program(char *const *argv, bool whole, unsigned every, bool verbose)
{
	static struct run r;
	struct timespec begun, ended;
	int fd;

	clock_gettime(CLOCK_MONOTONIC, &begun);
	memset(&r, 0, sizeof r);
	r.verbose = verbose;
	r.every = every;
	r.program = argv[0];
	r.now = &r.shadow[0];
	r.pid = start(argv, &fd);
	if (r.pid < 0 || waitpid(r.pid, &r.status, 0) != r.pid ||
	    !WIFSTOPPED(r.status)) {
		puts("this place allows no ptrace");
		exit(77);
	}
	r.h.space = unwind_space_new();
	if (whole) {
		(void)get_regs(&r);
		read_maps(&r);
	} else if (go_to_begin(&r, fd)) {
		believe(&r);
	}
	while (WIFSTOPPED(r.status) && r.steps < STEPS_MAX) {
		if (WSTOPSIG(r.status) == SIGTRAP) {
			compare(&r);
			check_chain(&r);
		} else if (WSTOPSIG(r.status) == SIGSTOP && whole) {
			hear(&r, fd);
		}
		if (!step(&r))
			break;
	}
	clock_gettime(CLOCK_MONOTONIC, &ended);
	printf("%s%s%s: %lu steps, %lu frames, %lu full steps, %lu failed, "
	       "%lu signals, %lu between stacks, %lu excused, %lu chains, "
	       "%lu wrong (%lu only not ended) in %.1f s\n",
	       strrchr(argv[0], '/') ? strrchr(argv[0], '/') + 1 : argv[0],
	       argv[1] ? " " : "", argv[1] ? argv[1] : "", r.steps,
	       r.frames, r.full, r.failed, r.signals, r.passed, r.excused,
	       r.chains, r.bad, r.incomplete,
	       (double)(ended.tv_sec - begun.tv_sec) +
	       (double)(ended.tv_nsec - begun.tv_nsec) / 1e9);
	CHECK(WIFEXITED(r.status) && WEXITSTATUS(r.status) == 0,
	      "%s did not end well: status %#x", argv[0], r.status);
	CHECK(r.bad == 0, "%lu stacks are wrong", r.bad);
	if (WIFSTOPPED(r.status)) {
		kill(r.pid, SIGKILL);
		waitpid(r.pid, &r.status, 0);
	}
	close(fd);
	unwind_trace_fini(&r.trace);
	help_space_close(&r.h);
	modules_fini(&r.maps);
}

/* Each waits for the other all the time: no processor need be woken. */
static void
share_a_processor(void)
{
	cpu_set_t set;

	CPU_ZERO(&set);
	CPU_SET(sched_getcpu(), &set);
	(void)sched_setaffinity(0, sizeof set, &set);
}

/* How programs are made, and what of them is played in the short form. */
static const struct play {
	const char *program;
	unsigned every;
	const char *scene[10];
} plays[] = {
	{ "stepped", 0, { "frames", "assembly", "jit", "remap", "signals",
			  "jump", "context", "memory", "lazy" } },
	{ "stepped", 13, { "frames", "assembly", "jit" } },
	{ "stepped-now", 0, { "frames", "signals", "lazy" } },
	{ "stepped-fp", 0, { "frames", "signals", "context" } },
	{ "stepped-debug", 29, { "frames", "signals" } },
	{ "stepped-static", 0, { "frames", "signals", "context" } },
};

static void
run_all(void)
{
	const char *build = getenv("SONDE_BUILDDIR");

	for (size_t i = 0; i < ARRAY_LEN(plays); i++) {
		const struct play *p = &plays[i];
		char path[1024], *argv[ARRAY_LEN(p->scene) + 2] = { path };
		size_t n = 1;

		snprintf(path, sizeof path, "%s/tests/victims/%s",
			 build ? build : ".", p->program);
		for (size_t k = 0; p->scene[k]; k++)
			argv[n++] = (char *)(uintptr_t)p->scene[k];
		run_program(argv, false, p->every, false);
	}
}

int
main(int argc, char **argv)
{
	bool whole = false, verbose = false;
	unsigned every = 0;
	int i = 1;

	if (__asan_init) {
		puts("too many steps under a sanitizer");
		return 77;
	}
	share_a_processor();
	setvbuf(stdout, NULL, _IOLBF, 0);
	for (; i < argc && argv[i][0] == '-'; i++) {
		if (strcmp(argv[i], "--whole") == 0)
			whole = true;
		else if (strcmp(argv[i], "--verbose") == 0)
			verbose = true;
		else if (strcmp(argv[i], "--every") == 0 && i + 1 < argc)
			every = (unsigned)atoi(argv[++i]);
	}
	if (i < argc)
		run_program(argv + i, whole, every, verbose);
	else
		run_all();
	return failures ? 1 : 0;
}
