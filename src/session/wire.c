/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Requests and failures on the wire. A body is a row of 8-byte words; a text
 * is its length plus one (0: NULL), then its bytes. A message longer than a
 * packet travels in parts, the last one marked.
 *
 * Both ends are the same program, so words keep the machine's byte order.
 * What comes from outside (`sonde stop`) is still checked: a take past the
 * end marks the message broken and gives 0.
 */
#include "private.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>

enum { PART_MAX = 48 * 1024, MESSAGE_MAX = 256 * 1024 * 1024 };

struct part_head {
	uint32_t kind;
	uint32_t last;
};

void
wire_init(struct wire_message *m, enum wire_kind kind)
{
	*m = (struct wire_message){ .kind = kind };
}

void
wire_fini(struct wire_message *m)
{
	str_fini(&m->body);
}

void
wire_put(struct wire_message *m, uint64_t word)
{
	str_addn(&m->body, (const char *)&word, sizeof word);
}

void
wire_put_text(struct wire_message *m, const char *text)
{
	wire_put(m, text ? strlen(text) + 1 : 0);
	if (text)
		str_addn(&m->body, text, strlen(text) + 1);
}

static const char *
take_bytes(struct wire_message *m, size_t n)
{
	if (m->broken || n > m->body.len - m->at) {
		m->broken = true;
		return NULL;
	}

	const char *p = m->body.data + m->at;

	m->at += n;
	return p;
}

void
wire_put_bytes(struct wire_message *m, const void *bytes, size_t n)
{
	wire_put(m, n);
	str_addn(&m->body, bytes, n);
}

const void *
wire_take_bytes(struct wire_message *m, size_t *n)
{
	*n = wire_take(m);
	return take_bytes(m, *n);
}

uint64_t
wire_take(struct wire_message *m)
{
	uint64_t word = 0;
	const char *p = take_bytes(m, sizeof word);

	if (p)
		memcpy(&word, p, sizeof word);
	return word;
}

const char *
wire_take_text(struct wire_message *m)
{
	const uint64_t len = wire_take(m);

	if (!len)
		return NULL;

	const char *text = take_bytes(m, len);

	if (text && text[len - 1]) {
		m->broken = true;
		return NULL;
	}
	return text;
}

static int
send_part(int fd, const struct part_head *head, const char *data, size_t n)
{
	struct iovec parts[] = {
		{ .iov_base = (void *)head, .iov_len = sizeof *head },
		{ .iov_base = (void *)data, .iov_len = n },
	};
	const struct msghdr msg = { .msg_iov = parts, .msg_iovlen = 2 };
	ssize_t done;

	do {
		done = sendmsg(fd, &msg, MSG_NOSIGNAL);
	} while (done < 0 && errno == EINTR);
	return done < 0 ? -1 : 0;
}

int
wire_send(int fd, const struct wire_message *m)
{
	size_t at = 0;

	do {
		const size_t left = m->body.len - at;
		const size_t n = left < PART_MAX ? left : PART_MAX;
		const struct part_head head = {
			.kind = m->kind, .last = n == left,
		};

		if (send_part(fd, &head, str_text(&m->body) + at, n) < 0) {
			(void)fail_errno("send to the other side");
			/* Who waits for it would wait for ever (ENOBUFS). */
			(void)shutdown(fd, SHUT_RDWR);
			return -1;
		}
		at += n;
	} while (at < m->body.len);
	return 0;
}

/* All parts but the last are as long as can be; else a message could have
 * parts without end. */
static bool
is_short_part(const char *packet, size_t n)
{
	struct part_head head;

	memcpy(&head, packet, sizeof head);
	return !head.last && n != sizeof head + PART_MAX;
}

int
wire_recv(int fd, struct wire_message *m)
{
	static char buffer[sizeof(struct part_head) + PART_MAX];
	struct part_head head;

	wire_init(m, 0);
	do {
		const ssize_t n = recv(fd, buffer, sizeof buffer, 0);

		if (n < 0 && errno == EINTR) {
			head.last = 0;
			continue;
		}
		if (n < (ssize_t)sizeof head || m->body.len > MESSAGE_MAX ||
		    is_short_part(buffer, (size_t)n)) {
			wire_fini(m);
			return n < 0 && errno != ECONNRESET ?
				fail_errno("receive from the other side") : 0;
		}
		memcpy(&head, buffer, sizeof head);
		m->kind = head.kind;
		str_addn(&m->body, buffer + sizeof head,
			 (size_t)n - sizeof head);
	} while (!head.last);
	return 1;
}

union descriptor {
	char room[CMSG_SPACE(sizeof(int))];
	struct cmsghdr align;
};

int
wire_send_fd(int fd, int sent)
{
	union descriptor d = { .room = {0} };
	struct iovec byte = { .iov_base = (void *)"", .iov_len = 1 };
	const struct msghdr msg = {
		.msg_iov = &byte, .msg_iovlen = 1, .msg_control = d.room,
		.msg_controllen = sizeof d.room,
	};
	struct cmsghdr *head = CMSG_FIRSTHDR(&msg);
	ssize_t done;

	head->cmsg_level = SOL_SOCKET;
	head->cmsg_type = SCM_RIGHTS;
	head->cmsg_len = CMSG_LEN(sizeof sent);
	memcpy(CMSG_DATA(head), &sent, sizeof sent);
	do {
		done = sendmsg(fd, &msg, MSG_NOSIGNAL);
	} while (done < 0 && errno == EINTR);
	if (done >= 0)
		return 0;
	(void)fail_errno("send a descriptor to the other side");
	(void)shutdown(fd, SHUT_RDWR);	/* it waits for that */
	return -1;
}

int
wire_recv_fd(int fd)
{
	union descriptor d;
	char text;
	struct iovec byte = { .iov_base = &text, .iov_len = 1 };
	struct msghdr msg = {
		.msg_iov = &byte, .msg_iovlen = 1, .msg_control = d.room,
		.msg_controllen = sizeof d.room,
	};
	const struct cmsghdr *head;
	ssize_t n;
	int got = -1;

	do {
		n = recvmsg(fd, &msg, MSG_CMSG_CLOEXEC);
	} while (n < 0 && errno == EINTR);
	head = n > 0 ? CMSG_FIRSTHDR(&msg) : NULL;
	if (head && head->cmsg_type == SCM_RIGHTS)
		memcpy(&got, CMSG_DATA(head), sizeof got);
	return got < 0 ? fail(FAIL_GENERAL, "no descriptor came") : got;
}

void
wire_put_failure(struct wire_message *m)
{
	const struct failure *f = fail_last();

	wire_put(m, f->kind);
	wire_put_text(m, f->reason);
	wire_put_text(m, f->remedy);
}

int
wire_take_failure(struct wire_message *m)
{
	const uint64_t kind = wire_take(m);
	const char *reason = wire_take_text(m);
	const char *remedy = wire_take_text(m);

	fail((enum fail_kind)kind, "%s", reason ? reason : "unknown failure");
	if (remedy && *remedy)
		fail_remedy("%s", remedy);
	return -1;
}

void
wire_put_settings(struct wire_message *m, const struct settings *s)
{
	wire_put(m, s->profile);
	wire_put(m, s->states);
	wire_put(m, s->creators);
	wire_put(m, s->heap);
	wire_put(m, s->heap_interval);
	wire_put(m, s->sync);
	wire_put(m, s->io);
	wire_put(m, s->children);
	wire_put(m, (uint64_t)s->sync_us);
	wire_put(m, s->trace_wait_ms);
	wire_put(m, s->interval_ns);
	wire_put(m, s->engine);
	wire_put_text(m, s->directory);
	wire_put_text(m, s->experiment);
	wire_put(m, s->overwrite);
	wire_put(m, s->limit_mb);
	wire_put(m, s->keep_ns);
	wire_put(m, s->archive);
	wire_put(m, s->sample_period_ns);
	wire_put(m, s->dbx_sample);
	wire_put(m, s->stack_bytes);
	wire_put(m, s->depth);
	wire_put_text(m, s->notes);
	wire_put(m, s->seed);
}

static char *
copy_text(const char *text)
{
	return text ? xstrdup(text) : NULL;
}

void
wire_take_settings(struct wire_message *m, struct settings *s)
{
	settings_fini(s);
	s->profile = wire_take(m);
	s->states = wire_take(m);
	s->creators = wire_take(m);
	s->heap = wire_take(m);
	s->heap_interval = wire_take(m);
	s->sync = wire_take(m);
	s->io = wire_take(m);
	s->children = wire_take(m);
	s->sync_us = (int64_t)wire_take(m);
	s->trace_wait_ms = (uint32_t)wire_take(m);
	s->interval_ns = wire_take(m);
	s->engine = (enum session_engine)wire_take(m);
	s->directory = copy_text(wire_take_text(m));
	s->experiment = copy_text(wire_take_text(m));
	s->overwrite = wire_take(m);
	s->limit_mb = wire_take(m);
	s->keep_ns = wire_take(m);
	s->archive = (enum session_archive)wire_take(m);
	s->sample_period_ns = wire_take(m);
	s->dbx_sample = wire_take(m);
	s->stack_bytes = (uint32_t)wire_take(m);
	s->depth = (uint32_t)wire_take(m);
	s->notes = copy_text(wire_take_text(m));
	s->seed = (unsigned)wire_take(m);
}
