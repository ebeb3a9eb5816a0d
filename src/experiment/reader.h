/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * An opened experiment, shared by the files of this room that read.
 */
#ifndef SONDE_EXPERIMENT_READER_H
#define SONDE_EXPERIMENT_READER_H

#include "base.h"
#include "experiment.h"
#include "format.h"
#include "xml.h"

/* ---- packets.c: data files ------------------------------------------- */

enum field_type { FIELD_NONE, FIELD_INT32, FIELD_UINT32, FIELD_INT64,
		  FIELD_UINT64, FIELD_STRING };

enum field_role { ROLE_LWP, ROLE_THREAD, ROLE_CPU, ROLE_TIME, ROLE_FRINFO,
		  ROLE_STATE, ROLE_TICKS, ROLE_TEXT, ROLE_VALUE,
		  ROLE_COUNT = ROLE_VALUE + EXPERIMENT_VALUES };

struct field {
	enum field_type type;
	size_t offset;
};

enum { LAYOUTS = 8 };

struct decoded {		/* numbers of a packet */
	uint64_t n[ROLE_VALUE];	/* by role */
	struct experiment_packet packet;	/* its values */
};

struct layout {			/* of one kind of packet */
	int kind;
	bool time_values[EXPERIMENT_VALUES];
	struct field fields[ROLE_COUNT];
	struct {		/* declared numbers, those of 8 bytes first */
		uint32_t offset;
		uint16_t to;	/* in struct decoded, bytes */
		uint8_t role, type;
	} numbers[ROLE_COUNT];
	size_t wide_count, number_count;
	size_t value_count;	/* up to the last that is declared */
	bool timed;		/* some of them are times */
	size_t need;		/* packets of that size have all of them */
};

struct data_file {
	char *name;
	uint64_t tick_ns;	/* what one NTICK weighs */
	struct layout layouts[LAYOUTS];
	size_t layout_count;
	uint64_t end;		/* of the last whole packet, when opened; its
				 * size, until it was read once */
	bool read;		/* once, and warned of what is wrong */
	uint64_t last_ns;	/* latest time in it, absolute; if not read
				 * when opened: 0 */
};

/* Walks over the packets of a file; what the file says is never trusted. */
struct packet_stream {
	int fd;
	uint64_t limit;		/* not beyond this offset */
	uint64_t base;		/* offset of buf[0] */
	unsigned char *buf;
	size_t len, at;
	enum { STREAM_SOUND, STREAM_CUT, STREAM_DAMAGED, STREAM_UNREADABLE }
		state;
};

/* -1 with errno when there is no such file. */
int stream_open(struct packet_stream *st, int dir_fd, const char *name);
void stream_close(struct packet_stream *st);
/* The next packet, in the stream's buffer until the next call. NULL: end. */
const unsigned char *stream_next(struct packet_stream *st,
				 struct packet_head *head);
uint64_t stream_offset(const struct packet_stream *st);
/* After the end: say why it is not the end of the file, if so. */
void stream_warn(const struct experiment_reader *rd, const char *name,
		 const struct packet_stream *st);

/* The field of a declaration in log.xml. Unknown names are fine. */
void layout_declare(struct layout *layout, const char *name,
		    const char *offset, const char *type);
/* Once all its fields are declared. */
void layout_finish(struct layout *layout);
/* All numbers of its layout; 0 where the packet has none. */
void layout_numbers(const struct layout *layout, const unsigned char *packet,
		    size_t size, struct decoded *out);
/* NULL: this kind was not declared. */
const struct layout *layout_find(const struct data_file *file, int kind);
/* A number of a packet of that size; 0 where it has none. */
uint64_t layout_get(const unsigned char *packet, size_t size,
		    const struct field *f);
/* A string that ends within the packet, or NULL. */
const char *layout_text(const unsigned char *packet, size_t size,
			const struct field *f);
/* In the order in which they are read, always. */
void data_files_sort(struct experiment_reader *rd);
/* What there is by now: nothing that comes later is read. */
void data_file_open(const struct experiment_reader *rd,
		    struct data_file *file);
/* Find out how far the file is sound, unless it was read already. */
void data_file_scan(const struct experiment_reader *rd,
		    struct data_file *file);

/* ---- frames.c: stacks ------------------------------------------------ */

struct chain {			/* a piece of stack */
	uint64_t start;		/* in words */
	uint32_t len;
	int32_t next;		/* towards the root, or CHAIN_NONE */
	uint64_t link;		/* uid of the next; what next was found by */
	bool linked;
	enum stack_end end;	/* when there is no next */
};
enum { CHAIN_NONE = -1 };

struct frames {
	uint64_t *words;
	size_t word_count, word_cap;
	struct chain *chains;
	size_t chain_count, chain_cap;
	struct map by_uid;	/* uid -> index of chain */
	struct map by_frinfo;	/* FRINFO -> uid of its native stack */
};

void frames_load(struct experiment_reader *rd);
void frames_fini(struct frames *fr);

/* ---- maps.c ---------------------------------------------------------- */

struct maps {
	struct experiment_map_record *records;
	size_t count, cap;
	uint32_t *live;		/* indices of mapped records, by start */
	size_t live_count, live_cap;
	struct vec pending;	/* parts of the function to come */
};

void maps_load(struct experiment_reader *rd);
void maps_fini(struct maps *maps);

/* ---- overview.c ------------------------------------------------------ */

void overview_load(struct experiment_reader *rd);

/* ---- log.c ----------------------------------------------------------- */

struct log_attrs {
	struct xml_attr *attrs;
	size_t count;
};

struct property {
	const char *name, *value;
};

/* -1 with errno when there is no log.xml. */
int log_load(struct experiment_reader *rd);

/* ---- read.c ---------------------------------------------------------- */

struct experiment_reader {
	char *path, *shown;	/* shown: path, tame */
	int dir_fd;
	struct vec texts;	/* buffers that strings point into */
	struct vec *warnings;	/* reading on may find more */
	struct vec *damaged;	/* names of files, so far */
	struct vec children;

	struct property *properties;
	size_t property_count, property_cap;
	struct experiment_log_event *events;
	size_t event_count, event_cap;
	struct vec event_attrs;	/* of struct log_attrs */
	struct vec files;	/* of struct data_file */
	struct experiment_counter *counters;
	size_t counter_count, counter_cap;
	struct {		/* what declarations being read speak of */
		struct data_file *file;
		struct layout *layout;
		uint64_t tick_ns;
	} now;
	struct maps maps;
	struct frames frames;
	struct experiment_sample_record *samples;
	size_t sample_count;

	bool started, exited, replaced, recording;
	struct experiment_cpus cpus;
	bool words32;		/* wsize="32" */
	bool foreign;		/* of another byte order: packets unreadable */
	uint64_t start_ns, end_ns;	/* end: relative to start */
	time_t wall;
	char *notes;
};

void reader_warn(const struct experiment_reader *rd, const char *fmt, ...)
	__attribute__((format(printf, 2, 3)));
/* As reader_warn, with the name in front; the file is not what was written,
 * unless it is still being written. */
void reader_damage(const struct experiment_reader *rd, const char *name,
		   const char *fmt, ...) __attribute__((format(printf, 3, 4)));
/* A file that was declared is lost if it is not there: ours make each at once.
 * (Where the experiment was closed, the check of all files tells.) */
bool reader_must_have(const struct experiment_reader *rd);
/* Compare files with the lengths and sums that the log has. */
void reader_check_files(const struct experiment_reader *rd);
/* A whole text file, kept until the reader is freed; NULL with errno. */
char *reader_text(struct experiment_reader *rd, const char *name,
		  size_t *size);
/* Hand every tag of a file to visit; damage becomes one warning. */
int reader_tags(struct experiment_reader *rd, const char *name,
		void (*visit)(struct experiment_reader *rd,
			      const struct xml_tag *tag));
void reader_set(struct experiment_reader *rd, const char *name,
		const char *value);
/* Only what is mapped, of an experiment and its descendants. */
struct experiment_reader *reader_open_maps(int dir_fd, const char *path);
/* Only what log.xml says, in an open directory. */
struct experiment_reader *reader_open_log(int dir_fd);
/* Something happened as late as this, relative to the start. */
void reader_saw(struct experiment_reader *rd, uint64_t time_ns);

#endif
