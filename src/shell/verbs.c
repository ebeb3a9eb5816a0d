/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * The verbs of the command line, and those that are short: stop, doctor,
 * help. Words are checked before anything is printed or touched.
 */
#include "private.h"

#include <getopt.h>
#include <stdlib.h>
#include <string.h>

int
verb_failed(struct shell *sh)
{
	shell_print_failure(sh);
	return status_of_failure(fail_last()->kind);
}

/* A long option is a word of its own, a short one may be among others. */
const char *
option_wrong(char *const *argv)
{
	static char letter[3] = "-";

	if (optopt <= 0 || optopt > 127 || str_starts(argv[optind - 1], "--"))
		return argv[optind - 1];
	letter[1] = (char)optopt;
	return letter;
}

const char *
pid_option(int argc, char **argv)
{
	if (argc == 3 && (strcmp(argv[1], "-p") == 0 ||
			  strcmp(argv[1], "--pid") == 0))
		return argv[2];
	if (argc == 2 && str_starts(argv[1], "--pid=") && argv[1][6])
		return argv[1] + 6;
	if (argc == 2 && str_starts(argv[1], "-p") && argv[1][2])
		return argv[1] + 2;
	return NULL;
}

/* ---- stop ---------------------------------------------------------------- */

static int
verb_stop(struct shell *sh, int argc, char **argv)
{
	char *receipt;

	if (argc != 2) {
		fail(FAIL_USAGE, "stop: give the experiment being recorded");
		fail_remedy("sonde stop test.1.er");
		return verb_failed(sh);
	}
	if (session_stop_experiment(argv[1], &receipt) < 0) {
		fail_in("stop");
		return verb_failed(sh);
	}
	shell_note(sh, "%s", receipt);
	free(receipt);
	return 0;
}

/* ---- doctor -------------------------------------------------------------- */

struct findings {
	const struct shell *sh;
	int width;		/* of the subjects */
};

/* What mends the line before stands below it, to be copied. */
static void
print_finding(void *arg, bool ok, const char *subject, const char *text)
{
	const struct findings *f = arg;
	const struct shell *sh = f->sh;
	const char *mark = ok ? "ok" : "no";
	char *shown = str_tamed(text);

	if (strcmp(subject, "fix") == 0)
		fprintf(sh->out, "    %*s: %s\n", f->width, subject, shown);
	else if (sh->color)
		fprintf(sh->out, "\033[%sm%s\033[0m  %-*s  %s\n",
			ok ? "32" : "31", mark, f->width, subject, shown);
	else
		fprintf(sh->out, "%s  %-*s  %s\n", mark, f->width, subject,
			shown);
	free(shown);
}

static int
verb_doctor(struct shell *sh, int argc, char **argv)
{
	const char *word = pid_option(argc, argv);
	const pid_t pid = word ? target_find(word) : 0;
	struct findings f = { sh, pid ? 12 : 26 };

	if (!word && argc != 1) {
		fail(FAIL_USAGE, "doctor: nothing, or -p PID");
		fail_remedy("sonde doctor -p 4711");
		return verb_failed(sh);
	}

	/* what helps is to collect as root, not to ask again */
	if (pid > 0)
		fail_set_command(0, NULL);

	const int result = pid < 0 ? -1 :
		session_doctor(pid, print_finding, &f);

	if (result < 0) {
		fail_in("doctor");
		return verb_failed(sh);
	}
	/* it has been told with the findings */
	return result > 0 ? status_of_failure(fail_last()->kind) : 0;
}

static int
verb_help(struct shell *sh, int argc, char **argv)
{
	char **words = xcalloc((size_t)argc + 1, sizeof *words);

	for (int i = 0; i < argc; i++)
		words[i] = argv[i];

	const enum result r = shell_command(sh, (size_t)argc, words);

	free(words);
	if (r == FAILED)
		return verb_failed(sh);
	return r == USAGE ? EXIT_USAGE : 0;
}

void
verb_print_help(const struct verb *v, FILE *out)
{
	fprintf(out, "sonde %s %s\n  %s\n%s", v->name, v->args, v->help,
		v->details);
}

const struct verb verb_table[] = {
	{ "collect", "OPTIONS PROGRAM [ARGUMENTS]",
	  "record a program, with the options of collect(1)",
	  "  -p on|off|lo|hi|N[m|u]  clock profiling and its interval\n"
	  "  -S on|off|SECONDS       resource samples\n"
	  "  -H on|off               each call that gives or takes memory\n"
	  "  -t N[m|s]               record for so long\n"
	  "  -o NAME.er, -d DIR      the experiment's name and directory\n"
	  "  -A on|off|copy          copy load objects into it\n"
	  "  -L MB|unlimited         stop sampling at this size\n"
	  "  -C TEXT                 a comment for its notes\n"
	  "  -O FILE                 append our messages to a file\n"
	  "  -P PID                  record a running process instead\n"
	  "  -n, -v, -V              dry run, verbose, version\n"
	  "  for example: sonde collect -p hi -o run.1.er ./server -v\n",
	  verb_collect },
	{ "doctor", "[-p PID]",
	  "say what works here, or with a process, and how to mend it",
	  "  for example: sonde doctor -p 4711\n", verb_doctor },
	{ "dump", "-p PID [--json] [-consistent]",
	  "print the stacks of all threads, and what each waits for",
	  "  Threads that wait are not stopped.\n"
	  "  --json          for programs; the manual page tells the fields\n"
	  "  -consistent     all threads of one moment: all stop for it\n"
	  "  for example: sonde dump -p 4711\n", verb_dump },
	{ "help", "[COMMAND]", "tell about verbs and commands",
	  "  for example: sonde help record\n", verb_help },
	{ "record", "(-p PID[,PID]|NAME [--children] | [--] PROGRAM "
	  "[ARGUMENTS])\n"
	  "         [-o EXP.er | -O EXP.er] [-d 30s] [-i 1ms | -F 997]\n"
	  "         [--engine auto|ring|inject|remote] [--depth FRAMES[,KB]]\n"
	  "         [--no-states] [--creators] [--heap[=BYTES]]\n"
	  "         [--sync[=all|MICROSECONDS]] [--io] [--trace-wait MS]\n"
	  "         [--last 10s] [--anywhere] [-q]",
	  "profile a running process, or a program from its start",
	  "  -p PID         the process; several with commas, or its name\n"
	  "  --children     its children too\n"
	  "  -o EXP.er      name of the experiment (default test.N.er); -O\n"
	  "                 replaces one of that name\n"
	  "  -d 30s         for so long (default: until Ctrl-C or its end)\n"
	  "  -i 1ms, -F 997 interval of CPU time, or samples per CPU second\n"
	  "  --engine E     auto, ring (nothing is put into the process),\n"
	  "                 inject, or remote (short stops, from outside)\n"
	  "  --depth F,KB   frames of a stack; KB of it that ring copies\n"
	  "  --no-states    CPU time only, and not the time of threads that "
	  "wait\n"
	  "  --creators     also who created each thread, and where\n"
	  "  --heap         also each call that gives or takes memory;\n"
	  "                 =512K the blocks of one byte in so many\n"
	  "  --sync         also waits for locks and their like: those that\n"
	  "                 had to wait; =all each call; =N from N us on\n"
	  "  --io           also calls that read, write, open or close\n"
	  "  --trace-wait   how many ms such a call may wait where records\n"
	  "                 find no room (20; 0: never, they are counted)\n"
	  "  --last 10s     keep only the last 10 s, in memory; written at the end\n"
	  "  --anywhere     as root, write also where other users may write\n"
	  "  -q             only failures are told\n"
	  "  for example: sonde record -p 4711 -d 10s\n"
	  "  then:        sonde report test.1.er -functions\n",
	  verb_record },
	{ "report", "EXP.er... [-COMMAND [ARGUMENTS]]... "
	  "[--format FORMAT]",
	  "show experiments; without a command: functions, limit 20",
	  "  -COMMAND        any view or setting that `sonde help` lists\n"
	  "  --format text|html|csv|json   tables; json is for programs: the\n"
	  "                  manual page tells its fields\n"
	  "  --format folded|speedscope|pprof   stacks, for other tools\n"
	  "  --no-rc         as if there were no .er.rc files\n"
	  "  for example: sonde report test.1.er -limit 10 -functions "
	  "-calltree\n", verb_report },
	{ "selftest", "[N]", "see here that visited processes live on as "
	  "before",
	  "  Attaches to a program that comes with sonde, collects and\n"
	  "  detaches, N times (20), by each engine, and tells what the\n"
	  "  program saw of it, how long its threads stood, and what is\n"
	  "  not available here. Status 1 when harm was done.\n"
	  "  for example: sonde selftest 100\n", verb_selftest },
	{ "stop", "EXP.er", "end a recording from another terminal",
	  "  for example: sonde stop test.1.er\n", verb_stop },
	{ "why", "-p PID", "say who waits for whom, and name the ring of a "
	  "deadlock", "  for example: sonde why -p 4711\n", verb_why },
	{ 0 }
};

const struct verb *
verb_find(const char *name)
{
	for (const struct verb *v = verb_table; v->name; v++)
		if (strcmp(v->name, name) == 0)
			return v;
	return NULL;
}
