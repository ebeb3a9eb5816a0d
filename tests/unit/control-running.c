/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Copies of threads that run, each stopped alone: what stands there is where
 * it ran, it runs again at once, and one that sleeps is told from it. A
 * thread in the midst of a large write is known by looking. And a sleep that
 * any stop interrupts goes on under a filter that forbids the kernel's way of
 * doing that.
 * mission: C5
 * hazard: PARTIAL RESTART_FILTERED
 */
#include "control-test.h"

#include <linux/audit.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <stddef.h>

enum { COPIES = 40, STOPS = 12, STACK = 64 * 1024, LARGE = 1 << 20 };

static _Atomic int *ready;

static bool
is_ready(void *arg)
{
	(void)arg;
	return *ready != 0;
}

static void
end_victim(pid_t pid, struct target *t)
{
	int status;

	target_close(t);
	kill(pid, SIGKILL);
	check(waitpid(pid, &status, 0) == pid && WIFSIGNALED(status) &&
	      WTERMSIG(status) == SIGKILL, "the victim ended by itself: %x",
	      (unsigned)status);
}

static struct target *
start(void (*body)(void *arg), pid_t *pid)
{
	*ready = 0;
	*pid = fork_victim(body, NULL);
	check(await(is_ready, NULL), "the victim does not begin");

	struct target *t = target_open(*pid);

	if (!t)
		exit(99);
	return t;
}

/* ---- one that runs ------------------------------------------------------- */

static void __attribute__((noinline))
spin(void *arg)
{
	(void)arg;
	*ready = 1;
	for (volatile uint64_t i = 0;; i++)
		;
}

static bool
stands(const struct snapshot_thread *copy)
{
	const uint64_t at = (uintptr_t)spin;

	return copy->facts.pc >= at && copy->facts.pc < at + 256 &&
		!copy->facts.in_syscall && copy->stack_size > 64;
}

static void
test_running(void)
{
	pid_t pid;
	struct target *t = start(spin, &pid);
	unsigned seen = 0, right = 0, stops = 0;
	struct thread_facts f;

	for (int i = 0; i < COPIES; i++) {
		struct snapshot snap;
		struct event ev;

		rest_ms(2);
		check(snapshot_running(t, &pid, 1, now_ns(), 500 * MS, STACK,
				       &snap) == 0,
		      "a copy");
		seen += snap.len == 1;
		right += snap.len == 1 && stands(&snap.threads[0]);
		stops += snap.stops;
		snapshot_fini(&snap);
		/* late ones */
		while (target_next_event(t, &ev))
			;
	}
	check(seen > 0 && right == seen && stops >= seen,
	      "%u of %u copies right, %u stops", right, seen, stops);
	check(target_thread_facts(t, pid, &f) == 0 && f.state == 'R',
	      "it does not run on");
	end_victim(pid, t);
}

/* ---- one that stops later than it is waited for -------------------------- */

static bool
is_traced(pid_t pid)
{
	return thread_state(pid, pid) == 't';
}

/* What it stands until it is looked for is counted. */
static void
test_late(void)
{
	enum { STANDS_MS = 30 };
	pid_t pid;
	struct target *t = start(spin, &pid);
	struct thread_facts f;
	struct late_stops late;
	struct snapshot snap;
	uint64_t since;

	check(snapshot_running(t, &pid, 1, now_ns(), 0, STACK, &snap) == 0 &&
	      snap.len == 0, "nobody waits for it");
	snapshot_fini(&snap);
	late = target_take_late(t);
	check(late.stops == 0, "none has stood yet");
	while (!is_traced(pid))
		rest_ms(1);
	since = now_ns();
	rest_ms(STANDS_MS);
	target_serve_late(t, 0);
	late = target_take_late(t);
	check(late.stops == 1 && late.total_ns >= STANDS_MS * MS &&
	      late.total_ns == late.longest_ns &&
	      late.total_ns <= now_ns() - since + 1000 * MS,
	      "%u stops, %llu ns", late.stops,
	      (unsigned long long)late.total_ns);
	check(target_thread_facts(t, pid, &f) == 0 && f.state == 'R',
	      "it does not run on");
	check(target_take_late(t).stops == 0, "it is counted once");

	/* and by an event loop that finds it by itself */
	check(snapshot_running(t, &pid, 1, now_ns(), 0, STACK, &snap) == 0,
	      "once more");
	snapshot_fini(&snap);
	while (target_take_late(t).stops == 0) {
		struct event ev;

		rest_ms(1);
		(void)target_next_event(t, &ev);
	}
	end_victim(pid, t);
}

/* ---- one that writes much ------------------------------------------------ */

static void
write_much(void *arg)
{
	static char much[LARGE];
	int fd[2];

	(void)arg;
	if (pipe(fd) < 0)
		_exit(2);
	*ready = 1;
	(void)!write(fd[1], much, sizeof much);
}

static bool
in_transfer(void *arg)
{
	struct target *t = arg;

	return thread_in_transfer(t, target_pid(t));
}

static void
sleep_long(void *arg)
{
	(void)arg;
	*ready = 1;
	rest_ms(100 * SECOND_MS);
}

static bool
sleeps(void *arg)
{
	struct target *t = arg;
	struct thread_facts f;

	return target_thread_facts(t, target_pid(t), &f) == 0 &&
		f.state == 'S' && f.in_syscall;
}

static void
test_transfer(void)
{
	pid_t pid;
	struct target *t = start(write_much, &pid);

	check(await(in_transfer, t), "a large write is not seen");
	end_victim(pid, t);
	t = start(sleep_long, &pid);
	check(await(sleeps, t) && !in_transfer(t), "a sleep is no transfer");
	end_victim(pid, t);
}

/* ---- a sleep under a filter ---------------------------------------------- */

static void
forbid_restart(void)
{
	struct sock_filter code[] = {
		BPF_STMT(BPF_LD | BPF_W | BPF_ABS,
			 offsetof(struct seccomp_data, nr)),
		BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_restart_syscall, 0, 1),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_KILL_PROCESS),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
	};
	const struct sock_fprog prog = { sizeof code / sizeof *code, code };

	if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) < 0 ||
	    prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &prog) < 0)
		_exit(2);
}

static void
sleep_filtered(void *arg)
{
	(void)arg;
	forbid_restart();
	*ready = 1;
	for (;;)
		rest_ms(30);
}

static void
test_filtered(void)
{
	pid_t pid;
	struct target *t = start(sleep_filtered, &pid);

	for (int i = 0; i < STOPS; i++) {
		struct snapshot snap = { 0 };
		struct held h;

		if (i % 2) {
			check(snapshot_take(t, 0, STACK, &snap) == 0,
			      "a snapshot");
			snapshot_fini(&snap);
		} else {
			check(thread_hold(t, pid, 0, (uint64_t)2000 * MS,
					  &h) == 0 &&
			      thread_release(t, &h) == 0, "a stop");
		}
		rest_ms(10);
	}
	check(kill(pid, 0) == 0 && !target_gone(t) && await(sleeps, t),
	      "it does not sleep on");
	end_victim(pid, t);
}

int
main(void)
{
	ready = shared_page(sizeof *ready);
	test_running();
	test_late();
	test_transfer();
	test_filtered();
	return failures ? 1 : 0;
}
