/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Which form of the clock we get, and its life.
 *
 *	every CPU, filtered	refused?	every thread, with kernel mode
 *				refused?	every thread, user mode only
 *				refused?	say what refuses, and the remedy
 */
#include "private.h"

#include <errno.h>
#include <stdlib.h>
#include <sys/ioctl.h>
#include <unistd.h>

/* ---- what is asked for --------------------------------------------------- */

static int
check_options(const struct clock_options *opt)
{
	if (interval_check(opt->interval_ns) < 0)
		return -1;
	if (!opt->stack_bytes)
		return 0;
	if (opt->stack_bytes < 8 || opt->stack_bytes > STACK_MOST ||
	    opt->stack_bytes % 8 != 0)
		return fail(FAIL_USAGE, "%u bytes of stack per sample: it "
			    "must be 8 to %d, a multiple of 8",
			    opt->stack_bytes, STACK_MOST);
	return 0;
}

/* ---- the forms ----------------------------------------------------------- */

static int
open_rings(struct clock *c, bool choose)
{
	if (choose)
		c->opt.stack_bytes = copy_for(c->opt.interval_ns);
	if (rings_open(&c->rings, &c->kernel, ring_size(&c->opt),
		       ring_least(choose ? COPY_LEAST : c->opt.stack_bytes),
		       c->opt.pid) < 0)
		return -1;
	if (choose)
		c->opt.stack_bytes = copy_fitting(&c->opt, c->rings.bytes);
	return 0;
}

/* Takes why. Small rings lose samples sooner; the remedy is one of memory. */
static char *
add_rings(const struct clock *c, char *why)
{
	const size_t wanted = ring_size(&c->opt);

	if (c->rings.bytes >= wanted ||
	    (c->opt.stack_bytes > COPY_LEAST &&
	     copy_fitting(&c->opt, c->rings.bytes) == c->opt.stack_bytes))
		return why;

	char *text = xasprintf("%s; rings of %zu KiB, as %zu are refused "
			       "(raise `ulimit -l` or "
			       "kernel.perf_event_mlock_kb)", why,
			       c->rings.bytes / 1024, wanted / 1024);

	free(why);
	return text;
}

static void
describe(struct clock *c, enum clock_form form, size_t events, char *why)
{
	size_t rings = 0;

	why = add_rings(c, why);
	for (size_t i = 0; i < c->rings.len; i++)
		rings += c->rings.ring[i].page != NULL;
	c->why = why;
	c->traits = (struct clock_traits){
		.form = form,
		.kernel = !c->opt.never_kernel,
		.why = why,
		.descriptors = rings + events,
		.rings = rings,
		.ring_bytes = c->rings.bytes,
		.threads = c->watch.threads,
		.not_sampled = c->watch.not_sampled,
	};
}

static const char *
modes(const struct clock *c)
{
	if (c->opt.only_kernel)
		return "kernel mode only";
	return c->opt.never_kernel ? "user mode only" : "user and kernel mode";
}

static int
open_per_cpu(struct clock *c, const char **what)
{
	if (percpu_open(&c->percpu, &c->kernel, &c->rings, &c->opt, what) < 0)
		return -1;
	describe(c, CLOCK_FORM_CPU, 2 * c->percpu.len,
		 xasprintf("one clock per CPU, filtered to the process; %s; "
			   "every interval counts", modes(c)));
	return 0;
}

/* One that is not sampled has no records: its CPU time is the scheduler's. */
static void
note_thread(void *arg, pid_t tid, uint64_t time)
{
	struct clock *c = arg;

	states_watch(&c->states, tid, time);
}

static int
try_threads(struct clock *c)
{
	c->watch = (struct watch){
		.pid = c->opt.pid,
		.attr = attr_clock(PERF_COUNT_SW_TASK_CLOCK, &c->opt),
		.kernel = &c->kernel,
		.rings = &c->rings,
		.met = note_thread,
		.arg = c,
	};
	attr_add_side_band(&c->watch.attr);
	attr_add_inherit(&c->watch.attr);
	c->watch.attr.context_switch = !c->opt.only_kernel;
	if (watch_open(&c->watch) == 0)
		return 0;

	const int error = errno;

	watch_close(&c->watch);
	errno = error;
	return -1;
}

static bool
is_refusal(int error)
{
	return error == EACCES || error == EPERM;
}

/* Refused with kernel mode and granted without: then that was the reason. */
static int
open_per_thread(struct clock *c, char *refusal)
{
	const char *lack = "";

	states_init(&c->states, c->opt.pid);

	int done = try_threads(c);

	if (done < 0 && is_refusal(errno) && !c->opt.never_kernel &&
	    !c->opt.only_kernel) {
		c->opt.never_kernel = true;
		lack = " (kernel mode is refused)";
		done = try_threads(c);
	}
	if (done < 0)
		return fail_refused(errno, c->opt.pid,
				    "perf_event_open on the threads");

	char *missing = not_sampled_text(c->watch.not_sampled,
					 c->watch.threads +
					 c->watch.not_sampled,
					 c->watch.refusal);

	describe(c, CLOCK_FORM_THREAD, c->watch.len,
		 xasprintf("%sone clock per thread and CPU; %s%s; CPU time by "
			   "switch records%s%s", missing, modes(c), lack,
			   refusal ? "; not per CPU: " : "",
			   refusal ? refusal : ""));
	free(missing);
	return 0;
}

static int
open_events(struct clock *c)
{
	const char *what = "";

	if (c->opt.form == CLOCK_FORM_THREAD)
		return open_per_thread(c, NULL);
	if (open_per_cpu(c, &what) == 0)
		return 0;
	if (c->opt.form == CLOCK_FORM_CPU)
		return fail_refused(errno, c->opt.pid, what);

	char *refusal = refusal_text(errno, what);
	const int done = open_per_thread(c, refusal);

	free(refusal);
	return done;
}

static int
check_process(pid_t pid)
{
	pid_t *tids = NULL;
	size_t cap = 0;
	const ssize_t n = pid > 0 ? threads_list(pid, &tids, &cap) : -1;

	free(tids);
	if (n <= 0)
		return fail(FAIL_MISSING, "no process %d", (int)pid);
	return 0;
}

/* ---- the door ------------------------------------------------------------ */

struct clock *
clock_open(const struct clock_options *opt)
{
	if (check_options(opt) < 0 || check_process(opt->pid) < 0)
		return NULL;

	struct clock *c = xcalloc(1, sizeof *c);

	c->opt = *opt;
	c->states.task_fd = -1;
	descriptors_raise();
	if (open_rings(c, !opt->stack_bytes) < 0 || open_events(c) < 0) {
		clock_close(c);
		return NULL;
	}
	return c;
}

void
clock_close(struct clock *c)
{
	if (!c)
		return;
	watch_close(&c->watch);
	percpu_close(&c->percpu);
	family_fini(&c->family);
	rings_close(&c->rings);
	states_fini(&c->states);
	free(c->why);
	free(c);
}

const struct clock_traits *
clock_traits(const struct clock *c)
{
	return &c->traits;
}

size_t
clock_pollfds(const struct clock *c, struct pollfd *fds, size_t max)
{
	return rings_pollfds(&c->rings, fds, max);
}

const int *
clock_events(const struct clock *c, size_t *len)
{
	const bool cpu = c->traits.form == CLOCK_FORM_CPU;

	*len = cpu ? c->percpu.len : c->watch.len;
	return cpu ? c->percpu.clocks : c->watch.fds;
}

/* An event whose threads are all gone refuses; there is nothing to set. */
static void
set_all(struct clock *c, unsigned long request)
{
	size_t len;
	const int *fds = clock_events(c, &len);

	for (size_t i = 0; i < len; i++)
		if (fds[i] >= 0)
			(void)ioctl(fds[i], request, 0);
}

void
clock_disable(struct clock *c)
{
	if (c->stopped)
		return;
	set_all(c, PERF_EVENT_IOC_DISABLE);
	c->stopped = true;
	c->stop_booked = false;
	c->stopped_at = now_ns();
}

void
clock_enable(struct clock *c)
{
	if (!c->stopped)
		return;
	if (!c->stop_booked)
		states_stop(&c->states, c->stopped_at);
	/* apart as before: what was left until its next tick each has kept */
	set_all(c, PERF_EVENT_IOC_ENABLE);
	c->stopped = false;
	states_start(&c->states, now_ns());
}
