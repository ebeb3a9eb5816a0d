/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * COMMANDS | PROGRAM: ours write, a program of the system reads.
 *
 * Whoever reads may be slow (a pager), and we must not wait for it: threads of
 * the target may stand at a `when` that we serve. A process between us takes
 * all at once and hands it on. It has none of our descriptors, so that nobody
 * takes it for us when we are gone. Its end, when nobody reads any more, is
 * an error of write here, never a signal (SIGPIPE is ignored).
 */
#include "private.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

enum { PIECE = 1 << 16 };
#define HELD_MAX ((size_t)1 << 30)

/* ---- the process between ------------------------------------------------- */

struct between {
	char *held;		/* [sent, len) is not handed on yet */
	size_t sent, len, cap;
	bool at_end;
};

static void
take(struct between *b)
{
	if (b->sent && b->sent >= b->len / 2) {
		memmove(b->held, b->held + b->sent, b->len - b->sent);
		b->len -= b->sent;
		b->sent = 0;
	}
	b->held = xgrow(b->held, &b->cap, b->len + PIECE, 1);

	const ssize_t n = read(STDIN_FILENO, b->held + b->len, PIECE);

	if (n > 0)
		b->len += (size_t)n;
	else if (n == 0 || errno != EINTR)
		b->at_end = true;
}

/* false: nobody reads. */
static bool
hand_on(struct between *b)
{
	const ssize_t n = write(STDOUT_FILENO, b->held + b->sent,
				b->len - b->sent);

	if (n > 0)
		b->sent += (size_t)n;
	return n > 0 || errno == EAGAIN || errno == EINTR;
}

static void
be_between(int from, int to)
{
	struct between b = {0};

	(void)signal(SIGINT, SIG_IGN);
	(void)signal(SIGTERM, SIG_IGN);
	(void)signal(SIGHUP, SIG_IGN);
	if (dup2(from, STDIN_FILENO) < 0 || dup2(to, STDOUT_FILENO) < 0 ||
	    fcntl(STDOUT_FILENO, F_SETFL, O_NONBLOCK) < 0)
		_exit(1);
	(void)close_range(STDERR_FILENO + 1, ~0U, 0);
	while (!b.at_end || b.sent < b.len) {
		struct pollfd fds[2] = {
			{ b.at_end || b.len - b.sent >= HELD_MAX ? -1 :
			  STDIN_FILENO, POLLIN, 0 },
			{ STDOUT_FILENO, b.sent < b.len ? POLLOUT : 0, 0 },
		};

		if (poll(fds, 2, -1) < 0)
			continue;
		if (fds[1].revents & POLLERR)
			break;
		if (fds[0].revents)
			take(&b);
		if (b.sent < b.len && fds[1].revents && !hand_on(&b))
			break;
	}
	_exit(0);
}

/* ---- both ends ----------------------------------------------------------- */

static pid_t
start_between(int from, int to)
{
	const pid_t pid = fork();

	if (pid == 0)
		be_between(from, to);
	return pid;
}

static void
end_process(pid_t pid)
{
	if (pid <= 0)
		return;
	(void)kill(pid, SIGKILL);	/* it may be gone */
	while (waitpid(pid, NULL, 0) < 0 && errno == EINTR)
		;
}

static void
close_both(int fds[2])
{
	if (fds[0] >= 0)
		close(fds[0]);
	if (fds[1] >= 0)
		close(fds[1]);
}

int
pipe_begin(struct shell *sh, const char *line, struct piped *p)
{
	int in[2] = { -1, -1 }, out[2] = { -1, -1 };

	*p = (struct piped){0};
	if (pipe2(in, O_CLOEXEC) == 0 && pipe2(out, O_CLOEXEC) == 0 &&
	    (p->reader = system_start(sh, line, out[0])) > 0 &&
	    (p->between = start_between(in[0], out[1])) > 0 &&
	    (p->file = fdopen(in[1], "w")))
		in[1] = -1;
	else
		fail_errno("| %.60s", line);
	close_both(in);
	close_both(out);
	if (p->file)
		return 0;
	end_process(p->between);
	end_process(p->reader);
	return -1;
}

/* What a program says is an answer; that there is none, or that it was ended,
 * is a failure. */
static enum result
judge(struct shell *sh, int status)
{
	const int code = status_of_program(status);

	if (WIFEXITED(status) && code < EXIT_NOT_EXECUTABLE) {
		sh->status = code;
		return ANSWERED;
	}
	if (WIFEXITED(status) && code <= EXIT_NOT_FOUND) {
		fail(FAIL_MISSING, "|: there is no such program");
		fail_remedy("only programs of the system read what commands "
			    "write; x=$(COMMANDS) for lines");
		return FAILED;
	}
	fail(FAIL_GENERAL, code == 128 + SIGINT ? "interrupted" :
	     "|: the program ended with status %d", code);
	shell_print_failure(sh);
	sh->status = sh->exit_status = code;
	return TOLD;
}

bool
pipe_has_reader(FILE *file)
{
	struct pollfd end = { fileno(file), POLLOUT, 0 };

	return !ferror(file) && !(poll(&end, 1, 0) > 0 &&
				  end.revents & POLLERR);
}

enum result
pipe_end(struct shell *sh, struct piped *p, enum result r)
{
	struct failure *why = fail_keep();	/* news may come meanwhile */
	int status = -1;

	(void)fclose(p->file);		/* who reads may have enough */
	wait_for_child(sh, p->reader, &status);
	end_process(p->between);
	fail_again(why);
	if (wait_end_by_signal(sh))
		return QUIT;
	return r == DONE || r == ANSWERED ? judge(sh, status) : r;
}
