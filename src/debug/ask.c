/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Questions of the door: print, whatis, locals, and the like.
 */
#include "private.h"

#include <ctype.h>
#include <stdlib.h>
#include <string.h>

static int
print_line(struct debug *d, struct value *v, char format, struct str *out)
{
	struct printing p = { .d = d, .out = out, .format = format,
			      .top = true };
	const size_t before = out->len;
	const enum type_kind kind = type_strip(d, v->type)->kind;

	if (kind == TYPE_NODEBUG_DATA && format == 0)
		return fail(FAIL_UNSUITABLE, "'%s' has unknown type; cast it "
			    "to its declared type", v->text);
	if (kind != TYPE_VOID && value_fetch(d, v) < 0)
		return -1;
	fail_clear();
	print_whole(&p, v);
	if (out->len > before)
		(void)str_tame_lines(out->data + before);
	str_add(out, "\n");
	return 0;
}

int
debug_print(struct debug *d, const char *text, char format, struct str *out)
{
	struct value *v;

	debug_begin(d);
	if (format && !strchr("xduotcfsaz", format))
		return fail(FAIL_USAGE, "Undefined output format \"%c\".",
			    format);
	v = evaluate_text(d, text);
	return v ? print_line(d, v, format, out) : -1;
}

static int
say_type(struct debug *d, const char *text, struct str *out, bool full)
{
	struct type *t;
	struct node *n;
	struct value *v;

	debug_begin(d);
	t = parse_type(d, text);
	if (t && !full && t->kind == TYPE_TYPEDEF)
		t = type_target(d, t);
	if (!t) {
		n = parse_text(d, text);
		v = n ? evaluate(d, n, true) : NULL;
		if (!v)
			return -1;
		t = v->type;
	}
	str_add(out, "type = ");
	if (full)
		type_describe(d, t, out);
	else
		type_spell(d, t, out);
	str_add(out, "\n");
	return 0;
}

int
debug_whatis(struct debug *d, const char *text, struct str *out)
{
	return say_type(d, text, out, false);
}

int
debug_ptype(struct debug *d, const char *text, struct str *out)
{
	return say_type(d, text, out, true);
}

/* ---- variables of a frame ---- */

static void
print_variable(struct debug *d, const struct frame *f, Dwarf_Die *die,
	       struct str *out)
{
	struct printing p = { .d = d, .out = out };
	const char *name = die_name(die);
	struct value *v;

	str_addf(out, "%s = ", name);
	v = variable_value(d, f->at->object, f, die);
	if (v && value_fetch(d, v) == 0) {
		print_whole(&p, v);
	} else {
		str_addf(out, "<error reading variable %s (%s)>", name,
			 fail_last()->reason);
		fail_clear();
	}
	str_add(out, "\n");
}

struct listing {
	struct debug *d;
	const struct frame *frame;
	int tag;
	struct str *out;
	size_t n;
};

static bool
list_variable(void *arg, Dwarf_Die *die)
{
	struct listing *l = arg;

	if (dwarf_tag(die) != l->tag || !die_name(die))
		return true;
	if (l->tag == DW_TAG_variable &&
	    dwarf_hasattr(die, DW_AT_declaration))
		return true;
	print_variable(l->d, l->frame, die, l->out);
	return ++l->n < MEMBERS_MAX;
}

static size_t
print_block(struct debug *d, const struct frame *f, Dwarf_Die *block, int tag,
	    struct str *out)
{
	struct listing l = { d, f, tag, out, 0 };

	/* code of a unit that is of no function */
	if (block->addr == f->at->scopes[f->at->scope_len - 1].addr)
		return 0;
	(void)block_each(block, list_variable, &l);
	return l.n;
}

static const struct frame *
frame_with_names(struct debug *d)
{
	const struct frame *f;

	debug_begin(d);
	f = frame_selected(d);
	if (f && f->at->scope_len == 0) {
		(void)fail(FAIL_MISSING, "No symbol table info available.");
		return NULL;
	}
	return f && frame_has_data(f) ? f : NULL;
}

int
debug_arguments(struct debug *d, struct str *out)
{
	const struct frame *f = frame_with_names(d);

	if (!f)
		return -1;
	if (f->last + 1 == f->at->scope_len)
		return fail(FAIL_MISSING, "No symbol table info available.");
	if (print_block(d, f, &f->at->scopes[f->last], DW_TAG_formal_parameter,
			out) == 0)
		str_add(out, "No arguments.\n");
	return 0;
}

int
debug_locals(struct debug *d, struct str *out)
{
	const struct frame *f = frame_with_names(d);
	size_t n = 0;

	if (!f)
		return -1;
	for (size_t i = f->first; i <= f->last; i++)
		n += print_block(d, f, &f->at->scopes[i], DW_TAG_variable,
				 out);
	if (n == 0)
		str_add(out, "No locals.\n");
	return 0;
}

int
debug_dump(struct debug *d, struct str *out)
{
	const struct frame *f = frame_with_names(d);
	size_t n;

	if (!f)
		return -1;
	n = print_block(d, f, &f->at->scopes[f->last], DW_TAG_formal_parameter,
			out);
	for (size_t i = f->first; i <= f->last; i++)
		n += print_block(d, f, &f->at->scopes[i], DW_TAG_variable,
				 out);
	if (n == 0)
		str_add(out, "No locals.\n");
	return 0;
}

/* ---- frames as text ---- */

static bool
add_argument(void *arg, Dwarf_Die *die)
{
	struct listing *l = arg;
	struct printing p = { .d = l->d, .out = l->out };
	struct value *v;
	enum type_kind kind;

	if (dwarf_tag(die) != DW_TAG_formal_parameter || !die_name(die))
		return true;
	str_addf(l->out, "%s%s=", l->n++ ? ", " : "", die_name(die));
	v = variable_value(l->d, l->frame->at->object, l->frame, die);
	kind = v ? type_strip(l->d, v->type)->kind : TYPE_VOID;
	if (v && (kind == TYPE_STRUCT || kind == TYPE_UNION ||
		  kind == TYPE_ARRAY)) {
		str_add(l->out, "...");
	} else if (v && value_fetch(l->d, v) == 0) {
		print_whole(&p, v);
	} else {
		str_addf(l->out, "<error: %s>", fail_last()->reason);
		fail_clear();
	}
	return l->n < MEMBERS_MAX;
}

static void
add_arguments(struct debug *d, const struct frame *f, struct str *out)
{
	struct listing l = { .d = d, .frame = f, .out = out };

	str_add(out, " (");
	if (f->last < f->at->scope_len)
		(void)block_each(&f->at->scopes[f->last], add_argument, &l);
	str_add(out, ")");
}

int
debug_frame_text(struct debug *d, size_t n, struct str *out)
{
	struct debug_frame frame;
	const struct frame *f;

	debug_begin(d);
	if (debug_frame(d, n, &frame) < 0)
		return -1;
	f = d->frames[n];

	char *name = frame.function ? name_display(frame.function,
						   NAME_SHORT) : NULL;

	char *where = str_tamed(frame.file ? frame.file : frame.object);

	str_add(out, name ? name : "??");
	free(name);
	add_arguments(d, f, out);
	if (frame.file)
		str_addf(out, " at %s:%d", where, frame.line);
	else if (frame.object)
		str_addf(out, " from %s", where);
	free(where);
	str_add(out, "\n");
	return 0;
}

/* ---- for conditions and addresses ---- */

int
debug_truth(struct debug *d, const char *text, bool *truth)
{
	struct value *v;

	debug_begin(d);
	v = evaluate_text(d, text);
	return v ? value_truth(d, v, truth) : -1;
}

int
debug_number(struct debug *d, const char *text, int64_t *number)
{
	struct value *v;
	uint64_t word;

	debug_begin(d);
	v = evaluate_text(d, text);
	if (!v || value_number(d, v, &word) < 0)
		return -1;
	*number = (int64_t)word;
	return 0;
}

static struct value *
value_of(struct debug *d, const char *text, struct type **type)
{
	struct value *v;

	debug_begin(d);
	v = evaluate_text(d, text);
	if (v)
		*type = type_strip(d, v->type);
	return v;
}

int
debug_address(struct debug *d, const char *text, uint64_t *addr,
	      uint64_t *size)
{
	struct type *t;
	struct value *v = value_of(d, text, &t);

	if (!v)
		return -1;
	*size = 1;
	if (t->kind == TYPE_FUNCTION || t->kind == TYPE_ARRAY ||
	    t->kind == TYPE_NODEBUG_TEXT) {
		*addr = v->addr;
		if (t->kind == TYPE_ARRAY)
			*size = type_size(d, t);
		return v->place == VALUE_MEMORY ? 0 :
			fail(FAIL_USAGE, "it lies nowhere in memory");
	}
	if (t->kind == TYPE_POINTER) {
		*size = type_size(d, type_target(d, t));
		if (*size == 0)
			*size = 1;
		return value_number(d, v, addr);
	}
	if (type_is_integral(t) && v->place != VALUE_MEMORY)
		return value_number(d, v, addr);
	if (v->place != VALUE_MEMORY)
		return fail(FAIL_USAGE, "it lies nowhere in memory");
	*addr = v->addr;
	*size = type_size(d, t);
	return 0;
}

static int
lies_nowhere(const char *text)
{
	fail(FAIL_UNSUITABLE, "%s lies nowhere in memory: it is in a register, "
	     "or computed", text);
	return fail_remedy("name what is in memory, or an address (&x); stop "
			   "at LINE -if EXPR asks each time");
}

/* A number is where something is; of which size, nobody said. */
int
debug_data(struct debug *d, const char *text, bool follow,
	   struct debug_data *out)
{
	struct type *t;
	struct value *v = value_of(d, text, &t);

	if (!v)
		return -1;
	*out = (struct debug_data){ .addr = v->addr };
	if (t->kind == TYPE_POINTER && (follow || v->place == VALUE_TEMPORARY)) {
		out->pointed = true;
		out->size = type_size(d, type_target(d, t));
		return value_number(d, v, &out->addr);
	}
	if (v->place == VALUE_TEMPORARY && type_is_integral(t))
		return value_number(d, v, &out->addr);
	if (v->place != VALUE_MEMORY)
		return lies_nowhere(text);
	out->size = type_size(d, t);
	return 0;
}

int
debug_assign(struct debug *d, const char *left, const char *right)
{
	char *text = xasprintf("(%s) = (%s)", left, right);
	struct value *v;

	debug_begin(d);
	v = evaluate_text(d, text);
	free(text);
	return v ? 0 : -1;
}
