/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Calls that any stop cuts short, though no signal comes: a large write into
 * a pipe answers with what it has written so far, a large read of /dev/zero
 * with what it has read. Nothing can repair that, and a program that does not
 * look at the count goes wrong. So a thread that is seen to make such calls
 * is better not stopped again. (Blocked ones: partial.c.)
 */
#include "private.h"

#include <fcntl.h>
#include <stdlib.h>
#include <string.h>

enum { LARGE = 16 * 1024 };

bool
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
