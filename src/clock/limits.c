/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * What the machine and its settings allow: CPUs, threads; and when perf is
 * refused, which setting refused it.
 */
#include "control.h"
#include "perf.h"

#include <dirent.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

enum {
	CPU_MAX = 1 << 16,
	INTERVAL_LEAST_NS = 100 * 1000,
};

int
interval_check(uint64_t interval_ns)
{
	if (interval_ns >= INTERVAL_LEAST_NS && interval_ns <= INT64_MAX)
		return 0;
	return fail(FAIL_USAGE, "an interval of %llu ns: it must be at least "
		    "%d us", (unsigned long long)interval_ns,
		    INTERVAL_LEAST_NS / 1000);
}

/* ---- CPUs ---------------------------------------------------------------- */

static void
add_cpus(struct cpus *c, size_t *cap, long from, long to)
{
	for (long id = from; id <= to && id < CPU_MAX; id++) {
		c->id = xgrow(c->id, cap, c->len + 1, sizeof *c->id);
		c->id[c->len++] = (int)id;
	}
}

/* "0-3,5": false where it is anything else. */
static bool
parse_cpus(struct cpus *c, const char *text)
{
	size_t cap = 0;

	for (;;) {
		char *end;
		const long from = strtol(text, &end, 10);
		long to = from;

		if (end == text || from < 0)
			return false;
		if (*end == '-') {
			text = end + 1;
			to = strtol(text, &end, 10);
			if (end == text)
				return false;
		}
		add_cpus(c, &cap, from, to);
		if (*end != ',')
			return c->len > 0;
		text = end + 1;
	}
}

void
cpus_init(struct cpus *c)
{
	char *text = file_read("/sys/devices/system/cpu/online", NULL);
	size_t cap = 0;

	*c = (struct cpus){0};
	const bool known = text && parse_cpus(c, text);

	free(text);
	if (known)
		return;
	/* no sysfs: all that may exist; absent ones are refused one by one */
	cpus_fini(c);
	add_cpus(c, &cap, 0, sysconf(_SC_NPROCESSORS_CONF) - 1);
}

void
cpus_fini(struct cpus *c)
{
	free(c->id);
	*c = (struct cpus){0};
}

/* ---- threads ------------------------------------------------------------- */

ssize_t
threads_list(pid_t pid, pid_t **tids, size_t *cap)
{
	char path[32];
	ssize_t n = 0;

	(void)snprintf(path, sizeof path, "/proc/%d/task", (int)pid);
	DIR *dir = opendir(path);

	if (!dir)
		return -1;
	for (const struct dirent *d; (d = readdir(dir));) {
		long long tid;

		if (!str_number(d->d_name, 1, INT32_MAX, &tid))
			continue;
		*tids = xgrow(*tids, cap, (size_t)n + 1, sizeof **tids);
		(*tids)[n++] = (pid_t)tid;
	}
	(void)closedir(dir);
	return n;
}

struct busy {
	pid_t tid;
	uint64_t cpu_ns;
};

static int
by_cpu(const void *a, const void *b)
{
	const struct busy *x = a, *y = b;

	return (x->cpu_ns < y->cpu_ns) - (x->cpu_ns > y->cpu_ns);
}

void
threads_sort_busiest(pid_t pid, pid_t *tids, size_t n)
{
	struct busy *all = xcalloc(n + 1, sizeof *all);
	struct task_turns turns;
	char path[64];

	for (size_t i = 0; i < n; i++) {
		(void)snprintf(path, sizeof path, "/proc/%d/task/%d/schedstat",
			       (int)pid, (int)tids[i]);
		(void)task_turns_of(-1, path, &turns);	/* gone: 0 */
		all[i] = (struct busy){ tids[i], tids[i] == pid ? UINT64_MAX :
					turns.cpu_ns };
	}
	qsort(all, n, sizeof *all, by_cpu);
	for (size_t i = 0; i < n; i++)
		tids[i] = all[i].tid;
	free(all);
}

/* As the option of a verb, and as a command. */
#define OTHER_ENGINE "--engine inject (in the shell: collector engine inject)"

/* ---- refusals ------------------------------------------------------------ */

static long long
setting(const char *path)
{
	char *text = file_read(path, NULL);
	long long value = -1;

	if (text) {
		text[strcspn(text, "\n")] = '\0';
		if (!str_number(text, -1, INT32_MAX, &value))
			value = -1;
	}
	free(text);
	return value;
}

static long long
paranoid(void)
{
	return setting("/proc/sys/kernel/perf_event_paranoid");
}

/* The number after "name:" in /proc/self/status, -1 when there is none. */
static long long
own_status(const char *name)
{
	char *text = file_read("/proc/self/status", NULL);
	const char *at = text ? strstr(text, name) : NULL;
	const long long value = at ? strtoll(at + strlen(name), NULL, 10) : -1;

	free(text);
	return value;
}

static bool
other_user(pid_t pid, uid_t *owner)
{
	char path[32];
	struct stat st;

	(void)snprintf(path, sizeof path, "/proc/%d", (int)pid);
	if (geteuid() == 0 || stat(path, &st) < 0)
		return false;
	*owner = st.st_uid;
	return st.st_uid != geteuid();
}

char *
refusal_text(int error, const char *what)
{
	return xasprintf("%s: %s; kernel.perf_event_paranoid is %lld", what,
			 strerror(error), paranoid());
}

char *
not_sampled_text(size_t n, size_t of, int error)
{
	if (!n)
		return xstrdup("");

	char *why = error != EMFILE ? xstrdup(strerror(error)) :
		xasprintf("at most %llu open files (raise `ulimit -n`, or: "
			  "engine remote)",
			  (unsigned long long)descriptors_most());
	char *text = xasprintf("%zu of %zu threads, and those that they "
			       "create, are not sampled: %s; ", n, of, why);

	free(why);
	return text;
}

/*
 * The kernel answers EACCES for its own rules and, like every seccomp filter
 * of a container, EPERM for others. Look at each cause in turn.
 */
static void
refusal_remedy(int error, pid_t pid)
{
	uid_t owner = 0;
	const long long level = paranoid();

	if (error == ENOSYS) {
		(void)fail_remedy("this kernel has no perf events: "
				  OTHER_ENGINE);
		return;
	}
	if (geteuid() != 0 && level > 2) {
		char *setcap = fail_setcap("cap_perfmon,cap_bpf");

		(void)fail_remedy("%ssysctl -w kernel.perf_event_paranoid=2 "
				  "(it is %lld), or: %s, or: " OTHER_ENGINE,
				  fail_sudo(), level, setcap);
		free(setcap);
		return;
	}
	if (other_user(pid, &owner)) {
		(void)fail_remedy("run sonde as uid %u or as root, or give it "
				  "CAP_PERFMON and CAP_SYS_PTRACE (setcap "
				  "cap_perfmon,cap_bpf,cap_sys_ptrace=ep); "
				  "kernel.perf_event_paranoid is %lld",
				  (unsigned)owner, level);
		return;
	}
	if (own_status("\nSeccomp:") > 0) {
		(void)fail_remedy("a seccomp filter forbids perf_event_open "
				  "here: allow it in the container's profile "
				  "or add CAP_PERFMON to the container "
				  "(kernel.perf_event_paranoid is %lld), or: "
				  OTHER_ENGINE, level);
		return;
	}
	(void)fail_remedy("give sonde CAP_PERFMON or run it as root "
			  "(kernel.perf_event_paranoid is %lld; a process "
			  "that is not dumpable, a security module or kernel "
			  "lockdown can refuse too), or: " OTHER_ENGINE,
			  level);
}

int
fail_refused(int error, pid_t pid, const char *what)
{
	if (error == EINVAL) {
		(void)fail(FAIL_UNSUITABLE, "%s of process %d: this kernel "
			   "does not know a part of the request", what,
			   (int)pid);
		return fail_remedy("sampling by perf needs Linux 5.13: "
				   OTHER_ENGINE);
	}
	errno = error;
	if (error != EACCES && error != EPERM && error != ENOSYS)
		(void)fail_errno("%s of process %d", what, (int)pid);
	if (error == EMFILE)
		return fail_remedy("raise `ulimit -n` (it is %llu), or: "
				   "--engine remote (in the shell: collector "
				   "engine remote)",
				   (unsigned long long)descriptors_most());
	if (error != EACCES && error != EPERM && error != ENOSYS)
		return -1;
	(void)fail(FAIL_DENIED, "%s of process %d: %s", what, (int)pid,
		   strerror(error));
	refusal_remedy(error, pid);
	return -1;
}

/* Rings are locked memory; the sum over all of a user's rings is limited. */
int
fail_rings(int error)
{
	(void)fail(FAIL_DENIED, "no memory for the rings: %s",
		   strerror(error));
	return fail_remedy("raise kernel.perf_event_mlock_kb (it is %lld) or "
			   "`ulimit -l`, or end this user's other profilers",
			   setting("/proc/sys/kernel/perf_event_mlock_kb"));
}

/* ---- no perf at all ------------------------------------------------------ */

/* The least that any form needs; it never ticks. 0 or errno. */
static int
try_clock(pid_t tid)
{
	struct perf_event_attr attr = {
		.type = PERF_TYPE_SOFTWARE, .size = sizeof attr,
		.config = PERF_COUNT_SW_TASK_CLOCK, .disabled = 1,
		.exclude_kernel = 1, .exclude_hv = 1,
	};
	const int fd = (int)syscall(SYS_perf_event_open, &attr, tid, -1, -1,
				    PERF_FLAG_FD_CLOEXEC);

	if (fd < 0)
		return errno;
	close(fd);
	return 0;
}

bool
clock_is_refused(void)
{
	const int error = try_clock(0);

	return error == EACCES || error == EPERM;
}

int
clock_possible(pid_t pid, pid_t tid)
{
	const int error = try_clock(tid);

	return error ? fail_refused(error, pid, "perf_event_open") : 0;
}
