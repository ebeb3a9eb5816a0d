/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Which memory the stacks of threads are, while they run. libc writes into a
 * thread's descriptor which memory it took for the stack, but no interface
 * tells where in the descriptor. What is looked for are words that fit:
 *
 *	glibc	low, size, guard's size: the descriptor lies at the high end
 *	musl	the mapping's low and size, the stack's high and size, guard's
 *
 * The descriptor begins with a pointer to itself, by the ABI of thread storage.
 * With the glibc that we run with, the place is known before a thread of the
 * target was looked at; whoever uses it must check that the words fit.
 */
#include "private.h"

#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>

enum {
	WORD = sizeof(uint64_t),
	DESCRIPTOR = 4096,		/* bytes that are searched */
	SELF_TOO = 2,			/* glibc: that word points to it, too */
	SEARCHED = 4 << 20,		/* bytes above sp */
	CHUNK = 64 << 10,
	STACK_LEAST = 2048,
	PAGE = 4096,
	GAP = 256 * PAGE,		/* the kernel keeps below a stack */
};
#define STACK_MOST	(UINT64_C(1) << 40)

/* ---- words that fit ------------------------------------------------------- */

static bool
is_size(uint64_t n)
{
	return n >= STACK_LEAST && n < STACK_MOST;
}

static bool
is_within(uint64_t at, const struct stack_bounds *b)
{
	return at >= b->low && at < b->high;
}

/* glibc's: sp and the descriptor are in it. */
static bool
fits_low(const uint64_t *w, uint64_t tp, uint64_t sp, struct stack_bounds *its)
{
	if (!w[0] || !is_size(w[1]) || w[2] >= w[1])
		return false;
	*its = (struct stack_bounds){ w[0] + w[2], w[0] + w[1] };
	return is_within(tp, its) && is_within(sp, its);
}

/* musl's: the descriptor is in the mapping, and sp in the stack. */
static bool
fits_high(const uint64_t *w, uint64_t tp, uint64_t sp, struct stack_bounds *its)
{
	const struct stack_bounds mapping = { w[0], w[0] + w[1] };

	if (!w[0] || !is_size(w[1]) || !is_size(w[3]) || w[4] >= w[1])
		return false;
	*its = (struct stack_bounds){ w[2] - w[3], w[2] };
	return is_within(tp, &mapping) && is_within(sp, its);
}

/* In the n words at tp. */
static bool
search(const uint64_t *w, size_t n, uint64_t tp, uint64_t sp, struct stacks *s,
       struct stack_bounds *its)
{
	enum { MOST = 5, TO_HIGH = 2 };

	for (size_t i = 0; i + MOST <= n; i++) {
		if (w[SELF_TOO] == tp && fits_low(w + i, tp, sp, its)) {
			s->form = DESCRIPTOR_HAS_LOW;
			s->words_at = (int64_t)(i * WORD);
			return true;
		}
		if (fits_high(w + i, tp, sp, its)) {
			s->form = DESCRIPTOR_HAS_HIGH;
			s->words_at = (int64_t)((i + TO_HIGH) * WORD);
			return true;
		}
	}
	return false;
}

/* ---- a thread of the target ----------------------------------------------- */

/* Where is the stack, by a descriptor at tp? */
static bool
look_at(struct target *t, uint64_t tp, uint64_t sp, struct stacks *s,
	struct stack_bounds *its)
{
	uint64_t words[DESCRIPTOR / WORD];
	size_t n = target_peek(t, tp, words, DESCRIPTOR - WORD) / WORD;

	if (n == 0)
		return false;
	/* it may go on in the next page */
	n += target_peek(t, tp + n * WORD, words + n,
			 DESCRIPTOR - n * WORD - WORD) / WORD;
	return search(words, n, tp, sp, s, its);
}

/* Between what may not be written: guards of the program's own, say. */
static bool
clamp(struct target *t, uint64_t sp, struct stack_bounds *its)
{
	char *text = target_maps(t);
	struct modules maps = { 0 };
	const struct module *m = text && modules_parse(&maps, text) == 0 ?
		modules_find(&maps, sp) : NULL;
	const bool writable = m && m->prot & MODULE_WRITE;
	const struct module *last = m, *end = maps.items + maps.len;

	while (writable && m > maps.items && m->start > its->low &&
	       m[-1].end == m->start && m[-1].prot & MODULE_WRITE)
		m--;
	while (writable && last + 1 < end && last->end < its->high &&
	       last[1].start == last->end && last[1].prot & MODULE_WRITE)
		last++;
	if (writable && m->start > its->low)
		its->low = m->start;
	if (writable && last->end < its->high)
		its->high = last->end;
	modules_fini(&maps);
	free(text);
	return writable;
}

static bool
find(struct target *t, uint64_t sp, struct stacks *s, struct stack_bounds *its)
{
	uint64_t at = sp & ~(uint64_t)(WORD - 1), *words = xmalloc(CHUNK);
	const uint64_t end = at + SEARCHED;
	bool found = false;

	for (; !found && at < end; at += CHUNK) {
		size_t n = 0, got;

		do {
			got = target_peek(t, at + n, (char *)words + n,
					  CHUNK - n < DESCRIPTOR ? CHUNK - n :
					  DESCRIPTOR - WORD);
			n += got;
		} while (got > 0 && n < CHUNK);
		for (size_t i = 0; !found && i < n / WORD; i++) {
			const uint64_t tp = at + i * WORD;

			found = words[i] == tp &&
				look_at(t, tp, sp, s, its);
		}
		if (n < CHUNK)
			break;
	}
	free(words);
	return found;
}

bool
stacks_find(struct target *t, uint64_t sp, struct stacks *s,
	    struct stack_bounds *its)
{
	return find(t, sp, s, its) && clamp(t, sp, its);
}

/* ---- what is common to all ------------------------------------------------ */

/* Of this process: where the libc that we run with has the words. */
static void *
find_own(void *arg)
{
	const uint64_t tp = (uint64_t)(uintptr_t)pthread_self();
	struct stack_bounds its;
	struct stacks *s = arg, found = { .form = DESCRIPTOR_UNKNOWN };
	pthread_attr_t attr;
	void *low;
	size_t size;

	if (!search((const uint64_t *)tp, DESCRIPTOR / 2 / WORD, tp,
		    (uint64_t)(uintptr_t)__builtin_frame_address(0), &found,
		    &its) || pthread_getattr_np(pthread_self(), &attr) != 0)
		return NULL;
	if (pthread_attr_getstack(&attr, &low, &size) == 0 &&
	    its.high == (uint64_t)(uintptr_t)low + size) {
		s->form = found.form;
		s->words_at = found.words_at;
	}
	(void)pthread_attr_destroy(&attr);
	return NULL;
}

bool
stacks_main(const struct modules *maps, struct main_stack *its)
{
	const struct module *m = maps->items;
	size_t at = maps->len, first;

	while (at > 0 && strcmp(m[at - 1].path, "[stack]") != 0)
		at--;
	if (at == 0)
		return false;
	/* It may be in pieces (trampolines): up to what is none of it. */
	first = --at;
	while (first > 0 && m[first - 1].end == m[first].start &&
	       (m[first - 1].prot & MODULE_WRITE))
		first--;
	its->floor = first > 0 ? m[first - 1].end : 0;
	its->low = m[first].start;
	its->end = m[at].end;
	return true;
}

/* It grows as far as its limit says, and not near to what is below. */
static void
find_main(struct target *t, struct stack_bounds *b)
{
	char *text = target_maps(t);
	struct modules maps = { 0 };
	struct main_stack its;
	struct rlimit limit = { .rlim_cur = RLIM_INFINITY };
	uint64_t low;

	if (text && modules_parse(&maps, text) == 0 &&
	    stacks_main(&maps, &its)) {
		(void)prlimit(target_pid(t), RLIMIT_STACK, NULL, &limit);
		low = limit.rlim_cur < its.end ? its.end - limit.rlim_cur : 0;
		low = (low + PAGE - 1) / PAGE * PAGE;	/* none in part */
		if (low < its.floor + GAP)
			low = its.floor + GAP;
		*b = (struct stack_bounds){ low < its.low ? low : its.low,
					    its.end };
	}
	modules_fini(&maps);
	free(text);
}

void
stacks_begin(struct target *t, struct stacks *s)
{
	pthread_t th;

	*s = (struct stacks){ .form = DESCRIPTOR_UNKNOWN };
	find_main(t, &s->main);
	if (pthread_create(&th, NULL, find_own, s) == 0)
		(void)pthread_join(th, NULL);
}
