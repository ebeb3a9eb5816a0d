/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * The doctor's findings, each against a victim made to have the complaint: a
 * stopped job, an ended first thread, a tracer, a seccomp filter, privacy, a
 * vforked child; and none of them against a healthy one. Looking changes
 * nothing: the victims' answers are what they were.
 * mission: C5
 */
#include "control-test.h"

#include <linux/filter.h>
#include <linux/seccomp.h>
#include <pthread.h>
#include <sched.h>
#include <sys/ptrace.h>

struct shared {
	_Atomic int ready, stop;
	_Atomic pid_t child;
};

static struct shared *sh;

static bool
is_ready(void *arg)
{
	(void)arg;
	return sh->ready;
}

/* ---- findings ----------------------------------------------------------- */

struct finding {
	const char *subject, *part;
	bool seen, ok;
};

static void
look_for(void *arg, bool ok, const char *subject, const char *text)
{
	struct finding *f = arg;

	check(*subject && *text && !strchr(text, '\n'), "one full line");
	if (strcmp(subject, f->subject) || !strstr(text, f->part))
		return;
	f->seen = true;
	f->ok = ok;
}

enum verdict { ABSENT, FINE, TROUBLE };

static void
expect(struct target *t, enum verdict verdict, const char *subject,
       const char *part)
{
	struct finding f = { .subject = subject, .part = part };
	enum verdict is;

	target_doctor(t, NULL, look_for, &f);
	is = !f.seen ? ABSENT : f.ok ? FINE : TROUBLE;
	check(is == verdict, "%s: %s: verdict %d, not %d", subject, part,
	      (int)is, (int)verdict);
}

static const char *const complaints[] = {
	"job control", "leader", "tracer", "seccomp", "privacy", "memory",
};

static void
expect_nothing_but(struct target *t, const char *complaint)
{
	for (size_t i = 0; i < ARRAY_LEN(complaints); i++)
		if (!complaint || strcmp(complaints[i], complaint))
			expect(t, ABSENT, complaints[i], "");
}

/* ---- victims ------------------------------------------------------------ */

static void
live(void)
{
	sh->ready = 1;
	while (!sh->stop)
		rest_ms(1);
	_exit(0);
}

static void
healthy(void *arg)
{
	(void)arg;
	live();
}

static void *
second_thread(void *arg)
{
	char path[64];
	char *text;

	(void)arg;
	/* until the first one has ended */
	(void)snprintf(path, sizeof path, "/proc/%d/status", (int)getpid());
	while ((text = file_read(path, NULL)) && !strstr(text, "State:\tZ")) {
		free(text);
		rest_ms(1);
	}
	free(text);
	live();
	return NULL;
}

static void
headless(void *arg)
{
	pthread_t th;

	(void)arg;
	if (pthread_create(&th, NULL, second_thread, NULL))
		_exit(2);
	pthread_exit(NULL);
}

static void
filtered(void *arg)
{
	struct sock_filter allow = BPF_STMT(BPF_RET | BPF_K,
					    SECCOMP_RET_ALLOW);
	const struct sock_fprog prog = { .len = 1, .filter = &allow };

	(void)arg;
	if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) < 0 ||
	    prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &prog) < 0)
		_exit(2);
	live();
}

static void
private_one(void *arg)
{
	(void)arg;
	if (prctl(PR_SET_DUMPABLE, 0) < 0)
		_exit(2);
	live();
}

static int
vforked(void *arg)
{
	(void)arg;
	sh->child = own_tid();
	live();
	return 0;
}

static void
vforker(void *arg)
{
	static char stack[64 * 1024] __attribute__((aligned(16)));

	(void)arg;
	(void)clone(vforked, stack + sizeof stack,
		    CLONE_VM | CLONE_VFORK | SIGCHLD, NULL);
	_exit(0);
}

/* ---- visits ------------------------------------------------------------- */

static void
visit(void (*victim)(void *), void (*look)(struct target *t))
{
	sh = shared_page(sizeof *sh);

	const pid_t pid = fork_victim(victim, NULL);
	struct target *t;

	check(await(is_ready, NULL), "ready");
	t = target_open(sh->child ? sh->child : pid);
	if (t)
		look(t);
	else
		check(false, "open");
	target_close(t);
	sh->stop = 1;
	check(ended_well(pid), "unharmed");
}

static void
look_healthy(struct target *t)
{
	check(target_check_rights(t) == 0, "we may look");
	check(target_check_ptrace(t) == 0, "we may trace");
	expect(t, FINE, "threads", "1");
	expect(t, FINE, "program", "dynamically linked (/");
	expect(t, FINE, "libc", "glibc");
	expect_nothing_but(t, NULL);
}

static bool
stopped_now(void *arg)
{
	struct thread_facts f;

	return target_thread_facts(arg, target_pid(arg), &f) == 0 &&
		f.state == 'T';
}

static void
look_stopped(struct target *t)
{
	char remedy[32];

	kill(target_pid(t), SIGSTOP);
	check(await(stopped_now, t), "stopped");
	(void)snprintf(remedy, sizeof remedy, "kill -CONT %d",
		       (int)target_pid(t));
	expect(t, TROUBLE, "job control", remedy);
	expect_nothing_but(t, "job control");
	check(stopped_now(t), "still stopped");
	kill(target_pid(t), SIGCONT);
}

static void
look_headless(struct target *t)
{
	expect(t, FINE, "leader", "first thread has ended");
	expect(t, FINE, "libc", "glibc");
	expect_nothing_but(t, "leader");
}

static void
look_filtered(struct target *t)
{
	expect(t, geteuid() == 0 ? FINE : TROUBLE, "seccomp",
	       "a filter is installed");
	expect_nothing_but(t, "seccomp");
}

static void
look_traced(struct target *t)
{
	char who[64];
	struct held h;

	check(thread_hold(t, target_pid(t), 0, 1000 * (uint64_t)MS, &h) == 0,
	      "hold it ourselves");
	(void)snprintf(who, sizeof who, "traced by process %d", (int)getpid());
	expect(t, TROUBLE, "tracer", who);
	expect_nothing_but(t, "tracer");
	check(thread_release(t, &h) == 0, "release");
}

static void
look_private(struct target *t)
{
	const bool root = geteuid() == 0;

	/* root's own directory belongs to root in any case */
	if (root)
		return;
	check(target_check_rights(t) < 0 &&
	      strstr(fail_last()->reason, "it has made itself private") &&
	      strstr(fail_last()->remedy, "sonde -p"), "looking is refused");
	expect(t, TROUBLE, "privacy", "only root");
	expect_nothing_but(t, "privacy");
}

static void
look_vforked(struct target *t)
{
	expect(t, TROUBLE, "memory", "shared with process");
	expect_nothing_but(t, "memory");
}

static void
count_lines(void *arg, bool ok, const char *subject, const char *text)
{
	(void)ok;
	check(*subject && *text && !strchr(text, '\n'), "one full line");
	++*(int *)arg;
}

static void
body(void)
{
	int lines = 0;

	visit(healthy, look_healthy);
	visit(healthy, look_stopped);
	visit(headless, look_headless);
	visit(filtered, look_filtered);
	visit(healthy, look_traced);
	visit(private_one, look_private);
	visit(vforker, look_vforked);
	host_doctor(count_lines, &lines);
	check(lines >= 10, "%d lines about the host", lines);
}

int
main(void)
{
	return run_both(body, 60);
}
