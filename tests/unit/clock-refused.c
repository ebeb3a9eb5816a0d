/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * mission: D1. Rights: an ordinary user gets the form per thread, user mode;
 * where perf is refused the failure is of kind denied, with the setting that
 * refuses; inside a PID namespace the per-CPU form still finds its process; a
 * process that is not there is missing; a thread that ended does not make a
 * reader spin.
 */
#include "control.h"
#include "clock-victim.h"

#include <linux/filter.h>
#include <linux/seccomp.h>
#include <sched.h>
#include <stddef.h>
#include <sys/mount.h>
#include <sys/resource.h>
#include <sys/syscall.h>

enum { NOBODY = 65534 };

static void
spinner(void)
{
	victim_ready();
	(void)spin_for_ever(NULL);
}

/* Run a part with other rights: its exit status is the number of failures. */
static int
apart(void (*part)(void))
{
	int status;

	fflush(NULL);

	const pid_t pid = fork();

	if (pid == 0) {
		part();
		fflush(NULL);
		_exit(failures ? FAILED : PASS);
	}
	if (pid < 0 || waitpid(pid, &status, 0) != pid || !WIFEXITED(status))
		return BROKEN;
	return WEXITSTATUS(status);
}

static void
refuse_perf(int error)
{
	struct sock_filter code[] = {
		BPF_STMT(BPF_LD | BPF_W | BPF_ABS,
			 offsetof(struct seccomp_data, nr)),
		BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_perf_event_open, 0, 1),
		BPF_STMT(BPF_RET | BPF_K,
			 SECCOMP_RET_ERRNO | (unsigned)error),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
	};
	const struct sock_fprog filter = { ARRAY_LEN(code), code };

	if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) < 0 ||
	    prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &filter) < 0) {
		perror("seccomp");
		_exit(CANNOT);
	}
}

static void
expect_denied(int error)
{
	struct victim v = victim_start(spinner);
	const struct clock_options opt = {
		.pid = v.pid, .interval_ns = 1000000, .stack_bytes = 4096,
	};

	victim_hear(&v);
	refuse_perf(error);
	CHECK(!clock_open(&opt), "opened though refused");
	printf("refused with %s: %s\n\t%s\n", strerror(error),
	       fail_last()->reason, fail_last()->remedy);
	CHECK(fail_last()->kind == FAIL_DENIED, "kind %d", fail_last()->kind);
	CHECK(strstr(fail_last()->remedy, "perf_event_paranoid"),
	      "the remedy does not name the setting");
	CHECK(strstr(fail_last()->remedy, "CAP_PERFMON"),
	      "the remedy does not name the capability");
	fail_clear();
	CHECK(!signal_clock_open(v.pid, 1000000, SIGPROF, 0,
				  &(struct gate_handler){ .stack = 0 }),
	      "a signal clock opened though refused");
	CHECK(fail_last()->kind == FAIL_DENIED, "kind %d", fail_last()->kind);
	victim_kill(&v);
}

static void
denied_eacces(void)
{
	expect_denied(EACCES);
}

static void
denied_eperm(void)
{
	expect_denied(EPERM);
}

static void
sample_a_while(struct clock *c, pid_t pid, uint64_t cpu_wanted)
{
	const uint64_t from = cpu_of(pid);
	struct tally t = { .pid = pid };

	while (cpu_of(pid) - from < cpu_wanted) {
		(void)wait_rings(c, 20);
		(void)clock_drain(c, false, tally_add, &t);
	}
	clock_disable(c);

	const double possible = (double)(cpu_of(pid) - from) / 1e6;

	(void)clock_drain(c, true, tally_add, &t);
	printf("  %s: %zu samples of %.0f, %zu in the kernel\n",
	       clock_traits(c)->why, t.kind[CLOCK_SAMPLE], possible,
	       t.kernel);
	CHECK(near((double)t.kind[CLOCK_SAMPLE] / possible, 0.8, 1.2),
	      "%zu samples of %.0f", t.kind[CLOCK_SAMPLE], possible);
	CHECK(clock_traits(c)->kernel || t.kernel == 0, "kernel samples");
	CHECK(t.foreign == 0, "%zu records of others", t.foreign);
}

/* More than any user is granted: smaller ones, and that is said. */
static void
less_memory(const struct clock_options *like)
{
	struct clock_options opt = *like;

	opt.ring_bytes = 1 << 30;

	struct clock *c = open_or_skip(&opt);

	CHECK(c, "refused: %s", fail_last()->reason);
	if (!c)
		return;
	printf("  %s\n", clock_traits(c)->why);
	CHECK(clock_traits(c)->ring_bytes == opt.ring_bytes ||
	      strstr(clock_traits(c)->why, "ulimit -l"), "it is not said");
	clock_close(c);
}

static void
as_nobody(void)
{
	if (setgid(NOBODY) < 0 || setuid(NOBODY) < 0)
		_exit(CANNOT);
	/* changing ids makes a process undumpable */
	prctl(PR_SET_DUMPABLE, 1);

	struct victim v = victim_start(spinner);
	const struct clock_options opt = {
		.pid = v.pid, .interval_ns = 1000000, .stack_bytes = 16384,
	};

	victim_hear(&v);

	struct clock *c = open_or_skip(&opt);

	if (!c)
		_exit(strstr(fail_last()->remedy, "perf_event_paranoid=2") ?
		      CANNOT : FAILED);
	CHECK(clock_traits(c)->form == CLOCK_FORM_THREAD, "not by thread");
	CHECK(!clock_traits(c)->kernel, "kernel mode as nobody");
	sample_a_while(c, v.pid, 300000000u);
	printf("  %zu rings of %zu KiB\n", clock_traits(c)->rings,
	       clock_traits(c)->ring_bytes / 1024);
	CHECK(!strstr(clock_traits(c)->why, "ulimit -l"), "%s",
	      clock_traits(c)->why);
	clock_close(c);
	less_memory(&opt);
	victim_kill(&v);
}

static void
in_namespace(void)
{
	if (mount("none", "/", NULL, MS_REC | MS_PRIVATE, NULL) < 0 ||
	    mount("proc", "/proc", "proc", 0, NULL) < 0)
		_exit(CANNOT);

	struct victim v = victim_start(spinner);
	const struct clock_options opt = {
		.pid = v.pid, .interval_ns = 1000000, .stack_bytes = 4096,
		.form = CLOCK_FORM_CPU,
	};

	victim_hear(&v);

	struct clock *c = open_or_skip(&opt);

	if (!c)
		_exit(CANNOT);
	printf("pid %d in a namespace\n", (int)v.pid);
	sample_a_while(c, v.pid, 500000000u);
	clock_close(c);
	victim_kill(&v);
}

static void
namespaces(void)
{
	if (unshare(CLONE_NEWPID | CLONE_NEWNS) < 0)
		_exit(CANNOT);

	const int status = apart(in_namespace);

	if (status != PASS)
		_exit(status);
}

static void
nobody_there(void)
{
	struct clock_options opt = {
		.pid = 1 << 30, .interval_ns = 1000000, .stack_bytes = 4096,
	};

	CHECK(!clock_open(&opt), "opened no process");
	CHECK(fail_last()->kind == FAIL_MISSING, "%s", fail_last()->reason);
	CHECK(!signal_clock_open(1 << 30, 1000000, SIGPROF, 0,
				  &(struct gate_handler){ .stack = 0 }),
	      "a signal clock of no process");
	CHECK(fail_last()->kind == FAIL_MISSING, "%s", fail_last()->reason);
	opt.interval_ns = 1000;
	CHECK(!clock_open(&opt) && fail_last()->kind == FAIL_USAGE,
	      "an interval of 1 us");
	opt.interval_ns = 1000000;
	opt.stack_bytes = 65532;
	CHECK(!clock_open(&opt) && fail_last()->kind == FAIL_USAGE,
	      "a stack of 65532 bytes");
}

/* Too few descriptors for every thread: some are sampled, and it is said. */
static void
few_descriptors(void)
{
	struct rlimit few = { 66, 66 };

	if (setuid(NOBODY) < 0)		/* root raises its limit again */
		_exit(CANNOT);
	prctl(PR_SET_DUMPABLE, 1);

	struct victim v = victim_start(spinner);
	const struct clock_options opt = {
		.pid = v.pid, .interval_ns = 1000000, .stack_bytes = 4096,
		.form = CLOCK_FORM_THREAD,
	};

	victim_hear(&v);
	if (setrlimit(RLIMIT_NOFILE, &few) < 0)
		_exit(BROKEN);
	CHECK(!clock_open(&opt), "opened without descriptors");
	printf("few descriptors: %s\n", fail_last()->reason);
	CHECK(fail_last()->kind == FAIL_GENERAL, "kind %d", fail_last()->kind);
	CHECK(strstr(fail_last()->remedy, "ulimit -n"), "no remedy");
	victim_kill(&v);
}

static void *
sleep_for_ever(void *arg)
{
	for (;;)
		pause();
	return arg;
}

/* Only its youngest thread computes. */
static void
idle_crowd(void)
{
	enum { IDLE = 60 };
	pthread_t t;

	for (int i = 0; i < IDLE; i++)
		if (pthread_create(&t, NULL, sleep_for_ever, NULL) != 0)
			_exit(BROKEN);
	if (pthread_create(&t, NULL, spin_for_ever, NULL) != 0)
		_exit(BROKEN);
	while (cpu_of(getpid()) < 30000000)
		usleep(1000);
	victim_ready();
	(void)sleep_for_ever(NULL);
}

/* Descriptors for some threads: those are sampled that compute. */
static void
busy_first(void)
{
	const rlim_t cpus = (rlim_t)sysconf(_SC_NPROCESSORS_ONLN);
	struct rlimit few = { 64 + 16 + cpus + 12 * cpus, 0 };

	if (setgid(NOBODY) < 0 || setuid(NOBODY) < 0)
		_exit(CANNOT);
	prctl(PR_SET_DUMPABLE, 1);

	struct victim v = victim_start(idle_crowd);
	const struct clock_options opt = {
		.pid = v.pid, .interval_ns = 1000000, .stack_bytes = 4096,
		.form = CLOCK_FORM_THREAD,
	};

	victim_hear(&v);
	few.rlim_max = few.rlim_cur;
	if (setrlimit(RLIMIT_NOFILE, &few) < 0)
		_exit(BROKEN);

	struct clock *c = open_or_skip(&opt);

	if (!c)
		_exit(strstr(fail_last()->remedy, "perf_event_paranoid=2") ?
		      CANNOT : FAILED);
	printf("  %zu have a clock, %zu none\n", clock_traits(c)->threads,
	       clock_traits(c)->not_sampled);
	CHECK(clock_traits(c)->not_sampled > 0, "everybody has a clock");
	CHECK(strstr(clock_traits(c)->why, "ulimit -n"), "%s",
	      clock_traits(c)->why);
	sample_a_while(c, v.pid, 300000000u);
	clock_close(c);
	victim_kill(&v);
}

/* The end of all threads must not wake a reader for ever. */
static void
no_spinning(void)
{
	struct victim v = victim_start(spinner);
	const struct clock_options opt = {
		.pid = v.pid, .interval_ns = 1000000, .stack_bytes = 4096,
		.form = CLOCK_FORM_THREAD,
	};
	struct tally t = { .pid = v.pid };

	victim_hear(&v);

	struct clock *c = open_or_skip(&opt);

	if (!c)
		_exit(CANNOT);
	victim_kill(&v);
	(void)clock_drain(c, true, tally_add, &t);
	CHECK(t.kind[CLOCK_EXIT] == 1, "%zu ends", t.kind[CLOCK_EXIT]);
	/* the wake-ups already under way, then none */
	(void)wait_rings(c, 0);
	CHECK(wait_rings(c, 20) == 0, "woken with nothing to read");
	clock_close(c);
}

int
main(void)
{
	static const struct {
		const char *name;
		void (*part)(void);
	} parts[] = {
		{ "refused by EACCES", denied_eacces },
		{ "refused by EPERM", denied_eperm },
		{ "no process", nobody_there },
		{ "no spinning", no_spinning },
		{ "few descriptors", few_descriptors },
		{ "descriptors for some threads", busy_first },
		{ "as nobody", as_nobody },
		{ "in a PID namespace", namespaces },
	};
	int worst = PASS;

	alarm(300);
	for (size_t i = 0; i < ARRAY_LEN(parts); i++) {
		const int status = apart(parts[i].part);

		printf("%s: %s\n", parts[i].name, status == PASS ? "pass" :
		       status == CANNOT ? "cannot run here" : "FAILED");
		if (status != PASS && status != CANNOT)
			worst = FAILED;
		if (status == CANNOT && worst == PASS)
			worst = CANNOT;
	}
	return worst;
}
