/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Requests of the shell about hits that it need not hear of, or only that what
 * it wants has been done.
 */
#include "client.h"

#include <string.h>

int
session_filter(struct session *s, int number, const struct session_filter *f)
{
	struct wire_message request, answer;

	wire_init(&request, WIRE_FILTER);
	wire_put(&request, (uint64_t)number);
	wire_put_bytes(&request, f, sizeof *f);

	const int r = client_ask(s, &request, &answer);

	wire_fini(&answer);
	return r;
}

int
session_hits(struct session *s, int who, bool end, struct session_hits *out)
{
	struct wire_message request, answer;
	const void *bytes = NULL;
	size_t n;

	wire_init(&request, WIRE_HITS);
	wire_put(&request, (uint64_t)who);
	wire_put(&request, end);

	int r = client_ask(s, &request, &answer);

	if (r == 0)
		bytes = wire_take_bytes(&answer, &n);
	if (bytes && n == sizeof *out)
		memcpy(out, bytes, sizeof *out);
	if (r == 0 && (!bytes || n != sizeof *out ||
		       out->pending_count > SESSION_PENDING))
		r = fail(FAIL_GENERAL, "an answer was damaged");
	wire_fini(&answer);
	return r;
}
