/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * What is mapped where in the target, told to the unwinder and written to
 * map.xml. Executable mappings only: that is where code runs.
 *
 * The kernel reports new mappings as records, but never an unmapping, so the
 * whole list is compared again whenever a new mapping covers an old one, and
 * at every sample point. One ELF file is opened once, however often it is
 * mapped; the vDSO and files that are gone are read out of memory.
 */
#include "private.h"

#include <elfutils/libdwelf.h>
#include <fcntl.h>
#include <libelf.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { IMAGE_MAX = 1 << 28, BUILD_ID_MAX = 64 };

struct file {			/* one load object, by identity */
	uint64_t device, inode;
	char *path;
	struct unwind_object *object;	/* NULL: unreadable */
	char build_id[2 * BUILD_ID_MAX + 1];
};

struct mapper {
	struct target *target;
	struct unwind_space *space;
	struct experiment *exp;
	struct vec files;
	struct modules now;	/* executable mappings, sorted by start */
	uint64_t hooks, hooks_end;	/* code of ours; 0: none */
};

static bool
is_code(const struct module *mod)
{
	return mod->prot & MODULE_EXEC;
}

static bool
has_file(const struct module *mod)
{
	return mod->path[0] == '/' && !str_starts(mod->path, "//") &&
	       !str_starts(mod->path, "/memfd:") && mod->inode;
}

/* Hooks of traced calls run on the program's stacks, and their time shows. */
static bool
is_ours(const struct module *mod)
{
	return str_starts(mod->path, "/memfd:sonde-collector");
}

static bool
is_vdso(const struct module *mod)
{
	return strcmp(mod->path, "[vdso]") == 0;
}

static void
read_build_id(int fd, char *text)
{
	elf_version(EV_CURRENT);

	Elf *elf = elf_begin(fd, ELF_C_READ, NULL);
	const void *bits;
	const ssize_t n = elf ? dwelf_elf_gnu_build_id(elf, &bits) : -1;

	for (ssize_t i = 0; i < n && i < BUILD_ID_MAX; i++)
		sprintf(text + 2 * i, "%02x", ((const unsigned char *)bits)[i]);
	elf_end(elf);
}

/* The bytes of one mapping out of the target's memory. */
static struct unwind_object *
object_in_memory(struct mapper *m, uint64_t start, uint64_t end,
		 const char *name)
{
	const size_t size = end - start;

	if (size > IMAGE_MAX)
		return NULL;

	void *image = xmalloc(size);

	if (target_read(m->target, start, image, size) < 0) {
		free(image);
		return NULL;
	}
	return unwind_object_memory(image, size, start, name);
}

/*
 * A file that is gone and cannot be opened through the kernel's link: its
 * loaded segments are neighbours in memory, from the one with offset 0 on.
 */
static struct unwind_object *
object_of_neighbours(struct mapper *m, const struct module *mod)
{
	char *text = target_maps(m->target);
	struct modules all = {0};
	uint64_t start = 0, end = 0;

	if (text && modules_parse(&all, text) == 0) {
		for (size_t i = 0; i < all.len; i++) {
			const struct module *it = &all.items[i];

			if (it->inode != mod->inode ||
			    it->device != mod->device)
				continue;
			if (it->offset == 0 && it->start <= mod->start)
				start = it->start;
			if (start && (it->start <= mod->start ||
				      it->start == end))
				end = it->end;
		}
	}
	modules_fini(&all);
	free(text);
	return start ? object_in_memory(m, start, end, mod->path) : NULL;
}

static struct file *
file_of(struct mapper *m, const struct module *mod)
{
	for (size_t i = 0; i < m->files.len; i++) {
		struct file *f = m->files.items[i];

		if (f->inode == mod->inode && f->device == mod->device &&
		    strcmp(f->path, mod->path) == 0)
			return f;
	}

	struct file *f = xcalloc(1, sizeof *f);
	const int fd = target_open_mapped(m->target, mod->start, mod->end,
					  mod->path, mod->device, mod->inode);

	f->device = mod->device;
	f->inode = mod->inode;
	f->path = xstrdup(mod->path);
	if (fd >= 0) {
		read_build_id(fd, f->build_id);
		f->object = unwind_object_open(fd, mod->path);
	}
	if (!f->object)
		f->object = object_of_neighbours(m, mod);
	vec_push(&m->files, f);
	return f;
}

static void
tell_experiment(struct mapper *m, uint64_t time_ns, const struct module *mod)
{
	if (!m->exp)
		return;		/* only stacks are wanted */
	if (is_vdso(mod))
		maps_tell_vdso(m->exp, m->target, time_ns, mod);
	else if (is_ours(mod))
		experiment_function(m->exp, time_ns, mod->start,
				    mod->end - mod->start, "<Sonde's hooks>");
	else if (has_file(mod))
		experiment_map(m->exp, time_ns, mod->start,
			       mod->end - mod->start, mod->offset,
			       mod->prot, mod->path,
			       file_of(m, mod)->build_id);
}

static void
tell_space(struct mapper *m, const struct module *mod)
{
	struct unwind_object *object = NULL;

	if (is_vdso(mod)) {
		object = object_in_memory(m, mod->start, mod->end, "[vdso]");
		unwind_space_map(m->space, mod->start, mod->end, 0, object);
		unwind_object_free(object);
		return;
	}
	if (is_ours(mod)) {
		m->hooks = mod->start;
		m->hooks_end = mod->end;
		object = object_of_neighbours(m, mod);
		unwind_space_map(m->space, mod->start, mod->end, mod->offset,
				 object);
		unwind_object_free(object);
		return;
	}
	if (has_file(mod))
		object = file_of(m, mod)->object;
	unwind_space_map(m->space, mod->start, mod->end, mod->offset, object);
}

static bool
same_mapping(const struct module *a, const struct module *b)
{
	return a->start == b->start && a->end == b->end &&
	       a->offset == b->offset && a->inode == b->inode &&
	       a->device == b->device && strcmp(a->path, b->path) == 0;
}

static const struct module *
known(const struct modules *mods, const struct module *mod)
{
	const struct module *old = modules_find(mods, mod->start);

	return old && same_mapping(old, mod) ? old : NULL;
}

static void
forget(struct mapper *m, uint64_t time_ns, const struct module *old)
{
	unwind_space_unmap(m->space, old->start, old->end);
	if (old->start == m->hooks)
		m->hooks = m->hooks_end = 0;
	if (m->exp && (has_file(old) || is_ours(old)))
		experiment_unmap(m->exp, time_ns, old->start);
}

static void
keep_code_only(struct modules *mods)
{
	size_t kept = 0;

	for (size_t i = 0; i < mods->len; i++) {
		if (is_code(&mods->items[i]))
			mods->items[kept++] = mods->items[i];
		else
			free(mods->items[i].path);
	}
	mods->len = kept;
}

int
mapper_sync(struct mapper *m, uint64_t time_ns)
{
	char *text = target_maps(m->target);
	struct modules next = {0};

	if (!text)
		return -1;
	if (modules_parse(&next, text) < 0) {
		free(text);
		modules_fini(&next);
		return fail(FAIL_GENERAL, "the maps of process %d make no sense",
			    target_pid(m->target));
	}
	free(text);
	keep_code_only(&next);

	for (size_t i = 0; i < m->now.len; i++)
		if (!known(&next, &m->now.items[i]))
			forget(m, time_ns, &m->now.items[i]);
	for (size_t i = 0; i < next.len; i++) {
		if (known(&m->now, &next.items[i]))
			continue;
		tell_space(m, &next.items[i]);
		tell_experiment(m, time_ns, &next.items[i]);
	}
	modules_fini(&m->now);
	m->now = next;
	return 0;
}

static bool
covers_old(const struct mapper *m, const struct module *mod)
{
	for (size_t i = 0; i < m->now.len; i++)
		if (m->now.items[i].start < mod->end &&
		    m->now.items[i].end > mod->start)
			return true;
	return false;
}

void
mapper_add(struct mapper *m, uint64_t time_ns, const struct module *mod)
{
	if (!is_code(mod) || known(&m->now, mod))
		return;
	if (covers_old(m, mod)) {
		/* what it replaced is gone; the whole list tells what else */
		for (size_t i = 0; i < m->now.len;) {
			struct module *old = &m->now.items[i];

			if (old->start >= mod->end || old->end <= mod->start) {
				i++;
				continue;
			}
			forget(m, time_ns, old);
			free(old->path);
			memmove(old, old + 1,
				(m->now.len - i - 1) * sizeof *old);
			m->now.len--;
		}
	}
	tell_space(m, mod);
	tell_experiment(m, time_ns, mod);

	size_t at = 0;

	while (at < m->now.len && m->now.items[at].start < mod->start)
		at++;
	m->now.items = xgrow(m->now.items, &m->now.cap, m->now.len + 1,
			     sizeof *m->now.items);
	memmove(&m->now.items[at + 1], &m->now.items[at],
		(m->now.len - at) * sizeof *m->now.items);
	m->now.items[at] = *mod;
	m->now.items[at].path = xstrdup(mod->path);
	m->now.len++;
}

bool
mapper_knows(const struct mapper *m, uint64_t pc)
{
	return modules_find(&m->now, pc) != NULL;
}

size_t
mapper_skip_hooks(const struct mapper *m, uint64_t *pcs, size_t n)
{
	size_t kept = n ? 1 : 0;

	if (m->hooks == m->hooks_end)
		return n;
	for (size_t i = 1; i < n; i++)
		if (pcs[i] < m->hooks || pcs[i] >= m->hooks_end)
			pcs[kept++] = pcs[i];
	return kept;
}

static bool
is_libc(const struct module *mod)
{
	static const char *const begins[] = {
		"libc.so", "libc-2.", "libpthread", "ld-musl-",
	};
	const char *slash = strrchr(mod->path, '/');

	for (size_t i = 0; slash && i < ARRAY_LEN(begins); i++)
		if (str_starts(slash + 1, begins[i]))
			return true;
	return false;
}

bool
mapper_libc_function(const struct mapper *m, const char *name,
		     uint64_t *address)
{
	for (size_t i = 0; i < m->now.len; i++) {
		const struct module *mod = &m->now.items[i];

		if (is_libc(mod) &&
		    image_symbol(m->target, mod->start - mod->offset, name,
				 address))
			return true;
	}
	return false;
}

int
mapper_read(void *mapper, uint64_t addr, void *buf, size_t n)
{
	struct mapper *m = mapper;

	return target_read(m->target, addr, buf, n);
}

struct mapper *
mapper_new(struct target *t, struct unwind_space *space,
	   struct experiment *exp)
{
	struct mapper *m = xcalloc(1, sizeof *m);

	m->target = t;
	m->space = space;
	m->exp = exp;
	return m;
}

void
mapper_free(struct mapper *m)
{
	if (!m)
		return;
	for (size_t i = 0; i < m->files.len; i++) {
		struct file *f = m->files.items[i];

		unwind_object_free(f->object);
		free(f->path);
		free(f);
	}
	vec_fini(&m->files);
	modules_fini(&m->now);
	free(m);
}
