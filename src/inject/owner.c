/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * One recording at a time. Whose the guest is, stands in the guest (struct
 * collector_owner), and the guest decides; but whether that process still
 * exists can only be seen from here, and a refusal from here disturbs nobody.
 *
 *	owner           token in the guest      we
 *	none            0                       go on
 *	lives           his                     refuse; so would the guest
 *	has ended       his                     tell the guest so: it takes over
 *	not ours to see his                     leave it to the guest: his lease
 *
 * Two who come first at the same moment would load two libraries that know
 * nothing of each other: a lock on the target's /proc keeps them apart.
 */
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "hazard.h"
#include "private.h"

enum { LINK_MAX_BYTES = 4096, LOCK_WAIT_MS = 30000, FDS_MAX = 1024 };

/* ---- processes ----------------------------------------------------------- */

/* 0: unknown. state: of the process. */
static uint64_t
start_of(pid_t pid, char *state)
{
	struct task_stat st;
	char path[64];

	snprintf(path, sizeof path, "/proc/%d/stat", pid);
	(void)task_stat_of(-1, path, &st);
	*state = st.state;
	return st.field[STAT_START_TIME];
}

static uint64_t
own_pids(void)
{
	struct stat st;

	return stat("/proc/self/ns/pid", &st) == 0 ? st.st_ino : 0;
}

void
owner_make(struct collector_owner *o)
{
	char state;

	*o = (struct collector_owner){
		.pid = getpid(), .start = start_of(getpid(), &state),
		.pids = own_pids(), .token = now_ns(),
	};
	(void)getrandom(&o->token, sizeof o->token, GRND_NONBLOCK);
	o->token |= 1;
}

enum fate { OWNER_LIVES, OWNER_ENDED, OWNER_UNSEEN };

static enum fate
fate_of(const struct collector_owner *o)
{
	uint64_t start;
	char state;

	if (!o->pids || o->pids != own_pids())
		return OWNER_UNSEEN;
	/* a recording of ours that we gave up */
	if (o->pid == getpid() || (kill(o->pid, 0) < 0 && errno == ESRCH))
		return OWNER_ENDED;
	start = start_of(o->pid, &state);
	if (state == 'Z' || state == 'X' ||
	    (start && o->start && start != o->start))
		return OWNER_ENDED;
	return OWNER_LIVES;
}

/* ---- what the target says ------------------------------------------------ */

/* Where the guest says whose it is; 0: that is no entry of a guest. */
static uint64_t
owner_place(const struct plan *p, uint64_t entry)
{
	struct collector_identity id;

	if (target_read(p->t, entry - sizeof id, &id, sizeof id) < 0 ||
	    id.magic != COLLECTOR_MAGIC || id.version != COLLECTOR_VERSION)
		return 0;
	return entry + (uint64_t)(int64_t)id.owner;
}

/* The owner of the guest whose entry this is; false: nobody, or no guest. */
static bool
read_owner(const struct plan *p, uint64_t entry, struct collector_owner *o)
{
	const uint32_t target = (uint32_t)
		thread_inner_tid(p->t, target_pid(p->t));
	const uint64_t at = owner_place(p, entry);

	return at && target_read(p->t, at, o, sizeof *o) == 0 &&
	       o->token && o->target == target;
}

/* Where he records to, "": not ours to see. */
static void
experiment_of(pid_t pid, char *path, size_t size)
{
	static const char name[] = "/log.xml";
	char link[64], to[LINK_MAX_BYTES];
	int fd;

	*path = 0;
	for (fd = 0; fd < FDS_MAX && !*path; fd++) {
		ssize_t n;

		snprintf(link, sizeof link, "/proc/%d/fd/%d", pid, fd);
		n = readlink(link, to, sizeof to - 1);
		if (n <= 0)
			continue;
		to[n] = 0;
		if (!str_ends(to, name))
			continue;
		to[(size_t)n - strlen(name)] = 0;
		snprintf(path, size, "%s", to);
	}
}

static int
refuse(struct target *t, const struct collector_owner *o)
{
	char path[LINK_MAX_BYTES];

	if (o->pids != own_pids()) {
		(void)fail(FAIL_UNSUITABLE, "process %d (%s) is being "
			   "recorded by inject (from another container)",
			   target_pid(t), target_name(t));
		return fail_remedy("wait for its end, or: " PLAN_ENGINE_RING);
	}
	experiment_of(o->pid, path, sizeof path);
	(void)fail(FAIL_UNSUITABLE, "process %d (%s) is being recorded by "
		   "inject (by process %d%s%s)", target_pid(t),
		   target_name(t), o->pid, *path ? ", into " : "", path);
	if (*path)
		return fail_remedy("sonde stop %s, or: " PLAN_ENGINE_RING,
				   path);
	return fail_remedy("wait for its end, or: " PLAN_ENGINE_RING);
}

bool
owner_left(const struct plan *p, struct collector_owner *o, uint64_t *entry)
{
	size_t i;

	for (i = 0; i < p->nimages; i++) {
		const struct image *img = &p->images[i];

		*entry = img->entry;
		if (img->entry != img->bias && read_owner(p, *entry, o) &&
		    fate_of(o) == OWNER_ENDED &&
		    (handled(HAZARD_OTHER_BUILD) ||
		     *entry == p->library + p->library_entry))
			return true;
	}
	return false;
}

bool
owner_works(const struct plan *p, uint64_t entry)
{
	struct collector_owner o;

	return read_owner(p, entry, &o);
}

int
owner_check(struct plan *p, struct collector_call *call)
{
	const uint64_t ours = p->library ? p->library + p->library_entry : 0;
	size_t i;

	for (i = 0; i < p->nimages; i++) {
		const struct image *img = &p->images[i];
		struct collector_owner o;
		enum fate fate;

		if (img->entry == img->bias ||
		    !read_owner(p, img->entry, &o))
			continue;
		fate = fate_of(&o);
		if (fate == OWNER_LIVES)
			return refuse(p->t, &o);
		if (fate == OWNER_ENDED && img->entry == ours) {
			call->ended = o.token;
			p->signal_left = (int)o.signo;
		}
	}
	return 0;
}

int
owner_refused(const struct plan *p)
{
	struct collector_owner o;

	if (p->library &&
	    read_owner(p, p->library + p->library_entry, &o))
		return refuse(p->t, &o);
	(void)fail(FAIL_UNSUITABLE, "process %d (%s) was being recorded by "
		   "inject", target_pid(p->t), target_name(p->t));
	return fail_remedy("try again");
}

/* Where the thread's number stands while it obeys a command; 0: it does not. */
static uint64_t
turn_of(const struct plan *p, pid_t tid)
{
	const uint32_t inner = (uint32_t)thread_inner_tid(p->t, tid);
	uint64_t at = owner_place(p, p->library + p->library_entry);
	uint32_t has_it = 0;

	if (!at)
		return 0;
	at += offsetof(struct collector_owner, commander);
	return target_read(p->t, at, &has_it, sizeof has_it) == 0 &&
		has_it == inner ? at : 0;
}

bool
owner_turn_is(const struct plan *p, pid_t tid)
{
	return turn_of(p, tid) != 0;
}

void
owner_end_turn(const struct plan *p, pid_t tid)
{
	const uint32_t nobody = 0;
	const uint64_t at = turn_of(p, tid);

	/* else the next one waits, and says that it cannot */
	if (at)
		(void)target_write(p->t, at, &nobody, sizeof nobody);
}

/* ---- one at a time ------------------------------------------------------- */

static int
lock_within(struct target *t, int ms)
{
	const struct timespec nap = { .tv_nsec = 5000000 };
	const int fd = openat(target_proc(t), ".",
			      O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	int left;

	if (fd < 0)
		return fail_errno("open /proc/%d", target_pid(t));
	for (left = ms / 5; left >= 0; left--) {
		if (flock(fd, LOCK_EX | LOCK_NB) == 0)
			return fd;
		if (errno != EWOULDBLOCK && errno != EINTR)
			break;
		(void)nanosleep(&nap, NULL);
	}
	close(fd);
	(void)fail(FAIL_UNSUITABLE, "another process has locked /proc/%d, as "
		   "sonde does while it loads the collector", target_pid(t));
	return fail_remedy("try again, or: " PLAN_ENGINE_RING);
}

int
owner_lock(struct target *t)
{
	return lock_within(t, LOCK_WAIT_MS);
}

int
owner_try_lock(struct target *t)
{
	return lock_within(t, 0);
}
