/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * An rc file as the shell runs it: ./.sonderc of whoever has written the
 * directory; and again as if somebody had typed it, where a failure is not the
 * end. All commands are there but nothing leaves this process: no
 * process is entered, begun or killed, no file is written, no variable is set.
 * Linked with --wrap of what would (wraps in run, Makefile.am).
 */
#include <errno.h>

#include "../../src/shell/private.h"
#include "fuzz-experiment.h"

static bool inside;
static FILE *null;

FILE *__real_fopen(const char *path, const char *mode);
FILE *__wrap_fopen(const char *path, const char *mode);
pid_t __wrap_fork(void);
int __wrap_setenv(const char *name, const char *value, int over);
struct session *__wrap_session_attach(pid_t pid, bool hold);
struct session *__wrap_session_launch(const struct session_launch *l);

/* Only plain names are read; what is written goes nowhere. */
FILE *
__wrap_fopen(const char *path, const char *mode)
{
	if (inside && *mode != 'r')
		return __real_fopen("/dev/null", mode);
	if (inside && strchr(path, '/')) {
		errno = ENOENT;
		return NULL;
	}
	return __real_fopen(path, mode);
}

pid_t
__wrap_fork(void)
{
	errno = EAGAIN;
	return -1;
}

int
__wrap_setenv(const char *name, const char *value, int over)
{
	fuzz_used += fuzz_use(name) + fuzz_use(value) + (size_t)over;
	return 0;
}

struct session *
__wrap_session_attach(pid_t pid, bool hold)
{
	fuzz_used += (size_t)pid + hold;
	(void)fail(FAIL_MISSING, "there is no process");
	return NULL;
}

struct session *
__wrap_session_launch(const struct session_launch *l)
{
	char **word;

	for (word = (char **)l->argv; *word; word++)
		fuzz_used += fuzz_use(*word);
	(void)fail(FAIL_MISSING, "there is no program");
	return NULL;
}

static void
run(const char *name)
{
	FILE *file = file_open_private(".sonderc");
	FILE *out = stdout, *err = stderr;
	struct shell sh;

	if (!file)
		fuzz_broken(".sonderc");
	stdout = stderr = null;
	inside = true;
	shell_init(&sh);
	sh.interactive = !name;
	sh.echo = name;
	vec_push(&sh.viewed, xstrdup(FUZZ_EXPERIMENT));
	(void)shell_run_open_file(&sh, file, name);
	shell_fini(&sh);
	inside = false;
	stdout = out;
	stderr = err;
}

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	if (fuzz_enter()) {
		fuzz_make_experiment();
		null = fopen("/dev/null", "w");
	}
	fuzz_file(".sonderc", data, size);
	run("./.sonderc");
	run(NULL);
	fail_clear();
	return 0;
}
