/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Signals and stops that were there before us stay as they are: not one tick
 * of a 1 kHz timer, nor one queued value, is lost over 500 stops; a stopped
 * job stays stopped; a target that ends while held is news; and where another
 * one traces already, the refusal names it.
 * mission: X1
 */
#include "control-test.h"

#include <sys/ptrace.h>

enum { HOLDS = 500, VALUES = 2000 };

struct shared {
	_Atomic int ready, stop, wrong;
	_Atomic uint64_t ticks, told;
	_Atomic int values;
};

static struct shared *sh;

static bool
ready(void *arg)
{
	(void)arg;
	return sh->ready;
}

/* ---- signals ------------------------------------------------------------ */

static void
on_tick(int signal, siginfo_t *info, void *context)
{
	(void)signal;
	(void)context;
	/* an expiry that found the last one undelivered is an overrun */
	sh->ticks += 1 + (uint64_t)info->si_overrun;
}

/* Values are queued in order, and a queue keeps it. */
static void
on_value(int signal, siginfo_t *info, void *context)
{
	(void)signal;
	(void)context;
	if (info->si_value.sival_int != sh->values++)
		sh->wrong++;
}

static void
ticker(void *arg)
{
	const struct itimerspec khz = { { 0, MS }, { 0, MS } };
	struct itimerspec left;
	struct sigevent ev = { .sigev_notify = SIGEV_SIGNAL,
			       .sigev_signo = SIGALRM };
	struct sigaction sa = { .sa_sigaction = on_tick,
				.sa_flags = SA_SIGINFO | SA_RESTART };
	timer_t timer;
	struct timespec begin, end;
	uint64_t x = 1;

	(void)arg;
	sigaction(SIGALRM, &sa, NULL);
	sa.sa_sigaction = on_value;
	sigaction(SIGRTMIN, &sa, NULL);
	if (timer_create(CLOCK_MONOTONIC, &ev, &timer))
		_exit(2);
	clock_gettime(CLOCK_MONOTONIC, &begin);
	timer_settime(timer, 0, &khz, NULL);
	sh->ready = 1;
	while (!sh->stop)
		x = x * 6364136223846793005u + 1;
	/* at the same moment: time that passed, in whole periods */
	timer_gettime(timer, &left);
	clock_gettime(CLOCK_MONOTONIC, &end);
	timer_delete(timer);
	sh->told = (uint64_t)((end.tv_sec - begin.tv_sec) * 1000 +
			      (end.tv_nsec - begin.tv_nsec) / MS);
	_exit(x ? 0 : 3);
}

static void
storm(void)
{
	int sent = 0;

	sh = shared_page(sizeof *sh);

	const pid_t pid = fork_victim(ticker, NULL);
	struct target *t = target_open(pid);

	check(t && await(ready, NULL), "the victim ticks");
	for (int i = 0; t && i < HOLDS && !failures; i++) {
		struct held h;

		for (int k = 0; k < VALUES / HOLDS; k++)
			if (sigqueue(pid, SIGRTMIN, (union sigval)
				     { .sival_int = sent }) == 0)
				sent++;
		check(thread_hold(t, pid, 0, 5000 * (uint64_t)MS, &h) == 0,
		      "hold %d", i);
		check(thread_release(t, &h) == 0, "release %d", i);
	}
	rest_ms(20);		/* the last tick may be on its way */
	sh->stop = 1;
	check(ended_well(pid), "the ticker's end");
	check(sent == VALUES && sh->values == sent && !sh->wrong,
	      "%d values queued, %d came, %d out of order", sent, sh->values,
	      sh->wrong);
	check(sh->ticks + 2 >= sh->told && sh->ticks <= sh->told + 2,
	      "%llu periods, %llu ticks", (unsigned long long)sh->told,
	      (unsigned long long)sh->ticks);
	target_close(t);
}

/* ---- job control -------------------------------------------------------- */

static void
sleeper(void *arg)
{
	(void)arg;
	sh->ready = 1;
	while (!sh->stop)
		rest_ms(1);
	_exit(9);
}

static char
state_now(struct target *t)
{
	struct thread_facts f;

	return target_thread_facts(t, target_pid(t), &f) == 0 ? f.state : 0;
}

static bool
is_stopped(void *arg)
{
	return state_now(arg) == 'T';
}

static void
job(void)
{
	sh = shared_page(sizeof *sh);

	const pid_t pid = fork_victim(sleeper, NULL);
	struct target *t = target_open(pid);
	struct held h;
	struct snapshot snap;
	struct event ev;

	check(t && await(ready, NULL), "ready");
	kill(pid, SIGSTOP);
	check(await(is_stopped, t), "stopped");
	for (int i = 0; t && i < 50; i++) {
		check(thread_hold(t, pid, 0, 5000 * (uint64_t)MS, &h) == 0 &&
		      h.group_signal == SIGSTOP, "a group stop is seen");
		check(thread_release(t, &h) == 0 && await(is_stopped, t),
		      "still stopped, hold %d", i);
		check(target_hold_all(t) == 0 && target_release_all(t) == 0 &&
		      await(is_stopped, t), "still stopped, all %d", i);
		check(snapshot_take(t, 0, 4096, &snap) == 0 && snap.len == 1 &&
		      await(is_stopped, t), "still stopped, snapshot %d", i);
		snapshot_fini(&snap);
	}
	/* Seized and running: the stop holds, and ends with SIGCONT only. */
	check(target_hold_all(t) == 0 && target_continue_all(t) == 0,
	      "run seized");
	sh->stop = 1;
	rest_ms(20);
	while (target_next_event(t, &ev))
		check(ev.kind == EVENT_GROUP_STOP, "event %d", ev.kind);
	check(!target_gone(t), "it has not run");
	kill(pid, SIGCONT);
	for (int i = 0; i < 5000 && !target_gone(t); i++) {
		while (target_next_event(t, &ev))
			;
		rest_ms(1);
	}
	check(strcmp(target_how_ended(t), "exited with status 9") == 0,
	      "it %s", target_how_ended(t));
	target_close(t);
}

/* ---- ends --------------------------------------------------------------- */

static void
ends(void)
{
	struct event ev;
	struct held h;

	for (int i = 0; i < 20; i++) {
		sh = shared_page(sizeof *sh);

		const pid_t pid = fork_victim(sleeper, NULL);
		struct target *t = target_open(pid);

		check(t && await(ready, NULL), "ready");
		check(i % 2 ? target_hold_all(t) == 0 :
		      thread_hold(t, pid, 0, 5000 * (uint64_t)MS, &h) == 0,
		      "hold");
		kill(pid, SIGKILL);
		if (i % 2) {
			for (int k = 0; k < 5000 && !target_gone(t); k++) {
				while (target_next_event(t, &ev))
					check(ev.kind == EVENT_ENDED, "kind");
				rest_ms(1);
			}
			check(target_release_all(t) == 0, "release");
		} else {
			check(thread_wait(pid, 5000 * (uint64_t)MS, &ev) < 0 &&
			      ev.kind == EVENT_ENDED, "wait: %d", ev.kind);
			check(thread_release(t, &h) == 0, "release");
		}
		check(target_gone(t) && strcmp(target_how_ended(t),
		      "was killed by SIGKILL") == 0, "it %s",
		      target_how_ended(t));
		check(thread_hold(t, pid, 0, MS, &h) < 0 &&
		      fail_last()->kind == FAIL_MISSING, "no more");
		check(target_threads(t, &(pid_t *){ NULL }, &(size_t){ 0 }) < 0,
		      "no threads");
		target_close(t);
	}
}

/* ---- refusals ----------------------------------------------------------- */

static void
tracer(void *arg)
{
	const pid_t pid = *(pid_t *)arg;

	prctl(PR_SET_NAME, "othertracer");
	if (ptrace(PTRACE_SEIZE, pid, 0, 0) < 0)
		_exit(2);
	sh->values = 1;
	for (;;)
		pause();
}

static bool
other_traces(void *arg)
{
	(void)arg;
	return sh->values;
}

static void
traced(void)
{
	char who[64];

	sh = shared_page(sizeof *sh);

	pid_t pid = fork_victim(sleeper, NULL);
	struct target *t = target_open(pid);

	check(t && await(ready, NULL), "ready");
	prctl(PR_SET_PTRACER, PR_SET_PTRACER_ANY);

	const pid_t other = fork_victim(tracer, &pid);
	struct held h;

	check(await(other_traces, NULL), "another traces it");
	check(target_check_rights(t) == 0, "we may look all the same");
	(void)snprintf(who, sizeof who, "already traced by %d (othertracer)",
		       (int)other);
	check(target_check_ptrace(t) < 0 && strstr(fail_last()->reason, who) &&
	      fail_last()->kind == FAIL_UNSUITABLE && *fail_last()->remedy,
	      "the check names the tracer");
	fail_clear();
	check(thread_hold(t, pid, 0, MS, &h) < 0 &&
	      strstr(fail_last()->reason, who), "the hold names the tracer");
	fail_clear();
	check(target_hold_all(t) < 0 && strstr(fail_last()->reason, who),
	      "hold all names the tracer");
	kill(other, SIGKILL);
	(void)status_of(other);
	check(target_check_ptrace(t) == 0, "free again");
	sh->stop = 1;
	check(WEXITSTATUS(status_of(pid)) == 9, "unharmed");
	target_close(t);
	check(!target_open(pid) && fail_last()->kind == FAIL_MISSING &&
	      strstr(fail_last()->reason, "there is no process"),
	      "a reaped process");
}

static void
others(void)
{
	struct target *t;

	if (geteuid() == 0)
		return;
	t = target_open(1);
	if (!t)
		return;			/* /proc hides it */
	check(target_check_rights(t) < 0 &&
	      fail_last()->kind == FAIL_DENIED &&
	      str_starts(fail_last()->reason, "cannot attach to 1 (") &&
	      strstr(fail_last()->reason, "): Permission denied: it runs as") &&
	      str_ends(fail_last()->remedy, "sonde -p 1"),
	      "a refusal with cause and remedy (%s)", fail_last()->remedy);
	target_close(t);
}

static void
body(void)
{
	storm();
	job();
	ends();
	traced();
	others();
}

int
main(void)
{
	return run_both(body, 120);
}
