/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * holder: data for whoever looks at a stopped program: lists, bit-fields,
 * arrays, unions, pointers to functions, floating point. It says what it has
 * counted.
 */
#ifdef __clang__
#pragma clang optimize off
#else
#pragma GCC optimize ("O0")
#endif
#include <stdio.h>
#include <stdlib.h>

enum color { RED, GREEN = 4, BLUE };

struct node {
	int id;
	const char *name;
	struct node *next;
	unsigned flag : 3;
	enum color color;
	union {
		double weight;
		unsigned char bytes[8];
	} u;
	int (*count)(const struct node *);
};

static int matrix[2][3] = { { 1, 2, 3 }, { 4, 5, 6 } };
static const char text[24] = "a text\n";
static int nodes;

/* Whoever debugs it traces it to its end, and the leak detector of a build with
 * sanitizers, which would trace it, too, fails then. */
const char *__asan_default_options(void);
const char *
__asan_default_options(void)
{
	return "detect_leaks=0";
}

static int
count(const struct node *n)
{
	int c = 0;

	for (; n; n = n->next)
		c++;
	return c;
}

static struct node *
make(int n)
{
	struct node *first = NULL;

	for (int i = 0; i < n; i++) {
		struct node *k = calloc(1, sizeof *k);

		k->id = i;
		k->name = i % 2 ? "odd" : "even";
		k->next = first;
		k->flag = (unsigned)i & 7;
		k->color = i % 3 ? BLUE : GREEN;
		k->u.weight = i * 1.5;
		k->count = count;
		first = k;
		nodes++;
	}
	return first;
}

static int
total(const struct node *list, float scale)
{
	int sum = 0;
	int counts[4] = { 0 };

	for (const struct node *at = list; at; at = at->next) {
		sum += at->id;
		counts[at->id % 4]++;
	}
	return sum + counts[0] + (int)scale + matrix[1][2];
}

int
main(void)
{
	struct node *list = make(6);
	const int t = total(list, 2.5f);

	printf("total %d of %d, %s", t, list->count(list), text);
	return t == 25 ? 0 : 1;
}
