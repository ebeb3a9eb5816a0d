/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * The threads of a clock that sends signals, each with an event of its own:
 * which of them have one, what they used before it, and how it ends.
 */
#include "control.h"
#include "signals.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <sys/ioctl.h>
#include <unistd.h>

enum {
	TIMES_MAX = 256,	/* threads whose ticks have exact times */
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

int
ticker_set_sending(int fd, bool on)
{
	return fcntl(fd, F_SETFL, on ? O_ASYNC | O_NONBLOCK : O_NONBLOCK);
}

int
ticker_send_to(const struct signal_clock *c, int fd, pid_t tid)
{
	struct f_owner_ex owner = { .type = F_OWNER_TID, .pid = tid };

	if (!c->signo)
		return 0;
	if (c->gate && (gate_note_filters(c->gate, tid, signal_clock_filters(
						  c, tid)) < 0 ||
			gate_put(c->gate, fd) < 0))
		return -1;
	if (fcntl(fd, F_SETSIG, c->signo) < 0 ||
	    fcntl(fd, F_SETOWN_EX, &owner) < 0)
		return -1;
	return ticker_set_sending(fd, !c->wanted ||
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
	else if (ticker_send_to(c, fd, tid) == 0 &&
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
int
tickers_add(struct signal_clock *c, pid_t tid)
{
	if (tid == c->except || c->execed || ticking(c, tid))
		return 0;

	const uint64_t before = used_before(c, tid);
	const int fd = open_ticker(c, tid);

	if (fd < 0 && errno == ESRCH)
		return 0;
	if (fd < 0) {
		map_put(&c->refused, (uint64_t)tid, (uint64_t)errno);
		return -1;
	}
	(void)map_remove(&c->refused, (uint64_t)tid);
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

/* Unless another has its number by now. */
static void
forget(struct signal_clock *c, pid_t tid)
{
	if (ticking(c, tid))
		return;
	if (c->gate)
		gate_forget(c->gate, tid);
	(void)map_remove(&c->filters, (uint64_t)tid);
}

/* A list of filters only grows: where both have as many, they are the same. */
int
tickers_add_born(struct signal_clock *c, pid_t tid, pid_t parent)
{
	const uint32_t filters = signal_clock_filters(c, parent);

	forget(c, tid);		/* what is kept was another thread's */
	if (filters && !signal_clock_filters(c, tid))
		signal_clock_note_filters(c, tid, filters);
	return tickers_add(c, tid);
}

/* The count stands when the thread ended, and nobody inherited the event. */
void
tickers_end(struct signal_clock *c, pid_t tid)
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

void
tickers_forget_times(struct signal_clock *c)
{
	for (size_t i = 0; i < c->ended_len; i++) {
		struct tick_times *t = &c->tickers[c->ended[i]].times;

		c->timed -= t->page != NULL;
		tick_times_close(t);
		forget(c, c->tickers[c->ended[i]].tid);
	}
	c->ended_len = 0;
}

uint64_t
ticker_cpu(const struct ticker *t)
{
	uint64_t count;

	if (t->fd < 0)
		return t->before + t->at_end;
	if (read(t->fd, &count, sizeof count) != sizeof count)
		return t->before;
	return t->before + count;
}

/* ---- all threads --------------------------------------------------------- */

static ssize_t
add_listed(struct signal_clock *c, pid_t **tids, size_t *cap)
{
	const size_t before = c->len;
	const ssize_t n = threads_list(c->pid, tids, cap);

	if (n < 0)
		return -1;
	if (!descriptors_suffice((size_t)n))
		threads_sort_busiest(c->pid, *tids, (size_t)n);
	for (ssize_t i = 0; i < n; i++)
		if (tickers_add(c, (*tids)[i]) < 0 && c->len == 0)
			return -1;	/* the first is refused: all are */
	return (ssize_t)(c->len - before);
}

/* A thread may be born while we list: until nobody is new. */
int
tickers_add_all(struct signal_clock *c)
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
