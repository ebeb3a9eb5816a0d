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
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/ptrace.h>
#include <sys/syscall.h>

#include <linux/sched.h>

#include "private.h"

#define STOP_TIMEOUT_NS	UINT64_C(10000000000)
#define SLICE_NS	UINT64_C(1000000)
#define END_TIMEOUT_NS	UINT64_C(60000000000)

/* ---- the scratch, by a borrowed thread --------------------------------------- */

static int
call_failed(const char *name, int64_t result)
{
	errno = (int)-result;
	(void)fail_errno("%s in the target", name);
	if (result == -ENOMEM || result == -EAGAIN)
		(void)fail_remedy("raise its limit on address space or "
				  "processes (prlimit)");
	return -1;
}

static bool
is_error(int64_t result)
{
	return result < 0 && result > -4096;
}

static int
map_scratch(struct errand *e, struct borrow *b)
{
	const uint64_t args[6] = {
		0, e->s.size, PROT_READ | PROT_WRITE,
		MAP_PRIVATE | MAP_ANONYMOUS, UINT64_MAX, 0
	};
	int64_t at;

	if (borrow_syscall(b, SYS_mmap, args, &at, NULL) < 0)
		return -1;
	if (is_error(at))
		return call_failed("mmap", at);
	e->s.at = (uint64_t)at;
	return 0;
}

static void
unmap_scratch(struct errand *e, struct borrow *b)
{
	const uint64_t args[6] = { e->s.at, e->s.size };
	int64_t result;

	/* It failed before; one attempt to leave nothing is all we owe. */
	b->frame = 0;
	(void)borrow_syscall(b, SYS_munmap, args, &result, NULL);
	e->s.at = 0;
}

static void
fill_block(struct errand *e)
{
	const struct plan *p = e->p;
	struct block *k = &e->block;

	*k = (struct block){
		/* Until all is prepared, a helper without us just ends. */
		.state = BLOCK_CANCELLED,
		.library_fd = -1, .area_fd = -1,
		.ctype_init = p->ctype_init, .attr_init = p->attr_init,
		.attr_setstack = p->attr_setstack,
		.attr_setdetach = p->attr_setdetach,
		.pthread_create = p->pthread_create,
		.stack = e->s.at + e->s.thread_stack,
		.stack_size = e->s.thread_stack_size,
		.dlerror = p->dlerror, .dlopen_flags = p->dlopen_flags,
		.tid_offset = p->off_tid,
		.specific_offset = p->off_specific,
		.thread_keys = p->thread_keys,
		.call_tls_dtors = p->call_tls_dtors,
		.area = e->s.at, .area_size = e->s.size,
		.function = e->function,
	};
	memcpy(k->args, e->args, sizeof k->args);
	if (!e->entry)
		return;
	k->args[0] = e->s.at + e->s.call;
	k->args[1] = sizeof *e->call;
	k->entry_offset = p->library_entry;
	if (p->library)
		k->function = p->library + p->library_entry;
	else
		k->dlopen = p->dlopen;
}

static int
make_helper(struct errand *e, struct borrow *b)
{
	static const struct collector_call nothing;
	const uint64_t at = e->s.at;
	const uint64_t protect[6] = { at, STUB_BLOCK, PROT_READ | PROT_EXEC };
	const uint64_t create[6] = {
		CLONE_VM | CLONE_FS | CLONE_FILES | CLONE_SIGHAND |
		CLONE_THREAD | CLONE_SYSVSEM | CLONE_SETTLS |
		CLONE_PARENT_SETTID,
		at + e->s.stack_top - 16, at + e->s.tp + e->p->off_tid, 0,
		at + e->s.tp
	};
	int64_t result;

	fill_block(e);
	if (scratch_write(e->p, &e->s, &e->block,
			  e->call ? e->call : &nothing,
			  b->regs.fs_base) < 0)
		return -1;
	if (!b->frame && borrow_write_frame(b, at + e->s.frame,
					    e->s.frame_size) < 0)
		return -1;
	if (borrow_syscall(b, SYS_mprotect, protect, &result, NULL) < 0)
		return -1;
	if (is_error(result))
		return call_failed("mprotect", result);
	if (borrow_syscall(b, SYS_clone, create, &result, &e->helper) < 0)
		return -1;
	if (!e->helper)
		return call_failed("clone", result);
	return 0;
}

static int
borrow_for_helper(struct errand *e)
{
	struct borrow *b = xcalloc(1, sizeof *b);
	const bool single = e->p->single;
	int r;

	/* Raw system calls disturb nothing in libc: any point will do. */
	e->p->single = false;
	r = donor_take(e->p, e->seed, b, e->report);
	e->p->single = single;
	if (r == 0) {
		r = map_scratch(e, b);
		if (r == 0 && (r = make_helper(e, b)) < 0)
			unmap_scratch(e, b);
		if (borrow_return(b, e->report) < 0)
			r = -1;
	}
	free(b);
	return r;
}

/* ---- running our two threads --------------------------------------------------- */

static int
read_block(struct errand *e)
{
	return target_read(e->p->t, e->s.at + STUB_BLOCK, &e->block,
			   sizeof e->block);
}

static int
write_state(struct errand *e, uint32_t state)
{
	e->block.state = state;
	return target_write(e->p->t, e->s.at + STUB_BLOCK, &state,
			    sizeof state);
}

/* End a thread of ours from wherever it stands; what it held stays held. */
static int
make_exit(struct errand *e, pid_t tid)
{
	struct user_regs_struct r;

	e->left_behind = true;
	if (thread_get_regs(tid, &r) < 0)
		return -1;
	r.rip = e->p->gadget;
	r.rax = SYS_exit;
	r.orig_rax = UINT64_MAX;
	r.rdi = 0;
	return thread_set_regs(tid, &r) < 0 ? -1 :
		thread_resume(tid, RUN_FREE, 0);
}

static int
on_fault(struct errand *e, pid_t tid, const siginfo_t *si)
{
	struct user_regs_struct r;

	if (thread_get_regs(tid, &r) < 0 || read_block(e) < 0)
		return -1;
	snprintf(e->fault, sizeof e->fault, "signal %d at 0x%llx",
		 si->si_signo, (unsigned long long)r.rip);
	if (tid != e->thread || e->block.state != BLOCK_CALLING)
		return make_exit(e, tid);
	/* Outside the loader: it can end as a thread should. */
	r.rip = e->s.at + (uint64_t)(stub_fault - stub_begin);
	r.orig_rax = UINT64_MAX;
	return thread_set_regs(tid, &r) < 0 ? -1 :
		thread_resume(tid, RUN_FREE, 0);
}

/* A signal for the program that came to our thread first. */
static int
pass_on(struct errand *e, pid_t tid, enum thread_run how, siginfo_t *si)
{
	const pid_t pid = target_pid(e->p->t);

	if (syscall(SYS_rt_sigqueueinfo, pid, si->si_signo, si) < 0)
		(void)syscall(SYS_kill, pid, si->si_signo);
	if (e->report)
		e->report->resent_signals++;
	return thread_resume(tid, how, 0);
}

static int
on_signal(struct errand *e, pid_t tid, enum thread_run how)
{
	siginfo_t si;

	if (ptrace(PTRACE_GETSIGINFO, tid, 0, &si) < 0)
		return fail_errno("read a signal of thread %d", tid);
	if (si.si_code > 0)
		return on_fault(e, tid, &si);
	return pass_on(e, tid, how, &si);
}

/* The thread is born and stands; libc is now in its many-threads state. */
static int
on_birth(struct errand *e, pid_t thread)
{
	struct user_regs_struct r;
	struct event ev;

	e->thread = thread;
	if (thread_wait(thread, STOP_TIMEOUT_NS, &ev) < 0 ||
	    thread_get_regs(thread, &r) < 0)
		return -1;
	/* Where this fails, libc keeps an arena of 64 MB of address space
	 * too long. No reason to fail. */
	(void)tls_hand_over(e->p, &e->s, r.fs_base);
	return thread_resume(thread, RUN_FREE, 0);
}

static bool
rings_the_bell(pid_t tid)
{
	struct user_regs_struct r;

	return thread_get_regs(tid, &r) == 0 && r.orig_rax == SYS_getppid &&
	       r.rdi == STUB_NOTIFY;
}

enum helper_news { NEWS_NONE, NEWS_BIRTH, NEWS_BELL, NEWS_GONE, NEWS_ERROR };

static enum helper_news
watch_helper(struct errand *e, uint64_t timeout_ns)
{
	struct event ev;

	if (thread_wait(e->helper, timeout_ns, &ev) < 0) {
		if (ev.kind == EVENT_NONE)
			return NEWS_NONE;
		e->helper = 0;
		return NEWS_GONE;
	}
	if (ev.kind == EVENT_SYSCALL && rings_the_bell(e->helper)) {
		e->at_bell = true;
		return NEWS_BELL;
	}
	if (ev.kind == EVENT_CLONE) {
		if (on_birth(e, (pid_t)ev.message) < 0)
			return NEWS_ERROR;
		return NEWS_BIRTH;	/* the helper stands */
	}
	if (ev.kind == EVENT_SIGNAL
	    ? on_signal(e, e->helper, RUN_TO_SYSCALL) < 0
	    : thread_resume(e->helper, RUN_TO_SYSCALL, 0) < 0)
		return NEWS_ERROR;
	return NEWS_NONE;
}

/* 1 it has ended, 0 nothing, -1 failed. */
static int
watch_thread(struct errand *e, uint64_t timeout_ns)
{
	struct event ev;

	if (thread_wait(e->thread, timeout_ns, &ev) < 0) {
		if (ev.kind == EVENT_NONE)
			return 0;
		e->thread = 0;
		return 1;
	}
	if (ev.kind == EVENT_SIGNAL)
		return on_signal(e, e->thread, RUN_FREE);
	return thread_resume(e->thread, RUN_FREE, 0);
}

/* Time that our thread had, or could have had but for a lock: what it waited
 * for a processor does not count, whatever the load. */
static bool
took_too_long(struct errand *e, uint64_t since)
{
	const pid_t tid = e->thread ? e->thread : e->helper;
	const uint64_t wall = now_ns() - since;
	struct thread_facts f;

	if (wall < e->timeout_ns)
		return false;
	if (target_thread_facts(e->p->t, tid, &f) < 0)
		return false;
	return wall > f.wait_ns && wall - f.wait_ns > e->timeout_ns;
}

/* Let go of a thread that goes on without us. */
static void
abandon(pid_t tid)
{
	struct event ev;

	if (tid && ptrace(PTRACE_INTERRUPT, tid, 0, 0) == 0 &&
	    thread_wait(tid, STOP_TIMEOUT_NS, &ev) == 0)
		(void)ptrace(PTRACE_DETACH, tid, 0, 0);
}

/*
 * It waits for a lock of the loader, say, that somebody holds for long. To
 * kill it could orphan that lock; so it may finish, and finds itself
 * cancelled before it calls anything of ours. The scratch is its stack.
 */
static int
cancel(struct errand *e)
{
	const pid_t first = e->thread ? e->thread : e->helper;
	struct event ev;
	const char *where = "the loader";

	if (ptrace(PTRACE_INTERRUPT, first, 0, 0) == 0)
		(void)thread_wait(first, STOP_TIMEOUT_NS, &ev);
	if (read_block(e) == 0 && e->block.state < BLOCK_CALLING)
		(void)write_state(e, BLOCK_CANCELLED);
	else
		where = "the called function";
	(void)ptrace(PTRACE_DETACH, first, 0, 0);
	abandon(first == e->thread ? e->helper : 0);
	e->left_behind = true;
	e->helper = e->thread = 0;
	(void)fail(FAIL_UNSUITABLE, "%s did not return within %llu s", where,
		   (unsigned long long)(e->timeout_ns / 1000000000));
	return fail_remedy("%zu KB stay mapped for the thread that is still "
			   "in it; try again later", e->s.size / 1024);
}

/* Until the thread exists (or cannot be made). The helper stands then. */
static int
run_to_birth(struct errand *e)
{
	const uint64_t since = now_ns();

	for (;;) {
		switch (watch_helper(e, SLICE_NS)) {
		case NEWS_BIRTH:
		case NEWS_BELL:
			return 0;
		case NEWS_NONE:
			if (took_too_long(e, since))
				return cancel(e);
			break;
		default:
			return -1;
		}
	}
}

/* Until the thread has ended and the helper says so; it stands then. */
static int
run_to_bell(struct errand *e)
{
	const uint64_t since = now_ns();

	if (e->at_bell)
		return 0;
	if (thread_resume(e->helper, RUN_TO_SYSCALL, 0) < 0)
		return -1;
	for (;;) {
		if (e->thread && watch_thread(e, SLICE_NS) < 0)
			return -1;
		switch (watch_helper(e, e->thread ? 0 : SLICE_NS)) {
		case NEWS_BELL:
			return 0;
		case NEWS_BIRTH:
			if (thread_resume(e->helper, RUN_TO_SYSCALL, 0) < 0)
				return -1;
			break;
		case NEWS_GONE:
		case NEWS_ERROR:
			return -1;
		default:
			break;
		}
		if (took_too_long(e, since))
			return cancel(e);
	}
}

/* ---- single-threaded libc -------------------------------------------------------- */

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
	int r = donor_take(e->p, 0, b, e->report);

	if (r == 0) {
		r = thread_resume(e->helper, RUN_TO_SYSCALL, 0);
		if (r == 0)
			r = run_to_birth(e);
		if (target_write(e->p->t, b->regs.fs_base + 0x18, &many,
				 sizeof many) < 0)
			r = -1;
		if (borrow_return(b, e->report) < 0)
			r = -1;
	}
	free(b);
	return r;
}

/* ---- the end ----------------------------------------------------------------------- */

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

/* The helper stands at its bell, the thread is gone. */
static int
leave(struct errand *e)
{
	uint64_t routine = 0;
	int r;

	if (e->p->library)
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

static int
judge(struct errand *e)
{
	struct block *k = &e->block;

	k->error[sizeof k->error - 1] = 0;
	switch (k->state) {
	case BLOCK_DONE:
		return 0;
	case BLOCK_NOT_LOADED:
		return fail(FAIL_UNSUITABLE, "dlopen in the target: %s",
			    k->error[0] ? k->error : "failed");
	case BLOCK_NO_THREAD:
		errno = k->create_error;
		(void)fail_errno("pthread_create in the target");
		return fail_remedy("raise its limit on processes or address "
				   "space (prlimit)");
	case BLOCK_WRONG_LIBRARY:
		return fail(FAIL_INTERNAL, "the target loaded something else "
			    "than our library");
	case BLOCK_FAULTED:
		return fail(FAIL_UNSUITABLE, "the called function crashed "
			    "(%s) and was ended", e->fault);
	default:
		return fail(FAIL_UNSUITABLE, "our thread ended early (state "
			    "%u%s%s)", k->state, e->fault[0] ? ", " : "",
			    e->fault);
	}
}

static int
collect_result(struct errand *e)
{
	if (read_block(e) < 0)
		return -1;
	e->result = (int64_t)e->block.result;
	if (e->block.base && e->block.state != BLOCK_WRONG_LIBRARY)
		e->p->library = e->block.base;
	if (e->call && target_read(e->p->t, e->s.at + e->s.call, e->call,
				   sizeof *e->call) < 0)
		return -1;
	return 0;
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
	if (e->block.dlopen)
		prepared = load_library_file(e, e->helper, &r);
	if (prepared == 0 && e->prepare)
		prepared = e->prepare(e, e->helper, &r);
	/* Even if not: it must end, by the same way. */
	e->block.state = prepared < 0 ? BLOCK_CANCELLED : BLOCK_READY;
	if (target_write(e->p->t, e->s.at + STUB_BLOCK, &e->block,
			 sizeof e->block) < 0)
		return -1;
	if (e->call)
		e->call->helper = (uint32_t)thread_inner_tid(e->p->t,
							     e->helper);
	if (e->call && target_write(e->p->t, e->s.at + e->s.call, e->call,
				    sizeof *e->call) < 0)
		return -1;
	r.rip = e->s.at + (uint64_t)(stub_helper - stub_begin);
	r.rsp = e->s.at + e->s.stack_top;
	r.orig_rax = UINT64_MAX;
	if (thread_set_regs(e->helper, &r) < 0)
		return -1;
	return prepared;
}

static int
run_threads(struct errand *e)
{
	int prepared = prepare_helper(e);
	int r;

	if (prepared < 0 && e->block.state != BLOCK_CANCELLED)
		return -1;
	if (prepared == 0 && e->p->single)
		prepared = create_beside_standing(e);
	if (prepared < 0 && e->helper && !e->thread && !e->left_behind)
		(void)write_state(e, BLOCK_CANCELLED);
	if (!e->helper)
		return -1;
	r = run_to_bell(e);
	if (r < 0)
		return -1;
	r = collect_result(e);
	if (leave(e) < 0)
		r = -1;
	if (prepared < 0)
		return -1;
	return r < 0 ? -1 : judge(e);
}

int
errand_run(struct errand *e)
{
	const uint64_t since = now_ns();
	int r;

	if (scratch_plan(e->p, &e->s) < 0)
		return -1;
	r = borrow_for_helper(e);
	if (r == 0)
		r = run_threads(e);
	/* Whatever went wrong: no thread of ours stays held. */
	abandon(e->thread);
	abandon(e->helper);
	e->report->total_ns += now_ns() - since;
	return r;
}
