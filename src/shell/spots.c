/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Breakpoints of the session by their addresses. Several handlers, and a step,
 * may want one at the same: they share it.
 */
#include "private.h"

#include <stdlib.h>
#include <string.h>

struct spot {
	uint64_t address;
	int breakpoint;
	unsigned users;
};

static struct spot *
find(const struct shell *sh, uint64_t address, size_t *at)
{
	for (size_t i = 0; i < sh->spots.len; i++) {
		struct spot *s = sh->spots.items[i];

		if (s->address == address) {
			*at = i;
			return s;
		}
	}
	return NULL;
}

int
spot_take(struct shell *sh, uint64_t address, bool may_trap)
{
	size_t at;
	struct spot *s = find(sh, address, &at);
	int number;

	if (s) {
		s->users++;
		filters_end_at(sh, address);
		until_unfilter(sh, address);
		return 0;
	}
	number = session_break(sh->session, address, may_trap ? MAY_TRAP :
			       NO_TRAP);
	if (number < 0)
		return -1;
	s = xcalloc(1, sizeof *s);
	*s = (struct spot){ address, number, 1 };
	vec_push(&sh->spots, s);
	return 0;
}

void
spot_drop(struct shell *sh, uint64_t address)
{
	size_t at;
	struct spot *s = find(sh, address, &at);

	if (!s || --s->users)
		return;
	if (target_alive(sh))
		(void)session_unbreak(sh->session, s->breakpoint);
	free(s);
	sh->spots.len--;
	memmove(&sh->spots.items[at], &sh->spots.items[at + 1],
		(sh->spots.len - at) * sizeof *sh->spots.items);
}

void
spot_share(struct shell *sh, uint64_t address)
{
	size_t at;
	struct spot *s = find(sh, address, &at);

	if (s)
		s->users++;
	until_unfilter(sh, address);
}

unsigned
spot_users(const struct shell *sh, uint64_t address)
{
	size_t at;
	const struct spot *s = find(sh, address, &at);

	return s ? s->users : 0;
}

bool
spot_address(const struct shell *sh, int breakpoint, uint64_t *address)
{
	for (size_t i = 0; i < sh->spots.len; i++) {
		const struct spot *s = sh->spots.items[i];

		if (s->breakpoint == breakpoint) {
			*address = s->address;
			return true;
		}
	}
	return false;
}

int
spot_number(const struct shell *sh, uint64_t address)
{
	size_t at;
	const struct spot *s = find(sh, address, &at);

	return s ? s->breakpoint : -1;
}

void
spots_forget(struct shell *sh)
{
	for (size_t i = 0; i < sh->spots.len; i++)
		free(sh->spots.items[i]);
	sh->spots.len = 0;
}
