/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Synthetic experiments with a known truth. The load object is this very
 * program, so the functions on the stacks are functions of the test. What a
 * test adds it sums up itself and compares.
 */
#ifndef PROFILE_HELP_H
#define PROFILE_HELP_H

#include <elf.h>
#include <fcntl.h>
#include <ftw.h>
#include <inttypes.h>
#include <link.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base.h"
#include "experiment.h"

#define MS UINT64_C(1000000)

static int failures;

#define CHECK(cond) do { \
	if (!(cond)) { \
		printf("%s:%d: %s\n", __FILE__, __LINE__, #cond); \
		failures++; \
	} \
} while (0)

#define CHECK_EQ(got, want) do { \
	const uint64_t got_ = (got), want_ = (want); \
	if (got_ != want_) { \
		printf("%s:%d: %s is %" PRIu64 ", not %" PRIu64 "\n", \
		       __FILE__, __LINE__, #got, got_, want_); \
		failures++; \
	} \
} while (0)

struct text {			/* the code of this program, as mapped */
	char path[512];
	uint64_t start, size, offset;
	uint64_t bias;
};

static int
find_text(struct dl_phdr_info *info, size_t size, void *arg)
{
	struct text *text = arg;

	(void)size;
	for (int i = 0; i < info->dlpi_phnum; i++) {
		const ElfW(Phdr) *ph = &info->dlpi_phdr[i];

		if (ph->p_type == PT_LOAD && ph->p_flags & PF_X) {
			text->bias = info->dlpi_addr;
			text->start = info->dlpi_addr + ph->p_vaddr;
			text->size = ph->p_memsz;
			text->offset = ph->p_offset;
		}
	}
	return 1;	/* the first one is the program */
}

__attribute__((unused)) static struct text
own_text(void)
{
	struct text text = {0};
	const ssize_t n = readlink("/proc/self/exe", text.path,
				   sizeof text.path - 1);

	dl_iterate_phdr(find_text, &text);
	if (n < 0 || !text.size) {
		puts("cannot find the text of this program");
		exit(99);
	}
	return text;
}

/* Run-time address of a section, 0 when there is none. */
__attribute__((unused)) static uint64_t
own_section(const struct text *text, const char *name)
{
	char *data = file_read(text->path, NULL);
	const Elf64_Ehdr *eh = (const Elf64_Ehdr *)data;
	uint64_t found = 0;

	if (!data)
		exit(99);

	const Elf64_Shdr *sh = (const Elf64_Shdr *)(data + eh->e_shoff);
	const char *names = data + sh[eh->e_shstrndx].sh_offset;

	for (int i = 0; i < eh->e_shnum; i++)
		if (!strcmp(names + sh[i].sh_name, name))
			found = text->bias + sh[i].sh_addr;
	free(data);
	return found;
}

static char scratch[512];

__attribute__((unused)) static int
remove_entry(const char *path, const struct stat *st, int type,
	     struct FTW *ftw)
{
	(void)st, (void)type, (void)ftw;
	return remove(path);
}

static void
remove_scratch(void)
{
	(void)nftw(scratch, remove_entry, 16, FTW_DEPTH | FTW_PHYS);
}

static void
make_scratch(void)
{
	const char *tmp = getenv("TMPDIR");

	snprintf(scratch, sizeof scratch, "%s/profile-XXXXXX",
		 tmp ? tmp : "/tmp");
	if (!mkdtemp(scratch)) {
		perror(scratch);
		exit(99);
	}
	atexit(remove_scratch);
}

/* The caller frees it. */
static char *
scratch_path(const char *name)
{
	return xasprintf("%s/%s", scratch, name);
}

static struct experiment *
new_experiment(const char *path, uint64_t start_ns)
{
	struct experiment_info info = {
		.path = path, .pid = getpid(), .ppid = 1, .pgrp = 1, .sid = 1,
		.cwd = "/", .command = "synthetic --with words",
		.attached = true, .interval_ns = 10 * MS, .engine = "ring",
		.engine_why = "made up for a test", .start_ns = start_ns,
		.owner = (uid_t)-1, .group = (gid_t)-1,
	};
	struct experiment *exp = experiment_create(&info);

	if (!exp) {
		printf("create %s: %s\n", path, fail_last()->reason);
		exit(99);
	}
	return exp;
}

__attribute__((unused)) static void
map_text(struct experiment *exp, const struct text *text, uint64_t time_ns)
{
	experiment_map(exp, time_ns, text->start, text->size, text->offset, 5,
		       text->path, NULL);
}

__attribute__((unused)) static void
copy_file(const char *from, const char *to)
{
	size_t size;
	char *data = file_read(from, &size);
	const int fd = open(to, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0755);

	if (!data || fd < 0 || write_all(fd, data, size) < 0) {
		perror(to);
		exit(99);
	}
	close(fd);
	free(data);
}

#endif
