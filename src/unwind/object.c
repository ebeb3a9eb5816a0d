/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * One object file: opened at once, split and compiled when someone first
 * needs it, shared by all who map it.
 */
#include <stdlib.h>

#include "base.h"
#include "space.h"

struct unwind_object *
unwind_object_open(int fd, const char *name)
{
	struct unwind_object *obj = xcalloc(1, sizeof *obj);

	obj->refs = 1;
	obj->name = xstrdup(name);
	if (elf_image_open(&obj->image, fd) < 0) {
		fail_in("unwind data of %s", name);
		unwind_object_free(obj);
		return NULL;
	}
	return obj;
}

struct unwind_object *
unwind_object_memory(void *image, size_t size, uint64_t loaded,
		     const char *name)
{
	struct unwind_object *obj = xcalloc(1, sizeof *obj);

	obj->refs = 1;
	obj->name = xstrdup(name);
	if (elf_image_memory(&obj->image, image, size, loaded) < 0) {
		fail_in("unwind data of %s", name);
		unwind_object_free(obj);
		return NULL;
	}
	return obj;
}

void
unwind_object_free(struct unwind_object *obj)
{
	if (!obj || --obj->refs > 0)
		return;
	elf_frames_fini(&obj->frames);
	elf_image_fini(&obj->image);
	free(obj->rows.row);
	free(obj->name);
	free(obj);
}

struct unwind_object *
object_hold(struct unwind_object *obj)
{
	if (obj)
		obj->refs++;
	return obj;
}

const struct frames *
object_frames(struct unwind_object *obj)
{
	if (!obj->framed)
		elf_frames_load(&obj->frames, &obj->image);
	obj->framed = true;
	return &obj->frames;
}

const struct step_row *
unwind_object_rows(struct unwind_object *obj, uint32_t *count)
{
	if (!obj->compiled)
		compile_all(object_frames(obj), obj->image.base, &obj->rows);
	obj->compiled = true;
	*count = (uint32_t)obj->rows.len;
	return obj->rows.row;
}

uint64_t
unwind_object_base(struct unwind_object *obj)
{
	return obj->image.base;
}
