/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Commands for the code of a process: list, dis.
 */
#include "private.h"

#include <ctype.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

/* ---- addresses ----------------------------------------------------------- */

/* An expression; without debug information of use: a number, a function. */
static int
address_of(struct shell *sh, const char *word, uint64_t *addr)
{
	uint64_t size;

	return debug_address(debuggee_now(sh), word, addr, &size);
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
bool
code_take_format(char *text, long long *count, char *letter)
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
	cut_blanks(text);
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

enum result
code_print(struct shell *sh, uint64_t addr, long long count)
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

	if (code_take_format(text, &count, &letter) && letter == 'i') {
		cut_blanks(text);
		r = address_of(sh, *text ? text : "$pc", &addr) < 0 ? FAILED :
			code_print(sh, addr, count);
	}
	free(text);
	return r;
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
	{ "list", "[N[,M] | FUNCTION]", "print lines of the source",
	  NEEDS_TARGET, cmd_list, "list main" },
	{ 0 }
};
