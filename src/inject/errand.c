/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * One call on a fresh thread of the target, from beginning to end:
 *
 *	borrow a thread: mmap, mprotect, clone; give it back
 *	helper stands at its birth: make descriptors, at leisure
 *	[a libc that is single-threaded: hold its thread at a safe point until
 *	 pthread_create has switched libc over]
 *	helper: pthread_create -> thread: dlopen, call -> both end
 *	scratch unmapped by the helper's last steps
 *
 * The state word in the block tells how far it came. A thread of ours that
 * faults is brought to its own end: never the program's.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ptrace.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "hazard.h"
#include "private.h"
#include "stub.h"

#define STOP_TIMEOUT_NS	UINT64_C(10000000000)
#define END_TIMEOUT_NS	UINT64_C(60000000000)

/* ---- single-threaded libc ------------------------------------------------ */

/*
 * Such a libc takes no locks, so its one thread must not be inside of it
 * while the helper makes a thread. It stands at a safe point until
 * pthread_create has switched libc over, by libc's own code; then only the
 * word that libc would have set in its descriptor remains.
 */
static int
create_beside_standing(struct errand *e)
{
	const uint32_t many = 1;
	struct borrow *b = xcalloc(1, sizeof *b);
	int r;

	e->p->helper = e->helper;
	r = donor_take(e->p, 0, b, e->report);

	if (r == 0) {
		r = thread_resume(e->helper, RUN_TO_SYSCALL, 0);
		if (r == 0)
			r = helper_run_to_birth(e);
		if (target_write(e->p->t, b->regs.fs_base + 0x18, &many,
				 sizeof many) < 0)
			r = -1;
		if (borrow_return(b, e->report) < 0)
			r = -1;
	}
	free(b);
	return r;
}

/* ---- the end ------------------------------------------------------------- */

static int
await_end(struct errand *e)
{
	struct event ev;

	for (;;) {
		if (thread_wait(e->helper, END_TIMEOUT_NS, &ev) < 0) {
			if (ev.kind == EVENT_NONE)
				return -1;
			e->helper = 0;
			return 0;
		}
		if (thread_resume(e->helper, RUN_FREE, 0) < 0)
			return -1;
	}
}

/* The library is not there to do it: by hand. If we die between these two
 * calls the helper returns to an unmapped stack; nothing better exists. */
static int
unmap_by_hand(struct errand *e)
{
	const uint64_t args[6] = { e->s.at, e->s.size };
	struct user_regs_struct r;
	struct event ev;
	int64_t result;

	if (thread_resume(e->helper, RUN_TO_SYSCALL, 0) < 0 ||
	    thread_wait(e->helper, STOP_TIMEOUT_NS, &ev) < 0 ||
	    thread_get_regs(e->helper, &r) < 0 ||
	    remote_syscall(e->p, e->helper, &r, SYS_munmap, args, &result,
			   NULL, NULL) < 0)
		return -1;
	r.rip = e->p->gadget;
	r.rax = SYS_exit;
	r.orig_rax = UINT64_MAX;
	r.rdi = 0;
	return thread_set_regs(e->helper, &r) < 0 ? -1 :
		thread_resume(e->helper, RUN_FREE, 0);
}

/* It has ended by the system call, without libc, which goes on following the
 * list of its threads into that memory. */
static bool
is_still_listed(const struct errand *e)
{
	const uint64_t at = e->block.pthread + e->p->off_list;
	uint64_t next, back;
	bool listed;

	if (!e->block.pthread || !e->p->off_list)
		return false;
	listed = target_read(e->p->t, at, &next, 8) == 0 &&
		target_read(e->p->t, next + 8, &back, 8) == 0 && back == at;
	fail_clear();
	return listed;
}

/* The helper stands at its bell, the thread is gone. */
static int
leave(struct errand *e)
{
	uint64_t routine = 0;
	int r;

	if (!e->left_behind && is_still_listed(e)) {
		e->left_behind = true;
		mishap_keep_descriptor(e);
	}
	if (e->p->library && e->p->library_leave)
		routine = e->p->library + e->p->library_leave;
	if (e->left_behind || routine) {
		if (!e->left_behind &&
		    target_write(e->p->t, e->s.at + STUB_BLOCK +
				 offsetof(struct block, leave), &routine,
				 sizeof routine) < 0)
			return -1;
		r = thread_resume(e->helper, RUN_FREE, 0);
	} else {
		r = unmap_by_hand(e);
	}
	return r < 0 ? -1 : await_end(e);
}

/* The loader puts the path in front, which is gone by now. */
static int
not_loaded(struct errand *e)
{
	const char *why = e->block.error;
	const size_t n = strlen(e->block.path);
	char proc[64];

	snprintf(proc, sizeof proc, "task/%d/root/proc/thread-self",
		 (int)target_live_thread(e->p->t));
	if (strncmp(why, e->block.path, n) == 0)
		why += n + strspn(why + n, ": ");
	if (faccessat(target_proc(e->p->t), proc, F_OK,
		      AT_SYMLINK_NOFOLLOW) < 0)
		(void)fail(FAIL_UNSUITABLE, "it sees no /proc (a chroot?), by "
			   "which the library is loaded");
	else
		(void)fail(FAIL_UNSUITABLE, "dlopen in the target: %s",
			   *why ? why : "failed");
	return fail_remedy(PLAN_OTHER_ENGINE);
}

static int
judge(struct errand *e)
{
	struct block *k = &e->block;

	k->error[sizeof k->error - 1] = 0;
	switch (k->state) {
	case BLOCK_DONE:
		return 0;
	case BLOCK_NOT_LOADED:
		return not_loaded(e);
	case BLOCK_NO_THREAD:
		errno = k->create_error;
		(void)fail_errno("pthread_create in the target");
		return fail_remedy("raise its limit on processes or address "
				   "space (prlimit)");
	case BLOCK_WRONG_LIBRARY:
		return fail(FAIL_INTERNAL, "the target loaded something else "
			    "than our library");
	case BLOCK_FAULTED:
		return fail(FAIL_UNSUITABLE, "the called function %s and "
			    "was ended", e->fault);
	case BLOCK_CALLING:
		if (e->report->met.why == INJECT_THREAD_ENDED)
			return fail(FAIL_UNSUITABLE, "the called function %s",
				    e->fault);
		/* fallthrough */
	default:
		return fail(FAIL_UNSUITABLE, "our thread ended early (state "
			    "%u%s%s)", k->state, e->fault[0] ? ", " : "",
			    e->fault);
	}
}

static int
collect_result(struct errand *e)
{
	if (block_read(e) < 0)
		return -1;
	e->result = (int64_t)e->block.result;
	if (e->block.base && e->block.state != BLOCK_WRONG_LIBRARY)
		e->p->library = e->block.base;
	if ((e->call && target_read(e->p->t, e->s.at + e->s.call, e->call,
				    sizeof *e->call) < 0) ||
	    (e->then && target_read(e->p->t, e->s.at + e->s.then, e->then,
				    sizeof *e->then) < 0))
		return -1;
	return 0;
}

/* The library's commands know which thread to leave out. */
static int
write_call(struct errand *e, size_t at, struct collector_call *call)
{
	if (!call)
		return 0;
	call->helper = (uint32_t)thread_inner_tid(e->p->t, e->helper);
	return target_write(e->p->t, e->s.at + at, call, sizeof *call);
}

/* The helper stands at its birth; its registers are good for calls. */
static int
prepare_helper(struct errand *e)
{
	struct user_regs_struct r;
	struct event ev;
	int prepared = 0;

	if (thread_wait(e->helper, STOP_TIMEOUT_NS, &ev) < 0 ||
	    thread_get_regs(e->helper, &r) < 0)
		return -1;
	e->name_at = e->s.at + STUB_BLOCK + offsetof(struct block, path);
	if (scratch_guard(e->p, &e->s, e->helper, &r) < 0)
		prepared = -1;
	else if (e->entry && !e->p->library)
		prepared = load_library_file(e, e->helper, &r);
	if (prepared == 0 && e->prepare)
		prepared = e->prepare(e, e->helper, &r);
	/* Even if not: it must end, by the same way. */
	e->block.state = prepared < 0 ? BLOCK_CANCELLED : BLOCK_READY;
	if (target_write(e->p->t, e->s.at + STUB_BLOCK, &e->block,
			 sizeof e->block) < 0)
		return -1;
	if (write_call(e, e->s.call, e->call) < 0 ||
	    write_call(e, e->s.then, e->then) < 0)
		return -1;
	r.rip = e->s.at + (uint64_t)(stub_helper - stub_begin);
	r.rsp = e->s.at + e->s.stack_top;
	r.orig_rax = UINT64_MAX;
	if (thread_set_regs(e->helper, &r) < 0)
		return -1;
	urgent_helper_shares(e);
	return prepared;
}

/* Whatever became of the preparations: the helper must come to its end. */
static int
bring_home(struct errand *e)
{
	int r;

	if (!e->helper || helper_run_to_bell(e) < 0)
		return -1;
	r = collect_result(e);
	return leave(e) < 0 ? -1 : r;
}

/* Without a thread the helper comes home at once. */
static int
park(struct errand *e)
{
	if (!e->helper || helper_run_to_bell(e) < 0)
		return -1;
	if (e->parked)
		return 0;
	return bring_home(e) < 0 || judge(e) < 0 ? -1 :
		fail(FAIL_INTERNAL, "the thread that was made did not wait");
}

static int
run_threads(struct errand *e)
{
	struct failure *first;
	int prepared = prepare_helper(e);

	if (prepared < 0 && e->block.state != BLOCK_CANCELLED)
		return -1;
	if (prepared == 0 && e->p->single)
		prepared = create_beside_standing(e);
	if (prepared == 0 && e->parks)
		return park(e);
	if (prepared == 0)
		return bring_home(e) < 0 ? -1 : judge(e);
	first = fail_keep();
	if (e->helper && !e->thread && !e->left_behind)
		(void)block_set_state(e, BLOCK_CANCELLED);
	(void)bring_home(e);
	fail_again(first);
	return -1;
}

/* Whatever went wrong: no thread of ours stays held. */
static void
abandon(struct errand *e)
{
	thread_let_stay(e, e->thread, ENLIST_RUNS);
	thread_let_stay(e, e->helper, ENLIST_RUNS);
	e->thread = e->helper = 0;
	mishap_watch_no_more(e);
}

static int
run_errand(struct errand *e)
{
	int r = helper_make(e);

	if (r == 0)
		r = run_threads(e);
	if (r < 0 || !e->parked)
		abandon(e);
	if (r < 0 && !e->parks)
		errand_aftermath(e);
	return r;
}

static void
plant_again(struct target *t, int r)
{
	struct failure *first = r < 0 ? fail_keep() : NULL;

	target_plant_traps(t);
	if (first)
		fail_again(first);
}

/* Threads that we make are traced by nobody: they must not meet a trap. */
int
errand_run(struct errand *e)
{
	const bool lift = handled(HAZARD_TRAP_VISIT);
	const uint64_t since = now_ns();
	int r;

	if (scratch_plan(e->p, &e->s) < 0)
		return -1;
	if (lift)
		target_lift_traps(e->p->t);
	r = run_errand(e);
	if (lift)
		plant_again(e->p->t, r);
	e->report->total_ns += now_ns() - since;
	return r;
}

int
errand_park(struct errand *e)
{
	e->parks = true;
	return scratch_plan(e->p, &e->s) < 0 ? -1 : run_errand(e);
}

int
errand_finish(struct errand *e)
{
	int r = -1;

	e->parks = e->parked = false;
	if (errand_let_children_go(e, e->helper) == 0 &&
	    (!e->thread || (errand_let_children_go(e, e->thread) == 0 &&
			    thread_resume(e->thread, RUN_FREE, 0) == 0)))
		r = bring_home(e);
	abandon(e);
	return r;
}
