/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Regular expressions that libc may compile: what asks for very many copies of
 * its parts takes it seconds, or all memory.
 */
#include "private.h"

#include <ctype.h>
#include <stdlib.h>
#include <string.h>

enum { COPIES_MAX = 2000, GROUPS_MAX = 256, NESTED_MAX = 8 };

/* How many copies of its parts the pattern may ask for: the product of all
 * {m,n}, as if each held the ones before. More than COPIES_MAX: too many. */
static unsigned long
copies_of(const char *pattern)
{
	unsigned long copies = 1;

	for (const char *c = strchr(pattern, '{'); c; c = strchr(c, '{')) {
		unsigned long most = 1;

		for (c++; isdigit((unsigned char)*c) || *c == ',';) {
			const unsigned long n = isdigit((unsigned char)*c) ?
				strtoul(c, (char **)&c, 10) : (c++, 0);

			most = n > most ? n : most;
		}
		if (most > COPIES_MAX || (copies *= most) > COPIES_MAX)
			return COPIES_MAX + 1;
	}
	return copies;
}

/*
 * How deep repetitions of repetitions are nested: a++++ and ((((a+)+)+)+) alike.
 * Each takes libc twice as long, or more. What stands in brackets is counted,
 * too: nobody has so many operators there, one behind the other.
 */
static unsigned
nested_in(const char *pattern)
{
	unsigned deepest[GROUPS_MAX] = { 0 }, last = 0, most = 0;
	size_t group = 0;

	for (const char *c = pattern; *c; c++) {
		if (*c == '(' && ++group == GROUPS_MAX)
			return NESTED_MAX + 1;
		if (*c == '(')
			deepest[group] = 0;
		if (strchr("+*?{", *c))
			last++;
		else if (*c == ')' && group > 0)
			last = deepest[group--];
		else
			last = 0;
		if (*c == '\\' && c[1])
			c++;
		deepest[group] = last > deepest[group] ? last : deepest[group];
		most = last > most ? last : most;
	}
	return most;
}

bool
pattern_is_bounded(const char *pattern)
{
	enum { LENGTH_MAX = 4096 };
	unsigned nested;

	if (strlen(pattern) > LENGTH_MAX)
		return false;
	nested = nested_in(pattern);
	return nested <= NESTED_MAX &&
	       copies_of(pattern) <= (unsigned long)COPIES_MAX >>
	       (nested ? nested - 1 : 0);
}
