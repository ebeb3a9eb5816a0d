/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * profile: samples -> costs. Packets are decoded once and added up by stack,
 * stacks are interned once, each distinct (object, offset) is symbolized once
 * and lazily. Every answer is a sum over stacks, not over events. Knows
 * metrics as data and prints nothing.
 */
#ifndef SONDE_PROFILE_H
#define SONDE_PROFILE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "experiment.h"
#include "symbol.h"

/*
 * What packets add up to, beside the nanoseconds that the clock counted in
 * each state: their numbers are those below MSTATE_COUNT.
 */
enum value {
	VALUE_SYNC_TIME = MSTATE_COUNT, VALUE_SYNC_COUNT,
	VALUE_ALLOC_COUNT, VALUE_ALLOC_BYTES,
	VALUE_LEAK_COUNT, VALUE_LEAK_BYTES,
	VALUE_READ_TIME, VALUE_READ_BYTES, VALUE_READ_COUNT,
	VALUE_WRITE_TIME, VALUE_WRITE_BYTES, VALUE_WRITE_COUNT,
	VALUE_OTHER_TIME, VALUE_OTHER_COUNT,
	VALUE_ERROR_TIME, VALUE_ERROR_COUNT,
	VALUE_COUNTER,		/* the first hardware counter; then others */
	VALUE_MAX = 64
};

/* By the numbers of their packets. */
enum metric_kind { METRIC_SYNC = 2, METRIC_COUNTER = 3, METRIC_HEAP = 5,
		   METRIC_CLOCK = 8, METRIC_IO = 19 };

/* A metric is data: it is the sum of these values. */
struct metric {
	const char *name;	/* "totalcpu" "user" "system" "total" ... */
	const char *title;	/* "Total CPU Time" */
	const char *heading;	/* "Total CPU": column heads are "Excl. " + */
	const char *alias;	/* other generation's name, or NULL */
	bool is_time;		/* in ns, else a count, or bytes */
	enum metric_kind packet_kind;
	uint64_t values;	/* bit per value that counts */
};
extern const struct metric metric_table[];	/* ended by name NULL */
enum { METRIC_MAX = 64 };

struct profile;

/* Metrics by their numbers: first those of the table, then the hardware
 * counters of the profile (NULL: of none); NULL beyond. */
const struct metric *profile_metric(const struct profile *prof, int i);

/* An index object: what records are counted by. Its expression may name those
 * before it. */
struct profile_index_type {
	const char *name, *expression;
};

/* How much of a load object is shown: all; one function that stands for it;
 * the functions by which it was entered. */
enum object_show { OBJECT_SHOWN, OBJECT_HIDDEN, OBJECT_API };

struct object_rule {
	const char *name;	/* as in profile_object_named; NULL: all */
	enum object_show show;
};

/* What becomes of packets and stacks while they are read; zeros: the rule. */
struct profile_options {
	bool keep_linker;	/* frames of the dynamic linker that binds a
				 * PLT slot stay as they were; else they are
				 * one, the @plt of its object */
	bool keep_parts;	/* outlined parts stay without the function
				 * they belong to as their caller */
	bool inlines;		/* inlined functions are frames */
	const char *descendants;	/* "off": only founders are loaded;
					 * "=REGEXP": those whose lineage
					 * (_f1) or program it matches */
	const struct object_rule *rules;	/* the last that fits counts */
	size_t rules_len;
	struct symbol_server *server;	/* asked for files that are not here;
					 * NULL: nobody is; outlives the
					 * profile */
	const char *filter;	/* an expression: records that it makes 0 do
				 * not count; NULL: all do */
	const struct profile_index_type *objects;	/* names in it */
	size_t objects_len;
	size_t groups_before, experiments_before;	/* in what this is a
				 * part of: it goes on counting there */
	enum name_form form;	/* of the names that FNAME matches */
	bool soname;
};

/* Load (a live experiment: what is there now). NULL on failure. paths may
 * name groups (.erg); descendants are loaded with their founder. options:
 * NULL, or they need last only until it returns. */
struct profile *profile_open(const char *const *paths, size_t n,
			     const struct profile_options *options);
void profile_free(struct profile *prof);
/* Has any of the experiments changed on disk since profile_open? */
bool profile_grown(const struct profile *prof);
size_t profile_experiment_count(const struct profile *prof);
const struct experiment_reader *
profile_experiment(const struct profile *prof, size_t i);

/* Metrics that some experiment has data for, by their numbers. The position in
 * out is the metric's slot: values of costs are by slot. */
size_t profile_metrics(const struct profile *prof, int *out);

/* By slot; both live until the profile is freed. */
struct cost {
	const uint64_t *excl, *incl;
};

struct profile_object {		/* a load object */
	const char *name;	/* shown: basename; <Unknown>, <Total> ... */
	const char *path;
	struct symfile *symbols;	/* NULL: pseudo object, or no file */
	const char *trouble;	/* NULL, or one line with the remedy */
	bool is_kernel;		/* holds the kernel's functions */
	bool is_file;		/* not a pseudo object */
	const char *file;	/* its symbols were read there, or NULL */
	uint32_t index;		/* <Unknown> 0, <Total> 1, as first mapped */
	enum object_show show;
};

/* All of them by index, also those that no stack was in. */
size_t profile_object_count(const struct profile *prof);
const struct profile_object *profile_object_at(const struct profile *prof,
					       size_t index);
/* Is it what a person calls it: path, base name, <base name>? */
bool profile_object_named(const struct profile_object *obj, const char *name);

struct profile_function {
	uint32_t id;
	const struct profile_object *object;
	const char *linkage;	/* name in the symbol table */
	const char *name;	/* displayed, long form */
	uint64_t start, size;	/* ELF virtual address; 0 for artificial */
	bool is_static;		/* named after its place: no symbol */
	bool is_inlined;	/* `f [inlined]`: it has no place */
	const char *file;	/* of an inlined one: where it is written, or */
	int line;		/* NULL and 0 */
	bool is_folded;		/* stands for all of a hidden object */
};

enum { FUNCTION_TOTAL, FUNCTION_UNKNOWN };	/* ids of <Total>, <Unknown> */

size_t profile_function_count(struct profile *prof);
const struct profile_function *profile_function(struct profile *prof,
						uint32_t id);

/* Make functions of that name, linkage or demangled, known that no stack has:
 * they get ids and have no cost. Returns how many; what profile_function gave
 * before is not valid any more then. */
size_t profile_named(struct profile *prof, const char *name);

/* The cost of everything, also of samples without a readable stack. */
struct cost profile_total(struct profile *prof);

/* One distinct location on a stack. */
struct profile_location {
	uint32_t function;
	uint64_t offset;	/* within the function; <Unknown>: the PC */
	uint64_t vaddr;		/* ELF virtual address (0 artificial) */
	const struct profile_object *object;
};

/* Aggregates, in no order and without <Total>; they live until the profile
 * is freed. A function is counted once per stack in its inclusive cost. */
struct function_cost { uint32_t function; struct cost cost; };
struct location_cost { struct profile_location where; const char *file;
		       int line; struct cost cost; };
struct line_cost { uint32_t function; const char *file; /* NULL: none */
		   int line; struct cost cost; };
struct object_cost { const struct profile_object *object; struct cost cost; };
size_t profile_functions(struct profile *prof,
			 const struct function_cost **out);
size_t profile_pcs(struct profile *prof, const struct location_cost **out);
size_t profile_lines(struct profile *prof, const struct line_cost **out);
/* <Total> there: the artificial ends of truncated and failed stacks. */
size_t profile_objects(struct profile *prof, const struct object_cost **out);

/*
 * For annotated listings; each answer lives until the next of either.
 * profile_source: the lines of one file (function 0), whatever functions have
 * their code; and for functions that begin in it, what they have from
 * elsewhere: that file, NULL where the code has no line, and the line that
 * calls what was inlined, or 0.
 * profile_code: the instructions of a function that have cost, by address
 * (by offset where the function has no file).
 */
struct source_cost { uint32_t function; const char *file; int line;
		     struct cost cost; };
struct code_cost { uint64_t vaddr; struct cost cost; };
size_t profile_source(struct profile *prof, const char *file,
		      const struct source_cost **out);
size_t profile_code(struct profile *prof, uint32_t function,
		    const struct code_cost **out);

/*
 * Caller -> callee; <Total> is the caller of outermost functions. A function
 * is looked at where it stands nearest to the leaf: at_callee is the cost of
 * `to` that came through `from`, at_caller what `from` spent in `to`. They
 * differ under recursion only, and may then be all zero.
 */
struct edge_cost {
	uint32_t from, to;
};
size_t profile_edges(struct profile *prof, const struct edge_cost **out);
/* Of one of them, by slot. */
void profile_edge_at_callee(const struct profile *prof, size_t edge,
			    uint64_t *slots);
void profile_edge_at_caller(const struct profile *prof, size_t edge,
			    uint64_t *slots);

/*
 * The stacks in which these functions, outermost first, stand next to each
 * other: exclusive is the cost of those whose leaf is the last one. <Total> is
 * above the outermost function of each stack. Under recursion the place
 * nearest to the leaf counts, and who stands at the others has nothing.
 */
struct profile_neighbour { uint32_t function; const uint64_t *value; };
struct profile_fragment {
	struct cost cost;
	struct profile_neighbour *callers, *callees;
	size_t callers_len, callees_len;
	uint64_t *values[4];
};
/* n is 1 or more; profile_fragment_free takes it. */
struct profile_fragment *profile_fragment(struct profile *prof,
					  const uint32_t *functions, size_t n);
void profile_fragment_free(struct profile_fragment *f);

/* Exclusive cost per thread, in order of appearance. */
struct thread_cost {
	uint32_t experiment;	/* index, 0 first */
	uint32_t ordinal;	/* within the experiment, 1 first */
	uint64_t tid;
	const char *name;	/* its last one; NULL: not recorded */
	const uint64_t *excl;
};
size_t profile_threads(struct profile *prof, const struct thread_cost **out);

/*
 * Exclusive cost by index: by what an expression comes to for each record, in
 * the order of the numbers. Lives until the next one is asked for. -1: the
 * expression is wrong.
 */
enum { INDEX_TYPES = 9 };
extern const struct profile_index_type profile_index_types[INDEX_TYPES];
struct index_cost {
	uint64_t index;		/* UINT64_MAX: <Unknown> */
	const uint64_t *excl;
};
ssize_t profile_index(struct profile *prof, const char *expression,
		      const struct profile_index_type *objects, size_t n,
		      const struct index_cost **out);
/* The number of the last experiment of the group-th path. */
size_t profile_experiments_until(const struct profile *prof, size_t group);
/* How many there are of what, whatever is filtered. */
struct profile_population {
	size_t samples, threads, lwps, cpus;
};
struct profile_population profile_population(const struct profile *prof,
					     size_t experiment);
/* Is it an expression? -1: FAIL_USAGE says what is wrong and where. */
int profile_expression_check(const char *text,
			     const struct profile_index_type *objects,
			     size_t n);
/* The fields that expressions can ask for, i < profile_field_count(). kinds:
 * bit per kind of packet that has it. */
struct profile_field {
	const char *name, *help;
	uint32_t kinds;
};
size_t profile_field_count(void);
struct profile_field profile_field(size_t i);

/* What lies between resource sample i and the next, by slot. All of them are
 * the whole; none where there are no two samples. */
size_t profile_periods(const struct profile *prof, size_t experiment);
void profile_period(const struct profile *prof, size_t experiment, size_t i,
		    uint64_t *slots);

/*
 * Who created the threads of an experiment. Those that have cost and of whose
 * birth it tells nothing: the first one, others older than the recording, or
 * born when births were not followed.
 */
struct profile_creators {
	bool recorded;
	uint64_t known, unknown;	/* threads born, with stack or not */
	uint64_t untold;		/* first thread apart */
	const char *why;	/* not followed (any more), or NULL */
};
struct profile_creators profile_creators(struct profile *prof,
					 size_t experiment);

/* The dynamic call tree; node 0 is <Total>. With creators, threads hang below
 * the stacks that created them. Valid until it is asked for the other way. */
struct tree_node {
	uint32_t function, parent, first_child, next_sibling; /* 0: none */
};
size_t profile_tree(struct profile *prof, bool creators,
		    const struct tree_node **out);
/* Inclusive, of one node of it, by slot. */
void profile_tree_value(const struct profile *prof, uint32_t node,
			uint64_t *slots);

/* Every distinct stack with its weight by slot, for folded output. frames
 * are function ids, leaf first; none for samples without a stack. */
void profile_stacks(struct profile *prof,
		    void (*visit)(void *arg, const uint32_t *frames, size_t n,
				  const uint64_t *weight),
		    void *arg);
/* The same, each continued by the stacks that created its thread. */
void profile_created_stacks(struct profile *prof,
			    void (*visit)(void *arg, const uint32_t *frames,
					  size_t n, const uint64_t *weight),
			    void *arg);

/* How stacks ended: counts of packets. artificial: stand for something else
 * (<Lost samples>); missing: their stack is not in the experiment. */
struct stack_ends {
	uint64_t complete, truncated, failed, artificial, missing;
	uint64_t traced;	/* of all these: calls, no samples */
	uint64_t booked;	/* no samples: time counted beside them */
};

struct stack_ends profile_stack_ends(struct profile *prof, size_t experiment);
/* How many events of that kind were recorded, memory counters among those of
 * hardware. */
uint64_t profile_events(const struct profile *prof, size_t experiment,
			enum metric_kind kind);
/* Packets that no metric counts (unknown states). */
uint64_t profile_ignored(const struct profile *prof, size_t experiment);

/* What was lost, by cause, as the experiment says. */
struct profile_loss {
	const char *cause, *detail;
	uint64_t samples, weight_ns;
};
size_t profile_losses(struct profile *prof, size_t experiment,
		      const struct profile_loss **out);

#endif
