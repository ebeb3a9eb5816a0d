/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Watches: breakpoints that the processor keeps, one per thread and address,
 * by perf. Nothing is written into the program.
 *
 * At a hit perf sends the thread a signal. The thread is seized, so it stops
 * at the signal's delivery, its pc at the address, and the signal is never
 * delivered. It goes on by PTRACE_CONT: the kernel has set the resume flag, so
 * the instruction is executed and not hit again. The flag lives with the
 * registers: through our setting them, handlers and sigreturn.
 *
 * When we are killed the kernel closes our descriptors, and the watches are
 * gone. What was on its way is a signal whose default is to be ignored. Hence
 * the choice of it: one that the program catches would call its handler (13 of
 * 150 kills). A thread that blocks it would not be stopped, and could wait for
 * it: its hits are counted only, with no signal, and a look finds them (hit.c).
 * Many programs have such threads, which do nothing but their own errands.
 *
 * A watch rests while its thread can make no hit that concerns anybody: the
 * register stays ours, so that it is armed again without fail. What counts
 * hits only never rests: it costs no stop, and a look must find them.
 *
 * Data is watched alike, but that the thread has touched it then, and stands
 * behind the instruction that did.
 *
 * (Debug registers set by ptrace are no way to do this: they stay when the
 * tracer is killed, and SIGTRAP ends the program at the next hit. Nor may an
 * event be armed by PERF_EVENT_IOC_REFRESH, which hangs Linux 6.16 and 6.17.)
 */
#include "breakpoint.h"
#include "hazard.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/hw_breakpoint.h>
#include <linux/perf_event.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/ioctl.h>
#include <sys/syscall.h>
#include <unistd.h>

enum {
	KERNEL_SIGSET_SIZE = 8,
	/* libc keeps them for itself, and blocks them only for moments in
	 * which it blocks all: around the birth and the end of a thread. */
	SIGNAL_OF_LIBC_1 = 32,
	SIGNAL_OF_LIBC_2 = 33,
};

static const char watch_dead[] =
	"the debug registers of this machine do not work";

/* SIGURG last: a guest that collects takes that one. */
static const int idle_signals[IDLE_SIGNALS] = { SIGWINCH, SIGURG };

static int open_event(const struct watched *at, pid_t tid);

/* ---- does the processor keep them? -------------------------------------- */

static void __attribute__((noinline))
landing(void)
{
	__asm__ volatile("" ::: "memory");
}

static bool
fires(void)
{
	const int fd = open_event(&(const struct watched){
			.addr = (uintptr_t)landing }, 0);
	uint64_t hits = 1;

	if (fd < 0)
		return true;	/* a refusal, which is told elsewhere */
	if (ioctl(fd, PERF_EVENT_IOC_ENABLE, 0) == 0) {
		landing();
		if (read(fd, &hits, sizeof hits) != (ssize_t)sizeof hits)
			hits = 1;
	}
	close(fd);
	return hits > 0;
}

/*
 * Below some hypervisors (PVM, Linux 6.18) the kernel grants a debug register
 * and it never hits: a program would run to its end, past every breakpoint.
 * Seen again: perf stat -e mem:ADDRESS:x counts 0. So we try it on ourselves.
 */
static bool
watches_hit(void)
{
	static enum { NOT_TRIED, YES, NO } known;

	if (known == NOT_TRIED)
		known = fires() ? YES : NO;
	return known == YES;
}

/* ---- which signal ------------------------------------------------------- */

static bool
has(uint64_t set, int signal)
{
	return set >> (signal - 1) & 1;
}

static uint64_t
blocked_by(const struct target *t, const struct hold *h)
{
	struct proc_status st;
	uint64_t mask;

	if (h->stopped &&
	    ptrace(PTRACE_GETSIGMASK, h->tid, KERNEL_SIGSET_SIZE, &mask) == 0)
		return mask;
	return proc_status_thread(t, h->tid, &st) == 0 ? st.sig_blocked : 0;
}

/* What libc blocks around the birth of a thread is over in a moment. */
static bool
is_moment(uint64_t mask)
{
	return has(mask, SIGNAL_OF_LIBC_1) && has(mask, SIGNAL_OF_LIBC_2);
}

/* What all threads block, or any one does. */
static void
read_masks(const struct target *t, uint64_t *all, uint64_t *any)
{
	*all = ~UINT64_C(0);
	*any = 0;
	for (size_t i = 0; i < t->pack.len; i++) {
		const struct hold *h = &t->pack.items[i];
		const uint64_t mask = h->foreign ? 0 : blocked_by(t, h);

		if (h->foreign || is_moment(mask))
			continue;
		*all &= mask;
		*any |= mask;
	}
	*all &= *any;
}

bool
watch_is_deaf(const struct target *t, const struct hold *h)
{
	const uint64_t mask = blocked_by(t, h);

	return t->signal && has(mask, t->signal) && !is_moment(mask);
}

/* As the kernel asks when it sends an event's signal (sigio_perm, 6.18); our
 * right to trace does not count there. */
static bool
may_signal(const struct proc_status *st)
{
	const unsigned us[] = { getuid(), geteuid() };

	for (size_t i = 0; i < ARRAY_LEN(us); i++)
		if (us[i] == st->uid[0] || us[i] == st->uid[2])
			return true;
	return us[1] == 0;
}

int
watch_signal(struct target *t, const char **why)
{
	const pid_t tid = target_live_thread(t);
	struct proc_status st;

	*why = "this processor is not known well enough";
	if (!machine_can_watch || !handled(HAZARD_BREAKPOINT_KILLED))
		return 0;
	*why = watch_dead;
	if (!watches_hit())
		return 0;
	*why = "the process belongs to another user";
	if (tid < 0 || proc_status_thread(t, tid, &st) < 0 ||
	    !may_signal(&st))
		return 0;
	*why = "the program uses or blocks SIGWINCH and SIGURG";

	uint64_t all, any, used = st.sig_caught | st.sig_ignored;

	read_masks(t, &all, &any);
	if (!handled(HAZARD_BREAKPOINT_SIGNAL))
		used = all = any = 0;
	for (size_t i = 0; i < ARRAY_LEN(idle_signals); i++)
		if (!has(used | any, idle_signals[i]))
			return idle_signals[i];
	for (size_t i = 0; i < ARRAY_LEN(idle_signals); i++)
		if (!has(used | all, idle_signals[i]))
			return idle_signals[i];
	return 0;
}

int
watch_signal_of(const struct target *t, pid_t tid)
{
	struct proc_status st;

	if (proc_status_thread(t, tid, &st) < 0 || !may_signal(&st))
		return 0;
	for (size_t i = 0; i < ARRAY_LEN(idle_signals); i++)
		if (!has(st.sig_caught | st.sig_ignored | st.sig_blocked,
			 idle_signals[i]))
			return idle_signals[i];
	return 0;
}

bool
watch_signal_is_taken(struct target *t)
{
	const pid_t tid = target_live_thread(t);
	struct proc_status st;

	return tid >= 0 && proc_status_thread(t, tid, &st) == 0 &&
		has(st.sig_caught | st.sig_ignored, t->signal);
}

/* ---- one thread --------------------------------------------------------- */

/* What the kernel does for the program, read(2) into it, is none of its own
 * accesses; a signal for that would end calls that wait. */
static int
open_event(const struct watched *at, pid_t tid)
{
	const struct perf_event_attr attr = {
		.type = PERF_TYPE_BREAKPOINT,
		.size = sizeof attr,
		.bp_type = !at->data ? HW_BREAKPOINT_X : at->reads ?
			HW_BREAKPOINT_RW : HW_BREAKPOINT_W,
		.bp_addr = at->addr,
		.bp_len = at->data ? at->data : sizeof(long),
		.sample_period = 1,
		.disabled = 1,
		.exclude_kernel = 1,
		.exclude_hv = 1,
	};

	return (int)syscall(SYS_perf_event_open, &attr, tid, -1, -1,
			    PERF_FLAG_FD_CLOEXEC);
}

int
watch_send(int fd, int signal, pid_t tid)
{
	struct f_owner_ex owner = { .type = F_OWNER_TID, .pid = tid };

	if (descriptor_is_reserve(fd)) {
		errno = EMFILE;
		return -1;
	}
	if (signal && (fcntl(fd, F_SETSIG, signal) < 0 ||
		       fcntl(fd, F_SETOWN_EX, &owner) < 0 ||
		       fcntl(fd, F_SETFL, O_ASYNC | O_NONBLOCK) < 0))
		return -1;
	return 0;
}

const char *
watch_probe(pid_t tid)
{
	const int fd = open_event(&(struct watched){0}, tid);

	if (fd < 0)
		return watch_refusal(errno);
	close(fd);
	return watches_hit() ? NULL : watch_dead;
}

int
watches_arm(struct watches *w, const struct watched *at, int signal,
	    pid_t tid)
{
	if (watches_find(w, tid))
		return 0;

	const bool rests = at->rests && signal;
	const int fd = open_event(at, tid);

	if (fd < 0)
		return errno == ESRCH ? 0 : -1;
	if ((at->gate && gate_put(at->gate, fd) < 0) ||
	    watch_send(fd, signal, tid) < 0 ||
	    (!rests && ioctl(fd, PERF_EVENT_IOC_ENABLE, 0) < 0)) {
		const int error = errno;

		close(fd);
		errno = error;
		return error == ESRCH ? 0 : -1;
	}
	w->items = xgrow(w->items, &w->cap, w->len + 1, sizeof *w->items);
	w->items[w->len++] = (struct watch){
		.tid = tid, .fd = fd, .deaf = !signal, .rests = rests,
		.looked_at = UINT64_MAX,
	};
	map_put(&w->by_tid, (uint64_t)tid, w->len);
	return 0;
}

int
watch_rest(struct watch *w, bool rests)
{
	rests = rests && !w->deaf;
	if (w->rests == rests)
		return 0;
	if (ioctl(w->fd, rests ? PERF_EVENT_IOC_DISABLE :
		  PERF_EVENT_IOC_ENABLE, 0) < 0)
		return -1;
	w->rests = rests;
	return 0;
}

struct watch *
watches_find(const struct watches *w, pid_t tid)
{
	uint64_t place;

	if (!map_get(&w->by_tid, (uint64_t)tid, &place))
		return NULL;
	return &w->items[place - 1];
}

void
watches_disarm(struct watches *w, pid_t tid)
{
	struct watch *one = watches_find(w, tid);

	if (!one)
		return;
	close(one->fd);
	map_remove(&w->by_tid, (uint64_t)tid);
	*one = w->items[--w->len];
	if (one != &w->items[w->len])
		map_put(&w->by_tid, (uint64_t)one->tid,
			(uint64_t)(one - w->items) + 1);
}

void
watches_fini(struct watches *w)
{
	for (size_t i = 0; i < w->len; i++)
		close(w->items[i].fd);
	free(w->items);
	map_fini(&w->by_tid);
	*w = (struct watches){ 0 };
}

uint64_t
watch_hits(const struct watch *w)
{
	uint64_t count;

	if (read(w->fd, &count, sizeof count) != (ssize_t)sizeof count)
		return 0;
	return count - w->seen;
}

const char *
watch_refusal(int error)
{
	switch (error) {
	case EACCES:
	case EPERM:
		return "perf is not permitted";
	case ENOSPC:
		return "no debug register is free";
	case EMFILE:
	case ENFILE:
		return "too few descriptors";
	default:
		return "perf cannot watch it";
	}
}
