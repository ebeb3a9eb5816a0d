/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * signals: programs that live by them. Expiries of a timer are counted, sent
 * values are numbered, a call that a signal should interrupt must be.
 */
#include "victim.h"

#include <sys/syscall.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <ucontext.h>

static volatile uint64_t ticks;

static void
on_tick(int signo, siginfo_t *info, void *context)
{
	(void)signo;
	(void)context;
	ticks += 1 + (uint64_t)info->si_overrun;
}

static void
handle(int signo, void (*handler)(int, siginfo_t *, void *), int flags)
{
	struct sigaction sa = { .sa_sigaction = handler,
				.sa_flags = SA_SIGINFO | flags };

	sigaction(signo, &sa, NULL);
}

static void
work(void)
{
	static double first;
	double sum = 0;
	int i;

	for (i = 1; i < 20000; i++)
		sum += 1.0 / i;
	if (first == 0)
		first = sum;
	if (sum != first)
		WRONG(i);
	round_done();
}

/* Each expiry is in a count, delivered or overrun, whatever held it up. */
static void *
timer_1khz(void *arg)
{
	struct sigevent ev = { .sigev_notify = SIGEV_SIGNAL,
			       .sigev_signo = SIGALRM };
	const struct itimerspec spec = { { 0, 1000000 }, { 0, 1000000 } };
	uint64_t since, elapsed;
	timer_t timer;

	handle(SIGALRM, on_tick, SA_RESTART);
	timer_create(CLOCK_MONOTONIC, &ev, &timer);
	since = now_ms();
	timer_settime(timer, 0, &spec, NULL);
	while (!over())
		work();
	elapsed = now_ms() - since;
	timer_delete(timer);
	/* the last overruns come with a tick that may not come any more */
	if (ticks + 50 + elapsed / 20 < elapsed)
		missed(elapsed - ticks);
	if (ticks > elapsed + 50)
		WRONG(ticks - elapsed);
	return arg;
}

/* The program's own profiling timer, in its own CPU time. */
static void *
itimer_prof(void *arg)
{
	const struct itimerval on = { { 0, 10000 }, { 0, 10000 } };
	const struct itimerval off = { { 0, 0 }, { 0, 0 } };

	handle(SIGPROF, on_tick, SA_RESTART);
	setitimer(ITIMER_PROF, &on, NULL);
	while (!over())
		work();
	setitimer(ITIMER_PROF, &off, NULL);
	if (clock() / (CLOCKS_PER_SEC / 100) > 50 &&
	    ticks < (uint64_t)clock() / (CLOCKS_PER_SEC / 100) / 4)
		missed(1);
	return arg;
}

/* A CPU timer of its own, and naps: it expires only while the thread works,
 * so no nap is cut short. */
static void *
cpu_timer_naps(void *arg)
{
	struct sigevent ev = { .sigev_notify = SIGEV_SIGNAL,
			       .sigev_signo = SIGALRM };
	const struct itimerspec spec = { { 0, 4000000 }, { 0, 4000000 } };
	const struct timespec nap = { 0, 3000000 };
	timer_t timer;

	handle(SIGALRM, on_tick, SA_RESTART);
	if (timer_create(CLOCK_THREAD_CPUTIME_ID, &ev, &timer) < 0)
		exit(99);
	timer_settime(timer, 0, &spec, NULL);
	while (!over()) {
		work();
		if (nanosleep(&nap, NULL) < 0)
			EINTR_SEEN();
	}
	timer_delete(timer);
	return arg;
}

/* ---- queued values ------------------------------------------------------- */

static volatile int expected;

static void
on_value(int signo, siginfo_t *info, void *context)
{
	(void)signo;
	(void)context;
	if (info->si_code != SI_QUEUE || info->si_value.sival_int != expected)
		WRONG(info->si_value.sival_int);
	expected = info->si_value.sival_int + 1;
	round_done();
}

static void
on_usr1(int signo)
{
	(void)signo;
}

static int
send_values(pid_t to)
{
	const struct timespec gap = { 0, 200000 };
	union sigval v = { 0 };

	while (!over() && getppid() == to) {
		if (sigqueue(to, SIGRTMIN + 3, v) == 0)
			v.sival_int++;
		else if (errno != EAGAIN)
			break;
		if (v.sival_int % 8 == 0)
			nanosleep(&gap, NULL);
	}
	return v.sival_int & 0x7f;
}

/* A child sends them in order; the sum is compared at the end. */
static void *
queued(void *arg)
{
	const pid_t me = getpid();
	int status = 0;
	pid_t child;

	handle(SIGRTMIN + 3, on_value, SA_RESTART);
	child = fork();
	if (child == 0)
		_exit(send_values(me));
	while (!over())
		work();
	while (waitpid(child, &status, 0) < 0)
		;
	if (!WIFEXITED(status) || WEXITSTATUS(status) != (expected & 0x7f))
		missed(1);
	return arg;
}

/* The same, taken by sigwaitinfo: blocked everywhere. */
static void *
queued_wait(void *arg)
{
	const pid_t me = getpid();
	int status = 0, want = 0;
	siginfo_t info;
	sigset_t set;
	pid_t child;

	sigemptyset(&set);
	sigaddset(&set, SIGRTMIN + 3);
	sigaddset(&set, SIGCHLD);
	sigprocmask(SIG_BLOCK, &set, NULL);
	child = fork();
	if (child == 0)
		_exit(send_values(me));
	for (;;) {
		const int r = sigwaitinfo(&set, &info);

		if (r == SIGCHLD)	/* after all values: a lower number */
			break;
		if (r < 0) {
			EINTR_SEEN();
			continue;
		}
		if (info.si_value.sival_int != want)
			WRONG(info.si_value.sival_int);
		want = info.si_value.sival_int + 1;
		round_done();
	}
	const struct timespec none = { 0, 0 };

	while (sigtimedwait(&set, &info, &none) > 0)
		want++;
	waitpid(child, &status, 0);
	if (!WIFEXITED(status) || WEXITSTATUS(status) != (want & 0x7f))
		missed(1);
	return arg;
}

/* ---- interruption that must be ------------------------------------------- */

/* Since the alarm was set: how often it came, and how often into the read. */
static volatile unsigned alarms, alarms_in_read;

static void
on_alarm(int signo, siginfo_t *info, void *context)
{
	const greg_t *g = ((const ucontext_t *)context)->uc_mcontext.gregs;
	const unsigned char *next = (const unsigned char *)g[REG_RIP];

	(void)signo;
	(void)info;
	alarms++;
	/* behind a system call instruction, with what the kernel answers */
	alarms_in_read += next[-2] == 0x0f && next[-1] == 0x05 &&
		g[REG_RAX] == -EINTR;
}

/*
 * A read without end, and an alarm without SA_RESTART: EINTR each time. Where
 * it stands for 20 ms before it reads, the alarm is over by then, and the next
 * one, 5 s later, is the one that interrupts.
 */
static void *
interrupted_read(void *arg)
{
	const struct itimerval soon = { { 5, 0 }, { 0, 20000 } };
	int fd[2];
	char c;

	handle(SIGALRM, on_alarm, 0);
	if (pipe(fd) < 0)
		exit(99);
	while (!over()) {
		alarms = alarms_in_read = 0;

		const uint64_t set = now_ms();

		setitimer(ITIMER_REAL, &soon, NULL);

		const ssize_t r = read(fd[0], &c, 1);

		if (r != -1 || errno != EINTR)
			WRONG(r);
		if (alarms_in_read != 1)
			WRONG(alarms_in_read);	/* it went on */
		if (now_ms() - set > 4000 && alarms < 2)
			WRONG(1);		/* the first was lost */
		round_done();
	}
	return arg;
}

/* ---- where handlers run -------------------------------------------------- */

static char alternate[65536];

static void
on_alternate(int signo, siginfo_t *info, void *context)
{
	const char *here = __builtin_frame_address(0);

	(void)signo;
	(void)info;
	(void)context;
	if (here < alternate || here >= alternate + sizeof alternate)
		WRONG(signo);
	work();
}

static void *
on_altstack(void *arg)
{
	const stack_t st = { .ss_sp = alternate,
			     .ss_size = sizeof alternate };
	stack_t now;

	sigaltstack(&st, NULL);
	handle(SIGUSR1, on_alternate, SA_ONSTACK);
	while (!over())
		raise(SIGUSR1);
	sigaltstack(NULL, &now);
	if (now.ss_sp != alternate || now.ss_size != sizeof alternate)
		WRONG(now.ss_size);
	return arg;
}

/* All signals blocked: nothing may come out of that. */
static void *
all_blocked(void *arg)
{
	sigset_t all, now, pending;
	int i;

	sigfillset(&all);
	sigprocmask(SIG_BLOCK, &all, NULL);
	while (!over())
		work();
	sigprocmask(SIG_SETMASK, NULL, &now);
	sigpending(&pending);
	for (i = 1; i < 32; i++) {
		if (i == SIGKILL || i == SIGSTOP)
			continue;
		if (!sigismember(&now, i))
			WRONG(i);
		if (sigismember(&pending, i))
			WRONG(i + 1000);
	}
	return arg;
}

/* Handlers are installed and put back all the time, those that a profiler
 * may want as well. */
static void *
takes_and_gives(void *arg)
{
	static const int signals[] = { SIGPROF, SIGURG, SIGWINCH, SIGIO };
	struct sigaction own = { .sa_handler = on_usr1 }, old, back;
	unsigned i = 0;

	while (!over()) {
		const int s = signals[i++ % COUNT_OF(signals)];
		const struct timespec nap = { 0, 2000000 };

		sigaction(s, &own, &old);
		raise(s);
		work();
		nanosleep(&nap, NULL);
		sigaction(s, NULL, &back);
		if (back.sa_handler != on_usr1)
			WRONG(s);
		sigaction(s, &old, NULL);
	}
	return arg;
}

/* A handler of its own from the beginning, which must stay its own. */
static void
hold_handler(int signo)
{
	struct sigaction own = { .sa_handler = on_usr1, .sa_flags = SA_RESTART };
	struct sigaction back;

	sigaction(signo, &own, NULL);
	while (!over()) {
		raise(signo);
		work();
	}
	sigaction(signo, NULL, &back);
	if (back.sa_handler != on_usr1)
		WRONG(signo);
}

static void *
own_sigprof(void *arg)
{
	hold_handler(SIGPROF);
	return arg;
}

static void *
own_sigurg(void *arg)
{
	hold_handler(SIGURG);
	return arg;
}

/* Every signal with a default that ends it, blocked or handled by turns. */
static void *
mask_churn(void *arg)
{
	sigset_t all, old, back;

	sigfillset(&all);
	while (!over()) {
		pthread_sigmask(SIG_BLOCK, &all, &old);
		work();
		pthread_sigmask(SIG_SETMASK, &old, &back);
		if (!sigismember(&back, SIGUSR1) ||
		    !sigismember(&back, SIGPROF))
			WRONG(1);
	}
	return arg;
}

static const struct trait traits[] = {
	{ "timer-1khz", timer_1khz, 0 },
	{ "itimer-prof", itimer_prof, 0 },
	{ "cpu-timer-naps", cpu_timer_naps, 0 },
	{ "queued", queued, 0 },
	{ "queued-wait", queued_wait, 0 },
	{ "interrupted-read", interrupted_read, 0 },
	{ "altstack", on_altstack, 0 },
	{ "all-blocked", all_blocked, 0 },
	{ "takes-and-gives", takes_and_gives, 0 },
	{ "own-sigprof", own_sigprof, 0 },
	{ "own-sigurg", own_sigurg, 0 },
	{ "mask-churn", mask_churn, 0 },
};

int
main(int argc, char **argv)
{
	return victim_run(traits, COUNT_OF(traits), argc, argv);
}
