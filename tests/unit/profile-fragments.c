/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Stack fragments, and load objects that are hidden or show their entry points
 * only. Stacks are made by chance from the functions of three load objects,
 * with recursion and cut ends; here each is a string, one letter a function,
 * outermost first, and what the profile says is compared with what searching
 * and rewriting these strings gives.
 *
 * mission: M1 V1
 */
#include "profile.h"
#include "profile-help.h"

#define FRAME(name) \
	__attribute__((noinline, used)) long name(long n); \
	long name(long n) { return n * __LINE__ + (n ? n >> 2 : 1); }
FRAME(alpha)
FRAME(beta)
FRAME(gamma_)
extern void _start(void);

enum { OBJECTS = 3, FUNCTIONS = 4, LETTERS = 128, STACKS = 400, DEPTH = 10,
       RUNS = 400, RULE_SETS = 27 };

/* A letter of the first object is A to D, of the second E to H, and so on; a
 * hidden object is a, b or c. */
static const char letters[] = "ABCDEFGHIJKL";
enum { TOTAL = '<', CUT = '%' };

static const char *const names[FUNCTIONS] = { "alpha", "beta", "gamma_",
					      "_start" };

struct truth {
	char text[DEPTH + 4];
	uint64_t ms;
};

static struct text text;
static char *paths[OBJECTS];
static struct truth stacks[STACKS];
static size_t stack_count;
static uint64_t seed = 7;

static uint64_t
pick(uint64_t n)
{
	seed = hash_word(seed + 0x9e3779b97f4a7c15ull);
	return seed % n;
}

static uint64_t
base_of(size_t object)
{
	return UINT64_C(0x10000000) * (object + 1);
}

static uint64_t
pc_of(char letter)
{
	const uint64_t starts[FUNCTIONS] = {
		(uintptr_t)alpha, (uintptr_t)beta, (uintptr_t)gamma_,
		(uintptr_t)_start,
	};
	const size_t i = (size_t)(strchr(letters, letter) - letters);

	return base_of(i / FUNCTIONS) + starts[i % FUNCTIONS] - text.start + 1;
}

static size_t
object_of(char letter)
{
	const char *at = strchr(letters, letter);

	return at && *at ? (size_t)(at - letters) / FUNCTIONS : OBJECTS;
}

static void
add_stack(struct experiment *exp, uint64_t t0)
{
	struct truth *truth = &stacks[stack_count++];
	uint64_t pcs[DEPTH];
	const size_t depth = 1 + pick(DEPTH);
	const bool cut = pick(5) == 0;
	size_t n = 0;

	if (cut)
		truth->text[n++] = CUT;
	for (size_t i = 0; i < depth; i++) {
		/* few letters: runs repeat */
		truth->text[n] = i == 0 && pick(3) == 0 ? letters[3] :
				 letters[pick(3) * FUNCTIONS + pick(2)];
		if (i && pick(3) == 0)
			truth->text[n] = truth->text[n - 1] == CUT ?
				letters[0] : truth->text[n - 1];
		pcs[depth - 1 - i] = pc_of(truth->text[n++]);
	}
	truth->ms = 1 + pick(50);
	experiment_clock(exp, t0 + stack_count * MS, 1, 0, MSTATE_USER,
			 truth->ms * MS,
			 experiment_stack(exp, pcs, depth, cut ?
					  STACK_TRUNCATED : STACK_COMPLETE));
}

static char *
write_experiment(void)
{
	const uint64_t t0 = now_ns();
	char *path = scratch_path("fragments.er");
	struct experiment *exp = new_experiment(path, t0);

	for (size_t i = 0; i < OBJECTS; i++) {
		char *name = xasprintf("object%zu.so", i);

		paths[i] = scratch_path(name);
		free(name);
		copy_file(text.path, paths[i]);
		experiment_map(exp, t0, base_of(i), text.size, text.offset, 5,
			       paths[i], NULL);
	}
	for (size_t i = 0; i < STACKS; i++)
		add_stack(exp, t0);
	if (experiment_close(exp, t0 + 1000 * MS, "") < 0) {
		puts(fail_last()->reason);
		exit(1);
	}
	return path;
}

static char
letter_of(struct profile *prof, uint32_t id)
{
	const struct profile_function *fn = profile_function(prof, id);

	if (id == FUNCTION_TOTAL)
		return TOTAL;
	if (!strcmp(fn->linkage, "<Truncated-stack>"))
		return CUT;
	for (size_t o = 0; o < OBJECTS; o++) {
		if (strcmp(fn->object->path, paths[o]) != 0)
			continue;
		if (fn->is_folded)
			return "abc"[o];
		for (size_t f = 0; f < FUNCTIONS; f++)
			if (!strcmp(fn->linkage, names[f]))
				return letters[o * FUNCTIONS + f];
	}
	printf("a function that was not called: %s\n", fn->name);
	failures++;
	return '?';
}

static struct profile *
open_profile(const char *path, const struct profile_options *options)
{
	struct profile *prof = profile_open(&path, 1, options);

	if (!prof) {
		puts(fail_last()->reason);
		exit(1);
	}
	return prof;
}

/* ---- fragments -------------------------------------------------------- */

struct sums {			/* ms by letter; -1: not there */
	long above[LETTERS], below[LETTERS];
	long own, all;
};

static void
add(long *at, long ms)
{
	*at = (*at < 0 ? 0 : *at) + ms;
}

/* By searching text for run, from its leaf, which is at its end. */
static void
search(const struct truth *truth, const char *run, struct sums *sums)
{
	char whole[DEPTH + 8];
	long ms = (long)truth->ms;
	const size_t n = strlen(run);

	snprintf(whole, sizeof whole, "%c%.*s", TOTAL, DEPTH + 3, truth->text);
	for (size_t at = strlen(whole); at-- > 0;) {
		if (strncmp(&whole[at], run, n) != 0)
			continue;
		sums->all += ms;
		if (!whole[at + n] || !strcmp(run, "<"))
			sums->own += ms;
		if (whole[at + n])
			add(&sums->below[(int)whole[at + n]], ms);
		if (at > 0)
			add(&sums->above[(int)whole[at - 1]], ms);
		ms = 0;		/* what is further out is there, that is all */
	}
}

static void
compare_side(struct profile *prof, const char *run,
	     const struct profile_neighbour *side, size_t n, long *want)
{
	for (size_t i = 0; i < n; i++) {
		const char letter = letter_of(prof, side[i].function);

		if ((long)(side[i].value[0] / MS) != want[(int)letter]) {
			printf("%s, %c beside it: %" PRIu64 " ms, not %ld\n",
			       run, letter, side[i].value[0] / MS,
			       want[(int)letter]);
			failures++;
		}
		want[(int)letter] = -1;
	}
	for (int i = 0; i < LETTERS; i++)
		if (want[i] >= 0) {
			printf("%s: %c is missing\n", run, i);
			failures++;
		}
}

static void
compare_run(struct profile *prof, const char *run, const uint32_t *ids)
{
	struct profile_fragment *f;
	struct sums sums = {0};

	for (int i = 0; i < LETTERS; i++)
		sums.above[i] = sums.below[i] = -1;
	for (size_t i = 0; i < STACKS; i++)
		search(&stacks[i], run, &sums);
	f = profile_fragment(prof, ids, strlen(run));
	CHECK_EQ(f->cost.excl[0] / MS, (uint64_t)sums.own);
	CHECK_EQ(f->cost.incl[0] / MS, (uint64_t)sums.all);
	compare_side(prof, run, f->callers, f->callers_len, sums.above);
	compare_side(prof, run, f->callees, f->callees_len, sums.below);
	profile_fragment_free(f);
}

static void
test_fragments(const char *path)
{
	struct profile *prof = open_profile(path, NULL);
	const size_t n = profile_function_count(prof);
	uint32_t id_of[LETTERS] = {0};
	size_t found = 0;

	for (uint32_t i = 0; i < n; i++)
		if (i != 1 && i != 3)	/* <Unknown>, failed: not here */
			id_of[(int)letter_of(prof, i)] = i;
	for (size_t k = 0; k < RUNS; k++) {
		const struct truth *from = &stacks[pick(STACKS)];
		char run[DEPTH + 8];
		uint32_t ids[DEPTH + 8];

		/* mostly a piece of a stack, some with a change */
		snprintf(run, sizeof run, "%c%.*s", TOTAL, DEPTH + 3,
			 from->text);
		memmove(run, run + pick(strlen(run)), strlen(run) + 1);
		run[1 + pick(4)] = '\0';
		if (k % 9 == 0)
			run[0] = 'E';
		for (size_t i = 0; run[i]; i++)
			ids[i] = id_of[(int)run[i]];
		compare_run(prof, run, ids);
		found += strlen(run) > 1;
	}
	CHECK(found > RUNS / 4);
	compare_run(prof, "<", &(uint32_t){ FUNCTION_TOTAL });
	profile_free(prof);
}

/* A fragment of one function is its pane of callers-callees. */
static void
test_edges(const char *path)
{
	struct profile *prof = open_profile(path, NULL);
	const struct edge_cost *edges;
	const size_t n = profile_edges(prof, &edges);
	const size_t functions = profile_function_count(prof);
	uint64_t value[METRIC_MAX];
	size_t met = 0;

	for (uint32_t id = 0; id < functions; id++) {
		struct profile_fragment *f = profile_fragment(prof, &id, 1);

		for (size_t e = 0; e < n; e++)
			for (size_t i = 0; edges[e].to == id &&
			     i < f->callers_len; i++)
				if (f->callers[i].function == edges[e].from) {
					profile_edge_at_callee(prof, e, value);
					CHECK_EQ(f->callers[i].value[0],
						 value[0]);
					met++;
				}
		profile_fragment_free(f);
	}
	CHECK_EQ(met, n);
	profile_free(prof);
}

/* ---- hiding ------------------------------------------------------------ */

/* Rewrite a stack as the objects are shown. */
static void
rewrite(char *out, const char *in, const enum object_show *show)
{
	size_t at = 0, n = 0, start;

	if (in[at] == CUT)
		out[n++] = in[at++];
	if (in[at] && strchr("DHL", in[at]))	/* _start */
		out[n++] = in[at++];
	start = at;
	while (in[at] && show[object_of(in[at])] == OBJECT_API &&
	       object_of(in[at]) == object_of(in[start]))
		at++;
	if (at > start)
		out[n++] = in[start];
	while (in[at]) {
		out[n++] = in[at];
		if (show[object_of(in[at++])] == OBJECT_API)
			break;
	}
	out[n] = '\0';
	n = 0;
	for (const char *c = out; *c; c++) {
		const bool hidden = object_of(*c) < OBJECTS &&
				    show[object_of(*c)] == OBJECT_HIDDEN;
		const char is = hidden ? "abc"[object_of(*c)] : *c;

		if (!hidden || !n || out[n - 1] != is)
			out[n++] = is;
	}
	out[n] = '\0';
}

struct seen {
	struct profile *prof;
	struct truth stacks[STACKS];
	size_t len;
};

static void
add_text(struct seen *seen, const char *now, uint64_t ms)
{
	size_t i = 0;

	while (i < seen->len && strcmp(seen->stacks[i].text, now) != 0)
		i++;
	if (i == seen->len)
		strcpy(seen->stacks[seen->len++].text, now);
	seen->stacks[i].ms += ms;
}

static void
see_stack(void *arg, const uint32_t *frames, size_t n, const uint64_t *weight)
{
	struct seen *seen = arg;
	char now[DEPTH + 4] = "";

	for (size_t i = 0; i < n; i++)
		now[n - 1 - i] = letter_of(seen->prof, frames[i]);
	add_text(seen, now, weight[0] / MS);
}

static void
compare_stacks(struct profile *prof, const enum object_show *show)
{
	struct seen seen = { .prof = prof }, want = {0};

	profile_stacks(prof, see_stack, &seen);
	for (size_t i = 0; i < STACKS; i++) {
		char now[DEPTH + 4];

		rewrite(now, stacks[i].text, show);
		add_text(&want, now, stacks[i].ms);
	}
	CHECK_EQ(seen.len, want.len);
	for (size_t i = 0; i < want.len; i++)
		for (size_t k = 0; k < seen.len; k++)
			if (!strcmp(want.stacks[i].text, seen.stacks[k].text)) {
				CHECK_EQ(seen.stacks[k].ms, want.stacks[i].ms);
				want.stacks[i].ms = 0;
				seen.stacks[k].ms = 0;
			}
	for (size_t i = 0; i < want.len; i++)
		CHECK_EQ(want.stacks[i].ms, 0);
}

static void
compare_costs(struct profile *prof, const enum object_show *show)
{
	uint64_t excl[LETTERS] = {0}, incl[LETTERS] = {0};
	const struct function_cost *costs;
	const size_t n = profile_functions(prof, &costs);

	for (size_t i = 0; i < STACKS; i++) {
		char seen[DEPTH + 4], now[DEPTH + 4];
		size_t len = 0;

		rewrite(now, stacks[i].text, show);
		excl[(int)now[strlen(now) - 1]] += stacks[i].ms;
		for (const char *c = now; *c; c++)
			if (!memchr(seen, *c, len)) {
				incl[(int)*c] += stacks[i].ms;
				seen[len++] = *c;
			}
	}
	for (size_t i = 0; i < n; i++) {
		const int letter = letter_of(prof, costs[i].function);

		CHECK_EQ(costs[i].cost.excl[0] / MS, excl[letter]);
		CHECK_EQ(costs[i].cost.incl[0] / MS, incl[letter]);
		excl[letter] = incl[letter] = 0;
	}
	for (int i = 0; i < LETTERS; i++)
		CHECK_EQ(incl[i], 0);
}

static void
test_hiding(const char *path)
{
	for (unsigned set = 0; set < RULE_SETS; set++) {
		const enum object_show show[OBJECTS + 1] = {
			set % 3, set / 3 % 3, set / 9, OBJECT_SHOWN };
		const struct object_rule rules[] = {
			{ "<object1.so>", OBJECT_HIDDEN },
			{ NULL, show[0] },
			{ "object1.so", show[1] },
			{ paths[2], show[2] },
		};
		struct profile *prof = open_profile(
			path, &(struct profile_options){ .rules = rules,
				.rules_len = ARRAY_LEN(rules) });
		const size_t n = profile_object_count(prof);

		compare_stacks(prof, show);
		compare_costs(prof, show);
		for (size_t i = 0; i < n; i++) {
			const struct profile_object *obj =
				profile_object_at(prof, i);

			CHECK_EQ(obj->index, i);
			for (size_t o = 0; o < OBJECTS; o++)
				if (!strcmp(obj->path, paths[o]))
					CHECK_EQ(obj->show, show[o]);
		}
		profile_free(prof);
	}
}

/* <Unknown> and <Total> are 0 and 1, then come those that were mapped. */
static void
test_numbers(const char *path)
{
	struct profile *prof = open_profile(path, NULL);

	CHECK(!strcmp(profile_object_at(prof, 0)->name, "<Unknown>"));
	CHECK(!strcmp(profile_object_at(prof, 1)->name, "<Total>"));
	for (size_t o = 0; o < OBJECTS; o++) {
		size_t at = 2;

		while (at < profile_object_count(prof) &&
		       strcmp(profile_object_at(prof, at)->path, paths[o]))
			at++;
		CHECK(at >= 2 + o && at <= 3 + o);
		CHECK(profile_object_named(profile_object_at(prof, at),
					   paths[o]));
		CHECK(!profile_object_named(profile_object_at(prof, at),
					    "object"));
	}
	profile_free(prof);
}

int
main(void)
{
	text = own_text();
	make_scratch();

	char *path = write_experiment();

	test_fragments(path);
	test_edges(path);
	test_hiding(path);
	test_numbers(path);
	free(path);
	for (size_t i = 0; i < OBJECTS; i++)
		free(paths[i]);
	return failures != 0;
}
