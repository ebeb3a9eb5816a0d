/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Threads that were waited for. What pthread_join and its like wait for is no
 * variable and no block: it is the thread, at whose address the next one may be
 * when it has ended. It is told by the function that waits; where the thread
 * has left a whole stack, the function that it began with is below libc's.
 */
#include "calls.h"

#include <string.h>

/* As they are called, and as libc calls them inside. */
static const char *
plain(const char *name)
{
	return name + strspn(name, "_");
}

static bool
is_one_of(const char *name, const char *const *names)
{
	while (*names && strcmp(plain(name), *names))
		names++;
	return *names;
}

static const struct location *
location_at(const struct profile *prof, const struct stack *st, size_t i)
{
	return &prof->locations[prof->frames[st->first + i]];
}

bool
joined_by(struct profile *prof, uint32_t stack)
{
	static const char *const joins[] = {
		"pthread_join", "pthread_timedjoin_np", "pthread_clockjoin_np",
		"thrd_join", NULL };

	symbolize_all(prof);

	const struct stack *st = &prof->stacks[stack];

	return st->len > st->skip &&
	       is_one_of(prof->functions[location_at(prof, st, st->skip)->
					 function].pub.linkage, joins);
}

/* ---- where a thread begins ---------------------------------------------- */

/* Of libc's own that lead to it: those that are known, and, in the same object,
 * what has lost its name. */
static bool
leads_to_thread(const struct profile *prof, const struct location *loc,
		const struct location *outermost)
{
	static const char *const births[] = { "clone", "clone3",
					      "start_thread", NULL };
	const struct profile_function *fn =
		&prof->functions[loc->function].pub;

	if (is_one_of(fn->linkage, births))
		return true;
	return loc != outermost && loc->object == outermost->object &&
	       (fn->is_static || strcmp(fn->linkage, "start") == 0);
}

/* + 1; 0: the stack does not tell. */
static uint32_t
begun_in(const struct profile *prof, uint32_t stack)
{
	const struct stack *st = &prof->stacks[stack];
	size_t i = st->len;

	if (st->end != END_COMPLETE || st->len <= st->skip)
		return 0;

	const struct location *outermost = location_at(prof, st, i - 1);

	while (i > st->skip && leads_to_thread(
		       prof, location_at(prof, st, i - 1), outermost))
		i--;
	return i > st->skip && i < st->len ?
		location_at(prof, st, i - 1)->function + 1 : 0;
}

/* ---- of all threads that were joined ------------------------------------ */

struct begins {
	struct map of;		/* tid -> function + 1; 0: not known yet */
};

static uint64_t
tid_of(const struct profile *prof, const struct traced_wait *wait)
{
	return wait->thread < prof->threads_len ?
		prof->threads[wait->thread].tid : wait->tid;
}

static void
see_begin(void *arg, const struct expr_record *r)
{
	struct begins *b = arg;
	uint64_t known;

	if (map_get(&b->of, r->packet->thread, &known) && !known)
		map_put(&b->of, r->packet->thread,
			begun_in(r->prof, r->stack));
}

/* Nobody reads all packets for those that joined nobody. */
static bool
want(const struct profile *prof, const struct traced_locks *locks, size_t from,
     struct begins *b)
{
	bool any = false;

	for (size_t i = from; i < locks->len; i++) {
		const struct traced_lock *lock = &locks->items[i];

		for (size_t k = 0; lock->is_thread && k < lock->owners_len; k++) {
			map_put(&b->of, tid_of(prof, &lock->owners[k]), 0);
			any = true;
		}
	}
	return any;
}

void
joined_begins(struct profile *prof, struct source *src,
	      struct traced_locks *locks, size_t from)
{
	struct begins b = {0};
	uint64_t begin;

	if (want(prof, locks, from, &b))
		records_all(prof, src, see_begin, &b);
	for (size_t i = from; i < locks->len; i++) {
		struct traced_lock *lock = &locks->items[i];

		for (size_t k = 0; lock->is_thread && k < lock->owners_len; k++)
			if (map_get(&b.of, tid_of(prof, &lock->owners[k]),
				    &begin))
				lock->owners[k].begun_in = (uint32_t)begin;
	}
	map_fini(&b.of);
}
