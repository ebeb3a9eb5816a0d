/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What the dynamic loader finds when it looks for the name of a traced
 * function: its symbol, in the load object that defines it. While calls are
 * traced its value is that of the hook. So the loader itself lets the slots of
 * what is loaded meanwhile lead to hooks, before any code of it runs, and
 * binds others to them as it would to the function.
 *
 * A value is changed by one store. Whoever comes after us, or finds himself a
 * fork's child, knows by sonde_moved what was there.
 */
#include "hooks.h"

#include <asm/unistd.h>
#include <sys/mman.h>

struct collector_moved sonde_moved[COLLECTOR_MOVED];

/* Names are in few pages, one after the other: they stay open from one to the
 * next. */
struct opened {
	uint64_t page, page_end;	/* 0: none */
};

static void
close_page(struct opened *o)
{
	if (o->page_end)
		(void)sys4(__NR_mprotect, o->page, o->page_end - o->page,
			   PROT_READ, 0);
	o->page = o->page_end = 0;
}

static bool
open_page(struct opened *o, const struct collector_moved *m)
{
	if (o->page == m->page && o->page_end == m->page_end)
		return true;
	close_page(o);
	if (sys4(__NR_mprotect, m->page, m->page_end - m->page,
		 PROT_READ | PROT_WRITE, 0) != 0)
		return false;
	o->page = m->page;
	o->page_end = m->page_end;
	return true;
}

/* Its object may be unmapped by now. */
static bool
has_value(uint64_t at, uint64_t value)
{
	return at % sizeof(uint64_t) == 0 && trace_is_readable(at) &&
		__atomic_load_n((const uint64_t *)at, __ATOMIC_ACQUIRE) ==
		value;
}

static bool
change(uint64_t at, uint64_t from, uint64_t to)
{
	return __atomic_compare_exchange_n((uint64_t *)at, &from, to, false,
					   __ATOMIC_ACQ_REL, __ATOMIC_ACQUIRE);
}

void
trace_names_in(struct trace_area *a)
{
	const struct trace_name *names = (const struct trace_name *)
		((const char *)a + a->names_at);
	struct opened o = {0};
	uint32_t i, n = 0;

	for (i = 0; i < a->names && i < TRACE_NAMES_MAX; i++) {
		const struct trace_name *name = &names[i];
		struct collector_moved *m = &sonde_moved[n];
		const uint64_t hook = name->function < TRACE_FUNCTIONS ?
			a->hooks[name->function] : 0;

		if (!hook || m->at || !has_value(name->at, name->before))
			continue;
		*m = (struct collector_moved){
			.before = name->before, .now = hook - name->bias,
			.page = name->page, .page_end = name->page_end,
		};
		if (!open_page(&o, m))
			continue;
		__atomic_store_n(&m->at, name->at, __ATOMIC_RELEASE);
		if (change(m->at, m->before, m->now))
			n++;
		else
			m->at = 0;
	}
	close_page(&o);
	a->named = n;
}

void
trace_names_out(void)
{
	struct opened o = {0};
	int i;

	for (i = 0; i < COLLECTOR_MOVED; i++) {
		struct collector_moved *m = &sonde_moved[i];

		if (!m->at)
			continue;
		if (has_value(m->at, m->now) && open_page(&o, m))
			(void)change(m->at, m->now, m->before);
		__atomic_store_n(&m->at, 0, __ATOMIC_RELEASE);
	}
	close_page(&o);
}
