/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * How the packets of a file are laid out: offsets that log.xml declares, used
 * only as far as they lie within the packet.
 */
#include <string.h>

#include "reader.h"

enum { IS_TIME = 1 };

static const struct {
	const char *name;
	enum field_role role;
	int flags;
} field_names[] = {
	{ "LWPID", ROLE_LWP, 0 }, { "THRID", ROLE_THREAD, 0 },
	{ "CPUID", ROLE_CPU, 0 }, { "TSTAMP", ROLE_TIME, 0 },
	{ "FRINFO", ROLE_FRINFO, 0 }, { "MSTATE", ROLE_STATE, 0 },
	{ "NTICK", ROLE_TICKS, 0 }, { "IOFNAME", ROLE_TEXT, 0 },
	{ "HTYPE", ROLE_VALUE, 0 }, { "HSIZE", ROLE_VALUE + 1, 0 },
	{ "HVADDR", ROLE_VALUE + 2, 0 }, { "HOVADDR", ROLE_VALUE + 3, 0 },
	{ "HCALLS", ROLE_TICKS, 0 },
	{ "SRQST", ROLE_VALUE, IS_TIME }, { "SOBJ", ROLE_VALUE + 1, 0 },
	{ "SOWNER", ROLE_VALUE + 2, 0 },
	{ "IOTYPE", ROLE_VALUE, 0 }, { "IOFD", ROLE_VALUE + 1, 0 },
	{ "IONBYTE", ROLE_VALUE + 2, 0 },
	{ "IORQST", ROLE_VALUE + 3, IS_TIME },
	{ "IOOFD", ROLE_VALUE + 4, 0 }, { "IOFSTYPE", ROLE_VALUE + 5, 0 },
	{ "HWCTAG", ROLE_VALUE, 0 }, { "HWCINT", ROLE_VALUE + 1, 0 },
	{ "VADDR", ROLE_VALUE + 2, 0 }, { "PADDR", ROLE_VALUE + 3, 0 },
	{ "VIRTPC", ROLE_VALUE + 4, 0 }, { "PHYSPC", ROLE_VALUE + 5, 0 },
};

static enum field_type
type_of(const char *name)
{
	static const char *const names[] = {
		[FIELD_INT32] = "INT32", [FIELD_UINT32] = "UINT32",
		[FIELD_INT64] = "INT64", [FIELD_UINT64] = "UINT64",
		[FIELD_STRING] = "STRING",
	};

	for (size_t i = FIELD_INT32; i < ARRAY_LEN(names); i++)
		if (strcmp(names[i], name) == 0)
			return (enum field_type)i;
	return FIELD_NONE;
}

void
layout_declare(struct layout *layout, const char *name, const char *offset,
	       const char *type)
{
	const uint64_t at = xml_number(offset);
	const enum field_type kind = type_of(type);

	if (at < sizeof(struct packet_head) || at > PACKET_MAX)
		return;
	for (size_t i = 0; i < ARRAY_LEN(field_names); i++) {
		const enum field_role role = field_names[i].role;

		if (strcmp(field_names[i].name, name) != 0 ||
		    (kind == FIELD_STRING) != (role == ROLE_TEXT))
			continue;
		layout->fields[role] = (struct field){ kind, (size_t)at };
		if (field_names[i].flags & IS_TIME)
			layout->time_values[role - ROLE_VALUE] = true;
	}
}

const struct layout *
layout_find(const struct data_file *file, int kind)
{
	for (size_t i = 0; i < file->layout_count; i++)
		if (file->layouts[i].kind == kind)
			return &file->layouts[i];
	return NULL;
}

static size_t
width_of(const struct field *f)
{
	return f->type == FIELD_INT32 || f->type == FIELD_UINT32 ?
		sizeof(uint32_t) : sizeof(uint64_t);
}

void
layout_finish(struct layout *layout)
{
	layout->number_count = layout->value_count = layout->need = 0;
	for (size_t role = 0; role < ROLE_COUNT; role++) {
		const struct field *f = &layout->fields[role];
		const size_t end = f->offset + width_of(f);

		if (f->type == FIELD_NONE || f->type == FIELD_STRING)
			continue;
		layout->numbers[layout->number_count++] = (uint8_t)role;
		layout->need = end > layout->need ? end : layout->need;
		if (role >= ROLE_VALUE && role < ROLE_VALUE + EXPERIMENT_VALUES)
			layout->value_count = role - ROLE_VALUE + 1;
	}
}

static inline uint64_t
number_at(const unsigned char *p, enum field_type type)
{
	int32_t n32;
	uint32_t u32;
	uint64_t u64;

	if (type == FIELD_INT32) {
		memcpy(&n32, p, sizeof n32);
		return (uint64_t)(int64_t)n32;
	}
	if (type == FIELD_UINT32) {
		memcpy(&u32, p, sizeof u32);
		return u32;
	}
	memcpy(&u64, p, sizeof u64);
	return u64;
}

void
layout_numbers(const struct layout *layout, const unsigned char *packet,
	       size_t size, uint64_t out[ROLE_COUNT])
{
	const bool whole = size >= layout->need;

	for (size_t i = 0; i < layout->number_count; i++) {
		const size_t role = layout->numbers[i];
		const struct field *f = &layout->fields[role];

		out[role] = whole ? number_at(packet + f->offset, f->type) :
				    layout_get(packet, size, f);
	}
}

uint64_t
layout_get(const unsigned char *packet, size_t size, const struct field *f)
{
	if (f->type == FIELD_NONE || f->type == FIELD_STRING ||
	    f->offset + width_of(f) > size)
		return 0;
	return number_at(packet + f->offset, f->type);
}

const char *
layout_text(const unsigned char *packet, size_t size, const struct field *f)
{
	if (f->type != FIELD_STRING || f->offset >= size ||
	    !memchr(packet + f->offset, '\0', size - f->offset))
		return NULL;
	return (const char *)packet + f->offset;
}
