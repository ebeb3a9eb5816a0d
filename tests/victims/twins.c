/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * twins: a thread of it does rounds of work of which the answer is known, all
 * the time, and so does each child, which it forks at a mark. A child goes on
 * until its parent says so, or has gone, and ends with status 7 if all its
 * answers were right. In the end it tells how many rounds there were, how many
 * children, and how much was wrong. With the word `signals` it uses both that
 * a watch of sonde could use: breakpoints are traps.
 */
#include <pthread.h>
#include <sys/wait.h>

#include "burn.h"
#include "victim.h"

enum { CHILDREN_MAX = 64, GOOD = 7, ROUNDS = 3000, REST_NS = 2000000 };

static pid_t children[CHILDREN_MAX];
static size_t born;
static int lifeline[2];
static _Atomic uint64_t rounds, wrong, foreign;

VICTIM_OWN static uint64_t
child_round(uint64_t x)
{
	return burn(x, ROUNDS);
}

/* Not the same code, or the compiler would make one function of both. */
VICTIM_OWN static uint64_t
parent_round(uint64_t x)
{
	return burn(x, ROUNDS + 1);
}

static void
rest(void)
{
	const struct timespec ts = { .tv_nsec = REST_NS };

	(void)nanosleep(&ts, NULL);
}

static void __attribute__((noreturn))
be_a_child(void)
{
	struct pollfd life = { .fd = lifeline[0], .events = POLLIN };
	const uint64_t answer = leap(1, ROUNDS);
	bool good = true;

	close(lifeline[1]);
	while (poll(&life, 1, 0) == 0) {
		good = good && child_round(1) == answer;
		rest();
	}
	_exit(good && !atomic_load(&foreign) ? GOOD : 1);
}

static void
mark(void)
{
	pid_t pid;

	if (born == CHILDREN_MAX)
		exit(99);
	pid = fork();
	if (pid < 0)
		exit(99);
	if (pid == 0)
		be_a_child();
	children[born++] = pid;
	victim_say("child", (uint64_t)pid);
}

static void *
work(void *arg)
{
	const uint64_t answer = leap(1, ROUNDS + 1);

	while (!atomic_load(&victim_over)) {
		if (parent_round(1) != answer)
			atomic_fetch_add(&wrong, 1);
		atomic_fetch_add(&rounds, 1);
		rest();
	}
	return arg;
}

static void
on_signal(int signal)
{
	(void)signal;
	atomic_fetch_add(&foreign, 1);
}

int
main(int argc, char **argv)
{
	const struct sigaction sa = { .sa_handler = on_signal };
	pthread_t worker;
	int status;

	victim_init();
	if (argc > 1 && strcmp(argv[1], "signals") == 0) {
		sigaction(SIGURG, &sa, NULL);
		sigaction(SIGWINCH, &sa, NULL);
	}
	if (pipe(lifeline) < 0 ||
	    pthread_create(&worker, NULL, work, NULL) != 0)
		exit(99);
	victim_ready();
	victim_serve(mark);
	close(lifeline[1]);
	pthread_join(worker, NULL);
	for (size_t i = 0; i < born; i++)
		if (waitpid(children[i], &status, 0) != children[i] ||
		    !WIFEXITED(status) || WEXITSTATUS(status) != GOOD)
			atomic_fetch_add(&wrong, 1);
	victim_say("children", born);
	victim_say("rounds", atomic_load(&rounds));
	victim_say("wrong", atomic_load(&wrong));
	victim_say("foreign", atomic_load(&foreign));
	return victim_end(!atomic_load(&wrong) && !atomic_load(&foreign));
}
