/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Where a thread stands: the function, the row of the line table, and the text
 * of that line.
 */
#include "foreign.h"
#include "private.h"

#include <elf.h>
#include <stdlib.h>
#include <string.h>

struct rows {
	uint64_t vaddr;
	struct symfile_row best;	/* the last at or before vaddr */
	uint64_t end;			/* the first after best.vaddr */
	bool found;
};

/* Rows of one sequence are in order; of several of one address the last has
 * the code. */
static bool
take_row(void *arg, const struct symfile_row *row)
{
	struct rows *r = arg;

	if (row->vaddr <= r->vaddr &&
	    (!r->found || row->vaddr >= r->best.vaddr)) {
		r->best = *row;
		r->found = true;
	}
	if (row->vaddr > r->vaddr && row->vaddr < r->end)
		r->end = row->vaddr;
	return true;
}

static void
find_row(struct place *p)
{
	const size_t unit = symfile_unit_at(p->at.sf, p->at.vaddr);
	struct rows r = { .vaddr = p->at.vaddr, .end = UINT64_MAX };

	if (unit)
		symfile_unit_rows(p->at.sf, unit, take_row, &r);
	if (!r.found || r.end == UINT64_MAX)
		return;
	/* line 0: of no line, and yet of a function that has some */
	p->file = r.best.line ? r.best.file : NULL;
	p->line = r.best.line;
	p->row_start = p->pc - (p->at.vaddr - r.best.vaddr);
	p->row_end = p->pc + (r.end - p->at.vaddr);
}

/* push %rbp; mov %rsp,%rbp, perhaps behind an endbr64: then arguments are
 * stored next, and may be looked at behind that. */
static bool
makes_frame(const struct live_place *at)
{
	static const unsigned char mark[] = { 0xf3, 0x0f, 0x1e, 0xfa };
	static const unsigned char frame[] = { 0x55, 0x48, 0x89, 0xe5 };
	unsigned char code[sizeof mark + sizeof frame];
	const unsigned char *start = code;

	if (symfile_machine(at->sf) != EM_X86_64 ||
	    !symfile_code(at->sf, at->vaddr, code, sizeof code))
		return false;
	if (memcmp(code, mark, sizeof mark) == 0)
		start += sizeof mark;
	return memcmp(start, frame, sizeof frame) == 0;
}

/* Its locations are of what has been stored, from its second row on; gcc's
 * lists are right from a function's first instruction. */
static bool
is_of_clang(const struct live_place *at)
{
	const size_t unit = symfile_unit_at(at->sf, at->vaddr);
	const char *producer = unit ? symfile_unit_producer(at->sf, unit) :
		NULL;

	return producer && strstr(producer, "clang");
}

uint64_t
place_behind_prologue(struct shell *sh, uint64_t addr)
{
	struct place p = { .pc = addr };
	struct symbol sym;

	if (!live_find(live_of(sh), addr, &p.at) ||
	    (!makes_frame(&p.at) && !is_of_clang(&p.at)))
		return addr;
	find_row(&p);
	if (!p.file || p.row_start != addr ||
	    !symfile_find(p.at.sf, p.at.vaddr, &sym) ||
	    p.row_end - addr >= sym.size)
		return addr;
	return p.row_end;
}

static void
find_names(struct shell *sh, struct place *p)
{
	struct live *l = live_of(sh);
	struct symbol sym;

	if (!live_find(l, p->pc, &p->at))
		return;
	find_row(p);
	if (!symfile_find(p->at.sf, p->at.vaddr, &sym))
		return;
	p->linkage = sym.name;
	p->function_start = p->pc - (p->at.vaddr - sym.start);
	p->is_plt = sym.is_plt;
}

void
place_at(struct shell *sh, pid_t tid, const struct session_step *at,
	      struct place *p)
{
	*p = (struct place){
		.tid = tid, .pc = at->pc, .sp = at->sp,
		.behind_call = at->behind_call,
	};
	find_names(sh, p);
}

int
place_now(struct shell *sh, pid_t tid, struct place *p)
{
	struct session_step at;

	if (session_at(sh->session, tid, &at) < 0)
		return -1;
	place_at(sh, tid, &at, p);
	return 0;
}

char *
place_function(const struct place *p)
{
	return p->linkage ? str_tame(name_display(p->linkage, NAME_SHORT)) :
		xstrdup("<Unknown>");
}

/* ---- source text --------------------------------------------------------- */

/* The first byte of that line; NULL: there are not so many. */
static const char *
find_line(const char *text, size_t size, int line)
{
	const char *const end = text + size;

	for (int i = 1; i < line && text; i++) {
		text = memchr(text, '\n', (size_t)(end - text));
		text = text ? text + 1 : NULL;
	}
	return line > 0 && text && text < end ? text : NULL;
}

char *
source_line(const char *path, int line)
{
	size_t size;
	char *all = foreign_read(path, FOREIGN_SOURCE_MAX, &size);
	const char *text = all ? find_line(all, size, line) : NULL;
	char *copy = NULL;

	if (text)
		copy = xstrndup(text, strcspn(text, "\n"));
	free(all);
	return str_tame_lines(copy);
}

void
source_print(const char *path, int line, FILE *out)
{
	char *text = source_line(path, line);

	if (text)
		fprintf(out, "%5d   %s\n", line, text);
	free(text);
}

/* What is executed there, if it was inlined; as the line is its. */
static char *
innermost_function(const struct place *p)
{
	struct symfile_inlined in;

	if (!p->file || !symfile_inlines(p->at.sf, p->at.vaddr, &in, 1))
		return place_function(p);
	return str_tame(name_display(in.name, NAME_SHORT));
}

/* dbx: "stopped in work at line 31 in file "synprog.c"", and the line. */
void
place_print(struct shell *sh, const struct place *p)
{
	char *function = innermost_function(p);
	const char *slash = p->file ? strrchr(p->file, '/') : NULL;
	char *file = str_tamed(slash ? slash + 1 : p->file);

	sh->place_told = true;
	fprintf(sh->out, "stopped in %s at ", function);
	if (p->file)
		fprintf(sh->out, "line %d in file \"%s\"\n", p->line,
			file);
	else
		fprintf(sh->out, "0x%llx\n", (unsigned long long)p->pc);
	if (p->file) {
		source_print(p->file, p->line, sh->out);
		list_around(sh, p->file, p->line);
	}
	free(function);
	free(file);
	displays_show(sh);
}

/* The thread that commands are about; it stands. */
pid_t
thread_now(const struct shell *sh)
{
	return sh->thread ? sh->thread : session_pid(sh->session);
}

int
thread_choose(struct shell *sh, const char *word)
{
	struct session_thread *th = NULL;
	const char *number = str_starts(word, "t@") || str_starts(word, "l@") ?
		word + 2 : word;
	bool found = false;
	long long tid;
	ssize_t n;

	if (!str_number(number, 1, 1 << 30, &tid))
		return fail(FAIL_USAGE, "'%s' is no thread", word);
	n = session_threads(sh->session, &th);
	for (ssize_t i = 0; i < n; i++)
		found |= th[i].tid == tid;
	free(th);
	if (n < 0)
		return -1;
	if (!found) {
		fail(FAIL_MISSING, "process %d has no thread %lld",
		     (int)session_pid(sh->session), tid);
		return fail_remedy("threads lists them");
	}
	sh->thread = (pid_t)tid;
	return 0;
}

/* ---- another line -------------------------------------------------------- */

/* Where that line is in the function where the thread is; 0: nowhere. */
static uint64_t
line_of_function(struct shell *sh, const struct place *now, const char *word)
{
	struct handler h = { .kind = EVENT_PLACE, .at_line = true };
	uint64_t found = 0;

	h.place = strchr(word, ':') || !now->file ? xstrdup(word) :
		xasprintf("%s:%s", now->file, word);
	if (event_find(sh, &h) < 0)
		fail_clear();
	for (size_t i = 0; i < h.spots_len && !found; i++) {
		struct place there;

		place_at(sh, now->tid, &(struct session_step){
			.pc = h.spots[i] }, &there);
		if (there.function_start == now->function_start)
			found = h.spots[i];
	}
	free(h.place);
	free(h.spots);
	vec_fini(&h.searched);
	return found;
}

int
place_jump(struct shell *sh, const char *line)
{
	struct debug *d = debuggee_now(sh);
	struct place now;
	char *address, *name;
	uint64_t to;
	int r;

	if (!d || debug_select(d, 0) < 0 ||
	    place_now(sh, thread_now(sh), &now) < 0)
		return -1;
	to = now.function_start ? line_of_function(sh, &now, line) : 0;
	if (!to) {
		name = place_function(&now);
		fail(FAIL_USAGE, "line %s is not of %s, where the thread is: "
		     "its stack would not fit", line, name);
		free(name);
		return fail_remedy("a line of that function; pop leaves it");
	}
	address = xasprintf("%#llx", (unsigned long long)to);
	r = debug_assign(d, "$pc", address);
	free(address);
	return r;
}
