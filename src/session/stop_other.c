/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Stop a recording that another tracer makes, by the socket in its
 * experiment.
 */
#include "client.h"
#include "hazard.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/time.h>
#include <sys/un.h>
#include <unistd.h>

enum { SAY_S = 5, ANSWER_S = 120 };

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

/* Whoever listens gets our trust and our time: nobody but us, and root. */
static bool
is_ours(int fd, const char *path)
{
	struct ucred who;
	socklen_t len = sizeof who;

	if (getsockopt(fd, SOL_SOCKET, SO_PEERCRED, &who, &len) == 0 &&
	    (who.uid == 0 || who.uid == geteuid()))
		return true;
	fail(FAIL_DENIED, "the control socket of %s is user %u's", path,
	     (unsigned)who.uid);
	(void)fail_remedy("stop it as that user: setpriv --reuid %u "
			  "--clear-groups sonde stop %s", (unsigned)who.uid,
			  path);
	close(fd);
	return false;
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
	const struct timeval limit = { .tv_sec = SAY_S };

	snprintf(at.sun_path, sizeof at.sun_path,
		 "/proc/self/fd/%d/control", dir);
	/* a full queue of a listener that accepts nobody */
	if (fd < 0 ||
	    setsockopt(fd, SOL_SOCKET, SO_SNDTIMEO, &limit, sizeof limit) < 0 ||
	    setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &limit, sizeof limit) < 0 ||
	    !is_socket(dir, "control") ||
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
	return is_ours(fd, path) ? fd : -1;
}

/*
 * The answer comes when the experiment is whole: an archive takes its time. A
 * recorder that says anything but one answer is none.
 */
static int
take_receipt(int fd, struct wire_message *answer)
{
	struct pollfd said = { fd, POLLIN, 0 };
	const int r = poll(&said, 1, ANSWER_S * 1000);

	wire_init(answer, WIRE_FAILED);
	if (r < 0)
		return fail_errno("wait for the recorder's answer");
	if (r == 0) {
		fail(FAIL_GENERAL, "the recorder has not answered for %d s",
		     ANSWER_S);
		return fail_remedy("see whether it is stopped: "
				   "ps -C sonde,sonde-tracer -o pid,stat");
	}
	if (wire_recv(fd, answer) != 1 || answer->kind == WIRE_EVENT)
		return fail(FAIL_GENERAL, "what listens there does not answer "
			    "as a recorder does");
	return client_judge(answer);
}

int
session_stop_experiment(const char *path, char **receipt)
{
	const int fd = connect_control(path);
	struct wire_message request;

	*receipt = NULL;
	if (fd < 0)
		return -1;
	wire_init(&request, WIRE_STOP_RECORDING);

	struct wire_message answer;
	int result = wire_send(fd, &request);

	wire_fini(&request);
	wire_init(&answer, WIRE_FAILED);
	result = result < 0 ? -1 : take_receipt(fd, &answer);
	if (result == 0) {
		const char *text = wire_take_text(&answer);

		*receipt = xstrdup(text ? text : "");
	}
	wire_fini(&answer);
	close(fd);
	return result;
}
