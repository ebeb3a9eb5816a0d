/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Ways out of a function that are no return. While a step lets all run, its
 * thread is watched where it would leave by one, and stops where that leads
 * to, if it is the frame that the step is of or one around it:
 *
 *	_Unwind_SetIP	by it each language tells the unwinder, which finds
 *			frames for exceptions, panics and the end of a thread,
 *			where a frame goes on
 *	longjmp		and its other names
 *	setcontext	not swapcontext: whoever calls that is called back
 *
 * What ends in a deeper frame, an exception that is caught there, is judged by
 * the tracer: it costs one stop of that thread. A thread that goes to another
 * stack (a coroutine) is awaited where it left its own.
 */
#include "events.h"

#include <elf.h>
#include <stdio.h>
#include <string.h>

enum { REGSET_MOST = 1 << 12, FRAMES_MOST = 10000, CODE_BYTES = 16 };

/* ---- where they are ------------------------------------------------------ */

static const struct {
	const char *name;
	enum landing_how how;
} known[] = {
	{ "_Unwind_SetIP", BY_UNWINDER },
	{ "longjmp", BY_JUMP },
	{ "_longjmp", BY_JUMP },
	{ "siglongjmp", BY_JUMP },
	{ "__longjmp_chk", BY_JUMP },
	{ "setcontext", BY_CONTEXT },
};

struct search {
	struct live *live;
	struct symfile *sf;
	struct landings *found;
	int cfa;		/* in contexts of this object's unwinder */
};

static void
add(struct search *s, uint64_t address, enum landing_how how)
{
	struct landings *l = s->found;

	for (size_t i = 0; i < l->len; i++)
		if (l->items[i].address == address)
			return;
	if (address && l->len < LANDINGS_MAX)
		l->items[l->len++] = (struct landing){ how, address, -1 };
}

static int
getter_offset(struct symfile *sf, uint64_t vaddr)
{
	unsigned char code[CODE_BYTES];

	return symfile_code(sf, vaddr, code, sizeof code) ?
		arch.getter_offset(code, sizeof code) : -1;
}

static bool
take_symbol(void *arg, const struct symbol *sym)
{
	struct search *s = arg;

	if (strcmp(sym->name, "_Unwind_GetCFA") == 0)
		s->cfa = getter_offset(s->sf, sym->start);
	/* one of them is in each glibc, in a program that has its own, too */
	if (strcmp(sym->name, "gnu_get_libc_version") == 0 ||
	    strcmp(sym->name, "_longjmp_unwind") == 0)
		s->found->guarded = true;
	for (size_t i = 0; i < ARRAY_LEN(known); i++)
		if (strcmp(sym->name, known[i].name) == 0)
			add(s, live_run_time(s->live, s->sf, sym->start),
			    known[i].how);
	return true;
}

static bool
take_object(void *arg, struct symfile *sf)
{
	struct search *s = arg;
	const size_t first = s->found->len;

	s->sf = sf;
	s->cfa = -1;
	symfile_each(sf, take_symbol, s);
	for (size_t i = first; i < s->found->len; i++)
		s->found->items[i].cfa = s->cfa;
	return true;
}

static const struct landings *
all_known(struct shell *sh)
{
	struct search s = { .live = live_of(sh), .found = &sh->landings };
	const uint64_t print = live_print(s.live);

	if (sh->landings.print != print || !print) {
		sh->landings = (struct landings){ .print = print };
		live_each_object(s.live, take_object, &s);
		fail_clear();
	}
	return &sh->landings;
}

/* ---- where they lead ----------------------------------------------------- */

static bool
registers(struct shell *sh, struct debug_regs *out)
{
	unsigned char set[REGSET_MOST];
	const ssize_t n = session_regset(sh->session, sh->until.tid,
					 NT_PRSTATUS, set, sizeof set);

	if (n < 0)
		return false;
	debug_regs_of_thread(set, (size_t)n, NULL, 0, out);
	return true;
}

/* What glibc hides the words of a jmp_buf by. */
static bool
find_guard(struct shell *sh, const struct debug_regs *regs, uint64_t *guard)
{
	static const char variable[] = "*(unsigned long *)&__pointer_chk_guard";
	struct str text = { 0 };
	struct debug *d;
	bool found;

	if (arch.jmp_buf_guard)
		return session_read(sh->session, regs->thread_pointer +
				    (uint64_t)arch.jmp_buf_guard, guard,
				    sizeof *guard) == 0;
	d = debuggee_now(sh);
	found = d && debug_print(d, variable, 'u', &text) == 0 &&
		sscanf(str_text(&text), "%*[^=]= %lu", guard) == 1;
	str_fini(&text);
	return found;
}

static uint64_t
turned_right(uint64_t word, int bits)
{
	return bits ? word >> bits | word << (64 - bits) : word;
}

static bool
read_resume(struct shell *sh, uint64_t at, const struct arch_resume *where,
	    uint64_t *pc, uint64_t *sp)
{
	return session_read(sh->session, at + (uint64_t)where->pc, pc,
			    sizeof *pc) == 0 &&
		session_read(sh->session, at + (uint64_t)where->sp, sp,
			     sizeof *sp) == 0;
}

static bool
jump_target(struct shell *sh, const struct debug_regs *regs, uint64_t *pc,
	    uint64_t *sp)
{
	const uint64_t at = regs->general.reg[arch.reg_args[0]];
	uint64_t guard;

	if (!read_resume(sh, at, &arch.jmp_buf, pc, sp))
		return false;
	if (!sh->landings.guarded)
		return true;
	if (!find_guard(sh, regs, &guard))
		return false;
	*pc = turned_right(*pc, arch.jmp_buf_turn) ^ guard;
	*sp = turned_right(*sp, arch.jmp_buf_turn) ^ guard;
	return true;
}

/* false: nobody knows. */
static bool
find_target(struct shell *sh, const struct landing *l, uint64_t *pc,
	    uint64_t *sp)
{
	struct debug_regs regs;

	if (!registers(sh, &regs))
		return false;

	const uint64_t first = regs.general.reg[arch.reg_args[0]];

	if (l->how == BY_JUMP)
		return jump_target(sh, &regs, pc, sp);
	if (l->how == BY_CONTEXT)
		return read_resume(sh, first, &arch.ucontext, pc, sp);
	*pc = regs.general.reg[arch.reg_args[1]];
	*sp = sh->until.sp;	/* not known before it lands */
	return l->cfa < 0 || session_read(sh->session, first +
					  (uint64_t)l->cfa, sp,
					  sizeof *sp) == 0;
}

/* The frame of the step, or one around it? Another stack may be above or below;
 * from there only that frame itself is. */
static bool
is_outwards(struct shell *sh, uint64_t sp)
{
	const uint64_t base = sh->until.sp;
	uint64_t low = UINT64_MAX, high = 0;
	struct debug *d = debuggee_now(sh);
	const size_t n = sp < base || !d ? 0 : debug_frames(d, FRAMES_MOST);

	for (size_t i = 0; i < n; i++) {
		struct debug_frame f;

		if (debug_frame(d, i, &f) < 0 || !f.cfa)
			continue;
		low = f.cfa < low ? f.cfa : low;
		high = f.cfa > high ? f.cfa : high;
	}
	fail_clear();
	return low <= base && base < high ? sp >= base && sp <= high :
		sp == base;
}

void
landing_follow(struct shell *sh, uint64_t address)
{
	const pid_t thread = sh->thread;
	struct until *u = &sh->until;
	uint64_t pc, sp;

	sh->thread = u->tid;
	for (size_t i = 0; i < sh->landings.len; i++) {
		const struct landing *l = &sh->landings.items[i];

		if (!u->watched[i] || l->address != address ||
		    !find_target(sh, l, &pc, &sp) || !is_outwards(sh, sp))
			continue;
		if (u->landing)
			spot_drop(sh, u->landing);
		u->landing = spot_take(sh, pc, false) == 0 ? pc : 0;
	}
	sh->thread = thread;
	fail_clear();
}

/* ---- what the tracer judges ---------------------------------------------- */

static void
step(struct condition *c, enum condition_op op, uint64_t word)
{
	c->steps[c->len++] = (struct condition_step){
		.op = (uint8_t)op, .size = sizeof word, .word = word,
		.number = (uint8_t)arch.reg_args[0],
	};
}

static void
at_argument(struct condition *c, int offset)
{
	step(c, CONDITION_REGISTER, (uint64_t)offset);
	step(c, CONDITION_LOAD, 0);
}

/* No operator turns a word: its two parts by themselves. */
static bool
jump_sp(struct shell *sh, struct condition *c)
{
	const int turn = arch.jmp_buf_turn;
	struct debug_regs regs;
	uint64_t guard = 0;

	if (sh->landings.guarded && (!registers(sh, &regs) ||
				     !find_guard(sh, &regs, &guard)))
		return false;
	at_argument(c, arch.jmp_buf.sp);
	if (!sh->landings.guarded)
		return true;
	if (turn) {
		step(c, CONDITION_WORD, UINT64_C(1) << turn);
		step(c, CONDITION_DIVIDE, 0);
		at_argument(c, arch.jmp_buf.sp);
		step(c, CONDITION_WORD, UINT64_C(1) << (64 - turn));
		step(c, CONDITION_MULTIPLY, 0);
		step(c, CONDITION_ADD, 0);
	}
	step(c, CONDITION_WORD, guard);
	step(c, CONDITION_XOR, 0);
	return true;
}

/* That it goes no deeper than the step. */
static void
make_condition(struct shell *sh, const struct landing *l, struct condition *c)
{
	*c = (struct condition){ 0 };
	if (l->how == BY_UNWINDER && l->cfa >= 0)
		at_argument(c, l->cfa);
	else if (l->how == BY_CONTEXT)
		at_argument(c, arch.ucontext.sp);
	else if (l->how != BY_JUMP || !jump_sp(sh, c))
		return;
	step(c, CONDITION_WORD, sh->until.sp);
	step(c, CONDITION_LESS, 0);
	step(c, CONDITION_NOT, 0);
}

/* ---- while it runs ------------------------------------------------------- */

/* false: there is no room for another one. */
static bool
watch(struct shell *sh, size_t i)
{
	const struct landing *l = &sh->landings.items[i];
	struct condition c;

	if (spot_take(sh, l->address, false) < 0)
		return false;
	sh->until.watched[i] = true;
	make_condition(sh, l, &c);
	until_filter(sh, 1 + i, l->address, &c);
	return true;
}

/* Where the processor has room for some only, for the commonest. */
void
landings_begin(struct shell *sh)
{
	const size_t n = all_known(sh)->len;
	bool room = true;

	for (int how = BY_UNWINDER; how <= BY_CONTEXT; how++)
		for (size_t i = 0; i < n && room; i++)
			if ((int)sh->landings.items[i].how == how)
				room = watch(sh, i);
	fail_clear();
}

void
landings_end(struct shell *sh, const struct until *u)
{
	for (size_t i = 0; i < sh->landings.len; i++)
		if (u->watched[i])
			spot_drop(sh, sh->landings.items[i].address);
	if (u->landing)
		spot_drop(sh, u->landing);
}
