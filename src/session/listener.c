/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * The control socket of an experiment, EXP.er/control: through it `sonde stop`
 * reaches the tracer process of a recording that nobody's shell holds.
 */
#include "private.h"

#include <fcntl.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

static void
control_path(struct sockaddr_un *at, int dir_fd)
{
	/* sun_path is short: go through our own descriptor */
	*at = (struct sockaddr_un){ .sun_family = AF_UNIX };
	snprintf(at->sun_path, sizeof at->sun_path,
		 "/proc/self/fd/%d/control", dir_fd);
}

void
tracer_open_listener(struct tracer *tr)
{
	const int dir = collection_directory(tr->col);
	struct sockaddr_un at;

	if (dir < 0)
		return;
	tr->listener = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC |
			      SOCK_NONBLOCK, 0);
	control_path(&at, dir);

	const mode_t old = umask(0177);

	/* without it only `sonde stop` is missing */
	if (tr->listener >= 0 &&
	    (bind(tr->listener, (void *)&at, sizeof at) < 0 ||
	     listen(tr->listener, CONTROLS_MAX) < 0)) {
		close(tr->listener);
		tr->listener = -1;
	}
	umask(old);
}

void
tracer_close_listener(struct tracer *tr)
{
	if (tr->listener < 0)
		return;
	close(tr->listener);
	tr->listener = -1;
	/* of the directory that we made, whatever stands at its path */
	(void)unlinkat(collection_directory(tr->col), "control", 0);
}

static bool
may_control(int fd)
{
	struct ucred who;
	socklen_t len = sizeof who;

	return getsockopt(fd, SOL_SOCKET, SO_PEERCRED, &who, &len) == 0 &&
	       (who.uid == 0 || who.uid == geteuid());
}

/* One that says nothing is in nobody's way: the last place is anybody's. An
 * answer that nobody takes is waited for no longer than this. */
void
tracer_accept_control(struct tracer *tr)
{
	const int fd = accept4(tr->listener, NULL, NULL, SOCK_CLOEXEC);
	const struct timeval limit = { .tv_sec = 1 };
	int i = 0;

	if (fd < 0)
		return;
	if (!may_control(fd) ||
	    setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &limit, sizeof limit) < 0 ||
	    setsockopt(fd, SOL_SOCKET, SO_SNDTIMEO, &limit, sizeof limit) < 0) {
		close(fd);
		return;
	}
	while (i < CONTROLS_MAX - 1 && tr->controls[i] >= 0)
		i++;
	if (tr->controls[i] >= 0)
		close(tr->controls[i]);
	tr->controls[i] = fd;
}
