/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * How much of a load object is shown. Runs of frames of a hidden object are
 * one frame, which stands for the object. Of an object of which only the
 * entry points are shown, the function that another object called is the leaf
 * and has the cost of all it called, callbacks too; those that start a
 * process or a thread are no entry points, since everything was called by
 * them: they are one frame, the outermost.
 *
 * Stacks change, packets do not: each sum is over the stacks as they are then.
 */
#include "private.h"

#include <string.h>

/* ---- which objects there are ------------------------------------------ */

static bool
names_object(const char *name, const struct profile_object *obj)
{
	const size_t n = strlen(obj->name);

	if (!name || !strcmp(name, obj->path) || !strcmp(name, obj->name))
		return true;
	/* as it is listed, or a pseudo object without its brackets */
	if (obj->is_file)
		return name[0] == '<' && !strncmp(name + 1, obj->name, n) &&
		       !strcmp(name + 1 + n, ">");
	return strlen(name) + 2 == n && !strncmp(name, obj->name + 1, n - 2);
}

bool
profile_object_named(const struct profile_object *obj, const char *name)
{
	return names_object(name, obj);
}

static void
number(struct profile *prof, uint32_t object)
{
	struct profile_object *pub = &object_at(prof, object)->pub;

	if (!pub->index && object != OBJECT_UNKNOWN)
		pub->index = prof->indexed++;
}

static void
number_mapped(struct profile *prof, uint32_t source)
{
	const struct experiment_reader *rd = prof->sources[source].reader;

	for (size_t i = 0; i < experiment_map_count(rd); i++) {
		const struct experiment_map_record *rec =
			experiment_map_at(rd, i);

		if (rec->is_function)
			number(prof, OBJECT_DYNAMIC);
		else if (space_holds_code(rec))
			number(prof, object_intern(prof, source, rec));
	}
}

static enum object_show
show_of(const struct profile_options *options, const struct profile_object *obj)
{
	for (size_t i = options->rules_len; i-- > 0;)
		if (names_object(options->rules[i].name, obj))
			return options->rules[i].show;
	return OBJECT_SHOWN;
}

void
objects_find(struct profile *prof)
{
	prof->indexed = 1;	/* <Unknown> is 0 */
	number(prof, OBJECT_TOTAL);
	for (uint32_t i = 0; i < prof->sources_len; i++)
		number_mapped(prof, i);
	number(prof, OBJECT_DYNAMIC);
	number(prof, OBJECT_KERNEL);
	for (uint32_t i = OBJECT_TOTAL + 1; i < prof->objects.len; i++) {
		struct profile_object *pub = &object_at(prof, i)->pub;

		pub->show = show_of(&prof->options, pub);
		prof->hides |= pub->show != OBJECT_SHOWN;
	}
	/* the rules last no longer than until the profile is open */
	prof->options.rules = NULL;
	prof->options.rules_len = 0;
}

size_t
profile_object_count(const struct profile *prof)
{
	return prof->objects.len;
}

const struct profile_object *
profile_object_at(const struct profile *prof, size_t index)
{
	for (uint32_t i = 0; i < prof->objects.len; i++)
		if (object_at(prof, i)->pub.index == index)
			return &object_at(prof, i)->pub;
	return NULL;
}

/* ---- stacks ----------------------------------------------------------- */

static uint32_t
object_of(const struct profile *prof, const struct stack *st, uint32_t frame)
{
	return prof->locations[prof->frames[st->first + frame]].object;
}

static enum object_show
show_at(const struct profile *prof, const struct stack *st, uint32_t frame)
{
	return object_at(prof, object_of(prof, st, frame))->pub.show;
}

/* What stands outside of the program's own: the end of a stack that has none,
 * and the program's start code, which calls the C library's. */
static uint32_t
outermost(const struct profile *prof, const struct stack *st)
{
	uint32_t i = st->len;
	const struct location *loc;

	if (i > st->skip && prof->frames[st->first + i - 1] < LOCATION_FIRST)
		i--;
	if (i == st->skip)
		return i;
	loc = &prof->locations[prof->frames[st->first + i - 1]];
	if (loc->function != FUNCTION_UNSET &&
	    !strcmp(prof->functions[loc->function].linkage, "_start"))
		i--;
	return i;
}

/* The frames of one object that start it all are one, the outermost. Returns
 * the first of what is left. */
static uint32_t
fold_start(struct profile *prof, struct stack *st)
{
	uint32_t *frames = &prof->frames[st->first];
	const uint32_t end = outermost(prof, st);
	uint32_t begin = end;

	while (begin > st->skip && show_at(prof, st, begin - 1) == OBJECT_API &&
	       object_of(prof, st, begin - 1) == object_of(prof, st, end - 1))
		begin--;
	if (end - begin < 2)
		return begin;
	memmove(&frames[begin], &frames[end - 1],
		(st->len - (end - 1)) * sizeof *frames);
	st->len -= end - 1 - begin;
	return begin;
}

static void
cut_at_entry(struct profile *prof, struct stack *st)
{
	for (uint32_t i = fold_start(prof, st); i-- > st->skip;)
		if (show_at(prof, st, i) == OBJECT_API) {
			st->skip = i;
			return;
		}
}

static void
fold_hidden(struct profile *prof, struct stack *st)
{
	uint32_t kept = st->skip;

	for (uint32_t i = st->skip; i < st->len; i++) {
		uint32_t location = prof->frames[st->first + i];

		if (show_at(prof, st, i) == OBJECT_HIDDEN) {
			location = symbolize_folded(prof,
						    object_of(prof, st, i));
			if (kept > st->skip &&
			    prof->frames[st->first + kept - 1] == location)
				continue;
		}
		prof->frames[st->first + kept++] = location;
	}
	st->len = kept;
}

void
hide_stacks(struct profile *prof)
{
	if (!prof->hides)
		return;
	for (size_t i = 0; i < prof->stacks_len; i++) {
		cut_at_entry(prof, &prof->stacks[i]);
		fold_hidden(prof, &prof->stacks[i]);
	}
}
