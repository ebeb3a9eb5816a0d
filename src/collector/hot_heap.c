/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Hooks of the functions that give and take memory. What takes a block is
 * recorded before it is taken, what gives one afterwards: so for each address
 * the records are in the order in which it was somebody's, whichever threads
 * they are of.
 */
#include "hazard.h"
#include "hooks.h"

#include <sys/mman.h>

typedef void *give_1(size_t a);
typedef void *give_2(size_t a, size_t b);
typedef void *give_3(size_t a, size_t b, size_t c);
typedef void take_1(void *p);
typedef void take_3(void *p, size_t a, size_t b);

/* ---- records ------------------------------------------------------------- */

/* mmap is rare, and always recorded. */
static inline bool
is_sampled(enum trace_function function)
{
	return hot_sample_bytes && function != TRACE_MMAP &&
		function != TRACE_MUNMAP && function != TRACE_MREMAP;
}

static __attribute__((noinline)) void
record_given(enum trace_function function, const void *p, size_t size,
	     const struct trace_caller *caller)
{
	const uint64_t now = hot_trace_now();
	struct trace_turn turn;

	if (!hot_trace_begin(&turn, TRACE_HEAP, now))
		return;
	if (!is_sampled(function) || hot_sample_choose(&turn, p, size)) {
		const uint64_t words[] = {
			now, (uint64_t)p, size,
			hot_trace_stack(&turn, caller),
		};

		hot_trace_write(&turn, TRACE_ALLOC, function, words, 4);
	}
	hot_trace_end(&turn);
}

static inline void
given(enum trace_function function, const void *p, size_t size,
      const struct trace_caller *caller)
{
	if (p && !(is_sampled(function) && hot_sample_passes(size)))
		record_given(function, p, size, caller);
}

/* chosen: it was, and is no more. */
static __attribute__((noinline)) void
record_taken(enum trace_function function, const void *p, size_t size,
	     uint64_t when, bool chosen)
{
	struct trace_turn turn;

	if (!hot_trace_begin(&turn, TRACE_HEAP, when))
		return;
	if (chosen || !is_sampled(function) || hot_sample_drop(&turn, p)) {
		const uint64_t words[] = { when, (uint64_t)p, size };

		hot_trace_write(&turn, TRACE_RELEASE, function, words, 3);
	}
	hot_trace_end(&turn);
}

static inline void
taken(enum trace_function function, const void *p, size_t size)
{
	if (p && !(is_sampled(function) && !hot_sample_may_have(p)))
		record_taken(function, p, size, hot_trace_now(), false);
}

static __attribute__((noinline)) void
moved(enum trace_function function, const void *old, uint64_t when,
      const void *p, size_t size, const struct trace_caller *caller)
{
	const uint64_t now = hot_trace_now();
	struct trace_turn turn;

	if (!hot_trace_begin(&turn, TRACE_HEAP, now))
		return;

	const uint64_t words[] = {
		now, (uint64_t)p, size,
		hot_trace_stack(&turn, caller), (uint64_t)old, when,
	};

	hot_trace_write(&turn, TRACE_MOVE, function, words, 6);
	hot_trace_end(&turn);
}

/* ---- C ------------------------------------------------------------------- */

static void *
hook_malloc(size_t n)
{
	const struct trace_caller caller = TRACE_CALLER();
	void *p = ((give_1 *)hot_originals[TRACE_MALLOC])(n);

	given(TRACE_MALLOC, p, n, &caller);
	return p;
}

static void
hook_free(void *p)
{
	if (handled(HAZARD_TRACE_ORDER))
		taken(TRACE_FREE, p, 0);
	((take_1 *)hot_originals[TRACE_FREE])(p);
	if (!handled(HAZARD_TRACE_ORDER))
		taken(TRACE_FREE, p, 0);
}

/* What calls other traced functions inside libc is not recorded twice: there
 * slots of the same name lead to the original. */
#define GIVES_2(name, function, size) \
static void * \
name(size_t a, size_t b) \
{ \
	const struct trace_caller caller = TRACE_CALLER(); \
	void *p = ((give_2 *)hot_originals[function])(a, b); \
\
	given(function, p, size, &caller); \
	return p; \
}

GIVES_2(hook_calloc, TRACE_CALLOC, a * b)
GIVES_2(hook_memalign, TRACE_MEMALIGN, b)
GIVES_2(hook_aligned_alloc, TRACE_ALIGNED_ALLOC, b)

#define GIVES_1(name, function) \
static void * \
name(size_t a) \
{ \
	const struct trace_caller caller = TRACE_CALLER(); \
	void *p = ((give_1 *)hot_originals[function])(a); \
\
	given(function, p, a, &caller); \
	return p; \
}

GIVES_1(hook_valloc, TRACE_VALLOC)
GIVES_1(hook_pvalloc, TRACE_PVALLOC)

/* ---- realloc ------------------------------------------------------------- */

/* What it is about to do with a block. */
struct resize {
	enum trace_function function;
	const void *old;
	uint64_t when;		/* sampled: 0: it was not chosen */
	bool sampled;
};

static struct resize
resize_begin(enum trace_function function, const void *old)
{
	const bool sampled = is_sampled(function);

	return (struct resize){
		.function = function, .old = old, .sampled = sampled,
		.when = sampled ? hot_sample_take(old) : hot_trace_now(),
	};
}

/* The end of one block and another one, each chosen for itself; one that
 * fails leaves it where it is. */
static void
resampled(const struct resize *r, const void *p, size_t size,
	  const struct trace_caller *caller)
{
	if (r->when && !p && size)
		hot_sample_give_back(r->old);
	else if (r->when)
		record_taken(r->function, r->old, 0, r->when, true);
	given(r->function, p, size, caller);
}

/* p: the block that it has become. NULL for a size of 0: it is no more. */
static void
resize_end(const struct resize *r, const void *p, size_t size,
	   const struct trace_caller *caller)
{
	if (r->sampled)
		resampled(r, p, size, caller);
	else if (p && r->old && r->when)
		moved(r->function, r->old, r->when, p, size, caller);
	else if (p)
		given(r->function, p, size, caller);
	else if (!size && r->old)
		record_taken(r->function, r->old, 0, r->when, false);
}

static void *
hook_realloc(void *old, size_t n)
{
	const struct trace_caller caller = TRACE_CALLER();
	const struct resize r = resize_begin(TRACE_REALLOC, old);
	void *p = ((void *(*)(void *, size_t))hot_originals[TRACE_REALLOC])(
		old, n);

	resize_end(&r, p, n, &caller);
	return p;
}

static void *
hook_reallocarray(void *old, size_t a, size_t b)
{
	const struct trace_caller caller = TRACE_CALLER();
	const struct resize r = resize_begin(TRACE_REALLOCARRAY, old);
	void *p = ((void *(*)(void *, size_t, size_t))
		   hot_originals[TRACE_REALLOCARRAY])(old, a, b);
	size_t bytes;

	/* what wraps around is refused, and no block of no bytes */
	resize_end(&r, p, __builtin_mul_overflow(a, b, &bytes) ? SIZE_MAX :
		   bytes, &caller);
	return p;
}

/* ---- and the rest of C --------------------------------------------------- */

static int
hook_posix_memalign(void **out, size_t alignment, size_t n)
{
	const struct trace_caller caller = TRACE_CALLER();
	const int r = ((int (*)(void **, size_t, size_t))
		       hot_originals[TRACE_POSIX_MEMALIGN])(out, alignment, n);

	if (r == 0)
		given(TRACE_POSIX_MEMALIGN, *out, n, &caller);
	return r;
}

static void *
hook_mmap(void *at, size_t n, int prot, int flags, int fd, int64_t offset)
{
	const struct trace_caller caller = TRACE_CALLER();
	void *p = ((void *(*)(void *, size_t, int, int, int, int64_t))
		   hot_originals[TRACE_MMAP])(at, n, prot, flags, fd, offset);

	if (p != MAP_FAILED)
		given(TRACE_MMAP, p, n, &caller);
	return p;
}

static int
hook_munmap(void *p, size_t n)
{
	const uint64_t when = hot_trace_now();
	const int r = ((int (*)(void *, size_t))
		       hot_originals[TRACE_MUNMAP])(p, n);

	if (r == 0)
		record_taken(TRACE_MUNMAP, p, n, when, false);
	return r;
}

/* What was there is unmapped, and mapped elsewhere: but for a second mapping of
 * the same, or where the first one stays. The last argument counts with
 * MREMAP_FIXED only; it is handed on as it came. */
static void *
hook_mremap(void *old, size_t bytes, size_t n, int flags, void *at)
{
	enum { DONTUNMAP = 4 };
	const struct trace_caller caller = TRACE_CALLER();
	const uint64_t when = hot_trace_now();
	void *p = ((void *(*)(void *, size_t, size_t, int, void *))
		   hot_originals[TRACE_MREMAP])(old, bytes, n, flags, at);

	if (p == MAP_FAILED)
		return p;
	if (bytes && !(flags & DONTUNMAP))
		record_taken(TRACE_MREMAP, old, bytes, when, false);
	given(TRACE_MREMAP, p, n, &caller);
	return p;
}

/* ---- C++ ----------------------------------------------------------------- */

/* Some have fewer arguments: what is in the registers of the others is handed
 * on as it came. */
#define NEW(name, function) \
static void * \
name(size_t a, size_t b, size_t c) \
{ \
	const struct trace_caller caller = TRACE_CALLER(); \
	void *p = ((give_3 *)hot_originals[function])(a, b, c); \
\
	given(function, p, a, &caller); \
	return p; \
}

#define DELETE(name, function) \
static void \
name(void *p, size_t a, size_t b) \
{ \
	taken(function, p, 0); \
	((take_3 *)hot_originals[function])(p, a, b); \
}

NEW(hook_new, TRACE_NEW)
NEW(hook_new_array, TRACE_NEW_ARRAY)
NEW(hook_new_nothrow, TRACE_NEW_NOTHROW)
NEW(hook_new_array_nothrow, TRACE_NEW_ARRAY_NOTHROW)
NEW(hook_new_aligned, TRACE_NEW_ALIGNED)
NEW(hook_new_array_aligned, TRACE_NEW_ARRAY_ALIGNED)
DELETE(hook_delete, TRACE_DELETE)
DELETE(hook_delete_array, TRACE_DELETE_ARRAY)
DELETE(hook_delete_sized, TRACE_DELETE_SIZED)
DELETE(hook_delete_array_sized, TRACE_DELETE_ARRAY_SIZED)
DELETE(hook_delete_nothrow, TRACE_DELETE_NOTHROW)
DELETE(hook_delete_array_nothrow, TRACE_DELETE_ARRAY_NOTHROW)
DELETE(hook_delete_aligned, TRACE_DELETE_ALIGNED)
DELETE(hook_delete_array_aligned, TRACE_DELETE_ARRAY_ALIGNED)
DELETE(hook_delete_sized_aligned, TRACE_DELETE_SIZED_ALIGNED)
DELETE(hook_delete_array_sized_aligned, TRACE_DELETE_ARRAY_SIZED_ALIGNED)

/* ---- by number ----------------------------------------------------------- */

/* No table of addresses: it would have to be relocated. */
void *
hot_heap_hook(enum trace_function function)
{
	switch (function) {
	case TRACE_MALLOC: return hook_malloc;
	case TRACE_FREE: return hook_free;
	case TRACE_CALLOC: return hook_calloc;
	case TRACE_REALLOC: return hook_realloc;
	case TRACE_REALLOCARRAY: return hook_reallocarray;
	case TRACE_MEMALIGN: return hook_memalign;
	case TRACE_ALIGNED_ALLOC: return hook_aligned_alloc;
	case TRACE_POSIX_MEMALIGN: return hook_posix_memalign;
	case TRACE_VALLOC: return hook_valloc;
	case TRACE_PVALLOC: return hook_pvalloc;
	case TRACE_MMAP: return hook_mmap;
	case TRACE_MUNMAP: return hook_munmap;
	case TRACE_MREMAP: return hook_mremap;
	case TRACE_NEW: return hook_new;
	case TRACE_NEW_ARRAY: return hook_new_array;
	case TRACE_NEW_NOTHROW: return hook_new_nothrow;
	case TRACE_NEW_ARRAY_NOTHROW: return hook_new_array_nothrow;
	case TRACE_NEW_ALIGNED: return hook_new_aligned;
	case TRACE_NEW_ARRAY_ALIGNED: return hook_new_array_aligned;
	case TRACE_DELETE: return hook_delete;
	case TRACE_DELETE_ARRAY: return hook_delete_array;
	case TRACE_DELETE_SIZED: return hook_delete_sized;
	case TRACE_DELETE_ARRAY_SIZED: return hook_delete_array_sized;
	case TRACE_DELETE_NOTHROW: return hook_delete_nothrow;
	case TRACE_DELETE_ARRAY_NOTHROW: return hook_delete_array_nothrow;
	case TRACE_DELETE_ALIGNED: return hook_delete_aligned;
	case TRACE_DELETE_ARRAY_ALIGNED: return hook_delete_array_aligned;
	case TRACE_DELETE_SIZED_ALIGNED: return hook_delete_sized_aligned;
	case TRACE_DELETE_ARRAY_SIZED_ALIGNED:
		return hook_delete_array_sized_aligned;
	default: break;
	}
	return NULL;
}
