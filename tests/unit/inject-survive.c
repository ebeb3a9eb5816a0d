/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Put the guest in and out of programs that are in the worst places when it
 * comes (mission: C3): inside malloc with one thread and with four, inside
 * dlopen, in waits that see every stop, with a fast timer. Each program knows
 * its own truth and ends with status 0 only if it held. Afterwards nothing
 * of ours may be left but the library, and what libc keeps for any thread.
 *
 *	SONDE_INJECTIONS=200	visits per program, 10 if unset
 *	SONDE_SEED=n		choice of borrowed threads; printed
 *	SONDE_VICTIM=name	only that program
 */
#include <dirent.h>
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <link.h>
#include <pthread.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "base.h"
#include "inject.h"
#include "inject-victim.h"
#include "../tools/watches.h"

struct shared {
	struct victim_page at;
	volatile unsigned long rounds, wrong, eintr;
};

static struct shared *shared;

static void
wrong(void)
{
	__atomic_fetch_add(&shared->wrong, 1, __ATOMIC_RELAXED);
}

static void
round_done(void)
{
	__atomic_fetch_add(&shared->rounds, 1, __ATOMIC_RELAXED);
}

/* ---- the programs -------------------------------------------------------- */

enum { BLOCKS = 64, BLOCK_MAX = 3000 };

static void *
storm(void *arg)
{
	unsigned char *block[BLOCKS] = {0};
	size_t size[BLOCKS] = {0}, k;
	unsigned word = (unsigned)(uintptr_t)arg * 7919 + 1;

	while (!shared->at.stop) {
		const unsigned i = (word = word * 1103515245 + 12345) >> 8 &
			(BLOCKS - 1);

		for (k = 0; k < size[i]; k++)
			if (block[i][k] != (unsigned char)(i + size[i]))
				wrong();
		free(block[i]);
		size[i] = (word >> 16) % BLOCK_MAX;
		block[i] = malloc(size[i] + 1);
		memset(block[i], (int)(i + size[i]), size[i]);
		round_done();
	}
	for (k = 0; k < BLOCKS; k++)
		free(block[k]);
	return NULL;
}

static void
many(void *(*run)(void *), int n)
{
	pthread_t th[8];
	int i;

	for (i = 0; i < n; i++)
		pthread_create(&th[i], NULL, run, (void *)(uintptr_t)i);
	shared->at.ready = 1;
	for (i = 0; i < n; i++)
		pthread_join(th[i], NULL);
}

static void
malloc_one(void)
{
	shared->at.ready = 1;
	storm(NULL);
}

static void
malloc_four(void)
{
	many(storm, 4);
}

static int
count_object(struct dl_phdr_info *info, size_t size, void *arg)
{
	(void)size;
	*(int *)arg += info->dlpi_phnum > 0;
	return 0;
}

static void *
load_and_unload(void *arg)
{
	static const char *const names[] = {
		"libutil.so.1", "libresolv.so.2", "libBrokenLocale.so.1",
	};
	unsigned i = (unsigned)(uintptr_t)arg;

	while (!shared->at.stop) {
		void *h = dlopen(names[i++ % 3], RTLD_NOW);
		int objects = 0;

		dl_iterate_phdr(count_object, &objects);
		if (!h || objects < 3 || dlclose(h) != 0)
			wrong();
		round_done();
	}
	return NULL;
}

static void
dl_one(void)
{
	shared->at.ready = 1;
	load_and_unload(NULL);
}

static void *
short_life(void *arg)
{
	return arg;
}

static void *
churn(void *arg)
{
	while (!shared->at.stop) {
		pthread_t th;
		void *back = NULL;

		if (pthread_create(&th, NULL, short_life, arg) != 0 ||
		    pthread_join(th, &back) != 0 || back != arg)
			wrong();
		round_done();
	}
	return NULL;
}

static void *
dl_or_churn(void *arg)
{
	return (uintptr_t)arg < 2 ? load_and_unload(arg) : churn(arg);
}

static void
dl_many(void)
{
	many(dl_or_churn, 3);
}

static uint64_t
clock_ms(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_MONOTONIC, &ts);
	return (uint64_t)ts.tv_sec * 1000 + (uint64_t)ts.tv_nsec / 1000000;
}

static void *
wait_for_events(void *arg)
{
	const int fd = epoll_create1(EPOLL_CLOEXEC);

	(void)arg;
	while (!shared->at.stop) {
		struct epoll_event ev;
		const uint64_t since = clock_ms();
		const int r = epoll_wait(fd, &ev, 1, 20);

		if (r < 0 && errno == EINTR)
			__atomic_fetch_add(&shared->eintr, 1,
					   __ATOMIC_RELAXED);
		else if (r != 0 || clock_ms() - since < 19)
			wrong();
		round_done();
	}
	close(fd);
	return NULL;
}

static void
epoll_many(void)
{
	many(wait_for_events, 3);
}

static void *
take_naps(void *arg)
{
	(void)arg;
	while (!shared->at.stop) {
		const struct timespec nap = { 0, 20000000 };
		const uint64_t since = clock_ms();
		const int r = nanosleep(&nap, NULL);

		if (r != 0 || clock_ms() - since < 19)
			wrong();
		round_done();
	}
	return NULL;
}

static void
nap_one(void)
{
	shared->at.ready = 1;
	take_naps(NULL);
}

static void
nap_many(void)
{
	many(take_naps, 3);
}

static volatile unsigned long ticks;

static void
on_tick(int signo, siginfo_t *info, void *context)
{
	(void)signo;
	(void)context;
	ticks += 1 + (unsigned long)info->si_overrun;
}

/* Every expiry is in a count, delivered or overrun, whatever held it up. */
static void
timer_one(void)
{
	struct sigaction sa = { .sa_sigaction = on_tick,
				.sa_flags = SA_SIGINFO | SA_RESTART };
	struct sigevent ev = { .sigev_notify = SIGEV_SIGNAL,
			       .sigev_signo = SIGALRM };
	const struct itimerspec spec = { { 0, 1000000 }, { 0, 1000000 } };
	double sum = 0, first = 0;
	uint64_t since, elapsed;
	timer_t timer;
	int i;

	sigaction(SIGALRM, &sa, NULL);
	timer_create(CLOCK_MONOTONIC, &ev, &timer);
	since = clock_ms();
	timer_settime(timer, 0, &spec, NULL);
	shared->at.ready = 1;
	while (!shared->at.stop) {
		for (i = 1, sum = 0; i < 20000; i++)
			sum += 1.0 / i;
		if (first == 0)
			first = sum;
		if (sum != first)
			wrong();
		round_done();
	}
	elapsed = clock_ms() - since;
	timer_delete(timer);
	printf("    %lu ticks in %llu ms\n", ticks,
	       (unsigned long long)elapsed);
	if (ticks + 50 + elapsed / 50 < elapsed ||
	    ticks > elapsed + 50 + elapsed / 50)
		wrong();
}

static const struct program {
	const char *name;
	void (*run)(void);
	bool quiet;		/* its own mappings do not change */
} programs[] = {
	{ "malloc-1", malloc_one, false },
	{ "malloc-4", malloc_four, false },
	{ "dl-1", dl_one, false },
	{ "dl-churn", dl_many, false },
	{ "epoll", epoll_many, true },
	{ "nap-1", nap_one, true },
	{ "nap-3", nap_many, true },
	{ "timer-1", timer_one, true },
};

static int
run_program(const char *name, const char *page)
{
	size_t i;

	shared = victim_page_of(page);
	for (i = 0; i < ARRAY_LEN(programs); i++)
		if (strcmp(programs[i].name, name) == 0)
			programs[i].run();
	return shared->wrong || shared->eintr ? 1 : 0;
}

/* ---- is it as it was? ---------------------------------------------------- */

struct span {
	uint64_t start, end;
	bool ours;
};

struct health {
	struct span *spans;
	size_t nspans, cap;
	unsigned threads, fds;
	uint64_t blocked, ignored, caught;
};

static unsigned
count_entries(pid_t pid, const char *what)
{
	char path[64];
	unsigned n = 0;
	DIR *d;

	snprintf(path, sizeof path, "/proc/%d/%s", pid, what);
	d = opendir(path);
	while (d && readdir(d))
		n++;
	if (d)
		closedir(d);
	return n;
}

static uint64_t
signals_of(const char *status, const char *key)
{
	/* 32 and 33 are libc's, installed with the first thread. */
	return strtoull(strstr(status, key) + strlen(key), NULL, 16) &
		~(3ull << 31);
}

static void
examine(pid_t pid, struct health *h)
{
	char path[64], *text, *line, *save = NULL;

	memset(h, 0, sizeof *h);
	snprintf(path, sizeof path, "/proc/%d/status", pid);
	text = file_read(path, NULL);
	h->blocked = signals_of(text, "\nSigBlk:");
	h->ignored = signals_of(text, "\nSigIgn:");
	h->caught = signals_of(text, "\nSigCgt:");
	free(text);
	h->threads = count_entries(pid, "task");
	h->fds = count_entries(pid, "fd");
	snprintf(path, sizeof path, "/proc/%d/maps", pid);
	text = file_read(path, NULL);
	for (line = strtok_r(text, "\n", &save); line;
	     line = strtok_r(NULL, "\n", &save)) {
		struct span s = { .ours = strstr(line, "sonde-collector") ||
				  strstr(line, "[heap]") };

		sscanf(line, "%lx-%lx", &s.start, &s.end);
		h->spans = xgrow(h->spans, &h->cap, h->nspans + 1, sizeof s);
		h->spans[h->nspans++] = s;
	}
	free(text);
}

static bool
was_there(const struct health *h, uint64_t page)
{
	size_t i;

	for (i = 0; i < h->nspans; i++)
		if (page >= h->spans[i].start && page < h->spans[i].end)
			return true;
	return false;
}

/* The library, its zeroed data behind it, or what malloc keeps. */
static bool
may_be_new(const struct health *now, uint64_t page)
{
	const uint64_t arena = 64 << 20, data = 192 * 4096;
	size_t i;

	for (i = 0; i < now->nspans; i++) {
		const struct span *s = &now->spans[i];

		if (s->ours && page >= s->start && page < s->end + data)
			return true;
	}
	return was_there(now, page & ~(arena - 1));
}

static unsigned
compare(const struct health *was, const struct health *now, bool quiet)
{
	unsigned bad = 0;
	size_t i;

	if (quiet && (was->threads != now->threads || was->fds != now->fds))
		bad++, printf("    threads %u -> %u, descriptors %u -> %u\n",
			      was->threads, now->threads, was->fds, now->fds);
	if (was->blocked != now->blocked || was->ignored != now->ignored ||
	    was->caught != now->caught)
		bad++, printf("    signals blocked %lx -> %lx, ignored %lx "
			      "-> %lx, caught %lx -> %lx\n", was->blocked,
			      now->blocked, was->ignored, now->ignored,
			      was->caught, now->caught);
	for (i = 0; quiet && i < now->nspans; i++) {
		uint64_t page = now->spans[i].start;

		for (; page < now->spans[i].end; page += 4096)
			if (!was_there(was, page) && !may_be_new(now, page)) {
				bad++;
				printf("    new memory at %lx\n", page);
				break;
			}
	}
	return bad;
}

/* ---- the visits ---------------------------------------------------------- */

static uint64_t stops[100000];
static size_t nstops;

static int
by_value(const void *a, const void *b)
{
	const uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;

	return x < y ? -1 : x > y;
}

static void
note_stop(const struct inject_report *r)
{
	if (nstops < ARRAY_LEN(stops))
		stops[nstops++] = r->donor_stop_ns;
}

static int
visit(struct target *t, unsigned seed)
{
	const struct guest_options opt = {
		.windows = 16, .window_bytes = RECORD_WINDOW_MIN, .table_bytes = 65536,
		.interval_ns = 10000000, .donor_seed = seed,
	};
	struct inject_report report;
	struct guest *g = guest_open(t, &opt, &report);
	int r;

	if (!g)
		return -1;
	note_stop(&report);
	r = guest_stop(g, &report);
	note_stop(&report);
	guest_close(g);
	return r;
}

/* It goes on after the last visit, for a while that it counts itself. */
static bool
goes_on(pid_t pid)
{
	const unsigned long enough = shared->rounds + 20;
	const uint64_t give_up = clock_ms() + 60000;

	while (shared->rounds < enough && clock_ms() < give_up) {
		siginfo_t info = { .si_pid = 0 };

		if (waitid(P_PID, (id_t)pid, &info,
			   WEXITED | WNOHANG | WNOWAIT) < 0 || info.si_pid)
			return false;
		usleep(1000);		/* the program needs the processor */
	}
	return shared->rounds >= enough;
}

/* Where the processor watches no address, a thread that is in the loader nearly
 * all the time may not be met outside of it. */
static bool
never_outside_libc(const struct program *p)
{
	return strcmp(p->name, "dl-1") == 0 && !processor_watches() &&
		strstr(fail_last()->reason, "does not come out of libc");
}

static int
try_program(const struct program *p, unsigned visits, unsigned seed)
{
	struct health was, now;
	const pid_t pid = victim_start(p->name, (void **)&shared);
	struct target *t = pid > 0 ? target_open(pid) : NULL;
	unsigned ok = 0, i, bad;
	int status = -1;
	bool alive;

	if (!t)
		return printf("%s: cannot start: %s\n", p->name,
			      fail_last()->reason), 1;
	nstops = 0;
	(void)goes_on(pid);		/* all its threads are at work */
	examine(pid, &was);
	for (i = 0; i < visits; i++) {
		if (visit(t, seed + i) == 0 || never_outside_libc(p))
			ok++;
		else
			printf("    visit %u: %s\n", i, fail_last()->reason);
		if (target_gone(t))
			break;
	}
	alive = goes_on(pid);
	examine(pid, &now);
	bad = compare(&was, &now, p->quiet);
	shared->at.stop = 1;
	target_close(t);
	if (!alive)
		kill(pid, SIGABRT);
	waitpid(pid, &status, 0);
	qsort(stops, nstops, sizeof *stops, by_value);
	printf("%-9s %u/%u visits, status %x, wrong %lu, EINTR %lu, stop p50 "
	       "%lu us p99 %lu us\n", p->name, ok, visits, status,
	       shared->wrong, shared->eintr,
	       nstops ? stops[nstops / 2] / 1000 : 0,
	       nstops ? stops[nstops * 99 / 100] / 1000 : 0);
	munmap(shared, VICTIM_PAGE_SIZE);
	free(was.spans);
	free(now.spans);
	return ok != visits || bad || status != 0;
}

int
main(int argc, char **argv)
{
	const unsigned visits = setting("SONDE_INJECTIONS", 10);
	const unsigned seed = setting("SONDE_SEED", (unsigned)getpid());
	const char *only = getenv("SONDE_VICTIM");
	int failed = 0;
	size_t i;

	if (argc == 3)
		return run_program(argv[1], argv[2]);
	/* As the tracer does; it may be refused. */
	(void)setpriority(PRIO_PROCESS, 0, -15);
	printf("seed %u, %u visits each\n", seed, visits);
	for (i = 0; i < ARRAY_LEN(programs); i++)
		if (!only || strcmp(only, programs[i].name) == 0)
			failed += try_program(&programs[i], visits, seed);
	return failed ? 1 : 0;
}
