/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * client: the other side of a server that is being visited; it counts each
 * answer that is missing, wrong, out of order, or later than five seconds.
 *
 *	client redis SOCKET	INCR on four connections; each number once
 *	client http PORT	GET / on four connections, one a request
 *
 * It ends when its input does, and says `wrong N of N`.
 */
#include <arpa/inet.h>
#include <errno.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <sys/un.h>
#include <unistd.h>

enum { CLIENTS = 4 };

static volatile bool over;
static unsigned long wrong, asked;
static const char *where;

static int
dial(bool local)
{
	const struct timeval patience = { 5, 0 };
	struct sockaddr_un un = { .sun_family = AF_UNIX };
	struct sockaddr_in in = { .sin_family = AF_INET };
	const int fd = socket(local ? AF_UNIX : AF_INET, SOCK_STREAM, 0);

	snprintf(un.sun_path, sizeof un.sun_path, "%s", where);
	in.sin_port = htons((unsigned short)atoi(where));
	in.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
	setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &patience, sizeof patience);
	if (connect(fd, local ? (void *)&un : (void *)&in,
		    local ? sizeof un : sizeof in) < 0) {
		close(fd);
		return -1;
	}
	return fd;
}

static void
judge(bool right)
{
	__atomic_fetch_add(&asked, 1, __ATOMIC_RELAXED);
	if (!right)
		__atomic_fetch_add(&wrong, 1, __ATOMIC_RELAXED);
}

/* Each connection counts in a key of its own. */
static void *
ask_redis(void *arg)
{
	char ask[64], line[64];
	const int fd = dial(true), n = snprintf(ask, sizeof ask,
		"INCR torture:%d\r\n", (int)(long)arg);
	long number = 0;

	judge(fd >= 0);
	while (!over && fd >= 0) {
		size_t len = 0;

		if (write(fd, ask, (size_t)n) != n)
			break;
		while (len < sizeof line - 1 &&
		       read(fd, line + len, 1) == 1 && line[len++] != '\n')
			;
		line[len] = '\0';
		judge(line[0] == ':' && atol(line + 1) == ++number);
	}
	judge(over);
	return NULL;
}

static void *
ask_http(void *arg)
{
	static const char ask[] = "GET / HTTP/1.0\r\nHost: torture\r\n\r\n";

	while (!over) {
		const int fd = dial(false);
		char answer[4096];
		size_t len = 0;
		ssize_t r = -1;

		if (fd >= 0 && write(fd, ask, sizeof ask - 1) ==
		    sizeof ask - 1)
			while ((r = read(fd, answer + len,
					 sizeof answer - 1 - len)) > 0)
				len += (size_t)r;
		answer[len] = '\0';
		judge(r == 0 && strncmp(answer, "HTTP/1.1 200 ", 13) == 0 &&
		      strstr(answer, "the whole page\n"));
		if (fd >= 0)
			close(fd);
	}
	return arg;
}

int
main(int argc, char **argv)
{
	pthread_t th[CLIENTS];
	char c;
	long i;

	if (argc != 3)
		return 99;
	where = argv[2];
	signal(SIGPIPE, SIG_IGN);
	for (i = 0; i < CLIENTS; i++)
		pthread_create(&th[i], NULL, strcmp(argv[1], "redis") == 0 ?
			       ask_redis : ask_http, (void *)i);
	while (read(0, &c, 1) > 0)
		;
	over = true;
	for (i = 0; i < CLIENTS; i++)
		pthread_join(th[i], NULL);
	printf("wrong %lu of %lu\n", wrong, asked);
	return wrong != 0 || asked < 10;
}
