/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * The wrong one at either end of an experiment's control socket.
 * badcontrol listen-silent|listen-events SOCKET: listen there as its maker.
 * badcontrol half|silent|flood SOCKET: go there, say half a request, nothing,
 * or requests without taking an answer; says ready, and stays.
 */
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>

#include "victim.h"

struct message {
	uint32_t kind, last;
	uint64_t words[16];
};

static void
listen_there(int fd, const struct sockaddr_un *at, bool events)
{
	const struct message event = { .kind = 3, .last = 1 };

	if (bind(fd, (const void *)at, sizeof *at) < 0 ||
	    chmod(at->sun_path, 0777) < 0 || listen(fd, 5) < 0)
		exit(99);
	victim_ready();

	const int peer = accept(fd, NULL, NULL);

	while (events && send(peer, &event, sizeof event, MSG_NOSIGNAL) > 0)
		;
}

static void
go_there(const struct sockaddr_un *at, const char *how)
{
	const struct message half = { .kind = 1 };
	const struct message odd = { .kind = 9999, .last = 1 };

	for (int i = 0; i < 20; i++) {
		const int fd = socket(AF_UNIX, SOCK_SEQPACKET, 0);

		if (connect(fd, (const void *)at, sizeof *at) < 0)
			exit(99);
		if (!strcmp(how, "half"))
			(void)send(fd, &half, sizeof half, MSG_NOSIGNAL);
		for (int j = 0; j < 100 && !strcmp(how, "flood"); j++)
			(void)send(fd, &odd, sizeof odd,
				   MSG_NOSIGNAL | MSG_DONTWAIT);
	}
	victim_ready();
}

int
main(int argc, char **argv)
{
	struct sockaddr_un at = { .sun_family = AF_UNIX };

	if (argc < 3)
		return 99;
	victim_init();
	snprintf(at.sun_path, sizeof at.sun_path, "%s", argv[2]);
	if (!strncmp(argv[1], "listen", 6))
		listen_there(socket(AF_UNIX, SOCK_SEQPACKET, 0), &at,
			     !strcmp(argv[1], "listen-events"));
	else
		go_there(&at, argv[1]);
	victim_serve(NULL);
	return victim_end(true);
}
