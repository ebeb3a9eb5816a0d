/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Functions of the program that are called from the prompt while it stands.
 *
 *	call --- the thread alone, 100 ms ---> returned: as it was before
 *	           |          \--------------> a fault: the same, and told
 *	           | not yet, or a breakpoint
 *	           v
 *	         all run, as by cont ---> returned, a fault, a breakpoint, Ctrl-C
 *	                                   \-> it stands in the function: cont
 *	                                       goes on, pop -c gives it up
 *
 * By -fresh it is a thread that is made for the function, and ends with it.
 *
 * Locks that others hold are given up when all run. Those that the thread
 * itself holds are not: a call from within malloc or the loader is refused.
 */
#include "private.h"

#include <stdlib.h>
#include <string.h>

enum {
	ALONE_MS = 100,
	FRAMES_LOOKED_AT = 256,
	NS_PER_S = 1000 * 1000 * 1000,
};

/* ---- is it safe here? ---------------------------------------------------- */

/* Functions that change what all of a thread's code shares, and libc's own
 * parts of them. */
static const char *const unsafe[] = {
	"malloc", "calloc", "realloc", "free", "cfree", "memalign",
	"posix_memalign", "aligned_alloc", "valloc", "pvalloc",
	"reallocarray", "malloc_trim", "malloc_usable_size", "__libc_malloc",
	"__libc_calloc", "__libc_realloc", "__libc_free", "__libc_memalign",
	"_int_malloc", "_int_free", "_int_realloc", "_int_memalign",
	"malloc_consolidate", "sysmalloc", "systrim", "mallinfo", "mallinfo2",
	"malloc_info", "malloc_stats", "mallopt", "pthread_create",
	"pthread_exit", "fork", "_Fork", "vfork", "posix_spawn",
	"posix_spawnp", "dlopen", "dlclose", "dlsym", "dlvsym", "dladdr",
	"dl_iterate_phdr", "exit", "quick_exit", "_exit", "__cxa_finalize",
	"__cxa_atexit", "setlocale", "newlocale", "getaddrinfo",
	"pthread_key_create", "pthread_key_delete",
};

/* These change nothing that is shared. */
static const char *const harmless[] = {
	"mem", "__mem", "str", "__str", "wcs", "__wcs", "wmem", "__wmem",
};

static const char *
base_name(const char *path)
{
	const char *slash = strrchr(path, '/');

	return slash ? slash + 1 : path;
}

static bool
is_object(const struct debug_frame *f, const char *a, const char *b)
{
	const char *name = f->object ? base_name(f->object) : "";

	return str_starts(name, a) || str_starts(name, b);
}

static bool
is_named(const struct debug_frame *f, const char *const *names, size_t n,
	 bool (*equal)(const char *a, const char *b))
{
	for (size_t i = 0; f->function && i < n; i++)
		if (equal(f->function, names[i]))
			return true;
	return false;
}

static bool
same(const char *a, const char *b)
{
	return strcmp(a, b) == 0;
}

bool
called_changes_shared(const char *function)
{
	const struct debug_frame f = { .function = function };

	return is_named(&f, unsafe, ARRAY_LEN(unsafe), same);
}

/* At the first instruction of a function nothing of it is done. */
static bool
begins(const struct debug_frame *f)
{
	return f->exact && f->function && f->offset == 0;
}

/* -1: refused. c->only_waiting: it is not, if the thread waits in the kernel. */
static int
check_place(struct shell *sh, struct debug *d, struct session_call *c)
{
	const size_t n = debug_frames(d, FRAMES_LOOKED_AT);

	for (size_t i = 0; i < n; i++) {
		struct debug_frame f;

		if (debug_frame(d, i, &f) < 0)
			return -1;

		const bool loader = is_object(&f, "ld-", "ld.so");
		const bool bad = !begins(&f) && (loader ||
			is_named(&f, unsafe, ARRAY_LEN(unsafe), same));

		if (f.exact && !begins(&f) && !bad &&
		    is_object(&f, "libc.", "libc-") &&
		    !is_named(&f, harmless, ARRAY_LEN(harmless), str_starts))
			*(i ? &c->did_wait : &c->only_waiting) = true;
		if (!bad)
			continue;
		fail(FAIL_UNSUITABLE, "thread %d is within %s: what that is "
		     "changing may be half done, or locked",
		     (int)thread_now(sh), f.function ? f.function :
		     base_name(f.object));
		return fail_remedy("step up until it has left that, or thread "
				   "TID to call on another one");
	}
	return 0;
}

/* ---- what became of it --------------------------------------------------- */

/* Of the thread, where the function is over. */
static const char *
after(const struct session_call_news *news)
{
	return news->own ? "its thread was ended, the process goes on" :
		"the thread is where it was before the call";
}

static int
faulted(struct shell *sh, const struct session_call_news *news)
{
	char *where;

	if (!news->signal)
		return fail(FAIL_GENERAL, "the call was given up; %s",
			    after(news));
	where = called_where(sh, &news->where);
	fail(FAIL_GENERAL, "the function that was called got SIG%s (%s)%s; %s",
	     sigabbrev_np(news->signal), sigdescr_np(news->signal), where,
	     after(news));
	free(where);
	return called_remedy(sh, &news->where,
			     "the signal was not delivered; ");
}

/* Nobody can say cont or pop -c: the thread would stay in it for as long as the
 * function likes, also when we have gone. */
static int
give_up(struct shell *sh, struct session_call_news *news)
{
	const char *why = wait_was_interrupted() ? "was interrupted" :
		"did not return in time";
	char *where;

	if (session_call_end(sh->session, true, 0, news) < 0)
		return -1;
	if (news->why != SESSION_CALL_FAULTED)
		return fail(FAIL_GENERAL, "the function that was called %s",
			    why);
	where = called_where(sh, &news->where);
	fail(FAIL_GENERAL, "the function that was called %s, and was given "
	     "up%s; %s", why, where, after(news));
	free(where);
	return called_remedy(sh, &news->where, wait_signal ? "" : "dbxenv "
			     "call_timeout is how long it may run; ");
}

static int
stands(void)
{
	fail(FAIL_GENERAL, "the process stopped in a function that was called "
	     "from here");
	return fail_remedy("cont goes on until it returns, pop -c gives it "
			   "up");
}

static int
jumps(struct shell *sh, const struct session_call_news *news)
{
	char *where = called_where(sh, &news->where);

	fail(FAIL_GENERAL, "the function that was called would have left %sby "
	     "longjmp%s; %s", news->own ? "its stack " : "", where,
	     after(news));
	free(where);
	return called_remedy(sh, &news->where, "");
}

static int
has_left(const struct session_call_news *news)
{
	fail(FAIL_GENERAL, "thread %d has left the function that was called by "
	     "a jump; it is where that led", (int)news->tid);
	return fail_remedy("where; nothing was put back, since its stack has "
			   "changed");
}

/* 0: it has returned; -1: not, or not so. */
static int
judge(struct shell *sh, struct session_call_news *news)
{
	switch (news->why) {
	case SESSION_CALL_RETURNED:
		called_tell_end(sh, news->end_signal, &news->end_where);
		return 0;
	case SESSION_CALL_FAULTED:
		return faulted(sh, news);
	case SESSION_CALL_STANDS:
		return (sh->call_late || wait_signal) && !shell_goes_on(sh) ?
			give_up(sh, news) : stands();
	case SESSION_CALL_BREAKPOINT:
		return stands();
	case SESSION_CALL_JUMPS:
		return jumps(sh, news);
	case SESSION_CALL_LEFT:
		if (!news->own)
			return has_left(news);
		break;
	case SESSION_CALL_EXECED:
		return fail(FAIL_GENERAL, "the function that was called has "
			    "begun another program");
	case SESSION_CALL_GONE:
		wait_for_end(sh);
		return fail(FAIL_ENDED, "the process ended in the function that "
			    "was called");
	case SESSION_CALL_ENDED:
		break;
	}
	return fail(FAIL_GENERAL, "the function that was called has ended its "
		    "thread (pthread_exit); the process goes on");
}

static bool
is_over(const struct session_call_news *news)
{
	return news->why != SESSION_CALL_STANDS &&
		news->why != SESSION_CALL_BREAKPOINT;
}

/* The user is again where he was, unless a handler has stopped all for another
 * thread. */
static int
conclude(struct shell *sh, struct session_call_news *news)
{
	const int r = judge(sh, news);

	if (news->own && is_over(news) && sh->thread == news->tid)
		sh->thread = news->from;
	return r;
}

/* Everybody runs; the one who evaluates the expression must not be changed
 * under his feet. */
static int
run_all(struct shell *sh, struct session_call_news *news)
{
	struct debuggee *mine = sh->debuggee;
	const pid_t thread = thread_now(sh);
	int r = -1;

	shell_note(sh, "the function does not return at once; all threads run "
		   "(Ctrl-C stops them)");
	sh->debuggee = NULL;
	sh->call_ended = 0;
	sh->call_waits = true;
	if (session_cont(sh->session) == 0)
		r = wait_for_target(sh, now_ns() + (uint64_t)sh->call_seconds *
				    NS_PER_S, false) == FAILED ? -1 : 0;
	sh->call_late = r == 0 && target_alive(sh) &&
		session_state(sh->session) == SESSION_RUNNING;
	if (sh->call_late)
		r = session_stop(sh->session);
	sh->call_waits = false;
	debuggee_free(sh);
	sh->debuggee = mine;
	if (r == 0 && !target_alive(sh)) {
		news->why = SESSION_CALL_GONE;
		return 0;
	}
	if (r == 0)
		r = session_call_end(sh->session, false, sh->call_ended, news);
	/* unless a handler has stopped all for another one */
	if (r == 0 && (news->why == SESSION_CALL_RETURNED || sh->call_late ||
		       wait_signal || !sh->thread))
		sh->thread = thread;
	return r;
}

/* Handlers of a breakpoint in the function: does it stop there? */
static bool
stops_at(struct shell *sh, const struct session_call_news *news)
{
	struct debuggee *mine = sh->debuggee;
	bool over;

	sh->debuggee = NULL;
	over = handlers_meet(sh, news->breakpoint, thread_now(sh));
	debuggee_free(sh);
	sh->debuggee = mine;
	return over;
}

static int
run(struct shell *sh, struct session_call_news *news)
{
	const uint64_t until = now_ns() + (uint64_t)sh->call_seconds * NS_PER_S;
	int r = 0;

	while (r == 0 && target_alive(sh) && !is_over(news)) {
		if (news->why == SESSION_CALL_BREAKPOINT) {
			if (stops_at(sh, news))
				break;
			r = session_call_go(sh->session, ALONE_MS, news);
			continue;
		}
		if (!sh->call_alone)
			return run_all(sh, news);
		sh->call_late = wait_signal || now_ns() >= until;
		if (sh->call_late)
			break;
		r = session_call_go(sh->session, ALONE_MS, news);
	}
	return r;
}

/* Signals that wait for this thread alone, as the kernel has them. */
static uint64_t
waiting_signals(const struct shell *sh, pid_t tid)
{
	char path[64], *text, *at;
	uint64_t set;

	(void)snprintf(path, sizeof path, "/proc/%d/task/%d/status",
		       (int)session_pid(sh->session), (int)tid);
	text = file_read(path, NULL);
	at = text ? strstr(text, "\nSigPnd:") : NULL;
	set = at ? strtoull(at + sizeof "\nSigPnd:" - 1, NULL, 16) : 0;
	free(text);
	fail_clear();
	return set;
}

/* What the function raises waits, and may end the program when it goes on. */
static void
tell_raised(struct shell *sh, pid_t tid, uint64_t before)
{
	const uint64_t now = waiting_signals(sh, tid) & ~before;

	for (int signal = 1; signal <= 64; signal++)
		if (now >> (signal - 1) & 1)
			shell_note(sh, "%s%s, which the function raised, waits "
				   "for thread %d: it comes when that goes on",
				   sigabbrev_np(signal) ? "SIG" : "signal ",
				   sigabbrev_np(signal) ? sigabbrev_np(signal) :
				   "of real time", (int)tid);
}

int
called_run(struct shell *sh, struct debug *d, const struct session_call *call,
	   struct session_call_news *news)
{
	struct session_call c = *call;
	const pid_t tid = thread_now(sh);
	const uint64_t before = waiting_signals(sh, tid);
	int r;

	c.fresh = sh->call_fresh;
	if (!c.fresh && check_place(sh, d, &c) < 0)
		return -1;
	if (session_call_here(sh->session, thread_now(sh), &c, ALONE_MS,
			      news) < 0)
		return -1;
	if (c.fresh)
		sh->thread = news->tid;
	if (run(sh, news) < 0)
		return -1;
	pty_print(sh);
	r = conclude(sh, news);
	if (r == 0 && !news->own)
		tell_raised(sh, tid, before);
	return r;
}

/* ---- one that stopped, later --------------------------------------------- */

void
called_take(struct shell *sh, const struct session_event *ev)
{
	struct session_call_news news;

	sh->thread = ev->tid;
	if (sh->call_waits) {
		sh->call_ended = ev->signal;
		return;
	}
	if (session_call_end(sh->session, false, ev->signal, &news) == 0 &&
	    conclude(sh, &news) == 0)
		shell_note(sh, "the function that was called has returned 0x%llx"
			   "; thread %d %s", (unsigned long long)news.ints[0],
			   (int)ev->tid, news.own ? "was made for it, and has "
			   "ended" : "is where it was before");
	else
		shell_print_failure(sh);
}

int
called_give_up(struct shell *sh)
{
	struct session_call_news news;

	if (session_call_end(sh->session, true, 0, &news) < 0)
		return -1;
	if (news.why == SESSION_CALL_FAULTED && news.own)
		sh->thread = news.from;
	if (news.why == SESSION_CALL_FAULTED)
		return 0;
	return conclude(sh, &news);
}
