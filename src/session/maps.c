/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * What is mapped where in the target, told to the unwinder and written to
 * map.xml. Executable mappings only: that is where code runs.
 *
 * The kernel reports new mappings as records, but never an unmapping, so the
 * whole list is compared again whenever a new mapping covers an old one, and
 * at every sample point.
 */
#include "maps.h"

#include <stdlib.h>
#include <string.h>

static bool
is_code(const struct module *mod)
{
	return mod->prot & MODULE_EXEC;
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
tell_experiment(struct mapper *m, uint64_t time_ns, const struct module *mod)
{
	const struct file *f;

	if (!m->exp)
		return;		/* only stacks are wanted */
	if (is_vdso(mod))
		maps_tell_vdso(m->exp, m->target, time_ns, mod);
	else if (is_ours(mod))
		experiment_function(m->exp, time_ns, mod->start,
				    mod->end - mod->start, "<Sonde's hooks>");
	else if ((f = mapper_file(m, mod)) != NULL)
		experiment_map(m->exp, time_ns, mod->start,
			       mod->end - mod->start, mod->offset,
			       mod->prot, f->path, f->build_id);
}

static void
tell_space(struct mapper *m, const struct module *mod)
{
	struct unwind_object *object = NULL;
	struct file *f;

	if (is_vdso(mod)) {
		object = mapper_memory(m, mod->start, mod->end, "[vdso]");
		unwind_space_map(m->space, mod->start, mod->end, 0, object);
		unwind_object_free(object);
		return;
	}
	if (is_ours(mod)) {
		m->hooks = mod->start;
		m->hooks_end = mod->end;
		object = mapper_neighbours(m, mod);
		unwind_space_map(m->space, mod->start, mod->end, mod->offset,
				 object);
		unwind_object_free(object);
		return;
	}
	if ((f = mapper_file(m, mod)) != NULL)
		object = f->object;
	unwind_space_map(m->space, mod->start, mod->end, mod->offset, object);
}

static bool
same_file(const struct module *a, const struct module *b)
{
	return a->inode == b->inode && a->device == b->device &&
		(a->inode || strcmp(a->path, b->path) == 0);
}

static bool
same_mapping(const struct module *a, const struct module *b)
{
	return a->start == b->start && a->end == b->end &&
		a->offset == b->offset && same_file(a, b);
}

/* Does b say of all its addresses what a says? */
static bool
says_no_more(const struct module *a, const struct module *b)
{
	return b->inode && same_file(a, b) && a->start <= b->start &&
		b->end <= a->end &&
		b->offset - a->offset == b->start - a->start;
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
	if (m->exp && (mapper_file(m, old) || is_ours(old)))
		experiment_unmap(m->exp, time_ns, old->start);
}

/*
 * mprotect(2) of a part (libraries that patch their functions do it) splits a
 * mapping for the kernel; what lies there is the same file as before, and one
 * range for us.
 */
static bool
goes_on(const struct module *mod, const struct module *next)
{
	return mod->inode && mod->end == next->start && same_file(mod, next) &&
		next->offset - mod->offset == next->start - mod->start;
}

static void
keep_code_only(struct modules *mods)
{
	size_t kept = 0;

	for (size_t i = 0; i < mods->len; i++) {
		struct module *mod = &mods->items[i];

		if (is_code(mod) &&
		    !(kept && goes_on(&mods->items[kept - 1], mod))) {
			mods->items[kept++] = *mod;
			continue;
		}
		if (is_code(mod))
			mods->items[kept - 1].end = mod->end;
		free(mod->path);
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

static void
put(struct mapper *m, uint64_t time_ns, const struct module *mod)
{
	struct modules *now = &m->now;
	size_t at = 0;

	tell_space(m, mod);
	tell_experiment(m, time_ns, mod);
	while (at < now->len && now->items[at].start < mod->start)
		at++;
	now->items = xgrow(now->items, &now->cap, now->len + 1,
			   sizeof *now->items);
	memmove(&now->items[at + 1], &now->items[at],
		(now->len - at) * sizeof *now->items);
	now->items[at] = *mod;
	now->items[at].path = xstrdup(mod->path);
	now->len++;
}

/* What sticks out of a mapping that covers another one lives on. */
static void
put_rest(struct mapper *m, uint64_t time_ns, const struct module *old,
	 const struct module *over)
{
	struct module head = *old, tail = *old;

	head.end = over->start;
	tail.start = over->end;
	tail.offset += tail.start - old->start;
	if (old->start < over->start)
		put(m, time_ns, &head);
	if (old->end > over->end)
		put(m, time_ns, &tail);
}

static void
take_out(struct mapper *m, size_t at)
{
	m->now.len--;
	memmove(&m->now.items[at], &m->now.items[at + 1],
		(m->now.len - at) * sizeof *m->now.items);
}

/* True: there was some. */
static bool
cover(struct mapper *m, uint64_t time_ns, const struct module *over)
{
	bool any = false;

	for (size_t i = 0; i < m->now.len;) {
		const struct module old = m->now.items[i];

		if (old.start >= over->end || old.end <= over->start) {
			i++;
			continue;
		}
		any = true;
		take_out(m, i);
		forget(m, time_ns, &old);
		put_rest(m, time_ns, &old, over);
		free(old.path);
	}
	return any;
}

void
mapper_add(struct mapper *m, uint64_t time_ns, const struct module *mod)
{
	const struct module *old = modules_find(&m->now, mod->start);

	if (!is_code(mod) || (old && says_no_more(old, mod)) ||
	    known(&m->now, mod))
		return;
	/* text that was copied to other memory, or to a file of its own, is its
	 * first file's all the same: only the whole list tells */
	if (cover(m, time_ns, mod) && !mapper_has_object(m, mod) &&
	    mapper_sync(m, time_ns) == 0)
		return;
	put(m, time_ns, mod);
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
	mapper_files_fini(m);
	modules_fini(&m->now);
	free(m);
}
