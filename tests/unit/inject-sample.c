/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * The guest samples by POSIX timers (mission: C3): every busy thread, also
 * one that was born later, with complete stacks and weights that add up to
 * the CPU time; the program's own SIGPROF handler keeps working; when our
 * heartbeat stops, the ticks do; after the stop nothing of ours is in force.
 */
#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base.h"
#include "inject.h"
#include "inject-victim.h"
#include "symbol.h"
#include "unwind.h"

enum { DEPTH = 25, BUSY = 2, INTERVAL = 5000000, CPU_MS = 700 };

struct shared {
	struct victim_page at;
	volatile int more;
	volatile unsigned long own_ticks, errno_broken;
	volatile uint64_t leaf_start, leaf_end;
};

static struct shared *shared;

/* ---- the program --------------------------------------------------------- */

static __attribute__((noinline, section("spin_section"))) unsigned
spin(unsigned n)
{
	while (!shared->at.stop) {
		errno = 4242;
		n = n * 1103515245 + 12345;
		if (errno != 4242)
			shared->errno_broken++;
	}
	return n;
}

static __attribute__((noinline)) unsigned
descend(unsigned n, unsigned depth)
{
	volatile unsigned here = depth;

	return (depth ? descend(n + 1, depth - 1) : spin(n)) + here;
}

static void *
busy(void *arg)
{
	return (void *)(uintptr_t)descend((unsigned)(uintptr_t)arg, DEPTH);
}

static void
on_own_tick(int signo)
{
	(void)signo;
	shared->own_ticks++;
}

static int
run_program(const char *how, const char *page)
{
	const struct itimerval own = { { 0, 10000 }, { 0, 10000 } };
	extern char __start_spin_section[], __stop_spin_section[];
	pthread_t th[BUSY + 1];
	int i, n = 0;

	shared = victim_page_of(page);
	shared->leaf_start = (uintptr_t)__start_spin_section;
	shared->leaf_end = (uintptr_t)__stop_spin_section;
	if (strcmp(how, "own-handler") == 0) {
		signal(SIGPROF, on_own_tick);
		setitimer(ITIMER_PROF, &own, NULL);
	}
	for (i = 0; i < BUSY; i++)
		pthread_create(&th[n++], NULL, busy, NULL);
	shared->at.ready = 1;
	while (!shared->at.stop) {
		if (shared->more && n == BUSY)
			pthread_create(&th[n++], NULL, busy, NULL);
		usleep(1000);
	}
	for (i = 0; i < n; i++)
		pthread_join(th[i], NULL);
	return 0;
}

/* ---- what came ----------------------------------------------------------- */

struct tally {
	uint64_t samples, weight, complete, leaf, deep, inexact;
	pid_t tids[16];
	unsigned ntids;
};

static void
count(void *arg, const struct record *r)
{
	struct tally *t = arg;
	unsigned i;
	bool leaf = false;

	t->samples++;
	t->weight += r->weight;
	t->complete += r->end == RECORD_COMPLETE;
	/* It asks libc where errno is: that may be the leaf, or its stub. */
	for (i = 0; i < 3 && i < r->depth; i++)
		leaf |= (r->pcs[i] & ~RECORD_PC_EXACT) - shared->leaf_start <
			shared->leaf_end - shared->leaf_start;
	t->leaf += leaf;
	t->deep += r->depth > DEPTH;
	t->inexact += !(r->pcs[0] & RECORD_PC_EXACT);
	for (i = 0; i < t->ntids && t->tids[i] != (pid_t)r->tid; i++)
		;
	if (i == t->ntids && i < ARRAY_LEN(t->tids))
		t->tids[t->ntids++] = (pid_t)r->tid;
}

static struct unwind_space *
space_of(struct target *t)
{
	struct unwind_space *space = unwind_space_new();
	struct modules mods = {0};
	char *text = target_maps(t);
	size_t i;

	if (!text || modules_parse(&mods, text) < 0)
		abort();
	free(text);
	for (i = 0; i < mods.len; i++) {
		const struct module *m = &mods.items[i];
		struct unwind_object *obj = NULL;
		int fd;

		if (!(m->prot & MODULE_EXEC))
			continue;
		fd = m->inode ? target_open_mapped(t, m->start, m->end,
				m->path, m->device, m->inode) : -1;
		if (fd >= 0)
			obj = unwind_object_open(fd, m->path);
		unwind_space_map(space, m->start, m->end, m->offset, obj);
		unwind_object_free(obj);
	}
	modules_fini(&mods);
	return space;
}

static uint64_t
cpu_of(struct target *t)
{
	uint64_t ns = 0;

	(void)target_cpu_ns(t, &ns);
	return ns;
}

/* Until the program has used that much. */
static uint64_t
record(struct target *t, struct guest *g, struct tally *tally, unsigned ms)
{
	const uint64_t from = cpu_of(t), end = now_ns() + 60000000000ull;

	while (cpu_of(t) - from < ms * 1000000ull && now_ns() < end) {
		usleep(5000);
		guest_heartbeat(g);
		(void)guest_drain(g, count, tally);
	}
	return cpu_of(t) - from;
}

static int failed;

static void
check(bool ok, const char *what)
{
	if (!ok) {
		failed++;
		printf("FAILED: %s\n", what);
	}
}

static bool
catches(pid_t pid, int signo)
{
	char path[64], *text;
	uint64_t caught;

	snprintf(path, sizeof path, "/proc/%d/status", pid);
	text = file_read(path, NULL);
	caught = strtoull(strstr(text, "\nSigCgt:") + 8, NULL, 16);
	free(text);
	return caught >> (signo - 1) & 1;
}

static size_t
count_timers(pid_t pid)
{
	char path[64], *text, *at;
	size_t n = 0;

	snprintf(path, sizeof path, "/proc/%d/timers", pid);
	text = file_read(path, NULL);
	for (at = text; at && (at = strstr(at, "ID:")); at++)
		n++;
	free(text);
	return n;
}

/* ---- the cases ----------------------------------------------------------- */

static struct guest *
enter(struct target *t, struct unwind_space **space)
{
	const struct step_tables *tables;
	struct inject_report report;
	struct guest_options opt = {
		.windows = 64, .window_bytes = RECORD_WINDOW_MIN,
		.interval_ns = INTERVAL,
	};
	struct guest *g;

	*space = space_of(t);
	tables = unwind_space_tables(*space);
	opt.table_bytes = (uint32_t)guest_publish_need(tables);
	g = guest_open(t, &opt, &report);
	if (!g || guest_publish(g, tables) < 0 ||
	    guest_start(g, GUEST_POSIX_TIMER) < 0) {
		printf("FAILED: enter: %s\n", fail_last()->reason);
		failed++;
		guest_close(g);
		return NULL;
	}
	return g;
}

static void
print_tally(const char *name, const struct tally *t, uint64_t cpu,
	    const struct record_area *a)
{
	printf("%s: %lu samples of %u threads, weight %lu = %.3f of %.3f s; "
	       "complete %lu, leaf %lu, deep %lu; lost full %lu window %lu "
	       "lease %lu off %lu\n", name, t->samples, t->ntids,
	       t->weight, (double)t->weight * INTERVAL / 1e9,
	       (double)cpu / 1e9, t->complete, t->leaf, t->deep,
	       a->lost[0], a->lost[1], a->lost[2], a->lost[3]);
}

static void
check_samples(const struct tally *t, uint64_t cpu)
{
	const double share = (double)t->weight * INTERVAL / (double)cpu;

	check(t->samples > 20, "there are samples");
	check(t->complete * 100 >= t->samples * 95, "stacks are complete");
	check(t->deep * 100 >= t->samples * 90, "stacks have all frames");
	check(t->leaf * 100 >= t->samples * 90, "leaves are where it spins");
	check(t->inexact == 0, "leaves are exact");
	check(share > 0.85 && share < 1.15, "weights are the CPU time");
}

static void
check_leaving(struct guest *g, pid_t pid, bool own_handler)
{
	struct inject_report report;

	if (guest_stop(g, &report) < 0) {
		printf("FAILED: stop: %s\n", fail_last()->reason);
		failed++;
	}
	check(catches(pid, SIGPROF) == own_handler, "its own handler");
	check(!catches(pid, SIGURG), "disposition as before");
	check(count_timers(pid) == 0, "no timer is left");
	guest_close(g);
}

static void
finish(struct target *t, pid_t pid)
{
	int status = -1;

	shared->at.stop = 1;
	target_close(t);
	waitpid(pid, &status, 0);
	check(status == 0, "the program ended well");
	check(shared->errno_broken == 0, "errno is untouched");
	munmap(shared, VICTIM_PAGE_SIZE);
}

static void
plain(void)
{
	const pid_t pid = victim_start("plain", (void **)&shared);
	struct target *t = target_open(pid);
	struct unwind_space *space;
	struct guest *g = enter(t, &space);
	struct tally tally = {0}, later = {0};
	struct inject_report report;
	pid_t *tids = NULL;
	size_t cap = 0;
	ssize_t n;
	uint64_t cpu;

	if (!g)
		return;
	check(catches(pid, SIGURG), "our handler is in");
	check(!catches(pid, SIGPROF), "SIGPROF is left alone");
	cpu = record(t, g, &tally, CPU_MS);
	print_tally("plain", &tally, cpu, guest_area(g));
	check_samples(&tally, cpu);
	check(tally.ntids >= BUSY, "each busy thread was seen");

	shared->more = 1;
	while ((n = target_threads(t, &tids, &cap)) < BUSY + 2)
		usleep(1000);
	check(guest_refresh(g, &report) == 0, "a timer for the new thread");
	check(guest_publish(g, unwind_space_tables(space)) == 0,
	      "publish its stack");
	cpu = record(t, g, &later, CPU_MS);
	print_tally("later", &later, cpu, guest_area(g));
	check(later.ntids >= BUSY + 1, "the new thread was seen");
	check(later.complete * 100 >= later.samples * 90,
	      "its stack is walked, too");
	free(tids);
	check_leaving(g, pid, false);
	unwind_space_free(space);
	finish(t, pid);
}

static void
own_handler(void)
{
	const pid_t pid = victim_start("own-handler", (void **)&shared);
	struct target *t = target_open(pid);
	struct unwind_space *space;
	struct guest *g = enter(t, &space);
	struct tally tally = {0};
	unsigned long before, during;
	uint64_t cpu;

	if (!g)
		return;
	before = shared->own_ticks;
	cpu = record(t, g, &tally, CPU_MS);
	during = shared->own_ticks - before;
	print_tally("own handler", &tally, cpu, guest_area(g));
	printf("own ticks %lu\n", during);
	check_samples(&tally, cpu);
	/* One per 10 ms of CPU time, less where two were pending at once. */
	check(during > CPU_MS / 10 / 3, "the program's own ticks come");
	check_leaving(g, pid, true);
	before = shared->own_ticks;
	while (shared->own_ticks < before + 10)
		usleep(1000);
	unwind_space_free(space);
	finish(t, pid);
}

static void
lease(void)
{
	const pid_t pid = victim_start("lease", (void **)&shared);
	struct target *t = target_open(pid);
	struct unwind_space *space;
	struct guest *g = enter(t, &space);
	struct tally tally = {0};
	struct inject_report report;
	const struct record_area *a;
	uint64_t samples, cpu, give_up = now_ns() + 30000000000ull;

	if (!g)
		return;
	a = guest_area(g);
	while (a->lost[RECORD_LOST_LEASE] < BUSY && now_ns() < give_up)
		usleep(10000);		/* silent, as if we had died */
	check(a->lost[RECORD_LOST_LEASE] >= BUSY, "ticks stopped by lease");
	samples = a->lost[RECORD_LOST_LEASE] + a->samples;
	usleep(500000);			/* as long as 100 ticks of each */
	/* A thread that was not on a processor has its last tick to come. */
	check(a->lost[RECORD_LOST_LEASE] + a->samples < samples + 20,
	      "timers sleep when nobody listens");
	(void)guest_drain(g, count, &tally);
	memset(&tally, 0, sizeof tally);
	check(guest_refresh(g, &report) == 0, "wake them");
	cpu = record(t, g, &tally, CPU_MS);
	print_tally("after lease", &tally, cpu, a);
	check_samples(&tally, cpu);
	check_leaving(g, pid, false);
	unwind_space_free(space);
	finish(t, pid);
}

int
main(int argc, char **argv)
{
	if (argc == 3)
		return run_program(argv[1], argv[2]);
	plain();
	own_handler();
	lease();
	return failed ? 1 : 0;
}
