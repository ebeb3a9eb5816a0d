/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * The cost of stacks that hold a run of functions, each calling the next with
 * nothing between them, and who stands above and below that run. <Total>
 * stands above the outermost function of each stack.
 *
 * Under recursion a stack may hold the run several times. As in edges, the
 * place nearest to the leaf counts; the functions above and below the other
 * places are there, with nothing.
 */
#include "private.h"

#include <stdlib.h>
#include <string.h>

struct matching {
	struct profile *prof;
	const uint32_t *run;	/* outermost first */
	size_t len;
	uint64_t *own, *all;
	struct {
		struct map at;	/* function -> index + 1 */
		struct profile_neighbour *items;
		uint64_t *values;
		size_t len, cap, values_cap;
	} sides[2];
};

enum { ABOVE, BELOW };

/* Frame n, beyond the outermost, is <Total>. */
static uint32_t
frame_at(const uint32_t *frames, size_t n, size_t i)
{
	return i < n ? frames[i] : FUNCTION_TOTAL;
}

/* Does the run end, on the leaf's side, at frame i? */
static bool
ends_at(const struct matching *m, const uint32_t *frames, size_t n, size_t i)
{
	if (i + m->len > n + 1)
		return false;
	for (size_t k = 0; k < m->len; k++)
		if (frame_at(frames, n, i + k) != m->run[m->len - 1 - k])
			return false;
	return true;
}

static void
add_values(const struct profile *prof, uint64_t *to, const uint64_t *weight)
{
	for (size_t s = 0; s < prof->slots; s++)
		to[s] += weight[s];
}

/* weight NULL: it is there, that is all. */
static void
add_neighbour(struct matching *m, int side, uint32_t function,
	      const uint64_t *weight)
{
	const size_t slots = m->prof->slots;
	uint64_t *slot = map_slot_of(&m->sides[side].at, function);

	if (!*slot) {
		const size_t n = m->sides[side].len++;

		m->sides[side].items = xgrow(
			m->sides[side].items, &m->sides[side].cap, n + 1,
			sizeof *m->sides[side].items);
		m->sides[side].values = xgrow(
			m->sides[side].values, &m->sides[side].values_cap,
			(n + 1) * slots + 1, sizeof *m->sides[side].values);
		memset(&m->sides[side].values[n * slots], 0,
		       slots * sizeof *m->sides[side].values);
		m->sides[side].items[n].function = function;
		*slot = n + 1;
	}
	if (weight)
		add_values(m->prof, &m->sides[side].values[(*slot - 1) *
							   slots], weight);
}

static void
match(void *arg, const uint32_t *frames, size_t n, const uint64_t *weight)
{
	struct matching *m = arg;
	bool nearest = true;

	for (size_t i = 0; i <= n; i++) {
		if (!ends_at(m, frames, n, i))
			continue;
		if (nearest)
			add_values(m->prof, m->all, weight);
		if (nearest && (i == 0 || i == n))
			add_values(m->prof, m->own, weight);
		if (i > 0)
			add_neighbour(m, BELOW, frames[i - 1],
				      nearest ? weight : NULL);
		if (i + m->len <= n)
			add_neighbour(m, ABOVE,
				      frame_at(frames, n, i + m->len),
				      nearest ? weight : NULL);
		nearest = false;
	}
}

static struct profile_neighbour *
take_side(struct matching *m, int side, size_t *n)
{
	*n = m->sides[side].len;
	for (size_t i = 0; i < *n; i++)
		m->sides[side].items[i].value =
			&m->sides[side].values[i * m->prof->slots];
	map_fini(&m->sides[side].at);
	return m->sides[side].items;
}

struct profile_fragment *
profile_fragment(struct profile *prof, const uint32_t *functions, size_t n)
{
	struct profile_fragment *f = xcalloc(1, sizeof *f);
	struct matching m = {
		.prof = prof, .run = functions, .len = n,
		.own = xcalloc(prof->slots + 1, sizeof *m.own),
		.all = xcalloc(prof->slots + 1, sizeof *m.all),
	};

	profile_stacks(prof, match, &m);
	f->cost = (struct cost){ m.own, m.all };
	f->callers = take_side(&m, ABOVE, &f->callers_len);
	f->callees = take_side(&m, BELOW, &f->callees_len);
	f->values[0] = m.own;
	f->values[1] = m.all;
	f->values[2] = m.sides[ABOVE].values;
	f->values[3] = m.sides[BELOW].values;
	return f;
}

void
profile_fragment_free(struct profile_fragment *f)
{
	if (!f)
		return;
	free(f->callers);
	free(f->callees);
	for (size_t i = 0; i < ARRAY_LEN(f->values); i++)
		free(f->values[i]);
	free(f);
}
