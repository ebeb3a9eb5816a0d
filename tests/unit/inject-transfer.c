/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * A program of one thread, which does nothing but transfers that any stop
 * would cut short: writes that a pipe cannot hold, and waits for all of a
 * message. It is blocked in one, or runs in one, almost always; yet visits
 * come and go, it is stopped for a debugger and let run, seized or not, and
 * each transfer is whole. The same for waits that say EINTR to any stop; and
 * visits with a thread beside it. injection.md 2: row 7; HAZARD_TRANSFER
 */
#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <sys/epoll.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <time.h>

#include "clock.h"
#include "control-test.h"
#include "inject.h"
#include "inject-victim.h"

enum { MUCH = 256 * 1024, PIECE = 4096, VISITS = 12, STOPS = 40 };

struct shared {
	struct victim_page at;
	volatile unsigned long rounds, cut, interrupted;
	uint64_t never;		/* it calls this never */
};

static struct shared *shared;
static char much[MUCH];

/* ---- the program -------------------------------------------------------- */

static void
pause_us(long us)
{
	const struct timespec gap = { .tv_nsec = us * 1000 };

	(void)nanosleep(&gap, NULL);
}

/* The other end of its transfers, a process of its own. */
static void
serve(int fd, bool takes)
{
	static char piece[PIECE];

	(void)prctl(PR_SET_PDEATHSIG, SIGKILL);
	while ((takes ? read(fd, piece, sizeof piece) :
		send(fd, piece, sizeof piece, MSG_NOSIGNAL)) > 0)
		pause_us(100);
	_exit(0);
}

static void
answer_is(ssize_t n, ssize_t whole)
{
	shared->cut += n >= 0 && n != whole;
	shared->interrupted += n < 0 && errno == EINTR;
	shared->rounds++;
}

__attribute__((noinline)) static void
never_called(void)
{
	shared->cut++;
}

static void *
idle(void *arg)
{
	for (;;)
		pause();
	return arg;
}

/* "-beside" at its end: a thread that idles, as most programs have one */
static void
transfer(const char *how)
{
	const bool gives = strncmp(how, "write", 5) == 0;
	int fd[2], wait = epoll_create1(0);
	pthread_t beside;

	shared->never = (uint64_t)(uintptr_t)never_called;
	if (strstr(how, "-beside") &&
	    pthread_create(&beside, NULL, idle, NULL) != 0)
		_exit(99);

	if (wait < 0 || socketpair(AF_UNIX, SOCK_STREAM, 0, fd) < 0)
		_exit(99);
	if (strncmp(how, "epoll", 5) != 0 && fork() == 0) {
		close(fd[0]);
		serve(fd[1], gives);
	}
	shared->at.ready = 1;
	while (!shared->at.stop) {
		struct epoll_event event;

		if (gives)
			answer_is(write(fd[0], much, MUCH), MUCH);
		else if (strncmp(how, "recv", 4) == 0)
			answer_is(recv(fd[0], much, MUCH, MSG_WAITALL), MUCH);
		else
			answer_is(epoll_wait(wait, &event, 1, 20), 0);
	}
}

/* ---- visits ------------------------------------------------------------- */

static void
visit(struct target *t)
{
	const struct guest_options opt = {
		.windows = 8, .window_bytes = RECORD_WINDOW_MIN,
		.table_bytes = 65536, .interval_ns = MS, .start = true,
		.clock = GUEST_POSIX_TIMER,
	};
	struct inject_report report = { 0 };
	struct guest *g = guest_open(t, &opt, &report);

	check(g != NULL, "a visit: %s", g ? "" : fail_last()->reason);
	if (!g)
		return;
	check(guest_stop(g, &report) == 0, "the end of a visit");
	guest_close(g);
}

static void
await_round(pid_t pid)
{
	const unsigned long before = shared->rounds;

	while (shared->rounds == before && kill(pid, 0) == 0)
		pause_us(1000);
}

/* So many stops. Refused now and then where the machine is busy: no harm, but
 * no proof. */
static void
stop_often(struct target *t, int (*go_on)(struct target *t))
{
	int stops = 0, n = 0;

	for (; stops < STOPS && n < STOPS * 2; n++) {
		struct event ev;

		while (target_next_event(t, &ev))
			check(ev.kind == EVENT_FORK, "event %d", ev.kind);
		pause_us((long)(hash_word((uint64_t)n) % 15000));
		if (target_hold_all(t) < 0) {
			printf("not stopped: %s\n", fail_last()->reason);
			fail_clear();
			continue;
		}
		stops++;
		check(go_on(t) == 0, "go on");
	}
	check(stops == STOPS, "%d stops of %d", stops, n);
}

/* A breakpoint that is never hit keeps it seized meanwhile. */
static void
stop_and_run_on(struct target *t)
{
	check(target_hold_all(t) == 0, "hold: %s", fail_last()->reason);
	check(breakpoint_insert(t, shared->never) != NULL,
	      "a breakpoint: %s", fail_last()->reason);
	check(target_continue_all(t) == 0, "run");
	stop_often(t, target_continue_all);
	pause_us(7000);
	check(target_release_all(t) == 0, "let go");
}

/*
 * Its return from a call is met by a watch of the processor. Where there is
 * none it is met by a clock of the time in user mode, whose signal may come
 * late, when the next call has begun (seen below PVM, Linux 6.18: 1 of some
 * 200). What that did is counted, all of it.
 */
static void
check_marks(const char *how, const struct target_marks *marks)
{
	/* a call that a late signal ended when all was done is counted, too */
	check(processor_watches() ? marks->cut_short == shared->cut :
	      marks->cut_short >= shared->cut, "%s: %lu cut short, %u counted",
	      how, shared->cut, marks->cut_short);
	check(shared->cut == 0 || (!processor_watches() && shared->cut <= 5),
	      "%s: %lu cut short", how, shared->cut);
	check(marks->began_again == 0 || !processor_watches(),
	      "%s: %u waits began again", how, marks->began_again);
}

static void
check_transfers(const char *how)
{
	void *page = NULL;
	const pid_t pid = victim_start(how, &page);
	struct target *t = pid > 0 ? target_open(pid) : NULL;
	int status = -1;

	shared = page;
	check(t != NULL, "open");
	if (!t)
		return;
	for (int i = 0; i < VISITS; i++) {
		await_round(pid);
		visit(t);
	}
	if (!strstr(how, "-beside")) {
		stop_often(t, target_release_all);
		stop_and_run_on(t);
	}
	printf("%s: %d visits, %lu rounds; %u waits began again\n", how, VISITS,
	       shared->rounds, target_marks(t)->began_again);
	check(shared->interrupted == 0, "%s: %lu say EINTR", how,
	      shared->interrupted);
	check_marks(how, target_marks(t));
	target_close(t);
	shared->at.stop = 1;
	check(waitpid(pid, &status, 0) == pid && status == 0, "its end: %x",
	      (unsigned)status);
}

static void
body(void)
{
	if (clock_is_refused()) {
		puts("perf is refused: nobody can wait in user mode");
		exit(SKIPPED);
	}
	check_transfers("write");
	check_transfers("recv");
	check_transfers("epoll");
	check_transfers("write-beside");
	check_transfers("recv-beside");
}

int
main(int argc, char **argv)
{
	if (argc == 3) {
		(void)prctl(PR_SET_PDEATHSIG, SIGKILL);
		shared = victim_page_of(argv[2]);
		transfer(argv[1]);
		return 0;
	}
	return run_as(false, body, 120);
}
