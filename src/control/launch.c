/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Launching. The shell forks, so that the program keeps its terminal and its
 * place in job control; the tracer, another process, seizes the child while
 * that waits on a pipe; then it may exec.
 *
 *   shell   fork ------------------------------ go
 *   child      waits on the pipe ................. exec -> ld.so -> program
 *   tracer               seize                  stop  ->  stop
 *
 * The second stop is ld.so's first consistent notification to debuggers:
 * everything is mapped and relocated, and no constructor has run.
 */
#include "private.h"

#include <elf.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <link.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

enum {
	EXIT_OURS = 125, EXIT_CANNOT = 126, EXIT_NOT_FOUND = 127,
	START_LIMIT_MS = 60 * 1000,
};

/* ---- in the shell ------------------------------------------------------- */

static bool
is_program(const char *path)
{
	struct stat st;

	if (stat(path, &st) < 0)
		return false;
	if (S_ISREG(st.st_mode) && access(path, X_OK) == 0)
		return true;
	errno = EACCES;
	return false;
}

static const char *
search_path(char *const *envp)
{
	for (; envp && *envp; envp++)
		if (str_starts(*envp, "PATH="))
			return *envp + strlen("PATH=");
	return "/bin:/usr/bin";
}

/*
 * As execvpe does, but a directory of PATH that we may not search is no
 * reason to say "permission denied". The caller frees it; NULL with a
 * failure.
 */
static char *
find_program(const char *name, char *const *envp)
{
	struct stat st;
	int error = ENOENT;

	if (strchr(name, '/')) {
		if (is_program(name))
			return xstrdup(name);
		fail_errno("cannot run %s", name);
		if (errno == EACCES && stat(name, &st) == 0)
			fail_remedy("chmod +x %s, if it is a program", name);
		return NULL;
	}
	for (const char *dir = search_path(envp); *name;) {
		const size_t n = strcspn(dir, ":");
		char *path = xasprintf("%.*s%s%s", (int)n, dir, n ? "/" : "",
				       name);

		if (is_program(path))
			return path;
		if (stat(path, &st) == 0)
			error = EACCES;
		free(path);
		if (!dir[n])
			break;
		dir += n + 1;
	}
	errno = error;
	fail_errno("cannot run %s", name);
	if (stat(name, &st) == 0)
		fail_remedy("it is not in PATH, but here: ./%s", name);
	else
		fail_remedy("it is not in PATH: give its path");
	return NULL;
}

struct child {
	char *path;
	int in, out, wait_fd, go_fd;	/* -1: none */
};

static void
child_fini(struct child *c)
{
	free(c->path);
	if (c->in >= 0)
		close(c->in);
	if (c->out >= 0)
		close(c->out);
	if (c->wait_fd >= 0)
		close(c->wait_fd);
}

static int
child_prepare(struct child *c, const struct launch *l, char *const *envp)
{
	int ends[2];

	*c = (struct child){ .in = -1, .out = -1, .wait_fd = -1, .go_fd = -1 };
	if (!(c->path = find_program(l->argv[0], envp)))
		return -1;
	if (l->in && (c->in = open(l->in, O_RDONLY | O_CLOEXEC)) < 0)
		return fail_errno("open %s", l->in);
	if (l->out && (c->out = file_open_out(l->out, l->append)) < 0)
		return -1;
	if (pipe2(ends, O_CLOEXEC) < 0)
		return fail_errno("make a pipe");
	c->wait_fd = ends[0];
	c->go_fd = ends[1];
	return 0;
}

/*
 * Shells run a file without #! only where it is text: no zero byte in its
 * first line. A program for another machine is none.
 */
static bool
is_text(const char *path)
{
	char head[128];
	const int fd = open(path, O_RDONLY | O_CLOEXEC);
	const ssize_t n = fd < 0 ? -1 : read(fd, head, sizeof head);

	if (fd >= 0)
		(void)close(fd);
	if (n < 0)
		return false;

	const char *newline = memchr(head, '\n', (size_t)n);

	return !memchr(head, 0, newline ? (size_t)(newline - head) : (size_t)n);
}

static void
exec_program(const struct child *c, const struct launch *l,
	     char *const *envp)
{
	(void)execve(c->path, l->argv, envp);
	if (errno == ENOEXEC && is_text(c->path)) {
		size_t n = 0;

		while (l->argv[n])
			n++;

		char **argv = xcalloc(n + 3, sizeof *argv);

		argv[0] = (char[]){ "sh" };
		argv[1] = c->path;
		for (size_t i = 1; i < n; i++)
			argv[i + 1] = l->argv[i];
		(void)execve("/bin/sh", argv, envp);
	}
	_exit(errno == ENOENT ? EXIT_NOT_FOUND : EXIT_CANNOT);
}

/* A session's first terminal is the one that controls it. */
static int
take_terminal(const char *name)
{
	const int fd = setsid() < 0 ? -1 : open(name, O_RDWR);

	if (fd < 0 || dup2(fd, STDIN_FILENO) < 0 ||
	    dup2(fd, STDOUT_FILENO) < 0 || dup2(fd, STDERR_FILENO) < 0)
		return -1;
	if (fd > STDERR_FILENO)
		(void)close(fd);
	return 0;
}

static void __attribute__((noreturn))
run_child(const struct child *c, const struct launch *l, char *const *envp)
{
	ssize_t n;
	char byte;

	close(c->go_fd);
	if (l->own_group)
		(void)setpgid(0, 0);
	/* EINVAL where there is no Yama, and then it is not needed */
	(void)prctl(PR_SET_PTRACER, l->tracer, 0, 0, 0);
	do {
		n = read(c->wait_fd, &byte, 1);
	} while (n < 0 && errno == EINTR);
	if (n != 1)
		_exit(EXIT_OURS);	/* the shell is gone */
	if (l->terminal && take_terminal(l->terminal) < 0)
		_exit(EXIT_OURS);
	if ((c->in >= 0 && dup2(c->in, STDIN_FILENO) < 0) ||
	    (c->out >= 0 && dup2(c->out, STDOUT_FILENO) < 0))
		_exit(EXIT_OURS);
	origin_restore();
	exec_program(c, l, envp);
	_exit(EXIT_OURS);
}

pid_t
launch_fork(const struct launch *l, int *go_fd)
{
	char *const *envp = l->envp ? l->envp : environ;
	struct child c;
	pid_t pid;

	*go_fd = -1;
	if (child_prepare(&c, l, envp) < 0) {
		child_fini(&c);
		return -1;
	}
	pid = fork();
	if (pid == 0)
		run_child(&c, l, envp);
	if (pid > 0 && l->own_group)
		(void)setpgid(pid, pid);	/* whoever of us comes first */
	if (pid < 0) {
		fail_errno("fork");
		close(c.go_fd);
	} else {
		*go_fd = c.go_fd;
	}
	child_fini(&c);
	return pid;
}

/* No reader is left when the child was killed meanwhile: that must not raise
 * SIGPIPE in the shell. */
int
launch_go(int go_fd)
{
	sigset_t pipe_only, before, pending;
	const struct timespec now = { 0 };
	bool had;
	int r;

	sigemptyset(&pipe_only);
	sigaddset(&pipe_only, SIGPIPE);
	sigpending(&pending);
	had = sigismember(&pending, SIGPIPE);
	pthread_sigmask(SIG_BLOCK, &pipe_only, &before);
	r = write_all(go_fd, "g", 1);

	const int error = errno;

	if (r < 0 && error == EPIPE && !had)
		(void)sigtimedwait(&pipe_only, NULL, &now);
	pthread_sigmask(SIG_SETMASK, &before, NULL);
	close(go_fd);
	errno = error;
	if (r < 0 && error == EPIPE)
		return fail(FAIL_ENDED, "the program ended before it was "
			    "started");
	return r < 0 ? fail_errno("let the program go") : 0;
}

/* ---- in the tracer ------------------------------------------------------ */

int
launch_seize(struct target *t)
{
	if (seize(t, t->pid, PTRACE_O_TRACECLONE | PTRACE_O_TRACEEXEC) < 0)
		return -1;
	pack_add(&t->pack, t->pid, WANT_RUNNING);
	return 0;
}

static int
ended_early(struct target *t)
{
	return fail(FAIL_ENDED, "%s (%d) %s before it started", t->name,
		    (int)t->pid, target_how_ended(t));
}

/* Wait for an event of one of two kinds; others take their course. */
static int
await_event(struct target *t, enum event_kind wanted, uint64_t deadline,
	    struct event *ev)
{
	const struct timespec pause = { .tv_nsec = 100 * NS_PER_US };

	for (;;) {
		while (target_next_event(t, ev)) {
			if (ev->kind == EVENT_ENDED) {
				target_note_exit(t, ev->status);
				return ended_early(t);
			}
			if (ev->kind == wanted)
				return 0;
		}
		if (t->gone)
			return ended_early(t);
		if (now_ns() > deadline)
			return fail(FAIL_GENERAL, "%s (%d) did not start "
				    "within %d s", t->name, (int)t->pid,
				    START_LIMIT_MS / 1000);
		(void)nanosleep(&pause, NULL);
	}
}

/* Where ld.so tells debuggers, and the state it tells. */
struct start {
	uint64_t at, r_debug;		/* r_debug 0: the first time is it */
	bool adding;
};

static void
find_start(struct target *t, struct start *s)
{
	const uint64_t ld_so = target_auxv(t, AT_BASE);

	*s = (struct start){ 0 };
	if (ld_so && image_symbol(t, ld_so, "_dl_debug_state", &s->at))
		(void)image_symbol(t, ld_so, "_r_debug", &s->r_debug);
	else
		s->at = target_auxv(t, AT_ENTRY);
	fail_clear();
}

/*
 * glibc notifies once with RT_ADD before it loads and once with RT_CONSISTENT
 * when all is relocated. A namespace of an LD_AUDIT library may notify in
 * between, while the main one still is all zero (which reads as consistent):
 * hence the map, and hence RT_ADD first. musl notifies once, and exports no
 * _r_debug.
 */
static bool
is_started(struct target *t, struct start *s)
{
	struct r_debug debug;

	if (!s->r_debug)
		return true;
	if (target_read(t, s->r_debug, &debug, sizeof debug) < 0)
		return true;
	if (debug.r_state == RT_ADD)
		s->adding = true;
	return s->adding && debug.r_state == RT_CONSISTENT && debug.r_map;
}

static int
run_to(struct target *t, struct start *s, uint64_t deadline)
{
	struct breakpoint *bp = breakpoint_insert(t, s->at);
	struct event ev;

	if (!bp)
		return -1;
	for (;;) {
		if (target_continue_all(t) < 0 ||
		    await_event(t, EVENT_BREAKPOINT, deadline, &ev) < 0 ||
		    target_hold_all(t) < 0)
			return -1;
		if (is_started(t, s))
			return breakpoint_remove(t, bp);
		if (breakpoint_step_over(t, bp, ev.tid) < 0)
			return -1;
	}
}

void
target_stand_at_exec(struct target *t, bool stand)
{
	t->stand_at_exec = stand;
}

int
target_run_to_start(struct target *t)
{
	struct start start;

	if (target_hold_all(t) < 0 || target_check_rights(t) < 0)
		return -1;
	find_start(t, &start);
	if (start.at)
		return run_to(t, &start, deadline_in_ms(START_LIMIT_MS));
	return fail(FAIL_UNSUITABLE, "%s (%d) has no entry point", t->name,
		    (int)t->pid);
}

/* Behind the call: before, its registers are not what it begins with. */
int
target_hold_at_exec(struct target *t)
{
	struct hold *h;

	if (target_hold_all(t) < 0)
		return -1;
	h = pack_find(&t->pack, t->pid);
	if (h && h->stopped)
		hold_ask_through(h, 0);
	if (h && hold_settle(&t->pack, t->pid,
			     deadline_in_ms(STOP_LIMIT_MS)) == 1)
		return 0;
	return t->gone ? ended_early(t) :
		fail(FAIL_GENERAL, "%s (%d) does not stand at its exec",
		     t->name, (int)t->pid);
}

int
launch_to_exec(struct target *t)
{
	struct event ev;

	if (!pack_find(&t->pack, t->pid) && launch_seize(t) < 0)
		return -1;
	if (t->held && target_continue_all(t) < 0)
		return -1;
	t->stand_at_exec = true;

	const int r = await_event(t, EVENT_EXEC,
				  deadline_in_ms(START_LIMIT_MS), &ev);

	t->stand_at_exec = false;
	return r < 0 ? -1 : target_hold_at_exec(t);
}

int
launch_to_start(struct target *t)
{
	return launch_to_exec(t) < 0 ? -1 : target_run_to_start(t);
}
