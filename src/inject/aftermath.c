/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * An errand that failed half way leaves nothing behind, or what stays is named.
 * The helper and its thread take away what they used, but one that crashed
 * cannot: its memory and its descriptors go by a thread of the program, once no
 * thread of ours uses them and libc has none of them on its lists.
 */
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>

#include "private.h"

enum { WORD = 8, LIST_ALIGN = 16 };

struct remains {
	size_t bytes;
	unsigned descriptors;
};

/* Does libc's list of threads go through this place? */
static bool
is_linked(struct target *t, uint64_t at, uint64_t next)
{
	uint64_t back;

	return next && target_read(t, next + WORD, &back, sizeof back) == 0 &&
		back == at;
}

/*
 * pthread_create enlists a thread before it tells which one, so each place of
 * the thread's stack is asked. Its neighbours lie elsewhere.
 */
static bool
libc_knows_it(const struct errand *e)
{
	const uint64_t stack = e->s.at + e->s.thread_stack;
	const size_t size = e->s.thread_stack_size;
	unsigned char *bytes = xmalloc(size + 1);
	bool known = size && target_read(e->p->t, stack, bytes, size) < 0;

	for (size_t i = 0; i + WORD <= size && !known; i += LIST_ALIGN) {
		uint64_t next;

		memcpy(&next, bytes + i, sizeof next);
		known = next - e->s.at >= e->s.size &&
			is_linked(e->p->t, stack + i, next);
	}
	free(bytes);
	return known;
}

static void
close_file(struct errand *e, enum our_file which, struct remains *r)
{
	const int number = which == LIBRARY_FILE ? e->block.library_fd :
		e->block.area_fd;
	const pid_t tid = target_live_thread(e->p->t);
	const uint64_t args[6] = { (uint64_t)number };

	if (number < 0 || !e->block.files[which].ino ||
	    !descriptor_is_there(e, tid, which))
		return;
	if (left_call(e->p->t, tid, SYS_close, args, e->report) < 0 &&
	    descriptor_is_there(e, tid, which))
		r->descriptors++;
}

static void
clear(struct errand *e, struct remains *r)
{
	struct target *t = e->p->t;
	const size_t size = e->s.at ? inject_scratch_size(t, e->s.at) : 0;
	const bool dead = size && block_read(e) == 0 &&
		!inject_scratch_is_used(t, e->s.at);

	if (!size)
		return;
	/* a thread of ours that goes on closes them itself */
	for (int i = 0; dead && i < OUR_FILES; i++)
		close_file(e, (enum our_file)i, r);
	if (dead && !libc_knows_it(e)) {
		const uint64_t args[6] = { e->s.at, size };

		(void)left_call(t, 0, SYS_munmap, args, e->report);
	}
	r->bytes = inject_scratch_size(t, e->s.at);
}

static void
name(const struct errand *e, const struct remains *r)
{
	struct failure *first = fail_keep();
	struct str text = {0};

	str_addf(&text, "%s; ", first->reason ? first->reason : "it failed");
	if (r->bytes)
		str_addf(&text, "%zu KB of memory%s", r->bytes / 1024,
			 r->descriptors ? " and " : "");
	if (r->descriptors)
		str_addf(&text, "%u descriptors", r->descriptors);
	str_addf(&text, " of sonde stay in process %d until it ends or the "
		 "next visit removes them", target_pid(e->p->t));
	(void)fail(first->kind, "%s", str_text(&text));
	if (first->remedy && *first->remedy)
		(void)fail_remedy("%s", first->remedy);
	free((char *)first->reason);
	free((char *)first->remedy);
	free(first);
	str_fini(&text);
}

/* A thread of ours is gone, for a reason that it knows. */
static void
say_fault(const struct errand *e)
{
	if (e->fault[0] && fail_last()->kind == FAIL_MISSING)
		(void)fail(FAIL_UNSUITABLE, "our thread in process %d %s and "
			   "was ended", target_pid(e->p->t), e->fault);
}

void
errand_aftermath(struct errand *e)
{
	struct remains r = {0};
	struct failure *first;

	if (target_gone(e->p->t) || fail_last()->kind == FAIL_ENDED)
		return;
	say_fault(e);
	first = fail_keep();
	clear(e, &r);
	fail_again(first);
	if (e->entry && !*fail_last()->remedy)
		(void)fail_remedy(PLAN_OTHER_ENGINE);
	/* what a thread that goes on keeps is in the remedy */
	if ((r.bytes || r.descriptors) && !e->cancelled)
		name(e, &r);
}
