/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * May we? Asked of the kernel by doing what is harmless and needs the same
 * right: reading the memory map to look and measure, opening its memory to
 * ptrace. Only a refusal is then explained, by what /proc says; the first
 * cause that fits is named, with the exact command that mends it.
 */
#include "hazard.h"
#include "private.h"

#include <errno.h>
#include <fcntl.h>
#include <dirent.h>
#include <linux/capability.h>
#include <pwd.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum { KERNEL_THREAD = 0x00200000 };	/* PF_KTHREAD in stat's flags */

/* What is known when a request was refused. */
struct refusal {
	struct target *target;
	struct proc_status them, us;
	int yama;		/* -1: no such module */
	enum fail_kind kind;
	char *why, *remedy;
};

static bool
may_trace_anyone(const struct refusal *r)
{
	return r->us.cap_effective >> CAP_SYS_PTRACE & 1;
}

static char *
sudo_remedy(const struct refusal *r)
{
	return fail_root_command((int)r->target->pid);
}

static char *
user_name(unsigned uid)
{
	const struct passwd *pw = getpwuid(uid);

	return pw ? xasprintf("%s (%u)", pw->pw_name, uid) :
		xasprintf("user %u", uid);
}

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

static bool
because_traced(struct refusal *r)
{
	const pid_t tracer = r->them.tracer ? r->them.tracer :
		attach_tracer(r->target);
	char path[64];

	if (!tracer)
		return false;
	(void)snprintf(path, sizeof path, "/proc/%d/comm", (int)tracer);

	char *name = file_read(path, NULL);

	if (name)
		name[strcspn(name, "\n")] = '\0';
	r->kind = FAIL_UNSUITABLE;
	r->why = xasprintf("already traced by %d (%s)", (int)tracer,
			   name ? name : "?");
	r->remedy = xasprintf("end the session of process %d first, or sample "
			      "it without ptrace: --engine ring (in the "
			      "shell: collector engine ring)", (int)tracer);
	free(name);
	return true;
}

static bool
because_root_is_confined(struct refusal *r)
{
	if (r->us.uid[1] != 0 || may_trace_anyone(r))
		return false;
	r->why = xstrdup("we are root without CAP_SYS_PTRACE, as in a "
			 "container");
	r->remedy = xstrdup("docker run --cap-add SYS_PTRACE ...; Kubernetes: "
			    "securityContext.capabilities.add: [SYS_PTRACE]");
	return true;
}

static bool
because_other_user(struct refusal *r)
{
	const unsigned us = r->us.uid[0];
	unsigned them = r->them.uid[1];

	if (may_trace_anyone(r))
		return false;
	for (int i = 0; i < 3 && them == us; i++)
		them = r->them.uid[i];
	if (them == us)
		return false;

	char *whose = user_name(them), *ours = user_name(us);

	r->why = xasprintf("it runs as %s and we as %s", whose, ours);
	r->remedy = sudo_remedy(r);
	free(whose);
	free(ours);
	return true;
}

static bool
because_other_group(struct refusal *r)
{
	if (may_trace_anyone(r) ||
	    (r->them.gid[0] == r->us.gid[0] &&
	     r->them.gid[1] == r->us.gid[0] && r->them.gid[2] == r->us.gid[0]))
		return false;
	r->why = xasprintf("it runs as group %u and we as group %u",
			   r->them.gid[1], r->us.gid[0]);
	r->remedy = sudo_remedy(r);
	return true;
}

static bool
because_user_namespace(struct refusal *r)
{
	char theirs[64] = "", ours[64] = "";

	if (readlinkat(r->target->proc_fd, "ns/user", theirs,
		       sizeof theirs - 1) < 0 ||
	    readlink("/proc/self/ns/user", ours, sizeof ours - 1) < 0 ||
	    strcmp(theirs, ours) == 0)
		return false;
	r->why = xasprintf("it lives in another user namespace (%s)", theirs);
	r->remedy = xasprintf("as root outside all containers: sonde record "
			      "-p %d", (int)r->target->pid);
	return true;
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

static bool
because_not_dumpable(struct refusal *r)
{
	if (may_trace_anyone(r) || !attach_is_private(r->target, &r->them))
		return false;
	r->why = xstrdup("it has made itself private (set-uid, file "
			 "capabilities or prctl PR_SET_DUMPABLE)");
	r->remedy = sudo_remedy(r);
	return true;
}

static bool
because_of_its_capabilities(struct refusal *r)
{
	if (may_trace_anyone(r) ||
	    !(r->them.cap_permitted & ~r->us.cap_permitted))
		return false;
	r->why = xstrdup("it has capabilities that we have not");
	r->remedy = sudo_remedy(r);
	return true;
}

static bool
because_yama(struct refusal *r)
{
	if (r->yama < 1 || (r->yama < 3 && may_trace_anyone(r)))
		return false;
	if (r->yama == 1) {
		r->why = xasprintf("kernel.yama.ptrace_scope is 1 and %d is "
				   "not our child", (int)r->target->pid);

		char *root = sudo_remedy(r);

		r->remedy = xasprintf("sudo sysctl -w kernel.yama."
				      "ptrace_scope=0 (until the next boot), "
				      "or: %s", root);
		free(root);
	} else if (r->yama == 2) {
		r->why = xstrdup("kernel.yama.ptrace_scope is 2: only with "
				 "CAP_SYS_PTRACE");
		r->remedy = sudo_remedy(r);
	} else {
		r->why = xstrdup("kernel.yama.ptrace_scope is 3: nobody may, "
				 "until the next boot");
		r->remedy = xstrdup("launch the program under collection: "
				    "sonde record PROGRAM");
	}
	return true;
}

static bool
because_unknown(struct refusal *r)
{
	r->why = xstrdup("no cause shows in /proc: a security module, or a "
			 "system call filter on us");
	r->remedy = xstrdup("look at: dmesg, /proc/self/status (Seccomp), "
			    "/proc/self/attr/current");
	return true;
}

static bool (*const causes[])(struct refusal *r) = {
	because_root_is_confined, because_other_user, because_user_namespace,
	because_not_dumpable, because_other_group,
	because_of_its_capabilities, because_yama, because_unknown,
};

int
attach_yama(void)
{
	char *text = file_read("/proc/sys/kernel/yama/ptrace_scope", NULL);
	const int scope = text ? atoi(text) : -1;

	free(text);
	return scope;
}

/* Gives away why and remedy. */
static int
refuse(struct refusal *r, int error)
{
	fail(r->kind, "cannot attach to %d (%s): %s: %s", (int)r->target->pid,
	     r->target->name, strerror(error), r->why);
	fail_remedy("%s", r->remedy);
	free(r->why);
	free(r->remedy);
	return -1;
}

static int
explain(struct target *t, int error, bool tracer_matters)
{
	struct refusal r = { .target = t, .kind = FAIL_DENIED };
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
	r.yama = tracer_matters ? attach_yama() : -1;
	if (tracer_matters && because_traced(&r))
		return refuse(&r, EPERM);
	for (size_t i = 0; i < ARRAY_LEN(causes); i++)
		if (causes[i](&r))
			break;
	return refuse(&r, error);
}

int
attach_explain(struct target *t, int error)
{
	return explain(t, error, true);
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
	if (p.known && !p.is_64)
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
	unsigned long flags = 0;
	char path[64], byte;
	int fd;

	if (tid < 0)
		return -1;
	if (proc_state_of(t->proc_fd, "stat", NULL, &flags) &&
	    flags & KERNEL_THREAD)
		return unsuitable(t, "it is a thread of the kernel",
				  "perf record -a samples the kernel");
	(void)snprintf(path, sizeof path, "task/%d/maps", (int)tid);
	fd = openat(t->proc_fd, path, O_RDONLY | O_CLOEXEC);

	const ssize_t n = fd < 0 ? -1 : read(fd, &byte, 1);
	const int error = errno;

	if (fd >= 0)
		close(fd);
	if (n < 0)
		return explain(t, error, false);
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
		return explain(t, EPERM, true);
	/* Opening it needs what seizing needs, and does nothing. */
	(void)snprintf(path, sizeof path, "task/%d/mem", (int)tid);
	fd = openat(t->proc_fd, path, O_RDONLY | O_CLOEXEC);
	if (fd < 0)
		return explain(t, errno, true);
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
