/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * What handlers want done with the recording when a thread hits a breakpoint:
 * it is done here and now, the program's other threads run, and the shell is
 * told later, of many at once, that it was.
 */
#include "filters.h"

#include <poll.h>

enum { TELL_MS = 100, NS_PER_MS = 1000 * 1000 };

/* What fails is for the shell to say. */
bool
deeds_are_possible(const struct tracer *tr, const struct session_filter *say)
{
	if (!tr->col || !collection_is_quick(tr->col))
		return false;
	for (unsigned i = 0; i < say->deed_count; i++)
		if (say->deeds[i].what == DEED_RESUME &&
		    !collection_may_resume(tr->col))
			return false;
	return true;
}

static int
do_one(struct collection *c, const struct session_deed *deed)
{
	switch (deed->what) {
	case DEED_RESUME:
		return collection_resume_here(c);
	case DEED_PAUSE:
		return collection_pause_here(c);
	case DEED_SAMPLE:
		collection_sample_here(c, deed->label);
		break;
	}
	return 0;
}

/* One that fails is the shell's from now on, and it says why. That the thread
 * stood is told with all other stops: from when we had seen it. */
void
deeds_do(struct tracer *tr, struct filter *f)
{
	const uint64_t began = now_ns();

	for (unsigned i = 0; i < f->say.deed_count; i++)
		if (do_one(tr->col, &f->say.deeds[i]) < 0)
			f->on = false;
	fail_clear();
	collection_note_stop(tr->col, now_ns() - began);
	f->fired++;
	if (!tr->fired_at)
		tr->fired_at = now_ns();
}

/* Who does not listen must not keep us. */
static bool
listens(const struct tracer *tr)
{
	struct pollfd shell = { tr->shell, POLLOUT, 0 };

	return tr->shell >= 0 && poll(&shell, 1, 0) == 1 &&
		(shell.revents & POLLOUT);
}

void
deeds_tell(struct tracer *tr)
{
	struct session_event out = { .kind = SESSION_EVENT_FIRED };

	if (!tr->fired_at)
		return;
	tr->fired_at = listens(tr) ? 0 : now_ns();
	if (tr->fired_at)
		return;
	for (struct filter *f = tr->filters; f; f = f->next) {
		if (!f->fired)
			continue;
		out.value = f->say.who;
		out.hits = f->fired;
		out.status = tr->col && collection_paused(tr->col);
		f->fired = 0;
		tracer_send_only(tr, &out);
	}
}

int
deeds_due_ms(const struct tracer *tr)
{
	const uint64_t due = tr->fired_at + (uint64_t)TELL_MS * NS_PER_MS;
	const uint64_t now = now_ns();

	return !tr->fired_at ? -1 : due <= now ? 0 :
		(int)((due - now) / NS_PER_MS) + 1;
}
