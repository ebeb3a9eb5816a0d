/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * What the dynamic loader tells debuggers (r_debug, elf/link.h of glibc, musl
 * alike): where it calls when objects come and go, and the list of those that
 * are loaded, in each of its name spaces. The program's DT_DEBUG leads there.
 * All of it is read from memory that may hold anything: counts are bounded.
 */
#include "private.h"

#include <elf.h>
#include <limits.h>
#include <link.h>
#include <stdlib.h>
#include <string.h>

enum {
	AUXV_MOST = 128, HEADERS_MOST = 64, DYNAMIC_MOST = 512,
	SPACES_MOST = 16, OBJECTS_MOST = 8192,
};

uint64_t
target_auxv(struct target *t, uint64_t type)
{
	char path[32];
	size_t size;

	(void)snprintf(path, sizeof path, "task/%d/auxv",
		       (int)target_live_thread(t));

	char *data = file_read_at(t->proc_fd, path, &size);
	const Elf64_auxv_t *aux = (const void *)data;
	uint64_t value = 0;

	for (size_t i = 0; data && i < size / sizeof *aux &&
	     i < AUXV_MOST; i++)
		if (aux[i].a_type == type)
			value = aux[i].a_un.a_val;
	free(data);
	return value;
}

/* ---- r_debug ------------------------------------------------------------ */

/* The program's dynamic section; *len in entries, 0: it has none. */
static uint64_t
find_dynamic(struct target *t, uint64_t *len)
{
	const uint64_t at = target_auxv(t, AT_PHDR);
	const uint64_t n = target_auxv(t, AT_PHNUM);
	Elf64_Phdr ph[HEADERS_MOST];
	uint64_t dynamic = 0, bias = 0;

	*len = 0;
	if (!at || !n || n > HEADERS_MOST ||
	    target_read(t, at, ph, n * sizeof *ph) < 0)
		return 0;
	for (uint64_t i = 0; i < n; i++) {
		if (ph[i].p_type == PT_PHDR)
			bias = at - ph[i].p_vaddr;
		if (ph[i].p_type == PT_DYNAMIC) {
			dynamic = ph[i].p_vaddr;
			*len = ph[i].p_memsz / sizeof(Elf64_Dyn);
		}
	}
	*len = *len > DYNAMIC_MOST ? DYNAMIC_MOST : *len;
	return bias + dynamic;
}

/* 0: none, or not yet. */
static uint64_t
find_debug(struct target *t)
{
	Elf64_Dyn dyn[DYNAMIC_MOST];
	uint64_t n;
	const uint64_t at = find_dynamic(t, &n);

	if (!n || target_read(t, at, dyn, n * sizeof *dyn) < 0)
		return 0;
	for (uint64_t i = 0; i < n && dyn[i].d_tag != DT_NULL; i++)
		if (dyn[i].d_tag == DT_DEBUG)
			return dyn[i].d_un.d_ptr;
	return 0;
}

int
target_loader(struct target *t, struct loader *l)
{
	struct r_debug debug;
	struct program p;

	*l = (struct loader){ .debug = find_debug(t) };
	if (l->debug && target_read(t, l->debug, &debug, sizeof debug) == 0 &&
	    debug.r_version > 0 && debug.r_brk) {
		l->notify = debug.r_brk;
		return 0;
	}
	program_read(t, &p);
	if (p.known && p.is_static)
		return fail(FAIL_UNSUITABLE, "%s (%d) is a static program: it "
			    "has no loader that tells what is loaded later",
			    t->name, (int)t->pid);
	return fail(FAIL_UNSUITABLE, "the loader of %s (%d) does not say where "
		    "it tells what is loaded later", t->name, (int)t->pid);
}

/* ---- the list ----------------------------------------------------------- */

/* The caller frees it; NULL: it has none, or cannot be read. */
static char *
read_name(struct target *t, uint64_t at)
{
	struct str s = {0};
	char part[256];

	while (at && s.len < PATH_MAX) {
		const size_t n = target_peek(t, at, part, sizeof part - 1);

		part[n] = '\0';
		str_add(&s, part);
		if (!n || strlen(part) < n)
			break;
		at += n;
	}
	return str_take(&s);
}

static void
visit_space(struct target *t, uint64_t map, size_t *left,
	    void (*visit)(void *arg, uint64_t base, const char *name),
	    void *arg)
{
	struct link_map m;

	for (; map && *left; --*left, map = (uintptr_t)m.l_next) {
		char *name;

		if (target_read(t, map, &m, sizeof m) < 0)
			break;
		name = read_name(t, (uintptr_t)m.l_name);
		if (name && *name)
			visit(arg, m.l_addr, name);
		free(name);
	}
}

void
loader_each(struct target *t, const struct loader *l,
	    void (*visit)(void *arg, uint64_t base, const char *name),
	    void *arg)
{
	size_t left = OBJECTS_MOST;
	uint64_t at = l->debug;

	for (unsigned i = 0; i < SPACES_MOST && at; i++) {
		struct {
			struct r_debug base;
			uint64_t next;	/* as of version 2 (glibc 2.35) */
		} debug = {0};

		if (target_read(t, at, &debug, sizeof debug.base) < 0)
			break;
		if (debug.base.r_version >= 2 &&
		    target_read(t, at, &debug, sizeof debug) < 0)
			break;
		visit_space(t, (uintptr_t)debug.base.r_map, &left, visit, arg);
		at = debug.next;
	}
	fail_clear();
}
