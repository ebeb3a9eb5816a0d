/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * What dbx takes on its command line: - PID, PROGRAM PID, -r; options that
 * sonde has no use for, and what does their work here.
 */
#include "foreign.h"
#include "private.h"

#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>

static const struct {
	char letter;
	const char *instead;
} options[] = {
	{ 'a', "sonde PROGRAM ARGUMENTS" },
	{ 'C', "sonde record --heap on PROGRAM looks after memory" },
	{ 'd', "-s FILE reads the file; remove it afterwards" },
	{ 'f', "sonde PROGRAM CORE says whether they fit" },
	{ 'I', "pathmap OLD NEW, in ~/.er.rc or here" },
	{ 'k', "there is no keyboard to save" },
	{ 'R', "man sonde; sonde help" },
	{ 'w', "dbxenv stack_max_size N; where" },
};

const char *
dbx_option_instead(char letter)
{
	for (size_t i = 0; i < ARRAY_LEN(options); i++)
		if (options[i].letter == letter)
			return options[i].instead;
	return NULL;
}

static bool
runs(const char *pid, const char *program)
{
	char *link = xasprintf("/proc/%s/exe", pid);
	char *path = target_program_path(program);
	struct stat its, named;
	const bool same = path &&
		foreign_stat(AT_FDCWD, link, &its, 0) == 0 &&
		stat(path, &named) == 0 && its.st_dev == named.st_dev &&
		its.st_ino == named.st_ino;

	free(path);
	free(link);
	fail_clear();
	return same;
}

/* A number behind a program is its argument, unless it is its process. */
const char *
dbx_process(int n, char **words)
{
	long long pid;

	if (n != 2 || !str_number(words[1], 1, 1 << 30, &pid))
		return NULL;
	return strcmp(words[0], "-") == 0 || runs(words[1], words[0]) ?
		words[1] : NULL;
}

bool
dbx_run(struct shell *sh)
{
	if (!sh->program) {
		fail(FAIL_USAGE, "-r: which program?");
		fail_remedy("sonde -r PROGRAM ARGUMENTS");
		return shell_judge(sh, FAILED);
	}
	(void)shell_run_text(sh, "run");
	if (sh->quitting || target_alive(sh))
		return !sh->quitting;
	if (sh->program_status < 0)
		return sh->interactive;
	sh->exit_status = status_of_program(sh->program_status);
	return !WIFEXITED(sh->program_status);
}
