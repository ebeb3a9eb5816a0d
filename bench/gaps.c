/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * How long does a visitor stop each thread? Every thread, the first one too,
 * spins reading the monotonic clock and remembers its longest gap.
 *
 *     gaps THREADS [DEPTH [SPINNERS]]
 *
 * They spin DEPTH calls deep. With SPINNERS, the first that many of them spin;
 * the others sleep, as deep, and are not spoken of.
 *
 * A gap has three causes: the thread waited for a CPU, it worked elsewhere
 * (an interrupt, a signal handler), or it stood still: stopped, or asleep in
 * the kernel. The kernel accounts for the first two (run delay and CPU time
 * of the thread), so the rest of a gap is the stop, also with more threads
 * than CPUs. What a hypervisor steals counts as a stop too: compare with a
 * window in which nobody visits.
 *
 * Words on standard input, one a line and each answered: `reset` forgets,
 * `print` gives a line
 *     thread TID LONGEST_GAP LONGEST_STOP ALL_STOPS	(nanoseconds)
 * per thread, and `end` ends. The first thread looks for them now and then.
 */
#include <fcntl.h>
#include <pthread.h>
#include <sys/syscall.h>

#include "../tests/victims/victim.h"

enum { THREADS_MAX = 1024, NOTICE_NS = 50000, LISTEN_NS = 1000000,
       LIMIT_S = 600, TRIES = 20 };

/* The thread's life up to now, and where it went. */
struct account {
	uint64_t wall, cpu, delay;
};

struct thread {
	pthread_t handle;
	pid_t tid;
	int schedstat;
	struct account last;
	_Atomic uint64_t longest, longest_stop, all_stops;
	atomic_uint generation;	/* of the last reset it has followed */
};

static struct thread threads[THREADS_MAX];
static int thread_count, spinners, depth;
static int gate[2];		/* what sleepers read */
static atomic_uint generation = 1;

static void
stop(const char *what)
{
	fprintf(stderr, "gaps: %s\n", what);
	exit(99);
}

/* "run_ns delay_ns slices" */
static uint64_t
run_delay(const struct thread *th)
{
	char text[128];
	const ssize_t n = pread(th->schedstat, text, sizeof text - 1, 0);
	char *end;

	if (n <= 0)
		stop("no /proc/thread-self/schedstat");
	text[n] = '\0';
	(void)strtoull(text, &end, 10);
	return strtoull(end, NULL, 10);
}

/* Three clocks at one moment: a thread that was preempted in between asks
 * again. */
static struct account
take_account(const struct thread *th)
{
	struct account now;

	for (int i = 0; i < TRIES; i++) {
		now.wall = victim_clock(CLOCK_MONOTONIC);
		now.cpu = victim_clock(CLOCK_THREAD_CPUTIME_ID);
		now.delay = run_delay(th);
		if (victim_clock(CLOCK_MONOTONIC) - now.wall < NOTICE_NS / 2)
			break;
	}
	return now;
}

static void
note_gap(struct thread *th, uint64_t gap)
{
	const struct account now = take_account(th);
	const uint64_t wall = now.wall - th->last.wall;
	const uint64_t known = now.cpu - th->last.cpu +
		now.delay - th->last.delay;
	const uint64_t stopped = wall > known ? wall - known : 0;

	th->last = now;
	th->all_stops += stopped;
	if (gap > th->longest)
		th->longest = gap;
	if (stopped > th->longest_stop)
		th->longest_stop = stopped;
}

static void
follow_reset(struct thread *th)
{
	th->last = take_account(th);
	th->longest = th->longest_stop = th->all_stops = 0;
	th->generation = generation;
}

static void
begin(struct thread *th)
{
	th->tid = (pid_t)syscall(SYS_gettid);
	if (th - threads < spinners)
		th->schedstat = open("/proc/thread-self/schedstat",
				     O_RDONLY | O_CLOEXEC);
}

/* In read, with all of its stack. */
static bool
sleeps(const struct thread *th)
{
	char path[64], text[16] = "";
	int fd;

	if (!th->generation)
		return false;
	snprintf(path, sizeof path, "/proc/self/task/%d/syscall",
		 (int)th->tid);
	fd = open(path, O_RDONLY | O_CLOEXEC);
	if (fd < 0)
		return false;

	const ssize_t n = read(fd, text, sizeof text - 1);

	close(fd);
	return n > 2 && text[0] == '0' && text[1] == ' ';
}

static void
wait_for_others(void)
{
	const struct timespec moment = { 0, 1000000 };

	for (int i = 1; i < thread_count; i++)
		while (i < spinners ? threads[i].generation != generation :
		       !sleeps(&threads[i]))
			nanosleep(&moment, NULL);
}

static void
answer(const char *text)
{
	puts(text);
	fflush(stdout);
}

static void
print_all(void)
{
	for (int i = 0; i < spinners; i++)
		printf("thread %d %llu %llu %llu\n", (int)threads[i].tid,
		       (unsigned long long)threads[i].longest,
		       (unsigned long long)threads[i].longest_stop,
		       (unsigned long long)threads[i].all_stops);
	answer("printed");
}

/* The first thread forgets after its answer, in its loop: the last of all. */
static void
listen_once(void)
{
	struct pollfd fd = { .fd = 0, .events = POLLIN };
	char word[16];

	if (poll(&fd, 1, 0) <= 0)
		return;
	if (!fgets(word, sizeof word, stdin) || strcmp(word, "end\n") == 0) {
		victim_over = true;
	} else if (strcmp(word, "print\n") == 0) {
		print_all();
	} else if (strcmp(word, "reset\n") == 0) {
		generation++;
		wait_for_others();
		answer("reset");
	}
}

static void
spin(struct thread *th)
{
	uint64_t last = 0, listened = 0;

	while (!victim_over) {
		const uint64_t now = victim_clock(CLOCK_MONOTONIC);

		if (th->generation != generation) {
			follow_reset(th);
			last = victim_clock(CLOCK_MONOTONIC);
			continue;
		}
		if (now - last > NOTICE_NS)
			note_gap(th, now - last);
		last = now;
		if (th == threads && now - listened > LISTEN_NS) {
			listened = now;
			listen_once();
		}
	}
}

static int
sleep_for_good(struct thread *th)
{
	char byte;

	th->generation = generation;
	return (int)read(gate[0], &byte, 1);
}

/* Without something to keep, the compiler makes a loop of it. */
__attribute__((noinline)) static int
descend(struct thread *th, int n)
{
	volatile int keep = n;

	if (n > 0)
		return descend(th, n - 1) + keep;
	if (th - threads >= spinners)
		return sleep_for_good(th) + keep;
	spin(th);
	return keep;
}

static void *
live(void *arg)
{
	struct thread *th = arg;

	begin(th);
	(void)descend(th, depth);
	return NULL;
}

int
main(int argc, char **argv)
{
	thread_count = argc > 1 && argc < 5 ? atoi(argv[1]) : 0;
	depth = argc > 2 ? atoi(argv[2]) : 0;
	spinners = argc > 3 ? atoi(argv[3]) : thread_count;
	if (thread_count < 1 || thread_count > THREADS_MAX || depth < 0 ||
	    spinners < 1 || spinners > thread_count)
		stop("usage: gaps THREADS [DEPTH [SPINNERS]]");
	alarm(LIMIT_S);
	if (pipe(gate) < 0)
		stop("no pipe");
	for (int i = 1; i < thread_count; i++)
		if (pthread_create(&threads[i].handle, NULL, live,
				   &threads[i]) != 0)
			stop("no thread");
	wait_for_others();
	printf("ready %d\n", (int)getpid());
	fflush(stdout);
	live(&threads[0]);
	close(gate[1]);
	for (int i = 1; i < thread_count; i++)
		pthread_join(threads[i].handle, NULL);
	return 0;
}
