/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * The metrics, as data. A row says which states of the clock it counts; who
 * adds up never asks a metric for its name. The order is the order of columns
 * and of metric_list.
 */
#include "private.h"

#define STATE(name) (1u << MSTATE_##name)

enum { CLOCK = 8 };

const struct metric metric_table[] = {
	{ .name = "total", .title = "Total Thread Time",
	  .heading = "Total Thread", .is_time = true, .packet_kind = CLOCK,
	  .states = (1u << MSTATE_LINUX_CPU) - 1 },
	{ .name = "totalcpu", .title = "Total CPU Time",
	  .heading = "Total CPU", .is_time = true, .packet_kind = CLOCK,
	  .states = STATE(USER) | STATE(SYSTEM) | STATE(TRAP) |
		    STATE(LINUX_CPU) },
	{ .name = "user", .title = "User CPU Time", .heading = "User CPU",
	  .is_time = true, .packet_kind = CLOCK, .states = STATE(USER) },
	{ .name = "system", .title = "System CPU Time",
	  .heading = "Sys. CPU", .is_time = true, .packet_kind = CLOCK,
	  .states = STATE(SYSTEM) },
	{ .name = "trap", .title = "Trap CPU Time", .heading = "Trap CPU",
	  .is_time = true, .packet_kind = CLOCK, .states = STATE(TRAP) },
	{ .name = "datapfault", .title = "Data Page Fault Time",
	  .heading = "Data Fault", .alias = "data", .is_time = true,
	  .packet_kind = CLOCK, .states = STATE(DATA_FAULT) },
	{ .name = "textpfault", .title = "Text Page Fault Time",
	  .heading = "Text Fault", .alias = "text", .is_time = true,
	  .packet_kind = CLOCK, .states = STATE(TEXT_FAULT) },
	{ .name = "kernelpfault", .title = "Kernel Page Fault Time",
	  .heading = "Kernel Page Fault", .is_time = true,
	  .packet_kind = CLOCK, .states = STATE(KERNEL_FAULT) },
	{ .name = "stop", .title = "Stopped Time", .heading = "Stopped",
	  .is_time = true, .packet_kind = CLOCK, .states = STATE(STOPPED) },
	{ .name = "wait", .title = "Wait CPU Time", .heading = "Wait CPU",
	  .is_time = true, .packet_kind = CLOCK, .states = STATE(WAIT_CPU) },
	{ .name = "sleep", .title = "Sleep Time", .heading = "Sleep",
	  .is_time = true, .packet_kind = CLOCK, .states = STATE(SLEEP) },
	{ .name = "lock", .title = "User Lock Time", .heading = "User Lock",
	  .alias = "ulock", .is_time = true, .packet_kind = CLOCK,
	  .states = STATE(LOCK) },
	/* of the older generation, which summed up three states */
	{ .name = "owait", .title = "Other Wait Time",
	  .heading = "Other Wait", .is_time = true, .packet_kind = CLOCK,
	  .states = STATE(STOPPED) | STATE(SLEEP) | STATE(KERNEL_FAULT) },
	{ .name = "kcpu", .title = "Kernel CPU Time", .heading = "Kernel CPU",
	  .is_time = true, .packet_kind = CLOCK,
	  .states = STATE(KERNEL_CPU) },
	{ .name = NULL },
};

_Static_assert(ARRAY_LEN(metric_table) <= METRIC_MAX, "metrics fit a mask");

/*
 * A collector that tells the states of a thread apart declares all of them,
 * so one such packet turns all their metrics on, as zeros. The two states
 * beside them have metrics only where they were seen.
 */
void
metrics_find(struct profile *prof)
{
	const uint32_t beside = STATE(LINUX_CPU) | STATE(KERNEL_CPU);
	const uint32_t states = prof->states_seen & ~beside ?
		prof->states_seen | ~beside : prof->states_seen;

	prof->slots = 0;
	for (int i = 0; metric_table[i].name; i++)
		if (metric_table[i].states & states)
			prof->metrics[prof->slots++] = i;
}

size_t
profile_metrics(const struct profile *prof, int *out)
{
	for (size_t i = 0; i < prof->slots; i++)
		out[i] = prof->metrics[i];
	return prof->slots;
}

void
profile_weigh(const struct profile *prof, const uint64_t *states,
	      uint64_t *slots)
{
	for (size_t i = 0; i < prof->slots; i++) {
		const uint32_t mask = metric_table[prof->metrics[i]].states;

		slots[i] = 0;
		for (int s = 0; s < MSTATE_COUNT; s++)
			if (mask >> s & 1)
				slots[i] += states[s];
	}
}
