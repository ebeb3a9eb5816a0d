/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * A target's life: watched through a pidfd and one kept directory of /proc,
 * both opened before anything is believed, so that a number used again by
 * somebody else is never taken for it. Nothing here changes the target.
 *
 *   open --> (held <-> running) --> gone
 *
 * Being gone is news, not failure: target_note_exit is called by whoever
 * sees it first, and every later question is answered "it ended".
 */
#include "hazard.h"
#include "private.h"
#include "sweep.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

/* For the hook of die(), which knows nothing and may not allocate. */
static struct target *all_targets;

enum { LAST_STOP_LIMIT_MS = 200 };

/* Nobody may be on the way from a trap of ours to its signal when the trap is
 * taken out and we vanish. */
static void
settle_for_good(struct target *t)
{
	for (size_t i = t->pack.len; t->traps && i-- > 0;) {
		struct hold *h = i < t->pack.len ? &t->pack.items[i] : NULL;

		if (!h || h->stopped)
			continue;
		h->asked = ptrace(PTRACE_INTERRUPT, h->tid, 0, 0) == 0;
		(void)hold_settle(&t->pack, h->tid,
				  deadline_in_ms(LAST_STOP_LIMIT_MS));
	}
}

/*
 * No memory: take our breakpoints out and let every thread go with the signal
 * it was about to get. What runs is let go by the kernel as we exit. A second
 * failure on the way ends us at once, and the kernel does the rest.
 */
static void
let_all_go(void)
{
	for (struct target *t = all_targets; t; t = t->next) {
		settle_for_good(t);
		breakpoints_lift(t);
		for (size_t i = 0; i < t->pack.len; i++) {
			const pid_t tid = t->pack.items[i].tid;

			hold_repair(t, &t->pack.items[i]);
			(void)ptrace(PTRACE_DETACH, tid, 0,
				     (long)hold_due_signal(&t->pack, tid));
		}
	}
}

struct target *
target_of_tid(pid_t tid, struct hold **h)
{
	for (struct target *t = all_targets; t; t = t->next) {
		struct hold *found = pack_find(&t->pack, tid);

		if (!found)
			continue;
		if (h)
			*h = found;
		return t;
	}
	return NULL;
}

static bool
pidfd_ended(int pidfd)
{
	struct pollfd p = { .fd = pidfd, .events = POLLIN };

	return poll(&p, 1, 0) > 0;
}

static int
no_such_process(pid_t pid)
{
	struct proc_status st;

	if (proc_status_tid(pid, &st) == 0 && st.tgid != pid) {
		fail(FAIL_MISSING, "%d is a thread of process %d", (int)pid,
		     (int)st.tgid);
		return fail_remedy("give the number of the process: %d",
				   (int)st.tgid);
	}
	fail(FAIL_MISSING, "there is no process %d", (int)pid);

	const pid_t outer = attach_outer_pid(pid);

	if (outer)
		fail_remedy("a process numbered %d in its own pid namespace "
			    "is %d here: sonde record -p %d", (int)pid,
			    (int)outer, (int)outer);
	else
		fail_remedy("it may have ended; ps -ef lists those that run");
	return -1;
}

static int
has_ended(pid_t pid)
{
	struct proc_status st;

	if (proc_status_tid(pid, &st) < 0 || st.state != 'Z')
		return fail(FAIL_MISSING, "process %d has ended", (int)pid);
	return fail(FAIL_MISSING, "process %d has ended and waits until its "
		    "parent %d asks for its status (a zombie)", (int)pid,
		    (int)st.ppid);
}

static int
open_handles(struct target *t)
{
	char path[32];

	(void)snprintf(path, sizeof path, "/proc/%d", (int)t->pid);
	t->pidfd = (int)syscall(SYS_pidfd_open, t->pid, 0);
	if (t->pidfd < 0 && (errno == ENOSYS || errno == EPERM))
		return fail_errno("open a descriptor of process %d",
				  (int)t->pid);
	if (t->pidfd < 0)
		return no_such_process(t->pid);
	t->proc_fd = open(path, O_PATH | O_DIRECTORY | O_CLOEXEC);
	if (t->proc_fd < 0 && errno != ENOENT)
		return fail_errno("open %s", path);
	if (t->proc_fd < 0) {
		no_such_process(t->pid);
		if (!pidfd_ended(t->pidfd)) {
			fail(FAIL_DENIED, "/proc hides process %d",
			     (int)t->pid);

			char *root = fail_root_command((int)t->pid);

			fail_remedy("mount /proc without hidepid, or: %s",
				    root);
			free(root);
		}
		return -1;
	}
	/* Had it ended before we opened the directory, that could be of
	 * another process; it has not, so both are the same one. */
	return pidfd_ended(t->pidfd) ? has_ended(t->pid) : 0;
}

static void
read_name(struct target *t)
{
	char *comm = file_read_at(t->proc_fd, "comm", NULL);

	if (comm)
		(void)snprintf(t->name, sizeof t->name, "%s",
			       str_tame(str_chomp(comm)));
	free(comm);
}

struct target *
target_open(pid_t pid)
{
	struct target *t = xcalloc(1, sizeof *t);
	struct task_stat st;

	t->pid = t->live_tid = pid;
	t->pidfd = t->proc_fd = t->status = t->text_fd = -1;
	t->pack.target = t;
	if (open_handles(t) < 0) {
		target_close(t);
		return NULL;
	}
	read_name(t);
	(void)target_stat(t, &st);	/* it ends: then it has none */
	t->start_time = st.field[STAT_START_TIME];
	t->next = all_targets;
	all_targets = t;
	die_set_hook(let_all_go);
	return t;
}

static void
unlist(struct target *t)
{
	struct target **at = &all_targets;

	while (*at && *at != t)
		at = &(*at)->next;
	if (*at)
		*at = t->next;
}

void
target_close(struct target *t)
{
	if (!t)
		return;
	if (t->pack.len)
		(void)target_release_all(t);	/* nobody is left to tell */
	unlist(t);
	breakpoints_free(t);
	traps_forget(t);
	free(t->texts);
	pack_fini(&t->pack);
	if (t->arena)
		munmap(t->arena, t->arena_size);
	modules_fini(&t->maps);
	sweep_free(t->sweep);
	for (int i = 0; i < IDLE_SIGNALS; i++)
		gate_close(t->gates[i].gate);
	cgroups_fini(t);
	if (t->pidfd >= 0)
		close(t->pidfd);
	if (t->proc_fd >= 0)
		close(t->proc_fd);
	free(t);
}

unsigned
target_execs(const struct target *t)
{
	return t->execs;
}

pid_t
target_pid(const struct target *t)
{
	return t->pid;
}

const char *
target_name(const struct target *t)
{
	return t->name;
}

int
target_pidfd(const struct target *t)
{
	return t->pidfd;
}

int
target_proc(const struct target *t)
{
	return t->proc_fd;
}

void
target_note_exec(struct target *t)
{
	t->live_tid = t->pid;
	read_name(t);
}

/* ---- the end ------------------------------------------------------------ */

/*
 * A process whose threads we traced is not seen dead by its parent before we
 * have taken the wait statuses of those threads, the leader's last.
 */
static void
reap_held(struct target *t)
{
	int status;

	for (size_t i = t->pack.len; i-- > 0;) {
		const pid_t tid = t->pack.items[i].tid;

		if (tid != t->pid &&
		    wait_status(tid, deadline_in_ms(100), &status) != 0)
			pack_drop(&t->pack, tid);
	}
	if (!pack_find(&t->pack, t->pid))
		return;
	if (wait_status(t->pid, deadline_in_ms(100), &status) == 1 &&
	    !WIFSTOPPED(status))
		t->status = status;
	pack_drop(&t->pack, t->pid);
}

static void
describe_end(struct target *t)
{
	const char *name;

	if (t->status == -1) {
		(void)snprintf(t->how, sizeof t->how, "ended");
	} else if (WIFEXITED(t->status)) {
		(void)snprintf(t->how, sizeof t->how, "exited with status %d",
			       WEXITSTATUS(t->status));
	} else {
		name = sigabbrev_np(WTERMSIG(t->status));
		(void)snprintf(t->how, sizeof t->how, "was killed by SIG%s",
			       name ? name : "???");
	}
}

void
target_note_exit(struct target *t, int status)
{
	if (status != -1)
		t->status = status;
	if (!t->gone) {
		t->gone = true;
		t->held = false;
		children_let_go(t);
		reap_held(t);
		breakpoints_free(t);
		traps_forget(t);
	}
	if (t->status == -1)
		t->status = target_outcome(t);
	describe_end(t);
}

bool
target_gone(const struct target *t)
{
	return t->gone;
}

int
target_signal(const struct target *t, int signal)
{
	return (int)syscall(SYS_pidfd_send_signal, t->pidfd, signal, NULL, 0);
}

const char *
target_how_ended(const struct target *t)
{
	return t->gone ? t->how : "runs";
}

/* ---- clocks ------------------------------------------------------------- */

int
target_cpu_ns(struct target *t, uint64_t *ns)
{
	struct timespec ts;
	clockid_t clock;

	if (clock_getcpuclockid(t->pid, &clock) != 0 ||
	    clock_gettime(clock, &ts) < 0)
		return fail(FAIL_MISSING, "process %d has ended",
			    (int)t->pid);
	/* The clock goes by number; ours is known to be alive afterwards, so
	 * nobody else had the number. A zombie still takes signal 0. */
	if (syscall(SYS_pidfd_send_signal, t->pidfd, 0, NULL, 0) < 0 &&
	    errno == ESRCH)
		return fail(FAIL_MISSING, "process %d has ended",
			    (int)t->pid);
	*ns = (uint64_t)ts.tv_sec * 1000000000u + (uint64_t)ts.tv_nsec;
	return 0;
}
