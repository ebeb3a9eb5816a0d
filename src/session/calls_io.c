/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Input and output, to packets: which file a descriptor is, and when.
 */
#include <stdlib.h>

#include "calls.h"
#include "inject.h"

struct calls_io {
	struct experiment *exp;
	pid_t pid;
};

struct calls_io *
calls_io_new(struct experiment *exp, pid_t pid)
{
	struct calls_io *io = xcalloc(1, sizeof *io);

	io->exp = exp;
	io->pid = pid;
	return io;
}

void
calls_io_put(struct calls_io *io, const struct trace_event *ev,
	     uint64_t frinfo)
{
	experiment_io(io->exp, &(struct experiment_transfer){
		.time_ns = ev->time_ns, .since_ns = ev->since_ns,
		.tid = ev->tid, .type = IO_OTHER, .fd = ev->fd,
		.old_fd = ev->other_fd, .frinfo = frinfo,
		.bytes = ev->result > 0 ? ev->result : 0, .name = ev->path,
	});
}

void
calls_io_free(struct calls_io *io)
{
	free(io);
}
