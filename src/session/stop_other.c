/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Stop a recording that another tracer makes, by the socket in its
 * experiment.
 */
#include "client.h"
#include "hazard.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

/* A link would lead to a socket of somebody else. */
static bool
is_socket(int dir, const char *name)
{
	struct stat st;

	if (fstatat(dir, name, &st, AT_SYMLINK_NOFOLLOW) < 0)
		return false;
	errno = ENOENT;
	return S_ISSOCK(st.st_mode) || !handled(HAZARD_PLANTED_LINK);
}

static int
connect_control(const char *path)
{
	struct sockaddr_un at = { .sun_family = AF_UNIX };
	const int dir = open(path, O_PATH | O_DIRECTORY | O_CLOEXEC);

	if (dir < 0) {
		fail_errno("open experiment %s", path);
		return errno != ENOENT ? -1 :
			fail_remedy("name the directory that `sonde record` "
				    "told: ls -d *.er; one that keeps the last "
				    "seconds has none yet: kill -INT its sonde");
	}

	const int fd = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0);

	snprintf(at.sun_path, sizeof at.sun_path,
		 "/proc/self/fd/%d/control", dir);
	if (fd < 0 || !is_socket(dir, "control") ||
	    connect(fd, (void *)&at, sizeof at) < 0) {
		if (errno == ENOENT || errno == ECONNREFUSED) {
			fail(FAIL_MISSING, "experiment %s is not being "
			     "recorded", path);
			fail_remedy("look at it: sonde report %s -header",
				    path);
		} else {
			fail_errno("reach the recorder of %s", path);
		}
		if (fd >= 0)
			close(fd);
		close(dir);
		return -1;
	}
	close(dir);
	return fd;
}

int
session_stop_experiment(const char *path, char **receipt)
{
	struct session s = { .fd = connect_control(path) };
	struct wire_message request;

	if (s.fd < 0)
		return -1;
	wire_init(&request, WIRE_STOP_RECORDING);

	const int result = client_ask_text(&s, &request, receipt);

	close(s.fd);
	vec_free_items(&s.events);
	return result;
}
