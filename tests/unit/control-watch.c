/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Breakpoints of the processor among everything that programs do: threads
 * that come and go, forks, vforks, handlers that call the function, jumps out
 * of them; each call of the program itself is told once, and no call of its
 * children is. And where they cannot be, they become traps, and calls are
 * told as before: for threads that block signals, from the start or later or
 * in a handler only; when the program takes the signal for itself; with a
 * fifth function; with few descriptors. An exec leaves no descriptor of them.
 * A thread runs to an address as to a breakpoint; when we are killed then it
 * runs through it. A trap that nothing raised is not the program's.
 * hazard: BREAKPOINT_BLOCKED BREAKPOINT_VIRTUAL
 * mission: X2
 */
#include "control-test.h"

#include <dirent.h>
#include <pthread.h>
#include <setjmp.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <sys/user.h>

enum { FUNCTIONS = 5, WAVES = 8, WAVE = 4, WAVE_CALLS = 25, FEW = 20,
       FEW_FILES = 72 };

struct shared {
	_Atomic int ready, go, over, wrong;
	_Atomic uint64_t calls[FUNCTIONS];
};

static struct shared *sh;

/* Five of them, no two alike. */
#define FUNCTION(n)							\
	static void __attribute__((noinline)) called_##n(void)		\
	{								\
		atomic_fetch_add(&sh->calls[n], 1);			\
	}
FUNCTION(0)
FUNCTION(1)
FUNCTION(2)
FUNCTION(3)
FUNCTION(4)

static void (*volatile const function[FUNCTIONS])(void) = {
	called_0, called_1, called_2, called_3, called_4,
};

static void
start(void)
{
	sh->ready = 1;
	while (!sh->go)
		rest_ms(1);
}

static void
call_some(int n)
{
	for (int i = 0; i < n; i++)
		function[0]();
}

/* ---- victims ------------------------------------------------------------- */

static sigjmp_buf back;

static void
on_tick(int signal)
{
	const int error = errno;

	(void)signal;
	function[0]();
	errno = error;
}

static void
on_jump(int signal)
{
	(void)signal;
	function[0]();
	siglongjmp(back, 1);
}

static void *
wave_thread(void *arg)
{
	call_some(WAVE_CALLS);
	return arg;
}

/* Their calls are their own: they count them, and the parent's stay. */
static int
child(void *arg)
{
	const uint64_t before = sh->calls[1];

	(void)arg;
	function[1]();
	_exit(sh->calls[1] == before + 1 ? 0 : 1);
}

static void
have_children(void)
{
	static char stack[64 * 1024] __attribute__((aligned(16)));
	pid_t pid = fork();

	if (pid == 0)
		(void)child(NULL);
	sh->wrong += pid < 0 || status_of(pid) != 0;
	pid = clone(child, stack + sizeof stack,
		    CLONE_VM | CLONE_VFORK | SIGCHLD, NULL);
	sh->wrong += pid < 0 || status_of(pid) != 0;
}

static void
jump(void)
{
	/* the handler's call and the way out of it */
	if (sigsetjmp(back, 1) == 0)
		raise(SIGUSR1);
	function[0]();
}

static void
busy_victim(void *arg)
{
	const struct itimerval often = { { 0, 700 }, { 0, 700 } };
	const struct sigaction tick = { .sa_handler = on_tick,
					.sa_flags = SA_RESTART };
	const struct sigaction jumps = { .sa_handler = on_jump };

	(void)arg;
	sigaction(SIGALRM, &tick, NULL);
	sigaction(SIGUSR1, &jumps, NULL);
	start();
	setitimer(ITIMER_REAL, &often, NULL);
	for (int w = 0; w < WAVES; w++) {
		pthread_t th[WAVE];

		for (int i = 0; i < WAVE; i++)
			if (pthread_create(&th[i], NULL, wave_thread, NULL))
				_exit(2);
		have_children();
		jump();
		for (int i = 0; i < WAVE; i++)
			(void)pthread_join(th[i], NULL);
	}
	setitimer(ITIMER_REAL, &(struct itimerval){ 0 }, NULL);
	sh->over = 1;
	while (sh->over == 1)
		rest_ms(1);
	_exit(sh->wrong ? 1 : 0);
}

static void
block_all(void)
{
	sigset_t all;

	sigfillset(&all);
	(void)pthread_sigmask(SIG_BLOCK, &all, NULL);
}

/* Calls until the tracer has seen enough, then counted ones. */
static void
call_till_trapped(void)
{
	while (sh->go == 1) {
		function[0]();
		rest_ms(1);
	}
	call_some(FEW);
}

static void
blocking_victim(void *arg)
{
	const char *when = arg;
	const struct sigaction urgent = { .sa_handler = on_tick };
	struct sigaction full = { .sa_handler = on_tick };

	sigfillset(&full.sa_mask);
	(void)sigaction(SIGUSR2, &full, NULL);
	if (strcmp(when, "before") == 0)
		block_all();
	start();
	if (strcmp(when, "later") == 0)
		block_all();
	if (strcmp(when, "taken") == 0) {
		(void)sigaction(SIGURG, &urgent, NULL);
		(void)sigaction(SIGWINCH, &urgent, NULL);
	}
	if (strcmp(when, "handler") == 0) {
		while (sh->go == 1) {
				raise(SIGUSR2);
			rest_ms(1);
		}
		for (int i = 0; i < FEW; i++)
			raise(SIGUSR2);
	} else {
		call_till_trapped();
	}
	sh->over = 1;
	while (sh->over == 1)
		rest_ms(1);
	_exit(0);
}

/* As of a library: it takes no part, and no signal may come to it. */
static void *
deaf_thread(void *arg)
{
	sigset_t all;
	int signal;

	block_all();
	sigfillset(&all);
	sh->go = -1;
	if (sigwait(&all, &signal) == 0)
		sh->wrong++;
	return arg;
}

static void
five_victim(void *arg)
{
	pthread_t th;

	if (arg && pthread_create(&th, NULL, deaf_thread, NULL))
		_exit(2);
	while (arg && !sh->go)
		rest_ms(1);
	sh->go = 0;
	start();
	for (int i = 0; i < FEW; i++)
		for (int f = 0; f < FUNCTIONS; f++)
			function[f]();
	sh->over = 1;
	while (sh->over == 1)
		rest_ms(1);
	_exit(0);
}

static void
exec_victim(void *arg)
{
	(void)arg;
	start();
	function[0]();
	(void)execl("/bin/true", "true", (char *)NULL);
	_exit(2);
}

/*
 * What becomes of a watch's trap whose reason a hypervisor has lost: it looks
 * like that of int1, but there is none. And one that looks like it, with one.
 */
static const unsigned char code[] = { 0x90, 0xcc, 0xf1, 0x90 };
enum { BEHIND_INT1 = 3, BEHIND_NOTHING = 1 };

static void
trap_at(int place)
{
	siginfo_t info = { .si_signo = SIGTRAP, .si_code = TRAP_BRKPT };

	info.si_addr = (void *)(uintptr_t)&code[place];
	sh->wrong += syscall(SYS_rt_tgsigqueueinfo, getpid(),
			     syscall(SYS_gettid), SIGTRAP, &info) < 0;
}

static void
on_own_trap(int signal)
{
	(void)signal;
	atomic_fetch_add(&sh->calls[0], 1);
}

static void
trapping_victim(void *arg)
{
	const struct sigaction own = { .sa_handler = on_own_trap };

	(void)arg;
	start();
	for (int i = 0; i < FEW; i++)
		trap_at(BEHIND_NOTHING);	/* it would end us */
	(void)sigaction(SIGTRAP, &own, NULL);
	for (int i = 0; i < FEW; i++)
		trap_at(BEHIND_INT1);
	sh->over = 1;
	while (sh->over == 1)
		rest_ms(1);
	_exit(sh->wrong ? 1 : 0);
}

/* ---- the tracer ---------------------------------------------------------- */

static bool
ready(void *arg)
{
	(void)arg;
	return sh->ready;
}

/* But for page maps, of which some are kept (base/pages.c). */
static int
open_files(void)
{
	DIR *dir = opendir("/proc/self/fd");
	const struct dirent *entry;
	char path[64];
	int n = 0;

	while (dir && (entry = readdir(dir))) {
		const ssize_t len = readlinkat(dirfd(dir), entry->d_name, path,
					       sizeof path - 1);

		path[len > 0 ? len : 0] = 0;
		n += !strstr(path, "/pagemap");
	}
	if (dir)
		closedir(dir);
	return n;
}

struct visit {
	pid_t pid;
	struct target *t;
	struct breakpoint *at[FUNCTIONS];
	uint64_t hits[FUNCTIONS], before;
};

static void
begin(struct visit *v, void (*victim)(void *arg), const char *arg,
      int functions)
{
	sh = shared_page(sizeof *sh);
	*v = (struct visit){ .pid = fork_victim(victim, (void *)(uintptr_t)
						arg) };
	v->t = target_open(v->pid);
	check(v->t && await(ready, NULL), "ready");
	check(target_hold_all(v->t) == 0, "hold");
	for (int i = 0; i < functions; i++) {
		v->at[i] = breakpoint_insert(v->t, (uint64_t)(uintptr_t)
					     function[i]);
		check(v->at[i], "insert %d", i);
	}
	check(target_continue_all(v->t) == 0, "run");
	sh->go = 1;
}

/* The victim has done its work, or is gone. */
static void
serve(struct visit *v, bool (*enough)(struct visit *v))
{
	struct event ev;

	for (int idle = 0; !target_gone(v->t) && idle < 10000;) {
		if (!target_next_event(v->t, &ev)) {
			if (enough(v))
				return;
			rest_ms(idle++ ? 1 : 0);
			continue;
		}
		idle = 0;
		for (int i = 0; ev.kind == EVENT_BREAKPOINT && i < FUNCTIONS;
		     i++)
			v->hits[i] += v->at[i] && v->at[i] == ev.breakpoint;
		if (ev.kind == EVENT_BREAKPOINT &&
		    (target_hold_all(v->t) < 0 ||
		     breakpoint_step_over(v->t, ev.breakpoint, ev.tid) < 0 ||
		     target_continue_all(v->t) < 0))
			break;
	}
	check(target_gone(v->t), "it ends, or does what it was to do");
}

static bool
is_over(struct visit *v)
{
	(void)v;
	return sh->over;
}

static bool
is_trapped(struct visit *v)
{
	if (!breakpoint_why_trap(v->t, v->at[0]))
		return false;
	v->before = sh->calls[0];
	return true;
}

static void
end(struct visit *v, const char *what)
{
	check(target_release_all(v->t) == 0, "%s: release", what);
	sh->over = 2;
	check(target_ended_well(v->t, v->pid), "%s: it came to harm", what);
	target_close(v->t);
}

static bool
perf_is_here(const struct visit *v)
{
	return !only_traps_here(breakpoint_why_trap(v->t, v->at[0]));
}

static void
each_once(void)
{
	struct visit v;

	begin(&v, busy_victim, NULL, 2);
	serve(&v, is_over);
	check(v.hits[0] == sh->calls[0] && v.hits[0] >=
	      WAVES * WAVE * WAVE_CALLS + 2 * WAVES,
	      "%llu of %llu calls were told", (unsigned long long)v.hits[0],
	      (unsigned long long)sh->calls[0]);
	check(v.hits[1] == 0, "calls of children were told");
	check(sh->calls[1] == 2 * WAVES, "the children's calls");
	check(!perf_is_here(&v) || !target_has_traps(v.t), "a trap");
	end(&v, "busy");
}

/* Whatever was late before, each call is told once it is a trap. */
static void
becomes_trap(const char *when)
{
	struct visit v;
	uint64_t told, made;

	begin(&v, blocking_victim, when, 1);
	if (strcmp(when, "before") == 0)
		check(target_has_traps(v.t), "a trap from the start");
	serve(&v, is_trapped);
	told = v.hits[0];
	check(target_hold_all(v.t) == 0, "hold");
	v.before = sh->calls[0];
	check(target_continue_all(v.t) == 0, "run");
	sh->go = 2;
	serve(&v, is_over);
	told = v.hits[0] - told;
	made = sh->calls[0] - v.before;
	/* one may have been told before, and made now */
	check(told >= FEW && told <= made && told + 1 >= made,
	      "%s: %llu told of %llu calls", when, (unsigned long long)told,
	      (unsigned long long)made);
	check(target_has_traps(v.t), "%s: no trap", when);
	end(&v, when);
}

static void
a_fifth(void)
{
	struct visit v;
	int traps = 0;

	begin(&v, five_victim, NULL, FUNCTIONS);
	for (int i = 0; i < FUNCTIONS; i++)
		traps += breakpoint_why_trap(v.t, v.at[i]) != NULL;
	check(traps >= 1 && (!perf_is_here(&v) || traps < FUNCTIONS),
	      "%d traps", traps);
	serve(&v, is_over);
	for (int i = 0; i < FUNCTIONS; i++)
		check(v.hits[i] == FEW, "function %d: %llu told", i,
		      (unsigned long long)v.hits[i]);
	end(&v, "five");
}

static void
beside_a_deaf_one(void)
{
	struct visit v;

	begin(&v, five_victim, "deaf", 1);
	check(!perf_is_here(&v) || !target_has_traps(v.t), "deaf: a trap");
	serve(&v, is_over);
	check(v.hits[0] == FEW && !sh->wrong, "deaf: %llu told, %d signals",
	      (unsigned long long)v.hits[0], sh->wrong);
	end(&v, "deaf");
}

static bool
never(struct visit *v)
{
	(void)v;
	return false;
}

static void
exec_ends_them(void)
{
	const int before = open_files();
	struct visit v;

	begin(&v, exec_victim, NULL, 1);
	serve(&v, never);
	check(v.hits[0] == 1, "%llu told before the exec",
	      (unsigned long long)v.hits[0]);
	check(target_ended_well(v.t, v.pid), "exec: it came to harm");
	target_close(v.t);
	check(open_files() == before, "descriptors are left");
}

static void
lost_reasons(void)
{
	struct visit v;

	begin(&v, trapping_victim, NULL, 0);
	serve(&v, is_over);
	check(sh->calls[0] == FEW, "%llu traps of its own came",
	      (unsigned long long)sh->calls[0]);
	end(&v, "a trap without a reason");
}

static void
calling_victim(void *arg)
{
	(void)arg;
	(void)prctl(PR_SET_PTRACER, PR_SET_PTRACER_ANY, 0, 0, 0);
	sh->ready = 1;
	while (sh->go != 2) {
		if (sh->go)
			function[0]();
		rest_ms(1);
	}
	_exit(0);
}

static uint64_t
pc_of(pid_t tid)
{
	struct user_regs_struct user;
	struct arch_regs regs = { 0 };

	if (thread_get_regs(tid, &user) == 0)
		arch.from_ptrace(&user, &regs);
	return regs.reg[arch.reg_pc];
}

static int
run_there(struct target *t, uint64_t ms)
{
	const uint64_t at = (uint64_t)(uintptr_t)function[0];
	struct held h;
	int r;

	if (thread_hold(t, target_pid(t), 0, SECOND_MS * (uint64_t)MS, &h) < 0)
		return -1;
	r = thread_run_to(t, &h, at, ms * MS);
	check((pc_of(h.tid) == at) == (r == REACHED), "where it stands");
	check(thread_release(t, &h) == 0, "release");
	return r;
}

static void
run_to_it(void)
{
	sh = shared_page(sizeof *sh);

	const pid_t pid = fork_victim(calling_victim, NULL);
	struct target *t = target_open(pid);

	check(t && await(ready, NULL), "ready");
	check(run_there(t, 1) != REACHED, "it is not called");

	const pid_t tracer = fork();

	if (tracer == 0) {
		sh->over = 1;
		(void)run_there(target_open(pid), 10 * SECOND_MS);
		_exit(0);
	}
	while (!sh->over)
		rest_ms(1);
	rest_ms(20);		/* on its way, or before: no difference */
	check(kill(tracer, SIGKILL) == 0 && status_of(tracer) == SIGKILL,
	      "kill");
	sh->go = 1;
	while (!sh->calls[0] && kill(pid, 0) == 0 && sh->over++ < 5000)
		rest_ms(1);
	for (int i = 0; i < FEW; i++) {
		const int r = run_there(t, 5 * SECOND_MS);

		check(r == REACHED || r == UNWATCHED, "run %d: %d", i, r);
	}
	sh->go = 2;
	check(target_ended_well(t, pid), "run to: it came to harm");
	target_close(t);
}

/* Only who cannot raise the limit has few. */
static void
few_descriptors(void)
{
	const struct rlimit few = { FEW_FILES, FEW_FILES };
	struct rlimit now;
	struct visit v;

	if (geteuid() == 0 || getrlimit(RLIMIT_NOFILE, &now) < 0 ||
	    setrlimit(RLIMIT_NOFILE, &few) < 0)
		return;
	begin(&v, five_victim, NULL, FUNCTIONS);
	check(target_has_traps(v.t), "no trap with few descriptors");
	serve(&v, is_over);
	for (int i = 0; i < FUNCTIONS; i++)
		check(v.hits[i] == FEW, "few: function %d: %llu told", i,
		      (unsigned long long)v.hits[i]);
	end(&v, "few descriptors");
}

static void
body(void)
{
	each_once();
	becomes_trap("before");
	becomes_trap("later");
	becomes_trap("handler");
	becomes_trap("taken");
	a_fifth();
	beside_a_deaf_one();
	exec_ends_them();
	run_to_it();
	few_descriptors();
	lost_reasons();
}

int
main(void)
{
	return run_both_if_watched(body, 120);
}
