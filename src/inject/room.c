/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Has the target room for what we bring? Two threads for a moment, some
 * descriptors, mappings, address space. Each is limited somewhere, and a
 * limit met half way would leave the program a part of us or, worse, none of
 * what it needs itself. So all are asked before anything is begun, and the
 * one that is too low is named, with the command that raises it. None is
 * changed: they are the program's.
 */
#include <dirent.h>
#include <fcntl.h>
#include <sched.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include "hazard.h"
#include "private.h"

enum {
	TIMERS_SPARE = 8,	/* of threads to come */
	TASKS_NEEDED = 2,	/* the helper and the thread it makes */
	FILES_NEEDED = 4,	/* library, records, what the loader opens */
	MAPS_NEEDED = 32,	/* some are the program's to come */
	FILES_SPARE = 64, TASKS_SPARE = 64, MAPS_SPARE = 4096,
	IPC_LOCK_BIT = 14, SYS_ADMIN_BIT = 21, SYS_RESOURCE_BIT = 24,
};
#define OWN_BYTES	UINT64_C(0x200000)	/* scratch and library */
#define ARENA_BYTES	UINT64_C(0x4000000)	/* of malloc, as reserved */
#define BYTES_SPARE	UINT64_C(0x10000000)	/* an arena of malloc, too */
#define UNLIMITED	UINT64_MAX

struct room {
	struct target *t;
	uint64_t bytes;		/* address space */
	char *status, *limits;
};

/* ---- what it has and may have -------------------------------------------- */

static char *
of_thread(struct target *t, const char *name)
{
	char path[64];

	snprintf(path, sizeof path, "task/%d/%s", target_live_thread(t),
		 name);
	return file_read_at(target_proc(t), path, NULL);
}

static uint64_t
status_value(const struct room *r, const char *key, int base)
{
	const char *at = r->status ? strstr(r->status, key) : NULL;

	return at ? strtoull(at + strlen(key), NULL, base) : 0;
}

/* "Max open files   1024   4096   files" */
static void
limit(const struct room *r, const char *name, uint64_t *soft, uint64_t *hard)
{
	const char *at = r->limits ? strstr(r->limits, name) : NULL;
	char words[2][32] = { "", "" };

	*soft = *hard = UNLIMITED;
	if (!at || sscanf(at + strlen(name), " %31s %31s", words[0],
			  words[1]) != 2)
		return;
	if (strcmp(words[0], "unlimited") != 0)
		*soft = strtoull(words[0], NULL, 10);
	if (strcmp(words[1], "unlimited") != 0)
		*hard = strtoull(words[1], NULL, 10);
}

/* Its owner may raise a soft limit as far as the hard one. */
static int
too_low(const struct room *r, const char *what, const char *option,
	uint64_t soft, uint64_t hard, uint64_t used, uint64_t wanted)
{
	const int pid = (int)target_pid(r->t);

	(void)fail(FAIL_UNSUITABLE, "its limit on %s is %llu and it uses "
		   "%llu, which leaves us no room", what,
		   (unsigned long long)soft, (unsigned long long)used);
	if (wanted <= hard)
		return fail_remedy("prlimit --pid %d --%s=%llu:, or: "
				   PLAN_OTHER_ENGINE, pid, option,
				   (unsigned long long)wanted);
	return fail_remedy("%sprlimit --pid %d --%s=%llu:%llu, or: "
			   PLAN_OTHER_ENGINE, fail_sudo(), pid, option,
			   (unsigned long long)wanted,
			   (unsigned long long)wanted);
}

/* ---- threads ------------------------------------------------------------- */

/* Of all processes and threads of its user, but only where the limit can
 * matter at all: it takes a look at each process. */
static uint64_t
count_tasks(unsigned long uid)
{
	DIR *dir = opendir("/proc");
	const struct dirent *entry;
	uint64_t tasks = 0;

	while (dir && (entry = readdir(dir))) {
		char path[300];
		long long pid;

		if (!str_number(entry->d_name, 1, INT32_MAX, &pid))
			continue;
		snprintf(path, sizeof path, "/proc/%s/status",
			 entry->d_name);

		const struct room one = { .status = file_read(path, NULL) };

		if (status_value(&one, "\nUid:", 10) == uid)
			tasks += status_value(&one, "\nThreads:", 10);
		free(one.status);
	}
	if (dir)
		closedir(dir);
	return tasks;
}

/* "0.05 0.03 0.01 1/213 4711": of the whole machine */
static uint64_t
all_tasks(void)
{
	char *text = file_read("/proc/loadavg", NULL);
	const char *at = text ? strchr(text, '/') : NULL;
	const uint64_t tasks = at ? strtoull(at + 1, NULL, 10) : UNLIMITED;

	free(text);
	return tasks;
}

static int
check_tasks(const struct room *r)
{
	const uint64_t caps = status_value(r, "\nCapEff:", 16);
	const uint64_t uid = status_value(r, "\nUid:", 10);
	uint64_t soft, hard, used;

	limit(r, "Max processes", &soft, &hard);
	/* whom the kernel does not hold to it (copy_process, 6.18) */
	if (uid == 0 || caps >> SYS_RESOURCE_BIT & 1 ||
	    caps >> SYS_ADMIN_BIT & 1 ||
	    soft > all_tasks() + TASKS_NEEDED)
		return 0;
	used = count_tasks(uid);
	if (used + TASKS_NEEDED <= soft)
		return 0;
	return too_low(r, "processes of its user", "nproc", soft, hard, used,
		       used + TASKS_SPARE);
}

static int
check_pids(const struct room *r)
{
	char *dir = target_full_pids(r->t, TASKS_NEEDED);

	if (!dir)
		return 0;
	(void)fail(FAIL_UNSUITABLE, "its control group %s is full (pids.max)",
		   dir);
	(void)fail_remedy_write("max", dir, "pids.max",
				", or: " PLAN_OTHER_ENGINE);
	free(dir);
	return -1;
}

/* The kernel lets a thread of a deadline make no other (sched_fork). */
static int
check_scheduling(const struct room *r)
{
	pid_t *tids = NULL;
	size_t cap = 0;
	const ssize_t n = target_threads(r->t, &tids, &cap);
	bool fit = n <= 0;

	for (ssize_t i = 0; i < n && !fit; i++)
		fit = sched_getscheduler(tids[i]) != SCHED_DEADLINE;
	free(tids);
	return fit ? 0 : plan_refuse("all its threads are scheduled by "
				     "deadline (SCHED_DEADLINE) and cannot "
				     "make another");
}

/* ---- descriptors --------------------------------------------------------- */

/* Since Linux 6.2 the directory's size is their number. */
static uint64_t
count_files(const struct room *r)
{
	const int fd = openat(target_proc(r->t), "fd",
			      O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	uint64_t n = 0;
	struct stat st;
	DIR *dir;

	if (fd < 0)
		return 0;		/* not ours to count */
	if (fstat(fd, &st) == 0 && st.st_size > 0) {
		close(fd);
		return (uint64_t)st.st_size;
	}
	dir = fdopendir(fd);
	for (const struct dirent *e; dir && (e = readdir(dir));)
		n += e->d_name[0] != '.';
	if (dir)
		closedir(dir);
	else
		close(fd);
	return n;
}

static int
check_files(const struct room *r)
{
	uint64_t soft, hard, used;

	limit(r, "Max open files", &soft, &hard);
	used = count_files(r);
	if (used + FILES_NEEDED <= soft)
		return 0;
	return too_low(r, "open files", "nofile", soft, hard, used,
		       used + FILES_SPARE);
}

/* ---- memory -------------------------------------------------------------- */

static int
check_maps(const struct room *r)
{
	char *most_text = file_read("/proc/sys/vm/max_map_count", NULL);
	const uint64_t most = most_text ? strtoull(most_text, NULL, 10) :
		UNLIMITED;
	char *maps = target_maps(r->t);
	uint64_t n = 0;

	for (const char *at = maps; at && (at = strchr(at, '\n')); at++)
		n++;
	free(maps);
	free(most_text);
	if (n + MAPS_NEEDED <= most)
		return 0;
	(void)fail(FAIL_UNSUITABLE, "it has %llu mappings and vm.max_map_count "
		   "is %llu, which leaves us no room", (unsigned long long)n,
		   (unsigned long long)most);
	return fail_remedy("%ssysctl -w vm.max_map_count=%llu, or: "
			   PLAN_OTHER_ENGINE, fail_sudo(),
			   (unsigned long long)(n + MAPS_SPARE));
}

static int
check_space(const struct room *r)
{
	static const struct {
		const char *limit, *used, *what, *option;
		bool shared;	/* counts what is shared, too */
	} kinds[] = {
		{ "Max address space", "\nVmSize:", "address space", "as",
		  true },
		{ "Max data size", "\nVmData:", "data", "data", false },
	};

	for (size_t i = 0; i < ARRAY_LEN(kinds); i++) {
		const uint64_t used = 1024 * status_value(r, kinds[i].used,
							  10);
		const uint64_t need = OWN_BYTES +
			(kinds[i].shared ? r->bytes : 0);
		uint64_t soft, hard;

		limit(r, kinds[i].limit, &soft, &hard);
		if (soft != UNLIMITED && used + need > soft)
			return too_low(r, kinds[i].what, kinds[i].option,
				       soft, hard, used,
				       used + need + BYTES_SPARE);
	}
	return 0;
}

/*
 * After mlockall(MCL_FUTURE) all that comes is locked and counts, an arena of
 * malloc that no thread has touched, too: libc keeps it, and the program would
 * have that much less. The kernel does not tell of the call, but then most of
 * what is in memory is locked.
 */
static int
check_locked(const struct room *r)
{
	const uint64_t caps = status_value(r, "\nCapEff:", 16);
	const uint64_t used = 1024 * status_value(r, "\nVmLck:", 10);
	const uint64_t resident = 1024 * status_value(r, "\nVmRSS:", 10);
	const uint64_t need = OWN_BYTES + r->bytes + ARENA_BYTES;
	uint64_t soft, hard;

	limit(r, "Max locked memory", &soft, &hard);
	if (caps >> IPC_LOCK_BIT & 1 || used < resident / 2 || used == 0 ||
	    soft == UNLIMITED || used + need <= soft)
		return 0;
	return too_low(r, "locked memory", "memlock", soft, hard, used,
		       used + need + BYTES_SPARE);
}

/* Ours: the records' memory is a file that we size. */
static int
check_own_files(const struct room *r)
{
	struct rlimit own;

	if (getrlimit(RLIMIT_FSIZE, &own) < 0 ||
	    own.rlim_cur >= r->bytes + OWN_BYTES)
		return 0;
	(void)fail(FAIL_UNSUITABLE, "our own limit on the size of a file is "
		   "%llu bytes, too small for the memory of the records",
		   (unsigned long long)own.rlim_cur);
	return fail_remedy("ulimit -f unlimited, or: " PLAN_OTHER_ENGINE);
}

static void
room_init(struct room *r, struct target *t)
{
	*r = (struct room){ .t = t };
	r->status = of_thread(t, "status");
	r->limits = of_thread(t, "limits");
}

static void
room_fini(struct room *r)
{
	free(r->status);
	free(r->limits);
}

/* "SigQ: 2/96365": each timer keeps a place in the queue of its user. */
int
room_check_timers(struct target *t)
{
	struct room r;
	uint64_t soft, hard;
	int result = 0;

	room_init(&r, t);

	const uint64_t used = status_value(&r, "\nSigQ:", 10);
	const uint64_t threads = status_value(&r, "\nThreads:", 10);

	limit(&r, "Max pending signals", &soft, &hard);
	if (used + threads + TIMERS_SPARE > soft)
		result = too_low(&r, "pending signals (and timers)",
				 "sigpending", soft, hard, used, used +
				 threads + TASKS_SPARE);
	room_fini(&r);
	return result;
}

int
room_check(struct target *t, uint64_t bytes)
{
	static int (*const checks[])(const struct room *) = {
		check_files, check_maps, check_space, check_locked, check_pids,
		check_scheduling, check_tasks, check_own_files,
	};
	struct room r;
	/* whom we hold we may trace; else that is the first question */
	int result = target_held(t) ? 0 : target_check_ptrace(t);

	if (result == 0)
		result = target_check_alone(t);
	room_init(&r, t);
	r.bytes = bytes;
	for (size_t i = 0; result == 0 && handled(HAZARD_LIMITS) &&
	     i < ARRAY_LEN(checks); i++)
		result = checks[i](&r);
	room_fini(&r);
	return result;
}
