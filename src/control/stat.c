/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * What the kernel counts of a process or a thread: the one reader of the stat
 * and schedstat files of /proc. A file that is not there means that it is
 * gone: no failure is recorded.
 */
#include "private.h"

#include <fcntl.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* ---- stat ---------------------------------------------------------------- */

/* What follows it; NULL: there is no number. strtoull takes three times as
 * long, of a file that is read for each thread. */
static const char *
read_number(const char *at, uint64_t *number)
{
	const bool negative = at[0] == ' ' && at[1] == '-';
	const char *const digits = at + (*at == ' ') + negative;
	uint64_t n = 0;

	for (at = digits; *at >= '0' && *at <= '9'; at++)
		n = n * 10 + (uint64_t)(*at - '0');
	*number = negative ? -n : n;
	return at > digits ? at : NULL;
}

/* Fields are counted from behind the name, which may hold anything. */
static int
read_fields(const char *at, struct task_stat *st)
{
	if (at[1] != ' ' || !at[2])
		return -1;
	st->state = at[2];
	at += 3;
	for (int i = STAT_PPID; at && i < STAT_FIELDS; i++)
		at = read_number(at, &st->field[i]);
	return at ? 0 : -1;
}

/* It stands in brackets; of a new line and of a backslash are made two. */
static void
read_name(const char *text, const char *end, char *name, size_t size)
{
	const char *at = strchr(text, '(');
	size_t n = 0;

	while (at && ++at < end && n + 1 < size) {
		char c = *at;

		if (c == '\\' && at + 1 < end)
			c = *++at == 'n' ? '\n' : *at;
		name[n++] = c;
	}
	name[n] = '\0';
}

/* 52 numbers and a name: the kernel gives it whole, at one reading. */
int
task_stat_at(int fd, struct task_stat *st)
{
	char text[2048];
	const ssize_t n = fd < 0 ? -1 : pread(fd, text, sizeof text - 1, 0);
	const char *after;

	*st = (struct task_stat){ 0 };
	text[n > 0 ? n : 0] = '\0';
	after = strrchr(text, ')');
	if (after && read_fields(after, st) == 0) {
		read_name(text, after, st->name, sizeof st->name);
		return 0;
	}
	*st = (struct task_stat){ 0 };
	return -1;
}

int
task_stat_of(int dir_fd, const char *path, struct task_stat *st)
{
	const int fd = openat(dir_fd, path, O_RDONLY | O_CLOEXEC);
	const int r = task_stat_at(fd, st);

	if (fd >= 0)
		close(fd);
	return r;
}

int
target_stat(const struct target *t, struct task_stat *st)
{
	return task_stat_of(t->proc_fd, "stat", st);
}

int
target_thread_stat(const struct target *t, pid_t tid, struct task_stat *st)
{
	char path[64];

	(void)snprintf(path, sizeof path, "task/%d/stat", (int)tid);
	return task_stat_of(t->proc_fd, path, st);
}

char
proc_thread_state(const struct target *t, pid_t tid)
{
	struct task_stat st;

	(void)target_thread_stat(t, tid, &st);	/* gone is a state, too */
	return st.state;
}

/*
 * A thread that the kernel made in the process for work of its own (io_uring
 * since Linux 5.12, vhost since 6.4) never returns to the program: it executes
 * no instruction of it, handles no signal and no stop. ptrace seizes one and
 * then waits for ever (kernel/signal.c get_signal is where a thread stops).
 * /proc lists it among the others, with its processor time.
 */
bool
target_is_worker(const struct target *t, pid_t tid)
{
	/* PF_: of older kernels these bits mean something else */
	enum { IO_WORKER = 0x10, USER_WORKER = 0x4000 };
	const unsigned workers = (kernel_is_at_least(5, 12) ? IO_WORKER : 0) |
		(kernel_is_at_least(6, 4) ? USER_WORKER : 0);
	struct task_stat st;

	return target_thread_stat(t, tid, &st) == 0 &&
		st.field[STAT_FLAGS] & workers;
}

bool
state_alive(char state)
{
	return state && state != 'Z' && state != 'X' && state != 'x';
}

uint64_t
stat_ticks_ns(uint64_t ticks)
{
	return ticks * (UINT64_C(1000000000) / (uint64_t)sysconf(_SC_CLK_TCK));
}

/* ---- schedstat ----------------------------------------------------------- */

int
task_turns_at(int fd, struct task_turns *turns)
{
	char text[96];
	const ssize_t n = fd < 0 ? -1 : pread(fd, text, sizeof text - 1, 0);

	*turns = (struct task_turns){ 0 };
	if (n <= 0)
		return -1;
	text[n] = '\0';

	const char *at = read_number(text, &turns->cpu_ns);

	at = at ? read_number(at, &turns->wait_ns) : NULL;
	at = at ? read_number(at, &turns->switches) : NULL;
	return at ? 0 : -1;
}

int
task_turns_of(int dir_fd, const char *path, struct task_turns *turns)
{
	const int fd = openat(dir_fd, path, O_RDONLY | O_CLOEXEC);
	const int r = task_turns_at(fd, turns);

	if (fd >= 0)
		close(fd);
	return r;
}

int
target_thread_turns(const struct target *t, pid_t tid,
		    struct task_turns *turns)
{
	char path[64];

	(void)snprintf(path, sizeof path, "task/%d/schedstat", (int)tid);
	return task_turns_of(t->proc_fd, path, turns);
}
