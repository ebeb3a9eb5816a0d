/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Programs of the system: sh, and what reads a pipe.
 */
#include "private.h"

#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* What of ours the line asks for: name, value, name ... The tracer is asked
 * for some, which only we can do, not a child. */
static void
own_variables(struct shell *sh, const char *line, struct vec *out)
{
	static const char *const names[] = {
		"pid", "thread", "lwp", "proc", "prog", "exitcode",
		"experiment", "dllist", "dlobj", "sig", "sigstr", "sigcode",
		"sigaddr", "level", "sysname", "syscode", "sysresult",
		"firedhandlers", "handlers", "newhandlerid", "booting",
		"func", "file", "line", "vfunc", "vfile", "vline", "vlevel",
	};

	for (size_t i = 0; i < ARRAY_LEN(names); i++) {
		const char *value = !line || strstr(line, names[i]) ?
			shell_variable(sh, names[i]) : NULL;

		if (!value)
			continue;
		vec_push(out, xstrdup(names[i]));
		vec_push(out, xstrdup(value));
	}
	fail_clear();
}

/* In the child: our variables are in its environment, our output is its. */
static void
exec_shell(struct shell *sh, const char *line, const struct vec *own)
{
	const char *shell = getenv("SHELL");
	const size_t count = sh->params ? sh->params->n : 0;
	char **args = xcalloc(count + 5, sizeof *args);

	args[0] = (char *)"sh";
	args[1] = (char *)"-c";
	args[2] = (char *)line;
	args[3] = (char *)"sonde";
	for (size_t i = 0; i < count; i++)
		args[4 + i] = sh->params->items[i];
	for (size_t i = 0; i + 1 < sh->variables.len; i += 2)
		(void)setenv(sh->variables.items[i],
			     sh->variables.items[i + 1], 1);
	for (size_t i = 0; i + 1 < own->len; i += 2)
		(void)setenv(own->items[i], own->items[i + 1], 1);
	origin_restore();
	if (fileno(sh->out) != STDOUT_FILENO)
		(void)dup2(fileno(sh->out), STDOUT_FILENO);
	if (line)
		execv("/bin/sh", args);
	else
		execl(shell ? shell : "/bin/sh", shell ? shell : "sh",
		      (char *)NULL);
	_exit(EXIT_NOT_FOUND);
}

pid_t
system_start(struct shell *sh, const char *line, int input)
{
	struct vec own = {0};
	pid_t pid;

	own_variables(sh, line, &own);
	fflush(NULL);
	pid = fork();
	if (pid == 0) {
		if (input >= 0)
			(void)dup2(input, STDIN_FILENO);
		exec_shell(sh, line, &own);
	}
	vec_free_items(&own);
	return pid < 0 ? fail_errno("fork") : pid;
}

/* The line goes to the system's shell as it was typed: quotes, pipes and
 * redirections are its own. */
enum result
cmd_sh(struct shell *sh, size_t n, char **words)
{
	char *line = n == 1 ? NULL :
		sh->line && sh->line->raw ?
		xstrdup(sh->line->raw + sh->line->rest) :
		words_joined(n - 1, words + 1);
	int status = -1;
	const pid_t pid = system_start(sh, line, -1);

	free(line);
	if (pid < 0) {
		fail_in("sh");
		return FAILED;
	}
	wait_for_child(sh, pid, &status);
	if (wait_end_by_signal(sh))
		return QUIT;
	if (status == 0)
		return DONE;
	if (sh->tested) {
		sh->status = status_of_program(status);
		return ANSWERED;
	}
	fail(FAIL_GENERAL, "sh: the command ended with status %d",
	     status_of_program(status));
	return FAILED;
}
