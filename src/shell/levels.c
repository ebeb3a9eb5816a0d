/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * when cpu > PERCENT for SECONDS, when rss > SIZE: once in a second, while we
 * wait for the process, /proc is asked; nothing is done to the process. A
 * handler fires when its level is passed, and again when it has been below.
 * The percentage is of one processor, over the time that is asked for: it is
 * not known before that has passed.
 */
#include "private.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <unistd.h>

#define SECOND_NS 1000000000ull
enum { SPAN_MAX = 3600, PERCENT_MAX = 1000000 };

/* ---- words --------------------------------------------------------------- */

static int
parse_percent(const char *word, uint64_t *percent)
{
	const size_t n = strlen(word);
	char *bare = xstrndup(word, n && word[n - 1] == '%' ? n - 1 : n);
	long long value = 0;
	const bool ok = str_number(bare, 0, PERCENT_MAX, &value);

	free(bare);
	*percent = (uint64_t)value;
	if (ok)
		return 0;
	fail(FAIL_USAGE, "'%s' is no percentage", word);
	return fail_remedy("when cpu > 80 for 10 { ... }; 100 is one processor");
}

static int
parse_size(const char *word, uint64_t *bytes)
{
	static const char units[] = "KMGT";
	char *end;
	const char *unit;
	unsigned long long value;

	errno = 0;
	value = strtoull(word, &end, 10);
	unit = *end ? strchr(units, *end & ~0x20) : NULL;
	if (unit)
		end++;

	const int shift = unit ? 10 * (int)(unit - units + 1) : 0;

	if (*end == 'B' || *end == 'b')
		end++;
	*bytes = (uint64_t)value << shift;
	if (*word >= '0' && *word <= '9' && !errno && !*end &&
	    *bytes >> shift == value)
		return 0;
	fail(FAIL_USAGE, "'%s' is no size", word);
	return fail_remedy("when rss > 2G { ... }, or 500M, or 4096");
}

int
level_parse(const struct level_words *w, struct level *out)
{
	uint64_t span = SECOND_NS;

	*out = (struct level){ .is_cpu = strcmp(w->name, "cpu") == 0 };
	if (w->span && settings_duration(w->span, &span) < 0)
		return fail_in("%s > %s for", w->name, w->limit);
	if (w->span && !out->is_cpu) {
		fail(FAIL_USAGE, "rss > %s has no `for`", w->limit);
		return fail_remedy("when rss > %s { ... }", w->limit);
	}
	if (span < SECOND_NS || span > SPAN_MAX * SECOND_NS) {
		fail(FAIL_USAGE, "cpu > %s for %s: that is not between 1 and "
		     "%d seconds", w->limit, w->span, SPAN_MAX);
		return fail_remedy("/proc is asked once in a second");
	}
	out->span_ns = span;
	return out->is_cpu ? parse_percent(w->limit, &out->limit) :
		parse_size(w->limit, &out->limit);
}

/* ---- what the process is at ---------------------------------------------- */

static bool
read_line(pid_t pid, const char *file, char *buf, size_t size)
{
	char *path = xasprintf("/proc/%d/%s", (int)pid, file);
	FILE *f = fopen(path, "re");
	const size_t n = f ? fread(buf, 1, size - 1, f) : 0;

	buf[n] = '\0';
	if (f)
		fclose(f);
	free(path);
	return n > 0;
}

/* Time of all its threads, also of those that have ended. */
static bool
cpu_time(pid_t pid, uint64_t *ns)
{
	char buf[1024];
	unsigned long long user, sys;
	const char *behind_name;

	if (!read_line(pid, "stat", buf, sizeof buf) ||
	    !(behind_name = strrchr(buf, ')')) ||
	    sscanf(behind_name + 1, " %*c %*d %*d %*d %*d %*d %*u %*u %*u %*u "
		   "%*u %llu %llu", &user, &sys) != 2)
		return false;
	*ns = (user + sys) * (SECOND_NS / (uint64_t)sysconf(_SC_CLK_TCK));
	return true;
}

static bool
resident(pid_t pid, uint64_t *bytes)
{
	char buf[256];
	unsigned long long pages;

	if (!read_line(pid, "statm", buf, sizeof buf) ||
	    sscanf(buf, "%*u %llu", &pages) != 1)
		return false;
	*bytes = pages * (uint64_t)sysconf(_SC_PAGESIZE);
	return true;
}

/* The time is kept as long as it may be needed. */
static bool
percent_now(struct level *l, uint64_t now, uint64_t cpu, uint64_t *percent)
{
	size_t old = 0;

	while (old + 1 < l->len && now - l->seen[old + 1].at >= l->span_ns)
		old++;
	if (old) {
		l->len -= old;
		memmove(l->seen, l->seen + old, l->len * sizeof *l->seen);
	}
	l->seen = xgrow(l->seen, &l->cap, l->len + 1, sizeof *l->seen);
	l->seen[l->len++] = (struct level_seen){ now, cpu };
	if (now - l->seen[0].at < l->span_ns)
		return false;
	*percent = (cpu - l->seen[0].cpu) * 100 / (now - l->seen[0].at);
	return true;
}

/* ---- handlers ------------------------------------------------------------ */

static bool
is_level(const struct handler *h)
{
	return h->kind == EVENT_LEVEL && !h->disabled;
}

static bool
look(struct shell *sh, struct handler *h, uint64_t now)
{
	struct level *l = &h->level;
	const pid_t pid = session_pid(sh->session);
	uint64_t raw, value;
	bool known;

	if (l->is_cpu)
		known = cpu_time(pid, &raw) && percent_now(l, now, raw, &value);
	else
		known = resident(pid, &value);
	if (!known)
		return false;

	const bool passes = value > l->limit && !l->passed;

	l->passed = value > l->limit;
	if (!passes || !handler_counts(sh, h, 0))
		return false;
	snprintf(sh->level, sizeof sh->level, "%llu",
		 (unsigned long long)value);
	shell_note(sh, l->is_cpu ? "(%d) cpu is %s %% of a processor" :
		   "(%d) rss is %s bytes", h->number, sh->level);
	return handler_fire(sh, h);
}

bool
levels_look(struct shell *sh)
{
	const uint64_t now = now_ns();

	if (now < sh->levels_due_ns || !target_alive(sh))
		return false;
	sh->levels_due_ns = now + SECOND_NS;
	for (int number = 1; number < sh->next_handler; number++) {
		struct handler *h = handler_numbered(sh, number);

		if (h && is_level(h) && look(sh, h, now))
			return true;
		if (!target_alive(sh))
			return true;
	}
	return false;
}

void
levels_reset(struct shell *sh)
{
	sh->levels_due_ns = 0;
	for (size_t i = 0; i < sh->handlers.len; i++) {
		struct handler *h = sh->handlers.items[i];

		h->level.passed = false;
		h->level.len = 0;
	}
}
