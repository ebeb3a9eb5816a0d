/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * The bytes of a gprofng experiment, format 12.4, as this room writes them.
 * Readers follow the offsets that log.xml declares instead, because other
 * writers lay their packets out differently.
 */
#ifndef SONDE_EXPERIMENT_FORMAT_H
#define SONDE_EXPERIMENT_FORMAT_H

#include <stdint.h>

_Static_assert(__BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__,
	       "packets are written in the byte order of the machine");

#define FORMAT_VERSION "12.4"

enum packet_kind {
	PACKET_EMPTY = 0,
	PACKET_SYNC = 2,
	PACKET_COUNTER = 3,
	PACKET_HEAP = 5,
	PACKET_MEMORY_COUNTER = 7,
	PACKET_CLOCK = 8,
	PACKET_FRAME = 11,
	PACKET_UID = 17,
	PACKET_IO = 19,
	PACKET_CLOSED = 65535,
};

/* After a size of zero the next packet is looked for at such a boundary. */
enum { HOLE_STEP = 16384 };
enum { PACKET_MAX = 65535 };

struct packet_head {
	uint16_t size;		/* of the whole packet */
	uint16_t kind;
};
_Static_assert(sizeof(struct packet_head) == 4, "packet head");

struct clock_packet {
	struct packet_head head;
	int32_t thread;		/* and the LWP: on Linux they are one */
	int64_t time;		/* absolute */
	uint64_t frinfo;
	int32_t cpu;		/* EXPERIMENT_BOOKED: no sample */
	int32_t state;
	int32_t ticks;		/* of ptimer microseconds each */
	uint32_t pad;
};
_Static_assert(sizeof(struct clock_packet) == 40, "clock packet");

struct heap_packet {
	struct packet_head head;
	int32_t thread;
	int64_t time;
	uint64_t frinfo;
	int32_t cpu;		/* not known: -1 */
	int32_t type;		/* HEAP_ALLOC ... */
	uint64_t size, address, old_address;
	uint64_t calls;		/* where not all are recorded; else not there */
};
_Static_assert(sizeof(struct heap_packet) == 64, "heap packet");
enum { HEAP_PACKET_EXACT = 56 };

struct sync_packet {
	struct packet_head head;
	int32_t thread;
	int64_t time;		/* granted */
	uint64_t frinfo;
	int32_t cpu;		/* not known: -1 */
	int32_t owner;		/* thread; 0: not known */
	int64_t since;		/* asked for */
	uint64_t object;
};
_Static_assert(sizeof(struct sync_packet) == 48, "sync packet");

struct io_packet {		/* the file's name follows, with its '\0' */
	struct packet_head head;
	int32_t thread;
	int64_t time;		/* of its end */
	uint64_t frinfo;
	int32_t cpu;		/* not known: -1 */
	int32_t type;		/* IO_READ ..., + IO_FAILED */
	int64_t bytes;
	int64_t since;		/* of its begin */
	int32_t fd, old_fd;	/* -1: none */
	int32_t fs_type;
	uint32_t pad;
};
_Static_assert(sizeof(struct io_packet) == 64, "io packet");

/* A frame packet holds infos; an info of kind 1 is a native stack. */
struct frame_packet {
	struct packet_head head;
	uint32_t head_size;	/* 16 */
	uint64_t uid;		/* what FRINFO names */
};
_Static_assert(sizeof(struct frame_packet) == 16, "frame packet");

enum { INFO_NATIVE = 1 };
#define LINKED UINT32_C(0x80000000)	/* the last word is a uid, not a PC */

struct frame_info {
	uint32_t size;		/* with this head */
	uint32_t kind;
	uint64_t uid;		/* what a link names */
};
_Static_assert(sizeof(struct frame_info) == 16, "frame info");

/* A bare piece of stack, only ever the target of links. */
struct uid_packet {
	struct packet_head head;
	uint32_t flags;
	uint64_t uid;
};
_Static_assert(sizeof(struct uid_packet) == 16, "uid packet");

/* Instead of the last PC, why the stack ends here. */
#define MARK_TRUNCATED (UINT64_MAX - 1)
#define MARK_FAILED (UINT64_MAX - 2)

struct overview_time {
	uint64_t s, ns;
};

/* overview is an array of these; a file of another size is fatal to gprofng. */
struct overview_record {
	int32_t process, count;
	struct overview_time time, create, term, real, user, system, trap,
		text_fault, data_fault, kernel_fault, lock, sleep, wait, stop;
	struct overview_time fill_times[6];
	uint64_t minor_faults, major_faults, swaps, in_blocks, out_blocks,
		 messages_out, messages_in, signals, voluntary, involuntary,
		 calls, characters;
	uint64_t fill[10];
};
_Static_assert(sizeof(struct overview_record) == 504, "overview record");

/*
 * Functions without code (<Lost samples>, kernel functions) get addresses
 * that no program can have: not canonical on x86-64 with four or five levels
 * of page tables, nor an address of AArch64. The PC lies in the middle of its
 * range, because newer readers subtract one from every PC.
 */
#define ARTIFICIAL_BASE UINT64_C(0x736f6e6465000000)
enum { ARTIFICIAL_SIZE = 16, ARTIFICIAL_PC = 8 };

#endif
