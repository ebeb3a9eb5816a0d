/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * One life of a victim. It has a page in common with us, or speaks by its
 * standard output when it is a program of somebody else.
 */
#include "torture.h"

#include <ctype.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/ptrace.h>
#include <sys/wait.h>
#include <unistd.h>

enum { PATIENCE_MS = 60000, PAGE_FD = 9, WORDS = 16 };

static void
say_to_file(const char *name, int fd)
{
	char *path = path_in(work_dir, name);
	const int file = open(path, O_WRONLY | O_CREAT | O_TRUNC, 0666);

	if (file < 0 || dup2(file, fd) < 0)
		_exit(98);
	close(file);
	free(path);
}

static void
set_preload(const struct situation *s)
{
	const bool audit = s->preload && *s->preload == '=';
	char *path;

	if (!s->preload)
		return;
	path = word_of(s->preload + audit);
	setenv(audit ? "LD_AUDIT" : "LD_PRELOAD", path, 1);
	free(path);
}

static void
become(const struct situation *s, int page, int input)
{
	const struct rlimit limit = { s->value, s->value };
	char *argv[WORDS] = {0};
	size_t i;

	for (i = 0; s->argv[i]; i++)
		argv[i] = word_of(s->argv[i]);
	if (dup2(input, 0) < 0 || dup2(page, PAGE_FD) < 0)
		_exit(98);
	say_to_file("victim.out", 1);
	say_to_file("victim.err", 2);
	(void)syscall(436 /* close_range */, PAGE_FD + 1, ~0u, 0);
	setenv("TORTURE_PAGE", "9", 1);
	setenv("TORTURE_WORK", work_dir, 1);
	setenv("TORTURE_BUILD", victims_dir, 1);
	/* a session of its own: the scheduler's autogroup, then */
	setsid();
	prctl(PR_SET_PDEATHSIG, SIGKILL);
	if (s->value && setrlimit((__rlimit_resource_t)s->resource, &limit) < 0)
		_exit(98);
	set_preload(s);
	execvp(argv[0], argv);
	_exit(97);
}

bool
victim_alive(struct victim *v)
{
	if (!v->reaped && waitpid(v->child, &v->status, WNOHANG) == v->child)
		v->reaped = true;
	if (v->reaped)
		return false;
	return kill(v->pid ? v->pid : v->child, 0) == 0;
}

/* The process that something else started for us: its deepest descendant. */
static pid_t
descendant(pid_t pid)
{
	for (;;) {
		pid_t child;

		if (children_of(pid, &child, 1) == 0)
			return pid;
		pid = child;
	}
}

/* -1 while it has not said "ready PID". */
static pid_t
said_ready(void)
{
	char *path = path_in(work_dir, "victim.out"), *text = read_text(path);
	const char *at = text ? strstr(text, "ready ") : NULL;
	pid_t pid = -1;

	if (at && strchr(at, '\n'))
		pid = (pid_t)atoi(at + 6);
	free(text);
	free(path);
	return pid;
}

static bool
is_ready(struct victim *v)
{
	if (v->s->traits & FOREIGN) {
		const pid_t pid = said_ready();

		if (pid > 0)
			v->pid = pid;
		return pid > 0;
	}
	if (!v->page->ready)
		return false;
	v->pid = v->s->traits & BEHIND ? descendant(v->child) : v->child;
	return true;
}

/* Somebody else's tracer: it lets all signals through until it is killed. */
static pid_t
trace_it(pid_t pid)
{
	const pid_t tracer = fork();
	int status;

	if (tracer != 0)
		return tracer;
	prctl(PR_SET_PDEATHSIG, SIGKILL);
	if (ptrace(PTRACE_SEIZE, pid, 0, 0) < 0)
		_exit(1);
	for (;;) {
		const pid_t r = waitpid(-1, &status, __WALL);

		if (r < 0)
			_exit(0);
		if (WIFSTOPPED(status))
			ptrace(PTRACE_CONT, r, 0, WSTOPSIG(status));
	}
}

static bool
is_traced(pid_t pid)
{
	char path[64], *text;
	bool traced;

	snprintf(path, sizeof path, "/proc/%d/status", pid);
	text = read_text(path);
	traced = text && !strstr(text, "\nTracerPid:\t0\n");
	free(text);
	return traced;
}

static int
wait_until(struct victim *v, bool (*fact)(struct victim *v))
{
	const uint64_t since = clock_us();

	while (!fact(v)) {
		if (v->page && v->s->traits & ENDS && v->page->rounds)
			return 0;
		if (!victim_alive(v) ||
		    clock_us() - since > PATIENCE_MS * UINT64_C(1000))
			return -1;
		rest_ms(1);
	}
	return 0;
}

static bool
has_tracer(struct victim *v)
{
	return is_traced(v->pid);
}

static bool
stands(struct victim *v)
{
	char path[64], *text;
	bool yes;

	snprintf(path, sizeof path, "/proc/%d/status", v->pid);
	text = read_text(path);
	yes = text && strstr(text, "\nState:\tT");
	free(text);
	return yes;
}

static int
prepare(struct victim *v)
{
	if (v->s->traits & TRACED) {
		v->other_tracer = trace_it(v->pid);
		return wait_until(v, has_tracer);
	}
	if (v->s->traits & STOPPED) {
		kill(v->pid, SIGSTOP);
		return wait_until(v, stands);
	}
	return 0;
}

/* The last one's "ready" is not this one's. */
static void
forget_words(void)
{
	char *path = path_in(work_dir, "victim.out");

	(void)unlink(path);
	free(path);
}

int
victim_start(struct victim *v, const struct situation *s, const char **why)
{
	const int fd = memfd_create("torture", MFD_CLOEXEC);
	int ends[2];

	*v = (struct victim){ .s = s, .input = -1 };
	if (fd < 0 || ftruncate(fd, TORTURE_PAGE_SIZE) < 0 ||
	    pipe2(ends, O_CLOEXEC) < 0)
		return *why = "no page or pipe", -1;
	v->page = mmap(NULL, TORTURE_PAGE_SIZE, PROT_READ | PROT_WRITE,
		       MAP_SHARED, fd, 0);
	v->input = ends[1];
	forget_words();
	fflush(NULL);
	v->child = fork();
	if (v->child == 0)
		become(s, fd, ends[0]);
	close(fd);
	close(ends[0]);
	if (v->child < 0 || wait_until(v, is_ready) < 0 ||
	    prepare(v) < 0) {
		victim_kill(v);
		return *why = "it did not begin", -1;
	}
	if (!v->pid)		/* it has ended already */
		v->pid = v->child;
	return 0;
}

bool
victim_goes_on(struct victim *v)
{
	const uint64_t since = clock_us();
	const uint64_t rounds = v->page->rounds;

	if (v->s->traits & (FOREIGN | STOPPED | ENDS))
		return v->s->traits & ENDS || victim_alive(v);
	while (v->page->rounds == rounds) {
		if (!victim_alive(v) ||
		    clock_us() - since > PATIENCE_MS * UINT64_C(1000))
			return false;
		rest_ms(1);
	}
	return true;
}

static bool
reap(struct victim *v)
{
	const uint64_t since = clock_us();

	while (!v->reaped) {
		if (waitpid(v->child, &v->status, WNOHANG) == v->child)
			v->reaped = true;
		else if (clock_us() - since > PATIENCE_MS * UINT64_C(1000))
			return false;
		else
			rest_ms(1);
	}
	return true;
}

static void
read_counts(struct victim *v)
{
	char *path = path_in(work_dir, "victim.out"), *text = read_text(path);
	const char *at = text ? strstr(text, "eintr ") : NULL;
	unsigned long long a, b, c;

	v->eintr = v->page->eintr;
	v->wrong = v->page->wrong;
	v->missed = v->page->missed;
	if (v->s->traits & FOREIGN && at &&
	    sscanf(at, "eintr %llu wrong %llu missed %llu", &a, &b, &c) == 3) {
		v->eintr = a;
		v->wrong = b;
		v->missed = c;
	}
	free(text);
	free(path);
}

static void
leave(struct victim *v)
{
	if (v->other_tracer > 0) {
		kill(v->other_tracer, SIGKILL);
		waitpid(v->other_tracer, NULL, 0);
		v->other_tracer = 0;
	}
	if (v->s->traits & STOPPED && !v->reaped)
		kill(v->pid, SIGCONT);
	if (v->input >= 0)
		close(v->input);
	v->input = -1;
}

bool
victim_end(struct victim *v)
{
	bool ended;

	v->page->stop = 1;
	leave(v);
	ended = reap(v);
	read_counts(v);
	if (!ended) {
		printf("    it does not end when it is told to\n");
		victim_kill(v);
		return false;
	}
	munmap(v->page, TORTURE_PAGE_SIZE);
	v->page = NULL;
	if (WIFSIGNALED(v->status))
		printf("    it ended by signal %d\n", WTERMSIG(v->status));
	/* its own complaints are in the counts */
	return WIFEXITED(v->status) && (WEXITSTATUS(v->status) == 0 ||
		(WEXITSTATUS(v->status) == 1 &&
		 v->eintr + v->wrong + v->missed > 0));
}

void
victim_kill(struct victim *v)
{
	leave(v);
	if (!v->reaped && v->child > 0) {
		if (v->pid > 0)
			kill(v->pid, SIGKILL);
		kill(v->child, SIGKILL);
		waitpid(v->child, &v->status, 0);
	}
	v->reaped = true;
	if (v->page)
		munmap(v->page, TORTURE_PAGE_SIZE);
	v->page = NULL;
}

static void
print_end_of(const char *name)
{
	char *path = path_in(work_dir, name), *text = read_text(path);
	size_t n = text ? strlen(text) : 0;

	if (n)
		printf("    %s: %s\n", name, text + (n > 600 ? n - 600 : 0));
	free(text);
	free(path);
}

void
victim_print_words(void)
{
	print_end_of("victim.out");
	print_end_of("victim.err");
	print_end_of("visit.err");
}
