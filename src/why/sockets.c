/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Sockets by their inode: addresses from the tables of the name space that
 * the process lives in. The other end of one within the same machine: for TCP
 * the entry with the addresses the other way round; for a Unix socket the
 * kernel tells it by sock_diag, of our own name space only.
 */
#include "private.h"

#include <arpa/inet.h>
#include <inttypes.h>
#include <linux/netlink.h>
#include <linux/sock_diag.h>
#include <linux/unix_diag.h>
#include <netinet/in.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

enum { SOCKETS_MAX = 1 << 20, STATE_LISTEN = 10, ANSWER_BYTES = 32768 };

static struct socket_entry *
add(struct why *y, uint64_t inode, char *text)
{
	y->sockets = xgrow(y->sockets, &y->socket_cap, y->socket_len + 1,
			   sizeof *y->sockets);
	y->sockets[y->socket_len] = (struct socket_entry){
		.inode = inode, .text = text,
	};
	return &y->sockets[y->socket_len++];
}

static struct socket_entry *
find(const struct why *y, uint64_t inode)
{
	for (size_t i = 0; i < y->socket_len; i++)
		if (y->sockets[i].inode == inode)
			return &y->sockets[i];
	return NULL;
}

/* ---- net/tcp and the like ----------------------------------------------- */

/* Words of 4 bytes in hex, each in the byte order of the machine. */
static void
print_address(const char *hex, unsigned port, char *out, size_t size)
{
	unsigned char bytes[16];
	char text[INET6_ADDRSTRLEN] = "?";
	const bool four = strlen(hex) == 8;

	for (size_t i = 0; i < (four ? 1 : 4); i++) {
		char word[9] = "";
		uint32_t value;

		memcpy(word, hex + 8 * i, 8);
		value = (uint32_t)strtoul(word, NULL, 16);
		memcpy(bytes + 4 * i, &value, 4);
	}
	(void)inet_ntop(four ? AF_INET : AF_INET6, bytes, text, sizeof text);
	(void)snprintf(out, size, four ? "%s:%u" : "[%s]:%u", text, port);
}

static bool
parse_ends(const char *line, struct ends *e)
{
	return sscanf(line, " %*u: %32[0-9A-F]:%x %32[0-9A-F]:%x %x %*s %*s "
		      "%*s %*u %*u %" SCNu64, e->local, &e->local_port,
		      e->remote, &e->remote_port, &e->state, &e->inode) == 6 &&
		(strlen(e->local) == 8 || strlen(e->local) == 32) &&
		strlen(e->local) == strlen(e->remote);
}

static char *
ends_text(const struct ends *e)
{
	const char *kind = e->kind;
	char local[64], remote[64];

	print_address(e->local, e->local_port, local, sizeof local);
	print_address(e->remote, e->remote_port, remote, sizeof remote);
	if (str_starts(kind, "tcp") && e->state == STATE_LISTEN)
		return xasprintf("%s %s, listening", kind, local);
	if (!e->remote_port)
		return xasprintf("%s %s", kind, local);
	return xasprintf("%s %s to %s", kind, local, remote);
}

static bool
is_other_end(const struct ends *a, const struct ends *b)
{
	return a->remote_port && a->local_port == b->remote_port &&
		a->remote_port == b->local_port &&
		strcmp(a->local, b->remote) == 0 &&
		strcmp(a->remote, b->local) == 0;
}

/* The line at *at, ended, which goes to the next one; NULL: there is none.
 * sscanf looks for the end of all that it is given. */
static char *
next_line(char **at)
{
	char *line = *at, *end;

	if (!line || !*line)
		return NULL;
	end = strchr(line, '\n');
	*at = end ? end + 1 : NULL;
	if (end)
		*end = '\0';
	return line;
}

static void
read_table(struct why *y, pid_t pid, const char *kind)
{
	char *text = proc_text(process_living(pid), "net/%s", kind);
	char *at = text;
	struct ends e = { .kind = kind };

	for (const char *line; (line = next_line(&at));) {
		if (!parse_ends(line, &e) || y->row_len >= SOCKETS_MAX)
			continue;
		y->rows = xgrow(y->rows, &y->row_cap, y->row_len + 1,
				sizeof *y->rows);
		y->rows[y->row_len++] = e;
	}
	free(text);
}

/* A connection within the machine has two rows. */
static bool
take_row(struct why *y, uint64_t inode)
{
	const struct ends *mine = NULL;

	for (size_t i = 0; i < y->row_len && !mine; i++)
		if (y->rows[i].inode == inode)
			mine = &y->rows[i];
	if (!mine)
		return false;

	struct socket_entry *s = add(y, inode, ends_text(mine));

	for (size_t i = 0; i < y->row_len && !s->peer; i++)
		if (is_other_end(mine, &y->rows[i]))
			s->peer = y->rows[i].inode;
	return true;
}

/* ---- Unix sockets ------------------------------------------------------- */

static int
ask_diag(int fd, uint64_t inode)
{
	struct {
		struct nlmsghdr head;
		struct unix_diag_req request;
	} m = {
		.head = { .nlmsg_len = sizeof m,
			  .nlmsg_type = SOCK_DIAG_BY_FAMILY,
			  .nlmsg_flags = NLM_F_REQUEST },
		.request = { .sdiag_family = AF_UNIX, .udiag_states = ~0U,
			     .udiag_ino = (uint32_t)inode,
			     .udiag_show = UDIAG_SHOW_PEER,
			     .udiag_cookie = { ~0U, ~0U } },
	};

	return send(fd, &m, sizeof m, 0) == (ssize_t)sizeof m ? 0 : -1;
}

/* The attribute UNIX_DIAG_PEER of one answer; 0: it says none. */
static uint64_t
peer_in(const unsigned char *data, size_t size)
{
	const struct nlmsghdr *head = (const void *)data;
	size_t at = NLMSG_HDRLEN + NLMSG_ALIGN(sizeof(struct unix_diag_msg));

	if (size < at || head->nlmsg_type != SOCK_DIAG_BY_FAMILY)
		return 0;
	while (at + sizeof(struct nlattr) <= size) {
		const struct nlattr *a = (const void *)(data + at);
		uint32_t peer;

		if (a->nla_len < sizeof *a || a->nla_len > size - at)
			break;
		if (a->nla_type == UNIX_DIAG_PEER &&
		    a->nla_len >= sizeof *a + sizeof peer) {
			memcpy(&peer, a + 1, sizeof peer);
			return peer;
		}
		at += NLA_ALIGN(a->nla_len);
	}
	return 0;
}

static uint64_t
unix_peer(uint64_t inode)
{
	static _Alignas(8) unsigned char answer[ANSWER_BYTES];
	const int fd = socket(AF_NETLINK, SOCK_RAW | SOCK_CLOEXEC,
			      NETLINK_SOCK_DIAG);
	uint64_t peer = 0;

	if (fd < 0)
		return 0;
	if (ask_diag(fd, inode) == 0) {
		const ssize_t n = recv(fd, answer, sizeof answer, 0);

		peer = n > 0 ? peer_in(answer, (size_t)n) : 0;
	}
	close(fd);
	return peer;
}

/* "Num: RefCount Protocol Flags Type St Inode Path" */
static bool
take_unix(struct why *y, pid_t pid, uint64_t wanted)
{
	char *text = proc_text(process_living(pid), "net/unix");
	char *at = text;
	bool found = false;

	for (const char *line; !found && (line = next_line(&at));) {
		uint64_t inode;
		char path[109] = "";

		if (sscanf(line, "%*x: %*x %*x %*x %*x %*x %" SCNu64 "%*[ ]"
			   "%108[^\n]", &inode, path) < 1 || inode != wanted)
			continue;
		add(y, wanted, *path ? xasprintf("unix %s", str_tame(path)) :
		    xasprintf("unix socket"))->peer = unix_peer(wanted);
		found = true;
	}
	free(text);
	return found;
}

/* ---- all ---------------------------------------------------------------- */

static void
enter(struct why *y, pid_t pid)
{
	static const char *const tables[] = { "tcp", "tcp6", "udp", "udp6" };

	sockets_forget(y);
	y->sockets_of = pid;
	for (size_t i = 0; i < ARRAY_LEN(tables); i++)
		read_table(y, pid, tables[i]);
}

void
sockets_forget(struct why *y)
{
	for (size_t i = 0; i < y->socket_len; i++)
		free(y->sockets[i].text);
	y->socket_len = y->row_len = 0;
}

const struct socket_entry *
socket_find(struct why *y, pid_t pid, uint64_t inode)
{
	const struct socket_entry *s;

	if (y->sockets_of != pid)
		enter(y, pid);
	if ((s = find(y, inode)))
		return s;
	if (!take_row(y, inode) && !take_unix(y, pid, inode))
		(void)add(y, inode, xstrdup("socket"));
	return find(y, inode);
}
