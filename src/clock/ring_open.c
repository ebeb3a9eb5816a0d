/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * One ring per CPU; all events of a CPU write into its ring.
 *
 * A ring belongs to a silent event of its own, not to an event of the target: an
 * event whose threads are all gone answers every poll(2) with POLLHUP at once
 * and for ever, and a reader would spin. Who may not watch a whole CPU has it
 * on his own thread: but where that is the machine's first event on a thread,
 * the kernel lets him wait until no CPU switches threads without looking for
 * some (synchronize_rcu, 11 to 16 ms).
 */
#include "perf.h"

#include <errno.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

enum { RECORD_MAX = 65536 };	/* its size is 16 bits */

static int
open_silent(struct perf_kernel *k, const struct perf_event_attr *a, int cpu)
{
	const int fd = perf_open(k, a, -1, cpu);

	return fd < 0 && (errno == EACCES || errno == EPERM) ?
		perf_open(k, a, 0, cpu) : fd;
}

static int
ring_open(struct ring *ring, struct perf_kernel *k, int cpu, size_t bytes,
	  bool *memory)
{
	struct perf_event_attr a = attr_dummy();

	*ring = (struct ring){ .fd = -1, .cpu = cpu };
	a.disabled = 1;
	a.wakeup_watermark = (uint32_t)(bytes / RING_PARTS);
	ring->fd = open_silent(k, &a, cpu);
	if (ring->fd < 0)
		/* this CPU went away since it was listed */
		return errno == ENODEV ? 0 : -1;

	void *map = mmap(NULL, bytes + (size_t)sysconf(_SC_PAGESIZE),
			 PROT_READ | PROT_WRITE, MAP_SHARED, ring->fd, 0);

	if (map == MAP_FAILED) {
		*memory = true;
		return -1;
	}
	ring->page = map;
	ring->data = (const unsigned char *)map + ring->page->data_offset;
	ring->size = ring->page->data_size;
	return 0;
}

static void
ring_close(struct ring *ring)
{
	free(ring->kept);
	if (ring->page)
		(void)munmap(ring->page, ring->size +
			     (size_t)sysconf(_SC_PAGESIZE));
	if (ring->fd >= 0)
		(void)close(ring->fd);
	*ring = (struct ring){ .fd = -1 };
}

static int
open_all(struct rings *r, struct perf_kernel *k, const struct cpus *cpus,
	 size_t bytes, bool *memory)
{
	r->ring = xcalloc(cpus->len, sizeof *r->ring);
	r->bytes = bytes;
	for (r->len = 0; r->len < cpus->len; r->len++)
		if (ring_open(&r->ring[r->len], k, cpus->id[r->len], bytes,
			      memory) < 0) {
			const int error = errno;

			r->len++;	/* it may be half open */
			rings_close(r);
			errno = error;
			return -1;
		}
	r->scratch = xmalloc(RECORD_MAX);
	return 0;
}

/*
 * The memory limit of unprivileged users is one sum over all their rings:
 * all of ours get the same size, or the last CPUs would lose samples.
 */
static int
open_or_less(struct rings *r, struct perf_kernel *k, const struct cpus *cpus,
	     size_t bytes, size_t least, bool *memory)
{
	for (;;) {
		*memory = false;
		if (open_all(r, k, cpus, bytes, memory) == 0)
			return 0;
		if (!*memory || bytes / 2 < least)
			return -1;
		bytes /= 2;
	}
}

int
rings_open(struct rings *r, struct perf_kernel *k, size_t bytes, size_t least,
	   pid_t pid)
{
	struct cpus cpus;
	bool memory;

	*r = (struct rings){0};
	cpus_init(&cpus);

	const int done = open_or_less(r, k, &cpus, bytes, least, &memory);
	const int error = errno;

	cpus_fini(&cpus);
	if (done == 0)
		return 0;
	return memory ? fail_rings(error) :
		fail_refused(error, pid, "perf_event_open for the rings");
}

void
rings_close(struct rings *r)
{
	for (size_t i = 0; i < r->len; i++)
		ring_close(&r->ring[i]);
	free(r->ring);
	free(r->entries);
	free(r->scratch);
	*r = (struct rings){0};
}

size_t
rings_pollfds(const struct rings *r, struct pollfd *fds, size_t max)
{
	size_t n = 0;

	for (size_t i = 0; i < r->len && n < max; i++)
		if (r->ring[i].page)
			fds[n++] = (struct pollfd){
				.fd = r->ring[i].fd, .events = POLLIN,
			};
	return n;
}
