/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Import slots lead to hooks, and back. A slot gets back what it held, where
 * it holds a hook of ours still: who has written there meanwhile keeps what he
 * wrote. A read-only page is opened for that moment.
 *
 * The area goes when no thread can be in it: each says that it is inside
 * before it asks where the area is, by plain stores and loads; when it is
 * nowhere any more the kernel puts a barrier into every thread, and then
 * whoever had found it is seen to be inside.
 */
#include "hazard.h"
#include "hooks.h"

#include <asm/unistd.h>
#include <errno.h>
#include <sys/mman.h>

#define NO_THREAD	UINT64_C(1)	/* no thread's pointer */

enum { A_WHILE = 50 };		/* in ms: longer than a thread is kept waiting */

uint32_t sonde_hooked;

static struct trace_area *mapped;	/* NULL: none */
static uint64_t mapped_size;
static bool used;		/* hooks may be called for ever */

/* ---- the area ------------------------------------------------------------ */

static bool
is_sound(const struct trace_area *a, uint64_t size)
{
	return a->magic == TRACE_MAGIC && a->version == TRACE_VERSION &&
	       a->header_bytes == TRACE_HEADER_BYTES && a->size == size &&
	       a->chunks > 0 && a->chunks <= TRACE_CHUNKS_MAX &&
	       a->chunks % 64 == 0 &&
	       (!a->sample_bytes || (a->sampled >= TRACE_SAMPLED_LEAST &&
				     !(a->sampled & (a->sampled - 1))));
}

/* ---- slots --------------------------------------------------------------- */

static struct trace_patch *
patches_of(const struct trace_area *a)
{
	return (struct trace_patch *)((char *)a + a->patches_at);
}

/*
 * The object that a slot was of may be unmapped by now, and anything at all be
 * at its address. The kernel reads a mask before it asks what to do with it,
 * and there is no such thing to do.
 */
bool
trace_is_readable(uint64_t address)
{
	enum { NOTHING_TO_DO = 99 };

	return !handled(HAZARD_TRACE_UNLOADED) ||
		sys4(__NR_rt_sigprocmask, NOTHING_TO_DO, address, 0,
		    sizeof(uint64_t)) != -EFAULT;
}

/* Only what is a slot still may be opened, closed and written. */
static bool
slot_value(const struct trace_patch *p, uint64_t *value)
{
	if (p->slot % sizeof(uint64_t) || !trace_is_readable(p->slot))
		return false;
	*value = __atomic_load_n((const uint64_t *)p->slot, __ATOMIC_ACQUIRE);
	return true;
}

/* Up to and with an end that is 0, or all n. */
static bool
prove(uint64_t at, uint32_t n, bool is_text, uint64_t *proof)
{
	uint32_t i;

	for (i = 0; i < n; i++) {
		const volatile unsigned char *const byte =
			(const unsigned char *)(at + i);
		const uint64_t word = (at + i) & ~UINT64_C(7);

		if ((i == 0 || word % PAGE_BYTES == 0) && !trace_is_readable(word))
			return false;
		*proof = trace_proof(*proof, *byte);
		if (is_text && !*byte)
			break;
	}
	return true;
}

/* Where a library was another one may be by now, as large and with a slot of
 * another function at the address. */
static bool
is_still_its(const struct trace_patch *p)
{
	uint64_t proof = TRACE_PROOF_BEGIN;

	return !handled(HAZARD_TRACE_RELOADED) ||
		(prove(p->relocation, TRACE_RELOCATION_BYTES, false, &proof) &&
		 prove(p->symbol, TRACE_SYMBOL_BYTES, false, &proof) &&
		 prove(p->name, TRACE_NAME_BYTES, true, &proof) &&
		 proof == p->proof);
}

/* Or the loader has closed it since. The kernel adds nothing there, if it can. */
static bool
is_writable(uint64_t address)
{
	enum { WAKE_OP_PRIVATE = 128 | 5, ADD_NOTHING = 1 << 28 };
	uint32_t nobodys = 0;

	return sys6(__NR_futex, (uint64_t)&nobodys, WAKE_OP_PRIVATE, 0, 0,
		    address, ADD_NOTHING) != -EFAULT;
}

struct opened {
	uint64_t start, end;	/* closed again afterwards; 0: it was open */
};

/* By now another object may be there whose pages are others: all that were
 * closed then are opened only where it is the same, else the slot's alone. */
static bool
open_page(const struct trace_patch *p, struct opened *o)
{
	*o = (struct opened){ 0, 0 };
	if (is_writable(p->slot))
		return true;
	o->start = p->slot - p->slot % PAGE_BYTES;
	o->end = o->start + PAGE_BYTES;
	if (p->relro_end && is_still_its(p)) {
		o->start = p->relro;
		o->end = p->relro_end;
	}
	return sys4(__NR_mprotect, o->start, o->end - o->start,
		    PROT_READ | PROT_WRITE, 0) == 0;
}

static void
close_page(const struct opened *o)
{
	if (o->end)
		(void)sys4(__NR_mprotect, o->start, o->end - o->start,
			   PROT_READ, 0);
}

/*
 * Whoever has put the hook there, we or the loader by its name: the function
 * itself is what is to be there. What we found may have been the way to it
 * that another object had, which is gone.
 */
static void
take_out(struct trace_area *a, struct trace_patch *p)
{
	uint64_t hook = a->hooks[p->function], value;
	struct opened o;

	if (!slot_value(p, &value) || value != hook) {
		p->state = TRACE_PATCH_FOREIGN;
		return;
	}
	if (!open_page(p, &o)) {
		p->state = TRACE_PATCH_FAILED;
		return;
	}
	p->state = __atomic_compare_exchange_n((uint64_t *)p->slot, &hook,
			(uint64_t)hot_originals[p->function], false,
			__ATOMIC_ACQ_REL, __ATOMIC_ACQUIRE) ?
		TRACE_PATCH_OUT : TRACE_PATCH_FOREIGN;
	close_page(&o);
}

static void
put_in(struct trace_area *a, struct trace_patch *p)
{
	const uint64_t hook = a->hooks[p->function];
	const uint64_t original = (uint64_t)hot_originals[p->function];
	uint64_t *slot = (uint64_t *)p->slot, value;
	struct opened o;

	p->state = TRACE_PATCH_FAILED;
	if (!slot_value(p, &value) ||
	    (value != p->before && value != original && value != hook) ||
	    !is_still_its(p) || !open_page(p, &o))
		return;
	p->before = value;
	p->state = TRACE_PATCH_IN;	/* first: we may be killed here */
	if (p->before == hook)	/* a parent's, before a fork */
		p->before = original;
	else if (!__atomic_compare_exchange_n(slot, &p->before, hook, false,
					      __ATOMIC_ACQ_REL,
					      __ATOMIC_ACQUIRE))
		p->state = TRACE_PATCH_WANTED;	/* bound just now */
	if (p->state == TRACE_PATCH_IN && !is_still_its(p))
		take_out(a, p);		/* another has come in between */
	close_page(&o);
}

/* As the loader would bind it: it would find the hook by now. */
static void
bind_inner(struct trace_patch *p)
{
	struct opened o;
	uint64_t value;

	p->state = TRACE_PATCH_OUT;
	if (!slot_value(p, &value) || value != p->before ||
	    !is_still_its(p) || !open_page(p, &o))
		return;
	(void)__atomic_compare_exchange_n((uint64_t *)p->slot, &value,
					  (uint64_t)hot_originals[p->function],
					  false, __ATOMIC_ACQ_REL,
					  __ATOMIC_ACQUIRE);
	close_page(&o);
}

int64_t
trace_bind(void)
{
	struct trace_patch *p;
	uint32_t i;

	if (!mapped)
		return -ENXIO;
	p = patches_of(mapped);
	for (i = 0; i < mapped->patches && i < mapped->patches_max; i++) {
		if (!p[i].slot || p[i].function >= TRACE_FUNCTIONS ||
		    !hot_originals[p[i].function] ||
		    !mapped->hooks[p[i].function])
			continue;
		if (p[i].state == TRACE_PATCH_WANTED)
			put_in(mapped, &p[i]);
		else if (p[i].state == TRACE_PATCH_INNER)
			bind_inner(&p[i]);
	}
	return 0;
}

static void *
hook_of(enum trace_function function)
{
	switch (trace_family(function)) {
	case TRACE_HEAP: return hot_heap_hook(function);
	case TRACE_SYNC: return hot_sync_hook(function);
	case TRACE_IO: return hot_io_hook(function);
	case TRACE_FAMILIES: break;
	}
	return NULL;
}

/* Hooks read the processor's counter, which a program may have forbidden to
 * its threads: each of them is one that was born since. */
static bool
call_may_read_time(const struct collector_call *call)
{
	enum { GET_TSC = 25, TSC_SIGSEGV = 2 };
	int32_t mode = 0;

	return !may_wait(call) ||
		sys4(__NR_prctl, GET_TSC, (uint64_t)&mode, 0, 0) < 0 ||
		mode != TSC_SIGSEGV;
}

/* A thread that has jumped out of a hook never says that it has left; what it
 * had stays mapped, and was told. Whoever is inside by now is not, or will be
 * again by the time when it matters. */
static void
leave_abandoned(void)
{
	uint32_t i;

	if (!mapped)
		return;
	hot_trace_look(true);
	for (i = 0; i < TRACE_THREADS; i++)
		hot_threads[i].walking = 0;
	mapped = NULL;
}

/*
 * Threads that were met in earlier recordings and have ended make room, once
 * the table is half full. One that lives may find a place before its old one
 * then, and has nothing in that by now.
 */
static void
forget_ended(uint32_t pid)
{
	uint32_t i, n = 0;

	for (i = 0; i < TRACE_THREADS; i++)
		n += hot_threads[i].pointer != 0;
	if (n < TRACE_THREADS / 2 || hot_confined)
		return;
	for (i = 0; i < TRACE_THREADS; i++) {
		struct trace_thread *th = &hot_threads[i];

		if (th->pointer && th->pointer != NO_THREAD && th->tid &&
		    th->inside == th->stale &&
		    sys4(__NR_tgkill, pid, th->tid, 0, 0) == -ESRCH)
			__atomic_store_n(&th->pointer, 0, __ATOMIC_RELEASE);
	}
}

int64_t
trace_begin(const struct collector_call *call)
{
	enum { DONTFORK = 10 };
	struct trace_area *a;
	int64_t at;
	int i;

	if (!guest.area)
		return -EBUSY;
	leave_abandoned();
	/* a child would write into its parent's records */
	if (!guest.origin)
		return -EOPNOTSUPP;
	at = sys6(__NR_mmap, 0, call->size, PROT_READ | PROT_WRITE,
		  MAP_SHARED, (uint64_t)call->fd, 0);
	if (is_error(at))
		return at;
	a = (struct trace_area *)at;
	if (!is_sound(a, call->size)) {
		(void)sys4(__NR_munmap, (uint64_t)at, call->size, 0, 0);
		return -EINVAL;
	}
	if (hot_clockless || (!a->confined && !call_may_read_time(call))) {
		(void)sys4(__NR_munmap, (uint64_t)at, call->size, 0, 0);
		return -EPERM;
	}
	(void)sys4(__NR_madvise, (uint64_t)at, call->size, DONTFORK, 0);
	for (i = 0; i < TRACE_FUNCTIONS; i++) {
		if (a->originals[i])
			hot_originals[i] = (void *)a->originals[i];
		a->hooks[i] = (uint64_t)hook_of((enum trace_function)i);
	}
	/* nobody's: a thread pointer of 0 finds no place */
	hot_threads[0].pointer = hot_threads[0].pointer ? : NO_THREAD;
	hot_trace_strangers = 0;
	hot_sync_begin(a);
	hot_sample_start(a->sample_bytes);
	used = true;
	sonde_hooked = 1;
	hot_confined |= a->confined;
	if (!hot_confined)
		a->pid = (uint32_t)sys4(__NR_getpid, 0, 0, 0, 0);
	forget_ended(a->pid);
	mapped = a;
	mapped_size = call->size;
	hot_clock = !hot_clockless;
	__atomic_store_n(&guest.origin->trace, a, __ATOMIC_SEQ_CST);
	trace_names_out();	/* nobody's any more */
	(void)trace_bind();
	trace_names_in(a);
	return 0;
}

static void
unbind(void)
{
	struct trace_patch *p = patches_of(mapped);
	uint32_t i;

	for (i = mapped->patches; i > 0; i--)
		if (p[i - 1].state == TRACE_PATCH_IN)
			take_out(mapped, &p[i - 1]);
}

/* ---- the way out --------------------------------------------------------- */

static bool
is_confined(void)
{
	return hot_confined || (mapped && mapped->confined);
}

bool
trace_is_left(const struct collector_call *call)
{
	enum { EVERYWHERE = 1, LOOKS = 2000 };
	int i;

	if (!used || !handled(HAZARD_TRACE_INSIDE))
		return true;
	if (is_confined() || sys4(__NR_membarrier, EVERYWHERE, 0, 0, 0) < 0)
		for (i = 0; i < A_WHILE && may_wait(call); i++)
			nap_ms();	/* no store takes so long */
	for (i = 0; i < (may_wait(call) ? LOOKS : 1); i++) {
		if (i > 0)
			nap_ms();
		if (hot_trace_is_quiet())
			return true;
	}
	return false;
}

int64_t
trace_end(const struct collector_call *call)
{
	int64_t r;

	trace_names_out();
	if (!mapped)
		return 0;
	unbind();
	mapped->lost[TRACE_LOST_THREAD] = hot_trace_strangers;
	if (guest.origin)
		__atomic_store_n(&guest.origin->trace, NULL, __ATOMIC_SEQ_CST);
	hot_clock = 0;		/* hooks may be called for ever */
	if (!trace_is_left(call))
		return -EBUSY;
	r = sys4(__NR_munmap, (uint64_t)mapped, mapped_size, 0, 0);
	mapped = NULL;
	return r;
}

/*
 * What a recording that was killed did not know of, and what a child has of its
 * parent's. Where nothing was ever traced a value is no hook's.
 */
int64_t
trace_unhook(const struct collector_call *call)
{
	const int64_t at = sys6(__NR_mmap, 0, call->size,
				PROT_READ | PROT_WRITE, MAP_SHARED,
				(uint64_t)call->fd, 0);
	struct trace_area *a = (struct trace_area *)at;
	struct trace_patch *p;
	uint32_t i;

	if (is_error(at))
		return at;
	p = patches_of(a);
	for (i = 0; i < TRACE_FUNCTIONS; i++)
		a->hooks[i] = (uint64_t)hook_of((enum trace_function)i);
	for (i = 0; i < a->patches; i++)
		if (p[i].function < TRACE_FUNCTIONS &&
		    hot_originals[p[i].function] &&
		    a->hooks[p[i].function])
			take_out(a, &p[i]);
	return sys4(__NR_munmap, (uint64_t)at, call->size, 0, 0);
}

void
trace_share(bool with_children)
{
	enum { DONTFORK = 10, DOFORK = 11 };
	const uint64_t advice = with_children ? DOFORK : DONTFORK;

	/* a child that was born without it may have something else there */
	if (!mapped || is_confined() ||
	    sys4(__NR_getpid, 0, 0, 0, 0) != (int64_t)guest.pid)
		return;
	(void)sys4(__NR_madvise, (uint64_t)mapped, mapped_size, advice, 0);
	(void)sys4(__NR_madvise, (uint64_t)guest.area, guest.area_size, advice,
		   0);
}

/* The parent's other threads may have been inside when it forked. Ours pass
 * through, and are inside for some instructions only. */
void
trace_forget(const struct collector_call *call)
{
	int i;

	mapped = NULL;
	trace_names_out();
	for (i = 0; used && i < (may_wait(call) ? A_WHILE : 2); i++) {
		if (i > 0 && may_wait(call))
			nap_ms();
		hot_trace_look(i == 0);
	}
}
