/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * A message between shell and tracer process, in packets: the first two bytes
 * of each piece are its length. Taken as each thing that it could be.
 */
#include <sys/socket.h>

#include "../../src/session/private.h"
#include "fuzz.h"

static size_t used;

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
	m->at = 0;
	m->broken = false;
	settings_init(&s);
	wire_take_settings(m, &s);
	used += fuzz_use(s.directory) + fuzz_use(s.notes);
	settings_fini(&s);
}

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct wire_message m;
	int fds[2];

	if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, fds) < 0)
		fuzz_broken("socketpair");
	while (size > 2) {
		const size_t wanted = data[0] | (size_t)data[1] << 8;
		const size_t n = wanted < size - 2 ? wanted : size - 2;

		if (n && send(fds[0], data + 2, n, MSG_DONTWAIT) < 0)
			break;
		data += 2 + n;
		size -= 2 + n;
	}
	close(fds[0]);
	while (wire_recv(fds[1], &m) > 0) {
		take(&m);
		wire_fini(&m);
	}
	close(fds[1]);
	fail_clear();
	return 0;
}
