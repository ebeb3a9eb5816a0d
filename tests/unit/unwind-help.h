/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * For the unwind tests: a space made from /proc/PID/maps, registers of this
 * or a stopped process, and the comparison of two traces.
 */
#ifndef UNWIND_HELP_H
#define UNWIND_HELP_H

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ptrace.h>
#include <sys/uio.h>
#include <sys/user.h>
#include <unistd.h>

#include "arch.h"
#include "base.h"
#include "unwind.h"

static int failures __attribute__((unused));

#define CHECK(condition, ...) do { \
	if (!(condition)) { \
		printf("%s:%d: ", __FILE__, __LINE__); \
		printf(__VA_ARGS__); \
		putchar('\n'); \
		failures++; \
	} \
} while (0)

/* Objects are shared by path, as the product does. */
struct help_object {
	char path[512];
	struct unwind_object *obj;
};

struct help_space {
	struct unwind_space *space;
	struct help_object objects[256];
	size_t count;
};

static inline int
help_read(void *pid, uint64_t addr, void *buf, size_t n)
{
	struct iovec to = { buf, n }, from = { (void *)(uintptr_t)addr, n };

	return process_vm_readv((pid_t)(intptr_t)pid, &to, 1, &from, 1, 0) ==
	       (ssize_t)n ? 0 : -1;
}

static inline struct unwind_object *
help_object(struct help_space *h, pid_t pid, const char *path, uint64_t start,
	    uint64_t end)
{
	struct unwind_object *obj;

	for (size_t i = 0; i < h->count; i++)
		if (strcmp(h->objects[i].path, path) == 0)
			return h->objects[i].obj;
	if (strcmp(path, "[vdso]") == 0) {
		void *image = xmalloc(end - start);

		if (help_read((void *)(intptr_t)pid, start, image,
			      end - start) < 0) {
			free(image);
			return NULL;
		}
		obj = unwind_object_memory(image, end - start, start, path);
	} else {
		obj = unwind_object_open(open(path, O_RDONLY | O_CLOEXEC),
					 path);
	}
	if (!obj || h->count == ARRAY_LEN(h->objects))
		return obj;
	snprintf(h->objects[h->count].path, sizeof h->objects[0].path, "%s",
		 path);
	h->objects[h->count++].obj = obj;
	return obj;
}

/* Maps every executable mapping of pid; *stack_end of the mapping that holds
 * sp. */
static inline void
help_space_open(struct help_space *h, pid_t pid, uint64_t sp,
		uint64_t *stack_end)
{
	char name[64], line[1024];
	FILE *maps;

	memset(h, 0, sizeof *h);
	h->space = unwind_space_new();
	snprintf(name, sizeof name, "/proc/%d/maps", (int)pid);
	maps = fopen(name, "r");
	while (maps && fgets(line, sizeof line, maps)) {
		unsigned long start, end, offset;
		char prot[8], path[512] = "";

		if (sscanf(line, "%lx-%lx %7s %lx %*s %*s %511s", &start, &end,
			   prot, &offset, path) < 4)
			continue;
		if (stack_end && sp >= start && sp < end)
			*stack_end = end;
		if (prot[2] != 'x' || strcmp(path, "[vsyscall]") == 0)
			continue;
		unwind_space_map(h->space, start, end, offset,
				 path[0] ? help_object(h, pid, path, start,
						       end) : NULL);
	}
	if (maps)
		fclose(maps);
}

static inline void
help_space_close(struct help_space *h)
{
	unwind_space_free(h->space);
	for (size_t i = 0; i < h->count; i++)
		unwind_object_free(h->objects[i].obj);
}

static inline const char *
help_place(const struct help_space *h, uint64_t pc)
{
	static char text[64];

	(void)h;
	snprintf(text, sizeof text, "%#llx", (unsigned long long)pc);
	return text;
}

static inline void
help_print(const char *name, const struct unwind_trace *t)
{
	printf("  %s: end %d, full %u, failed %u:", name, (int)t->end,
	       t->full_steps, t->failed_steps);
	for (size_t i = 0; i < t->len && i < 40; i++)
		printf(" %llx", (unsigned long long)t->pcs[i]);
	putchar('\n');
}

static inline bool
help_same(const struct unwind_trace *a, const struct unwind_trace *b)
{
	return a->end == b->end && a->len == b->len &&
	       memcmp(a->pcs, b->pcs, a->len * sizeof *a->pcs) == 0;
}

#endif
