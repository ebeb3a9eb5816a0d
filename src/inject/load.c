/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * The library's way into the target: bytes that we carry go into a memfd of
 * the target, sealed, which dlopen reaches by the /proc of its thread (that of
 * the process is empty when the first thread has ended). No path is trusted,
 * none need be visible (containers, chroot). A library that is there from an
 * earlier visit is used again.
 */
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "private.h"

#define CALL_TIMEOUT_NS	UINT64_C(10000000000)

enum {
	NAME_BITS = 32,
	END_WAIT_MS = 2000,	/* a dying process may write a core */
};

int
load_fill_library(int fd)
{
	const size_t size = (size_t)(collector_image_end - collector_image);

	if (write_all(fd, collector_image, size) < 0)
		return fail_errno("write the library");
	/* From here on nobody can change what is about to be loaded. */
	if (fcntl(fd, F_ADD_SEALS, F_SEAL_SEAL | F_SEAL_SHRINK | F_SEAL_GROW |
		  F_SEAL_WRITE) < 0)
		return fail_errno("seal the library");
	return 0;
}

/*
 * dlopen compares names before files: were our path the name of something
 * that another build of us had loaded, it would hand us that. Slashes and dots
 * make it a name of this visit alone.
 */
static void
name_library(struct errand *e, int theirs)
{
	uint32_t chance = (uint32_t)now_ns();
	struct str path = {0};
	int i;

	(void)getrandom(&chance, sizeof chance, GRND_NONBLOCK);
	str_add(&path, "/proc/thread-self/fd");
	for (i = 0; i < NAME_BITS; i++)
		str_add(&path, chance >> i & 1 ? "/." : "/");
	str_addf(&path, "/%d", theirs);
	snprintf(e->block.path, sizeof e->block.path, "%s", str_text(&path));
	str_fini(&path);
}

int
load_library_file(struct errand *e, pid_t helper,
		  const struct user_regs_struct *regs)
{
	const int fd = descriptor_make(e, helper, regs, LIBRARY_NAME,
				       LIBRARY_FILE);
	int r;

	if (fd < 0)
		return -1;
	r = load_fill_library(fd);
	close(fd);
	if (r < 0)
		return -1;
	if (e->p->by_hand)
		return by_hand_load(e, helper, regs);
	if (descriptor_move(e, helper, regs, LIBRARY_FILE) < 0)
		return -1;
	name_library(e, e->block.library_fd);
	return 0;
}

/* Where all stand nobody would give our thread the locks that it needs. */
static int
run_command(struct errand *e)
{
	int r = 0;

	if (e->only_present && !e->p->library) {
		(void)fail(FAIL_UNSUITABLE, "the collector is not loaded in "
			   "process %d", target_pid(e->p->t));
		return fail_remedy("attach to it when it runs (sonde -p %d), "
				   "or: " PLAN_ENGINE_RING,
				   target_pid(e->p->t));
	}
	if (e->p->library && target_held(e->p->t))
		r = standing_call(e);
	if (r != 0)
		return r < 0 ? -1 : 0;
	return e->p->loading ? plan_not_begun() : errand_run(e);
}

/* Each timer is a place in the queue of the user's signals. */
static int
refuse_timers(struct target *t)
{
	(void)fail(FAIL_UNSUITABLE, "the user of process %d has as many "
		   "signals and timers as it may (RLIMIT_SIGPENDING)",
		   target_pid(t));
	return fail_remedy("prlimit --pid %d --sigpending=unlimited, or: "
			   PLAN_ENGINE_RING, target_pid(t));
}

/* In the target it is still obeyed, though its owner has ended. */
static int
refuse_turn(const struct plan *p)
{
	(void)fail(FAIL_UNSUITABLE, "a thread of process %d (%s) is still at "
		   "work for a visit that was killed", target_pid(p->t),
		   target_name(p->t));
	return fail_remedy("try again, or: " PLAN_ENGINE_RING);
}

/* What the guest answered, as a failure. */
static int
judge_answer(const struct errand *e)
{
	const struct collector_call *last = e->then ? e->then : e->call;
	const int64_t answer = e->result;

	if (answer >= 0)
		return 0;
	if (last->command == COLLECTOR_START && last->result == -EBUSY)
		return plan_refuse_signal(e->p, "has just taken SIGURG or "
					  "SIGWINCH");
	if (last->command == COLLECTOR_START && last->result == -EAGAIN)
		return refuse_timers(e->p->t);
	if (e->call->result == -EALREADY || last->result == -EALREADY)
		return refuse_turn(e->p);
	if (e->call->command == COLLECTOR_MAP && e->call->result == -EBUSY)
		return owner_refused(e->p);
	if (e->call->command == COLLECTOR_MAP &&
	    (e->call->result == -EINVAL || e->call->result == -EBADF))
		return descriptor_taken(e);
	errno = (int)-answer;
	return fail_errno("the collector in process %d", target_pid(e->p->t));
}

/* Where the ticks are about to begin. */
static int
choose_signal(struct plan *p, struct collector_call *call)
{
	if (!call || call->command != COLLECTOR_START)
		return 0;
	if (plan_choose_signal(p) < 0)
		return -1;
	call->signo = (uint32_t)p->signo;
	return 0;
}

static int
command(struct target *t, struct errand *e, uint64_t *entry)
{
	struct collector_call *call = e->call;
	struct inject_report *report = e->report;
	struct schedule urgent;
	struct plan p;
	int r = 0;

	if (plan_make(t, &p) < 0)
		return -1;
	if (e->guest && !plan_choose_library(&p, e->guest)) {
		plan_fini(&p);
		return fail(FAIL_MISSING, "it is there no more");
	}
	p.tables = e->tables;
	p.leaves = e->leaves;
	snprintf(report->libc, sizeof report->libc, "%s", p.libc_name);
	report->reused = p.library != 0;
	call->vdso_clock = p.vdso_clock;
	e->p = &p;
	if (call->command == COLLECTOR_MAP && owner_check(&p, call) < 0) {
		call->result = -EBUSY;
		plan_fini(&p);
		return -1;
	}
	if (choose_signal(&p, call) < 0 || choose_signal(&p, e->then) < 0) {
		plan_fini(&p);
		return -1;
	}
	urgent_begin(&urgent);
	r = run_command(e);
	urgent_end(&urgent);
	if (p.library)
		*entry = p.library + p.library_entry;
	if (r == 0)
		r = judge_answer(e);
	plan_fini(&p);
	return r;
}

int
load_command(struct target *t, const struct errand *how,
	     struct collector_call *call, struct inject_report *report,
	     uint64_t *entry)
{
	struct errand e = *how;
	int lock = -1, r;

	call->version = COLLECTOR_VERSION;
	call->result = -EINTR;
	if (e.then)
		e.then->version = COLLECTOR_VERSION;
	e.entry = true;
	e.call = call;
	e.report = report;
	e.limits.own_ns = CALL_TIMEOUT_NS;
	if (call->command == COLLECTOR_MAP &&
	    ((!e.only_present && room_check(t, e.room) < 0) ||
	     (lock = owner_lock(t)) < 0))
		return -1;
	r = command(t, &e, entry);
	if (lock >= 0)
		close(lock);
	return r;
}

/* The function may have ended it all: exit, exec. */
static int
tell_end(struct target *t, bool goes_on)
{
	struct pollfd end = { target_pidfd(t), POLLIN, 0 };

	if (fail_last()->kind != FAIL_MISSING)
		return -1;
	if (poll(&end, 1, END_WAIT_MS) <= 0)
		return goes_on ? -1 : fail(FAIL_GENERAL, "the function that "
					   "was called has begun another "
					   "program");
	target_note_exit(t, -1);
	return fail(FAIL_ENDED, "the target %s", target_how_ended(t));
}

static bool
still_holds(const struct plan *p)
{
	struct failure *first = fail_keep();
	const bool holds = plan_holds(p);

	fail_again(first);
	return holds;
}

int
plan_refuse_call(const struct plan *p)
{
	if (p->runtime)
		(void)fail(FAIL_UNSUITABLE, "no function of process %d can be "
			   "called on a thread of its own: it runs under %s, "
			   "which knows the program's threads alone",
			   target_pid(p->t), p->runtime);
	else
		(void)fail(FAIL_UNSUITABLE, "no function of process %d can be "
			   "called: that takes a thread of libc's making, "
			   "which needs glibc, and its libc is %s",
			   target_pid(p->t), p->libc_name);
	return fail_remedy("attach gdb for it (gdb -p %d)", target_pid(p->t));
}

int
inject_call(struct target *t, uint64_t function, const uint64_t *args,
	    size_t nargs, const struct inject_limits *limits,
	    uint64_t *result, struct inject_report *report)
{
	struct inject_report unasked;
	struct schedule urgent;
	struct errand e = { .function = function, .limits = *limits };
	struct plan p;
	bool goes_on;
	int r;

	if (nargs > ARRAY_LEN(e.args))
		return fail(FAIL_USAGE, "a call takes at most %zu arguments",
			    ARRAY_LEN(e.args));
	if (room_check(t, 0) < 0 || plan_make(t, &p) < 0)
		return -1;
	if (p.by_hand) {
		(void)plan_refuse_call(&p);
		plan_fini(&p);
		return -1;
	}
	if (nargs)
		memcpy(e.args, args, nargs * sizeof *args);
	e.p = &p;
	e.report = report ? report : &unasked;
	memset(e.report, 0, sizeof *e.report);
	snprintf(e.report->libc, sizeof e.report->libc, "%s", p.libc_name);
	urgent_begin(&urgent);
	r = errand_run(&e);
	urgent_end(&urgent);
	if (r == 0)
		*result = (uint64_t)e.result;
	goes_on = r == 0 || still_holds(&p);
	plan_fini(&p);
	return r < 0 ? tell_end(t, goes_on) : 0;
}
