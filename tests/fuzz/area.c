/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * The record memory, which the target can write as it likes: windows and the
 * beginnings of their rings are the fuzzer's.
 */
#include <sys/mman.h>

#include "../../src/control/private.h"
#include "../../src/inject/private.h"
#include "fuzz.h"
#include "record.h"

enum {
	WINDOWS = 4, WINDOW_BYTES = RECORD_WINDOW_MIN,
	RINGS_AT = RECORD_HEADER_BYTES + 4096,
	SIZE = RINGS_AT + WINDOWS * WINDOW_BYTES,
};

static struct target target = { .pid = 42, .live_tid = 42, .pidfd = -1 };

static void
visit(void *arg, const struct record *r)
{
	uint64_t *sum = arg;
	unsigned i;

	if (r->depth > RECORD_DEPTH_MAX || r->end >= RECORD_ENDS)
		abort();
	for (i = 0; i < r->depth; i++)
		*sum += r->pcs[i];
}

/* Again and again, to its end. */
static void
fill_ring(unsigned char *ring, const uint8_t *data, size_t n)
{
	size_t at, left;

	for (at = 0; n && at < WINDOW_BYTES; at += n) {
		left = WINDOW_BYTES - at;
		memcpy(ring + at, data, left < n ? left : n);
	}
}

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct guest g = {
		.t = &target, .fd = -1, .size = SIZE,
		.layout = {
			.windows = WINDOWS, .window_bytes = WINDOW_BYTES,
			.windows_at = RECORD_HEADER_BYTES,
			.rings_at = RINGS_AT, .size = SIZE,
		},
	};
	const size_t heads = WINDOWS * sizeof(struct record_window);
	unsigned char *area = mmap(NULL, SIZE, PROT_READ | PROT_WRITE,
				   MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	uint64_t sum = 0;
	size_t i, n;

	if (area == MAP_FAILED)
		fuzz_broken("mmap");
	if (fuzz_enter())
		target.proc_fd = open(".", O_RDONLY | O_CLOEXEC);
	n = size < heads ? size : heads;
	memcpy(area + RECORD_HEADER_BYTES, data, n);
	data += n;
	size -= n;
	for (i = 0; i < WINDOWS; i++) {
		n = size / WINDOWS < WINDOW_BYTES ? size / WINDOWS
						  : WINDOW_BYTES;
		fill_ring(area + RINGS_AT + i * WINDOW_BYTES, data + i * n, n);
	}
	g.area = (struct record_area *)area;
	(void)guest_drain(&g, visit, &sum);
	map_fini(&g.tids);
	(void)munmap(area, SIZE);
	return 0;
}
