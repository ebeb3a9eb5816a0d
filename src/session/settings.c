/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * What to collect, and the words for it: intervals, frequencies, durations.
 */
#include "private.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#define INTERVAL_ON	10007000ull	/* not a multiple of the 10 ms tick */
#define INTERVAL_HIGH	1007000ull
#define INTERVAL_LOW	100003000ull
#define INTERVAL_MIN	100000ull	/* 100 us: beyond 10 kHz targets starve */
#define INTERVAL_MAX	1000000000ull
#define STACK_KB_MAX	64
#define STACK_BYTES_MAX	65528u	/* the kernel copies no more */
#define DEPTH_MAX	65536	/* gprofng: man, LIMITS */
#define SAMPLE_PERIOD	1000000000ull
#define SYNC_US_MAX	1000000000
#define HEAP_INTERVAL_MIN	64u
#define HEAP_INTERVAL_MAX	(UINT64_C(1) << 30)

void
settings_init(struct settings *s)
{
	*s = (struct settings){
		.profile = true,
		.states = true,
		.sync_us = SESSION_CALIBRATE,
		.interval_ns = INTERVAL_ON,
		.engine = ENGINE_AUTO,
		.directory = xstrdup("."),
		.archive = SESSION_ARCHIVE_ON,
		.sample_period_ns = SAMPLE_PERIOD,
		.dbx_sample = true,
		.depth = DEPTH_MAX,
	};
}

void
settings_fini(struct settings *s)
{
	free(s->directory);
	free(s->experiment);
	free(s->notes);
	*s = (struct settings){0};
}

/* A number and its unit; false when there is no number. */
static bool
split_number(const char *word, double *number, const char **unit)
{
	char *end;

	errno = 0;
	*number = strtod(word, &end);
	*unit = end;
	return end != word && !errno && isfinite(*number);
}

static double
unit_ns(const char *unit, const char *bare)
{
	static const struct {
		const char *unit;
		double ns;
	} units[] = {
		{ "ns", 1 }, { "u", 1e3 }, { "us", 1e3 }, { "m", 1e6 },
		{ "ms", 1e6 }, { "s", 1e9 }, { "min", 60e9 }, { "h", 3600e9 },
	};

	if (!*unit)
		unit = bare;
	for (size_t i = 0; i < ARRAY_LEN(units); i++)
		if (strcmp(units[i].unit, unit) == 0)
			return units[i].ns;
	return 0;
}

static int
set_interval(struct settings *s, double ns, const char *word)
{
	if (!(ns > 0) || ns > INTERVAL_MAX) {
		fail(FAIL_USAGE, "interval '%s' is not between 100 us and 1 s",
		     word);
		return fail_remedy("use on (10 ms), hi (1 ms), lo (100 ms), "
				   "or a number of milliseconds such as 2.5");
	}
	s->asked_ns = (uint64_t)ns;
	s->interval_ns = ns < INTERVAL_MIN ? INTERVAL_MIN : (uint64_t)ns;
	s->profile = true;
	return 0;
}

int
settings_interval(struct settings *s, const char *word)
{
	static const struct {
		const char *word;
		uint64_t ns;
	} names[] = {
		{ "on", INTERVAL_ON }, { "hi", INTERVAL_HIGH },
		{ "high", INTERVAL_HIGH }, { "lo", INTERVAL_LOW },
		{ "low", INTERVAL_LOW },
	};
	double number;
	const char *unit;

	for (size_t i = 0; i < ARRAY_LEN(names); i++)
		if (strcmp(names[i].word, word) == 0)
			return set_interval(s, (double)names[i].ns, word);
	if (!split_number(word, &number, &unit))
		return set_interval(s, 0, word);
	return set_interval(s, number * unit_ns(unit, "m"), word);
}

int
settings_depth(struct settings *s, const char *frames, const char *kilobytes)
{
	long long depth, kb = 0;

	if (!str_number(frames, 2, DEPTH_MAX, &depth)) {
		fail(FAIL_USAGE, "depth '%s' is not between 2 and %d frames",
		     frames, DEPTH_MAX);
		return fail_remedy("use %d, as without a word", DEPTH_MAX);
	}
	if (kilobytes && !str_number(kilobytes, 1, STACK_KB_MAX, &kb)) {
		fail(FAIL_USAGE, "'%s' is not between 1 and %d KB of a stack, "
		     "which is what the kernel copies", kilobytes,
		     STACK_KB_MAX);
		return fail_remedy("engine remote copies whole stacks");
	}
	s->depth = (uint32_t)depth;
	if (kb)
		s->stack_bytes = kb == STACK_KB_MAX ? STACK_BYTES_MAX :
			(uint32_t)kb * 1024;
	return 0;
}

int
settings_frequency(struct settings *s, const char *word)
{
	double hz;
	const char *unit;

	if (!split_number(word, &hz, &unit) || (*unit && strcmp(unit, "Hz")) ||
	    hz < 1 || hz > 10000) {
		fail(FAIL_USAGE, "frequency '%s' is not between 1 and 10000",
		     word);
		return fail_remedy("give samples per CPU second, such as 997");
	}
	return set_interval(s, 1e9 / hz, word);
}

int
settings_engine(struct settings *s, const char *word)
{
	for (enum session_engine e = ENGINE_AUTO; e <= ENGINE_REMOTE; e++) {
		if (strcmp(settings_engine_name(e), word) == 0) {
			s->engine = e;
			return 0;
		}
	}
	fail(FAIL_USAGE, "'%s' is no engine", word);
	return fail_remedy("engines are auto, ring, inject and remote");
}

const char *
settings_engine_name(enum session_engine e)
{
	static const char *const names[] = {
		[ENGINE_AUTO] = "auto", [ENGINE_RING] = "ring",
		[ENGINE_INJECT] = "inject", [ENGINE_REMOTE] = "remote",
	};

	return names[e];
}

int
settings_duration(const char *word, uint64_t *ns)
{
	double number;
	const char *unit;

	if (split_number(word, &number, &unit)) {
		/* here a bare m is minutes: `-d 2m` */
		const double scale = strcmp(unit, "m") == 0 ?
			60e9 : unit_ns(unit, "s");

		if (number > 0 && scale > 0 && number * scale < 1e17) {
			*ns = (uint64_t)(number * scale);
			return 0;
		}
	}
	fail(FAIL_USAGE, "'%s' is no duration", word);
	return fail_remedy("write 30s, 500ms, 2m or 1h");
}

/* ---- tracing ------------------------------------------------------------- */

static int
take_switch(bool *to, const char *word, const char *what, const char *others)
{
	*to = strcmp(word, "on") == 0;
	if (*to || strcmp(word, "off") == 0)
		return 0;
	fail(FAIL_USAGE, "%s is on or off%s, not '%s'", what, others, word);
	return fail_remedy("sonde help record");
}

/* Bytes, or with K, M, G so many KiB, MiB, GiB; 0: that is no number. */
static uint64_t
bytes_of(const char *word)
{
	static const char units[] = "KMG";
	const char *unit, *found;
	double number;

	if (!split_number(word, &number, &unit) || number < 1)
		return 0;
	if (*unit) {
		found = strchr(units, *unit);
		if (!found || (unit[1] && strcmp(unit + 1, "iB") != 0 &&
			       strcmp(unit + 1, "B") != 0))
			return 0;
		number = ldexp(number, 10 * (int)(found - units + 1));
	}
	return number <= (double)HEAP_INTERVAL_MAX ? (uint64_t)number : 0;
}

int
settings_heap(struct settings *s, const char *word)
{
	uint64_t interval = 0;

	if (*word >= '0' && *word <= '9') {
		interval = bytes_of(word);
		if (interval < HEAP_INTERVAL_MIN) {
			fail(FAIL_USAGE, "one byte in '%s' of the heap: that "
			     "is not between 64 and 1G", word);
			return fail_remedy("use 512K, or on for every call");
		}
		word = "on";
	}
	s->heap_interval = interval;
	return take_switch(&s->heap, word, "tracing of the heap",
			   ", or bytes such as 512K");
}

int
settings_io(struct settings *s, const char *word)
{
	return take_switch(&s->io, word, "tracing of input and output", "");
}

int
settings_sync_threshold(struct settings *s, const char *word)
{
	long long us = 0;

	if (strcmp(word, "calibrate") == 0)
		us = SESSION_CALIBRATE;
	else if (strcmp(word, "all") != 0 &&
		 !str_number(word, 0, SYNC_US_MAX, &us)) {
		fail(FAIL_USAGE, "the threshold of waits is calibrate, all, or "
		     "microseconds up to %d, not '%s'", SYNC_US_MAX, word);
		return fail_remedy("collector synctrace threshold calibrate");
	}
	s->sync_us = us;
	return 0;
}

int
settings_sync(struct settings *s, const char *word)
{
	if (strcmp(word, "calibrate") != 0 && strcmp(word, "all") != 0 &&
	    (*word < '0' || *word > '9'))
		return take_switch(&s->sync, word, "tracing of waits",
				   ", calibrate, all, or microseconds");
	if (settings_sync_threshold(s, word) < 0)
		return -1;
	s->sync = true;
	return 0;
}
