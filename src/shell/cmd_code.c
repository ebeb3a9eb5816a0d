/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Commands for code, memory and registers of a process: list, dis, examine,
 * regs.
 */
#include "private.h"

#include <ctype.h>
#include <elf.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/user.h>

/* ---- addresses ----------------------------------------------------------- */

/* A number, a function, or the pc. */
static int
address_of(struct shell *sh, const char *word, uint64_t *addr)
{
	struct place p;
	char *end;

	if (strcmp(word, "$pc") == 0) {
		if (place_now(sh, thread_now(sh), &p) < 0)
			return -1;
		*addr = p.pc;
		return 0;
	}
	if (*word == '&')
		word++;
	errno = 0;
	*addr = strtoull(word, &end, 0);
	if (!errno && end != word && !*end)
		return 0;
	*addr = live_address(live_of(sh), word);
	return *addr ? 0 : -1;
}

static void
cut_blanks(char *text)
{
	size_t len = strlen(text);

	while (len > 0 && isspace((unsigned char)text[len - 1]))
		text[--len] = '\0';
}

/* "/10", "/10i", "/x": at the end of a word or alone; what is before it stays.
 * false: no such thing. */
static bool
take_format(char *text, long long *count, char *letter)
{
	char *slash = strrchr(text, '/');
	char *end;

	if (!slash)
		return true;
	*slash = '\0';
	if (isdigit((unsigned char)slash[1])) {
		errno = 0;
		*count = strtoll(slash + 1, &end, 10);
		if (errno || *count < 1 || *count > 100000)
			return false;
	} else {
		end = slash + 1;
	}
	if (*end && !end[1])
		*letter = *end;
	else if (*end)
		return false;
	return true;
}

/* ---- dis ----------------------------------------------------------------- */

struct listing {
	FILE *out;
	uint64_t bias, pc;
	long long left;
	struct live_place at;
};

static bool
print_instruction(void *arg, const struct symfile_insn *ins)
{
	struct listing *l = arg;
	const uint64_t addr = ins->vaddr + l->bias;
	struct symbol sym;

	fprintf(l->out, "%s0x%012llx", addr == l->pc ? "=> " : "   ",
		(unsigned long long)addr);
	if (symfile_find(l->at.sf, ins->vaddr, &sym)) {
		char *name = str_tame(name_display(sym.name, NAME_SHORT));

		fprintf(l->out, " <%s+0x%llx>", name,
			(unsigned long long)(ins->vaddr - sym.start));
		free(name);
	}
	fprintf(l->out, ":  %s\n", ins->text);
	l->at.vaddr = ins->vaddr + ins->length;
	return --l->left > 0;
}

/* As far as it is known to be code: its function, or what lies between two. */
static uint64_t
end_of_code(const struct live_place *at)
{
	struct symbol sym;

	return (symfile_find(at->sf, at->vaddr, &sym) && sym.size) ||
		symfile_gap(at->sf, at->vaddr, &sym) ?
		sym.start + sym.size : at->vaddr;
}

static enum result
no_code(const struct shell *sh, uint64_t addr)
{
	fail(FAIL_MISSING, "process %d has no code of a file at %#llx",
	     session_pid(sh->session), (unsigned long long)addr);
	fail_remedy("loadobject lists what is loaded");
	return FAILED;
}

static enum result
print_code(struct shell *sh, uint64_t addr, long long count)
{
	struct listing l = { .out = sh->out, .left = count };
	struct session_step at;

	if (!live_find(live_of(sh), addr, &l.at))
		return no_code(sh, addr);
	l.bias = addr - l.at.vaddr;
	if (session_state(sh->session) == SESSION_STOPPED &&
	    session_at(sh->session, thread_now(sh), &at) == 0)
		l.pc = at.pc;
	fail_clear();
	while (l.left > 0) {
		const uint64_t start = l.at.vaddr;
		const enum symfile_decoded r =
			symfile_instructions(l.at.sf, start, end_of_code(&l.at),
					     NAME_SHORT, print_instruction, &l);

		if (r == SYMFILE_NO_DECODER) {
			fail(FAIL_UNSUITABLE, "instructions of this machine "
			     "are not known");
			return FAILED;
		}
		if (l.at.vaddr == start)
			return l.left < count ? DONE : no_code(sh, addr);
	}
	return DONE;
}

static enum result
cmd_dis(struct shell *sh, size_t n, char **words)
{
	long long count = 10;
	char letter = 'i';
	uint64_t addr;
	char *text = words_joined(n - 1, words + 1);
	enum result r = USAGE;

	if (take_format(text, &count, &letter) && letter == 'i') {
		cut_blanks(text);
		r = address_of(sh, *text ? text : "$pc", &addr) < 0 ? FAILED :
			print_code(sh, addr, count);
	}
	free(text);
	return r;
}

/* ---- examine ------------------------------------------------------------- */

/* dbx's: how many bytes a unit has, and how it is printed. */
struct unit {
	char letter;
	unsigned bytes;
	const char *format;	/* of a number; NULL: see print_unit */
	unsigned on_a_line;
};

static const struct unit units[] = {
	{ 'X', 4, "0x%08llx", 4 }, { 'x', 2, "0x%04llx", 8 },
	{ 'D', 4, "%lld", 4 }, { 'd', 2, "%lld", 8 },
	{ 'O', 4, "0%011llo", 4 }, { 'o', 2, "0%06llo", 8 },
	{ 'b', 1, "0%03llo", 8 }, { 'c', 1, NULL, 8 },
	{ 'g', 8, "0x%016llx", 2 }, { 'F', 8, NULL, 2 }, { 'f', 4, NULL, 4 },
	{ 's', 0, NULL, 1 },
};

static const struct unit *
unit_of(char letter)
{
	for (size_t i = 0; i < ARRAY_LEN(units); i++)
		if (units[i].letter == letter)
			return &units[i];
	return NULL;
}

static uint64_t
whole(const unsigned char *bytes, unsigned n, bool is_signed)
{
	uint64_t value = 0;

	memcpy(&value, bytes, n);	/* little end first, as all we know */
	if (is_signed && n < sizeof value && value >> (8 * n - 1))
		value |= UINT64_MAX << (8 * n);
	return value;
}

static void
print_unit(const struct unit *u, const unsigned char *at, FILE *out)
{
	float single;
	double twice;

	if (u->format) {
		fprintf(out, u->format, (unsigned long long)
			whole(at, u->bytes, u->letter == 'd' ||
			      u->letter == 'D'));
	} else if (u->letter == 'c') {
		fprintf(out, isprint(*at) ? "'%c'" : "'\\%03o'", *at);
	} else if (u->letter == 'f') {
		memcpy(&single, at, sizeof single);
		fprintf(out, "%.9g", (double)single);
	} else {
		memcpy(&twice, at, sizeof twice);
		fprintf(out, "%.17g", twice);
	}
}

static enum result
print_units(struct shell *sh, const struct unit *u, uint64_t addr,
	    long long count)
{
	const size_t bytes = (size_t)count * u->bytes;
	unsigned char *memory = xcalloc(1, bytes);

	if (session_read(sh->session, addr, memory, bytes) < 0) {
		free(memory);
		return FAILED;
	}
	for (long long i = 0; i < count; i++) {
		const bool first = i % u->on_a_line == 0;
		const bool last = i % u->on_a_line == u->on_a_line - 1 ||
			i + 1 == count;

		if (first)
			fprintf(sh->out, "0x%012llx:",
				(unsigned long long)(addr + (uint64_t)i *
						     u->bytes));
		fputc('\t', sh->out);
		print_unit(u, memory + (size_t)i * u->bytes, sh->out);
		if (last)
			fputc('\n', sh->out);
	}
	free(memory);
	return DONE;
}

/* In pieces, since what follows it may be no memory. *addr: behind it. */
static enum result
print_string(struct shell *sh, uint64_t *addr)
{
	enum { LONGEST = 4096, PIECE = 64 };
	struct str s = {0};
	char piece[PIECE];
	const uint64_t start = *addr;
	bool ended = false;

	while (!ended && s.len < LONGEST) {
		const size_t n = PIECE - *addr % PIECE;

		if (session_read(sh->session, *addr, piece, n) < 0) {
			str_fini(&s);
			return FAILED;
		}

		const size_t len = strnlen(piece, n);

		str_addn(&s, piece, len);
		ended = len < n;
		*addr += len + ended;
	}

	char *text = str_tame(str_take(&s));

	fprintf(sh->out, "0x%012llx:\t\"%s\"%s\n", (unsigned long long)start,
		text, ended ? "" : " ...");
	free(text);
	return DONE;
}

static enum result
examine(struct shell *sh, uint64_t addr, char letter, long long count)
{
	const struct unit *u = unit_of(letter);

	if (letter == 'i')
		return print_code(sh, addr, count);
	if (!u) {
		fail(FAIL_USAGE, "examine: format '%c' is not known", letter);
		fail_remedy("i s c b x X d D o O g f F, as in x main/8i");
		return FAILED;
	}
	if (u->bytes)
		return print_units(sh, u, addr, count);
	for (long long i = 0; i < count; i++)
		if (print_string(sh, &addr) == FAILED)
			return FAILED;
	return DONE;
}

static enum result
cmd_examine(struct shell *sh, size_t n, char **words)
{
	long long count = 1;
	char letter = 'X';
	uint64_t addr;
	char *text = words_joined(n - 1, words + 1);
	enum result r = USAGE;

	if (n > 1 && take_format(text, &count, &letter)) {
		cut_blanks(text);
		r = address_of(sh, *text ? text : "$pc", &addr) < 0 ? FAILED :
			examine(sh, addr, letter, count);
	}
	free(text);
	return r;
}

/* ---- regs ---------------------------------------------------------------- */

#if defined(__x86_64__)

static enum result
print_registers(struct shell *sh, const struct user_regs_struct *r)
{
	const struct { const char *name; unsigned long long value; } all[] = {
		{ "rax", r->rax }, { "rbx", r->rbx }, { "rcx", r->rcx },
		{ "rdx", r->rdx }, { "rsi", r->rsi }, { "rdi", r->rdi },
		{ "rbp", r->rbp }, { "rsp", r->rsp }, { "r8", r->r8 },
		{ "r9", r->r9 }, { "r10", r->r10 }, { "r11", r->r11 },
		{ "r12", r->r12 }, { "r13", r->r13 }, { "r14", r->r14 },
		{ "r15", r->r15 }, { "rip", r->rip }, { "eflags", r->eflags },
		{ "cs", r->cs }, { "ss", r->ss }, { "ds", r->ds },
		{ "es", r->es }, { "fs", r->fs }, { "gs", r->gs },
		{ "fs_base", r->fs_base }, { "gs_base", r->gs_base },
	};

	for (size_t i = 0; i < ARRAY_LEN(all); i++)
		fprintf(sh->out, "%-8s 0x%016llx  %lld\n", all[i].name,
			all[i].value, (long long)all[i].value);
	return DONE;
}

#else

static enum result
print_registers(struct shell *sh, const struct user_regs_struct *r)
{
	for (size_t i = 0; i < ARRAY_LEN(r->regs); i++)
		fprintf(sh->out, "x%-7zu 0x%016llx  %lld\n", i, r->regs[i],
			(long long)r->regs[i]);
	fprintf(sh->out, "%-8s 0x%016llx\n%-8s 0x%016llx\n%-8s 0x%016llx\n",
		"sp", r->sp, "pc", r->pc, "pstate", r->pstate);
	return DONE;
}

#endif

static enum result
cmd_regs(struct shell *sh, size_t n, char **words)
{
	struct user_regs_struct regs = {0};

	(void)words;
	if (n != 1)
		return USAGE;
	if (session_regset(sh->session, thread_now(sh), NT_PRSTATUS, &regs,
			   sizeof regs) < 0)
		return FAILED;
	return print_registers(sh, &regs);
}

/* ---- list ---------------------------------------------------------------- */

enum { LIST_LINES = 10 };

static void
list_at(struct shell *sh, const char *file, int line)
{
	free(sh->list_file);
	sh->list_file = xstrdup(file);
	sh->list_line = line > 0 ? line : 1;
}

/* Around the line where a function, or the thread, is. */
static int
list_function(struct shell *sh, const char *name)
{
	const uint64_t addr = live_address(live_of(sh), name);
	struct live_place p;
	const char *file;
	int line;

	if (!addr)
		return -1;
	if (!live_find(live_of(sh), addr, &p) ||
	    !symfile_declared(p.sf, p.vaddr, &file, &line)) {
		fail(FAIL_MISSING, "list: function '%s' has no lines", name);
		return fail_remedy("compile it with -g, or install its "
				   "debug symbols");
	}
	list_at(sh, file, line - LIST_LINES / 2);
	return 0;
}

static int
list_here(struct shell *sh)
{
	struct place p;

	if (place_now(sh, thread_now(sh), &p) < 0)
		return -1;
	if (!p.file) {
		fail(FAIL_MISSING, "list: there are no lines at %#llx",
		     (unsigned long long)p.pc);
		return fail_remedy("list FUNCTION; dis shows instructions");
	}
	list_at(sh, p.file, p.line - LIST_LINES / 2);
	return 0;
}

static enum result
list_lines(struct shell *sh, int last)
{
	bool any = false;

	for (int line = sh->list_line; line <= last; line++) {
		char *text = source_line(sh->list_file, line);

		if (!text)
			break;
		fprintf(sh->out, "%5d   %s\n", line, text);
		free(text);
		any = true;
		sh->list_line = line + 1;
	}
	if (any)
		return DONE;
	fail(FAIL_MISSING, "list: %s has no line %d, or cannot be read",
	     sh->list_file, sh->list_line);
	return FAILED;
}

static enum result
cmd_list(struct shell *sh, size_t n, char **words)
{
	char *comma = n == 2 ? strchr(words[1], ',') : NULL;
	long long first, last;

	if (n > 2)
		return USAGE;
	if (n == 1) {
		if (!sh->list_file && list_here(sh) < 0)
			return FAILED;
		return list_lines(sh, sh->list_line + LIST_LINES - 1);
	}
	if (isdigit((unsigned char)words[1][0])) {
		char *start = xstrndup(words[1], comma ? (size_t)
				       (comma - words[1]) : strlen(words[1]));
		const bool good = str_number(start, 1, 1 << 30, &first) &&
			(!comma || str_number(comma + 1, first, 1 << 30,
					      &last));

		free(start);
		if (!good)
			return USAGE;
		if (!sh->list_file && list_here(sh) < 0)
			return FAILED;
		sh->list_line = (int)first;
		return list_lines(sh, (int)(comma ? last : first));
	}
	if (list_function(sh, words[1]) < 0)
		return FAILED;
	return list_lines(sh, sh->list_line + LIST_LINES - 1);
}

const struct command code_commands[] = {
	{ "dis", "[ADDRESS|FUNCTION] [/COUNT]", "print instructions; those "
	  "at which the thread stands, if nothing is said", NEEDS_TARGET,
	  cmd_dis, "dis main /5" },
	{ "examine", "ADDRESS|FUNCTION [/[COUNT][FORMAT]]", "print memory "
	  "(i: instructions, s: strings, c: characters, x X: hexadecimal of 2 "
	  "and 4 bytes, g: of 8, d D o O b f F)", NEEDS_TARGET, cmd_examine,
	  "examine main /8i" },
	{ "list", "[N[,M] | FUNCTION]", "print lines of the source",
	  NEEDS_TARGET, cmd_list, "list main" },
	{ "regs", "", "print the registers of the thread",
	  NEEDS_TARGET | NEEDS_STOPPED, cmd_regs, "regs" },
	{ "x", "ADDRESS|FUNCTION [/[COUNT][FORMAT]]", "the same as examine",
	  NEEDS_TARGET, cmd_examine, "x main /8i" },
	{ 0 }
};
