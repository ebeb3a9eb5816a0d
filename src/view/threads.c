/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Threads of the experiment. An index object has exclusive cost only: a
 * record belongs to one thread.
 */
#include "private.h"

#include <inttypes.h>
#include <stdlib.h>

static char *
thread_name(const struct thread_cost *th)
{
	struct str name = {0};

	str_addf(&name, "Process %" PRIu32 ", Thread %" PRIu32 ", tid %"
		 PRIu64, th->experiment + 1, th->ordinal, th->tid);
	if (th->name)
		str_addf(&name, " (%s)", th->name);
	return str_take(&name);
}

int
view_threads(struct viewer *v, size_t n, const char *const *words, FILE *out)
{
	const struct thread_cost *costs;

	if (words_check(n, words, 1) < 0 || viewer_check(v) < 0)
		return -1;

	const size_t count = profile_threads(v->prof, &costs);
	struct item *items = xcalloc(count + 1, sizeof *items);

	for (size_t i = 0; i < count; i++)
		items[i] = (struct item){
			.name = thread_name(&costs[i]),
			.key = xasprintf("Process %" PRIu32 ", Thread %" PRIu32,
					 costs[i].experiment + 1,
					 costs[i].ordinal),
			.cost = { costs[i].excl, costs[i].excl },
			.order = (uint32_t)i + 1,
		};
	list_write_flavored(v, "Objects", EXCLUSIVE, items, count, out);
	free(items);
	return 0;
}
