/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * A program of one thread, which does nothing but transfers that any stop
 * would cut short: writes that a pipe cannot hold, and waits for all of a
 * message. It is blocked in one, or runs in one, almost always; yet visits
 * come and go, and each transfer is whole. The same for waits that say EINTR
 * to any stop. injection.md 2: row 7; HAZARD_TRANSFER
 */
#include <errno.h>
#include <signal.h>
#include <sys/epoll.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <time.h>

#include "clock.h"
#include "control-test.h"
#include "inject.h"
#include "inject-victim.h"

enum { MUCH = 256 * 1024, PIECE = 4096, VISITS = 12 };

struct shared {
	struct victim_page at;
	volatile unsigned long rounds, cut, interrupted;
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

static void
transfer(const char *how)
{
	const bool gives = strcmp(how, "write") == 0;
	int fd[2], wait = epoll_create1(0);

	if (wait < 0 || socketpair(AF_UNIX, SOCK_STREAM, 0, fd) < 0)
		_exit(99);
	if (strcmp(how, "epoll") != 0 && fork() == 0) {
		close(fd[0]);
		serve(fd[1], gives);
	}
	shared->at.ready = 1;
	while (!shared->at.stop) {
		struct epoll_event event;

		if (gives)
			answer_is(write(fd[0], much, MUCH), MUCH);
		else if (strcmp(how, "recv") == 0)
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
		const unsigned long before = shared->rounds;

		while (shared->rounds == before && kill(pid, 0) == 0)
			pause_us(1000);
		visit(t);
	}
	printf("%s: %d visits, %lu rounds; %u waits began again\n", how,
	       VISITS, shared->rounds, target_marks(t)->began_again);
	check(shared->cut == 0, "%s: %lu cut short", how, shared->cut);
	check(shared->interrupted == 0, "%s: %lu say EINTR", how,
	      shared->interrupted);
	check(target_marks(t)->cut_short == 0, "none is counted");
	check(target_marks(t)->began_again == 0, "no wait began again");
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
