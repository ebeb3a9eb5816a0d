/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Names of addresses in a live process. Symbols are read here, in the shell's
 * process: hostile debug data must not reach the tracer. One symbol table is
 * opened per load object, on first use, and kept from command to command: to
 * unpack the debug data of libc alone takes 40 ms.
 */
#include "private.h"

#include <elf.h>
#include <limits.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/uio.h>
#include <unistd.h>

enum { VDSO_MAX = 1 << 20 };

struct object {
	char *path;
	uint64_t device, inode;
	struct symfile *sf;
};

struct live {
	struct session *session;
	pid_t pid;
	pid_t living;		/* by whose /proc it is read */
	bool stood;		/* when that was done, after so many moves */
	uint64_t moves;
	uint64_t print;
	struct modules mods;
	struct vec objects;
	struct symbol_server *server;
};

static struct live *
new_live(void)
{
	struct live *l = xcalloc(1, sizeof *l);

	l->server = symbol_server_new(NULL, NULL);
	return l;
}

struct live *
live_of(struct shell *sh)
{
	const pid_t pid = session_pid(sh->session);

	if (sh->live && sh->live->pid != pid) {
		live_free(sh->live);
		sh->live = NULL;
	}
	if (!sh->live)
		sh->live = new_live();

	struct live *l = sh->live;
	const bool stands = session_state(sh->session) == SESSION_STOPPED;
	char *text;

	/* nothing is loaded while all stand */
	if (stands && l->stood && l->session == sh->session &&
	    l->moves == session_moves(sh->session))
		return l;
	text = session_maps(sh->session);
	l->session = sh->session;
	l->pid = pid;
	l->living = process_living(pid);
	l->stood = stands;
	l->moves = session_moves(sh->session);
	/* torn: fewer names */
	if (!text || modules_parse(&l->mods, text) < 0)
		modules_fini(&l->mods);
	l->print = text ? hash_bytes(text, strlen(text), (uint64_t)pid) : 0;
	free(text);
	return l;
}

uint64_t
live_print(const struct live *l)
{
	return l->print;
}

void
live_free(struct live *l)
{
	if (!l)
		return;
	for (size_t i = 0; i < l->objects.len; i++) {
		struct object *o = l->objects.items[i];

		symfile_free(o->sf);
		free(o->path);
		free(o);
	}
	vec_fini(&l->objects);
	symbol_server_free(l->server);
	modules_fini(&l->mods);
	free(l);
}

static struct symfile *
open_vdso(struct live *l, const struct module *m)
{
	const size_t whole = m->end - m->start;
	const size_t size = whole < VDSO_MAX ? whole : VDSO_MAX;
	void *image = xcalloc(1, size);
	const struct iovec here = { image, size };
	const struct iovec there = { (void *)(uintptr_t)m->start, size };

	/* unreadable: an image of zeros has no symbols */
	(void)!process_vm_readv(l->living, &here, 1, &there, 1, 0);

	struct symfile *sf = symfile_memory(image, size, m->path);

	free(image);
	return sf;
}

/* Debug files are sought where the process sees them; not below a chroot that
 * has none of the names that we see. */
static struct symfile *
open_file(struct live *l, const struct module *m)
{
	const struct mapped what = { m->start, m->end, m->device, m->inode,
				     m->path };
	char *proc = xasprintf("/proc/%d", l->living);
	char *root = xasprintf("%s/root", proc);
	char *path = mapped_file(AT_FDCWD, proc, &what);

	if (!path)
		path = xasprintf("%s%s", root, m->path);

	struct symfile *sf = symfile_open(path, m->path, root);

	free(path);
	free(root);
	free(proc);
	return sf;
}

static struct symfile *
symbols_of(struct live *l, const struct module *m)
{
	for (size_t i = 0; i < l->objects.len; i++) {
		struct object *o = l->objects.items[i];

		if (o->inode == m->inode && o->device == m->device &&
		    strcmp(o->path, m->path) == 0)
			return o->sf;
	}

	struct object *o = xcalloc(1, sizeof *o);

	o->path = xstrdup(m->path);
	o->device = m->device;
	o->inode = m->inode;
	o->sf = m->path[0] == '/' ? open_file(l, m) : open_vdso(l, m);
	symfile_ask(o->sf, l->server);
	vec_push(&l->objects, o);
	return o->sf;
}

static bool
has_symbols(const struct module *m)
{
	return m->path[0] == '/' || strcmp(m->path, "[vdso]") == 0;
}

/* ELF address of a run-time address, and back, by one mapping. */
static uint64_t
to_vaddr(struct symfile *sf, const struct module *m, uint64_t addr)
{
	return symfile_vaddr(sf, m->offset + (addr - m->start));
}

bool
live_find(struct live *l, uint64_t addr, struct live_place *out)
{
	const struct module *m = modules_find(&l->mods, addr);

	if (!m || !has_symbols(m))
		return false;
	out->path = m->path;
	out->sf = symbols_of(l, m);
	out->vaddr = to_vaddr(out->sf, m, addr);
	return true;
}

/* The mapping of object m's file that holds an ELF address. */
static uint64_t
run_time(struct live *l, struct symfile *sf, const char *path, uint64_t vaddr)
{
	for (size_t i = 0; i < l->mods.len; i++) {
		const struct module *m = &l->mods.items[i];

		if (strcmp(m->path, path) != 0 || !(m->prot & MODULE_EXEC))
			continue;

		const uint64_t first = to_vaddr(sf, m, m->start);

		if (vaddr >= first && vaddr - first < m->end - m->start)
			return m->start + (vaddr - first);
	}
	return 0;
}

static bool
is_new_object(const struct live *l, size_t i)
{
	const struct module *m = &l->mods.items[i];

	if (!(m->prot & MODULE_EXEC) || !has_symbols(m))
		return false;
	for (size_t k = 0; k < i; k++)
		if (l->mods.items[k].prot & MODULE_EXEC &&
		    strcmp(l->mods.items[k].path, m->path) == 0)
			return false;
	return true;
}

struct naming {
	struct live *live;
	struct symfile *sf;
	const char *path;
	bool (*visit)(void *arg, uint64_t addr);
	void *arg;
	bool any;
};

static bool
take_named(void *arg, const struct symbol *sym)
{
	struct naming *n = arg;
	const uint64_t addr = run_time(n->live, n->sf, n->path, sym->start);

	n->any |= addr != 0;
	return !addr || n->visit(n->arg, addr);
}

typedef void find_fn(struct naming *n, const char *name);

static void
by_name(struct naming *n, const char *name)
{
	symfile_each_named(n->sf, name, take_named, n);
}

static void
by_ending(struct naming *n, const char *name)
{
	struct symbol sym;

	if (symfile_ending(n->sf, name, &sym))
		(void)take_named(n, &sym);
}

static bool
each_found(struct naming *n, const char *function, find_fn *find)
{
	struct live *l = n->live;

	for (size_t i = 0; i < l->mods.len && !n->any; i++) {
		if (!is_new_object(l, i))
			continue;
		n->path = l->mods.items[i].path;
		n->sf = symbols_of(l, &l->mods.items[i]);
		find(n, function);
	}
	if (n->any)
		return true;
	live_fail_missing(l, xasprintf("function '%s'", function));
	fail_remedy("loadobject lists what is loaded; a stripped object has "
		    "only exported names");
	return false;
}

bool
live_each_named(struct live *l, const char *function,
		bool (*visit)(void *arg, uint64_t addr), void *arg)
{
	struct naming n = { .live = l, .visit = visit, .arg = arg };

	return each_found(&n, function, by_name);
}

static bool
take_first(void *arg, uint64_t addr)
{
	*(uint64_t *)arg = addr;
	return false;
}

static uint64_t
address_of(struct live *l, const char *function, find_fn *find)
{
	uint64_t addr = 0;
	struct naming n = { .live = l, .visit = take_first, .arg = &addr };

	return each_found(&n, function, find) ? addr : 0;
}

uint64_t
live_address(struct live *l, const char *function)
{
	return address_of(l, function, by_name);
}

uint64_t
live_function(struct live *l, const char *written)
{
	uint64_t addr = address_of(l, written, by_name);

	if (!addr && (addr = address_of(l, written, by_ending)))
		fail_clear();
	return addr;
}

static bool
is_program(const struct live *l, const struct module *m)
{
	char *link = xasprintf("/proc/%d/exe", l->living);
	char path[PATH_MAX];
	const ssize_t n = readlink(link, path, sizeof path);

	free(link);
	return n > 0 && (size_t)n == strlen(m->path) &&
		memcmp(path, m->path, (size_t)n) == 0;
}

int
live_fail_missing(struct live *l, char *what)
{
	const char *unread = NULL;

	for (size_t i = 0; i < l->mods.len; i++) {
		const struct module *m = &l->mods.items[i];

		if (m->path[0] != '/' || !is_new_object(l, i) ||
		    symfile_machine(symbols_of(l, m)) != EM_NONE)
			continue;
		unread = symfile_trouble(symbols_of(l, m));
		if (!is_program(l, m))
			continue;
		fail(FAIL_GENERAL, "process %d: %s: %s",
		     session_pid(l->session), what, unread);
		free(what);
		return -1;
	}
	fail(FAIL_MISSING, "process %d has no %s%s%s%s",
	     session_pid(l->session), what, unread ? " (" : "",
	     unread ? unread : "", unread ? ")" : "");
	free(what);
	return -1;
}

uint64_t
live_run_time(struct live *l, struct symfile *sf, uint64_t vaddr)
{
	for (size_t i = 0; i < l->mods.len; i++)
		if (is_new_object(l, i) &&
		    symbols_of(l, &l->mods.items[i]) == sf)
			return run_time(l, sf, l->mods.items[i].path, vaddr);
	return 0;
}

void
live_each_object(struct live *l, bool (*visit)(void *arg, struct symfile *sf),
		 void *arg)
{
	for (size_t i = 0; i < l->mods.len; i++)
		if (is_new_object(l, i) &&
		    !visit(arg, symbols_of(l, &l->mods.items[i])))
			return;
}

/* All that is mapped of it, what it has of zeros behind its file's pages too,
 * and where by its code. */
static struct live_object
object_at(struct live *l, size_t i)
{
	const struct module *m = &l->mods.items[i];
	struct live_object o = {
		.path = m->path, .start = m->start, .end = m->end,
		.sf = symbols_of(l, m),
	};

	o.bias = m->start - to_vaddr(o.sf, m, m->start);
	for (size_t k = 0; k < l->mods.len; k++) {
		const struct module *other = &l->mods.items[k];

		if (strcmp(other->path, m->path) != 0)
			continue;
		if (other->start < o.start)
			o.start = other->start;
		if (other->end > o.end)
			o.end = other->end;
	}
	if (o.end < o.bias + symfile_extent(o.sf))
		o.end = o.bias + symfile_extent(o.sf);
	return o;
}

size_t
live_objects(struct live *l, struct live_object **out, size_t *cap)
{
	size_t n = 0;

	for (size_t i = 0; i < l->mods.len; i++) {
		if (!is_new_object(l, i))
			continue;
		*out = xgrow(*out, cap, n + 1, sizeof **out);
		(*out)[n++] = object_at(l, i);
	}
	return n;
}

struct visit {
	bool (*visit)(void *arg, const char *name);
	void *arg;
	bool going;
};

static bool
visit_symbol(void *arg, const struct symbol *sym)
{
	struct visit *v = arg;

	v->going = v->visit(v->arg, sym->name);
	return v->going;
}

void
live_each_function(struct live *l, bool (*visit)(void *arg, const char *name),
		   void *arg)
{
	struct visit v = { visit, arg, true };

	for (size_t i = 0; v.going && i < l->mods.len; i++)
		if (is_new_object(l, i))
			symfile_each(symbols_of(l, &l->mods.items[i]),
				     visit_symbol, &v);
}

void
program_object(const char *path, bool (*visit)(void *arg, struct symfile *sf),
	       void *arg)
{
	struct symfile *sf = symfile_open(path, path, "");

	(void)visit(arg, sf);
	symfile_free(sf);
}

void
program_each_function(const char *path,
		      bool (*visit)(void *arg, const char *name), void *arg)
{
	struct visit v = { visit, arg, true };
	struct symfile *sf = symfile_open(path, path, "");

	symfile_each(sf, visit_symbol, &v);
	symfile_free(sf);
}
