/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Who there is, with the files that each is looked at by. Births that nobody
 * tells of are known by the kernel's start time.
 */
#include "waits.h"

#include <fcntl.h>
#include <stdlib.h>
#include <time.h>
#include <unistd.h>

/* ---- files of a thread --------------------------------------------------- */

static int
open_file(struct roll *r, pid_t tid, const char *name)
{
	char path[64];

	(void)snprintf(path, sizeof path, "task/%d/%s", (int)tid, name);

	const int fd = openat(target_proc(r->target), path,
			      O_RDONLY | O_CLOEXEC);

	if (fd >= 0 && descriptor_is_reserve(fd)) {
		(void)close(fd);
		r->full = true;
		return -1;
	}
	return fd;
}

static void
close_files(struct looked_at *of)
{
	int *const fds[] = { &of->schedstat, &of->syscall, &of->stat };

	for (size_t i = 0; i < ARRAY_LEN(fds); i++) {
		if (*fds[i] >= 0)
			(void)close(*fds[i]);
		*fds[i] = -1;
	}
}

void
roll_open_files(struct roll *r, struct waiter *th)
{
	struct looked_at *of = &th->of;

	if (!r->full)
		of->schedstat = open_file(r, of->tid, "schedstat");
	if (of->schedstat >= 0) {
		of->syscall = open_file(r, of->tid, "syscall");
		of->stat = open_file(r, of->tid, "stat");
	}
	/* all or none */
	of->anew = r->full;
	if (of->anew)
		close_files(of);
}

/* ---- threads ------------------------------------------------------------- */

struct waiter *
roll_find(const struct roll *r, pid_t tid)
{
	uint64_t at;

	return map_get(&r->threads, (uint64_t)tid, &at) ?
		(struct waiter *)(uintptr_t)at : NULL;
}

struct waiter *
roll_add(struct roll *r, pid_t tid, uint64_t since)
{
	struct waiter *th = xcalloc(1, sizeof *th);

	*th = (struct waiter){
		.of = { tid, -1, -1, -1, false }, .since_ns = since,
		.looked_at = since, .held_since = since,
		.round = r->round,
	};
	map_put(&r->threads, (uint64_t)tid, (uintptr_t)th);
	return th;
}

const char *
roll_name(const struct roll *r, pid_t tid)
{
	const struct waiter *th = r ? roll_find(r, tid) : NULL;

	return th ? th->name : "";
}

static void
free_waiter(struct waiter *th)
{
	close_files(&th->of);
	free(th);
}

void
roll_drop(struct roll *r, struct waiter *th)
{
	(void)map_remove(&r->threads, (uint64_t)th->of.tid);
	if (th->of.schedstat >= 0)
		r->full = false;
	free_waiter(th);
}

static uint64_t
since_boot_ns(void)
{
	struct timespec ts = { 0 };

	(void)clock_gettime(CLOCK_BOOTTIME, &ts);
	return (uint64_t)ts.tv_sec * 1000000000 + (uint64_t)ts.tv_nsec;
}

/* Known in whole ticks; not before we looked for threads the last time. */
static uint64_t
birth_of(const struct roll *r, struct waiter *th, uint64_t now)
{
	struct task_stat st;
	uint64_t age = 0;

	if (target_thread_stat(r->target, th->of.tid, &st) == 0) {
		(void)snprintf(th->name, sizeof th->name, "%s",
			       str_tame(st.name));
		age = since_boot_ns() -
			stat_ticks_ns(st.field[STAT_START_TIME]) -
			stat_ticks_ns(1) / 2;
	}
	/* a tick that is not over yet */
	if (age > now)
		age = 0;
	return now - age < r->listed_at ? r->listed_at : now - age;
}

/* One that nobody told of. all: it was there before us, and its counts are
 * not ours. */
static void
meet(struct roll *r, pid_t tid, uint64_t now, bool all)
{
	struct waiter *th = roll_add(r, tid, now);

	th->met = !all;
	roll_open_files(r, th);
	if (!all)
		th->since_ns = th->looked_at = th->held_since =
			birth_of(r, th, now);
	if (all && look_at_turns(r->target, &th->of, &th->base) == 0)
		th->last = th->base;
	th->turns_written = th->base.switches;
}

void
roll_list(struct roll *r, uint64_t now, bool all)
{
	const struct dirent *d;

	r->round++;
	rewinddir(r->tasks);
	while ((d = readdir(r->tasks))) {
		const pid_t tid = (pid_t)strtol(d->d_name, NULL, 10);
		struct waiter *th = tid > 0 ? roll_find(r, tid) : NULL;

		if (tid <= 0)
			continue;
		if (!th)
			meet(r, tid, now, all);
		th = roll_find(r, tid);
		th->round = r->round;
	}
	r->listed_at = now;
}

/* ---- clocks -------------------------------------------------------------- */

static bool
clock_now(const struct roll *r, const struct waiter *th, struct task_turns *t)
{
	return !th->ended && !th->gone_ns &&
		look_at_turns(r->target, &th->of, t) == 0;
}

static bool
clock_of(const struct waiter *th, const struct task_turns *t, uint64_t *cpu_ns)
{
	*cpu_ns = t->cpu_ns - th->base.cpu_ns;
	return t->switches && t->cpu_ns >= th->base.cpu_ns;
}

bool
roll_clock(const struct roll *r, pid_t tid, uint64_t *cpu_ns)
{
	const struct waiter *th = r ? roll_find(r, tid) : NULL;
	struct task_turns t;

	return th && clock_now(r, th, &t) && clock_of(th, &t, cpu_ns);
}

void
roll_each_clock(const struct roll *r,
		void (*tell)(void *arg, pid_t tid, uint64_t cpu_ns), void *arg)
{
	uint64_t tid, at, cpu_ns;
	size_t i = 0;

	while (r && map_next(&r->threads, &i, &tid, &at)) {
		const struct waiter *th = (struct waiter *)(uintptr_t)at;
		struct task_turns t;

		if (!clock_now(r, th, &t))
			t = th->last;
		if (clock_of(th, &t, &cpu_ns))
			tell(arg, (pid_t)tid, cpu_ns);
	}
}

uint64_t
roll_seen_cpu(const struct roll *r)
{
	uint64_t tid, at, seen = 0;
	size_t i = 0;

	while (map_next(&r->threads, &i, &tid, &at)) {
		const struct waiter *th = (struct waiter *)(uintptr_t)at;

		if (!th->ended)
			seen += th->last.cpu_ns - th->base.cpu_ns;
	}
	return seen;
}

/* ---- life ---------------------------------------------------------------- */

int
roll_init(struct roll *r, struct target *t)
{
	const int fd = openat(target_proc(t), "task",
			      O_RDONLY | O_DIRECTORY | O_CLOEXEC);

	*r = (struct roll){ .target = t };
	r->tasks = fd < 0 ? NULL : fdopendir(fd);
	if (!r->tasks && fd >= 0)
		(void)close(fd);
	return r->tasks ? 0 : -1;
}

void
roll_clear(struct roll *r)
{
	uint64_t tid, at;
	size_t i = 0;

	while (map_next(&r->threads, &i, &tid, &at))
		free_waiter((struct waiter *)(uintptr_t)at);
	map_fini(&r->threads);
	r->full = false;
}

void
roll_fini(struct roll *r)
{
	roll_clear(r);
	if (r->tasks)
		(void)closedir(r->tasks);
}
