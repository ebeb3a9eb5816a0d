/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * What the files of this room share.
 *
 * A stack is a run of location numbers in one pool, leaf first. The last one
 * may be the artificial location of a truncated or failed stack, so that every
 * sum treats it like any other frame. Stack 0 has no frames: packets whose
 * stack is not there count for <Total> alone.
 */
#ifndef PROFILE_PRIVATE_H
#define PROFILE_PRIVATE_H

#include "base.h"
#include "profile.h"
#include "space.h"

enum { FUNCTION_TRUNCATED = FUNCTION_UNKNOWN + 1, FUNCTION_FAILED,
       FUNCTION_FIRST };
enum { LOCATION_TRUNCATED, LOCATION_FAILED, LOCATION_FIRST };
#define LOCATION_NONE (UINT32_MAX - 1)
enum { OBJECT_TOTAL, OBJECT_UNKNOWN, OBJECT_DYNAMIC, OBJECT_KERNEL,
       OBJECT_FIRST };
#define FUNCTION_UNSET UINT32_MAX

/* ---- the profile ---------------------------------------------------- */

struct object {
	struct profile_object pub;
	char *path, *build_id;
	char *trouble;
	uint32_t source;	/* experiment that named it first */
	uint64_t start, end;	/* where it was mapped, first */
	bool opened;
	uint32_t plt;		/* function of its PLT, or FUNCTION_UNSET */
	uint32_t nothing;	/* of code that has none, or FUNCTION_UNSET */
	uint32_t bound_at;	/* location + 1 of lazy binding; 0: none */
	uint64_t plt_start;
	uint32_t folded_at;	/* location + 1 that stands for all; 0: none */
	char *file;		/* where its symbols are */
	struct map functions;	/* start -> function id */
	struct map locations;	/* file offset -> location id + 1 */
	struct map inlined;	/* hash of a function's place -> function id */
	struct map wholes;	/* start of a part -> location + 1 */
};

struct function {
	struct profile_function pub;
	char *linkage, *name;
	uint32_t object;
};

struct location {
	uint32_t object, function;
	uint64_t offset;	/* in the file, until it is symbolized; then
				 * in the function */
	uint64_t vaddr;
	bool is_plt, has_line;
	bool is_resolver;	/* where the dynamic linker is entered */
	uint32_t slot;		/* as a caller of it: lazy.c, + 1; 0: unset */
	const char *file;	/* valid once has_line */
	int line;
};

/*
 * Rows of values: row is what they belong to (a stack, a thread), column is
 * where a value stands in all banks. Only what packets had has a column, so
 * a row is as wide as the experiments need.
 */
struct bank {
	uint64_t *cells;
	size_t rows, cap;
	uint32_t width;
};

struct stack {
	size_t first;		/* in frames */
	uint32_t len;
	uint32_t skip;		/* leaf frames in PLT stubs, not shown */
	uint32_t next;		/* same hash */
	uint8_t end;		/* enum end_kind, of the frames as read */
	bool is_many;		/* one of <Unsampled threads> */
	uint64_t packets;
};

enum end_kind { END_COMPLETE, END_TRUNCATED, END_FAILED, END_ARTIFICIAL };

struct thread {
	uint32_t experiment, ordinal;
	uint64_t tid;
	const char *name;	/* in the log of its experiment */
};

struct birth {			/* of a thread */
	uint64_t tid, by, time_ns;
	uint64_t frinfo;	/* where its creator was; 0: not known */
	uint32_t chain;		/* stack + 1 of it and its creators; 0: not
				 * made yet */
};

struct grown {			/* a stack of threads created in one way */
	uint32_t stack, chain;
};

struct leaks {			/* by number of the packet: leaks.c */
	uint64_t *bytes;	/* of it never freed */
	uint64_t *until;	/* when all was; NULL: nobody asks */
	size_t len, cap, until_cap, next;
	uint64_t older, reused;	/* as struct traced_process has them */
	struct heap_course *course;	/* as bytes; NULL: nobody asks */
	size_t course_cap;
};

enum { COUNTER_TAGS = 32, KINDS = 32, LWPS_KNOWN = 64 };

struct source {			/* one experiment */
	const struct experiment_reader *reader;
	const char *founder;	/* path of the directory with archives/ */
	struct space space;
	struct map raw_of;	/* FRINFO -> what read.c knows of it */
	uint64_t *raw;		/* the same of small ones, as ours are */
	size_t raw_cap;
	uint32_t varying;	/* FRINFOs that vary, so far */
	struct map by_epoch;	/* (number of a varying one, epoch) -> stack */
	uint64_t pid, since_founder;	/* ns that it began later */
	uint32_t group;		/* of what was named, 1 first */
	struct map threads;	/* tid -> thread index + 1 */
	struct map lwps;	/* number in packets -> ordinal */
	struct { uint64_t lwp, ordinal; } lwps_known[LWPS_KNOWN];
	uint32_t thread_count;
	uint32_t *object_of;	/* map record -> object + 1 */
	struct stack_ends ends;
	uint64_t ignored;
	struct profile_loss *losses;
	size_t losses_len, losses_cap;
	struct birth *births;	/* sorted by thread, then time */
	size_t births_len, births_cap;
	struct profile_creators creators;
	struct bank periods;
	size_t period_count;
	struct leaks leaks;
	bool wants_leaks;	/* of each record, an expression asks */
	bool wants_course;	/* ... and for it */
	enum heap_ordered {	/* how far its packets are in order of time */
		HEAP_IN_ORDER, HEAP_NEARLY_SO, HEAP_IN_ANY_ORDER
	} heap_ordered;
	uint32_t counter_of[COUNTER_TAGS];	/* tag -> value; 0: none */
	uint64_t events[KINDS];	/* how many there are, by kind of packet */
};

struct counter {		/* a hardware counter, of all experiments */
	struct metric metric;
	char *name, *title;
};

struct watch {			/* an experiment directory as it was read */
	char *path;
	uint64_t mark;
};

struct sums {			/* by key x slot */
	uint64_t *excl, *incl;
	bool *present;
};

struct listing {		/* of a source file, or of one function's code */
	struct sums sums;
	struct source_cost *costs;
	struct code_cost *codes;
};

struct profile {
	struct profile_options options;
	struct expr *filter;	/* NULL: every record counts */
	uint32_t groups;
	struct vec owned;	/* readers of founders */
	struct watch *watches;
	size_t watches_len, watches_cap;
	struct source *sources;
	size_t sources_len, sources_cap;

	struct vec objects;	/* struct object * */
	uint32_t indexed;	/* indices given to them */
	bool hides;		/* not all of all objects is shown */
	struct function *functions;
	size_t functions_len, functions_cap;
	struct files *files;	/* NULL: nobody has asked for them */
	struct map dynamic;	/* hash of a dynamic name -> function + 1 */
	struct map dynamic_locations;
	struct map unknown_locations;	/* PC -> location + 1 */
	struct location *locations;
	size_t locations_len, locations_cap;
	size_t symbolized;	/* locations that have their function */

	uint32_t *frames;
	size_t frames_len, frames_cap;
	struct stack *stacks;
	size_t stacks_len, stacks_cap;
	struct map stack_of;	/* hash -> stack + 1, then struct stack.next */

	struct grown *grown;	/* none when no experiment tells of births */
	size_t grown_len, grown_cap;
	struct map grown_of;	/* stack << 32 | chain -> grown + 1 */
	bool has_births;

	struct thread *threads;
	size_t threads_len, threads_cap;

	struct bank stack_values, grown_values, thread_values;
	uint8_t column[VALUE_MAX];	/* + 1; 0: no packet has it */
	uint32_t columns;
	uint32_t packed;	/* columns of all that was read */
	uint64_t values_seen;	/* bit per value; zeros are seen, too */
	struct counter *counters;
	size_t counters_len, counters_cap;
	int metrics[METRIC_MAX];
	size_t slots;
	struct { uint8_t len, column[MSTATE_COUNT]; } parts[METRIC_MAX];

	/* answers, made on first use */
	uint64_t *total;
	struct sums by_function, by_location, by_line, by_object;
	struct function_cost *function_costs;
	size_t function_costs_len;
	struct location_cost *location_costs;
	size_t location_costs_len;
	uint32_t *line_of;	/* location -> line key */
	struct line_cost *line_keys, *line_costs;
	size_t line_keys_len, line_keys_cap, line_costs_len;
	struct object_cost *object_costs;
	size_t object_costs_len;
	struct listing listing;
	struct edge_cost *edges;
	uint64_t *edge_values;
	size_t edges_len, edges_cap;
	struct tree_node *tree;
	uint64_t *tree_values;
	size_t tree_len, tree_cap;
	bool tree_created;
	struct thread_cost *thread_costs;
	uint64_t *thread_slots;
	struct index_cost *index_costs;	/* and their values behind them */
};

static inline struct object *
object_at(const struct profile *prof, uint32_t i)
{
	return prof->objects.items[i];
}

/* A row by slot. */
void profile_weigh(const struct profile *prof, const struct bank *bank,
		   size_t row, uint64_t *slots);

/*
 * Where there is much to sum up, packed values are: by column, prof->packed of
 * them. There are more slots than that, most of them zero.
 */
void profile_pack(const struct profile *prof, const struct bank *bank,
		  size_t row, uint64_t *packed);
void profile_unpack(const struct profile *prof, const uint64_t *packed,
		    uint64_t *slots);

static inline void
packed_add(const struct profile *prof, uint64_t *to, size_t at,
	   const uint64_t *packed)
{
	for (uint32_t c = 0; c < prof->packed; c++)
		to[at * prof->packed + c] += packed[c];
}

/* As profile_stacks and profile_created_stacks. */
typedef void stack_visit(void *arg, const uint32_t *functions, size_t n,
			 const uint64_t *packed);
void stacks_each(struct profile *prof, stack_visit *visit, void *arg);
void stacks_each_created(struct profile *prof, stack_visit *visit, void *arg);

/* ---- values.c: what packets add up to ------------------------------- */

enum { GROWN_NONE = UINT32_MAX };

struct place {			/* where the values of a packet go */
	uint32_t stack, thread, grown;
	enum period_kind { PERIOD_THEN, PERIOD_BACKWARDS } period;
	struct bank *only;	/* or there alone, in that row */
	size_t row;
};

void bank_grow(struct bank *bank, size_t row, uint32_t column);
void bank_fini(struct bank *bank);

static inline void
bank_add(struct bank *bank, size_t row, uint32_t column, uint64_t amount)
{
	if (row >= bank->rows || column >= bank->width)
		bank_grow(bank, row, column);
	bank->cells[row * bank->width + column] += amount;
}

/* Before packets are read: which counter each tag is. */
void values_init(struct profile *prof, struct source *src);
/* Does it add to anything? A free of the heap does not, for one. */
bool values_has(const struct source *src, const struct experiment_packet *p);
void values_add(struct profile *prof, struct source *src,
		const struct experiment_packet *p, const struct place *to);
/* What of a packet of the heap was never freed, if that was not known when it
 * was added. */
void values_add_leak(struct profile *prof, struct source *src,
		     const struct experiment_packet *p,
		     const struct place *to);

/* ---- leaks.c: allocations that were never freed --------------------- */

void leaks_find(struct source *src);
/* The same while someone else goes over the packets: bytes only. A packet that
 * is seen gets a number, or 0; one whose block is gone may be given again.
 * leaks_end is false where they were less in order than thought: it did what
 * leaks_find does, and they must be gone over once more. */
struct matching *leaks_begin(struct source *src);
uint32_t leaks_see(struct matching *m, const struct experiment_packet *p);
bool leaks_end(struct matching *m);
bool leaks_numbers(const struct source *src,
		   const struct experiment_packet *p);
/* Once they have been found: each change of what lives, in order of time. */
typedef void leaks_change(void *arg, uint64_t number, uint64_t time_ns,
			  uint64_t before, uint64_t after);
void leaks_follow(struct source *src, leaks_change *changed, void *arg);
void leaks_free(struct leaks *leaks);
/* Put them into the next packet of the heap, in the order of the file. */
void leaks_next(struct source *src, struct experiment_packet *p);

/* ---- symbolize.c ---------------------------------------------------- */

void symbolize_init(struct profile *prof);
/* The location of pc, which record maps (SPACE_NOWHERE: nothing did). */
uint32_t symbolize_location(struct profile *prof, struct source *src,
			    uint32_t record, uint64_t pc);
/* Give every location its function, and cut PLT stubs off the leaves. */
void symbolize_all(struct profile *prof);
/* The location that is an object's @plt, as the leaf or as a caller. */
uint32_t symbolize_plt(struct profile *prof, uint32_t object);
/* The location that stands for a hidden object. */
uint32_t symbolize_folded(struct profile *prof, uint32_t object);
/* File and line of a location, NULL and 0 when there is none. */
void symbolize_line(struct profile *prof, struct location *loc);

/* For expand.c and lazy.c. The function takes the name. */
uint32_t symbolize_function(struct profile *prof, uint32_t object,
			    const char *linkage, char *name);
uint32_t symbolize_symbol(struct profile *prof, uint32_t object,
			  const struct symbol *sym);
uint32_t symbolize_add(struct profile *prof, struct location loc);

/* ---- expand.c, inlines.c, parts.c ----------------------------------- */

struct frames {
	uint32_t *items;	/* locations, leaf first */
	size_t len, cap;
};

void frames_push(struct frames *f, uint32_t location);
/* In all stacks, whose locations have their functions: the frames that a
 * location stands for besides itself. */
void expand_stacks(struct profile *prof);
/* What was inlined there, innermost first. */
void inlines_add(struct profile *prof, uint32_t location, struct frames *out);
/* The function that an outlined part belongs to. */
void parts_add(struct profile *prof, uint32_t location, struct frames *out);
/* ---- aggregate.c ---------------------------------------------------- */

/* The sums of every key below keys: key_of is by location. out is empty. */
void sum_by(const struct profile *prof, const uint32_t *key_of, size_t keys,
	    struct sums *out);
struct cost cost_of(const struct profile *prof, const struct sums *sums,
		    size_t key);

/* ---- source.c ------------------------------------------------------- */

void listing_free(struct listing *l);

/* ---- hide.c --------------------------------------------------------- */

/* Number all that was mapped, and find how much of each is shown. */
void objects_find(struct profile *prof);
void hide_stacks(struct profile *prof);

/* ---- lazy.c --------------------------------------------------------- */

/* May it be where a PLT leads while a name has not been looked up? */
bool lazy_is_resolver(const struct object *obj, const struct symbol *sym);
/* In all stacks, whose locations have their functions. */
void lazy_collapse(struct profile *prof);

/* ---- object.c: which file holds the names of a load object ---------- */

uint32_t object_intern(struct profile *prof, uint32_t source,
		       const struct experiment_map_record *rec);
void object_open(struct profile *prof, struct object *obj);
void object_free(struct object *obj);

/* ---- pattern.c ------------------------------------------------------ */

bool pattern_is_bounded(const char *pattern);

/* ---- births.c ------------------------------------------------------- */

/* What the log says of births, before packets are read. */
void births_read(struct profile *prof, struct source *src);
void births_free(struct source *src);
/* The latest one of that thread by then, or NULL. */
struct birth *births_find(const struct source *src, uint64_t tid,
			  uint64_t time_ns);
/* The row of a stack of threads created like that. */
uint32_t births_row(struct profile *prof, uint32_t stack, uint32_t chain);

/* ---- periods.c ------------------------------------------------------ */

/* The last resource sample before then; 0: there is none. */
uint64_t periods_begin(const struct source *src, uint64_t time_ns);
void periods_init(struct source *src);
/* A value at that time; backwards: it is of the ns before it. */
void periods_add(struct source *src, uint64_t time_ns, uint32_t column,
		 uint64_t amount, enum period_kind kind);

/* ---- descendants.c -------------------------------------------------- */

/* Those that the option wants, in order. -1: the option makes no sense. */
int descendants_each(const char *which, const struct experiment_reader *founder,
		     void (*visit)(void *arg,
				   const struct experiment_reader *child),
		     void *arg);

/* ---- metric.c ------------------------------------------------------- */

void metrics_find(struct profile *prof);
/* The value that a counter of that name adds to, of all experiments. */
uint32_t metrics_counter(struct profile *prof,
			 const struct experiment_counter *c);
void metrics_free(struct profile *prof);

/* ---- grown.c --------------------------------------------------------- */

/* A number that changes when any file of the directory does. */
uint64_t profile_mark(const char *directory);
void profile_watch(struct profile *prof, const char *directory, uint64_t mark);

#endif
