/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * May we? Asked of the kernel by doing what is harmless and needs the same
 * right: reading the memory map to look and measure, opening its memory to
 * ptrace. Only a refusal is then explained (reasons.c), by what /proc says.
 */
#include "hazard.h"
#include "private.h"

#include <errno.h>
#include <fcntl.h>
#include <dirent.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum { KERNEL_THREAD = 0x00200000 };	/* PF_KTHREAD in stat's flags */

/* ---- what is known when a request was refused ---------------------------- */

pid_t
attach_tracer(struct target *t)
{
	pid_t *tids = NULL, tracer = 0;
	size_t cap = 0;
	const ssize_t n = target_threads(t, &tids, &cap);
	struct proc_status one;

	for (ssize_t i = 0; i < n && !tracer; i++)
		if (proc_status_thread(t, tids[i], &one) == 0)
			tracer = one.tracer;
	free(tids);
	return tracer;
}

/* A program that is not dumpable has its files in /proc owned by root; the
 * directory itself, and the files of an ended thread, tell nothing. */
bool
attach_is_private(const struct target *t, const struct proc_status *st)
{
	struct stat file;
	char path[64];

	(void)snprintf(path, sizeof path, "task/%d/maps", (int)t->live_tid);
	return fstatat(t->proc_fd, path, &file, 0) == 0 &&
		file.st_uid != st->uid[1];
}

int
attach_yama(void)
{
	char *text = file_read("/proc/sys/kernel/yama/ptrace_scope", NULL);
	const int scope = text ? atoi(text) : -1;

	free(text);
	return scope;
}

static bool
in_our_user_namespace(const struct target *t)
{
	char theirs[64] = "", ours[64] = "";

	return readlinkat(t->proc_fd, "ns/user", theirs,
			  sizeof theirs - 1) < 0 ||
		readlink("/proc/self/ns/user", ours, sizeof ours - 1) < 0 ||
		strcmp(theirs, ours) == 0;
}

/* The first one maps every number to itself. */
static bool
in_first_user_namespace(void)
{
	unsigned long inner = 1, outer = 1, count = 0;
	char *text = file_read("/proc/self/uid_map", NULL);
	const bool first = !text ||
		(sscanf(text, "%lu %lu %lu", &inner, &outer, &count) == 3 &&
		 !inner && !outer && count == UINT32_MAX);

	free(text);
	return first;
}

static void
name_of(pid_t pid, char *name, size_t size)
{
	char path[64];

	(void)snprintf(path, sizeof path, "/proc/%d/comm", (int)pid);

	char *text = file_read(path, NULL);

	(void)snprintf(name, size, "%s", text ? str_chomp(text) : "?");
	free(text);
}

static void
gather(struct target *t, struct refusal *r)
{
	r->pid = t->pid;
	r->yama = attach_yama();
	r->is_private = attach_is_private(t, &r->them);
	r->same_namespace = in_our_user_namespace(t);
	r->we_are_outside = in_first_user_namespace();
	r->tracer = r->them.tracer ? r->them.tracer : attach_tracer(t);
	if (r->tracer)
		name_of(r->tracer, r->tracer_name, sizeof r->tracer_name);
}

static int
explain(struct target *t, int error, enum refused what)
{
	struct refusal r = { .what = what };
	struct reason reason;
	const pid_t tid = target_live_thread(t);

	if (error == ESRCH || tid < 0 ||
	    proc_status_thread(t, tid, &r.them) < 0)
		return fail(FAIL_MISSING, "process %d has ended",
			    (int)t->pid);
	if (error != EPERM && error != EACCES) {
		errno = error;
		return fail_errno("cannot attach to %d (%s)", (int)t->pid,
				  t->name);
	}
	if (proc_status_of(-1, "/proc/self/status", &r.us) < 0)
		return fail_errno("read /proc/self/status");
	gather(t, &r);
	reason = refusal_reason(&r);
	fail(reason.kind, "cannot attach to %d (%s): %s: %s", (int)t->pid,
	     t->name, strerror(error), reason.why);
	fail_remedy("%s", reason.remedy);
	free(reason.why);
	free(reason.remedy);
	return -1;
}

int
attach_explain(struct target *t, int error)
{
	return explain(t, error, REFUSED_TRACE);
}

/* ---- the checks --------------------------------------------------------- */

static int
unsuitable(struct target *t, const char *why, const char *remedy)
{
	fail(FAIL_UNSUITABLE, "cannot attach to %d (%s): %s", (int)t->pid,
	     t->name, why);
	return fail_remedy("%s", remedy);
}

/* Only what can be read can be wrong; a refusal is the next check's. */
static int
check_program(struct target *t)
{
	struct program p;

	program_read(t, &p);
	if (p.known && !p.is_64 && handled(HAZARD_NARROW))
		return unsuitable(t, "it is a 32-bit program",
				  "sonde knows 64-bit programs only; perf "
				  "record -p can sample it");
	if (p.known && !p.is_native)
		return unsuitable(t, "it is a program of another machine, "
				  "under an emulator", "attach where it is "
				  "native");
	return 0;
}

int
target_check_rights(struct target *t)
{
	const pid_t tid = target_live_thread(t);
	struct task_stat st;
	char path[64], byte;
	int fd;

	if (tid < 0)
		return -1;
	if (target_stat(t, &st) == 0 && st.field[STAT_FLAGS] & KERNEL_THREAD)
		return unsuitable(t, "it is a thread of the kernel",
				  "perf record -a samples the kernel");
	(void)snprintf(path, sizeof path, "task/%d/maps", (int)tid);
	fd = openat(t->proc_fd, path, O_RDONLY | O_CLOEXEC);

	const ssize_t n = fd < 0 ? -1 : read(fd, &byte, 1);
	const int error = errno;

	if (fd >= 0)
		close(fd);
	if (n < 0)
		return explain(t, error, REFUSED_LOOK);
	if (check_program(t) < 0)
		return -1;
	return handled(HAZARD_FROZEN) ? target_check_frozen(t) : 0;
}

int
target_check_ptrace(struct target *t)
{
	struct proc_status st;
	char path[64];
	pid_t tid;
	int fd;

	if (target_check_rights(t) < 0)
		return -1;
	tid = target_live_thread(t);
	if (tid < 0)
		return -1;
	if (proc_status_thread(t, tid, &st) == 0 && st.tracer &&
	    st.tracer != tracer_tid())
		return explain(t, EPERM, REFUSED_TRACE);
	/* Opening it needs what seizing needs, and does nothing. */
	(void)snprintf(path, sizeof path, "task/%d/mem", (int)tid);
	fd = openat(t->proc_fd, path, O_RDONLY | O_CLOEXEC);
	if (fd < 0)
		return explain(t, errno, REFUSED_TRACE);
	close(fd);
	return 0;
}

/* Only for the remedy of a number that does not exist here. */
pid_t
attach_outer_pid(pid_t pid)
{
	DIR *dir = opendir("/proc");
	const struct dirent *entry;
	pid_t found = 0;

	if (!dir)
		return 0;
	while (!found && (entry = readdir(dir))) {
		struct proc_status st;
		long long outer;

		if (str_number(entry->d_name, 1, INT32_MAX, &outer) &&
		    proc_status_tid((pid_t)outer, &st) == 0 &&
		    st.ns_depth > 1 && st.ns_pid == pid)
			found = (pid_t)outer;
	}
	closedir(dir);
	return found;
}
