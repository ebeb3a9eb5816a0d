/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Inlined functions as frames of their own. Where a PC lies in code that was
 * inlined, the innermost function has the PC's own line, and each one further
 * out, the real function last, the line of the call that is not there.
 *
 * `f [inlined]` is one function wherever it was inlined, and another than the
 * `f` that is called: two of one name are told apart by where they are written.
 */
#include "private.h"

#include <stdlib.h>
#include <string.h>

enum { NEST_MAX = 64 };

static bool
same_text(const char *a, const char *b)
{
	return a == b || (a && b && !strcmp(a, b));
}

static uint32_t
inlined_function(struct profile *prof, uint32_t object,
		 const struct symfile_inlined *in)
{
	struct object *obj = object_at(prof, object);
	char *linkage = xasprintf("%s [inlined]", in->name);
	const char *file = in->file ? in->file : "";
	uint64_t key = hash_bytes(linkage, strlen(linkage), hash_bytes(
		file, strlen(file), (uint64_t)in->line)), id;

	/* another function with this hash takes the next key */
	for (; map_get(&obj->inlined, key, &id); key++) {
		const struct profile_function *pub = &prof->functions[id].pub;

		if (!strcmp(pub->linkage, linkage) && pub->line == in->line &&
		    same_text(pub->file, in->file)) {
			free(linkage);
			return (uint32_t)id;
		}
	}
	id = symbolize_function(prof, object, linkage,
				name_display(linkage, NAME_LONG));

	struct profile_function *pub = &prof->functions[id].pub;

	pub->is_inlined = true;
	pub->file = in->file;
	pub->line = in->line;
	map_put(&obj->inlined, key, id);
	free(linkage);
	return (uint32_t)id;
}

void
inlines_add(struct profile *prof, uint32_t location, struct frames *out)
{
	struct location loc = prof->locations[location];
	const struct object *obj = object_at(prof, loc.object);
	struct symfile_inlined in[NEST_MAX];
	size_t n;

	if (!obj->pub.symbols || loc.is_plt || !loc.vaddr)
		return;
	n = symfile_inlines(obj->pub.symbols, loc.vaddr, in, NEST_MAX);

	struct location frame = loc;

	frame.offset = loc.vaddr;	/* nothing starts there */
	frame.is_resolver = false;
	for (size_t i = 0; i < n; i++) {
		frame.function = inlined_function(prof, loc.object, &in[i]);
		frames_push(out, symbolize_add(prof, frame));
		frame.file = in[i].call_file;
		frame.line = in[i].call_line;
		frame.has_line = true;
	}
	if (n == 0)
		return;

	struct location *real = &prof->locations[location];

	real->file = frame.file;
	real->line = frame.file ? frame.line : 0;
	real->has_line = true;
}
