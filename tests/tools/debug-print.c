/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * debug-print: the debug room on a core file, by commands on standard input;
 * what it says is compared with gdb's answers to the same.
 *
 *	debug-print CORE [PROGRAM] < commands
 *
 * print[/F] EXPR, whatis EXPR, ptype EXPR, whereis NAME, locals, args, where,
 * frame N, thread I, x/NFS EXPR, regs, floats, core, echo TEXT
 */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "debug.h"

static struct core *core;
static struct debug *debug;

static int
say_where(struct str *out)
{
	enum { FRAMES = 200 };
	const size_t n = debug_frames(debug, FRAMES);

	for (size_t i = 0; i < n; i++) {
		struct debug_frame f;

		if (debug_frame(debug, i, &f) < 0)
			return -1;
		str_addf(out, "#%zu 0x%" PRIx64 " ", i, f.pc);
		if (debug_frame_text(debug, i, out) < 0)
			return -1;
	}
	return 0;
}

/* x/4xw EXPR */
static int
examine(const char *words, struct str *out)
{
	char *end;
	const long count = strtol(words, &end, 10);
	char format = 'x';
	unsigned size = 0;
	uint64_t addr, of, next;

	for (; *end && *end != ' '; end++) {
		if (strchr("bhwg", *end))
			size = *end == 'b' ? 1 : *end == 'h' ? 2 :
			       *end == 'w' ? 4 : 8;
		else
			format = *end;
	}
	if (debug_address(debug, end, &addr, &of) < 0)
		return -1;
	return debug_examine(debug, addr, count > 0 ? (size_t)count : 1,
			     format, size, out, &next);
}

static int
say_core(struct str *out)
{
	uint64_t fault;
	const int sig = core_signal(core, &fault);

	str_addf(out, "program %s\ncommand %s\npid %d\nsignal %d at 0x%"
		 PRIx64 "\n", core_program(core), core_command(core),
		 (int)core_pid(core), sig, fault);
	for (size_t i = 0; i < core_threads(core); i++)
		str_addf(out, "thread %d\n", (int)core_thread(core, i)->tid);
	if (core_trouble(core))
		str_addf(out, "%s\n", core_trouble(core));
	return 0;
}

static int
obey(char *line, struct str *out)
{
	char *rest = strchr(line, ' ');
	char format = 0;

	if (rest)
		*rest++ = '\0';
	else
		rest = line + strlen(line);
	if (str_starts(line, "print/"))
		format = line[6];
	if (strcmp(line, "print") == 0 || format)
		return debug_print(debug, rest, format, out);
	if (strcmp(line, "whatis") == 0)
		return debug_whatis(debug, rest, out);
	if (strcmp(line, "ptype") == 0)
		return debug_ptype(debug, rest, out);
	if (strcmp(line, "whereis") == 0)
		return debug_whereis(debug, rest, out);
	if (strcmp(line, "locals") == 0)
		return debug_locals(debug, out);
	if (strcmp(line, "args") == 0)
		return debug_arguments(debug, out);
	if (strcmp(line, "dump") == 0)
		return debug_dump(debug, out);
	if (strcmp(line, "where") == 0)
		return say_where(out);
	if (strcmp(line, "regs") == 0)
		return debug_registers(debug, DEBUG_GENERAL, out);
	if (strcmp(line, "floats") == 0)
		return debug_registers(debug, DEBUG_FLOATS, out);
	if (strcmp(line, "core") == 0)
		return say_core(out);
	if (strcmp(line, "frame") == 0)
		return debug_select(debug, strtoul(rest, NULL, 10));
	if (str_starts(line, "x/")) {
		rest[-1] = ' ';
		return examine(line + 2, out);
	}
	if (strcmp(line, "thread") == 0) {
		if (core_select(core, strtoul(rest, NULL, 10)) < 0)
			return -1;
		debug_changed(debug);
		return 0;
	}
	if (strcmp(line, "echo") == 0) {
		str_addf(out, "%s\n", rest);
		return 0;
	}
	return fail(FAIL_USAGE, "no such command: %s", line);
}

int
main(int argc, char **argv)
{
	char *line = NULL;
	size_t cap = 0;
	ssize_t n;

	if (argc < 2)
		return 99;
	core = core_open(argv[1], argc > 2 ? argv[2] : NULL);
	if (!core) {
		printf("%s\n", fail_last()->reason);
		return 1;
	}
	debug = debug_new(&core_target, core);
	while ((n = getline(&line, &cap, stdin)) > 0) {
		struct str out = {0};

		if (line[n - 1] == '\n')
			line[n - 1] = '\0';
		if (obey(line, &out) < 0)
			str_addf(&out, "%s\n", fail_last()->reason);
		fputs(str_text(&out), stdout);
		str_fini(&out);
		fflush(stdout);
	}
	free(line);
	debug_free(debug);
	core_free(core);
	return 0;
}
