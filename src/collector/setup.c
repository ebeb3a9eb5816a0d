/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The guest's door and its ordinary code, which runs on a thread of ours
 * while the program goes on.
 */
#include "hazard.h"
#include "hooks.h"

#include <asm/unistd.h>
#include <errno.h>
#include <string.h>
#include <sys/mman.h>

/* A linker's choice of names in this file is nobody's business. */
int64_t collector_entry(struct collector_call *call, uint64_t size);

struct guest_state guest;
struct collector_owner sonde_owner;

/*
 * What is known of us without a symbol table: the identity, then the entry.
 * `leave` outlives the mapping that it removes, and needs no stack. The name
 * is that of no file, and nobody who opens what link maps say gets one.
 */
__asm__(
"	.text\n"
"	.balign 32\n"
"sonde_name:\n"
"	.asciz \"sonde-collector.so (in memory)\"\n"
"	.balign 32\n"
"	.long sonde_moved - sonde_entry\n"
"	.long sonde_hooked - sonde_entry\n"
"	.long sonde_name - sonde_entry\n"
"	.long sonde_owner - sonde_entry\n"
"	.quad 0x7473657567656473\n"
"	.long 8\n"
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
	       COLLECTOR_VERSION == 8, "the identity above");

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

/* ---- the area ------------------------------------------------------------ */

static bool
area_is_sound(const struct record_area *a, uint64_t size)
{
	return a->magic == RECORD_MAGIC && a->version == RECORD_VERSION &&
	       a->header_bytes == RECORD_HEADER_BYTES && a->size == size &&
	       a->windows > 0 && a->window_bytes % 8 == 0;
}

void
nap_ms(void)
{
	const struct { int64_t s, ns; } ms = { 0, 1000000 };

	(void)sys4(__NR_nanosleep, (uint64_t)&ms, 0, 0, 0);
}

bool
may_wait(const struct collector_call *call)
{
	return call->helper != 0;
}

/* No handler is inside any more; false: one does not come out. */
static bool
handlers_left(const struct collector_call *call)
{
	const int looks = may_wait(call) ? 2000 : 1;
	int i;

	for (i = 0; i < looks; i++) {
		if (i > 0)
			nap_ms();
		if (__atomic_load_n(&guest.inside, __ATOMIC_SEQ_CST) == 0)
			return true;
	}
	return false;
}

bool
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

	if (is_error(at) || !handled(HAZARD_CHILD_AREA))
		return;
	((struct guest_origin *)at)->own = 1;
	if (sys4(__NR_madvise, (uint64_t)at, PAGE_BYTES, WIPEONFORK, 0) < 0) {
		(void)sys4(__NR_munmap, (uint64_t)at, PAGE_BYTES, 0, 0);
		return;
	}
	__atomic_store_n(&guest.origin, (struct guest_origin *)at,
			 __ATOMIC_RELEASE);
	(void)sys4(__NR_madvise, (uint64_t)area, size, DONTFORK, 0);
}

/* Addresses and timers of the parent are anything at all in its child. */
static void
forget_parent(const struct collector_call *call)
{
	struct guest_origin *origin = guest.origin;

	guest.area = NULL;
	guest.origin = NULL;
	guest.inside = 0;
	guest.signo = 0;
	sonde_owner.token = 0;
	sonde_owner.signo = 0;
	timers_forget();
	trace_forget(call);
	if (origin)
		(void)sys4(__NR_munmap, (uint64_t)origin, PAGE_BYTES, 0, 0);
}

static int64_t
unmap_area(const struct collector_call *call)
{
	struct record_area *area = guest.area;
	struct guest_origin *origin = guest.origin;

	if (!area)
		return 0;
	__atomic_store_n(&guest.area, NULL, __ATOMIC_SEQ_CST);
	__atomic_store_n(&guest.origin, NULL, __ATOMIC_SEQ_CST);
	/* A thread that was frozen in a handler keeps its memory, for now. */
	if (!handlers_left(call) || !trace_is_left(call)) {
		__atomic_store_n(&guest.origin, origin, __ATOMIC_SEQ_CST);
		__atomic_store_n(&guest.area, area, __ATOMIC_SEQ_CST);
		return -EBUSY;
	}
	if (origin)
		(void)sys4(__NR_munmap, (uint64_t)origin, PAGE_BYTES, 0, 0);
	return sys4(__NR_munmap, (uint64_t)area, guest.area_size, 0, 0);
}

static int64_t
map_area(const struct collector_call *call)
{
	int64_t at;

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
	hot_fs_readable = ((struct record_area *)at)->fs_readable;
	hot_keyed = ((struct record_area *)at)->keyed;
	__atomic_store_n(&guest.area, (struct record_area *)at,
			 __ATOMIC_SEQ_CST);
	return 0;
}

/* ---- the owner ----------------------------------------------------------- */

static void
owner_set(const struct collector_owner *o)
{
	/* Read from outside: while the token stands, so does the rest. */
	__atomic_store_n(&sonde_owner.token, 0, __ATOMIC_SEQ_CST);
	sonde_owner.start = o->start;
	sonde_owner.pids = o->pids;
	sonde_owner.pid = o->pid;
	sonde_owner.target = (uint32_t)sys4(__NR_getpid, 0, 0, 0, 0);
	guest.pid = sonde_owner.target;
	__atomic_store_n(&sonde_owner.token, o->token, __ATOMIC_SEQ_CST);
}

/* His heart beats: surely soon, or not within the lease. Without the time to
 * look it does. */
static bool
owner_lives(const struct collector_call *call)
{
	const struct record_area *area = guest.area;
	const uint64_t ms = RECORD_LEASE_NS / 1000000;
	uint64_t beat, i;

	if (!area || !may_wait(call))
		return area;
	beat = __atomic_load_n(&area->beat, __ATOMIC_ACQUIRE);
	for (i = 0; i < ms; i++) {
		nap_ms();
		if (__atomic_load_n(&area->beat, __ATOMIC_ACQUIRE) != beat)
			return true;
	}
	return false;
}

/* All that was the old owner's goes. Should he live on, his ticks are ignored
 * by the kernel from here on. */
static int64_t
take_over(const struct collector_call *call)
{
	struct collector_call out = {0};
	const uint64_t token = sonde_owner.token;
	const bool ended = token == call->ended ||
		token == call->owner.token;

	if (!token)
		return 0;
	if (!ended && owner_lives(call))
		return -EBUSY;
	if (guest.area)
		__atomic_store_n(&guest.area->left, 1, __ATOMIC_RELEASE);
	timers_stop();
	(void)trace_end(call);
	(void)handler_out(&out);
	/* what a frozen handler holds stays */
	if (unmap_area(call) < 0) {
		__atomic_store_n(&guest.origin, NULL, __ATOMIC_SEQ_CST);
		__atomic_store_n(&guest.area, NULL, __ATOMIC_SEQ_CST);
	}
	__atomic_store_n(&sonde_owner.token, 0, __ATOMIC_SEQ_CST);
	return 0;
}

/* ---- commands ------------------------------------------------------------ */

static int64_t
map(const struct collector_call *call)
{
	int64_t r = take_over(call);

	if (r == 0)
		r = map_area(call);
	if (r == 0)
		owner_set(&call->owner);
	return r;
}

static int64_t
unmap(const struct collector_call *call)
{
	int64_t r = trace_end(call);

	if (r == 0 && handled(HAZARD_AREA_STAYS))
		r = unmap_area(call);
	if (r != -EBUSY)	/* else he may try again */
		__atomic_store_n(&sonde_owner.token, 0, __ATOMIC_SEQ_CST);
	return r;
}

static int64_t
start(struct collector_call *call)
{
	int64_t r;

	if (!guest.area)
		return -ENXIO;
	guest.clock = call->clock;
	guest.interval_ns = call->interval_ns;
	if (call->clock == COLLECTOR_PERF_SIGNAL)
		timers_stop();	/* of a tracer that was killed */
	r = handler_in(call->signo);
	call->handler = (uint64_t)hot_signal;
	if (r == 0 && call->clock == COLLECTOR_POSIX_TIMER)
		r = timers_start(call);
	return r;
}

static int64_t
stop(struct collector_call *call)
{
	if (handled(HAZARD_TIMERS_STAY))
		timers_stop();
	return handled(HAZARD_HANDLER_STAYS) ? handler_out(call) : 0;
}

static int64_t
obey(struct collector_call *call)
{
	if (call->command != COLLECTOR_MAP &&
	    call->owner.token != sonde_owner.token)
		return -ESTALE;
	switch (call->command) {
	case COLLECTOR_MAP:
		return map(call);
	case COLLECTOR_UNMAP:
		return unmap(call);
	case COLLECTOR_START:
		return start(call);
	case COLLECTOR_STOP:
		return stop(call);
	case COLLECTOR_TIMERS:
		return guest.signo ? timers_start(call) : -ENXIO;
	case COLLECTOR_LOOK:
		return handler_look(call);
	case COLLECTOR_TRACE:
		return trace_begin(call);
	case COLLECTOR_BIND:
		return trace_bind();
	case COLLECTOR_UNTRACE:
		return trace_end(call);
	case COLLECTOR_UNNAME:
		trace_names_out();
		return 0;
	case COLLECTOR_UNHOOK:
		return trace_unhook(call);
	default:
		return -ENOSYS;
	}
}

/*
 * Commands come from anybody at any moment, and one is obeyed at a time. A
 * thread that crashed in here has ended, and so has its turn.
 */
static bool
command_begin(const struct collector_call *call, uint64_t pid)
{
	/* a take-over and an unmap */
	const int wait_ms = may_wait(call) ? 6000 : 1;
	const uint32_t self = (uint32_t)sys4(__NR_gettid, 0, 0, 0, 0);
	uint32_t other;
	int i;

	for (i = 0; i < wait_ms; i++) {
		if (i > 0)
			nap_ms();
		other = 0;
		if (__atomic_compare_exchange_n(&sonde_owner.commander, &other, self,
						false, __ATOMIC_ACQ_REL,
						__ATOMIC_ACQUIRE))
			return true;
		if (sys4(__NR_tgkill, pid, other, 0, 0) == -ESRCH &&
		    __atomic_compare_exchange_n(&sonde_owner.commander, &other, self,
						false, __ATOMIC_ACQ_REL,
						__ATOMIC_RELAXED))
			return true;
	}
	return false;
}

int64_t
collector_entry(struct collector_call *call, uint64_t size)
{
	const uint64_t pid = (uint64_t)sys4(__NR_getpid, 0, 0, 0, 0);

	if (size != sizeof *call || call->version != COLLECTOR_VERSION)
		return -EPROTO;
	if (!command_begin(call, pid))
		return call->result = -EALREADY;
	if (forked() || (sonde_owner.token && sonde_owner.target != pid))
		forget_parent(call);
	call->result = obey(call);
	__atomic_store_n(&sonde_owner.commander, 0, __ATOMIC_RELEASE);
	return call->result;
}
