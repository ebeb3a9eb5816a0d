/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * The record memory, which the target can write as it likes: windows and the
 * beginnings of their rings are the fuzzer's; so is what the header says of
 * tables and their readers when tables are published. What those are is in
 * the pad of the first window. Then it is salvaged, as by the visit after one
 * that was killed, with a header that the pad of the second window bends.
 * Linked with --wrap=target_read, target_write and nanosleep.
 */
#include <sys/mman.h>
#include <time.h>

#include "../../src/control/private.h"
#include "../../src/inject/private.h"
#include "fuzz.h"
#include "record.h"
#include "step.h"

enum {
	WINDOWS = 4, WINDOW_BYTES = RECORD_WINDOW_MIN,
	RINGS_AT = RECORD_HEADER_BYTES + 4096,
	HALVES_AT = RINGS_AT + WINDOWS * WINDOW_BYTES, HALF_BYTES = 4096,
	SIZE = HALVES_AT + 2 * HALF_BYTES,
	RANGES = 24, ROWS = 40,
};

static struct target target = { .pid = 42, .live_tid = 42, .pidfd = -1 };

/* Nobody waits here for a reader that never goes. */
int
nanosleep(const struct timespec *time, struct timespec *rest)
{
	return time->tv_sec ? clock_nanosleep(CLOCK_MONOTONIC, 0, time, rest)
			    : 0;
}

/* One thread by two numbers, one by one, one whose status is strange. */
static void
make_proc(void)
{
	static const char *const status[] = {
		"State:\tS (sleeping)\nTgid:\t42\nNSpid:\t42\t7\n",
		"State:\tS (sleeping)\nNSpid:\t43\n",
		"State:\tS (sleeping)\nNSpid: 8",
	};
	static const char stat[] = "42 (x) S 1 42 42 0 -1 4194304 1 0 0 0 1 1 "
		"0 0 20 0 1 0 100 1 1 18446744073709551615 0 0 0 0 0 0 0 0 0 0 "
		"0 0 17 1 0 0 0 0 0 0 0 0 0 0 0 0 0\n";
	static const char maps[] =
		"10000-20000 r-xp 00000000 00:01 5    /l.so\n"
		"20000-30000 rw-p 00000000 00:00 0    [heap]\n"
		"30000-40000 r--p 00000000 00:00 0 \n"
		"7ffd0000-7ffe0000 rw-p 00000000 00:00 0    [stack]\n";
	char path[40];
	unsigned i;

	if (mkdir("task", 0700) < 0)
		fuzz_broken("task");
	for (i = 0; i < ARRAY_LEN(status); i++) {
		(void)snprintf(path, sizeof path, "task/%u", 42 + i);
		if (mkdir(path, 0700) < 0)
			fuzz_broken(path);
		(void)snprintf(path, sizeof path, "task/%u/status", 42 + i);
		fuzz_file(path, status[i], strlen(status[i]));
	}
	fuzz_file("task/42/stat", stat, sizeof stat - 1);
	fuzz_file("task/42/maps", maps, sizeof maps - 1);
	target.proc_fd = open(".", O_RDONLY | O_CLOEXEC);
}

/* What was published stands inside its half. */
static void
judge_half(const struct guest *g)
{
	const unsigned char *half = (const unsigned char *)g->area +
		g->layout.tables_at[g->area->tables];
	const struct record_tables *head = (const struct record_tables *)half;
	const struct step_range *r;
	uint32_t i;

	if (head->used > g->layout.table_bytes || head->ranges != RANGES ||
	    head->ranges_at + sizeof *r * RANGES > head->used ||
	    head->stacks_at + sizeof(struct record_stack) * head->stacks >
	    head->used)
		abort();
	r = (const struct step_range *)(half + head->ranges_at);
	for (i = 0; i < head->ranges; i++)
		if (r[i].rows + r[i].count * sizeof(struct step_row) >
		    head->used)
			abort();
}

static void
publish(struct guest *g, const uint64_t pad[5])
{
	static const struct step_row rows[ROWS];
	struct step_range ranges[RANGES];
	const struct step_tables tables = { NULL, ranges, RANGES, NULL };
	uint32_t i;

	for (i = 0; i < RANGES; i++)
		ranges[i] = (struct step_range){
			.start = 4096 * i, .end = 4096 * (i + 1),
			.rows = (uintptr_t)(rows + i % 5 * 2),
			.count = (pad[1] >> i & 1) * (ROWS - i % 5 * 2),
		};
	g->layout.table_bytes = pad[2] % (HALF_BYTES + 1);
	g->layout.tables_at[0] = HALVES_AT;
	g->layout.tables_at[1] = HALVES_AT + HALF_BYTES;
	g->passing = pad[3];
	g->passing_end = pad[4];
	g->area->tables = pad[0] >> 8 & 255;
	g->area->readers[0] = pad[0] >> 16 & 1;
	g->area->readers[1] = pad[0] >> 17 & 1;
	(void)guest_publish_need(&tables);
	for (i = 0; i < 2; i++)
		if (guest_publish(g, &tables) == 0)
			judge_half(g);
	for (i = 42; i < 46; i++)
		(void)guest_inner_tid(g, (pid_t)i);
}

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

/* ---- salvaged ------------------------------------------------------------ */

#define BASE UINT64_C(0x7f0000000000)

static unsigned char *memory;	/* SIZE bytes at BASE of the target */

int __wrap_target_read(struct target *t, uint64_t addr, void *buf, size_t n);

int
__wrap_target_read(struct target *t, uint64_t addr, void *buf, size_t n)
{
	(void)t;
	if (addr < BASE || addr - BASE > SIZE || n > SIZE - (addr - BASE))
		return fail(FAIL_GENERAL, "read");
	memcpy(buf, memory + (addr - BASE), n);
	return 0;
}

int __wrap_target_write(struct target *t, uint64_t addr, const void *buf,
			size_t n);

int
__wrap_target_write(struct target *t, uint64_t addr, const void *buf, size_t n)
{
	(void)t;
	if (addr < BASE || addr - BASE > SIZE || n > SIZE - (addr - BASE))
		return fail(FAIL_GENERAL, "write");
	memcpy(memory + (addr - BASE), buf, n);
	return 0;
}

/* What we wait for does not come. */
int __wrap_nanosleep(const struct timespec *time, struct timespec *left);

int
__wrap_nanosleep(const struct timespec *time, struct timespec *left)
{
	(void)time, (void)left;
	return 0;
}

static void
bend_header(struct record_area *a, const uint64_t pad[5])
{
	a->magic = RECORD_MAGIC;
	a->version = RECORD_VERSION;
	a->header_bytes = RECORD_HEADER_BYTES;
	a->size = SIZE;
	a->windows = WINDOWS ^ (uint32_t)pad[0];
	a->window_bytes = WINDOW_BYTES ^ (uint32_t)(pad[0] >> 32);
	a->windows_at = RECORD_HEADER_BYTES ^ pad[1];
	a->rings_at = RINGS_AT ^ pad[2];
	memset(a->keep.path, (int)pad[3], sizeof a->keep.path);
}

/* Twice: where all is kept, nothing is there for the second. */
static void
salvage(const uint8_t *windows, size_t n, uint64_t *sum)
{
	struct record_window *w = (struct record_window *)
		(memory + RECORD_HEADER_BYTES);
	bool kept = false;
	struct salvage *s;
	int i;

	memcpy(w, windows, n);
	bend_header((struct record_area *)memory, w[1].guest_pad);
	for (i = 0; i < 2; i++) {
		s = salvage_open(&target, BASE, SIZE);
		if (s && salvage_pending(s)) {
			if (kept)
				abort();
			*sum += strlen(salvage_area(s)->keep.path);
			(void)salvage_each(s, visit, sum);
			kept = salvage_settle(s, 1) == 0 &&
				((struct record_area *)memory)->windows_at ==
				RECORD_HEADER_BYTES;
		}
		salvage_close(s);
	}
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
	static const uint64_t told[RECORD_LOSSES];
	static const struct record_keep keep;
	const uint8_t *windows = data;
	const uint64_t *pads;
	uint64_t sum = 0;
	size_t i, n, of_windows;

	if (area == MAP_FAILED)
		fuzz_broken("mmap");
	if (fuzz_enter())
		make_proc();
	n = size < heads ? size : heads;
	of_windows = n;
	memcpy(area + RECORD_HEADER_BYTES, data, n);
	data += n;
	size -= n;
	for (i = 0; i < WINDOWS; i++) {
		n = size / WINDOWS < WINDOW_BYTES ? size / WINDOWS
						  : WINDOW_BYTES;
		fill_ring(area + RINGS_AT + i * WINDOW_BYTES, data + i * n, n);
	}
	g.area = (struct record_area *)area;
	pads = ((struct record_window *)(area + RECORD_HEADER_BYTES))->guest_pad;
	g.other_namespace = pads[0] & 1;
	publish(&g, pads);
	if (pads[0] & 2)
		guest_keep(&g, &keep);
	(void)guest_drain(&g, visit, &sum);
	guest_settle(&g, 1, told);
	free(g.taken);
	map_fini(&g.tids);
	memory = area;
	salvage(windows, of_windows, &sum);
	(void)munmap(area, SIZE);
	fail_clear();
	return 0;
}
