/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * The one failure of this process: kind, reason, remedy. Rooms record, the
 * shell prints. A later failure replaces an earlier one; fail_in adds context
 * on the way up.
 */
#include "base.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <unistd.h>

static struct {
	enum fail_kind kind;
	char *reason, *remedy, *choices;
} last;

static char *name;		/* how we are called; NULL: sonde */
static char *command;		/* NULL: one word, or never set */

static void
set(enum fail_kind kind, char *reason)
{
	free(last.reason);
	free(last.remedy);
	free(last.choices);
	last.kind = kind;
	last.reason = reason ? str_tame_lines(reason) : NULL;
	last.remedy = NULL;
	last.choices = NULL;
}

static enum fail_kind
kind_of_errno(int error)
{
	switch (error) {
	case ESRCH:
	case ENOENT:
		return FAIL_MISSING;
	case EPERM:
	case EACCES:
		return FAIL_DENIED;
	default:
		return FAIL_GENERAL;
	}
}

int
fail(enum fail_kind kind, const char *fmt, ...)
{
	va_list ap;

	va_start(ap, fmt);
	char *reason = xvasprintf(fmt, ap);
	va_end(ap);
	set(kind, reason);
	return -1;
}

int
fail_errno(const char *fmt, ...)
{
	const int error = errno;
	va_list ap;

	va_start(ap, fmt);
	char *what = xvasprintf(fmt, ap);
	va_end(ap);
	set(kind_of_errno(error), xasprintf("%s: %s", what, strerror(error)));
	free(what);
	errno = error;
	return -1;
}

int
fail_in(const char *fmt, ...)
{
	va_list ap;

	va_start(ap, fmt);
	char *words = xvasprintf(fmt, ap);
	va_end(ap);
	char *reason = xasprintf("%s: %s", words, fail_last()->reason);
	free(words);
	free(last.reason);
	last.reason = str_tame_lines(reason);
	if (last.kind == FAIL_NONE)
		last.kind = FAIL_GENERAL;
	return -1;
}

int
fail_remedy(const char *fmt, ...)
{
	va_list ap;

	va_start(ap, fmt);
	free(last.remedy);
	last.remedy = str_tame_lines(xvasprintf(fmt, ap));
	va_end(ap);
	return -1;
}

int
fail_choice(const char *fmt, ...)
{
	va_list ap;

	va_start(ap, fmt);
	char *line = str_tame(xvasprintf(fmt, ap));
	va_end(ap);
	char *lines = xasprintf("%s%s\n", last.choices ? last.choices : "",
				line);
	free(line);
	free(last.choices);
	last.choices = lines;
	return -1;
}

const struct failure *
fail_last(void)
{
	static struct failure view;

	view.kind = last.kind;
	view.reason = last.reason ? last.reason : "no failure was recorded";
	view.remedy = last.remedy ? last.remedy : "";
	view.choices = last.choices ? last.choices : "";
	return &view;
}

void
fail_clear(void)
{
	set(FAIL_NONE, NULL);
}

struct failure *
fail_keep(void)
{
	struct failure *kept = xcalloc(1, sizeof *kept);

	*kept = (struct failure){
		.kind = last.kind,
		.reason = last.reason ? xstrdup(last.reason) : NULL,
		.remedy = last.remedy ? xstrdup(last.remedy) : NULL,
		.choices = last.choices ? xstrdup(last.choices) : NULL,
	};
	return kept;
}

void
fail_again(struct failure *kept)
{
	set(kept->kind, (char *)kept->reason);
	last.remedy = (char *)kept->remedy;
	last.choices = (char *)kept->choices;
	free(kept);
}

/* ---- the same again as root ---------------------------------------------- */

/* sudo looks for names in places of its own: ours is named as it was, and
 * where it is not there, in full. */
static char *
our_name(const char *typed)
{
	static const char *const usual[] = {
		"/usr/local/bin/sonde", "/usr/bin/sonde", "/bin/sonde",
	};
	char *path;

	if (strchr(typed, '/'))
		return xstrdup(typed);
	path = realpath("/proc/self/exe", NULL);
	for (size_t i = 0; path && i < ARRAY_LEN(usual); i++)
		if (strcmp(path, usual[i]) == 0) {
			free(path);
			path = NULL;
		}
	return path ? path : xstrdup("sonde");
}

void
fail_set_command(int argc, char **argv)
{
	struct str line = {0};

	free(command);
	command = NULL;
	if (argc > 0) {
		free(name);
		name = our_name(argv[0]);
	}
	if (argc < 2)
		return;
	str_add_quoted(&line, name);
	for (int i = 1; i < argc; i++) {
		str_add(&line, " ");
		str_add_quoted(&line, argv[i]);
	}
	command = str_take(&line);
}

static bool
is_there(const char *dirs, const char *file)
{
	while (*dirs) {
		const size_t n = strcspn(dirs, ":");
		char *path = xasprintf("%.*s/%s", (int)n, dirs, file);
		const bool found = access(path, X_OK) == 0;

		free(path);
		if (found)
			return true;
		dirs += n + (dirs[n] == ':');
	}
	return false;
}

const char *
fail_sudo(void)
{
	const char *path = getenv("PATH");

	if (geteuid() == 0)
		return "";
	/* sudo refuses where no new privileges may be had */
	if (prctl(PR_GET_NO_NEW_PRIVS, 0, 0, 0, 0) == 1)
		return "in another terminal, as root: ";
	return path && is_there(path, "sudo") ? "sudo " : "as root: ";
}

char *
fail_setcap(const char *capabilities)
{
	char *path = realpath("/proc/self/exe", NULL);
	char *text = xasprintf("%ssetcap %s=ep %s", fail_sudo(), capabilities,
			       path ? path : "sonde");

	free(path);
	return text;
}

int
fail_remedy_write(const char *word, const char *dir, const char *file,
		  const char *more)
{
	const char *sudo = fail_sudo();

	if (strcmp(sudo, "sudo ") == 0)
		return fail_remedy("echo %s | sudo tee %s/%s%s", word, dir,
				   file, more);
	return fail_remedy("%secho %s > %s/%s%s", sudo, word, dir, file, more);
}

char *
fail_root_command(int pid)
{
	return command ? xasprintf("%s%s", fail_sudo(), command) :
		xasprintf("%s%s -p %d", fail_sudo(), name ? name : "sonde",
			  pid);
}

int
fail_remedy_root(int pid)
{
	char *text = fail_root_command(pid);
	const int result = fail_remedy("%s", text);

	free(text);
	return result;
}
