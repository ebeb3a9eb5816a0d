/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Import slots that nobody in the program can write any more: their pages are
 * read-only and sealed (mseal), by the loader or the program itself, perhaps
 * while it is traced. The kernel lets a tracer write there (/proc/PID/mem). No
 * code of the program can write to such a slot: there is nobody to race with.
 */
#include <stdlib.h>

#include "private.h"
#include "tracing.h"

/* An aligned word that no mapping lets the program write. */
static bool
is_closed(const struct modules *mods, uint64_t slot)
{
	const struct module *m = modules_find(mods, slot);

	return m && slot % sizeof(uint64_t) == 0 &&
		!(m->prot & (MODULE_WRITE | MODULE_EXEC));
}

static bool
prove(struct target *t, uint64_t at, size_t n, bool is_text, uint64_t *proof)
{
	for (size_t i = 0; i < n; i++) {
		unsigned char byte;

		if (target_read(t, at + i, &byte, 1) < 0)
			return false;
		*proof = trace_proof(*proof, byte);
		if (is_text && !byte)
			break;
	}
	return true;
}

/* The slot of the object that it was found in, as the guest asks, too. */
static bool
is_still_its(struct target *t, const struct trace_patch *p)
{
	uint64_t proof = TRACE_PROOF_BEGIN;

	return prove(t, p->relocation, TRACE_RELOCATION_BYTES, false,
		     &proof) &&
		prove(t, p->symbol, TRACE_SYMBOL_BYTES, false, &proof) &&
		prove(t, p->name, TRACE_NAME_BYTES, true, &proof) &&
		proof == p->proof;
}

static bool
is_hook_of(const struct trace_area *a, const struct trace_patch *p,
	   uint64_t value)
{
	return p->function < TRACE_FUNCTIONS && a->hooks[p->function] &&
		value == a->hooks[p->function];
}

static void
put_in(struct target *t, const struct trace_area *a, const uint64_t *originals,
       struct trace_patch *p)
{
	const uint64_t hook = a->hooks[p->function];
	uint64_t value;

	if (!hook || target_read(t, p->slot, &value, sizeof value) < 0 ||
	    (value != p->before && value != originals[p->function]) ||
	    !is_still_its(t, p))
		return;
	p->before = value;
	p->state = TRACE_PATCH_IN;	/* first: we may be killed here */
	if (target_write(t, p->slot, &hook, sizeof hook) < 0)
		p->state = TRACE_PATCH_FAILED;
}

static void
take_out(struct target *t, const struct trace_area *a,
	 const uint64_t *originals, struct trace_patch *p)
{
	const uint64_t original = originals[p->function];
	uint64_t value;

	if (target_read(t, p->slot, &value, sizeof value) == 0 &&
	    is_hook_of(a, p, value) && original &&
	    target_write(t, p->slot, &original, sizeof original) == 0)
		p->state = TRACE_PATCH_OUT;
}

void
sealed_slots(struct target *t, const struct trace_area *a,
	     const uint64_t *originals, struct trace_patch *p, size_t n,
	     enum sealed_way way)
{
	struct modules mods = {0};
	char *text = NULL;
	size_t i;

	for (i = 0; i < n && p[i].state != TRACE_PATCH_FAILED; i++)
		;
	if (i == n || !(text = target_maps(t)) ||
	    modules_parse(&mods, text) < 0)
		n = 0;
	for (; i < n; i++)
		if (p[i].state != TRACE_PATCH_FAILED ||
		    p[i].function >= TRACE_FUNCTIONS ||
		    !is_closed(&mods, p[i].slot))
			continue;
		else if (way == SEALED_IN)
			put_in(t, a, originals, &p[i]);
		else
			take_out(t, a, originals, &p[i]);
	modules_fini(&mods);
	free(text);
	fail_clear();		/* what could not be done is counted */
}
