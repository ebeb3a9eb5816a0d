/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Clocks that send a signal: one task-clock per thread, user mode only, whose
 * overflow the kernel signals to that very thread. No ring, no inheritance
 * (an inherited event would signal its creator): new threads are opened when
 * a side-band record tells of them.
 *
 * The side-band is one silent event per CPU where that is permitted, else one
 * per (thread x CPU), inherited. When a record of it was lost, the threads
 * are listed anew.
 *
 * A thread's descriptor is closed at its end and its count is kept.
 *
 * exec resets the handler of the signal: the kernel itself removes these
 * events then, and none is opened for the new program.
 */
#include "control.h"
#include "private.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <sys/ioctl.h>
#include <unistd.h>

enum {
	SIDE_BAND_RING = 64 << 10, SIDE_BAND_LEAST = 16 << 10,
	TIMES_MAX = 256,	/* threads whose ticks have exact times */
};

struct ticker {
	pid_t tid;
	int fd;			/* -1: it ended */
	uint64_t before;	/* CPU ns that it used before it was opened */
	uint64_t at_end;	/* its count when it ended */
	struct tick_times times;
};

struct signal_clock {
	pid_t pid, except;
	uint64_t interval_ns;
	int signo;		/* 0: not told yet */
	bool (*wanted)(void *arg, int fd, pid_t tid);
	void *wanted_arg;
	bool on, lost, execed;
	struct perf_kernel kernel;
	struct rings rings;
	int *sides;		/* per CPU, or the watch */
	size_t sides_len;
	struct watch watch;
	struct ticker *tickers;
	size_t len, cap, unserved;
	size_t *ended;		/* since the last drain: their times stay */
	size_t ended_len, ended_cap, timed;
	struct map by_tid;	/* tid -> place of its latest ticker */
};

/* ---- one thread ---------------------------------------------------------- */

/* What a thread that started while we ran had used before we noticed. */
static uint64_t
used_before(const struct signal_clock *c, pid_t tid)
{
	struct task_turns turns;
	char path[64];

	if (!c->on)
		return 0;
	(void)snprintf(path, sizeof path, "/proc/%d/task/%d/schedstat",
		       (int)c->pid, (int)tid);
	(void)task_turns_of(-1, path, &turns);	/* gone: 0 */
	return turns.cpu_ns;
}

static int
set_sending(int fd, bool on)
{
	return fcntl(fd, F_SETFL, on ? O_ASYNC | O_NONBLOCK : O_NONBLOCK);
}

static int
send_to(const struct signal_clock *c, int fd, pid_t tid)
{
	struct f_owner_ex owner = { .type = F_OWNER_TID, .pid = tid };

	if (!c->signo)
		return 0;
	if (fcntl(fd, F_SETSIG, c->signo) < 0 ||
	    fcntl(fd, F_SETOWN_EX, &owner) < 0)
		return -1;
	return set_sending(fd, !c->wanted ||
			   c->wanted(c->wanted_arg, fd, tid));
}

static int
open_ticker(struct signal_clock *c, pid_t tid)
{
	const struct perf_event_attr a = attr_ticker(c->interval_ns);
	const int fd = perf_open(&c->kernel, &a, tid, -1);

	if (fd < 0)
		return -1;
	if (descriptor_is_reserve(fd))
		errno = EMFILE;
	else if (send_to(c, fd, tid) == 0 &&
		 (!c->on || ioctl(fd, PERF_EVENT_IOC_ENABLE, 0) == 0))
		return fd;

	const int error = errno;

	(void)close(fd);
	errno = error;
	return -1;
}

static bool
ticking(const struct signal_clock *c, pid_t tid)
{
	uint64_t at;

	return map_get(&c->by_tid, (uint64_t)tid, &at) &&
		c->tickers[at].fd >= 0;
}

/* 0 also for a thread that is gone, or not to be sampled. */
static int
add_thread(struct signal_clock *c, pid_t tid)
{
	if (tid == c->except || c->execed || ticking(c, tid))
		return 0;

	const uint64_t before = used_before(c, tid);
	const int fd = open_ticker(c, tid);

	if (fd < 0 && errno == ESRCH)
		return 0;
	if (fd < 0) {
		c->unserved++;
		return -1;
	}
	c->tickers = xgrow(c->tickers, &c->cap, c->len + 1,
			   sizeof *c->tickers);
	c->tickers[c->len] = (struct ticker){
		.tid = tid, .fd = fd, .before = before,
	};
	if (c->timed < TIMES_MAX &&
	    tick_times_open(&c->tickers[c->len].times, fd, c->interval_ns))
		c->timed++;
	map_put(&c->by_tid, (uint64_t)tid, c->len++);
	return 0;
}

/* The count stands when the thread ended, and nobody inherited the event. */
static void
end_thread(struct signal_clock *c, pid_t tid)
{
	uint64_t at;

	if (!map_get(&c->by_tid, (uint64_t)tid, &at))
		return;

	struct ticker *t = &c->tickers[at];

	if (t->fd < 0)
		return;
	if (read(t->fd, &t->at_end, sizeof t->at_end) !=
	    sizeof t->at_end)
		t->at_end = 0;
	(void)close(t->fd);
	t->fd = -1;
	c->ended = xgrow(c->ended, &c->ended_cap, c->ended_len + 1,
			 sizeof *c->ended);
	c->ended[c->ended_len++] = at;
}

static void
forget_times(struct signal_clock *c)
{
	for (size_t i = 0; i < c->ended_len; i++) {
		struct tick_times *t = &c->tickers[c->ended[i]].times;

		c->timed -= t->page != NULL;
		tick_times_close(t);
	}
	c->ended_len = 0;
}

/* ---- all threads --------------------------------------------------------- */

static ssize_t
add_listed(struct signal_clock *c, pid_t **tids, size_t *cap)
{
	const size_t before = c->len;
	const ssize_t n = threads_list(c->pid, tids, cap);

	if (n < 0)
		return -1;
	for (ssize_t i = 0; i < n; i++)
		if (add_thread(c, (*tids)[i]) < 0 && c->len == 0)
			return -1;	/* the first is refused: all are */
	return (ssize_t)(c->len - before);
}

/* A thread may be born while we list: until nobody is new. */
static int
add_all(struct signal_clock *c)
{
	pid_t *tids = NULL;
	size_t cap = 0;
	ssize_t new;

	errno = ESRCH;
	do {
		new = add_listed(c, &tids, &cap);
	} while (new > 0);

	const int error = errno;

	free(tids);
	errno = error;
	return c->len > 0 ? 0 : -1;
}

static int
open_side_band(struct signal_clock *c)
{
	if (sideband_open(&c->sides, &c->sides_len, &c->kernel,
			  &c->rings) == 0)
		return 0;
	c->watch = (struct watch){
		.pid = c->pid,
		.attr = attr_dummy(),
		.kernel = &c->kernel,
		.rings = &c->rings,
	};
	attr_add_side_band(&c->watch.attr);
	attr_add_inherit(&c->watch.attr);
	return watch_open(&c->watch);
}

/* The side-band first: a thread born later is told or listed. */
static int
open_all(struct signal_clock *c)
{
	if (rings_open(&c->rings, &c->kernel, SIDE_BAND_RING, SIDE_BAND_LEAST,
		       c->pid) < 0)
		return -1;
	if (open_side_band(c) < 0 || add_all(c) < 0)
		return fail_refused(errno, c->pid,
				    "perf_event_open on the threads");
	return 0;
}

/* ---- the side-band ------------------------------------------------------- */

struct side_delivery {
	struct signal_clock *c;
	clock_sink sink;
	void *arg;
	size_t n;
};

static bool
is_ours(struct signal_clock *c, const struct raw_record *raw)
{
	const struct clock_record *r = &raw->r;

	if (!c->sides)
		return watch_accept(&c->watch, raw);
	return r->pid == c->pid || r->kind == CLOCK_LOST ||
		(r->kind == CLOCK_FORK && r->u.fork.ppid == c->pid);
}

static void
follow_exec(struct signal_clock *c)
{
	for (size_t i = 0; i < c->len; i++)
		end_thread(c, c->tickers[i].tid);
	c->execed = true;
}

static void
take(void *arg, size_t ring, const unsigned char *record)
{
	struct side_delivery *d = arg;
	struct signal_clock *c = d->c;
	struct raw_record raw;

	(void)ring;
	if (!record_parse(record, &raw) || !is_ours(c, &raw))
		return;
	if (raw.r.kind == CLOCK_LOST) {
		c->lost = true;
		return;
	}
	if (raw.r.kind == CLOCK_FORK && raw.r.pid == c->pid)
		/* refused: counted as unserved */
		(void)add_thread(c, raw.r.tid);
	if (raw.r.kind == CLOCK_EXIT)
		end_thread(c, raw.r.tid);
	if (raw.r.kind == CLOCK_EXEC)
		follow_exec(c);
	d->n++;
	d->sink(d->arg, &raw.r);
}

/* ---- the door ------------------------------------------------------------ */

struct signal_clock *
signal_clock_open(pid_t pid, uint64_t interval_ns, int signo, pid_t except_tid)
{
	if (interval_check(interval_ns) < 0)
		return NULL;

	struct signal_clock *c = xcalloc(1, sizeof *c);

	c->pid = pid;
	c->except = except_tid;
	c->interval_ns = interval_ns;
	c->signo = signo;
	descriptors_raise();
	if (open_all(c) < 0) {
		signal_clock_close(c);
		return NULL;
	}
	return c;
}

void
signal_clock_close(struct signal_clock *c)
{
	if (!c)
		return;
	for (size_t i = 0; i < c->len; i++) {
		if (c->tickers[i].fd >= 0)
			(void)close(c->tickers[i].fd);
		tick_times_close(&c->tickers[i].times);
	}
	free(c->tickers);
	free(c->ended);
	map_fini(&c->by_tid);
	watch_close(&c->watch);
	if (c->sides)
		fds_close(c->sides, c->sides_len);
	rings_close(&c->rings);
	free(c);
}

int
signal_clock_enable(struct signal_clock *c, bool on)
{
	const unsigned long request = on ? PERF_EVENT_IOC_ENABLE :
					   PERF_EVENT_IOC_DISABLE;

	int done = 0;

	/* whatever one says: all others are stopped too */
	c->on = on;
	for (size_t i = 0; i < c->len; i++)
		if (c->tickers[i].fd >= 0 &&
		    ioctl(c->tickers[i].fd, request, 0) < 0)
			done = fail_errno("%s the clock of thread %d",
					  on ? "start" : "stop",
					  (int)c->tickers[i].tid);
	return done;
}

int
signal_clock_signal(struct signal_clock *c, int signo,
		    bool (*wanted)(void *arg, int fd, pid_t tid), void *arg)
{
	int done = 0;

	c->signo = signo;
	c->wanted = wanted;
	c->wanted_arg = arg;
	for (size_t i = 0; i < c->len; i++) {
		const struct ticker *t = &c->tickers[i];

		/* one that has ended gets none, and no error for it */
		if (t->fd >= 0 && send_to(c, t->fd, t->tid) < 0 &&
		    errno != ESRCH)
			done = fail_errno("have the clock of thread %d send a "
					  "signal", (int)t->tid);
	}
	return done;
}

void
signal_clock_send(struct signal_clock *c, pid_t tid, bool on)
{
	uint64_t at;

	if (map_get(&c->by_tid, (uint64_t)tid, &at) &&
	    c->tickers[at].fd >= 0)
		(void)set_sending(c->tickers[at].fd, on);
}

size_t
signal_clock_unserved(const struct signal_clock *c)
{
	return c->unserved;
}

size_t
signal_clock_pollfds(const struct signal_clock *c, struct pollfd *fds,
		     size_t max)
{
	return rings_pollfds(&c->rings, fds, max);
}

size_t
signal_clock_drain(struct signal_clock *c, clock_sink sink, void *arg)
{
	struct side_delivery d = { .c = c, .sink = sink, .arg = arg };

	forget_times(c);
	(void)rings_drain(&c->rings, UINT64_MAX, take, &d);
	if (c->lost) {
		c->lost = false;
		/* whom we miss now is gone, or told by a record to come */
		(void)add_all(c);
	}
	return d.n;
}

static uint64_t
cpu_of(const struct ticker *t)
{
	uint64_t count;

	if (t->fd < 0)
		return t->before + t->at_end;
	if (read(t->fd, &count, sizeof count) != sizeof count)
		return t->before;
	return t->before + count;
}

uint64_t
signal_clock_time(struct signal_clock *c, pid_t tid, uint64_t coarse_ns)
{
	uint64_t at;

	return map_get(&c->by_tid, (uint64_t)tid, &at) ?
		tick_times_take(&c->tickers[at].times, coarse_ns) : coarse_ns;
}

int
signal_clock_cpu(struct signal_clock *c, pid_t tid, uint64_t *cpu_ns)
{
	uint64_t at;

	if (!map_get(&c->by_tid, (uint64_t)tid, &at))
		return fail(FAIL_MISSING, "thread %d has no clock", (int)tid);
	*cpu_ns = cpu_of(&c->tickers[at]);
	return 0;
}

void
signal_clock_each(struct signal_clock *c,
		  void (*visit)(void *arg, pid_t tid, uint64_t cpu_ns),
		  void *arg)
{
	for (size_t i = 0; i < c->len; i++)
		visit(arg, c->tickers[i].tid, cpu_of(&c->tickers[i]));
}
