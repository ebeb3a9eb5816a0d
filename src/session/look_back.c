/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Do we leave it as we found it? What /proc says of the target when we come is
 * kept; when we have let go it is looked at again, and whatever is surely of
 * our making and still there is named in the receipt:
 *
 *	fd		a memfd with a name of ours, in any thread
 *	maps		record memory, or scratch memory with our code in it
 *	mem		a trap where a breakpoint was
 *	timers		one that points into our library, or ticks by its signal
 *	status		the signal of our ticks is caught, and was not
 *	task TID	traced by us; blocked as a thread that works for us; a
 *			stop that was not there
 *
 * The program goes on meanwhile, so what is found is looked at again before
 * it is told. What it changed itself is its own affair. What earlier visits
 * that were killed had left is known from the first look: named, too, and
 * tidied up. All of it is reading: no stop, but for the tidying.
 */
#include "hazard.h"
#include "look_back.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum {
	AGAIN_MAX = 40, AGAIN_US = 5000, NAMED_MAX = 6,
	SCRATCH_MOST = 1 << 20,		/* bytes, with what lies behind it */
};

static void
look_fini(struct look *l)
{
	str_fini(&l->found);
	str_fini(&l->unlooked);
}

/* ---- what is told -------------------------------------------------------- */

void
look_tell(struct look *l, const char *fmt, ...)
{
	va_list ap;
	char *text;

	if (++l->n > NAMED_MAX)
		return;		/* their number is told */
	va_start(ap, fmt);
	text = xvasprintf(fmt, ap);
	va_end(ap);
	str_addf(&l->found, "%s%s", l->found.len ? ", " : "", text);
	free(text);
}

static void
not_looked(struct look *l, const char *what)
{
	str_addf(&l->unlooked, "%s%s (%s)", l->unlooked.len ? ", " : "", what,
		 errno ? strerror(errno) : "it was ending");
}

static uint64_t
key_of(enum trace what, uint64_t where)
{
	return hash_word(where ^ ((uint64_t)what << 60));
}

static void
note_before(struct look *l, enum trace what, uint64_t where, uint64_t size)
{
	map_put(&l->lb->before, key_of(what, where), 1);
	look_back_found(l->lb, what, where, size);
}

static void
note_after(struct look *l, enum trace what, uint64_t where, uint64_t size)
{
	uint64_t was;

	if (map_get(&l->lb->before, key_of(what, where), &was))
		return;
	switch (what) {
	case TRACE_DESCRIPTOR:
		look_tell(l, "descriptor %u", (unsigned)where);
		if (where >> 32 && l->n <= NAMED_MAX)
			str_addf(&l->found, " of thread %d",
				 (int)(where >> 32));
		break;
	case TRACE_AREA:
		if (l->lb->parting && target_held(l->lb->t)) {
			l->parting += size;
			break;
		}
		look_tell(l, "%" PRIu64 " KB of record memory at %" PRIx64,
			  size / 1024, where);
		break;
	case TRACE_SCRATCH:
		look_tell(l, "%" PRIu64 " KB of scratch memory at %" PRIx64,
			  size / 1024, where);
		break;
	case TRACE_TIMER:
		look_tell(l, "timer %" PRIu64, where);
		break;
	}
}

/* ---- descriptors --------------------------------------------------------- */

static void
note_descriptor(void *arg, uint64_t where)
{
	struct look *l = arg;

	l->note(l, TRACE_DESCRIPTOR, where, 0);
}

static void
look_at_descriptors(struct look *l)
{
	const int unseen = look_at_files(l->lb->t, note_descriptor, l);

	if (unseen)
		not_looked(l, unseen < 0 ? "its descriptors" :
			   "descriptors that other threads have of their own");
}

/* Where our visit still was in a program that has just made a copy. */
static void
close_copy(struct look *l, enum trace what, uint64_t where, uint64_t size)
{
	const pid_t tid = (pid_t)(where >> 32);
	struct inject_report report = {0};
	uint64_t was;

	(void)size;
	if (!tid || !handled(HAZARD_COPIED_FILES) ||
	    map_get(&l->lb->before, key_of(what, where), &was))
		return;
	/* what fails is told by the last look */
	(void)inject_close_descriptor(l->lb->t, tid, (uint32_t)where, &report);
	look_back_visit(l->lb, &report);
}

void
look_back_close_copies(struct look_back *lb)
{
	struct look l = { .lb = lb, .note = close_copy };

	if (lb->nborrowed)
		look_at_descriptors(&l);
	look_fini(&l);
}

/* ---- mappings ------------------------------------------------------------ */

static const char *
base_name(const char *path)
{
	const char *slash = strrchr(path, '/');

	return slash ? slash + 1 : path;
}

/* Its first page is made executable last: a visit can be killed before. */
static bool
may_be_scratch(uint64_t start, uint64_t end, const char *prot,
	       const char *path)
{
	return !*path && (strcmp(prot, "r-xp") == 0 ||
			  (strcmp(prot, "rw-p") == 0 &&
			   end - start <= SCRATCH_MOST));
}

static void
look_at_mapping(struct look *l, uint64_t start, uint64_t end, const char *prot,
		const char *path)
{
	const char *name = base_name(path);
	/* its zeroed data; scratch memory may come right behind them */
	const bool near = l->lib_end == start && !*path &&
		strcmp(prot, "rw-p") == 0;

	if (str_starts(name, "memfd:sonde-collector") ||
	    str_starts(name, "sonde-collector") || near) {
		l->lib = l->lib ? l->lib : start;
		l->lib_end = end;
	} else if (str_starts(name, "memfd:sonde-records") ||
		   str_starts(name, "memfd:sonde-traces")) {
		l->note(l, TRACE_AREA, start, end - start);
	} else if (may_be_scratch(start, end, prot, path) ||
		   str_starts(name, "memfd:sonde-helper")) {
		const uint64_t size = inject_scratch_size(l->lb->t, start);

		if (size)
			l->note(l, TRACE_SCRATCH, start, size);
	}
}

static void
look_at_mappings(struct look *l)
{
	char *text = target_maps(l->lb->t), *rest = text, *line;

	if (!text) {
		not_looked(l, "its mappings");
		return;
	}
	while ((line = strsep(&rest, "\n"))) {
		uint64_t start, end;
		char prot[8];
		int at = 0;

		if (sscanf(line, "%" SCNx64 "-%" SCNx64 " %7s %*s %*s %*s %n",
			   &start, &end, prot, &at) == 3 && at)
			look_at_mapping(l, start, end, prot, line + at);
	}
	free(text);
}

/* ---- text ---------------------------------------------------------------- */

static void
look_at_text(struct look *l)
{
	uint64_t addr;
	const int n = target_traps_left(l->lb->t, &addr);

	if (n < 0)
		not_looked(l, "its text");
	if (n == 1)
		look_tell(l, "a trap at %" PRIx64, addr);
	if (n > 1)
		look_tell(l, "%d traps, at %" PRIx64 " and elsewhere", n,
			  addr);
}

/* ---- timers -------------------------------------------------------------- */

static bool
timer_is_ours(const struct look *l, int signal, uint64_t value,
	      const char *notify)
{
	if ((uint32_t)value == RECORD_TIMER_MARK)
		return true;
	return l->lb->signal && signal == l->lb->signal &&
	       str_starts(notify, "signal/tid");
}

static void
look_at_timers(struct look *l)
{
	char *text = file_read_at(target_proc(l->lb->t), "timers", NULL);
	uint64_t id, value;
	int signal;

	if (!text && errno == ENOENT)	/* a kernel that does not tell */
		not_looked(l, "its timers");
	for (const char *at = text; at && (at = strstr(at, "ID: ")); at += 4) {
		char notify[32];

		if (at != text && at[-1] != '\n')
			continue;	/* ClockID */
		if (sscanf(at, "ID: %" SCNu64 " signal: %d/%" SCNx64
			   " notify: %31s", &id, &signal, &value,
			   notify) == 4 &&
		    timer_is_ours(l, signal, value, notify))
			l->note(l, TRACE_TIMER, id, 0);
	}
	free(text);
}

/* ---- all of it ----------------------------------------------------------- */

static void
look_at_all(struct look *l)
{
	look_at_descriptors(l);
	look_at_mappings(l);
	look_at_timers(l);
}

/* ---- life ---------------------------------------------------------------- */

struct look_back *
look_back_new(struct target *t)
{
	struct look_back *lb = xcalloc(1, sizeof *lb);
	struct look l = { .lb = lb, .note = note_before };

	lb->t = t;
	look_note_before(lb);
	look_at_all(&l);
	lb->visited |= l.lib != 0;
	look_fini(&l);
	look_back_find_orphan(lb);
	fail_clear();	/* whoever wants more of it will be told again */
	return lb;
}

void
look_back_free(struct look_back *lb)
{
	if (!lb)
		return;
	map_fini(&lb->before);
	str_fini(&lb->tidied);
	str_fini(&lb->unclean);
	free(lb->salvaged);
	free(lb);
}

void
look_back_unclean(struct look_back *lb, const char *what)
{
	str_addf(&lb->unclean, "%s%s", lb->unclean.len ? ", " : "", what);
}

void
look_back_signal(struct look_back *lb, int signal)
{
	lb->signal = signal;
}

void
look_back_visit(struct look_back *lb, const struct inject_report *report)
{
	for (unsigned i = 0; i < report->nborrowed && i < INJECT_BORROWED; i++)
		lb->borrowed[lb->nborrowed++ % BORROWED_MAX] =
			report->borrowed[i];
	if (report->handler_kept)
		lb->signal = 0;
}

static void
look_again(struct look *l, enum look_back_when when)
{
	for (int i = 0; i < AGAIN_MAX; i++) {
		str_clear(&l->found);
		str_clear(&l->unlooked);
		l->n = 0;
		l->lib = l->lib_end = l->parting = 0;
		l->job_stopped = false;
		look_at_all(l);
		look_at_signals(l);
		look_at_text(l);
		if (when != LOOK_HELD)
			look_at_threads(l, when == LOOK_STOPPED);
		if (!l->n || target_gone(l->lb->t))
			return;
		(void)usleep(AGAIN_US);
	}
}

char *
look_back_text(struct look_back *lb, enum look_back_when when)
{
	struct look l = { .lb = lb, .note = note_after };
	struct str s = {0};

	if (target_gone(lb->t))
		return xstrdup("nothing is left");
	if (handled(HAZARD_LATE_STOP))
		target_let_go_late(lb->t);
	look_again(&l, when);
	if (l.n || lb->unclean.len)
		str_addf(&s, "target NOT clean: %s%s%s", str_text(&lb->unclean),
			 l.n && lb->unclean.len ? ", " : "",
			 str_text(&l.found));
	else
		str_addf(&s, "target clean%s", l.lib ?
			 " but for the inert library" : "");
	if (l.n > NAMED_MAX)
		str_addf(&s, " and %u more", l.n - NAMED_MAX);
	if (l.job_stopped)
		str_add(&s, "; it is stopped by somebody's SIGSTOP");
	if (l.parting)
		str_addf(&s, ", and %" PRIu64 " KB of record memory that go "
			 "when it runs on (a thread stands in our handler)",
			 l.parting / 1024);
	if (l.unlooked.len)
		str_addf(&s, ", not looked at: %s", str_text(&l.unlooked));
	if (lb->tidied.len)
		str_addf(&s, "; %s", str_text(&lb->tidied));
	str_clear(&lb->tidied);
	str_clear(&lb->unclean);
	look_fini(&l);
	fail_clear();
	return str_take(&s);
}
