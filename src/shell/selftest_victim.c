/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * The victim of selftest: this program itself, started anew, which looks into
 * nothing of ours. It does what a careless visitor breaks: blocks of memory
 * with a pattern, waits that answer EINTR to any stop, a timer whose every
 * expiry counts, threads that are born and end. "alone" does so with one
 * thread, for then libc takes no locks.
 */
#include "selftest.h"

#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <time.h>
#include <unistd.h>

enum { BLOCKS = 64, BLOCK_MAX = 3000, NAP_MS = 10, TICK_MS = 5, THREADS = 6 };

static struct selftest_page *page;

static void
count(uint64_t *what)
{
	__atomic_fetch_add(what, 1, __ATOMIC_RELAXED);
}

static uint64_t
now_ms(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_MONOTONIC, &ts);
	return (uint64_t)ts.tv_sec * 1000 + (uint64_t)ts.tv_nsec / 1000000;
}

/* ---- what it does -------------------------------------------------------- */

struct heap {
	unsigned char *block[BLOCKS];
	size_t size[BLOCKS];
	unsigned word;
};

static void
heap_step(struct heap *h)
{
	const unsigned i = (h->word = h->word * 1103515245 + 12345) >> 8 &
		(BLOCKS - 1);

	for (size_t k = 0; k < h->size[i]; k++)
		if (h->block[i][k] != (unsigned char)(i + h->size[i]))
			count(&page->wrong);
	free(h->block[i]);
	h->size[i] = (h->word >> 16) % BLOCK_MAX;
	h->block[i] = malloc(h->size[i] + 1);
	if (h->block[i])
		memset(h->block[i], (int)(i + h->size[i]), h->size[i]);
	else
		h->size[i] = 0;
	count(&page->rounds);
}

static void *
allocate(void *arg)
{
	struct heap h = { .word = 7 };

	while (!page->stop)
		heap_step(&h);
	for (size_t i = 0; i < BLOCKS; i++)
		free(h.block[i]);
	return arg;
}

static void
judge(int result, int error, uint64_t since)
{
	if (result < 0 && error == EINTR)
		count(&page->eintr);
	else if (result != 0 || now_ms() + 1 - since < NAP_MS)
		count(&page->wrong);
	count(&page->rounds);
}

static void
nap(void)
{
	const struct timespec ts = { 0, NAP_MS * 1000000 };
	const uint64_t since = now_ms();
	const int r = nanosleep(&ts, NULL);

	judge(r, errno, since);
}

static void *
take_naps(void *arg)
{
	while (!page->stop)
		nap();
	return arg;
}

static void *
wait_for_events(void *arg)
{
	const int fd = epoll_create1(EPOLL_CLOEXEC);
	struct epoll_event ev;

	while (!page->stop) {
		const uint64_t since = now_ms();
		const int r = epoll_wait(fd, &ev, 1, NAP_MS);

		judge(r, errno, since);
	}
	close(fd);
	return arg;
}

static void *
be_born(void *arg)
{
	return arg;
}

static void *
give_birth(void *arg)
{
	while (!page->stop) {
		pthread_t th;
		void *back = NULL;

		if (pthread_create(&th, NULL, be_born, page) != 0 ||
		    pthread_join(th, &back) != 0 || back != page)
			count(&page->wrong);
		nap();
	}
	return arg;
}

/* ---- the timer of the main thread ---------------------------------------- */

static volatile uint64_t ticks;

static void
on_tick(int signo, siginfo_t *info, void *context)
{
	(void)signo;
	(void)context;
	ticks += 1 + (uint64_t)info->si_overrun;
}

/* Each expiry is delivered or counted as overrun, whatever held it up; the
 * last may be under way. */
static void
work_to_ticks(void)
{
	struct sigaction sa = { .sa_sigaction = on_tick,
				.sa_flags = SA_SIGINFO | SA_RESTART };
	struct sigevent ev = { .sigev_notify = SIGEV_SIGNAL,
			       .sigev_signo = SIGUSR1 };
	const struct itimerspec each = { { 0, TICK_MS * 1000000 },
					 { 0, TICK_MS * 1000000 } };
	const uint64_t since = now_ms();
	struct heap h = { .word = 1 };
	uint64_t due;
	timer_t timer;

	sigaction(SIGUSR1, &sa, NULL);
	if (timer_create(CLOCK_MONOTONIC, &ev, &timer) < 0)
		exit(99);
	timer_settime(timer, 0, &each, NULL);
	page->ready = 1;
	while (!page->stop)
		heap_step(&h);
	due = (now_ms() - since) / TICK_MS;
	timer_delete(timer);
	if (ticks + 20 + due / 20 < due)
		page->missed += due - ticks;
	for (size_t i = 0; i < BLOCKS; i++)
		free(h.block[i]);
}

/* Work is done by naps and calls, so that what is left of the processors is
 * for those that spin. */
static void
with_threads(void)
{
	static void *(*const work[THREADS])(void *) = {
		allocate, allocate, take_naps, wait_for_events,
		wait_for_events, give_birth,
	};
	pthread_t th[THREADS];
	sigset_t ticks_only;

	/* ticks are the main thread's: no other's wait is cut short by them */
	sigemptyset(&ticks_only);
	sigaddset(&ticks_only, SIGUSR1);
	pthread_sigmask(SIG_BLOCK, &ticks_only, NULL);
	for (size_t i = 0; i < THREADS; i++)
		if (pthread_create(&th[i], NULL, work[i], NULL) != 0)
			exit(99);
	pthread_sigmask(SIG_UNBLOCK, &ticks_only, NULL);
	work_to_ticks();
	for (size_t i = 0; i < THREADS; i++)
		pthread_join(th[i], NULL);
}

static void
alone(void)
{
	struct heap h = { .word = 3 };

	page->ready = 1;
	while (!page->stop) {
		for (int i = 0; i < 500; i++)
			heap_step(&h);
		nap();
	}
	for (size_t i = 0; i < BLOCKS; i++)
		free(h.block[i]);
}

int
selftest_victim(const char *how, const char *number)
{
	page = mmap(NULL, SELFTEST_PAGE, PROT_READ | PROT_WRITE, MAP_SHARED,
		    atoi(number), 0);
	if (page == MAP_FAILED)
		return 99;
	close(atoi(number));
	(void)prctl(PR_SET_NAME, "selftest");
	if (strcmp(how, "alone") == 0)
		alone();
	else
		with_threads();
	return page->eintr || page->wrong || page->missed;
}
