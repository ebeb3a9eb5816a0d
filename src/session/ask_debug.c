/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * What the shell asks of a target that stands: memory, registers, steps.
 */
#include "client.h"

#include <stdlib.h>
#include <string.h>

int
session_read(struct session *s, uint64_t addr, void *buf, size_t n)
{
	struct wire_message request, answer;

	wire_init(&request, WIRE_READ);
	wire_put(&request, addr);
	wire_put(&request, n);

	const int r = client_ask(s, &request, &answer);
	size_t got = 0;
	const void *bytes = r == 0 ? wire_take_bytes(&answer, &got) : NULL;

	if (bytes && got == n)
		memcpy(buf, bytes, n);
	wire_fini(&answer);
	return r;
}

int
session_write(struct session *s, uint64_t addr, const void *buf, size_t n)
{
	struct wire_message request, answer;

	s->moves++;
	wire_init(&request, WIRE_WRITE);
	wire_put(&request, addr);
	wire_put_bytes(&request, buf, n);

	const int r = client_ask(s, &request, &answer);

	wire_fini(&answer);
	return r;
}

ssize_t
session_regset(struct session *s, pid_t tid, unsigned type, void *buf,
	       size_t size)
{
	struct wire_message request, answer;

	wire_init(&request, WIRE_REGSET);
	wire_put(&request, (uint64_t)tid);
	wire_put(&request, type);

	const int r = client_ask(s, &request, &answer);
	size_t n = 0;
	const void *bytes = r == 0 ? wire_take_bytes(&answer, &n) : NULL;

	if (n > size)
		n = size;
	if (bytes)
		memcpy(buf, bytes, n);
	wire_fini(&answer);
	return r < 0 ? -1 : (ssize_t)n;
}

int
session_set_regset(struct session *s, pid_t tid, unsigned type,
		   const void *buf, size_t size)
{
	struct wire_message request, answer;

	s->moves++;
	wire_init(&request, WIRE_SET_REGSET);
	wire_put(&request, (uint64_t)tid);
	wire_put(&request, type);
	wire_put_bytes(&request, buf, size);

	const int r = client_ask(s, &request, &answer);

	wire_fini(&answer);
	return r;
}

int
session_step(struct session *s, pid_t tid, uint64_t start, uint64_t end,
	     struct session_step *at)
{
	struct wire_message request, answer;

	s->moves += start <= end;
	wire_init(&request, WIRE_STEP);
	wire_put(&request, (uint64_t)tid);
	wire_put(&request, start);
	wire_put(&request, end);

	const int r = client_ask(s, &request, &answer);

	*at = (struct session_step){ .breakpoint = -1 };
	if (r == 0) {
		at->why = (enum session_stepped)wire_take(&answer);
		at->pc = wire_take(&answer);
		at->sp = wire_take(&answer);
		at->behind_call = wire_take(&answer);
		at->breakpoint = (int)(int64_t)wire_take(&answer);
	}
	wire_fini(&answer);
	return r;
}

int
session_at(struct session *s, pid_t tid, struct session_step *at)
{
	return session_step(s, tid, 1, 0, at);
}

int
session_behind_call(struct session *s, uint64_t pc, uint64_t *behind)
{
	struct wire_message request, answer;

	wire_init(&request, WIRE_BEHIND_CALL);
	wire_put(&request, pc);

	const int r = client_ask(s, &request, &answer);

	*behind = r == 0 ? wire_take(&answer) : 0;
	wire_fini(&answer);
	return r;
}

ssize_t
session_loader(struct session *s, uint64_t *notify,
	       struct session_object **out)
{
	struct wire_message request, answer;
	size_t n = 0, cap = 0;

	*out = NULL;
	*notify = 0;
	wire_init(&request, WIRE_LOADER);
	if (client_ask(s, &request, &answer) < 0) {
		wire_fini(&answer);
		return -1;
	}
	*notify = wire_take(&answer);
	while (answer.at < answer.body.len && !answer.broken) {
		const uint64_t base = wire_take(&answer);
		const char *name = wire_take_text(&answer);

		*out = xgrow(*out, &cap, n + 1, sizeof **out);
		(*out)[n++] = (struct session_object){
			base, xstrdup(name ? name : "") };
	}
	wire_fini(&answer);
	return (ssize_t)n;
}

void
session_objects_free(struct session_object *objects, size_t n)
{
	for (size_t i = 0; i < n; i++)
		free(objects[i].name);
	free(objects);
}

uint64_t
session_moves(const struct session *s)
{
	return s->moves;
}

int
session_suspend(struct session *s, pid_t tid, bool suspend, bool *before)
{
	struct wire_message request, answer;

	wire_init(&request, WIRE_SUSPEND);
	wire_put(&request, (uint64_t)tid);
	wire_put(&request, suspend);

	const int r = client_ask(s, &request, &answer);

	*before = r == 0 && wire_take(&answer);
	wire_fini(&answer);
	return r;
}
