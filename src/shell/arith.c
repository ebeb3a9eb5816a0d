/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Arithmetic of whole numbers of 64 bits, as in C: $(( )), (( )), and $[ ]
 * where there is no process. Names are the shell's variables; = += -= *= /= %=
 * and ++ -- set them. What is not to be evaluated (behind && || ?) is only
 * read.
 */
#include "script.h"

#include <ctype.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

enum { DEPTH_MAX = 200 };

struct arith {
	struct shell *sh;
	const char *text, *at;
	int depth;		/* of parentheses and signs */
	int idle;		/* > 0: read only */
	bool failed;
};

static long long ternary(struct arith *a);

static long long
wrong(struct arith *a, const char *what)
{
	if (!a->failed)
		fail(FAIL_USAGE, "arithmetic '%.60s': %s", a->text, what);
	a->failed = true;
	return 0;
}

/* Is this operator next? One that is the beginning of another is not it. */
static bool
next_is(struct arith *a, const char *operator, const char *not_before)
{
	const size_t n = strlen(operator);

	a->at += strspn(a->at, " \t\r\n");
	if (a->failed || strncmp(a->at, operator, n) != 0 ||
	    (a->at[n] && strchr(not_before, a->at[n])))
		return false;
	a->at += n;
	return true;
}

/* ---- names --------------------------------------------------------------- */

static char *
take_name(struct arith *a)
{
	size_t n = 0;

	while (isalnum((unsigned char)a->at[n]) || a->at[n] == '_')
		n++;
	a->at += n;
	return xstrndup(a->at - n, n);
}

static long long
number_of(struct arith *a, const char *name)
{
	const char *value;
	char *end;
	long long number;

	if (a->idle)
		return 0;
	value = var_value(a->sh, name);
	if (!value) {
		fail(FAIL_USAGE, "arithmetic '%.60s': variable %s is not set",
		     a->text, name);
		fail_remedy("%s=0", name);
		a->failed = true;
		return 0;
	}
	errno = 0;
	number = strtoll(value, &end, 0);
	if (!*value || errno || end[strspn(end, " \t\n")]) {
		fail(FAIL_USAGE, "arithmetic '%.60s': %s is '%.60s', which is no "
		     "whole number", a->text, name, value);
		a->failed = true;
		return 0;
	}
	return number;
}

static long long
set(struct arith *a, const char *name, long long number)
{
	char text[32];

	snprintf(text, sizeof text, "%lld", number);
	if (!a->idle && !a->failed && var_set(a->sh, name, text) < 0)
		a->failed = true;
	return number;
}

/* Of one or two characters: these are named by the first, those by a letter. */
enum { LESS_OR_EQUAL = 'l', MORE_OR_EQUAL = 'g', LEFT = 'L', RIGHT = 'R',
       EQUAL = 'e', OTHER = 'o' };

static long long
divide(struct arith *a, bool whole, long long left, long long right)
{
	if (a->idle)
		return 0;
	if (!right)
		return wrong(a, "a division by zero");
	if (right == -1)
		return whole ? (long long)-(unsigned long long)left : 0;
	return whole ? left / right : left % right;
}

/* What C leaves open wraps here. */
static long long
apply(struct arith *a, int operator, long long left, long long right)
{
	const unsigned long long x = (unsigned long long)left,
		y = (unsigned long long)right;

	switch (operator) {
	case '+': return (long long)(x + y);
	case '-': return (long long)(x - y);
	case '*': return (long long)(x * y);
	case LEFT: return (long long)(x << (y & 63));
	case RIGHT: return left >> (y & 63);
	case '<': return left < right;
	case '>': return left > right;
	case LESS_OR_EQUAL: return left <= right;
	case MORE_OR_EQUAL: return left >= right;
	case EQUAL: return left == right;
	case OTHER: return left != right;
	case '&': return left & right;
	case '^': return left ^ right;
	case '|': return left | right;
	default: return divide(a, operator == '/', left, right);
	}
}

static long long
assigned(struct arith *a, const char *name)
{
	static const char operators[] = "+-*/%";

	if (next_is(a, "++", "")) {
		const long long old = number_of(a, name);

		(void)set(a, name, apply(a, '+', old, 1));
		return old;
	}
	if (next_is(a, "--", "")) {
		const long long old = number_of(a, name);

		(void)set(a, name, apply(a, '-', old, 1));
		return old;
	}
	if (next_is(a, "=", "="))
		return set(a, name, ternary(a));
	for (const char *o = operators; *o; o++) {
		const char text[] = { *o, '=', '\0' };

		if (next_is(a, text, "=")) {
			const long long old = number_of(a, name);

			return set(a, name, apply(a, *o, old, ternary(a)));
		}
	}
	return number_of(a, name);
}

/* ---- from the inside out ------------------------------------------------- */

static long long
take_number(struct arith *a)
{
	char *end;

	errno = 0;

	const unsigned long long number = strtoull(a->at, &end, 0);

	if (errno)
		return wrong(a, "a number is too large");
	if (isalnum((unsigned char)*end) || *end == '.' || *end == '_')
		return wrong(a, "these are no whole numbers");
	a->at = end;
	return (long long)number;
}

static long long
unary(struct arith *a)
{
	long long v;

	if (a->failed)
		return 0;
	if (a->depth >= DEPTH_MAX)
		return wrong(a, "it is nested too deep");
	a->depth++;
	if (next_is(a, "!", "=")) {
		v = !unary(a);
	} else if (next_is(a, "-", "")) {
		v = apply(a, '-', 0, unary(a));
	} else if (next_is(a, "+", "")) {
		v = unary(a);
	} else if (next_is(a, "~", "")) {
		v = ~unary(a);
	} else if (next_is(a, "(", "")) {
		v = ternary(a);
		if (!a->failed && !next_is(a, ")", ""))
			v = wrong(a, "a ) is missing");
	} else if (isdigit((unsigned char)*a->at)) {
		v = take_number(a);
	} else if (isalpha((unsigned char)*a->at) || *a->at == '_') {
		char *name = take_name(a);

		v = assigned(a, name);
		free(name);
	} else {
		v = wrong(a, *a->at ? "a number or a variable is missing" :
			  "it ends too early");
	}
	a->depth--;
	return v;
}

enum { LOOSEST, TIGHTEST = 7 };

static const struct operator {
	int level;		/* the tighter, the higher */
	const char *text, *unless;	/* one of these follows */
	int does;
} operators[] = {
	{ 7, "*", "=", '*' }, { 7, "/", "=", '/' }, { 7, "%", "=", '%' },
	{ 6, "+", "=", '+' }, { 6, "-", "=", '-' },
	{ 5, "<<", "=", LEFT }, { 5, ">>", "=", RIGHT },
	{ 4, "<=", "", LESS_OR_EQUAL }, { 4, ">=", "", MORE_OR_EQUAL },
	{ 4, "<", "<", '<' }, { 4, ">", ">", '>' },
	{ 3, "==", "", EQUAL }, { 3, "!=", "", OTHER },
	{ 2, "&", "|&=", '&' }, { 1, "^", "|&=", '^' },
	{ LOOSEST, "|", "|&=", '|' },
};

static const struct operator *
next_operator(struct arith *a, int level)
{
	for (size_t i = 0; i < ARRAY_LEN(operators); i++)
		if (operators[i].level == level &&
		    next_is(a, operators[i].text, operators[i].unless))
			return &operators[i];
	return NULL;
}

static long long
binary(struct arith *a, int level)
{
	const struct operator *o;
	long long v;

	if (level > TIGHTEST)
		return unary(a);
	v = binary(a, level + 1);
	while ((o = next_operator(a, level)))
		v = apply(a, o->does, v, binary(a, level + 1));
	return v;
}

/* The right side is evaluated only where it matters. */
static long long
both(struct arith *a)
{
	long long v = binary(a, LOOSEST);

	while (next_is(a, "&&", "")) {
		const bool skip = !v;

		a->idle += skip;
		v = (binary(a, LOOSEST) != 0) & (v != 0);
		a->idle -= skip;
	}
	return v;
}

static long long
either(struct arith *a)
{
	long long v = both(a);

	while (next_is(a, "||", "")) {
		const bool skip = v != 0;

		a->idle += skip;
		v = (both(a) != 0) | (v != 0);
		a->idle -= skip;
	}
	return v;
}

static long long
ternary(struct arith *a)
{
	long long v, yes, no;

	if (a->depth++ >= DEPTH_MAX)
		return wrong(a, "it is nested too deep");
	v = either(a);
	if (next_is(a, "?", "")) {
		const bool truth = v != 0;

		a->idle += !truth;
		yes = ternary(a);
		a->idle -= !truth;
		if (!a->failed && !next_is(a, ":", ""))
			(void)wrong(a, "a : is missing behind ?");
		a->idle += truth;
		no = ternary(a);
		a->idle -= truth;
		v = truth ? yes : no;
	}
	a->depth--;
	return v;
}

int
arith_evaluate(struct shell *sh, const char *text, long long *value)
{
	struct arith a = { .sh = sh, .text = text, .at = text };

	*value = ternary(&a);
	a.at += strspn(a.at, " \t\r\n");
	if (!a.failed && *a.at)
		(void)wrong(&a, "what follows makes no sense");
	return a.failed ? -1 : 0;
}
