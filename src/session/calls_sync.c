/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Waits for locks and their like, to packets.
 */
#include "calls.h"
#include "inject.h"

void
calls_put_wait(struct experiment *exp, const struct trace_event *ev,
	       uint64_t frinfo)
{
	experiment_wait(exp, &(struct experiment_wait){
		.time_ns = ev->time_ns, .since_ns = ev->since_ns,
		.tid = ev->tid, .owner = ev->owner, .object = ev->object,
		.frinfo = frinfo,
	});
}
