/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * object.*member, pointer->*member: a pointer to a member is a distance in
 * objects of one class, which may be a base of the one at hand.
 */
#include "private.h"

#include <elf.h>
#include <string.h>

static struct value *
failed(const char *why)
{
	(void)fail(FAIL_USAGE, "%s", why);
	return NULL;
}

/* The part of an object that pointers to members of that class are of: a base
 * may begin behind it, or where only the object knows. */
static struct value *
part_of_class(struct debug *d, struct value *v, struct type *class)
{
	struct type *of = type_strip(d, v->type);
	struct value *base;

	class = class ? type_strip(d, class) : of;
	if (type_same(d, of, class))
		return v;
	fail_clear();
	if (class_bases(d, of, class) > 1) {
		(void)fail_ambiguous(class, of);
		return NULL;
	}
	base = value_base(d, v, class);
	if (!base && fail_last()->kind == FAIL_NONE)
		return failed("what stands before .* is no object of the "
			      "class of the member");
	return base;
}

/* The function that a pointer to one means, of that object: its address, or 1
 * more than its place in the table of virtual ones; and how far behind the
 * object begins what it is called with. */
static struct value *
method_pointed(struct debug *d, struct value *v, const uint64_t word[2],
	       struct type *type)
{
	uint64_t table, addr = word[0];
	struct value *f, *self = value_at(d, v->type, v->addr + word[1]);

	if (!self)
		return NULL;
	if (arch.elf_machine != EM_X86_64)
		return failed("a method is called by its name here");
	if (!addr)
		return failed("a null pointer to a member");
	if ((addr & 1) && (debug_read(d, self->addr, &table, 8) < 0 ||
			   debug_read(d, table + addr - 1, &addr, 8) < 0))
		return NULL;
	f = value_at(d, type, addr);
	if (f)
		f->self = self;
	return f;
}

struct value *
value_member_pointed(struct debug *d, struct value *v, struct value *member,
	       bool quiet)
{
	struct type *t = type_strip(d, member->type), *to;
	uint64_t word[2] = { 0 };

	if (t->kind != TYPE_MEMBER_POINTER)
		return failed("what follows .* is no pointer to a member");
	to = type_target(d, t);
	type_fill(d, type_strip(d, to));
	if (quiet)
		return value_lost(d, to);
	if (!(v = part_of_class(d, v, t->container)))
		return NULL;
	if (v->place != VALUE_MEMORY || value_need(d, member) < 0)
		return failed("the object of .* is not in memory");
	memcpy(word, member->bytes, member->size < sizeof word ? member->size :
	       sizeof word);
	if (member->size == sizeof word)
		return method_pointed(d, v, word, to);
	if (word[0] == UINT64_MAX)
		return failed("a null pointer to a member");
	return value_at(d, to, v->addr + word[0]);
}
