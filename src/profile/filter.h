/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Which records count, and passes over those that do.
 */
#ifndef PROFILE_FILTER_H
#define PROFILE_FILTER_H

#include "private.h"

/* ---- filter.c: which records count ----------------------------------- */

/* As the options say; -1: the expression is wrong. */
int filter_init(struct profile *prof);
/* Once all experiments are there and before packets count: whatever the
 * filter needs to know of stacks. */
void filter_prepare(struct profile *prof);
void filter_free(struct profile *prof);
bool filter_keeps(struct profile *prof, struct source *src,
		  const struct experiment_packet *p, uint32_t stack,
		  uint32_t thread);
/* What expressions can ask of; records come in their order. */
struct expr_record;
struct expr_record filter_record(struct profile *prof, struct source *src,
				 const struct experiment_packet *p,
				 uint32_t stack, uint32_t thread);

/* ---- records.c ------------------------------------------------------- */

/* All stacks of an experiment, without adding to them. */
void records_stacks(struct profile *prof, struct source *src);
/* Every packet that the filter keeps, once all have been read. */
void records_each(struct profile *prof, struct source *src,
		  void (*visit)(void *arg, const struct expr_record *r),
		  void *arg);
/* The same of every packet. */
void records_all(struct profile *prof, struct source *src,
		 void (*visit)(void *arg, const struct expr_record *r),
		 void *arg);

/* ---- index.c --------------------------------------------------------- */

void index_free(struct profile *prof);

#endif
