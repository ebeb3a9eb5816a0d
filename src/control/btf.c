/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * What the kernel says of its own types (BTF, Documentation/bpf/btf.rst): the
 * numbers of some by their names, and where their members are. There are
 * 100,000 types, which lie one behind the other: they are gone through as far
 * as what is asked for, in 0.6 ms. To index them all first, as libbpf does, took
 * 7, which is more than all that is asked for here saves.
 */
#include "btf.h"

#include <fcntl.h>
#include <linux/btf.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base.h"

struct btf {
	unsigned char *data;
	size_t size;
	bool mapped;
	size_t types, types_end;	/* in data */
	const char *strings;
	size_t strings_len;
};

enum { NESTED_MAX = 8 };

static const char *
name_at(const struct btf *b, uint32_t at)
{
	return at < b->strings_len ? b->strings + at : "";
}

/* Bytes behind a type's head. */
static const size_t UNKNOWN_TAIL = SIZE_MAX;

static size_t
tail_of(const struct btf_type *t)
{
	const size_t n = BTF_INFO_VLEN(t->info);

	switch (BTF_INFO_KIND(t->info)) {
	case BTF_KIND_INT:
	case BTF_KIND_VAR:
	case BTF_KIND_DECL_TAG:
		return sizeof(uint32_t);
	case BTF_KIND_ARRAY:
		return sizeof(struct btf_array);
	case BTF_KIND_STRUCT:
	case BTF_KIND_UNION:
		return n * sizeof(struct btf_member);
	case BTF_KIND_ENUM:
		return n * sizeof(struct btf_enum);
	case BTF_KIND_FUNC_PROTO:
		return n * sizeof(struct btf_param);
	case BTF_KIND_DATASEC:
		return n * sizeof(struct btf_var_secinfo);
	case BTF_KIND_ENUM64:
		return n * sizeof(struct btf_enum64);
	case BTF_KIND_PTR:
	case BTF_KIND_FWD:
	case BTF_KIND_TYPEDEF:
	case BTF_KIND_VOLATILE:
	case BTF_KIND_CONST:
	case BTF_KIND_RESTRICT:
	case BTF_KIND_FUNC:
	case BTF_KIND_FLOAT:
	case BTF_KIND_TYPE_TAG:
		return 0;
	default:		/* a kind that is newer than this source */
		return UNKNOWN_TAIL;
	}
}

/* One after the other, from type 1 on; start with {0}. NULL: no more. */
struct walk {
	uint32_t type;
	size_t at;
};

static const struct btf_type *
next_type(const struct btf *b, struct walk *w)
{
	const size_t left = b->types_end - b->types - w->at;
	const struct btf_type *t = (const void *)(b->data + b->types + w->at);

	if (left < sizeof *t || tail_of(t) > left - sizeof *t)
		return NULL;
	w->type++;
	w->at += sizeof *t + tail_of(t);
	return t;
}

static const struct btf_type *
type_at(const struct btf *b, uint32_t type)
{
	struct walk w = { 0 };
	const struct btf_type *t = NULL;

	while (w.type < type && (t = next_type(b, &w)))
		;
	return t;
}

static bool
find_sections(struct btf *b)
{
	struct btf_header h;
	size_t strings;

	if (b->size < sizeof h)
		return false;
	memcpy(&h, b->data, sizeof h);
	b->types = (size_t)h.hdr_len + h.type_off;
	b->types_end = b->types + h.type_len;
	strings = (size_t)h.hdr_len + h.str_off;
	b->strings = (const char *)b->data + strings;
	b->strings_len = h.str_len;
	return h.magic == BTF_MAGIC && h.version == BTF_VERSION &&
		b->types % sizeof(uint32_t) == 0 && b->types_end <= b->size &&
		strings + h.str_len <= b->size && h.str_len &&
		b->strings[h.str_len - 1] == '\0';
}

/* The kernel's own can be mapped since Linux 6.16; read, it comes by pages. */
static void
map_whole(struct btf *b, const char *path)
{
	const int fd = open(path, O_RDONLY | O_CLOEXEC);
	struct stat st;
	void *data;

	if (fd < 0 || fstat(fd, &st) < 0 || st.st_size <= 0) {
		if (fd >= 0)
			close(fd);
		return;
	}
	data = mmap(NULL, (size_t)st.st_size, PROT_READ, MAP_PRIVATE, fd, 0);
	close(fd);
	if (data == MAP_FAILED)
		return;
	b->data = data;
	b->size = (size_t)st.st_size;
	b->mapped = true;
}

struct btf *
btf_open(const char *path)
{
	struct btf *b = xcalloc(1, sizeof *b);

	map_whole(b, path);
	if (!b->data)
		b->data = (unsigned char *)file_read(path, &b->size);
	if (!b->data) {
		btf_free(b);
		return NULL;
	}
	if (!find_sections(b)) {
		fail(FAIL_GENERAL, "%s: no types that are known here", path);
		btf_free(b);
		return NULL;
	}
	return b;
}

void
btf_free(struct btf *b)
{
	if (!b)
		return;
	if (b->mapped)
		munmap(b->data, b->size);
	else
		free(b->data);
	free(b);
}

uint32_t
btf_find(const struct btf *b, unsigned kind, const char *name)
{
	struct walk w = { 0 };
	const struct btf_type *t;

	while ((t = next_type(b, &w)))
		if (BTF_INFO_KIND(t->info) == kind &&
		    strcmp(name_at(b, t->name_off), name) == 0)
			return w.type;
	return 0;
}

/* Also of a struct without a name within it. */
static bool
find_member(const struct btf *b, uint32_t type, const char *name, int depth,
	    struct btf_place *out)
{
	const struct btf_type *t = type_at(b, type);
	const struct btf_member *m = t ? (const void *)(t + 1) : NULL;
	const unsigned kind = t ? BTF_INFO_KIND(t->info) : 0;

	if (depth > NESTED_MAX ||
	    (kind != BTF_KIND_STRUCT && kind != BTF_KIND_UNION))
		return false;
	for (size_t i = 0; i < BTF_INFO_VLEN(t->info); i++) {
		const uint32_t bits = BTF_INFO_KFLAG(t->info) ?
			BTF_MEMBER_BIT_OFFSET(m[i].offset) : m[i].offset;
		const char *its = name_at(b, m[i].name_off);

		if (strcmp(its, name) == 0)
			*out = (struct btf_place){ m[i].type, bits / 8 };
		else if (*its || !find_member(b, m[i].type, name, depth + 1,
					      out))
			continue;
		else
			out->offset += bits / 8;
		return true;
	}
	return false;
}

bool
btf_member(const struct btf *b, uint32_t type, const char *name,
	   struct btf_place *out)
{
	return find_member(b, type, name, 0, out);
}
