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

static uint16_t
place_of(size_t role)
{
	return (uint16_t)(role < ROLE_VALUE ?
		offsetof(struct decoded, n[role]) :
		offsetof(struct decoded, packet.value[role - ROLE_VALUE]));
}

static void
list_numbers(struct layout *layout, size_t width)
{
	for (size_t role = 0; role < ROLE_COUNT; role++) {
		const struct field *f = &layout->fields[role];
		const size_t end = f->offset + width;

		if (f->type == FIELD_NONE || f->type == FIELD_STRING ||
		    width_of(f) != width)
			continue;
		layout->numbers[layout->number_count].offset =
			(uint32_t)f->offset;
		layout->numbers[layout->number_count].role = (uint8_t)role;
		layout->numbers[layout->number_count].to = place_of(role);
		layout->numbers[layout->number_count++].type =
			(uint8_t)f->type;
		layout->need = end > layout->need ? end : layout->need;
		if (role >= ROLE_VALUE && role + 1 - ROLE_VALUE >
		    layout->value_count)
			layout->value_count = role + 1 - ROLE_VALUE;
	}
}

void
layout_finish(struct layout *layout)
{
	layout->number_count = layout->value_count = layout->need = 0;
	list_numbers(layout, sizeof(uint64_t));
	layout->wide_count = layout->number_count;
	list_numbers(layout, sizeof(uint32_t));
	for (size_t i = 0; i < EXPERIMENT_VALUES; i++)
		layout->timed |= layout->time_values[i];
}

static inline uint64_t
wide_at(const unsigned char *p)
{
	uint64_t n;

	memcpy(&n, p, sizeof n);
	return n;
}

static inline uint64_t
narrow_at(const unsigned char *p, enum field_type type)
{
	uint32_t n;

	memcpy(&n, p, sizeof n);
	return type == FIELD_INT32 ? (uint64_t)(int32_t)n : n;
}

static inline uint64_t *
number_at(struct decoded *d, size_t to)
{
	return (uint64_t *)((char *)d + to);
}

static void
numbers_of_part(const struct layout *layout, const unsigned char *packet,
		size_t size, struct decoded *out)
{
	for (size_t i = 0; i < layout->number_count; i++)
		*number_at(out, layout->numbers[i].to) =
			layout_get(packet, size,
				   &layout->fields[layout->numbers[i].role]);
}

void
layout_numbers(const struct layout *layout, const unsigned char *packet,
	       size_t size, struct decoded *out)
{
	size_t i = 0;

	if (size < layout->need) {
		numbers_of_part(layout, packet, size, out);
		return;
	}
	for (; i < layout->wide_count; i++)
		*number_at(out, layout->numbers[i].to) =
			wide_at(packet + layout->numbers[i].offset);
	for (; i < layout->number_count; i++)
		*number_at(out, layout->numbers[i].to) =
			narrow_at(packet + layout->numbers[i].offset,
				  layout->numbers[i].type);
}

uint64_t
layout_get(const unsigned char *packet, size_t size, const struct field *f)
{
	if (f->type == FIELD_NONE || f->type == FIELD_STRING ||
	    f->offset + width_of(f) > size)
		return 0;
	return width_of(f) == sizeof(uint64_t) ?
		wide_at(packet + f->offset) :
		narrow_at(packet + f->offset, f->type);
}

const char *
layout_text(const unsigned char *packet, size_t size, const struct field *f)
{
	if (f->type != FIELD_STRING || f->offset >= size ||
	    !memchr(packet + f->offset, '\0', size - f->offset))
		return NULL;
	return (const char *)packet + f->offset;
}
