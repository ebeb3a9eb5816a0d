/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Which records count. Every record is seen whatever the filter says, since
 * threads are numbered by their first record. A filter that asks of functions
 * needs all stacks and their functions first: then the experiments are gone
 * over twice.
 */
#include "expr.h"

int
filter_init(struct profile *prof)
{
	struct profile_options *o = &prof->options;

	if (o->filter && !(prof->filter = expr_parse(o->filter, o->objects,
						     o->objects_len)))
		return fail_in("filter");
	o->filter = NULL;	/* the caller's */
	o->objects = NULL;
	return 0;
}

void
filter_free(struct profile *prof)
{
	expr_free(prof->filter);
}

void
filter_prepare(struct profile *prof)
{
	if (!prof->filter)
		return;
	if (expr_needs_functions(prof->filter)) {
		for (size_t i = 0; i < prof->sources_len; i++)
			records_stacks(prof, &prof->sources[i]);
		symbolize_all(prof);
	}
	expr_bind(prof->filter, prof);
}

static uint32_t
lwp_ordinal(struct source *src, uint64_t lwp)
{
	const size_t at = lwp % LWPS_KNOWN;

	if (!src->lwps_known[at].ordinal || src->lwps_known[at].lwp != lwp) {
		uint64_t *ordinal = map_slot_of(&src->lwps, lwp);

		if (!*ordinal)
			*ordinal = src->lwps.len;
		src->lwps_known[at].lwp = lwp;
		src->lwps_known[at].ordinal = *ordinal;
	}
	return (uint32_t)src->lwps_known[at].ordinal;
}

struct expr_record
filter_record(struct profile *prof, struct source *src,
	      const struct experiment_packet *p, uint32_t stack,
	      uint32_t thread)
{
	return (struct expr_record){
		.packet = p, .prof = prof, .src = src, .stack = stack,
		.thread = thread, .lwp = lwp_ordinal(src, p->lwp),
	};
}

bool
filter_keeps(struct profile *prof, struct source *src,
	     const struct experiment_packet *p, uint32_t stack,
	     uint32_t thread)
{
	if (!prof->filter)
		return true;

	const struct expr_record r = filter_record(prof, src, p, stack,
						   thread);

	return expr_keeps(prof->filter, &r);
}

size_t
profile_experiments_until(const struct profile *prof, size_t group)
{
	size_t n = 0;

	while (n < prof->sources_len && prof->sources[n].group <= group)
		n++;
	return n;
}

/* ---- what there is to select from ------------------------------------ */

struct census {
	struct map threads, lwps, cpus;
};

static bool
count(void *arg, const struct experiment_packet *p)
{
	struct census *c = arg;

	map_put(&c->threads, p->thread, 1);
	map_put(&c->lwps, p->lwp, 1);
	if (p->cpu >= 0)
		map_put(&c->cpus, (uint64_t)p->cpu, 1);
	return true;
}

struct profile_population
profile_population(const struct profile *prof, size_t experiment)
{
	const struct experiment_reader *rd = prof->sources[experiment].reader;
	const size_t records = experiment_sample_count(rd);
	struct census c = {0};

	experiment_packets(rd, count, &c);

	const struct profile_population found = {
		.samples = records ? records - 1 : 0, .threads = c.threads.len,
		.lwps = c.lwps.len, .cpus = c.cpus.len,
	};

	map_fini(&c.threads);
	map_fini(&c.lwps);
	map_fini(&c.cpus);
	return found;
}
