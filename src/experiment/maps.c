/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * map.xml: what was mapped where and when. Records live from their time until
 * an unmap names their start or another mapping covers them; what sticks out
 * of the covering one goes on as a piece, as the kernel does with mmap(2) at
 * a fixed address.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "reader.h"

static uint64_t
end_of(const struct experiment_map_record *r)
{
	return r->start + r->size;
}

/* The first live record that ends above an address. */
static size_t
find_live(const struct maps *m, uint64_t address)
{
	size_t low = 0, high = m->live_count;

	while (low < high) {
		const size_t mid = low + (high - low) / 2;

		if (end_of(&m->records[m->live[mid]]) > address)
			high = mid;
		else
			low = mid + 1;
	}
	return low;
}

static void
insert_live(struct maps *m, size_t at, const struct experiment_map_record *r)
{
	m->records = xgrow(m->records, &m->cap, m->count + 1,
			   sizeof *m->records);
	m->records[m->count] = *r;
	m->live = xgrow(m->live, &m->live_cap, m->live_count + 1,
			sizeof *m->live);
	memmove(m->live + at + 1, m->live + at,
		(m->live_count - at) * sizeof *m->live);
	m->live[at] = (uint32_t)m->count++;
	m->live_count++;
}

static void
end_live(struct maps *m, size_t at, uint64_t time_ns)
{
	struct experiment_map_record *r = &m->records[m->live[at]];

	r->until_ns = time_ns > r->time_ns ? time_ns : r->time_ns;
	m->live_count--;
	memmove(m->live + at, m->live + at + 1,
		(m->live_count - at) * sizeof *m->live);
}

/* End what r covers of the live record at; returns where r belongs. */
static size_t
cover(struct maps *m, size_t at, const struct experiment_map_record *r)
{
	struct experiment_map_record head = m->records[m->live[at]];
	struct experiment_map_record tail = head;

	end_live(m, at, r->time_ns);
	head.time_ns = tail.time_ns = r->time_ns;
	if (end_of(&tail) > end_of(r)) {
		tail.size = end_of(&tail) - end_of(r);
		tail.start = end_of(r);
		tail.offset += tail.start - head.start;
		insert_live(m, at, &tail);
	}
	if (head.start < r->start) {
		head.size = r->start - head.start;
		insert_live(m, at++, &head);
	}
	return at;
}

static void
add_record(struct maps *m, struct experiment_map_record *r)
{
	if (r->size > UINT64_MAX - r->start)
		r->size = UINT64_MAX - r->start;
	if (r->size == 0)
		return;

	size_t at = find_live(m, r->start);

	while (at < m->live_count &&
	       m->records[m->live[at]].start < end_of(r)) {
		at = cover(m, at, r);
		/* the piece behind r, if any, is not covered */
	}
	insert_live(m, at, r);
}

static void
on_unmap(struct maps *m, uint64_t start, uint64_t time_ns)
{
	const size_t at = find_live(m, start);

	if (at < m->live_count && m->records[m->live[at]].start == start)
		end_live(m, at, time_ns);
}

/* ---- functions without a file ---------------------------------------- */

static int
by_start(const void *a, const void *b)
{
	const struct experiment_map_record *const *x = a, *const *y = b;

	return ((*x)->start > (*y)->start) - ((*x)->start < (*y)->start);
}

/* gprofng announces the parts of a function (of the vdso) before it; the
 * function itself is what the parts leave over. */
static void
add_function(struct maps *m, struct experiment_map_record *whole)
{
	struct vec parts = m->pending;

	m->pending = (struct vec){ 0 };
	add_record(m, whole);
	if (parts.len > 1)
		qsort(parts.items, parts.len, sizeof *parts.items, by_start);
	for (size_t i = 0; i < parts.len; i++) {
		struct experiment_map_record *part = parts.items[i];

		part->time_ns = whole->time_ns;
		add_record(m, part);
	}
	vec_free_items(&parts);
}

static void
add_part(struct maps *m, const struct experiment_map_record *like,
	 const char *name)
{
	struct experiment_map_record *part = xmalloc(sizeof *part);

	*part = *like;
	part->is_function = true;
	part->name = name;
	vec_push(&m->pending, part);
}

/* ---- lines ----------------------------------------------------------- */

/* mmap(2) bits r 1, w 2, x 4 to r 4, w 2, x 1. */
static unsigned
rwx_bits(uint64_t modes)
{
	return (unsigned)((modes & 1) << 2 | (modes & 2) | (modes & 4) >> 2);
}

static void
on_map(struct experiment_reader *rd, const struct xml_tag *tag,
       uint64_t time_ns)
{
	const char *object = xml_attr(tag, "object");
	const char *name = xml_attr(tag, "name");
	const char *prot = xml_attr(tag, "prot");
	const char *build_id = xml_attr(tag, "build_id");
	const char *funcname = xml_attr(tag, "funcname");

	if (!object || !name) {
		reader_damage(rd, "map.xml", "a mapping without a name was "
			      "ignored");
		return;
	}

	if (build_id && *build_id && !str_is_build_id(build_id)) {
		reader_warn(rd, "map.xml: a build-id that is no hex number "
			    "was ignored");
		build_id = NULL;
	}

	struct experiment_map_record r = {
		.time_ns = time_ns, .until_ns = UINT64_MAX,
		.start = xml_number(xml_attr(tag, "vaddr")),
		.size = xml_number(xml_attr(tag, "size")),
		.offset = xml_number(xml_attr(tag, "foffset")),
		.prot = prot ? (unsigned)xml_number(prot) & 7 :
			rwx_bits(xml_number(xml_attr(tag, "modes"))),
		.name = name, .build_id = build_id ? build_id : "",
	};

	if (strcmp(object, "dynfunc") == 0) {
		add_part(&rd->maps, &r, funcname ? funcname : name);
	} else if (strcmp(object, "function") == 0) {
		r.is_function = true;
		add_function(&rd->maps, &r);
	} else if (strcmp(object, "segment") == 0) {
		add_record(&rd->maps, &r);
	}
}

static void
visit_tag(struct experiment_reader *rd, const struct xml_tag *tag)
{
	const char *kind = xml_attr(tag, "kind");
	const uint64_t time_ns = xml_time(xml_attr(tag, "tstamp"));

	if (strcmp(tag->name, "event") != 0 || tag->form == XML_CLOSE || !kind)
		return;
	if (strcmp(kind, "map") == 0 || strcmp(kind, "sonde_map") == 0)
		on_map(rd, tag, time_ns);
	else if (strcmp(kind, "unmap") == 0)
		on_unmap(&rd->maps, xml_number(xml_attr(tag, "vaddr")),
			 time_ns);
}

/* Covered at the moment they came; `live` is of no use after this. */
static void
drop_never_lived(struct maps *m)
{
	size_t n = 0;

	for (size_t i = 0; i < m->count; i++)
		if (m->records[i].until_ns > m->records[i].time_ns)
			m->records[n++] = m->records[i];
	m->count = n;
	m->live_count = 0;
}

void
maps_load(struct experiment_reader *rd)
{
	if (reader_tags(rd, "map.xml", visit_tag) < 0)
		reader_damage(rd, "map.xml", "%s; no address can be named",
			      strerror(errno));

	struct maps *m = &rd->maps;

	for (size_t i = 0; i < m->pending.len; i++)
		add_record(m, m->pending.items[i]);
	vec_free_items(&m->pending);
	drop_never_lived(m);
}

void
maps_fini(struct maps *m)
{
	free(m->records);
	free(m->live);
	vec_free_items(&m->pending);
	*m = (struct maps){ 0 };
}

size_t
experiment_map_count(const struct experiment_reader *rd)
{
	return rd->maps.count;
}

const struct experiment_map_record *
experiment_map_at(const struct experiment_reader *rd, size_t i)
{
	return &rd->maps.records[i];
}
