/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * What people read of one address of a stack: the function there, and those
 * that the compiler has put into it, innermost first. Many threads stand at
 * the same places, so each address is looked up once.
 */
#include "private.h"

#include <stdlib.h>
#include <string.h>

enum { INLINES_MAX = 32 };

struct frames {
	struct live *live;
	struct map known;	/* pc -> struct frame_list * */
};

struct frames *
frames_new(struct live *l)
{
	struct frames *f = xcalloc(1, sizeof *f);

	f->live = l;
	return f;
}

void
frames_free(struct frames *f)
{
	uint64_t key, value;
	size_t at = 0;

	if (!f)
		return;
	while (map_next(&f->known, &at, &key, &value)) {
		struct frame_list *list = (void *)(uintptr_t)value;

		for (size_t i = 0; i < list->len; i++) {
			free(list->items[i].function);
			free(list->items[i].object);
			free(list->items[i].file);
		}
		free(list->items);
		free(list);
	}
	map_fini(&f->known);
	free(f);
}

static char *
shown_name(const char *linkage)
{
	return name_display(linkage, NAME_LONG);
}

/* The function of the code itself is the last of its list. */
static void
name_function(const struct live_place *p, struct frame *out)
{
	struct symbol sym;

	if (!symfile_find(p->sf, p->vaddr, &sym))
		return;
	out->function = shown_name(sym.name);
	out->offset = p->vaddr - sym.start;
}

/* Who stands at the first instruction of a function has called nothing yet,
 * even if that instruction was made for something inlined. */
static size_t
inlined_at(const struct live_place *p, const struct frame *own,
	   struct symfile_inlined *inlined)
{
	return own->function && own->offset == 0 ? 0 :
		symfile_inlines(p->sf, p->vaddr, inlined, INLINES_MAX);
}

/* Each stands where the one inside of it was called. */
static void
look_up(const struct live_place *p, struct frame_list *list)
{
	struct symfile_inlined inlined[INLINES_MAX];
	struct frame own = { 0 };
	const char *file = NULL;
	int line = 0;

	name_function(p, &own);

	const size_t n = inlined_at(p, &own, inlined);

	if (!symfile_line(p->sf, p->vaddr, &file, &line))
		file = NULL;
	list->len = n + 1;
	list->items = xcalloc(list->len, sizeof *list->items);
	list->items[n] = own;
	for (size_t i = 0; i <= n; i++) {
		struct frame *out = &list->items[i];

		out->inlined = i < n;
		out->object = xstrdup(p->path);
		out->object_address = p->vaddr;
		out->file = file ? xstrdup(file) : NULL;
		out->line = file ? line : 0;
		if (i == n)
			break;
		out->function = shown_name(inlined[i].name);
		file = inlined[i].call_file;
		line = inlined[i].call_line;
	}
}

const struct frame_list *
frames_at(struct frames *f, uint64_t pc)
{
	struct live_place p;
	uint64_t known;

	if (map_get(&f->known, pc, &known))
		return (const struct frame_list *)(uintptr_t)known;

	struct frame_list *list = xcalloc(1, sizeof *list);

	if (live_find(f->live, pc, &p)) {
		look_up(&p, list);
	} else {
		list->len = 1;
		list->items = xcalloc(1, sizeof *list->items);
	}
	map_put(&f->known, pc, (uintptr_t)list);
	return list;
}

static const char *
base_name(const char *path)
{
	const char *slash = strrchr(path, '/');

	return slash ? slash + 1 : path;
}

static void
print_base(const char *before, const char *path, const char *behind, FILE *out)
{
	char *name = str_tamed(base_name(path));

	fprintf(out, "%s%s%s", before, name, behind);
	free(name);
}

/* "work+0x1f (spin) at spin.c:12" */
void
frame_print(const struct frame *f, FILE *out)
{
	fputs(f->function ? f->function : "<Unknown>", out);
	if (f->function && !f->inlined)
		fprintf(out, "+0x%llx", (unsigned long long)f->offset);
	if (f->object)
		print_base(" (", f->object, ")", out);
	if (f->file) {
		print_base(" at ", f->file, ":", out);
		fprintf(out, "%d", f->line);
	}
}

/* Of libc and the like, which wait on behalf of others. */
static bool
is_runtime(const char *object)
{
	static const char *const names[] = { "libc.", "libc-", "ld-",
		"libpthread", "libstdc++", "[vdso]" };

	for (size_t i = 0; i < ARRAY_LEN(names); i++)
		if (str_starts(base_name(object), names[i]))
			return true;
	return false;
}

const struct frame *
frames_own(struct frames *f, const uint64_t *pcs, size_t n)
{
	for (size_t i = 0; i < n; i++) {
		const struct frame *first = &frames_at(f, pcs[i])->items[0];

		if (first->object && !is_runtime(first->object))
			return first;
	}
	return NULL;
}
