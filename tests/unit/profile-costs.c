/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Costs of functions, edges, tree, PCs, threads from stacks of known weight:
 * recursion counted once, PLT stubs charged to the call, truncated and failed
 * stacks in their place, samples without a stack in <Total> alone.
 *
 * mission: S1 S4 S8 S9 D1 V1
 */
#include "profile.h"
#include "profile-help.h"

/* Functions to stand on stacks; what they do does not matter. */
#define FRAME(name) \
	__attribute__((noinline, used)) long name(long n); \
	long name(long n) { return n * __LINE__ + (n ? n >> 2 : 1); }
FRAME(outer_one)
FRAME(middle_two)
FRAME(inner_three)
FRAME(lonely_four)

#define PC(function) ((uint64_t)(uintptr_t)(function) + 1)

static struct profile *prof;
static size_t slots;

static int
slot_of(const char *name)
{
	int metrics[METRIC_MAX];
	const size_t n = profile_metrics(prof, metrics);

	for (size_t i = 0; i < n; i++)
		if (!strcmp(metric_table[metrics[i]].name, name))
			return (int)i;
	return -1;
}

static uint32_t
function_named(const char *name)
{
	const size_t n = profile_function_count(prof);

	for (uint32_t i = 0; i < n; i++)
		if (!strcmp(profile_function(prof, i)->name, name))
			return i;
	return UINT32_MAX;
}

static struct cost
cost_of(const char *name)
{
	static const uint64_t nothing[METRIC_MAX];
	const struct function_cost *costs;
	const size_t n = profile_functions(prof, &costs);

	for (size_t i = 0; i < n; i++)
		if (costs[i].function == function_named(name))
			return costs[i].cost;
	printf("no cost of %s\n", name);
	failures++;
	return (struct cost){ nothing, nothing };
}

struct edge_values {
	uint64_t at_callee[METRIC_MAX], at_caller[METRIC_MAX];
};

static const struct edge_values *
edge(const char *from, const char *to)
{
	static struct edge_values values;
	const struct edge_cost *edges;
	const size_t n = profile_edges(prof, &edges);

	for (size_t i = 0; i < n; i++)
		if (edges[i].from == function_named(from) &&
		    edges[i].to == function_named(to)) {
			profile_edge_at_callee(prof, i, values.at_callee);
			profile_edge_at_caller(prof, i, values.at_caller);
			return &values;
		}
	printf("no edge %s -> %s\n", from, to);
	failures++;
	values = (struct edge_values){ 0 };
	return &values;
}

enum { PLAIN = 700, SHALLOW = 90, RECURSIVE = 1300, CUT = 40, BROKEN = 25,
       STUB = 11, ORPHAN = 5, SLEEPING = 3000, SYSTEM = 17, KERNEL = 9 };

static void
add(struct experiment *exp, uint64_t t, enum mstate state, uint64_t ms,
    const uint64_t *pcs, size_t n, enum stack_end end)
{
	experiment_clock(exp, t, 100, 0, state, ms * MS,
			 experiment_stack(exp, pcs, n, end));
}

#define STACK(...) (const uint64_t[]){ __VA_ARGS__ }, \
	sizeof((uint64_t[]){ __VA_ARGS__ }) / sizeof(uint64_t)

static void
write_experiment(const char *path, const struct text *text)
{
	const uint64_t t = now_ns();
	struct experiment *exp = new_experiment(path, t);
	const uint64_t plt = own_section(text, ".plt");

	map_text(exp, text, t);
	add(exp, t + 1 * MS, MSTATE_USER, PLAIN, STACK(PC(inner_three),
		PC(middle_two), PC(outer_one)), STACK_COMPLETE);
	add(exp, t + 2 * MS, MSTATE_USER, SHALLOW, STACK(PC(outer_one)),
	    STACK_COMPLETE);
	/* outer -> middle -> middle -> inner -> middle */
	add(exp, t + 3 * MS, MSTATE_USER, RECURSIVE, STACK(PC(middle_two),
		PC(inner_three), PC(middle_two), PC(middle_two),
		PC(outer_one)), STACK_COMPLETE);
	add(exp, t + 4 * MS, MSTATE_USER, CUT, STACK(PC(inner_three)),
	    STACK_TRUNCATED);
	add(exp, t + 5 * MS, MSTATE_USER, BROKEN, STACK(PC(inner_three),
		PC(middle_two)), STACK_FAILED);
	CHECK(plt);
	add(exp, t + 6 * MS, MSTATE_USER, STUB, STACK(plt + 17,
		PC(lonely_four)), STACK_COMPLETE);
	/* a stack that is not in the experiment */
	experiment_clock(exp, t + 7 * MS, 200, 1, MSTATE_USER, ORPHAN * MS,
			 UINT64_C(0x1234567));
	experiment_clock(exp, t + 8 * MS, 200, 1, MSTATE_SLEEP, SLEEPING * MS,
			 experiment_stack(exp, STACK(PC(inner_three),
						     PC(middle_two)),
					  STACK_COMPLETE));
	add(exp, t + 9 * MS, MSTATE_SYSTEM, SYSTEM, STACK(PC(lonely_four)),
	    STACK_COMPLETE);
	experiment_clock(exp, t + 9 * MS, 200, 1, MSTATE_SYSTEM, KERNEL * MS,
			 experiment_artificial(exp, "<Kernel>"));
	experiment_loss(exp, t + 10 * MS, "ring", "worker", 3, 5 * MS);
	experiment_loss(exp, t + 11 * MS, "ring", "worker", 7, 9 * MS);
	if (experiment_close(exp, t + 12 * MS, "the test ended it") < 0)
		exit(99);
}

enum { CPU = PLAIN + SHALLOW + RECURSIVE + CUT + BROKEN + STUB + ORPHAN +
	     SYSTEM + KERNEL };

static void
check_functions(void)
{
	const int cpu = slot_of("totalcpu"), sleep = slot_of("sleep");
	const int system = slot_of("system"), total = slot_of("total");

	CHECK_EQ(profile_total(prof).incl[cpu], CPU * MS);
	CHECK_EQ(profile_total(prof).incl[sleep], SLEEPING * MS);
	CHECK_EQ(profile_total(prof).incl[total], (CPU + SLEEPING) * MS);
	CHECK_EQ(profile_total(prof).incl[system], (SYSTEM + KERNEL) * MS);
	CHECK_EQ(cost_of("inner_three").excl[cpu],
		 (PLAIN + CUT + BROKEN) * MS);
	CHECK_EQ(cost_of("inner_three").incl[cpu],
		 (PLAIN + RECURSIVE + CUT + BROKEN) * MS);
	CHECK_EQ(cost_of("inner_three").excl[sleep], SLEEPING * MS);
	/* three times on the recursive stack, counted once */
	CHECK_EQ(cost_of("middle_two").excl[cpu], RECURSIVE * MS);
	CHECK_EQ(cost_of("middle_two").incl[cpu],
		 (PLAIN + RECURSIVE + BROKEN) * MS);
	CHECK_EQ(cost_of("outer_one").excl[cpu], SHALLOW * MS);
	CHECK_EQ(cost_of("outer_one").incl[cpu],
		 (PLAIN + SHALLOW + RECURSIVE) * MS);
	CHECK_EQ(cost_of("lonely_four").excl[cpu], (STUB + SYSTEM) * MS);
	CHECK_EQ(cost_of("<Truncated-stack>").excl[cpu], 0);
	CHECK_EQ(cost_of("<Truncated-stack>").incl[cpu], CUT * MS);
	CHECK_EQ(cost_of("<Stack-unwind-failed>").incl[cpu], BROKEN * MS);
	CHECK_EQ(cost_of("<Kernel>").excl[system], KERNEL * MS);
	CHECK(profile_function(prof, function_named("<Kernel>"))->object
	      ->is_kernel);
}

static void
check_edges(void)
{
	const int cpu = slot_of("totalcpu");

	CHECK_EQ(edge("middle_two", "inner_three")->at_callee[cpu],
		 (PLAIN + RECURSIVE + BROKEN) * MS);
	/* nearest to the leaf, middle_two calls nobody: it is the leaf */
	CHECK_EQ(edge("middle_two", "inner_three")->at_caller[cpu],
		 (PLAIN + BROKEN) * MS);
	CHECK_EQ(edge("inner_three", "middle_two")->at_callee[cpu],
		 RECURSIVE * MS);
	CHECK_EQ(edge("inner_three", "middle_two")->at_caller[cpu],
		 RECURSIVE * MS);
	CHECK_EQ(edge("middle_two", "middle_two")->at_callee[cpu], 0);
	CHECK_EQ(edge("outer_one", "middle_two")->at_callee[cpu], PLAIN * MS);
	CHECK_EQ(edge("outer_one", "middle_two")->at_caller[cpu],
		 (PLAIN + RECURSIVE) * MS);
	CHECK_EQ(edge("<Total>", "outer_one")->at_caller[cpu],
		 (PLAIN + SHALLOW + RECURSIVE) * MS);
	CHECK_EQ(edge("<Total>", "<Truncated-stack>")->at_caller[cpu],
		 CUT * MS);
	CHECK_EQ(edge("<Stack-unwind-failed>", "middle_two")->at_callee[cpu],
		 BROKEN * MS);
}

/* Follow a path of names from <Total>; 0 when it is not there. */
static uint32_t
node_at(const struct tree_node *nodes, const char *const *path)
{
	uint32_t node = 0;

	for (; *path; path++) {
		uint32_t c = nodes[node].first_child;

		while (c && nodes[c].function != function_named(*path))
			c = nodes[c].next_sibling;
		if (!c)
			return 0;
		node = c;
	}
	return node;
}

static const uint64_t *
values_of(uint32_t node)
{
	static uint64_t values[METRIC_MAX];

	profile_tree_value(prof, node, values);
	return values;
}

#define NODE(...) values_of(node_at(nodes, (const char *const[]){ \
	__VA_ARGS__, NULL }))

static void
check_tree(void)
{
	const int cpu = slot_of("totalcpu");
	const struct tree_node *nodes;
	const size_t n = profile_tree(prof, false, &nodes);

	/* Total, outer..inner 3, recursion 3 more, cut 2, failed 3, lonely 1,
	 * sleeping 2, kernel 1 */
	CHECK_EQ(n, 1 + 3 + 3 + 2 + 3 + 1 + 2 + 1);
	CHECK_EQ(values_of(0)[cpu], CPU * MS);
	CHECK_EQ(NODE("outer_one")[cpu],
		 (PLAIN + SHALLOW + RECURSIVE) * MS);
	CHECK_EQ(NODE("outer_one", "middle_two")[cpu],
		 (PLAIN + RECURSIVE) * MS);
	CHECK_EQ(NODE("outer_one", "middle_two", "inner_three")[cpu],
		 PLAIN * MS);
	CHECK_EQ(NODE("outer_one", "middle_two", "middle_two", "inner_three",
		      "middle_two")[cpu], RECURSIVE * MS);
	CHECK_EQ(NODE("<Truncated-stack>", "inner_three")[cpu], CUT * MS);
	CHECK_EQ(NODE("middle_two", "inner_three")[cpu], 0);
	CHECK_EQ(NODE("middle_two", "inner_three")[slot_of("sleep")],
		 SLEEPING * MS);
}

static void
check_rest(void)
{
	const int cpu = slot_of("totalcpu");
	const struct thread_cost *threads;
	const struct profile_loss *losses;
	const struct location_cost *pcs;
	const struct stack_ends ends = profile_stack_ends(prof, 0);
	uint64_t excl = 0;

	CHECK_EQ(profile_threads(prof, &threads), 2);
	CHECK_EQ(threads[0].tid, 100);
	CHECK_EQ(threads[1].excl[cpu], (ORPHAN + KERNEL) * MS);
	CHECK_EQ(threads[0].excl[cpu] + threads[1].excl[cpu], CPU * MS);
	CHECK_EQ(ends.truncated, 1);
	CHECK_EQ(ends.failed, 1);
	CHECK_EQ(ends.missing, 1);
	CHECK_EQ(ends.complete + ends.artificial, 7);
	CHECK_EQ(profile_losses(prof, 0, &losses), 1);
	CHECK_EQ(losses[0].samples, 7);
	CHECK_EQ(losses[0].weight_ns, 9 * MS);
	for (size_t i = profile_pcs(prof, &pcs); i-- > 0;)
		excl += pcs[i].cost.excl[cpu];
	CHECK_EQ(excl, (CPU - ORPHAN) * MS);
	CHECK_EQ(profile_experiment_count(prof), 1);
}

static uint64_t folded[METRIC_MAX];

static void
sum_stack(void *arg, const uint32_t *frames, size_t n, const uint64_t *weight)
{
	(void)arg, (void)frames, (void)n;
	for (size_t s = 0; s < slots; s++)
		folded[s] += weight[s];
}

int
main(void)
{
	const struct text text = own_text();

	make_scratch();

	char *path = scratch_path("costs.er");

	write_experiment(path, &text);
	prof = profile_open((const char *const[]){ path }, 1, NULL);
	free(path);
	if (!prof) {
		printf("open: %s\n", fail_last()->reason);
		return 1;
	}

	int metrics[METRIC_MAX];

	slots = profile_metrics(prof, metrics);
	CHECK(slot_of("user") >= 0 && slot_of("lock") >= 0);
	check_functions();
	check_edges();
	check_tree();
	check_rest();
	profile_stacks(prof, sum_stack, NULL);
	for (size_t s = 0; s < slots; s++)
		CHECK_EQ(folded[s], profile_total(prof).incl[s]);
	profile_free(prof);
	return failures != 0;
}
