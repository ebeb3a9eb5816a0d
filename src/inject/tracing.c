/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Traced functions: the memory for their records, the slots that lead to
 * hooks, and back. Reading the records out is trace_drain.c, their time
 * tracing_time.c.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "private.h"
#include "tracing.h"

enum { PAGE = 4096, STACKS = 1 << 18, PATCHES_MAX = 1 << 14,
       SAMPLED = 1 << 17 };
enum { LEAST_BYTES = 4 << 20 };

/* ---- the area ------------------------------------------------------------ */

static uint64_t
round_page(uint64_t n)
{
	return (n + PAGE - 1) / PAGE * PAGE;
}

static void
lay_out(struct tracing *tr, const struct tracing_options *opt, uint64_t bytes)
{
	struct trace_area *a = &tr->layout;
	uint64_t chunks = (bytes / TRACE_CHUNK_BYTES + 63) / 64 * 64;
	uint64_t at = TRACE_HEADER_BYTES;

	if (chunks == 0)
		chunks = 64;
	if (chunks > TRACE_CHUNKS_MAX)
		chunks = TRACE_CHUNKS_MAX;
	*a = (struct trace_area){
		.magic = TRACE_MAGIC, .version = TRACE_VERSION,
		.header_bytes = TRACE_HEADER_BYTES,
		.chunks = (uint32_t)chunks, .patches_max = PATCHES_MAX,
		.stacks = STACKS, .beat = 1, .on = opt->families,
		.lease_ticks = tracing_ticks_of(tr, RECORD_LEASE_NS),
		.wait_ticks = tracing_ticks_of(tr, opt->wait_ns),
		.sync_ticks = tracing_ticks_of(tr, opt->sync_ns),
		.sync_all = opt->sync_all,
		.own_threads = tr->slots.own_threads,
		.names = (uint32_t)tr->slots.nnames,
		.sample_bytes = opt->heap_interval,
		.sampled = opt->heap_interval ? SAMPLED : 0,
	};
	a->seen_at = tracing_ticks();
	a->chunks_at = at;
	at = round_page(at + chunks * sizeof(struct trace_chunk));
	a->stacks_at = at;
	at += STACKS * sizeof(uint64_t);
	a->patches_at = at;
	at += PATCHES_MAX * sizeof(struct trace_patch);
	a->names_at = at;
	at += TRACE_NAMES_MAX * sizeof(struct trace_name);
	a->sampled_at = a->sampled ? at : 0;
	at += a->sampled * sizeof(uint64_t);
	a->data_at = at;
	a->size = at + chunks * TRACE_CHUNK_BYTES;
	memcpy(a->originals, tr->slots.originals, sizeof a->originals);
	for (size_t i = 0; i < chunks / 64; i++)
		a->free[i] = UINT64_MAX;
}

/* A chunk for each thread, and some more. */
static uint64_t
bytes_wanted(const struct tracing *tr, const struct tracing_options *opt)
{
	pid_t *tids = NULL;
	size_t cap = 0;
	const ssize_t n = target_threads(tr->g->t, &tids, &cap);
	const uint64_t bytes = n > 0 ?
		(uint64_t)n * 3 / 2 * TRACE_CHUNK_BYTES : 0;

	free(tids);
	return bytes > opt->bytes ? bytes : opt->bytes;
}

/* As large as its address space may grow. */
static int
fit(struct tracing *tr, const struct tracing_options *opt)
{
	uint64_t bytes;

	for (bytes = bytes_wanted(tr, opt); bytes >= LEAST_BYTES; bytes /= 2) {
		lay_out(tr, opt, bytes);
		if (room_check(tr->g->t, tr->layout.size) == 0)
			return 0;
	}
	return fail_in("process %d: trace its calls", target_pid(tr->g->t));
}

struct trace_patch *
tracing_patches(const struct tracing *tr)
{
	return (struct trace_patch *)((char *)tr->area +
				      tr->layout.patches_at);
}

/* The slots join those that are there, or take the place of what has gone. */
static void
want(struct tracing *tr, const struct slots *s)
{
	struct trace_patch *p = tracing_patches(tr);
	uint32_t n = tr->patches, free = 0;

	memset(tr->no_room, 0, sizeof tr->no_room);
	for (size_t i = 0; i < s->len; i++) {
		while (free < n && p[free].state != TRACE_PATCH_OUT)
			free++;
		if (free == PATCHES_MAX) {
			for (; i < s->len; i++)
				tr->no_room[trace_family(s->items[i].function)]++;
			break;
		}
		p[free] = s->items[i];
		n += free == n;
		free++;
	}
	tr->patches = n;
	__atomic_store_n(&tr->area->patches, n, __ATOMIC_RELEASE);
}

static int
refuse_number(const struct plan *p)
{
	(void)fail(FAIL_UNSUITABLE, "its libc keeps %d as the number of a "
		   "thread that has another one (a child made without libc's "
		   "fork?), and no call could be told to be a thread's",
		   (int)p->number_there);
	return fail_remedy("record without --heap, --sync and --io");
}

static int
prepare_trace(struct errand *e, pid_t helper,
	      const struct user_regs_struct *regs)
{
	struct guest *g = e->arg;
	struct tracing *tr = g->tracing;

	if (!e->p->off_tid)
		return plan_refuse("its libc keeps the number of a thread at "
				   "an unknown place, and no call could be "
				   "told to be a thread's");
	if (e->p->number_there)
		return refuse_number(e->p);
	tr->fd = descriptor_make(e, helper, regs, "sonde-traces", AREA_FILE);
	if (tr->fd < 0 ||
	    channel_size(tr->fd, tr->layout.size, tr->layout.size) < 0)
		return -1;
	tr->layout.tid_offset = (int32_t)e->p->off_tid;
	tr->layout.confined = e->p->seccomp;
	tr->area = channel_map(tr->fd, tr->layout.size);
	if (!tr->area)
		return -1;
	*tr->area = tr->layout;
	memcpy((char *)tr->area + tr->layout.names_at, tr->slots.names,
	       tr->slots.nnames * sizeof tr->slots.names[0]);
	want(tr, &tr->slots);
	e->call->fd = e->block.area_fd;
	e->call->size = tr->layout.size;
	return 0;
}

/* ---- slots --------------------------------------------------------------- */

static int
find_slots(struct tracing *tr, struct slots *s)
{
	struct plan p;
	const int r = plan_make(tr->g->t, &p);

	if (r == 0)
		slots_find(&p, tr->families, s);
	plan_fini(&p);
	return r;
}

/* An object that was loaded at the address of another has slots as they came. */
static bool
leads_to_hook(const struct tracing *tr, const struct trace_patch *p)
{
	const uint32_t f = __atomic_load_n(&p->function, __ATOMIC_RELAXED);
	uint64_t value;

	return f < TRACE_FUNCTIONS &&
		target_read(tr->g->t, p->slot, &value, sizeof value) == 0 &&
		value && value == tr->area->hooks[f];
}

/* Not bound yet, and the loader will bind it to the hook. */
static bool
comes_by_name(const struct tracing *tr, const struct trace_patch *p)
{
	return tr->area->named == tr->slots.nnames &&
		tr->slots.named[p->function] &&
		p->before != tr->layout.originals[p->function];
}

/* Not what leads to a hook already, nor what will by itself. */
static void
drop_known(const struct tracing *tr, struct slots *s)
{
	struct trace_patch *p = tracing_patches(tr);
	struct map known = {0};
	size_t n = 0;
	uint64_t at;

	for (uint32_t i = 0; i < tr->patches; i++)
		if (p[i].state == TRACE_PATCH_FAILED)
			p[i].state = TRACE_PATCH_OUT;	/* tried again */
		else if (p[i].state != TRACE_PATCH_IN)
			continue;
		else if (leads_to_hook(tr, &p[i]))
			map_put(&known, p[i].slot, i);
		else
			p[i].state = TRACE_PATCH_OUT;	/* its object is gone */
	for (size_t i = 0; i < s->len; i++)
		if (map_get(&known, s->items[i].slot, &at)) {
			p[at].relro = s->items[i].relro;	/* by now */
			p[at].relro_end = s->items[i].relro_end;
		} else if (!comes_by_name(tr, &s->items[i])) {
			s->items[n++] = s->items[i];
		}
	s->len = n;
	map_fini(&known);
}

/* Slots that are new; how many of them the guest has to see to. */
static int
find_new(struct tracing *tr, size_t *left)
{
	struct slots s;
	int r = find_slots(tr, &s);

	*left = 0;
	if (r < 0)
		return -1;
	memcpy(tr->slots.others, s.others, sizeof s.others);
	memcpy(tr->slots.in_code, s.in_code, sizeof s.in_code);
	drop_known(tr, &s);
	for (size_t i = 0; i < s.len; i++)
		*left += s.items[i].state != TRACE_PATCH_IN;
	want(tr, &s);
	slots_fini(&s);
	return 0;
}

static void
write_sealed(struct tracing *tr, enum sealed_way way)
{
	sealed_slots(tr->g->t, tr->area, tr->layout.originals,
		     tracing_patches(tr), tr->patches, way);
}

int
tracing_look_again(struct tracing *tr, struct inject_report *report)
{
	struct collector_call call = { .command = COLLECTOR_BIND };
	size_t left;
	int r = find_new(tr, &left);

	if (r == 0 && left)
		r = guest_command(tr->g, &call, NULL, report);
	if (r == 0 && left)
		write_sealed(tr, SEALED_IN);
	return r;
}

/* The first sign of life first: none is taken for silent. */
void
tracing_run(struct tracing *tr, bool on)
{
	__atomic_fetch_add(&tr->area->beat, 1, __ATOMIC_RELEASE);
	__atomic_store_n(&tr->area->on, on ? tr->families : 0,
			 __ATOMIC_RELEASE);
}

uint64_t
tracing_original(const struct tracing *tr, enum trace_function f)
{
	return tr->layout.originals[f];
}

void
tracing_count(const struct tracing *tr, struct tracing_counts *c)
{
	const struct trace_patch *p = tracing_patches(tr);

	*c = (struct tracing_counts){
		.heap_of_program = tr->slots.heap_of_program,
		.waits = tr->area->waits,
		.waited_ns = (uint64_t)((double)tr->area->waited_ticks *
					tr->ns_per_tick),
	};
	memcpy(c->lost, tr->area->lost, sizeof c->lost);
	for (unsigned f = 0; f < TRACE_FAMILIES; f++) {
		c->others += tr->slots.others[f];
		c->refused += tr->no_room[f] + tr->slots.in_code[f];
		c->unseen[f] = tr->slots.others[f] + tr->slots.in_code[f] +
			tr->no_room[f];
	}
	c->short_waits = tr->area->short_waits;
	c->spoiled = tr->spoiled;
	for (uint32_t i = 0; i < tr->patches; i++) {
		const unsigned f = p[i].function;

		if (p[i].state == TRACE_PATCH_IN) {
			c->slots++;
			if (f < TRACE_FUNCTIONS && !traced_always((int)f))
				c->of_family[trace_family(f)]++;
		} else if (p[i].state == TRACE_PATCH_FAILED) {
			c->refused++;
			if (f < TRACE_FUNCTIONS && !traced_always((int)f))
				c->unseen[trace_family(f)]++;
		}
	}
}

/* ---- open, close --------------------------------------------------------- */

static void
free_tracing(struct tracing *tr)
{
	tr->g->tracing = NULL;
	if (tr->area)
		(void)munmap(tr->area, tr->layout.size);
	if (tr->fd >= 0)
		close(tr->fd);
	slots_fini(&tr->slots);
	free(tr->chunks);
	free(tr);
}

static const char without[] = "record it without --heap, --sync and --io (in "
	"the shell: collector heaptrace off, synctrace off, iotrace off)";

static void
refuse(const struct tracing *tr)
{
	const pid_t pid = target_pid(tr->g->t);
	const char *const what = tr->families & 1u << TRACE_HEAP ? "malloc" :
		tr->families & 1u << TRACE_SYNC ? "pthread_mutex_lock" : "read";

	size_t others = 0;

	for (unsigned f = 0; f < TRACE_FAMILIES; f++)
		others += tr->slots.others[f];
	if (others)
		(void)fail(FAIL_UNSUITABLE, "all %zu import slots of %s "
			   "and its like in process %d lead elsewhere, as "
			   "those of a child whose parent was traced at the "
			   "fork", others, what, pid);
	else
		(void)fail(FAIL_UNSUITABLE, "nothing in process %d calls %s "
			   "or its like through an import slot that can be "
			   "traced: it is static, or of musl, or has them of "
			   "its own", pid, what);
	(void)fail_remedy("%s", without);
}

/* What is freed where nobody looks would be told as leaked. */
static bool
lacks_free(const struct tracing *tr)
{
	const uint64_t *o = tr->slots.originals;
	bool gives = false;

	for (int f = 0; f < TRACE_SYNC_FIRST; f++)
		gives |= o[f] && f != TRACE_MMAP && f != TRACE_MUNMAP &&
			f != TRACE_MREMAP;
	if (!(tr->families & 1u << TRACE_HEAP) || !gives ||
	    (o[TRACE_MALLOC] && o[TRACE_FREE]))
		return false;
	(void)fail(FAIL_UNSUITABLE, "the allocator of process %d has malloc "
		   "or free chosen at run time (STT_GNU_IFUNC): calls of it "
		   "cannot be traced", target_pid(tr->g->t));
	(void)fail_remedy("%s", without);
	return true;
}

static void
refuse_time(void)
{
	(void)fail(FAIL_UNSUITABLE, "its threads may not read the processor's "
		   "clock (PR_SET_TSC, seccomp's strict mode), which tells "
		   "when a call was made");
	(void)fail_remedy("%s", without);
}

struct tracing *
tracing_open(struct guest *g, const struct tracing_options *opt,
	     struct inject_report *report)
{
	struct collector_call call = { .command = COLLECTOR_TRACE };
	struct tracing *tr = xcalloc(1, sizeof *tr);

	tr->g = g;
	tr->fd = -1;
	tr->families = opt->families;
	g->tracing = tr;
	tracing_calibrate_first(tr);
	if (find_slots(tr, &tr->slots) < 0)
		goto failed;
	if (tr->slots.len == tr->slots.silent && !opt->may_be_none) {
		refuse(tr);
		goto failed;
	}
	if (lacks_free(tr) || fit(tr, opt) < 0)
		goto failed;
	tr->chunks = xcalloc(tr->layout.chunks, sizeof *tr->chunks);
	if (guest_command(g, &call, prepare_trace, report) < 0) {
		if (call.result == -EPERM)
			refuse_time();
		(void)fail_in("process %d: trace its calls", target_pid(g->t));
		goto failed;
	}
	close(tr->fd);
	tr->fd = -1;
	write_sealed(tr, SEALED_IN);
	return tr;
failed:
	free_tracing(tr);
	return NULL;
}

/* Slots that still lead to hooks. */
static size_t
left_in(const struct tracing *tr)
{
	const struct trace_patch *p = tracing_patches(tr);
	size_t n = 0;

	for (uint32_t i = 0; i < tr->patches; i++)
		n += leads_to_hook(tr, &p[i]);
	return n;
}

/* The loader finds functions again; what it has bound to hooks is known. */
static void
take_names_out(struct tracing *tr, struct inject_report *report)
{
	struct collector_call call = { .command = COLLECTOR_UNNAME };
	size_t left;

	if (tr->area->named && guest_command(tr->g, &call, NULL, report) == 0)
		(void)find_new(tr, &left);	/* left_in tells */
}

int
tracing_close(struct tracing *tr, trace_sink sink, void *arg,
	      struct tracing_counts *counts, struct inject_report *report)
{
	struct collector_call call = { .command = COLLECTOR_UNTRACE };
	const bool there = guest_is_there(tr->g);
	struct tracing_counts before, refused;
	int r = 0;

	/* first: what refused will be sought again, and written no more */
	tracing_count(tr, &refused);
	if (there)
		take_names_out(tr, report);
	tracing_count(tr, &before);
	if (there)
		r = guest_command(tr->g, &call, NULL, report);
	if (there)
		write_sealed(tr, SEALED_OUT);
	if (r < 0 && call.result == -EBUSY)
		r = 0;		/* a thread stands in it: guest_stop tells */
	__atomic_store_n(&tr->area->on, 0, __ATOMIC_RELEASE);
	trace_drain_last(tr, sink, arg);
	tracing_count(tr, counts);
	counts->slots = before.slots;
	counts->refused = refused.refused;	/* now: could not be put back */
	memcpy(counts->of_family, before.of_family, sizeof before.of_family);
	memcpy(counts->unseen, refused.unseen, sizeof refused.unseen);

	const size_t left = there ? left_in(tr) : 0;

	if (left)
		r = fail(FAIL_PARTIAL, "%zu import slots lead to hooks that do "
			 "nothing any more", left);
	free_tracing(tr);
	return r;
}
