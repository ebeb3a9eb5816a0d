/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * What is particular about a target, one line per finding: what is so, and
 * what follows. Looks only; the target runs on untouched.
 */
#include "private.h"

#include <fcntl.h>
#include <linux/capability.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

typedef void visit_fn(void *arg, bool ok, const char *subject,
		      const char *text);

struct exam {
	struct target *t;
	pid_t tid;		/* alive */
	struct proc_status st, us;
	struct program program;
	char *maps;		/* NULL: not ours to read */
	visit_fn *visit;
	void *arg;
};

static void __attribute__((format(printf, 4, 5)))
say(struct exam *e, bool ok, const char *subject, const char *fmt, ...)
{
	va_list ap;

	va_start(ap, fmt);
	char *text = xvasprintf(fmt, ap);
	va_end(ap);
	e->visit(e->arg, ok, subject, text);
	free(text);
}

static void
examine_identity(struct exam *e)
{
	const pid_t tracer = attach_tracer(e->t);

	say(e, true, "user", "uid %u, gid %u", e->st.uid[1], e->st.gid[1]);
	if (attach_is_private(e->t, &e->st))
		say(e, e->us.cap_effective >> CAP_SYS_PTRACE & 1, "privacy",
		    "it is not dumpable: only root may look at it");
	if (tracer)
		say(e, false, "tracer", "traced by process %d", (int)tracer);
	if (e->t->pid == 1)
		say(e, false, "init", "it is the first process: what it "
		    "starts and reaps waits while it is held");
}

static void
examine_seccomp(struct exam *e)
{
	if (e->st.seccomp)
		say(e, e->us.cap_effective >> CAP_SYS_ADMIN & 1, "seccomp",
		    "%s: suspended while we load, which needs CAP_SYS_ADMIN",
		    e->st.seccomp == 1 ? "strict mode" :
		    "a filter is installed (one that would kill for calls of "
		    "ours keeps inject out)");
}

static void
examine_namespace(struct exam *e, const char *name, const char *what)
{
	char path[32], theirs[64] = "", ours[64] = "";

	(void)snprintf(path, sizeof path, "ns/%s", name);
	if (readlinkat(e->t->proc_fd, path, theirs, sizeof theirs - 1) < 0)
		return;
	(void)snprintf(path, sizeof path, "/proc/self/ns/%s", name);
	if (readlink(path, ours, sizeof ours - 1) < 0 ||
	    strcmp(theirs, ours) == 0)
		return;
	say(e, true, "namespace", "another %s", what);
}

static void
examine_namespaces(struct exam *e)
{
	examine_namespace(e, "mnt", "mount namespace: files are opened through "
			  "its root, the collector goes in without a path");
	examine_namespace(e, "user", "user namespace");
	examine_namespace(e, "net", "network namespace");
	if (e->st.ns_depth > 1)
		say(e, true, "namespace", "in its own pid namespace it is %d",
		    (int)e->st.ns_pid);
}

static void
examine_threads(struct exam *e)
{
	pid_t *tids = NULL;
	size_t cap = 0, stopped = 0, stuck = 0;
	const ssize_t n = target_threads(e->t, &tids, &cap);

	for (ssize_t i = 0; i < n; i++) {
		const char state = proc_thread_state(e->t, tids[i]);

		stopped += state == 'T';
		stuck += state == 'D';
	}
	free(tids);
	if (n < 0)
		return;
	say(e, true, "threads", "%zd", n);
	if (e->tid != e->t->pid)
		say(e, true, "leader", "its first thread has ended, others "
		    "live on: looked at through thread %d", (int)e->tid);
	if (stopped)
		say(e, false, "job control", "%zu thread%s stopped by a "
		    "signal and use%s no time: kill -CONT %d", stopped,
		    stopped == 1 ? " is" : "s are", stopped == 1 ? "s" : "",
		    (int)e->t->pid);
	if (stuck)
		say(e, true, "waiting", "%zu thread%s in the kernel "
		    "uninterruptibly and cannot be stopped now", stuck,
		    stuck == 1 ? " waits" : "s wait");
}

static void
examine_sharing(struct exam *e)
{
	const bool has_memory = e->maps && *e->maps;	/* no kernel thread */
	pid_t with;

	if (has_memory && target_shares_memory(e->t, &with))
		say(e, false, "memory", "shared with process %d", (int)with);
}

static bool
maps_file(const struct exam *e, const char *part)
{
	return e->maps && strstr(e->maps, part);
}

static void
examine_program(struct exam *e)
{
	const struct program *p = &e->program;

	if (!p->known || !p->is_64 || !p->is_native)
		return;			/* the rights said so */
	if (p->is_static)
		say(e, true, "program", "%sstatically linked",
		    p->is_go ? "Go, " : "");
	else
		say(e, true, "program", "%sdynamically linked (%s)",
		    p->is_go ? "Go, " : "", p->interpreter);
}

static void
examine_libc(struct exam *e, const char *known)
{
	if (known)
		say(e, true, "libc", "%s", known);
	if (known || !e->maps || e->program.is_static)
		return;
	if (maps_file(e, "/ld-musl-") || maps_file(e, "/libc.musl"))
		say(e, true, "libc", "musl");
	else if (maps_file(e, "/libc.so.6") || maps_file(e, "/libc-2."))
		say(e, true, "libc", "glibc");
	else
		say(e, false, "libc", "none that we know is mapped");
}

void
target_doctor(struct target *t, const char *libc, visit_fn *visit, void *arg)
{
	struct exam e = { .t = t, .visit = visit, .arg = arg };

	e.tid = target_live_thread(t);
	if (e.tid < 0 || proc_status_thread(t, e.tid, &e.st) < 0)
		return;			/* it has ended */
	(void)proc_status_of(-1, "/proc/self/status", &e.us);
	program_read(t, &e.program);
	e.maps = target_maps(t);
	examine_identity(&e);
	examine_seccomp(&e);
	examine_namespaces(&e);
	examine_threads(&e);
	examine_sharing(&e);
	examine_program(&e);
	examine_libc(&e, libc);
	free(e.maps);
	fail_clear();
}
