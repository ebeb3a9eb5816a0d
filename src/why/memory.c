/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Copies of another process's memory, texts of its /proc, its threads.
 */
#include "private.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/uio.h>

enum { MEMBERS_AGE_MS = 20 };

int
memory_read(pid_t tid, uint64_t addr, void *to, size_t n)
{
	return pages_read(tid, tid, addr, to, n) == (ssize_t)n ? 0 : -1;
}

void
why_remember(struct why *y, const struct why_then *then)
{
	y->thens = xgrow(y->thens, &y->then_cap, y->then_len + 1,
			 sizeof *y->thens);
	y->thens[y->then_len++] = *then;
	map_put(&y->then_of, (uint64_t)then->tid, y->then_len);
}

const struct why_then *
then_find(const struct why *y, pid_t tid)
{
	uint64_t place;

	return map_get(&y->then_of, (uint64_t)tid, &place) ?
		&y->thens[place - 1] : NULL;
}

int
memory_then(const struct why *y, const struct wait *w, uint64_t addr,
	    void *to, size_t n)
{
	const struct why_then *then = then_find(y, w->tid);

	if (!then || (then->turns && !w->past))
		return memory_read(w->tid, addr, to, n);
	if (addr >= then->at && addr - then->at <= then->n &&
	    n <= then->n - (addr - then->at)) {
		memcpy(to, (const unsigned char *)then->bytes +
		       (addr - then->at), n);
		return 0;
	}
	return w->past ? -1 : memory_read(w->tid, addr, to, n);
}

char *
proc_text(pid_t pid, const char *fmt, ...)
{
	va_list ap;

	va_start(ap, fmt);

	char *rest = xvasprintf(fmt, ap);

	va_end(ap);

	char *path = xasprintf("/proc/%d/%s", (int)pid, rest);
	char *text = file_read(path, NULL);

	free(path);
	free(rest);
	return text;
}

/* ---- threads ------------------------------------------------------------ */

bool
process_is_inside(pid_t pid)
{
	struct stat ours, its;
	char *path = xasprintf("/proc/%d/ns/pid", (int)pid);
	const bool known = stat("/proc/self/ns/pid", &ours) == 0 &&
		stat(path, &its) == 0;

	free(path);
	return known && ours.st_ino != its.st_ino;
}

/* The last number of "NSpid:	4711	12". */
static pid_t
inner_number(pid_t pid, pid_t tid)
{
	char *text = proc_text(pid, "task/%d/status", (int)tid);
	char *line = text ? strstr(text, "\nNSpid:") : NULL;
	pid_t inner = tid;

	if (line) {
		line[1 + strcspn(line + 1, "\n")] = '\0';

		const char *last = strrchr(line, '\t');

		inner = last ? (pid_t)strtol(last + 1, NULL, 10) : tid;
	}
	free(text);
	return inner;
}

static void
members_read(struct members *m, pid_t pid)
{
	char *path = xasprintf("/proc/%d/task", (int)pid);
	DIR *dir = opendir(path);
	const struct dirent *e;
	const bool inside = process_is_inside(pid);

	m->pid = pid;
	m->len = 0;
	while (dir && m->len < THREADS_MAX && (e = readdir(dir))) {
		const pid_t tid = (pid_t)strtol(e->d_name, NULL, 10);

		if (tid <= 0)
			continue;
		m->items = xgrow(m->items, &m->cap, m->len + 1,
				 sizeof *m->items);
		m->items[m->len++] = (struct member){
			tid, inside ? inner_number(pid, tid) : tid
		};
	}
	if (dir)
		closedir(dir);
	free(path);
	m->read_at = now_ns();
}

const struct members *
members_of(struct why *y, pid_t pid)
{
	struct members *m = &y->members;

	if (m->pid != pid ||
	    now_ns() - m->read_at > MEMBERS_AGE_MS * UINT64_C(1000000))
		members_read(m, pid);
	return m;
}

pid_t
member_by_inner(const struct members *m, pid_t inner)
{
	for (size_t i = 0; i < m->len; i++)
		if (m->items[i].inner == inner)
			return m->items[i].tid;
	return 0;
}
