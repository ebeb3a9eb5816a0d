/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Which open file each record of I/O is about, and its number: found once, over
 * all records whatever is filtered, so that a number always means the same.
 *
 * Numbers are gprofng's. Standard input, output and error are 1, 2 and 3. In
 * the order of time of what reads, writes and opens, the others have 10 and
 * so on in the first experiment, and in each further one go on ten behind the
 * last of the one before; each failed open takes one, and so do all calls of
 * an experiment that named no descriptor, together. What only gprofng does not
 * number comes last.
 */
#include "calls.h"

#include <stdlib.h>
#include <string.h>

enum { NUMBER_FIRST = 10, NUMBER_GAP = 10 };

struct claim {			/* to the next number */
	size_t source;
	bool late;		/* gprofng gives none to it */
	uint64_t time_ns;
	size_t order;
	struct opening *opening;	/* NULL: of a call without one */
};

struct numbering {
	struct files *files;
	struct profile *prof;
	size_t source, order;
	bool nameless;		/* had its number in this experiment */
	struct claim *claims;
	size_t len, cap;
};

/* ---- processes and their children --------------------------------------- */

/* "_f1_x2.er"; "" of a founder. */
static const char *
lineage_of(const struct source *src)
{
	const char *path = experiment_reader_path(src->reader);
	const char *slash = strrchr(path, '/');
	const char *base = slash ? slash + 1 : path;

	return base[0] == '_' ? base : "";
}

static size_t
length_of_parent(const char *lineage)
{
	const char *last = strrchr(lineage, '_');

	return last ? (size_t)(last - lineage) : 0;
}

static bool
is_parent(const struct source *parent, const struct source *child)
{
	const char *of = lineage_of(child), *is = lineage_of(parent);
	const size_t len = length_of_parent(of);

	return *of && parent != child && parent->group == child->group &&
	       strcmp(parent->founder, child->founder) == 0 &&
	       (len ? strncmp(is, of, len) == 0 &&
		strcmp(is + len, ".er") == 0 : !*is);
}

static void
find_parents(struct files *f, struct profile *prof)
{
	for (size_t c = 0; c < prof->sources_len; c++)
		for (size_t p = 0; p < prof->sources_len; p++) {
			const struct source *parent = &prof->sources[p];
			const struct source *child = &prof->sources[c];

			if (!is_parent(parent, child))
				continue;
			f->descriptors[c].parent = &f->descriptors[p];
			f->descriptors[c].born = child->since_founder -
				parent->since_founder;
		}
}

/* ---- numbers ------------------------------------------------------------- */

static void
claim(struct numbering *n, uint64_t time_ns)
{
	n->claims = xgrow(n->claims, &n->cap, n->len + 1, sizeof *n->claims);
	n->claims[n->len++] = (struct claim){
		.source = n->source, .time_ns = time_ns, .order = n->order };
}

/* The first that touches it counts, of the experiment where that was. */
static void
touch(struct numbering *n, struct opening *op, uint64_t time_ns)
{
	if (op->touched && (op->source != n->source || op->time_ns <= time_ns))
		return;
	op->touched = true;
	op->source = n->source;
	op->time_ns = time_ns;
	op->order = n->order;
}

static void
give_name(struct files *f, struct opening *op,
	  const struct experiment_packet *p)
{
	if (!op->name && p->text && *p->text)
		op->name = name_keep(&f->names, p->text);
	if (!op->name)
		op->name = name_unseen(&f->names, op->fd);
}

static bool
look(void *arg, const struct experiment_packet *p)
{
	struct numbering *n = arg;
	struct opening *op = descriptors_of(&n->files->descriptors[n->source],
					    p);
	const uint64_t what = p->value[IO_KIND] % IO_FAILED;

	n->order++;
	if (op) {
		give_name(n->files, op, p);
		if (what <= IO_OPEN)
			touch(n, op, p->time_ns);
	} else if (what == IO_OPEN || (what < IO_OPEN && !n->nameless)) {
		n->nameless |= what != IO_OPEN;
		claim(n, p->time_ns);
	}
	return true;
}

/* Openings stay where they are from now on. */
static void
claim_all(struct numbering *n)
{
	for (size_t e = 0; e < n->prof->sources_len; e++)
		for (size_t i = 0; i < n->files->descriptors[e].len; i++) {
			struct opening *op =
				&n->files->descriptors[e].items[i];

			n->source = op->touched ? op->source : e;
			n->order = op->touched ? op->order : i;
			claim(n, op->touched ? op->time_ns : op->from);
			n->claims[n->len - 1].late = !op->touched;
			n->claims[n->len - 1].opening = op;
		}
}

static int
by_turn(const void *a, const void *b)
{
	const struct claim *x = a, *y = b;

	if (x->late != y->late)
		return x->late - y->late;
	if (x->source != y->source)
		return x->source < y->source ? -1 : 1;
	if (x->time_ns != y->time_ns)
		return x->time_ns < y->time_ns ? -1 : 1;
	return x->order < y->order ? -1 : x->order > y->order;
}

static void
number_all(struct numbering *n)
{
	uint32_t next = NUMBER_FIRST;
	size_t at = 0;

	if (n->len)
		qsort(n->claims, n->len, sizeof *n->claims, by_turn);
	for (size_t e = 0; e <= n->prof->sources_len; e++) {
		const bool late = e == n->prof->sources_len;

		for (; at < n->len && (late || (!n->claims[at].late &&
						n->claims[at].source == e));
		     at++) {
			struct opening *op = n->claims[at].opening;

			if (op && opening_is_standard(op))
				op->number = (uint32_t)op->fd + 1;
			else if (op)
				op->number = next++;
			else
				next++;
		}
		if (!late && n->files->descriptors[e].any)
			next += NUMBER_GAP;
	}
}

/* ---- the whole ----------------------------------------------------------- */

struct files *
files_of(struct profile *prof)
{
	struct files *f = prof->files;
	struct numbering n = { .prof = prof };

	if (f)
		return f;
	prof->files = n.files = f = xcalloc(1, sizeof *f);
	f->descriptors = xcalloc(prof->sources_len + 1,
				 sizeof *f->descriptors);
	f->descriptors_len = prof->sources_len;
	find_parents(f, prof);
	for (size_t e = 0; e < prof->sources_len; e++)
		descriptors_init(&f->descriptors[e], &prof->sources[e],
				 &f->names);
	for (n.source = 0; n.source < prof->sources_len; n.source++) {
		const size_t before = n.order;

		n.nameless = false;
		(void)experiment_packets_of(prof->sources[n.source].reader,
					    PACKET_IO, look, &n);
		f->descriptors[n.source].any = n.order > before;
	}
	claim_all(&n);
	number_all(&n);
	free(n.claims);
	return f;
}

const struct opening *
files_opening(struct profile *prof, const struct source *src,
	      const struct experiment_packet *p)
{
	return descriptors_of(&files_of(prof)->descriptors[src - prof->sources],
			      p);
}

const char *
files_name(struct profile *prof, const struct opening *op,
	   const struct experiment_packet *p)
{
	static const char other_activity[] = "<other I/O>";

	if (op && op->name)
		return op->name;
	return p->text && *p->text ?
		name_keep(&files_of(prof)->names, p->text) : other_activity;
}

uint64_t
files_name_number(struct profile *prof, const char *name)
{
	return name_number(&files_of(prof)->names, name);
}

void
files_free(struct files *f)
{
	if (!f)
		return;
	for (size_t e = 0; e < f->descriptors_len; e++)
		descriptors_fini(&f->descriptors[e]);
	free(f->descriptors);
	map_fini(&f->names.known);
	vec_free_items(&f->names.names);
	free(f);
}
