/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Does another process use this memory, too? What we put there for the one
 * happens to the other, which nobody of us watches: it would die of a trap,
 * and go on in a scratch that is unmapped under it. Asked of kcmp. A kernel can
 * be built without kcmp, and a container can forbid it: then a process whose
 * program lies at the same random addresses is a copy made by fork, or shares
 * this memory, and nothing is put there.
 *
 * A sharer is born as a child: parent and children are asked at every look.
 * It stays one when its parent ends and another process adopts it: all others
 * are asked once, at the first look.
 *
 * A vforked child shares until it execs or exits. Mostly that is soon, so
 * whoever shares is looked at again before it is believed.
 */
#include "hazard.h"
#include "private.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/kcmp.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

enum {
	VFORK_LIMIT_MS = 50, BUSY_LIMIT_MS = 500,
	LOOK_AGAIN_NS = 2 * NS_PER_MS,
	LOOKS = 8,
};

/* Who has ended has none, and to kcmp none is the same as none: one that
 * ends while we ask would be said to share with the first zombie there is. */
static bool
has_memory(pid_t pid)
{
	char path[32];

	(void)snprintf(path, sizeof path, "/proc/%d/statm", (int)pid);

	char *text = file_read(path, NULL);
	const bool has = text && strtoull(text, NULL, 10) > 0;

	free(text);
	return has;
}

static bool
kcmp_works(void)
{
	const pid_t self = getpid();

	return syscall(SYS_kcmp, self, self, KCMP_VM, 0, 0) == 0;
}

/* Addresses that exec chooses, and fork leaves as they are. 0: not to be told
 * to us. */
static bool
is_laid_out_alike(const struct target *t, pid_t other)
{
	static const int fields[] = {
		STAT_START_CODE, STAT_END_CODE, STAT_START_STACK,
		STAT_START_DATA, STAT_END_DATA, STAT_START_BRK, STAT_ARG_START,
	};
	struct task_stat here, there;
	char path[32];

	(void)snprintf(path, sizeof path, "/proc/%d/stat", (int)other);
	if (target_thread_stat(t, t->live_tid, &here) < 0 ||
	    task_stat_of(AT_FDCWD, path, &there) < 0 ||
	    !there.field[STAT_START_STACK])
		return false;
	for (size_t i = 0; i < ARRAY_LEN(fields); i++)
		if (here.field[fields[i]] != there.field[fields[i]])
			return false;
	return true;
}

bool
shares_memory(const struct target *t, pid_t other)
{
	if (other <= 0 || other == t->pid)
		return false;

	const long r = syscall(SYS_kcmp, other, t->live_tid, KCMP_VM, 0, 0);

	if (r < 0 && errno != ESRCH && !kcmp_works())
		return is_laid_out_alike(t, other);
	return r == 0 && has_memory(other);
}

/* The children that one thread of it made: "12 34 ". */
static pid_t
child_of_thread(const struct target *t, pid_t tid)
{
	char path[64], *end;
	pid_t found = 0;

	(void)snprintf(path, sizeof path, "task/%d/children", (int)tid);

	char *text = file_read_at(t->proc_fd, path, NULL);

	for (const char *at = text; at && !found; at = end) {
		const pid_t child = (pid_t)strtol(at, &end, 10);

		if (end == at)
			break;
		if (shares_memory(t, child))
			found = child;
	}
	free(text);
	return found;
}

static pid_t
child(struct target *t)
{
	pid_t *tids = NULL, found = 0;
	size_t cap = 0;
	const ssize_t n = target_threads(t, &tids, &cap);

	for (ssize_t i = 0; i < n && !found; i++)
		found = child_of_thread(t, tids[i]);
	free(tids);
	return found;
}

static pid_t
parent(const struct target *t)
{
	struct proc_status st;

	if (proc_status_thread(t, t->live_tid, &st) < 0 ||
	    !shares_memory(t, st.ppid))
		return 0;
	return st.ppid;
}

static pid_t
anybody(const struct target *t)
{
	DIR *dir = opendir("/proc");
	const struct dirent *entry;
	pid_t found = 0;

	while (dir && !found && (entry = readdir(dir))) {
		long long pid;

		if (str_number(entry->d_name, 1, INT32_MAX, &pid) &&
		    shares_memory(t, (pid_t)pid))
			found = (pid_t)pid;
	}
	if (dir)
		closedir(dir);
	return found;
}

/* A kernel can be built without CONFIG_PROC_CHILDREN: then all are asked, at
 * each look. */
static bool
children_are_listed(void)
{
	return access("/proc/thread-self/children", F_OK) == 0;
}

static pid_t
sharer(struct target *t)
{
	pid_t found = parent(t);

	if (!found)
		found = child(t);
	if (!found && !t->asked_all) {
		found = anybody(t);
		t->asked_all = !found && children_are_listed();
	}
	return found;
}

/* Does this one share for good? One that waits for its turn on a processor
 * gets longer. */
static bool
stays(struct target *t, pid_t with)
{
	const struct timespec rest = { .tv_nsec = LOOK_AGAIN_NS };
	const uint64_t soon = deadline_in_ms(VFORK_LIMIT_MS);
	const uint64_t late = deadline_in_ms(BUSY_LIMIT_MS);
	struct proc_status st;

	while (shares_memory(t, with)) {
		if (now_ns() >= late ||
		    (now_ns() >= soon &&
		     (proc_status_tid(with, &st) < 0 || st.state != 'R')))
			return true;
		(void)nanosleep(&rest, NULL);	/* early is no harm */
	}
	return false;
}

/* Who makes one vforked child after the other has a new one at each look. An
 * older one, that stays, comes first in the lists. */
bool
target_shares_memory(struct target *t, pid_t *with)
{
	/* two that have ended have the same memory: none */
	for (int i = 0; i < LOOKS && target_live_thread(t) >= 0; i++) {
		*with = sharer(t);
		if (!*with)
			return false;
		if (stays(t, *with))
			return true;
	}
	*with = 0;
	fail_clear();
	return false;
}

int
target_check_alone(struct target *t)
{
	struct proc_status st;
	char path[32];
	pid_t with;

	if (!handled(HAZARD_SHARED_MEMORY) ||
	    !target_shares_memory(t, &with))
		return 0;
	(void)snprintf(path, sizeof path, "/proc/%d/comm", (int)with);

	char *name = file_read(path, NULL);
	const bool known = proc_status_thread(t, t->live_tid, &st) == 0;

	(void)fail(FAIL_UNSUITABLE, "process %d (%s) %s its memory with "
		   "%s%d (%s): what we put there would happen to both",
		   (int)t->pid, t->name, kcmp_works() ? "shares" :
		   "may share (kcmp is refused here)",
		   known && st.ppid == with ? "its parent " : "process ",
		   (int)with, name ? str_chomp(name) : "?");
	free(name);
	return fail_remedy("--engine ring (in the shell: collector engine "
			   "ring) puts nothing there; after a vfork, attach "
			   "again when the child has called exec");
}
