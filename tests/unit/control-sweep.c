/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * All threads that sleep in one reading: what it shows of a thread is what a
 * look at it alone shows, and all registers as a stop does; a stack is never of
 * two moments, however often its thread wakes meanwhile; who runs, and who is
 * in a handler on a stack of its own, is not in it; nobody notices. Where it
 * is not to be had, it says why.
 * mission: D9 S3
 */
#include "control-test.h"

#include <linux/futex.h>
#include <pthread.h>

#include "arch.h"

enum { SLEEPERS = 40, CHANGERS = 3, WORDS = 4000, DEEP_WORDS = 40000,
       ROUNDS = 3000, STACK_MAX = 8 << 20 };
enum role { SLEEPER, CHANGER, DEEP, RUNNER, ASIDE, ROLES };

struct shared {
	_Atomic int ready, stop;
	_Atomic pid_t tid[ROLES][SLEEPERS];
	_Atomic uintptr_t words[CHANGERS];
	_Atomic uint64_t changes;
};

static struct shared *sh;

/* ---- the victim ----------------------------------------------------------- */

static void
sleep_till_stop(void)
{
	while (!sh->stop)
		(void)syscall(SYS_futex, &sh->stop, FUTEX_WAIT, 0, NULL, NULL,
			      0);
}

/* All its words are the same while it sleeps, and others each time. */
static void
change_words(int i)
{
	volatile uint64_t words[WORDS];
	const struct timespec nap = { .tv_nsec = 1000 };

	sh->words[i] = (uintptr_t)words;
	for (uint64_t n = 0; !sh->stop; n++) {
		for (size_t k = 0; k < WORDS; k++)
			words[k] = n;
		sh->changes++;
		(void)nanosleep(&nap, NULL);
	}
}

static void
sleep_deep(void)
{
	volatile uint64_t words[DEEP_WORDS];

	for (size_t i = 0; i < DEEP_WORDS; i++)
		words[i] = i;
	sleep_till_stop();
	(void)words[0];
}

static void
handler(int signal)
{
	(void)signal;
	sh->ready++;
	sleep_till_stop();
}

static void
sleep_aside(void)
{
	static char stack[64 << 10];
	const stack_t aside = { .ss_sp = stack, .ss_size = sizeof stack };
	const struct sigaction sa = { .sa_handler = handler,
				      .sa_flags = SA_ONSTACK };
	stack_t before;		/* a sanitizer's, which it wants back */

	if (sigaltstack(&aside, &before) < 0 || sigaction(SIGUSR1, &sa, NULL) < 0)
		_exit(2);
	(void)pthread_kill(pthread_self(), SIGUSR1);
	(void)sigaltstack(&before, NULL);
}

struct part {
	enum role role;
	int i;
};

static void *
play(void *arg)
{
	const struct part *p = arg;

	prctl(PR_SET_NAME, "one (of) them");
	sh->tid[p->role][p->i] = own_tid();
	sh->ready += p->role != ASIDE;
	switch (p->role) {
	case CHANGER:
		change_words(p->i);
		break;
	case DEEP:
		sleep_deep();
		break;
	case RUNNER:
		while (!sh->stop)
			;
		break;
	case ASIDE:
		sleep_aside();
		break;
	default:
		sleep_till_stop();
	}
	return NULL;
}

static const int parts_of[ROLES] = { SLEEPERS, CHANGERS, 1, 1, 1 };
enum { PARTS = SLEEPERS + CHANGERS + 3 };

static void
victim(void *arg)
{
	static struct part parts[PARTS];
	pthread_t th[PARTS];
	int n = 0;

	(void)arg;
	for (enum role r = 0; r < ROLES; r++)
		for (int i = 0; i < parts_of[r]; i++, n++) {
			parts[n] = (struct part){ r, i };
			if (pthread_create(&th[n], NULL, play, &parts[n]))
				_exit(2);
		}
	while (!sh->stop)
		rest_ms(1);
	while (n-- > 0) {
		(void)syscall(SYS_futex, &sh->stop, FUTEX_WAKE, PARTS, NULL,
			      NULL, 0);
		(void)pthread_join(th[n], NULL);
	}
	_exit(0);
}

static bool
is_ready(void *arg)
{
	(void)arg;
	return sh->ready == PARTS;
}

/* ---- what is seen ----------------------------------------------------------- */

struct sight {
	struct target *t;
	unsigned visits[ROLES];
	unsigned torn;		/* stacks of two moments */
};

static enum role
role_of(pid_t tid, int *place)
{
	for (enum role r = 0; r < ROLES; r++)
		for (int i = 0; i < parts_of[r]; i++)
			if (sh->tid[r][i] == tid) {
				*place = i;
				return r;
			}
	return ROLES;
}

static bool
is_torn(const struct snapshot_thread *th, uint64_t words)
{
	uint64_t first, word;

	if (words < th->stack_base ||
	    words + WORDS * 8 > th->stack_base + th->stack_size)
		return true;
	memcpy(&first, th->stack + (words - th->stack_base), 8);
	for (size_t i = 1; i < WORDS; i++) {
		memcpy(&word, th->stack + (words - th->stack_base) + 8 * i, 8);
		if (word != first)
			return true;
	}
	return false;
}

static void
visit(void *arg, struct snapshot_thread *th)
{
	struct sight *s = arg;
	int i = 0;
	const enum role r = role_of(th->tid, &i);

	if (r == ROLES)
		return;		/* the first one, which naps */
	s->visits[r]++;
	s->torn += r == CHANGER && is_torn(th, sh->words[i]);
}

/* A sleeper, against a look at it alone. */
static void
compare(void *arg, struct snapshot_thread *th)
{
	struct sight *s = arg;
	struct snapshot_thread alone;
	int i;

	if (role_of(th->tid, &i) != SLEEPER)
		return;
	s->visits[SLEEPER]++;
	if (peek_thread(s->t, th->tid, STACK_MAX, &alone) < 0) {
		check(false, "%d is not peeked at", (int)th->tid);
		return;
	}
	check(th->ok && th->stack_base == alone.stack_base &&
	      th->stack_size <= alone.stack_size && th->stack_size > 256 &&
	      memcmp(th->stack, alone.stack, th->stack_size) == 0,
	      "another stack: %zu and %zu bytes", th->stack_size,
	      alone.stack_size);
	check(th->regs.reg[arch.reg_pc] == alone.regs.reg[arch.reg_pc] &&
	      th->regs.reg[arch.reg_sp] == alone.regs.reg[arch.reg_sp],
	      "other registers");
	check(memcmp(th->facts.name, alone.facts.name, 16) == 0 &&
	      strcmp(th->facts.name, "one (of) them") == 0 &&
	      th->facts.state == alone.facts.state &&
	      th->facts.syscall == SYS_futex && th->facts.in_syscall &&
	      !th->facts.partial, "what it waits in: %c %ld",
	      th->facts.state, th->facts.syscall);
	check(th->facts.cpu_ns == alone.facts.cpu_ns &&
	      th->facts.wait_ns == alone.facts.wait_ns &&
	      th->facts.switches == alone.facts.switches,
	      "other counts");
	snapshot_thread_fini(&alone);
}

/* Those that a function has to give back, as a stop shows them. */
static void
compare_registers(void *arg, struct snapshot_thread *th)
{
	static const int kept[] = { 3, 6, 12, 13, 14, 15 };	/* x86-64 */
	struct sight *s = arg;
	struct snapshot snap;
	int i;

	if (role_of(th->tid, &i) != SLEEPER || i % 10 ||
	    snapshot_take(s->t, th->tid, STACK_MAX, &snap) < 0)
		return;
	s->visits[SLEEPER]++;
	for (size_t k = 0; k < ARRAY_LEN(kept); k++)
		check(th->regs.reg[kept[k]] ==
		      snap.threads[0].regs.reg[kept[k]],
		      "register %d is %#llx, not %#llx", kept[k],
		      (unsigned long long)th->regs.reg[kept[k]],
		      (unsigned long long)snap.threads[0].regs.reg[kept[k]]);
	snapshot_fini(&snap);
}

static void
sweep(struct target *t)
{
	struct sight alone = { .t = t }, registers = { .t = t }, s = { .t = t };

	check(snapshot_sleeping(t, STACK_MAX, compare, &alone) == 0, "sweep");
	check(alone.visits[SLEEPER] == SLEEPERS, "%u of %d were seen",
	      alone.visits[SLEEPER], SLEEPERS);
	for (int i = 0; i < ROUNDS; i++)
		check(snapshot_sleeping(t, STACK_MAX, visit, &s) == 0,
		      "sweep %d", i);
	printf("%u sleepers, %u changers, %u deep, %u runners, %u aside; %u "
	       "torn, %llu changes\n", s.visits[SLEEPER], s.visits[CHANGER],
	       s.visits[DEEP], s.visits[RUNNER], s.visits[ASIDE], s.torn,
	       (unsigned long long)sh->changes);
	check(s.visits[SLEEPER] == ROUNDS * SLEEPERS, "sleepers");
	check(s.visits[DEEP] == ROUNDS, "one with a large stack");
	check(s.visits[CHANGER] > ROUNDS / 4, "those that wake and sleep");
	check(s.torn == 0, "%u stacks of two moments", s.torn);
	check(s.visits[RUNNER] == 0, "one that runs");
	check(s.visits[ASIDE] == 0, "one on a stack of its own");
	check(snapshot_sleeping(t, STACK_MAX, compare_registers,
				&registers) == 0 &&
	      registers.visits[SLEEPER] == SLEEPERS / 10, "registers");
}

static void
body(void)
{
	sh = shared_page(sizeof *sh);

	const pid_t pid = fork_victim(victim, NULL);
	struct sight none = { 0 };
	bool cannot = false;
	struct target *t;

	check(await(is_ready, NULL), "ready");
	t = target_open(pid);
	check(t != NULL, "open");
	for (int i = 0; i < SLEEPERS; i++)
		check(await_blocked(t, sh->tid[SLEEPER][i], SYS_futex),
		      "it sleeps");
	check(await_blocked(t, sh->tid[ASIDE][0], SYS_futex), "it sleeps");
	check(await_blocked(t, sh->tid[DEEP][0], SYS_futex), "it sleeps");
	if (snapshot_sleeping(t, STACK_MAX, visit, &none) == 0) {
		sweep(t);
	} else {
		printf("not here: %s\n", fail_last()->reason);
		check(*fail_last()->reason, "it does not say why");
		fail_clear();
		cannot = geteuid() == 0;
	}
	sh->stop = 1;
	check(ended_well(pid), "it ends");
	target_close(t);
	if (cannot && !failures)
		_exit(SKIPPED);
}

int
main(void)
{
	return run_both(body, 120);
}
