/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Reading DWARF bytes that nobody vouches for. No read goes beyond the end;
 * a reader that met it stays bad, so callers may check once, at the end.
 */
#include <string.h>

#include "frames.h"

enum {
	ENC_FORMAT = 0x0f, ENC_APPLY = 0x70, ENC_INDIRECT = 0x80,
	ENC_PCREL = 0x10,
};

uint64_t
reader_fixed(struct reader *r, unsigned size)
{
	uint64_t value = 0;

	if (r->bad || (size_t)(r->end - r->at) < size) {
		r->bad = true;
		return 0;
	}
	memcpy(&value, r->at, size);	/* little-endian, as we are */
	r->at += size;
	return value;
}

uint64_t
reader_long_uleb(struct reader *r)
{
	uint64_t value = 0;

	for (unsigned shift = 0; ; shift += 7) {
		const uint64_t byte = reader_byte(r);

		if (shift < 64)
			value |= (byte & 0x7f) << shift;
		if (r->bad)
			return 0;
		if (!(byte & 0x80))
			return value;
	}
}

int64_t
reader_sleb(struct reader *r)
{
	uint64_t value = 0, byte;
	unsigned shift = 0;

	do {
		byte = reader_byte(r);
		if (shift < 64)
			value |= (byte & 0x7f) << shift;
		shift += 7;
	} while (byte & 0x80);
	if (r->bad)
		return 0;
	if (shift < 64 && byte & 0x40)
		value |= -(1ull << shift);
	return (int64_t)value;
}

const uint8_t *
reader_skip(struct reader *r, uint64_t n)
{
	const uint8_t *from = r->at;

	if (r->bad || (uint64_t)(r->end - r->at) < n) {
		r->bad = true;
		return r->end;
	}
	r->at += n;
	return from;
}

static uint64_t
encoded_value(struct reader *r, uint8_t format)
{
	switch (format) {
	case 0x00: case 0x04: case 0x0c:
		return reader_fixed(r, 8);
	case 0x01:
		return reader_uleb(r);
	case 0x02:
		return reader_fixed(r, 2);
	case 0x03:
		return reader_fixed(r, 4);
	case 0x09:
		return (uint64_t)reader_sleb(r);
	case 0x0a:
		return (uint64_t)(int64_t)(int16_t)reader_fixed(r, 2);
	case 0x0b:
		return (uint64_t)(int64_t)(int32_t)reader_fixed(r, 4);
	default:
		r->bad = true;
		return 0;
	}
}

uint64_t
reader_pointer(struct reader *r, uint8_t encoding, uint64_t vaddr)
{
	const uint64_t value = encoded_value(r, encoding & ENC_FORMAT);

	/* indirect, textrel, datarel, funcrel: nobody emits them for code */
	if (encoding & ENC_INDIRECT)
		r->bad = true;
	if ((encoding & ENC_APPLY) == ENC_PCREL)
		return value + vaddr;
	if (encoding & ENC_APPLY)
		r->bad = true;
	return value;
}
