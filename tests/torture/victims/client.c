/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * client: the other side of a server that is being visited; it counts each
 * answer that is missing, wrong, out of order, or later than half a minute.
 *
 *	client redis SOCKET	INCR on four connections; each number once
 *	client http PORT	GET / on four connections, some requests on
 *				each; the page byte by byte
 *	client postgres SOCKET	four connections in transactions, some of them
 *				rolled back; each number once, sums that stay
 *	client page		the page that a server of http is to have
 *	client tables		the commands that make the tables
 *
 * It ends when its input does, and says `wrong N of N, worst N ms, N late`:
 * late are those of 100 ms and more. A line of input: it says so meanwhile,
 * with the worst since it said so last.
 */
#include <arpa/inet.h>
#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <sys/un.h>
#include <time.h>
#include <unistd.h>

enum {
	CLIENTS = 4,
	PAGE = 20000,		/* bytes */
	REQUESTS = 50,		/* on one connection */
	LATE_MS = 100,
	PAIR = 1000,		/* what the two accounts of a client hold */
};

static volatile bool over;
static unsigned long wrong, asked, worst_us, late;
static const char *where;

static unsigned long
now_us(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_MONOTONIC, &ts);
	return (unsigned long)ts.tv_sec * 1000000 +
		(unsigned long)ts.tv_nsec / 1000;
}

static int
dial(bool local)
{
	const struct timeval patience = { 30, 0 };
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

static bool
read_all(int fd, void *to, size_t n)
{
	size_t have = 0;

	while (have < n) {
		const ssize_t r = read(fd, (char *)to + have, n - have);

		if (r <= 0)
			return false;
		have += (size_t)r;
	}
	return true;
}

static bool
write_all(int fd, const void *what, size_t n)
{
	return write(fd, what, n) == (ssize_t)n;
}

static void
judge(bool right, unsigned long since)
{
	static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
	const unsigned long took = now_us() - since;

	pthread_mutex_lock(&lock);
	asked++;
	wrong += !right;
	late += took >= LATE_MS * 1000;
	if (took > worst_us)
		worst_us = took;
	pthread_mutex_unlock(&lock);
}

static void
say(void)
{
	printf("wrong %lu of %lu, worst %lu ms, %lu late\n", wrong, asked,
	       worst_us / 1000, late);
	fflush(stdout);
	worst_us = 0;
}

/* ---- redis --------------------------------------------------------------- */

/* Each connection counts in a key of its own. */
static void *
ask_redis(void *arg)
{
	char ask[64], line[64];
	const int fd = dial(true), n = snprintf(ask, sizeof ask,
		"INCR torture:%d:%d\r\n", getpid(), (int)(long)arg);
	long number = 0;

	while (!over && fd >= 0) {
		const unsigned long since = now_us();
		size_t len = 0;

		if (!write_all(fd, ask, (size_t)n))
			break;
		while (len < sizeof line - 1 &&
		       read(fd, line + len, 1) == 1 && line[len++] != '\n')
			;
		line[len] = '\0';
		judge(line[0] == ':' && atol(line + 1) == ++number, since);
	}
	judge(over, now_us());
	return NULL;
}

/* ---- http ---------------------------------------------------------------- */

static char
page_byte(size_t i)
{
	return (char)('a' + (i * 7 + i / 26) % 26);
}

static bool
is_page(const char *body)
{
	size_t i;

	for (i = 0; i < PAGE && body[i] == page_byte(i); i++)
		;
	return i == PAGE;
}

static void
say_page(void)
{
	size_t i;

	for (i = 0; i < PAGE; i++)
		putchar(page_byte(i));
}

/* Its head by single bytes: nothing of the next answer is taken. */
static bool
read_page(int fd)
{
	static const char length[] = "\ncontent-length: 20000\r";
	char head[2048], body[PAGE];
	size_t n = 0, i;

	while (n < 4 || memcmp(head + n - 4, "\r\n\r\n", 4) != 0)
		if (n == sizeof head - 1 || read(fd, head + n++, 1) != 1)
			return false;
	head[n] = '\0';
	if (strncmp(head, "HTTP/1.1 200 ", 13) != 0)
		return false;
	for (i = 0; strncasecmp(head + i, length, sizeof length - 1) != 0; i++)
		if (i == n)
			return false;
	return read_all(fd, body, PAGE) && is_page(body);
}

static void *
ask_http(void *arg)
{
	static const char ask[] = "GET / HTTP/1.1\r\nHost: torture\r\n\r\n";

	while (!over) {
		bool right = true;
		int fd, i;

		fd = dial(false);
		for (i = 0; i < REQUESTS && right && !over; i++) {
			const unsigned long since = now_us();

			right = fd >= 0 &&
				write_all(fd, ask, sizeof ask - 1) &&
				read_page(fd);
			judge(right, since);
		}
		close(fd);
	}
	return arg;
}

/* ---- postgres ------------------------------------------------------------ */

static void
say_tables(void)
{
	int i;

	/* a command on each line, as a single postgres wants it */
	puts("create table counter (id int primary key, n bigint);\n"
	     "create table account (id int primary key, value bigint);");
	for (i = 0; i < CLIENTS; i++)
		printf("insert into counter values (%d, 0);\n"
		       "insert into account values (%d, %d), (%d, 0);\n",
		       i, 2 * i, PAIR, 2 * i + 1);
}

/* The answer up to "ready for query"; the last value of the last row. */
static bool
pg_answer(int fd, long *value)
{
	struct __attribute__((packed)) { char kind; uint32_t size; } head;
	char body[4096];
	bool right = true;

	do {
		if (!read_all(fd, &head, sizeof head))
			return false;
		head.size = ntohl(head.size) - 4;
		if (head.size >= sizeof body || !read_all(fd, body, head.size))
			return false;
		body[head.size] = '\0';
		if (head.kind == 'D')	/* one column: its length is before it */
			*value = atol(body + 6);
		if (head.kind == 'E') {
			fprintf(stderr, "postgres: %s\n", body);
			right = false;
		}
	} while (head.kind != 'Z');
	return right;
}

static bool
pg_ask(int fd, const char *sql, long *value)
{
	const size_t n = strlen(sql) + 1;
	const uint32_t size = htonl((uint32_t)n + 4);
	const unsigned long since = now_us();
	char ask[300] = "Q";
	bool right;

	memcpy(ask + 1, &size, 4);
	memcpy(ask + 5, sql, n);
	right = write_all(fd, ask, n + 5) && pg_answer(fd, value);
	judge(right, since);
	return right;
}

static int
pg_dial(void)
{
	static const char words[] = "user\0torture\0database\0postgres\0";
	const uint32_t head[2] = { htonl(8 + sizeof words), htonl(196608) };
	const int fd = dial(true);
	long value;

	if (fd < 0 || !write_all(fd, head, sizeof head) ||
	    !write_all(fd, words, sizeof words) || !pg_answer(fd, &value))
		return -1;
	return fd;
}

/* One transaction: the counter goes on by five, money goes to and fro. */
static bool
pg_transaction(int fd, int me, long *number, bool commit)
{
	char count[100], pay[200];
	long value = -1, i;

	snprintf(count, sizeof count, "update counter set n = n + 1 "
		 "where id = %d returning n", me);
	snprintf(pay, sizeof pay, "update account set value = %d - value "
		 "where id in (%d, %d)", PAIR, 2 * me, 2 * me + 1);
	if (!pg_ask(fd, "begin", &value))
		return false;
	for (i = 1; i <= 5; i++)
		if (!pg_ask(fd, count, &value) || value != *number + i ||
		    !pg_ask(fd, pay, &value))
			return false;
	if (!pg_ask(fd, "select sum(value) from account", &value) ||
	    value != CLIENTS * PAIR)
		return false;
	*number += commit ? 5 : 0;
	return pg_ask(fd, commit ? "commit" : "rollback", &value);
}

static void *
ask_postgres(void *arg)
{
	const int fd = pg_dial(), me = (int)(long)arg;
	char first[100];
	long number = -1, round;

	snprintf(first, sizeof first, "select n from counter where id = %d", me);
	judge(fd >= 0 && pg_ask(fd, first, &number), now_us());
	for (round = 0; !over; round++)
		if (!pg_transaction(fd, me, &number, round % 3 != 0)) {
			judge(false, now_us());
			break;
		}
	close(fd);
	return NULL;
}

/* ---- all ----------------------------------------------------------------- */

static void *(*work_for(const char *kind))(void *)
{
	if (strcmp(kind, "redis") == 0)
		return ask_redis;
	if (strcmp(kind, "http") == 0)
		return ask_http;
	return strcmp(kind, "postgres") == 0 ? ask_postgres : NULL;
}

int
main(int argc, char **argv)
{
	void *(*const work)(void *) = argc == 3 ? work_for(argv[1]) : NULL;
	pthread_t th[CLIENTS];
	char c;
	long i;

	if (argc == 2 && strcmp(argv[1], "page") == 0)
		return say_page(), 0;
	if (argc == 2 && strcmp(argv[1], "tables") == 0)
		return say_tables(), 0;
	if (!work)
		return 99;
	where = argv[2];
	signal(SIGPIPE, SIG_IGN);
	for (i = 0; i < CLIENTS; i++)
		pthread_create(&th[i], NULL, work, (void *)i);
	while (read(0, &c, 1) > 0)
		say();
	over = true;
	for (i = 0; i < CLIENTS; i++)
		pthread_join(th[i], NULL);
	say();
	return wrong != 0 || asked < 10;
}
