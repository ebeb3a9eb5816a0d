/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Is it as it was? By /proc, from outside: threads that stand, tracers,
 * descriptors, timers, limits, handlers, masks, memory. What an engine may
 * leave is known: the inert library with the zeroed data behind it, and what
 * libc keeps for any thread that ever ran (an arena, or single pieces where
 * there is no room for one; handlers of its own signals 32 and 33).
 */
#include "torture.h"

#include <ctype.h>
#include <dirent.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum {
	DATA_PAGES = 192,	/* of the library, at most: hot_threads, guest */
	LOOKS = 8,		/* at the signals that are blocked */
	LOOKS_MOST = 1000,	/* times so many, where a handler stands */
};

struct list {
	char **item;
	size_t n, cap;
};

struct health {
	struct list facts;	/* lines that must all be there again */
	struct list maps;
	uint64_t blocked, ignored, caught;
};

static void
add(struct list *l, char *text)
{
	if (l->n == l->cap) {
		l->cap = l->cap ? 2 * l->cap : 64;
		l->item = realloc(l->item, l->cap * sizeof *l->item);
	}
	l->item[l->n++] = text;
}

static void
list_fini(struct list *l)
{
	while (l->n > 0)
		free(l->item[--l->n]);
	free(l->item);
}

static bool
has(const struct list *l, const char *text)
{
	size_t i;

	for (i = 0; i < l->n; i++)
		if (strcmp(l->item[i], text) == 0)
			return true;
	return false;
}

static char *
proc_text(pid_t pid, const char *name)
{
	char path[128];

	snprintf(path, sizeof path, "/proc/%d/%s", pid, name);
	return read_text(path);
}

static void
add_lines(struct list *l, pid_t pid, const char *name)
{
	char *text = proc_text(pid, name), *line, *save = NULL, *whole;

	for (line = text ? strtok_r(text, "\n", &save) : NULL; line;
	     line = strtok_r(NULL, "\n", &save))
		if (asprintf(&whole, "%s %s", name, line) > 0)
			add(l, whole);
	free(text);
}

static void
add_descriptors(struct list *l, pid_t pid)
{
	char path[64], link[256], *whole;
	struct dirent *e;
	DIR *d;

	snprintf(path, sizeof path, "/proc/%d/fd", pid);
	d = opendir(path);
	while (d && (e = readdir(d))) {
		const ssize_t n = readlinkat(dirfd(d), e->d_name, link,
					     sizeof link - 1);

		if (n > 0 && asprintf(&whole, "descriptor %s %.*s", e->d_name,
				      (int)n, link) > 0)
			add(l, whole);
	}
	if (d)
		closedir(d);
}

static void
add_tasks(struct list *l, pid_t pid)
{
	char path[64], *whole;
	struct dirent *e;
	DIR *d;

	snprintf(path, sizeof path, "/proc/%d/task", pid);
	d = opendir(path);
	while (d && (e = readdir(d)))
		if (isdigit((unsigned char)e->d_name[0]) &&
		    asprintf(&whole, "thread %s", e->d_name) > 0)
			add(l, whole);
	if (d)
		closedir(d);
}

static uint64_t
mask_of(const char *status, const char *key)
{
	const char *at = status ? strstr(status, key) : NULL;

	return at ? strtoull(at + strlen(key), NULL, 16) & ~(3ull << 31) : 0;
}

static void
look_at_signals(struct health *h, pid_t pid)
{
	for (int i = 0; i < LOOKS; i++) {
		char *status = proc_text(pid, "status");

		/* what a handler blocks while it runs is not blocked */
		h->blocked &= mask_of(status, "\nSigBlk:");
		h->ignored = mask_of(status, "\nSigIgn:");
		h->caught = mask_of(status, "\nSigCgt:");
		free(status);
		rest_ms(1);
	}
}

struct health *
health_take(const struct victim *v)
{
	struct health *h = calloc(1, sizeof *h);

	h->blocked = ~UINT64_C(0);
	look_at_signals(h, v->pid);
	add_lines(&h->facts, v->pid, "limits");
	if (v->s->traits & QUIET) {
		add_lines(&h->facts, v->pid, "timers");
		add_descriptors(&h->facts, v->pid);
		add_tasks(&h->facts, v->pid);
		add_lines(&h->maps, v->pid, "maps");
	}
	return h;
}

void
health_free(struct health *h)
{
	if (!h)
		return;
	list_fini(&h->facts);
	list_fini(&h->maps);
	free(h);
}

/* ---- memory -------------------------------------------------------------- */

struct span {
	uint64_t start, end;
	char how[5];
};

static struct span
span_of(const char *line)
{
	struct span s = {0};

	(void)sscanf(line, "maps %lx-%lx %4s", &s.start, &s.end, s.how);
	return s;
}

static bool
covered(const struct list *maps, uint64_t page)
{
	size_t i;

	for (i = 0; i < maps->n; i++) {
		const struct span s = span_of(maps->item[i]);

		if (page >= s.start && page < s.end)
			return true;
	}
	return false;
}

/* The library and its zeroed data behind it; the heap; an arena of libc. */
static bool
may_be_new(const struct health *was, const struct health *now, uint64_t page)
{
	const uint64_t arena = 64 << 20, data = DATA_PAGES * 4096;
	size_t i;

	for (i = 0; i < now->maps.n; i++) {
		const char *line = now->maps.item[i];
		const struct span s = span_of(line);

		if ((strstr(line, "sonde-collector") || strstr(line, "[heap]") ||
		     strstr(line, "[stack]")) &&
		    page >= s.start && page < s.end + data)
			return true;
		/* it begins at 64 MB, and was not there */
		if (s.start % arena == 0 && page >= s.start &&
		    page < s.start + arena && strncmp(s.how, "rw", 2) == 0)
			return true;
	}
	return covered(&was->maps, page & ~(arena - 1));
}

/*
 * Address space without a page of memory in it, but for the library's own
 * data when it lies right behind: a visit was killed between its mmap and its
 * first word there, and nobody can tell whose it is.
 */
static bool
is_untouched(pid_t pid, uint64_t start, bool behind_library)
{
	char head[32], *text = proc_text(pid, "smaps"), *at;
	long kb = -1;

	snprintf(head, sizeof head, "%08lx-", start);
	at = text ? strstr(text, head) : NULL;
	at = at ? strstr(at, "\nRss:") : NULL;
	if (at)
		kb = strtol(at + 5, NULL, 10);
	free(text);
	return kb == 0 || (behind_library && kb > 0 && kb <= 4 * DATA_PAGES);
}

/*
 * Where no arena has room malloc maps each piece by itself, and says so in the
 * word in front of it: its size, and bit 1 (IS_MMAPPED, glibc's malloc.c). The
 * kernel may show it as one with what lies beside it. Its size, 0: no piece.
 */
static uint64_t
piece_of_libc(pid_t pid, uint64_t at, uint64_t end)
{
	uint64_t size;
	char path[64];
	uint64_t head[2] = {0};
	FILE *mem;

	snprintf(path, sizeof path, "/proc/%d/mem", pid);
	mem = fopen(path, "r");
	if (mem && (fseek(mem, (long)at, SEEK_SET) < 0 ||
		    fread(head, sizeof head, 1, mem) != 1))
		head[1] = 0;
	if (mem)
		fclose(mem);
	size = head[1] & ~(uint64_t)7;
	return head[0] == 0 && (head[1] & 7) == 2 && size % 4096 == 0 &&
	       size <= end - at ? size : 0;
}

static unsigned
new_memory(pid_t pid, const struct health *was, const struct health *now)
{
	unsigned bad = 0;
	size_t i;

	for (i = 0; i < now->maps.n; i++) {
		const struct span s = span_of(now->maps.item[i]);
		uint64_t page;

		for (page = s.start; page < s.end; page += 4096)
			if (!covered(&was->maps, page) &&
			    !may_be_new(was, now, page)) {
				const uint64_t piece =
					piece_of_libc(pid, page, s.end);

				if (piece) {
					page += piece - 4096;
					continue;
				}
				if (is_untouched(pid, s.start, i &&
				    strstr(now->maps.item[i - 1],
					   "sonde-collector")))
					break;
				printf("    new: %s\n    above %s\n",
				       now->maps.item[i],
				       i ? now->maps.item[i - 1] : "nothing");
				bad++;
				break;
			}
	}
	return bad;
}

/* ---- the comparison ------------------------------------------------------ */

static unsigned
not_in(const struct list *a, const struct list *b, const char *what)
{
	unsigned bad = 0;
	size_t i;

	for (i = 0; i < a->n; i++)
		if (!has(b, a->item[i])) {
			printf("    %s: %s\n", what, a->item[i]);
			bad++;
		}
	return bad;
}

unsigned
health_compare(const struct health *was, const struct victim *v)
{
	struct health *now = health_take(v);
	unsigned bad = 0;

	/* a handler that got no processor stood there at each look */
	for (int i = 0; i < LOOKS_MOST && now->blocked & ~was->blocked; i++)
		look_at_signals(now, v->pid);
	bad += not_in(&was->facts, &now->facts, "gone");
	bad += not_in(&now->facts, &was->facts, "new");
	bad += new_memory(v->pid, was, now);
	if (!(v->s->traits & OWN_SIGNALS) &&
	    (was->blocked != now->blocked || was->ignored != now->ignored ||
	     was->caught != now->caught)) {
		printf("    signals blocked %lx -> %lx, ignored %lx -> %lx, "
		       "caught %lx -> %lx\n", was->blocked, now->blocked,
		       was->ignored, now->ignored, was->caught, now->caught);
		bad++;
	}
	health_free(now);
	return bad;
}
