/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * CPU time of a process's children that is in no experiment.
 *
 * The kernel adds what a child and its own children have used to its parent
 * when that waits for it, and tells both of each child that lives. So:
 *
 *	waited for since		what they used
 *	 - of those that were there at	what they had used before
 *	   the beginning
 *	 + of those that live		what they used since
 *
 * With --children those that were there at the beginning are recorded: theirs
 * is in experiments of their own, whose receipts tell of their children. Who
 * ended between two readings has used no more than the time between, which is
 * not told. A process that ignores SIGCHLD waits for nobody: of its children
 * there is what was read last.
 *
 * A grandchild whose parent has ended is nobody's any more: what it uses from
 * then on is in no count of these. Where the births of all processes are told
 * (root), such orphans are known, and read like children.
 */
#include "collection.h"

#include <dirent.h>
#include <fcntl.h>
#include <stdlib.h>
#include <unistd.h>

enum {
	THREADS_MOST = 64,	/* whose children are looked for each time */
	TRIES = 3,		/* while children end between two readings */
	DEPTH_MOST = 8,		/* of descendants below a child */
	PROCESSES_MOST = 256,	/* ... and how many of them */
	FAR_MOST = 256,		/* descendants that are followed */
};

static uint64_t used_by(pid_t pid, int depth, int *left);

static uint64_t
sum_of(const struct task_stat *st, bool with_own)
{
	uint64_t ticks = st->field[STAT_CHILDREN_UTIME] +
		st->field[STAT_CHILDREN_STIME];

	if (with_own)
		ticks += st->field[STAT_UTIME] + st->field[STAT_STIME];
	return stat_ticks_ns(ticks);
}

static bool
read_stat(pid_t pid, struct task_stat *st)
{
	char path[64];

	(void)snprintf(path, sizeof path, "/proc/%d/stat", (int)pid);

	const int fd = open(path, O_RDONLY | O_CLOEXEC);
	const bool there = task_stat_at(fd, st) == 0;

	if (fd >= 0)
		(void)close(fd);
	return there;
}

/* ---- one child ----------------------------------------------------------- */

/* What descendants use that live is in nobody's count yet. */
static uint64_t
living_below(pid_t pid, int depth, int *left)
{
	char path[64];
	uint64_t ns = 0;

	(void)snprintf(path, sizeof path, "/proc/%d/task", (int)pid);

	DIR *dir = depth < DEPTH_MOST ? opendir(path) : NULL;

	for (const struct dirent *e; dir && (e = readdir(dir));) {
		char *name = xasprintf("%s/%s/children", path, e->d_name);
		char *text = *e->d_name == '.' ? NULL : file_read(name, NULL);
		char *at = text, *end;

		for (long child; at && (child = strtol(at, &end, 10)) > 0 &&
		     (*left)-- > 0; at = end)
			ns += used_by((pid_t)child, depth + 1, left);
		free(text);
		free(name);
	}
	if (dir)
		(void)closedir(dir);
	return ns;
}

static uint64_t
used_by(pid_t pid, int depth, int *left)
{
	struct task_stat st;

	return read_stat(pid, &st) ?
		sum_of(&st, true) + living_below(pid, depth, left) : 0;
}

static bool
read_child(const struct offspring *o, struct child *ch, int *left)
{
	struct task_stat st;
	uint64_t ns;

	if (!read_stat(ch->pid, &st) ||
	    (pid_t)st.field[STAT_PPID] != o->parent)
		return false;
	ns = sum_of(&st, true) + living_below(ch->pid, 0, left);
	if (ns > ch->now_ns)	/* an orphan takes none of it back */
		ch->now_ns = ns;
	ch->read_at = now_ns();
	return true;
}

static bool
is_known(const struct offspring *o, pid_t pid)
{
	for (size_t i = 0; i < o->len; i++)
		if (o->items[i].pid == pid && !o->items[i].gone)
			return true;
	return false;
}

static void
meet(struct offspring *o, pid_t pid, bool first, int *left)
{
	struct child ch = { .pid = pid, .first = first };

	if (is_known(o, pid) || !read_child(o, &ch, left) || pid == getpid())
		return;
	ch.before_ns = first ? ch.now_ns : 0;
	o->items = xgrow(o->items, &o->cap, o->len + 1, sizeof *o->items);
	o->items[o->len++] = ch;
}

/* ---- orphans ------------------------------------------------------------- */

void
offspring_meet(struct offspring *o, pid_t pid)
{
	struct task_stat st;

	if (o->far_len == FAR_MOST || !read_stat(pid, &st))
		return;
	for (size_t i = 0; i < o->far_len; i++)
		if (o->far[i].pid == pid &&
		    o->far[i].start_time == st.field[STAT_START_TIME])
			return;
	o->far = xgrow(o->far, &o->far_cap, o->far_len + 1, sizeof *o->far);
	o->far[o->far_len++] = (struct descendant){
		.pid = pid, .start_time = st.field[STAT_START_TIME],
	};
}

static bool
is_far(const struct offspring *o, pid_t pid)
{
	for (size_t i = 0; i < o->far_len; i++)
		if (o->far[i].pid == pid)
			return true;
	return false;
}

/* Below the parent, or another orphan, whose counts have it? */
static bool
is_below(const struct offspring *o, const struct task_stat *its)
{
	struct task_stat st = *its;

	for (int depth = 0; depth <= DEPTH_MOST; depth++) {
		const pid_t above = (pid_t)st.field[STAT_PPID];

		if (above == o->parent || is_far(o, above))
			return true;
		if (above <= 1 || !read_stat(above, &st))
			return false;
	}
	return false;
}

static void
read_orphans(struct offspring *o, int *left)
{
	size_t kept = 0;

	for (size_t i = 0; i < o->far_len; i++) {
		struct descendant d = o->far[i];
		struct task_stat st;

		if (!read_stat(d.pid, &st) ||
		    st.field[STAT_START_TIME] != d.start_time) {
			o->orphans_ns += d.now_ns - d.seen_ns;
			continue;
		}

		const uint64_t ns = sum_of(&st, true) +
			living_below(d.pid, 0, left);

		if (ns > d.now_ns)
			d.now_ns = ns;
		if (is_below(o, &st))
			d.seen_ns = d.now_ns;
		o->far[kept++] = d;
	}
	o->far_len = kept;
}

/* ---- all of them --------------------------------------------------------- */

/* Each thread has those that it has made. */
static void
find_children(struct offspring *o, struct target *t, bool first, int *left)
{
	pid_t *tids = NULL;
	size_t cap = 0;
	const ssize_t n = target_threads(t, &tids, &cap);

	for (ssize_t i = 0; i < n && (first || i < THREADS_MOST); i++) {
		const size_t at_thread = (o->turn + (size_t)i) % (size_t)n;
		char path[64];

		(void)snprintf(path, sizeof path, "task/%d/children",
			       (int)tids[at_thread]);

		char *text = file_read_at(target_proc(t), path, NULL);
		char *at = text, *end;

		for (long pid; at && (pid = strtol(at, &end, 10)) > 0; at = end)
			meet(o, (pid_t)pid, first, left);
		free(text);
	}
	o->turn += THREADS_MOST;
	free(tids);
	fail_clear();
}

/* Of those that came later the parent's count has all, if it waits. */
static void
read_children(struct offspring *o, int *left)
{
	size_t kept = 0;

	for (size_t i = 0; i < o->len; i++) {
		struct child *ch = &o->items[i];

		ch->gone = ch->gone || !read_child(o, ch, left);
		if (ch->gone && !ch->gone_at)
			ch->gone_at = now_ns();
		if (ch->first || !ch->gone)
			o->items[kept++] = *ch;
		else
			o->later_ns += ch->now_ns;
	}
	o->len = kept;
}

static uint64_t
read_waited(const struct offspring *o, const struct target *t)
{
	struct task_stat st;
	const bool there = target_stat(t, &st) == 0;

	fail_clear();
	return there ? sum_of(&st, false) : o->waited_ns;
}

void
offspring_note(struct offspring *o, struct target *t)
{
	const bool first = !o->parent;
	uint64_t before;
	int tries = 0;

	o->parent = target_pid(t);
	do {
		int left = PROCESSES_MOST;	/* below all children */

		before = read_waited(o, t);
		read_children(o, &left);
		if (!target_gone(t))
			find_children(o, t, first, &left);
		o->waited_ns = read_waited(o, t);
	} while (o->waited_ns != before && ++tries < TRIES);
	if (first)
		o->before_ns = o->waited_ns;

	int left = PROCESSES_MOST;

	read_orphans(o, &left);
}

static uint64_t
orphans_used(const struct offspring *o)
{
	uint64_t ns = o->orphans_ns;

	for (size_t i = 0; i < o->far_len; i++)
		ns += o->far[i].now_ns - o->far[i].seen_ns;
	return ns;
}

static uint64_t
used_by_children(const struct offspring *o, bool recorded)
{
	const uint64_t waited = o->waited_ns - o->before_ns;
	uint64_t ended = o->later_ns, plus = 0, minus = 0;

	for (size_t i = 0; i < o->len; i++)
		if (o->items[i].gone)
			ended += o->items[i].now_ns;

	const bool counted = waited >= ended;

	if (!counted)
		plus += o->later_ns;

	for (size_t i = 0; i < o->len; i++) {
		const struct child *ch = &o->items[i];
		const uint64_t since = ch->now_ns - ch->before_ns;
		const bool ours = recorded && ch->first;

		if (!ours && (!ch->gone || !counted))
			plus += since;
		if (ch->gone && counted)
			minus += ours ? ch->now_ns + ch->gone_at - ch->read_at :
				ch->before_ns;
	}
	/* it lost some: these, and those that it waited for, were met alike */
	if (!counted)
		return plus > waited ? plus : waited;
	return waited + plus > minus ? waited + plus - minus : 0;
}

uint64_t
offspring_untold_ns(const struct offspring *o, bool recorded)
{
	return used_by_children(o, recorded) + orphans_used(o);
}

void
offspring_fini(struct offspring *o)
{
	free(o->items);
	free(o->far);
	*o = (struct offspring){ 0 };
}
