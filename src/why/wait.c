/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * What one thread waits for: its call and arguments, as /proc tells them of a
 * thread that does not run, and what they mean. Its turns on a processor are
 * read before and after: if it had one meanwhile, it is looked at again.
 */
#include "private.h"

#include <fcntl.h>
#include <inttypes.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/syscall.h>
#include <time.h>

enum { LOOKS = 3 };
#define SECONDS_MAX	INT64_C(4000000000)

struct why *
why_new(void)
{
	return xcalloc(1, sizeof(struct why));
}

void
why_free(struct why *y)
{
	if (!y)
		return;
	sockets_forget(y);
	free(y->sockets);
	free(y->rows);
	free(y->opened);
	free(y->thens);
	map_fini(&y->then_of);
	free(y->members.items);
	free(y->sharers.pids);
	map_fini(&y->held);
	free(y);
}

size_t
why_unseen(const struct why *y)
{
	return y->unseen;
}

void
wait_fini(struct wait *w)
{
	for (size_t i = 0; i < w->file_count; i++) {
		free(w->files[i].what);
		free(w->files[i].peers);
	}
	free(w->files);
	free(w->children);
	free(w->words);
	*w = (struct wait){ 0 };
}

/* ---- state, name, turns ------------------------------------------------- */

/* "4711 (name) S ...": a name may hold anything. */
static bool
read_state(struct wait *w)
{
	char *text = proc_text(w->pid, "task/%d/stat", (int)w->tid);
	const char *open = text ? strchr(text, '(') : NULL;
	const char *close = text ? strrchr(text, ')') : NULL;

	if (open && close && close[1] == ' ') {
		w->state = close[2];
		(void)snprintf(w->name, sizeof w->name, "%.*s",
			       (int)(close - open - 1), open + 1);
		str_tame(w->name);
	}
	free(text);
	return w->state && w->state != 'X';
}

/* A kernel without schedstat counts those that ended otherwise. */
static uint64_t
count_switches(pid_t pid, pid_t tid)
{
	char *text = proc_text(pid, "task/%d/status", (int)tid);
	uint64_t turns = 0;

	for (const char *at = text; at && (at = strstr(at, "ctxt_switches:"));
	     at++)
		turns += strtoull(at + strlen("ctxt_switches:"), NULL, 10);
	free(text);
	return turns;
}

static uint64_t
read_turns(pid_t pid, pid_t tid)
{
	char *text = proc_text(pid, "task/%d/schedstat", (int)tid);
	uint64_t turns = 0;

	if (!text || sscanf(text, "%*u %*u %" SCNu64, &turns) != 1 || !turns)
		turns = count_switches(pid, tid);
	free(text);
	return turns;
}

/* "202 0x7f.. 0x80 ... sp pc"; "running"; "-1 sp pc" outside of a call. False:
 * it may not be seen. */
static bool
read_call(struct wait *w)
{
	char *text = proc_text(w->pid, "task/%d/syscall", (int)w->tid);
	const bool seen = text != NULL;
	const int n = text ? sscanf(text, "%ld %" SCNx64 " %" SCNx64 " %"
		SCNx64 " %" SCNx64 " %" SCNx64 " %" SCNx64 " %" SCNx64 " %"
		SCNx64, &w->call, &w->args[0], &w->args[1], &w->args[2],
		&w->args[3], &w->args[4], &w->args[5], &w->sp, &w->pc) : 0;

	if (n == 3) {			/* no call */
		w->sp = w->args[0];
		w->pc = w->args[1];
	}
	if (n != 9)
		w->call = -1;
	free(text);
	return seen;
}

/*
 * A sleep that a stop broke off goes on as restart_syscall, with the arguments
 * where they were. Which call it was, the code in front of pc tells: on x86-64
 * mov $NUMBER,%eax; syscall.
 */
static void
find_restarted(struct wait *w)
{
	unsigned char code[7];
	uint32_t number;

	if (w->call != SYS_restart_syscall ||
	    memory_read(w->tid, w->pc - sizeof code, code, sizeof code) < 0 ||
	    code[0] != 0xb8 || code[5] != 0x0f || code[6] != 0x05)
		return;
	memcpy(&number, code + 1, sizeof number);
	w->call = (long)number;
}

/* ---- what for ----------------------------------------------------------- */

int64_t
time_left(clockid_t clock, const struct timespec *until)
{
	struct timespec now;

	if (clock_gettime(clock, &now) < 0 || until->tv_sec < 0 ||
	    until->tv_sec - now.tv_sec > SECONDS_MAX)
		return -1;

	const int64_t left = (until->tv_sec - now.tv_sec) *
		INT64_C(1000000000) + until->tv_nsec - now.tv_nsec;

	return left > 0 ? left : 0;
}

static void
take_limit(struct wait *w, const struct call_row *row)
{
	const uint64_t value = w->args[row->limit_at];
	struct timespec ts;

	w->timeout_ns = -1;
	if (row->limit == LIMIT_NONE)
		return;
	if (row->limit == LIMIT_MS) {
		w->timed = (int)value >= 0;
		w->timeout_ns = w->timed ? (int64_t)(int)value * 1000000 : -1;
		return;
	}
	w->timed = value != 0;
	if (!value || memory_read(w->tid, value, &ts, sizeof ts) < 0 ||
	    ts.tv_sec < 0 || ts.tv_sec > SECONDS_MAX)
		return;
	w->timeout_ns = ts.tv_sec * INT64_C(1000000000) +
		(row->limit == LIMIT_TIMEVAL ? ts.tv_nsec * 1000 : ts.tv_nsec);
	if (w->call == SYS_clock_nanosleep && w->args[1] & TIMER_ABSTIME)
		w->timeout_ns = time_left((clockid_t)w->args[0], &ts);
	if (row->limit == LIMIT_MOMENT)
		w->timeout_ns = time_left(CLOCK_REALTIME, &ts);
}

static bool
takes_lock(const struct wait *w)
{
	return w->call == SYS_flock || w->args[1] == F_SETLKW ||
		w->args[1] == 38 /* F_OFD_SETLKW */;
}

void
why_held(struct why *y, pid_t tid)
{
	map_put(&y->held, (uint64_t)tid, 1);
}

static bool
is_stopped(const struct why *y, const struct wait *w)
{
	uint64_t held;

	return w->state == 'T' || (w->state == 't' &&
		!map_get(&y->held, (uint64_t)w->tid, &held));
}

static void
understand(struct why *y, struct wait *w, const char *const *functions)
{
	const struct call_row *row = w->call < 0 ? NULL : call_find(w->call);

	w->kind = row ? row->kind : w->call < 0 ? WAIT_NONE : WAIT_CALL;
	if (is_stopped(y, w))
		w->kind = WAIT_STOPPED;
	else if (w->call < 0 && w->state == 'D')
		w->kind = WAIT_KERNEL;
	else if (w->kind == WAIT_FILE_LOCK && !takes_lock(w))
		w->kind = WAIT_CALL;
	else if (w->state != 'R' && children_is_vfork(w))
		w->kind = WAIT_CHILD;
	if (row)
		take_limit(w, row);
	if (w->kind == WAIT_FUTEX)
		futex_look(y, w, functions);
	else if (w->kind == WAIT_FILES)
		files_look(y, w, row);
	else if (w->kind == WAIT_FILE_LOCK)
		file_lock_look(y, w);
	else if (w->kind == WAIT_CHILD)
		children_look(y, w);
}

/* ---- the moment of its stack --------------------------------------------- */

/* Still the wait that was seen with the stack? A stop leaves it where it was,
 * but adds to its turns: then by its call. */
static bool
is_then(const struct why_then *then, const struct wait *now)
{
	if (then->turns)
		return then->turns == now->turns;

	const long call = then->call == SYS_restart_syscall ? now->call :
		then->call;

	return now->pc == then->pc && now->sp == then->sp &&
		now->call == call &&
		(call < 0 || memcmp(now->args, then->args,
				    sizeof now->args) == 0);
}

/* What it waits for now is of no use. Descriptors and children may be others
 * by now: of such a call the name is known. */
static void
take_past(struct why *y, struct wait *w, const struct why_then *then,
	  const char *const *functions)
{
	w->past = true;
	w->turns = then->turns;
	w->state = then->state;
	w->pc = then->pc;
	w->sp = then->sp;
	w->call = then->call;
	memcpy(w->args, then->args, sizeof w->args);
	find_restarted(w);

	const struct call_row *row = w->call < 0 ? NULL : call_find(w->call);

	w->kind = row && (w->call == SYS_futex || row->kind == WAIT_TIME ||
			  row->kind == WAIT_SIGNAL || row->kind == WAIT_IPC) ?
		row->kind : w->call >= 0 ? WAIT_CALL :
		w->state == 'D' ? WAIT_KERNEL : WAIT_NONE;
	if (w->state == 'R')
		w->kind = WAIT_NONE;	/* it ran within the call */
	else if (w->state == 'T')
		w->kind = WAIT_STOPPED;
	if (w->kind == WAIT_FUTEX)
		futex_look(y, w, functions);
	w->timeout_ns = -1;	/* memory that tells may be another's by now */
}

static int
look_once(struct why *y, const char *const *functions, struct wait *w)
{
	const struct why_then *then = then_find(y, w->tid);

	if (!read_state(w))
		return fail(FAIL_MISSING, "thread %d has ended", (int)w->tid);
	w->call = -1;
	w->turns = read_turns(w->pid, w->tid);
	if (w->state == 'Z')
		return 0;
	if (!read_call(w)) {
		w->kind = w->state == 'R' ? WAIT_NONE : WAIT_CALL;
		return 0;
	}
	if (w->state == 'R')
		w->call = -1;
	find_restarted(w);
	if (then && !is_then(then, w))
		take_past(y, w, then, functions);
	else
		understand(y, w, functions);
	return 0;
}

int
why_look(struct why *y, pid_t pid, pid_t tid, const char *const *functions,
	 struct wait *out)
{
	*out = (struct wait){ 0 };
	for (int i = 0; i < LOOKS; i++) {
		wait_fini(out);
		out->pid = pid;
		out->tid = tid;
		if (look_once(y, functions, out) < 0)
			return -1;
		if (out->kind == WAIT_NONE || out->past ||
		    read_turns(pid, tid) == out->turns)
			return 0;
	}
	/* it waits now and then, never long enough to be seen at it */
	wait_fini(out);
	*out = (struct wait){ .pid = pid, .tid = tid, .call = -1 };
	(void)read_state(out);
	return 0;
}

bool
why_holds(struct why *y, const struct wait *w)
{
	struct wait now = { .pid = w->pid, .tid = w->tid, .call = w->call };
	const char *const by_name[] = { w->lock == LOCK_MUTEX ?
		"pthread_mutex_lock" : NULL, NULL };

	if (w->kind == WAIT_NONE && !w->past)
		return true;
	if (w->past || read_turns(w->pid, w->tid) != w->turns)
		return false;
	if (w->kind != WAIT_FUTEX || w->lock == LOCK_RWLOCK)
		return true;
	memcpy(now.args, w->args, sizeof now.args);
	futex_look(y, &now, by_name);

	const bool same = now.owner == w->owner && now.value == w->value;

	wait_fini(&now);
	return same;
}
