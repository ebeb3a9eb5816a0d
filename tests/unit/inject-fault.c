/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * A thread has a fault of its own to come, which it has not met yet since our
 * stop, or its mask, came first. Its handler must find what the fault left,
 * so that thread does not work for us, though it waits and another computes.
 * When it meets the fault, it is the one that it was.
 *
 * hazard: OWN_FAULT
 */
#include <pthread.h>

#include "control-test.h"
#include "inject.h"
#include "inject-victim.h"

enum { VISITS = 5, PLACE = 0x4242000 };

struct shared {
	struct victim_page at;
	volatile pid_t faulty;
	volatile unsigned met, as_it_was;
	volatile unsigned long rounds;
};

static struct shared *shared;

/* ---- the program --------------------------------------------------------- */

static void
meet(int signo, siginfo_t *info, void *context)
{
	(void)context;
	shared->met++;
	shared->as_it_was += signo == SIGSEGV && info->si_code == SEGV_MAPERR &&
		info->si_addr == (void *)PLACE && own_tid() == shared->faulty;
}

static void *
has_a_fault(void *arg)
{
	siginfo_t fault = {
		.si_signo = SIGSEGV, .si_code = SEGV_MAPERR,
	};
	sigset_t set;

	fault.si_addr = (void *)PLACE;
	sigemptyset(&set);
	sigaddset(&set, SIGSEGV);
	pthread_sigmask(SIG_BLOCK, &set, NULL);
	if (syscall(SYS_rt_tgsigqueueinfo, getpid(), own_tid(), SIGSEGV,
		    &fault) < 0)
		_exit(99);
	shared->faulty = own_tid();
	while (!shared->at.stop)
		rest_ms(10);
	pthread_sigmask(SIG_UNBLOCK, &set, NULL);
	return arg;
}

static int
run_program(const char *page)
{
	struct sigaction action = {
		.sa_sigaction = meet, .sa_flags = SA_SIGINFO,
	};
	pthread_t thread;

	(void)prctl(PR_SET_PDEATHSIG, SIGKILL);
	shared = victim_page_of(page);
	sigaction(SIGSEGV, &action, NULL);
	pthread_create(&thread, NULL, has_a_fault, NULL);
	while (!shared->faulty)
		sched_yield();
	shared->at.ready = 1;
	while (!shared->at.stop)
		shared->rounds++;
	pthread_join(thread, NULL);
	return shared->met == 1 && shared->as_it_was == 1 ? 0 : 1;
}

/* ---- visits -------------------------------------------------------------- */

static void
visit(struct target *t)
{
	const struct guest_options opt = {
		.windows = 4, .window_bytes = RECORD_WINDOW_MIN,
		.table_bytes = 4096, .interval_ns = 10 * MS,
	};
	struct inject_report report = { 0 };
	struct guest *g = guest_open(t, &opt, &report);

	check(g != NULL, "a visit");
	check(report.donor != shared->faulty, "it works for us");
	if (!g)
		return;
	check(guest_stop(g, &report) == 0, "its end");
	check(report.donor != shared->faulty, "it works for us at the end");
	guest_close(g);
}

static void
body(void)
{
	void *page = NULL;
	const pid_t pid = victim_start("fault", &page);
	struct target *t = pid > 0 ? target_open(pid) : NULL;

	shared = page;
	check(t != NULL, "open");
	for (int i = 0; t && i < VISITS; i++)
		visit(t);
	check(shared->met == 0, "it has not met its fault yet");
	shared->at.stop = 1;
	check(ended_well(pid), "its own judgement");
	target_close(t);
}

int
main(int argc, char **argv)
{
	if (argc == 3)
		return run_program(argv[2]);
	return run_as(false, body, 60);
}
