/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The guest's door and its ordinary code, which runs on a thread of ours
 * while the program goes on.
 */
#include "private.h"

#include <asm/unistd.h>
#include <errno.h>
#include <string.h>
#include <sys/mman.h>

/* A linker's choice of names in this file is nobody's business. */
int64_t collector_entry(struct collector_call *call, uint64_t size);

struct guest_state guest;

/*
 * What is known of us without a symbol table: the identity, then the entry.
 * `leave` outlives the mapping that it removes, and needs no stack.
 */
__asm__(
"	.text\n"
"	.balign 32\n"
"	.skip 16\n"
"	.quad 0x7473657567656473\n"
"	.long 1\n"
"	.long sonde_leave - sonde_entry\n"
"	.globl sonde_entry\n"
"	.hidden sonde_entry\n"
"	.type sonde_entry, @function\n"
"sonde_entry:\n"
"	jmp	collector_entry\n"
"sonde_leave:\n"
"	movl	$11, %eax\n"			/* munmap */
"	syscall\n"
"	movl	$60, %eax\n"			/* exit */
"	xorl	%edi, %edi\n"
"	syscall\n"
"	hlt\n"
);
_Static_assert(COLLECTOR_MAGIC == 0x7473657567656473 &&
	       COLLECTOR_VERSION == 1, "the identity above");

/* The compiler calls these on its own. */
void *
memcpy(void *to, const void *from, size_t n)
{
	void *start = to;

	__asm__ volatile("rep movsb" : "+D"(to), "+S"(from), "+c"(n)
			 : : "memory");
	return start;
}

void *
memset(void *to, int byte, size_t n)
{
	void *start = to;

	__asm__ volatile("rep stosb" : "+D"(to), "+c"(n) : "a"(byte)
			 : "memory");
	return start;
}

/* ---- the area ------------------------------------------------------------------ */

static bool
area_is_sound(const struct record_area *a, uint64_t size)
{
	return a->magic == RECORD_MAGIC && a->version == RECORD_VERSION &&
	       a->header_bytes == RECORD_HEADER_BYTES && a->size == size &&
	       a->windows > 0 && a->window_bytes % 8 == 0;
}

/* No handler is inside any more; false: one does not come out. */
static bool
handlers_left(void)
{
	struct { int64_t s, ns; } ms = { 0, 1000000 };
	int i;

	for (i = 0; i < 2000; i++) {
		if (__atomic_load_n(&guest.inside, __ATOMIC_SEQ_CST) == 0)
			return true;
		(void)sys4(__NR_nanosleep, (uint64_t)&ms, 0, 0, 0);
	}
	return false;
}

static bool
is_error(int64_t result)
{
	return result < 0 && result > -4096;
}

/*
 * A child of the program gets neither the record memory, which it would hold
 * for its whole life, nor the mark by which we know our own process. Where
 * the kernel is too old for that (before 4.14) the child keeps both.
 */
static void
leave_children_out(int64_t area, uint64_t size)
{
	enum { DONTFORK = 10, WIPEONFORK = 18 };
	const int64_t at = sys6(__NR_mmap, 0, PAGE_BYTES,
				PROT_READ | PROT_WRITE,
				MAP_PRIVATE | MAP_ANONYMOUS, (uint64_t)-1, 0);

	if (is_error(at))
		return;
	*(uint32_t *)at = 1;
	if (sys4(__NR_madvise, (uint64_t)at, PAGE_BYTES, WIPEONFORK, 0) < 0) {
		(void)sys4(__NR_munmap, (uint64_t)at, PAGE_BYTES, 0, 0);
		return;
	}
	__atomic_store_n(&guest.origin, (const uint32_t *)at,
			 __ATOMIC_RELEASE);
	(void)sys4(__NR_madvise, (uint64_t)area, size, DONTFORK, 0);
}

/* Addresses and timers of the parent are anything at all in its child. */
static void
forget_parent(void)
{
	const uint32_t *origin = guest.origin;

	guest.area = NULL;
	guest.origin = NULL;
	guest.inside = 0;
	timers_forget();
	(void)sys4(__NR_munmap, (uint64_t)origin, PAGE_BYTES, 0, 0);
}

static int64_t
unmap_area(void)
{
	struct record_area *area = guest.area;
	const uint32_t *origin = guest.origin;

	if (!area)
		return 0;
	__atomic_store_n(&guest.area, NULL, __ATOMIC_SEQ_CST);
	__atomic_store_n(&guest.origin, NULL, __ATOMIC_SEQ_CST);
	/* A thread that was frozen in a handler keeps its memory. */
	if (!handlers_left())
		return -EBUSY;
	if (origin)
		(void)sys4(__NR_munmap, (uint64_t)origin, PAGE_BYTES, 0, 0);
	return sys4(__NR_munmap, (uint64_t)area, guest.area_size, 0, 0);
}

static int64_t
map_area(const struct collector_call *call)
{
	int64_t at;

	(void)unmap_area();
	at = sys6(__NR_mmap, 0, call->size, PROT_READ | PROT_WRITE,
		  MAP_SHARED, (uint64_t)call->fd, 0);
	if (is_error(at))
		return at;
	if (!area_is_sound((struct record_area *)at, call->size)) {
		(void)sys4(__NR_munmap, (uint64_t)at, call->size, 0, 0);
		return -EINVAL;
	}
	leave_children_out(at, call->size);
	guest.area_size = call->size;
	guest.vdso_clock = call->vdso_clock;
	guest.tid_offset = call->tid_offset;
	__atomic_store_n(&guest.area, (struct record_area *)at,
			 __ATOMIC_SEQ_CST);
	return 0;
}

/* ---- the handler ----------------------------------------------------------------- */

enum { MASK_BYTES = 8 };

static int64_t
disposition_swap(const struct disposition *set, struct disposition *old)
{
	return sys4(__NR_rt_sigaction, SIGPROF, (uint64_t)set, (uint64_t)old,
		    MASK_BYTES);
}

static int64_t
handler_in(void)
{
	const struct disposition ours = {
		.handler = (void *)hot_signal,
		.flags = SA_SIGINFO | SA_ONSTACK | SA_RESTART | 0x04000000,
		.restorer = (void *)hot_restorer,
	};
	int64_t r;

	if (guest.installed)
		return 0;
	/* Before ours is in place: it reads what it chains to. */
	r = disposition_swap(NULL, &guest.before);
	if (r == 0 && guest.before.handler == (void *)hot_signal)
		r = -EALREADY;
	if (r == 0)
		r = disposition_swap(&ours, NULL);
	guest.installed = r == 0;
	return r;
}

/* Ignoring first throws away what is still pending: under the default
 * disposition one late tick would end the program. */
static int64_t
handler_out(struct collector_call *call)
{
	const struct disposition ignore = { .handler = (void *)SIG_IGN };
	struct disposition now;
	int64_t r;

	if (!guest.installed)
		return 0;
	r = disposition_swap(NULL, &now);
	if (r < 0)
		return r;
	guest.installed = false;
	if (now.handler != (void *)hot_signal) {
		call->handler_kept = 1;
		return 0;
	}
	r = disposition_swap(&ignore, NULL);
	return r < 0 ? r : disposition_swap(&guest.before, NULL);
}

/* ---- commands ----------------------------------------------------------------------- */

static int64_t
start(struct collector_call *call)
{
	int64_t r;

	if (!guest.area)
		return -ENXIO;
	guest.clock = call->clock;
	guest.interval_ns = call->interval_ns;
	if (call->clock == COLLECTOR_PERF_SIGNAL) {
		guest.perf_used = true;
		timers_stop();	/* of a tracer that was killed */
	}
	r = handler_in();
	if (r == 0 && call->clock == COLLECTOR_POSIX_TIMER)
		r = timers_start(call);
	return r;
}

static int64_t
stop(struct collector_call *call)
{
	timers_stop();
	return handler_out(call);
}

static int64_t
obey(struct collector_call *call)
{
	switch (call->command) {
	case COLLECTOR_MAP:
		return map_area(call);
	case COLLECTOR_UNMAP:
		return unmap_area();
	case COLLECTOR_START:
		return start(call);
	case COLLECTOR_STOP:
		return stop(call);
	case COLLECTOR_TIMERS:
		return guest.installed ? timers_start(call) : -ENXIO;
	default:
		return -ENOSYS;
	}
}

int64_t
collector_entry(struct collector_call *call, uint64_t size)
{
	if (size != sizeof *call || call->version != COLLECTOR_VERSION)
		return -EPROTO;
	if (forked())
		forget_parent();
	call->result = obey(call);
	return call->result;
}
