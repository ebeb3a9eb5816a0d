/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * When a thread's clock ticked. The handler in the target has only the time of
 * the kernel's last tick (src/collector/hot_sample.c says why), some ms old.
 * The kernel writes the exact one, and how much CPU time the thread has used by
 * then, into a small ring of ours as it sends the signal, and here the two are
 * brought together.
 */
#include "private.h"

#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

enum {
	PAGE = 4096,
	SAMPLE_BYTES = 24,		/* header, time and count */
	COARSE_NS = 10500000,		/* between two ticks of a kernel, at most */
};

/* Room for 170 ticks, a sixth of a second of 1 ms; for shorter ones more. */
bool
tick_times_open(struct tick_times *t, int fd, uint64_t interval_ns)
{
	const size_t pages = interval_ns < 900000 ? 8 : 1;
	void *at;

	t->size = (1 + pages) * PAGE;
	at = mmap(NULL, t->size, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	t->page = at == MAP_FAILED ? NULL : at;
	return t->page;
}

void
tick_times_close(struct tick_times *t)
{
	if (t->page)
		(void)munmap(t->page, t->size);
	t->page = NULL;
}

static uint64_t
word_at(const struct tick_times *t, uint64_t at)
{
	uint64_t word;

	memcpy(&word, (const unsigned char *)t->page + PAGE +
	       at % (t->size - PAGE), sizeof word);
	return word;
}

/* The next tick from *at on, which is moved behind it; UINT64_MAX: none. */
static struct tick_time
next_tick(const struct tick_times *t, uint64_t *at, uint64_t head)
{
	while (head - *at >= SAMPLE_BYTES) {
		const uint64_t word = word_at(t, *at);
		const struct tick_time tick = {
			.time_ns = word_at(t, *at + sizeof word),
			.cpu_ns = word_at(t, *at + 2 * sizeof word),
		};
		struct perf_event_header h;

		memcpy(&h, &word, sizeof h);
		if (h.size < SAMPLE_BYTES || h.size > head - *at)
			break;
		*at += h.size;
		if (h.type == PERF_RECORD_SAMPLE)
			return tick;
	}
	return (struct tick_time){ .time_ns = UINT64_MAX };
}

/* Of the ticks up to then the latest; else the next one, when it is near. The
 * others gave no sample. */
struct tick_time
tick_times_take(struct tick_times *t, uint64_t coarse_ns)
{
	const struct tick_time unknown = { .time_ns = coarse_ns };

	if (!t->page)
		return unknown;

	const uint64_t head = __atomic_load_n(&t->page->data_head,
					      __ATOMIC_ACQUIRE);
	uint64_t at = t->page->data_tail, behind = at;
	struct tick_time tick = next_tick(t, &behind, head);

	for (;;) {
		uint64_t after = behind;
		const struct tick_time later = next_tick(t, &after, head);

		if (later.time_ns > coarse_ns)
			break;
		tick = later;
		at = behind;
		behind = after;
	}

	const bool taken = tick.time_ns <= coarse_ns ||
		tick.time_ns - coarse_ns < COARSE_NS;

	__atomic_store_n(&t->page->data_tail, taken ? behind : at,
			 __ATOMIC_RELEASE);
	return taken ? tick : unknown;
}
