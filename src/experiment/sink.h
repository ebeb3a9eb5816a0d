/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * A file that grows by whole records only. What the disk refuses stays in
 * the buffer: whoever owns the sink keeps it for the next flush or drops it.
 *
 * Behind its end a file may keep a reserve: disk space that is its own, by
 * fallocate, and moves on with the end. A record that would cut into it is
 * refused, until the reserve is released for what must be written last.
 */
#ifndef SONDE_EXPERIMENT_SINK_H
#define SONDE_EXPERIMENT_SINK_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base.h"

/* How records follow each other: the length of the first of n bytes. */
typedef size_t sink_record_fn(const void *data, size_t n);

size_t sink_packet(const void *data, size_t n);	/* by its size field */
size_t sink_line(const void *data, size_t n);	/* up to the newline */
size_t sink_overview(const void *data, size_t n);

struct sink {
	const char *name;
	int fd;			/* -1: not open */
	sink_record_fn *record;
	unsigned char *buf;	/* whole records, not on disk yet */
	size_t len, cap;
	uint64_t size;		/* bytes of whole records on disk */
	struct checksum sum;	/* of them */
	uint64_t reserve;	/* bytes kept free behind the end */
	uint64_t allocated;	/* the disk has given space up to here */
	bool held;		/* flushing leaves it in the buffer */
	bool broken;		/* half a record could not be taken back */
	int error;		/* errno of the last refusal; 0: none */
};

/* Creates the file, which must not exist. -1 with a failure recorded. */
int sink_open(struct sink *s, int dir_fd, const char *name,
	      sink_record_fn *record);
/* Keep a reserve from now on. -1: there is no room for it, errno in s->error.
 * A file system that cannot give space in advance has none, and no failure. */
int sink_reserve(struct sink *s, size_t bytes);
/* From now on records may fill it. */
void sink_release(struct sink *s);
void sink_put(struct sink *s, const void *record, size_t n);
/* Write the buffer. -1: some records are still in it, errno in s->error. */
int sink_flush(struct sink *s);
/* Forget what is in the buffer; returns the number of records. */
uint64_t sink_drop(struct sink *s);
/* Gives back reserved space. What is in the buffer is lost. -1 with a failure
 * recorded: a network file system may tell only now. */
int sink_close(struct sink *s);

#endif
