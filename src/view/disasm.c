/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * A function's instructions with what each of them cost, in the order of their
 * addresses. Source lines stand before the first instruction made of them;
 * every instruction tells its line. Instructions come from the file that the
 * names came from (archived, or held by the living process), or, for the
 * kernel's vDSO, from our own process.
 */
#include "listing.h"

#include <stdlib.h>
#include <string.h>
#include <sys/utsname.h>

struct code {			/* where the instructions are */
	struct symfile *symbols;
	struct symfile *own;	/* to be freed */
	uint64_t start, end;
};

struct body {
	struct viewer *v;
	struct listing *l;
	const struct profile_function *fn;
	const struct code *code;
	const struct source_text *text;
	const char *home;	/* its source file, or NULL */
	const struct code_cost *costs;
	size_t costs_len, at;	/* at: the next one */
	uint64_t bias;		/* costs are by address less this */
	const char *file;	/* of the instruction before */
	int shown;		/* source lines up to here are there */
};

/* ---- where the code is ---------------------------------------------- */

static int
refuse(const struct body *b, const char *why)
{
	return fail(FAIL_UNSUITABLE, "disasm: %s has no instructions here: %s",
		    viewer_name(b->v, b->fn->id), why);
}

/* Was it recorded under the kernel that runs now? */
static bool
is_this_kernel(struct viewer *v)
{
	const struct experiment_reader *rd = profile_experiment(v->prof, 0);
	const char *os = experiment_property(rd, "os");
	const char *host = experiment_property(rd, "hostname");
	struct utsname here;

	return os && host && uname(&here) == 0 && strstr(os, here.release) &&
	       !strcmp(host, here.nodename);
}

static struct symfile *
own_vdso(void)
{
	char *text = file_read("/proc/self/maps", NULL);
	struct modules mods = {0};
	struct symfile *sf = NULL;

	if (text && modules_parse(&mods, text) == 0)
		for (size_t i = 0; i < mods.len && !sf; i++)
			if (!strcmp(mods.items[i].path, "[vdso]"))
				sf = symfile_memory(
					(const void *)(uintptr_t)
					mods.items[i].start,
					mods.items[i].end -
					mods.items[i].start, "[vdso]");
	modules_fini(&mods);
	free(text);
	return sf;
}

/* A function of the vDSO, of that name and size. */
static bool
find_in_vdso(struct body *b, struct code *code)
{
	struct symbol sym;

	if (!is_this_kernel(b->v) || !(code->own = own_vdso()))
		return false;
	if (!symfile_named(code->own, b->fn->linkage, 0, &sym) ||
	    sym.size != b->fn->size)
		return false;
	*code = (struct code){ code->own, code->own, sym.start,
			       sym.start + sym.size };
	b->bias = sym.start;
	return true;
}

static int
refuse_dynamic(const struct body *b)
{
	refuse(b, "it was in memory only, not in a file");
	return fail_remedy("look while the process lives: gdb -p PID -batch "
			   "-ex 'disassemble %s'", b->fn->linkage);
}

static int
find_code(struct body *b, struct code *code)
{
	const struct profile_function *fn = b->fn;
	struct symbol sym;

	*code = (struct code){ .symbols = fn->object->symbols };
	if (fn->object->is_kernel) {
		refuse(b, "it is the kernel's");
		return fail_remedy("`csingle '%s'` shows who called it",
				   fn->linkage);
	}
	if (fn->is_inlined) {
		refuse(b, "they are those of the functions it was inlined"
		       " into");
		return fail_remedy("`csingle '%s'` shows them",
				   viewer_name(b->v, fn->id));
	}
	if (!fn->object->is_file) {
		if (fn->linkage[0] == '<')
			return refuse(b, "it stands for what has no place in "
				      "any code");
		return find_in_vdso(b, code) ? 0 : refuse_dynamic(b);
	}
	if (!code->symbols) {
		refuse(b, "its file cannot be read");
		return fail_remedy("%s", fn->object->trouble ?
				   fn->object->trouble : fn->object->path);
	}
	code->start = fn->start;
	code->end = fn->start + fn->size;
	/* the stubs of a PLT have no size of their own */
	if (!fn->size && symfile_find(code->symbols, fn->start, &sym))
		code->end = sym.start + sym.size;
	return 0;
}

/* ---- rows ----------------------------------------------------------- */

static bool
is_home(const struct body *b, const char *file)
{
	return b->home && (file == b->home || !strcmp(file, b->home));
}

/* The lines up to this one that were not shown yet. */
static void
list_lines(struct body *b, const char *file, int line)
{
	if (!b->text->len || !file || line <= 0 || !is_home(b, file))
		return;
	if (!b->shown)
		b->shown = line - 1;
	while (b->shown < line) {
		b->shown++;
		listing_source(b->l, b->shown, text_line(b->text, b->shown),
			       NULL);
	}
}

/* Code of another file is here since a line of ours calls it: that comes
 * first. */
static void
list_elsewhere(struct body *b, const char *file, uint64_t vaddr)
{
	enum { DEPTH_MAX = 32 };
	struct symfile_inlined in[DEPTH_MAX];
	const size_t n = symfile_inlines(b->code->symbols, vaddr, in,
					 DEPTH_MAX);
	const char *name = viewer_name(b->v, b->fn->id);

	if (n)
		list_lines(b, in[n - 1].call_file, in[n - 1].call_line);
	listing_index(b->l, xasprintf("<Function: %s, instructions from "
				      "source file %s>", name,
				      path_base(file)), NULL);
	if (!n || !(b->v->disasm_shows & SHOW_INLINES))
		return;

	char *inlined = name_display(in[n - 1].name, NAME_SHORT);

	listing_index(b->l, xasprintf("<%s is inlined at line %d>", inlined,
				      in[n - 1].call_line), NULL);
	free(inlined);
}

static void
list_place(struct body *b, const char *file, uint64_t vaddr)
{
	if (!file || (b->file && !strcmp(file, b->file)))
		return;
	if (!is_home(b, file))
		list_elsewhere(b, file, vaddr);
	else if (b->file)
		listing_index(b->l, xasprintf("<Function: %s>", viewer_name(
			b->v, b->fn->id)), NULL);
	b->file = file;
}

/* Between instructions nothing can be hit; should it be, it is not lost. */
static void
list_astray(struct body *b, uint64_t until)
{
	for (; b->at < b->costs_len &&
	     b->costs[b->at].vaddr + b->bias < until; b->at++)
		listing_astray(b->l, b->costs[b->at].vaddr + b->bias,
			       &b->costs[b->at].cost);
}

static bool
list_insn(void *arg, const struct symfile_insn *insn)
{
	static const struct cost zero;
	struct body *b = arg;
	const struct cost *cost = &zero;
	const char *file = NULL;
	int line = 0;

	list_astray(b, insn->vaddr);
	if (!symfile_line(b->code->symbols, insn->vaddr, &file, &line))
		line = 0;
	list_lines(b, file, line);
	list_place(b, file, insn->vaddr);
	if (b->at < b->costs_len &&
	    b->costs[b->at].vaddr + b->bias == insn->vaddr)
		cost = &b->costs[b->at++].cost;
	listing_code(b->l, line, insn, cost);
	return true;
}

static int
list_body(struct body *b)
{
	const struct code *code = b->code;

	if (b->v->disasm_shows & SHOW_FLAGS)
		listing_flags(b->l, b->fn->object, symfile_unit_at(
			code->symbols, code->start));
	listing_index(b->l, xasprintf("<Function: %s>",
				      viewer_name(b->v, b->fn->id)), NULL);
	b->costs_len = profile_code(b->v->prof, b->fn->id, &b->costs);
	switch (symfile_instructions(code->symbols, code->start, code->end,
				     b->v->form, list_insn, b)) {
	case SYMFILE_DECODED:
		list_astray(b, UINT64_MAX);
		return 0;
	case SYMFILE_NO_CODE:
		refuse(b, "the file does not hold them");
		return fail_remedy("the file is cut short or stripped to its "
				   "debug information: put back %s as it ran",
				   b->fn->object->path);
	default:
		refuse(b, "no decoder for its machine is here");
		return fail_remedy("objdump for that machine can: objdump -d "
				   "%s", b->fn->object->path);
	}
}

static int
write_body(struct body *b, FILE *out)
{
	const struct code *code = b->code;
	struct found_source found = {0};
	struct source_text text = {0};
	struct listing l;
	int line;

	if (!symfile_declared(code->symbols, code->start, &b->home, &line))
		b->home = NULL;
	if (b->home) {
		(void)source_find(b->v, b->home, &found);
		source_trouble(b->v, b->home, &found);
		if (b->v->disasm_shows & SHOW_SOURCE)
			text_read(&text, found.path);
	}
	listing_init(&l, b->v, b->v->disasm_threshold, LISTING_ADDRESS |
		     (b->v->disasm_shows & SHOW_HEX ? LISTING_BYTES : 0));
	b->l = &l;
	b->text = &text;

	const int rc = list_body(b);

	if (rc == 0) {
		listing_header(b->home, found.path, b->fn->object, out);
		listing_write(&l, out);
	}
	listing_fini(&l);
	text_fini(&text);
	found_source_fini(&found);
	return rc;
}

int
view_disasm(struct viewer *v, size_t n, const char *const *words, FILE *out)
{
	struct code code = {0};
	uint32_t function;

	if (viewer_choose(v, n, words, &function) < 0)
		return -1;

	struct body b = { .v = v, .code = &code,
			  .fn = profile_function(v->prof, function) };
	const int rc = find_code(&b, &code) < 0 ? -1 : write_body(&b, out);

	symfile_free(code.own);
	return rc;
}
