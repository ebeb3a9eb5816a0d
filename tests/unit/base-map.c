/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * The map against a table that cannot go wrong: keys that share their first
 * slots, key 0, what is taken from within a run; a walk gives each once.
 */
#include "base.h"

#include <stdio.h>
#include <stdlib.h>

enum { KEYS = 200, STEPS = 200000 };

static uint64_t values[KEYS];
static bool there[KEYS];

/* 0 is the first one. */
static uint64_t
key_of(size_t i)
{
	return i * UINT64_C(0x100000001);
}

static int
wrong(const char *what, size_t i)
{
	printf("%s, key %zu\n", what, i);
	return 1;
}

static int
step(struct map *m, size_t i, uint64_t value, unsigned how)
{
	uint64_t got = 0;

	switch (how % 3) {
	case 0:
		map_put(m, key_of(i), value);
		values[i] = value;
		there[i] = true;
		return 0;
	case 1:
		if (map_take(m, key_of(i), &got) != there[i] ||
		    (there[i] && got != values[i]))
			return wrong("taken", i);
		there[i] = false;
		return 0;
	default:
		if (map_get(m, key_of(i), &got) != there[i] ||
		    (there[i] && got != values[i]))
			return wrong("got", i);
		return 0;
	}
}

static int
walk(const struct map *m)
{
	bool met[KEYS] = { false };
	uint64_t key, value;
	size_t at = 0, n = 0;

	while (map_next(m, &at, &key, &value)) {
		const size_t i = (size_t)(key & UINT32_MAX);

		if (i >= KEYS || key != key_of(i) || met[i] || !there[i] ||
		    value != values[i])
			return wrong("walked over", i);
		met[i] = true;
		n++;
	}
	for (size_t i = 0; i < KEYS; i++)
		if (there[i] && !met[i])
			return wrong("not met", i);
	return n == m->len ? 0 : wrong("counted", m->len);
}

int
main(void)
{
	struct map m = {0};
	uint64_t x = 1;
	int bad = 0;

	for (int i = 0; i < STEPS && !bad; i++) {
		x = hash_word(x + 1);
		bad = step(&m, (x >> 8) % KEYS, x, (unsigned)(x >> 40));
		if (i % 1000 == 0)
			bad |= walk(&m);
	}
	map_fini(&m);
	printf("%d steps\n", STEPS);
	return bad;
}
