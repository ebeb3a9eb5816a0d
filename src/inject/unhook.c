/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Slots that lead to hooks though nobody traces: what the loader has bound by
 * name since the list of a visit that was killed, and all that a fork's child
 * has of its parent. Hooks hand on, so they do no harm; but the receipt says
 * that the program is as it was. So they are looked for in every library that
 * has put hooks in, and taken out by the guest as those of a list of its own.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "private.h"
#include "slots.h"
#include "tracing.h"

enum { PAGE = 4096, LIBRARIES_MOST = 8 };

struct unhooking {
	struct slots slots;
	struct trace_area layout;
	struct trace_area *area;	/* NULL: not made yet */
};

/* ---- whose they are ------------------------------------------------------ */

/* Slots may lead to hooks of the library with this entry. */
static bool
has_hooked(const struct plan *p, uint64_t entry)
{
	struct collector_identity id;
	uint32_t hooked = 0;

	return target_read(p->t, entry - sizeof id, &id, sizeof id) == 0 &&
		id.magic == COLLECTOR_MAGIC &&
		id.version == COLLECTOR_VERSION &&
		target_read(p->t, entry + (uint64_t)(int64_t)id.hooked,
			    &hooked, sizeof hooked) == 0 && hooked;
}

/* The library of that number among those that nobody works by; 0: there are
 * not so many. */
static uint64_t
nobodys(const struct plan *p, size_t number)
{
	for (size_t i = 0; i < p->nimages; i++) {
		const uint64_t entry = p->images[i].entry;

		if (entry != p->images[i].bias && has_hooked(p, entry) &&
		    !owner_works(p, entry) && number-- == 0)
			return entry;
	}
	return 0;
}

static int
find(struct target *t, size_t number, struct slots *s, uint64_t *entry)
{
	struct plan p;

	if (plan_make(t, &p) < 0)
		return -1;
	*entry = nobodys(&p, number);
	if (*entry && plan_choose_library(&p, *entry))
		slots_find_hooked(&p, s);
	plan_fini(&p);
	return 0;
}

/* ---- out ----------------------------------------------------------------- */

static void
lay_out(struct unhooking *u)
{
	const uint64_t bytes = TRACE_HEADER_BYTES +
		u->slots.len * sizeof(struct trace_patch);

	u->layout = (struct trace_area){
		.magic = TRACE_MAGIC, .version = TRACE_VERSION,
		.header_bytes = TRACE_HEADER_BYTES,
		.size = (bytes + PAGE - 1) / PAGE * PAGE,
		.patches = (uint32_t)u->slots.len,
		.patches_max = (uint32_t)u->slots.len,
		.patches_at = TRACE_HEADER_BYTES,
	};
}

static struct trace_patch *
patches(const struct unhooking *u)
{
	return (struct trace_patch *)((char *)u->area + u->layout.patches_at);
}

static int
prepare(struct errand *e, pid_t helper, const struct user_regs_struct *regs)
{
	struct unhooking *u = e->arg;
	const int fd = descriptor_make(e, helper, regs, "sonde-traces",
				       AREA_FILE);

	if (fd < 0)
		return -1;
	if (channel_size(fd, u->layout.size, u->layout.size) == 0)
		u->area = channel_map(fd, u->layout.size);
	close(fd);
	if (!u->area)
		return -1;
	*u->area = u->layout;
	memcpy(patches(u), u->slots.items,
	       u->slots.len * sizeof u->slots.items[0]);
	e->call->fd = e->block.area_fd;
	e->call->size = u->layout.size;
	return 0;
}

/* What somebody else has written meanwhile leads to no hook. */
static void
count(const struct unhooking *u, struct inject_unhooked *n)
{
	for (size_t i = 0; i < u->slots.len; i++)
		if (patches(u)[i].state == TRACE_PATCH_OUT)
			n->out++;
		else
			n->left += patches(u)[i].state != TRACE_PATCH_FOREIGN;
	if (n->left)
		(void)fail(FAIL_PARTIAL, "not to be written");
}

static int
take_out(struct target *t, uint64_t entry, struct unhooking *u,
	 struct inject_unhooked *n, struct inject_report *report)
{
	const struct errand how = {
		.prepare = prepare, .arg = u, .only_present = true,
		.guest = entry,
	};
	struct collector_call call = { .command = COLLECTOR_UNHOOK };
	int r;

	lay_out(u);
	r = load_command(t, &how, &call, report, &entry);
	if (r == 0) {
		sealed_slots(t, u->area, u->layout.originals, patches(u),
			     u->slots.len, SEALED_OUT);
		count(u, n);
	}
	else
		n->left += u->slots.len;
	if (u->area)
		(void)munmap(u->area, u->layout.size);
	return r;
}

static int
unhook(struct target *t, struct inject_unhooked *n,
       struct inject_report *report)
{
	uint64_t entry = 1;
	int r = 0;

	for (size_t i = 0; i < LIBRARIES_MOST && entry && r == 0; i++) {
		struct unhooking u = {0};

		r = find(t, i, &u.slots, &entry);
		if (r == 0 && u.slots.len)
			r = take_out(t, entry, &u, n, report);
		slots_fini(&u.slots);
	}
	return r;
}

int
inject_unhook(struct target *t, struct inject_unhooked *n,
	      struct inject_report *report)
{
	const int lock = owner_lock(t);
	int r;

	*n = (struct inject_unhooked){0};
	memset(report, 0, sizeof *report);
	if (lock < 0)
		return -1;
	r = unhook(t, n, report);
	close(lock);
	return r;
}
