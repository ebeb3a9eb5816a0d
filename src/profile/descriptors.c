/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Descriptors: the numbers of files of one process, and what each of them was
 * at a moment. Records say when a call ended and when it was asked for. A
 * number is new once open has returned it, and free from when close was asked
 * for it: another thread may have it again before close returns. So opens
 * count when they end, and all else when it was asked for.
 */
#include "calls.h"

#include <stdlib.h>
#include <string.h>

struct change {			/* of what a number is */
	uint64_t time_ns;
	size_t order;		/* in the file */
	int fd, old_fd;		/* old_fd: it is a duplicate of; -1: none */
	bool closes;
	const char *name;
};

struct changes {
	struct change *items;
	size_t len, cap;
	struct traced_names *names;
	int old_least;		/* what is lower is no descriptor */
};

uint64_t
name_number(struct traced_names *names, const char *text)
{
	uint64_t at, key = hash_bytes(text, strlen(text), 0);

	for (; map_get(&names->known, key, &at); key++)
		if (strcmp(names->names.items[at], text) == 0)
			return at;
	map_put(&names->known, key, names->names.len);
	vec_push(&names->names, str_tame(xstrdup(text)));
	return names->names.len - 1;
}

const char *
name_keep(struct traced_names *names, const char *text)
{
	const uint64_t at = name_number(names, text);

	return names->names.items[at];
}

/* ---- what changes them -------------------------------------------------- */

static int
number_of(uint64_t value)
{
	return (int)(int32_t)value;
}

static bool
opens(const struct experiment_packet *p)
{
	return p->value[IO_KIND] == IO_OPEN;
}

static bool
closes(const struct experiment_packet *p)
{
	return p->value[IO_KIND] == IO_CLOSE;
}

static uint64_t
moment(const struct experiment_packet *p)
{
	return opens(p) || !p->value[IO_SINCE] ? p->time_ns :
						 p->value[IO_SINCE];
}

static int
old_number(const struct changes *c, const struct experiment_packet *p)
{
	const int fd = number_of(p->value[IO_OLD_FD]);

	return fd >= c->old_least ? fd : -1;
}

static bool
collect(void *arg, const struct experiment_packet *p)
{
	struct changes *c = arg;

	if (number_of(p->value[IO_FD]) < 0 || (!opens(p) && !closes(p)))
		return true;
	c->items = xgrow(c->items, &c->cap, c->len + 1, sizeof *c->items);
	c->items[c->len] = (struct change){
		.time_ns = moment(p), .order = c->len,
		.fd = number_of(p->value[IO_FD]),
		.old_fd = opens(p) ? old_number(c, p) : -1,
		.closes = !opens(p),
		.name = opens(p) && p->text && *p->text ?
			name_keep(c->names, p->text) : NULL,
	};
	c->len++;
	return true;
}

static int
by_time(const void *a, const void *b)
{
	const struct change *x = a, *y = b;

	if (x->time_ns != y->time_ns)
		return x->time_ns < y->time_ns ? -1 : 1;
	return x->order < y->order ? -1 : x->order > y->order;
}

/* ---- openings ----------------------------------------------------------- */

static const char unnamed[] = "<pipe, socket or the like>";

static struct opening *
add(struct descriptors *d, struct opening op)
{
	d->items = xgrow(d->items, &d->cap, d->len + 1, sizeof *d->items);
	d->items[d->len] = op;
	return &d->items[d->len++];
}

static const char *
name_of_old(int fd)
{
	static const char *const standard[] = { "<stdin>", "<stdout>",
						"<stderr>" };

	return fd < (int)ARRAY_LEN(standard) ? standard[fd] : NULL;
}

bool
opening_is_standard(const struct opening *op)
{
	return op->from == 0 && op->name && op->name == name_of_old(op->fd);
}

const char *
name_unseen(struct traced_names *names, int fd)
{
	char *text = xasprintf("<descriptor %d, not seen to be opened>", fd);
	const char *name = name_keep(names, text);

	free(text);
	return name;
}

static struct opening *find(struct descriptors *d, int fd, uint64_t time_ns,
			    bool ends);

/* Of what is duplicated. */
static const char *
name_now(const struct descriptors *d, const struct map *now, int fd,
	 struct traced_names *names)
{
	const char *name = NULL;
	uint64_t at;

	if (map_get(now, (uint64_t)fd, &at))
		name = at ? d->items[at - 1].name : NULL;
	else if (d->parent)
		name = find(d->parent, fd, d->born, false)->name;
	else
		name = name_of_old(fd);
	return name ? name : name_unseen(names, fd);
}

struct state {
	struct map now;		/* fd -> index of what it is + 1; 0: closed */
	struct map closed;	/* fd -> when, last */
};

static void
apply(struct descriptors *d, struct state *st, const struct change *c,
      struct traced_names *names)
{
	const char *name = c->name ? c->name : c->old_fd < 0 ? NULL :
		name_now(d, &st->now, c->old_fd, names);
	uint64_t *at = map_slot_of(&st->now, (uint64_t)c->fd);
	uint64_t *closed = map_slot_of(&st->closed, (uint64_t)c->fd);

	if (*at)
		d->items[*at - 1].until = c->time_ns;
	else if (c->closes && c->time_ns > *closed)
		(void)add(d, (struct opening){ .fd = c->fd, .from = *closed,
					       .until = c->time_ns });
	*at = 0;
	*closed = c->time_ns;
	if (c->closes)
		return;
	(void)add(d, (struct opening){ .fd = c->fd, .from = c->time_ns,
				       .until = UINT64_MAX, .name = name });
	*at = d->len;
}

static int
by_number(const void *a, const void *b)
{
	const struct opening *x = a, *y = b;

	if (x->fd != y->fd)
		return x->fd < y->fd ? -1 : 1;
	return x->from < y->from ? -1 : x->from > y->from;
}

void
descriptors_init(struct descriptors *d, const struct source *src,
		 struct traced_names *names)
{
	const char *by = experiment_property(src->reader, "collector");
	/* gprofng's says 0 of what is no duplicate */
	struct changes c = { .names = names,
			     .old_least = by && str_starts(by, "sonde") ? 0 :
									 1 };
	struct state st = {0};

	(void)experiment_packets_of(src->reader, PACKET_IO, collect, &c);
	if (c.len)
		qsort(c.items, c.len, sizeof *c.items, by_time);
	for (size_t i = 0; i < c.len; i++)
		apply(d, &st, &c.items[i], names);
	if (d->len)
		qsort(d->items, d->len, sizeof *d->items, by_number);
	map_fini(&st.now);
	map_fini(&st.closed);
	free(c.items);
}

void
descriptors_fini(struct descriptors *d)
{
	free(d->items);
	*d = (struct descriptors){0};
}

/* ---- looking up --------------------------------------------------------- */

/* How many are of lower numbers, or of this one and not later. */
static size_t
behind(const struct descriptors *d, int fd, uint64_t time_ns)
{
	size_t low = 0, high = d->len;

	while (low < high) {
		const size_t mid = low + (high - low) / 2;
		const struct opening *op = &d->items[mid];

		if (op->fd < fd || (op->fd == fd && op->from <= time_ns))
			low = mid + 1;
		else
			high = mid;
	}
	return low;
}

/* What nobody was seen to open lies between what was. */
static struct opening *
insert(struct descriptors *d, size_t at, int fd)
{
	const bool after = at > 0 && d->items[at - 1].fd == fd;
	const bool before = at < d->len && d->items[at].fd == fd;
	const struct opening op = {
		.fd = fd,
		.from = after ? d->items[at - 1].until : 0,
		.until = before ? d->items[at].from : UINT64_MAX,
	};

	d->items = xgrow(d->items, &d->cap, d->len + 1, sizeof *d->items);
	memmove(&d->items[at + 1], &d->items[at],
		(d->len++ - at) * sizeof *d->items);
	d->items[at] = op;
	return &d->items[at];
}

/* ends: it is what ends there, should two meet. */
static struct opening *
find(struct descriptors *d, int fd, uint64_t time_ns, bool ends)
{
	size_t at = behind(d, fd, time_ns);

	while (ends && at > 1 && d->items[at - 1].from == time_ns &&
	       d->items[at - 2].fd == fd && d->items[at - 2].until == time_ns)
		at--;

	struct opening *op = at > 0 && d->items[at - 1].fd == fd &&
		time_ns <= d->items[at - 1].until ? &d->items[at - 1] :
						    insert(d, at, fd);

	if (op->from == 0 && d->parent)
		return find(d->parent, fd, d->born, false);
	if (op->from == 0 && !op->name)
		op->name = name_of_old(fd);
	return op;
}

struct opening *
descriptors_of(struct descriptors *d, const struct experiment_packet *p)
{
	const int fd = number_of(p->value[IO_FD]);

	if (fd < 0)
		return NULL;

	struct opening *op = find(d, fd, moment(p), closes(p));

	if (!op->name && opens(p))
		op->name = unnamed;
	return op;
}
