/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * One terminal for the prompt and the program that `run` started. The program
 * has a process group of its own in the background, so that Ctrl-C is ours:
 * it stops the program and gives the prompt back, as in dbx. A program that
 * reads from the terminal, or sets it, is stopped by the kernel (SIGTTIN,
 * SIGTTOU): then it gets the terminal, and its signals, until it stops.
 *
 * Only at a terminal, and only for commands typed there: in files and verbs
 * the program stays in our group, and the terminal's signals reach it as
 * without us.
 */
#include "private.h"

#include <signal.h>
#include <termios.h>
#include <unistd.h>

static struct termios ours;
static bool lent;

/* From the background the kernel would stop us for it. */
static void
give_to(pid_t group)
{
	sigset_t ttou, before;

	sigemptyset(&ttou);
	sigaddset(&ttou, SIGTTOU);
	sigprocmask(SIG_BLOCK, &ttou, &before);
	(void)tcsetpgrp(STDIN_FILENO, group);
	if (group == getpgrp())
		(void)tcsetattr(STDIN_FILENO, TCSADRAIN, &ours);
	sigprocmask(SIG_SETMASK, &before, NULL);
}

/* Who does not know would end the program where the prompt was meant. */
static void
tell_once(struct shell *sh, pid_t pid)
{
	static pid_t told;

	if (pid != told)
		shell_note(sh, "process %d has the terminal now, and gets "
			   "Ctrl-C; Ctrl-Z gives the prompt back\n  (with "
			   "dbxenv run_io pty before run, Ctrl-C does)", pid);
	told = pid;
}

static void
lend(struct shell *sh, pid_t pid)
{
	if (tcgetpgrp(STDIN_FILENO) == getpgrp() &&
	    tcgetattr(STDIN_FILENO, &ours) == 0) {
		tell_once(sh, pid);
		lent = true;
		give_to(pid);
	}
	(void)kill(-pid, SIGCONT);
}

bool
terminal_is_shared(const struct shell *sh)
{
	return sh->interactive && isatty(STDIN_FILENO);
}

void
terminal_reclaim(void)
{
	if (lent)
		give_to(getpgrp());
	lent = false;
}

bool
terminal_serve(struct shell *sh)
{
	pid_t pid = 0;
	const int sig = sh->own_group ? processes_halted(sh, &pid) : 0;

	switch (sig) {
	case SIGTTIN:
	case SIGTTOU:
		lend(sh, pid);
		return false;
	case SIGTSTP:			/* Ctrl-Z while it has the terminal */
		terminal_reclaim();
		(void)kill(-pid, SIGCONT);
		wait_signal = SIGINT;
		return true;
	default:
		return false;
	}
}
