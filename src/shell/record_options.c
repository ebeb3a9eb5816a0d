/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * The words behind `record`: options first, then a program and its arguments.
 */
#include "recording.h"

#include <getopt.h>
#include <stdlib.h>
#include <string.h>

int
record_usage(void)
{
	fail(FAIL_USAGE, "record: give -p PID, or a program");
	return fail_remedy("sonde help record");
}

/* FRAMES or FRAMES,KB */
static int
take_depth(struct settings *s, const char *value)
{
	char *frames = xstrdup(value), *comma = strchr(frames, ',');
	int result;

	if (comma)
		*comma = '\0';
	result = settings_depth(s, frames, comma ? comma + 1 : NULL);
	free(frames);
	return result;
}

static int
take_option(struct recording *r, int letter, const char *value)
{
	struct settings *s = &r->sh->settings;

	switch (letter) {
	case 'p':
		if (r->pids) {
			fail(FAIL_USAGE, "record: -p is given twice");
			return fail_remedy("-p %s,%s", r->pids, value);
		}
		r->pids = value;
		return 0;
	case 'o':
	case 'O':
		if (!str_ends(value, ".er")) {
			fail(FAIL_USAGE, "experiment name '%s' does not end "
			     "in .er", value);
			return fail_remedy("-%c %s.er", letter, value);
		}
		free(s->experiment);
		s->experiment = xstrdup(value);
		s->overwrite = letter == 'O';
		return 0;
	case 'd':
		return settings_duration(value, &r->duration_ns);
	case 'i':
		return shell_interval(r->sh, value);
	case 'F':
		return settings_frequency(s, value);
	case 'e':
		return settings_engine(s, value);
	case 'D':
		return take_depth(s, value);
	case 'C':
		r->children = s->children = true;
		return 0;
	case 'T':
		s->states = true;
		return 0;
	case 'N':
		s->states = false;
		return 0;
	case 'R':
		s->creators = true;
		return 0;
	case 'H':
		return settings_heap(s, value ? value : "on");
	case 'Y':
		return settings_sync(s, value ? value : "on");
	case 'W':
		return settings_trace_wait(s, value);
	case 'I':
		return settings_io(s, "on");
	case 'L':
		return settings_duration(value, &s->keep_ns);
	case 'q':
		r->sh->quiet = true;
		return 0;
	case 'A':
		r->sh->anywhere = true;
		return 0;
	case 'S':
		s->seed = (unsigned)strtoul(value, NULL, 0);
		return 0;
	default:
		return record_usage();
	}
}

int
record_options(struct recording *r, int argc, char **argv)
{
	static const struct option longs[] = {
		{ "pid", required_argument, NULL, 'p' },
		{ "duration", required_argument, NULL, 'd' },
		{ "interval", required_argument, NULL, 'i' },
		{ "freq", required_argument, NULL, 'F' },
		{ "engine", required_argument, NULL, 'e' },
		{ "depth", required_argument, NULL, 'D' },
		{ "children", no_argument, NULL, 'C' },
		{ "states", no_argument, NULL, 'T' },
		{ "no-states", no_argument, NULL, 'N' },
		{ "creators", no_argument, NULL, 'R' },
		{ "heap", optional_argument, NULL, 'H' },
		{ "sync", optional_argument, NULL, 'Y' },
		{ "io", no_argument, NULL, 'I' },
		{ "trace-wait", required_argument, NULL, 'W' },
		{ "last", required_argument, NULL, 'L' },
		{ "quiet", no_argument, NULL, 'q' },
		{ "anywhere", no_argument, NULL, 'A' },
		{ "donor-seed", required_argument, NULL, 'S' },
		{ 0 }
	};
	int letter;

	opterr = 0;
	optind = 0;		/* begin anew */
	while ((letter = getopt_long(argc, argv, "+p:o:O:d:i:F:q", longs,
				     NULL)) >= 0) {
		if (letter == '?') {
			fail(FAIL_USAGE, "record: option '%s' is unknown or "
			     "lacks its value", option_wrong(argv));
			return fail_remedy("sonde help record");
		}
		if (take_option(r, letter, optarg) < 0)
			return -1;
	}
	if (optind < argc)
		r->program = argv + optind;
	if (r->pids && *r->pids == '-') {
		fail(FAIL_USAGE, "record: -p lacks its process: '%s' is an "
		     "option", r->pids);
		return fail_remedy("-p PID, or -p NAME; ps -ef lists them");
	}
	if (r->pids && r->program) {
		fail(FAIL_USAGE, "record: -p %s and a program '%s' do not go "
		     "together", r->pids, r->program[0]);
		return fail_remedy("options begin with -; for the process "
				   "alone: sonde record -p %s", r->pids);
	}
	if (!r->pids && !r->program)
		return record_usage();
	if (r->children && !r->pids) {
		fail(FAIL_USAGE, "record: --children goes with -p");
		return fail_remedy("sonde record -p PID --children");
	}
	return 0;
}
