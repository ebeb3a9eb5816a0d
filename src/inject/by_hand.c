/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Where libc cannot be asked to load (musl: dlopen wants a thread of its own
 * making; a glibc without what libthread_db reads), the library is mapped by
 * hand. It needs nobody, has no relocations, no constructors and no thread
 * storage, so a loader has little to do, and the helper itself calls the
 * entry: no lock, no allocator and no list of libc's is touched, wherever its
 * threads stand.
 *
 *	reserve		all of it, no access
 *	data, rodata	from the memfd; .bss anonymous
 *	text		last: by it the next visit finds the library, and
 *			whoever finds it finds all of it
 *
 * No link map names it. The next visit knows it by the memfd's name in
 * /proc/PID/maps, and by its bytes.
 */
#include <elf.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "private.h"

enum { PAGE = 4096 };

/* ---- is it there? -------------------------------------------------------- */

static bool
is_known(const struct plan *p, uint64_t bias)
{
	size_t i;

	for (i = 0; i < p->nimages; i++)
		if (p->images[i].bias == bias)
			return true;
	return false;
}

void
by_hand_list(struct plan *p)
{
	static const char name[] = "/memfd:" LIBRARY_NAME;
	size_t i, cap = p->nimages;

	for (i = 0; i < p->mods.len; i++) {
		const struct module *m = &p->mods.items[i];
		uint64_t header;
		struct image img;

		if (!(m->prot & MODULE_EXEC) || strcmp(m->path, name) != 0)
			continue;
		header = mapping_header(&p->mods, m->start);
		if (!header || locate_image(p->look, header, &img) < 0 ||
		    is_known(p, img.bias))
			continue;
		p->images = xgrow(p->images, &cap, p->nimages + 1, sizeof img);
		p->images[p->nimages++] = img;
	}
}

/* ---- mapping it ---------------------------------------------------------- */

struct mapper {
	struct errand *e;
	pid_t tid;
	const struct user_regs_struct *regs;
	uint64_t bias;
};

static int
map(const struct mapper *m, uint64_t at, uint64_t size, int prot, int flags,
    uint64_t offset, uint64_t *where)
{
	const bool file = !(flags & MAP_ANONYMOUS);
	const uint64_t args[6] = {
		at, size, (uint64_t)prot, (uint64_t)flags,
		file ? (uint64_t)m->e->block.library_fd : UINT64_MAX, offset
	};
	int64_t result;

	if (remote_syscall(m->e->p, m->tid, m->regs, SYS_mmap, args, &result,
			   NULL, NULL) < 0)
		return -1;
	if (result < 0 && result > -4096) {
		errno = (int)-result;
		(void)fail_errno("map the library in process %d",
				 target_pid(m->e->p->t));
		return fail_remedy(PLAN_OTHER_ENGINE);
	}
	if (where)
		*where = (uint64_t)result;
	return 0;
}

static uint64_t
page_of(uint64_t at)
{
	return at & ~(uint64_t)(PAGE - 1);
}

static int
protection(const Elf64_Phdr *ph)
{
	return (ph->p_flags & PF_R ? PROT_READ : 0) |
	       (ph->p_flags & PF_W ? PROT_WRITE : 0) |
	       (ph->p_flags & PF_X ? PROT_EXEC : 0);
}

/* What the file holds of it, and zeros to its end. */
static int
map_segment(const struct mapper *m, const Elf64_Phdr *ph)
{
	static const unsigned char zeros[PAGE];
	const uint64_t start = m->bias + ph->p_vaddr;
	const uint64_t file_end = start + ph->p_filesz;
	const uint64_t end = start + ph->p_memsz;
	const uint64_t pages_end = page_of(file_end + PAGE - 1);
	const int prot = protection(ph);

	if (map(m, page_of(start), pages_end - page_of(start), prot,
		MAP_PRIVATE | MAP_FIXED, page_of(ph->p_offset), NULL) < 0)
		return -1;
	if ((ph->p_flags & PF_W) && pages_end > file_end &&
	    target_write(m->e->p->t, file_end, zeros,
			 pages_end - file_end) < 0)
		return -1;
	if (end <= pages_end)
		return 0;
	return map(m, pages_end, page_of(end + PAGE - 1) - pages_end, prot,
		   MAP_PRIVATE | MAP_FIXED | MAP_ANONYMOUS, 0, NULL);
}

static int
map_segments(const struct mapper *m, const Elf64_Ehdr *eh,
	     const Elf64_Phdr *ph)
{
	const Elf64_Phdr *text = NULL;
	int i;

	for (i = 0; i < eh->e_phnum; i++) {
		if (ph[i].p_type != PT_LOAD)
			continue;
		if (ph[i].p_flags & PF_X)
			text = &ph[i];
		else if (map_segment(m, &ph[i]) < 0)
			return -1;
	}
	return text ? map_segment(m, text) : -1;
}

/* The build that we carry is as it must be, or was made in another way. */
static bool
needs_a_loader(const Elf64_Ehdr *eh, const Elf64_Phdr *ph)
{
	const Elf64_Dyn *d = NULL;
	int i;

	for (i = 0; i < eh->e_phnum; i++) {
		if (ph[i].p_type == PT_TLS)
			return true;
		if (ph[i].p_type == PT_DYNAMIC)
			d = (const Elf64_Dyn *)(collector_image +
						ph[i].p_offset);
	}
	for (; d && d->d_tag != DT_NULL; d++)
		switch (d->d_tag) {
		case DT_RELA: case DT_JMPREL: case DT_RELR: case DT_NEEDED:
		case DT_INIT: case DT_INIT_ARRAY:
			return true;
		}
	return false;
}

static uint64_t
whole_size(const Elf64_Ehdr *eh, const Elf64_Phdr *ph)
{
	uint64_t end = 0;
	int i;

	for (i = 0; i < eh->e_phnum; i++)
		if (ph[i].p_type == PT_LOAD &&
		    ph[i].p_vaddr + ph[i].p_memsz > end)
			end = ph[i].p_vaddr + ph[i].p_memsz;
	return page_of(end + PAGE - 1);
}

static void
unmap(const struct mapper *m, uint64_t size)
{
	const uint64_t args[6] = { m->bias, size };
	int64_t result;

	(void)remote_syscall(m->e->p, m->tid, m->regs, SYS_munmap, args,
			     &result, NULL, NULL);
}

/* Or what the program has put at its number meanwhile. */
static bool
is_the_library(const struct mapper *m)
{
	const struct plan *p = m->e->p;
	struct collector_identity id;

	return target_read(p->t, m->bias + p->library_entry - sizeof id, &id,
			   sizeof id) == 0 && id.magic == COLLECTOR_MAGIC;
}

int
by_hand_load(struct errand *e, pid_t helper,
	     const struct user_regs_struct *regs)
{
	const Elf64_Ehdr *eh = (const Elf64_Ehdr *)collector_image;
	const Elf64_Phdr *ph = (const Elf64_Phdr *)(collector_image +
						    eh->e_phoff);
	const uint64_t size = whole_size(eh, ph);
	struct mapper m = { .e = e, .tid = helper, .regs = regs };

	if (needs_a_loader(eh, ph))
		return fail(FAIL_INTERNAL, "our library was built so that it "
			    "cannot be mapped by hand");
	if (map(&m, 0, size, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, 0,
		&m.bias) < 0)
		return -1;
	if (map_segments(&m, eh, ph) < 0) {
		unmap(&m, size);
		return -1;
	}
	if (!is_the_library(&m)) {
		unmap(&m, size);
		return descriptor_taken(e);
	}
	e->p->library = m.bias;
	e->block.function = m.bias + e->p->library_entry;
	return 0;
}

/* ---- the thread's number ------------------------------------------------- */

/*
 * Hooks write it into the records, and a program under seccomp may die of a
 * handler that asks the kernel for it. musl keeps it at a place that it tells
 * nobody; the borrowed thread shows whether we know the place.
 */
int
by_hand_find_tid(struct plan *p, pid_t tid, uint64_t tp)
{
	static const uint32_t known[] = {
		48, 56,		/* of musl: 1.2, 1.1.22 on */
		0x2d0,		/* of a glibc that tells nothing of itself */
	};
	const int32_t wanted = thread_inner_tid(p->t, tid);
	size_t i;

	for (i = 0; i < ARRAY_LEN(known); i++) {
		int32_t there;

		if (target_read(p->t, tp + known[i], &there,
				sizeof there) == 0 && there == wanted) {
			p->off_tid = known[i];
			return 0;
		}
	}
	p->off_tid = 0;
	return p->seccomp ?
		plan_refuse("it is confined by seccomp, and its libc keeps the "
			    "thread's number at an unknown place") : -1;
}
