/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * waiter: threads that wait, each for something that it names beforehand.
 *
 *	waiter kinds		one of each kind
 *	waiter ring N		N threads, each holds a mutex and wants the next
 *	waiter convoy N sleeps|computes
 *				N threads want the mutex of one
 *	waiter self		a thread wants the mutex that it holds
 *	waiter orphan		a mutex whose owner has ended
 *	waiter token N		N threads take turns within `inside`
 *	waiter pipes		two processes, each reads what only the other
 *				can write
 *	waiter fifos DIR	the same by FIFOs, made in DIR
 *	waiter lock		this waits for a file lock of another process,
 *				which reads what only this can write
 *
 *	waiter shared HOW	see waiter-shared.c
 *	waiter ipc		see waiter-ipc.c
 *
 * With a last word `leader` the first thread ends before it is ready, with
 * what it holds; another serves.
 *
 * Truth: `NAME_tid TID`, and where it matters NAME_word ADDRESS, NAME_fd N.
 * ready comes when all of them wait. eintr counts calls that came back with
 * EINTR, turns how often the waiting threads were on a processor.
 */
#include <fcntl.h>
#include <pthread.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>

#include "victim.h"
#include "waiter.h"

static struct member members[MEMBERS_MAX];
static int member_count;
static atomic_uint eintr;
pthread_mutex_t mutexes[MEMBERS_MAX];
int empty[2];
pid_t child;
static pthread_barrier_t all_hold;

/* ---- who waits ---------------------------------------------------------- */

static void *
begin(void *arg)
{
	struct member *me = arg;

	pthread_setname_np(pthread_self(), me->name);
	atomic_store(&me->tid, (pid_t)syscall(SYS_gettid));
	me->wait(me);
	return NULL;
}

struct member *
add(const char *name, long call, void (*wait)(struct member *me))
{
	struct member *m = &members[member_count];

	snprintf(m->name, sizeof m->name, "%s", name);
	m->wait = wait;
	m->call = call;
	m->number = member_count++;
	if (pthread_create(&m->thread, NULL, begin, m) != 0)
		exit(99);
	while (!atomic_load(&m->tid))
		sched_yield();
	return m;
}

static void
read_own(pid_t tid, const char *what, char *text, size_t size)
{
	char path[64];
	FILE *f;

	snprintf(path, sizeof path, "/proc/self/task/%d/%s", (int)tid, what);
	f = fopen(path, "r");
	text[f ? fread(text, 1, size - 1, f) : 0] = '\0';
	if (f)
		fclose(f);
}

static void
await(const struct member *m)
{
	char text[256];

	if (m->call < 0)
		return;
	do {
		usleep(500);
		read_own(m->tid, "syscall", text, sizeof text);
	} while (text[0] == 'r' || strtol(text, NULL, 10) != m->call);
}

static void
mark(void)
{
	uint64_t turns = 0, one;
	char text[256];

	for (int i = 0; i < member_count; i++) {
		if (members[i].call < 0)
			continue;
		read_own(members[i].tid, "schedstat", text, sizeof text);
		if (sscanf(text, "%*u %*u %lu", &one) == 1)
			turns += one;
	}
	victim_say("turns", turns);
	victim_say("eintr", atomic_load(&eintr));
}

void
say_word(const struct member *m, const void *word)
{
	printf("%s_word 0x%lx\n", m->name, (unsigned long)word);
}

void
say_fd(const struct member *m, int fd)
{
	printf("%s_fd %d\n", m->name, fd);
}

void
note(long result)
{
	if (result < 0 && errno == EINTR)
		atomic_fetch_add(&eintr, 1);
}

void
wait_mutex(struct member *me)
{
	say_word(me, &mutexes[0]);
	pthread_mutex_lock(&mutexes[0]);
}

void
read_one(struct member *me, int fd)
{
	char c;

	say_fd(me, fd);
	note(read(fd, &c, 1));
}

/* ---- who waits for whom ------------------------------------------------- */

/* One of these is to be inlined into the other. */
static inline __attribute__((always_inline)) void
take_next(struct member *me, int count)
{
	pthread_mutex_lock(&mutexes[(me->number + 1) % count]);
}

static int ring_size;

__attribute__((noinline)) static void
wait_ring(struct member *me)
{
	pthread_mutex_lock(&mutexes[me->number]);
	say_word(me, &mutexes[(me->number + 1) % ring_size]);
	pthread_barrier_wait(&all_hold);
	take_next(me, ring_size);
	pthread_mutex_unlock(&mutexes[me->number]);
}

static void
start_ring(int n)
{
	ring_size = n;
	pthread_barrier_init(&all_hold, NULL, (unsigned)n);
	for (int i = 0; i < n; i++) {
		char name[16];

		snprintf(name, sizeof name, "ring%d", i);
		add(name, SYS_futex, wait_ring);
	}
}

static atomic_bool held;

static void
hold_asleep(struct member *me)
{
	char c;

	pthread_mutex_lock(&mutexes[0]);
	say_word(me, &mutexes[0]);
	atomic_store(&held, true);
	note(read(empty[0], &c, 1));
}

__attribute__((noinline)) static void
hold_busy(struct member *me)
{
	pthread_mutex_lock(&mutexes[0]);
	say_word(me, &mutexes[0]);
	atomic_store(&held, true);
	while (!atomic_load(&victim_over))
		;
}

static void
start_convoy(int n, bool busy)
{
	if (pipe(empty) < 0)
		exit(99);
	add("holder", busy ? -1 : SYS_read, busy ? hold_busy : hold_asleep);
	while (!atomic_load(&held))
		sched_yield();
	for (int i = 0; i < n; i++)
		add("waits", SYS_futex, wait_mutex);
}

/* Never two of them at once. */
__attribute__((noinline)) static void
inside(void)
{
	for (volatile int i = 0; i < 20000; i++)
		;
}

static void
take_turns(struct member *me)
{
	(void)me;
	while (!atomic_load(&victim_over)) {
		pthread_mutex_lock(&mutexes[0]);
		inside();
		pthread_mutex_unlock(&mutexes[0]);
	}
}

static void
wait_self(struct member *me)
{
	pthread_mutex_lock(&mutexes[0]);
	wait_mutex(me);
}

static void
hold_and_end(struct member *me)
{
	(void)me;
	pthread_mutex_lock(&mutexes[0]);
}

static void
start_orphan(void)
{
	struct member *m = add("ender", -1, hold_and_end);

	pthread_join(m->thread, NULL);
	add("heir", SYS_futex, wait_mutex);
}

/* ---- two processes ------------------------------------------------------ */

static int to_child[2], to_parent[2];

static void
read_parent_end(struct member *me)
{
	read_one(me, to_parent[0]);
}

/* Both ends, as pipe(2) makes them. */
static int
make_fifo(const char *dir, const char *name, int fds[2])
{
	char path[256];

	snprintf(path, sizeof path, "%s/%s", dir, name);
	if (mkfifo(path, 0600) < 0 ||
	    (fds[0] = open(path, O_RDONLY | O_NONBLOCK)) < 0 ||
	    (fds[1] = open(path, O_WRONLY)) < 0)
		return -1;
	return fcntl(fds[0], F_SETFL, 0);
}

/* The main thread of a stuck process is stuck too: nothing ends it but a
 * signal. */
static void
start_pipes(const char *dir)
{
	char c;

	if (dir ? make_fifo(dir, "down", to_child) < 0 ||
	    make_fifo(dir, "up", to_parent) < 0 :
	    pipe(to_child) < 0 || pipe(to_parent) < 0)
		exit(99);
	child = fork();
	if (child == 0) {
		close(to_child[1]);
		close(to_parent[0]);
		(void)!read(to_child[0], &c, 1);
		_exit(0);
	}
	close(to_child[0]);
	close(to_parent[1]);
	victim_say("child", (uint64_t)child);
}

static void
start_lock(void)
{
	struct flock all = { .l_type = F_WRLCK, .l_whence = SEEK_SET };
	char name[] = "/tmp/waiter.XXXXXX", c;
	const int fd = mkstemp(name);
	int started[2];

	if (fd < 0 || unlink(name) < 0 || pipe(to_child) < 0 ||
	    pipe(started) < 0)
		exit(99);
	child = fork();
	if (child == 0) {
		close(to_child[1]);
		fcntl(fd, F_SETLKW, &all);
		(void)!write(started[1], "", 1);
		(void)!read(to_child[0], &c, 1);
		_exit(0);
	}
	close(to_child[0]);
	if (read(started[0], &c, 1) != 1)
		exit(99);
	victim_say("child", (uint64_t)child);
	victim_say("lock_fd", (uint64_t)fd);
	to_parent[0] = fd;
}

static void
end_at_term(int signal)
{
	(void)signal;
	_exit(write(1, "checksum ok\n", 12) != 12);
}

/* This process has one thread, which waits until SIGTERM. */
static int
wait_alone(bool lock)
{
	struct flock all = { .l_type = F_WRLCK, .l_whence = SEEK_SET };
	struct member me = { .name = "main" };

	signal(SIGTERM, end_at_term);
	victim_ready();
	if (lock)
		fcntl(to_parent[0], F_SETLKW, &all);
	else
		read_parent_end(&me);
	return 1;
}

static int
serve_to_end(void)
{
	victim_ready();
	victim_serve(mark);
	mark();
	if (child)
		kill(child, SIGKILL);
	return victim_end(true);
}

static void *
serve_alone(void *arg)
{
	const char *close;
	char text[256];

	(void)arg;
	do {
		usleep(500);
		read_own(getpid(), "stat", text, sizeof text);
		close = strrchr(text, ')');
	} while (!close || close[2] != 'Z');
	exit(serve_to_end());
}

/* Only the threads that it has started are left. */
static void
leave(void)
{
	pthread_t th;

	if (pthread_create(&th, NULL, serve_alone, NULL) != 0)
		exit(99);
	pthread_exit(NULL);
}

int
main(int argc, char **argv)
{
	const char *what = argc > 1 ? argv[1] : "kinds";
	const int n = argc > 2 ? atoi(argv[2]) : 3;

	victim_init();
	victim_say("pid", (uint64_t)getpid());
	if (strcmp(what, "kinds") == 0)
		start_kinds();
	else if (strcmp(what, "ring") == 0)
		start_ring(n);
	else if (strcmp(what, "convoy") == 0)
		start_convoy(n, argc > 3 && strcmp(argv[3], "computes") == 0);
	else if (strcmp(what, "self") == 0)
		add("self", SYS_futex, wait_self);
	else if (strcmp(what, "token") == 0)
		for (int i = 0; i < n; i++)
			add("turn", -1, take_turns);
	else if (strcmp(what, "orphan") == 0)
		start_orphan();
	else if (strcmp(what, "pipes") == 0)
		start_pipes(NULL);
	else if (strcmp(what, "fifos") == 0)
		start_pipes(argc > 2 ? argv[2] : ".");
	else if (strcmp(what, "lock") == 0)
		start_lock();
	else if (strcmp(what, "ipc") == 0)
		start_ipc();
	else if (strcmp(what, "shared") == 0)
		start_shared(argc > 2 ? argv[2] : "ring");
	else
		return 99;
	for (int i = 0; i < member_count; i++) {
		printf("%s_tid %d\n", members[i].name, (int)members[i].tid);
		await(&members[i]);
	}
	if (to_child[1])
		return wait_alone(strcmp(what, "lock") == 0);
	if (strcmp(argv[argc - 1], "leader") == 0)
		leave();
	return serve_to_end();
}
