/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Calls that may have done a part of their work. When such a call is blocked
 * and a stop comes, it answers with what it has done so far: a write of fewer
 * bytes than asked for, a MSG_WAITALL that did not get all. Nothing can repair
 * that afterwards. So a thread in such a call is not stopped: it is waited
 * for, looked at without a stop, or let be. By the call's arguments, as /proc
 * shows them of a blocked thread; one that runs shows nothing.
 */
#include "hazard.h"
#include "private.h"

#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

/* Of io_uring_enter what it has submitted is the answer. */
bool
call_is_partial(long nr, const uint64_t a[6])
{
	if (!handled(HAZARD_PARTIAL))
		return false;
	switch (nr) {
	case SYS_recvfrom:
		return a[3] & MSG_WAITALL;
	case SYS_recvmsg:
		return a[2] & MSG_WAITALL;
	case SYS_write:
		return a[2] > PIPE_BUF;		/* up to that all or nothing */
	case SYS_sendto:
		return a[2] > 1;
	case SYS_io_getevents:
	case SYS_io_pgetevents:
		return (int64_t)a[1] > 1;
	case SYS_io_uring_enter:
		return (unsigned)a[1] && (unsigned)a[2];
	case SYS_writev:
	case SYS_sendmsg:
	case SYS_sendmmsg:
	case SYS_recvmmsg:
	case SYS_sendfile:
	case SYS_splice:
	case SYS_tee:
	case SYS_vmsplice:
	case SYS_copy_file_range:
		return true;
	default:
		return false;
	}
}

/* Their only answer to a stop is EINTR (signal(7), and measured). */
bool
call_sees_eintr(long nr)
{
	switch (nr) {
	case SYS_epoll_wait: case SYS_epoll_pwait: case SYS_semop:
	case SYS_semtimedop: case SYS_rt_sigtimedwait: case SYS_io_getevents:
	case SYS_msgrcv: case SYS_msgsnd: case SYS_recvfrom: case SYS_recvmsg:
	case SYS_sendto: case SYS_sendmsg: case SYS_accept: case SYS_accept4:
	case SYS_connect:
	case 333 /* io_pgetevents */: case 441 /* epoll_pwait2 */:
	case SYS_io_uring_enter:
		return true;
	default:
		return false;
	}
}

enum { REST_US = 2000, LOOKS = 4, AGAIN_US = 60, LONG_LOOKS = 40,
       LONG_US = 300 };

enum where { ELSEWHERE, IN_PARTIAL, RUNS };

static enum where
where_of(int seen, const struct task_call *c, const uint64_t args[6])
{
	if (seen == 0)
		return RUNS;
	return seen == 1 && c->nr >= 0 && call_is_partial(c->nr, args) ?
		IN_PARTIAL : ELSEWHERE;
}

/* ELSEWHERE: c->nr is the call, -1 none. */
static enum where
look_closely(const struct target *t, pid_t tid, struct task_call *c)
{
	uint64_t args[6];

	*c = (struct task_call){ .nr = -1 };

	const int seen = target_thread_call(t, tid, c, args);

	return where_of(seen, c, args);
}

static enum where
look_where(const struct target *t, pid_t tid)
{
	struct task_call c;

	return look_closely(t, tid, &c);
}

enum call_where
call_where(struct target *t, pid_t tid, uint64_t *pc)
{
	struct task_call c;
	const enum where w = look_closely(t, tid, &c);

	*pc = c.pc;
	switch (w) {
	case RUNS:
		return CALL_NONE;
	case IN_PARTIAL:
		return CALL_PARTIAL;
	case ELSEWHERE:
		break;
	}
	if (c.nr == SYS_restart_syscall && thread_sleeping_call(t, c.pc) < 0)
		return CALL_SEES_EINTR;
	return call_sees_eintr(c.nr) ? CALL_SEES_EINTR : CALL_BEGINS_AGAIN;
}

bool
thread_in_transfer(struct target *t, pid_t tid)
{
	return look_where(t, tid) == IN_PARTIAL;
}

static void
rest_us(long us)
{
	const struct timespec ts = { .tv_nsec = us * NS_PER_US };

	(void)nanosleep(&ts, NULL);	/* being woken early is no harm */
}

/*
 * Who is in the midst of one, 0 nobody. A transfer runs now and then, when the
 * other side has done its part, and is blocked soon after: who runs is looked
 * at again.
 */
static pid_t
one_in_partial(const struct target *t, const pid_t *tids, ssize_t n)
{
	bool again = true;

	for (int look = 0; again && look < LOOKS; look++) {
		again = false;
		if (look > 0)
			rest_us(AGAIN_US);
		for (ssize_t i = 0; i < n; i++) {
			const enum where w = look_where(t, tids[i]);

			if (w == IN_PARTIAL)
				return tids[i];
			again = again || w == RUNS;
		}
	}
	return 0;
}

/*
 * The last look comes while others stand already, and to open the file takes
 * ten times as long as to read it: it stays open where there is room.
 */
static enum where
look_held(const struct target *t, const struct hold *h)
{
	struct task_call c;
	uint64_t args[6];

	return h->call_fd < 0 ? look_where(t, h->tid) :
		where_of(task_call_at(h->call_fd, &c, args), &c, args);
}

static void
keep_calls_open(struct pack *p)
{
	descriptors_raise();
	for (size_t i = 0; i < p->len; i++) {
		struct hold *h = &p->items[i];

		if (h->call_fd < 0)
			h->call_fd = call_open(p->target, h->tid);
		if (!descriptor_is_reserve(h->call_fd))
			continue;
		close(h->call_fd);
		h->call_fd = -1;
		return;
	}
}

/* Those in the midst of one, now or when looked at again. */
void
partial_mark(struct pack *p)
{
	bool again = true;

	keep_calls_open(p);
	for (size_t i = 0; i < p->len; i++)
		p->items[i].spared = false;
	for (int look = 0; again && look < LOOKS; look++) {
		again = false;
		if (look > 0)
			rest_us(AGAIN_US);
		for (size_t i = 0; i < p->len; i++) {
			struct hold *h = &p->items[i];
			const enum where w = h->spared ? ELSEWHERE :
				look_held(p->target, h);

			h->spared = h->spared || w == IN_PARTIAL;
			h->sleeps = w != RUNS && !h->spared;
			again = again || w == RUNS;
		}
	}
}

bool
partial_runs(const struct target *t, pid_t tid)
{
	return look_where(t, tid) == RUNS;
}

bool
partial_spares(const struct pack *p, struct hold *h)
{
	const enum where w = look_held(p->target, h);

	h->sleeps = w == ELSEWHERE;
	return w == IN_PARTIAL || (w == RUNS && h->spared);
}

int
partial_refused(pid_t tid, enum fail_kind kind)
{
	fail(kind, "thread %d is in the midst of a transfer, of which "
	     "a stop would leave a part", (int)tid);
	return fail_remedy("try again when its call has ended");
}

int
partial_look_long(struct target *t, pid_t tid)
{
	for (int look = 0; look < LONG_LOOKS; look++) {
		const enum where w = look_where(t, tid);

		if (w == IN_PARTIAL)
			return partial_refused(tid, FAIL_GENERAL);
		if (w == ELSEWHERE)
			break;
		rest_us(LONG_US);
	}
	return 0;
}

int
partial_await(struct target *t, pid_t tid)
{
	const uint64_t deadline = deadline_in_ms(PARTIAL_LIMIT_MS);

	while (one_in_partial(t, &tid, 1)) {
		if (now_ns() >= deadline)
			return partial_refused(tid, FAIL_GENERAL);
		rest_us(REST_US);
	}
	return 0;
}

/* Best when nobody is seized yet: who is can be let go by a stop only. */
int
partial_await_all(struct target *t, uint64_t limit_ms)
{
	const uint64_t deadline = deadline_in_ms(limit_ms);
	pid_t *tids = NULL, tid;
	size_t cap = 0;
	int r = 0;

	for (;;) {
		const ssize_t n = target_threads(t, &tids, &cap);

		tid = one_in_partial(t, tids, n);
		if (!tid)
			break;
		if (now_ns() >= deadline) {
			r = partial_refused(tid, FAIL_GENERAL);
			break;
		}
		rest_us(REST_US);
	}
	free(tids);
	return r;
}

/* ---- when it could not be avoided ---------------------------------------- */

bool
partial_was_cut(struct target *t, pid_t tid, long nr,
		const uint64_t a[6], int64_t done)
{
	if (done <= 0 || (uint64_t)done >= a[2] ||
	    (nr != SYS_write && nr != SYS_sendto && nr != SYS_recvfrom) ||
	    !call_is_partial(nr, a) ||
	    (nr != SYS_write && (a[3] & MSG_DONTWAIT)))
		return false;
	return descriptor_waits(t, tid, (int)a[0]);
}
