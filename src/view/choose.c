/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Which function a person means. A name is compared first with what tables
 * show, then with the other forms, then with the part before parameters, last
 * with the end of a::b::f: the first of these that knows the name decides.
 * Where that leaves several functions they are numbered in the order of what
 * tables show, so that a number means the same in every run on the same
 * experiments.
 */
#include "private.h"

#include <stdlib.h>
#include <string.h>

enum { SHOWN = 20, SIMILAR = 5 };

/* How a name was met, the best first. */
enum meet { MEET_SHOWN, MEET_LONG, MEET_LINKAGE, MEET_SHORT, MEET_BEGINNING,
	    MEET_MEMBER, MEET_NONE };

struct candidate {
	uint32_t function;
	const char *shown;
};

struct candidates {
	struct candidate *items;
	size_t len, cap;
};

static bool
is_alias(const struct profile_function *fn, const char *word)
{
	if (!fn->object->symbols || !fn->start)
		return false;

	const char *const *at = symfile_aliases(fn->object->symbols, fn->start);

	while (*at && strcmp(*at, word))
		at++;
	return *at != NULL;
}

/* `f(`, `f [clone` and `f [inlined]` begin with f. */
static bool
begins_with(const char *name, const char *word)
{
	const size_t n = strlen(word);

	return strncmp(name, word, n) == 0 &&
	       (name[n] == '(' || str_starts(name + n, " [clone ") ||
		str_starts(name + n, " [inlined]"));
}

/* `f` of a::b::f. */
static bool
is_member(const char *name, const char *word)
{
	const size_t n = strlen(name), len = strlen(word);

	return n > len + 2 && str_ends(name, word) && name[n - len - 1] == ':';
}

/* Without parameters; its end may do, and so may a copy of it. */
static enum meet
meet_short(const struct profile_function *fn, const char *word)
{
	enum meet how = MEET_NONE;

	/* only these have a short form of their own */
	if (!str_starts(fn->linkage, "_Z") && !str_starts(fn->linkage, "_R"))
		return MEET_NONE;

	char *name = name_display(fn->linkage, NAME_SHORT);

	if (strcmp(name, word) == 0)
		how = MEET_SHORT;
	else if (begins_with(name, word))
		how = MEET_BEGINNING;
	else if (is_member(name, word))
		how = MEET_MEMBER;
	free(name);
	return how;
}

static enum meet
meet(const struct profile_function *fn, const char *shown, const char *word)
{
	if (strcmp(shown, word) == 0)
		return MEET_SHOWN;
	if (strcmp(fn->name, word) == 0)
		return MEET_LONG;
	if (strcmp(fn->linkage, word) == 0 || is_alias(fn, word))
		return MEET_LINKAGE;
	if (begins_with(fn->name, word))
		return MEET_BEGINNING;
	return meet_short(fn, word);
}

static int
by_shown(const void *a, const void *b)
{
	const struct candidate *x = a, *y = b;
	const int order = strcmp(x->shown, y->shown);

	if (order)
		return order;
	return x->function < y->function ? -1 : x->function > y->function;
}

static struct candidates
find_known(struct viewer *v, const char *word)
{
	const size_t n = profile_function_count(v->prof);
	struct candidates c = {0};
	enum meet best = MEET_NONE;

	for (uint32_t i = 0; i < n; i++) {
		const char *shown = viewer_name(v, i);
		const enum meet how = meet(profile_function(v->prof, i), shown,
					   word);

		if (how > best || how == MEET_NONE)
			continue;
		if (how < best)
			c.len = 0;
		best = how;
		c.items = xgrow(c.items, &c.cap, c.len + 1, sizeof *c.items);
		c.items[c.len++] = (struct candidate){ i, shown };
	}
	if (c.len)
		qsort(c.items, c.len, sizeof *c.items, by_shown);
	return c;
}

/* Only where no function with cost has the name, others are looked for. */
static struct candidates
find(struct viewer *v, const char *word)
{
	const struct candidates c = find_known(v, word);

	if (c.len || !*word || !profile_named(v->prof, word))
		return c;
	viewer_forget_names(v);
	return find_known(v, word);
}

/* ---- when it is not clear ------------------------------------------- */

static int
refuse_unknown(struct viewer *v, const char *command, const char *word)
{
	const size_t n = profile_function_count(v->prof);
	struct str similar = {0};
	size_t found = 0;

	for (uint32_t i = FUNCTION_TOTAL + 1; i < n && found < SIMILAR; i++)
		if (*word && strcasestr(viewer_name(v, i), word))
			str_addf(&similar, "%s%s", found++ ? ", " : "",
				 viewer_name(v, i));
	fail(FAIL_USAGE, "%s: no function in what was recorded is "
	     "named %s", command, word);
	if (found)
		(void)fail_remedy("similar names: %s", str_text(&similar));
	else
		(void)fail_remedy("`functions` lists those that have cost");
	str_fini(&similar);
	return -1;
}

static int
refuse_many(const struct candidates *c, const char *command, const char *word)
{
	fail(FAIL_USAGE, "%s: %zu functions are named %s:", command, c->len,
	     word);
	for (size_t i = 0; i < c->len && i < SHOWN; i++)
		(void)fail_choice("%5zu  %s", i + 1, c->items[i].shown);
	if (c->len > SHOWN)
		(void)fail_choice("       and %zu more", c->len - SHOWN);
	return fail_remedy("add the number of one, as in: %s '%s' 1", command,
			   word);
}

/* A number, or an address: `0x1169` or, as panels show it, `2:0x1169`. 1 is
 * the first; 0: none. */
static long long
number_of(struct viewer *v, const struct candidates *c,
		  const char *text)
{
	const char *colon = strchr(text, ':');
	const char *digits = colon ? colon + 1 : text;
	long long n;
	char *end;

	if (str_number(text, 1, (long long)c->len, &n))
		return n;

	const uint64_t address = strtoull(digits, &end, 16);

	if (!str_starts(digits, "0x") || !digits[2] || *end)
		return 0;
	for (size_t i = 0; i < c->len; i++) {
		const struct profile_function *fn =
			profile_function(v->prof, c->items[i].function);

		if (fn->start == address &&
		    (!colon || strtoul(text, NULL, 10) == fn->object->index))
			return (long long)i + 1;
	}
	return 0;
}

static int
pick(struct viewer *v, const struct candidates *c, const char *const *words,
     const char *number, uint32_t *function)
{
	const long long n = number ? number_of(v, c, number) : 1;

	if (!number && c->len > 1)
		return refuse_many(c, words[0], words[1]);
	if (!n) {
		fail(FAIL_USAGE, "%s: %s is not the number of a function named "
		     "%s: there %s %zu", words[0], number, words[1],
		     c->len == 1 ? "is" : "are", c->len);
		return fail_remedy("%s '%s' 1", words[0], words[1]);
	}
	*function = c->items[n - 1].function;
	return 0;
}

int
viewer_choose(struct viewer *v, size_t n, const char *const *words,
	      uint32_t *function)
{
	if (n < 2 || n > 3)
		return words_check(n, words, n < 2 ? 2 : 3);
	if (viewer_check(v) < 0)
		return -1;

	struct candidates c = find(v, words[1]);
	const int result = c.len ? pick(v, &c, words, n > 2 ? words[2] : NULL,
					function) :
				   refuse_unknown(v, words[0], words[1]);

	free(c.items);
	return result;
}

size_t
viewer_matches(struct viewer *v, const char *word)
{
	struct candidates c = find(v, word);

	free(c.items);
	return c.len;
}
