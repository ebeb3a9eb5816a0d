/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * The end of a recording in one line: how long, how much, what was lost, what
 * it cost the target, and what to type next.
 */
#include "private.h"

static void
add_stops(struct str *s, const struct session_progress *p)
{
	if (!p->stops)
		str_add(s, "target never stopped");
	else if (p->stops == 1)
		str_addf(s, "target stopped once for %.1f ms",
			 (double)p->stop_ns / 1e6);
	else
		str_addf(s, "target stopped %u times, for %.1f ms in all",
			 p->stops, (double)p->stop_total_ns / 1e6);
}

/* What the stops could not hide from the program. */
static void
add_marks(struct str *s, const struct session_progress *p)
{
	if (p->began_again)
		str_addf(s, ", %u wait%s began again", p->began_again,
			 p->began_again == 1 ? "" : "s");
	if (p->cut_short)
		str_addf(s, ", %u call%s cut short", p->cut_short,
			 p->cut_short == 1 ? "" : "s");
}

char *
receipt_text(const struct session_progress *p, const char *clean,
	     const char *trouble, const char *how, const char *path,
	     const char *lost)
{
	struct str s = {0};

	if (how)
		str_addf(&s, "the target %s; ", how);
	str_addf(&s, "%.1f s, ", (double)p->elapsed_ns / 1e9);
	str_add_grouped(&s, p->samples);
	str_addf(&s, " sample%s, ", p->samples == 1 ? "" : "s");
	str_add_grouped(&s, p->lost);
	str_add(&s, " lost, ");
	if (p->keep_ns) {
		str_addf(&s, "only the last %.1f s of it kept, ",
			 (double)p->keep_ns / 1e9);
		str_add_grouped(&s, p->dropped);
		str_add(&s, " older samples dropped on purpose, ");
	}
	if (p->calls_lost) {
		str_add_grouped(&s, p->calls_lost);
		str_addf(&s, " traced call%s lost, ",
			 p->calls_lost == 1 ? "" : "s");
	}
	if (p->untraced[0])
		str_addf(&s, "%s, ", p->untraced);
	if (p->not_sampled)
		str_addf(&s, "%u thread%s not sampled, ", p->not_sampled,
			 p->not_sampled == 1 ? "" : "s");
	if (p->stacks_failed)
		str_addf(&s, "%llu stack%s not unwound to the end, ",
			 (unsigned long long)p->stacks_failed,
			 p->stacks_failed == 1 ? "" : "s");
	if (p->cuts[0])
		str_addf(&s, "%s, ", p->cuts);
	if (p->target_cpu_ns)
		str_addf(&s, "%.3f s CPU recorded of %.3f s, ",
			 (double)p->recorded_cpu_ns / 1e9,
			 (double)p->target_cpu_ns / 1e9);
	if (p->children_cpu_ns)
		str_addf(&s, "its children%s used %.2f s CPU that was not "
			 "recorded (record one of them: -- and its command%s), ",
			 p->children ? " that came later" : "",
			 (double)p->children_cpu_ns / 1e9,
			 p->children ? "" : ", or --children with -p");
	add_stops(&s, p);
	add_marks(&s, p);
	str_addf(&s, ", %s%s%s", clean, *trouble ? ", " : "", trouble);
	if (lost) {
		str_addf(&s, ", but %s: nothing is kept", lost);
	} else {
		str_add(&s, ": sonde report ");
		str_add_quoted(&s, path);
		str_add(&s, " -functions");
	}
	return str_take(&s);
}
