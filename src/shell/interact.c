/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * The keyboard: readline with history, while the target may make news at any
 * moment. Both descriptors are polled; news is printed above the prompt.
 */
#include "config.h"
#include "private.h"

#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <readline/history.h>
#include <readline/readline.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum { HISTORY_MAX = 2000 };

static struct shell *shell_of_line;
static struct str pending;
static bool line_done, at_end;

static const char *
prompt(const struct shell *sh)
{
	static char text[96];

	if (pending.len)
		return "> ";
	if (!sh->session || session_state(sh->session) == SESSION_ENDED)
		return "(sonde) ";
	snprintf(text, sizeof text, "(sonde %d %s) ",
		 session_pid(sh->session),
		 session_state(sh->session) == SESSION_STOPPED ?
		 "stopped" : "running");
	return text;
}

/* Is there, or is made, where nobody else may put anything. */
static bool
make_directory(const char *dir)
{
	char *parent;
	bool made;

	if (access(dir, F_OK) == 0)
		return directory_trust(AT_FDCWD, dir, TRUST_TO_OBEY) == 0;
	parent = xstrdup(dir);
	*strrchr(parent, '/') = '\0';
	made = *parent && make_directory(parent) && mkdir(dir, 0700) == 0;
	free(parent);
	return made;
}

/* $XDG_STATE_HOME/sonde/history; NULL when there is no home. */
static char *
history_file(void)
{
	const char *base = getenv("XDG_STATE_HOME"), *home = getenv("HOME");
	char *dir;

	if (base && *base == '/')
		dir = xasprintf("%s/sonde", base);
	else if (home && *home == '/')
		dir = xasprintf("%s/.local/state/sonde", home);
	else
		return NULL;

	char *file = xasprintf("%s/history", dir);

	/* sudo may leave a root the home of another, whose links lead anywhere */
	if (!path_is_safe(file) || !make_directory(dir)) {
		free(file);
		file = NULL;
	}
	free(dir);
	return file;
}

static void
remember(const char *line)
{
	const HIST_ENTRY *last = history_length ?
		history_get(history_base + history_length - 1) : NULL;

	if (*line && (!last || strcmp(last->line, line) != 0))
		add_history(line);
}

/* History is at the beginning of a line: elsewhere it is C's !, as in
 * `print !done`, and that of an alias, !:1. */
static int
is_not_history(char *line, int at)
{
	return (size_t)at > strspn(line, " \t");
}

/* !! and !n as in csh; readline's own library does it. */
static char *
expand_history(char *line)
{
	char *expanded = NULL;
	const int result = history_expand(line, &expanded);

	if (result < 0) {
		fprintf(stderr, "sonde: %s\n", expanded);
		free(expanded);
		free(line);
		return NULL;
	}
	if (result > 0)
		puts(expanded);
	free(line);
	return expanded;
}

static void
on_line(char *line)
{
	struct shell *sh = shell_of_line;

	rl_callback_handler_remove();
	line_done = true;
	if (!line) {
		at_end = true;
		putchar('\n');
		return;
	}
	if (!(line = expand_history(line)))
		return;
	remember(line);
	str_add(&pending, line);
	str_add(&pending, "\n");
	free(line);
	if (script_unfinished(str_text(&pending)))
		return;

	char *text = str_take(&pending);

	if (sh->echo)
		fputs(text, sh->out);
	(void)shell_run_text(sh, text);
	free(text);
}

static void
on_interrupt(void)
{
	wait_signal = 0;
	str_clear(&pending);
	rl_callback_sigcleanup();
	rl_replace_line("", 0);
	fputs("^C\n", stdout);
	rl_callback_handler_remove();
	line_done = true;
}

/* A signal that came before we slept must not be slept over. */
static int
sleep_until(struct pollfd *fds, nfds_t count)
{
	sigset_t ours, before;
	int n = -1;

	sigemptyset(&ours);
	sigaddset(&ours, SIGINT);
	sigaddset(&ours, SIGTERM);
	sigaddset(&ours, SIGHUP);
	sigprocmask(SIG_BLOCK, &ours, &before);
	if (!wait_signal)
		n = ppoll(fds, count, NULL, &before);
	sigprocmask(SIG_SETMASK, &before, NULL);
	return n;
}

static void
take_news(struct shell *sh)
{
	wait_poll(sh);
	/* a tracer that is gone stays readable */
	if (!sh->session || (session_state(sh->session) != SESSION_ENDED &&
			     !session_lost(sh->session)))
		return;
	session_close(sh->session);
	sh->session = NULL;
}

static bool
is_dead(pid_t pid)
{
	const char state = thread_state(pid, process_living(pid));

	return state ? strchr("ZXx", state) != NULL :
		kill(pid, 0) < 0 && errno == ESRCH;
}

/* What a command has ended does not stand: that news comes before the prompt. */
static void
hear_of_end(struct shell *sh)
{
	enum { END_MS = 1000, LOOK_MS = 20 };
	const uint64_t until = now_ns() + END_MS * UINT64_C(1000000);
	struct pollfd fds[PROCESSES_MAX];

	while (sh->session && !wait_signal && now_ns() < until &&
	       is_dead(session_pid(sh->session))) {
		(void)poll(fds, processes_pollfds(sh, fds, PROCESSES_MAX),
			   LOOK_MS);
		take_news(sh);
	}
}

/* One line, or news, or a signal. */
static void
wait_for_input(struct shell *sh)
{
	struct pollfd fds[1 + PROCESSES_MAX] = { { STDIN_FILENO, POLLIN, 0 } };
	const nfds_t count = 1 + processes_pollfds(sh, fds + 1, PROCESSES_MAX);
	const int n = sleep_until(fds, count);
	short news = 0;

	if (wait_signal == SIGINT) {
		on_interrupt();
		return;
	}
	if (wait_signal) {
		sh->exit_status = 128 + wait_signal;
		at_end = line_done = true;
		return;
	}
	if (n <= 0) {
		rl_check_signals();	/* the window has another size */
		return;
	}
	for (nfds_t i = 1; i < count; i++)
		news |= fds[i].revents;
	if (news) {
		rl_clear_visible_line();
		take_news(sh);
		rl_set_prompt(prompt(sh));
		rl_forced_update_display();
	}
	if (fds[0].revents)
		rl_callback_read_char();
}

void
shell_interact(struct shell *sh)
{
	char *file = history_file();

	shell_of_line = sh;
	rl_readline_name = "sonde";
	rl_catch_signals = 0;
	rl_change_environment = 0;	/* of the window's size we ask itself */
	complete_install(sh);
	using_history();
	history_quotes_inhibit_expansion = 1;
	history_inhibit_expansion_function = is_not_history;
	stifle_history(HISTORY_MAX);
	if (file)
		(void)read_history(file);	/* the first time there is none */
	if (!sh->quiet)
		puts("sonde " VERSION ": help lists the commands");
	while (!at_end && !sh->quitting) {
		line_done = false;
		wait_signal = 0;
		hear_of_end(sh);
		rl_callback_handler_install(prompt(sh), on_line);
		while (!line_done)
			wait_for_input(sh);
	}
	rl_callback_handler_remove();
	if (file)
		(void)write_history(file);
	free(file);
	str_fini(&pending);
}
