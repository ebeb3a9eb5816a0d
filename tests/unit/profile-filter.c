/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Filters: lists against stacks of known functions, what a record does not
 * have, what is wrong and where, and text that is meant to break the reader.
 *
 * mission: V3 V4
 */
#include "profile-records.h"

/* Which packets a filter keeps. */
static uint64_t
kept_by(const char *filter)
{
	const char *const paths[] = { path };
	const struct profile_options options = { .filter = filter };
	struct profile *p = profile_open(paths, 1, &options);
	uint64_t bits;

	if (!p) {
		printf("%s: %s\n", filter, fail_last()->reason);
		failures++;
		return 0;
	}
	bits = weight_of(p, profile_total(p).incl);
	profile_free(p);
	return bits;
}

/* ---- lists ------------------------------------------------------------- */

static const struct {
	const char *text;
	uint64_t packets;	/* where it is 1 */
} lists[] = {
	{ "THRID IN (1,3)", 0xd },
	{ "THRID IN 1,3", 0xd },
	{ "(THRID, 2) IN (1,2)", 0x17 },
	{ "(THRID, CPUID) SOME IN (1,1)", 0x5 },
	{ "THRID ORDERED IN (3,2,1)", ALL },
	{ "(2,1) ORDERED IN (3,2,1)", ALL },
	{ "(1,2) ORDERED IN (3,2,1)", 0 },
	{ "(3,1) ORDERED IN (3,2,1)", 0 },
	{ "FNAME(\"inner_three\") IN USTACK", 0x19 },
	{ "FNAME(\"inner_three\") SOME IN USTACK", 0x19 },
	{ "FNAME('inner_three') SOME IN ustack", 0x19 },
	{ "(FNAME(\"inner_three\"), FNAME(\"outer_one\")) IN USTACK", 0x9 },
	{ "(FNAME(\"lonely_four\"), FNAME(\"outer_one\")) SOME IN XSTACK",
	  0xf },
	/* who calls stands first */
	{ "(FNAME(\"outer_one\"), FNAME(\"inner_three\")) ORDERED IN USTACK",
	  0x8 },
	{ "(FNAME(\"outer_one\"), FNAME(\"middle_two\")) ORDERED IN USTACK",
	  0x3 },
	{ "(FNAME(\"middle_two\"), FNAME(\".*three\")) ORDERED IN USTACK",
	  0x11 },
	{ "(FNAME(\"o.*|i.*\"), FNAME(\"middle_two\")) ORDERED IN MSTACK",
	  0x13 },
	{ "(FNAME(\"middle_two\"), FNAME(\"outer_one\")) ORDERED IN USTACK",
	  0 },
	{ "LEAF IN FNAME(\"middle_two\")", 0x12 },
	{ "LEAF IN FNAME(\"middle_.*|lonely_.*\")", 0x16 },
	{ "LEAF == FNAME(\"inner_three\")", 0x9 },
	{ "FNAME(\"middle\") SOME IN USTACK", 0 },	/* not the whole */
	{ "FNAME(\"middle|lonely\") SOME IN USTACK", 0 },
	{ "FNAME(\"nobody\") IN USTACK", 0 },
	{ "FNAME(\"<Total>\") IN USTACK", ALL },
	{ "(FNAME(\"middle_two\") IN USTACK) && THRID == 2", 0x12 },
	{ "THRID == 1 && (FNAME(\"lonely_four\") IN USTACK)", 0x4 },
	{ "!(FNAME(\"outer_one\") SOME IN USTACK)", 0x14 },
	{ "(LEAF IN FNAME(\"lonely_four\")) ? CPUID : 1", 0x1f },
};

static void
check_lists(void)
{
	for (size_t i = 0; i < ARRAY_LEN(lists); i++) {
		const uint64_t got = packets_with(lists[i].text, 1);

		if (got != lists[i].packets) {
			printf("%s: packets %" PRIx64 ", not %" PRIx64 "\n",
			       lists[i].text, got, lists[i].packets);
			failures++;
		}
		CHECK_EQ(kept_by(lists[i].text), lists[i].packets);
	}
}

/* ---- what a record does not have --------------------------------------- */

static void
check_unknown(void)
{
	static const struct {
		const char *filter;
		uint64_t packets;
	} cases[] = {
		{ "1", ALL }, { "0", 0 }, { "", ALL },
		{ "HSIZE > 5", ALL }, { "!(HSIZE > 5)", ALL },
		{ "HSIZE > 5 && THRID == 2", 0x12 },
		{ "THRID == 2 && HSIZE > 5", 0x12 },
		{ "HSIZE > 5 || THRID == 2", ALL },
		{ "VADDR > 255 ? 0 : 0", ALL }, { "HSIZE, 0", 0 },
		{ "THRID == 2 ? HSIZE : 0", 0x12 },
		{ "HAS_PROP(HSIZE)", 0 }, { "HAS_PROP(NTICK)", ALL },
		{ "SAMPLE == -1", ALL }, { "TSTAMP < 25000000", 0x3 },
		{ "TSTAMP >= 20000000 && TSTAMP <= 40000000", 0xe },
		{ "MSTATE IN (0,6)", 0x19 }, { "CPUID == 3", 0xa },
		{ "LWPID == 3", 0x8 }, { "EVT_TIME == 999000", 0x1 },
		{ "TSTAMP_HI - TSTAMP_LO == EVT_TIME", ALL },
		{ "Threads == 4294967298", 0x12 },
	};

	for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
		const char *const paths[] = { path };
		const struct profile_options options = {
			.filter = cases[i].filter,
			.objects = profile_index_types,
			.objects_len = INDEX_TYPES,
		};
		struct profile *p = profile_open(paths, 1, &options);

		if (!p || weight_of(p, profile_total(p).incl) !=
			  cases[i].packets) {
			printf("filter %s: %s\n", cases[i].filter,
			       p ? "keeps others" : fail_last()->reason);
			failures++;
		}
		profile_free(p);
	}
	CHECK_EQ(packets_with("HSIZE + 5", 0), ALL);
}

/* ---- what is wrong ------------------------------------------------------ */

static void
check_errors(void)
{
	static const struct {
		const char *text, *says;
	} cases[] = {
		{ "THRID == ", "column 10" }, { "THRID = 1", "column 7" },
		{ "(THRID == 1", "column 12" }, { "1 2", "column 3" },
		{ "NOSUCH > 1", "no such field at column 1" },
		{ "1 ? 2", "column 6" }, { "1 IN 2 IN 3", "IN" },
		{ "FNAME(x)", "column 7" }, { "FNAME(\"x)", "column 7" },
		{ "FNAME(\"(\")", "regular expression" },
		{ "FNAME \"x\"", "column 7" }, { "08", "column 1" },
		{ "0x", "column 1" }, { "12abc", "column 1" },
		{ "99999999999999999999", "too large" }, { "1,", "column 3" },
		{ ", 1", "column 1" }, { "1 +", "column 4" },
		{ ")", "column 1" },
		{ "1 $ 2", "column 3" }, { "SOME IN 3", "column 1" },
		{ "HAS_PROP(5)", "column 10" },
		{ "FNAME(\"((a{999}){999}){999}\")", "too large" },
	};

	for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
		fail_clear();
		if (profile_expression_check(cases[i].text, NULL, 0) == 0 ||
		    fail_last()->kind != FAIL_USAGE ||
		    !strstr(fail_last()->reason, cases[i].says)) {
			printf("'%s' says: %s\n", cases[i].text,
			       fail_last()->reason);
			failures++;
		}
	}
}

static char *
repeated(const char *begin, const char *text, size_t n, const char *end)
{
	struct str s = {0};

	str_add(&s, begin);
	for (size_t i = 0; i < n; i++)
		str_add(&s, text);
	str_add(&s, end);
	return str_take(&s);
}

static void
check_hostile(void)
{
	enum { MANY = 200000, GENERATIONS = 60 };
	static const struct {
		const char *begin, *text, *end;
	} cases[] = {
		{ "", "(", "" }, { "", "!", "1" }, { "", "- ", "1" },
		{ "", "+", "1" }, { "1", "+1", "" }, { "", "1?", "1" },
		{ "1", "?1:1", "" }, { "1", "||1", "" }, { "", "(1,", "" },
		{ "FNAME(\"", "(", "\")" }, { "FNAME(\"", "a*", "\")" },
	};
	struct profile_index_type growing[GENERATIONS];

	for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
		char *text = repeated(cases[i].begin, cases[i].text, MANY,
				      cases[i].end);

		CHECK(profile_expression_check(text, NULL, 0) < 0);
		free(text);
	}
	/* each twice the one before */
	for (size_t i = 0; i < GENERATIONS; i++)
		growing[i] = (struct profile_index_type){
			xasprintf("g%zu", i), i ?
			xasprintf("g%zu + g%zu", i - 1, i - 1) :
			xstrdup("THRID") };
	CHECK(profile_expression_check("g3", growing, GENERATIONS) == 0);
	CHECK(profile_expression_check("g59", growing, GENERATIONS) < 0);
	for (size_t i = 0; i < GENERATIONS; i++) {
		free((char *)growing[i].name);
		free((char *)growing[i].expression);
	}

	/* long, but only a list */
	char *list = repeated("THRID IN (9", ",8", 5000, ",2)");

	CHECK_EQ(packets_with(list, 1), 0x12);
	free(list);
}

int
main(void)
{
	open_records();
	check_lists();
	check_unknown();
	check_errors();
	check_hostile();
	return close_records();
}
