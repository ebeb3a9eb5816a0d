/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * What frames are called, and at which line each stands.
 */
#include "private.h"

const char *
frame_function(struct debug *d, const struct frame *f)
{
	const struct physical *p = f->at;
	struct symbol sym;

	if (f->last < p->scope_len) {
		Dwarf_Die *die = &p->scopes[f->last];

		if (dwarf_tag(die) != DW_TAG_compile_unit && die_name(die))
			return arena_text(&d->stack, die_full_name(d, die));
	}
	if (!p->object ||
	    !symfile_find(p->object->symbols,
			  frame_lookup_pc(p) - p->object->bias, &sym))
		return NULL;
	return sym.name;
}

bool
frame_is_cxx(struct debug *d)
{
	const struct frame *f = frame_selected(d);

	return f && f->at->scope_len &&
	       die_is_cxx(&f->at->scopes[f->at->scope_len - 1]);
}

bool
frame_has_data(const struct frame *f)
{
	const char *file = NULL;
	Dwarf_Attribute attr;
	Dwarf_Die *unit;
	uint8_t type;

	if (f->at->scope_len == 0)
		return true;
	unit = &f->at->scopes[f->at->scope_len - 1];
	if (dwarf_cu_info(unit->cu, NULL, &type, NULL, NULL, NULL, NULL,
			  NULL) != 0 || type != DW_UT_skeleton)
		return true;
	if (dwarf_attr(unit, DW_AT_dwo_name, &attr) ||
	    dwarf_attr(unit, DW_AT_GNU_dwo_name, &attr))
		file = dwarf_formstring(&attr);
	(void)fail(FAIL_MISSING, "the debug data of %s is in %s, which is not "
		   "found, or which another user may change",
		   die_name(unit) ? die_name(unit) : "this code",
		   file ? file : "another file");
	(void)fail_remedy("put it where it was compiled, or compile without "
			  "-gsplit-dwarf");
	return false;
}

/* The line of the innermost function is of the pc; of one around it, of where
 * the next inner one was inlined. */
static void
frame_line(const struct frame *f, struct debug_frame *out)
{
	const struct physical *p = f->at;
	uint64_t number;

	if (!p->object)
		return;
	if (f->first == 0) {
		if (!symfile_line(p->object->symbols,
				  frame_lookup_pc(p) - p->object->bias,
				  &out->file, &out->line))
			out->file = NULL;
		return;
	}

	Dwarf_Die *inner = &p->scopes[f->first - 1];
	Dwarf_Die unit;
	Dwarf_Files *files;
	size_t count;

	if (attr_unsigned(inner, DW_AT_call_line, &number))
		out->line = (int)number;
	if (dwarf_diecu(inner, &unit, NULL, NULL) &&
	    dwarf_getsrcfiles(&unit, &files, &count) == 0 &&
	    attr_unsigned(inner, DW_AT_call_file, &number) && number < count)
		out->file = dwarf_filesrc(files, number, NULL, NULL);
}

int
debug_frame(struct debug *d, size_t n, struct debug_frame *out)
{
	const struct frame *f;
	struct symbol sym;

	objects_load(d);
	f = frame_get(d, n);
	if (!f)
		return -1;

	const struct physical *p = f->at;

	*out = (struct debug_frame){
		.pc = p->pc, .cfa = p->cfa, .inlined = f->inlined,
		.exact = p->exact, .signal = p->signal,
	};
	/* whether a handler was called here shows when the step is made */
	(void)frame_make_all(d, n + 1);
	f = d->frames[n];
	out->signal = p->signal;
	out->cfa = p->cfa;
	out->function = frame_function(d, f);
	if (p->object) {
		out->object = p->object->shown;
		if (symfile_find(p->object->symbols,
				 frame_lookup_pc(p) - p->object->bias, &sym))
			out->offset = p->pc - p->object->bias - sym.start;
	}
	frame_line(f, out);
	return 0;
}
