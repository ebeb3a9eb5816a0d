/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * A terminal for the program alone (dbxenv run_io pty): a new one, of which we
 * copy the output to ours, and ours' input to it, while we wait for the
 * program. It has a session of its own there, jobs too. Where our input is
 * commands, nothing is copied to it.
 *
 * At our terminal Ctrl-C stays ours, every other key is the program's. Our end
 * of its terminal is closed when its session ends: what is left of it hears
 * SIGHUP, as from any terminal that goes.
 */
#include "private.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <termios.h>
#include <unistd.h>

enum {
	BYTES = 4096,
	PRINT_MOST = 256 << 10,	/* more than a terminal holds */
};

struct pty {
	char name[64];
	int master;
	int slave;		/* ours: no end before the program's */
	struct winsize size;
	char input[BYTES];	/* that it has not taken yet */
	size_t len;
	bool ended;		/* our input */
	bool in_line;		/* its last character is no newline */
	bool raw;
	struct termios before;
};

static void
set_size(struct pty *p)
{
	struct winsize now = { .ws_row = 24, .ws_col = 80 };

	if (ioctl(STDIN_FILENO, TIOCGWINSZ, &now) < 0)
		(void)ioctl(STDOUT_FILENO, TIOCGWINSZ, &now);
	if (memcmp(&now, &p->size, sizeof now) == 0)
		return;
	p->size = now;
	(void)ioctl(p->master, TIOCSWINSZ, &now);
}

int
pty_open(struct shell *sh)
{
	struct pty *p;

	pty_close(sh);
	if (!sh->run_pty)
		return 0;
	sh->pty = p = xcalloc(1, sizeof *p);
	p->slave = -1;
	p->master = posix_openpt(O_RDWR | O_NOCTTY | O_NONBLOCK | O_CLOEXEC);
	if (p->master < 0 || grantpt(p->master) < 0 ||
	    unlockpt(p->master) < 0 ||
	    ptsname_r(p->master, p->name, sizeof p->name) != 0 ||
	    (p->slave = open(p->name, O_RDWR | O_NOCTTY | O_CLOEXEC)) < 0) {
		fail_errno("a terminal for %s", sh->program[0]);
		pty_close(sh);
		return fail_remedy("dbxenv run_io stdio");
	}
	set_size(p);
	return 0;
}

const char *
pty_name(const struct shell *sh)
{
	return sh->pty ? sh->pty->name : NULL;
}

void
pty_close(struct shell *sh)
{
	struct pty *p = sh->pty;

	if (!p)
		return;
	pty_rest(sh);
	if (p->slave >= 0)
		(void)close(p->slave);
	if (p->master >= 0)
		(void)close(p->master);
	free(p);
	sh->pty = NULL;
}

/* ---- our terminal -------------------------------------------------------- */

/* Its keys as they come; line ends of what is printed remain. */
static void
take_keys(struct pty *p)
{
	struct termios t;

	if (p->raw || tcgetpgrp(STDIN_FILENO) != getpgrp() ||
	    tcgetattr(STDIN_FILENO, &p->before) < 0)
		return;
	t = p->before;
	t.c_lflag &= ~(tcflag_t)(ICANON | ECHO | IEXTEN);
	t.c_iflag &= ~(tcflag_t)(ICRNL | INLCR | IGNCR | IXON);
	t.c_cc[VQUIT] = t.c_cc[VSUSP] = _POSIX_VDISABLE;
	t.c_cc[VMIN] = 1;
	t.c_cc[VTIME] = 0;
	p->raw = tcsetattr(STDIN_FILENO, TCSADRAIN, &t) == 0;
}

void
pty_rest(struct shell *sh)
{
	struct pty *p = sh->pty;

	if (p && p->raw)
		(void)tcsetattr(STDIN_FILENO, TCSADRAIN, &p->before);
	if (p)
		p->raw = false;
}

/* ---- both ways ----------------------------------------------------------- */

static void
print_some(const struct pty *p, size_t most)
{
	char text[BYTES];
	ssize_t n = 1;

	fflush(stdout);
	for (size_t done = 0; n > 0 && done < most; done += (size_t)n) {
		n = read(p->master, text, sizeof text);
		if (n <= 0 || write_all(STDOUT_FILENO, text, (size_t)n) < 0)
			return;		/* nobody reads it */
	}
}

/* A thread that waits until it has written all cannot be stopped. */
static void
serve(void *arg)
{
	print_some(arg, BYTES);
}

void
pty_begin(struct shell *sh)
{
	if (sh->pty)
		session_serve(sh->session, sh->pty->master, serve, sh->pty);
}

/* What it has printed so far. It may go on faster than ours shows it. */
void
pty_print(struct shell *sh)
{
	if (sh->pty)
		print_some(sh->pty, PRINT_MOST);
}

/* Twice where a line has begun: the first one ends that. */
static void
end_input(struct pty *p)
{
	struct termios t;
	char end = 'D' & 0x1f;

	if (tcgetattr(p->slave, &t) == 0 && t.c_cc[VEOF] != _POSIX_VDISABLE)
		end = (char)t.c_cc[VEOF];
	if (p->in_line)
		p->input[p->len++] = end;
	p->input[p->len++] = end;
	p->ended = true;
}

static void
read_input(struct pty *p)
{
	const ssize_t n = read(STDIN_FILENO, p->input, BYTES - 2);

	if (n < 0 && (errno == EINTR || errno == EAGAIN))
		return;
	if (n <= 0) {
		end_input(p);
		return;
	}
	p->len = (size_t)n;
	p->in_line = p->input[n - 1] != '\n' && p->input[n - 1] != '\r';
}

static void
write_input(struct pty *p)
{
	const ssize_t n = write(p->master, p->input, p->len);

	if (n <= 0)
		return;
	p->len -= (size_t)n;
	memmove(p->input, p->input + n, p->len);
}

void
pty_serve(struct shell *sh, int ms)
{
	struct pty *p = sh->pty;
	const bool reads = !p->ended && !sh->in_commands;

	if (reads)
		take_keys(p);
	set_size(p);

	struct pollfd fds[3] = {
		{ session_fd(sh->session), POLLIN, 0 },
		{ p->master, (short)(POLLIN | (p->len ? POLLOUT : 0)), 0 },
		{ reads && !p->len ? STDIN_FILENO : -1, POLLIN, 0 },
	};

	if (poll(fds, 3, ms) <= 0)
		return;
	if (fds[1].revents & POLLIN)
		print_some(p, BYTES);
	if (fds[1].revents & POLLOUT)
		write_input(p);
	if (fds[2].revents)
		read_input(p);
}
