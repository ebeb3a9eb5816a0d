/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Waiting until no handler of ours is inside: then the memory for records may
 * go. Ordinary code, on a thread of ours.
 */
#include "private.h"

#include <asm/unistd.h>

static bool
nobody_is_inside(void)
{
	uint32_t i;

	for (i = 0; i < VISITS; i++)
		if (__atomic_load_n(&hot_visits[i].inside, __ATOMIC_SEQ_CST))
			return false;
	return __atomic_load_n(&guest.inside, __ATOMIC_SEQ_CST) == 0;
}

/*
 * A handler that was left for good is found by the thread's next tick, and
 * there is none any more: a signal is sent in its place, to who seems to be
 * inside since a moment.
 */
void
call_the_left(const struct collector_call *call, uint64_t pid)
{
	enum { CALLS = 5 };
	int round;
	uint32_t i;

	guest.stopping = 1;
	for (round = 0; may_wait(call) && !nobody_is_inside() &&
	     round < CALLS; round++) {
		nap_ms();
		for (i = 0; guest.signo && round && i < VISITS; i++) {
			const uint32_t tid = hot_visits[i].tid;

			if (hot_visits[i].inside && tid)
				(void)sys4(__NR_tgkill, pid, tid, guest.signo,
					   0);
		}
		nap_ms();
	}
	guest.stopping = 0;
}

/* No handler is inside any more; false: one does not come out. */
bool
handlers_left(const struct collector_call *call)
{
	const int looks = may_wait(call) ? 2000 : 1;
	int i;

	for (i = 0; i < looks; i++) {
		if (i > 0)
			nap_ms();
		if (nobody_is_inside())
			return true;
	}
	return false;
}
