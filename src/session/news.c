/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * What happens to the target by itself, and what the shell hears of it: its
 * end, the end of a collection, a thread at a breakpoint, breakpoints that
 * are off or gone.
 */
#include "look_back.h"
#include "private.h"

#include <string.h>
#include <sys/wait.h>

void
tracer_send_event(struct tracer *tr, const struct session_event *ev)
{
	deeds_tell(tr);
	tracer_send_only(tr, ev);
}

void
tracer_send_only(struct tracer *tr, const struct session_event *ev)
{
	struct wire_message m;

	if (tr->shell < 0)
		return;
	wire_init(&m, WIRE_EVENT);
	wire_put(&m, ev->kind);
	wire_put(&m, (uint64_t)ev->tid);
	wire_put(&m, (uint64_t)(int64_t)ev->breakpoint);
	wire_put(&m, (uint64_t)ev->signal);
	wire_put(&m, (uint64_t)(int64_t)ev->status);
	wire_put(&m, ev->hits);
	wire_put(&m, (uint64_t)ev->value);
	wire_put(&m, ev->address);
	wire_put_text(&m, ev->text);
	wire_put(&m, tr->partial);
	(void)wire_send(tr->shell, &m);	/* a shell that is gone needs none */
	wire_fini(&m);
}

void
tracer_on_target_end(struct tracer *tr)
{
	struct session_event ev = {
		.kind = SESSION_EVENT_ENDED, .status = -1,
	};

	tr->end_told = true;
	target_note_exit(tr->target, target_outcome(tr->target));

	const bool collecting = tr->col;

	tracer_end_collection(tr, target_how_ended(tr->target));
	snprintf(ev.text, sizeof ev.text, "%s%s", collecting ? "" :
		 "the target ", collecting ? tracer_receipt(tr) :
		 target_how_ended(tr->target));
	tracer_send_event(tr, &ev);
}

void
tracer_on_collection_end(struct tracer *tr)
{
	struct session_event ev = { .kind = SESSION_EVENT_EXEC };

	tracer_end_collection(tr, "executed another program, which is not "
			      "recorded (name it behind --, or record -p it)");
	snprintf(ev.text, sizeof ev.text, "%s", tracer_receipt(tr));
	tracer_send_event(tr, &ev);
}

/* A thread stands at a trap of ours: everybody stands, the shell decides. */
static void
tell_breakpoint(struct tracer *tr, const struct event *ev)
{
	const int number = tracer_note_hit(tr, ev->breakpoint, ev->tid);
	struct session_event out = {
		.kind = SESSION_EVENT_BREAKPOINT, .tid = ev->tid,
		.breakpoint = number,
	};

	if (number < 0)
		return;
	out.hits = filter_told(tr, (size_t)number);
	/* a stop that fails takes all breakpoints: see below */
	if (target_hold_all(tr->target) < 0)
		return;
	if (tr->col)
		collection_stop_sample(tr->col);
	tracer_send_event(tr, &out);
}

/* It concerns nobody, but must be stepped over what is under the trap. */
static bool
step_over(struct tracer *tr, const struct event *ev)
{
	if (target_hold_all(tr->target) == 0 &&
	    breakpoint_step_over(tr->target, ev->breakpoint, ev->tid) == 0 &&
	    target_continue_all(tr->target) == 0)
		return true;
	fail_clear();
	return false;
}

static void
on_breakpoint(struct tracer *tr, const struct event *ev)
{
	if (!ev->passes || !step_over(tr, ev))
		tell_breakpoint(tr, ev);
}

/* A function that was called is over: the shell decides. */
static void
on_errand(struct tracer *tr, const struct event *ev)
{
	const struct session_event out = {
		.kind = SESSION_EVENT_CALLED, .tid = ev->tid,
		.signal = ev->signal,
	};

	if (!tracer_call_waits(tr, ev->tid) &&
	    target_hold_all(tr->target) == 0)
		tracer_send_event(tr, &out);
}

/* Its thread has ended in the function: there will be no other news of it. */
static void
look_for_caller(struct tracer *tr)
{
	const pid_t tid = tracer_calls(tr);

	if (tid && !target_held(tr->target) &&
	    !target_knows(tr->target, tid))
		on_errand(tr, &(struct event){ .tid = tid });
}

/* A signal is due to a thread: everybody stands, the shell decides. */
static void
on_signal(struct tracer *tr, const struct event *ev)
{
	struct session_event out = {
		.kind = SESSION_EVENT_SIGNAL, .tid = ev->tid,
		.signal = ev->signal,
	};
	siginfo_t info = {0};
	const char *name = sigabbrev_np(ev->signal);
	char own[16], from[48] = "";

	if (target_hold_all(tr->target) < 0)
		return;
	(void)snprintf(own, sizeof own, "%d", ev->signal);
	if (thread_due_signal(ev->tid, &info)) {
		out.value = info.si_code;
		out.address = (uintptr_t)info.si_addr;
	}
	if (info.si_signo &&
	    (info.si_code == SI_USER || info.si_code == SI_TKILL ||
	     info.si_code == SI_QUEUE))
		(void)snprintf(from, sizeof from, ", sent by process %d",
			       (int)info.si_pid);
	else if (info.si_signo == SIGSEGV || info.si_signo == SIGBUS ||
		 info.si_signo == SIGFPE || info.si_signo == SIGILL)
		(void)snprintf(from, sizeof from, ", for %#llx",
			       (unsigned long long)(uintptr_t)info.si_addr);
	(void)snprintf(out.text, sizeof out.text, "thread %d is about to get "
		       "signal %s%s%s", (int)ev->tid, name ? "SIG" : "",
		       name ? name : own, from);
	if (tr->col)
		collection_stop_sample(tr->col);
	tracer_send_event(tr, &out);
}

static void
tell_end_to_be(const struct tracer *tr, int status, struct session_event *out)
{
	const char *name = WIFSIGNALED(status) ?
		sigabbrev_np(WTERMSIG(status)) : NULL;
	const int pid = (int)target_pid(tr->target);

	if (WIFSIGNALED(status))
		(void)snprintf(out->text, sizeof out->text, "process %d is "
			       "about to end, by signal %d%s%s", pid,
			       WTERMSIG(status), name ? ", SIG" : "",
			       name ? name : "");
	else
		(void)snprintf(out->text, sizeof out->text, "process %d is "
			       "about to end, its exit code is %d", pid,
			       WEXITSTATUS(status));
	out->value = status;
}

/* What was wanted of a thread: everybody stands, the shell decides. */
static void
on_wanted(struct tracer *tr, const struct event *ev)
{
	const pid_t maker = (pid_t)ev->message;
	struct session_event out = { .tid = ev->tid, .value = ev->answer };

	switch (ev->kind) {
	case EVENT_BEGINS:
		out.kind = SESSION_EVENT_BEGINS;
		(void)snprintf(out.text, sizeof out.text, "thread %d begins, "
			       "made by thread %d", (int)ev->tid, (int)maker);
		break;
	case EVENT_ENDS:
		out.kind = SESSION_EVENT_ENDS;
		(void)snprintf(out.text, sizeof out.text, "thread %d ends",
			       (int)ev->tid);
		break;
	case EVENT_DIES:
		out.kind = SESSION_EVENT_DIES;
		tell_end_to_be(tr, (int)ev->answer, &out);
		break;
	default:
		out.kind = ev->kind == EVENT_ENTERS ? SESSION_EVENT_ENTERS :
			SESSION_EVENT_RETURNS;
		out.signal = (int)ev->message;
	}
	if (target_hold_all(tr->target) < 0 || target_gone(tr->target))
		return;
	if (ev->kind == EVENT_DIES && target_ended_by(tr->target))
		out.tid = target_ended_by(tr->target);
	if (tr->col)
		collection_stop_sample(tr->col);
	tracer_send_event(tr, &out);
}

/* What was recorded is of the parent, which goes on without us. */
static void
end_parents_collection(struct tracer *tr)
{
	struct session_event out = { .kind = SESSION_EVENT_MESSAGE };

	if (!tr->col)
		return;
	tracer_end_collection(tr, "has forked, and its child is followed");
	snprintf(out.text, sizeof out.text, "%s", tracer_receipt(tr));
	tracer_send_event(tr, &out);
}

int
tracer_follow(struct tracer *tr, pid_t child)
{
	struct session_event out = {
		.kind = SESSION_EVENT_FOLLOWED, .tid = child, .value = child,
	};
	const pid_t parent = target_pid(tr->target);
	struct target *t;
	pid_t with;

	tracer_leave_calls(tr);
	end_parents_collection(tr);
	t = target_follow(tr->target, child);
	if (!t)
		return -1;
	look_back_free(tr->look);
	tr->target = t;
	tr->look = look_back_new(t);
	tr->trap_count = 0;
	tr->caught = 0;
	tr->end_told = false;
	tr->wants = tr->programs = true;	/* until the shell has said */
	out.signal = target_shares_memory(t, &with);
	tr->forked = 0;
	(void)snprintf(out.text, sizeof out.text, "process %d has forked; it "
		       "runs on, and its child %d is followed", (int)parent,
		       (int)child);
	tracer_send_event(tr, &out);
	return 0;
}

static void
tell_child_goes(struct tracer *tr, pid_t child)
{
	struct session_event out = { .kind = SESSION_EVENT_NOTE };

	(void)snprintf(out.text, sizeof out.text, "process %d has forked "
		       "process %d, which is let go: %s",
		       (int)target_pid(tr->target), (int)child,
		       tr->call_count ? "a function that was called from here "
		       "did that" : fail_last()->reason);
	tracer_send_event(tr, &out);
}

/* It has a child, which stands as well as the parent does. */
static void
on_fork(struct tracer *tr, const struct event *ev)
{
	const pid_t child = (pid_t)ev->message;
	struct session_event out = {
		.kind = SESSION_EVENT_FORK, .tid = ev->tid, .value = child,
	};

	if (target_hold_all(tr->target) < 0 || target_gone(tr->target))
		return;
	if (tr->follow == FOLLOW_CHILD && tracer_follow(tr, child) == 0)
		return;
	/* what a function that we called has forked can go nowhere */
	if (tr->follow == FOLLOW_BOTH && !tr->call_count &&
	    tracer_both(tr, child) == 0)
		return;
	if (tr->follow == FOLLOW_BOTH)
		tell_child_goes(tr, child);
	if (tr->follow != FOLLOW_ASK) {
		target_let_children_go(tr->target);
		(void)tracer_go_on(tr);
		fail_clear();
		return;
	}
	tr->forked = child;
	(void)snprintf(out.text, sizeof out.text, "process %d has forked "
		       "process %d; both stand: cont -follow parent, or "
		       "cont -follow child", (int)target_pid(tr->target),
		       (int)child);
	tracer_send_event(tr, &out);
}

/* A breakpoint of which nobody would hear any more. */
static void
tell_what_is_off(struct tracer *tr)
{
	for (size_t i = 0; tr->target && i < tr->trap_count; i++) {
		struct session_event out = { .kind = SESSION_EVENT_NOTE };
		struct trap *trap = &tr->traps[i];
		const bool off = trap->at &&
			breakpoint_is_off(tr->target, trap->at);

		if (off && !trap->told_off) {
			const bool data = breakpoint_is_data(trap->at);

			snprintf(out.text, sizeof out.text, "%s watched no "
				 "more%s: %s (status lists it)",
				 data ? "data is" : "a function is",
				 data ? "" : ", and no trap was allowed",
				 breakpoint_why_trap(tr->target, trap->at));
			tracer_send_event(tr, &out);
		}
		trap->told_off = off;
	}
}

/*
 * A stop that failed let everybody go, and took the breakpoints with it.
 * Whoever waits for a hit would wait for ever.
 */
static void
tell_what_is_lost(struct tracer *tr)
{
	struct session_event out = { .kind = SESSION_EVENT_LOST };
	bool lost = false;

	for (size_t i = 0; i < tr->trap_count; i++) {
		if (!tr->traps[i].at ||
		    breakpoint_is_there(tr->target, tr->traps[i].at))
			continue;
		tr->traps[i] = (struct trap){0};
		lost = true;
	}
	if ((tr->caught || tr->wants) && !target_is_seized(tr->target)) {
		tr->caught = 0;
		tr->wants = false;
		lost = true;
	}
	if (!lost)
		return;
	/* else an exec took them, while all were being stopped */
	if (target_held(tr->target))
		snprintf(out.text, sizeof out.text, "the breakpoints are "
			 "gone: the process executes another program");
	else
		snprintf(out.text, sizeof out.text, "the breakpoints are "
			 "gone, and the process runs on: %s",
			 fail_last()->reason);
	tracer_send_event(tr, &out);
}

/*
 * An exec takes all breakpoints with it. Who has some by number must know
 * before numbers are given again, and wants them in the new program before
 * that has run: it stands at its start until the shell lets it go.
 */
static void
on_exec(struct tracer *tr)
{
	struct session_event out = {
		.kind = tr->execs ? SESSION_EVENT_SYNC :
			SESSION_EVENT_NEW_PROGRAM,
		.tid = target_pid(tr->target),
		.text = "the process executes another program",
	};
	bool any = tr->programs;
	int started;

	for (size_t i = 0; i < tr->trap_count; i++) {
		any |= tr->traps[i].at != NULL;
		tr->traps[i] = (struct trap){0};
	}
	if (!any)
		return;
	/* nobody could be told of signals on the way */
	target_catch(tr->target, 0);
	started = tr->execs ? target_hold_at_exec(tr->target) :
		tracer_run_to_start(tr);
	target_catch(tr->target, tr->caught);
	if (started == 0) {
		tr->at_start = true;
		tr->at_exec = tr->execs;
		tracer_send_event(tr, &out);
		return;
	}
	if (target_gone(tr->target))
		return;		/* which is told by its end */
	out.kind = SESSION_EVENT_LOST;
	snprintf(out.text, sizeof out.text, "the process executes another "
		 "program, and runs on without breakpoints: %s",
		 fail_last()->reason);
	(void)tracer_release(tr);
	tracer_send_event(tr, &out);
}

void
tracer_pump_events(struct tracer *tr)
{
	struct event ev;

	while (tr->target && !tr->starting && !target_gone(tr->target) &&
	       target_next_event(tr->target, &ev)) {
		if (ev.kind == EVENT_ENDED)
			target_note_exit(tr->target, ev.status);
		if (ev.kind == EVENT_BREAKPOINT)
			on_breakpoint(tr, &ev);
		if (ev.kind == EVENT_FORK && ev.stands)
			on_fork(tr, &ev);
		if (ev.kind >= EVENT_BEGINS && ev.kind <= EVENT_RETURNS)
			on_wanted(tr, &ev);
		if (ev.kind == EVENT_ERRAND)
			on_errand(tr, &ev);
		if (ev.kind == EVENT_SIGNAL && ev.stands)
			on_signal(tr, &ev);
		if (ev.kind == EVENT_EXEC)
			on_exec(tr);
	}
	if (tr->target && !tr->starting && !target_gone(tr->target)) {
		look_for_caller(tr);
		tell_what_is_lost(tr);
	}
	tell_what_is_off(tr);
}
