/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * A tracer process is killed while a program hits its breakpoints all the
 * time. The program goes on, each time: every call is made, and made once. No
 * handler of the program is called for a signal of ours.
 *
 * Where breakpoints must be traps (the program uses all signals that could
 * serve), a guardian takes them out. What nobody can save then is a thread on
 * its way from a trap to its tracer at that very moment, or before the guardian
 * has acted: together some 50 us on a quiet machine, milliseconds on a busy
 * one. It gets the SIGTRAP, and that is counted; but never does one run on
 * behind a trap.
 * mission: X1 X2
 */
#include "control-test.h"

#include <pthread.h>
#include <sched.h>
#include <sys/resource.h>

enum { ROUNDS = 10, THREADS_MAX = 4, KILL_WITHIN_US = 20000, SELDOM_US = 100000,
       GO_ON_US = 200000, GO_ON_CALLS_MAX = 20,
       FRAME_BYTES = 256, TRAPPED = 78, TRACER_PRIORITY = -15 };

struct shared {
	_Atomic int ready, over, wrong;
	_Atomic int armed;		/* the tracer runs it with a trap */
	int threads;
	long pause_us;
	bool traps;			/* nothing but traps will do */
	_Atomic bool trapped;		/* and the tracer uses them */
	_Atomic uint64_t calls[THREADS_MAX], hits;
};

static struct shared *sh;
static unsigned seed;

/* Its first instruction is one that functions begin with: sub $imm, %rsp. */
static void __attribute__((noinline))
called(_Atomic uint64_t *count)
{
	unsigned char room[FRAME_BYTES];

	__asm__ volatile("" : : "r"(room) : "memory");
	/* only its own thread writes it */
	atomic_store(count, atomic_load(count) + 1);
}

/* So that every call is made, and to that very function. */
static void (*volatile call)(_Atomic uint64_t *count) = called;

static void *
caller(void *arg)
{
	_Atomic uint64_t *count = &sh->calls[(intptr_t)arg];
	const struct timespec ts = { .tv_nsec = sh->pause_us * 1000 };

	sh->ready++;
	for (uint64_t i = 0; !sh->over; i++) {
		if (atomic_load(count) != i)
			sh->wrong++;
		call(count);
		if (sh->pause_us && nanosleep(&ts, NULL) < 0)
			sh->wrong++;
	}
	return NULL;
}

/* Without it, it would be killed. */
static void
on_trap(int signal)
{
	(void)signal;
	_exit(TRAPPED);
}

/* Nobody sends it any. */
static void
on_idle_signal(int signal)
{
	(void)signal;
	sh->wrong++;
}

static void
victim(void *arg)
{
	const struct sigaction sa = { .sa_handler = on_trap };
	const struct sigaction idle = { .sa_handler = on_idle_signal };
	pthread_t th[THREADS_MAX];

	(void)arg;
	sigaction(SIGTRAP, &sa, NULL);
	if (sh->traps) {
		sigaction(SIGURG, &idle, NULL);
		sigaction(SIGWINCH, &idle, NULL);
	}
	(void)prctl(PR_SET_PTRACER, PR_SET_PTRACER_ANY, 0, 0, 0);
	for (int i = 1; i < sh->threads; i++)
		if (pthread_create(&th[i], NULL, caller,
				   (void *)(intptr_t)i))
			_exit(2);
	(void)caller((void *)(intptr_t)0);
	for (int i = 1; i < sh->threads; i++)
		(void)pthread_join(th[i], NULL);
	_exit(sh->wrong ? 1 : 0);
}

static bool
ready(void *arg)
{
	(void)arg;
	return sh->ready == sh->threads;
}

static bool
armed(void *arg)
{
	(void)arg;
	return sh->armed;
}

/* ---- the tracer process --------------------------------------------- */

/* Takes hit after hit until it is killed; stand: stays at the first one. */
static void __attribute__((noreturn))
trace(pid_t pid, bool guarded, bool stand)
{
	struct target *t = target_open(pid);
	struct breakpoint *bp;
	struct event ev;

	if ((guarded && guard_start() < 0) || !t || target_hold_all(t) < 0 ||
	    !(bp = breakpoint_insert(t, (uint64_t)(uintptr_t)called)) ||
	    target_continue_all(t) < 0) {
		check(false, "the tracer begins");
		_exit(3);
	}
	sh->trapped = only_traps_here(breakpoint_why_trap(t, bp));
	sh->armed = !stand;
	while (!target_gone(t)) {
		if (!target_next_event(t, &ev)) {
			sched_yield();
			continue;
		}
		if (ev.kind != EVENT_BREAKPOINT)
			continue;
		sh->hits++;
		if (target_hold_all(t) < 0)
			break;
		while (stand) {
			sh->armed = 1;
			pause();
		}
		if (breakpoint_step_over(t, bp, ev.tid) < 0 ||
		    target_continue_all(t) < 0)
			break;
	}
	check(false, "the tracer goes on");
	_exit(4);
}

static pid_t
fork_tracer(pid_t victim_pid, bool guarded, bool stand)
{
	const pid_t pid = fork();

	if (pid == 0) {
		prctl(PR_SET_PDEATHSIG, SIGKILL);
		(void)setpriority(PRIO_PROCESS, 0, TRACER_PRIORITY);
		trace(victim_pid, guarded, stand);
	}
	return pid;
}

/* ---- rounds ---------------------------------------------------------- */

static bool
all_go_on(void *arg)
{
	const uint64_t *from = arg;
	const uint64_t some = sh->pause_us * GO_ON_CALLS_MAX > GO_ON_US ?
		(uint64_t)(GO_ON_US / sh->pause_us) : GO_ON_CALLS_MAX;
	siginfo_t info = { 0 };

	for (int i = 0; i < sh->threads; i++)
		if (sh->calls[i] < from[i] + some)
			return waitid(P_ALL, 0, &info, WEXITED | WNOHANG |
				      WNOWAIT) == 0 && info.si_pid;
	return true;
}

struct storm {
	const char *what;
	int threads;
	long pause_us;
	bool traps;
	int guarded;		/* REPLACED: by the second one */
	bool stand;
	int least, most;	/* deaths of 10 */
};

enum { REPLACED = 2 };

/* 0: it has none. */
static pid_t
guardian_of(pid_t tracer)
{
	char path[64], name[16] = "";
	int pid = 0;
	FILE *f;

	snprintf(path, sizeof path, "/proc/%d/task/%d/children", (int)tracer,
		 (int)tracer);
	f = fopen(path, "re");
	if (!f)
		return 0;
	if (fscanf(f, "%d", &pid) != 1)
		pid = 0;
	fclose(f);
	snprintf(path, sizeof path, "/proc/%d/comm", pid);
	f = pid ? fopen(path, "re") : NULL;
	if (!f)
		return 0;
	if (!fgets(name, sizeof name, f) ||
	    strcmp(name, "text-guardian\n") != 0)
		pid = 0;
	fclose(f);
	return pid;
}

struct guarded {
	pid_t tracer, before;
};

static bool
guarded_anew(void *arg)
{
	const struct guarded *g = arg;
	const pid_t now = guardian_of(g->tracer);

	return now && now != g->before;
}

/* Another one comes in its place, by itself. */
static void
kill_guardian(pid_t tracer)
{
	struct guarded g = { .tracer = tracer };

	check(await(guarded_anew, &g), "a guardian");
	g.before = guardian_of(tracer);
	check(kill(g.before, SIGKILL) == 0, "the guardian is killed");
	check(await(guarded_anew, &g), "another guardian");
}

/* One kill. true: the victim lived; else it had a trap that nobody took. */
static bool
round_lives(const struct storm *s)
{
	const int threads = s->threads;
	uint64_t from[THREADS_MAX];

	memset(sh, 0, sizeof *sh);
	sh->threads = threads;
	sh->pause_us = s->pause_us;
	sh->traps = s->traps;

	const pid_t pid = fork_victim(victim, NULL);

	check(await(ready, NULL), "ready");

	const pid_t tracer = fork_tracer(pid, s->guarded, s->stand);
	const long us = rand_r(&seed) % KILL_WITHIN_US;
	const struct timespec ts = { .tv_nsec = us * 1000 };

	check(await(armed, NULL), "armed");
	if (s->guarded == REPLACED)
		kill_guardian(tracer);
	(void)nanosleep(&ts, NULL);
	(void)kill(tracer, SIGKILL);
	check(status_of(tracer) == SIGKILL, "the tracer ended by itself");
	for (int i = 0; i < threads; i++)
		from[i] = sh->calls[i];
	check(await(all_go_on, from), "its threads go on");
	sh->over = 1;

	const int status = status_of(pid);

	check(status == 0 || (WIFEXITED(status) &&
			      WEXITSTATUS(status) == TRAPPED),
	      "the victim: wait status %#x, %d wrong", (unsigned)status,
	      sh->wrong);
	return status == 0;
}

static void
storm(const struct storm *s, int scale)
{
	const int n = ROUNDS * scale;
	uint64_t hits = 0;
	int died = 0;

	for (int i = 0; i < n; i++) {
		died += !round_lives(s);
		hits += sh->hits;
		if (sh->trapped && !s->traps) {
			printf("%s: there are only traps here\n", s->what);
			return;
		}
	}
	printf("%s: %d threads, a call each %ld us: %llu hits, %d of %d kills "
	       "cost the target\n", s->what, s->threads, s->pause_us,
	       (unsigned long long)hits, died, n);
	check(died >= s->least * scale && died <= s->most * scale,
	      "not %d to %d", s->least * scale, s->most * scale);
}

/* As of a tracer process with as many targets that have traps. */
static void
end_three(void)
{
	const pid_t pid = fork();

	if (pid == 0) {
		for (int i = 0; i < 3; i++)
			if (guard_start() < 0)
				_exit(1);
		guard_end();
		_exit(0);
	}
	check(status_of(pid) == 0, "three guardians do not end well");
}

static void
body(void)
{
	const char *given = getenv("SONDE_SEED");
	const char *more = getenv("SONDE_ROUNDS");
	const struct storm storms[] = {
		{ "watched", 1, 10000, false, false, false, 0, 0 },
		{ "watched", 2, 1000, false, false, false, 0, 0 },
		{ "watched", 1, 0, false, false, false, 0, 0 },
		{ "watched", THREADS_MAX, 0, false, false, false, 0, 0 },
		{ "watched, standing", THREADS_MAX, 0, false, false, true,
		  0, 0 },
		{ "traps, standing", THREADS_MAX, 0, true, true, true, 0, 0 },
		/* the next call meets the trap, unless it was taken out */
		{ "traps, no guardian", 1, SELDOM_US, true, false, false,
		  5, 10 },
		{ "traps", 1, SELDOM_US, true, true, false, 0, 4 },
		{ "traps, guardian killed before", 1, SELDOM_US, true,
		  REPLACED, false, 0, 4 },
		/* as it may be; but no call is made wrongly */
		{ "traps", 2, 1000, true, true, false, 0, 10 },
		{ "traps", THREADS_MAX, 0, true, true, false, 0, 10 },
	};

	seed = given ? (unsigned)atoi(given) : (unsigned)getpid();
	printf("seed %u: repeat with SONDE_SEED=%u\n", seed, seed);
	end_three();
	sh = shared_page(sizeof *sh);
	for (size_t i = 0; i < ARRAY_LEN(storms); i++)
		storm(&storms[i], more ? atoi(more) : 1);
}

int
main(void)
{
	return run_both_if_watched(body, 240);
}
