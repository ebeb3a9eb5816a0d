/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * What a view gets when people look at it: lines as wide as the terminal,
 * color, a pager for what is longer than it, and the command that would be
 * next. Nothing of it where the output is a file or a pipe.
 */
#include "private.h"

#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <termios.h>
#include <unistd.h>

static bool
is_watched(const struct shell *sh)
{
	return sh->out == stdout && isatty(STDOUT_FILENO);
}

/* 0: unknown. The environment is obeyed first, as by other tools. */
static size_t
extent(const char *variable, bool rows)
{
	const char *text = getenv(variable);
	struct winsize size;
	long long n;

	if (text && str_number(text, 1, 100000, &n))
		return (size_t)n;
	if (ioctl(STDOUT_FILENO, TIOCGWINSZ, &size) < 0)
		return 0;
	return rows ? size.ws_row : size.ws_col;
}

/* ---- the pager ------------------------------------------------------ */

/* NULL: none is wanted. */
static const char *
pager_command(void)
{
	const char *own = getenv("SONDE_PAGER"), *any = getenv("PAGER");
	const char *term = getenv("TERM");

	if (own)
		return *own ? own : NULL;
	if (!term || !strcmp(term, "dumb"))
		return NULL;
	return any && *any ? any : "less";
}

static bool
wants_pager(const struct shell *sh)
{
	return is_watched(sh) && isatty(STDIN_FILENO) && !sh->batch &&
		!sh->in_body && viewer_is_text(sh->viewer) && pager_command();
}

static bool
is_longer(const char *text, size_t rows)
{
	size_t lines = 0;

	for (; rows && *text; text++)
		if (*text == '\n' && ++lines >= rows)
			return true;
	return false;
}

static void
exec_pager(int fd)
{
	origin_restore();
	(void)setenv("LESS", "FRX", 0);
	if (dup2(fd, STDIN_FILENO) >= 0)
		execl("/bin/sh", "sh", "-c", pager_command(), (char *)NULL);
	_exit(EXIT_NOT_FOUND);
}

/* false: there is no such pager. It reads a file, so we never wait for it to
 * read on. */
static bool
page(struct shell *sh, const char *text, size_t size)
{
	const int fd = memfd_create("report", MFD_CLOEXEC);
	int status = -1;
	pid_t pid = -1;

	fflush(stdout);
	if (fd >= 0 && write_all(fd, text, size) == 0 &&
	    lseek(fd, 0, SEEK_SET) == 0)
		pid = fork();
	if (pid == 0)
		exec_pager(fd);
	if (pid > 0)
		wait_for_child(sh, pid, &status);
	if (fd >= 0)
		close(fd);
	return pid > 0 && status_of_program(status) != EXIT_NOT_FOUND &&
		status_of_program(status) != EXIT_NOT_EXECUTABLE;
}

/* ---- a line of a table ------------------------------------------------- */

/* Characters of a text that is so wide; those of several bytes are one. */
static size_t
bytes_of(const char *text, size_t width)
{
	size_t n = 0;

	for (; text[n]; n++)
		if ((text[n] & 0xc0) != 0x80 && width-- == 0)
			break;
	return n;
}

void
people_print(struct shell *sh, const char *line)
{
	static const char more[] = "...";
	const size_t width = is_watched(sh) ? extent("COLUMNS", false) : 0;
	size_t n = strlen(line);

	if (width > sizeof more && bytes_of(line, width) < n)
		n = bytes_of(line, width - (sizeof more - 1));
	fprintf(sh->out, "%.*s%s\n", (int)n, line, line[n] ? more : "");
}

/* ---- a view --------------------------------------------------------- */

int
people_run(struct shell *sh, const struct view *view, size_t n,
	   char **words)
{
	const bool watched = is_watched(sh);
	char *text = NULL;
	size_t size;
	FILE *out = NULL;

	viewer_set_color(sh->viewer, watched && sh->color);
	viewer_set_width(sh->viewer, watched ? extent("COLUMNS", false) : 0);
	if (wants_pager(sh))
		out = open_memstream(&text, &size);

	const int rc = viewer_run(sh->viewer, view, n,
				  (const char *const *)words,
				  out ? out : sh->out);

	if (out) {
		fclose(out);
		if (!is_longer(text, extent("LINES", true)) ||
		    !page(sh, text, size))
			fwrite(text, 1, size, sh->out);
		free(text);
	}
	fflush(sh->out);
	return rc;
}

void
people_suggest(struct shell *sh, const struct view *view, const char *before,
	       const char *dash)
{
	const char *why = NULL;
	char *next;

	if (sh->quiet || sh->in_body || sh->batch || !is_watched(sh) ||
	    !isatty(STDERR_FILENO) || !viewer_is_text(sh->viewer))
		return;
	if (!(next = viewer_next(sh->viewer, view, &why)))
		return;
	fprintf(stderr, "next: %s%s%s   (%s)\n", before, dash, str_tame(next),
		why);
	free(next);
}
