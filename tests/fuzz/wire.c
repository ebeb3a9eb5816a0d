/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * A message between shell and tracer process, in packets: the first two bytes
 * of each piece are its length. Taken as each thing that it could be, and
 * said again: what was understood once is understood the same way twice.
 */
#include <sys/socket.h>

#include "../../src/session/private.h"
#include "fuzz.h"

static size_t used;

static int fds[2];

/* There and back. */
static void
pass_on(struct wire_message *m)
{
	struct wire_message back;

	if (wire_send(fds[0], m) < 0)
		abort();
	if (wire_recv(fds[1], &back) != 1 || back.kind != m->kind ||
	    back.body.len != m->body.len ||
	    memcmp(str_text(&back.body), str_text(&m->body), m->body.len))
		abort();
	wire_fini(m);
	*m = back;
}

static void
say_settings(const struct settings *s)
{
	struct wire_message m;
	struct settings again;

	wire_init(&m, WIRE_ENABLE);
	wire_put_settings(&m, s);
	pass_on(&m);
	settings_init(&again);
	wire_take_settings(&m, &again);
	if (m.broken || again.seed != s->seed ||
	    again.interval_ns != s->interval_ns)
		abort();
	settings_fini(&again);
	wire_fini(&m);
}

static void
say_failure(void)
{
	struct wire_message m;

	wire_init(&m, WIRE_FAILED);
	wire_put_failure(&m);
	pass_on(&m);
	(void)wire_take_failure(&m);
	if (m.broken)
		abort();
	wire_fini(&m);
}

static void
take(struct wire_message *m)
{
	struct settings s;
	int i;

	m->at = 0;
	m->broken = false;
	for (i = 0; i < 8; i++) {
		used += wire_take(m);
		used += fuzz_use(wire_take_text(m));
	}
	m->at = 0;
	m->broken = false;
	(void)wire_take_failure(m);
	used += fuzz_use(fail_last()->reason) + fuzz_use(fail_last()->remedy);
	say_failure();
	m->at = 0;
	m->broken = false;
	settings_init(&s);
	wire_take_settings(m, &s);
	used += fuzz_use(s.directory) + fuzz_use(s.notes);
	say_settings(&s);
	settings_fini(&s);
}

/* Pieces of the fuzzer's, to be read at the other end. */
static void
send_pieces(int fd, const uint8_t *data, size_t size)
{
	while (size > 2) {
		const size_t wanted = data[0] | (size_t)data[1] << 8;
		const size_t n = wanted < size - 2 ? wanted : size - 2;

		if (n && send(fd, data + 2, n, MSG_DONTWAIT) < 0)
			break;
		data += 2 + n;
		size -= 2 + n;
	}
}

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct wire_message m;
	int from[2];

	if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, from) < 0 ||
	    socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, fds) < 0)
		fuzz_broken("socketpair");
	send_pieces(from[0], data, size);
	close(from[0]);
	while (wire_recv(from[1], &m) > 0) {
		take(&m);
		wire_fini(&m);
	}
	close(fds[1]);
	wire_init(&m, WIRE_OK);
	if (wire_send(fds[0], &m) == 0)		/* nobody is there */
		abort();
	close(fds[0]);
	close(from[1]);
	fail_clear();
	return 0;
}
