/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Commands from a file or a pipe: lines are gathered until they are whole, and
 * run until one fails.
 */
#include "private.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

enum { FILES_MAX = 50 };	/* command files that run each other */

/* Commands that come through a pipe may be long in coming: meanwhile the
 * target's news are served. stdio must not hide what has come. */
static bool
next_line_is_there(struct shell *sh, FILE *file, bool from_pipe)
{
	if (!from_pipe)
		return true;
	if (wait_readable(sh, fileno(file)))
		return !sh->quitting && !sh->body_failed;
	sh->quitting = true;
	sh->exit_status = 128 + wait_signal;
	return false;
}

static bool
is_pipe(FILE *file)
{
	struct stat st;

	return fstat(fileno(file), &st) == 0 && !S_ISREG(st.st_mode) &&
	       setvbuf(file, NULL, _IONBF, 0) == 0;
}

/* Lines are gathered until braces and quotes are closed. */
static bool
run_stream(struct shell *sh, FILE *file, const char *name, bool is_script)
{
	struct source here = { .name = name, .up = sh->source,
			       .is_script = is_script };
	struct str text = {0};
	char *line = NULL;
	size_t cap = 0;
	ssize_t n;
	int number = 0;
	const bool from_pipe = is_pipe(file);
	bool going = true;

	sh->source = &here;
	sh->body_failed = false;
	while (going && (going = next_line_is_there(sh, file, from_pipe)) &&
	       (n = getline(&line, &cap, file)) >= 0) {
		number += 1 + here.taken;
		here.taken = 0;
		if (!text.len)
			here.line = number;
		str_addn(&text, line, (size_t)n);
		if (script_unfinished(str_text(&text)))
			continue;
		if (sh->echo)
			fprintf(sh->out, "%s%s", str_text(&text),
				line[n - 1] == '\n' ? "" : "\n");
		going = shell_run_text(sh, str_text(&text)) &&
			!sh->leaving.returns;
		str_clear(&text);
	}
	going |= sh->leaving.returns;
	sh->leaving.returns = false;
	if (going && text.len)
		going = shell_run_text(sh, str_text(&text));
	if (going && ferror(file) && errno != EINTR) {
		fail_errno("read command file %s", name);
		going = shell_judge(sh, FAILED);
	}
	str_fini(&text);
	free(line);
	sh->source = here.up;
	if (here.is_over) {
		sh->quitting = sh->wait_over = false;
		return true;
	}
	return going;
}

static FILE *
open_commands(const struct shell *sh, const char *path)
{
	int depth = 0;

	for (const struct source *s = sh->source; s; s = s->up)
		depth++;
	if (depth >= FILES_MAX) {
		fail(FAIL_USAGE, "%s: command files are nested too deep", path);
		fail_remedy("does a file run itself?");
		return NULL;
	}

	FILE *file = fopen(path, "re");

	if (!file)
		fail_errno("open command file %s", path);
	return file;
}

bool
shell_run_open_file(struct shell *sh, FILE *file, const char *name)
{
	const bool going = run_stream(sh, file, name, false);

	fclose(file);
	return going;
}

static bool
run_path(struct shell *sh, const char *path, bool is_script)
{
	if (strcmp(path, "-") == 0)
		return run_stream(sh, stdin, "stdin", is_script);

	FILE *file = open_commands(sh, path);

	if (!file) {
		shell_print_failure(sh);
		sh->exit_status = status_of_failure(fail_last()->kind);
		return false;
	}

	const bool going = run_stream(sh, file, path, is_script);

	fclose(file);
	return going;
}

bool
shell_run_with(struct shell *sh, size_t n, char **words, bool is_script)
{
	struct params mine = { .items = words + 1, .n = n - 1,
			       .name = words[0] };
	struct params *params = sh->params;
	bool going;

	if (n > 1)
		sh->params = &mine;
	going = run_path(sh, words[0], is_script);
	sh->params = params;
	return going;
}

bool
shell_run_file(struct shell *sh, const char *path)
{
	return run_path(sh, path, false);
}

bool
shell_run_script(struct shell *sh, const char *path)
{
	return run_path(sh, path, true);
}
