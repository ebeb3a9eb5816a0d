/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * System calls: their names, and of those that wait, what for. The names come
 * from the headers that we are built with.
 */
#include "private.h"

#include <string.h>
#include <sys/syscall.h>

struct call_name {
	long nr;
	const char *name;
};

static const struct call_name names[] = {
#include <call-names.h>		/* made by the build, of its headers */
};

#define READS(call, at) \
	{ .nr = SYS_##call, .kind = WAIT_FILES, .fd = at, .reads = true }
#define WRITES(call, at) \
	{ .nr = SYS_##call, .kind = WAIT_FILES, .fd = at, .writes = true }
#define OTHER(call, what, how, at) \
	{ .nr = SYS_##call, .kind = what, .fd = NO_ARGUMENT, \
	  .limit = how, .limit_at = at }
#define POLLS(call, at, how, where) \
	{ .nr = SYS_##call, .kind = WAIT_FILES, .fd = at, .reads = true, \
	  .limit = how, .limit_at = where }

static const struct call_row rows[] = {
	READS(read, 0), READS(readv, 0), READS(pread64, 0), READS(preadv, 0),
	READS(recvfrom, 0), READS(recvmsg, 0), READS(accept, 0),
	READS(accept4, 0), READS(tee, 0),
	WRITES(write, 0), WRITES(writev, 0), WRITES(pwrite64, 0),
	WRITES(pwritev, 0), WRITES(sendto, 0), WRITES(sendmsg, 0),
	WRITES(sendmmsg, 0), WRITES(connect, 0), WRITES(sendfile, 0),
	WRITES(splice, 2), WRITES(fsync, 0), WRITES(fdatasync, 0),
	POLLS(recvmmsg, 0, LIMIT_TIMESPEC, 4),
	POLLS(ppoll, NO_ARGUMENT, LIMIT_TIMESPEC, 2),
	POLLS(pselect6, NO_ARGUMENT, LIMIT_TIMESPEC, 4),
	POLLS(epoll_pwait, 0, LIMIT_MS, 3),
	POLLS(io_uring_enter, 0, LIMIT_NONE, 0),
	POLLS(mq_timedreceive, 0, LIMIT_MOMENT, 4),
	{ .nr = SYS_mq_timedsend, .kind = WAIT_FILES, .fd = 0, .writes = true,
	  .limit = LIMIT_MOMENT, .limit_at = 4 },
#ifdef SYS_msgrcv
	OTHER(msgrcv, WAIT_IPC, LIMIT_NONE, 0),
	OTHER(msgsnd, WAIT_IPC, LIMIT_NONE, 0),
	OTHER(semop, WAIT_IPC, LIMIT_NONE, 0),
	OTHER(semtimedop, WAIT_IPC, LIMIT_TIMESPEC, 3),
#endif
#ifdef SYS_epoll_pwait2
	POLLS(epoll_pwait2, 0, LIMIT_TIMESPEC, 3),
#endif
#ifdef SYS_poll
	POLLS(poll, NO_ARGUMENT, LIMIT_MS, 2),
	POLLS(select, NO_ARGUMENT, LIMIT_TIMEVAL, 4),
	POLLS(epoll_wait, 0, LIMIT_MS, 3),
	OTHER(pause, WAIT_SIGNAL, LIMIT_NONE, 0),
#endif
	OTHER(futex, WAIT_FUTEX, LIMIT_NONE, 0),
#ifdef SYS_futex_waitv
	OTHER(futex_waitv, WAIT_FUTEX, LIMIT_NONE, 0),
#endif
	OTHER(wait4, WAIT_CHILD, LIMIT_NONE, 0),
	OTHER(waitid, WAIT_CHILD, LIMIT_NONE, 0),
#ifdef SYS_vfork
	OTHER(vfork, WAIT_CHILD, LIMIT_NONE, 0),
#endif
	OTHER(nanosleep, WAIT_TIME, LIMIT_TIMESPEC, 0),
	OTHER(clock_nanosleep, WAIT_TIME, LIMIT_TIMESPEC, 2),
	OTHER(rt_sigsuspend, WAIT_SIGNAL, LIMIT_NONE, 0),
	OTHER(rt_sigtimedwait, WAIT_SIGNAL, LIMIT_TIMESPEC, 2),
	{ .nr = SYS_fcntl, .kind = WAIT_FILE_LOCK, .fd = 0 },
	{ .nr = SYS_flock, .kind = WAIT_FILE_LOCK, .fd = 0 },
};

const struct call_row *
call_find(long nr)
{
	for (size_t i = 0; i < ARRAY_LEN(rows); i++)
		if (rows[i].nr == nr)
			return &rows[i];
	return NULL;
}

long
wait_call_number(const char *name)
{
	for (size_t i = 0; i < ARRAY_LEN(names); i++)
		if (strcmp(names[i].name, name) == 0)
			return names[i].nr;
	return -1;
}

const char *
wait_call_name(long call)
{
	static char text[32];

	for (size_t i = 0; i < ARRAY_LEN(names); i++)
		if (names[i].nr == call)
			return names[i].name;
	(void)snprintf(text, sizeof text, "call %ld", call);
	return text;
}
