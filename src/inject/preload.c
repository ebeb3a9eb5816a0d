/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Launching: the library comes by LD_PRELOAD, from the installed file where
 * that is ours beyond doubt, else from a memfd that the program inherits.
 * Once ld.so has loaded it, all is given back before the program runs: the
 * variable, its bytes, the descriptor.
 *
 * The variable is added at the end, with an empty one behind it, and a
 * LD_PRELOAD of the user stays where it is: of two, ld.so takes the last.
 *
 *	envp: ... user's  ours  empty  NULL  auxv ...
 *	  ->: ... user's  NULL  { AT_IGNORE  0 }  auxv ...
 *
 * So nothing moves that ld.so has an address of, and who walks from the
 * environment on to the auxiliary vector still arrives there.
 */
#include <elf.h>
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "hazard.h"
#include "private.h"

#define VARIABLE "LD_PRELOAD="

enum {
	FD_LEAST = 100,		/* a number that programs rarely see */
	ENTRIES_MAX = 1 << 20,
};

/* ---- in the shell: before the fork --------------------------------------- */

static size_t
image_size(void)
{
	return (size_t)(collector_image_end - collector_image);
}

static bool
is_kept(const struct stat *st, mode_t others)
{
	return (st->st_uid == 0 || st->st_uid == geteuid()) &&
		!(st->st_mode & others);
}

/*
 * Each directory on the way: who may write in one could put another file in
 * our place after we looked. (Further up a sticky one will do: there nobody
 * renames what is not his.) A path without links.
 */
static bool
is_way_kept(const char *path)
{
	const char *file = strrchr(path, '/');
	const char *end;
	struct stat st;
	bool kept = true;

	for (end = path; kept && end; end = strchr(end + 1, '/')) {
		const size_t n = end == path ? 1 : (size_t)(end - path);
		char *dir = xasprintf("%.*s", (int)n, path);

		kept = stat(dir, &st) == 0 &&
			is_kept(&st, end != file && st.st_mode & S_ISVTX ? 0 :
				S_IWGRP | S_IWOTH);
		free(dir);
	}
	return kept;
}

/* Ours, byte for byte, and nobody else's to change. */
static bool
is_installed(const char *path)
{
	struct stat st;
	size_t size = 0;
	char *bytes;
	bool same;

	if (stat(path, &st) < 0 || !S_ISREG(st.st_mode) ||
	    strpbrk(path, " :"))
		return false;
	if (handled(HAZARD_LIBRARY_PATH) &&
	    (!is_kept(&st, S_IWGRP | S_IWOTH) || !is_way_kept(path)))
		return false;
	bytes = file_read(path, &size);
	same = bytes && size == image_size() &&
		memcmp(bytes, collector_image, size) == 0;
	free(bytes);
	return same;
}

/* Where the installed library really is, if it may be loaded; or NULL. */
static char *
find_installed(const char *installed)
{
	char *path = installed ? realpath(installed, NULL) : NULL;

	if (path && !is_installed(path)) {
		free(path);
		path = NULL;
	}
	return path;
}

static int
make_inherited(void)
{
	const int fd = memfd_create("sonde-collector", MFD_CLOEXEC |
				    MFD_ALLOW_SEALING);
	int high = -1;

	if (fd < 0)
		return fail_errno("memfd_create");
	if (load_fill_library(fd) == 0) {
		high = fcntl(fd, F_DUPFD, FD_LEAST);
		if (high < 0)
			high = fcntl(fd, F_DUPFD, STDERR_FILENO + 1);
		if (high < 0)
			(void)fail_errno("duplicate a descriptor");
	}
	close(fd);
	return high;
}

static const char *
users_preload(char *const *envp)
{
	const char *value = NULL;

	for (; envp && *envp; envp++)
		if (str_starts(*envp, VARIABLE))
			value = *envp + strlen(VARIABLE);
	return value && *value ? value : NULL;
}

static void
build_environment(struct preload *p, char *const *envp, const char *path)
{
	const char *user = users_preload(envp);
	size_t n = 0;

	while (envp[n])
		n++;
	p->variable = user ? xasprintf(VARIABLE "%s:%s", user, path) :
		xasprintf(VARIABLE "%s", path);
	p->envp = xcalloc(n + 3, sizeof *p->envp);
	memcpy(p->envp, envp, n * sizeof *envp);
	p->envp[n] = p->variable;
	p->envp[n + 1] = (char *)"";
}

int
preload_open(struct preload *p, const char *installed, char *const *envp)
{
	char *kept = find_installed(installed);
	char path[64];

	*p = (struct preload){ .fd = -1 };
	if (kept) {
		build_environment(p, envp, kept);
		free(kept);
		return 0;
	}
	p->fd = make_inherited();
	if (p->fd < 0)
		return fail_in("give the program the collector");
	/* unlike any name that the program gives to dlopen */
	snprintf(path, sizeof path, "//proc/self/fd/%d", p->fd);
	build_environment(p, envp, path);
	return 0;
}

void
preload_close(struct preload *p)
{
	if (p->fd >= 0)
		close(p->fd);
	p->fd = -1;
	free(p->variable);
	free(p->envp);
	p->variable = NULL;
	p->envp = NULL;
}

/* ---- in the tracer: the environment -------------------------------------- */

/* Where the kernel put argc. */
static uint64_t
stack_start(struct target *t)
{
	struct task_stat st;

	(void)target_stat(t, &st);	/* gone: 0 */
	return st.field[STAT_START_STACK];
}

static bool
holds_text(struct target *t, uint64_t at, const char *text)
{
	const size_t n = strlen(text) + 1;
	char *there = xmalloc(n);
	const bool same = target_read(t, at, there, n) == 0 &&
		memcmp(there, text, n) == 0;

	free(there);
	return same;
}

/* The slot of the variable, 0: it is not there. */
static uint64_t
find_slot(struct target *t, const char *variable)
{
	const uint64_t start = stack_start(t);
	uint64_t at = start, word, nulls = 0;
	unsigned left = ENTRIES_MAX;

	/* past argc: argv, NULL, envp, NULL */
	while (start && nulls < 2 && left-- > 0) {
		at += sizeof word;
		if (target_read(t, at, &word, sizeof word) < 0)
			return 0;
		nulls += word == 0;
	}
	if (nulls < 2)
		return 0;
	at -= 2 * sizeof word;
	if (target_read(t, at, &word, sizeof word) < 0 ||
	    !holds_text(t, word, variable))
		return 0;
	return at;
}

static int
clear_variable(struct target *t, const char *variable)
{
	static const uint64_t end_and_ignore[3] = { 0, AT_IGNORE, 0 };
	const uint64_t slot = find_slot(t, variable);
	const size_t n = strlen(variable);
	uint64_t text;
	char *zeros;
	int r;

	if (!slot)
		return fail(FAIL_UNSUITABLE, "its environment is not where "
			    "the kernel puts it");
	if (target_read(t, slot, &text, sizeof text) < 0)
		return -1;
	zeros = xcalloc(n, 1);
	r = target_write(t, slot, end_and_ignore, sizeof end_and_ignore);
	if (r == 0)
		r = target_write(t, text, zeros, n);
	free(zeros);
	return r;
}

static int
close_there(struct target *t, int fd)
{
	const uint64_t args[6] = { (uint64_t)fd };
	int64_t result = 0;

	if (bare_syscall(t, SYS_close, args, NULL, 0, &result) < 0)
		return -1;
	if (result == 0)
		return 0;
	errno = (int)-result;
	return fail_errno("close a descriptor in the target");
}

/* What refused to preload anything has no name to change. */
static int
rename_library(struct target *t)
{
	struct plan p;
	int r = 0;

	if (plan_make(t, &p) < 0)
		return target_gone(t) ? -1 : 0;
	if (p.library)
		r = plan_rename_library(&p);
	plan_fini(&p);
	return r;
}

int
preload_give_back(struct target *t, const char *variable, int fd)
{
	if (clear_variable(t, variable) < 0 ||
	    (fd >= 0 && (close_there(t, fd) < 0 || rename_library(t) < 0)))
		return fail_in("process %d: give its environment back",
			       target_pid(t));
	return 0;
}
