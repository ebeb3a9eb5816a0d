/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * What the files that compare share. In comparison each experiment that was
 * named, or group of them, has a profile of its own beside the sum; a view is
 * run once with each, its things are gathered instead of written, and those
 * that are the same thing become one row.
 */
#ifndef VIEW_COMPARE_H
#define VIEW_COMPARE_H

#include "listing.h"

struct compared_group {
	char *name;		/* what its columns are headed by */
	/* what the viewer has of a profile, while it looks at another */
	struct profile *prof;
	int metrics[METRIC_MAX];
	size_t slots;
	struct names *names;
	uint64_t *total;	/* by the sum's slots */
};

/* One thing with its cost in one group. */
struct gathered {
	char *name;
	/* the same thing elsewhere has the same one; exact names load object
	 * and place too, for things that are not alone of their name */
	char *key, *exact;
	uint64_t *excl, *incl;	/* by the sum's slots */
	const struct profile_function *function;	/* or NULL */
	struct place place;
	uint32_t order;
	bool leads;		/* <Total> */
};

struct gathered_list {
	struct gathered *items;
	size_t len, cap;
};

/* A function with its callers and callees. */
struct gathered_pane {
	struct gathered_list centre, callers, callees;
};

struct gathering {		/* of one group */
	struct gathered_list list;
	struct gathered_pane *panes;
	size_t panes_len, panes_cap;
};

struct comparison {
	struct compared_group *groups;
	size_t len;
	/* while a view runs: */
	struct gathering *gathered;	/* of each group */
	size_t now;		/* the group that is gathered */
	struct compared_group sum;	/* what the viewer has else */
	int slot_here[METRIC_MAX];	/* the group's, by the sum's; or -1 */
	bool is_list, is_panes;
	bool is_fragment;	/* its only pane is the stack fragment */
	struct listing *listings;	/* of each group; else NULL */
	char *what;		/* title of the list */
	int flavor;		/* all columns of it; -1: as they are */
	struct sort sort;
};

/* A thing in all groups; where it is not, a cell is NULL. */
struct joined {
	const struct gathered **cells;
	const struct gathered *first;	/* the first that is not NULL */
	size_t *at;			/* its index in its group's list */
};

struct join {
	struct joined *rows;
	size_t len, cap;
	size_t groups;
};

/* ---- compare_join.c -------------------------------------------------- */

/* lists: one for each group, NULL for none; they outlive the join. */
void join_make(struct join *j, const struct gathered_list *const *lists,
	       size_t groups);
/* Most expensive in the first group first; equals by the next, then name. */
void join_sort(struct join *j, const struct viewer *v, const struct sort *sort);
void join_fini(struct join *j);

/* ---- compare_gather.c ------------------------------------------------ */

/* The viewer has entered a group. */
void gathering_begin(struct viewer *v);
void gathering_fini(struct gathering *g);

/* ---- compare_listing.c ----------------------------------------------- */

/* The listings that were taken, as one. */
void compared_listing_write(struct viewer *v, FILE *out);

/* ---- compare_write.c ------------------------------------------------- */

/* What was gathered, as one table, or one for each function. */
void compared_write(struct viewer *v, FILE *out);
/* How the values of a group are told. */
enum relation compare_relation(const struct viewer *v, size_t group);

#endif
