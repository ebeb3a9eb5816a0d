/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Waits by what was waited for. An object is known by its address; where that
 * lies in a variable it has its name, where in a block of the heap whose
 * allocation was recorded, the stack that allocated it. Where it is a thread
 * it is known by that.
 */
#include "calls.h"

#include <stdlib.h>

enum { SYNC_SINCE, SYNC_OBJECT, SYNC_OWNER };

struct place_of_lock {		/* to be found in the heap */
	uint64_t address, first_ns;
	size_t lock;
};

struct waiting {
	struct profile *prof;
	struct traced_locks *out;
	uint32_t *same;
	struct map known;	/* address -> lock + 1, of one experiment */
	struct map waiters, owners;	/* wait_key -> its + 1 */
	struct place_of_lock *places;	/* of one experiment */
	size_t places_len, places_cap;
};

/* ---- each wait ---------------------------------------------------------- */

static struct traced_lock *
lock_for(struct waiting *w, const struct expr_record *r)
{
	struct traced_locks *out = w->out;
	const uint64_t address = r->packet->value[SYNC_OBJECT];
	uint64_t *at = map_slot_of(&w->known, address);

	if (!*at) {
		out->items = xgrow(out->items, &out->cap, out->len + 1,
				   sizeof *out->items);
		out->items[out->len] = (struct traced_lock){
			.experiment = (uint32_t)(r->src - w->prof->sources),
			.address = address,
			.is_thread = joined_by(w->prof, r->stack) };
		w->places = xgrow(w->places, &w->places_cap,
				  w->places_len + 1, sizeof *w->places);
		w->places[w->places_len++] = (struct place_of_lock){
			address, r->packet->time_ns, out->len };
		*at = ++out->len;
	}
	return &out->items[*at - 1];
}

/* A thread that only slept with the lock has left no record: it is known by
 * its number alone. */
static struct traced_wait
wait_of(const struct source *src, uint64_t tid)
{
	uint64_t at;

	if (map_get(&src->threads, tid, &at))
		return (struct traced_wait){ .thread = (uint32_t)at - 1 };
	return (struct traced_wait){ .thread = UINT32_MAX,
				     .tid = tid <= INT32_MAX ? tid : 0 };
}

static uint64_t
wait_key(size_t lock, const struct traced_wait *wait)
{
	const uint32_t thread = wait->thread == UINT32_MAX ?
		(uint32_t)INT32_MIN | wait->tid : wait->thread;

	return (uint64_t)lock << 32 | thread;
}

static void
add_wait(struct map *known, size_t lock, struct traced_wait wait, uint64_t ns,
	 struct traced_wait **waits, size_t *len, size_t *cap)
{
	uint64_t *at = map_slot_of(known, wait_key(lock, &wait));

	if (!*at) {
		*waits = xgrow(*waits, cap, *len + 1, sizeof **waits);
		(*waits)[*len] = wait;
		*at = ++*len;
	}
	(*waits)[*at - 1].count++;
	(*waits)[*at - 1].ns += ns;
}

static void
add_record(void *arg, const struct expr_record *r)
{
	struct waiting *w = arg;
	const struct experiment_packet *p = r->packet;

	if (p->kind != PACKET_SYNC)
		return;

	struct traced_lock *lock = lock_for(w, r);
	const size_t number = (size_t)(lock - w->out->items);
	const uint64_t since = p->value[SYNC_SINCE];
	const uint64_t ns = since && since < p->time_ns ? p->time_ns - since :
							  0;

	lock->count++;
	lock->ns += ns;
	lock->longest_ns = ns > lock->longest_ns ? ns : lock->longest_ns;
	add_wait(&w->waiters, number, wait_of(r->src, p->thread), ns,
		 &lock->waiters, &lock->waiters_len, &lock->waiters_cap);
	if (p->value[SYNC_OWNER])
		add_wait(&w->owners, number,
			 wait_of(r->src, p->value[SYNC_OWNER]), ns,
			 &lock->owners, &lock->owners_len, &lock->owners_cap);
}

/* ---- variables ---------------------------------------------------------- */

/* The load object's code below that address and nearest to it, at that time:
 * its data follow its code. */
static uint32_t
object_below(const struct source *src, const struct place_of_lock *place)
{
	uint32_t found = SPACE_NOWHERE;
	uint64_t nearest = 0;

	for (uint32_t i = 0; i < experiment_map_count(src->reader); i++) {
		const struct experiment_map_record *rec =
			experiment_map_at(src->reader, i);

		if (rec->is_function || !space_holds_code(rec) ||
		    rec->start > place->address || rec->start < nearest ||
		    rec->until_ns <= place->first_ns)
			continue;
		nearest = rec->start;
		found = i;
	}
	return found;
}

static void
name_variable(struct waiting *w, struct source *src,
	      const struct place_of_lock *place)
{
	struct traced_lock *lock = &w->out->items[place->lock];
	const uint32_t rec = object_below(src, place);
	struct symbol sym;

	if (rec == SPACE_NOWHERE)
		return;

	const struct experiment_map_record *map =
		experiment_map_at(src->reader, rec);
	const uint32_t index = object_intern(
		w->prof, (uint32_t)(src - w->prof->sources), map);
	struct object *obj = object_at(w->prof, index);

	object_open(w->prof, obj);
	if (!obj->pub.symbols)
		return;

	const uint64_t vaddr = place->address - map->start +
		symfile_vaddr(obj->pub.symbols, map->offset);

	if (vaddr >= symfile_extent(obj->pub.symbols))
		return;
	if (symfile_data(obj->pub.symbols, vaddr, &sym)) {
		lock->name = name_display(sym.name, NAME_LONG);
		lock->offset = vaddr - sym.start;
	} else {
		lock->name = xasprintf("<data of %s>", obj->pub.name);
		lock->offset = vaddr;
	}
}

/* ---- blocks of the heap ------------------------------------------------- */

static int
by_address(const void *a, const void *b)
{
	const struct place_of_lock *x = a, *y = b;

	return x->address < y->address ? -1 : x->address > y->address;
}

static size_t
first_at(const struct waiting *w, uint64_t address)
{
	size_t low = 0, high = w->places_len;

	while (low < high) {
		const size_t mid = low + (high - low) / 2;

		if (w->places[mid].address < address)
			low = mid + 1;
		else
			high = mid;
	}
	return low;
}

static void
see_block(void *arg, const struct expr_record *r)
{
	struct waiting *w = arg;
	const struct experiment_packet *p = r->packet;
	const uint64_t start = p->value[HEAP_ADDRESS];
	const uint64_t size = p->value[HEAP_SIZE];

	if (p->kind != PACKET_HEAP || p->value[HEAP_TYPE] == HEAP_MMAP)
		return;
	for (size_t i = first_at(w, start); i < w->places_len &&
	     w->places[i].address - start < size; i++) {
		struct traced_lock *lock = &w->out->items[w->places[i].lock];

		if (p->time_ns > w->places[i].first_ns ||
		    p->value[HEAP_UNTIL] < w->places[i].first_ns)
			continue;
		lock->stack = w->same[r->stack] + 1;
		lock->offset = w->places[i].address - start;
		lock->size = size;
	}
}

/* ---- the whole ---------------------------------------------------------- */

static int
longest_first(const void *a, const void *b)
{
	const struct traced_wait *x = a, *y = b;

	if (x->ns != y->ns)
		return x->ns > y->ns ? -1 : 1;
	if (x->thread != y->thread)
		return x->thread < y->thread ? -1 : 1;
	return x->tid < y->tid ? -1 : x->tid > y->tid;
}

static void
sort_waits(struct traced_wait *waits, size_t n)
{
	if (n)
		qsort(waits, n, sizeof *waits, longest_first);
}

static void
add_experiment(struct waiting *w, struct source *src)
{
	const size_t first = w->out->len;

	map_fini(&w->known);
	w->places_len = 0;
	records_each(w->prof, src, add_record, w);
	joined_begins(w->prof, src, w->out, first);
	for (size_t i = 0; i < w->places_len; i++)
		name_variable(w, src, &w->places[i]);
	if (!w->places_len || !experiment_declares(src->reader, PACKET_HEAP))
		return;
	qsort(w->places, w->places_len, sizeof *w->places, by_address);
	records_all(w->prof, src, see_block, w);
}

struct traced_locks *
traced_locks(struct profile *prof)
{
	struct traced_locks *out = xcalloc(1, sizeof *out);
	struct waiting w = { .prof = prof, .out = out,
			     .same = traced_same(prof) };

	for (size_t e = 0; e < prof->sources_len; e++)
		if (experiment_declares(prof->sources[e].reader, PACKET_SYNC))
			add_experiment(&w, &prof->sources[e]);
	for (size_t i = 0; i < out->len; i++) {
		sort_waits(out->items[i].waiters, out->items[i].waiters_len);
		sort_waits(out->items[i].owners, out->items[i].owners_len);
	}
	free(w.same);
	free(w.places);
	map_fini(&w.known);
	map_fini(&w.waiters);
	map_fini(&w.owners);
	return out;
}

void
traced_locks_free(struct traced_locks *locks)
{
	for (size_t i = 0; i < locks->len; i++) {
		free(locks->items[i].name);
		free(locks->items[i].waiters);
		free(locks->items[i].owners);
	}
	free(locks->items);
	free(locks);
}
