/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Calls that any stop cuts short, though no signal comes: a large write into
 * a pipe answers with what it has written so far, a large read of /dev/zero
 * with what it has read. Nothing can repair that, and a program that does not
 * look at the count goes wrong. So a thread that is seen to make such calls
 * is better not stopped again.
 */
#include "private.h"

#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/syscall.h>

enum { LARGE = 16 * 1024 };

struct call {
	long nr;
	uint64_t arg[6];
};

/* Of a thread that waits. */
static bool
read_call(struct target *t, pid_t tid, struct call *c)
{
	char path[64], *text, *at;

	(void)snprintf(path, sizeof path, "task/%d/syscall", (int)tid);
	text = file_read_at(t->proc_fd, path, NULL);
	if (!text || *text < '0' || *text > '9') {
		free(text);
		return false;
	}
	c->nr = strtol(text, &at, 10);
	for (int i = 0; i < 6; i++)
		c->arg[i] = strtoull(at, &at, 16);
	free(text);
	return true;
}

/* It waits in the midst of one. */
bool
thread_in_transfer(struct target *t, pid_t tid)
{
	struct call c;

	if (!read_call(t, tid, &c))
		return false;
	switch (c.nr) {
	case SYS_write: case SYS_writev: case SYS_pwrite64: case SYS_pwritev:
	case SYS_sendto: case SYS_sendmsg: case SYS_sendmmsg:
	case SYS_sendfile: case SYS_splice: case SYS_tee: case SYS_vmsplice:
	case SYS_copy_file_range: case SYS_recvmmsg:
		return true;
	case SYS_recvfrom:
		return c.arg[3] & MSG_WAITALL;
	case SYS_recvmsg:
		return c.arg[2] & MSG_WAITALL;
	default:
		return false;
	}
}

/* A program that asked not to wait expects a part. */
static bool
descriptor_waits(struct target *t, pid_t tid, int fd)
{
	char path[64];

	(void)snprintf(path, sizeof path, "task/%d/fdinfo/%d", (int)tid, fd);

	char *text = file_read_at(t->proc_fd, path, NULL);
	const char *flags = text ? strstr(text, "flags:") : NULL;
	const bool waits = flags &&
		!(strtoul(flags + 6, NULL, 8) & O_NONBLOCK);

	free(text);
	return waits;
}

bool
transfer_was_cut(struct target *t, pid_t tid,
		 const struct user_regs_struct *regs)
{
	const struct transfer tr = machine_transfer(regs);

	return tr.asked >= LARGE && tr.got > 0 &&
		(uint64_t)tr.got < tr.asked &&
		descriptor_waits(t, tid, tr.fd);
}
