/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * lifo: an allocator to be preloaded. What one thread has given back the next
 * one that asks gets, whichever thread it is: no block rests with anybody. A
 * child finds it free, whoever had it at the fork.
 */
#include <errno.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdint.h>
#include <string.h>
#include <sys/mman.h>
#include <stddef.h>

enum { CLASSES = 40, LEAST = 5, PIECE = 1 << 22 };

struct head {			/* right before what is given */
	uint64_t from;		/* the block, of 1 << class bytes */
	uint64_t class;
};

struct block {
	struct block *next;
};

static atomic_flag taken = ATOMIC_FLAG_INIT;
static struct block *lists[CLASSES];
static char *piece, *piece_end;

static void
take(void)
{
	while (atomic_flag_test_and_set(&taken))
		__builtin_ia32_pause();
}

static void
give(void)
{
	atomic_flag_clear(&taken);
}

__attribute__((constructor)) static void
be_ready_for_forks(void)
{
	pthread_atfork(take, give, give);
}

static void *
fresh(size_t bytes)
{
	void *p;

	if (bytes > PIECE) {
		p = mmap(NULL, bytes, PROT_READ | PROT_WRITE,
			 MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
		return p == MAP_FAILED ? NULL : p;
	}
	if ((size_t)(piece_end - piece) < bytes) {
		p = mmap(NULL, PIECE, PROT_READ | PROT_WRITE,
			 MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
		if (p == MAP_FAILED)
			return NULL;
		piece = p;
		piece_end = piece + PIECE;
	}
	p = piece;
	piece += bytes;
	return p;
}

void *
memalign(size_t alignment, size_t n)
{
	unsigned class = LEAST;
	struct block *b;
	uint64_t at;

	if (alignment < 16)
		alignment = 16;
	while (class < CLASSES - 1 &&
	       UINT64_C(1) << class < n + alignment + sizeof(struct head))
		class++;
	take();
	b = lists[class];
	if (b)
		lists[class] = b->next;
	else
		b = fresh((size_t)1 << class);
	give();
	if (!b) {
		errno = ENOMEM;
		return NULL;
	}
	at = ((uintptr_t)b + sizeof(struct head) + alignment - 1) &
		~(uint64_t)(alignment - 1);
	((struct head *)at)[-1] = (struct head){ (uintptr_t)b, class };
	return (void *)at;
}

void *
malloc(size_t n)
{
	return memalign(16, n);
}

void
free(void *p)
{
	struct head h;
	struct block *b;

	if (!p)
		return;
	h = ((struct head *)p)[-1];
	b = (struct block *)h.from;
	take();
	b->next = lists[h.class];
	lists[h.class] = b;
	give();
}

void *
calloc(size_t a, size_t b)
{
	void *p = memalign(16, a * b);

	return p ? memset(p, 0, a * b) : NULL;
}

void *
realloc(void *old, size_t n)
{
	const struct head *h = old ? &((struct head *)old)[-1] : NULL;
	const size_t room = old ? h->from + (UINT64_C(1) << h->class) -
		(uintptr_t)old : 0;
	void *p;

	if (old && n <= room)
		return old;
	p = memalign(16, n);
	if (p && old) {
		memcpy(p, old, room);
		free(old);
	}
	return p;
}

void *
aligned_alloc(size_t alignment, size_t n)
{
	return memalign(alignment, n);
}

int
posix_memalign(void **out, size_t alignment, size_t n)
{
	void *p = memalign(alignment, n);

	if (!p)
		return ENOMEM;
	*out = p;
	return 0;
}
