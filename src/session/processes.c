/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Who runs here: for NAME arguments, completion of pids, and idle masters
 * whose children do the work. Two looks at the CPU times, one short interval
 * apart, give percentages.
 */
#include "foreign.h"
#include "private.h"

#include <ctype.h>
#include <dirent.h>
#include <fcntl.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { LOOK_MS = 100 };

static bool
read_stat(pid_t pid, struct session_process *p, uint64_t *ticks)
{
	char path[64];
	unsigned long long user, system;

	snprintf(path, sizeof path, "/proc/%d/stat", pid);

	char *text = file_read(path, NULL);
	const char *open = text ? strchr(text, '(') : NULL;
	const char *close = text ? strrchr(text, ')') : NULL;
	const bool ok = open && close &&
		sscanf(close + 1, " %*c %d %*d %*d %*d %*d %*u %*u %*u %*u "
		       "%*u %llu %llu", &p->ppid, &user, &system) == 3;

	if (ok) {
		p->pid = pid;
		snprintf(p->name, sizeof p->name, "%.*s",
			 (int)(close - open - 1), open + 1);
		*ticks = user + system;
	}
	free(text);
	return ok;
}

/* comm is cut at 15 characters, and servers rename themselves. */
static bool
is_named(const struct session_process *p, const char *name)
{
	char path[64];
	size_t size;

	if (strcmp(p->name, name) == 0)
		return true;
	snprintf(path, sizeof path, "/proc/%d/cmdline",
		 process_living(p->pid));

	char *text = foreign_text(AT_FDCWD, path, &size);
	const char *base = text ? strrchr(text, '/') : NULL;
	const bool same = text && size &&
		strcmp(base ? base + 1 : text, name) == 0;

	free(text);
	return same;
}

static void
fill_percent(struct session_process *p, uint64_t before, uint64_t wall_ns)
{
	struct session_process again;
	uint64_t ticks;

	if (!read_stat(p->pid, &again, &ticks) || ticks < before)
		return;
	p->cpu_percent = (double)(ticks - before) * 1e11 /
		(double)sysconf(_SC_CLK_TCK) / (double)wall_ns;
}

ssize_t
session_processes(const char *name, struct session_process **out)
{
	DIR *dir = opendir("/proc");
	const struct dirent *entry;
	size_t n = 0, cap = 0, tick_cap = 0;
	uint64_t *ticks = NULL;

	*out = NULL;
	if (!dir)
		return fail_errno("read /proc");
	while ((entry = readdir(dir))) {
		struct session_process p = {0};
		uint64_t t;

		if (!isdigit((unsigned char)entry->d_name[0]) ||
		    !read_stat(atoi(entry->d_name), &p, &t) ||
		    p.pid == getpid() || (name && !is_named(&p, name)))
			continue;
		*out = xgrow(*out, &cap, n + 1, sizeof **out);
		ticks = xgrow(ticks, &tick_cap, n + 1, sizeof *ticks);
		(*out)[n] = p;
		ticks[n++] = t;
	}
	closedir(dir);

	const uint64_t start = now_ns();

	if (n)
		(void)poll(NULL, 0, LOOK_MS);
	for (size_t i = 0; i < n; i++)
		fill_percent(&(*out)[i], ticks[i], now_ns() - start);
	free(ticks);
	return (ssize_t)n;
}

static pid_t
tracer_of(pid_t pid)
{
	char path[64];
	int tracer = 0;

	snprintf(path, sizeof path, "/proc/%d/status", pid);

	char *text = file_read(path, NULL);
	const char *line = text ? strstr(text, "\nTracerPid:") : NULL;

	if (line)
		(void)sscanf(line, "\nTracerPid: %d", &tracer);
	free(text);
	return tracer;
}

static bool
is_above_us(pid_t pid)
{
	struct session_process p = { .ppid = getppid() };
	uint64_t ticks;

	while (p.ppid > 1) {
		if (p.ppid == pid)
			return true;
		if (!read_stat(p.ppid, &p, &ticks))
			break;
	}
	return false;
}

/*
 * The shell that waits for us, the terminal's own program, sshd: while such a
 * one stands, nobody can type `cont`, or gets the terminal when we end.
 */
int
session_check_holdable(pid_t pid)
{
	const int terminal = open("/dev/tty", O_RDONLY | O_NOCTTY |
				  O_CLOEXEC);

	if (terminal < 0)
		return 0;
	close(terminal);
	if (!is_above_us(pid))
		return 0;
	(void)fail(FAIL_UNSUITABLE, "process %d is what this terminal hangs "
		   "on: held, it would hold that, too", (int)pid);
	return fail_remedy("stop it from another terminal; to collect it "
			   "need not be stopped");
}

char *
session_why_halted(pid_t pid)
{
	const pid_t tid = process_living(pid);
	const char state = thread_state(pid, tid);
	const pid_t tracer = state == 't' ? tracer_of(tid) : 0;
	struct session_process p = { .name = "" };
	uint64_t ticks;

	if (state == 'T')
		return xasprintf("stopped by a signal: kill -CONT %d", pid);
	if (!tracer || !read_stat(tracer, &p, &ticks))
		return NULL;
	return xasprintf("held by its tracer, process %d (%s)", tracer,
			 p.name);
}
