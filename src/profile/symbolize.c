/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * From a PC to a function, in two steps. While packets are read a PC becomes
 * a location: (object, offset in its file), which needs no symbols and keeps
 * for ever what the PC meant at that moment. When someone asks for names each
 * distinct location is symbolized, once.
 */
#include "private.h"

#include <stdlib.h>
#include <string.h>

enum { KERNEL_BIT = 63 };	/* set in all its addresses */

static void
add_pseudo_object(struct profile *prof, const char *name)
{
	struct object *obj = xcalloc(1, sizeof *obj);

	obj->path = xstrdup(name);
	obj->build_id = xstrdup("");
	obj->pub.path = obj->pub.name = obj->path;
	obj->opened = true;
	obj->plt = obj->nothing = FUNCTION_UNSET;
	vec_push(&prof->objects, obj);
}

uint32_t
symbolize_function(struct profile *prof, uint32_t object, const char *linkage,
		   char *name)
{
	prof->functions = xgrow(prof->functions, &prof->functions_cap,
				prof->functions_len + 1,
				sizeof *prof->functions);

	const uint32_t id = (uint32_t)prof->functions_len++;
	struct function *fn = &prof->functions[id];

	*fn = (struct function){ .object = object,
				 .linkage = xstrdup(linkage), .name = name };
	fn->pub = (struct profile_function){
		.id = id, .object = &object_at(prof, object)->pub,
		.linkage = fn->linkage, .name = fn->name,
	};
	return id;
}

uint32_t
symbolize_add(struct profile *prof, struct location loc)
{
	prof->locations = xgrow(prof->locations, &prof->locations_cap,
				prof->locations_len + 1,
				sizeof *prof->locations);
	prof->locations[prof->locations_len] = loc;
	return (uint32_t)prof->locations_len++;
}

static void
add_artificial(struct profile *prof, const char *name)
{
	symbolize_function(prof, OBJECT_TOTAL, name, xstrdup(name));
}

void
symbolize_init(struct profile *prof)
{
	add_pseudo_object(prof, "<Total>");
	add_pseudo_object(prof, "<Unknown>");
	add_pseudo_object(prof, "<DYNAMIC_FUNCTIONS>");
	add_pseudo_object(prof, "<LinuxKernel>");
	object_at(prof, OBJECT_KERNEL)->pub.is_kernel = true;
	add_artificial(prof, "<Total>");
	symbolize_function(prof, OBJECT_UNKNOWN, "<Unknown>",
			   xstrdup("<Unknown>"));
	add_artificial(prof, "<Truncated-stack>");
	add_artificial(prof, "<Stack-unwind-failed>");
	symbolize_add(prof, (struct location){ .object = OBJECT_TOTAL,
		.function = FUNCTION_TRUNCATED, .has_line = true });
	symbolize_add(prof, (struct location){ .object = OBJECT_TOTAL,
		.function = FUNCTION_FAILED, .has_line = true });
}

/* ---- locations, while packets are read ------------------------------ */

static bool
is_kernel(const struct experiment_map_record *rec)
{
	return rec->start >> KERNEL_BIT || !strcmp(rec->name, "<Kernel>");
}

/* Code without a file is known by its name alone, wherever it stood. */
static uint32_t
dynamic_function(struct profile *prof, const struct experiment_map_record *rec)
{
	const uint32_t object = is_kernel(rec) ? OBJECT_KERNEL :
						 OBJECT_DYNAMIC;
	uint64_t key = hash_bytes(rec->name, strlen(rec->name), object);
	uint64_t id;

	/* another name with this hash takes the next key */
	for (; map_get(&prof->dynamic, key, &id); key++)
		if (prof->functions[id].object == object &&
		    !strcmp(prof->functions[id].linkage, rec->name))
			return (uint32_t)id;
	id = symbolize_function(prof, object, rec->name,
				name_display(rec->name, NAME_LONG));
	prof->functions[id].pub.size = rec->size;
	map_put(&prof->dynamic, key, id);
	return (uint32_t)id;
}

static uint32_t
dynamic_location(struct profile *prof, const struct experiment_map_record *rec,
		 uint64_t pc)
{
	const uint32_t fn = dynamic_function(prof, rec);
	uint64_t *slot = map_slot_of(&prof->dynamic_locations,
				     (uint64_t)fn << 32 |
				     ((pc - rec->start) & UINT32_MAX));

	if (!*slot)
		*slot = 1 + symbolize_add(prof, (struct location){
			.object = prof->functions[fn].object, .function = fn,
			.offset = pc - rec->start, .has_line = true });
	return (uint32_t)*slot - 1;
}

static uint32_t
unknown_location(struct profile *prof, uint64_t pc)
{
	uint64_t *slot = map_slot_of(&prof->unknown_locations, pc);

	if (!*slot)
		*slot = 1 + symbolize_add(prof, (struct location){
			.object = OBJECT_UNKNOWN, .function = FUNCTION_UNKNOWN,
			.offset = pc, .has_line = true });
	return (uint32_t)*slot - 1;
}

static uint32_t
file_location(struct profile *prof, uint32_t object, uint64_t offset)
{
	struct object *obj = object_at(prof, object);
	uint64_t *slot = map_slot_of(&obj->locations, offset);

	if (!*slot)
		*slot = 1 + symbolize_add(prof, (struct location){
			.object = object, .function = FUNCTION_UNSET,
			.offset = offset });
	return (uint32_t)*slot - 1;
}

uint32_t
symbolize_location(struct profile *prof, struct source *src, uint32_t record,
		   uint64_t pc)
{
	if (record == SPACE_NOWHERE)
		return unknown_location(prof, pc);

	const struct experiment_map_record *rec =
		experiment_map_at(src->reader, record);

	if (rec->is_function)
		return dynamic_location(prof, rec, pc);
	if (!src->object_of[record])
		src->object_of[record] = 1 + object_intern(
			prof, (uint32_t)(src - prof->sources), rec);
	return file_location(prof, src->object_of[record] - 1,
			     rec->offset + (pc - rec->start));
}

/* ---- functions, when someone asks ----------------------------------- */

static char *
display_name(const struct object *obj, const struct symbol *sym)
{
	if (sym->is_static)
		return xasprintf("%s (<%s>)", sym->name, obj->pub.name);
	return symfile_display(obj->pub.symbols, sym->name, sym->start,
			       NAME_LONG);
}

uint32_t
symbolize_symbol(struct profile *prof, uint32_t object,
		 const struct symbol *sym)
{
	struct object *obj = object_at(prof, object);
	uint64_t id;

	if (map_get(&obj->functions, sym->start, &id))
		return (uint32_t)id;
	id = symbolize_function(prof, object, sym->name,
				display_name(obj, sym));

	struct profile_function *pub = &prof->functions[id].pub;

	pub->start = sym->start;
	pub->size = sym->size;
	pub->is_static = sym->is_static;
	map_put(&obj->functions, sym->start, id);
	return (uint32_t)id;
}

/* All stubs of an object are one function. */
static uint32_t
plt_function(struct profile *prof, uint32_t object)
{
	struct object *obj = object_at(prof, object);

	if (obj->plt == FUNCTION_UNSET)
		obj->plt = symbolize_function(prof, object, "@plt",
					      xstrdup("@plt"));
	return obj->plt;
}

/* Nobody knows a function of it: a file that is gone, or another build. */
static uint32_t
nothing_function(struct profile *prof, uint32_t object)
{
	struct object *obj = object_at(prof, object);

	if (!obj->pub.is_file)
		return FUNCTION_UNKNOWN;
	if (obj->nothing == FUNCTION_UNSET) {
		char *name = xasprintf("<%s> -- no functions found",
				       obj->pub.name);

		obj->nothing = symbolize_function(prof, object, name,
						  xstrdup(name));
		free(name);
	}
	return obj->nothing;
}

uint32_t
symbolize_plt(struct profile *prof, uint32_t object)
{
	struct object *obj = object_at(prof, object);

	if (!obj->bound_at)
		obj->bound_at = 1 + symbolize_add(prof, (struct location){
			.object = object, .has_line = true,
			.function = plt_function(prof, object) });
	return obj->bound_at - 1;
}

static uint32_t
folded_function(struct profile *prof, uint32_t object)
{
	const struct profile_object *pub = &object_at(prof, object)->pub;

	if (object == OBJECT_UNKNOWN)
		return FUNCTION_UNKNOWN;	/* is one already */

	char *name = pub->is_file ? xasprintf("<%s>", pub->name) :
				    xstrdup(pub->name);
	const uint32_t fn = symbolize_function(prof, object, name, name);

	prof->functions[fn].pub.is_folded = true;
	return fn;
}

uint32_t
symbolize_folded(struct profile *prof, uint32_t object)
{
	struct object *obj = object_at(prof, object);

	if (!obj->folded_at)
		obj->folded_at = 1 + symbolize_add(prof, (struct location){
			.object = object, .has_line = true,
			.function = folded_function(prof, object) });
	return obj->folded_at - 1;
}

static void
symbolize_location_now(struct profile *prof, struct location *loc)
{
	struct object *obj = object_at(prof, loc->object);
	struct symbol sym;

	if (loc->function != FUNCTION_UNSET)
		return;
	object_open(prof, obj);
	if (obj->pub.symbols)
		loc->offset = loc->vaddr = symfile_vaddr(obj->pub.symbols,
							 loc->offset);
	if (!obj->pub.symbols ||
	    (!symfile_find(obj->pub.symbols, loc->vaddr, &sym) &&
	     !symfile_gap(obj->pub.symbols, loc->vaddr, &sym))) {
		loc->function = nothing_function(prof, loc->object);
		return;
	}
	loc->is_plt = sym.is_plt;
	loc->is_resolver = !sym.is_plt && lazy_is_resolver(obj, &sym);
	loc->function = sym.is_plt ? plt_function(prof, loc->object) :
				     symbolize_symbol(prof, loc->object, &sym);

	struct profile_function *pub = &prof->functions[loc->function].pub;

	if (sym.is_plt && !pub->start)
		pub->start = sym.start;	/* of the first one seen */
	loc->offset = loc->vaddr - pub->start;
}

/* The time of a PLT stub belongs to the call instruction below it. */
static void
skip_stubs(const struct profile *prof, struct stack *st)
{
	const uint32_t *frames = &prof->frames[st->first];

	st->skip = 0;
	while (st->skip < st->len && prof->locations[frames[st->skip]].is_plt)
		st->skip++;
}

void
symbolize_all(struct profile *prof)
{
	if (prof->symbolized == prof->locations_len)
		return;
	for (; prof->symbolized < prof->locations_len; prof->symbolized++)
		symbolize_location_now(prof,
				       &prof->locations[prof->symbolized]);
	if (!prof->options.keep_linker)
		lazy_collapse(prof);
	expand_stacks(prof);
	for (size_t i = 0; i < prof->stacks_len; i++)
		skip_stubs(prof, &prof->stacks[i]);
	hide_stacks(prof);
	prof->symbolized = prof->locations_len;	/* these add some */
}

void
symbolize_line(struct profile *prof, struct location *loc)
{
	const struct object *obj = object_at(prof, loc->object);

	if (loc->has_line)
		return;
	loc->has_line = true;
	if (!obj->pub.symbols || loc->is_plt ||
	    !symfile_line(obj->pub.symbols, loc->vaddr, &loc->file,
			  &loc->line)) {
		loc->file = NULL;
		loc->line = 0;
	}
}

size_t
profile_function_count(struct profile *prof)
{
	symbolize_all(prof);
	return prof->functions_len;
}

const struct profile_function *
profile_function(struct profile *prof, uint32_t id)
{
	symbolize_all(prof);
	return &prof->functions[id].pub;
}
