/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Undo what a ptrace stop does to a thread: system calls that answer EINTR
 * after any stop are made to restart, restartable sequences to abort.
 */
#include "hazard.h"
#include "private.h"

#include <signal.h>
#include <sys/uio.h>
#include <unistd.h>

#ifndef PTRACE_GET_RSEQ_CONFIGURATION
#define PTRACE_GET_RSEQ_CONFIGURATION 0x420f
#endif

static bool
first_argument_is_socket(struct target *t, pid_t tid,
			 const struct user_regs_struct *regs)
{
	char path[64], link[16];

	(void)snprintf(path, sizeof path, "task/%d/fd/%d", (int)tid,
		       machine_first_argument(regs));

	const ssize_t n = readlinkat(t->proc_fd, path, link, sizeof link - 1);

	if (n < 0)
		return false;
	link[n] = '\0';
	return str_starts(link, "socket:");
}

/*
 * A job-control stop would have made EINTR without us too, and may follow at
 * once. Any other pending signal does not matter: if its handler runs, the
 * restarted call answers EINTR; if it is ignored (it is queued only because
 * the thread is traced), the call must not have noticed.
 */
static bool
about_to_stop(struct target *t, pid_t tid)
{
	enum { STOPS = 4 };
	static const int stops[STOPS] = { SIGSTOP, SIGTSTP, SIGTTIN, SIGTTOU };
	struct proc_status st;

	if (proc_status_thread(t, tid, &st) < 0)
		return true;

	const uint64_t coming = (st.sig_pending | st.sig_shared) &
		~st.sig_blocked & ~st.sig_ignored & ~st.sig_caught;

	for (int i = 0; i < STOPS; i++)
		if (coming & (UINT64_C(1) << (stops[i] - 1)))
			return true;
	return false;
}

static bool
fix_eintr(struct target *t, pid_t tid, struct user_regs_struct *regs)
{
	const enum interrupted kind = machine_interrupted(regs);

	if (kind == INTERRUPTED_NO || !handled(HAZARD_EINTR))
		return false;
	if (kind == INTERRUPTED_IF_SOCKET &&
	    !first_argument_is_socket(t, tid, regs))
		return false;
	if (about_to_stop(t, tid))
		return false;
	t->marks.began_again += machine_has_time_limit(regs);
	machine_restart(regs);
	return true;
}

/*
 * The kernel aborts a restartable sequence whose thread was preempted, by
 * the pc it finds. Who changes the pc and puts it back into the sequence has
 * hidden the preemption: 60 of 60 such sequences completed wrongly. Then the
 * saved pc must be the abort address.
 */
static bool
fix_rseq(struct target *t, pid_t tid, struct user_regs_struct *regs)
{
	enum { RSEQ_CS_AT = 8 };
	struct {
		uint64_t area;
		uint32_t size, signature, flags, pad;
	} config = { 0 };
	struct {
		uint32_t version, flags;
		uint64_t start, length, abort;
	} section;
	uint64_t at = 0;

	if (!handled(HAZARD_RSEQ) || machine_syscall(regs) >= 0 ||
	    ptrace((enum __ptrace_request)PTRACE_GET_RSEQ_CONFIGURATION, tid,
		   sizeof config, &config) < 0 ||
	    !config.area)
		return false;
	if (target_read(t, config.area + RSEQ_CS_AT, &at, sizeof at) < 0 ||
	    !at || target_read(t, at, &section, sizeof section) < 0) {
		fail_clear();	/* none is registered that can be read */
		return false;
	}
	if (machine_pc(regs) - section.start >= section.length)
		return false;
	machine_set_pc(regs, section.abort);
	return true;
}

bool
thread_fix_interrupted(struct target *t, pid_t tid,
		       struct user_regs_struct *regs)
{
	const struct hold *h = pack_find(&t->pack, tid);
	const bool in_group_stop = h && h->group_signal;
	const bool call = !in_group_stop && fix_eintr(t, tid, regs);

	return fix_rseq(t, tid, regs) || call;
}

/*
 * A sleep that was interrupted goes on as restart_syscall, a call that the
 * program never makes and its seccomp filter may forbid, with death. So under
 * a filter the sleep begins anew; its time, if it is relative, as well.
 */
static bool
fix_filtered(struct target *t, pid_t tid, struct user_regs_struct *regs)
{
	const long call = machine_syscall(regs);
	struct proc_status st;

	if (!machine_sleeps_on(regs) || call == machine_restart_call ||
	    proc_status_thread(t, tid, &st) < 0 || !st.seccomp ||
	    !handled(HAZARD_RESTART_FILTERED))
		return false;
	machine_start_over(regs, call);
	return true;
}

/* Nothing of the program will run for it. */
static bool
will_be_ignored(const struct proc_status *st, int signal)
{
	const uint64_t bit = UINT64_C(1) << (signal - 1);

	if (st->sig_caught & bit)
		return false;
	return (st->sig_ignored & bit) || signal == SIGCHLD ||
		signal == SIGURG || signal == SIGWINCH || signal == SIGCONT;
}

bool
signal_reaches_nobody(struct target *t, pid_t tid, int signal)
{
	struct proc_status st;

	return proc_status_thread(t, tid, &st) == 0 &&
		will_be_ignored(&st, signal);
}

/*
 * A signal that is ignored reaches nobody; but the kernel queues it for a
 * thread that is traced, and that ends its call.
 */
void
hold_delivers(struct target *t, pid_t tid, const siginfo_t *si)
{
	struct user_regs_struct regs;
	struct proc_status st;
	struct iovec iov = { &regs, sizeof regs };

	tick_delivered(t, tid, si);
	if (ptrace(PTRACE_GETREGSET, tid, 1, &iov) < 0 ||
	    iov.iov_len != sizeof regs ||
	    machine_interrupted(&regs) == INTERRUPTED_NO ||
	    proc_status_thread(t, tid, &st) < 0 ||
	    !will_be_ignored(&st, si->si_signo))
		return;
	if (fix_eintr(t, tid, &regs))
		(void)ptrace(PTRACE_SETREGSET, tid, 1, &iov);
}

/* The signal that ended its call does not reach it. */
void
hold_swallows(struct target *t, pid_t tid)
{
	struct user_regs_struct regs;
	struct iovec iov = { &regs, sizeof regs };

	if (ptrace(PTRACE_GETREGSET, tid, 1, &iov) == 0 &&
	    iov.iov_len == sizeof regs &&
	    machine_interrupted(&regs) != INTERRUPTED_NO &&
	    fix_eintr(t, tid, &regs))
		(void)ptrace(PTRACE_SETREGSET, tid, 1, &iov);
}

static void
note_cut(struct target *t, pid_t tid, const struct user_regs_struct *regs)
{
	uint64_t args[6];
	const int64_t done = machine_call(regs, args);

	t->marks.cut_short += partial_was_cut(t, tid, machine_syscall(regs),
					      args, done);
}

void
hold_repair(struct target *t, const struct hold *h)
{
	struct user_regs_struct regs;
	siginfo_t info;
	struct iovec iov = { &regs, sizeof regs };

	if (!h->stopped || h->group_signal ||
	    ptrace(PTRACE_GETREGSET, h->tid, 1, &iov) < 0 ||
	    iov.iov_len != sizeof regs)
		return;
	note_cut(t, h->tid, &regs);
	/* At a signal's delivery EINTR is the truth, or nearly so */
	if ((machine_interrupted(&regs) == INTERRUPTED_NO &&
	     machine_restarts(&regs) < 0) || signal_of_stop(h->tid, &info))
		return;

	const bool fixed = fix_filtered(t, h->tid, &regs) ||
		fix_eintr(t, h->tid, &regs);

	if (tick_begin_again(t, h->tid, &regs) || fixed)
		(void)ptrace(PTRACE_SETREGSET, h->tid, 1, &iov);
}

const struct target_marks *
target_marks(const struct target *t)
{
	return &t->marks;
}
