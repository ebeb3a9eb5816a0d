/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * states FILE CYCLES: a thread that is by turns in every state there is, and
 * says how long it was in each, by its own clocks. Begins at the word `mark`,
 * says `done 1` at its end. Another process continues it when it has stopped
 * itself; another thread holds the lock that it wants, or has the page that
 * it misses. What was blocked in a phase is the wall's time without what it
 * ran and what it waited for a processor, both by the scheduler's count.
 */
#include <fcntl.h>
#include <linux/userfaultfd.h>
#include <pthread.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/syscall.h>

#include "burn.h"
#include "victim.h"

#ifndef UFFD_USER_MODE_ONLY
#define UFFD_USER_MODE_ONLY 1
#endif

enum { PAGE = 4096, PAGES = 12, FILE_PAGES = 4096, BLOCK = 1 << 16,
       PHASE_NS = 120 * 1000 * 1000, LATE_US = 8000, HELD_US = 2000,
       STOPPED_MS = 100 };

static uint64_t user_ns, calls_ns, cpu_ns, wait_ns, lock_ns, sleep_ns, data_ns,
	file_ns, text_ns, stop_ns, life_ns;
static unsigned char zeroes[BLOCK], *data, *text;
static int waker[2], missing = -1, file = -1, cycles;
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static _Atomic bool wanted;
static uint64_t product = 1;
static _Atomic bool done;

/* ---- its own clocks ------------------------------------------------------ */

static struct clocks {
	uint64_t wall, cpu, wait;
} last;

static struct clocks
read_clocks(void)
{
	const int fd = open("/proc/thread-self/schedstat", O_RDONLY);
	struct clocks c = { .wall = victim_clock(CLOCK_MONOTONIC),
			    .cpu = victim_clock(CLOCK_THREAD_CPUTIME_ID) };
	unsigned long long ran, waited = 0;
	char line[96] = "";

	if (fd < 0 || read(fd, line, sizeof line - 1) <= 0 ||
	    sscanf(line, "%llu %llu", &ran, &waited) != 2)
		exit(97);
	close(fd);
	c.wait = waited;
	return c;
}

/* What it ran since the last time; *blocked, what it was blocked. */
static uint64_t
account(uint64_t *blocked)
{
	const struct clocks now = read_clocks();
	const uint64_t cpu = now.cpu - last.cpu, wait = now.wait - last.wait;
	const uint64_t wall = now.wall - last.wall;

	*blocked += wall > cpu + wait ? wall - cpu - wait : 0;
	cpu_ns += cpu;
	wait_ns += wait;
	last = now;
	return cpu;
}

static bool
phase_over(uint64_t since)
{
	return victim_clock(CLOCK_MONOTONIC) - since >= PHASE_NS;
}

/* ---- the phases ---------------------------------------------------------- */

NOINLINE static void
compute(uint64_t since)
{
	while (!phase_over(since))
		product = burn(product, 20000);
}

NOINLINE static void
call(uint64_t since)
{
	struct stat st;

	while (!phase_over(since))
		for (int i = 0; i < 100; i++)
			if (stat("/proc/self/exe", &st) < 0)
				exit(96);
}

/* Short ones, and a long one. */
NOINLINE static void
nap(uint64_t since)
{
	while (victim_clock(CLOCK_MONOTONIC) - since < PHASE_NS / 2)
		usleep(700);
	usleep(PHASE_NS / 2000);
}

NOINLINE static void
contend(uint64_t since)
{
	atomic_store(&wanted, true);
	while (!phase_over(since)) {
		pthread_mutex_lock(&lock);
		pthread_mutex_unlock(&lock);
	}
	atomic_store(&wanted, false);
}

NOINLINE static void
miss_data(void)
{
	volatile unsigned char sum = 0;

	for (int i = 0; i < PAGES; i++)
		sum += data[i * PAGE];
	(void)sum;
}

NOINLINE static void
miss_text(void)
{
	for (int i = 0; i < PAGES; i++)
		((void (*)(void))(uintptr_t)(text + i * PAGE))();
}

NOINLINE static void
miss_file(const unsigned char *map, uint64_t since)
{
	volatile unsigned char sum = 0;
	uint32_t seed = (uint32_t)since;

	while (!phase_over(since))
		sum += map[victim_random(&seed) % FILE_PAGES * PAGE];
	(void)sum;
}

NOINLINE static void
stand(void)
{
	if (write(waker[1], "", 1) != 1)
		exit(95);
	raise(SIGSTOP);		/* this thread is the first to stop */
}

static void
forget_pages(void)
{
	madvise(data, PAGES * PAGE, MADV_DONTNEED);
	madvise(text, PAGES * PAGE, MADV_DONTNEED);
}

static void
miss_from_file(void)
{
	void *map;

	posix_fadvise(file, 0, 0, POSIX_FADV_DONTNEED);
	map = mmap(NULL, FILE_PAGES * PAGE, PROT_READ, MAP_SHARED, file, 0);
	if (map == MAP_FAILED)
		exit(94);
	madvise(map, FILE_PAGES * PAGE, MADV_RANDOM);
	account(&sleep_ns);
	miss_file(map, last.wall);
	account(&file_ns);
	munmap(map, FILE_PAGES * PAGE);
}

NOINLINE static void
cycle(void)
{
	compute(last.wall);
	user_ns += account(&sleep_ns);
	call(last.wall);
	calls_ns += account(&sleep_ns);
	nap(last.wall);
	account(&sleep_ns);
	contend(last.wall);
	account(&lock_ns);
	if (missing >= 0) {
		forget_pages();
		account(&sleep_ns);
		miss_data();
		account(&data_ns);
		miss_text();
		account(&text_ns);
	}
	if (file >= 0)
		miss_from_file();
	account(&sleep_ns);
	stand();
	account(&stop_ns);
}

static void *
script(void *arg)
{
	uint64_t start;

	last = read_clocks();
	start = last.wall;
	for (int i = 0; i < cycles && !atomic_load(&victim_over); i++)
		cycle();
	account(&sleep_ns);
	life_ns = last.wall - start;
	atomic_store(&done, true);
	return arg;
}

/* ---- those who let it wait ----------------------------------------------- */

static void *
own(void *arg)
{
	while (!atomic_load(&victim_over)) {
		pthread_mutex_lock(&lock);
		usleep(HELD_US);
		pthread_mutex_unlock(&lock);
		while (!atomic_load(&wanted) && !atomic_load(&victim_over))
			usleep(HELD_US);
	}
	return arg;
}

static void *
serve_pages(void *arg)
{
	unsigned char page[PAGE];
	struct uffd_msg msg;

#ifdef __aarch64__
	for (int i = 0; i < PAGE; i += 4)
		memcpy(page + i, "\xc0\x03\x5f\xd6", 4);	/* ret */
#else
	memset(page, 0xc3, sizeof page);
#endif
	while (read(missing, &msg, sizeof msg) == sizeof msg) {
		struct uffdio_copy copy = {
			.dst = msg.arg.pagefault.address & ~(PAGE - UINT64_C(1)),
			.src = (uintptr_t)page, .len = PAGE };

		usleep(LATE_US);
		ioctl(missing, UFFDIO_COPY, &copy);
	}
	return arg;
}

static bool
serve(unsigned char *at)
{
	struct uffdio_register reg = {
		.range = { (uintptr_t)at, PAGES * PAGE },
		.mode = UFFDIO_REGISTER_MODE_MISSING };

	return ioctl(missing, UFFDIO_REGISTER, &reg) == 0;
}

static void
make_pages(void)
{
	struct uffdio_api api = { .api = UFFD_API };
	pthread_t thread;

	data = mmap(NULL, PAGES * PAGE, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS,
		    -1, 0);
	text = mmap(NULL, PAGES * PAGE, PROT_READ | PROT_EXEC,
		    MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	missing = (int)syscall(SYS_userfaultfd, O_CLOEXEC |
			       UFFD_USER_MODE_ONLY);
	if (missing < 0 || ioctl(missing, UFFDIO_API, &api) < 0 ||
	    !serve(data) || !serve(text) ||
	    pthread_create(&thread, NULL, serve_pages, NULL) != 0)
		missing = -1;	/* a kernel without: said by `pages 0` */
}

static void
make_file(const char *path)
{
	file = open(path, O_RDWR | O_CREAT | O_CLOEXEC, 0600);
	for (int i = 0; file >= 0 && i < FILE_PAGES * PAGE / BLOCK; i++)
		if (write(file, zeroes, sizeof zeroes) != sizeof zeroes)
			exit(93);
	if (file >= 0)
		fsync(file);
}

/* Continues its parent a moment after each byte; ends with it. */
static void
make_waker(void)
{
	const pid_t parent = getpid();
	char c;

	if (pipe(waker) < 0)
		exit(99);
	if (fork() != 0) {
		close(waker[0]);
		return;
	}
	close(waker[1]);
	while (read(waker[0], &c, 1) == 1) {
		usleep(STOPPED_MS * 1000);
		kill(parent, SIGCONT);
	}
	_exit(0);
}

static void
mark(void)
{
	static bool begun;
	pthread_t thread;

	if (!begun && pthread_create(&thread, NULL, script, NULL) != 0)
		exit(99);
	begun = true;
	victim_say("done", atomic_load(&done));
	victim_say("pages", missing >= 0);
	victim_say("user_ns", user_ns);
	victim_say("calls_ns", calls_ns);
	victim_say("ran_ns", cpu_ns);
	victim_say("wait_ns", wait_ns);
	victim_say("lock_ns", lock_ns);
	victim_say("sleep_ns", sleep_ns);
	victim_say("data_ns", data_ns);
	victim_say("file_ns", file_ns);
	victim_say("text_ns", text_ns);
	victim_say("stop_ns", stop_ns);
	victim_say("life_ns", life_ns);
}

int
main(int argc, char **argv)
{
	pthread_t thread;

	if (argc != 3)
		return 99;
	cycles = atoi(argv[2]);
	victim_init();
	make_waker();
	make_pages();
	make_file(argv[1]);
	if (pthread_create(&thread, NULL, own, NULL) != 0)
		return 99;
	victim_ready();
	victim_serve(mark);
	return victim_end(true);
}
