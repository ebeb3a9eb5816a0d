/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Passes over packets that add nothing up: before, to know all stacks; and
 * behind, for those who count by something else.
 */
#include "expr.h"
#include "reading.h"

#include <stdlib.h>

static bool
see_stack(void *arg, const struct experiment_packet *p)
{
	struct reading *rd = arg;
	bool ignored;

	(void)reading_creators(rd, p, reading_stack(rd, p, &ignored));
	return true;
}

void
records_stacks(struct profile *prof, struct source *src)
{
	struct reading rd = { .prof = prof, .src = src };

	experiment_packets(src->reader, see_stack, &rd);
	free(rd.pcs);
}

struct passing {
	struct reading rd;
	const struct expr *filter;	/* NULL: all count */
	void (*visit)(void *arg, const struct expr_record *r);
	void *arg;
};

static bool
pass(void *arg, const struct experiment_packet *p)
{
	struct passing *ps = arg;
	struct profile *prof = ps->rd.prof;
	const uint32_t thread = reading_thread(&ps->rd, p->thread);
	struct experiment_packet copy;
	bool ignored;

	p = reading_complete(&ps->rd, p, &copy);
	if (!values_has(ps->rd.src, p))
		return true;

	const struct expr_record r = filter_record(
		prof, ps->rd.src, p, reading_stack(&ps->rd, p, &ignored),
		prof->threads[thread].ordinal);

	if (!ps->filter || expr_keeps(prof->filter, &r))
		ps->visit(ps->arg, &r);
	return true;
}

static void
pass_over(struct passing *ps)
{
	struct source *src = ps->rd.src;

	leaks_find(src);
	experiment_packets(src->reader, pass, ps);
	free(ps->rd.pcs);
	leaks_free(&src->leaks);
}

void
records_each(struct profile *prof, struct source *src,
	     void (*visit)(void *arg, const struct expr_record *r), void *arg)
{
	pass_over(&(struct passing){ { .prof = prof, .src = src },
				     prof->filter, visit, arg });
}

void
records_all(struct profile *prof, struct source *src,
	    void (*visit)(void *arg, const struct expr_record *r), void *arg)
{
	pass_over(&(struct passing){ { .prof = prof, .src = src },
				     NULL, visit, arg });
}
