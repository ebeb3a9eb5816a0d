/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Stop, copy, resume. Nothing is computed while the target stands: registers
 * and used stacks are copied, unwinding comes later.
 *
 * The hidden pause is the resume: each thread let run by a loop of CONTs takes
 * the processor from the one that loops (64 spinners on 2 processors: 28 to
 * 240 ms). But when a tracing *thread* exits, the kernel lets go all it had
 * seized in one go: 1.1 ms. So a running target is stopped by a thread that
 * lives for one snapshot. It seizes, stops, copies, repairs and exits. What
 * the tracer's main thread holds already is copied by the main thread, since
 * a thread has one tracer.
 */
#include "snapshot.h"

#include <errno.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

enum {
	MAPS_AGE_MS = 1000,
	RELEASE_LIMIT_MS = 5000,
	STACK_GUESS = 64 << 10,
	PREPARE_MAX = 256 << 20,
	END_NAP_NS = 20 * NS_PER_US,
};

#ifndef MADV_POPULATE_WRITE
#define MADV_POPULATE_WRITE 23		/* since Linux 5.14 */
#endif

/* ---- before ------------------------------------------------------------- */

/* Hints only, so one reading will do, and an old one too: a stack that ends
 * elsewhere is cut where the memory ends. */
static void
look_at_maps(struct target *t)
{
	const pid_t tid = target_live_thread(t);
	char path[64];

	if (tid < 0 || (t->maps_at &&
	    now_ns() - t->maps_at < MAPS_AGE_MS * (uint64_t)NS_PER_MS))
		return;
	(void)snprintf(path, sizeof path, "task/%d/maps", (int)tid);

	char *text = file_read_at(t->proc_fd, path, NULL);

	if (!text || modules_parse(&t->maps, text) < 0)
		modules_fini(&t->maps);
	free(text);
	t->maps_at = now_ns();
}

/* States are those from before the stop: in it all are 't'. */
static int
list_threads(struct shot *s)
{
	pid_t *tids = NULL;
	size_t cap = 0;
	const ssize_t n = s->only ? 1 : target_threads(s->t, &tids, &cap);

	if (n < 0) {
		free(tids);
		return -1;
	}
	s->snap->threads = xcalloc((size_t)n, sizeof *s->snap->threads);
	for (ssize_t i = 0; i < n; i++) {
		struct snapshot_thread *th =
			&s->snap->threads[s->snap->len];

		th->tid = s->only ? s->only : tids[i];
		if (target_thread_facts(s->t, th->tid, &th->facts) == 0)
			s->snap->len++;
	}
	free(tids);
	fail_clear();
	return 0;
}

/*
 * Memory for what will be copied, there before anybody stands. How much that
 * is the listing tells of those who sleep; for the others a guess must do.
 */
static void
prepare_arena(struct shot *s)
{
	size_t need = 0;

	for (size_t i = 0; i < s->snap->len; i++) {
		const uint64_t sp = s->snap->threads[i].facts.sp & ~UINT64_C(7);

		need += sp ? shot_stack_extent(s, sp) : STACK_GUESS;
	}
	need += need / 8;
	if (need > PREPARE_MAX || !target_arena(s->t, need))
		return;
	/* EINVAL from kernels before 5.14: then each page comes when it is
	 * written to */
	(void)madvise(s->t->arena, need, MADV_POPULATE_WRITE);
}

/* ---- the thread that stops it -------------------------------------------- */

/*
 * A joined thread may still be on its way through the kernel, where it lets
 * the others go just before its number vanishes. That is a matter of a tenth
 * of a millisecond on another processor, and who yields now waits for all
 * whom it resumed, and would count that as pause: so look without rest first.
 * Not as a real-time thread: it would miss that processor, and those resumed.
 */
static int
await_thread_end(pid_t tid, bool first)
{
	const struct timespec nap = { .tv_nsec = END_NAP_NS };
	const uint64_t since = now_ns();

	while (syscall(SYS_tgkill, getpid(), tid, 0) == 0) {
		const uint64_t waited = now_ns() - since;

		if (waited > RELEASE_LIMIT_MS * (uint64_t)NS_PER_MS)
			return fail(FAIL_INTERNAL, "thread %d of our own does "
				    "not end", (int)tid);
		if (first)
			(void)nanosleep(&nap, NULL);
		else if (waited > 2 * NS_PER_MS)
			sched_yield();
	}
	return 0;
}

/*
 * Whom ticks of its own wait for goes on as soon as that is seen: a signal
 * that comes later must find its call as the kernel left it.
 */
static void
let_ticking_go(struct shot *s)
{
	struct pack *p = s->pack;

	for (size_t i = p->len; i-- > 0;) {
		if (i >= p->len || !p->items[i].stopped ||
		    p->items[i].group_signal)
			continue;

		const pid_t tid = p->items[i].tid;

		if (ticks_are_due(s->t, tid))
			(void)hold_let_go(p, tid);
		else if (tick_sleeps_on(s->t, tid))
			tick_accompany(p, tid);
	}
}

/* Only root may, mostly. */
static bool
go_first(void)
{
	struct schedule now;

	if (schedule_get(0, &now) < 0 || !schedule_is_fair(&now) ||
	    schedule_first(0) < 0)
		return false;
	wait_goes_first(true);
	return true;
}

/*
 * Those that sleep stand and are copied first: what their frames are is in no
 * one else's hands. Not where those that run would take the processor from us
 * meanwhile.
 */
static int
stop_and_copy(struct shot *s)
{
	int r;

	if (s->only) {
		r = pack_stop_one(s->pack, s->only);
	} else {
		r = pack_seize(s->pack);
		s->goes_first = r == 0 && go_first();
		if (s->goes_first) {
			pack_stop_sleepers(s->pack);
			shot_copy(s, true);
		}
		if (r == 0)
			r = pack_stop_rest(s->pack);
	}
	if (r == 0) {
		shot_forget_ended(s);
		shot_copy(s, true);
	}
	return r;
}

static void *
tracing_thread(void *arg)
{
	struct shot *s = arg;

	s->tracer = tracer_tid();
	s->pack->options = PTRACE_O_TRACECLONE;
	ticks_foresee(s->t);
	s->result = stop_and_copy(s);
	if (s->result == 0) {
		shot_copy_words(s);
		let_ticking_go(s);
	} else {
		/* some may stand that cannot be let go with EINTR in hand */
		for (size_t i = 0; i < s->pack->len; i++)
			hold_repair(s->t, &s->pack->items[i]);
	}
	return NULL;
}

static int
start_thread(pthread_t *th, struct shot *s)
{
	sigset_t all, before;
	int error;

	/* The caller's signals are not for it. */
	sigfillset(&all);
	pthread_sigmask(SIG_BLOCK, &all, &before);
	error = pthread_create(th, NULL, tracing_thread, s);
	pthread_sigmask(SIG_SETMASK, &before, NULL);
	errno = error;
	return error ? fail_errno("start a tracing thread") : 0;
}

static int
shoot_in_thread(struct shot *s)
{
	struct pack pack = { .target = s->t, .spare = true };
	struct schedule before, mine;
	pthread_t th;
	bool first;

	s->pack = &pack;
	if (start_thread(&th, s) < 0)
		return -1;
	urgent_begin(&before);		/* to see when they go on */
	first = schedule_get(0, &mine) == 0 &&
		!schedule_is_fair(&mine);
	(void)pthread_join(th, NULL);		/* it is joinable and ours */

	const int ended = await_thread_end(s->tracer, first);
	const uint64_t now = now_ns();

	urgent_end(&before);

	s->snap->pause_ns = pack.asked_at ? now - pack.asked_at : 0;
	s->snap->run_pause_ns = pack.ran_until ? now - pack.ran_until : 0;
	pack_fini(&pack);
	return ended < 0 ? -1 : s->result;
}

/* The tracer's main thread has seized them: stop what runs, go on after. */
static int
shoot_here(struct shot *s)
{
	const bool stood = s->t->held;

	s->pack = &s->t->pack;
	if (target_hold_all(s->t) < 0)
		return -1;
	shot_copy(s, false);
	shot_copy_words(s);
	if (!stood && target_continue_all(s->t) < 0)
		return -1;
	s->snap->pause_ns = stood ? 0 : target_pause_ns(s->t);
	s->snap->run_pause_ns = s->snap->pause_ns;
	return 0;
}

static bool
seized_by_main(const struct target *t)
{
	for (size_t i = 0; i < t->pack.len; i++)
		if (t->pack.items[i].want == WANT_RUNNING)
			return true;
	return t->held;
}

/* Those that a stop would have cut short: they sleep in the kernel. */
static void
look_at_spared(struct shot *s)
{
	for (size_t i = 0; i < s->snap->len; i++) {
		struct snapshot_thread *th = &s->snap->threads[i], seen;

		if (!th->ok && th->facts.partial && s->max_stack &&
		    peek_thread(s->t, th->tid, s->max_stack, &seen) == 0)
			*th = seen;
	}
	fail_clear();
}

static void
drop_unseen(struct snapshot *snap)
{
	size_t kept = 0;

	for (size_t i = 0; i < snap->len; i++)
		if (snap->threads[i].ok)
			snap->threads[kept++] = snap->threads[i];
	snap->len = kept;
}

int
snapshot_take(struct target *t, pid_t only, size_t max_stack,
	      struct snapshot *snap)
{
	struct shot s = { .t = t, .only = only, .snap = snap,
			  .max_stack = max_stack & ~(size_t)7 };
	int r;

	*snap = (struct snapshot){ 0 };
	if (t->gone)
		return fail(FAIL_MISSING, "process %d %s", (int)t->pid,
			    t->how);
	look_at_maps(t);
	if (list_threads(&s) < 0)
		return -1;
	prepare_arena(&s);
	r = seized_by_main(t) ? shoot_here(&s) : shoot_in_thread(&s);
	if (r < 0) {
		free(s.at);
		free(s.under_at);
		snapshot_fini(snap);
		return fail_in("snapshot of process %d", (int)t->pid);
	}
	shot_keep_stacks(&s);
	look_at_spared(&s);
	if (only && (!snap->len || !snap->threads[0].ok)) {
		snapshot_fini(snap);
		return fail(FAIL_MISSING, "thread %d did not stop or has "
			    "ended", (int)only);
	}
	if (!only)
		drop_unseen(snap);
	return 0;
}

void
snapshot_fini(struct snapshot *snap)
{
	for (size_t i = 0; i < snap->len; i++)
		snapshot_thread_fini(&snap->threads[i]);
	free(snap->threads);
	*snap = (struct snapshot){ 0 };
}
