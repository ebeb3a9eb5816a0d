/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * A map of 64-bit words: open addressing, linear probing, power-of-two size,
 * at most half full, so that runs are short: a processor guesses wrong where
 * each one ends. Removal shifts the run back, so there are no tombstones.
 * An empty slot has the key 0: four of them are a line of a cache. Key 0 itself
 * is kept beside them.
 */
#include "base.h"

#include <stdlib.h>
#include <string.h>

struct map_slot {
	uint64_t key, value;
};

uint64_t
hash_word(uint64_t x)
{
	x ^= x >> 32;
	x *= 0xd6e8feb86659fd93ull;
	x ^= x >> 32;
	x *= 0xd6e8feb86659fd93ull;
	return x ^ x >> 32;
}

uint64_t
hash_bytes(const void *data, size_t n, uint64_t seed)
{
	const unsigned char *p = data;
	uint64_t h = seed ^ (n * 0x9e3779b97f4a7c15ull);
	uint64_t word;

	for (; n >= sizeof word; n -= sizeof word, p += sizeof word) {
		memcpy(&word, p, sizeof word);
		h = hash_word(h ^ word);
	}
	word = 0;
	memcpy(&word, p, n);
	return hash_word(h ^ word);
}

/*
 * Two sums beside each other, each a permutation of what it was for any word:
 * what differs in one word differs in both. The chains do not wait for each
 * other, which a second pass would.
 */
struct hash_two
hash_words(const uint64_t *words, size_t n, uint64_t seed)
{
	uint64_t a = seed ^ (n * 0x9e3779b97f4a7c15ull);
	uint64_t b = ~seed + n * 0xc2b2ae3d27d4eb4full;

	for (size_t i = 0; i < n; i++) {
		a = (a ^ words[i]) * 0xd6e8feb86659fd93ull;
		b = (b + words[i]) * 0x9fb21c651e98df25ull;
		a = a << 29 | a >> 35;
		b = b << 37 | b >> 27;
	}
	return (struct hash_two){ hash_word(a), hash_word(b) };
}

/* key is not 0. */
static size_t
find(const struct map *m, uint64_t key)
{
	size_t i = hash_word(key) & (m->cap - 1);

	while (m->slots[i].key && m->slots[i].key != key)
		i = (i + 1) & (m->cap - 1);
	return i;
}

/* Whole at each instant: where there is no memory, the hook of die() still
 * looks things up. */
static void
grow(struct map *m)
{
	struct map more = *m;

	more.cap = m->cap ? m->cap * 2 : 32;
	more.slots = xcalloc(more.cap, sizeof *more.slots);
	for (size_t i = 0; i < m->cap; i++)
		if (m->slots[i].key)
			more.slots[find(&more, m->slots[i].key)] = m->slots[i];
	free(m->slots);
	*m = more;
}

void
map_fini(struct map *m)
{
	free(m->slots);
	*m = (struct map){0};
}

uint64_t *
map_slot_of(struct map *m, uint64_t key)
{
	if (!key) {
		m->len += !m->has_zero;
		m->has_zero = true;
		return &m->zero;
	}
	if ((m->len + 1) * 2 > m->cap)
		grow(m);

	struct map_slot *slot = &m->slots[find(m, key)];

	if (!slot->key) {
		*slot = (struct map_slot){ .key = key };
		m->len++;
	}
	return &slot->value;
}

void
map_put(struct map *m, uint64_t key, uint64_t value)
{
	*map_slot_of(m, key) = value;
}

bool
map_get(const struct map *m, uint64_t key, uint64_t *value)
{
	if (!key && m->has_zero)
		*value = m->zero;
	if (!key || !m->cap)
		return !key && m->has_zero;

	const struct map_slot *slot = &m->slots[find(m, key)];

	if (slot->key)
		*value = slot->value;
	return slot->key;
}

void
map_ask(const struct map *m, uint64_t key)
{
	if (m->cap)
		__builtin_prefetch(&m->slots[hash_word(key) & (m->cap - 1)], 1);
}

static bool
take_zero(struct map *m, uint64_t *value)
{
	const bool had = m->has_zero;

	if (had)
		*value = m->zero;
	m->zero = 0;
	m->len -= had;
	m->has_zero = false;
	return had;
}

bool
map_take(struct map *m, uint64_t key, uint64_t *value)
{
	if (!key)
		return take_zero(m, value);
	if (!m->cap)
		return false;

	size_t hole = find(m, key);

	if (!m->slots[hole].key)
		return false;
	*value = m->slots[hole].value;

	const size_t mask = m->cap - 1;
	size_t i = hole;

	for (;;) {
		i = (i + 1) & mask;
		if (!m->slots[i].key)
			break;

		const size_t home = hash_word(m->slots[i].key) & mask;

		/* may the entry at i move into the hole? */
		if (((i - home) & mask) >= ((i - hole) & mask)) {
			m->slots[hole] = m->slots[i];
			hole = i;
		}
	}
	m->slots[hole].key = 0;
	m->len--;
	return true;
}

bool
map_remove(struct map *m, uint64_t key)
{
	uint64_t ignored;

	return map_take(m, key, &ignored);
}

bool
map_next(const struct map *m, size_t *at, uint64_t *key, uint64_t *value)
{
	while (*at < m->cap && !m->slots[*at].key)
		++*at;
	if (*at == m->cap && m->has_zero) {	/* the last one */
		*key = 0;
		*value = m->zero;
		++*at;
		return true;
	}
	if (*at >= m->cap)
		return false;
	*key = m->slots[*at].key;
	*value = m->slots[*at].value;
	++*at;
	return true;
}

void
map_free_values(struct map *m)
{
	uint64_t key, value;
	size_t at = 0;

	while (map_next(m, &at, &key, &value))
		free((void *)(uintptr_t)value);
	map_fini(m);
}
