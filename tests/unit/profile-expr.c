/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Operators of expressions: as the compiler of this test has them, and random
 * ones against an evaluator of the test's own.
 *
 * mission: V3 V4
 */
#include "profile-records.h"

/* ---- operators, as the compiler has them ------------------------------ */

#ifdef __clang__
#pragma clang diagnostic ignored "-Weverything"
#else
#pragma GCC diagnostic ignored "-Wparentheses"
#pragma GCC diagnostic ignored "-Wbool-compare"
#pragma GCC diagnostic ignored "-Wint-in-bool-context"
#pragma GCC diagnostic ignored "-Wunused-value"
#endif
#define C(...) { #__VA_ARGS__, (uint64_t)(int64_t)(__VA_ARGS__) }

static void
check_operators(void)
{
	const struct {
		const char *text;
		uint64_t value;
	} as_in_c[] = {
		C(2 + 3 * 4), C(2 * 3 + 4), C(20 - 5 - 3), C(100 / 7 / 2),
		C(100 / 7 * 7), C(100 % 7 * 3), C(1 << 2 + 1),
		C(64 >> 1 << 2), C(5 & 3 == 1), C(1 | 2 ^ 3 & 6),
		C(6 ^ 3 | 8), C(1 || 0 && 0), C(0 && 0 || 1), C(!0 + 1),
		C(!(0 + 1)), C(~0 & 0xff), C(-1 & 0xF), C(- -5), C(-(2) + 9),
		C(!!7), C(~~7), C(1 < 2 == 1), C(3 > 2 > 1), C(1 != 2 != 0),
		C(4 <= 4), C(4 >= 5), C(1 ? 2 : 0 ? 3 : 4),
		C(0 ? 1 : 0 ? 3 : 4), C(1 ? 0 ? 5 : 6 : 7), C(1 ? 0, 5 : 2),
		C((1, 2, 3)), C(1 + (2, 3) * 2), C(010 + 0x1f), C(0), C(-1),
		C(~0), C(1 | 1 << 3), C(1 << 3 | 1),
		C(2 + 2 == 4 && 3 * 3 != 8), C(7 & ~2), C(+3 - +1),
		C(3 == 3 & 1), C(1 & 3 == 3),
	};

	for (size_t i = 0; i < ARRAY_LEN(as_in_c); i++)
		if (packets_with(as_in_c[i].text, as_in_c[i].value) != ALL) {
			printf("%s is not %" PRIu64 "\n", as_in_c[i].text,
			       as_in_c[i].value);
			failures++;
		}
	/* where C's own would be undefined */
	CHECK_EQ(packets_with("5 / 0", 0), ALL);
	CHECK_EQ(packets_with("5 % 0", 0), ALL);
	CHECK_EQ(packets_with("1 << 64", 0), ALL);
	CHECK_EQ(packets_with("1 >> 100", 0), ALL);
	CHECK_EQ(packets_with("-1 > 1", 1), ALL);	/* unsigned */
}

/* ---- random ones ------------------------------------------------------ */

enum { MADE = 400, NODES = 200 };

static const struct {
	const char *text;
	int level;
} ops[] = {			/* levels of the C standard's grammar */
	{ "*", 10 }, { "/", 10 }, { "%", 10 }, { "+", 9 }, { "-", 9 },
	{ "<<", 8 }, { ">>", 8 }, { "<", 7 }, { ">", 7 }, { "<=", 7 },
	{ ">=", 7 }, { "==", 6 }, { "!=", 6 }, { "&", 5 }, { "^", 4 },
	{ "|", 3 }, { "&&", 2 }, { "||", 1 },
};
enum { OPS = ARRAY_LEN(ops), OP_CHOICE = OPS, OP_UNARY, OP_FIELD, OP_NUMBER,
       LEVEL_CHOICE = 0, LEVEL_UNARY = 11 };

struct node {
	unsigned op, which;
	uint64_t number;
	const struct node *a, *b, *c;
};

static struct node pool[NODES];
static size_t pool_len;
static uint64_t seed = 7;

static uint64_t
pick(uint64_t n)
{
	seed = hash_word(seed + 0x9e3779b97f4a7c15ull);
	return seed % n;
}

static const struct node *
make(unsigned depth)
{
	struct node *n = &pool[pool_len++];

	n->op = depth ? (unsigned)pick(OP_NUMBER + 1) :
			OP_FIELD + (unsigned)pick(2);
	n->which = (unsigned)pick(6);
	n->number = pick(3) ? pick(8) : seed >> pick(64);
	n->a = n->op <= OP_UNARY ? make(depth - 1) : NULL;
	n->b = n->op <= OP_CHOICE ? make(depth - 1) : NULL;
	n->c = n->op == OP_CHOICE ? make(depth - 1) : NULL;
	return n;
}

static const char *const field_names[] = { "THRID", "cpuid", "TSTAMP",
					   "MState", "NTICK_USEC", "EXPID" };

static uint64_t
field_of(unsigned which, size_t packet)
{
	const struct packet *p = &packets[packet];
	const uint64_t values[] = { p->thread, (uint64_t)p->cpu, p->ms * MS,
				    (uint64_t)p->state,
				    UINT64_C(1000) << packet, 1 };

	return values[which];
}

static uint64_t
unary(unsigned which, uint64_t a)
{
	return which % 3 == 0 ? !a : which % 3 == 1 ? ~a : -a;
}

static uint64_t
binary(unsigned op, uint64_t a, uint64_t b)
{
	switch (op) {
	case 0: return a * b;
	case 1: return b ? a / b : 0;
	case 2: return b ? a % b : 0;
	case 3: return a + b;
	case 4: return a - b;
	case 5: return b < 64 ? a << b : 0;
	case 6: return b < 64 ? a >> b : 0;
	case 7: return a < b;
	case 8: return a > b;
	case 9: return a <= b;
	case 10: return a >= b;
	case 11: return a == b;
	case 12: return a != b;
	case 13: return a & b;
	case 14: return a ^ b;
	case 15: return a | b;
	case 16: return a && b;
	default: return a || b;
	}
}

static uint64_t
eval(const struct node *n, size_t packet)
{
	if (n->op == OP_NUMBER)
		return n->number;
	if (n->op == OP_FIELD)
		return field_of(n->which, packet);
	if (n->op == OP_UNARY)
		return unary(n->which, eval(n->a, packet));
	if (n->op == OP_CHOICE)
		return eval(n->a, packet) ? eval(n->b, packet) :
					    eval(n->c, packet);
	return binary(n->op, eval(n->a, packet), eval(n->b, packet));
}

/* Parentheses only where the level asks for them. */
static void
print(const struct node *n, int level, struct str *out)
{
	const int mine = n->op == OP_CHOICE ? LEVEL_CHOICE :
		n->op < OPS ? ops[n->op].level : LEVEL_UNARY;

	str_add(out, mine < level ? "(" : "");
	if (n->op == OP_NUMBER) {
		str_addf(out, pick(2) ? "%" PRIu64 : "0x%" PRIx64, n->number);
	} else if (n->op == OP_FIELD) {
		str_add(out, field_names[n->which]);
	} else if (n->op == OP_UNARY) {
		str_add(out, n->which % 3 == 0 ? "!" : n->which % 3 == 1 ?
			"~" : "- ");
		print(n->a, LEVEL_UNARY, out);
	} else if (n->op == OP_CHOICE) {
		print(n->a, LEVEL_CHOICE + 1, out);
		str_add(out, "?");
		print(n->b, LEVEL_CHOICE, out);
		str_add(out, ":");
		print(n->c, LEVEL_CHOICE, out);
	} else {
		print(n->a, mine, out);
		str_addf(out, pick(2) ? " %s " : "%s", ops[n->op].text);
		print(n->b, mine + 1, out);
	}
	str_add(out, mine < level ? ")" : "");
}

static void
check_random(void)
{
	for (int i = 0; i < MADE; i++) {
		struct str text = {0};

		pool_len = 0;

		const struct node *n = make(4);

		print(n, LEVEL_CHOICE, &text);
		for (size_t p = 0; p < PACKETS; p++) {
			const uint64_t want = eval(n, p);

			if (packets_with(str_text(&text), want) >> p & 1)
				continue;
			printf("%s is not %" PRIu64 " for packet %zu\n",
			       str_text(&text), want, p);
			failures++;
			break;
		}
		str_fini(&text);
	}
}

int
main(void)
{
	open_records();
	check_operators();
	check_random();
	return close_records();
}
