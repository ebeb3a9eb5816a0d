/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * The load objects of the main namespace, by its link maps, and among them
 * our own library when it is there from an earlier visit.
 */
#include <assert.h>
#include <elf.h>
#include <stdlib.h>
#include <string.h>

#include "private.h"

enum { AUXV_MAX = 64 };

static uint64_t
auxv_value(struct target *t, uint64_t type)
{
	size_t size, i;
	uint64_t value = 0;
	uint64_t *aux;
	char path[64];

	snprintf(path, sizeof path, "task/%d/auxv", target_live_thread(t));
	aux = (uint64_t *)file_read_at(target_proc(t), path, &size);
	for (i = 0; aux && i + 1 < size / 8 && i < 2 * AUXV_MAX; i += 2)
		if (aux[i] == type)
			value = aux[i + 1];
	free(aux);
	return value;
}

/* The head of the main namespace's link maps, 0: there is no ld.so. */
uint64_t
plan_link_maps(struct plan *p)
{
	struct image program;
	uint64_t debug, head = 0;
	const uint64_t phdr = auxv_value(p->t, AT_PHDR);
	const uint64_t header = phdr ? mapping_header(&p->mods, phdr) : 0;

	if (!header || locate_image(p->look, header, &program) < 0)
		return 0;
	debug = program.debug;
	/* `ld.so program`: the kernel knows only ld.so. */
	if (!debug)
		debug = locate_address(p->look, &program, "_r_debug");
	if (!debug) {			/* musl's, a pointer */
		debug = locate_address(p->look, &program, "_dl_debug_addr");
		if (debug && target_read(p->t, debug, &debug, 8) < 0)
			return 0;
	}
	if (!debug || target_read(p->t, debug + 8, &head, sizeof head) < 0)
		return 0;
	p->debug = debug;
	return head;
}

/* From the start of a program until its libc works, and during dlopen. */
bool
plan_loader_works(const struct plan *p)
{
	enum { STATE = 24, CONSISTENT = 0 };	/* struct r_debug, link.h */
	uint32_t state = CONSISTENT;

	return target_read(p->t, p->debug + STATE, &state,
			   sizeof state) < 0 || state != CONSISTENT;
}

struct link {
	uint64_t bias, name, dynamic, next, prev;
};

static int
add_image(struct plan *p, uint64_t at, const struct link *lm, size_t *cap)
{
	const uint64_t header = mapping_header(&p->mods, lm->dynamic);
	struct image img;

	/* Gone while we looked, or not an object we can read: not ours. */
	if (!header || locate_image(p->look, header, &img) < 0 ||
	    img.dynamic != lm->dynamic)
		return 0;
	img.link_map = at;
	p->images = xgrow(p->images, cap, p->nimages + 1, sizeof img);
	p->images[p->nimages++] = img;
	return 0;
}

int
plan_walk_links(struct plan *p, uint64_t at)
{
	size_t cap = 0;
	unsigned left = PLAN_IMAGES_MAX;

	while (at && left-- > 0) {
		struct link lm;

		if (target_read(p->t, at, &lm, sizeof lm) < 0)
			return -1;
		if (add_image(p, at, &lm, &cap) < 0)
			return -1;
		at = lm.next;
	}
	return 0;
}

int
plan_no_loader(const struct plan *p)
{
	const uint64_t phdr = auxv_value(p->t, AT_PHDR);
	const uint64_t header = phdr ? mapping_header(&p->mods, phdr) : 0;
	struct image program = {0};

	if (header && locate_image(p->look, header, &program) == 0 &&
	    program.has_interp)
		return plan_refuse("its dynamic loader has not set up the program "
			      "yet, or hides it");
	return plan_refuse(program.dynamic
		      ? "it is a static-pie program: it has no dlopen"
		      : "it is statically linked (as Go programs are): it has "
			"no dlopen");
}

/* ---- our library, when it is there already ------------------------------- */

static bool
is_our_library(const struct plan *p, const struct image *img,
	       const Elf64_Ehdr *ours, const Elf64_Phdr *text)
{
	struct collector_identity id;
	const uint64_t at = img->bias + text->p_vaddr;
	unsigned char *copy;
	bool same;

	if (img->entry != img->bias + ours->e_entry ||
	    target_read(p->t, img->entry - sizeof id, &id, sizeof id) < 0 ||
	    id.magic != COLLECTOR_MAGIC)
		return false;
	copy = xmalloc(text->p_filesz);
	same = target_read(p->t, at, copy, text->p_filesz) == 0 &&
	       memcmp(copy, collector_image + text->p_offset,
		      text->p_filesz) == 0;
	free(copy);
	return same;
}

/* Names that it lets the loader find hooks by; of another build, too, since
 * who left it there may have been killed. */
static void
see_names(const struct plan *p)
{
	struct collector_identity id;

	for (size_t i = 0; i < p->nimages; i++) {
		const uint64_t entry = p->images[i].entry;

		if (entry != p->images[i].bias &&
		    target_read(p->t, entry - sizeof id, &id,
				sizeof id) == 0 &&
		    id.magic == COLLECTOR_MAGIC &&
		    id.version == COLLECTOR_VERSION)
			look_without(p->look, entry +
				     (uint64_t)(int64_t)id.moved);
	}
}

/* Byte for byte the same code, wherever it came from; another build of ours
 * is left alone and a second one loaded. */
void
plan_find_library(struct plan *p)
{
	const Elf64_Ehdr *eh = (const Elf64_Ehdr *)collector_image;
	const Elf64_Phdr *ph = (const Elf64_Phdr *)(collector_image +
						    eh->e_phoff);
	const struct collector_identity *id = NULL;
	size_t i, k;

	for (k = 0; k < eh->e_phnum; k++)
		if (ph[k].p_type == PT_LOAD && (ph[k].p_flags & PF_X))
			break;
	assert(k < eh->e_phnum);
	see_names(p);
	id = (const struct collector_identity *)
		(collector_image + ph[k].p_offset +
		 (eh->e_entry - ph[k].p_vaddr) - sizeof *id);
	p->library_entry = eh->e_entry;
	p->library_leave = eh->e_entry + (uint64_t)(int64_t)id->leave;
	p->library_name = eh->e_entry + (uint64_t)(int64_t)id->name;
	for (i = 0; i < p->nimages; i++)
		if (is_our_library(p, &p->images[i], eh, &ph[k])) {
			p->library = p->images[i].bias;
			p->library_map = p->images[i].link_map;
			return;
		}
}

bool
plan_choose_library(struct plan *p, uint64_t entry)
{
	struct collector_identity id;

	for (size_t i = 0; i < p->nimages; i++) {
		const struct image *img = &p->images[i];
		uint64_t leave;

		if (img->entry != entry ||
		    target_read(p->t, entry - sizeof id, &id, sizeof id) < 0 ||
		    id.magic != COLLECTOR_MAGIC ||
		    id.version != COLLECTOR_VERSION)
			continue;
		leave = entry + (uint64_t)(int64_t)id.leave;
		p->library = img->bias;
		p->library_map = img->link_map;
		p->library_entry = entry - img->bias;
		p->library_leave = leave - img->text < img->text_end - img->text
			? leave - img->bias : 0;
		return true;
	}
	return false;
}

bool
plan_has_other_version(const struct plan *p)
{
	struct collector_identity id;

	for (size_t i = 0; i < p->nimages; i++)
		if (p->images[i].entry != p->images[i].bias &&
		    target_read(p->t, p->images[i].entry - sizeof id, &id,
				sizeof id) == 0 &&
		    id.magic == COLLECTOR_MAGIC &&
		    id.version != COLLECTOR_VERSION)
			return true;
	return false;
}

/*
 * Preloaded from a descriptor, it has a path that leads elsewhere as soon as
 * that is closed. One in the file system is nobody's trap.
 */
int
plan_rename_library(const struct plan *p)
{
	const uint64_t name = p->library + p->library_name;
	struct link lm;
	char text[] = "//proc/";

	if (target_read(p->t, p->library_map, &lm, sizeof lm) < 0 ||
	    target_read(p->t, lm.name, text, sizeof text - 1) < 0)
		return -1;
	if (strcmp(text, "//proc/") != 0)
		return 0;
	return target_write(p->t, p->library_map +
			    offsetof(struct link, name), &name, sizeof name);
}
